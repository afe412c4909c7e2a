"""Parses the Markdown of a section into blocks with exact line numbers.

markdown-it-py reads the Markdown. Three additional rules read the extensions of
d2lbook: marks on a line of their own, such as ``:label:`sec_one` ``, signs of slide
marks on a line of their own, and equations between `$$`, which may be inside a slide
mark.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from book.text.blocks import (
    ALL_TABS,
    Block,
    Cell,
    Contents,
    Equation,
    Figure,
    Heading,
    Prose,
    References,
    Table,
)
from book.text.inline import SIGN, SIGNS

# A line such as :label:`fig_one`. A role within text, such as :numref:, is not a mark.
MARK = re.compile(
    r":(begin_tab|end_tab|label|eqlabel|bibliography):(?:`([^`]*)`)?[ \t]*"
)
EQUATION = re.compile(r"(?:[\[(](?:\*\*|~~))?\$\$")
EQUATION_END = re.compile(r"\$\$(?:(?:\*\*|~~)[\])])?[ \t]*")
CAPTION = re.compile(r":(?!\w+:`)[ \t]*(\S.*)", re.DOTALL)
TAB_LINE = re.compile(r"%%tab[ \t]+([^\n]*?)[ \t]*(?:\n|$)")
ATTRIBUTE = re.compile(r"""\.([\w-]+)|([\w-]+)=("[^"]*"|'[^']*'|[^\s}]+)""")
CELL_CLASSES = {"python", "input", "varies", "predict", "notebook"}
CELL_CLASSES |= {"folded", "open"}
DEFINITION = re.compile(r"\[(?![*~])[^\]\n]+\]:[ \t]")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):|//", re.IGNORECASE)
SAFE_SCHEMES = ("http", "https", "mailto")
IN_TEXT = "image '{}' within text; put it in a paragraph of its own"


@dataclass
class Parsed:
    """The blocks of a section, and the line and the message of each mistake in it."""

    blocks: list[Block] = field(default_factory=list)
    problems: list[tuple[int, str]] = field(default_factory=list)


def parse(text: str) -> Parsed:
    """Return the blocks of a section and the mistakes in its Markdown."""
    parser = _Parser(text)
    parser.read(_markdown_parser().parse(text))
    parser.parsed.problems.sort()
    return parser.parsed


@functools.cache
def _markdown_parser() -> MarkdownIt:
    """Return a parser of CommonMark, tables and the extensions of d2lbook."""
    markdown = MarkdownIt("commonmark").enable("table")
    # The rule for link definitions makes no token, so their lines would be lost.
    markdown.disable("reference")
    rules = {"equation": _equation_rule, "mark": _mark_rule, "sign": _sign_rule}
    for name, rule in rules.items():
        interrupts = ["paragraph", "reference", "blockquote", "list"]
        markdown.block.ruler.before("fence", name, rule, {"alt": interrupts})
    # Dangerous links must reach `_check_inline`, which reports them.
    markdown.validateLink = lambda url: True  # type: ignore[method-assign]
    return markdown


# Rules for markdown-it: each returns True if it matches the text at line `start`.


def _mark_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read one line that is a mark, such as ``:label:`sec_one` ``."""
    mark = MARK.fullmatch(_line(state, start))
    if mark is None:
        return False
    if not silent:
        _push(state, "mark", start, start + 1, mark[1]).meta = {"value": mark[2]}
    return True


def _sign_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read one line that is a sign of a slide mark around blocks, such as `(**`."""
    sign = _line(state, start).rstrip()
    if sign not in SIGNS and sign not in SIGNS.values():
        return False
    if not silent:
        _push(state, "sign", start, start + 1, sign)
    return True


