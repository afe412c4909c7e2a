"""A page is easy to read: code, headings, figures, tables and the front page."""

import re
from typing import Any

import pytest
from browsing import (
    BOOK,
    PAGES,
    PHONE,
    TABS,
    TOUCH_SCREEN,
    WITH_TABS,
    Visitor,
    choose,
    each,
    reach_everything,
    revisit,
    wait_for_copy_buttons,
)
from playwright.sync_api import Route, expect

SECTION = "chapter_gpus/use-gpu.html"
TABLES = "chapter_gpus/quick-guide.html"
CAPTIONED = "chapter_gpus/memory.html"
CODE = "div:not(.output) > .highlight"

# Code and the column


def test_code_is_as_large_as_the_text_beside_it(open_http_page: Visitor):
    page = open_http_page(SECTION)
    sizes = page.evaluate(
        "selectors => selectors.map((s) => parseFloat("
        "getComputedStyle(document.querySelector(s)).fontSize))",
        ["main section > p", f"{CODE} pre"],
    )
    assert sizes[0] <= 18 and 13.5 <= sizes[1] <= 15


WIDTHS_OF_LINES = """(code) => {
  const pre = document.querySelector(code);
  pre.textContent = "x".repeat(80);
  const text = document.querySelector("article section > p");
  return [pre.scrollWidth - pre.clientWidth, pre.clientWidth - text.clientWidth];
}"""


def test_80_characters_of_code_fit_into_a_column_wider_than_the_text(
    open_http_page: Visitor,
):
    page = open_http_page(SECTION)
    overflow, more = page.evaluate(WIDTHS_OF_LINES, f"{CODE} pre")
    assert overflow == 0 and more > 60


@pytest.mark.parametrize("touch", [{}, {"is_mobile": True, "has_touch": True}])
def test_88_characters_of_code_fit_on_a_tablet(
    open_http_page: Visitor, touch: dict[str, bool]
):
    page = open_http_page(SECTION, viewport={"width": 768, "height": 1024}, **touch)
    wait_for_copy_buttons(page)
    question = WIDTHS_OF_LINES.replace("80", "88")
    assert page.evaluate(question, f"{CODE} pre")[0] == 0


# Code and outputs that scroll sideways, and outputs with lines that wrap needlessly.
NOT_WHOLE = """() => {
  document.querySelectorAll("details").forEach((details) => (details.open = true));
  const shown = [...document.querySelectorAll(".highlight pre")]
    .filter((pre) => pre.checkVisibility());
  const wrong = shown.filter((pre) => {
    if (pre.scrollWidth > pre.clientWidth) return true;
    if (!pre.closest(".output.long")) return false;
    const lines = pre.textContent.trimEnd().split("\\n").length;
    const { lineHeight } = getComputedStyle(pre);
    return pre.clientHeight > (lines + 1) * parseFloat(lineHeight);
  });
  return [shown.length, wrong.map((pre) => pre.textContent.slice(0, 99))];
}"""


@pytest.mark.parametrize("width", [1265, 1440])  # the first with a bar to scroll by
@pytest.mark.parametrize("path", ["inference", "fine-tuning"])
def test_on_wide_screens_long_lines_are_whole(
    open_http_page: Visitor, path: str, width: int
):
    page = open_http_page(
        f"chapter_gpus/{path}.html", viewport={"width": width, "height": 900}
    )
    assert page.locator("main :not(.output).long").count()
    assert page.locator("main .output.long").count()
    shown, wrong = page.evaluate(NOT_WHOLE)
    assert shown > 10 and wrong == []


@pytest.mark.parametrize("path", ["multiple-gpus", "faster-training"])
def test_whatever_scrolls_sideways_has_a_shadow(open_http_page: Visitor, path: str):
    page = open_http_page(f"chapter_gpus/{path}.html", **TOUCH_SCREEN)
    boxes = page.locator("article [tabindex='0']:is(pre, .plotted, .math):visible")
    expect(boxes.first).to_be_attached()
    images = boxes.evaluate_all(
        "all => all.map((e) => getComputedStyle(e).backgroundImage)"
    )
    assert images and "none" not in images


FORCED = """([heading, code]) => {
  const style = (selector) => getComputedStyle(document.querySelector(selector));
  return [style(heading).color === style("body").color, style(code).outlineStyle];
}"""


def test_in_forced_colors_headings_look_like_text_and_code_has_an_edge(
    open_http_page: Visitor,
):
    page = open_http_page(SECTION, forced_colors="active")
    assert page.evaluate(FORCED, ["h1 .section-number", CODE]) == [True, "solid"]


# Copying

# Below the last line of a box.
ROOM = """() => [...document.querySelectorAll(".highlight:has(.copy)")]
  .filter((box) => box.checkVisibility())
  .map((box) => box.getBoundingClientRect().height -
    box.querySelector("pre").getBoundingClientRect().height)"""
