"""Writes the tokens of a text as Typst, with the functions of `templates/book.typ`."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markdown_it.token import Token

from book.base.errors import BookError
from book.paper.edition import Edition
from book.paper.terms import emphasis
from book.refs.numbers import Place
from book.text.inline import CITATIONS
from book.text.tokens import parse_line

SPECIAL = re.compile(r"([\\*_`$#\[\]<>@~\"'/=+-])")
NUMBERED = re.compile(r"^(\s*\d+)([.)])", re.MULTILINE)
KINDS = {"figure": "Fig. ", "table": "Table ", "section": "Section ", "equation": ""}
# What is written for tokens that mean the same wherever they are. In markup, each call
# ends with a semicolon, since a bracket after it would be an argument.
BLOCKS = {
    "paragraph_open": "",
    "list_item_open": "[",
    "list_item_close": "],\n",
    "bullet_list_close": ")\n\n",
    "ordered_list_close": ")\n\n",
    "blockquote_open": "#quote(block: true)[",
    "blockquote_close": "]\n\n",
    "hr": "",
}
INLINES = {
    "em_close": "];",
    "strong_open": "#strong[",
    "strong_close": "];",
    "link_close": "];",
    "hardbreak": "#linebreak();",
}
# An equation of up to this many characters of TeX is not parted from its ending.
SHORT_EQUATION = 30


def escape(text: str) -> str:
    """Return markup that shows a text unchanged."""
    return NUMBERED.sub(r"\1\\\2", SPECIAL.sub(r"\\\1", text))


def string(text: str) -> str:
    """Return a string of Typst."""
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{quoted}"'


@dataclass
class Markup:
    """Writes texts as Typst markup.

    `where` is the place of the text in the sources, for errors. A text has entries of
    the index if `has_entries`, but those and the pages of references are never in what
    `is_title`, as captions are too.
    """

    edition: Edition
    where: str = ""
    has_entries: bool = True
    is_title: bool = False

    # Blocks

    def blocks(self, tokens: Sequence[Token]) -> str:
        """Return paragraphs, lists, quotations, listings and tables as Typst."""
        out, place = [], 0
        while place < len(tokens):
            if tokens[place].type == "table_open":
                end = _end_of_table(tokens, place)
                out.append(f"#plain-table({self.table(tokens[place:end])})\n\n")
                place = end
            else:
                out.append(self._block(tokens, place))
            place += 1
        return "".join(out)

    def _block(self, tokens: Sequence[Token], place: int) -> str:
        token = tokens[place]
        match token.type:
            case "inline":
                return self._inline(token.children or [])
            case "paragraph_close":
                return "" if token.hidden else "\n\n"
            case "bullet_list_open":
                return f"#list(tight: {_is_tight(tokens, place)}, "
            case "ordered_list_open":
                start = token.attrs.get("start", 1)
                return f"#enum(start: {start}, tight: {_is_tight(tokens, place)}, "
            case "fence" | "code_block":
                return code(token.content.rstrip("\n"), token.info.strip() or "text")
        return self._known(token, BLOCKS)

    def table(self, tokens: Sequence[Token]) -> str:
        """Return the arguments for a table: how columns align, the head, the rows."""
        cells: dict[str, list[str]] = {"th_open": [], "td_open": []}
        aligns = []
        for token, after in zip(tokens, tokens[1:], strict=False):
            if token.type in cells:
                cells[token.type].append(f"[{self._inline(after.children or [])}]")
            if token.type == "th_open":
                style = str(token.attrs.get("style", ""))
                aligns.append(style.rpartition(":")[2] or "left")
        rows = ",\n  ".join(cells["td_open"])
        return (
            f"({', '.join(aligns)},), ({', '.join(cells['th_open'])},), (\n  {rows},\n)"
        )

    # Lines

    def title(self, tokens: Sequence[Token]) -> str:
        """Return a title or a caption, without pages and entries of the index."""
        was_title, self.is_title = self.is_title, True
        try:
            return self.line(tokens)
        finally:
            self.is_title = was_title

    def line(self, tokens: Sequence[Token]) -> str:
        """Return the text of paragraphs or of a line, without what is around it."""
        return "".join(self._inline(token.children or []) for token in tokens)

    def _inline(self, children: Sequence[Token]) -> str:
        out, links = [], 0
        for place, token in enumerate(children):
            links += (token.type == "link_open") - (token.type == "link_close")
            out.append(self._entry(children, place) if not links else "")
            out.append(self._span(children, place))
        return "".join(out)

    def _span(self, children: Sequence[Token], place: int) -> str:
        token = children[place]
        match token.type:
            case "text":
                return escape(token.content)
            case "code_inline":
                return f"#raw({string(token.content)});"
            case "em_open":
                return "#emph["
            case "math":
                return self._equation(token)
            case "role" if token.info in CITATIONS:
                return self.citation(token.info, token.content)
            case "role":
                return self._reference(token.info, token.content)
            case "link_open":
                address = str(token.attrs["href"])
                noted = str(children[place + 1].content != address).lower()
                return f"#web({string(address)}, noted: {noted})["
        return self._known(token, INLINES)

    def _known(self, token: Token, known: Mapping[str, str]) -> str:
        """Return what is always written for a token; comments are left out."""
        if token.type.startswith("html_") and token.content.lstrip().startswith("<!--"):
            return ""
        if token.type not in known:
            message = f"the printed book cannot show '{token.content or token.type}'"
            raise BookError(f"{message.strip()}; write text instead", self.where)
        return known[token.type]

    def _entry(self, children: Sequence[Token], place: int) -> str:
        """Return the entry of the index for a token, if it has one."""
        token = children[place]
        if not self.has_entries or self.is_title:
            return ""
        if token.type == "em_open":
            return entry(
                self.edition.terms.term(emphasis(children, place)), is_code=False
            )
        is_code = token.type == "code_inline"
        return entry(
            self.edition.terms.name(token.content) if is_code else "", is_code=True
        )

    def _equation(self, token: Token) -> str:
        """Return an equation, which is not parted from a short ending."""
        typst = f"#formula({string(token.content)}, ${self.typst(token.content)}$);"
        ending = escape(token.meta.get("ending", ""))
        whole = ending and len(token.content) < SHORT_EQUATION
        return f"#box[{typst}{ending}];" if whole else f"{typst}{ending}"

    def typst(self, tex: str) -> str:
        """Return the Typst of an equation; raise a `BookError` if there is none."""
        made = self.edition.math[tex]
        if made is None:
            shown = " ".join(tex.split())
            raise BookError(f"cannot convert the equation '{shown}'", self.where)
        return made

    # References

    def _reference(self, role: str, label: str) -> str:
        """Return a reference, as a link with a page if the edition has the place."""
        place = self.edition.numbers.places.get(label)
        if place is None:
            message = f"no label '{label}'; add it or correct the name"
            raise BookError(message, self.where)
        text = self._reference_text(role, place)
        if label not in self.edition.labels:
            return text
        paged = "" if not self.is_title else ", paged: false"
        return f"#refer({string(label)}{paged})[{text}];"

    def _reference_text(self, role: str, place: Place) -> str:
        if place.kind == "equation":
            return f"({place.number})"
        if place.title and (role == "ref" or not place.number):
            return self.title(parse_line(place.title))
        return f"{KINDS[place.kind]}{place.number}".replace(" ", "~")

    def citation(self, role: str, keys: str) -> str:
        """Return a citation of some works, with links to their entries."""
        works = sorted(
            (*self.edition.bibliography.label(key.strip(), self.where), key.strip())
            for key in keys.split(",")
        )
        cited = []
        for people, year, key in works:
            authors = escape(people).replace("et al.", "#emph[et al.];")
            target = string(f"cite-{key}")
            if role == "citet":
                cited.append(f"{authors} (#cited({target})[{year}];)")
            else:
                cited.append(f"#cited({target})[{authors}, {year}];")
        return ", ".join(cited) if role == "citet" else f"({', '.join(cited)})"


def code(source: str, language: str) -> str:
    """Return a block of code."""
    return f"#code({string(source)}, {string(language)})\n"


def entry(name: str, is_code: bool) -> str:
    """Return an entry of the index for the place where it is; empty if unnamed."""
    return f"#entry({string(name)}, {str(is_code).lower()});" if name else ""


def _is_tight(tokens: Sequence[Token], start: int) -> str:
    """Return whether the items of the list that begins at `start` have no space."""
    for token in tokens[start:]:
        if token.type == "paragraph_open" and token.level == tokens[start].level + 2:
            return str(bool(token.hidden)).lower()
    return "true"


def _end_of_table(tokens: Sequence[Token], start: int) -> int:
    """Return the position of the end of the table that begins at `start`."""
    places = range(start, len(tokens))
    return next(i for i in places if tokens[i].type == "table_close")
