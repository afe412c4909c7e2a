"""Kernels that a reader writes in the page, on the program that Chromium has for a GPU.

The counts are those that the section derives; they are the same on every GPU.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browsing import FRAMES, Violations, quiet
from playwright.sync_api import Browser, Locator, Page, expect

PAGE = "chapter_gpus/page-kernels.html"
# The adapter says that it is a GPU, and has no clock, so that kernels are timed.
PRETEND = """
const info = { vendor: "acme", architecture: "one", device: "", description: "",
  isFallbackAdapter: false };
Object.defineProperty(GPUAdapter.prototype, "info", { get: () => info });
Object.defineProperty(GPUAdapter.prototype, "features", { get: () => new Set() });
"""
HEAD = "fn kernel(i: u32, l: u32, w: u32) {"


@pytest.fixture(scope="module")
def page(engine: Browser, site: Path) -> Iterator[Page]:
    page = engine.new_page(viewport={"width": 1000, "height": 1000})
    with quiet(page):
        page.goto((site / PAGE).as_uri())
        yield page
    page.close()


def task(page: Page, name: str) -> Locator:
    figure = page.locator(f"figure[data-explorable=task-{name}]")
    figure.scroll_into_view_if_needed()
    expect(figure.get_by_role("button", name="Check")).to_be_visible()
    return figure


def press(figure: Locator, name: str) -> None:
    figure.get_by_role("button", name=name, exact=True).click()


def editor(figure: Locator) -> Locator:
    return figure.get_by_role("textbox")


def solve(figure: Locator) -> None:
    """Put the page's solution into the editor."""
    if figure.locator(".solution").is_hidden():
        press(figure, "Show a solution")
    press(figure, "Put it into the editor")


def done(figure: Locator, timeout: int = 60_000) -> str:
    """Wait for the end of a run; return what it says."""
    expect(figure.get_by_role("button", name="Stop")).to_be_hidden(timeout=timeout)
    return figure.locator(".verdict").inner_text()


def check(figure: Locator, code: str = "", button: str = "Check") -> str:
    """Check a kernel, or the one that is there; return the verdict."""
    if code:
        editor(figure).fill(code)
    press(figure, button)
    return done(figure)


