"""Writes the tokens of texts as HTML, for pages, slides and live pages."""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from markdown_it.token import Token

from book.render import code
from book.text.tabs import TAB_NAMES
from book.text.tokens import equation

# Code in the narrow columns of a table may break after these characters, and not within
# a name. After a dot, only a long name begins a line.
BREAKS = re.compile(r"([(\[=](?=[\w'&-])|\.(?=\w{8}))")
INTERNAL = '<a class="reference internal" href="{}">{}</a>'
TERM = '<a class="term reference internal" href="{}">{}</a>'
TAG = re.compile(r"<[^>]*>")
TABS = {name: tab for tab, name in TAB_NAMES.items()}
OUTER = {"bullet_list_open", "ordered_list_open", "tr_open", "thead_open"}
OUTER |= {"tbody_open", "table_open", "blockquote_open"}

Mention = tuple[re.Match[str], str]  # a term in a text, and the address of its entry


@dataclass
class Texts:
    """Writes tokens as HTML.

    `address` returns where a `reference` leads; if that is empty, its words are no
    link. `mathml` holds each equation under its TeX and whether it is displayed.
    `mentions` holds, for the id of a token, the terms in it that lead to the glossary.
    """

    address: Callable[[Token], str]
    mathml: Mapping[tuple[str, bool], str]
    mentions: Mapping[int, list[Mention]] = field(default_factory=dict)
    # In a table: the tab of each column, again and again.
    columns: Iterator[str | None] | None = field(init=False, default=None)

    def html(self, tokens: Sequence[Token]) -> str:
        """Return the HTML of tokens, such as paragraphs, lists and tables."""
        parts = []
        for i, token in enumerate(tokens):
            if token.type == "table_open":
                self.columns = itertools.cycle(frameworks(tokens[i:]))
            parts.append(self._token(token))
            if token.type == "table_close":
                self.columns = None
        return "".join(parts)

    def line(self, tokens: Sequence[Token]) -> str:
        """Return the HTML of the contents of a single paragraph."""
        return self.html([token for token in tokens if token.type == "inline"])

    def _token(self, token: Token) -> str:
        match token.type:
            case "inline":
                inner = self.html(token.children or [])
                # In a table, too, lines are as long as those of other paragraphs.
                return f"<p>{inner}</p>" if self.columns and inner else inner
            case "text":
                return self._text(token)
            case "role":
                return self.html(token.children or [])
            case "reference":
                words, there = self.html(token.children or []), self.address(token)
                return INTERNAL.format(there, words) if there else words
            case "math":
                return self._equation(token)
            case "code_inline":
                return self._code(token.content)
            case "fence" | "code_block":
                return code.listing(token.content, token.info.strip() or "default")
            case "td_open" | "th_open":
                tab = next(self.columns) if self.columns else None
                return f"<{token.tag}{attribute('data-framework', tab)}>"
            case "raw":
                return token.content  # HTML of ours, see `raw`
            case "link_open" if str(token.attrs["href"]).startswith("?"):
                settings = str(token.attrs["href"])[1:]
                return f'<a class="play"{attribute("data-play", settings)}>'
            case "html_inline" | "html_block":
                return ""  # a comment, since checks refuse all else
        return _tag(token)

    def _text(self, token: Token) -> str:
        """Return a text, with links to the glossary."""
        parts, end = [], 0
        for match, address in self.mentions.get(id(token), ()):
            parts.append(escape(token.content[end : match.start()]))
            parts.append(TERM.format(address, escape(match[0])))
            end = match.end()
        return "".join([*parts, escape(token.content[end:])])

    def _equation(self, token: Token) -> str:
        """Return an equation together with punctuation or a unit that must not wrap."""
        mathml, ending = self.mathml[equation(token)], token.meta.get("ending")
        return f'<span class="unbroken">{mathml}{ending}</span>' if ending else mathml

    def _code(self, text: str) -> str:
        shown = escape(text)
        shown = BREAKS.sub(r"\1<wbr>", shown) if self.columns else shown
        return f'<code class="notranslate">{shown}</code>'


def _tag(token: Token) -> str:
    """Return the tag of a token without contents of its own."""
    if token.nesting < 0:
        return f"</{token.tag}>\n" if token.block else f"</{token.tag}>"
    kind = "reference external" if token.type == "link_open" else None
    attributes = {"class": kind, **token.attrs}
    shown = "".join(attribute(name, value) for name, value in attributes.items())
    end = "\n" if token.type in OUTER else ""
    return f"<{token.tag}{shown}>{end}"


def raw(content: str) -> Token:
    """Return a token for HTML that is written as it is."""
    return Token("raw", "", 0, content=content)


def frameworks(table: Sequence[Token]) -> list[str | None]:
    """Return the tab that each column of a table is for, or None for all tabs."""
    head = next(i for i, token in enumerate(table) if token.type == "thead_close")
    cells = [token.content for token in table[:head] if token.type == "inline"]
    return [TABS.get(cell) for cell in cells]


def attribute(name: str, value: str | int | float | None) -> str:
    """Return an attribute of a tag, with a space before it; empty for None."""
    return "" if value is None else f' {name}="{html.escape(str(value))}"'


def escape(text: str) -> str:
    """Return the HTML of a text between tags."""
    return html.escape(text, quote=False)


def plain(rendered: str) -> str:
    """Return the text of HTML, without its tags."""
    return html.unescape(TAG.sub("", rendered))


def add_class(rendered: str, kind: str) -> str:
    """Return HTML with one more class at its first element."""
    first, end, rest = rendered.partition(">")
    if not kind or not end:
        return rendered
    if ' class="' in first:
        return first.replace(' class="', f' class="{kind} ', 1) + end + rest
    return f'{first} class="{kind}"{end}{rest}'
