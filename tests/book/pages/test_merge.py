"""The merge of tab notebooks: what is in panels, what is not, and what made it."""

import pytest
from docutils.core import publish_doctree
from nbformat import NotebookNode
from nbformat.v4 import (
    new_code_cell,
    new_markdown_cell,
    new_notebook,
    new_output,
)

from book.pages import merge, rst

TABS = ["pytorch", "mxnet", "jax", "tensorflow"]


def text(place: int, source: str, tab: str | None = None) -> NotebookNode:
    metadata = {"origin_pos": place} | ({"tab": [tab]} if tab else {})
    return new_markdown_cell(source, metadata=metadata)


def code(place: int, source: str, tab: str, printed: str = "") -> NotebookNode:
    outputs = [new_output("stream", name="stdout", text=printed)] if printed else []
    metadata = {"origin_pos": place, "tab": [tab]}
    return new_code_cell(source, metadata=metadata, outputs=outputs)


def merged(**tabs: list[NotebookNode]) -> NotebookNode:
    return merge.merge({tab: new_notebook(cells=cells) for tab, cells in tabs.items()})


def shape(nb: NotebookNode) -> list[str]:
    """The cells in short: `[` and `]` for a set, `jax(` and `)` for a panel."""
    return [_short(cell.source) for cell in nb.cells]


def _short(source: str) -> str:
    if "mdl-tabs__tab-bar" in source:
        return "["
    if "mdl-tabs__panel" in source:
        return source.split('id="')[1].split("-")[0] + "("
    return ")" if "</div>" in source else source


def test_code_with_the_same_output_everywhere_needs_no_tabs():
    nb = merged(**{tab: [code(0, "x = 1", tab, "1\n")] for tab in TABS})
    assert shape(nb) == ["x = 1"]
    assert nb.cells[0].outputs[0].text == "1\n"


def test_the_same_code_with_other_outputs_goes_into_tabs():
    nb = merged(pytorch=[code(0, "x", "pytorch", "a")], jax=[code(0, "x", "jax", "b")])
    assert shape(nb) == ["[", "pytorch(", "x", ")", "jax(", "x", ")", ")"]


def test_a_set_has_no_panel_for_a_tab_without_anything_in_it():
    nb = merged(
        pytorch=[text(0, "all"), text(1, "ours", "pytorch")],
        mxnet=[text(0, "all"), text(2, "theirs", "mxnet")],
        jax=[text(0, "all"), text(3, "after")],
    )
    sets = shape(nb)[1:-1]
    assert sets == ["[", "pytorch(", "ours", ")", "mxnet(", "theirs", ")", ")"]


def test_tabs_that_show_the_same_share_a_panel():
    nb = merged(
        pytorch=[text(0, "two", "pytorch"), code(1, "a", "pytorch")],
        jax=[text(0, "two", "jax"), code(1, "a", "jax")],
        mxnet=[code(2, "b", "mxnet")],
    )
    panel = ["pytorch,jax(", "two", "a", ")"]
    assert shape(nb) == ["[", *panel, "mxnet(", "b", ")", ")"]


def test_code_for_all_between_two_sets_stands_alone_and_in_order():
    def cells(tab: str) -> list[NotebookNode]:
        place = TABS.index(tab)
        return [
            code(place, f"import {tab}", tab),
            code(10, "x = 1", tab, "same"),
            code(20 + place, f"{tab}.y", tab),
        ]

    got = shape(merged(pytorch=cells("pytorch"), jax=cells("jax")))
    assert got.index("import jax") < got.index("x = 1") < got.index("pytorch.y")
    assert got[got.index("x = 1") - 1] == ")" and got[got.index("x = 1") + 1] == "["
    assert got.count("x = 1") == 1


def test_one_tab_alone_has_no_panels():
    nb = merged(jax=[text(0, "t", "jax"), code(1, "x", "jax", "1")])
    assert shape(nb) == ["t", "x"]


FRESH = {
    "state": "fresh",
    "machine": "h200",
    "machine_name": "NVIDIA H200",
    "driver": "570.86",
    "framework_version": "2.13.0",
    "python": "3.11.7",
    "date": "2026-11-21",
}


def with_record(record: dict[str, str] | None, tabs: list[str]) -> list[str]:
    nb = new_notebook(
        cells=[text(0, "# Title\n:label:`sec_t`\n\nProse."), code(1, "x", "pytorch")]
    )
    nb.metadata["record"] = record
    return shape(merge.with_records(merge.merge({"pytorch": nb}), tabs, "ch/sec"))


def test_what_made_the_outputs_is_told_under_the_title():
    cells = with_record(FRESH, ["pytorch", "jax"])
    assert cells[0].strip() == "# Title\n:label:`sec_t`"
    machine = "NVIDIA H200, driver 570.86"
    versions = "PyTorch 2.13.0, Python 3.11.7"
    assert cells[3] == f"Outputs: {machine}, {versions}, 2026-11-21."
    assert cells[6] == "No code for JAX in this section."
    assert cells[-2].strip() == "Prose."


def test_facts_that_a_record_lacks_are_left_out():
    record = {"state": "fresh", "machine": "cpu"}
    assert with_record(record, ["pytorch"])[1] == "Outputs: cpu, PyTorch."


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ("stale", "The code has changed since it was run"),
        ("missing", "This code has not been run yet"),
        ("damaged", "Its record is damaged"),
    ],
)
def test_outputs_that_are_not_shown_are_told_of_with_the_command(state, reason):
    told = with_record({"state": state}, ["pytorch"])[1]
    command = "make run TAB=pytorch SECTION=sec"
    assert told == f"No outputs. {reason}: `{command}`."


def test_a_fact_reads_the_same_whatever_signs_are_in_it():
    name = "*A* `b` :label:`x` <b> $x$ c--d a_b_ [l](m) #1\n& \\n"
    record = {"state": "fresh", "machine_name": name}
    told = with_record(record, ["pytorch"])[1]
    text = rst.convert(new_notebook(cells=[new_markdown_cell(told)]), "s").text
    shown = publish_doctree(text).astext()
    assert " ".join(shown.split()) == f"Outputs: {' '.join(name.split())}, PyTorch."


def test_a_page_without_code_tells_nothing():
    nb = merge.merge({"pytorch": new_notebook(cells=[text(0, "# Title\n\nProse.")])})
    assert shape(merge.with_records(nb, TABS, "index")) == ["# Title\n\nProse."]
