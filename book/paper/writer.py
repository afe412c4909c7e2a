"""Writes an edition as one Typst document, with the functions of `templates/book.typ`.

A comment above each block names its line in the sources, for errors. In print, the
contents are the only list of the sections: what another list says about a section is at
the beginning of that section.
"""

from __future__ import annotations

import io
import json
import re
import shutil
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path

import imagesize
from markdown_it.token import Token

from book import merge
from book.base import remote
from book.base.drawing import FAMILY
from book.base.paths import TEMPLATES
from book.base.progress import counted
from book.facts.predictions import (
    Axes,
    has_arithmetic,
    introduces,
    is_open,
    unit_asked,
)
from book.library.figures import is_explorable, kernels
from book.library.marks import saved_names
from book.merge import Asked, Part, Prediction, Run
from book.pages import hosting
from book.pages.article import anchor_of
from book.paper.edition import Edition, Page
from book.paper.typst import Markup, code, entry, escape, string
from book.records.cleaning import SVG
from book.records.outputs import PICTURES, InteractiveFigure, Picture, PrintedText, read
from book.render import plots
from book.render.results import restyled
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
from book.text.tabs import tab_name
from book.text.tokens import parse_line, plain

PAPERS = ("book", "a4")  # of the template; the first is the default
TEMPLATE = ("book.typ", "book.tmTheme")
START = '#import "book.typ": *\n#show: book.with(..json("facts.json"))\n'
END = "#the-index({})\n"
# A list whose items begin with references to sections.
LISTED = re.compile(r"[*-] +:(?:num)?ref:`")
# A text of fewer characters belongs to code or a table below, and to a heading above.
SHORT_TEXT = 120
# A text of more characters breaks over pages even if it announces what follows.
LONG_TEXT = 480
TEXT_WIDTH = 437  # points, with the margin beside the text
PICTURE_SCALE = 0.75 * 0.8  # points of a pixel, and the size relative to a screen
FONT = re.compile(r'font-family="[^"]*"')
VARIES = "#note[Your output may differ, here and below.]\n"
NO_OUTPUT = "#note[No output.]\n"
# What marks a cell whose definitions are in the library, which its number says.
SAVED = re.compile(r" *#@save *$", re.MULTILINE)
TIMES = "×"
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
WORKS = "#works\n"  # replaced by the list of the works that are cited
# Replaced by the sections of the chapter with this number, which have this depth.
CONTENTS, SECTION_DEPTH = ", sections: of-chapter-{}", 2
SECTIONS = re.compile(CONTENTS.format(r"(\w+)"))
# The levels of headings that the contents list, of a chapter and of pages below one.
CHAPTER_LEVELS, PAGE_LEVELS = 3, 1