COVERED = """() => [...document.querySelectorAll(".highlight:has(.copy)")]
  .filter((box) => box.checkVisibility())
  .map((box) => {
    const button = box.querySelector(".copy").getBoundingClientRect();
    const pre = box.querySelector("pre");
    const range = document.createRange();
    range.selectNodeContents(pre);
    const end = pre.getBoundingClientRect().right; // of what is seen of long lines
    return [...range.getClientRects()].some((line) => line.bottom > button.top + 1 &&
      line.top < button.bottom - 1 && line.width > 0 &&
      Math.min(line.right, end) > button.left + 1);
  })"""


@pytest.mark.parametrize("path", WITH_TABS[:3])
def test_on_a_phone_no_button_covers_code(open_http_page: Visitor, path: str):
    page = open_http_page(path, **TOUCH_SCREEN)
    wait_for_copy_buttons(page)
    covered = page.evaluate(COVERED)
    assert len(covered) > 3 and not any(covered)
    assert max(page.evaluate(ROOM)) < 10  # less than a line


def test_each_copy_button_has_a_name_of_its_own(open_http_page: Visitor):
    page = open_http_page(SECTION)
    wait_for_copy_buttons(page)
    names = page.locator(".copy").evaluate_all("all => all.map((b) => b.ariaLabel)")
    assert len(names) == len(set(names)) > 10
    first = page.locator(f"{CODE} pre").first.text_content() or ""
    assert names[0] == f"Copy code 1: {first.strip().splitlines()[0][:60]}"


# Headings

SIGN = "link => getComputedStyle(link, '::after').opacity"


def test_the_sign_of_a_heading_shows_on_hover_and_focus(open_http_page: Visitor):
    page = open_http_page(SECTION)
    link = page.locator("main h2 a.heading").first
    link.scroll_into_view_if_needed()
    assert link.evaluate(SIGN) == "0"
    link.hover()
    assert link.evaluate(SIGN) == "1"
    page.mouse.move(0, 0)
    assert link.evaluate(SIGN) == "0"
    link.evaluate("link => link.focus({ focusVisible: true })")
    assert link.evaluate(SIGN) == "1"


def test_headings_are_read_without_a_sign(open_http_page: Visitor):
    page = open_http_page(SECTION)
    lines = page.locator("main").aria_snapshot().splitlines()
    headings = [line for line in lines if "heading " in line]
    assert len(headings) > 10 and not [line for line in headings if "#" in line]


def test_the_name_of_a_table_ends_before_the_link_to_it(open_http_page: Visitor):
    snapshot = open_http_page(CAPTIONED).locator("main").aria_snapshot()
    names = re.findall(r'table "(.*?)"', snapshot)
    assert names and all(" Link to this table" in name for name in names)


def test_on_a_phone_headings_have_no_signs(open_http_page: Visitor):
    page = open_http_page(SECTION, **TOUCH_SCREEN)
    links = page.locator("main a.heading")
    assert set(links.evaluate_all(f"links => links.map({SIGN})")) == {"0"}
    assert page.locator(".headerlink:visible").count() == 0


# Tables and figures

BROKEN_NAMES = """() => {
  const broken = [];
  for (const code of document.querySelectorAll("td code")) {
    if (!code.checkVisibility()) continue;
    const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      for (const word of texts.currentNode.textContent.matchAll(/[\\w.]+/g)) {
        const range = document.createRange();
        range.setStart(texts.currentNode, word.index);
        range.setEnd(texts.currentNode, word.index + word[0].length);
        const tops = [...range.getClientRects()].map((line) => Math.round(line.top));
        if (new Set(tops).size > 1) broken.push(word[0]);
      }
    }
  }
  return broken;
}"""


def test_on_a_phone_tables_break_no_names(open_http_page: Visitor):
    page = open_http_page(TABLES, **TOUCH_SCREEN)
    assert page.locator("td code:visible").count() and not page.evaluate(BROKEN_NAMES)


def test_a_wide_table_scrolls_on_a_phone(open_http_page: Visitor):
    page = open_http_page(TABLES, **TOUCH_SCREEN)
    page.locator(".columns-setting input").first.check()
    wide = "box => box.scrollWidth > box.clientWidth + 100"
    tables = page.locator(".table-wrapper:visible").all()
    table = next(table for table in tables if table.evaluate(wide))
    table.evaluate("box => (box.scrollLeft = 1000)")
    assert table.evaluate("box => box.scrollLeft") > 100


def test_a_tap_enlarges_a_figure_whose_text_is_small(open_http_page: Visitor):
    page = open_http_page("chapter_gpus/pitfalls.html", **TOUCH_SCREEN)
    image = page.locator("figure:not([data-explorable]) > img:visible").first
    image.scroll_into_view_if_needed()
    dialog = page.get_by_role("dialog", name="Picture")
    enlarge = page.get_by_role("button", name="Enlarge the picture")
    for opener in (image, enlarge.first):
        opener.tap()
        shown, full = dialog.locator("img").evaluate(
            "image => [image.clientWidth, Number(image.getAttribute('width'))]"
        )
        assert shown == full > PHONE["width"]
        dialog.get_by_role("button", name="Close").tap()
        expect(dialog).to_have_count(0)
    wide = open_http_page("chapter_gpus/pitfalls.html")
    reach_everything(wide)
    expect(wide.locator(".enlarge:visible")).to_have_count(0)


