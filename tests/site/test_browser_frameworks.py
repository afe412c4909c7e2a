"""The choice of a framework: in the bar, at one place, by address, and after Back."""

from functools import partial

import pytest
from browsing import (
    PHONE,
    TABS,
    WIDE,
    Visitor,
    choose,
    probe,
    reload,
    turn,
    wait_until,
)
from playwright.sync_api import Locator, Page, Route, expect
from tabsets import chosen

FIRST, OTHER, LAST = TABS[0], TABS[2], TABS[3]
SECTION = "chapter_gpus/use-gpu.html"
TOUCH_SCREEN = {"viewport": PHONE, "is_mobile": True, "has_touch": True}
LABEL = ".place:visible > .tab-panel > .tab-label > button:visible"


def open_menu(page: Page, number: int = 0) -> Locator:
    """Open the menu of a label and return the set that the label belongs to."""
    label = page.locator(LABEL).nth(number)
    place = label.locator("xpath=ancestor::*[contains(@class, 'place')][1]")
    place = page.locator(f"#{place.get_attribute('id')}")
    label.click()
    return place


def show_here(page: Page, tab: str, number: int = 0) -> Locator:
    place = open_menu(page, number)
    page.click(f"#place-menu [data-choice={tab}]")
    return place


def shown(place: Locator) -> str:
    return place.locator("> .tab-panel:visible").get_attribute("data-choices") or ""


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
    expect(page.locator("#compare-button > span")).to_be_hidden()


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


# At one place


def test_a_label_shows_one_place_in_another_framework(open_page: Visitor):
    page = open_page(SECTION)
    place = show_here(page, OTHER, 1)
    assert OTHER in shown(place).split()
    assert page.locator("[data-shown]").count() == 1
    assert chosen(page) == FIRST and probe(page, "wrongTabs") == []
    label = place.locator("> .tab-panel > .tab-label > button:visible")
    assert label.evaluate("label => label === document.activeElement")
    show_here(page, FIRST, 1)
    assert page.locator("[data-shown]").count() == 0 and FIRST in shown(place).split()


def test_nothing_jumps_under_a_label(open_http_page: Visitor):
    assert probe(open_http_page(SECTION), "jumpsAtLabels") == []


def test_a_place_keeps_its_framework_until_a_later_choice(open_page: Visitor):
    page = open_page(SECTION)
    place = show_here(page, OTHER, 1)
    reload(page)
    assert OTHER in shown(place).split()
    turn(page)
    page.go_back()
    assert OTHER in shown(place).split() and chosen(page) == FIRST
    choose(page, LAST)
    assert LAST in shown(place).split() and page.locator("[data-shown]").count() == 0


def test_a_menu_chooses_for_the_whole_book_too(open_page: Visitor):
    page = open_page(SECTION)
    everywhere = page.locator("#place-menu [data-everywhere]")
    open_menu(page, 1)
    assert not everywhere.is_visible()
    page.keyboard.press("Escape")
    show_here(page, OTHER, 1)
    open_menu(page, 1)
    assert everywhere.inner_text() == "Use JAX everywhere"
    everywhere.click()
    assert chosen(page) == OTHER and page.locator("[data-shown]").count() == 0
    assert page.evaluate("localStorage.getItem('tab')") == OTHER


def test_the_menu_works_by_keyboard(open_page: Visitor):
    page = open_page(SECTION)
    menu, label = page.locator("#place-menu"), page.locator(LABEL).nth(2)
    focused = "document.activeElement.dataset.choice"
    label.focus()
    page.keyboard.press("Enter")
    assert menu.is_visible() and page.evaluate(focused) == FIRST
    for key, tab in [("ArrowDown", TABS[1]), ("End", LAST), ("ArrowDown", FIRST)]:
        page.keyboard.press(key)
        assert page.evaluate(focused) == tab, key
    for key in ("Escape", "Tab"):
        page.keyboard.press(key)
        assert not menu.is_visible(), key
        if key == "Escape":
            assert label.evaluate("label => label === document.activeElement")
            page.keyboard.press("Enter")
    label.focus()
    for key in ("Enter", "End", "Enter"):
        page.keyboard.press(key)
    assert page.locator(f"[data-shown={LAST}]").count() == 1
    assert "TensorFlow" in page.evaluate("document.activeElement.textContent")


