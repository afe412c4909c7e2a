"""Writes the article of a page: the merged parts of a section as HTML.

Subclasses make previews and solutions from the same tokens. Writing an article also
collects its entries for search.
"""

from __future__ import annotations

import io
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, count, groupby
from pathlib import Path

import imagesize
from markdown_it.token import Token

from book import merge
from book.facts.predictions import has_arithmetic, is_open
from book.library.figures import is_explorable
from book.merge import Item, Part, Prediction, Run, TabSet, TabView, parts_of
from book.pages import covered_outputs, folding, sets
from book.pages.addresses import identifier
from book.pages.answer_fields import with_forms
from book.pages.search import Index, Title, name_symptoms, text_of
from book.pages.sets import PagePanel
from book.pages.site import Site, address
from book.pages.term_links import name_entries
from book.records.outputs import (
    PICTURES,
    InteractiveFigure,
    Picture,
    PrintedText,
    read,
)
from book.records.outputs import text_of as text_printed
from book.refs.numbers import NAMES, anchor
from book.refs.targets import id_of_work
from book.render import code, math, results
from book.render.math import Equation as Tex
from book.render.math import mathml
from book.render.texts import Texts, add_class, attribute, escape, plain, raw
from book.runner.errors import BookError
from book.runner.freshness import digest
from book.text.blocks import (
    Block,
    Cell,
    Equation,
    Figure,
    Heading,
    Labelled,
    Prose,
    References,
    Table,
)
from book.text.inline import CITATIONS
from book.text.section import Section
from book.text.tokens import body, caption, equation, parse, walk

PERMALINK = ' <a class="headerlink" href="#{}" aria-label="Link to this {}"></a>'
MEASURED = '<p class="output-note">Measured on {}.</p>\n'
# A time, a rate or a factor in an output, or in the description of a plot.
TIME = re.compile(r"\b(?:[nµmu]s|seconds?|minutes?|times)\b|\d s\b|/s\b")
NO_OUTPUT = '<p class="no-output">No output.</p>\n'
ALL_COLUMNS = (
    '<label class="columns-setting scripted"><input type="checkbox">'
    " All frameworks</label>\n"
)
NO_LIST = "no page lists the works that are cited; write :bibliography:`{}` on one"
OF_CELL = ":numref:`{}`, with the numbers of this cell."
SOLUTION = "sec_sol_"  # the start of the label of a solution
BEFORE_SOLUTION = re.compile(r"\bSolution:\s*$")


