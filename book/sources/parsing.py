"""Parses a section's Markdown once, into blocks with exact line numbers.

markdown-it-py reads the Markdown. Two rules of our own teach it what d2lbook adds: the
marks that stand alone on a line, such as ``:label:`sec_one` ``, and equations between
lines of `$$`, which may be within a slide mark.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from book.sources.blocks import (
    ALL_TABS,
    Block,
    Cell,
    Contents,
    Directive,
    Equation,
    Figure,
    Heading,
    Prose,
    Table,
)
from book.sources.inline import SIGNS

# A line such as :label:`fig_one`. Roles within text, such as :numref:, are none.
MARK = re.compile(
    r":(begin_tab|end_tab|label|eqlabel|width|height|bibliography):(?:`([^`]*)`)?[ \t]*"
)
EQUATION = re.compile(r"(?:[\[(](?:\*\*|~~))?\$\$")
EQUATION_END = re.compile(r"\$\$(?:(?:\*\*|~~)[\])])?[ \t]*")
SLIDE_MARKS = re.compile(r"[\[(](?:\*\*|~~)|(?:\*\*|~~)[\])]")
CAPTION = re.compile(r":(?!\w+:`)[ \t]*(\S.*)", re.DOTALL)
TAB_LINE = re.compile(r"(?:%%tab|#[ \t]*@tab)[ \t]+([^\n]*?)[ \t]*(?:\n|$)")
ATTRIBUTE = re.compile(r"""\.([\w-]+)|([\w-]+)=("[^"]*"|'[^']*'|[^\s}]+)""")
CELL_CLASSES = {"python", "input", "varies", "off-slides", "notebook"}
DEFINITION = re.compile(r"\[(?![*~])[^\]\n]+\]:[ \t]")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):|//", re.IGNORECASE)
SAFE_SCHEMES = ("http", "https", "mailto")
RAW_DIRECTIVE = re.compile(r"^[ \t]*\.\.[ \t]+raw::[ \t]*.*html", re.MULTILINE)


@dataclass
class Parsed:
    """The blocks of a section, and each problem with its line."""

    blocks: list[Block] = field(default_factory=list)
    problems: list[tuple[int, str]] = field(default_factory=list)


def parse(text: str) -> Parsed:
    """Return the blocks of a section and what is wrong with its Markdown."""
    parser = _Parser(text)
    parser.read(_markdown().parse(text))
    parser.found.problems.sort()
    return parser.found


@functools.cache
def _markdown() -> MarkdownIt:
    markdown = MarkdownIt("commonmark").enable("table")
    # Definitions leave no token behind, so their lines would be lost.
    markdown.disable("reference")
    rules = {"equation": _equation_rule, "mark": _mark_rule, "sign": _sign_rule}
    for name, rule in rules.items():
        interrupts = ["paragraph", "reference", "blockquote", "list"]
        markdown.block.ruler.before("fence", name, rule, {"alt": interrupts})
    # Every link is to be seen here; the dangerous ones are refused by name.
    markdown.validateLink = lambda url: True  # type: ignore[method-assign]
    return markdown


# Rules for markdown-it


def _mark_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read one line that is a mark of d2lbook's."""
    mark = MARK.fullmatch(_line(state, start))
    if mark is None:
        return False
    if not silent:
        _push(state, "mark", start, start + 1, mark[1]).meta = {"value": mark[2]}
    return True


def _sign_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read one line that is a sign of a slide mark around whole blocks."""
    sign = _line(state, start).rstrip()
    if sign not in SIGNS and sign not in SIGNS.values():
        return False
    if not silent:
        _push(state, "sign", start, start + 1, sign)
    return True


def _equation_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read the lines of an equation; one that does not end is read too."""
    first = _line(state, start)
    opening = EQUATION.match(first)
    if opening is None:
        return False
    last = _last_line(state, start, end, opening.end())
    if last == start and not EQUATION_END.fullmatch(first, first.rindex("$$")):
        return False  # a formula at the start of a line of text
    if not silent:
        after = start if last is None else last
        token = _push(state, "equation", start, after + 1, "")
        token.meta = {"closed": last is not None}
    return True


def _last_line(state: StateBlock, start: int, end: int, opened: int) -> int | None:
    """Return the line on which an equation ends, None if it does not."""
    for number in range(start, end):
        line = _line(state, number)
        if not line.strip():
            return None
        if "$$" in line[opened if number == start else 0 :]:
            return number
    return None


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] : state.eMarks[number]]


def _push(state: StateBlock, kind: str, start: int, end: int, info: str) -> Token:
    token = state.push(kind, "", 0)
    token.map, token.info = [start, end], info
    state.line = end
    return token


# Blocks


