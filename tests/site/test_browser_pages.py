"""Every page in a browser: on any screen, light, without script, on paper."""

import gzip
import re
from pathlib import Path
from pprint import pformat
from typing import Any

import pytest
from browsing import (
    PAGES,
    PHONE,
    TABS,
    WIDE,
    WITH_TABS,
    Visitor,
    choose,
    each,
    fonts,
    hold_up,
    probe,
    reach_everything,
    resize,
    wait_until,
)
from playwright.sync_api import Request, Response, Route, expect
from pypdf import PdfReader

WIDTHS = (320, 375, 768, 1400)
CHARACTERS = (65, 80)
TOUCH = 44
SMALLEST_TEXT = 10.75
ON_DEMAND = ("/explorables/", "/vendor/", "/search", "/previews", "/tally", "/sketch")


# On any screen


@pytest.mark.parametrize("path", each(PAGES))
def test_a_page_fits_every_screen(open_http_page: Visitor, path: str):
    page = open_http_page(path)
    reach_everything(page)
    wrong: dict[tuple[Any, ...], list[str]] = {}
    for tab in TABS if path in WITH_TABS else TABS[:1]:
        choose(page, tab)
        for width in WIDTHS:
            resize(page, width)
            wrong[tab, width] = probe(page, "tooWide")
            wrong[tab, width, "small"] = probe(page, "smallTexts", SMALLEST_TEXT)
            wrong[tab, width, "crowded"] = probe(page, "crowdedEquations")
        resize(page, PHONE["width"])
        wrong[tab, "empty"] = probe(page, "emptyPlaces")
        wrong[tab, "rows"] = probe(page, "badRows", TOUCH)
    wrong = {where: found for where, found in wrong.items() if found}
    assert not wrong, pformat(wrong)


