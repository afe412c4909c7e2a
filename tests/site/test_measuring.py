"""Experiments on the reader's GPU, on the program that Chromium has in its place.

No test asserts a time or a ratio of times: this machine has no GPU.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import Violations, each, quiet
from playwright.sync_api import Browser, Locator, Page, expect

# The page of each experiment, and the figure that offers it.
FIGURES = {
    "roofline": "performance",
    "queue": "data-movement",
    "map": "use-gpu",
    "sectors": "kernels",
    "tiles": "tiles",
    "pinned": "data-movement",
    "race": "first-hour",
}
# The adapter says that it is a GPU, and has no clock of its own: that and the page's
# clock may disagree on a machine with other work.
PRETEND = """
const info = { vendor: "acme", architecture: "one", device: "", description: "",
  isFallbackAdapter: false, subgroupMinSize: 4, subgroupMaxSize: 4 };
Object.defineProperty(GPUAdapter.prototype, "info", { get: () => info });
Object.defineProperty(GPUAdapter.prototype, "features", { get: () => new Set(%s) });
const request = GPUAdapter.prototype.requestDevice;
GPUAdapter.prototype.requestDevice = async function (...more) {
  window.count = (window.count ?? 0) + 1;
  return (window.device = await request.apply(this, more));
};
"""


@pytest.fixture
def page(engine: Browser) -> Iterator[Page]:
    context = engine.new_context(viewport={"width": 1000, "height": 1000})
    with quiet(context.new_page()) as page:
        yield page
    context.close()


def open_figure(page: Page, site: Path, name: str, script: str = "") -> Locator:
    """Open the page of an experiment; return its figure."""
    if script:
        page.add_init_script(script)
    page.goto(
        (site / f"chapter_gpus/{FIGURES[name]}.html").as_uri()
        + "?tab=pytorch&predict=off"
    )
    figure = page.locator(f"figure[data-explorable={name}]").first
    figure.scroll_into_view_if_needed()
    return figure


def open_panel(page: Page, site: Path, name: str, script: str = "") -> Locator:
    """Open the panel of an experiment; return its figure."""
    figure = open_figure(page, site, name, script)
    figure.get_by_role("button", name="Measure my GPU").click()
    return figure


def press(figure: Locator, name: str) -> None:
    figure.get_by_role("button", name=name, exact=True).click()


def status(figure: Locator) -> Locator:
    return figure.locator(".measure [role=status]")


def finding(figure: Locator) -> Locator:
    return figure.locator(".finding")


def measure(figure: Locator, said: str = "Measured.") -> None:
    """Measure, and wait until the figure says so."""
    # Where there is nothing to choose, it measures at once.
    expect(figure.locator(".measure")).to_be_visible()
    if figure.get_by_role("spinbutton").count():
        press(figure, "Measure")
    expect(status(figure)).to_contain_text(said, timeout=120_000)


def stop(figure: Locator) -> None:
    press(figure, "Stop")
    expect(status(figure)).to_have_text("Stopped. You pressed Stop.", timeout=30_000)
    expect(figure.get_by_role("button", name="Stop")).to_be_hidden()


def pretend(*features: str) -> str:
    return PRETEND % [*features]


@pytest.mark.parametrize("name", FIGURES)
def test_a_program_is_checked_and_not_timed(page: Page, site: Path, name: str):
    figure = open_panel(page, site, name)
    before = figure.locator(".result").all_inner_texts()
    measure(figure, "Checked, not timed.")
    expect(finding(figure)).to_contain_text("software adapter: no GPU")
    expect(finding(figure)).to_contain_text("swiftshader")
    assert "The GPU ran" not in finding(figure).inner_text()
    assert not re.search(r"\d\s?(?:µs|ms|GB/s|FLOP)", finding(figure).inner_text())
    assert finding(figure).locator("svg").count() == 0
    assert figure.locator(".result").all_inner_texts() == before


def test_a_coarse_clock_gives_numbers(page: Page, site: Path):
    coarse = """(() => { const now = performance.now.bind(performance);
    performance.now = () => Math.floor(now() / 50) * 50; })();"""
    figure = open_panel(page, site, "pinned", pretend() + coarse)
    measure(figure)
    text = finding(figure).inner_text()
    assert "Writing costs" in text
    assert "NaN" not in text and "Infinity" not in text


# A program in place of a GPU multiplies matrices in a second on some machines, and in
# three on others; the page refuses those. The figure of the race asks by itself.
EXPERIMENTS = [name for name in FIGURES if name not in ("tiles", "race")]
SLOW = pytest.param("tiles", marks=pytest.mark.timing)


@pytest.mark.parametrize("name", [*each(EXPERIMENTS, ["pinned", "sectors"]), SLOW])
def test_an_experiment_compares_with_the_prediction(page: Page, site: Path, name: str):
    figure = open_panel(page, site, name, pretend())
    figure.get_by_role("spinbutton").fill("7")
    figure.get_by_role("spinbutton").press("Enter")
    expect(status(figure)).to_have_text("Measured.", timeout=120_000)
    text = finding(figure).inner_text()
    assert text.startswith("You predicted 7") and "Your prediction was" in text
    assert "acme one, Chrome" in text and "measured in this page, now" in text
    assert "the clock of the page" in text and "tensor cores" in text
    assert "NaN" not in text and "Infinity" not in text
    finding(figure).locator("summary").click()
    rows = finding(figure).locator("tbody tr")
    assert rows.count() >= 3 and "NaN" not in rows.first.inner_text()


GONE = "Object.defineProperty(Navigator.prototype, 'gpu', { get: () => null });"
DIAMONDS = ".drawing path.s2"  # what others measured, and one in the key


def test_the_race_compares_both_sizes_with_the_predictions(page: Page, site: Path):
    figure = open_figure(page, site, "race", pretend())
    figure.get_by_label("n = 64: your GPU", exact=True).press("Home")
    figure.get_by_label("n = 1024: your GPU", exact=True).press("End")
    expect(figure.locator(DIAMONDS)).to_have_count(1)
    press(figure, "Measure my GPU")
    measure(figure)
    result = figure.locator(".result").inner_text().replace("\N{NO-BREAK SPACE}", " ")
    assert re.search(r"n = 64 \(you said 1000 times as slow\)", result)
    assert re.search(r"n = \d{3,4} \(you said 10000 times as fast\)", result)
    text = finding(figure).inner_text()
    assert "n = 64: the CPU took" in text and "Both computed the same" in text
    assert "one thread of JavaScript without vector instructions" in text
    assert figure.locator(".drawing circle.s1").count() == 4 + 2  # two in the key
    expect(figure.locator(DIAMONDS)).to_have_count(5)
    finding(figure).locator("summary").click()
    assert finding(figure).locator("tbody tr").count() == 2
    page.wait_for_timeout(500)  # an address would change after 300 ms
    assert "race" not in page.url


def test_the_race_finds_a_gpu_that_multiplies_wrongly(page: Page, site: Path):
    wrong = """const write = GPUQueue.prototype.writeBuffer;
    GPUQueue.prototype.writeBuffer = function (buffer, at, numbers) {
      return write.call(this, buffer, at, numbers.map((x) => 2 * x));
    };"""
    figure = open_panel(page, site, "race", pretend() + wrong)
    measure(figure, "The product for n = 64 is wrong on this GPU")
    expect(finding(figure)).to_be_empty()


@pytest.mark.parametrize("kind", ["software", "none"])
def test_without_a_gpu_the_race_shows_what_others_measured(
    page: Page, site: Path, kind: str
):
    figure = open_figure(page, site, "race", GONE if kind == "none" else "")
    expect(figure.locator(DIAMONDS)).to_have_count(1)
    press(figure, "Measure my GPU")
    measure(figure, "offers no WebGPU" if kind == "none" else "Checked, not timed.")
    expect(figure.locator(DIAMONDS)).to_have_count(5)
    expect(figure.locator(".drawing circle.s1")).to_have_count(2)  # in the key
    expect(figure.locator(".result")).to_contain_text("You predict")


def test_nothing_asks_for_a_gpu_before_the_second_click(page: Page, site: Path):
    script = "window.asked = 0; const ask = GPU.prototype.requestAdapter;"
    script += "GPU.prototype.requestAdapter = function (...more) {"
    script += " window.asked += 1; return ask.apply(this, more); };"
    figure = open_panel(page, site, "roofline", script)
    assert page.evaluate("asked") == 0
    measure(figure, "Checked, not timed.")
    measure(figure, "Checked, not timed.")
    assert page.evaluate("asked") == 1


@pytest.mark.slow
def test_two_figures_share_a_device(page: Page, site: Path):
    figure = open_panel(page, site, "queue", pretend())
    other = page.locator("figure[data-explorable=pinned]").first
    other.scroll_into_view_if_needed()
    other.get_by_role("button", name="Measure my GPU").click()
    measure(figure)
    measure(other)
    assert page.evaluate("count") == 1


@pytest.mark.timing  # the page refuses a program that is too slow
def test_the_roofline_becomes_that_of_the_reader(page: Page, site: Path):
    figure = open_panel(page, site, "roofline", pretend())
    measure(figure)
    points = figure.locator(".drawing circle.measured")
    assert points.count() == 10
    places = points.evaluate_all(
        "all => all.map((c) => [c.cx, c.cy].map((v) => v.baseVal.value))"
    )
    roof = figure.locator(".drawing path.line1").first.get_attribute("d")
    assert roof
    corners = [tuple(map(float, p.split())) for p in roof[1:].split("L")]
    for x, y in places:
        assert y >= height_at(x, corners) - 0.5  # y points downwards
    page.wait_for_timeout(500)  # an address would change after 300 ms
    assert "roofline" not in page.url
    slider = figure.get_by_label("Size n of the matrices")
    slider.focus()
    page.keyboard.press("Home")
    assert points.count() == 10  # another operation on the same machine
    figure.get_by_text("More settings").click()
    figure.get_by_label("Machine", exact=True).select_option("h100")
    assert points.count() == 0


def height_at(x: float, corners: list[tuple[float, ...]]) -> float:
    """The height of a line of two segments."""
    (x0, y0), (x1, y1), _ = corners
    return y1 if x >= x1 else y0 + (y1 - y0) * (x - x0) / (x1 - x0)


def test_the_queue_gets_the_times_of_the_reader(page: Page, site: Path):
    figure = open_panel(page, site, "queue", pretend())
    measure(figure)
    expect(figure.locator(".drawing")).to_contain_text("your own times")


def test_a_measurement_can_be_stopped(page: Page, site: Path):
    figure = open_panel(page, site, "roofline", pretend())
    for _ in range(2):
        measure(figure, "Measuring")
        stop(figure)


def test_a_hidden_page_stops_measuring(page: Page, site: Path):
    figure = open_panel(page, site, "roofline", pretend())
    measure(figure, "Measuring")
    page.evaluate(
        """() => { Object.defineProperty(document, "hidden", { get: () => true });
        document.dispatchEvent(new Event("visibilitychange")); }"""
    )
    expect(status(figure)).to_have_text("Stopped. The page was hidden.", timeout=30_000)


def test_a_lost_gpu_is_named_and_the_next_one_is_new(page: Page, site: Path):
    figure = open_panel(page, site, "roofline", pretend())
    measure(figure, "Measuring")
    page.evaluate("device.destroy()")
    expect(status(figure)).to_contain_text("The GPU was lost", timeout=30_000)
    figure = page.locator("figure[data-explorable=roofline]").first
    measure(figure, "Measuring")
    assert page.evaluate("count") == 2
    stop(figure)


def test_clocks_that_disagree_show_nothing(page: Page, site: Path):
    script = pretend("timestamp-query")
    script += "const now = performance.now.bind(performance);"
    script += "performance.now = () => 3 * now();"
    figure = open_panel(page, site, "sectors", script)
    measure(figure, "The clocks disagree")
    expect(finding(figure)).to_be_empty()


def test_an_adapter_without_a_name(page: Page, site: Path):
    script = pretend().replace('"acme"', '""').replace('"one"', '""')
    figure = open_panel(page, site, "pinned", script)
    measure(figure)
    expect(finding(figure)).to_contain_text("unnamed adapter, Chrome")


def test_a_queue_that_answers_late(page: Page, site: Path):
    """As in Firefox, which looks for finished work every 100 ms."""
    script = (
        pretend()
        + """
    const done = GPUQueue.prototype.onSubmittedWorkDone;
    let submits = 0;
    window.empty = 0;
    const submit = GPUQueue.prototype.submit;
    GPUQueue.prototype.submit = function (list) {
      submits += 1; empty += list.length === 0; return submit.call(this, list);
    };
    GPUQueue.prototype.onSubmittedWorkDone = async function () {
      await done.call(this);
      const seen = submits;
      const end = performance.now() + 100;
      while (submits === seen && performance.now() < end)
        await new Promise((resolve) => setTimeout(resolve, 1));
    };"""
    )
    figure = open_panel(page, site, "pinned", script)
    measure(figure)
    assert page.evaluate("empty") > 0  # an idle queue is reminded


def test_without_an_adapter_the_figure_works_as_before(site: Path, browser: Browser):
    page = browser.new_page()
    figure = open_panel(page, site, "roofline")
    measure(figure, "offers no GPU")
    expect(figure.locator(".result")).to_contain_text("n = 512")
    page.close()


def test_without_webgpu_one_sentence_says_so(page: Page, site: Path):
    figure = open_panel(page, site, "sectors", GONE)
    measure(figure, "offers no WebGPU")


@pytest.mark.parametrize("width", [360, 1000])
def test_a_panel_is_accessible(
    page: Page, site: Path, violations: Violations, width: int
):
    page.set_viewport_size({"width": width, "height": 900})
    figure = open_panel(page, site, "sectors", pretend())
    expect(figure.get_by_role("spinbutton")).to_be_focused()
    measure(figure)
    page.evaluate("scrollTo(0, 0)")  # below the bar, axe finds covered targets
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_pages_load_the_experiments_only_after_a_click(page: Page, site: Path):
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto((site / "chapter_gpus/use-gpu.html").as_uri())
    figure = page.locator("figure[data-explorable=map]").first
    figure.scroll_into_view_if_needed()
    expect(figure.get_by_role("button", name="Measure my GPU")).to_be_visible()
    wanted = re.compile("device.js|measure.js|experiments.js")
    assert not any(map(wanted.search, requests))
    figure.get_by_role("button", name="Measure my GPU").click()
    expect(figure.get_by_role("spinbutton")).to_be_visible()
    assert sum(bool(wanted.search(url)) for url in requests) == 3
