"""Interactive figures say what to try first, and their drawings move."""

import re
from collections.abc import Iterator

import pytest
from browsing import quiet
from figures import NAMES
from playwright.sync_api import Browser, Page

MOVING = {
    "two-devices": "Copy X",
    "queue": "Run the loop",
    "workers": "Run the loop",
    "collectives": "All rounds",
    "checkpoints": "Run the day",
    "pipeline": "Run the step",
    "buckets": "Run the step",
    "fuse": "Run",
    "shards": "Run the step",
    "clock": "Run the products",
    "pinned": "Copy",
    "tiles": "Run a program",
    "loop": "Run fit",
    "stages": "Run the turns",
}


def plain(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ")


WIDTHS = [360, 700]  # of a phone and of a wide screen


def resize(page: Page, harness: str, width: int) -> None:
    """Show the page of all figures at a width."""
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(harness)
    page.locator(".drawing svg").last.wait_for()


@pytest.fixture(scope="module", params=WIDTHS)
def seen(
    browser: Browser, harness: str, request: pytest.FixtureRequest
) -> Iterator[Page]:
    """The page of all figures, for tests that change no figure."""
    with quiet(browser.new_page()) as page:
        resize(page, harness, request.param)
        yield page
    page.close()


@pytest.fixture(params=WIDTHS)
def sized(page: Page, harness: str, request: pytest.FixtureRequest) -> Page:
    resize(page, harness, request.param)
    return page


# At first sight


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_begins_with_what_to_try(seen: Page, name: str) -> None:
    figure = seen.locator(f"#fig-{name}")
    invite = figure.locator(".explorable > :first-child")
    text = invite.inner_text()
    assert invite.is_visible() and "invite" in (invite.get_attribute("class") or "")
    assert text.count(".") <= 2 and len(text) <= 80
    if text.startswith("Drag"):
        assert figure.locator(".explorable > .controls input").first.is_visible()
    for button in re.findall("[Pp]ress “([^”]+)”", text):
        assert figure.get_by_role("button", name=button, exact=True).is_visible()


@pytest.mark.parametrize("name", NAMES)
def test_details_are_one_click_away(seen: Page, name: str) -> None:
    figure = seen.locator(f"#fig-{name}")
    controls = figure.locator(".control:visible")
    assert controls.count() <= (4 if name == "plans" else 2)
    assert not figure.locator(".formula, .notes, table").filter(visible=True).count()
    figure.locator("summary", has_text="The arithmetic and its sources").click()
    assert figure.locator(".formula").is_visible()
    assert figure.locator(".notes").is_visible()


@pytest.mark.parametrize("name", NAMES)
def test_the_result_stands_between_the_controls_and_the_drawing(
    seen: Page, name: str
) -> None:
    figure = seen.locator(f"#fig-{name}")
    boxes = [
        figure.locator(part).first.bounding_box()
        for part in (".invite", ".result", ".drawing", "details")
    ]
    tops = [box["y"] for box in boxes if box]
    assert len(tops) == 4 and tops == sorted(tops)


# The result follows at once


CHANGE = """([name, event]) => {
  const figure = document.querySelector(`#fig-${name}`);
  const texts = () => [".result", ".announced", ".drawing"].map(
    (part) => figure.querySelector(part).innerHTML);
  const before = texts();
  if (event) document.dispatchEvent(new CustomEvent("book:choice", { detail: event }));
  else {
    const slider = figure.querySelector("input[type=range]");
    slider.value = slider.value === slider.max ? slider.min : slider.max;
    slider.dispatchEvent(new Event("input"));
  }
  return [before, texts()];
}"""


# The slider of the allocator sets the next request; these others have none.
STEADY = ("two-devices", "allocator", "map", "audit")
DRAGGED = [name for name in NAMES if name not in STEADY]


@pytest.mark.parametrize("name", DRAGGED)
def test_the_result_changes_with_the_drawing(opened: Page, name: str) -> None:
    figure = opened.locator(f"#fig-{name}")
    reset = figure.get_by_role("button", name="Reset")
    figure.locator(".drawing svg").wait_for()
    assert reset.is_hidden()
    before, after = opened.evaluate(CHANGE, [name, None])
    assert before[0] != after[0] and before[2] != after[2]
    assert before[1] == after[1] == ""  # A screen reader hears it when it has settled.
    announced = figure.locator("[role=status].announced")
    text = after[0].replace("&nbsp;", "\N{NO-BREAK SPACE}")
    announced.filter(has_text=text).wait_for(state="attached")
    assert not figure.locator(".result[aria-live]").count()
    reset.click()
    assert reset.is_hidden()


def test_two_devices_follow_the_framework(opened: Page) -> None:
    opened.get_by_role("button", name="Compute X + Y").click()
    for tab, text in (
        ("mxnet", "MXNet 1.9.1 does not notice"),
        ("jax", "With JAX, X + Y raises an error"),
        ("tensorflow", "TensorFlow does not say so, but Y is copied"),
        ("pytorch", "With PyTorch, X + Y raises an error"),
    ):
        choice = {"axis": "tab", "value": tab}
        _, (result, _, _) = opened.evaluate(CHANGE, ["two-devices", choice])
        assert result.replace("&nbsp;", " ").startswith(text)


# Motion


def drawing(page: Page, name: str) -> str:
    return page.locator(f"#fig-{name} .drawing").inner_html()


@pytest.fixture
def still_page(browser: Browser, harness: str) -> Iterator[Page]:
    """The figures for a reader who prefers reduced motion, with a clock that stands."""
    page = browser.new_page(reduced_motion="reduce")
    page.clock.install()
    page.goto(harness)
    page.clock.run_for(1000)
    yield page
    page.close()


@pytest.fixture
def clocked(page: Page, harness: str) -> Page:
    """The page of all figures, in which time passes only as a test says."""
    page.clock.install(time=0)
    page.goto(harness)
    page.clock.pause_at(60_000)
    page.clock.run_for(1000)
    return page


@pytest.mark.parametrize("name", MOVING)
def test_a_press_moves_the_drawing_for_a_moment(clocked: Page, name: str) -> None:
    figure = clocked.locator(f"#fig-{name}")
    before = drawing(clocked, name)
    clocked.clock.run_for(3000)
    assert drawing(clocked, name) == before  # Nothing moves by itself.
    figure.get_by_role("button", name=MOVING[name]).click()
    frames = []
    for _ in range(4):
        clocked.clock.run_for(100)
        frames.append(drawing(clocked, name))
    assert len(set(frames)) == 4
    clocked.clock.run_for(1700)
    end = drawing(clocked, name)
    assert end != frames[-1]
    clocked.clock.run_for(3000)
    assert drawing(clocked, name) == end
    clocked.reload()
    clocked.clock.run_for(1000)
    assert drawing(clocked, name) == end


@pytest.mark.parametrize("name", MOVING)
def test_a_motion_can_be_interrupted(clocked: Page, name: str) -> None:
    figure = clocked.locator(f"#fig-{name}")
    before = drawing(clocked, name)
    figure.get_by_role("button", name=MOVING[name]).click()
    clocked.clock.run_for(200)
    assert drawing(clocked, name) != before
    figure.get_by_role("button", name="Reset").click()
    assert drawing(clocked, name) == before
    clocked.clock.run_for(3000)
    assert drawing(clocked, name) == before


@pytest.mark.parametrize("name", ["two-devices", "collectives", "allocator"])
def test_nothing_moves_if_the_reader_prefers_it(still_page: Page, name: str) -> None:
    presses = {"allocator": ["Free b", "Allocate 50"]}.get(name) or [MOVING[name]]
    for press in presses:
        before = drawing(still_page, name)
        still_page.locator(f"#fig-{name}").get_by_role("button", name=press).click()
        after = drawing(still_page, name)
        assert after != before
        still_page.clock.run_for(3000)
        assert drawing(still_page, name) == after


def test_buttons_that_only_move_a_drawing_are_hidden(still_page: Page) -> None:
    buttons = still_page.get_by_text("Run the loop", exact=True)
    assert buttons.count() == 2
    assert not any(button.is_visible() for button in buttons.all())


# Labels and sliders stay in their places


PROBE = """(name) => {
  const figure = document.querySelector(`#fig-${name}`);
  for (const other of document.querySelectorAll("figure"))
    other.style.display = other === figure ? "" : "none";
  figure.querySelectorAll("details").forEach((part) => (part.open = true));
  const bad = {};
  const box = (element) => {
    const { left, right, top, bottom } = element.getBoundingClientRect();
    return { left: left + 1, right: right - 1, top: top + 4, bottom: bottom - 4 };
  };
  const check = (setting) => {
    const svg = figure.querySelector(".drawing svg");
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")].filter((e) => e.textContent);
    const boxes = texts.map((e) => [e.textContent, box(e)]);
    boxes.forEach(([text, a], i) => {
      if (a.left < frame.left - 2 || a.right > frame.right + 2)
        bad[`${text} leaves the drawing`] = setting;
      for (const [other, b] of boxes.slice(i + 1))
        if (a.left < b.right && b.left < a.right &&
            a.top < b.bottom && b.top < a.bottom)
          bad[`${text} is on ${other}`] = setting;
    });
  };
  const set = (control, value, event) => {
    control.value = value;
    control.dispatchEvent(new Event(event));
    check(`${control.id} ${value}`);
  };
  const reset = [...figure.querySelectorAll("button")].at(-1);
  check("first");
  for (const slider of figure.querySelectorAll("[type=range]")) {
    const [min, max] = [Number(slider.min), Number(slider.max)];
    const open = !slider.closest("details");
    const count = open ? Math.min(64, (max - min) / slider.step) : 2;
    const places = new Set();
    for (let i = 0; i <= count && !slider.closest("[hidden]"); i += 1) {
      set(slider, min + Math.round(((max - min) * i) / count), "input");
      const top = slider.closest(".controls").getBoundingClientRect().top;
      places.add(Math.round(slider.getBoundingClientRect().top - top));
    }
    if (places.size > 1) bad[`${slider.id} moves`] = [...places];
    reset.click();
  }
  for (const select of figure.querySelectorAll("select")) {
    if (select.closest("[hidden]")) continue;
    for (const { value } of select.options) set(select, value, "change");
    reset.click();
  }
  return bad;
}"""


@pytest.mark.parametrize("name", NAMES)
def test_labels_never_overlap_and_sliders_never_move(sized: Page, name: str) -> None:
    assert sized.evaluate(PROBE, name) == {}


# Points and pieces of a drawing


@pytest.mark.parametrize(
    ("name", "control", "asides"),
    [
        *[("roofline", "n", (60, -120)), ("warps", "n", (60, -120))],
        *[("worth-moving", "n", (60, -120)), ("checkpoints", "interval", (60, -120))],
        ("buckets", "bucket", (-260, 150)),  # from the end of its axis, over few sizes
        *[("adapt", "rank", (60, -120)), ("trace", "at", (60, -120))],
    ],
)
def test_a_point_is_dragged(
    opened: Page, name: str, control: str, asides: tuple[int, int]
) -> None:
    page = opened
    figure = page.locator(f"#fig-{name}")
    slider = figure.locator(f"#{name}-{control}")
    before = int(slider.input_value())
    for aside in asides:
        ring = figure.locator(".drawing circle.ring").last
        ring.scroll_into_view_if_needed()
        box = ring.bounding_box()
        assert box
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + aside, y, steps=6)
        page.mouse.up()
        page.mouse.move(x, y)  # which changes nothing any more
        after = int(slider.input_value())
        assert (after > before) == (aside > 0) and after != before
        before = after


