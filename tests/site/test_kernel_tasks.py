"""Kernels that a reader writes in the page, on the program that Chromium has for a GPU.

The counts are those that the section derives; they are the same on every GPU.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import Violations
from playwright.sync_api import Browser, Locator, Page, expect
from tools import CHROMIUM_FLAGS, chromium

PAGE = "chapter_gpus/page-kernels.html"
HEAD = "fn kernel(i: u32, l: u32, w: u32) {"


@pytest.fixture(scope="module")
def engine(browser: Browser) -> Iterator[Browser]:
    flags = [*CHROMIUM_FLAGS, "--enable-unsafe-webgpu"]
    other = browser.browser_type.launch(executable_path=chromium(), args=flags)
    yield other
    other.close()


@pytest.fixture(scope="module")
def page(engine: Browser, site: Path) -> Iterator[Page]:
    page = engine.new_page(viewport={"width": 1000, "height": 1000})
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.goto((site / PAGE).as_uri())
    yield page
    assert messages == []
    page.close()


def task(page: Page, name: str) -> Locator:
    figure = page.locator(f"figure[data-explorable=task-{name}]")
    figure.scroll_into_view_if_needed()
    expect(figure.get_by_role("button", name="Check")).to_be_visible()
    return figure


def check(figure: Locator, code: str = "", timeout: int = 60_000) -> str:
    """Check a kernel, or the one that is there; return the verdict."""
    if code:
        figure.get_by_role("textbox").fill(code)
    figure.get_by_role("button", name="Check").click()
    expect(figure.get_by_role("button", name="Stop")).to_be_hidden(timeout=timeout)
    return figure.locator(".verdict").inner_text()


RIGHT = {
    "neighbors": "1006 loads, 1000 stores, 262 sectors",
    "transpose": "4096 loads, 4096 stores, 1024 sectors",
    "sum": "1024 loads, 4 stores, 132 sectors",
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_solution_is_right(page: Page, name: str):
    figure = task(page, name)
    figure.get_by_role("button", name="Show a solution").click()
    verdict = check(figure)
    assert "The result is right, and nothing is out of bounds." in verdict
    assert f"{RIGHT[name]}: as few as our solution" in verdict


def test_the_first_kernel_of_neighbors_is_out_of_bounds(page: Page):
    figure = task(page, "neighbors")
    figure.get_by_role("button", name="Begin again").click()
    verdict = check(figure)
    assert "Out of bounds: thread 0 loads a[-1], but a has 1000 numbers" in verdict
    assert "thread 999 loads a[1000]" in verdict
    right = f"""{HEAD} if (i >= N) {{ return; }} var s = load_a(i);
        if (i > 0u) {{ s += load_a(i - 1u); }}
        if (i + 1u < N) {{ s += load_a(i + 1u); }} store_out(i, s); }}"""
    verdict = check(figure, right)
    assert "The result is right" in verdict and "2998 loads, 1000 stores" in verdict


def test_the_code_is_indented(page: Page):
    figure = task(page, "neighbors")
    figure.get_by_role("button", name="Begin again").click()
    code = figure.get_by_role("textbox").input_value()
    assert code.startswith(f"{HEAD}\n  store_out(i, load_a(i - 1u)")
    figure.get_by_role("button", name="Show a solution").click()
    assert "\n  // Each thread fetches" in figure.get_by_role("textbox").input_value()


def test_the_first_transpose_moves_many_sectors(page: Page):
    figure = task(page, "transpose")
    figure.get_by_role("button", name="Begin again").click()
    verdict = check(figure)
    assert "The result is right" in verdict
    assert "4608 sectors: 4.5 times the 1024 of our solution" in verdict


def test_the_first_sum_races(page: Page):
    figure = task(page, "sum")
    figure.get_by_role("button", name="Begin again").click()
    verdict = check(figure)
    assert "A race: thread 0 loads out[0], which thread" in verdict
    assert "The result is wrong: out[0] is" in verdict


TREE = f"""{HEAD} store_tile(l, load_a(i));
  for (var half = 128u; half > 0u; half /= 2u) {{ BARRIER
    if (l < half) {{ store_tile(l, load_tile(l) + load_tile(l + half)); }} }}
  if (l == 0u) {{ store_out(w, load_tile(0u)); }} }}"""


def test_a_missing_barrier_is_a_race_whatever_the_result_is(page: Page):
    verdict = check(task(page, "sum"), TREE.replace("BARRIER", ""))
    assert re.search(r"A race: thread \d+ loads tile\[\d+\], which thread \d+", verdict)
    verdict = check(task(page, "sum"), TREE.replace("BARRIER", "workgroupBarrier();"))
    assert "race" not in verdict


def test_two_workgroups_race_in_spite_of_a_barrier(page: Page):
    code = (
        f"{HEAD} workgroupBarrier(); store_out(l % 2u, f32(w)); workgroupBarrier(); }}"
    )
    assert "both store out[" in check(task(page, "sum"), code)


@pytest.mark.parametrize(
    "loop",
    [
        "loop { s += 1.0; if (s < 0.0) { break; } }",
        "for (;;) { s += load_a(0u); }",
        "while (true) { /* } */ s += 1.0; } // }\n",
        "for (var k = 0u; k < 4u; k += 0u) { while (true) { s += 1.0; } }",
        "loop { workgroupBarrier(); if (N == 1u) { break; } }",
    ],
)
def test_endless_loops_end(page: Page, loop: str):
    code = f"{HEAD} var s = 0.0; {loop} if (l == 0u) {{ store_out(w, s); }} }}"
    assert "A loop was stopped" in check(task(page, "sum"), code)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (f"{HEAD}\n  store_out(i, 2 * load_a(i)\n}}", r"line [23]: "),
        (f"{HEAD}\n  store_out(i, 2u * load_a(i));\n}}", r"line 2: .*f32"),
        ("fn other() {}", r"unresolved call target 'kernel'"),
        (
            f"{HEAD} if (l < 3u) {{ workgroupBarrier(); }} store_out(w, 0.0); }}",
            "uniform",
        ),
    ],
)
def test_mistakes_of_the_language_have_lines(page: Page, code: str, message: str):
    figure = task(page, "sum")
    verdict = check(figure, code)
    assert re.search(message, verdict), verdict
    expect(figure.locator("[role=status]")).to_have_text("The kernel does not compile.")


def test_an_array_may_be_unused(page: Page):
    assert "The result is wrong" in check(task(page, "sum"), f"{HEAD} }}")


def test_keys_of_the_editor_are_its_own(page: Page):
    figure = task(page, "transpose")
    editor = figure.get_by_role("textbox")
    editor.focus()
    theme = page.evaluate("document.documentElement.dataset.theme")
    page.keyboard.type("t")
    assert page.evaluate("document.documentElement.dataset.theme") == theme
    figure.get_by_role("button", name="Begin again").click()
    editor.focus()
    page.keyboard.press("Control+Enter")
    expect(figure.locator(".verdict")).to_contain_text("4608 sectors")


def test_a_program_is_not_timed(page: Page):
    figure = task(page, "transpose")
    figure.get_by_role("button", name="Measure").click()
    expect(figure.locator(".verdict")).to_contain_text("a time would teach you nothing")
    expect(figure.locator("[role=status]")).to_contain_text("Software adapter, no GPU")


def test_without_an_adapter_a_sentence_says_so(site: Path, browser: Browser):
    page = browser.new_page()
    page.goto((site / PAGE).as_uri())
    assert "offers no GPU" in check(task(page, "sum"))
    page.close()


@pytest.mark.parametrize("width", [360, 1000])
def test_the_page_is_accessible(
    engine: Browser, site: Path, violations: Violations, width: int
):
    page = engine.new_page(viewport={"width": width, "height": 900})
    page.goto((site / PAGE).as_uri())
    check(task(page, "sum"))
    page.evaluate("scrollTo(0, 0)")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()