def _equation_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read the lines of an equation, or its first line if it is not closed."""
    first = _line(state, start)
    opening = EQUATION.match(first)
    if opening is None:
        return False
    last = _last_line(state, start, end, opening.end())
    if last == start and not EQUATION_END.fullmatch(first, first.rindex("$$")):
        return False  # The line is text that begins with a formula.
    if not silent:
        after = (start if last is None else last) + 1
        token = _push(state, "equation", start, after, "")
        token.meta = {"closed": last is not None}
    return True


def _last_line(state: StateBlock, start: int, end: int, column: int) -> int | None:
    """Return the line on which an equation ends, or None if it is not closed.

    The text of the equation begins at `column` of line `start`.
    """
    for number in range(start, end):
        line = _line(state, number)
        if not line.strip():
            return None
        if "$$" in line[column if number == start else 0 :]:
            return number
    return None


def _line(state: StateBlock, number: int) -> str:
    """Return the text of a line, counted from 0."""
    return state.src[state.bMarks[number] : state.eMarks[number]]


def _push(state: StateBlock, kind: str, start: int, end: int, info: str) -> Token:
    """Return a new token for the lines from `start` up to `end`, which are now read."""
    token = state.push(kind, "", 0)
    token.map, token.info = [start, end], info
    state.line = end
    return token


# Blocks


class _Parser:
    """Turns the tokens of one section into blocks; `parsed` holds the result."""

    def __init__(self, text: str):
        self.lines = text.split("\n")
        self.parsed = Parsed()
        self.cells = 0  # how many have been read
        self.tabs = ALL_TABS
        self.tab_line = 0  # the line on which the open tab begins, or 0
        self.sign, self.sign_line = "", 0  # the open slide mark around blocks

    def read(self, tokens: list[Token]) -> None:
        """Read all tokens of a section and report its mistakes."""
        for token, texts in _groups(tokens):
            self._add(token, texts)
            for text in texts:
                self._check_inline(text)
        if self.tab_line:
            self._report(self.tab_line, "unclosed tab; add :end_tab:")
        self._close_sign()

    def _report(self, line: int, message: str) -> None:
        self.parsed.problems.append((line, message))

    def _add(self, token: Token, texts: list[Token]) -> None:
        """Read a mark, or add the block that begins with `token`."""
        match token.type:
            case "mark":
                self._read_mark(token)
            case "sign":
                self._read_sign(token)
            case "equation":
                self._append(self._equation(token))
            case "fence":
                self._append(self._fence(token))
            case "heading_open":
                self._append(self._heading(token, texts[0]))
            case "table_open":
                self._append(self._table(token))
            case "paragraph_open":
                self._append(self._paragraph(token, texts[0]))
            case "code_block":
                message = "indented code block; put it between fences"
                self._report(_lines(token)[0] + 1, message)
            case "html_block":
                self._check_html(Prose(**self._place(token)))
            case _:
                self._append(Prose(**self._place(token)))

    def _append(self, block: Block) -> None:
        """Add a block, with the sign of the slide mark around it."""
        if self.sign:
            block = replace(block, sign=self.sign)
        self.parsed.blocks.append(block)

    def _place(self, token: Token) -> dict[str, Any]:
        """Return what all blocks have: line, source without blank lines below, tabs."""
        start, end = _lines(token)
        source = "\n".join(self.lines[start:end]).rstrip()
        return {"line": start + 1, "source": source, "tabs": self.tabs}

    def _heading(self, token: Token, text: Token) -> Heading:
        place = self._place(token)
        if self.tab_line:
            message = "heading inside a tab; move it out of :begin_tab:"
            self._report(place["line"], message)
        level, title = int(token.tag[1:]), text.content.strip()
        return Heading(**place | {"tabs": ALL_TABS}, level=level, title=title)

    def _table(self, token: Token) -> Table:
        """Return a table; its caption is a paragraph above it that begins with a colon.

        That paragraph becomes a part of the table.
        """
        place = self._place(token)
        table = Table(**place, rows=place["source"])
        above = self.parsed.blocks[-1] if self.parsed.blocks else None
        caption = CAPTION.fullmatch(above.source) if isinstance(above, Prose) else None
        if above is None or caption is None:
            return table
        self.parsed.blocks.pop()
        newlines = "\n" * (table.line - above.line - above.source.count("\n"))
        source, text = f"{above.source}{newlines}{table.rows}", caption[1].strip()
        return replace(table, line=above.line, source=source, caption=text)

    def _equation(self, token: Token) -> Equation:
        """Return an equation; report it if it is not closed."""
        place = self._place(token)
        if not token.meta["closed"]:
            self._report(place["line"], "unclosed equation; add $$")
        tex = SIGN.sub("", place["source"]).strip().strip("$").strip()
        return Equation(**place, tex=tex)

    def _paragraph(self, token: Token, text: Token) -> Block:
        """Return a paragraph as prose, or as a figure if it is only an image."""
        place = self._place(token)
        if DEFINITION.match(place["source"]):
            message = "link definition; write the address in the link: [text](address)"
            self._report(place["line"], message)
        image = _only_image(text)
        if image is None:
            return Prose(**place)
        path, alt = str(image.attrs["src"]), str(image.attrs.get("title", ""))
        return Figure(**place, path=path, caption=image.content, alt=alt)

    # Fences

    def _fence(self, token: Token) -> Block:
        """Return the cell, table of contents or listing in a fence."""
        place = self._place(token)
        self._check_fence(token, place["line"])
        info = token.info.strip()
        if info.startswith("{"):
            return self._cell(token, place)
        if info == "toc":
            return self._contents(token, place)
        return Prose(**place)

    def _check_fence(self, token: Token, line: int) -> None:
        """Report a fence that is not closed, or is closed by the next block's fence."""
        end = _lines(token)[1]
        closed = end - line >= 1 and self.lines[end - 1].strip(" \t") == token.markup
        holds_another = any(
            content.startswith(token.markup) and content.strip() != token.markup
            for content in token.content.split("\n")
        )
        if not closed or holds_another:
            self._report(line, "unclosed code block; close its fence")

    def _cell(self, token: Token, place: dict[str, Any]) -> Cell:
        """Return a cell; report classes that cells do not have."""
        line, (classes, attributes) = place["line"], _attributes(token.info)
        if not {"python", "input"} <= classes:
            message = "not a cell; write {.python .input}, or remove the braces"
            self._report(line, message)
        for unknown in sorted(classes - CELL_CLASSES):
            known = ", ".join(sorted(CELL_CLASSES - {"python", "input"}))
            self._report(line, f"unknown class '{unknown}'; choose from {known}")
        code = token.content.removesuffix("\n")
        tab_line = TAB_LINE.match(code)
        if tab_line:
            code = code[tab_line.end() :]
        first = line + (2 if tab_line else 1)
        self.cells += 1
        tabs = _named_tabs(tab_line[1]) if tab_line else ALL_TABS
        return Cell(
            **place | {"tabs": tabs},
            number=self.cells,
            code=code,
            rows=tuple(range(first, first + code.count("\n") + 1)),
            classes=tuple(sorted(classes)),
            attributes=attributes,
            has_tabs=tab_line is not None,
        )

    def _contents(self, token: Token, place: dict[str, Any]) -> Contents:
        """Return a table of contents without its options, such as `:maxdepth: 2`."""
        first = place["line"] + 1
        entries = [
            (entry.strip(), number)
            for number, entry in enumerate(token.content.split("\n"), start=first)
            if entry.strip() and not entry.strip().startswith(":")
        ]
        return Contents(**place, entries=tuple(entries))

    # Marks

    def _read_mark(self, token: Token) -> None:
        """Open or close a tab, add a bibliography, or attach a label."""
        name, value = token.info, token.meta["value"] or ""
        line = _lines(token)[0] + 1
        if name == "begin_tab":
            self._begin_tab(line, value)
        elif name == "end_tab":
            if not self.tab_line:
                self._report(line, ":end_tab: without :begin_tab:; remove it")
            self.tabs, self.tab_line = ALL_TABS, 0
        elif name == "bibliography":
            self._append(References(**self._place(token)))
        else:
            self._attach(name, value, line)

    def _read_sign(self, token: Token) -> None:
        """Open or close the slide mark around blocks."""
        line, sign = _lines(token)[0] + 1, token.info
        if sign in SIGNS:
            self._close_sign()
            self.sign, self.sign_line = sign, line
        elif self.sign and SIGNS[self.sign] == sign:
            self.sign = ""
        else:
            self._report(line, f"'{sign}' closes no slide mark; remove it")

    def _close_sign(self) -> None:
        """Close the slide mark around blocks, and report one that is still open."""
        if self.sign:
            problem = f"slide mark '{self.sign}' without its '{SIGNS[self.sign]}'"
            self._report(self.sign_line, f"{problem}; close it before the next one")
        self.sign = ""

    def _begin_tab(self, line: int, value: str) -> None:
        """Open a tab; report it if another tab is open or if it has no name."""
        if self.tab_line:
            problem = f"tab inside the tab of line {self.tab_line}"
            self._report(line, f"{problem}; close that tab first")
        if not value.strip():
            self._report(line, "tab without a name; write :begin_tab:`TAB`")
        self.tabs, self.tab_line = _named_tabs(value), line

    def _attach(self, name: str, value: str, line: int) -> None:
        """Add a label to the block above it."""
        block = self.parsed.blocks[-1] if self.parsed.blocks else None
        allowed = Equation if name == "eqlabel" else Heading | Figure | Table
        if not isinstance(block, allowed) or not value.strip():
            problem = {
                "label": "label without a heading, figure or table above it",
                "eqlabel": "equation label without an equation above it",
            }[name]
            self._report(line, f"{problem}; move it")
            return
        if block.label:
            self._report(line, "second label for the same block; remove it")
        self.parsed.blocks[-1] = replace(block, label=value, label_line=line)

    # Markup that must not reach a page

    def _check_inline(self, inline: Token) -> None:
        """Report raw HTML, unsafe links, and images from other sites or within text."""
        for child in inline.children or []:
            address = child.attrs.get("href") or child.attrs.get("src")
            if child.type == "html_inline" and not COMMENT.fullmatch(child.content):
                line = self._line_of(inline, child.content)
                self._report(line, f"raw HTML '{child.content}'; write Markdown")
            elif address is not None:
                problem = _address_problem(child.type, str(address))
                if child.type == "image" and not _only_image(inline):
                    problem = problem or IN_TEXT.format(address)
                if problem:
                    self._report(self._line_of(inline, str(address)), problem)

    def _check_html(self, block: Prose) -> None:
        """Report raw HTML in a block that is not only comments."""
        rest = COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), block.source)
        if rest.strip():
            line = block.line_at(len(rest) - len(rest.lstrip()))
            tag = re.split(r"(?<=>)|\s", rest.strip())[0]
            self._report(line, f"raw HTML '{tag}'; write Markdown")

    def _line_of(self, inline: Token, snippet: str) -> int:
        """Return the line of the file on which `snippet` starts in a token's text."""
        start, end = _lines(inline)
        for number, line in enumerate(self.lines[start:end], start=start + 1):
            if snippet.split("\n")[0] in line:
                return number
        return start + 1