def test_a_change_of_the_step_is_pressed_and_released(opened: Page) -> None:
    figure = opened.locator("#fig-trace")
    ahead = figure.get_by_role("button", name="Input prepared")
    for pressed, verdict in (("true", "FLOPs"), ("false", "input")):
        ahead.click()
        assert ahead.get_attribute("aria-pressed") == pressed
        assert f"verdict {verdict}" in figure.locator(".result").inner_text()


def test_a_drag_begins_at_the_point_only(opened: Page) -> None:
    drawing = opened.locator("#fig-warps .drawing")
    before = opened.locator("#warps-n").input_value()
    drawing.hover(position={"x": 100, "y": 20})
    opened.mouse.down()
    drawing.hover(position={"x": 300, "y": 20})
    opened.mouse.up()
    assert opened.locator("#warps-n").input_value() == before


def test_the_setting_before_stays_in_view(opened: Page) -> None:
    figure = opened.locator("#fig-queue")
    assert figure.locator(".last").count() == 0
    figure.locator("#queue-every").press("End")  # never
    ends = figure.locator("svg text", has_text="before:")
    assert plain(ends.text_content() or "") == "before: 600 µs"
    marks = figure.locator("path.last, path.dashed")
    places = [mark.bounding_box() for mark in marks.all()]
    assert len(places) == 2 and len({box["x"] for box in places if box}) == 2
    figure.get_by_role("button", name="Reset").click()
    assert figure.locator(".last").count() == 0
    assert figure.locator("input").first.evaluate("(e) => e === document.activeElement")


