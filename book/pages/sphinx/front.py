"""The front page's list of sections: each with the time that it takes to read.

An item of a list on the front page that begins with a reference to a section becomes
the section's card. The time is counted, from the words and the lines of code that a
reader of one framework sees.
"""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from book.pages.sphinx.tabs import tab_panel

WORDS_A_MINUTE = 200
CODE_LINES_A_MINUTE = 15
STEP = 5


def minutes(doctree: nodes.Node, tabs: int) -> int:
    """About how long a reader of one of `tabs` frameworks takes, by steps of five."""
    words = sum(len(n.astext().split()) * _share(n, tabs) for n in _texts(doctree))
    lines = sum(len(n.astext().splitlines()) * _share(n, tabs) for n in _code(doctree))
    needed = words / WORDS_A_MINUTE + lines / CODE_LINES_A_MINUTE
    return max(STEP, STEP * round(needed / STEP))


def _texts(doctree: nodes.Node) -> list[nodes.Element]:
    return list(doctree.findall(nodes.paragraph))


def _code(doctree: nodes.Node) -> list[nodes.Element]:
    blocks = doctree.findall(nodes.literal_block)
    return [block for block in blocks if "output" not in block["classes"]]


def _share(node: nodes.Node, tabs: int) -> float:
    """The part of all readers who see `node`."""
    while node is not None and not isinstance(node, tab_panel):
        node = node.parent
    return len(node["tabs"]) / tabs if node is not None else 1


def _note_time(app: Sphinx, doctree: nodes.document) -> None:
    """Keep how long a page takes to read, so that it need not be loaded for that."""
    found = minutes(doctree, len(app.config.book_tabs))
    app.env.metadata[app.env.docname]["minutes"] = found


def _add_times(app: Sphinx, doctree: nodes.document, page: str) -> None:
    if page != app.config.root_doc or app.builder.format != "html":
        return
    for item in doctree.findall(nodes.list_item):
        text = next(item.findall(nodes.paragraph), nodes.paragraph())
        section = _section_of(app, text)
        if section is None:
            continue
        item["classes"].append("section-card")
        found = app.env.metadata[section]["minutes"]
        text.children[1:] = _without_point(text.children[1:])
        text += nodes.inline(text=f" {found} min", classes=["minutes"])


def _without_point(rest: list[nodes.Node]) -> list[nodes.Node]:
    """What follows a section's name, which stands on a line of its own."""
    if rest and isinstance(rest[0], nodes.Text):
        return [nodes.Text(rest[0].astext().lstrip(".:, ")), *rest[1:]]
    return rest


def _section_of(app: Sphinx, text: nodes.paragraph) -> str | None:
    """The page of the book that a text begins with a reference to."""
    first = text.children[0] if text.children else None
    if not isinstance(first, nodes.reference) or first.get("refuri") is None:
        return None
    path = first["refuri"].partition("#")[0].removesuffix(".html")
    return path if path in app.env.found_docs else None


def _with_front_page(app: Sphinx, env: BuildEnvironment) -> list[Any]:
    """Pages to write again where any is: the front page tells of all."""
    return [app.config.root_doc]


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", _note_time)
    app.connect("doctree-resolved", _add_times)
    app.connect("env-updated", _with_front_page)