class _Parser:
    """Makes blocks of the tokens of one section."""

    def __init__(self, text: str):
        self.lines = text.split("\n")
        self.found = Parsed()
        self.tabs = ALL_TABS
        self.tab_line = 0  # where the open tab begins, 0 if none is open
        self.sign, self.sign_line = "", 0  # likewise of a slide mark around blocks

    def read(self, tokens: list[Token]) -> None:
        for token, texts in _groups(tokens):
            self._add(token, texts)
            for text in texts:
                self._check_inline(text)
        if self.tab_line:
            self._problem(self.tab_line, "a tab that does not end; add :end_tab:")
        self._end_sign()

    def _problem(self, line: int, message: str) -> None:
        self.found.problems.append((line, message))

    def _add(self, token: Token, texts: list[Token]) -> None:
        """Add the block that begins with `token`, if it is one."""
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
                line = self._place(token)[0]
                self._problem(line, "an indented code block; put it between fences")
            case "html_block":
                self._check_html(self._prose(token))
            case _:
                self._append(self._prose(token))

    def _append(self, block: Block) -> None:
        if self.sign:
            block = replace(block, sign=self.sign)
        self.found.blocks.append(block)

    def _place(self, token: Token) -> tuple[int, str]:
        """Return the first line and the source of a token, without blank lines."""
        start, end = token.map or [0, 0]
        source = "\n".join(self.lines[start:end]).rstrip()
        return start + 1, source

    def _prose(self, token: Token) -> Prose:
        line, source = self._place(token)
        return Prose(line=line, source=source, tabs=self.tabs)

    def _heading(self, token: Token, text: Token) -> Heading:
        line, source = self._place(token)
        if self.tab_line:
            self._problem(line, "a heading inside a tab; move it out of :begin_tab:")
        title, level = text.content.strip(), int(token.tag[1:])
        return Heading(line=line, source=source, body=source, level=level, title=title)

    def _table(self, token: Token) -> Table:
        """Return a table; a paragraph above that begins with a colon is its caption."""
        line, rows = self._place(token)
        above = self.found.blocks[-1] if self.found.blocks else None
        caption = CAPTION.fullmatch(above.source) if isinstance(above, Prose) else None
        if above is None or caption is None:
            return Table(line=line, source=rows, body=rows, tabs=self.tabs, rows=rows)
        self.found.blocks.pop()
        blank = "\n" * (line - above.line - above.source.count("\n"))
        return Table(
            line=above.line,
            source=f"{above.source}{blank}{rows}",
            body=f"{above.source}{blank}{rows}",
            tabs=self.tabs,
            rows=rows,
            caption=caption[1].strip(),
        )

    def _equation(self, token: Token) -> Equation:
        line, source = self._place(token)
        if not token.meta["closed"]:
            self._problem(line, "an equation that does not end; add $$")
        tex = SLIDE_MARKS.sub("", source).strip().strip("$").strip()
        return Equation(line=line, source=source, body=source, tabs=self.tabs, tex=tex)

    def _paragraph(self, token: Token, text: Token) -> Block:
        line, source = self._place(token)
        if DEFINITION.match(source):
            message = "an address apart from its link; write it as [text](address)"
            self._problem(line, message)
        image = _only_image(text)
        if image is None:
            return Prose(line=line, source=source, tabs=self.tabs)
        return Figure(
            line=line,
            source=source,
            body=source,
            tabs=self.tabs,
            path=str(image.attrs["src"]),
            caption=image.content,
            alt=str(image.attrs.get("title", "")),
        )

    # Fences

    def _fence(self, token: Token) -> Block:
        line, source = self._place(token)
        self._check_fence(token, line)
        info = token.info.strip()
        if info.startswith("{"):
            return self._cell(token, line, source)
        if info == "toc":
            return self._contents(token, line, source)
        if info == "eval_rst":
            if RAW_DIRECTIVE.search(token.content):
                self._problem(line, "raw HTML in eval_rst; write Markdown")
            return Directive(line=line, source=source, tabs=self.tabs)
        return Prose(line=line, source=source, tabs=self.tabs)

    def _check_fence(self, token: Token, line: int) -> None:
        """Report a fence that does not end, or that ends where the next one should."""
        end = (token.map or [0, 0])[1]
        closed = end - line >= 1 and self.lines[end - 1].strip(" \t") == token.markup
        swallowed = any(
            content.startswith(token.markup) and content.strip() != token.markup
            for content in token.content.split("\n")
        )
        if not closed or swallowed:
            self._problem(line, "a code block that does not end; close its fence")

    def _cell(self, token: Token, line: int, source: str) -> Cell:
        classes, attributes = _attributes(token.info)
        if not {"python", "input"} <= classes:
            message = (
                "a code block that is no cell; write {.python .input}, or no braces"
            )
            self._problem(line, message)
        for unknown in sorted(classes - CELL_CLASSES):
            known = ", ".join(sorted(CELL_CLASSES - {"python", "input"}))
            self._problem(line, f"no class '{unknown}'; there are {known}")
        code = token.content.removesuffix("\n")
        tab_line = TAB_LINE.match(code)
        if tab_line:
            code = code[tab_line.end() :]
        first = line + (2 if tab_line else 1)
        count = code.count("\n") + 1
        return Cell(
            line=line,
            source=source,
            tabs=_named_tabs(tab_line[1]) if tab_line else ALL_TABS,
            code=code,
            rows=tuple(range(first, first + count)),
            classes=frozenset(classes),
            attributes=attributes,
            has_tabs=tab_line is not None,
        )

    def _contents(self, token: Token, line: int, source: str) -> Contents:
        entries = [
            (entry.strip(), number)
            for number, entry in enumerate(token.content.split("\n"), start=line + 1)
            if entry.strip() and not entry.strip().startswith(":")
        ]
        return Contents(line=line, source=source, entries=tuple(entries))

    # Marks

    def _read_mark(self, token: Token) -> None:
        line, source = self._place(token)
        name, value = token.info, token.meta["value"] or ""
        if name == "begin_tab":
            self._begin_tab(line, value)
        elif name == "end_tab":
            if not self.tab_line:
                self._problem(line, ":end_tab: without :begin_tab:; take it out")
            self.tabs, self.tab_line = ALL_TABS, 0
        elif name == "bibliography":
            self._append(Directive(line=line, source=source, tabs=self.tabs))
        else:
            self._attach(name, value, line, source)

    def _read_sign(self, token: Token) -> None:
        line, sign = self._place(token)
        if sign in SIGNS:
            self._end_sign()
            self.sign, self.sign_line = sign, line
        elif self.sign and SIGNS[self.sign] == sign:
            self.sign = ""
        else:
            self._problem(line, f"a '{sign}' that ends no slide mark; take it out")

    def _end_sign(self) -> None:
        """Report a slide mark around blocks that is still open."""
        if self.sign:
            missing = f"a slide mark '{self.sign}' without its '{SIGNS[self.sign]}'"
            self._problem(self.sign_line, f"{missing}; close it before the next one")
        self.sign = ""

    def _begin_tab(self, line: int, value: str) -> None:
        if self.tab_line:
            where = f"a tab inside that of line {self.tab_line}"
            self._problem(line, f"{where}; close that first")
        if not value.strip():
            self._problem(line, "a tab without a name; write :begin_tab:`TAB`")
        self.tabs, self.tab_line = _named_tabs(value), line

    def _attach(self, name: str, value: str, line: int, source: str) -> None:
        """Give a label or a size to the block above."""
        block = self.found.blocks[-1] if self.found.blocks else None
        allowed = {
            "label": Heading | Figure | Table,
            "eqlabel": Equation,
            "width": Figure,
            "height": Figure,
        }[name]
        if not isinstance(block, allowed) or not value.strip():
            what = {
                "label": "a label that is below no heading, figure or table",
                "eqlabel": "an equation's label that is below no equation",
            }.get(name, f"a {name} that is below no figure")
            self._problem(line, f"{what}; move it")
            return
        field = "label" if name == "eqlabel" else name
        if getattr(block, field):
            self._problem(line, f"a second {field} of the same block; take it out")
        between = "\n" * (line - block.line - block.source.count("\n"))
        changes = {field: value, "source": f"{block.source}{between}{source}"}
        self.found.blocks[-1] = replace(block, **changes)  # type: ignore[arg-type]

    # What must not reach a page

    def _check_inline(self, inline: Token) -> None:
        for child in inline.children or []:
            address = child.attrs.get("href") or child.attrs.get("src")
            if child.type == "html_inline" and not COMMENT.fullmatch(child.content):
                line = self._line_of(inline, child.content)
                self._problem(line, f"raw HTML '{child.content}'; write Markdown")
            elif address is not None and (why := _refusal(child.type, str(address))):
                line = self._line_of(inline, str(address))
                self._problem(line, f"{why} '{address}'")

    def _check_html(self, block: Prose) -> None:
        rest = COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), block.source)
        if rest.strip():
            line = block.line + len(rest[: len(rest) - len(rest.lstrip())].split("\n"))
            tag = re.split(r"(?<=>)|\s", rest.strip())[0]
            self._problem(line - 1, f"raw HTML '{tag}'; write Markdown")

    def _line_of(self, inline: Token, snippet: str) -> int:
        """Return the line of the file on which `snippet` begins in a token's text."""
        start, end = inline.map or [0, 0]
        for number, line in enumerate(self.lines[start:end], start=start + 1):
            if snippet.split("\n")[0] in line:
                return number
        return start + 1


def _groups(tokens: list[Token]) -> Iterator[tuple[Token, list[Token]]]:
    """Yield each token at the top level that has lines, and the texts within it."""
    group: tuple[Token, list[Token]] | None = None
    for token in tokens:
        if token.level == 0 and token.map and token.nesting >= 0:
            if group:
                yield group
            group = (token, [])
        elif token.type == "inline" and group:
            group[1].append(token)
    if group:
        yield group


def _only_image(text: Token) -> Token | None:
    """Return the image that a paragraph consists of, apart from a slide mark."""
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
    tabs = tuple(filter(None, (name.strip() for name in names.split(","))))
    return ALL_TABS if tabs == ("all",) else tabs


def _refusal(kind: str, address: str) -> str:
    """Return why an address must not be on a page; empty if it may be."""
    scheme = SCHEME.match(address.strip())
    if kind == "image":
        return (
            "an image from elsewhere; put the file into img/, in place of"
            if (scheme)
            else ""
        )
    if scheme and scheme[1] and scheme[1].lower() not in SAFE_SCHEMES:
        return f"a link that begins with '{scheme[0]}'; take out"
    return ""
