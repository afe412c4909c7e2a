"""What search finds and what previews show; a part of the extension.

Both are read from the written pages at the end of a build, where numbers and references
are as a reader sees them. Pages that have not changed are not read again.
Two scripts come of it, `search-data.js` and `previews.js`, which load where a page
opened from a disk may not fetch. Sphinx's own search goes.
"""

import copy
import functools
import json
import posixpath
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from bs4 import BeautifulSoup, NavigableString, SoupStrainer, Tag
from bs4.element import PreformattedString
from sphinx.application import Sphinx

from book.base.kept import Kept
from book.sources.tabs import tab_name

SPHINX_SEARCH = (
    *("searchtools.js", "language_data.js", "doctools.js"),
    *("documentation_options.js", "sphinx_highlight.js"),
)
# What is on a page and is not its text: controls, outputs, lists of other pages.
LEFT_OUT = {
    *("tab-list", "tab-label", "tab-absent", "record", "made-on", "output"),
    *("output-note", "toctree-wrapper", "headerlink"),
}
HEADINGS = re.compile("^h[1-6]$")
INLINE = {"a", "abbr", "b", "cite", "code", "em", "i", "small", "span", "strong"}
INLINE |= {"kbd", "q", "samp", "sub", "sup"}
# Names that a cell of the library defines; the rest of Python's own are no use.
DEFINITION = re.compile(r"^[ \t]*(?:def|class)[ \t]+(?!__)(\w+)", re.MULTILINE)
SAVED = "#@save"
INVISIBLE = re.compile("[\u2061-\u2064]")  # signs of MathML that nobody sees
# How a line of text writes what MathML sets above, below or smaller.
SIGNS = {"mfrac": "/", "msup": "^", "msub": "_"}


@dataclass
class Entry:
    """A part of a page that search can lead to: of a section, a tab or a figure.

    `trail` holds the headings from the page's title on. What stands in a tab names the
    frameworks that it is for, and the set in which the others have a panel.
    """

    page: str
    anchor: str
    kind: str
    trail: list[str]
    tabs: list[str] = field(default_factory=list)
    set: str = ""
    names: list[str] = field(default_factory=list)
    text: str = ""
    code: str = ""

    def part(self, anchor: str, kind: str, **changes: Any) -> "Entry":
        """An empty entry within this one."""
        shared = {"trail": self.trail, "tabs": self.tabs, "set": self.set}
        return Entry(self.page, anchor, kind, **{**shared, **changes})

    def record(self) -> dict[str, Any]:
        """What is written down: all that is not empty."""
        shown = {"text": " ".join(self.text.split()), "code": self.code.strip("\n")}
        return {key: value for key, value in (asdict(self) | shown).items() if value}

    @property
    def says_something(self) -> bool:
        return self.kind == "section" or bool(self.text.strip() or self.code.strip())


# Search


def search_data(found: list[dict[str, Any]], tabs: list[str]) -> str:
    """Return the script with the records of all entries."""
    lines = ",\n".join(map(_json, found))
    names = _json({tab: tab_name(tab) for tab in tabs})
    return f'bookSearchData = {{"tabs": {names}, "entries": [\n{lines}\n]}};\n'


def entries(name: str, page: BeautifulSoup, tabs: list[str]) -> list[Entry]:
    """Return the entries of a page; what all of `tabs` share counts as outside of them.

    The page is changed, for good.
    """
    for element in page.find_all(_is_left_out):
        element.decompose()
    found: list[Entry] = []
    _read(page, Entry(name, "", "page", []), found, tabs)
    return [entry for entry in found if entry.says_something]


def _is_left_out(tag: Tag) -> bool:
    classes = LEFT_OUT.intersection(tag.get("class") or ())
    return bool(classes) or tag.name in ("button", "annotation")


def _read(element: Tag, entry: Entry, found: list[Entry], tabs: list[str]) -> None:
    """Add what `element` says to `entry`, and the entries within it to `found`."""
    for child in element.children:
        if isinstance(child, NavigableString):
            # Comments and their like are strings too.
            entry.text += "" if isinstance(child, PreformattedString) else child
        elif isinstance(child, Tag):
            own = _own_entry(child, entry, tabs)
            if own:
                found.append(own)
                _read(child, own, found, tabs)
            else:
                _read_into(child, entry, found, tabs)


