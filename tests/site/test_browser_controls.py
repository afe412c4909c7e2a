"""The page's other controls, by keyboard: colours, shortcuts, drawers, copying."""

import pytest
from browsing import (
    PAGES,
    PHONE,
    TABS,
    TOUCH_SCREEN,
    WITH_TABS,
    Visitor,
    chosen,
    each,
    probe,
    reach_everything,
    reload,
    wait_for_copy_buttons,
)
from playwright.sync_api import Page, expect

SECTION = WITH_TABS[0]
NARROW = {"width": 320, "height": 640}


# Focus


@pytest.mark.parametrize("path", each(PAGES))
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


LATER = """
  window.waiting = [];
  window.requestIdleCallback = (work) => window.waiting.push(work);
"""


def test_the_contents_do_not_scroll_away_from_the_focus(open_http_page: Visitor):
    open_http_page.context().add_init_script(LATER)
    page = open_http_page("chapter_gpus/solutions-pitfalls.html")
    page.locator("#book-contents a").first.focus()
    page.evaluate("window.waiting.forEach((work) => work())")
    assert probe(page, "focused") == []


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


def test_colours_follow_the_system_until_chosen(open_http_page: Visitor):
    page = open_http_page(SECTION)
    button, found = page.locator("#settings-button"), {}
    for theme in ("auto", "light", "dark"):
        assert chosen(page, "theme") == theme
        for system in ("light", "dark"):
            page.emulate_media(color_scheme=system)
            found[theme, system] = background(page)
        reload(page)
        assert chosen(page, "theme") == theme
        button.focus()
        page.keyboard.press("Enter")
        page.focus("#settings-menu [name=theme]:checked")
        page.keyboard.press("ArrowDown")
    assert chosen(page, "theme") == "auto"
    light, dark = found["light", "light"], found["dark", "dark"]
    assert light != dark
    assert found["auto", "light"] == found["light", "dark"] == light
    assert found["auto", "dark"] == found["dark", "light"] == dark


def test_figures_have_the_color_of_a_dark_page(open_http_page: Visitor):
    page = open_http_page("chapter_gpus/pitfalls.html", color_scheme="dark")
    figure = page.locator("figure:not([data-explorable]) img").first
    figure.scroll_into_view_if_needed()
    expect(figure).to_have_js_property("complete", True)
    box = figure.bounding_box()
    assert box
    # Both corners are of one color, so equal pictures have the same bytes.
    inside, outside = (
        page.screenshot(clip={"x": x, "y": box["y"] + 2, "width": 2, "height": 2})
        for x in (box["x"] + 2, box["x"] - 4)
    )
    assert inside == outside


@pytest.mark.parametrize("system", ["light", "dark"])
def test_the_first_press_changes_the_colors(open_http_page: Visitor, system: str):
    page = open_http_page(SECTION, color_scheme=system)
    before = background(page)
    page.keyboard.press("t")
    assert background(page) != before


def test_buttons_without_words_have_a_tooltip(open_http_page: Visitor):
    page = open_http_page(SECTION, viewport=PHONE)
    buttons = page.locator(".bar .tool")
    assert buttons.count() == 4
    for button in buttons.all():
        name, title = (button.get_attribute(a) for a in ("aria-label", "title"))
        assert name and title and title.startswith(name)


COLORED_EDGES = """elements => elements.flatMap((e) => {
  if (!e.checkVisibility()) return [];
  const { backgroundColor } = getComputedStyle(document.body);
  const { borderLeft, borderBottom } = getComputedStyle(e);
  return [borderLeft, borderBottom].map(
    (edge) => !edge.startsWith("0px") && !edge.endsWith(backgroundColor),
  );
})"""


def test_forced_colors_mark_only_what_is_chosen(open_http_page: Visitor):
    page = open_http_page(SECTION, forced_colors="active")
    edges = page.locator(".contents a:not([aria-current])").evaluate_all(COLORED_EDGES)
    assert edges and not any(edges)
    current = page.locator("#book-contents [aria-current]")
    assert any(current.evaluate_all(COLORED_EDGES))
    assert page.locator("#frameworks .chosen:visible").count() == 1


# Shortcuts


def test_the_list_of_shortcuts_opens_and_closes(open_http_page: Visitor):
    page = open_http_page(SECTION)
    dialog = page.locator("#shortcuts")
    for close in ("Escape", "Enter"):
        page.focus("#settings-button")
        page.keyboard.press("?")
        assert dialog.is_visible()
        if close == "Enter":
            dialog.locator("form button").focus()
        page.keyboard.press(close)
        assert not dialog.is_visible()
        assert page.evaluate("document.activeElement.id") == "settings-button"
    page.click("#settings-button")
    page.click("#shortcuts-button")
    assert dialog.is_visible()


def test_single_keys_can_be_turned_off_for_good(open_http_page: Visitor):
    page = open_http_page(SECTION)
    page.keyboard.press("?")
    page.focus("#shortcuts-on")
    page.keyboard.press("Space")
    page.keyboard.press("Escape")
    for _ in range(2):
        for key in ("?", "2", "t"):
            page.keyboard.press(key)
        assert not page.locator("#shortcuts").is_visible()
        assert (chosen(page), chosen(page, "theme")) == (TABS[0], "auto")
        reload(page)
    page.click("#settings-button")
    page.click("#shortcuts-button")
    page.check("#shortcuts-on")
    page.keyboard.press("Escape")
    page.wait_for_selector("#shortcuts", state="hidden")
    page.keyboard.press("?")
    assert page.locator("#shortcuts").is_visible()