def test_the_preview_of_an_interactive_figure_shows_its_picture(
    open_http_page: Visitor,
):
    page = open_http_page(SECTION)
    reach_everything(page)
    labels = page.locator("figure.live > span[id], figure.live[id]")
    names = labels.evaluate_all("targets => targets.map((target) => target.id)")
    found = [
        page.locator(f'main a.reference[href="#{name}"]:visible') for name in names
    ]
    links = [link.first for link in found if link.count()]
    assert links
    for link in links:
        link.scroll_into_view_if_needed()
        link.hover()
        picture = page.locator(".preview img")
        expect(picture).to_be_visible()
        assert picture.evaluate("image => image.clientHeight") > 50
        page.mouse.move(0, 0)
        expect(page.locator(".preview")).to_be_hidden()


TOP_OF_FOCUS = "document.activeElement.getBoundingClientRect().top"


LINK = "figcaption .headerlink"


@pytest.mark.parametrize(
    "section, name, stop",
    [
        *((SECTION, name, LINK) for name in ("two-devices", "worth-moving")),
        ("chapter_gpus/data-movement.html", "pinned", LINK),
    ],
)
def test_nothing_moves_when_a_figure_becomes_interactive(
    open_http_page: Visitor, section: str, name: str, stop: str
):
    held: list[Route] = []
    context = open_http_page.context()
    context.route("**/explorables.css", lambda route: held.append(route))
    page = context.new_page()
    open_http_page.watch(page)
    # A figure on the first screen holds up the load event.
    address = f"{open_http_page.base}{section}?predict=off"
    page.goto(address, wait_until="domcontentloaded")
    page.evaluate("document.fonts.ready")
    figure = f"figure[data-explorable={name}]"
    page.locator(f"{figure} {stop}").first.focus()
    before = page.evaluate(TOP_OF_FOCUS)
    while not held:
        page.wait_for_timeout(10)
    held.pop().continue_()
    expect(page.locator(f"{figure} > .explorable")).to_be_visible()
    assert abs(page.evaluate(TOP_OF_FOCUS) - before) < 2


# The first screen

# Pages to look things up, and appendices.
APPENDICES = ("solutions", "tools", "more-", "rank-", "one-", "refer")
OTHERS = ("quick-guide", "glossary", *APPENDICES)
NAMES = [s.name for s in BOOK.sections if s.name.startswith("chapter_gpus/")]
SECTIONS = [
    f"{name}.html" for name in NAMES if not name.split("/")[1].startswith(OTHERS)
]
FIRST_PICTURE = """() => {
  const first = (names) => [...document.querySelectorAll(names)]
    .find((element) => element.checkVisibility())?.getBoundingClientRect();
  const picture = first("article :is(figure, .output img, .plotted)");
  return picture ? picture.top - first("article > section > p").bottom : Infinity;
}"""


@pytest.mark.parametrize("path", each(SECTIONS))
def test_the_first_screen_has_a_picture(open_http_page: Visitor, path: str):
    """The picture begins within 800 pixels below the first paragraph."""
    page = open_http_page(path, viewport={"width": 1280, "height": 800})
    assert page.evaluate(FIRST_PICTURE) <= 800


# The front page


def test_the_front_page_starts_in_the_chosen_framework(open_page: Visitor):
    page = open_page(PAGES[0])
    choose(page, TABS[2])
    start = page.get_by_role("link", name="Start reading")
    expect(start).to_be_in_viewport()

    def follow_link() -> None:
        with page.expect_navigation():
            start.click()

    revisit(page, follow_link)
    assert page.url == f"{open_page.base}{PAGES[1]}"
    assert page.evaluate("document.documentElement.dataset.tab") == TABS[2]


RESERVED = """(figure) => {
  const style = getComputedStyle(figure);
  const room = 16 * parseFloat(style.getPropertyValue("--room"));
  return [parseFloat(style.gridTemplateRows), room];
}"""


@pytest.mark.parametrize("screen", [{}, TOUCH_SCREEN], ids=["wide", "phone"])
def test_the_figure_of_the_front_page_is_interactive_at_once(
    open_http_page: Visitor, screen: dict[str, Any]
):
    page = open_http_page(PAGES[0], **screen)
    expect(page.locator("figure.live .explorable select").first).to_be_in_viewport()
    # The space is reserved, so that the text below does not move.
    figure = page.locator("figure.live").first
    first, room = figure.evaluate(RESERVED)
    assert first == room


def test_a_card_leads_to_its_section(open_page: Visitor):
    page = open_page(PAGES[0])
    page.locator(".section-card").nth(1).click(position={"x": 5, "y": 5})
    page.wait_for_url(f"**/{SECTION}*")
