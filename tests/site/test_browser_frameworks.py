"""The choice of a framework: in the bar, by address, and after Back."""

from functools import partial

import pytest
from browsing import (
    TABS,
    TOUCH_SCREEN,
    WIDE,
    Visitor,
    choose,
    probe,
    reload,
    turn,
    wait_until,
)
from playwright.sync_api import Page, expect
from tabsets import chosen

FIRST, OTHER, LAST = TABS[0], TABS[2], TABS[3]
SECTION = "chapter_gpus/use-gpu.html"


# In the bar


def test_the_bar_is_one_stop_where_arrows_choose(open_page: Visitor):
    page = open_page(SECTION)
    page.focus("#frameworks :checked")
    for tab in [*TABS[1:], FIRST]:
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.value") == chosen(page) == tab
    assert probe(page, "wrongTabs") == []
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "compare-button"


def test_shortcuts_work_after_a_choice_in_the_bar(open_http_page: Visitor):
    page = open_http_page(SECTION)
    page.click(f"#frameworks [value={OTHER}]")
    page.keyboard.press("2")
    assert chosen(page) == TABS[1]


@pytest.mark.parametrize("width", [704, 768, 1400])
def test_a_wide_bar_shows_every_framework(open_http_page: Visitor, width: int):
    page = open_http_page(SECTION, viewport={"width": width, "height": 800})
    labels = page.locator("#frameworks label:visible")
    assert labels.count() == len(TABS)
    assert not page.is_visible(".framework-button")
    boxes = [box for label in labels.all() if (box := label.bounding_box())]
    assert len({box["y"] for box in boxes}) == 1
    assert page.locator("#frameworks .chosen:visible").count() == 1
    position = "box => getComputedStyle(box).position"
    assert page.locator("#frameworks").evaluate(position) == "static"
    expect(page.locator("#compare-button > span")).to_be_visible()


@pytest.mark.parametrize("width", [320, 375])
def test_on_a_phone_a_button_opens_the_frameworks(open_page: Visitor, width: int):
    size = {"width": width, "height": 812}
    page = open_page(f"{SECTION}?tab={OTHER}", **{**TOUCH_SCREEN, "viewport": size})
    button, frameworks = page.locator(".framework-button"), page.locator("#frameworks")
    assert "JAX" in button.inner_text() and not frameworks.is_visible()
    button.tap()
    for box in [button, *frameworks.locator("input").all()]:
        found = box.bounding_box()
        assert found and found["height"] >= 36 and found["x"] + found["width"] <= width
    frameworks.locator(f"[value={LAST}]").tap()
    expect(frameworks).not_to_be_visible()
    assert chosen(page) == LAST and "TensorFlow" in button.inner_text()


def test_on_a_narrow_screen_enter_opens_the_comparison(open_http_page: Visitor):
    page = open_http_page(SECTION, viewport={"width": 500, "height": 800})
    for control in (".framework-button", "#compare-button"):
        page.focus(control)
        page.keyboard.press("Enter")
    expect(page.locator("#comparison")).to_be_visible()


def test_on_a_narrow_screen_enter_closes_the_frameworks(open_http_page: Visitor):
    page = open_http_page(SECTION, viewport={"width": 500, "height": 800})
    page.focus(".framework-button")
    page.keyboard.press("Enter")
    page.focus("#frameworks :checked")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert chosen(page) == TABS[1]
    expect(page.locator("#frameworks")).not_to_be_visible()


def test_a_bar_that_is_painted_early_shows_the_choice(open_http_page: Visitor):
    context = open_http_page.context(viewport=WIDE)
    context.add_init_script(f"localStorage.setItem('tab', '{OTHER}')")
    context.route("**/site.js", lambda route: route.fulfill(body=""))
    page = open_http_page(SECTION, viewport=WIDE)
    marks = page.locator("#frameworks .chosen:visible")
    assert marks.evaluate_all("ms => ms.map((m) => m.dataset.framework)") == [OTHER]


# The latest choice


def test_a_choice_through_the_address_is_remembered(open_page: Visitor):
    page = open_page(f"{SECTION}?tab={OTHER}")
    for _ in range(2):
        turn(page)
        assert chosen(page) == OTHER and probe(page, "wrongTabs") == []


