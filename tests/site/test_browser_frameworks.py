"""Choosing a framework by bar, address or key sets every tab, and nothing moves."""

from functools import partial
from pprint import pformat

import pytest
from browsing import (
    TABS,
    TOP,
    TOUCH_SCREEN,
    WIDE,
    WITH_TABS,
    Visitor,
    asking,
    choose,
    chosen,
    each,
    probe,
    reach_everything,
    reload,
    revisit,
    turn,
    wait_until,
)
from playwright.sync_api import Page, expect

FIRST, OTHER, LAST = TABS[0], TABS[2], TABS[3]
SECTION = "chapter_gpus/use-gpu.html"


# In every set


@pytest.fixture(params=each(WITH_TABS))
def page_with_tabs(request: pytest.FixtureRequest, open_http_page: Visitor) -> Page:
    return open_http_page(request.param)


def test_the_bar_chooses_in_every_set(page_with_tabs: Page):
    wrong = {"at first": probe(page_with_tabs, "wrongTabs")}
    for tab in [*TABS, FIRST]:
        choose(page_with_tabs, tab)
        wrong[tab] = probe(page_with_tabs, "wrongTabs")
    wrong = {choice: found for choice, found in wrong.items() if found}
    assert not wrong, pformat(wrong)


def test_nothing_jumps_when_the_bar_is_used(page_with_tabs: Page):
    page, jumps = page_with_tabs, []
    reach_everything(page)  # what comes late moves by itself, if by a pixel or two
    for part in (0.1, 0.3, 0.5, 0.7, 0.9):
        probe(page, "mark", part)
        for tab in [*TABS[1:], FIRST]:
            before = probe(page, "mark")
            choose(page, tab)
            jump = probe(page, "placeOfMarked") - before
            if before < WIDE["height"] and abs(jump) > 2:
                jumps.append(f"{jump} px, {tab}, at {part} of the page")
    assert jumps == []


def test_the_choice_outlasts_reload_and_leads_on_to_other_pages(
    open_http_page: Visitor,
):
    page = open_http_page(SECTION)
    choose(page, OTHER)
    assert f"tab={OTHER}" in page.evaluate("location.search")
    for go in (page.reload, partial(page.goto, open_http_page.base + SECTION)):
        revisit(page, go)
        assert chosen(page) == OTHER and probe(page, "wrongTabs") == []
    turn(page, "prev")
    assert SECTION not in page.url and chosen(page) == OTHER


def test_the_address_chooses_before_what_is_kept(open_page: Visitor):
    page = open_page(f"{SECTION}?tab={OTHER}")
    assert chosen(page) == OTHER and probe(page, "wrongTabs") == []
    choose(page, TABS[1])
    page.goto(f"{open_page.base}{SECTION}?tab={OTHER}")
    assert chosen(page) == OTHER


@pytest.mark.parametrize("address", ["?tab=nonsense", "?tab=", "?tab=%00", "?other=1"])
def test_an_address_that_names_no_framework_chooses_none(
    open_page: Visitor, address: str
):
    page = open_page(SECTION + address)
    assert chosen(page) == FIRST and probe(page, "wrongTabs") == []


@pytest.mark.parametrize("hash", ["#%E0%A4%A", "#%", "#%00", "#nosuch"])
def test_an_address_that_names_no_place_does_no_harm(open_page: Visitor, hash: str):
    page = open_page(SECTION + hash)
    choose(page, OTHER)
    page.evaluate("hash => { location.hash = ''; location.hash = hash; }", hash)
    page.evaluate("() => new Promise(requestAnimationFrame)")
    assert chosen(page) == OTHER and probe(page, "wrongTabs") == []


NO_STORAGE = """
  const blocked = () => { throw new DOMException("blocked", "SecurityError"); };
  Object.defineProperty(window, "localStorage", { get: blocked });
  history.replaceState = blocked;
"""


def test_nothing_breaks_where_storage_is_blocked(open_page: Visitor):
    open_page.context().add_init_script(NO_STORAGE)
    page = open_page(SECTION)
    choose(page, OTHER)
    assert chosen(page) == OTHER and probe(page, "wrongTabs") == []
    page.keyboard.press("t")
    assert chosen(page, "theme") == "dark"
    page.keyboard.press("?")
    page.uncheck("#shortcuts-on")
    page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide'))")
    page.evaluate("location.hash = '#again=nothing'")
    page.reload()
    assert page.locator("h1").first.is_visible()


def test_a_link_into_a_panel_chooses_it(open_page: Visitor):
    ids = probe(open_page(SECTION), "anchorsOf", OTHER)
    assert ids
    for anchor in (ids[0], ids[len(ids) // 2], ids[-1]):
        page = open_page(f"{SECTION}#{anchor}")
        assert chosen(page) == OTHER and probe(page, "wrongTabs") == [], anchor
        wait_until(page, asking("isInSight"), anchor)
        choose(page, FIRST)
        page.evaluate("id => { location.hash = ''; location.hash = id; }", anchor)
        wait_until(page, asking("isInSight"), anchor)
        assert chosen(page) == OTHER, anchor
        page.evaluate("localStorage.clear()")


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


def test_a_choice_through_the_address_is_remembered(open_http_page: Visitor):
    page = open_http_page(f"{SECTION}?tab={OTHER}")
    for _ in range(2):
        turn(page)
        assert chosen(page) == OTHER and probe(page, "wrongTabs") == []


def test_a_link_into_a_panel_is_remembered(open_http_page: Visitor):
    anchor = probe(open_http_page(SECTION), "anchorsOf", OTHER)[0]
    page = open_http_page(f"{SECTION}#{anchor}")
    turn(page)
    assert chosen(page) == OTHER


WAYS = {
    "bar": choose,
    "key": lambda page, tab: page.keyboard.press(str(TABS.index(tab) + 1)),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_latest_choice_wins_after_back_and_forward(
    open_http_page: Visitor, way: str
):
    page = open_http_page(f"{SECTION}?tab={OTHER}")
    turn(page)
    WAYS[way](page, LAST)
    reload(page)  # the browser stores the choice a bit later
    for move in (page.go_back, partial(reload, page), page.go_forward):
        move()
        wait_until(page, f"document.documentElement.dataset.tab === '{LAST}'")
        assert probe(page, "wrongTabs") == []
        assert f"tab={OTHER}" not in page.url


def test_the_latest_choice_wins_over_a_panel_in_the_address(open_http_page: Visitor):
    anchor = probe(open_http_page(SECTION), "anchorsOf", OTHER)[0]
    page = open_http_page(f"{SECTION}#{anchor}")
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
    before = caption.evaluate(TOP)
    if is_kept:
        show_again(page, tab=LAST)
    else:
        choose(page, LAST)
    assert chosen(page) == LAST
    assert caption.evaluate(TOP) == pytest.approx(before, abs=2)


def test_nothing_jumps_on_a_page_that_was_kept(open_http_page: Visitor):
    page = open_http_page(SECTION)
    before = probe(page, "mark", 0.5)
    show_again(page, tab=LAST)
    assert abs(probe(page, "placeOfMarked") - before) <= 2