# What opened the list is gone by then, and the next frame moves the focus out of it.
CLOSE_AND_PRESS = """(dialog) => {
  dialog.close();
  const { activeElement } = document;
  const pressed = new KeyboardEvent("keydown", { key: "?", bubbles: true });
  activeElement.dispatchEvent(pressed);
  return dialog.contains(activeElement);
}"""


def test_a_key_counts_in_the_frame_in_which_a_dialog_closes(open_http_page: Visitor):
    page = open_http_page(SECTION)
    page.click("#settings-button")
    page.click("#shortcuts-button")
    page.focus("#shortcuts-on")
    assert page.locator("#shortcuts").evaluate(CLOSE_AND_PRESS)
    assert page.locator("#shortcuts").is_visible()


def test_keys_choose_frameworks_colours_and_pages(open_http_page: Visitor):
    page = open_http_page(SECTION)
    for number, tab in reversed(list(enumerate(TABS, start=1))):
        page.keyboard.press(str(number))
        assert chosen(page) == tab
    page.keyboard.press("t")
    assert chosen(page, "theme") == "dark"
    page.keyboard.press("Control+2")
    assert chosen(page) == TABS[0]
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
    expect(page.locator(":popover-open")).to_have_count(0)
    assert target.evaluate("target => target.getBoundingClientRect().top") >= 47


def test_a_wide_page_shows_its_contents(open_http_page: Visitor):
    page = open_http_page(SECTION)
    for contents in ("book-contents", "page-contents"):
        assert page.is_visible(f"#{contents}")
        assert not page.is_visible(f"[popovertarget={contents}]")
    assert page.locator("#book-contents [aria-current=page]").count() == 1
    page.locator("main h2").last.scroll_into_view_if_needed()
    page.evaluate("scrollTo({ top: document.body.scrollHeight, behavior: 'instant' })")
    expect(page.locator("#page-contents [aria-current]")).to_have_count(1)


def test_the_contents_mark_the_heading_that_was_chosen(open_http_page: Visitor):
    page = open_http_page(SECTION)
    for link in page.locator("#page-contents li li a").all():
        link.click()
        expect(link).to_have_attribute("aria-current", "true")


def test_the_contents_mark_a_heading_in_the_first_quarter(open_http_page: Visitor):
    page = open_http_page(SECTION)
    links = page.locator("#page-contents li li a").all()
    for at, expected in ((0.2, 2), (0.3, 1)):
        heading = page.locator(links[2].get_attribute("href") or "")
        top = "(e, at) => scrollBy({top: e.getBoundingClientRect().top"
        behavior = "- at * innerHeight, behavior: 'instant'})"
        heading.evaluate(f"{top} {behavior}", at)
        expect(links[expected]).to_have_attribute("aria-current", "true")


LONG_CONTENTS = "chapter_gpus/solutions-pitfalls.html"


def test_long_contents_follow_the_reader(open_http_page: Visitor):
    page = open_http_page(LONG_CONTENTS, viewport={"width": 1400, "height": 400})
    contents = page.locator("#page-contents")
    assert contents.evaluate("box => box.scrollHeight > box.clientHeight")
    links = contents.locator("li li a").all()
    for link in links[:-2]:
        heading = page.locator(link.get_attribute("href") or "")
        heading.evaluate("heading => heading.scrollIntoView()")
        expect(link).to_have_attribute("aria-current", "true")
        box, around = link.bounding_box(), contents.bounding_box()
        assert box and around and box["y"] >= around["y"]
        assert box["y"] + box["height"] <= around["y"] + around["height"]
    page.evaluate("scrollTo({ top: document.body.scrollHeight, behavior: 'instant' })")
    expect(links[-1]).to_have_attribute("aria-current", "true")


def test_the_bar_of_the_narrowest_phone_holds_all_controls(open_http_page: Visitor):
    page = open_http_page(f"{SECTION}?tab=tensorflow", viewport=NARROW)
    brand = page.locator(".brand")
    assert brand.evaluate("e => e.scrollWidth <= e.clientWidth")
    button = page.locator(".framework-button").bounding_box()
    assert button and button["height"] <= 36


@pytest.mark.parametrize("width", [375, 1400])
def test_long_contents_of_the_book_show_the_current_page(
    open_http_page: Visitor, width: int
):
    viewport = {"width": width, "height": 500}
    page = open_http_page("chapter_gpus/solutions-trainer.html", viewport=viewport)
    if width == 375:
        page.click("[popovertarget=book-contents]")
    link = page.locator("#book-contents [aria-current=page]")
    expect(link).to_be_in_viewport(ratio=1)
    # A contents that is opened again shows the page again.
    if width == 375:
        page.locator("#book-contents").evaluate("box => (box.scrollTop = 0)")
        page.keyboard.press("Escape")
        page.click("[popovertarget=book-contents]")
        expect(link).to_be_in_viewport(ratio=1)


# Copying


def test_copying_gives_the_code_and_nothing_else(open_http_page: Visitor):
    open_http_page.context().grant_permissions(["clipboard-read", "clipboard-write"])
    page = open_http_page("chapter_gpus/use-gpu.html")
    # A cell with a folded head is copied as a whole; see test_browser_folded.py.
    whole = "div:not(.folded.head + div) > .highlight"
    blocks = page.locator(f"{whole}:has(.copy):visible")
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
    wait_for_copy_buttons(page)
    assert buttons.count() > 3
    assert set(buttons.evaluate_all(SEEN_OPACITY)) == {1}
    boxes = [button.bounding_box() for button in buttons.all()]
    assert all(box and min(box["width"], box["height"]) >= 44 for box in boxes)


# From page to page


@pytest.mark.slow
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
