"""Writes the text of a section as plain Markdown for notebooks.

References become links, citations become authors and years, figures are embedded in
the notebook, and equations have their numbers.
"""

import base64
import functools
import html
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from markdown_it.token import Token
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from book.base.drawing import draw_png, shown_size
from book.library.figures import is_explorable
from book.refs.numbers import Place
from book.refs.targets import Targets, id_of_work
from book.runner.errors import BookError
from book.text.blocks import Block, Equation, Figure, Heading, Table
from book.text.inline import replace_roles, text_for, without_code
from book.text.section import Section
from book.text.tokens import caption, plain

# Jupyter reads this sign, which CommonMark does not have.
STRIKE_OUT = re.compile(r"(?<!~)~~(?=[^\s~])")

TYPES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}
Link = Callable[[Place], str]


@dataclass(frozen=True)
class EmbeddedPicture:
    """An image in a format that every notebook can show."""

    name: str
    mime: str
    data: bytes
    width: int | None = None  # in CSS pixels, if it is not the image's own width


@functools.cache
def read_picture(path: Path) -> EmbeddedPicture:
    """Return the image in `path`; an SVG becomes a PNG, since Colab shows no SVG.

    Raises a `BookError` for a file in another format or a damaged SVG.
    """
    if path.suffix in TYPES:
        return EmbeddedPicture(path.name, TYPES[path.suffix], path.read_bytes())
    if path.suffix != ".svg":
        message = "notebooks can show only SVG, PNG and JPEG; convert this file"
        raise BookError(message, path)
    data = draw_png(path.read_text(encoding="utf-8"), path)
    return EmbeddedPicture(f"{path.stem}.png", "image/png", data, shown_size(data)[0])


@dataclass
class MarkdownWriter:
    """Writes the text cells of one notebook in order.

    `link` returns the address of a place in another section, and `link_to_site` returns
    its address on the site, or an empty text. If `inline` is True, the text contains
    the data of images; otherwise, images are attachments. The notebook shows the
    figures named in `interactive` by code, too.
    """

    section: Section
    targets: Targets
    link: Link
    link_to_site: Link
    inline: bool = False
    interactive: Collection[str] = ()
    cited: dict[str, None] = field(default_factory=dict)
    attachments: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def places(self) -> dict[str, Place]:
        """The places of the book that have a label."""
        return self.targets.numbers.places

    def cell(self, blocks: list[Block]) -> NotebookNode:
        """Return a text cell with these blocks."""
        self.attachments = {}
        texts = [self.text(block) for block in blocks]
        cell = new_markdown_cell("\n\n".join(filter(None, texts)))
        if self.attachments:
            cell["attachments"] = NotebookNode(self.attachments)
        return cell

    def text(self, block: Block) -> str:
        """Return a block as plain Markdown; empty if notebooks do not show it.

        Raises a `BookError` for a text that notebooks would strike out.
        """
        match block:
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
        text = self._lines(block.text).strip("\n")
        if STRIKE_OUT.search(without_code(text)):
            message = "Jupyter strikes text after '~~' out; write it as `code`"
            raise BookError(message, self.section.at(block.line))
        return text

    def references(self) -> NotebookNode | None:
        """Return a cell that lists the works that were cited, or None if none were."""
        if not self.cited:
            return None
        works = self.targets.bibliography
        entries = (
            f"{_anchor(id_of_work(key))}{text}{works.link(key)}"
            for key, text in works.formatted.items()
            if key in self.cited
        )
        return new_markdown_cell("\n\n".join(["## References", *entries]))

    def _lines(self, text: str) -> str:
        """Return a text as notebooks show it."""
        words, shown = self.targets.words, text_for(text, "notebook")
        return replace_roles(shown, lambda r: self._words(words(r.name, r.value)))

    # Blocks

    def _heading(self, heading: Heading) -> str:
        """Return a heading with its number."""
        number = self.targets.numbers.captions[self.section.name, heading.line]
        prefix = f"{number}. " if number else ""
        title = self._lines(heading.title)
        line = f"{'#' * heading.level} {prefix}{title}"
        # Links to the title of a notebook need no anchor.
        needs_anchor = heading.label and heading.level > 1
        if not needs_anchor:
            return line
        return f"{line}\n\n{_anchor(self.places[heading.label].anchor)}"

    def _equation(self, equation: Equation) -> str:
        """Return an equation with its number."""
        place = self.places[equation.label]
        return f"{_anchor(place.anchor)}\n$${equation.tex} \\tag{{{place.number}}}$$"

    def _table(self, table: Table) -> str:
        """Return a table below its caption and number."""
        rows, text = self._lines(table.rows), self._lines(table.caption)
        if table.label:
            place = self.places[table.label]
            text = f"{_anchor(place.anchor)}**Table {place.number}.** {text}".strip()
        return f"{text}\n\n{rows}" if text else rows

    def _figure(self, figure: Figure) -> str:
        """Return an image above its number and caption."""
        image = read_picture((self.section.path.parent / figure.path).resolve())
        text = self._lines(figure.caption)
        alt = figure.alt or plain(self.targets.word(caption(figure, "notebook")))
        size = f' width="{image.width}"' if image.width else ""
        tag = f'<img src="{self._image_source(image)}" alt="{html.escape(alt)}"{size}>'
        if figure.label:
            place = self.places[figure.label]
            # On the line of the image, the anchor would be at its bottom.
            tag = f"{_anchor(place.anchor)}\n\n{tag}"
            note = self._note_on_interactive_version(figure, place)
            text = f"**Fig. {place.number}.** {text}{note}"
        return f"{tag}\n\n{text}".rstrip()

    def _note_on_interactive_version(self, figure: Figure, place: Place) -> str:
        """Return a sentence on a figure's interactive version, or an empty text."""
        name = Path(figure.path).stem
        if name in self.interactive or not is_explorable(name):
            return ""
        address = self.link_to_site(place)
        edition = f"[the HTML edition]({address})" if address else "the HTML edition"
        return f" In {edition} this figure is interactive."

    def _image_source(self, image: EmbeddedPicture) -> str:
        """Return the address of an image, which becomes an attachment if need be."""
        data = base64.b64encode(image.data).decode()
        if self.inline:
            return f"data:{image.mime};base64,{data}"
        self.attachments[image.name] = {image.mime: data}
        return f"attachment:{image.name}"

    # References

    def _words(self, tokens: Sequence[Token]) -> str:
        """Return the words of a reference or a citation."""
        return "".join(map(self._word, tokens))

    def _word(self, token: Token) -> str:
        words, to = self._words(token.children or []), token.meta.get("to", "")
        if token.type != "reference":
            return token.content or token.markup
        if token.info == "work":
            self.cited[to] = None
            return f"[{words}](#{id_of_work(to)})"
        return self._reference(self.places[to], token.info, words)

    def _reference(self, place: Place, kind: str, words: str) -> str:
        """Return a link to a place."""
        text = place.title if kind == "title" else words
        if place.page == self.section.name:
            return f"[{text}](#{place.anchor})"
        if address := self.link(place):
            return f"[{text}]({address})"
        is_front = place.page == self.targets.book.config.build["index"]
        return f"{text} of the front page" if is_front and place.number else text


def _anchor(name: str) -> str:
    return f'<a id="{name}"></a>'
