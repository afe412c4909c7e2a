"""Sets of tabs; a part of the extension.

`book.pages.rst` writes these directives where frameworks differ. The page is whole
without a script: each panel is under its label. `static/book.js` turns the sets into
ARIA tabs; the root's `data-tab` names the chosen one.
"""

from collections.abc import Iterator
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator
from sphinx.writers.latex import LaTeXTranslator

from book.sources.tabs import TAB_NAMES, tab_name

PRINTED = ("latex", "text", "man")


class tab_set(nodes.General, nodes.Element):
    """Panels of which a reader sees one; `number` is its place on the page."""


class tab_panel(nodes.General, nodes.Element):
    """What is shown in `tabs`; `absent` if that is only that there is nothing."""


class BookTabs(SphinxDirective):
    """A set of panels, each a `book-tab`."""

    has_content = True
    option_spec = {"class": directives.class_option}

    def run(self) -> list[nodes.Node]:
        found = tab_set(classes=["tab-set", *self.options.get("class", [])])
        found["number"] = self.env.new_serialno("tab") + 1
        self.set_source_info(found)
        self.state.nested_parse(self.content, self.content_offset, found)
        return [_completed(found, self.config.book_tabs)]


class BookTab(SphinxDirective):
    """What readers of the tabs named see."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        panel = _panel(self.arguments[0].split())
        self.state.nested_parse(self.content, self.content_offset, panel)
        return [panel]


def _panel(tabs: list[str], **attributes: Any) -> tab_panel:
    label = nodes.paragraph(classes=["tab-label"])
    label += nodes.strong(text=", ".join(map(tab_name, tabs)))
    return tab_panel("", label, tabs=tabs, **attributes)


def _completed(found: tab_set, tabs: list[str]) -> tab_set:
    """Return a set that says where a tab has no code; one of text leaves it out."""
    if any(True for _ in found.findall(nodes.literal_block)):
        there = {tab for panel in found.findall(tab_panel) for tab in panel["tabs"]}
        for tab in tabs:
            if tab not in there:
                panel = _panel([tab], absent=True)
                panel += nodes.paragraph(text=f"No code for {tab_name(tab)} here.")
                found += panel
    return found


def visit_tab_set(self: HTML5Translator, node: tab_set) -> None:
    panels = {tab: p for p in node.findall(tab_panel) for tab in p["tabs"]}
    order = [t for t in self.config.book_tabs if t in panels]
    attributes: dict[str, Any] = {"data-axis": "tab", "data-choices": " ".join(order)}
    self.body.append(self.starttag(node, "div", **attributes))
    if "record" in node["classes"]:
        return  # the bar at the top of the page chooses for it
    self.body.append('<div class="tab-list" role="tablist" aria-label="Framework">\n')
    for tab in order:
        self.body.append(_tab_button(node["number"], tab, panels[tab]))
    self.body.append("</div>\n")


def _tab_button(number: int, tab: str, panel: tab_panel) -> str:
    return (
        f'<button type="button" role="tab" id="tab-{number}-{tab}" data-choice="{tab}"'
        f' aria-controls="{_panel_id(number, panel)}" aria-selected="false"'
        f' tabindex="-1">{tab_name(tab)}</button>\n'
    )


def _panel_id(number: int, panel: tab_panel) -> str:
    return f"panel-{number}-{panel['tabs'][0]}"


def visit_tab_panel(self: HTML5Translator, node: tab_panel) -> None:
    classes = "tab-panel tab-absent" if node.get("absent") else "tab-panel"
    tabs = " ".join(node["tabs"])
    identity = _panel_id(node.parent["number"], node)
    self.body.append(f'<div class="{classes}" id="{identity}" data-choices="{tabs}">\n')


def depart_element(self: HTML5Translator, node: nodes.Element) -> None:
    self.body.append("</div>\n")


def tab_rules(tabs: list[str]) -> str:
    """Hide what is not of the chosen tab, unless all are to be printed."""
    rules: Iterator[str] = (
        f'.js:not([data-print="all"])[data-tab="{tab}"] {kind}'
        f':not([data-choices~="{tab}"])'
        for tab in tabs
        for kind in (
            '.tab-set[data-axis="tab"]',
            '.tab-set[data-axis="tab"] > .tab-panel',
        )
    )
    return ",\n".join(rules) + " { display: none; }\n"


# Paper


def visit_printed_panel(self: Any, node: tab_panel) -> None:
    """Where there is no choice, a panel that holds nothing is left out."""
    if node.get("absent"):
        raise nodes.SkipNode


def pass_through(self: Any, node: nodes.Element) -> None:
    """The contents, the tab's label among them, are all there is to write."""


def begin_printed_set(self: LaTeXTranslator, node: tab_set) -> None:
    if "record" in node["classes"]:
        self.body.append("\n\\begin{bookrecord}\n")


def end_printed_set(self: LaTeXTranslator, node: tab_set) -> None:
    record = "record" in node["classes"]
    self.body.append("\n\\end{bookrecord}\n" if record else "\n\\bookendtabs\n")


def setup(app: Sphinx) -> None:
    app.add_config_value("book_tabs", list(TAB_NAMES), "env")
    app.add_directive("book-tabs", BookTabs)
    app.add_directive("book-tab", BookTab)
    whole: dict[str, Any] = dict.fromkeys(PRINTED, (pass_through, pass_through))
    whole["latex"] = (begin_printed_set, end_printed_set)
    printed: dict[str, Any] = dict.fromkeys(
        PRINTED, (visit_printed_panel, pass_through)
    )
    app.add_node(tab_set, html=(visit_tab_set, depart_element), **whole)
    app.add_node(tab_panel, html=(visit_tab_panel, depart_element), **printed)
