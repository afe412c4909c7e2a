"""Readers choose published measurements in a figure, and add one of their own."""

import pytest
from browsing import SCREENS, Violations, Visitor
from figures import result, settle
from playwright.sync_api import Page, expect

SECTION = "chapter_gpus/predictions.html"


def log(page: Page) -> str:
    """Return what the figure says of the chosen point."""
    return page.locator("#fig-audit .log").inner_text()


def test_a_point_shows_its_setting_and_leads_to_its_source(open_page: Visitor):
    page = open_page(SECTION)
    page.get_by_label("Prediction", exact=True).select_option("Decoding")
    assert "17.3 tokens/s measured, at most 455.9 predicted" in result(page, "audit")
    assert "Llama 2 7B, A100 40 GB, 4.13 bits" in log(page)
    assert "The missing term: the time of calls" in log(page)
    source = page.locator("#fig-audit .log a")
    expect(source).to_have_attribute("href", "references.html#LightningAI-2026")
    source.click()
    expect(page.locator("#LightningAI-2026")).to_contain_text("LitGPT")


def test_points_are_chosen_by_pointer_and_by_keyboard(open_page: Visitor):
    page = open_page(SECTION)
    figure = page.locator("#fig-audit")
    # A row of the drawing of all kinds leads to its kind.
    figure.locator('[data-touch="serving"]').click()
    assert figure.get_by_label("Prediction", exact=True).input_value() == "serving"
    worst = log(page)
    figure.get_by_role("button", name="Next point").press("Enter")
    second = log(page)
    assert second != worst
    figure.get_by_role("button", name="Previous point").press("Enter")
    assert log(page) == worst
    point = figure.locator('[data-touch="trt-llama3-70b-h200-128-4096"]')
    told = point.locator("title").text_content() or ""
    point.dispatch_event("click")
    assert "Llama 3 70B, H200" in told and "Llama 3 70B, H200" in log(page)


def test_readers_add_a_measurement_that_stays_in_the_page(open_page: Visitor):
    page = open_page(SECTION)
    figure = page.locator("#fig-audit")
    page.get_by_label("Prediction", exact=True).select_option("Decoding")
    own = page.get_by_label("Your own value")
    own.fill("30")
    assert "Your 30 tokens/s, of at most 455.9" in result(page, "audit")
    expect(figure.locator(".drawing .measured")).to_have_count(1)
    figure.get_by_role("button", name="Next point").click()
    expect(own).to_have_value("")
    own.fill("5000")
    assert "check the unit" in result(page, "audit")
    expect(figure.locator(".drawing .measured")).to_have_count(2)
    settle(page, "audit")
    assert "audit.row=" in page.url and "own" not in page.url
    page.reload()
    expect(own).to_have_value("")
    expect(figure.locator(".drawing .measured")).to_have_count(0)


def test_words_of_an_exercise_choose_its_row(open_page: Visitor):
    page = open_page(SECTION)
    page.locator('[data-play*="azure-h200-gemm-1024x1024x1024"]').click()
    assert "290.8 TFLOP/s measured, at most 1979" in result(page, "audit")
    assert "The missing term: the start of the kernel" in log(page)


@pytest.mark.parametrize("screen", SCREENS)
def test_axe_finds_nothing_in_a_kind(
    open_http_page: Visitor, violations: Violations, screen: str
):
    page = open_http_page(SECTION, **SCREENS[screen])
    figure = page.locator("#fig-audit")
    figure.get_by_label("Prediction", exact=True).select_option("Decoding")
    figure.get_by_label("Your own value").fill("30")
    figure.get_by_text("The arithmetic and its sources").click()
    page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
    assert violations(page, colors=screen == "dark") == []
