"""The tabs of a section merged into what its page shows.

First the outputs of a tab's machines, which may differ, then the tabs: text and code
that are the same in all of them stand once, outside of the panels, and no set of
panels has an empty one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path

from nbformat import NotebookNode

from book.records.store import Shown, State
from book.sources.blocks import Block, Cell
from book.sources.section import Section
from book.sources.tabs import tab_name

SPECIAL = re.compile(r"[\\`*_{}\[\]<>#$|~^@!&\"']|-(?=-)|\.(?=\.)")
WITHOUT_OUTPUTS = {
    "missing": "This code has not been run yet",
    "stale": "The code has changed since it was run",
    "damaged": "Its record is damaged",
}
UNSEEN = ("execution_count", "metadata")

Facts = dict[str, str]


# Machines


@dataclass(frozen=True)
class Run:
    """The outputs that a cell gave on one machine or on several.

    Where runs differ, `titles` says what readers call these machines, and `made` holds
    a sentence on what made the outputs for each machine and tab.
    """

    machines: tuple[str, ...]
    outputs: list[NotebookNode]
    titles: tuple[str, ...] = ()
    made: tuple[str, ...] = ()


@dataclass(frozen=True)
class TabView:
    """What a tab shows: its blocks, the runs of its cells, and what made the outputs.

    `makers` holds the facts of each machine with a fresh record; there are none if the
    record is not fresh, or if there is no code to run.
    """

    tab: str
    blocks: list[Block]
    runs: list[list[Run]]
    makers: list[Facts]
    state: State = "fresh"

    @cached_property
    def cells(self) -> dict[int, tuple[Cell, list[Run]]]:
        """The cells and their runs, by the line on which the cell starts."""
        cells = [block for block in self.blocks if isinstance(block, Cell)]
        pairs = zip(cells, self.runs, strict=True)
        return {cell.line: (cell, runs) for cell, runs in pairs}


def merge_machines(found: dict[str, Shown], titles: dict[str, str]) -> TabView:
    """Return what a tab shows, given what it shows with each machine's record.

    Outputs that are the same on several machines are one run.
    """
    fresh = {machine: shown for machine, shown in found.items() if shown.facts}
    first = next(iter((fresh or found).values()))
    # A folder may have been given another name since.
    makers = [
        shown.facts | {"machine": machine, "title": titles.get(machine, machine)}
        for machine, shown in fresh.items()
    ]
    runs = [
        _runs([(machine, shown.outputs[i]) for machine, shown in fresh.items()])
        for i in range(len(first.outputs))
    ]
    return TabView(first.tab, first.blocks, runs, makers, first.state)


def _runs(outputs: list[tuple[str, list[NotebookNode]]]) -> list[Run]:
    """Return the runs of one cell, whose outputs on each machine are given."""
    runs: dict[str, Run] = {}
    for machine, output in outputs:
        seen = _seen(output)
        earlier = runs.get(seen, Run((), output))
        runs[seen] = Run((*earlier.machines, machine), earlier.outputs)
    return list(runs.values())


def _seen(outputs: list[NotebookNode]) -> str:
    """Return what a reader sees of outputs, as a text that can be compared."""
    return repr([{k: v for k, v in o.items() if k not in UNSEEN} for o in outputs])


# Tabs


@dataclass(frozen=True)
class Part:
    """A block that readers of `tabs` see; a cell has runs."""

    block: Block
    tabs: tuple[str, ...]
    runs: list[Run] = field(default_factory=list)


@dataclass(frozen=True)
class Panel:
    """The parts that readers of `tabs` see of a set."""

    tabs: tuple[str, ...]
    parts: list[Part]


@dataclass(frozen=True)
class TabSet:
    """Panels of which a reader sees one."""

    panels: list[Panel]

    @property
    def line(self) -> int:
        return self.panels[0].parts[0].block.line


def merge(section: Section, views: list[TabView]) -> list[Part | TabSet]:
    """Return what the page of a section shows, in order."""
    tabs = tuple(view.tab for view in views)
    # One tab alone may show something else in the place of what it lacks.
    blocks = views[0].blocks if len(views) == 1 else section.blocks
    parts = [
        part
        for block in blocks
        for part in (
            _cell_parts(block, views)
            if isinstance(block, Cell)
            else _text_parts(block, tabs)
        )
    ]
    return list(_grouped(parts, tabs))


def _text_parts(block: Block, tabs: tuple[str, ...]) -> Iterator[Part]:
    shown = tuple(tab for tab in tabs if block.is_for(tab))
    if shown:
        yield Part(block, shown)


def _cell_parts(block: Cell, views: list[TabView]) -> Iterator[Part]:
    """Yield a cell once for each way in which tabs show it."""
    parts: dict[str, Part] = {}
    if block.only_in_notebooks:
        return
    for view in views:
        if block.line in view.cells:
            cell, runs = view.cells[block.line]
            face = repr((cell.code, [(r.machines, _seen(r.outputs)) for r in runs]))
            earlier = parts.get(face, Part(cell, (), runs))
            parts[face] = replace(earlier, tabs=(*earlier.tabs, view.tab))
    for part in parts.values():
        several = len(part.runs) > 1
        runs = [_with_makers(run, part.tabs, views) for run in part.runs]
        yield replace(part, runs=runs) if several else part


def _with_makers(run: Run, tabs: tuple[str, ...], views: list[TabView]) -> Run:
    """Return a run with the titles of its machines and with what made it."""
    found = [
        (maker, view.tab)
        for machine in run.machines
        for view in views
        for maker in view.makers
        if view.tab in tabs and maker["machine"] == machine
    ]
    titles = tuple(dict.fromkeys(title(maker) for maker, _ in found))
    made = tuple(f"{facts(maker, tab)}." for maker, tab in found)
    return replace(run, titles=titles, made=made)


def _grouped(parts: Iterable[Part], tabs: tuple[str, ...]) -> Iterator[Part | TabSet]:
    """Yield the parts that all tabs share alone, and runs of the others as sets."""
    for shared, group in groupby(parts, lambda part: set(part.tabs) == set(tabs)):
        if shared:
            yield from group
        else:
            yield TabSet(_panels(list(group), tabs))


def _panels(parts: list[Part], tabs: tuple[str, ...]) -> list[Panel]:
    """Return the panels of a set: tabs that show the same parts share one."""
    shared: dict[tuple[int, ...], list[str]] = {}
    for tab in tabs:
        shown = tuple(i for i, part in enumerate(parts) if tab in part.tabs)
        if shown:
            shared.setdefault(shown, []).append(tab)
    return [
        Panel(tuple(names), [parts[i] for i in shown])
        for shown, names in shared.items()
    ]


# What made the outputs


def facts(maker: Facts, tab: str) -> str:
    """Return in short what made outputs; the processor, where there was no GPU."""
    version, python = maker.get("framework_version"), maker.get("python")
    processor = "" if maker.get("gpu") else maker.get("cpu")
    found = [
        f"{title(maker)} ({processor})" if processor else title(maker),
        f"driver {maker['driver']}" if maker.get("driver") else "",
        f"{tab_name(tab)} {version}" if version else tab_name(tab),
        f"Python {python}" if python else "",
        maker.get("date", ""),
    ]
    return ", ".join(filter(None, found))


def title(maker: Facts) -> str:
    """Return what readers call the machine that made outputs."""
    return maker.get("title") or maker.get("machine_name") or maker.get("machine", "")


def origin(view: TabView | None, tab: str, section: Section) -> str:
    """Return a paragraph, in Markdown, on what made the outputs of a tab."""
    if view is None or (view.state == "fresh" and not view.makers):
        return f"No code for {tab_name(tab)} in this section."
    if not view.makers:
        reason = WITHOUT_OUTPUTS[view.state]
        command = f"make run TAB={tab} SECTION={Path(section.name).name}"
        return f"No outputs. {reason}: `{command}`."
    return f"Outputs: {'; '.join(_escaped(facts(m, tab)) for m in view.makers)}."


def version_notices(view: TabView | None) -> Iterator[str]:
    """Yield a sentence for each machine with another version than readers install."""
    makers = view.makers if view else []
    for maker in makers:
        version = maker.get("framework_version", "").partition("+")[0]
        installs = maker.get("installs", "").partition("+")[0]
        if view and version and installs and version != installs:
            where = f" on {title(maker)}" if len(makers) > 1 else ""
            made = f"Made with {tab_name(view.tab)} {version}{where}"
            yield _escaped(f"{made}; these instructions install {installs}.")


def _escaped(fact: str) -> str:
    """Return a fact as Markdown that shows it as it is."""
    return SPECIAL.sub(r"\\\g<0>", " ".join(str(fact).split()))
