"""Writes the data for search and for previews; a part of the extension.

At the end of a build, the data is read from the written pages, in which numbers and
references are as readers see them. Pages that have not changed are not read again. The
data is written as two scripts, `search-data.js` and `previews.js`, because a page that
is opened from a disk can load scripts but cannot fetch files. The search of Sphinx is
removed.
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

from book.base import build_paths
from book.library.bindings import imported_names
from book.sources.tabs import tab_name

# Elements that are not part of a page's text: controls, outputs, lists of pages.
IGNORED = {
    *("tab-list", "tab-label", "tab-absent", "record", "made-on", "output"),
    *("output-note", "toctree-wrapper", "section-card", "headerlink", "take", "start"),
    *("guess", "answers", "covering", "prediction-source"),
}
# A line of an output with a message that readers may search for.
ERROR = re.compile(
    r"^(?:[\w.]+\.)?\w*(?:Error|Exception|Warning)\b.*:.*$", re.MULTILINE
)
HEADINGS = re.compile("^h[1-6]$")
INLINE = {"a", "abbr", "b", "cite", "code", "em", "i", "small", "span", "strong"}
INLINE |= {"kbd", "q", "samp", "sub", "sup"}
# A definition in a cell of the library, except special methods such as `__init__`.
DEFINITION = re.compile(r"^[ \t]*(?:def|class)[ \t]+(?!__)(\w+)", re.MULTILINE)
SAVED = "#@save"
INVISIBLE = re.compile("[\u2061-\u2064]")  # invisible operators of MathML
# The signs for fractions and scripts of MathML in a line of text.
SIGNS = {"mfrac": "/", "msup": "^", "msub": "_"}


@dataclass
class SearchEntry:
    """A part of a page that search can find, such as a section, a tab or a figure.

    `trail` holds the headings from the title of the page down. An entry within a panel
    names the `tabs` of the panel and its `set`, in which other tabs have panels.
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

    def part(self, anchor: str, kind: str, **changes: Any) -> "SearchEntry":
        """Return an entry within this one that has no text yet."""
        shared = {"trail": self.trail, "tabs": self.tabs, "set": self.set}
        return SearchEntry(self.page, anchor, kind, **{**shared, **changes})

    def record(self) -> dict[str, Any]:
        """Return the fields that are not empty, for the script."""
        texts = {"text": " ".join(self.text.split()), "code": self.code.strip("\n")}
        return {key: value for key, value in (asdict(self) | texts).items() if value}

    @property
    def has_content(self) -> bool:
        """True for sections, and for other entries with text or code."""
        return self.kind == "section" or bool(self.text.strip() or self.code.strip())


# Search


def search_data(records: list[dict[str, Any]], tabs: list[str]) -> str:
    """Return the script with the records of all entries."""
    lines = ",\n".join(map(_json, records))
    names = _json({tab: tab_name(tab) for tab in tabs})
    return f'bookSearchData = {{"tabs": {names}, "entries": [\n{lines}\n]}};\n'


def entries(name: str, page: BeautifulSoup, tabs: list[str]) -> list[SearchEntry]:
    """Return the entries of a page, which this function changes.

    Text that all `tabs` share does not belong to the entry of a tab.
    """
    for element in page.find_all(_is_ignored):
        if element.decomposed:
            continue
        if errors := _errors(element):
            element.name, element.string = "pre", "\n".join(errors)
            del element["class"]
        else:
            element.decompose()
    found: list[SearchEntry] = []
    _read(page, SearchEntry(name, "", "page", []), found, tabs)
    return [entry for entry in found if entry.has_content]


def _is_ignored(tag: Tag) -> bool:
    classes = IGNORED.intersection(tag.get("class") or ())
    return bool(classes) or tag.name in ("button", "summary", "annotation")


def _errors(element: Tag) -> list[str]:
    """Return the error messages in an output."""
    is_output = "output" in element.get_attribute_list("class")
    return ERROR.findall(element.get_text()) if is_output else []


def _read(
    element: Tag, entry: SearchEntry, found: list[SearchEntry], tabs: list[str]
) -> None:
    """Add the text of an element to `entry`, and the entries inside it to `found`."""
    for child in element.children:
        if isinstance(child, NavigableString):
            # Comments and the like are strings too, but not text.
            entry.text += "" if isinstance(child, PreformattedString) else child
        elif isinstance(child, Tag):
            inner = _entry_of(child, entry, tabs)
            if inner:
                found.append(inner)
                _read(child, inner, found, tabs)
            else:
                _read_into(child, entry, found, tabs)


