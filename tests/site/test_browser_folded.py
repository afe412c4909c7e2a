"""Folded imports and helper cells can be opened, found, copied and printed."""

import pytest
from browsing import TABS, Visitor, choose, copied, probe, reload
from playwright.sync_api import Locator, Page, expect

OTHER = TABS[2]
SECTION = "chapter_gpus/data-movement.html"
CODE = "e => e.checkVisibility({ contentVisibilityAuto: true })"


def folded(page: Page) -> Locator:
    return page.locator(".tab-panel:visible > .folded").first


def is_shown(cell: Locator) -> bool:
    return cell.locator("pre").evaluate(CODE)


def test_imports_are_closed_and_open_by_keyboard(open_page: Visitor):
    page = open_page(SECTION)
    cell = folded(page)
    assert not is_shown(cell)
    assert "Imports" in cell.aria_snapshot()
    cell.locator("summary").focus()
    page.keyboard.press("Enter")
    assert is_shown(cell) and "import torch" in cell.inner_text()


@pytest.mark.parametrize("media", ["print", "screen"])
def test_print_opens_folded_code(open_page: Visitor, media: str):
    page = open_page(SECTION)
    page.emulate_media(media=media)
    cell = folded(page)
    box = cell.bounding_box()
    assert box and (box["height"] > 100) == (media == "print")
    assert cell.locator("summary").is_visible() == (media == "screen")


def test_a_cell_is_copied_with_its_folded_imports(open_http_page: Visitor):
    permissions = ["clipboard-read", "clipboard-write"]
    page = open_http_page(SECTION, permissions=permissions)
    button = page.locator(".tab-panel:visible > .folded.head + div .copy").first
    code = copied(button)
    assert code.startswith("import time\n")
    assert "as d2l\n\ntorch.manual_seed(0)\n" in code


def test_folded_code_is_open_in_each_framework_or_in_none(open_page: Visitor):
    page = open_page(SECTION)
    folded(page).locator("summary").click()
    choose(page, OTHER)
    expect(folded(page)).to_have_attribute("open", "")
    assert is_shown(folded(page)) and "import jax" in folded(page).inner_text()
    folded(page).locator("summary").click()
    choose(page, TABS[0])
    expect(folded(page)).not_to_have_attribute("open", "")
    assert not is_shown(folded(page))


def test_imports_are_aligned_in_a_comparison(open_http_page: Visitor):
    page = open_http_page(f"{SECTION}?tab={TABS[0]}&beside={OTHER}")
    pair = page.locator(".pair:has(.folded.head)").first
    cells = pair.locator("> .tab-panel:visible > .folded")
    assert cells.count() == 2
    cells.first.locator("summary").click()
    expect(cells.last).to_have_attribute("open", "")
    assert all(is_shown(cell) for cell in cells.all())
    tops = cells.evaluate_all("cs => cs.map((c) => c.getBoundingClientRect().top)")
    assert tops[0] == tops[1]


def test_find_in_page_opens_folded_code(open_page: Visitor):
    # The browser searches for the text in such an address as it does for a reader.
    page = open_page(f"{SECTION}#:~:text=ThreadPoolExecutor")
    expect(folded(page)).to_have_attribute("open", "")
    assert is_shown(folded(page))


def test_folded_code_scrolls_by_keyboard_if_it_is_wide(open_http_page: Visitor):
    page = open_http_page(SECTION, viewport={"width": 375, "height": 800})
    folded(page).locator("summary").click()
    expect(folded(page).locator("pre")).to_have_attribute("tabindex", "0")
    assert probe(page, "tooWide") == []


SHOWN = "document.documentElement.dataset.code"


@pytest.mark.parametrize("way", ["button", "key"])
def test_one_switch_shows_all_code_for_good(open_http_page: Visitor, way: str):
    page = open_http_page(SECTION)
    switch = page.get_by_role("button", name="Show all code")
    for state, pressed in [("shown", "true"), ("folded", "false"), ("shown", "true")]:
        if way == "button":
            switch.focus()
            page.keyboard.press("Enter")
        else:
            page.keyboard.press("f")
        assert page.evaluate(SHOWN) == state
        expect(switch).to_have_attribute("aria-pressed", pressed)
        opened = page.locator(".folded").evaluate_all("all => all.map((e) => e.open)")
        assert opened and set(opened) == {state == "shown"}
    reload(page)
    assert page.evaluate(SHOWN) == "shown" and is_shown(folded(page))


def test_definitions_of_the_library_are_folded_without_marks(open_page: Visitor):
    page = open_page("chapter_gpus/use-gpu.html")
    saved = page.locator(".folded.head:visible", has_text="Code of cpu, gpu and")
    assert not is_shown(saved)
    expect(saved.locator("+ div pre")).to_contain_text("cpu(), gpu(), gpu(1)")
    assert "@save" not in (page.locator("article").text_content() or "")
