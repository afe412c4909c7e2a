"""Collects the entries for search while an article is written.

The data is a script, `search-data.js`, because a page that is opened from a disk can
load scripts but cannot fetch files.
"""

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from markdown_it.token import Token

from book.library.marks import saved_methods, saved_names
from book.pages import search_index
from book.pages.addresses import identifier
from book.pages.term_links import entries
from book.refs.numbers import EQUATIONS
from book.render import math
from book.render.code import without_marks
from book.render.texts import Texts, plain
from book.text.blocks import Cell
from book.text.tabs import tab_name
from book.text.tokens import equation, equations

# A line of an output with a message that readers may search for.
ERROR = re.compile(
    r"^(?:[\w.]+\.)?\w*(?:Error|Exception|Warning)\b.*:.*$", re.MULTILINE
)
# The head of the first column of a table in which readers look for what is wrong.
SYMPTOM = "Symptom"


@dataclass(frozen=True)
class Title:
    """A heading: its id, its number such as "4.1", and its HTML without the number."""

    level: int
    name: str
    number: str
    html: str

    @property
    def numbered(self) -> str:
        """The HTML of the heading with its number."""
        shown = f'<span class="section-number">{self.number}. </span>'
        return f"{shown if self.number else ''}{self.html}"

    @property
    def text(self) -> str:
        """The text of the heading with its number."""
        return " ".join(plain(self.numbered).split())


@dataclass
class Entry:
    """A part of a page that search can find, such as a section, a tab or a term.

    `trail` holds the headings from the title of the page down. An entry within a panel
    names the `tabs` of the panel and its `set`, in which other tabs have panels.
    """

    anchor: str
    kind: str
    trail: list[str]
    tabs: list[str] = field(default_factory=list)
    set: str = ""
    names: list[str] = field(default_factory=list)
    text: str = ""
    code: str = ""

    def record(self) -> dict[str, Any]:
        """Return the fields that are not empty; none without text or code.

        A section has a record in any case.
        """
        texts = {"text": " ".join(self.text.split()), "code": self.code.strip("\n")}
        if self.kind != "section" and not any(texts.values()):
            return {}
        return {key: value for key, value in (asdict(self) | texts).items() if value}