def _read_into(tag: Tag, entry: Entry, found: list[Entry], tabs: list[str]) -> None:
    if tag.name == "pre":
        code = tag.get_text()
        entry.code += f"{code.strip()}\n"
        entry.names += DEFINITION.findall(code) if SAVED in code else []
    elif tag.name == "math":
        entry.text += f"{_equation(tag)} " if _is_displayed(tag) else _equation(tag)
    elif tag.name in INLINE:
        _read(tag, entry, found, tabs)
    elif not (HEADINGS.match(tag.name) and tag.parent and tag.parent.name == "section"):
        entry.text += " "
        _read(tag, entry, found, tabs)
        entry.text += " "


def _own_entry(tag: Tag, entry: Entry, tabs: list[str]) -> Entry | None:
    """The entry that begins with `tag`, if one does."""
    if tag.name == "section":
        heading = tag.find(HEADINGS, recursive=False)
        title = " ".join(heading.get_text().split()) if heading else ""
        trail = [*entry.trail, title] if title else entry.trail
        return entry.part(str(tag.get("id", "")), "section", trail=trail)
    if _is_of_a_tab(tag):
        return _panel_entry(tag, entry, tabs)
    kind, anchor = _labelled(tag)
    if not kind:
        return None
    names = [] if kind == "source" else [_label(anchor)]
    return entry.part(anchor, kind, names=names)


def _is_of_a_tab(tag: Tag) -> bool:
    axis = tag.parent and tag.parent.get("data-axis")
    return axis == "tab" and "tab-panel" in tag.get_attribute_list("class")


def _panel_entry(panel: Tag, entry: Entry, tabs: list[str]) -> Entry | None:
    shown = str(panel.get("data-choices", "")).split()
    if set(shown) >= set(tabs):
        return None
    anchor = str(panel["id"])
    # All panels of a set are called alike, but for the tab.
    return entry.part(anchor, "tab", tabs=shown, set=anchor.rpartition("-")[0])


def _labelled(tag: Tag) -> tuple[str, str]:
    """What kind of thing with a label `tag` is, and the label's id."""
    classes = tag.get_attribute_list("class")
    kinds = {"figure": "figure", "table": "table"}
    kind = kinds.get(tag.name, "")
    if "math" in classes and tag.get("id"):
        kind = "equation"
    if "citation" in classes:
        kind = "source"
    anchor = _anchor(tag) if kind else ""
    return (kind, anchor) if anchor else ("", "")


def _anchor(tag: Tag) -> str:
    """The id that its author gave; the one that Sphinx counted if there is none."""
    given = tag.select_one("span[id]:empty")
    before = tag.find_previous_sibling()
    if given is None and before is not None and before.name == "span":
        given = before if not before.contents and before.get("id") else None
    return str((given or tag).get("id", ""))


def _label(anchor: str) -> str:
    return anchor.removeprefix("equation-").replace("-", "_")


def _is_displayed(math: Tag) -> bool:
    return math.get("display") == "block"


def _equation(tag: Tag) -> str:
    """An equation in plain letters, such as w^⊤x/2."""
    parts = (_equation(c) if isinstance(c, Tag) else str(c) for c in tag.children)
    written = SIGNS.get(tag.name, "").join(parts)
    return unicodedata.normalize("NFKC", INVISIBLE.sub("", written))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


# Previews


def references(name: str, page: BeautifulSoup) -> list[tuple[str, str]]:
    """Return the other pages that a page refers to, each with the id of a place."""
    found: dict[tuple[str, str], None] = {}
    for link in page.select("a.reference.internal[href*='#']"):
        path, _, anchor = str(link["href"]).partition("#")
        if path:
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
            found[target, unquote(anchor)] = None
    return [place for place in found if place[0] != name]


def previews(name: str, page: BeautifulSoup, anchors: Iterable[str]) -> dict[str, str]:
    """Return the HTML of what has the ids on a page, by the addresses of the places."""
    shown = {anchor: _previewed(page, anchor) for anchor in anchors}
    return {f"{name}#{a}": _alone(e, name) for a, e in shown.items() if e is not None}


