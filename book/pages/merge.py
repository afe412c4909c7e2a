"""Merge the notebooks of a section into the one notebook that its page shows.

First those of a tab's machines, whose outputs may differ, then those of the tabs.
d2lbook gathers the cells and marks the panels; here the cells that are the same in
every tab come out of the panels, and no set of panels has a blank one.
"""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from d2lbook import notebook as d2l_notebook
from nbformat import NotebookNode

from book.sources.tabs import tab_name

SPECIAL = re.compile(r"[\\`*_{}\[\]<>#$|~^@!&\"']|-(?=-)|\.(?=\.)")
WITHOUT_OUTPUTS = {
    "missing": "This code has not been run yet",
    "stale": "The code has changed since it was run",
    "damaged": "Its record is damaged",
}
UNSEEN = ("execution_count", "metadata")
NOTICE = "```eval_rst\n.. rst-class:: version-notice\n\n{}\n```"
TITLE = re.compile(r"\s*# [^\n]*(?:\n\s*:label:`[^`]+`[ \t]*)?(?:\n|$)")


# Machines


def merge_machines(
    notebooks: dict[str, NotebookNode], titles: dict[str, str]
) -> NotebookNode:
    """One notebook out of those of a tab's machines: the outputs of fresh records.

    Where these differ, a cell's metadata holds all as `runs`. The notebook's `record`
    is that of the first machine; that of each other one is in its `others`.
    """
    fresh = {m: nb for m, nb in notebooks.items() if "machine" in nb.metadata["record"]}
    if not fresh:
        return next(iter(notebooks.values()))
    for machine, nb in fresh.items():
        # A folder may have been given another name since.
        title = titles.get(machine, machine)
        nb.metadata["record"].update(machine=machine, title=title)
    first, *others = fresh.values()
    for cells in zip(*(nb.cells for nb in fresh.values()), strict=True):
        _keep_runs(dict(zip(fresh, cells, strict=True)))
    first.metadata["record"]["others"] = [nb.metadata["record"] for nb in others]
    return first


def _keep_runs(cells: dict[str, NotebookNode]) -> None:
    """Put the outputs of one cell on all machines into the first machine's cell."""
    runs: dict[str, dict[str, Any]] = {}
    for machine, cell in cells.items():
        outputs = cell.get("outputs", [])
        run = runs.setdefault(_seen(outputs), {"machines": [], "outputs": outputs})
        run["machines"].append(machine)
    if len(runs) > 1:
        first = next(iter(cells.values()))
        first.metadata["runs"] = list(runs.values())
        # d2lbook takes a cell without outputs for one that shows nothing.
        first.outputs = next(filter(None, (run["outputs"] for run in runs.values())))


def _seen(outputs: list[NotebookNode]) -> str:
    """What a reader sees of outputs."""
    seen = [{k: v for k, v in o.items() if k not in UNSEEN} for o in outputs]
    return repr(seen)


# Tabs


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
    cells = list(_folded(merged.cells))
    _tell_makers(cells, merged.metadata["records"])
    merged.cells = list(_marked(_grouped(iter(cells), tabs), tabs))
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
    runs = [
        (run["machines"], _seen(run["outputs"]))
        for run in cell.metadata.get("runs", [])
    ]
    outputs = _seen(cell.get("outputs", []))
    return repr((cell.cell_type, cell.source, outputs, runs))


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


def _tell_makers(cells: list[NotebookNode], records: dict[str, Any]) -> None:
    """Give each of a cell's runs the titles of its machines, and what made it."""
    for cell in cells:
        for run in cell.metadata.get("runs", []):
            makers = [
                (_maker(records[tab], machine), tab)
                for machine in run["machines"]
                for tab in cell.metadata.tab
            ]
            run["titles"] = list(dict.fromkeys(_title(maker) for maker, _ in makers))
            run["made"] = [f"{facts(maker, tab)}." for maker, tab in makers]


def _makers(record: dict[str, Any]) -> list[dict[str, str]]:
    """The facts of each machine with a fresh record."""
    return [record, *record.get("others", [])]


def _maker(record: dict[str, Any], machine: str) -> dict[str, str]:
    return next(m for m in _makers(record) if m["machine"] == machine)


def facts(maker: dict[str, str], tab: str) -> str:
    """What made outputs, in short; a machine without a GPU names its processor."""
    version, python = maker.get("framework_version"), maker.get("python")
    processor = "" if maker.get("gpu") else maker.get("cpu")
    facts = [
        f"{_title(maker)} ({processor})" if processor else _title(maker),
        f"driver {maker['driver']}" if maker.get("driver") else "",
        f"{tab_name(tab)} {version}" if version else tab_name(tab),
        f"Python {python}" if python else "",
        maker.get("date", ""),
    ]
    return ", ".join(filter(None, facts))


def with_records(nb: NotebookNode, tabs: list[str], section: str) -> NotebookNode:
    """A merged notebook that tells under its title what made each tab's outputs.

    A page without code has nothing to tell.
    """
    if not any(cell.cell_type == "code" for cell in nb.cells):
        return nb
    told = {}
    for tab in tabs:
        text = origin(tab, nb.metadata["records"].get(tab), section)
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


def origin(tab: str, record: dict[str, Any] | None, section: str) -> str:
    """What made the outputs of `tab`, as Markdown."""
    if record is None or record == {"state": "fresh"}:
        return f"No code for {tab_name(tab)} in this section."
    if record.get("state") != "fresh":
        reason = WITHOUT_OUTPUTS[record.get("state", "missing")]
        command = f"make run TAB={tab} SECTION={Path(section).name}"
        return f"No outputs. {reason}: `{command}`."
    told = [_escaped(facts(maker, tab)) for maker in _makers(record)]
    return "\n\n".join([f"Outputs: {'; '.join(told)}.", *_notices(tab, record)])


def _notices(tab: str, record: dict[str, Any]) -> Iterator[str]:
    """A sentence for each machine that ran another version than readers install."""
    makers = _makers(record)
    for maker in makers:
        version = maker.get("framework_version", "").partition("+")[0]
        installs = maker.get("installs", "").partition("+")[0]
        if version and installs and version != installs:
            where = f" on {_title(maker)}" if len(makers) > 1 else ""
            made = f"Made with {tab_name(tab)} {version}{where}"
            notice = f"{made}; these instructions install {installs}."
            yield NOTICE.format(_escaped(notice))


def _title(maker: dict[str, str]) -> str:
    return maker.get("title") or maker.get("machine_name") or maker.get("machine", "")


def _escaped(fact: str) -> str:
    """A fact as Markdown that shows it as it is."""
    return SPECIAL.sub(r"\\\g<0>", " ".join(str(fact).split()))
