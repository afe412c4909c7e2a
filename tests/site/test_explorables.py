"""The interactive figures on a page; `tests/static` has the tests of their scripts."""

import gzip

import pytest
from figures import NAMES, result
from playwright.sync_api import Browser, Page, expect

from book.base.paths import STATIC
from book.library import figures, package
from book.text.book import Book

SHARED = {"arithmetic", "cards", "explorable"}
# The most bytes of a figure's own scripts, compressed.
BUDGETS = {"roofline": 15_000, "sectors": 15_000, "warps": 15_000} | {
    "collectives": 17_000,
    "plans": 17_000,
}


@pytest.mark.parametrize("name", BUDGETS)
def test_a_figure_is_light(name: str) -> None:
    own = (script for script in figures.scripts_of(name) if script not in SHARED)
    files = (STATIC / "explorables" / f"{script}.js" for script in own)
    size = sum(len(gzip.compress(file.read_bytes())) for file in files)
    assert size <= BUDGETS[name]


def test_pages_have_the_cards_of_the_library(page: Page, harness: str) -> None:
    cards = package.cards(Book(STATIC.parent))
    assert cards["H100"]["cores"] == 132 and len(cards) > 5
    page.goto(harness)
    assert page.evaluate("bookModules.cards.cards") == cards


def test_sources_are_links(page: Page, harness: str) -> None:
    page.goto(harness)
    assert not any("](" in text for text in page.locator(".notes").all_text_contents())
    assert page.locator(".notes a[href^='https://']").count() > 20


def open_all(page: Page, name: str) -> None:
    """Open what is folded away in a figure."""
    for summary in page.locator(f"#fig-{name} summary").all():
        summary.click()


def test_a_slider_moves_by_keyboard(page: Page, harness: str) -> None:
    page.goto(harness)
    assert "take 600 µs" in result(page, "queue")
    slider = page.get_by_label("Fetch the loss")
    slider.focus()
    page.keyboard.press("Home")
    assert "take 960 µs" in result(page, "queue")  # 12 · (20 + 40 + 20)
    assert slider.get_attribute("aria-valuetext") == "after every step"
    page.keyboard.press("ArrowRight")
    assert "take 720 µs" in result(page, "queue")
    page.keyboard.press("End")
    assert "Without a fetch" in result(page, "queue")


def test_presets_set_the_sliders_and_sliders_leave_the_preset(
    page: Page, harness: str
) -> None:
    page.goto(harness)
    figure = page.locator("#fig-worth-moving")
    open_all(page, "worth-moving")
    figure.get_by_label("Machine").select_option("p100")
    link = page.get_by_label("Link, in one direction")
    assert link.get_attribute("aria-valuetext") == "16\N{NO-BREAK SPACE}GB/s"
    link.focus()
    page.keyboard.press("ArrowRight")
    assert figure.get_by_label("Machine").input_value() == "own"
    figure.get_by_role("button", name="Reset").click()
    assert figure.get_by_label("Machine").input_value() == "h100"
    assert link.get_attribute("aria-valuetext") == "64\N{NO-BREAK SPACE}GB/s"


def test_the_setting_is_in_the_address(page: Page, harness: str) -> None:
    page.goto(f"{harness}?tab=jax&x=%20y#here")
    page.get_by_label("Fetch the loss").focus()
    page.keyboard.press("Home")
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


def test_actions_are_in_the_address(page: Page, harness: str) -> None:
    page.goto(harness)
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


@pytest.mark.parametrize(
    "query",
    [
        "queue.every=3.5&queue.host=1e9&queue.preset=none",
        "queue.every=&queue.host=abc&queue.device=-1",
        "queue.every=%E0%A4%A&queue.fetch=Infinity",
        "worth-moving.n=1000&worth-moving.cpu=NaN&worth-moving.machine=%3Cb%3E",
        "two-devices.x=gpu7&two-devices.size=3&two-devices.did=add-drop",
        "two-devices.did=" + "-".join(["add"] * 99),
        "queue.every&=&&queue.=1",
        "memory-timeline.model=gpt9&memory-timeline.batch=3&memory-timeline.gpus=0",
        "allocator.did=30-fz&allocator.policy=buddy&allocator.count=13",
        "allocator.did=&allocator.did=--&allocator.size=7e9",
        "roofline.n=500&roofline.machine=h1000&roofline.overhead=-1&roofline.rate=x",
        "sectors.stride=0&sectors.size=3&warps.registers=256&warps.card=%E0&warps.n=9e9",
        "collectives.n=17&collectives.round=99&collectives.slow=7&collectives.bytes=0",
        "plans.model=gpt9&plans.gpus=7&plans.zero=4&plans.batch=-1&plans.rate=x",
    ],
)
def test_a_bad_address_gives_the_first_setting(
    page: Page, harness: str, query: str
) -> None:
    page.goto(harness)
    expected = [result(page, name) for name in NAMES]
    page.goto(f"{harness}?{query}")
    assert [result(page, name) for name in NAMES] == expected


def test_two_devices_follow_the_framework(page: Page, harness: str) -> None:
    page.goto(harness)
    page.get_by_role("button", name="Compute X + Y").click()
    heard = {"pytorch": result(page, "two-devices")}
    for tab in ("mxnet", "jax", "tensorflow"):
        page.evaluate(
            "tab => document.dispatchEvent(new CustomEvent('book:choice', "
            "{detail: {axis: 'tab', value: tab}}))",
            tab,
        )
        heard[tab] = result(page, "two-devices")
    assert "With PyTorch, X + Y raises an error" in heard["pytorch"]
    assert "MXNet 1.9.1 does not notice" in heard["mxnet"]
    assert "With JAX, X + Y raises an error" in heard["jax"]
    assert "TensorFlow does not say so, but Y is copied" in heard["tensorflow"]


def test_paper_shows_the_picture(page: Page, harness: str) -> None:
    page.goto(harness)
    picture, live = (
        page.locator("#fig-queue img"),
        page.locator("#fig-queue .explorable"),
    )
    assert live.is_visible() and not picture.is_visible()
    page.emulate_media(media="print")
    assert picture.is_visible() and not live.is_visible()
    assert page.locator("#fig-queue figcaption").is_visible()


@pytest.mark.parametrize("width", [320, 375, 1100])
def test_nothing_is_wider_than_the_page(page: Page, harness: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    did = "two-devices.did=add-copy-fetch"
    page.goto(f"{harness}?{did}&queue.preset=large&worth-moving.products=1000")
    for summary in page.locator("summary").all():
        summary.click()
    page.wait_for_timeout(200)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for drawing in page.locator(".drawing svg").all():
        box = drawing.bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= width


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


def test_ids_are_unique_and_everything_has_a_name(page: Page, harness: str) -> None:
    page.goto(harness)
    page.wait_for_timeout(200)
    ids = page.eval_on_selector_all("[id]", "list => list.map(e => e.id)")
    assert len(ids) == len(set(ids))
    for drawing in page.locator("[role=img]").all():
        assert len(drawing.get_attribute("aria-label") or "") > 40
    for control in page.locator(".control :is(input, select)").all():
        assert page.locator(f"label[for={control.get_attribute('id')}]").count() == 1
    extra = page.evaluate(
        "Object.keys(window).filter(k => k.startsWith('book')).sort()"
    )
    assert extra == ["bookExplorables", "bookModules"]