RIGHT = {
    "copy": "1000 loads, 1000 stores, 250 sectors",
    "row": "8192 loads, 4096 stores, 1536 sectors",
    "neighbors": "1006 loads, 1000 stores, 256 sectors",
    "transpose": "4096 loads, 4096 stores, 1024 sectors",
    "sum": "1024 loads, 4 stores, 132 sectors",
    "prefix": "1024 loads, 1024 stores, 256 sectors",
    "softmax": "65536 loads, 32768 stores, 12288 sectors",
    "product": "65536 loads, 1024 stores, 5248 sectors",
    "tiled": "4096 loads, 1024 stores, 640 sectors",
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_solution_is_right(page: Page, name: str):
    figure = task(page, name)
    solve(figure)
    verdict = check(figure)
    assert "The result is right, and nothing is out of bounds." in verdict
    assert f"{RIGHT[name]}: as few as our solution" in verdict


FIRST = {
    "neighbors": "Out of bounds: thread 0 loads a[-1], but a has 1000 numbers",
    "transpose": "4608 sectors: 4.5 times the 1024 of our solution",
    "sum": "A race: thread 0 loads out[0], which thread",
    "softmax": "Only 64 of 16384 threads load or store.",
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_first_kernel_leaves_something_to_do(page: Page, name: str):
    figure = task(page, name)
    press(figure, "Begin again")
    verdict = check(figure)
    assert FIRST.get(name, " sectors") in verdict and "as few as" not in verdict


def test_a_few_sectors_more_are_counted(page: Page):
    twice = "store_out(i, load_a(i)); if (i == 0u) { store_out(0u, load_a(0u)); }"
    verdict = check(task(page, "copy"), f"{HEAD} if (i < N) {{ {twice} }} }}")
    assert "252 sectors: 2 more than the 250 of our solution" in verdict


# Right for the two sizes with records, and only for those.
FITTED = {
    "copy": f"""{HEAD} if (N == 1000u || N == 512u) {{
      if (i < N) {{ store_out(i, load_a(i)); }} }} }}""",
    "product": f"""{HEAD} if (i >= N * N) {{ return; }} var s = 0.0;
      for (var k = 0u; k < min(N, 32u); k++) {{
        s += load_a(i / N * N + k) * load_b(k * N + i % N); }}
      store_out(i, s); }}""",
    "softmax": f"""{HEAD} var x: array<f32, 2>; var s = 0.0;
      for (var p = 0u; p < 2u; p++) {{ let k = l + 256u * p;
        if (k < N) {{ x[p] = exp(load_a(N * w + k)); s += x[p]; }} }}
      store_tile(l, s);
      for (var half = 128u; half > 0u; half /= 2u) {{ workgroupBarrier();
        if (l < half) {{ store_tile(l, load_tile(l) + load_tile(l + half)); }} }}
      workgroupBarrier();
      for (var p = 0u; p < 2u; p++) {{ let k = l + 256u * p;
        if (k < N) {{ store_out(N * w + k, x[p] / load_tile(0u)); }} }} }}""",
}


@pytest.mark.parametrize("name", FITTED)
def test_a_kernel_that_is_right_for_two_sizes_has_to_be_for_a_third(
    page: Page, name: str
):
    verdict = check(task(page, name), FITTED[name])
    found = re.search(r"With N = (\d+): The result is wrong: out\[", verdict)
    largest = {"copy": 1000, "product": 32, "softmax": 512}[name]
    assert found and 2 * largest <= int(found[1]) < 4 * largest
    assert "as few as" not in verdict


COPY = "if (i < N) { store_out(i, load_a(i)); }"
MOMENTS = {  # a copy, and the sectors that its warps touch
    "one thread at a time": (
        f"""{HEAD} for (var t = 0u; t < 32u; t++) {{
        if (l % 32u == t) {{ {COPY} }} }} }}""",
        "2000 sectors: 8 times the 250",
    ),
    "two halves": (
        f"""{HEAD} if (l % 2u == 0u) {{ {COPY} }} else {{ {COPY} }} }}""",
        "500 sectors: 2 times the 250",
    ),
    "after loops of different lengths": (
        f"""{HEAD} var s = 0u;
        for (var k = 0u; k < l % 3u; k++) {{ s += k; }} {COPY} }}""",
        "250 sectors: as few as",
    ),
    "after a function that returns from a loop": (
        f"""fn bits(x: u32) -> u32 {{ for (var n = 0u; n < 32u; n++) {{
        if ((x >> n) == 0u) {{ return n; }} }} return 0u; }}
        {HEAD} let n = bits(i); {COPY} }}""",
        "250 sectors: as few as",
    ),
    "in two calls of a function": (
        f"""fn copy(i: u32) {{ if (i < N) {{ store_out(i, load_a(i)); }} }}
        {HEAD} copy(2u * i); copy(2u * i + 1u); }}""",
        "500 sectors: 2 times the 250",
    ),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_threads_of_a_warp_move_sectors_together_in_one_moment(page: Page, name: str):
    code, counted = MOMENTS[name]
    assert counted in check(task(page, "copy"), code)


def test_a_number_of_the_tile_has_to_be_stored_before(page: Page):
    code = f"{HEAD} if (i < N) {{ store_out(i, load_a(i) + load_tile(l)); }} }}"
    verdict = check(task(page, "neighbors"), code)
    assert re.search(r"Not stored yet: thread \d+ loads tile\[\d+\]\. WebGPU", verdict)


def test_messages_have_the_names_of_the_reader(page: Page):
    verdict = check(task(page, "copy"), f"{HEAD}\n store_out(i, load_a());\n }}")
    assert "line 2: " in verdict and "load_a" in verdict and "load_a2_" not in verdict


TREE = f"""{HEAD} if (i < N) {{ store_tile(l, load_a(i)); }}
  else {{ store_tile(l, 0.0); }}
  for (var half = 128u; half > 0u; half /= 2u) {{ BARRIER
    if (l < half) {{ store_tile(l, load_tile(l) + load_tile(l + half)); }} }}
  if (l == 0u) {{ store_out(w, load_tile(0u)); }} }}"""


# A thread of the workgroup adds up what the others have put into `out`.
BY_ONE = f"""{HEAD} if (i < 2u) {{ store_out(i, load_a(i)); }} BARRIER
  if (i == 0u) {{ store_out(0u, load_out(0u) + load_out(1u)); }} }}"""


def test_a_barrier_orders_one_kind_of_memory(page: Page):
    figure = task(page, "sum")
    race = "which thread 1 stores, without storageBarrier between"
    assert race in check(figure, BY_ONE.replace("BARRIER", "workgroupBarrier();"))
    assert race not in check(figure, BY_ONE.replace("BARRIER", "storageBarrier();"))
    verdict = check(figure, TREE.replace("BARRIER", "storageBarrier();"))
    assert "without workgroupBarrier between" in verdict


def test_a_barrier_in_a_function_of_a_loop_is_right(page: Page):
    code = "fn wait() { workgroupBarrier(); }\n" + TREE.replace("BARRIER", "wait();")
    assert "The result is right" in check(task(page, "sum"), code)


def test_a_loop_may_decide_how_often_threads_wait(page: Page):
    code = TREE.replace("BARRIER", "workgroupBarrier();").replace(
        "for (var half = 128u;",
        "var most = 1u; while (most < 128u) { most *= 2u; } for (var half = most;",
    )
    assert "The result is right" in check(task(page, "sum"), code)


# Kernels that are wrong, but were called right, or were praised

CHEATS = {
    "one size": (
        "neighbors",
        f"""{HEAD} if (N != 1000u || i >= N) {{ return; }} var s = load_a(i);
        if (i > 0u) {{ s += load_a(i - 1u); }}
        if (i + 1u < N) {{ s += load_a(i + 1u); }} store_out(i, s); }}""",
        "With N = 512: The result is wrong",
    ),
    "whole workgroups": (
        "sum",
        TREE.replace("BARRIER", "workgroupBarrier();").replace("i < N", "true"),
        "With N = 1000: Out of bounds",
    ),
    "another binding": (
        "sum",
        f"@group(0) @binding(0) var<storage> b: array<f32>;\n{HEAD} }}",
        "line 1: “@group” is an attribute",
    ),
    "nothing": ("sum", f"{HEAD} }}", "The result is wrong"),
    "what is there": (
        "softmax",
        f"{HEAD} store_out(i, load_out(i)); }}",
        "The result is wrong",
    ),
    "from the size": (
        "product",
        f"{HEAD} if (i < N * N) {{ store_out(i, f32(N) * 72.25); }} }}",
        "The result is wrong",
    ),
    "zeros for small numbers": (  # whose errors are below 0.001
        "softmax",
        f"{HEAD} if (l > 0u) {{ return; }} var s = 0.0; "
        "for (var k = 0u; k < N; k++) { s += exp(load_a(N * w + k)); } "
        "for (var k = 0u; k < N; k++) { let p = exp(load_a(N * w + k)) / s; "
        "store_out(N * w + k, select(p, 0.0, p < 0.0009)); } }",
        "The result is wrong",
    ),
}


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_is_not_praised(page: Page, name: str):
    exercise, code, message = CHEATS[name]
    verdict = check(task(page, exercise), code)
    assert message in verdict
    assert "as few as" not in verdict and "The result is right" not in verdict


def test_a_loop_that_is_cut_may_be_too_long_for_a_thread(page: Page):
    code = f"""{HEAD} if (i == 0u) {{ for (var r = 0u; r < N * N; r++) {{ var s = 0.0;
        for (var k = 0u; k < N; k++) {{
          s += load_a(r / N * N + k) * load_b(k * N + r % N); }}
        store_out(r, s); }} }} }}"""
    verdict = check(task(page, "product"), code)
    assert "it does not end, or leaves too much to one thread" in verdict


def test_many_accesses_of_a_right_kernel_are_all_recorded(page: Page):
    code = f"""{HEAD} if (i < N) {{ store_tile(l, load_a(i)); }}
      else {{ store_tile(l, 0.0); }} workgroupBarrier(); var s = 0.0;
      for (var k = 0u; k < 256u; k++) {{ s += load_tile(k); }}
      if (l == 0u) {{ store_out(w, s); }} }}"""
    assert "The result is right" in check(task(page, "sum"), code)


# The record


def test_the_record_is_drawn_warp_by_warp(page: Page):
    figure = task(page, "transpose")
    press(figure, "Begin again")
    check(figure)
    drawing = figure.locator(".record .drawing")
    loads = "Warp 0. load_a: 32 threads, 4 sectors"
    expect(drawing).to_have_attribute("aria-label", loads)
    access = figure.get_by_label("Access")
    access.focus()
    page.keyboard.press("ArrowRight")
    stores = "Warp 0. store_out: 32 threads, 32 sectors"
    expect(drawing).to_have_attribute("aria-label", stores)
    words, drawn = drawing.locator("text").last, drawing.locator("rect, path")
    bottoms = drawn.evaluate_all(
        "all => all.map((e) => e.getBoundingClientRect().bottom)"
    )
    assert words.text_content() == "store_out: 32 threads, 32 sectors"
    box = words.bounding_box()
    assert box and box["y"] >= max(bottoms) - 1
    figure.get_by_label("Warp", exact=True).focus()
    page.keyboard.press("End")
    expect(drawing).to_have_attribute("aria-label", re.compile(r"Warp 127\. load_a"))


# Time

ENDLESS = f"""{HEAD} var s = 0.0; loop {{ s += load_a(i); if (s < 0.0) {{ break; }} }}
  store_out(0u, s); }}"""
CROWDED = {
    "a forgotten k++": f"""{HEAD} var k = 0u; while (k < 256u) {{
        store_out(w, load_out(w) + load_a(256u * w + k)); }} }}""",
    "one busy thread": f"""{HEAD} if (i == 0u) {{ for (var k = 0u; k < 16000u; k++) {{
        {"store_out(0u, 1.0);" * 8} }} }} }}""",
}


# Loops in functions that call each other, and wait for other threads.
HELPERS = {
    "a barrier in the outer loop": """
      fn inner(i: u32) -> f32 { var s = 0.0;
        for (var k = 0u; k < 2000u; k++) { s += load_a(i % N); } return s; }
      fn outer(i: u32) -> f32 { var s = 0.0;
        for (var k = 0u; k < 2000u; k++) { workgroupBarrier(); s += inner(i); }
        return s; }""",
    "a barrier in each loop": """
      fn inner(i: u32) { for (var k = 0u; k < 2000u; k++) { workgroupBarrier(); } }
      fn outer(i: u32) -> f32 { for (var r = 0u; r < 2000u; r++) {
        for (var k = 0u; k < 2000u; k++) { inner(i); } } return 1.0; }""",
}


@pytest.mark.parametrize("name", HELPERS)
def test_helpers_that_do_not_end_are_stopped(page: Page, name: str):
    figure = task(page, "sum")
    code = f"{HELPERS[name]} {HEAD} let s = outer(i); if (i < N) {{ store_out(w, s); }}"
    assert "A loop was stopped after 16384 rounds" in check(figure, f"{code} }}")
    solve(figure)
    assert "The result is right" in check(figure)


HANGING = """() => {
  const never = new Promise(() => {});
  for (const [type, name] of [[GPUQueue, "onSubmittedWorkDone"],
    [GPUBuffer, "mapAsync"], [GPU, "requestAdapter"]]) {
    const real = type.prototype[name];
    type.prototype[name] = function (...given) {
      return window.hanging?.includes(name) ? never : real.apply(this, given); };
  } }"""


def test_a_gpu_that_does_not_finish_is_given_up(engine: Browser, site: Path):
    with quiet(engine.new_page()) as page:
        page.add_init_script(f"({HANGING})()")
        page.goto((site / PAGE).as_uri())
        figure = task(page, "sum")
        solve(figure)
        mine = editor(figure).input_value()
        page.evaluate("window.hanging = ['mapAsync']")
        press(figure, "Check")
        page.wait_for_timeout(500)
        press(figure, "Stop")
        assert "You pressed Stop" in done(figure, 2000)
        assert "not finished after 10 s" in check(figure)
        assert editor(figure).input_value() == mine
        page.evaluate("window.hanging = []")
        assert "The result is right" in check(figure)
        # What was stopped has no end: the next run asks for another GPU.
        page.evaluate("window.hanging = ['onSubmittedWorkDone', 'requestAdapter']")
        assert "Load the page again; your text is kept." in check(figure)
        page.evaluate("window.hanging = []")
        page.reload()
        assert editor(task(page, "sum")).input_value() == mine
        assert "The result is right" in check(task(page, "sum"))
        page.close()


def longest_task(engine: Browser, page: Page, run: Callable[[], object]) -> float:
    """Return the processor time of the longest task of the page's thread, in ms."""
    engine.start_tracing(page=page, categories=["toplevel"])
    run()
    events = json.loads(engine.stop_tracing())["traceEvents"]
    threads = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    tasks = [e for e in events if (e["pid"], e["tid"]) in threads and "tdur" in e]
    assert len(tasks) > 10
    return max(event["tdur"] for event in tasks) / 1000


@pytest.mark.parametrize("name", [*CROWDED, *RIGHT])
def test_the_page_does_not_wait_for_a_verdict(engine: Browser, page: Page, name: str):
    figure = task(page, name if name in RIGHT else "sum")
    if name in RIGHT:
        solve(figure)
        assert longest_task(engine, page, lambda: check(figure)) < 100
    code = CROWDED.get(name, ENDLESS)
    assert longest_task(engine, page, lambda: check(figure, code)) < 100
    # On a busy machine, what stands for a GPU may take too long for a verdict.
    ends = re.compile("The result is wrong|The GPU has not finished after 10 s")
    expect(figure.locator(".verdict")).to_contain_text(ends)


@pytest.mark.timing
@pytest.mark.parametrize("name", RIGHT)
def test_an_endless_kernel_gets_its_verdict_in_time(page: Page, name: str):
    assert "The result is wrong" in check(task(page, name), ENDLESS)


def test_two_presses_end_with_a_verdict(page: Page):
    figure = task(page, "sum")
    solve(figure)
    for _ in range(6):
        check_button = figure.get_by_role("button", name="Check", exact=True)
        check_button.evaluate("(button) => { button.click(); button.click(); }")
        assert "The result is right" in done(figure)
        page.evaluate(FRAMES)  # in which a run that was stopped could still speak
        assert "Stopped" not in figure.inner_text()


def test_two_tasks_can_be_checked_at_once(page: Page):
    figures = [task(page, name) for name in ("copy", "sum")]
    for figure in figures:
        solve(figure)
    for figure in figures:
        press(figure, "Check")
    for figure in figures:
        assert "The result is right" in done(figure)


@pytest.fixture
def pretending(engine: Browser, site: Path) -> Iterator[Page]:
    """A page whose adapter seems to be a GPU, so that it is timed."""
    page = engine.new_page(viewport={"width": 1000, "height": 1000})
    page.add_init_script(PRETEND)
    page.goto((site / PAGE).as_uri())
    yield page
    page.close()


def test_only_a_right_kernel_is_measured(pretending: Page):
    figure = task(pretending, "sum")
    endless = f"{HEAD} loop {{ if (load_a(0u) < 0.0) {{ break; }} }} }}"
    verdict = check(figure, endless, "Measure")
    assert "A loop was stopped" in verdict
    assert "Only a right kernel is measured." in verdict and "GB/s" not in verdict


def test_a_loop_that_is_cut_is_not_timed(pretending: Page):
    figure = task(pretending, "sum")
    late = TREE.replace("BARRIER", "workgroupBarrier();").replace(
        "if (l == 0u)",
        "while (N > 4096u) { } if (l == 0u)",  # more than Check draws
    )
    verdict = check(figure, late, "Measure")
    assert verdict == "With N = 16384, a loop was stopped, so there is no time."


def test_a_measurement_begins_with_a_small_problem(pretending: Page):
    figure = task(pretending, "neighbors")
    solve(figure)
    pretending.evaluate(SIZES)
    press(figure, "Measure")
    done(figure, timeout=240_000)
    tried = pretending.evaluate("window.tried")
    assert tried[0] == "16384" and tried == sorted(tried, key=int)


SIZES = """() => { window.tried = [];
  const status = document.querySelector(
    "figure[data-explorable=task-neighbors] [role=status]");
  new MutationObserver(() => {
    const found = status.textContent.match(/Trying N = (\\d+)/);
    if (found) window.tried.push(found[1]);
  }).observe(status, { childList: true }); }"""


def test_the_time_of_a_product_is_one_of_operations(pretending: Page):
    figure = task(pretending, "tiled")
    solve(figure)
    press(figure, "Measure")
    said = done(figure, timeout=240_000)
    assert re.search(r"N = \d+: .*, or .*FLOP/s; measured in this page", said), said


def test_the_products_that_are_timed_elsewhere_can_be_read(page: Page):
    for name, count in {"product": 1, "tiled": 2}.items():
        figure = task(page, name)
        figure.locator("summary").click()
        texts = figure.locator("details .editor pre[role=group]")
        expect(texts).to_have_count(count)
        for text in texts.all_inner_texts():
            assert "c: array<f32>;\n" in text and "1024u" in text
            assert ("workgroupBarrier();" in text) == (name == "tiled")


# The ladder


# Chromium can lose what a page that is a file has stored when the page is loaded again,
# see `browsing.revisit`, so tests of what the browser keeps open the page over HTTP.


def test_a_solved_task_is_marked_in_this_browser(engine: Browser, http_url: str):
    page = engine.new_page()
    page.goto(http_url + PAGE)
    ladder = page.locator("figure[data-explorable=kernel-ladder]")
    expect(ladder.get_by_role("listitem")).to_have_count(len(RIGHT))
    expect(ladder).to_contain_text("0 of 9 solved")
    check(task(page, "transpose"))
    solve(task(page, "copy"))
    check(task(page, "copy"))
    check(task(page, "copy"), f"{HEAD} }}")  # which takes nothing back
    for _ in range(2):
        ladder.scroll_into_view_if_needed()
        row = ladder.get_by_role("listitem").nth(0)
        expect(row).to_contain_text("✓ solved")
        transpose = ladder.get_by_role("listitem").nth(3)
        expect(transpose).to_contain_text("right, with 4.5 times our sectors")
        expect(ladder).to_contain_text("1 of 9 solved")
        page.reload()
    page.close()


def test_the_ladder_leads_to_the_tasks(page: Page):
    ladder = page.locator("figure[data-explorable=kernel-ladder]")
    ladder.scroll_into_view_if_needed()
    links = ladder.locator(".rung").get_by_role("link")
    expect(links).to_have_count(len(RIGHT))
    names = links.evaluate_all(
        """(links) => links.map((a) =>
          document.querySelector(a.hash).querySelector("figure").dataset.explorable)"""
    )
    assert names == [f"task-{name}" for name in RIGHT]


# The editor


def test_a_text_is_never_lost(engine: Browser, http_url: str):
    page = engine.new_page()
    page.goto(http_url + PAGE)
    figure = task(page, "neighbors")
    own = f"{HEAD}\n  // mine\n}}"
    editor(figure).fill(own)
    for name in ("Begin again", "Put it into the editor"):
        if name != "Begin again":
            press(figure, "Show a solution")
            assert editor(figure).input_value() == own
            expect(figure.locator(".solution")).to_contain_text("Each thread fetches")
        press(figure, name)
        assert editor(figure).input_value().startswith(f"{HEAD}\n  ")
        assert "// mine" not in editor(figure).input_value()
        page.keyboard.press("Control+z")
        assert editor(figure).input_value() == own
    page.reload()
    assert editor(task(page, "neighbors")).input_value() == own
    page.close()


def test_each_browser_tab_keeps_its_own_text(engine: Browser, http_url: str):
    context = engine.new_context()
    first, second = context.new_page(), context.new_page()
    for page in (first, second):
        page.goto(http_url + PAGE)
        editor(task(page, "copy")).fill(f"{HEAD} }} // {page is first}")
    for page in (first, second):
        page.reload()
        assert editor(task(page, "copy")).input_value().endswith(str(page is first))
    third = context.new_page()
    third.goto(http_url + PAGE)
    assert editor(task(third, "copy")).input_value().endswith("False")
    context.close()


def test_a_text_is_kept_where_only_the_tab_can(engine: Browser, http_url: str):
    context = engine.new_context()
    page = context.new_page()
    page.goto(http_url + PAGE)
    editor(task(page, "copy")).fill("mine")
    page.evaluate("localStorage.clear()")
    page.reload()
    assert editor(task(page, "copy")).input_value() == "mine"
    context.close()


def test_lines_have_numbers_and_all_are_seen(page: Page):
    figure = task(page, "neighbors")
    solve(figure)
    lines = editor(figure).input_value().split("\n")
    numbers = figure.locator(".editor").first.locator("pre").inner_text().split()
    assert numbers == [str(n) for n in range(1, len(lines) + 1)] and len(lines) == 12
    assert editor(figure).evaluate("(x) => x.scrollHeight <= x.offsetHeight")


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
        ("fn other() {}", r"The page calls fn kernel.*unresolved call target 'kernel'"),
        (
            f"{HEAD}\n\n  if (l < 3u) {{\n    workgroupBarrier(); }}\n}}",
            "line 4: .*uniform",
        ),
    ],
)
def test_mistakes_of_the_language_have_lines(page: Page, code: str, message: str):
    figure = task(page, "sum")
    verdict = check(figure, code)
    assert re.search(message, verdict), verdict
    expect(figure.locator("[role=status]")).to_have_text("The kernel does not compile.")


def test_keys_of_the_editor_are_its_own(page: Page):
    figure = task(page, "transpose")
    editor = figure.get_by_role("textbox")
    editor.focus()
    theme = page.evaluate("document.documentElement.dataset.theme")
    page.keyboard.type("t")
    assert page.evaluate("document.documentElement.dataset.theme") == theme
    press(figure, "Begin again")
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
    ladder = page.locator("figure[data-explorable=kernel-ladder]")
    expect(ladder.locator(".needed")).to_contain_text("another browser")
    for name in RIGHT:
        figure = page.locator(f"figure[data-explorable=task-{name}]")
        figure.scroll_into_view_if_needed()
        link = figure.locator(".needed").get_by_role("link")
        expect(link).to_have_attribute("href", "#fig-kernel-ladder")
        for button in ("Check", "Measure"):
            needs = figure.get_by_role("button", name=f"{button} (needs a GPU)")
            expect(needs).to_be_disabled()
    words = page.locator("main").inner_text()
    assert "without one" not in words and "kernels below run" not in words
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