class Article:
    """Writes the `items` of a section, which `merge` returns, as HTML.

    An article with a `source` writes some items of that article and reuses its tokens.
    """

    prefix = ""  # of all ids
    lazy = ' loading="lazy"'  # how images load

    def __init__(
        self,
        site: Site,
        section: Section,
        items: list[Item],
        views: Sequence[TabView] = (),
        source: Article | None = None,
    ):
        self.site = site
        self.section = section
        self.name = section.name
        self.items = items
        self.views = views
        self.index = Index(site.book.tabs)
        self.titles: list[Title] = []
        # The places on other pages to which this one refers, each a page and an id.
        self.referred: dict[tuple[str, str], None] = {}
        # The pictures: the files of those of the text, and those that cells drew.
        self.figures: dict[Path, None] = {}
        self.images: dict[str, bytes] = {}
        self._tokens: dict[int, tuple[list[Token], list[Token]]] = {}
        self.texts = Texts(self._address_of, {})
        if source:
            self._tokens, self.views = source._tokens, source.views
            self.texts = replace(source.texts, address=self._address_of)
        else:
            self._read_tokens()
        self._levels: list[int] = []
        self._sets, self._machine_sets = count(1), count()
        self._plots, self._figures = count(1), count(1)
        # The tabs in which the next part is right below a covered output.
        self._waiting: set[str] = set()

    # Tokens

    def caption_of(self, block: Block) -> list[Token]:
        """Return the tokens of the title or the caption of a block."""
        return self._tokens[id(block)][0]

    def body_of(self, block: Block) -> list[Token]:
        """Return the tokens of the text of a block."""
        return self._tokens[id(block)][1]

    def _read_tokens(self) -> None:
        """Parse all texts, and convert their equations.

        Raises a `BookError` for citations if no page lists the works.
        """
        found: dict[Tex, str] = dict(self.site.equations_of_titles)
        texts: list[tuple[Token, bool]] = []
        problems: list[str] = []
        for part, in_tab in parts_of(self.items):
            block = part.block
            if id(block) in self._tokens:  # in several panels of a set
                continue
            words = self.site.word
            tokens = words(caption(block, "web")), words(body(block, "web"))
            self._tokens[id(block)] = tokens
            for token in walk([*tokens[0], *tokens[1]]):
                where = self._place_of(token.content, block)
                if token.type == "math":
                    found.setdefault(equation(token), where)
                elif token.info in CITATIONS and not self.site.references:
                    bibfile = self.site.book.config.pdf["bibfile"]
                    problems.append(f"{where}: {NO_LIST.format(bibfile)}")
            if isinstance(block, Equation):
                found[block.tex, True] = self._place_of("$", block)
            texts += [(t, in_tab) for t in tokens[1] if t.type == "inline"]
            self._mark(tokens[1])
        if problems:
            raise BookError("\n".join(problems))
        self.texts.mathml = mathml(found)
        own = (self.site.glossary.page, self.site.front.name)
        if self.site.glossary.terms and self.name not in own:
            there = address(self.site.glossary.page, "", self.name)
            self.texts.mentions = self.site.glossary.mentions(texts, there)
            for _, link in chain.from_iterable(self.texts.mentions.values()):
                self._refer(self.site.glossary.page, link.partition("#")[2])

    def _place_of(self, text: str, block: Block) -> str:
        """Return the file and the line at which a text of a block begins."""
        return self.section.at(block.line_at(max(block.source.find(text), 0)))

    def _file_of(self, figure: Figure) -> Path:
        return (self.section.path.parent / figure.path).resolve()

    def _mark(self, tokens: list[Token]) -> None:
        """Add ids to terms and symptoms, and mark links to solutions."""
        if self.name == self.site.glossary.page:
            name_entries(tokens)
        name_symptoms(tokens)
        for token in tokens:
            if token.type == "inline":
                token.children = with_solution_link(token.children or [])

    # References

    def _address_of(self, reference: Token) -> str:
        """Return the address to which a `reference` leads."""
        page, name = self.site.target(reference)
        self._refer(page, name)
        return self.address(page, name)

    def _refer(self, page: str, name: str) -> None:
        """Note a reference to an id on another page."""
        if page != self.name:
            self.referred[f"{page}.html", name] = None

    def address(self, page: str, name: str) -> str:
        """Return the address of an id on a page of the book."""
        return address(page, name, self.name)

    def _id(self, name: str) -> str:
        """Return the id of an element as an attribute; empty if it has no name."""
        return attribute("id", f"{self.prefix}{name}" if name else None)

    def _permalink(self, name: str, what: str) -> str:
        """Return a link to an element itself, which stands beside it."""
        return PERMALINK.format(f"{self.prefix}{name}", what) if name else ""

    # The article

    def html(self) -> tuple[str, str]:
        """Return the HTML above and below the buttons of the page.

        The buttons follow the title; on the front page, they precede the first figure.
        """
        first = Figure if self.section is self.site.front else Heading
        kinds = [type(i.block) if isinstance(i, Part) else TabSet for i in self.items]
        start = kinds.index(first) if first in kinds else 0
        start += first is Heading and bool(kinds)
        above = "".join(map(self.item, self.items[:start]))
        below = "".join(map(self.item, self.items[start:]))
        records = self._records() if any(True for _ in self.section.cells) else ""
        return above, f"{below}{self._end_sections(0)}{records}"

    def first_text(self) -> str:
        """Return the first paragraph outside of tabs as plain text."""
        tokens = self.first_paragraph(self.items)
        if not tokens and self.name == self.site.references:
            tokens = parse(next(iter(self.site.bibliography.formatted.values())))
        return text_of(tokens, self.texts)

    def first_paragraph(self, items: Iterable[Item]) -> list[Token]:
        """Return the tokens of the first paragraph outside of tabs, if there is one."""
        for item in items:
            if isinstance(item, Part) and isinstance(item.block, Prose):
                tokens = self.body_of(item.block)
                if tokens and tokens[0].type == "paragraph_open":
                    return tokens[:3]
        return []

    def _records(self) -> str:
        """Return the origin of the outputs in each tab."""
        views = {view.tab: view for view in self.views}
        tabs = self.site.book.tabs
        panels = [PagePanel((tab,), self._record(views.get(tab), tab)) for tab in tabs]
        if len(tabs) == 1:
            return panels[0].html
        return sets.tab_set(panels, tabs, self._next_set(), "record")

    def _record(self, view: TabView | None, tab: str) -> str:
        origin = self._line(merge.origin(view, tab, self.section))
        notices = (self._line(text) for text in merge.version_notices(view))
        return origin + "".join(add_class(text, "version-notice") for text in notices)

    def item(self, item: Item) -> str:
        """Return the HTML of a part or of a set of tabs."""
        if isinstance(item, Part):
            return self.part(item)
        number = self._next_set()
        panels = []
        for panel in item.panels:
            with self.index.panel(sets.panel_id(number, panel.tabs), panel.tabs):
                # Readers of other tabs see the same parts in another panel.
                own = (replace(part, tabs=panel.tabs) for part in panel.parts)
                parts = "".join(map(self.part, own))
            panels.append(PagePanel(panel.tabs, parts))
        panels += sets.absent(self._without_code.get(id(item), ()))
        return sets.tab_set(panels, self.site.book.tabs, number, "place")

    @cached_property
    def _without_code(self) -> dict[int, list[str]]:
        """The tabs that have nothing beside the code of a set, by the set's `id`.

        Sets and cells with no text of all tabs between them are one place. A tab with
        code or text of its own in a place needs no notice, and none does if a text of
        its own introduces each tab's code.
        """
        found: dict[int, list[str]] = {}
        for divides, group in groupby(filter(self._is_seen, self.items), divides_sets):
            place = [] if divides else list(group)
            parts = [part for part, _ in parts_of(place) if self._is_seen(part)]
            first: dict[str, Part] = {}
            for part in sorted(parts, key=lambda part: part.block.line, reverse=True):
                first |= dict.fromkeys(part.tabs, part)
            if any(map(has_code, first.values())):
                coded = (i for i in place if any(has_code(p) for p, _ in parts_of([i])))
                lacking = [tab for tab in self.site.book.tabs if tab not in first]
                found[id(next(coded))] = lacking
        return found

    def _is_seen(self, item: Item) -> bool:
        """Return False for a text that is for other media only, such as slides."""
        if isinstance(item, Part) and isinstance(item.block, Prose):
            return bool(self.body_of(item.block))
        return True

    def _next_set(self) -> str:
        return f"{self.prefix}set-{next(self._sets)}"

    def part(self, part: Part) -> str:
        """Return the HTML of a part."""
        block = part.block
        kind = "waits" if self._waits(part) else ""
        match block:
            case Cell():
                return "".join([*self._code(block), *self._shown(block, part)])
            case Heading():
                return self._heading(block)
            case Figure():
                return self._figure(block)
            case Table():
                return self._table(block)
            case Equation():
                return self._equation(block)
            case References():
                return "".join(map(self.work, self.site.bibliography.formatted))
        tokens = self.body_of(block)
        self.note(tokens)
        if part.prediction:
            text = add_class(self.texts.html(tokens), "question")
            return self._covered(text, part.prediction)
        kind = "arithmetic" if has_arithmetic(block) else kind
        if not self.prefix:  # neither a preview nor a solution
            tokens = with_forms(tokens, self.site.questions)
        return add_class(self.texts.html(tokens), kind)

    def note(self, tokens: list[Token]) -> None:
        """Add a text to the entries for search."""
        self.index.add(tokens, self.texts)

    def _waits(self, part: Part) -> bool:
        """Return True for a paragraph that waits with the output right above it."""
        waits = not (is_open(part.block) or self._waiting.isdisjoint(part.tabs))
        self._waiting.difference_update(part.tabs)
        if part.prediction:
            self._waiting.update(part.tabs)
        return waits

    def _line(self, markdown: str) -> str:
        """Return the HTML of a paragraph that the build adds to the text."""
        return self.texts.html(self.site.word(parse(markdown)))

    # Text

    def _heading(self, block: Heading) -> str:
        """Return the end of the sections above, and a section with its heading."""
        html = self.texts.line(self.caption_of(block))
        number = self.site.numbers.captions[self.name, block.line]
        title = Title(block.level, self._name_of(html), number, html)
        self.titles.append(title)
        self.index.begin_section(title)
        ended = self._end_sections(block.level)
        self._levels.append(block.level)
        label = f"<span{self._id(anchor_of(block))}></span>" if block.label else ""
        return f"{ended}<section{self._id(title.name)}>\n{label}{self._title(title)}\n"

    def _title(self, title: Title) -> str:
        """Return a heading, which is a link to itself unless it holds one."""
        tag, shown = f"h{title.level}", title.numbered
        if "<a " not in shown:
            shown = f'<a class="heading" href="#{title.name}">{shown}</a>'
        return f"<{tag}>{shown}</{tag}>"

    def _name_of(self, html: str) -> str:
        """Return an id for a heading, unique on the page."""
        name = identifier(plain(html)) or "section"
        taken = {title.name for title in self.titles}
        others = (f"{name}-{number}" for number in count(2))
        return name if name not in taken else next(n for n in others if n not in taken)

    def _end_sections(self, level: int) -> str:
        """Return the ends of the open sections of this level and below."""
        ended = [open_level for open_level in self._levels if open_level >= level]
        self._levels = [open_level for open_level in self._levels if open_level < level]
        return "</section>\n" * len(ended)

    def _caption(self, block: Figure | Table, what: str) -> tuple[str, str]:
        """Return the caption of a figure or table as HTML and as plain text.

        It has a number, such as "Fig. 4.1", and a link to the figure or table.
        """
        tokens = self.caption_of(block)
        if not (text := self.texts.line(tokens)):
            return "", ""
        kind = NAMES["figure" if isinstance(block, Figure) else "table"]
        number = f"{kind}{self.site.numbers.captions[self.name, block.line]}"
        link = self._permalink(anchor_of(block), what)
        return (
            f'<span class="caption-number">{number} </span>'
            f'<span class="caption-text">{text}</span>{link}'
        ), f"{number} {text_of(tokens, self.texts)}"

    def _figure(self, block: Figure) -> str:
        file, name = self._file_of(block), Path(block.path).stem
        live = results.explorable(name) if is_explorable(name) else ""
        alt = block.alt or plain(self.texts.line(self.caption_of(block)))
        next(self._plots)
        self.figures[file] = None
        image = self._image(file.name, imagesize.get(file), alt)
        text, shown = self._caption(block, "image")
        self.index.add_thing("figure", anchor_of(block), shown)
        text = f"<figcaption>\n<p>{text}</p>\n</figcaption>\n" if text else ""
        named = self._id(anchor_of(block))
        return f"<figure{named}{live}>\n{image}{text}</figure>\n"

    def _image(
        self, file: str, size: tuple[float, float], alt: str, kind: str | None = None
    ) -> str:
        """Return an image, whose size keeps the text in place when it loads."""
        width, height = map(round, size)
        shape = f' width="{width}" height="{height}"' if min(width, height) > 0 else ""
        named = attribute("alt", alt) + attribute("class", kind)
        source = posixpath.relpath(f"_images/{file}", posixpath.dirname(self.name))
        return f'<img{self.lazy}{shape}{named} src="{source}">'

    def table(self, block: Table) -> str:
        """Return a table, without the element in which it scrolls."""
        tokens, name = self.body_of(block), anchor_of(block)
        rows = self.texts.html(tokens)
        text, shown = self._caption(block, "table")
        self.index.add_thing("table", name, shown, tokens, self.texts)
        text = f"<caption>{text}</caption>\n" if text else ""
        return rows.replace("<table>\n", f"<table{self._id(name)}>\n{text}", 1)

    def _table(self, block: Table) -> str:
        rows = self.table(block)
        every = ALL_COLUMNS if "data-framework" in rows else ""
        return f'<div class="table-wrapper">\n{every}{rows}</div>\n'

    def _equation(self, block: Equation) -> str:
        shown = self.texts.mathml[block.tex, True]
        name = anchor_of(block)
        place = self.site.numbers.places.get(block.label)
        number = f"({place.number})" if place else ""
        self.index.add_thing("equation", name, f"{math.plain(shown)} {number}")
        if place:
            number = (
                f'<span class="eqno">{number}{self._permalink(name, "equation")}</span>'
            )
        return f'<div class="math"{self._id(name)}>\n{shown}{number}</div>\n'

    def work(self, key: str) -> str:
        """Return an entry of the bibliography."""
        bibliography = self.site.bibliography
        tokens = parse(bibliography.formatted[key] + bibliography.link(key))
        name = id_of_work(key)
        self.index.add_thing("source", name, "", tokens, self.texts)
        text = self.texts.html(tokens)
        return f'<div class="citation"{self._id(name)}>\n{text}</div>\n'

    # Cells

    def _code(self, cell: Cell) -> Iterator[str]:
        """Yield the elements with the code of a cell, of which a part may be folded."""
        self.index.add_code(cell)
        for text, title, is_head in folding.pieces(cell):
            listing = code.listing(f"{text}\n", code.language_of(text))
            if title:
                kind = "folded head" if is_head else "folded"
                summary = f"<summary>{title}</summary>\n"
                listing = f'<details class="{kind}">{summary}{listing}</details>\n'
            yield listing

    def _shown(self, cell: Cell, part: Part) -> list[str]:
        """Return the elements of the outputs of a cell, covered if readers predict."""
        shown = self._runs(cell, part)
        if shown and cell.varies and len(part.runs) == 1:
            shown.append(self._measured(part.runs[0]))
        if not (shown and part.prediction):
            return shown
        return [self._covered("".join(shown), part.prediction)]

    def _covered(self, shown: str, prediction: Prediction) -> str:
        """Return what waits for a prediction, below its form and its source."""
        source = self._line(covered_outputs.source(prediction))
        source = add_class(source, "prediction-source")
        return covered_outputs.covered(source + shown, prediction)

    def _measured(self, run: Run) -> str:
        """Return on what machine a run has measured times; empty if there are none."""
        pictures = [o.alt for o in read(run.outputs) if isinstance(o, Picture)]
        if not TIME.search("\n".join([text_printed(run.outputs), *pictures])):
            return ""
        names = {m["machine"]: merge.device(m) for v in self.views for m in v.makers}
        return MEASURED.format(escape(" and ".join(names[m] for m in run.machines)))

    def _runs(self, cell: Cell, part: Part) -> list[str]:
        """Return the outputs of a cell, or a switch if they differ between machines."""
        if len(part.runs) <= 1:
            return [output for run in part.runs for output in self._outputs(run, cell)]
        shown = ("".join(self._outputs(run, cell)) or NO_OUTPUT for run in part.runs)
        panels = list(zip(part.runs, shown, strict=True))
        number = f"{self.prefix}output-{next(self._machine_sets)}"
        return [sets.machine_set(panels, number)]

    def _outputs(self, run: Run, cell: Cell) -> Iterator[str]:
        for output in read(run.outputs):
            if isinstance(output, PrintedText):
                self.index.add_output(output.text)
            is_plot = isinstance(output, Picture)
            number = next(self._plots if is_plot else self._figures)
            prefix = f"{self.prefix}{'plot' if is_plot else 'figure'}-{number}-"
            caption = self._caption_of_output(output)
            yield results.html_of(output, cell, prefix, self._picture, caption)

    def _caption_of_output(self, output: PrintedText | Picture) -> str:
        """Return a caption that names the figure whose numbers a cell has changed."""
        if not isinstance(output, InteractiveFigure):
            return ""
        label = self.site.figure_labels.get(output.name)
        return self._line(OF_CELL.format(label)) if label else ""

    def _picture(self, picture: Picture) -> str:
        """Return a picture as an image, whose file is added to `images`."""
        suffix, data = PICTURES[picture.kind], picture.bytes
        file = f"{Path(self.name).name}_{digest(data)[:10]}.{suffix}"
        self.images[file] = data
        size = imagesize.get(io.BytesIO(data))
        return self._image(file, size, picture.alt, "output") + "\n"