def test_a_link_into_a_panel_is_remembered(open_page: Visitor):
    anchor = probe(open_page(SECTION), "anchorsOf", OTHER)[0]
    page = open_page(f"{SECTION}#{anchor}")
    turn(page)
    assert chosen(page) == OTHER


WAYS = {
    "bar": choose,
    "key": lambda page, tab: page.keyboard.press(str(TABS.index(tab) + 1)),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_latest_choice_wins_after_back_and_forward(open_page: Visitor, way: str):
    page = open_page(f"{SECTION}?tab={OTHER}")
    turn(page)
    WAYS[way](page, LAST)
    reload(page)  # the browser stores the choice a bit later
    for move in (page.go_back, partial(reload, page), page.go_forward):
        move()
        wait_until(page, f"document.documentElement.dataset.tab === '{LAST}'")
        assert probe(page, "wrongTabs") == []
        assert f"tab={OTHER}" not in page.url


def test_the_latest_choice_wins_over_a_panel_in_the_address(open_page: Visitor):
    anchor = probe(open_page(SECTION), "anchorsOf", OTHER)[0]
    page = open_page(f"{SECTION}#{anchor}")
    choose(page, LAST)
    turn(page)
    page.go_back()
    assert chosen(page) == LAST and page.locator(f"#{anchor}").is_hidden()


def test_after_a_reload_a_panel_in_the_address_stays_hidden(open_http_page: Visitor):
    panel = open_http_page(SECTION).locator(f".place > [data-choices={OTHER}]").last
    anchor = panel.get_attribute("id")
    page = open_http_page(f"{SECTION}?tab={OTHER}#{anchor}")
    expect(page.locator(f"#{anchor}")).to_be_visible()
    page.keyboard.press("1")
    reload(page)
    assert chosen(page) == FIRST
    expect(page.locator(f"#{anchor}")).to_be_hidden()


def show_again(page: Page, **stored: str) -> None:
    """Show the page as a browser does that has kept it while choices were stored."""
    page.evaluate("stored => Object.assign(localStorage, stored)", stored)
    shown_again = "new PageTransitionEvent('pageshow', { persisted: true })"
    page.evaluate(f"dispatchEvent({shown_again})")


def test_a_page_that_was_kept_shows_the_latest_choice(open_page: Visitor):
    page = open_page(SECTION)
    show_again(page, tab=OTHER)
    assert chosen(page) == OTHER and probe(page, "wrongTabs") == []


def test_a_page_that_was_kept_ends_a_comparison(open_http_page: Visitor):
    page = open_http_page(f"{SECTION}?tab={FIRST}&beside={OTHER}")
    show_again(page, tab=OTHER, beside="none", theme="dark", predict="off")
    choices = {"tab": OTHER, "beside": "none", "theme": "dark", "predict": "off"}
    for key, value in choices.items():
        assert chosen(page, key) == value
        assert page.evaluate("key => localStorage.getItem(key)", key) == value
    assert page.input_value("#settings-menu [name=theme]:checked") == "dark"
    show_again(page, tab="nonsense", theme="pink")
    assert (chosen(page), chosen(page, "theme")) == (OTHER, "dark")
    assert probe(page, "wrongTabs") == []


@pytest.mark.parametrize("is_kept", [True, False])
def test_nothing_jumps_below_an_interactive_figure(
    open_http_page: Visitor, is_kept: bool
):
    page = open_http_page(SECTION)
    figure = page.locator("figure[data-explorable=two-devices]")
    figure.scroll_into_view_if_needed()
    expect(figure.locator("> .explorable")).to_have_count(1)
    half = """({ offsetTop: top, offsetHeight: height }) =>
      scrollTo({ top: top + height / 2, behavior: "instant" })"""
    figure.evaluate(half)
    caption = figure.locator("figcaption")
    top = "element => element.getBoundingClientRect().top"
    before = caption.evaluate(top)
    if is_kept:
        show_again(page, tab=LAST)
    else:
        choose(page, LAST)
    assert chosen(page) == LAST
    assert caption.evaluate(top) == pytest.approx(before, abs=2)


def test_nothing_jumps_on_a_page_that_was_kept(open_http_page: Visitor):
    page = open_http_page(SECTION)
    before = probe(page, "mark", 0.5)
    show_again(page, tab=LAST)
    assert abs(probe(page, "placeOfMarked") - before) <= 2
