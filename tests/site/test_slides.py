"""The decks in a browser, read as files: every slide fits, and says what it should."""

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from pprint import pformat
from typing import Any

import pytest
from browsing import (
    BOOK,
    PHONE,
    TABS,
    Violations,
    Visitor,
    each,
    fonts,
    hold_up,
    wait_until,
)
from bs4 import BeautifulSoup
from playwright.sync_api import Browser, Locator, Page, expect

from book.pages import addresses
from book.slides import decks
from book.slides.deck_page import SMALLEST

pytestmark = pytest.mark.xdist_group("the decks")
DECKS = list(
    dict.fromkeys(  # a section without tabs has one deck for all
        addresses.deck(BOOK, section, tab)
        for section in BOOK.sections
        if "{.point" in section.text
        for tab in TABS
    )
)
RICH = "jax/use-gpu.html"  # it has a slide of each kind, but for plots and equations
PLOTTED = "jax/memory.html"
ONE_OF_EACH = [f"{tab}/use-gpu.html" for tab in TABS]
LARGE = {"viewport": {"width": 1280, "height": 720}}
OLD_PROJECTOR = {"viewport": {"width": 1024, "height": 768}}
# Each slide in turn: what leaves it, and what is too small to be read or seen.
WRONG = r"""async () => {
  await document.fonts.ready;
  await Promise.all([...document.images].map((image) => image.decode()));
  const wrong = [];
  const slides = [...document.querySelectorAll(".slides > section")];
  slides.forEach((slide, number) => {
    Reveal.slide(number, 0, 99);
    const say = (what) => wrong.push(`${number + 1}: ${what}`);
    const box = slide.getBoundingClientRect();
    const scale = box.height / 720;
    const { paddingBottom } = getComputedStyle(slide);
    const below = box.bottom - parseFloat(paddingBottom) * scale;
    if (box.top < -1 || box.bottom > innerHeight + 1) say("leaves the screen");
    if (box.left < -1 || box.right > innerWidth + 1) say("is wider than the screen");
    const parts = slide.querySelectorAll(":scope > :not(aside), pre, math, figure *");
    let shown = 0;
    for (const part of parts) {
      const { bottom, right, width, height } = part.getBoundingClientRect();
      shown += width && height ? 1 : 0;
      if (bottom > below + 1) say(`${part.tagName} ends ${bottom - below} too low`);
      if (right > box.right + 1) say(`${part.tagName} is too wide`);
      if (part.scrollWidth > part.clientWidth + 1 && part.clientWidth) {
        say(`${part.tagName} is cut off: ${part.textContent.slice(0, 40)}`);
      }
      const least = part.tagName === "IMG" ? 150 : 0;
      if (height < least * scale) say(`a picture is ${height} high`);
    }
    if (shown < 2) say("has a title only");
    if (!slide.querySelector("aside")?.textContent.trim()) say("has no notes");
    for (const image of slide.querySelectorAll("img[src*='svg+xml']")) {
      const svg = atob(image.src.split(",")[1]);
      const sizes = [...svg.matchAll(/font-size[=:]\s*"?([\d.]+)/g)].map((m) => +m[1]);
      const { width, height } = image.getBoundingClientRect();
      const { naturalWidth, naturalHeight } = image;
      const zoom = Math.min(width / naturalWidth, height / naturalHeight) / scale;
      const size = zoom * Math.min(...sizes);
      if (size < SMALLEST - 0.1) say(`a picture's text has ${size} px`);
    }
    const texts = document.createTreeWalker(slide, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const { data, parentElement } = texts.currentNode;
      const zoom = parentElement.ownerSVGElement?.getScreenCTM().a / scale || 1;
      const size = zoom * parseFloat(getComputedStyle(parentElement).fontSize);
      const least = parentElement.closest(":not(.wide) > pre") ? 20 : SMALLEST;
      if (data.trim() && size < least && !parentElement.closest("aside")) {
        say(`"${data}" has ${size} px`);
      }
    }
  });
  return wrong;
}""".replace("SMALLEST", str(SMALLEST))

