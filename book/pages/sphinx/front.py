"""Completes the front page: buttons to start with, and a card for each section.

An item of a list on the front page that begins with a reference to a section becomes
the card of that section, with its reading time. The time follows from the words and the
lines of code that a reader of one framework sees.
"""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from book.pages.sphinx.tabs import tab_panel
from book.sources.tabs import tab_name

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


def _complete_front_page(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Add the buttons to start with, and turn items that name sections into cards."""
    if page != app.config.root_doc or app.builder.format != "html":
        return
    _add_start_buttons(app, doctree)
    for item in doctree.findall(nodes.list_item):
        text = next(item.findall(nodes.paragraph), nodes.paragraph())
        section = _section_of(app, text)
        if section is not None:
            _make_card(app, item, text, section)


def _add_start_buttons(app: Sphinx, doctree: nodes.document) -> None:
    """Add a link to the first section in each tab below the first paragraph."""
    pages = app.env.toctree_includes.get(app.config.root_doc, [])
    lead = next(doctree.findall(nodes.paragraph), None)
    if lead is None or not pages:
        return
    lead["classes"].append("lead")
    address = app.builder.get_relative_uri(app.config.root_doc, pages[0])
    links = [
        nodes.reference(
            text=tab_name(tab), refuri=f"{address}?tab={tab}", internal=True
        )
        for tab in app.config.book_tabs
    ]
    items = [nodes.list_item("", nodes.paragraph("", "", link)) for link in links]
    buttons = nodes.container(classes=["start"])
    buttons += [nodes.paragraph(text="Start in"), nodes.bullet_list("", *items)]
    lead.parent.insert(lead.parent.index(lead) + 1, buttons)


def _make_card(
    app: Sphinx, item: nodes.list_item, text: nodes.paragraph, section: str
) -> None:
    """Make an item the card of a section, with its number and its reading time.

    The second paragraph of the item says what the section requires.
    """
    item["classes"].append("section-card")
    number = ".".join(map(str, app.env.toc_secnumbers.get(section, {}).get("", ())))
    text.children[1:] = _without_punctuation(text.children[1:])
    shown = nodes.inline(text=number, classes=["section-number"])
    text.insert(0, [shown, nodes.Text(" ")])
    paragraphs = [node for node in item.children if isinstance(node, nodes.paragraph)]
    if len(paragraphs) == 1:
        paragraphs.append(nodes.paragraph())
        item += paragraphs[1]
    paragraphs[1]["classes"].append("requires")
    # A section with pages of its own is not read in one go.
    if section not in app.env.toctree_includes:
        minutes = app.env.metadata[section]["minutes"]
        time = nodes.inline(text=f"{minutes} min", classes=["minutes"])
        paragraphs[1].insert(0, [time, nodes.Text(" ")])


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
    app.connect("doctree-resolved", _complete_front_page)
    app.connect("env-updated", _pages_to_update)
