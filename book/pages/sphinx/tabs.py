"""The directives for what differs between frameworks; a part of the extension.

`book.pages.rst` writes these directives. A set holds a panel for each version, and each
panel begins with a label that names its frameworks. Without JavaScript, a page shows
every panel. Otherwise, the attribute `data-tab` of the page names the framework that is
shown, and `data-shown` of a set names another one for this set (`static/book.js`). Only
the first set of a page has a row of tabs, because a framework is chosen once.
"""

from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator
from sphinx.writers.latex import LaTeXTranslator

from book.sources.tabs import TAB_NAMES, tab_name

PRINTED = ("latex", "text", "man")
PAGE = '.js:not([data-print="all"])'
SET = '.tab-set[data-axis="tab"]'


class tab_set(nodes.General, nodes.Element):
    """Panels, of which a reader sees one; `number` is the set's place on the page."""


class tab_panel(nodes.General, nodes.Element):
    """The content for `tabs`; `absent` if it only says that there is no code."""


class BookTabs(SphinxDirective):
    """A set of panels, each of which is a `book-tab`."""

    has_content = True
    option_spec = {"class": directives.class_option}

    def run(self) -> list[nodes.Node]:
        """Return the set."""
        panels = tab_set(classes=["tab-set", *self.options.get("class", ["place"])])
        panels["number"] = self.env.new_serialno("tab") + 1
        self.set_source_info(panels)
        self.state.nested_parse(self.content, self.content_offset, panels)
        _add_absent_panels(panels, self.config.book_tabs)
        return [panels]


class BookTab(SphinxDirective):
    """A panel for the readers of the named tabs."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the panel."""
        panel = _panel(self.arguments[0].split())
        self.state.nested_parse(self.content, self.content_offset, panel)
        return [panel]


def _panel(tabs: list[str], **attributes: Any) -> tab_panel:
    """Return a panel with its label and nothing else."""
    label = nodes.paragraph(classes=["tab-label"])
    label += nodes.strong(text=names(tabs))
    return tab_panel("", label, tabs=tabs, **attributes)


def names(tabs: list[str]) -> str:
    """Return the names of frameworks as readers see them."""
    return ", ".join(map(tab_name, tabs))


def _add_absent_panels(panels: tab_set, tabs: list[str]) -> None:
    """Add a panel for each tab without code, if the other panels have code."""
    if not any(True for _ in panels.findall(nodes.literal_block)):
        return
    present = {tab for panel in panels.findall(tab_panel) for tab in panel["tabs"]}
    for tab in tabs:
        if tab not in present:
            panel = _panel([tab], absent=True)
            panel += nodes.paragraph(text=f"No code for {tab_name(tab)} here.")
            panels += panel


def visit_tab_set(self: HTML5Translator, node: tab_set) -> None:
    """Write the start of a set, and its row of tabs if it has one."""
    panels = {tab: p for p in node.findall(tab_panel) for tab in p["tabs"]}
    order = [t for t in self.config.book_tabs if t in panels]
    attributes: dict[str, Any] = {
        "ids": [f"set-{node['number']}"],
        "data-axis": "tab",
        "data-choices": " ".join(order),
    }
    self.body.append(self.starttag(node, "div", **attributes))
    if node is not _set_with_row(self.document, self.config.book_tabs):
        return
    self.body.append('<div class="tab-list" role="tablist" aria-label="Framework">\n')
    for tab in order:
        self.body.append(_tab_button(node["number"], tab, panels[tab]))
    self.body.append("</div>\n")


def _set_with_row(document: nodes.document, tabs: list[str]) -> tab_set | None:
    """Return the first set of a page in which readers can choose every framework."""
    for node in document.findall(tab_set):
        offered = {tab for panel in node.findall(tab_panel) for tab in panel["tabs"]}
        if "place" in node["classes"] and offered.issuperset(tabs):
            return node
    return None


def _tab_button(number: int, tab: str, panel: tab_panel) -> str:
    return (
        f'<button type="button" role="tab" id="tab-{number}-{tab}" data-choice="{tab}"'
        f' aria-controls="{_panel_id(number, panel)}" aria-selected="false"'
        f' tabindex="-1">{tab_name(tab)}</button>\n'
    )


def _panel_id(number: int, panel: tab_panel) -> str:
    return f"panel-{number}-{panel['tabs'][0]}"