# What a printed slide does not hold, or does not show as the screen does.
PRINTED = """() => [...document.querySelectorAll(".pdf-page")].flatMap((page, n) => {
  const slide = page.querySelector("section");
  const { paddingLeft, fontSize } = getComputedStyle(slide);
  const { bottom } = page.getBoundingClientRect();
  const parts = [...slide.querySelectorAll(":scope > :not(aside), pre, img")];
  const low = parts.filter((part) => part.getBoundingClientRect().bottom > bottom - 38);
  const wrong = low.map((part) => `${n + 1}: ${part.tagName} is too low`);
  const hidden = parts.filter((part) => getComputedStyle(part).visibility === "hidden");
  wrong.push(...hidden.map((part) => `${n + 1}: ${part.tagName} is hidden`));
  const set = paddingLeft === "64px" && parseFloat(fontSize) >= 18;
  return set ? wrong : [...wrong, `${n + 1}: ${paddingLeft} ${fontSize}`];
})"""


@pytest.fixture(scope="session")
def folder(request: pytest.FixtureRequest) -> Path:
    """The folder of the decks: of all sections, or of three if no slow test runs."""
    slow = any(item.get_closest_marker("slow") for item in request.session.items)
    three = ["use-gpu", "data-movement", "memory"]
    return decks.build(BOOK, sections=None if slow else three).parent


@pytest.fixture
def open_deck(browser: Browser, folder: Path) -> Iterator[Visitor]:
    """Call it with a deck's path; what is opened is watched."""
    with closing(Visitor(browser, f"{folder.as_uri()}/")) as visitor:
        yield visitor


def ready(page: Page) -> Page:
    wait_until(page, "Reveal.isReady()")
    return page


def show(part: Locator) -> int:
    """Show a slide with all of its parts, and return its number."""
    return part.evaluate("""(e) => {
      const { h } = Reveal.getIndices(e.closest("section"));
      Reveal.slide(h, 0, 99);
      return h;
    }""")


@pytest.mark.parametrize("deck", each(DECKS, ONE_OF_EACH))
def test_every_slide_fits(open_deck: Visitor, deck: str):
    page = ready(open_deck(deck, **LARGE))
    wrong = page.evaluate(WRONG)
    assert 12 <= page.evaluate("Reveal.getTotalSlides()") <= 16
    assert not wrong, pformat(wrong)


def test_short_slides_are_enlarged_and_long_ones_reduced(open_deck: Visitor):
    scales = set()
    for deck in (RICH, PLOTTED):
        page = ready(open_deck(deck, **LARGE))
        style = "slide.style.getPropertyValue('--fit')"
        slides = "[...document.querySelectorAll('section.point')]"
        scales |= set(map(float, page.evaluate(f"{slides}.map((slide) => {style})")))
    assert min(scales) < 1.2 and max(scales) > 1.6


def test_lines_of_a_hundred_characters_are_whole(open_deck: Visitor):
    page = ready(open_deck("pytorch/use-gpu.html", **LARGE))
    show(page.locator(".printed.wide"))
    text = page.locator("section.present .printed.wide pre")
    lines = text.inner_text().strip().split("\n")
    assert max(map(len, lines)) > 92
    rows = text.evaluate(
        "(e) => e.clientHeight / parseFloat(getComputedStyle(e).lineHeight)"
    )
    assert round(rows) == len(lines)
    assert text.evaluate("(e) => e.scrollWidth <= e.clientWidth")