def test_a_second_click_closes_the_menu(open_http_page: Visitor):
    page = open_http_page(SECTION)
    menu, labels = page.locator("#place-menu"), page.locator(LABEL)
    for number, is_open in [(1, True), (1, False), (1, True), (0, True), (0, False)]:
        labels.nth(number).click()
        assert menu.is_visible() is is_open, number


def test_the_menu_stays_at_its_label_when_a_figure_grows_above(open_http_page: Visitor):
    held: list[Route] = []
    context = open_http_page.context()
    context.route("**/explorables.css", lambda route: held.append(route))
    page = open_http_page(SECTION)
    figure = page.locator("figure[data-explorable=map]")
    height = figure.evaluate("figure => figure.offsetHeight")
    with page.expect_request("**/explorables.css"):
        figure.scroll_into_view_if_needed()
    label = page.locator(LABEL).nth(1)
    label.click()
    tops = """label => [label, document.querySelector("#place-menu")]
        .map((element) => element.getBoundingClientRect().top)"""
    before = label.evaluate(tops)
    assert held
    for route in held:
        route.continue_()
    expect(figure.locator("> .explorable")).to_have_count(1)
    assert figure.evaluate("figure => figure.offsetHeight") > height + 50
    assert label.evaluate(tops) == pytest.approx(before, abs=1)


def test_keys_in_the_menu_are_not_shortcuts(open_http_page: Visitor):
    page = open_http_page(SECTION)
    page.locator(LABEL).first.focus()
    page.keyboard.press("Enter")
    for key in ("p", "3", "/"):
        page.keyboard.press(key)
    assert page.locator("#place-menu").is_visible()
    assert SECTION in page.url and chosen(page) == FIRST


def test_a_menu_stays_in_view(open_http_page: Visitor):
    page = open_http_page(SECTION, **TOUCH_SCREEN)
    for label in page.locator(LABEL).all()[:4]:
        label.evaluate("label => label.scrollIntoView({ block: 'end' })")
        label.tap()
        box = page.locator("#place-menu").bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"]
        assert box["y"] >= 0 and box["y"] + box["height"] <= PHONE["height"]
        page.keyboard.press("Escape")


EDGES = """places => places.map((place) => {
  const rule = getComputedStyle(place, "::before");
  const { left, height } = place.getBoundingClientRect();
  const x = left + parseFloat(rule.left) + parseFloat(rule.borderLeftWidth);
  return [left - x, x, height - parseFloat(rule.height)];
})"""


@pytest.mark.parametrize("width", [320, 375, 768, 1400])
def test_a_rule_in_the_margin_is_as_long_as_the_place(
    open_http_page: Visitor, width: int
):
    page = open_http_page(SECTION, viewport={"width": width, "height": 800})
    for distance, x, difference in page.locator(".place:visible").evaluate_all(EDGES):
        assert distance >= 6 and x >= 2 and abs(difference) < 1


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


def use_label(page: Page, tab: str) -> None:
    show_here(page, tab, 1)
    open_menu(page, 1)
    page.click("#place-menu [data-everywhere]")


WAYS = {
    "bar": choose,
    "key": lambda page, tab: page.keyboard.press(str(TABS.index(tab) + 1)),
    "label": use_label,
    "row": lambda page, tab: page.click(f".tab-list:visible > [data-choice={tab}]"),
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
    assert chosen(page) == LAST
    # What the address leads to is still there to be seen, at its place.
    assert page.locator(f"#{anchor}").is_visible()


def test_after_a_reload_a_panel_in_the_address_stays_hidden(open_http_page: Visitor):
    panel = open_http_page(SECTION).locator(f".place > [data-choices={OTHER}]").last
    anchor = panel.get_attribute("id")
    page = open_http_page(f"{SECTION}?tab={OTHER}#{anchor}")
    expect(page.locator(f"#{anchor}")).to_be_visible()
    page.keyboard.press("1")
    reload(page)
    assert chosen(page) == FIRST and page.locator("[data-shown]").count() == 0
    expect(page.locator(f"#{anchor}")).to_be_hidden()


def test_the_latest_choice_at_a_place_wins_after_back(open_http_page: Visitor):
    page = open_http_page(SECTION)
    place = show_here(page, OTHER, 1)
    page.evaluate("location.hash = '#exercises'")
    show_here(page, LAST, 1)
    page.go_back()
    wait_until(page, "!location.hash")
    assert LAST in shown(place).split()
    reload(page)
    assert LAST in shown(place).split()


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
    assert page.get_attribute("#theme-button", "title") == "Colors: dark"
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
