"""Solutions open below their exercises, and behave like the rest of the page."""

import re

import pytest
from browsing import (
    BOOK,
    PHONE,
    TABS,
    TOP,
    Visitor,
    choose,
    chosen,
    copied,
    probe,
    wait_for_copy_buttons,
    wait_until,
)
from playwright.sync_api import Locator, Page, expect

OTHER = TABS[2]
SECTION = "chapter_gpus/use-gpu.html"
PLOTTED = "chapter_gpus/data-movement.html"
WITH_EXERCISES = [
    f"{section.name}.html" for section in BOOK.sections if "Solution: :" in section.text
]
SAME_IDS = """() => {
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  return ids.filter((id, i) => ids.indexOf(id) !== i);
}"""


def open_solution(page: Page, number: int = 1) -> Locator:
    """Open the solution of an exercise and return it."""
    solution = page.locator(".solution").nth(number - 1)
    solution.locator("> summary").click()
    expect(solution.locator(".solution-source")).to_be_visible()
    return solution


def test_one_click_opens_a_solution_in_the_chosen_framework(open_page: Visitor):
    page = open_page(f"{SECTION}?tab={OTHER}")
    loaded = page.url
    solution = open_solution(page, 3)
    expect(solution.locator("h3")).to_have_text("The Smallest Product That Pays")
    panels = solution.locator(".place > .tab-panel:visible").all()
    assert panels
    assert all(OTHER in (p.get_attribute("data-choices") or "") for p in panels)
    assert page.url == loaded and probe(page, "wrongTabs") == []


def test_nothing_is_loaded_before_a_solution_is_opened(open_http_page: Visitor):
    page = open_http_page(SECTION)
    page.wait_for_load_state("networkidle")
    loads = [url for url in open_http_page.requests if "/solutions" in url]
    assert loads == []
    for number in (1, 2):
        open_solution(page, number)
    loads = [url for url in open_http_page.requests if "/solutions" in url]
    assert [url.rpartition("/")[2] for url in loads] == ["solutions-use-gpu.js"]


@pytest.mark.parametrize("path", WITH_EXERCISES)
def test_every_exercise_has_its_solution(open_page: Visitor, path: str):
    page = open_page(path)
    solutions = page.locator("#exercises ~ *, #exercises").locator(".solution")
    assert solutions.count() == page.locator(".solution-link").count() > 0
    for number in range(1, solutions.count() + 1):
        title = open_solution(page, number).locator("h3").first.inner_text()
        assert title and not re.search(r"\d+\.\d|Exercise", title)
    assert page.locator(".solution-link:visible").count() == 0
    assert page.evaluate(SAME_IDS) == []
    assert probe(page, "wrongTabs") == []


def test_a_solution_follows_the_choice_of_a_framework(open_page: Visitor):
    page = open_page(SECTION)
    solution = open_solution(page, 3)
    for tab in (OTHER, TABS[3]):
        choose(page, tab)
        shown = solution.locator(".place > .tab-panel:visible").first
        assert tab in (shown.get_attribute("data-choices") or "")
    assert chosen(page) == TABS[3] and probe(page, "wrongTabs") == []


def test_a_solution_is_compared_like_the_text(open_http_page: Visitor):
    page = open_http_page(f"{SECTION}?tab={TABS[0]}&beside={OTHER}&differences=on")
    marks = "CSS.highlights.get('difference').size"
    before = page.evaluate(marks)
    pair = open_solution(page, 4).locator(".place.pair").first
    assert pair.locator("> .tab-panel:visible").count() == 2
    assert page.evaluate(marks) > before


def test_code_of_a_solution_can_be_copied(open_http_page: Visitor):
    permissions = ["clipboard-read", "clipboard-write"]
    page = open_http_page(SECTION, permissions=permissions)
    solution = open_solution(page, 3)
    button = solution.locator(".tab-panel:visible .copy").first
    assert copied(button).startswith("devices = [d2l.cpu()]")
    wait_for_copy_buttons(page)
    names = page.locator(".copy").evaluate_all("bs => bs.map((b) => b.ariaLabel)")
    assert len(names) == len(set(names))


def test_pictures_and_formulas_of_a_solution_are_shown(open_page: Visitor):
    page = open_page(PLOTTED)
    solution = open_solution(page, 4)
    assert solution.locator("math").count() > 5
    plot = solution.locator("svg.plot:visible").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    assert box and box["width"] > 300 and plot.locator("text:visible").count() > 5


def test_references_of_a_solution_lead_to_the_right_places(open_page: Visitor):
    page = open_page(f"{SECTION}?tab={OTHER}")
    solution = open_solution(page, 3)
    here = solution.locator("a", has_text="Section 2").first
    assert here.get_attribute("href") == "#sec-use-gpu"
    cited = solution.locator("a", has_text="NVIDIA").first
    cited.focus()
    assert "references.html#" in (cited.get_attribute("href") or "")
    own = solution.locator(".solution-source a").get_attribute("href") or ""
    assert own.endswith("solutions-use-gpu.html#sec-sol-use-gpu-3")
    with page.expect_navigation():
        cited.click()
    assert page.evaluate("document.querySelector(':target') !== null")


