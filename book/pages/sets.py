"""Sets of panels for the differences between frameworks or machines, and their CSS.

Each panel begins with a label that names its frameworks or machines. Without
JavaScript, a page shows every panel. Otherwise, the attribute `data-tab` of the page
names the framework that is shown; `data-machine` names the machine, and a set without
it shows its first panel (`static/book.js`). The header chooses the framework, and a
row of tabs the machine.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from book.merge import Run
from book.render.texts import attribute, escape
from book.text.tabs import tab_name

PAGE = ".js"
SET = '.tab-set[data-axis="tab"]'
MACHINE_SET = '.tab-set[data-axis="machine"]'
ROW = '<div class="tab-list" role="tablist" aria-label="Machine">\n{}</div>\n'
BUTTON = (
    '<button type="button" role="tab" id="{id}" data-choice="{choice}"'
    ' aria-controls="{panel}" aria-selected="false" tabindex="-1">{title}</button>\n'
)
LABEL = '<p class="tab-label"><strong>{}</strong></p>\n'
NO_CODE = "<p>No code for {} here.</p>\n"


@dataclass(frozen=True)
class PagePanel:
    """The HTML for readers of `tabs`; `absent` if they have no code here."""

    tabs: tuple[str, ...]
    html: str
    absent: bool = False


def tab_set(
    panels: Sequence[PagePanel], tabs: list[str], number: str, kind: str
) -> str:
    """Return a set of panels.

    `tabs` are all those of the book; `number` tells the sets of a page apart.
    """
    offered = {tab for panel in panels for tab in panel.tabs}
    return (
        f'<div class="tab-set {kind}" data-axis="tab"'
        f' data-choices="{" ".join(tab for tab in tabs if tab in offered)}"'
        f' id="{number}">\n'
        f"{''.join(_tab_panel(number, panel) for panel in panels)}</div>\n"
    )


def _tab_panel(number: str, panel: PagePanel) -> str:
    title = ", ".join(map(tab_name, panel.tabs))
    return (
        f'<div class="tab-panel{" tab-absent" if panel.absent else ""}"'
        f' id="{panel_id(number, panel.tabs)}" data-choices="{" ".join(panel.tabs)}"'
        f' role="group" aria-label="{title}">\n'
        f"{LABEL.format(title)}{panel.html}</div>\n"
    )


def panel_id(number: str, tabs: Sequence[str]) -> str:
    """Return the id of the panel for some tabs, in the set of an id like `set-2`."""
    return f"{number.replace('set-', 'panel-')}-{tabs[0]}"


def absent(tabs: Iterable[str]) -> list[PagePanel]:
    """Return a panel for each tab that has no code here."""
    return [PagePanel((t,), NO_CODE.format(tab_name(t)), absent=True) for t in tabs]


# Machines


def machine_set(panels: Sequence[tuple[Run, str]], number: str) -> str:
    """Return the outputs of a cell that differ between machines: runs with HTML."""
    row = "".join(
        BUTTON.format(
            id=f"{number}-{machine}".replace("output-", "machine-"),
            choice=machine,
            panel=f"{number}-{run.machines[0]}",
            title=escape(title),
        )
        for run, _ in panels
        for machine, title in zip(run.machines, run.titles, strict=True)
    )
    choices = " ".join(machine for run, _ in panels for machine in run.machines)
    return (
        f'<div class="tab-set" data-axis="machine" data-choices="{choices}">\n'
        f"{ROW.format(row)}"
        f"{''.join(_machine_panel(number, *panel) for panel in panels)}</div>\n"
    )


def _machine_panel(number: str, run: Run, html: str) -> str:
    origin = "".join(f"<p>{escape(text)}</p>\n" for text in run.made)
    name = attribute("id", f"{number}-{run.machines[0]}")
    return (
        f'<div class="tab-panel"{name} data-choices="{" ".join(run.machines)}">\n'
        f"{LABEL.format(escape(', '.join(run.titles)))}{html}"
        '<details class="made-on"><summary>What made this</summary>\n'
        f"{origin}</details>\n</div>\n"
    )


# The stylesheet


def tab_rules(tabs: list[str]) -> str:
    """Return the CSS that shows only the chosen framework."""
    hidden = (
        f"{PAGE} {SET}",
        f"{PAGE} {SET} > .tab-panel",
        f"{PAGE} [data-framework]",
    )
    shown = [selector for tab in tabs for selector in _shown(tab)]
    shown.append(f"{PAGE} .table-wrapper:has(:checked) [data-framework]")
    return _rule(hidden, "none") + _rule(shown, "revert")


def _rule(selectors: Iterable[str], display: str) -> str:
    return ",\n".join(selectors) + f" {{ display: {display}; }}\n"


def _shown(tab: str) -> tuple[str, ...]:
    """Return the selectors of what a page shows in `tab`."""
    page, beside = f'{PAGE}[data-tab="{tab}"]', f'{PAGE}[data-beside="{tab}"]'
    has = f'[data-choices~="{tab}"]'
    return (
        f'{page} [data-framework="{tab}"]',
        f'{beside} :is(td, th)[data-framework="{tab}"]',
        f"{page} {SET}{has}",
        f"{page} {SET} > .tab-panel{has}",
        f"{beside} .place{SET}{has}",
        f"{beside} .place{SET} > .tab-panel{has}",
    )


def machine_rules(machines: list[str]) -> str:
    """Return the CSS that hides the panels of machines other than the chosen one.

    A set without the chosen machine still shows its first panel.
    """
    selectors = [s for machine in machines for s in _hidden_panels(machine)]
    return _rule(selectors, "none") if machines else ""


def _hidden_panels(machine: str) -> tuple[str, str]:
    """Return the selectors of the panels to hide if `machine` is chosen."""
    root, has = f'html.js[data-machine="{machine}"]', f'[data-choices~="{machine}"]'
    return (
        f"{root} {MACHINE_SET}{has} > .tab-panel:not({has})",
        f"{root} {MACHINE_SET}:not({has}) > .tab-panel ~ .tab-panel",
    )
