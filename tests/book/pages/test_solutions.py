"""The scripts with solutions, which pages show below their exercises."""

import functools
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import test_html
from bs4 import BeautifulSoup, Tag
from nbformat.v4 import new_output

from book.merge import Run, TabView
from book.pages import html
from book.text.book import Book
from book.text.section import Section

Make = Callable[..., Book]
INDEX = """\
# A Made-Up Book

:bibliography:`refs.bib`

```toc
:maxdepth: 2
:numbered:

chapter/one
chapter/solved
```
"""
ONE = """\
# One
:label:`sec_one`

## Exercises
:label:`sec_ex_one`

1. (CPU) Copy an array. Solution:
   :numref:`sec_sol_one_1`.
1. (CPU) Count. Solution: :numref:`sec_sol_one_2`.

As in :numref:`sec_sol_one_1`, count twice.
"""
SOLVED = """\
# Solutions: One
:label:`sec_sol_one`

```{.python .input}
%%tab pytorch
import torch
```

```{.python .input}
%%tab jax
import jax
```

## Exercise 1: Copy, Then Wait
:label:`sec_sol_one_1`

Exercise 1 of :numref:`sec_ex_one` asks for a copy of `x`. It asks why. See
:cite:`Williams.2009` and :eqref:`eq_time`.

$$t = \\frac{n}{B}$$
:eqlabel:`eq_time`

```{.python .input}
%%tab pytorch
x.cpu()
```

```{.python .input}
%%tab jax
jax.device_get(x)
```

As :numref:`fig_a` and :numref:`sec_sol_one_2` show.

### Why
:label:`sec_why`

By :numref:`sec_why`.

## Exercise 2: Counting
:label:`sec_sol_one_2`

Exercise 2 of :numref:`sec_ex_one` asks for a count.

![Two devices.](../img/a.svg)
:label:`fig_a`
"""


@pytest.fixture
def site(make_site_book: Make) -> Path:
    book = make_site_book(index=INDEX, one=ONE, solved=SOLVED)
    return html.build(book, functools.partial(test_html.shown, book)).parent


def read(site: Path) -> dict[str, Tag]:
    """Return the solutions in the script of the page."""
    text = (site / "_static/solutions/chapter/solved.js").read_text("utf-8")
    start, end = "Object.assign(bookSolutions, ", ");\n"
    assert text.startswith(start) and text.endswith(end)
    found = json.loads(text[len(start) : -len(end)])
    return {k: BeautifulSoup(v, "html.parser") for k, v in found.items()}


def test_a_script_has_the_solutions_of_a_page(site: Path):
    assert list(read(site)) == ["sec-sol-one-1", "sec-sol-one-2"]
    scripts = (site / "_static/solutions").rglob("*.js")
    assert [file.name for file in scripts] == ["solved.js"]


def test_a_solution_begins_with_its_title_and_the_answer(site: Path):
    copying, counting = read(site).values()
    assert [h.get_text() for h in copying.select("h1, h2, h3")] == ["Copy, Then Wait"]
    assert copying.h3 and not copying.h3.a
    assert copying.h4 and copying.h4.get_text() == "Why"
    assert copying.p
    assert " ".join(copying.p.get_text().split()).startswith("See (Williams, 2009)")
    assert "asks for" not in counting.get_text()


def test_no_id_of_a_solution_is_on_another_page_too(site: Path):
    solution = read(site)["sec-sol-one-1"]
    ids = [str(tag["id"]) for tag in solution.select("[id]")]
    assert len(ids) >= 4
    assert all(name.startswith("sec-sol-one-1-") for name in ids)
    file = site / "chapter/solved.html"
    page = BeautifulSoup(file.read_text("utf-8"), "html.parser")
    assert not {str(tag["id"]) for tag in page.select("[id]")} & set(ids)