def test_a_reference_of_a_solution_has_a_preview(open_page: Visitor):
    page = open_page(SECTION)
    solution = open_solution(page, 2)
    solution.locator("a", has_text="Fig. 2").first.hover()
    expect(page.locator("#preview img")).to_be_visible()


def test_a_solution_is_open_again_after_back(open_page: Visitor):
    page = open_page(SECTION)
    page.reload()  # with the fonts of the cache, as after Back
    solution = open_solution(page, 3)
    link = solution.locator("a[href*='.html#']").last
    link.scroll_into_view_if_needed()
    before = link.evaluate(TOP)
    with page.expect_navigation():
        link.click()
    page.go_back()
    expect(solution.locator(".solution-source")).to_be_visible()
    assert page.locator(".solution[open]").count() == 1
    wait_until(page, "!document.body.style.minHeight")
    assert abs(link.evaluate(TOP) - before) < 5


def test_a_solution_is_open_after_a_link_on_the_page(open_http_page: Visitor):
    page = open_http_page(SECTION)
    open_solution(page)
    page.evaluate("location.hash = '#exercises'")
    wait_until(page, "history.state?.solved")
    with page.expect_navigation():
        page.click("footer a[rel=next]")
    page.go_back()
    expect(page.locator(".solution[open] .solution-source")).to_be_visible()


def test_a_solution_opens_and_closes_by_keyboard(open_page: Visitor):
    page = open_page(SECTION)
    summary = page.locator(".solution > summary").nth(2)
    summary.focus()
    page.keyboard.press("Enter")
    close = page.get_by_role("button", name="Close the solution")
    expect(close).to_be_visible()
    assert summary.evaluate("summary => summary === document.activeElement")
    close.focus()
    page.keyboard.press("Enter")
    expect(close).not_to_be_visible()
    assert summary.evaluate("summary => summary === document.activeElement")
    assert probe(page, "visible", ".solution-text") == []
    box = summary.bounding_box()
    assert box and 48 <= box["y"] <= 900


def test_a_solution_says_whose_it_is_and_whether_it_is_open(open_page: Visitor):
    page = open_page(SECTION)
    opener = page.locator(".solution > summary").nth(2)
    tree = opener.aria_snapshot()
    assert "Solution of exercise 3" in tree
    state = "s => s.parentElement.open"
    assert opener.evaluate(state) is False
    open_solution(page, 3)
    assert opener.evaluate(state) is True


def test_a_solution_that_cannot_be_loaded_says_so(open_http_page: Visitor):
    page = open_http_page.context().new_page()
    page.route("**/solutions/**", lambda route: route.abort())
    page.goto(open_http_page.base + SECTION)
    solution = page.locator(".solution").nth(1)
    solution.locator("summary").click()
    message = solution.locator("[role=status]")
    expect(message).to_contain_text("cannot be loaded")
    assert message.locator("a").get_attribute("href")
    page.unroute("**/solutions/**")
    for _ in range(2):
        solution.locator("summary").click()
    expect(solution.locator("h3")).to_have_text("Images on a Link")


def test_the_contents_of_the_page_do_not_change(open_page: Visitor):
    page = open_page(SECTION)
    contents = page.locator("#page-contents").inner_html()
    solution = open_solution(page, 7)
    solution.locator(".solution-source").scroll_into_view_if_needed()
    current = page.locator("#page-contents [aria-current]")
    expect(current).to_contain_text("Exercises")
    open_solution(page, 6)
    unmarked = re.sub(r' aria-current="true"', "", page.inner_html("#page-contents"))
    assert unmarked == re.sub(r' aria-current="true"', "", contents)


def test_print_shows_what_is_open_and_links_to_the_rest(open_page: Visitor):
    page = open_page(SECTION)
    solution = open_solution(page, 3)
    page.emulate_media(media="print")
    assert solution.locator("h3").is_visible()
    assert probe(page, "visible", ".solution > summary, .solution-source") == []
    links = page.locator(".solution-link")
    assert all(link.is_visible() for link in links.all())


def test_without_scripts_an_exercise_has_a_link(open_page: Visitor):
    page = open_page(SECTION, java_script_enabled=False)
    link = page.locator(".solution-link a").first
    assert page.locator(".solution").count() == 0
    link.click()
    page.wait_for_url("**/solutions-use-gpu.html#sec-sol-use-gpu-1")


@pytest.mark.parametrize("width", [320, 375, 768, 1400])
def test_solutions_fit_on_the_screen(open_http_page: Visitor, width: int):
    page = open_http_page(PLOTTED, viewport={"width": width, "height": PHONE["height"]})
    for number in range(1, 10):
        open_solution(page, number)
    assert probe(page, "tooWide") == []
    assert probe(page, "overlaps") == []
