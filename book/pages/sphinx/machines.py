"""The switch between machines on the outputs of a cell; a part of the extension.

`book.pages.rst` writes these directives where machines printed different outputs.
Without a script each panel
is shown under the name of its machine. With one, the root's `data-machine` names the
machine, and a set without that machine shows its first panel.
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
    """What the cell gave on `machines`, which readers know by `titles`."""


class made_on(nodes.General, nodes.Element):
    """What made the outputs of a panel, folded until a reader asks."""


class BookMachines(SphinxDirective):
    """A set of panels, each a `book-machine`."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        found = machine_set(classes=["tab-set"])
        found["number"] = self.env.new_serialno("machine")
        self.state.nested_parse(self.content, self.content_offset, found)
        return [found]


class BookMachine(SphinxDirective):
    """The outputs of the machines named, whose titles and facts are JSON lists."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = {"titles": json.loads, "made": json.loads}

    def run(self) -> list[nodes.Node]:
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
    machines = " ".join(node["machines"])
    self.body.append(
        f'<div class="tab-panel" id="{_panel_id(node)}" data-choices="{machines}">\n'
    )


def visit_made_on(self: HTML5Translator, node: made_on) -> None:
    self.body.append('<details class="made-on"><summary>What made this</summary>\n')


def depart_made_on(self: HTML5Translator, node: made_on) -> None:
    self.body.append("</details>\n")


def depart_element(self: HTML5Translator, node: nodes.Element) -> None:
    self.body.append("</div>\n")


def machine_rules(machines: list[str]) -> str:
    """Hide what is not of the chosen machine; in a set that lacks it, all but one."""
    rules = (rule for machine in machines for rule in _rules(machine))
    return ",\n".join(rules) + " { display: none; }\n" if machines else ""


def _rules(machine: str) -> tuple[str, str]:
    root, has = f'html.js[data-machine="{machine}"]', f'[data-choices~="{machine}"]'
    return (
        f"{root} {SET}{has} > .tab-panel:not({has})",
        f"{root} {SET}:not({has}) > .tab-panel ~ .tab-panel",
    )


# Paper


def pass_through(self: Any, node: nodes.Element) -> None:
    """Each panel is printed under its label."""


def leave_out(self: Any, node: made_on) -> None:
    """The line under the page's title tells what made the outputs."""
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    # The name and the title of each machine whose outputs the book shows.
    app.add_config_value("book_machines", [["cpu", "CPU"]], "html")
    app.add_directive("book-machines", BookMachines)
    app.add_directive("book-machine", BookMachine)
    whole: dict[str, Any] = dict.fromkeys(PRINTED, (pass_through, pass_through))
    folded: dict[str, Any] = dict.fromkeys(PRINTED, (leave_out, pass_through))
    app.add_node(machine_set, html=(visit_machine_set, depart_element), **whole)
    app.add_node(machine_panel, html=(visit_machine_panel, depart_element), **whole)
    app.add_node(made_on, html=(visit_made_on, depart_made_on), **folded)