def test_a_slide_that_is_too_long_is_reported_with_its_place(open_deck: Visitor):
    page = ready(open_deck(RICH, **LARGE))
    said = """() => {
      const said = [];
      console.error = (text) => said.push(text);
      const slide = [...document.querySelectorAll(".point:has(pre)")].at(-1);
      Reveal.slide(Reveal.getIndices(slide).h);
      const code = slide.querySelector("pre");
      for (const lines of [10, 60]) {
        code.textContent = "x\\n".repeat(lines);
        fit(slide);
        said.push(slide.dataset.place);
      }
      return said;
    }"""
    place, message, again = page.evaluate(said)
    assert re.fullmatch(r"chapter_gpus/use-gpu\.md:\d+", place) and place == again
    assert message == f"{place}: this slide is too long; show less code or another cell"


def test_the_front_slide_has_the_figure_above_the_first_heading(open_deck: Visitor):
    page = ready(open_deck("jax/data-movement.html", **LARGE))
    assert page.locator(".front figure img").is_visible()
    assert page.locator("figure").count() > 1


@pytest.mark.parametrize("screen", [OLD_PROJECTOR, {"viewport": PHONE}])
def test_slides_fit_other_screens(open_deck: Visitor, screen: dict[str, Any]):
    wrong = ready(open_deck(RICH, **screen)).evaluate(WRONG)
    assert not wrong, pformat(wrong)


def test_a_font_that_comes_late_is_used_all_the_same(open_deck: Visitor):
    """The sizes of slides are reckoned with it: in another one some do not fit."""
    open_deck.context(**LARGE).route("**/*.woff2", hold_up)
    page = ready(open_deck(RICH, **LARGE))
    assert page.evaluate(WRONG) == []
    assert all(font["isCustomFont"] for font in fonts(page, "section.present > *"))


@pytest.mark.parametrize("deck", each(DECKS, ONE_OF_EACH))
def test_no_mark_of_the_text_is_left(folder: Path, deck: str):
    tree = BeautifulSoup((folder / deck).read_text("utf-8"), "html.parser")
    assert not re.findall(r":\w+:`|\[\*\*|\*\*\]|~~|BOOK[A-Z]+\d", tree.get_text())


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(open_deck: Visitor, violations: Violations, scheme: Any):
    kinds = {
        RICH: (".printed", "figure", "form", ".rows", ".said ul"),
        PLOTTED: (".plot", "math"),
    }
    for path in ("index.html", *kinds):
        page = open_deck(path, color_scheme=scheme, **LARGE)
        colors = scheme == "dark"
        wrong = {path: violations(page, colors=colors)}
        for kind in kinds.get(path, ()):
            show(page.locator(f".slides > section:not(.front) {kind}").first)
            wrong[kind] = violations(page, colors=colors)
        assert not any(wrong.values()), pformat(wrong)


def test_the_colours_follow_the_readers(open_deck: Visitor):
    shades = {}
    for scheme in ("light", "dark"):
        page = ready(open_deck(RICH, color_scheme=scheme, **LARGE))
        colour = "getComputedStyle(document.querySelector('.reveal-viewport'))"
        shades[scheme] = page.evaluate(f"{colour}.backgroundColor")
    assert shades == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 22, 26)"}


def test_keys_turn_slides_and_show_all(open_deck: Visitor):
    page = ready(open_deck(RICH, **LARGE))
    page.keyboard.press("ArrowRight")
    assert page.evaluate("Reveal.getIndices().h") == 1
    assert page.locator(".slide-number").inner_text().startswith("2 / ")
    page.keyboard.press("o")
    assert page.evaluate("Reveal.isOverview()")
    # A deck that is opened again shows the slide that was shown last.
    page.wait_for_url("**#/1")
    page.reload()
    assert ready(page).evaluate("Reveal.getIndices().h") == 1


