"""Adds the reading time of each section to the list of sections on the front page.

An item of a list on the front page that begins with a reference to a section becomes
the card of that section. The time follows from the words and the lines of code that a
reader of one framework sees.
"""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from book.pages.sphinx.tabs import tab_panel

WORDS_PER_MINUTE = 200
CODE_LINES_PER_MINUTE = 15
STEP = 5  # minutes


def reading_minutes(doctree: nodes.Node, tabs: int) -> int:
    """Return the reading time of a page in minutes, rounded to a multiple of five.

    `tabs` is the number of tabs, of which a reader sees one.
    """
    words = sum(len(n.astext().split()) * _share(n, tabs) for n in _texts(doctree))
    lines = sum(len(n.astext().splitlines()) * _share(n, tabs) for n in _code(doctree))
    minutes = words / WORDS_PER_MINUTE + lines / CODE_LINES_PER_MINUTE
    return max(STEP, STEP * round(minutes / STEP))


def _texts(doctree: nodes.Node) -> list[nodes.Element]:
    return list(doctree.findall(nodes.paragraph))


def _code(doctree: nodes.Node) -> list[nodes.Element]:
    blocks = doctree.findall(nodes.literal_block)
    return [block for block in blocks if "output" not in block["classes"]]


def _share(node: nodes.Node, tabs: int) -> float:
    """Return the share of readers who see a node, from 0 to 1."""
    while node is not None and not isinstance(node, tab_panel):
        node = node.parent
    return len(node["tabs"]) / tabs if node is not None else 1


def _store_reading_time(app: Sphinx, doctree: nodes.document) -> None:
    """Store the reading time of a page, so that the front page need not load it."""
    minutes = reading_minutes(doctree, len(app.config.book_tabs))
    app.env.metadata[app.env.docname]["minutes"] = minutes


def _add_reading_times(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Turn the items of the front page that refer to sections into cards."""
    if page != app.config.root_doc or app.builder.format != "html":
        return
    for item in doctree.findall(nodes.list_item):
        text = next(item.findall(nodes.paragraph), nodes.paragraph())
        section = _section_of(app, text)
        if section is None:
            continue
        item["classes"].append("section-card")
        pages = [section, *app.env.toctree_includes.get(section, [])]
        minutes = sum(app.env.metadata[page]["minutes"] for page in pages)
        text.children[1:] = _without_punctuation(text.children[1:])
        text += nodes.inline(text=f" {minutes} min", classes=["minutes"])


def _without_punctuation(rest: list[nodes.Node]) -> list[nodes.Node]:
    """Return the text after a section's name without its leading punctuation."""
    if rest and isinstance(rest[0], nodes.Text):
        return [nodes.Text(rest[0].astext().lstrip(".:, ")), *rest[1:]]
    return rest


def _section_of(app: Sphinx, text: nodes.paragraph) -> str | None:
    """Return the page that the reference at the start of a text leads to, if any."""
    first = text.children[0] if text.children else None
    if not isinstance(first, nodes.reference) or first.get("refuri") is None:
        return None
    path = first["refuri"].partition("#")[0].removesuffix(".html")
    return path if path in app.env.found_docs else None


def _pages_to_update(app: Sphinx, env: BuildEnvironment) -> list[Any]:
    """Return the front page, which depends on the reading times of all others."""
    return [app.config.root_doc]


def setup(app: Sphinx) -> None:
    """Connect the steps of this module to the build."""
    app.connect("doctree-read", _store_reading_time)
    app.connect("doctree-resolved", _add_reading_times)
    app.connect("env-updated", _pages_to_update)
