"""Writes an edition as one Typst document, with the functions of `templates/book.typ`.

A comment above each block names its line in the sources, for errors.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path

import imagesize

from book import merge
from book.base.drawing import FAMILY
from book.base.errors import BookError
from book.library.figures import is_explorable
from book.merge import Part, Run, TabSet
from book.paper.edition import Edition, Item, Page, is_hidden
from book.paper.markup import Markup, code, entry, escape, string
from book.paper.terms import plain
from book.records.outputs import PICTURES, Picture, PrintedText, read
from book.render import pictures
from book.text.blocks import (
    Block,
    Cell,
    Contents,
    Equation,
    Figure,
    Heading,
    Labelled,
    Prose,
    References,
    Table,
)
from book.text.tabs import tab_name
from book.text.tokens import parse_line

# Code of up to SHORT_CODE lines is kept on one page, together with its outputs if both
# have up to SHORT_CELL.
SHORT_CODE, SHORT_CELL = 12, 20
FRAME_LINES, LABEL_LINES = 2, 2
# A text of fewer lines, and a single item of up to this many, belong to what follows.
SHORT_TEXT, SHORT_ITEM = 4, 5
LINE_LENGTH, CODE_LENGTH = 80, 91  # characters
LINE_HEIGHT, TEXT_WIDTH = 12, 436  # points
PICTURE_SCALE = 0.75 * 0.8  # points of a pixel, and the size relative to a screen
FONT = re.compile(r'font-family="[^"]*"')
VARIES = "#note[Your output may differ, here and below.]\n"
NO_OUTPUT = "#note[No output.]\n"
# The levels of headings that the contents list, of a chapter and of pages below one.
CHAPTER_LEVELS, PAGE_LEVELS = 3, 1


class Writer:
    """Writes an edition; `files` holds the data of the files that its text names."""

    def __init__(self, edition: Edition):
        self.edition = edition
        self.tabs = edition.book.tabs
        self.markup = Markup(edition)
        self.part_titles = {s[0].name: t for t, s in edition.book.parts if t}
        self.files: dict[str, bytes] = {}
        # The page that is written, the level of its last heading, and the tabs whose
        # readers know by now that their outputs may differ.
        self.page, self.level = edition.pages[0], 0
        self.told: set[str] = set()

    def write(self) -> str:
        """Return the whole document."""
        pages = "".join(map(self._page, self.edition.pages))
        if self.edition.works and "\n#work(" not in pages:
            pages += f"#head(1)[References]\n{self._works()}"
        self.files["facts.json"] = json.dumps(self._facts()).encode()
        book = '#import "book.typ": *\n#show: book.with(..json("facts.json"))\n'
        return f"{book}{pages}\n#the-index()\n"

    def _facts(self) -> dict[str, object]:
        """Return the title of the book and all else that its first pages show."""
        edition, project = self.edition, self.edition.book.config.project
        front = edition.book.sections[0].title
        keywords = edition.book.setting("pdf", "keywords").split(",")
        return {
            "name": front.title if front else project["title"],
            "author": project["author"],
            "release": project["release"],
            "imprint": f"© {project['copyright']}",
            "site": edition.book.setting("publish", "site"),
            "lang": project["lang"],
            "frameworks": [tab_name(tab) for tab in self.tabs],
            "keywords": [word.strip() for word in keywords if word.strip()],
            "has-parts": bool(self.part_titles),
        }

    # Pages

    def _page(self, page: Page) -> str:
        self.page, self.told, self.level = page, set(), 0
        self.markup.has_entries = page.depth > 0
        title = self.part_titles.get(page.section.name, "")
        part = f"#part[{escape(title)}]\n" if title else ""
        return f"{part}{self._items(page.items)}"

    def _items(self, items: Sequence[Item]) -> str:
        """Return the text of items in a row."""
        items = [i for i in items if isinstance(i, TabSet) or not is_hidden(i.block)]
        out = []
        for place, item in enumerate(items):
            if isinstance(item, TabSet):
                out.append(self._tab_set(item))
                continue
            before = items[place - 1] if place else None
            after = items[place + 1] if place + 1 < len(items) else None
            text = self._part(item)
            out.append(f"\n// {self.page.section.at(item.block.line)}\n")
            is_lead = self._leads(item.block, before, after)
            out.append(f"#lead[\n{text}]\n" if is_lead else text)
        return "".join(out)

    def _leads(self, block: Block, before: Item | None, after: Item | None) -> bool:
        """Return True for a text that must be on the page of what follows.

        It announces that by a colon, or it is short and above code or a table, or below
        a heading.
        """
        if not isinstance(block, Prose) or after is None:
            return False
        tokens = self.edition.texts[id(block)].body
        text = plain(tokens)
        lines = len(text) // LINE_LENGTH + 1
        above_code = isinstance(after, TabSet) or isinstance(after.block, Cell | Table)
        if tokens[0].type != "paragraph_open":
            items = sum(token.type == "list_item_open" for token in tokens)
            return items == 1 and above_code and lines <= SHORT_ITEM
        below_heading = isinstance(before, Part) and isinstance(before.block, Heading)
        is_short = lines < SHORT_TEXT and (above_code or below_heading)
        return is_short or text.endswith(":")

    def _tab_set(self, tab_set: TabSet) -> str:
        out = []
        for panel in tab_set.panels:
            names = string(", ".join(map(tab_name, panel.tabs)))
            if text := self._items(panel.parts):
                out.append(f"#tab({names})[\n{text}]\n")
        return "".join([*out, "#end-tabs\n"]) if out else ""

    def _part(self, part: Part) -> str:
        block, self.markup.where = part.block, self.page.section.at(part.block.line)
        text = self.edition.texts[id(block)]
        match block:
            case Cell():
                return self._cell(block, part)
            case Contents():
                return ""
            case References():
                return self._works()
            case Heading():
                return self._heading(block)
            case Figure():
                return self._figure(block)
            case Table():
                caption = self.markup.title(text.title)
                facts = f", caption: [{caption}]" if caption else ""
                facts += self._caption_place(block)
                return f"#numbered-table({self.markup.table(text.body)}{facts})\n\n"
            case Equation():
                tex, typst = string(block.tex.strip()), self.markup.typst(block.tex)
                return f"#equation({tex}, $ {typst} ${self._caption_place(block)})\n\n"
        return self.markup.blocks(text.body)

    def _caption_place(self, block: Labelled) -> str:
        """Return the arguments with the number and the label of a block."""
        captions = self.edition.numbers.captions
        number = captions.get((self.page.section.name, block.line), "")
        return _place(number, block.label)

    # Headings

    def _heading(self, heading: Heading) -> str:
        title = self.markup.title(self.edition.texts[id(heading)].title)
        if self.page.depth == 0 and heading.level == 1:
            title = "Preface"
        if heading.level > self.level + 1:
            message = f"level {heading.level} below level {self.level}; remove a '#'"
            raise BookError(f"a heading of {message}", self.markup.where)
        self.level = heading.level
        levels = CHAPTER_LEVELS if self.page.depth == 1 else PAGE_LEVELS
        facts = str(heading.level + max(self.page.depth - 1, 0))
        facts += f", level: {heading.level}" if self.page.depth == 0 else ""
        facts += f", listed: {str(heading.level <= levels).lower()}"
        facts += _place(self._number(heading), heading.label)
        text = f"#head({facts})[{title}]\n\n"
        return text + (self._origin() if heading.level == 1 else "")

    def _number(self, heading: Heading) -> str:
        """Return the number of a heading; empty if it has none."""
        headings = [b for b in self.page.section.blocks if isinstance(b, Heading)]
        numbers = self.edition.numbers.headings[self.page.section.name]
        found = {h.line: n for h, n in zip(headings, numbers, strict=True)}
        return found[heading.line] if self.page.has_number else ""

    def _origin(self) -> str:
        """Return what a page requires, and the origin of its outputs in each tab."""
        about = self.markup.blocks(self.page.about)
        if not any(True for _ in self.page.section.cells):
            return about
        views = {view.tab: view for view in self.page.views}
        several = len(self.tabs) > 1
        for tab in self.tabs:
            view = views.get(tab)
            made = self.markup.line(
                parse_line(merge.origin(view, tab, self.page.section))
            )
            name = f", tab: {string(tab_name(tab))}" if several else ""
            about += f"#origin([{made}]{name})\n"
            for notice in merge.version_notices(view):
                about += f"#notice[{self.markup.line(parse_line(notice))}]\n"
        return about

    # Figures

    def _figure(self, figure: Figure) -> str:
        text = self.edition.texts[id(figure)].title
        file = self.page.section.path.parent / figure.path
        path = self._picture(file.read_bytes(), file.suffix)
        alt = string(figure.alt or plain(text))
        caption = self.markup.title(text) + self._interactive(figure)
        return f"#picture({path}, {alt}{self._caption_place(figure)})[{caption}]\n\n"

    def _interactive(self, figure: Figure) -> str:
        """Return a link to the interactive version of a figure, if it has one.

        It is only a note if the book has no address yet.
        """
        name, site = (
            Path(figure.path).stem,
            self.edition.book.setting("publish", "site"),
        )
        if not is_explorable(name):
            return ""
        if not site:
            return " #emph[Interactive in the HTML edition.];"
        query = f"?tab={self.tabs[0]}" if len(self.tabs) == 1 else ""
        anchor = figure.label.replace("_", "-")
        address = f"{site.rstrip('/')}/{self.page.section.name}.html{query}#{anchor}"
        return f" #web({string(address)})[Interactive version];."

    def _picture(self, data: bytes, suffix: str) -> str:
        """Return the path and the width of a picture as arguments."""
        if suffix == ".svg":
            data = FONT.sub(f'font-family="{FAMILY}"', data.decode()).encode()
        path = f"{hashlib.sha256(data).hexdigest()[:16]}{suffix}"
        self.files[path] = data
        width = imagesize.get(io.BytesIO(data))[0] * PICTURE_SCALE
        return f"{string(path)}, {min(width, TEXT_WIDTH):.0f}pt"

    # Cells

    def _cell(self, cell: Cell, part: Part) -> str:
        """Return the code of a cell and its outputs."""
        found: list[tuple[str, float]] = []  # with their heights in lines
        if source := cell.code.strip("\n"):
            entries = self._definitions(source)
            found.append((f"{entries}{code(source, 'python')}", _lines(source)))
        several = len(part.runs) > 1
        outputs = [o for run in part.runs for o in self._run(run, cell, several)]
        if outputs and cell.varies and not self.told.issuperset(part.tabs):
            self.told.update(part.tabs)
            outputs.append((VARIES, 1))
        return _together([*found, *outputs]) + "\n"

    def _definitions(self, source: str) -> str:
        """Return the entries of the index for what code defines."""
        name = self.page.section.name
        names = self.edition.terms.definitions(source, name) if self.page.depth else ()
        return "".join(entry(n, is_code=True) + "\n" for n in names)

    def _run(self, run: Run, cell: Cell, several: bool) -> list[tuple[str, float]]:
        """Return the outputs of a run, the first below its machines if runs differ."""
        outputs = [self._output(output, cell) for output in read(run.outputs)]
        if several:
            text, lines = outputs[0] if outputs else (NO_OUTPUT, 1)
            label = f"#machine({string(', '.join(run.titles))})\n"
            outputs[:1] = [(label + text, lines + LABEL_LINES)]
        return outputs

    def _output(self, output: PrintedText | Picture, cell: Cell) -> tuple[str, float]:
        """Return an output and its height in lines."""
        if isinstance(output, PrintedText):
            return f"#output({string(output.text)})\n", _lines(output.text)
        picture = pictures.shown(output, cell)
        suffix = PICTURES[picture.kind]
        is_text = suffix == "svg"
        data = picture.data.encode() if is_text else base64.b64decode(picture.data)
        height = imagesize.get(io.BytesIO(data))[1] * PICTURE_SCALE / LINE_HEIGHT
        path = self._picture(data, f".{suffix}")
        return f"#plot({path}, {string(picture.alt)})\n", height

    # The bibliography

    def _works(self) -> str:
        """Return the entry of each work, which ends with its address."""
        works = self.edition.bibliography.works
        out = []
        for key, tokens in self.edition.works.items():
            url = works[key].fields.get("url", "")
            link = f" #address({string(url)});" if url else ""
            text = self.markup.title(tokens)
            out.append(f"#work({string(f'cite-{key}')})[{text}{link}]\n")
        return "".join(out)


def _place(number: str, label: str) -> str:
    """Return a number and a label as arguments, if there are any."""
    numbered = f", number: {string(number)}" if number else ""
    return f"{numbered}, label: {string(label)}" if label else numbered


def _lines(source: str) -> int:
    """Return the number of lines of code, in which long lines are folded."""
    return sum(1 + len(line) // CODE_LENGTH for line in source.split("\n"))


def _together(blocks: Sequence[tuple[str, float]]) -> str:
    """Return code and outputs, of which one page holds as many as are short enough."""
    height, kept = 0.0, 0
    for _, lines in blocks:
        height += lines + FRAME_LINES
        if height > SHORT_CELL + FRAME_LINES:
            break
        kept += 1
    if not blocks or blocks[0][1] > SHORT_CODE or kept < 2:
        kept = 0
    first = "".join(text for text, _ in blocks[:kept])
    rest = "".join(text for text, _ in blocks[kept:])
    return f"#whole[\n{first}]\n{rest}" if first else rest