def test_the_parts_of_a_slide_appear_in_turn(open_deck: Visitor):
    seen = "[...Reveal.getCurrentSlide().querySelectorAll('.fragment')].map("
    seen += "(part) => getComputedStyle(part).visibility)"
    page = ready(open_deck(RICH, **LARGE))
    page.evaluate(
        "Reveal.slide([...document.querySelectorAll('.slides > section')].findIndex("
        "(slide) => slide.querySelector('.fragment')), 0, -1)"
    )
    slide = page.evaluate("Reveal.getIndices().h")
    hidden = page.evaluate(seen)
    assert hidden and set(hidden) == {"hidden"}
    page.keyboard.press("ArrowRight")
    assert page.evaluate(seen)[0] == "visible"
    assert page.evaluate("Reveal.getIndices().h") == slide
    # The overview, the printed deck and a deck for readers show everything.
    page.keyboard.press("o")
    assert "hidden" not in page.evaluate(seen)
    page = ready(open_deck(f"{RICH}?fragments=false", **LARGE))
    page.evaluate("number => Reveal.slide(number)", slide)
    assert "hidden" not in page.evaluate(seen)


def test_the_speakers_view_shows_the_notes(open_deck: Visitor):
    page = ready(open_deck(RICH, **LARGE))
    page.keyboard.press("ArrowRight")
    notes = page.locator("section.present aside.notes").inner_html()
    assert len(notes) > 40
    with page.expect_popup() as opened:
        page.keyboard.press("s")
    view = opened.value
    open_deck.watch(view)
    shown = view.locator(".speaker-controls-notes .value")
    shown.wait_for()
    assert shown.inner_html() == notes
    page.evaluate("Reveal.slide(Reveal.getIndices().h + 1)")
    expect(shown).not_to_have_js_property("innerHTML", notes)
    view.close()


def test_a_deck_prints_a_page_a_slide(open_deck: Visitor):
    page = open_deck(f"{RICH}?print-pdf", **LARGE)
    page.wait_for_selector(".pdf-page")
    slides_there = page.locator(".pdf-page").count()
    assert slides_there == page.locator(".slides section").count() > 10
    assert page.evaluate(PRINTED) == []
    pdf = page.pdf(prefer_css_page_size=True, print_background=True)
    assert len(re.findall(rb"/Type /Page\b", pdf)) == slides_there
    assert set(re.findall(rb"/MediaBox \[0 0 (\S+) (\S+)\]", pdf)) == {(b"960", b"540")}


def test_without_script_all_slides_are_shown(open_deck: Visitor):
    page = open_deck(RICH, java_script_enabled=False, **LARGE)
    shown = page.locator(".slides > section")
    boxes = [slide.bounding_box() for slide in shown.all()]
    tops = [box["y"] for box in boxes if box]
    assert len(tops) >= 12 and tops == sorted(set(tops))
    parts = page.locator(".fragment").all()
    assert parts and all(part.is_visible() for part in parts)


@pytest.mark.slow
def test_the_list_opens_every_deck(open_deck: Visitor):
    page = open_deck("index.html")
    links = page.locator(".decks a")
    hrefs = [link.get_attribute("href") for link in links.all()]
    assert hrefs == DECKS
    with page.expect_navigation():
        links.first.click()
    assert ready(page).locator("h1").inner_text()


# Predictions of the room


def test_enter_shows_the_rooms_number_beside_the_output(open_deck: Visitor):
    page = ready(open_deck(PLOTTED, **LARGE))
    asks = page.locator("section.asks:has(input[type=text]:only-of-type)").last
    number = show(asks)
    assert page.locator("section.present").inner_text().count("\n") < 12
    page.keyboard.type("25")  # the field needs no click
    page.keyboard.press("Enter")
    assert page.evaluate("Reveal.getIndices().h") == number + 1
    yours = page.locator("section.present .yours")
    assert re.match(r"25 \w+\n\w+", yours.locator("dd").inner_text())
    assert page.locator("section.present dt").all_inner_texts()[0] == "The room"
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("Reveal.getIndices().h") == number
    assert page.evaluate(WRONG) == []


