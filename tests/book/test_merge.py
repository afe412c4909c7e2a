"""Tabs and machines are merged into the parts of a page."""

import pytest
from nbformat.v4 import new_output

from book import merge
from book.merge import Part, TabSet, TabView
from book.records.store import State
from book.render.texts import Texts, plain
from book.text.blocks import Cell
from book.text.section import Section
from book.text.tokens import parse

TABS = ["pytorch", "mxnet", "jax", "tensorflow"]


def section(tmp_path, text: str) -> Section:
    path = tmp_path / "sec.md"
    path.write_text(f"# T\n\n{text}", encoding="utf-8")
    return Section("ch/sec", path)


def code(tabs: str, source: str) -> str:
    return f"```{{.python .input}}\n%%tab {tabs}\n{source}\n```\n\n"


def text(tab: str, words: str) -> str:
    return f":begin_tab:`{tab}`\n{words}\n:end_tab:\n\n"


def view(section: Section, tab: str, **printed: str) -> TabView:
    """Return the view of a tab; `printed` maps code to the output of its cell."""
    blocks = [block for block in section.blocks if block.is_for(tab)]
    runs = {}
    for cell in (block for block in blocks if isinstance(block, Cell)):
        text = printed.get(cell.code, "")
        outputs = [new_output("stream", name="stdout", text=text)] if text else []
        runs[cell.number] = [merge.Run(("cpu",), outputs)]
    return TabView(tab, blocks, runs, [{"machine": "cpu"}])


def shape(section: Section, *views: TabView) -> list[str]:
    """Return a summary: `[` and `]` around a set, `jax(` and `)` around a panel."""
    found = []
    for item in merge.merge(section, list(views))[1:]:
        if isinstance(item, TabSet):
            panels = [
                [f"{','.join(panel.tabs)}(", *map(_short, panel.parts), ")"]
                for panel in item.panels
            ]
            found += ["[", *sum(panels, []), "]"]
        else:
            found.append(_short(item))
    return found


def _short(part: Part) -> str:
    return part.block.code if isinstance(part.block, Cell) else part.block.source


def test_code_with_the_same_output_everywhere_needs_no_tabs(tmp_path):
    sec = section(tmp_path, code("all", "x"))
    views = [view(sec, tab, x="1\n") for tab in TABS]
    assert shape(sec, *views) == ["x"]
    part = merge.merge(sec, views)[1]
    assert isinstance(part, Part) and part.runs[0].outputs[0].text == "1\n"


def test_the_same_code_with_different_outputs_needs_tabs(tmp_path):
    sec = section(tmp_path, code("all", "x"))
    got = shape(sec, view(sec, "pytorch", x="a"), view(sec, "jax", x="b"))
    assert got == ["[", "pytorch(", "x", ")", "jax(", "x", ")", "]"]


def test_a_set_has_no_empty_panel(tmp_path):
    words = "all\n\n" + text("pytorch", "ours") + text("mxnet", "theirs") + "after"
    sec = section(tmp_path, words)
    got = shape(sec, *(view(sec, tab) for tab in ("pytorch", "mxnet", "jax")))
    sets = ["[", "pytorch(", "ours", ")", "mxnet(", "theirs", ")", "]"]
    assert got == ["all", *sets, "after"]


def test_tabs_with_the_same_content_share_a_panel(tmp_path):
    words = text("pytorch, jax", "two") + code("pytorch, jax", "a") + code("mxnet", "b")
    sec = section(tmp_path, words)
    got = shape(sec, *(view(sec, tab) for tab in ("pytorch", "jax", "mxnet")))
    panel = ["pytorch,jax(", "two", "a", ")"]
    assert got == ["[", *panel, "mxnet(", "b", ")", "]"]


def test_code_for_all_tabs_separates_two_sets(tmp_path):
    words = "".join(code(tab, f"import {tab}") for tab in TABS) + code("all", "x")
    sec = section(tmp_path, words + "".join(code(tab, f"{tab}.y") for tab in TABS))
    got = shape(sec, view(sec, "pytorch", x="1"), view(sec, "jax", x="1"))
    assert got.index("import jax") < got.index("x") < got.index("pytorch.y")
    assert got[got.index("x") - 1] == "]" and got[got.index("x") + 1] == "["
    assert got.count("x") == 1


def test_a_single_tab_needs_no_panels(tmp_path):
    sec = section(tmp_path, text("jax", "t") + code("jax", "x"))
    assert shape(sec, view(sec, "jax", x="1")) == ["t", "x"]


FRESH = {
    "machine": "h200",
    "machine_name": "NVIDIA H200",
    "driver": "570.86",
    "framework_version": "2.13.0",
    "python": "3.11.7",
    "date": "2026-11-21",
}


def origins(tmp_path, view: TabView | None, tabs: list[str]) -> list[str]:
    """Return the paragraphs on the origin of the outputs of each tab."""
    sec = section(tmp_path, code("pytorch", "x") + "Prose.")
    views = {view.tab: view} if view else {}
    return [merge.origin(views.get(tab), tab, sec) for tab in tabs]


def with_maker(
    tmp_path, state: State = "fresh", facts: dict[str, str] | None = None
) -> TabView:
    sec = section(tmp_path, code("pytorch", "x") + "Prose.")
    makers = [facts] if facts else []
    return TabView("pytorch", sec.blocks, {}, makers, state)


def test_the_origin_of_the_outputs_names_machine_and_versions(tmp_path):
    texts = origins(tmp_path, with_maker(tmp_path, facts=FRESH), ["pytorch", "jax"])
    machine = "NVIDIA H200, driver 570.86"
    versions = "PyTorch 2.13.0, Python 3.11.7"
    assert texts == [
        f"Outputs: {machine}, {versions}, 2026-11-21.",
        "",
    ]


def test_facts_that_a_record_lacks_are_omitted(tmp_path):
    view = with_maker(tmp_path, facts={"machine": "cpu"})
    assert origins(tmp_path, view, ["pytorch"]) == ["Outputs: cpu, PyTorch."]


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ("stale", "The code has changed since it was run"),
        ("missing", "This code has not been run yet"),
        ("damaged", "Its record is damaged"),
    ],
)
def test_a_page_without_outputs_names_the_command_for_them(tmp_path, state, reason):
    (paragraph,) = origins(tmp_path, with_maker(tmp_path, state), ["pytorch"])
    command = "make run TAB=pytorch SECTION=sec"
    assert paragraph == f"No outputs. {reason}: `{command}`."


def test_special_characters_in_facts_are_escaped(tmp_path):
    name = "*A* `b` :label:`x` <b> $x$ c--d a_b_ [l](m) #1\n& \\n"
    view = with_maker(tmp_path, facts={"machine_name": name})
    (paragraph,) = origins(tmp_path, view, ["pytorch"])
    texts = Texts(lambda reference: "", {})
    shown = plain(texts.html(parse(paragraph)))
    assert " ".join(shown.split()) == f"Outputs: {' '.join(name.split())}, PyTorch."