def test_a_piece_is_freed_by_touching_it(opened: Page) -> None:
    figure = opened.locator("#fig-allocator")
    figure.locator("[data-touch=b]").click()
    assert "100 of 100 are free" in figure.locator(".result").inner_text()
    assert figure.locator("[data-touch]").count() == 0
    figure.get_by_role("button", name="Allocate 50").click()
    figure.locator("[data-touch]").first.click()
    assert "100 of 100 are free" in figure.locator(".result").inner_text()


def test_a_joint_is_fused_by_touching_it_and_by_keyboard(opened: Page) -> None:
    figure = opened.locator("#fig-fuse")
    figure.locator("[data-touch='3']").click()
    assert "joint 3 saves 128" in figure.locator(".result").inner_text()
    figure.locator("#fuse-joint").press("Home")
    figure.get_by_role("button", name="Fuse joint 1").press("Enter")
    assert "In 6 kernels" in figure.locator(".result").inner_text()
    figure.locator("#fuse-program").select_option("layer")
    assert figure.locator("[data-touch='2']").count() == 0  # The product is next to it.


def test_all_threads_of_a_warp_have_lines_that_can_be_seen(
    page: Page, harness: str
) -> None:
    page.goto(f"{harness}?sectors.stride=32")
    lines = page.locator("#fig-sectors .reads path")
    assert lines.count() == 32
    before = lines.first.evaluate("(e) => getComputedStyle(e).strokeWidth")
    page.locator("#fig-sectors .reads").first.locator("rect").last.hover()
    after = lines.first.evaluate("(e) => getComputedStyle(e).strokeWidth")
    assert (before, after) == ("1px", "3px")


