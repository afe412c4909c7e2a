"""The interactive figures on a page; `tests/static` has the tests of their scripts."""

import re
from math import hypot

import pytest
from figures import NAMES, result, settle
from playwright.sync_api import Browser, Locator, Page, expect


def test_sources_are_links(opened: Page) -> None:
    notes = opened.locator(".notes").all_text_contents()
    assert not any("](" in text for text in notes)
    assert opened.locator(".notes a[href^='https://']").count() > 20


def open_all(page: Page, name: str) -> None:
    """Open what is folded away in a figure."""
    for summary in page.locator(f"#fig-{name} summary").all():
        summary.click()


def test_a_slider_moves_by_keyboard(opened: Page) -> None:
    assert "take 600 µs" in result(opened, "queue")
    slider = opened.get_by_label("Fetch the loss")
    slider.press("Home")
    assert "take 960 µs" in result(opened, "queue")  # 12 · (20 + 40 + 20)
    assert slider.get_attribute("aria-valuetext") == "after every step"
    slider.press("ArrowRight")
    assert "take 720 µs" in result(opened, "queue")
    slider.press("End")
    assert "Without a fetch" in result(opened, "queue")


def test_presets_set_the_sliders_and_sliders_leave_the_preset(opened: Page) -> None:
    figure = opened.locator("#fig-worth-moving")
    open_all(opened, "worth-moving")
    figure.get_by_label("Machine").select_option("p100")
    link = opened.get_by_label("Link, in one direction")
    assert link.get_attribute("aria-valuetext") == "16\N{NO-BREAK SPACE}GB/s"
    link.press("ArrowRight")
    assert figure.get_by_label("Machine").input_value() == "own"
    figure.get_by_role("button", name="Reset").click()
    assert figure.get_by_label("Machine").input_value() == "h100"
    assert link.get_attribute("aria-valuetext") == "64\N{NO-BREAK SPACE}GB/s"


def test_the_setting_is_in_the_address(page: Page, harness: str) -> None:
    page.goto(f"{harness}?tab=jax&x=%20y#here")
    page.get_by_label("Fetch the loss").press("Home")
    moving = page.locator("#fig-worth-moving")
    open_all(page, "worth-moving")
    moving.get_by_label("Numbers", exact=True).select_option("half")
    before = result(page, "queue"), result(page, "worth-moving")
    own = "&queue.every=1&worth-moving.type=half"
    expect(page).to_have_url(f"{harness}?tab=jax&x=%20y{own}#here")
    page.reload()
    assert (result(page, "queue"), result(page, "worth-moving")) == before
    for name in ("queue", "worth-moving"):
        page.locator(f"#fig-{name}").get_by_role("button", name="Reset").click()
    expect(page).to_have_url(f"{harness}?tab=jax&x=%20y#here")


def test_actions_are_in_the_address(opened: Page, harness: str) -> None:
    page = opened
    for name in ("Compute X + Y", "Copy X to Y's device, then add", "Fetch the sum"):
        page.get_by_role("button", name=name).click()
    before = result(page, "two-devices")
    expect(page).to_have_url(f"{harness}?two-devices.did=add-copy-fetch")
    page.reload()
    assert result(page, "two-devices") == before
    log = page.locator("#fig-two-devices .log").inner_text()
    assert "Copied in all: 200 MB in 1.8 ms." in log.replace("\N{NO-BREAK SPACE}", " ")
    page.locator("#fig-two-devices").get_by_role("button", name="Reset").click()
    expect(page).to_have_url(harness)


WRONG = (
    *("queue.every=%E0%A4%A", "queue.host=abc", "queue.device=-1", "queue.fetch="),
    *("queue.preset=none", "worth-moving.n=1000", "worth-moving.cpu=NaN", "queue.=1"),
    *("worth-moving.machine=%3Cb%3E", "two-devices.x=gpu7", "two-devices.size=3"),
    *("memory-timeline.model=gpt9", "memory-timeline.batch=3", "allocator.did=30-fz"),
    *("allocator.policy=buddy", "allocator.size=7e9", "roofline.n=500", "queue.every"),
    *("roofline.overhead=-1", "roofline.rate=x", "sectors.stride=0", "warps.card=%E0"),
    *("collectives.n=17", "collectives.round=99", "plans.gpus=7", "plans.zero=4", "="),
)


@pytest.mark.parametrize(
    "did", ["two-devices.did=add-drop", "two-devices.did=" + "-".join(["add"] * 99)]
)
def test_a_bad_address_gives_the_first_setting(
    page: Page, harness: str, did: str
) -> None:
    page.goto(harness)
    expected = [result(page, name) for name in NAMES]
    page.goto(f"{harness}?{'&'.join([did, *WRONG])}")
    assert [result(page, name) for name in NAMES] == expected