def visit_tab_panel(self: HTML5Translator, node: tab_panel) -> None:
    """Write the start of a panel."""
    classes = "tab-panel tab-absent" if node.get("absent") else "tab-panel"
    tabs = " ".join(node["tabs"])
    identity = _panel_id(node.parent["number"], node)
    self.body.append(
        f'<div class="{classes}" id="{identity}" data-choices="{tabs}" role="group"'
        f' aria-label="{names(node["tabs"])}">\n'
    )


def depart_element(self: HTML5Translator, node: nodes.Element) -> None:
    """Write the end of a set or a panel."""
    self.body.append("</div>\n")


# Tables with a column for each framework

# Without this box, a page shows the columns of the chosen frameworks.
ALL_COLUMNS = (
    '<label class="columns-setting scripted"><input type="checkbox">'
    " All frameworks</label>\n"
)


def mark_columns(table: nodes.Element) -> bool:
    """Mark each cell below the name of a framework; return False if there is none."""
    rows = [list(row.findall(nodes.entry)) for row in table.findall(nodes.row)]
    tabs = {name: tab for tab, name in TAB_NAMES.items()}
    columns = [tabs.get(entry.astext()) for entry in rows[0]]
    for row in rows:
        for entry, tab in zip(row, columns, strict=False):
            if tab:
                entry["framework"] = tab
    return any(columns)


def tab_rules(tabs: list[str]) -> str:
    """Return the CSS that shows only the chosen framework, unless all are printed."""
    hidden = (
        f"{PAGE} {SET}",
        f"{PAGE} {SET} > .tab-panel",
        f"{PAGE} [data-framework]",
    )
    shown = [selector for tab in tabs for selector in _shown(tab)]
    shown.append(f"{PAGE} .table-wrapper:has(:checked) [data-framework]")
    return (
        ",\n".join(hidden) + " { display: none; }\n"
        + ",\n".join(shown) + " { display: revert; }\n"
    )  # fmt: skip


def _shown(tab: str) -> tuple[str, ...]:
    """Return the selectors of what is shown if a page or a set shows `tab`."""
    page, beside = f'{PAGE}[data-tab="{tab}"]', f'{PAGE}[data-beside="{tab}"]'
    has = f'[data-choices~="{tab}"]'
    return (
        f'{page} [data-framework="{tab}"]',
        f'{beside} :is(td, th)[data-framework="{tab}"]',
        f"{page} {SET}{has}",
        f"{page} {SET}:not([data-shown]) > .tab-panel{has}",
        f"{beside} .place{SET}{has}",
        f"{beside} .place{SET}:not([data-shown]) > .tab-panel{has}",
        f'{PAGE} {SET}[data-shown="{tab}"]',
        f'{PAGE} {SET}[data-shown="{tab}"] > .tab-panel{has}',
    )


# Printed formats


def visit_printed_panel(self: Any, node: tab_panel) -> None:
    """Omit a panel that only says that a tab has no code."""
    if node.get("absent"):
        raise nodes.SkipNode


def write_contents(self: Any, node: nodes.Element) -> None:
    """Write nothing but the contents of the node, which include its label."""


def begin_latex_set(self: LaTeXTranslator, node: tab_set) -> None:
    """Write the start of a set in LaTeX."""
    if "record" in node["classes"]:
        self.body.append("\n\\begin{bookrecord}\n")


def end_latex_set(self: LaTeXTranslator, node: tab_set) -> None:
    """Write the end of a set in LaTeX."""
    is_record = "record" in node["classes"]
    self.body.append("\n\\end{bookrecord}\n" if is_record else "\n\\bookendtabs\n")


def setup(app: Sphinx) -> None:
    """Add the directives and nodes of this module to Sphinx."""
    app.add_config_value("book_tabs", list(TAB_NAMES), "env")
    app.add_directive("book-tabs", BookTabs)
    app.add_directive("book-tab", BookTab)
    sets: dict[str, Any] = dict.fromkeys(PRINTED, (write_contents, write_contents))
    sets["latex"] = (begin_latex_set, end_latex_set)
    panels: dict[str, Any] = dict.fromkeys(
        PRINTED, (visit_printed_panel, write_contents)
    )
    app.add_node(tab_set, html=(visit_tab_set, depart_element), **sets)
    app.add_node(tab_panel, html=(visit_tab_panel, depart_element), **panels)
