"""Merges the machines and the tabs of a section into the parts of its page.

Outputs that are the same on several machines become one run. Text and code that are
the same in all tabs appear once, outside the panels, and no panel is empty.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path
from types import MappingProxyType

from nbformat import NotebookNode

from book.facts import predictions
from book.facts.marked_numbers import Rows
from book.facts.predictions import unit_asked
from book.records import store
from book.records.outputs import text_of
from book.records.store import Shown, State
from book.text.blocks import Block, Cell
from book.text.book import Book
from book.text.quantities import Quantity
from book.text.section import Section
from book.text.tabs import tab_name

SPECIAL = re.compile(r"[\\`*_{}\[\]<>#$|~^@!&\"']|-(?=-)|\.(?=\.)")
WITHOUT_OUTPUTS = {
    "missing": "This code has not been run yet",
    "stale": "The code has changed since it was run",
    "damaged": "Its record is damaged",
}
# The parts of an output that readers do not see.
INVISIBLE_KEYS = ("execution_count", "metadata")

Facts = dict[str, str]
NO_ROWS: Rows = MappingProxyType({})


# Machines


@dataclass(frozen=True)
class Run:
    """The outputs of a cell that are the same on all of `machines`.

    If a cell has several runs, `titles` holds the names of the machines that readers
    see, and `made` holds a sentence on the origin of the outputs for each machine and
    tab.
    """

    machines: tuple[str, ...]
    outputs: Sequence[NotebookNode]
    titles: tuple[str, ...] = ()
    made: tuple[str, ...] = ()


@dataclass(frozen=True)
class Asked:
    """A number that readers predict, or one of `choices`, which have no unit.

    In `answers`, the name of each number to compare, such as "Arithmetic", precedes its
    text. The label is empty if a question asks for one number only. If `is_order`,
    readers put the choices in order.
    """

    label: str
    unit: str
    answers: tuple[tuple[str, str], ...]
    choices: tuple[str, ...] = ()
    is_order: bool = False


@dataclass(frozen=True)
class Prediction:
    """A question about the outputs of a cell or a published number, asked before.

    `question` asks for it. `cited` is a published measurement, empty if there is none.
    If there are `axes`, readers draw a line through the fields.
    """

    question: str
    fields: tuple[Asked, ...]
    cited: Facts = field(default_factory=dict)
    axes: predictions.Axes | None = None


@dataclass(frozen=True)
class TabView:
    """The view of a section in a tab: its blocks, and the runs of each cell's number.

    `makers` holds the facts about each machine that has a fresh record. It is empty if
    no record is fresh or if the tab has no code to run.
    """

    tab: str
    blocks: list[Block]
    runs: dict[int, list[Run]]
    makers: list[Facts]
    state: State = "fresh"

    @cached_property
    def cells(self) -> dict[int, Cell]:
        """The cells by their numbers."""
        return {block.number: block for block in self.blocks if isinstance(block, Cell)}


Views = Callable[[Section, str], TabView | None]


def merge_machines(records: dict[str, Shown], titles: dict[str, str]) -> TabView:
    """Return the view of a tab, given its record on each machine.

    `titles` holds the name of each machine that readers see. Outputs that are the same
    on several machines become one run.
    """
    fresh = {machine: shown for machine, shown in records.items() if shown.facts}
    first = next(iter((fresh or records).values()))
    # The folder of a machine may have been renamed since its record was made.
    makers = [
        shown.facts | {"machine": machine, "title": titles.get(machine, machine)}
        for machine, shown in fresh.items()
    ]
    cells: dict[int, list[tuple[str, Cell]]] = {cell.number: [] for cell in first.cells}
    for machine, shown in fresh.items():
        for cell in shown.cells:
            cells[cell.number].append((machine, cell))
    runs = {number: _runs(recorded) for number, recorded in cells.items()}
    return TabView(first.tab, first.blocks, runs, makers, first.state)


def _runs(cells: list[tuple[str, Cell]]) -> list[Run]:
    """Return the runs of one cell, given the cell with its outputs on each machine."""
    runs: dict[str, Run] = {}
    for machine, cell in cells:
        content = _visible_content(cell.outputs)
        run = runs.get(content, Run((), cell.outputs))
        runs[content] = Run((*run.machines, machine), run.outputs)
    return list(runs.values())


def _visible_content(outputs: Sequence[NotebookNode]) -> str:
    """Return the visible content of outputs as a text that can be compared."""
    visible = [
        {key: value for key, value in output.items() if key not in INVISIBLE_KEYS}
        for output in outputs
    ]
    return repr(visible)


def views_of_records(book: Book, titles: dict[str, str]) -> Views:
    """Return a function that returns the view of a section in a tab with its records.

    `titles` holds the name of each machine that readers see.
    """
    # If no record is fresh, the view gives the reason for the first machine.
    machines = dict.fromkeys(["cpu", *titles])

    def view(section: Section, tab: str) -> TabView | None:
        records = {m: store.shown(book, section, tab, m) for m in machines}
        shown = {m: record for m, record in records.items() if record is not None}
        return merge_machines(shown, titles) if shown else None

    return view


# Tabs


@dataclass(frozen=True)
class Part:
    """A block that readers of `tabs` see, with the runs if it is a cell.

    `prediction` is None for a cell whose outputs are not covered, and for a text that
    asks nothing.
    """

    block: Block
    tabs: tuple[str, ...]
    runs: list[Run] = field(default_factory=list)
    prediction: Prediction | None = None


@dataclass(frozen=True)
class Panel:
    """The parts of a set that readers of `tabs` see."""

    tabs: tuple[str, ...]
    parts: list[Part]


@dataclass(frozen=True)
class TabSet:
    """Panels, of which a reader sees one at a time."""

    panels: list[Panel]


Item = Part | TabSet


def merge(
    section: Section, views: list[TabView], measurements: Rows = NO_ROWS
) -> list[Item]:
    """Return the parts and the sets of tabs on the page of a section, in order.

    `measurements` are the published measurements that predictions cite.
    """
    tabs = tuple(view.tab for view in views)
    # The view of an edition for one tab may have replaced some blocks.
    blocks = views[0].blocks if len(views) == 1 else section.blocks
    parts: list[Part] = []
    for block in blocks:
        if isinstance(block, Cell):
            parts += _cell_parts(block, views, measurements)
        elif shown := tuple(filter(block.is_for, tabs)):
            asked = _prediction_in_text(block, measurements)
            parts.append(Part(block, shown, prediction=asked))
    return list(_group(parts, tabs))


def _cell_parts(
    block: Cell, views: list[TabView], measurements: Rows
) -> Iterator[Part]:
    """Yield a part for each version of a cell that tabs show."""
    parts: dict[str, Part] = {}
    if block.only_in_notebooks:
        return
    for view in views:
        if block.number in view.cells:
            cell, runs = view.cells[block.number], view.runs.get(block.number, [])
            shown = [(run.machines, _visible_content(run.outputs)) for run in runs]
            prediction = _prediction(cell, runs, view, measurements)
            version = repr((cell.code, shown, prediction))
            part = parts.get(version, Part(cell, (), runs, prediction))
            parts[version] = replace(part, tabs=(*part.tabs, view.tab))
    for part in parts.values():
        if len(part.runs) > 1:
            runs = [_with_origin(run, part.tabs, views) for run in part.runs]
            part = replace(part, runs=runs)
        yield part


def _prediction(
    cell: Cell, runs: list[Run], view: TabView, measurements: Rows
) -> Prediction | None:
    """Return the prediction that a cell asks for; None if it asks for none."""
    if not cell.predicts:
        return None
    cited = measurements.get(cell.attributes.get("cited", ""), {})
    question = cell.attributes["question"]
    choices = tuple(predictions.parts(cell, "choices"))
    labels = [""] if choices else predictions.parts(cell, "fields") or [""]
    of_runs = [
        (run, predictions.answers(view.blocks, cell, text_of(run.outputs)))
        for run in runs
    ]
    if not all(found for _, found in of_runs):
        return None
    fields = [
        _asked(
            label,
            choices,
            _compared(cell, [(run, found[i]) for run, found in of_runs], view, cited),
            [cited.get("unit", ""), unit_asked(question)],
        )
        for i, label in enumerate(labels)
    ]
    if predictions.asks_for_order(cell):
        fields = [replace(field, is_order=True) for field in fields]
    if not fields[0].answers:
        return None
    return Prediction(question, tuple(fields), cited, predictions.axes(cell))


def _prediction_in_text(block: Block, measurements: Rows) -> Prediction | None:
    """Return the prediction for which a paragraph asks; None if it asks for none."""
    span = predictions.question_in_text(block)
    cited = measurements.get(span.attributes.get("cited", "")) if span else None
    if not (span and cited):
        return None
    question = " ".join(span.text.split())
    return Prediction(question, (Asked("", cited["unit"], ()),), cited)


def _asked(
    label: str,
    choices: tuple[str, ...],
    compared: dict[str, Quantity | str],
    others: list[str],
) -> Asked:
    """Return what a field asks for, in the unit of its last number or another one."""
    numbers = [found for found in compared.values() if isinstance(found, Quantity)]
    units = [number.unit for number in reversed(numbers)] + others
    unit = "" if choices else next(filter(None, units), "")
    texts = [
        found
        if isinstance(found, str)
        else (found.text if found.unit else f"{found.text} {unit}".strip())
        for found in compared.values()
    ]
    return Asked(label, unit, tuple(zip(compared, texts, strict=True)), choices)


def _compared(
    cell: Cell,
    found: list[tuple[Run, predictions.Answer]],
    view: TabView,
    cited: Facts,
) -> dict[str, Quantity | str]:
    """Return the arithmetic and the output of each run, by their names.

    An output that is the same on all machines, a count for instance, names none.
    """
    titles = {maker["machine"]: title(maker) for maker in view.makers}
    compared: dict[str, Quantity | str] = {}
    for run, answer in found:
        name = ", ".join(titles[machine] for machine in run.machines)
        if answer.arithmetic:
            label = "Arithmetic" if len(found) == 1 else f"Arithmetic, {name}"
            compared[label] = answer.arithmetic
        # Some cells print the published number itself.
        number = answer.printed
        if not (cited and number and number.value == float(cited["value"])):
            is_of_machine = cell.varies or len(found) > 1
            label = f"Output on {name}" if is_of_machine else "Output"
            compared[label] = number or answer.text
    return compared


def _with_origin(run: Run, tabs: tuple[str, ...], views: list[TabView]) -> Run:
    """Return a run with the titles of its machines and the origin of its outputs."""
    makers = [
        (maker, view.tab)
        for machine in run.machines
        for view in views
        for maker in view.makers
        if view.tab in tabs and maker["machine"] == machine
    ]
    titles = tuple(dict.fromkeys(title(maker) for maker, _ in makers))
    made = tuple(f"{facts(maker, tab)}." for maker, tab in makers)
    return replace(run, titles=titles, made=made)


def _group(parts: Iterable[Part], tabs: tuple[str, ...]) -> Iterator[Item]:
    """Yield each part that all tabs share, and a set for each group of other parts."""
    for shared, group in groupby(parts, lambda part: set(part.tabs) == set(tabs)):
        if shared:
            yield from group
        else:
            yield TabSet(_panels(list(group), tabs))


def _panels(parts: list[Part], tabs: tuple[str, ...]) -> list[Panel]:
    """Return the panels of a set; tabs that show the same parts share a panel."""
    tabs_of_parts: dict[tuple[int, ...], list[str]] = {}
    for tab in tabs:
        shown = tuple(i for i, part in enumerate(parts) if tab in part.tabs)
        if shown:
            tabs_of_parts.setdefault(shown, []).append(tab)
    return [
        Panel(tuple(names), [parts[i] for i in shown])
        for shown, names in tabs_of_parts.items()
    ]


def parts_of(items: Iterable[Item]) -> Iterator[tuple[Part, bool]]:
    """Yield all parts in order, and whether each is in a set of tabs."""
    for item in items:
        if isinstance(item, Part):
            yield item, False
        else:
            yield from ((part, True) for panel in item.panels for part in panel.parts)


# The origin of outputs


def facts(maker: Facts, tab: str) -> str:
    """Return the machine, versions and date of outputs as a list with commas.

    The processor is named if the machine has no GPU.
    """
    version, python = maker.get("framework_version"), maker.get("python")
    processor = "" if maker.get("gpu") else maker.get("cpu")
    items = [
        f"{title(maker)} ({processor})" if processor else title(maker),
        f"driver {maker['driver']}" if maker.get("driver") else "",
        f"{tab_name(tab)} {version}" if version else tab_name(tab),
        f"Python {python}" if python else "",
        maker.get("date", ""),
    ]
    return ", ".join(filter(None, items))


def title(maker: Facts) -> str:
    """Return the name of a machine that readers see."""
    return maker.get("title") or maker.get("machine_name") or maker.get("machine", "")


def device(maker: Facts) -> str:
    """Return the name of a machine within a sentence, such as "a CPU"."""
    return title(maker) if maker.get("gpu") else f"a {title(maker)}"


def origin(view: TabView | None, tab: str, section: Section) -> str:
    """Return a paragraph in Markdown on the origin of the outputs of a tab, if any."""
    if view is None or (view.state == "fresh" and not view.makers):
        return ""
    if not view.makers:
        reason = WITHOUT_OUTPUTS[view.state]
        command = f"make run TAB={tab} SECTION={Path(section.name).name}"
        return f"No outputs. {reason}: `{command}`."
    return f"Outputs: {'; '.join(escaped(facts(m, tab)) for m in view.makers)}."


def version_notices(view: TabView | None) -> Iterator[str]:
    """Yield a sentence for each machine whose framework readers would not install."""
    makers = view.makers if view else []
    for maker in makers:
        version = maker.get("framework_version", "").partition("+")[0]
        installs = maker.get("installs", "").partition("+")[0]
        if view and version and installs and version != installs:
            where = f" on {title(maker)}" if len(makers) > 1 else ""
            made = f"Made with {tab_name(view.tab)} {version}{where}"
            yield escaped(f"{made}; these instructions install {installs}.")


def escaped(fact: str) -> str:
    """Return Markdown that shows a text unchanged."""
    return SPECIAL.sub(r"\\\g<0>", " ".join(str(fact).split()))
