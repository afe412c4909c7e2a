"""Words of the text set an interactive figure; without scripts they are words."""

import re

import pytest
from browsing import BOOK, PHONE, TOP, Visitor, each, wait_until
from figures import result, settle
from playwright.sync_api import Locator, Page, expect

from book.facts.marked_numbers import marked
from book.text.inline import PLAY

SECTION = "chapter_gpus/data-movement.html?predict=off"  # without covers
PLAYING = [f"{s.name}.html" for s in BOOK.sections if any(marked(s.blocks, PLAY))]
IN_VIEW = """(element) => {
  const { top, bottom } = element.getBoundingClientRect();
  return top >= document.querySelector(".bar").offsetHeight && bottom <= innerHeight;
}"""

# Clicks on words, and returns the animations of what is marked then.
MARKED = """(words) => new Promise((done) => {
  const figure = document.querySelector("#fig-queue");
  const animation = (element) => getComputedStyle(element).animationName;
  const tell = () => done([...figure.querySelectorAll(".set")].map(animation));
  new MutationObserver(() => figure.querySelector(".set") && tell())
    .observe(figure, { subtree: true, attributes: true, attributeFilter: ["class"] });
  words.click();
})"""


def link(page: Page, settings: str = "queue.every=1") -> Locator:
    """Return the words that give a figure these settings."""
    return page.locator(f'a[data-play="{settings}"]')


def looks(words: Locator) -> list[str]:
    """Return the color and the underline of words."""
    names = ("color", "textDecorationLine")
    return [words.evaluate(f"(e) => getComputedStyle(e).{name}") for name in names]


@pytest.mark.parametrize("press", ["click", "Enter"])
def test_words_set_a_figure_and_the_address(open_page: Visitor, press: str):
    page = open_page(SECTION)
    words = link(page)
    words.click() if press == "click" else words.press("Enter")
    settle(page, "queue")  # tells screen readers the result
    assert "take 960 µs" in result(page, "queue")
    assert page.url.endswith("&queue.every=1")
    expect(words).to_be_focused()
    page.reload()
    assert "take 960 µs" in result(page, "queue")


def test_words_set_a_figure_whatever_it_was_set_to(open_page: Visitor):
    page = open_page(f"{SECTION}&queue.device=10&queue.every=2")
    link(page).click()
    settle(page, "queue")
    assert "take 960 µs" in result(page, "queue")


def test_words_lead_to_their_setting_on_a_new_page(open_page: Visitor):
    page = open_page(SECTION)
    assert link(page).get_attribute("href") == "?queue.every=1#fig-queue"
    with page.context.expect_page() as other:
        link(page).click(modifiers=["Control"])
    other.value.wait_for_url(re.compile(r"\?queue\.every=1#fig-queue$"))
    assert "take 600 µs" in result(page, "queue")


def scroll_to(page: Page, place: Locator, top: int) -> None:
    """Scroll until a part of the page is below the upper edge of the window."""
    page.evaluate("(y) => scrollBy(0, y)", place.evaluate(TOP) - top)


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_a_figure_comes_into_view_and_marks_what_has_changed(
    open_page: Visitor, motion: str
):
    page = open_page(SECTION, viewport=PHONE, reduced_motion=motion)
    scroll_to(page, link(page), 60)
    name = "none" if motion == "reduce" else "set"
    # They are the slider and the result, and they are marked for a short time.
    assert link(page).evaluate(MARKED) == [name, name]
    for part in (".drawing", ".result"):
        place = page.locator(f"#fig-queue {part}").element_handle()
        wait_until(page, IN_VIEW, place)
    expect(page.locator("#fig-queue .set")).to_have_count(0)


def test_a_page_stays_where_it_is_if_the_figure_is_in_view(open_page: Visitor):
    page = open_page(SECTION, viewport={"width": 1280, "height": 1800})
    figure = page.locator("#fig-queue")
    figure.scroll_into_view_if_needed()
    figure.locator(".drawing svg").wait_for()
    scroll_to(page, figure, 100)
    before = page.evaluate("scrollY")
    link(page).click()
    settle(page, "queue")
    assert page.evaluate("scrollY") == before


def test_without_script_and_in_print_there_are_words(open_page: Visitor):
    plain = open_page(SECTION, java_script_enabled=False)
    assert link(plain).get_attribute("href") is None
    page = open_page(SECTION)
    paragraph = page.locator("p", has=link(page)).first
    assert looks(link(page))[1] == "underline"
    page.emulate_media(media="print")
    for words in (link(plain), link(page)):
        assert looks(words) == looks(paragraph)
    mark = link(page).evaluate("(e) => getComputedStyle(e, '::before').content")
    assert mark == "none"


@pytest.mark.parametrize("path", each(PLAYING, {"chapter_gpus/use-gpu.html"}))
def test_a_figure_is_visible_where_words_set_it(open_page: Visitor, path: str):
    page = open_page(path)
    seen = page.locator("a.play:visible")
    names = seen.evaluate_all("all => all.map((e) => e.dataset.play.split('.')[0])")
    for name in {*names}:
        figure = f'figure[data-explorable="{name}"]:not([data-settings])'
        expect(page.locator(figure)).to_be_visible()