def _previewed(page: BeautifulSoup, anchor: str) -> Tag | None:
    """Return the figure, table, equation or source that an id or label names."""
    at = page.find(id=anchor)
    if not isinstance(at, Tag):
        return None
    # A label may be an empty element before or within what it labels.
    after = at.find_next_sibling() if at.name == "span" and not at.contents else None
    around = next((tag for tag in [at, *at.parents] if _is_labelled(tag)), None)
    return around or (after if isinstance(after, Tag) and _is_labelled(after) else None)


def _is_labelled(tag: Tag) -> bool:
    return bool(_labelled(tag)[0])


def _alone(element: Tag, page: str) -> str:
    """The HTML of an element away from its page; images' paths are from the root."""
    alone = copy.copy(element)
    for extra in alone.select(".headerlink, annotation, span[id]:empty"):
        extra.decompose()
    for link in alone.select("a"):
        link.unwrap()
    for tag in (alone, *alone.select("*")):
        for attribute in ("id", "loading", "data-explorable"):
            tag.attrs.pop(attribute, None)
    for image in alone.select("img[src]"):
        path = posixpath.join(posixpath.dirname(page), str(image["src"]))
        image["src"] = posixpath.normpath(path)
    return str(alone)


# The build


class Reader:
    """Reads the written pages; what follows from a page as it was is kept."""

    def __init__(self, app: Sphinx):
        self.tabs: list[str] = app.config.book_tabs
        self.made_by: str = app.config.book_made_with
        self.kept = Kept(Path(app.outdir).parent / "search")
        self.pages: dict[str, str] = {}
        for document in sorted(app.env.found_docs):
            name = app.builder.get_target_uri(document)
            file = Path(app.outdir, name)
            if file.exists():
                self.pages[name] = file.read_text("utf-8")

    def entries(self) -> list[dict[str, Any]]:
        """Return the records of all entries."""
        return [entry for name in self.pages for entry in self._read(name)["entries"]]

    def previews(self) -> dict[str, str]:
        """Return what is on other pages than a reference to it."""
        wanted: dict[str, dict[str, None]] = {name: {} for name in self.pages}
        for name in self.pages:
            for target, anchor in self._read(name)["references"]:
                if target in wanted:
                    wanted[target][anchor] = None
        found: dict[str, str] = {}
        for name, anchors in wanted.items():
            found |= self._previews(name, sorted(anchors))
        return found

    @functools.cache  # noqa: B019  # a reader lives as long as a build
    def _read(self, name: str) -> dict[str, Any]:
        def make() -> str:
            page = self._tree(name)
            referred = references(name, page)
            found = [e.record() for e in entries(name, page, self.tabs)]
            return json.dumps({"references": referred, "entries": found})

        parts = ["page", self.made_by, *self.tabs, name, self.pages[name]]
        return json.loads(self.kept.text(parts, make))

    def _previews(self, name: str, anchors: list[str]) -> dict[str, str]:
        def make() -> str:
            return json.dumps(previews(name, self._tree(name), anchors))

        parts = ["previews", self.made_by, *anchors, name, self.pages[name]]
        return json.loads(self.kept.text(parts, make))

    def _tree(self, name: str) -> BeautifulSoup:
        only = SoupStrainer("article")
        return BeautifulSoup(self.pages[name], "html.parser", parse_only=only)


def _write_data(app: Sphinx, error: Exception | None) -> None:
    if error or app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    reader = Reader(app)
    lines = ",\n".join(
        f"{_json(k)}: {_json(v)}" for k, v in sorted(reader.previews().items())
    )
    (static / "previews.js").write_text(f"bookPreviews = {{\n{lines}\n}};\n", "utf-8")
    data = search_data(reader.entries(), app.config.book_tabs)
    (static / "search-data.js").write_text(data, "utf-8")
    reader.kept.forget_others()
    _remove_sphinx_search(app)


def _remove_sphinx_search(app: Sphinx) -> None:
    """Its scripts, and from an older build its page."""
    outdir = Path(app.outdir)
    unused = [*(outdir / "_static" / name for name in SPHINX_SEARCH)]
    unused.append(outdir / "searchindex.js")
    if "search" not in app.env.found_docs:
        unused.append(outdir / "search.html")
    for file in unused:
        file.unlink(missing_ok=True)


def _stop_sphinx_search(app: Sphinx) -> None:
    if app.builder.format == "html":
        app.builder.search = False  # type: ignore[attr-defined]


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", _stop_sphinx_search)
    app.connect("build-finished", _write_data, priority=910)
