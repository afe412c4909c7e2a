"""What search finds and what previews show; a part of the extension.

Both are read off the written pages at the end of a build: Sphinx writes only those anew
that have changed, and there numbers and references stand as a reader sees them.
Two scripts come of it, `search-data.js` and `previews.js`, which load where a page
opened from a disk may not fetch. Sphinx's own search goes.
"""

import copy
import json
import posixpath
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from bs4 import BeautifulSoup, NavigableString, SoupStrainer, Tag
from bs4.element import PreformattedString
from sphinx.application import Sphinx

from book.sources.tabs import tab_name

Pages = dict[str, BeautifulSoup]

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


def search_data(pages: Pages, tabs: list[str]) -> str:
    """The script with all entries; `pages` are changed, for good."""
    found = [entry for name in pages for entry in entries(name, pages[name], tabs)]
    lines = ",\n".join(_json(e.record()) for e in found if e.says_something)
    names = _json({tab: tab_name(tab) for tab in tabs})
    return f'bookSearchData = {{"tabs": {names}, "entries": [\n{lines}\n]}};\n'


def entries(name: str, page: BeautifulSoup, tabs: list[str]) -> list[Entry]:
    """The entries of a page; what is for all of `tabs` counts as outside of them."""
    for element in page.find_all(_is_left_out):
        element.decompose()
    found: list[Entry] = []
    _read(page, Entry(name, "", "page", []), found, tabs)
    return found


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


def previews(pages: Pages) -> str:
    """The script with what stands on other pages than a reference to it."""
    found: dict[str, str] = {}
    for name, page in pages.items():
        for target, anchor in _references(name, page):
            if target == name or target not in pages or f"{target}#{anchor}" in found:
                continue
            element = _previewed(pages[target], anchor)
            if element:
                found[f"{target}#{anchor}"] = _alone(element, target)
    lines = ",\n".join(f"{_json(k)}: {_json(v)}" for k, v in sorted(found.items()))
    return f"bookPreviews = {{\n{lines}\n}};\n"


def _references(name: str, page: BeautifulSoup) -> Iterator[tuple[str, str]]:
    """The pages and ids that a page refers to."""
    for link in page.select("a.reference.internal[href*='#']"):
        path, _, anchor = str(link["href"]).partition("#")
        target = posixpath.join(posixpath.dirname(name), path) if path else name
        yield posixpath.normpath(target), unquote(anchor)


def _previewed(page: BeautifulSoup, anchor: str) -> Tag | None:
    """The figure, table, equation or source that has the id or a label of it."""
    at = page.find(id=anchor)
    if at is None:
        return None
    # A label may be an empty element before or within what it labels.
    after = at.find_next_sibling() if at.name == "span" and not at.contents else None
    around = next((tag for tag in [at, *at.parents] if _is_labelled(tag)), None)
    return around or (after if after and _is_labelled(after) else None)


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


def read_pages(app: Sphinx) -> Pages:
    """The text of all pages of the book, by their paths from its root."""
    found = {}
    for document in sorted(app.env.found_docs):
        name = app.builder.get_target_uri(document)
        file = Path(app.outdir, name)
        if file.exists():
            only = SoupStrainer("article")
            text = file.read_text("utf-8")
            found[name] = BeautifulSoup(text, "html.parser", parse_only=only)
    return found


def _write_data(app: Sphinx, error: Exception | None) -> None:
    if error or app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    pages = read_pages(app)
    (static / "previews.js").write_text(previews(pages), "utf-8")
    data = search_data(pages, app.config.book_tabs)
    (static / "search-data.js").write_text(data, "utf-8")
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
