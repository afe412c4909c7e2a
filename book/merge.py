"""Merge the tab notebooks of a section into the one notebook that its page shows.

d2lbook gathers the cells and marks the panels; here the cells that are the same in
every tab come out of the panels, and no set of panels has a blank one.
"""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from d2lbook import notebook as d2l_notebook
from nbformat import NotebookNode

from book.tabs import tab_name

SPECIAL = re.compile(r"[\\`*_{}\[\]<>#$|~^@!&\"']|-(?=-)|\.(?=\.)")
WITHOUT_OUTPUTS = {
    "missing": "This code has not been run yet",
    "stale": "The code has changed since it was run",
    "damaged": "Its record is damaged",
}
TITLE = re.compile(r"\s*# [^\n]*(?:\n\s*:label:`[^`]+`[ \t]*)?(?:\n|$)")


@dataclass
class TabSet:
    """Cells that differ by tab, in order; each lists its tabs in its metadata."""

    cells: list[NotebookNode] = field(default_factory=list)

    def panels(self, tabs: list[str]) -> list[tuple[list[str], list[NotebookNode]]]:
        """The panels to show: tabs that have the same cells share one."""
        shared: dict[tuple[int, ...], list[str]] = {}
        for tab in tabs:
            mine = tuple(i for i, c in enumerate(self.cells) if tab in c.metadata.tab)
            if mine:
                shared.setdefault(mine, []).append(tab)
        return [
            (names, [self.cells[i] for i in mine]) for mine, names in shared.items()
        ]


def merge(notebooks: dict[str, NotebookNode]) -> NotebookNode:
    """One notebook out of one for each tab, with d2lbook's marks around the panels.

    Its metadata holds the tabs' `records`: what made their outputs.
    """
    tabs = list(notebooks)
    merged = d2l_notebook.merge_tab_notebooks(list(notebooks.values()))
    merged.metadata["records"] = {
        tab: nb.metadata.get("record", {}) for tab, nb in notebooks.items()
    }
    merged.cells = list(_marked(_grouped(_folded(merged.cells), tabs), tabs))
    return merged


def tab_marks(
    panels: list[tuple[list[str], list[NotebookNode]]], number: int, kind: str = ""
) -> Iterator[NotebookNode]:
    """The cells of a set of panels between d2lbook's marks, which Sphinx gathers."""
    names = [",".join(tabs) for tabs, _ in panels]
    yield d2l_notebook._get_tab_bar(names, number, names[0], kind)
    for index, (name, (_, cells)) in enumerate(zip(names, panels, strict=True)):
        yield from d2l_notebook._get_tab_panel(
            cells, name, f"{number}-{index}", names[0]
        )
    yield nbformat.v4.new_markdown_cell("```eval_rst\n.. raw:: html\n\n    </div>\n```")


def _folded(cells: list[NotebookNode]) -> Iterator[NotebookNode]:
    """The cells, those alike at one place of the source made one, with all its tabs.

    d2lbook does so with neighbours that have no outputs, and with no others.
    """
    for _, group in itertools.groupby(cells, lambda c: c.metadata.origin_pos):
        alike: dict[str, NotebookNode] = {}
        for cell in group:
            first = alike.setdefault(_face(cell), cell)
            if first is not cell and "tab" in cell.metadata:
                first.metadata.tab = [*first.metadata.tab, *cell.metadata.tab]
        yield from alike.values()


def _face(cell: NotebookNode) -> str:
    """What a reader sees of a cell."""
    outputs = [
        {k: v for k, v in output.items() if k not in ("execution_count", "metadata")}
        for output in cell.get("outputs", [])
    ]
    return repr((cell.cell_type, cell.source, outputs))


def _grouped(
    cells: Iterator[NotebookNode], tabs: list[str]
) -> Iterator[NotebookNode | TabSet]:
    """Cells that all tabs share alone, runs of the others as sets."""
    open_set = TabSet()
    for cell in cells:
        if set(cell.metadata.get("tab", tabs)) != set(tabs):
            open_set.cells.append(cell)
            continue
        if open_set.cells:
            yield open_set
            open_set = TabSet()
        yield cell
    if open_set.cells:
        yield open_set


def _marked(
    groups: Iterator[NotebookNode | TabSet], tabs: list[str]
) -> Iterator[NotebookNode]:
    for number, group in enumerate(groups, start=1):
        if isinstance(group, TabSet):
            yield from tab_marks(group.panels(tabs), number)
        else:
            yield group


# What made the outputs


def with_records(nb: NotebookNode, tabs: list[str], section: str) -> NotebookNode:
    """A merged notebook that tells under its title what made each tab's outputs.

    A page without code has nothing to tell.
    """
    if not any(cell.cell_type == "code" for cell in nb.cells):
        return nb
    told = {}
    for tab in tabs:
        text = _origin(tab, nb.metadata["records"].get(tab), section)
        told[tab] = nbformat.v4.new_markdown_cell(text, metadata={"tab": [tab]})
    if len(tabs) > 1:
        marked = list(tab_marks([([t], [c]) for t, c in told.items()], 0, "record"))
    else:
        marked = list(told.values())
    title, rest = _split_title(nb.cells[0])
    return d2l_notebook.create_new_notebook(nb, [*title, *marked, *rest, *nb.cells[1:]])


def _split_title(cell: NotebookNode) -> tuple[list[NotebookNode], list[NotebookNode]]:
    """The page's first cell cut in two after its title; either part may be missing."""
    found = TITLE.match(cell.source) if cell.cell_type == "markdown" else None
    if found is None:
        return [], [cell]
    parts = cell.source[: found.end()], cell.source[found.end() :]
    title, rest = (
        [nbformat.v4.new_markdown_cell(part)] if part.strip() else [] for part in parts
    )
    return title, rest


def _origin(tab: str, record: dict[str, str] | None, section: str) -> str:
    """One sentence on what made the outputs of `tab`; `record` is None without code."""
    if record is None:
        return f"No code for {tab_name(tab)} in this section."
    if record.get("state") != "fresh":
        reason = WITHOUT_OUTPUTS[record.get("state", "missing")]
        command = f"make run TAB={tab} SECTION={Path(section).name}"
        return f"No outputs. {reason}: `{command}`."
    machine = record.get("machine_name") or record.get("machine", "")
    version, python = record.get("framework_version"), record.get("python")
    facts = [
        machine,
        f"driver {record['driver']}" if record.get("driver") else "",
        f"{tab_name(tab)} {version}" if version else tab_name(tab),
        f"Python {python}" if python else "",
        record.get("date", ""),
    ]
    return f"Outputs: {', '.join(map(_escaped, filter(None, facts)))}."


def _escaped(fact: str) -> str:
    """A fact as Markdown that shows it as it is."""
    return SPECIAL.sub(r"\\\g<0>", " ".join(str(fact).split()))
