"""A term of the glossary shows its entry where it is mentioned, and leads there."""

import pytest
from browsing import TOUCH_SCREEN, Visitor
from playwright.sync_api import expect

SECTION = "chapter_gpus/kernels.html"
GLOSSARY = "chapter_gpus/glossary.html"
WARP = "a.term[href='glossary.html#term-warp']"


@pytest.mark.parametrize("by", ["hover", "focus"])
def test_a_term_shows_its_entry(open_page: Visitor, by: str):
    page = open_page(SECTION)
    term, entry = page.locator(WARP), page.locator("#preview")
    if by == "hover":
        term.hover()
    else:
        page.keyboard.press("Tab")  # so that focus is visible
        term.focus()
    expect(entry).to_contain_text("execute the same instruction")
    expect(entry).to_be_in_viewport(ratio=1)


def test_the_first_tap_shows_an_entry_and_the_second_goes_there(open_page: Visitor):
    page = open_page(SECTION, **TOUCH_SCREEN)
    term, entry = page.locator(WARP), page.locator("#preview")
    term.tap()
    expect(entry).to_contain_text("execute the same instruction")
    page.locator("main h2").first.tap()
    expect(entry).to_be_hidden()
    term.tap()
    expect(entry).to_be_visible()
    term.tap()
    page.wait_for_url("**/glossary.html#term-warp")