def test_a_model_brings_its_settings(opened: Page) -> None:
    figure = opened.locator("#fig-memory-timeline")
    open_all(opened, "memory-timeline")
    length = figure.get_by_label("Tokens in a sequence")
    figure.get_by_label("Model", exact=True).select_option("gpt2xl")
    assert length.is_visible()
    expect(opened).to_have_url(re.compile(r"\?memory-timeline\.model=gpt2xl$"))
    figure.get_by_label("Model", exact=True).select_option("deep")
    assert not length.is_visible()
    assert figure.get_by_role("table").get_by_role("columnheader").count() == 5


LINE = (
    "cpu: products in GFLOP/s: float32 100, bfloat16 400; memory 40 GB/s; "
    "0.8 µs per operation; spread 0 percent"
)


def test_a_measured_machine_is_pasted(opened: Page) -> None:
    figure = opened.locator("#fig-roofline")
    field = figure.get_by_label("Paste the line")
    figure.locator("summary").first.click()
    assert not field.is_visible()
    figure.get_by_label("Machine", exact=True).select_option("own")
    field.fill(LINE)
    figure.get_by_label("Size n of the matrices").press("End")
    # 2 · 16384³ FLOPs at 400 GFLOP/s
    assert "the time is at least 22 s" in result(opened, "roofline")
    settle(opened, "roofline")
    opened.reload()
    assert "the time is at least 22 s" in result(opened, "roofline")
    figure.locator("summary").first.click()
    field.fill("my machine")
    assert "This is not a line of print(" in result(opened, "roofline")


def test_paper_shows_the_picture(opened: Page) -> None:
    parts = ("img", ".explorable", "figcaption")
    picture, live, caption = (opened.locator(f"#fig-queue {part}") for part in parts)
    assert live.is_visible() and not picture.is_visible()
    opened.emulate_media(media="print")
    assert picture.is_visible() and not live.is_visible() and caption.is_visible()


def test_thumbs_find_controls_of_44_pixels(browser: Browser, harness: str) -> None:
    context = browser.new_context(
        viewport={"width": 375, "height": 800}, has_touch=True, is_mobile=True
    )
    page = context.new_page()
    page.goto(harness)
    for summary in page.locator("summary").all():
        summary.tap()
    for control in page.locator(
        ".explorable :is(button, select, input, summary):visible"
    ).all():
        box = control.bounding_box()
        assert box and box["height"] >= 44, control.inner_text()
    context.close()


def test_ids_are_unique_and_everything_has_a_name(opened: Page) -> None:
    ids = opened.eval_on_selector_all("[id]", "list => list.map(e => e.id)")
    assert len(ids) == len(set(ids))
    for drawing in opened.locator("[role=img]").all():
        assert len(drawing.get_attribute("aria-label") or "") > 40
    own = "Object.keys(window).filter((key) => key.startsWith('book')).sort()"
    assert opened.evaluate(own) == ["bookExplorables", "bookModules"]


# Returns the size of the smallest text of a drawing, and the texts that leave it.
TEXTS = """(svg) => {
  const box = svg.getBoundingClientRect();
  const zoom = box.width / svg.viewBox.baseVal.width;
  const texts = [...svg.querySelectorAll("text")].filter((each) => each.textContent);
  const cut = texts.filter((each) => {
    const { left, right, top, bottom } = each.getBoundingClientRect();
    return left < box.left - 1 || right > box.right + 1 || top < box.top - 3
      || bottom > box.bottom + 3;
  });
  const sizes = texts.map((each) => zoom * parseFloat(getComputedStyle(each).fontSize));
  return [Math.min(...sizes), cut.map((each) => each.textContent)];
}"""


@pytest.mark.parametrize("width", [375, 900, 1400])
def test_text_in_drawings_grows_with_the_font_of_the_browser(
    page: Page, harness: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(harness)
    smallest: dict[int, dict[str, float]] = {}
    for font in (16, 32):
        page.evaluate(f"document.documentElement.style.fontSize = '{font}px'")
        page.evaluate("new Promise((done) => setTimeout(done, 500))")
        found = {
            name: page.locator(f"#fig-{name} .drawing > svg").first.evaluate(TEXTS)
            for name in NAMES
            if page.locator(f"#fig-{name} .drawing > svg").count()
        }
        assert {name: cut for name, (_, cut) in found.items() if cut} == {}, font
        smallest[font] = {name: size for name, (size, _) in found.items()}
    assert len(smallest[16]) > 12
    for name, size in smallest[32].items():
        # On a phone, there is less room than such a font needs.
        assert size > (11 if width == 375 else 1.8 * smallest[16][name]), name


def test_a_point_is_dragged_where_it_is_seen(page: Page, harness: str) -> None:
    page.goto(harness)
    page.evaluate("document.documentElement.style.fontSize = '32px'")
    drawing = page.locator("#fig-roofline .draggable")
    drawing.scroll_into_view_if_needed()
    page.wait_for_timeout(500)
    x, y = center(drawing)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 250, y - 250, steps=4)
    page.mouse.up()
    (right, top), (near, far) = (x + 250, y - 250), center(drawing)
    assert hypot(near - right, far - top) < hypot(250, 250) - 50


def center(drawing: Locator) -> tuple[float, float]:
    """Return the middle of the point that can be dragged."""
    box = drawing.locator(".ring").first.bounding_box()
    assert box
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
