"""Tables with a column for each framework show what the reader has chosen."""

from typing import Literal

import pytest
from browsing import TABS, TOUCH_SCREEN, Visitor, choose
from playwright.sync_api import Page

GUIDE = "chapter_gpus/quick-guide.html"
FIRST, OTHER = TABS[0], TABS[2]
COLUMNS = """() => [...document.querySelector(".columns-setting + table")
  .querySelectorAll("th[data-framework]")].filter((e) => e.checkVisibility()).map(
  (e) => e.dataset.framework)"""


def columns(page: Page) -> list[str]:
    return page.evaluate(COLUMNS)


def test_a_table_shows_the_chosen_framework_or_all(open_page: Visitor):
    page = open_page(f"{GUIDE}?tab={FIRST}")
    assert columns(page) == [FIRST]
    choose(page, OTHER)
    assert columns(page) == [OTHER]
    cells = page.locator(".columns-setting + table").first.locator("tr td:visible")
    rows = page.locator(".columns-setting + table").first.locator("tbody tr")
    assert cells.count() == 2 * rows.count()
    page.locator(".columns-setting input").first.check()
    assert columns(page) == list(TABS)


def test_a_comparison_shows_both_columns(open_page: Visitor):
    page = open_page(f"{GUIDE}?tab={FIRST}&beside={OTHER}")
    assert columns(page) == [FIRST, OTHER]


@pytest.mark.parametrize("tab", TABS)
def test_code_of_one_framework_is_in_one_piece(open_http_page: Visitor, tab: str):
    page = open_http_page(f"{GUIDE}?tab={tab}", viewport={"width": 1400, "height": 900})
    broken = page.evaluate("""() => [...document.querySelectorAll(
      ".columns-setting + table code")].filter((e) => e.checkVisibility()
      && new Set([...e.getClientRects()].map(({ top }) => top)).size > 1)
      .map((e) => e.textContent)""")
    assert broken == []
    wide = page.evaluate("""() => [...document.querySelectorAll(
      ".table-wrapper:has(.columns-setting)")].map(
      (e) => e.scrollWidth - e.clientWidth)""")
    assert wide == [0] * len(wide)


def test_a_phone_shows_the_whole_column(open_http_page: Visitor):
    page = open_http_page(GUIDE, **TOUCH_SCREEN)
    box = page.locator(".table-wrapper:has(.columns-setting)").first
    assert box.evaluate("(e) => e.scrollWidth - e.clientWidth") == 0


def test_without_scripts_no_column_is_missing_on_the_screen_and_on_paper(
    open_http_page: Visitor,
):
    page = open_http_page(GUIDE, java_script_enabled=False)
    media: Literal["screen", "print"]
    for media in ("screen", "print"):
        page.emulate_media(media=media)
        assert columns(page) == list(TABS), media
        assert page.locator(".columns-setting:visible").count() == 0
