"""The text of a section as a notebook shows it: Markdown without d2lbook's marks.

References become links, citations author and year, figures images in the notebook
itself, and equations get their numbers.
"""

import base64
import html
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from book.base.errors import BookError
from book.notebooks.figures import Picture, picture
from book.sources.bibliography import Bibliography
from book.sources.blocks import (
    Block,
    Contents,
    Directive,
    Equation,
    Figure,
    Heading,
    Table,
)
from book.sources.inline import Role, for_medium, replace_roles, without_slide_marks
from book.sources.numbers import Numbers, Place
from book.sources.section import Section

API = ("class", "func", "mod")
SHORT = {"figure": "Fig. ", "table": "Table ", "section": "Section ", "equation": ""}

Link = Callable[[Place], str]


@dataclass
class Writer:
    """Writes the text cells of one notebook, in their order.

    `link` is the address of a place in another section, `on_site` that on the book's
    site, empty where there is none. With `inline` images stand in the text itself,
    otherwise they are attachments.
    """

    section: Section
    numbers: Numbers
    bibliography: Bibliography
    link: Link
    on_site: Link
    inline: bool = False
    cited: dict[str, None] = field(default_factory=dict)
    headings: int = 0
    attachments: dict[str, dict[str, str]] = field(default_factory=dict)

    def cell(self, blocks: list[Block]) -> NotebookNode:
        """Return a text cell that shows `blocks`."""
        self.attachments = {}
        texts = [self.text(block) for block in blocks]
        cell = new_markdown_cell("\n\n".join(filter(None, texts)))
        if self.attachments:
            cell["attachments"] = NotebookNode(self.attachments)
        return cell

    def text(self, block: Block) -> str:
        """Return a block in Markdown that every notebook knows; empty if unseen."""
        match block:
            case Contents() | Directive():
                what = "a notebook cannot show this block; move it to another page"
                raise BookError(what, self.section.at(block.line))
            case Heading():
                return self._heading(block)
            case _ if block.sign.endswith("~~"):
                return ""
            case Figure():
                return self._figure(block)
            case Table():
                return self._table(block)
            case Equation() if block.label:
                return self._equation(block)
        return self._lines(block, block.text).strip("\n")

    def references(self) -> NotebookNode | None:
        """Return a cell with the works that were cited, if any."""
        if not self.cited:
            return None
        entries = self.bibliography.entries(self.cited)
        return new_markdown_cell(f"## References\n\n{entries}")

    def _lines(self, block: Block, text: str) -> str:
        """Return a text of a block with its roles written out."""
        seen = without_slide_marks(for_medium(text, "notebook"))
        return replace_roles(seen, lambda role: self._inline(role, block))

    # Blocks

    def _heading(self, heading: Heading) -> str:
        numbers = self.numbers.headings[self.section.name]
        number = numbers[self.headings] if self.headings < len(numbers) else ""
        self.headings += 1
        prefix = f"{number}. " if number else ""
        title = self._lines(heading, heading.title)
        head = f"{'#' * heading.level} {prefix}{title}"
        # The title is where a link to the notebook leads.
        labelled = heading.label and heading.level > 1
        return f"{head}\n\n{_anchor(heading.label)}" if labelled else head

    def _equation(self, equation: Equation) -> str:
        number = self.numbers.places[equation.label].number
        return f"{_anchor(equation.label)}\n$${equation.tex} \\tag{{{number}}}$$"

    def _table(self, table: Table) -> str:
        rows, caption = self._lines(table, table.rows), ""
        if table.caption:
            caption = self._lines(table, table.caption)
        if table.label:
            number = self.numbers.places[table.label].number
            head = f"{_anchor(table.label)}**Table {number}.**"
            caption = f"{head} {caption}".strip()
        return f"{caption}\n\n{rows}" if caption else rows

    def _figure(self, figure: Figure) -> str:
        image = picture((self.section.path.parent / figure.path).resolve())
        caption = self._lines(figure, figure.caption)
        alt = figure.alt or _plain(caption)
        width = figure.width.removesuffix("px") or image.width
        size = f' width="{width}"' if width else ""
        shown = f'<img src="{self._source(image)}" alt="{html.escape(alt)}"{size}>'
        if figure.label:
            place = self.numbers.places[figure.label]
            # In the line of the image, it would be at the foot of it.
            shown = f"{_anchor(figure.label)}\n\n{shown}"
            caption = (
                f"**Fig. {place.number}.** {caption}{self._answers(figure, place)}"
            )
        return f"{shown}\n\n{caption}".rstrip()

    def _answers(self, figure: Figure, place: Place) -> str:
        """Return where the figure is interactive, for a notebook shows it still."""
        script = Path(figure.path).with_suffix(".js").name
        root = self.numbers.book.root
        if not (root / "static" / "explorables" / script).exists():
            return ""
        address = self.on_site(place)
        edition = f"[the HTML edition]({address})" if address else "the HTML edition"
        return f" In {edition} this figure is interactive."

    def _source(self, image: Picture) -> str:
        data = base64.b64encode(image.data).decode()
        if self.inline:
            return f"data:{image.mime};base64,{data}"
        self.attachments[image.name] = {image.mime: data}
        return f"attachment:{image.name}"

    # Roles

    def _inline(self, role: Role, block: Block) -> str:
        where = self.section.at(block.line)
        if role.name in ("ref", "numref", "eqref"):
            return self._reference(role, where)
        if role.name in ("cite", "citep", "citet"):
            keys = [key.strip() for key in role.value.split(",")]
            self.cited |= dict.fromkeys(keys)
            return self.bibliography.cite(keys, where, role.name == "citet")
        if role.name in API:
            return f"`{role.value.lstrip('~')}`"
        message = f"a notebook cannot show the role '{role.name}'; write words"
        raise BookError(message, where)

    def _reference(self, role: Role, where: str) -> str:
        label = role.value
        place = self.numbers.places.get(label)
        if place is None:
            raise BookError(f"no label '{label}'; add it or correct the name", where)
        words = _words(role.name, place)
        if place.page == self.section.name:
            return f"[{words}](#{label})"
        address = self.link(place)
        return f"[{words}]({address})" if address else words


def _words(role: str, place: Place) -> str:
    """What a reference says."""
    if place.kind == "equation":
        return f"({place.number})"
    if role == "ref" and place.title or not place.number:
        return place.title or place.label
    title = f": {place.title}" if place.title else ""
    return f"{SHORT[place.kind]}{place.number}{title}"


def _anchor(label: str) -> str:
    return f'<a id="{label}"></a>'


def _plain(caption: str) -> str:
    """A caption without its links and marks."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)|[*`]", r"\1", caption)
