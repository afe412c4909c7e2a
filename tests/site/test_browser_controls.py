"""The page's other controls, by keyboard: colours, shortcuts, drawers, copying."""

import pytest
from browsing import (
    PAGES,
    PHONE,
    TABS,
    WITH_TABS,
    Visitor,
    probe,
    reach_everything,
    reload,
)
from playwright.sync_api import Page, expect

SECTION = WITH_TABS[0]
TOUCH_SCREEN = {"viewport": PHONE, "is_mobile": True, "has_touch": True}


def root(page: Page, key: str) -> str:
    return page.evaluate("key => document.documentElement.dataset[key]", key)


# Focus


@pytest.mark.parametrize("path", PAGES)
def test_tab_leads_through_the_page_in_sight(open_http_page: Visitor, path: str):
    page = open_http_page(path)
    wrong, stops = [], 0
    page.keyboard.press("Tab")
    while (found := probe(page, "focused")) is not None:
        wrong += found
        stops += 1
        assert stops < 1000, "there is no way out"
        page.keyboard.press("Tab")
    assert stops > 5 and not wrong, wrong


def test_the_first_stop_skips_to_the_text(open_http_page: Visitor):
    page = open_http_page(SECTION)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip-link"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "text"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('#text') !== null")


# Colours


def background(page: Page) -> str:
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_colours_follow_the_system_until_chosen(open_page: Visitor):
    page = open_page(SECTION)
    button = page.locator("#theme-button")
    found, names = {}, set()
    for theme in ("auto", "light", "dark"):
        assert root(page, "theme") == theme
        names.add(button.get_attribute("aria-label"))
        for system in ("light", "dark"):
            page.emulate_media(color_scheme=system)
            found[theme, system] = background(page)
        reload(page)
        assert root(page, "theme") == theme
        button.focus()
        page.keyboard.press("Enter")
    assert root(page, "theme") == "auto" and len(names) == 3
    light, dark = found["light", "light"], found["dark", "dark"]
    assert light != dark
    assert found["auto", "light"] == found["light", "dark"] == light
    assert found["auto", "dark"] == found["dark", "light"] == dark


# Shortcuts


def test_the_list_of_shortcuts_opens_and_closes(open_http_page: Visitor):
    page = open_http_page(SECTION)
    dialog = page.locator("#shortcuts")
    for close in ("Escape", "Enter"):
        page.focus("#theme-button")
        page.keyboard.press("?")
        assert dialog.is_visible()
        if close == "Enter":
            dialog.locator("form button").focus()
        page.keyboard.press(close)
        assert not dialog.is_visible()
        assert page.evaluate("document.activeElement.id") == "theme-button"
    page.click("#shortcuts-button")
    assert dialog.is_visible()


def test_single_keys_can_be_turned_off_for_good(open_page: Visitor):
    page = open_page(SECTION)
    page.keyboard.press("?")
    page.focus("#shortcuts-on")
    page.keyboard.press("Space")
    page.keyboard.press("Escape")
    for _ in range(2):
        for key in ("?", "2", "t"):
            page.keyboard.press(key)
        assert not page.locator("#shortcuts").is_visible()
        assert (root(page, "tab"), root(page, "theme")) == (TABS[0], "auto")
        reload(page)
    page.click("#shortcuts-button")
    page.check("#shortcuts-on")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert page.locator("#shortcuts").is_visible()


def test_keys_choose_frameworks_colours_and_pages(open_http_page: Visitor):
    page = open_http_page(SECTION)
    for number, tab in reversed(list(enumerate(TABS, start=1))):
        page.keyboard.press(str(number))
        assert root(page, "tab") == tab
    page.keyboard.press("t")
    assert root(page, "theme") == "light"
    page.keyboard.press("Control+2")
    assert root(page, "tab") == TABS[0]
    before = page.url
    for key in ("n", "p"):
        with page.expect_navigation():
            page.keyboard.press(key)
    assert page.url.split("?")[0] == before.split("?")[0]


# Drawers