def _lines(token: Token) -> list[int]:
    """Return the first line of a token, counted from 0, and the line after its last."""
    return token.map or [0, 0]


def _groups(tokens: list[Token]) -> Iterator[tuple[Token, list[Token]]]:
    """Yield each top-level token that has lines, with the inline tokens inside it."""
    starts = [i for i, t in enumerate(tokens) if t.level == 0 and t.map]
    for start, end in pairwise([*starts, len(tokens)]):
        within = tokens[start:end]
        yield within[0], [token for token in within if token.type == "inline"]


def _only_image(text: Token) -> Token | None:
    """Return the image if a paragraph holds nothing else but a slide mark around it."""
    children = [child for child in text.children or [] if child.type != "softbreak"]
    images = [child for child in children if child.type == "image"]
    words = "".join(child.content for child in children if child.type == "text")
    others = {child.type for child in children}
    plain = others <= {"image", "text", "strong_open", "strong_close"}
    if len(images) == 1 and plain and not words.strip(" ()[]~"):
        return images[0]
    return None


def _attributes(info: str) -> tuple[set[str], dict[str, str]]:
    """Return the classes and the attributes of a fence such as `{.python .input}`."""
    classes: set[str] = set()
    attributes: dict[str, str] = {}
    for name, key, value in ATTRIBUTE.findall(info):
        if name:
            classes.add(name)
        else:
            attributes[key] = value.strip("\"'")
    return classes, attributes


def _named_tabs(names: str) -> tuple[str, ...]:
    """Return the tabs in a list with commas, or `ALL_TABS` for "all"."""
    tabs = tuple(filter(None, (name.strip() for name in names.split(","))))
    return ALL_TABS if tabs == ("all",) else tabs


def _address_problem(kind: str, address: str) -> str:
    """Return why a page must not hold an address, or an empty text if it may."""
    scheme = SCHEME.match(address.strip())
    if kind == "image" and scheme:
        return f"image '{address}' is not a file of the book; put the file into img/"
    if scheme and scheme[1] and scheme[1].lower() not in SAFE_SCHEMES:
        return f"unsafe link '{address}'; begin links with {' or '.join(SAFE_SCHEMES)}"
    return ""
