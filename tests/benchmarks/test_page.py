"""Tests of the bench without a browser: the table, the budgets, MyST Markdown."""

import copy

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from benchmarks import myst, report

RUN = {
    **{"performance": 99, "accessibility": 100, "best-practices": 100, "seo": 100},
    **{"lcp": 1.2, "tbt": 20, "cls": 0},
}
OWN = {
    "load": {"requests": 6, "hosts": [], "weight": 60.0, "js": 5.0, "css": 6.0},
    "lighthouse": [RUN, RUN | {"performance": 90}, RUN],
    "axe": {"light": [], "dark": []},
    "html_validate": 0,
    "panels": {
        **{"panels": 9, "shown": 9, "reached": 9},
        **{"printed": 3, "printed_all": 9},
    },
    "tab_sets": {"sets": 3, "roles": "tablist", "arrows": True, "wrong": 0, "blank": 0},
    "memory": {"reload": True, "next_page": True, "by_address": True},
    "reading": {"lines": [70, 71, 90], "tab_height": 44, "one_row": True},
    "from_disk": {"opens": True, "tabs": True, "search": "excerpts"},
    "first": [(5.0, 14.0), (9.0, 14.2)],
    "pages": [(5.0, 4.0), (9.0, 4.2)],
    "again": [(0.2, 0.1)],
}


@pytest.fixture
def own():
    return copy.deepcopy(OWN)


def held(own, other=OWN):
    """The last cell of each line of the table."""
    lines = report.table({"this book": own, "other": other}).splitlines()[2:]
    return {line.split(" | ")[0][2:]: line.split("|")[-2].strip() for line in lines}


def test_a_spread_is_the_median_with_its_limits():
    assert report.spread([3, 1, 2]) == "2 (1 to 3)"
    assert report.spread([0.125], 2) == "0.12"
    assert report.spread([1.01, 1.04], 1) == "1.0"


def test_a_page_within_all_budgets_holds_them(own):
    assert set(held(own).values()) == {"yes", ""}


def test_the_median_decides_not_the_worst_run(own):
    own["lighthouse"][0] = RUN | {"performance": 90}
    lines = held(own)
    assert [name for name, word in lines.items() if word == "no"] == [
        "Lighthouse, mobile: performance / accessibility / best practices / SEO"
    ]


@pytest.mark.parametrize(
    "measure, change",
    [
        ("load", {"requests": 11}),
        ("load", {"js": 20.5}),
        ("axe", {"dark": None}),
        ("axe", {"light": ["image-alt img"]}),
        ("panels", {"printed_all": None}),
        ("panels", {"shown": 8}),
        ("tab_sets", {"roles": "radio"}),
        ("reading", {"one_row": False}),
        ("from_disk", {"search": "titles"}),
    ],
)
def test_what_goes_over_a_budget_is_told(own, measure, change):
    own[measure].update(change)
    assert list(held(own).values()).count("no") == 1


def test_a_build_is_compared_with_the_last_tool(own):
    slower = {**own, "pages": [(1.0, 99.0)]}
    assert list(held(slower).values()).count("no") == 1
    assert list(held(own, slower).values()).count("no") == 0


def test_what_was_not_asked_is_no_line(own):
    assert "Nu" not in report.table({"this book": own, "other": own})
    own["nu_checker"] = 3
    assert "the Nu checker | 3 |" in report.table({"this book": own, "other": own})


def test_markdown_of_d2lbook_becomes_that_of_myst():
    assert myst.markdown("# Title\n:label:`sec_x`\n") == "(sec_x)=\n# Title\n"
    assert myst.markdown("see :numref:`fig_x`, :cite:`A.2020`") == (
        "see {numref}`fig_x`, {cite:p}`A.2020`"
    )
    assert myst.markdown("[**bold**] (**too**)") == "**bold** **too**"
    assert myst.markdown("$$\nx\n$$\n:eqlabel:`eq_x`") == "$$\nx\n$$ (eq_x)"
    figure = myst.markdown('![Cap.](img/a.svg "What it shows.")\n:label:`fig_a`')
    assert figure == (
        "```{figure} img/a.svg\n:name: fig_a\n:alt: What it shows.\n\nCap.\n```"
    )


def notebook(tab: str, code: str, printed: str):
    output = new_output("stream", text=printed)
    cells = [
        new_markdown_cell("Text.", metadata={"origin_pos": 0}),
        new_code_cell(code, outputs=[output], metadata={"origin_pos": 1, "tab": [tab]}),
    ]
    return new_notebook(cells=cells, metadata={"tab": tab})


def test_cells_that_differ_become_tabs_with_their_outputs():
    found = {
        "pytorch": notebook("pytorch", "torch", "1"),
        "jax": notebook("jax", "jax", "2"),
    }
    text, images = myst.write_section(found)
    assert text.startswith("Text.\n\n::::::{tab-set}\n:sync-group: framework\n")
    assert ":::::{tab-item} JAX\n:sync: jax\n\n```{code-block} python\njax\n```" in text
    assert text.count("```{code-block} none") == 2 and not images


def test_cells_that_are_alike_become_one():
    found = {tab: notebook(tab, "same", "1") for tab in ("pytorch", "jax")}
    text, _ = myst.write_section(found)
    assert "tab-set" not in text and text.count("same") == 1