@pytest.mark.parametrize("drawer", ["book-contents", "page-contents"])
def test_a_drawer_opens_and_closes_by_keyboard(open_http_page: Visitor, drawer: str):
    page = open_http_page(SECTION, **TOUCH_SCREEN)
    button = page.locator(f"[popovertarget={drawer}]")
    contents = page.locator(f"#{drawer}")
    box = button.bounding_box()
    assert box and min(box["width"], box["height"]) >= 44
    assert not contents.is_visible()
    button.focus()
    page.keyboard.press("Enter")
    assert contents.is_visible()
    page.keyboard.press("Tab")
    assert contents.evaluate("drawer => drawer.contains(document.activeElement)")
    page.keyboard.press("Escape")
    assert not contents.is_visible()
    assert button.evaluate("button => button === document.activeElement")


def test_a_drawer_closes_when_it_was_used(open_http_page: Visitor):
    page = open_http_page(SECTION, **TOUCH_SCREEN)
    page.tap("[popovertarget=page-contents]")
    link = page.locator("#page-contents a[href^='#']").last
    target = page.locator(f"{link.get_attribute('href')}")
    link.tap()
    page.wait_for_function("!document.querySelector(':popover-open')", timeout=5000)
    assert target.evaluate("target => target.getBoundingClientRect().top") >= 47


def test_a_wide_page_shows_its_contents(open_http_page: Visitor):
    page = open_http_page(SECTION)
    for contents in ("book-contents", "page-contents"):
        assert page.is_visible(f"#{contents}")
        assert not page.is_visible(f"[popovertarget={contents}]")
    assert page.locator("#book-contents [aria-current=page]").count() == 1
    page.locator("main h2").last.scroll_into_view_if_needed()
    page.evaluate("scrollTo({ top: document.body.scrollHeight, behavior: 'instant' })")
    page.wait_for_function(
        "document.querySelectorAll('#page-contents [aria-current]').length === 1",
        timeout=5000,
    )


# Copying


def test_copying_gives_the_code_and_nothing_else(open_http_page: Visitor):
    open_http_page.context().grant_permissions(["clipboard-read", "clipboard-write"])
    page = open_http_page(SECTION)
    blocks = page.locator(".highlight:has(.copy):visible")
    expect(blocks.nth(3)).to_be_visible()  # a script puts the buttons there
    for block in blocks.all()[:5]:
        button = block.locator(".copy")
        name = button.inner_text()
        button.focus()
        page.keyboard.press("Enter")
        expect(button).not_to_have_text(name)
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == block.locator("pre").text_content()
        assert copied.strip() and name not in copied.splitlines()
        assert not any(line.startswith((">>> ", "$ ")) for line in copied.splitlines())


SEEN_OPACITY = "buttons => buttons.map((b) => Number(getComputedStyle(b).opacity))"


def test_the_copy_buttons_show_where_nothing_hovers(open_http_page: Visitor):
    page = open_http_page(SECTION, **TOUCH_SCREEN)
    buttons = page.locator(".copy:visible")
    expect(
        page.locator("div:not(.output) > .highlight:not(:has(.copy))")
    ).to_have_count(0)
    assert buttons.count() > 3
    assert set(buttons.evaluate_all(SEEN_OPACITY)) == {1}
    boxes = [button.bounding_box() for button in buttons.all()]
    assert all(box and min(box["width"], box["height"]) >= 44 for box in boxes)


# From page to page


def test_next_and_previous_lead_through_the_book(open_page: Visitor):
    page = open_page(PAGES[0])
    for rel, ends_at in [("next", PAGES[-1]), ("prev", PAGES[0])]:
        link = page.locator(f"footer a[rel={rel}]")
        seen = [address(page, open_page.base)]
        while link.count():
            with page.expect_navigation():
                link.click()
            reach_everything(page)
            seen.append(address(page, open_page.base))
        assert seen[-1] == ends_at and sorted(seen) == sorted(PAGES)


def address(page: Page, base: str) -> str:
    return page.url.removeprefix(base).split("?")[0].split("#")[0]
