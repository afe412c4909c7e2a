"""The switch between machines above the outputs of a cell; a part of the extension.

`book.pages.rst` writes these directives where machines printed different outputs.
Without JavaScript, a page shows each panel under the name of its machine. With
JavaScript, the attribute `data-machine` of the page names the machine to show; a set
without that machine shows its first panel.
"""

import json
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

PRINTED = ("latex", "text", "man")
SET = '.tab-set[data-axis="machine"]'


class machine_set(nodes.General, nodes.Element):
    """The panels of one cell's outputs; `number` is the set's place on the page."""


class machine_panel(nodes.General, nodes.Element):
    """The outputs of a cell on `machines`; readers see the names in `titles`."""


class made_on(nodes.General, nodes.Element):
    """The origin of the outputs of a panel, hidden until a reader opens it."""


class BookMachines(SphinxDirective):
    """A set of panels, each of which is a `book-machine`."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the set."""
        panels = machine_set(classes=["tab-set"])
        panels["number"] = self.env.new_serialno("machine")
        self.state.nested_parse(self.content, self.content_offset, panels)
        return [panels]


class BookMachine(SphinxDirective):
    """A panel for the named machines, whose titles and origins are JSON lists."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = {"titles": json.loads, "made": json.loads}

    def run(self) -> list[nodes.Node]:
        """Return the panel with its label and the origin of its outputs."""
        titles = self.options["titles"]
        label = nodes.paragraph(classes=["tab-label"])
        label += nodes.strong(text=", ".join(titles))
        machines = self.arguments[0].split()
        panel = machine_panel("", label, machines=machines, titles=titles)
        self.state.nested_parse(self.content, self.content_offset, panel)
        facts = [nodes.paragraph(text=text) for text in self.options["made"]]
        panel += made_on("", *facts)
        return [panel]


# HTML


def visit_machine_set(self: HTML5Translator, node: machine_set) -> None:
    """Write the start of a set and its buttons, one per machine."""
    panels = list(node.findall(machine_panel))
    choices = " ".join(machine for p in panels for machine in p["machines"])
    attributes: dict[str, Any] = {"data-axis": "machine", "data-choices": choices}
    self.body.append(self.starttag(node, "div", **attributes))
    self.body.append('<div class="tab-list" role="tablist" aria-label="Machine">\n')
    for panel in panels:
        for machine, title in zip(panel["machines"], panel["titles"], strict=True):
            self.body.append(_button(machine, self.encode(title), panel))
    self.body.append("</div>\n")


def _button(machine: str, title: str, panel: machine_panel) -> str:
    number = panel.parent["number"]
    return (
        f'<button type="button" role="tab" id="machine-{number}-{machine}"'
        f' data-choice="{machine}" aria-controls="{_panel_id(panel)}"'
        f' aria-selected="false" tabindex="-1">{title}</button>\n'
    )


def _panel_id(panel: machine_panel) -> str:
    return f"output-{panel.parent['number']}-{panel['machines'][0]}"


def visit_machine_panel(self: HTML5Translator, node: machine_panel) -> None:
    """Write the start of a panel."""
    machines = " ".join(node["machines"])
    self.body.append(
        f'<div class="tab-panel" id="{_panel_id(node)}" data-choices="{machines}">\n'
    )


def visit_made_on(self: HTML5Translator, node: made_on) -> None:
    """Write the start of the origin of outputs."""
    self.body.append('<details class="made-on"><summary>What made this</summary>\n')


def depart_made_on(self: HTML5Translator, node: made_on) -> None:
    """Write the end of the origin of outputs."""
    self.body.append("</details>\n")


def depart_element(self: HTML5Translator, node: nodes.Element) -> None:
    """Write the end of a set or a panel."""
    self.body.append("</div>\n")


def machine_rules(machines: list[str]) -> str:
    """Return the CSS that hides the panels of machines other than the chosen one.

    A set without the chosen machine still shows its first panel.
    """
    selectors = (s for machine in machines for s in _hidden_panels(machine))
    return ",\n".join(selectors) + " { display: none; }\n" if machines else ""


def _hidden_panels(machine: str) -> tuple[str, str]:
    """Return the selectors of the panels to hide if `machine` is chosen."""
    root, has = f'html.js[data-machine="{machine}"]', f'[data-choices~="{machine}"]'
    return (
        f"{root} {SET}{has} > .tab-panel:not({has})",
        f"{root} {SET}:not({has}) > .tab-panel ~ .tab-panel",
    )


# Printed formats


def write_contents(self: Any, node: nodes.Element) -> None:
    """Write nothing but the contents of the node, which include its label."""


def omit(self: Any, node: made_on) -> None:
    """Omit the origin of outputs, which is under the title of the page as well."""
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Add the directives and nodes of this module to Sphinx."""
    # The folder and the title of each machine whose outputs the book shows.
    app.add_config_value("book_machines", [["cpu", "CPU"]], "html")
    app.add_directive("book-machines", BookMachines)
    app.add_directive("book-machine", BookMachine)
    printed: dict[str, Any] = dict.fromkeys(PRINTED, (write_contents, write_contents))
    omitted: dict[str, Any] = dict.fromkeys(PRINTED, (omit, write_contents))
    app.add_node(machine_set, html=(visit_machine_set, depart_element), **printed)
    app.add_node(machine_panel, html=(visit_machine_panel, depart_element), **printed)
    app.add_node(made_on, html=(visit_made_on, depart_made_on), **omitted)