def anchor_of(block: Labelled) -> str:
    """Return the id of the place that the label of a block names; empty without one."""
    return anchor(block.label, isinstance(block, Equation))


def divides_sets(item: Item) -> bool:
    """Return True for what all tabs show between two sets, unless it is code."""
    return isinstance(item, Part) and not isinstance(item.block, Cell)


def has_code(part: Part) -> bool:
    """Return True if a part shows code or what it printed."""
    is_cell = isinstance(part.block, Cell) and bool(
        part.block.code.strip() or part.runs
    )
    return is_cell or "```" in part.block.source


def with_solution_link(children: list[Token]) -> list[Token]:
    """Return the tokens of a text, with an element around its link to a solution.

    The link, at the end of the text, consists of "Solution:", a reference to a label
    that begins with `sec_sol_`, and a period.
    """
    if len(children) < 3 or children[-2].type != "role":
        return children
    *others, before, link, end = children
    word = BEFORE_SOLUTION.search(before.content) if before.type == "text" else None
    if not word or end.content != "." or not link.content.startswith(SOLUTION):
        return children
    texts = before.content[: word.start()], word[0]
    rest, sentence = (Token("text", "", 0, content=text) for text in texts)
    start, stop = raw('<span class="solution-link">'), raw("</span>")
    return [*others, rest, start, sentence, link, end, stop]