def _read_into(
    tag: Tag, entry: SearchEntry, found: list[SearchEntry], tabs: list[str]
) -> None:
    """Add the text, code or equation of a tag without an entry of its own."""
    if tag.name == "pre":
        code = tag.get_text()
        entry.code += f"{code.strip()}\n"
        if SAVED in code:
            entry.names += [*DEFINITION.findall(code), *imported_names(code)]
    elif tag.name == "math":
        entry.text += f"{_equation(tag)} " if _is_displayed(tag) else _equation(tag)
    elif tag.name in INLINE:
        _read(tag, entry, found, tabs)
    elif not (HEADINGS.match(tag.name) and tag.parent and tag.parent.name == "section"):
        entry.text += " "
        _read(tag, entry, found, tabs)
        entry.text += " "


def _entry_of(tag: Tag, entry: SearchEntry, tabs: list[str]) -> SearchEntry | None:
    """Return the new entry within `entry` that a tag begins, or None."""
    if tag.name == "section":
        heading = tag.find(HEADINGS, recursive=False)
        title = " ".join(heading.get_text().split()) if heading else ""
        trail = [*entry.trail, title] if title else entry.trail
        return entry.part(str(tag.get("id", "")), "section", trail=trail)
    if _is_tab_panel(tag):
        return _panel_entry(tag, entry, tabs)
    kind, anchor = _kind_and_anchor(tag)
    if not kind:
        return None
    names = [] if kind == "source" else [_label(anchor)]
    return entry.part(anchor, kind, names=names)


def _is_tab_panel(tag: Tag) -> bool:
    axis = tag.parent and tag.parent.get("data-axis")
    return axis == "tab" and "tab-panel" in tag.get_attribute_list("class")


def _panel_entry(panel: Tag, entry: SearchEntry, tabs: list[str]) -> SearchEntry | None:
    """Return the entry of a panel, or None if readers of all tabs see the panel."""
    shown = str(panel.get("data-choices", "")).split()
    if set(shown) >= set(tabs):
        return None
    anchor = str(panel["id"])
    # The ids of a set's panels differ only in the tab after the last hyphen.
    return entry.part(anchor, "tab", tabs=shown, set=anchor.rpartition("-")[0])


def _kind_and_anchor(tag: Tag) -> tuple[str, str]:
    """Return the kind of a figure, table, equation or source, and the id of its label.

    Both are empty for other tags.
    """
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
    """Return the id from the label of a tag, or the one that Sphinx assigned."""
    label = tag.select_one("span[id]:empty")
    before = tag.find_previous_sibling()
    if label is None and before is not None and before.name == "span":
        label = before if not before.contents and before.get("id") else None
    return str((label or tag).get("id", ""))


def _label(anchor: str) -> str:
    """Return the label in the source for an id on a page."""
    return anchor.removeprefix("equation-").replace("-", "_")


def _is_displayed(math: Tag) -> bool:
    return math.get("display") == "block"


def _equation(tag: Tag) -> str:
    """Return an equation as plain text, such as w^⊤x/2."""
    parts = (_equation(c) if isinstance(c, Tag) else str(c) for c in tag.children)
    text = SIGNS.get(tag.name, "").join(parts)
    return unicodedata.normalize("NFKC", INVISIBLE.sub("", text))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


# Previews


def references(name: str, page: BeautifulSoup) -> list[tuple[str, str]]:
    """Return the references of a page to others, each as a page and an id on it."""
    found: dict[tuple[str, str], None] = {}
    for link in page.select("a.reference.internal[href*='#']"):
        path, _, anchor = str(link["href"]).partition("#")
        if path:
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
            found[target, unquote(anchor)] = None
    return [place for place in found if place[0] != name]


def previews(name: str, page: BeautifulSoup, anchors: Iterable[str]) -> dict[str, str]:
    """Return the HTML of the preview for each id, under its address."""
    targets = {anchor: _preview_target(page, anchor) for anchor in anchors}
    return {
        f"{name}#{anchor}": _preview_html(target, name)
        for anchor, target in targets.items()
        if target is not None
    }


def _preview_target(page: BeautifulSoup, anchor: str) -> Tag | None:
    """Return the section, or what else has a preview, that an id names, or None."""
    element = page.find(id=anchor)
    if not isinstance(element, Tag):
        return None
    if element.name == "li":  # an entry of the glossary
        return element
    around = next((t for t in [element, *element.parents] if _has_preview(t)), None)
    if around is not None:
        return around
    # A label may be an empty element before the element that it names.
    is_label = element.name == "span" and not element.contents
    after = element.find_next_sibling() if is_label else None
    if isinstance(after, Tag) and _has_preview(after):
        return after
    section = element.parent if is_label else element
    return section if section is not None and section.name == "section" else None