@pytest.mark.parametrize("path", each(WITH_TABS))
def test_a_line_holds_as_much_as_is_read_with_ease(open_http_page: Visitor, path: str):
    lines = sorted(probe(open_http_page(path), "lineLengths"))
    assert len(lines) >= 10
    assert CHARACTERS[0] <= lines[len(lines) // 2] <= CHARACTERS[1]


# Light and still

SHIFTS = """
  window.shifts = [];
  const note = (entry) => window.shifts.push(
    [entry.value, ...entry.sources.map((s) => s.node?.className ?? s.node?.nodeName)]);
  new PerformanceObserver((list) => list.getEntries().forEach(note))
    .observe({ type: "layout-shift", buffered: true });
"""


@pytest.mark.parametrize("viewport", [PHONE, WIDE], ids=["phone", "wide"])
@pytest.mark.parametrize("path", each(PAGES))
def test_a_page_is_light(open_http_page: Visitor, path: str, viewport: dict[str, int]):
    context = open_http_page.context(viewport=viewport)
    answers: list[Response] = []
    context.on("response", lambda answer: answers.append(answer))
    page = open_http_page(f"{path}?tab={TABS[-1]}", viewport=viewport)
    page.wait_for_load_state("networkidle")
    at_once = [a for a in answers if not any(part in a.url for part in ON_DEMAND)]
    fonts = [a for a in at_once if a.url.endswith(".woff2")]
    assert weight(fonts) <= 66  # for all pages: a browser keeps them
    others = [a for a in at_once if a not in fonts]
    # How many pictures further down a browser asks for depends on its speed.
    needed = [a.url for a in others if "/_images/" not in a.url]
    assert len(needed) <= (4 if path == "index.html" else 3), needed
    assert weight(others) <= 66
    reach_everything(page)
    assert weight([a for a in answers if a not in at_once]) <= 150


@pytest.mark.timing
@pytest.mark.parametrize("viewport", [PHONE, WIDE], ids=["phone", "wide"])
@pytest.mark.parametrize("path", PAGES)
def test_nothing_moves_while_a_page_loads(
    open_http_page: Visitor, path: str, viewport: dict[str, int]
):
    # The last framework: what is not chosen by default must not move anything either.
    open_http_page.context(viewport=viewport).add_init_script(SHIFTS)
    page = open_http_page(f"{path}?tab={TABS[-1]}", viewport=viewport)
    page.wait_for_load_state("networkidle")
    shifts = page.evaluate("window.shifts")
    assert sum(shift[0] for shift in shifts) <= 0.01, pformat(shifts)


SET_IN = ("main h2", "main em", "main math mi", "main math mn", "main math mo")


def test_a_page_is_set_in_the_fonts_of_the_book(open_page: Visitor):
    page = open_page("chapter_gpus/memory.html")
    drawn: list[dict[str, Any]] = []
    for _ in range(5):
        page.wait_for_load_state("networkidle")
        drawn = [font for s in SET_IN for font in fonts(page, s)]
        if all(font["isCustomFont"] for font in drawn):
            break
        # A font that comes late, as on a busy machine, is used from the next page on.
        page.reload()
    assert drawn and all(font["isCustomFont"] for font in drawn), drawn


WIDTHS_OF_TEXT = """async (style) => {
  const canvas = document.createElement("canvas").getContext("2d");
  canvas.textRendering = "geometricPrecision";  // as in static/book.css
  const text = [...document.querySelectorAll("main p")].map((p) => p.textContent);
  const widths = [];
  for (const family of ["Book Text", "Book Fallback", "No Such Font"]) {
    const font = `${style} 100px "${family}"`;
    await document.fonts.load(font).catch(() => {});  // no such font here
    canvas.font = font;
    widths.push(text.reduce((sum, p) => sum + canvas.measureText(p).width, 0));
  }
  return widths;
}"""


@pytest.mark.parametrize("style", ["", "italic", "600"])
def test_what_stands_in_for_a_font_is_as_wide(open_http_page: Visitor, style: str):
    page = open_http_page("chapter_gpus/trainer.html", viewport=WIDE)
    text, fallback, missing = page.evaluate(WIDTHS_OF_TEXT, style)
    assert fallback != missing, "Liberation Serif is not installed"
    assert fallback == pytest.approx(text, rel=0.005)


def test_what_stands_in_for_a_font_has_a_bold_and_an_italic(open_http_page: Visitor):
    held: list[Route] = []
    context = open_http_page.context(viewport=WIDE)
    context.route("**/*.woff2", lambda route: held.append(route))
    page = context.new_page()
    address = f"{open_http_page.base}chapter_gpus/memory.html"
    page.goto(address, wait_until="commit")
    wait_until(page, "performance.getEntriesByName('first-contentful-paint').length")
    while held:
        held.pop().continue_()
    page.wait_for_load_state("networkidle")
    used = [*fonts(page, "main h2"), *fonts(page, "main em")]
    names = {font["postScriptName"] for font in used}
    assert {"LiberationSerif-Bold", "LiberationSerif-Italic"} <= names


def test_a_font_that_comes_late_moves_nothing(open_http_page: Visitor):
    late: list[Request] = []
    context = open_http_page.context(viewport=PHONE)
    context.add_init_script(SHIFTS)
    context.route("**/*.woff2", hold_up)
    context.on("requestfinished", lambda request: late.append(request))
    page = open_http_page("chapter_gpus/references.html", viewport=PHONE)
    page.wait_for_load_state("networkidle")
    assert any(request.url.endswith(".woff2") for request in late)
    assert page.evaluate("window.shifts") == []


def weight(answers: list[Response]) -> float:
    """Return the loaded kB after gzip."""
    return sum(len(gzip.compress(answer.body())) for answer in answers) / 1000


# Without script


@pytest.mark.parametrize("path", each(PAGES))
def test_without_script_everything_is_there(open_page: Visitor, path: str):
    page = open_page(path, java_script_enabled=False)
    for question in ("unseen", "overlaps", "useless"):
        assert probe(page, question) == [], question
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 812})
        assert probe(page, "tooWide") == []


def test_without_script_the_contents_open_on_a_phone(open_page: Visitor):
    page = open_page(PAGES[0], java_script_enabled=False, viewport=PHONE)
    page.click("[popovertarget=book-contents]")
    page.click(f"#book-contents a[href$='{Path(WITH_TABS[0]).name}']")
    page.wait_for_url(f"**/{WITH_TABS[0]}*")


# Print

NAVIGATION = ".bar, nav, footer, .tab-list, .copy, .skip-link, .headerlink, dialog"


@pytest.mark.parametrize("path", each(WITH_TABS))
def test_print_shows_the_chosen_framework(open_http_page: Visitor, path: str):
    page = open_http_page(path)
    choose(page, "jax")
    page.emulate_media(media="print")
    printed = probe(page, "printed")
    assert printed["tabs"] and all("jax" in tabs.split() for tabs in printed["tabs"])
    assert printed["labels"] == [] and probe(page, "visible", NAVIGATION) == []


def test_the_room_below_a_place_is_not_printed(open_http_page: Visitor):
    page = open_http_page(
        "chapter_gpus/pitfalls.html?tab=pytorch",
        viewport={"width": 500, "height": 1000},
    )
    last = page.locator(".place > .tab-panel:visible").last
    last.evaluate("panel => (panel.style.minHeight = '900px')")
    # At the end of the page, the place is at the top of the window.
    top = "panel => panel.getBoundingClientRect().top + scrollY"
    below = page.evaluate("document.body.scrollHeight") - last.evaluate(top)
    page.set_viewport_size({"width": 500, "height": round(below) + 100})
    page.evaluate("scrollTo({ top: document.body.scrollHeight, behavior: 'instant' })")
    page.keyboard.press("3")
    assert page.evaluate("document.body.style.minHeight")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).minHeight") == "0px"