class Index:
    """The entries of a page, and the words and lines of code that a reader reads."""

    def __init__(self, tabs: list[str]):
        self.tabs = tabs
        self.words = self.lines = 0.0
        self._share = 1.0  # of readers who see what is added
        self._titles: list[Title] = []
        self._entry = Entry("", "page", [])
        self._entries = [self._entry]

    def records(self) -> list[dict[str, Any]]:
        """Return the entries that have contents, in order."""
        return list(filter(None, (entry.record() for entry in self._entries)))

    def begin_section(self, title: Title) -> None:
        """Add an entry for a section; texts that follow are added to it."""
        above = [other for other in self._titles if other.level < title.level]
        self._titles = [*above, title]
        trail = [other.text for other in self._titles]
        self._entry = self._part(title.name, "section", trail=trail)

    @contextlib.contextmanager
    def panel(self, anchor: str, tabs: Sequence[str]) -> Iterator[None]:
        """Add an entry for a panel; texts within the block are added to it."""
        outer = self._entry
        self._share = len(tabs) / len(self.tabs)
        if not set(tabs) >= set(self.tabs):
            # The ids of a set's panels differ only in the tab after the last hyphen.
            group = anchor.rpartition("-")[0]
            self._entry = self._part(anchor, "tab", tabs=list(tabs), set=group)
        yield
        self._entry, self._share = outer, 1.0

    def _part(self, anchor: str, kind: str, **fields: Any) -> Entry:
        """Add an empty entry within the current one."""
        now = self._entry
        shared = {"trail": now.trail, "tabs": now.tabs, "set": now.set}
        entry = Entry(anchor, kind, **{**shared, **fields})
        self._entries.append(entry)
        return entry

    def add(self, tokens: Sequence[Token], texts: Texts) -> None:
        """Add a text to the current entry."""
        self._add(self._entry, tokens, texts)
        for token in tokens:
            if token.type == "fence":
                self._entry.code += f"{token.content.strip()}\n"

    def add_thing(
        self,
        kind: str,
        anchor: str,
        caption: str,
        tokens: Sequence[Token] = (),
        texts: Texts | None = None,
    ) -> None:
        """Add the entry of a figure, table, equation or source, if it has an id."""
        entry = self._part(anchor, kind) if anchor else self._entry
        if anchor and kind != "source":
            entry.names = [anchor.removeprefix(EQUATIONS).replace("-", "_")]
        entry.text += f" {caption} "
        if texts:
            self._add(entry, tokens, texts)

    def _add(self, entry: Entry, tokens: Sequence[Token], texts: Texts) -> None:
        items = list(entries(tokens))
        for name, item in items:
            self._add_item(name, item, texts)
        theirs = {id(token) for _, item in items for token in item}
        rest = [token for token in tokens if id(token) not in theirs]
        entry.text += f" {text_of(rest, texts)} "
        text = text_of(tokens, texts)
        # An equation takes as long to read as its TeX has words.
        signs = sum(len(tex.split()) - 1 for tex, _ in equations(tokens))
        self.words += (len(text.split()) + signs) * self._share

    def _add_item(self, name: str, item: Sequence[Token], texts: Texts) -> None:
        """Add the entry of a term or of a symptom, whose title is what it explains."""
        text = " ".join(text_of(item, texts).split())
        title = item_title(item)
        entry = self._part(name, name.partition("-")[0])
        entry.trail = [*entry.trail[:1], title.rstrip(".")]
        entry.text = text.removeprefix(title).lstrip(".: ")

    def add_code(self, cell: Cell) -> None:
        """Add the code of a cell, and the names that it saves to the library."""
        self._entry.code += f"{without_marks(cell.code).strip()}\n"
        self.lines += len(cell.code.splitlines()) * self._share
        self._entry.names += [*saved_names(cell.python), *saved_methods(cell.python)]

    def add_output(self, text: str) -> None:
        """Add the error messages in an output."""
        self._entry.code += "".join(f"{message}\n" for message in ERROR.findall(text))


def name_symptoms(tokens: Sequence[Token]) -> None:
    """Give each row of a table of symptoms an id."""
    cells = [token.content for token in tokens if token.type == "inline"]
    if not cells or tokens[0].type != "table_open" or cells[0] != SYMPTOM:
        return
    for row, cell, text in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if row.type == "tr_open" and cell.type == "td_open":
            row.attrSet("id", f"symptom-{identifier(text.content)}")


def item_title(item: Sequence[Token]) -> str:
    """Return the term in bold with which an item begins, or else its first cell."""
    first = next(token for token in item if token.type == "inline")
    parts = first.children or []
    kinds = [part.type for part in parts]
    end = kinds.index("strong_close") if "strong_close" in kinds else len(kinds)
    return "".join(part.content for part in parts[:end])


def text_of(tokens: Iterable[Token], texts: Texts) -> str:
    """Return the text of tokens as readers see it, without listings of code."""
    return "".join(_text(token, texts) for token in tokens)


def _text(token: Token, texts: Texts) -> str:
    match token.type:
        case "inline" | "role" | "reference":
            return text_of(token.children or [], texts)
        case "text" | "code_inline":
            return token.content
        case "math":
            shown = math.plain(texts.mathml[equation(token)])
            return f"{shown}{token.meta.get('ending') or ''}"
    return " " if token.block or token.type == "hardbreak" else ""


def script(pages: Mapping[str, list[dict[str, Any]]], tabs: list[str]) -> str:
    """Return the script with the records of the entries of each page, and their index.

    The data is a string of JSON, which the page hands to a worker without reading it.
    """
    index = search_index.build([entry for found in pages.values() for entry in found])
    names = {tab: tab_name(tab) for tab in tabs}
    data = {"tabs": names, "pages": pages, "index": index}
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"bookSearchData = {json.dumps(text, ensure_ascii=False)};\n"