def _has_preview(tag: Tag) -> bool:
    return bool(_kind_and_anchor(tag)[0])


def _preview_html(element: Tag, page: str) -> str:
    """Return the HTML of an element for use on another page.

    It has no links and no ids; the paths of images are relative to the site. Of a
    section, it has the title and the first paragraph.
    """
    preview = _opening(element) if element.name == "section" else copy.copy(element)
    if preview.name == "li":
        preview.name = "div"
    for extra in preview.select(".headerlink, annotation, span[id]:empty"):
        extra.decompose()
    for link in preview.select("a"):
        link.unwrap()
    for tag in (preview, *preview.select("*")):
        for attribute in ("id", "loading", "data-explorable"):
            tag.attrs.pop(attribute, None)
    for image in preview.select("img[src]"):
        path = posixpath.join(posixpath.dirname(page), str(image["src"]))
        image["src"] = posixpath.normpath(path)
    return str(preview)


def _opening(section: Tag) -> Tag:
    """Return the title and the first paragraph of a section."""
    opening = copy.copy(section)
    parts = opening.find_all(["h1", "h2", "h3", "h4", "p"], recursive=False)
    opening.name = "div"
    opening.clear()
    opening.extend(parts[:2])
    for title in parts[:1]:
        title.name = "p"
        title["class"] = "previewed-title"
    return opening


# The build


def written_pages(app: Sphinx) -> dict[str, str]:
    """Return the HTML of each page of the site under its address."""
    pages: dict[str, str] = {}
    for document in sorted(app.env.found_docs):
        name = app.builder.get_target_uri(document)
        file = Path(app.outdir, name)
        if file.exists():
            pages[name] = file.read_text("utf-8")
    return pages


def read_article(page: str) -> BeautifulSoup:
    """Return the text of a page, without the parts around it."""
    only = SoupStrainer("article")
    return BeautifulSoup(page, "html.parser", parse_only=only)


class Reader:
    """Reads the written pages, and caches the data of each page."""

    def __init__(self, app: Sphinx):
        self.tabs: list[str] = app.config.book_tabs
        self.cache = build_paths.cache_beside(Path(app.outdir), "search")
        self.pages = written_pages(app)
        self.cache.fill(self._read, list(self.pages))

    def entries(self) -> list[dict[str, Any]]:
        """Return the records of the entries of all pages."""
        return [entry for name in self.pages for entry in self._read(name)["entries"]]

    def previews(self) -> dict[str, str]:
        """Return the HTML of each place that another page refers to."""
        anchors: dict[str, set[str]] = {name: set() for name in self.pages}
        for name in self.pages:
            for target, anchor in self._read(name)["references"]:
                if target in anchors:
                    anchors[target].add(anchor)
        places = [(name, sorted(ids)) for name, ids in anchors.items()]
        self.cache.fill(self._previews, places)
        return dict(item for p in places for item in self._previews(p).items())

    @functools.cache  # noqa: B019  # a reader lives as long as a build
    def _read(self, name: str) -> dict[str, Any]:
        """Return the references and the records of a page."""

        def make() -> dict[str, Any]:
            page = read_article(self.pages[name])
            records = [entry.record() for entry in entries(name, page, self.tabs)]
            return {"references": references(name, page), "entries": records}

        return self.cache.value(["page", *self.tabs, name, self.pages[name]], make)

    def _previews(self, place: tuple[str, list[str]]) -> dict[str, str]:
        """Return the previews of some ids on a page."""
        name, anchors = place

        def make() -> dict[str, str]:
            return previews(name, read_article(self.pages[name]), anchors)

        return self.cache.value(["previews", *anchors, name, self.pages[name]], make)


def _write_data(app: Sphinx, error: Exception | None) -> None:
    """Write both scripts at the end of a build."""
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
    reader.cache.forget_others()


def _stop_sphinx_search(app: Sphinx) -> None:
    if app.builder.format == "html":
        app.builder.search = False  # type: ignore[attr-defined]


def setup(app: Sphinx) -> None:
    """Replace Sphinx's search with this module."""
    app.connect("builder-inited", _stop_sphinx_search)
    app.connect("build-finished", _write_data, priority=910)
