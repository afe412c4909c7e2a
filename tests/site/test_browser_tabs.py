"""Frameworks in a browser: right in every set, by address and key, and still."""

from functools import partial
from pprint import pformat

import pytest
from browsing import (
    TABS,
    WIDE,
    WITH_TABS,
    Visitor,
    asking,
    choose,
    each,
    probe,
    reach_everything,
    revisit,
    turn,
    wait_until,
)
from playwright.sync_api import Page
from tabsets import chosen

FIRST, CHOSEN = TABS[0], TABS[2]
SECTION = "chapter_gpus/use-gpu.html"


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


def test_the_choice_outlasts_reload_and_leads_on_to_other_pages(open_page: Visitor):
    page = open_page(SECTION)
    choose(page, CHOSEN)
    assert f"tab={CHOSEN}" in page.evaluate("location.search")
    for go in (page.reload, partial(page.goto, open_page.base + SECTION)):
        revisit(page, go)
        assert chosen(page) == CHOSEN and probe(page, "wrongTabs") == []
    turn(page, "prev")
    assert SECTION not in page.url and chosen(page) == CHOSEN


def test_the_address_chooses_before_what_is_kept(open_page: Visitor):
    page = open_page(f"{SECTION}?tab={CHOSEN}")
    assert chosen(page) == CHOSEN and probe(page, "wrongTabs") == []
    choose(page, TABS[1])
    page.goto(f"{open_page.base}{SECTION}?tab={CHOSEN}")
    assert chosen(page) == CHOSEN


@pytest.mark.parametrize("address", ["?tab=nonsense", "?tab=", "?tab=%00", "?other=1"])
def test_an_address_that_names_no_framework_chooses_none(
    open_page: Visitor, address: str
):
    page = open_page(SECTION + address)
    assert chosen(page) == FIRST and probe(page, "wrongTabs") == []


@pytest.mark.parametrize("hash", ["#%E0%A4%A", "#%", "#%00", "#nosuch"])
def test_an_address_that_names_no_place_does_no_harm(open_page: Visitor, hash: str):
    page = open_page(SECTION + hash)
    choose(page, CHOSEN)
    page.evaluate("hash => { location.hash = ''; location.hash = hash; }", hash)
    page.evaluate("() => new Promise(requestAnimationFrame)")
    assert chosen(page) == CHOSEN and probe(page, "wrongTabs") == []


NO_STORAGE = """
  const blocked = () => { throw new DOMException("blocked", "SecurityError"); };
  Object.defineProperty(window, "localStorage", { get: blocked });
  history.replaceState = blocked;
"""


def test_nothing_breaks_where_storage_is_blocked(open_page: Visitor):
    open_page.context().add_init_script(NO_STORAGE)
    page = open_page(SECTION)
    choose(page, CHOSEN)
    assert chosen(page) == CHOSEN and probe(page, "wrongTabs") == []
    page.keyboard.press("t")
    assert chosen(page, "theme") == "dark"
    page.keyboard.press("?")
    page.uncheck("#shortcuts-on")


def test_a_link_into_a_panel_chooses_it(open_page: Visitor):
    ids = probe(open_page(SECTION), "anchorsOf", CHOSEN)
    assert ids
    for anchor in (ids[0], ids[len(ids) // 2], ids[-1]):
        page = open_page(f"{SECTION}#{anchor}")
        assert chosen(page) == CHOSEN and probe(page, "wrongTabs") == [], anchor
        wait_until(page, asking("isInSight"), anchor)
        choose(page, FIRST)
        page.evaluate("id => { location.hash = ''; location.hash = id; }", anchor)
        wait_until(page, asking("isInSight"), anchor)
        assert chosen(page) == CHOSEN, anchor
        page.evaluate("localStorage.clear()")