CUT_OFF = """() =>
  [...document.querySelectorAll("pre, .table-wrapper, .plotted, .math")]
  .filter((e) => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1)
  .map((e) => `${e.className}: ${e.textContent.trim().slice(0, 40)}`)"""


@pytest.mark.parametrize("path", each(WITH_TABS))
def test_nothing_is_cut_off_on_paper(open_http_page: Visitor, path: str):
    sheet = {"width": 680, "height": 1000}  # of A4, without its margins
    page = open_http_page(path, viewport=sheet)
    reach_everything(page)
    page.emulate_media(media="print")
    cut: dict[str, list[str]] = {}
    for tab in TABS:
        page.evaluate("tab => (document.documentElement.dataset.tab = tab)", tab)
        cut[tab] = page.evaluate(CUT_OFF)
    assert not any(cut.values()), pformat(cut)


def test_addresses_of_works_are_whole_in_print(open_http_page: Visitor):
    page = open_http_page("chapter_gpus/references.html")
    page.emulate_media(media="print")
    shown = page.eval_on_selector_all(
        ".citation a.external",
        """links => links.map((link) => [
          link.getAttribute("href"), getComputedStyle(link, "::after").content])""",
    )
    assert shown and all(href in content for href, content in shown)


LONG_CELL = """() => {
  const code = document.querySelector(".place [data-choices=jax] .highlight pre");
  code.textContent = Array.from({ length: 300 }, (_, i) => `line_${i}`).join("\\n");
}"""


def test_without_script_every_sheet_of_a_cell_names_its_framework(
    open_http_page: Visitor, tmp_path: Path
):
    page = open_http_page(WITH_TABS[0], java_script_enabled=False)
    page.evaluate(LONG_CELL)
    file = tmp_path / "page.pdf"
    page.pdf(path=file, format="A4")
    sheets = [sheet.extract_text() for sheet in PdfReader(file).pages]
    with_cell = [sheet.split() for sheet in sheets if "line_" in sheet]
    assert len(with_cell) > 3 and all("JAX" in words for words in with_cell)


@pytest.mark.parametrize("path", each(WITH_TABS))
def test_the_pdf_of_a_page_is_its_text(
    open_http_page: Visitor, tmp_path: Path, path: str
):
    page = open_http_page(path, color_scheme="dark")
    file = tmp_path / "page.pdf"
    page.pdf(path=file, format="A4")
    sheets = PdfReader(file).pages
    text = " ".join("".join(sheet.extract_text().split()) for sheet in sheets)
    assert len(sheets) > 1
    headings = page.locator("main h1, main h2").all_inner_texts()
    for heading in headings:
        assert "".join(heading.split()).strip("#¶") in text, heading
    for navigation in ("Onthispage", "Keyboardshortcuts", "Skiptothetext"):
        assert navigation not in text


def test_pictures_and_plots_grow_with_the_font_of_the_browser(open_http_page: Visitor):
    page = open_http_page("chapter_gpus/inference.html?predict=off")
    widths = """(font) => {
      document.documentElement.style.fontSize = `${font}px`;
      return [...document.querySelectorAll("figure:not(.live) > img, .plot")]
        .filter((each) => each.checkVisibility())
        .map((each) => [each.localName, each.getBoundingClientRect().width]);
    }"""
    usual, large = page.evaluate(widths, 16), page.evaluate(widths, 32)
    assert {name for name, _ in usual} == {"img", "svg"}
    room = page.locator("article").bounding_box()
    assert room
    for (_, width), (_, grown) in zip(usual, large, strict=True):
        assert grown == pytest.approx(min(2 * width, room["width"]), abs=1)


def test_figures_of_cells_are_printed_with_their_captions(open_http_page: Visitor):
    page = open_http_page("chapter_gpus/memory.html")
    figure = page.locator("[data-choices=pytorch] > figure.output[data-explorable]")
    expect(figure).to_have_class("output live")  # although it is far below
    page.emulate_media(media="print")
    height = "e => e.querySelector('.drawing svg').getBoundingClientRect().height"
    assert figure.evaluate(height) > 200
    caption = figure.locator("figcaption")
    expect(caption).to_be_visible()
    expect(caption).to_have_text(re.compile(r"Fig\. [\d.]+, with the numbers of this"))
    link = caption.get_by_role("link").get_attribute("href")
    assert link == "#fig-memory-timeline"