def test_links_of_a_solution_lead_to_the_right_places(site: Path):
    solution = read(site)["sec-sol-one-1"]
    here = [str(a["href"]) for a in solution.select('a[href^="#"]:not(.headerlink)')]
    assert here == ["#sec-sol-one-1-equation-eq-time", "#sec-sol-one-1-sec-why"]
    assert all(solution.select_one(link) for link in here)
    links = {str(a["href"]) for a in solution.select('a:not([href^="#"])')}
    assert {"solved.html#fig-a", "solved.html#sec-sol-one-2"} <= links
    assert any(link.startswith("../index.html#") for link in links)


def test_a_solution_has_panels_but_no_row_of_tabs(site: Path):
    solution = read(site)["sec-sol-one-1"]
    [place] = solution.select(".place")
    panels = place.select(":scope > .tab-panel")
    assert [panel["data-choices"] for panel in panels] == ["pytorch", "jax"]
    assert not solution.select(".tab-list")


def test_a_solution_says_where_its_code_begins(site: Path):
    with_code, without = (s.select_one(".solution-source") for s in read(site).values())
    assert with_code and without
    assert with_code.a and with_code.a["href"] == "solved.html#sec-sol-one-1"
    assert "imports" in with_code.get_text()
    assert "imports" not in without.get_text()


def test_the_end_of_an_exercise_is_marked(site: Path):
    page = BeautifulSoup((site / "chapter/one.html").read_text("utf-8"), "html.parser")
    marked = page.select("li > p > .solution-link")
    texts = [" ".join(mark.get_text().split()) for mark in marked]
    assert texts == ["Solution: Section 2.1.", "Solution: Section 2.2."]
    assert len(page.select(".solution-link")) == 2


def test_a_plot_has_ids_of_its_own(make_site_book: Make):
    """A page of exercises may show a plot under the same name."""
    plot = (Path(__file__).parents[1] / "render/plots/curves.svg").read_text("utf-8")
    outputs = [new_output("display_data", {"image/svg+xml": plot})]

    def view(section: Section, tab: str) -> TabView | None:
        found = test_html.shown(book, section, tab)
        cells = {} if found is None else found.cells
        runs = {number: [Run(("cpu",), outputs)] for number in cells}
        return found and replace(found, runs=runs)

    book = make_site_book(index=INDEX, one=ONE, solved=SOLVED)
    solution = read(html.build(book, view).parent)["sec-sol-one-1"]
    used = re.findall(r'(?:url\(|href=")#(sec-sol-one-1-plot[^")]*)', str(solution))
    assert used and all(solution.find(id=name) for name in used)


def test_code_of_a_page_without_shared_code_needs_none(make_site_book: Make):
    title, _, rest = SOLVED.partition("```{.python .input}\n%%tab pytorch\nimport")
    alone = title + rest[rest.index("## Exercise 1") :]
    book = make_site_book(index=INDEX, one=ONE, solved=alone)
    views = functools.partial(test_html.shown, book)
    solution = read(html.build(book, views).parent)["sec-sol-one-1"]
    source = solution.select_one(".solution-source")
    assert solution.pre and source and "imports" not in source.get_text()


def test_a_switch_between_machines_has_ids_of_its_own(make_site_book: Make):
    def view(section: Section, tab: str) -> TabView | None:
        found = test_html.shown(book, section, tab)
        output = [new_output("stream", name="stdout", text=f"{tab}\n")]
        both = [Run((name,), output) for name in ("cpu", "h200")]
        runs = dict.fromkeys(found.cells, both) if found else {}
        makers = [{"machine": name} for name in ("cpu", "h200")]
        return found and replace(found, runs=runs, makers=makers)

    book = make_site_book(index=INDEX, one=ONE, solved=SOLVED)
    solution = read(html.build(book, view).parent)["sec-sol-one-1"]
    ids = [str(tag["id"]) for tag in solution.select("[data-axis=machine] [id]")]
    assert ids and all(name.startswith("sec-sol-one-1-") for name in ids)
    controls = solution.select("[data-axis=machine] [aria-controls]")
    assert all(solution.find(id=str(tag["aria-controls"])) for tag in controls)