def test_a_slider_below_a_logarithmic_axis_agrees_with_its_mark(opened: Page) -> None:
    figure = opened.locator("#fig-warps")
    slider = figure.get_by_label("Size n of the matrices")
    part = slider.evaluate("e => (e.value - e.min) / (e.max - e.min)")
    assert part == pytest.approx(2 / 3, abs=0.005)  # 2048, from 128 to 8192
    shown = figure.locator("output[for=warps-n]")
    sizes = []
    slider.focus()
    for key in ("Home", *["ArrowRight"] * 3, "ArrowLeft", "End"):
        opened.keyboard.press(key)
        sizes.append(shown.inner_text())
    assert sizes == ["128", "192", "256", "320", "256", "8192"]


def test_the_rate_of_a_small_product_stands_clear_of_the_axis(opened: Page) -> None:
    figure = opened.locator("#fig-roofline")
    slider = figure.get_by_label("Size n of the matrices")
    slider.focus()
    opened.keyboard.press("Home")
    texts = figure.locator(".drawing text")
    rate, axis = (
        texts.filter(has_text=words).first.bounding_box() for words in ("35.9", "10000")
    )
    assert rate and axis and rate["y"] + rate["height"] < axis["y"] - 8


def test_the_main_button_is_the_next_step(opened: Page) -> None:
    figure = opened.locator("#fig-allocator")
    assert figure.locator("button.main:visible").inner_text() == "Free b"
    figure.get_by_role("button", name="Free b").click()
    assert figure.locator("button.main:visible").inner_text() == "Allocate 50"