class Writer:
    """Writes an edition and the pictures that it shows to a folder."""

    def __init__(self, edition: Edition, folder: Path):
        self.folder = folder
        self.edition, self.book = edition, edition.book
        [self.tab] = self.book.tabs
        self.site = self.book.setting("publish", "site").rstrip("/")
        chapters = (page.section for page in edition.pages if page.depth == 1)
        labels = {label for section in chapters for label, _ in section.labels}
        self.markup = Markup(edition.math, labels)
        self.part_titles = {s[0].name: t for t, s in self.book.parts if t}
        self.about: dict[str, list[Token]] = {}  # by the label of a section
        # The page that is written, and whether it has said that outputs may differ.
        self.page, self.told = edition.pages[0], False
        # What answers each question of the page and each kernel, and what was asked.
        self.answers: dict[str, str] = {}
        self.asked = set[str]()
        self.listings = 0
        # The sections of each chapter, as arguments, under the number of the chapter.
        self.sections: defaultdict[str, list[str]] = defaultdict(list)

    def write(self) -> None:
        """Write the whole document."""
        pages = "".join(map(self._page, counted(self.edition.pages, "writing pages")))
        if self.markup.cited and WORKS not in pages:
            pages += f"#head(1)[References]\n{WORKS}"
        pages = pages.replace(WORKS, "".join(self._works()))
        pages = SECTIONS.sub(self._sections, pages)
        for name in TEMPLATE:
            shutil.copy(TEMPLATES / name, self.folder)
        (self.folder / "facts.json").write_text(json.dumps(self._facts()), "utf-8")
        (self.folder / "main.typ").write_text(f"{START}{pages}\n{self._end()}", "utf-8")

    def _end(self) -> str:
        """Return the index, in which an abbreviation or a synonym leads to its term."""
        pairs = (self.edition.abbreviations | self._synonyms()).items()
        shorts = "".join(f"{string(short)}: {string(term)}, " for short, term in pairs)
        return END.format(f"({shorts})" if shorts else "(:)")

    def _synonyms(self) -> dict[str, str]:
        """Return the term to which the index leads from each other word for it."""
        pairs = re.split(r",\s*", self.book.setting("pdf", "see"))
        words = (pair.partition(": ") for pair in pairs if pair)
        return {word: term for word, _, term in words}

    def _sections(self, chapter: re.Match[str]) -> str:
        """Return the sections of a chapter as an argument."""
        return f", sections: ({''.join(self.sections[chapter[1]])})"

    def _facts(self) -> dict[str, object]:
        """Return the title of the book and the other facts on its first pages."""
        project, front = self.book.config.project, self.book.sections[0].title
        keywords = self.book.setting("pdf", "keywords").split(",")
        site = hosting.load(self.book).site
        return {
            "name": front.title if front else project["title"],
            "author": project["author"],
            "release": project["release"],
            "imprint": f"© {project['copyright']}",
            "site": site and f"{site}/",
            "colophon": list(self._colophon()),
            "lang": project["lang"],
            "framework": tab_name(self.tab),
            "keywords": [word.strip() for word in keywords if word.strip()],
            "has-parts": bool(self.part_titles),
            "paper": self._paper(),
        }

    def _paper(self) -> str:
        """Return the name of the size of the pages."""
        name = self.book.setting("pdf", "paper") or PAPERS[0]
        if name not in PAPERS:
            message = f"unknown paper '{name}'; choose from {', '.join(PAPERS)}"
            raise BookError(message, "config.ini")
        return name

    def _colophon(self) -> Iterator[str]:
        """Yield the version and the place of the sources, and how to cite the book."""
        if made := remote.last_commit(self.book.root):
            yield f"Typeset from the sources of {made}."
        if repository := self.book.setting("publish", "repository"):
            yield f"Sources, code and errata: https://github.com/{repository}."
        project, front = self.book.config.project, self.book.sections[0].title
        title = front.title if front else project["title"]
        edition, release = tab_name(self.tab), project["release"]
        yield f"To cite: {project['author']}. {title}, {edition} edition. {release}."

    # Pages

    def _page(self, page: Page) -> str:
        self.page, self.told, self.answers, self.listings = page, False, {}, 0
        self.asked = set()
        title = self.part_titles.get(page.section.name, "")
        part = f"#part[{escape(title)}]\n" if title else ""
        self.markup.unit = "appendix" if self._is_appendix() else "chapter"
        self.markup.depth = page.depth
        text = self._parts(page.parts)
        return f"{part}{text}{''.join(self._answers())}"

    def _answers(self) -> Iterator[str]:
        """Yield what readers of the page predict, at its end."""
        if self.answers:
            yield "#answers[\n"
        for place, (asked, text) in enumerate(self.answers.items(), start=1):
            kind = "Predict" if asked in self.asked else "Kernel"
            yield f"#answer({string(self._number(place))}, [{kind}])\n{text}"
        if self.answers:
            yield "]\n"

    def _number(self, place: int) -> str:
        """Return the number of something on a page: that of the page, and a place."""
        return f"{self._number_of_page()}.{place}".lstrip(".")

    def _parts(self, parts: Sequence[Part]) -> str:
        """Return the text of parts in a row."""
        around = [None, *parts, None]
        held = _held(parts)
        out, waits = [], ""
        for part, above, below in zip(parts, around, around[2:], strict=False):
            text = self._part(part)
            is_held = id(part.block) in held and (not waits or is_open(part.block))
            if text and (is_held or _leads(above, part.block, below)):
                text = f"#lead[\n{text}]\n"
            if text:
                text = f"\n// {self.page.section.at(part.block.line)}\n{text}"
            # The paragraph that explains an output waits with it.
            if waits and not is_open(part.block):
                self.answers[waits] += text
            elif question := held.get(id(part.block)):
                self.answers[question] = self.answers.get(question, "") + text
            else:
                out.append(text)
            waits = part.prediction.question if part.prediction else ""
        return "".join(out)

    def _part(self, part: Part) -> str:
        block, (title, text) = part.block, self.edition.texts[id(part.block)]
        if block.sign.endswith("~~"):  # only on slides
            return ""
        match block:
            case Cell():
                return self._cell(block, part)
            case References():
                return WORKS
            case Heading():
                return self._heading(block, title)
            case Figure():
                return self._figure(block, title)
            case Table():
                facts = f"caption: [{self.markup.caption(title)}]" if title else ""
                call = f"#numbered-table({facts}{self._place(block)}, "
                return self.markup.text(text).replace("#plain-table(", call, 1)
            case Equation():
                tex, typst = string(block.tex.strip()), self.edition.math[block.tex]
                return f"#equation({tex}, $ {typst} ${self._place(block)})\n\n"
        if LISTED.match(block.source) and self.book.below(self.page.section):
            self.about |= dict(_items_of(text))
            return ""
        return self.markup.text(text)

    def _place(self, block: Labelled) -> str:
        """Return the number and the label of a block as arguments, if it has them."""
        name = self.page.section.name
        number = self.edition.targets.numbers.captions.get((name, block.line))
        # A page that only lists the works has no number, as an index has none.
        if isinstance(block, Heading) and name == self.edition.targets.references:
            number = ""
        numbered = f", number: {string(number)}" if number else ""
        return numbered + (f", label: {string(block.label)}" if block.label else "")

    # Headings

    def _heading(self, heading: Heading, tokens: Sequence[Token]) -> str:
        depth, level = self.page.depth, heading.level
        if depth == 0 and heading.title in self.part_titles.values():
            return ""
        listed = level <= (CHAPTER_LEVELS if depth == 1 else PAGE_LEVELS)
        depth_in_print = level + max(depth - 1, 0)
        facts = f"{depth_in_print}, listed: {str(listed).lower()}"
        facts += "" if depth else f", level: {level}"
        is_preface = depth == 0 and level == 1
        title = "Preface" if is_preface else self.markup.caption(tokens)
        if level == 1:
            title = self._title_of_solutions(title)
        facts += self._place(heading) + self._contents(heading, depth_in_print, title)
        text = f"#head({facts})[{title}]\n\n"
        return text + ("".join(self._origin()) if level == 1 else "")

    def _contents(self, heading: Heading, depth: int, title: str) -> str:
        """Return a mark for the sections of a chapter, or the label that one needs.

        The section is added to those of its chapter.
        """
        place = self.page.section.name, heading.line
        number = self.edition.targets.numbers.captions.get(place, "")
        chapter = number.partition(".")[0]
        if depth == 1 and chapter:
            return CONTENTS.format(chapter)
        if depth != SECTION_DEPTH or not chapter:
            return ""
        name = heading.label or f"section-{number}"
        entry = f"({string(name)}, {string(number)}, [{title}]), "
        self.sections[chapter].append(entry)
        return "" if heading.label else f", label: {string(name)}"

    def _title_of_solutions(self, title: str) -> str:
        """Return the title of a page with the number of the page that it solves.

        The exercises of `chapter/one` are solved in `chapter/solutions-one`.
        """
        name = self.page.section.name.replace("/solutions-", "/")
        solved = next(
            (page for page in self.edition.pages if page.section.name == name), None
        )
        if solved is None or name == self.page.section.name or not solved.section.title:
            return title
        place = (name, solved.section.title.line)
        number = self.edition.targets.numbers.captions[place]
        kind = "Chapter" if number.isdigit() else "Appendix"
        return title.replace("Solutions:", f"Solutions to {kind} {number}:", 1)

    def _origin(self) -> Iterator[str]:
        """Yield what a page requires, and the origin of its outputs."""
        section = self.page.section
        for label, _ in section.labels:
            yield self.markup.text(self.about.get(label, ()))
        view = self.page.view
        if any(True for _ in section.cells):
            made = merge.origin(view, self.tab, section)
            yield f"#origin[{self._line(made)}]\n"
            for notice in merge.version_notices(view):
                yield f"#notice[{self._line(notice)}]\n"

    def _line(self, markdown: str) -> str:
        """Return a line that the build adds to the text."""
        return self.markup.text(self.edition.targets.word(parse_line(markdown)))

    # Figures

    def _figure(self, figure: Figure, tokens: Sequence[Token]) -> str:
        file = self.page.section.path.parent / figure.path
        path = self._picture(file.read_bytes(), file.suffix)
        alt = string(figure.alt or plain(tokens))
        facts = f"{path}, {alt}{self._interactive(figure)}{self._place(figure)}"
        kernel = self._kernel(Path(figure.path).stem)
        stays = ", floats: false" if kernel else ""
        return f"#picture({facts}{stays})[{self.markup.caption(tokens)}]\n\n{kernel}"

    def _kernel(self, name: str) -> str:
        """Return the kernel that the task of a figure gives to readers, if it has one.

        One that passes is among the answers of the page.
        """
        found = kernels(name)
        if not found:
            return ""
        self.answers[name] = code(found["solution"], "rust")
        number = string(self._number(len(self.answers)))
        return f"#kernel({number}, {string(found['begin'])})\n"

    def _interactive(self, figure: Figure) -> str:
        """Return the address of the interactive version of a figure, if it has one.

        It is empty if the book has no address yet.
        """
        if not is_explorable(Path(figure.path).stem):
            return ""
        name = f"{self.page.section.name}.html?tab={self.tab}"
        page = f"{name}#{anchor_of(figure)}"
        return f", interactive: {string(self.site and f'{self.site}/{page}')}"

    def _picture(self, data: bytes, suffix: str) -> str:
        """Return the path and the width of a picture as arguments."""
        if suffix == ".svg":
            data = FONT.sub(f'font-family="{FAMILY}"', data.decode()).encode()
        path = f"{digest(data)[:16]}{suffix}"
        (self.folder / path).write_bytes(data)
        width = imagesize.get(io.BytesIO(data))[0] * PICTURE_SCALE
        return f"{string(path)}, {min(width, TEXT_WIDTH):.0f}pt"

    # Cells

    def _cell(self, cell: Cell, part: Part) -> str:
        """Return the code of a cell and its outputs."""
        if self._is_on_screen(part):
            return ""
        texts = (text for run in part.runs for text in self._run(run, cell))
        outputs = [text for text in texts if text]
        if outputs and cell.varies and not self.told:
            self.told = True
            outputs.append(VARIES)
        # Below the code of a prediction is no output, which is among the answers.
        code = self._code(cell, bool(outputs) and not part.prediction)
        shown = "".join(outputs)
        if asked := part.prediction:
            is_new = asked.question not in self.asked
            self.asked.add(asked.question)
            self.answers[asked.question] = self.answers.get(asked.question, "") + shown
            question = self._question(asked) if is_new else ""
            return "".join([question, *code, "\n"])
        return "".join([*code, shown, "\n"])

    def _is_on_screen(self, part: Part) -> bool:
        """Return True for a cell that only draws an interactive figure.

        An appendix shows how such a cell is written.
        """
        drawn = [output for run in part.runs for output in read(run.outputs)]
        only = all(isinstance(output, InteractiveFigure) for output in drawn)
        return bool(drawn) and only and not self._is_appendix()

    def _is_appendix(self) -> bool:
        return not self._number_of_page()[:1].isdigit()

    def _number_of_page(self) -> str:
        section = self.page.section
        line = section.title.line if section.title else 0
        return self.edition.targets.numbers.captions.get((section.name, line), "")

    def _question(self, asked: Prediction) -> str:
        """Return the box of a prediction, which is numbered within its chapter."""
        place = list(self.answers).index(asked.question) + 1
        number, text = self._number(place), self._line(typeset(asked.question))
        fields = "".join(self._field(field, asked.question) for field in asked.fields)
        if asked.axes:
            fields = board(asked.fields, asked.axes)
        return f"#predict({string(number)}, [{text}], ({fields}))\n"

    def _field(self, field: Asked, question: str) -> str:
        """Return a blank with its name and its unit, or the choices, as an item."""
        if field.choices:
            choices = map(escape, map(typeset, field.choices))
            form = "blank([{}], []), " if field.is_order else "[□ {}], "
            return "".join(form.format(choice) for choice in choices)
        unit = "" if unit_asked(question) else re.sub("^x$", TIMES, field.unit)
        return f"blank([{escape(typeset(field.label))}], [{escape(unit)}]), "

    def _code(self, cell: Cell, has_outputs: bool) -> Iterator[str]:
        """Yield the code of a cell, after the entries of what it defines."""
        source, page = cell.code.strip("\n"), self.page
        for name in saved_names(cell.python) if page.depth else ():
            if self.edition.mentions[name] - {page.section.name}:
                yield entry(f"d2l.{name}", is_code=True, is_main=True) + "\n"
        if source:
            self.listings += 1
            is_saved = SAVED.search(source)
            mark = f"{self._number(self.listings)}{' · d2l' if is_saved else ''}"
            yield code(SAVED.sub("", source), "python", mark, has_outputs)

    def _run(self, run: Run, cell: Cell) -> list[str]:
        """Return the outputs of a run, the first below its machines if runs differ."""
        outputs = [self._output(output, cell) for output in read(run.outputs)]
        if run.titles:
            machines = f"#machine({string(', '.join(run.titles))})\n"
            return [machines, *(outputs or [NO_OUTPUT])]
        return outputs

    def _output(self, output: PrintedText | Picture, cell: Cell) -> str:
        if isinstance(output, InteractiveFigure):
            return ""
        if isinstance(output, PrintedText):
            return f"#output({string(output.text)})\n"
        picture = restyled(output, cell)
        data = picture.bytes
        if picture.kind == SVG:
            data = plots.printed(data.decode()).encode()
        path = self._picture(data, f".{PICTURES[picture.kind]}")
        return f"#plot({path}, {string(picture.alt)})\n"

    # The bibliography

    def _works(self) -> Iterator[str]:
        """Yield the entry of each work that is cited, which ends with its address."""
        bibliography = self.edition.targets.bibliography
        for key, text in bibliography.formatted.items():
            if key in self.markup.cited:
                url = bibliography.works[key].fields.get("url", "")
                link = f" #address({string(url)});" if url else ""
                yield f"#work({string(f'cite-{key}')})[{self._line(text)}{link}]\n"