# Where the parts of the slide below a question are, and how large its text is.
LAYOUT = """(form) => {
  const slide = form.closest("section").nextElementSibling;
  Reveal.slide([...slide.parentElement.children].indexOf(slide), 0, 99);
  const parts = [...slide.children].map((part) => part.getBoundingClientRect());
  const places = parts.flatMap(({ top, bottom }) => [top, bottom]);
  return [slide.style.getPropertyValue("--fit"), slide.matches(".tight"), ...places];
}"""
ANSWER = """(form) => {
  for (const field of form.querySelectorAll("[type=text]")) field.value = "1234";
  form.querySelector("[type=radio]")?.click();
  form.dispatchEvent(new Event("input", { bubbles: true }));
}"""


@pytest.mark.parametrize("deck", ["pytorch/use-gpu.html", "jax/data-movement.html"])
def test_an_answer_moves_nothing(open_deck: Visitor, deck: str):
    page = ready(open_deck(deck, **LARGE))
    forms = page.locator("form").all()
    assert any(form.locator("[type=text]").count() > 1 for form in forms)
    for form in forms:
        fit, tight, *places = form.evaluate(LAYOUT)
        form.evaluate(ANSWER)
        after = form.evaluate(LAYOUT)
        assert after[:2] == [fit, tight]
        assert after[2:] == pytest.approx(places, abs=1.5)
    assert page.evaluate(WRONG) == []


def test_an_arrow_shows_the_output_without_a_number(open_deck: Visitor):
    page = ready(open_deck(PLOTTED, **LARGE))
    asks = page.locator("section.asks").first
    number = show(asks)
    asks.locator("input").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("Reveal.getIndices().h") == number + 1
    assert not page.locator("section.present .yours").first.is_visible()
    assert page.locator("section.present dd:visible").count() > 0


def test_a_text_that_is_no_number_is_reported(open_deck: Visitor):
    page = ready(open_deck(PLOTTED, **LARGE))
    asks = page.locator("section.asks").last
    number = show(asks)
    asks.locator("input").fill("many")
    page.keyboard.press("Enter")
    assert "is not a number" in asks.locator(".reading").inner_text()
    assert page.evaluate("Reveal.getIndices().h") == number


def test_the_room_can_choose(open_deck: Visitor):
    page = ready(open_deck("pytorch/use-gpu.html", **LARGE))
    asks = page.locator("section.asks:has([type=radio])").first
    number = show(asks)
    asks.locator("[type=radio]").first.check()
    asks.locator("button").click()
    assert page.evaluate("Reveal.getIndices().h") == number + 1
    assert ", " in page.locator("section.present .yours dd").inner_text()


# Interactive figures


def test_a_figure_is_changed_on_its_slide(open_deck: Visitor):
    page = ready(open_deck("pytorch/use-gpu.html", **LARGE))
    button = page.locator("section:not(.front) [data-figure=worth-moving]").first
    number = show(button)
    button.focus()
    page.keyboard.press("Enter")
    frame = page.frame_locator("section.present iframe")
    before = frame.locator(".result").inner_text()
    loaded = "() => [...document.fonts].filter((f) => f.status === 'loaded').length"
    assert frame.locator("body").evaluate(loaded) == 2  # with the bold one
    frame.locator("input[type=range]").first.press("End")
    assert frame.locator(".result").inner_text() != before
    assert page.evaluate("Reveal.getIndices().h") == number  # keys change the figure
    drawing = frame.locator(".drawing").bounding_box()
    slide = page.locator("section.present").bounding_box()
    assert drawing and slide
    assert drawing["width"] > slide["width"] / 2
    assert drawing["y"] + drawing["height"] <= slide["y"] + slide["height"]


def test_a_plot_stands_beside_the_numbers(open_deck: Visitor):
    page = ready(open_deck("pytorch/memory.html", **LARGE))
    plots = page.locator(".beside > .plotted")
    assert plots.count() > 0
    for plot in plots.all():
        show(plot)
        slide = page.locator("section.present").bounding_box()
        box = plot.locator("svg").bounding_box()
        assert box and slide and box["height"] > 0.6 * slide["height"]