def typeset(question: str) -> str:
    """Return a question with signs that are no letters: 2^20 x 3 as 2²⁰ × 3."""
    question = re.sub(r"(?<=\d) x (?=\d)", f" {TIMES} ", question)
    return re.sub(r"\^(\d+)", lambda found: found[1].translate(RAISED), question)


def board(fields: Sequence[Asked], axes: Axes) -> str:
    """Return empty axes for a line through some fields, as an item."""
    places = "".join(f"[{escape(field.label)}], " for field in fields)
    ticks = "".join(f'({axes.height(tick):.3f}, "{tick:g}"), ' for tick in axes.ticks)
    names = f"[{escape(fields[0].unit)}], [{escape(axes.over)}]"
    return f"board(({ticks}), ({places}), {names}), "


def _held(parts: Sequence[Part]) -> dict[int, str]:
    """Return the question that each text answers by its arithmetic before it is asked.

    The question is of the next prediction below the same heading. It is under the `id`
    of the block.
    """
    held, question = {}, ""
    for part in reversed(parts):
        if isinstance(part.block, Heading):
            question = ""
        elif part.prediction:
            question = part.prediction.question
        elif question and has_arithmetic(part.block):
            held[id(part.block)] = question
    return held


def _leads(part_above: Part | None, block: Block, part_below: Part | None) -> bool:
    """Return True for a text that must be on the page of what follows.

    It announces that by a colon, it asks what readers predict below, or it is short and
    above code or a table, or below a heading. A table with a label floats away from it,
    as a figure does.
    """
    if not isinstance(block, Prose):
        return False
    above, below = (part and part.block for part in (part_above, part_below))
    if part_below and part_below.prediction and block.source.rstrip().endswith("?"):
        return True
    floats = isinstance(below, Figure | Table) and below.label
    announces = introduces(block) and not floats and len(block.source) < LONG_TEXT
    is_above = isinstance(below, Cell | Table) and not floats
    is_near = isinstance(above, Heading) or is_above
    return announces or (is_near and len(block.source) < SHORT_TEXT)


def _items_of(tokens: Sequence[Token]) -> Iterator[tuple[str, list[Token]]]:
    """Yield the label that begins each item of a list, and its other paragraphs."""
    for start, token in enumerate(tokens):
        if token.level == 1 and token.type == "list_item_open":
            rest = list(takewhile(lambda t: t.level > 1, tokens[start + 1 :]))
            label = (rest[1].children or [])[0].content
            yield label, rest[3:]
