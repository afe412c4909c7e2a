"""Two frameworks side by side: aligned, marked, remembered, shared, used by keys."""

from functools import partial
from typing import Any

import pytest
from browsing import (
    TABS,
    TOUCH_SCREEN,
    WIDE,
    Violations,
    Visitor,
    choose,
    chosen,
    probe,
    reach_everything,
    reload,
    resize,
    turn,
    wait_until,
)
from playwright.sync_api import Page, expect

FIRST, OTHER, LAST = TABS[0], TABS[2], TABS[3]
SECTION = "chapter_gpus/use-gpu.html"
BOTH = f"{SECTION}?tab={FIRST}&beside={OTHER}"

# The pairs of a page: the boxes of the columns and of the blocks of each kind.
# Places whose text is covered by a prediction are not shown.
PAIRS = """() => [...document.querySelectorAll(".pair")].filter((set) =>
  [...set.querySelectorAll(":scope > :is(.first, .second)")].some((e) =>
    e.checkVisibility())).map((set) => {
  const code = "[class*=highlight-]:not(.output, .shared, .twin)";
  const kinds = { label: ".tab-label", code };
  const panelOf = (side) => set.querySelector(`:scope > .${side}`);
  const panels = ["first", "second"].map(panelOf);
  const box = (e) => e.getBoundingClientRect().toJSON();
  const boxes = ([kind, selector]) => [kind, panels.map(
    (panel) => [...panel.children].filter((e) => e.matches(selector)).map(box),
  )];
  return {
    choices: panels.map((panel) => panel.dataset.choices.split(" ")),
    columns: panels.map(box),
    ...Object.fromEntries(Object.entries(kinds).map(boxes)),
  };
})"""
MARKED = """() => [...CSS.highlights.get("difference")].map((mark) => {
  const range = new Range();
  range.setStart(mark.startContainer, mark.startOffset);
  range.setEnd(mark.endContainer, mark.endOffset);
  return range.toString();
})"""


def beside(page: Page) -> str:
    return chosen(page, "beside")


def pairs(page: Page) -> list[dict[str, Any]]:
    return page.evaluate(PAIRS)


def test_columns_are_aligned(open_http_page: Visitor):
    found = pairs(open_http_page(BOTH.replace(SECTION, "chapter_gpus/pitfalls.html")))
    assert len(found) > 10
    in_rows = 0
    for pair in found:
        left, right = pair["columns"]
        assert FIRST in pair["choices"][0] and OTHER in pair["choices"][1]
        assert left["right"] < right["left"] and left["top"] == right["top"]
        assert left["left"] >= 0 and right["right"] <= WIDE["width"]
        assert left["width"] == right["width"] > 500
        assert [len(labels) for labels in pair["label"]] == [1, 1]
        tops = [{box["top"] for box in side} for side in pair["code"]]
        fewer = min(len(side) for side in tops)
        assert len(tops[0] & tops[1]) == fewer, pair
        in_rows += fewer
    assert in_rows > 15


def test_blocks_in_a_column_do_not_overlap(open_http_page: Visitor):
    assert probe(open_http_page(BOTH), "overlaps") == []


def test_a_page_with_a_comparison_fits_every_screen(open_http_page: Visitor):
    page = open_http_page(BOTH)
    for width in (320, 375, 768, 1200, 1400, 1920):
        resize(page, width)
        assert probe(page, "tooWide") == [], width


@pytest.mark.parametrize("width", [375, 768, 1100])
def test_on_a_narrow_screen_one_stands_below_the_other(
    open_http_page: Visitor, width: int
):
    page = open_http_page(
        f"{SECTION}?tab={OTHER}&beside={FIRST}",
        viewport={"width": width, "height": 812},
    )
    for pair in pairs(page):
        above, below = pair["columns"]
        assert OTHER in pair["choices"][0]
        assert above["bottom"] <= below["top"] and above["left"] == below["left"]
        assert [len(labels) for labels in pair["label"]] == [1, 1]


def test_the_comparison_is_remembered_and_can_be_shared(open_http_page: Visitor):
    page = open_http_page(SECTION)
    page.locator("#compare-button").focus()
    page.keyboard.press("Enter")
    wait_until(page, "!!window.bookCompare")  # which is loaded now
    page.keyboard.press("Tab")
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    assert beside(page) == OTHER and len(pairs(page)) > 10
    page.keyboard.press("Escape")
    for address in (f"tab={FIRST}", f"beside={OTHER}"):
        assert address in page.url
    reload(page)
    assert beside(page) == OTHER
    turn(page)
    assert beside(page) == OTHER and pairs(page)
    page.goto(f"{open_http_page.base}{SECTION}?beside=none")
    assert beside(page) == "none" and not pairs(page)


def test_keys_turn_the_comparison_on_and_off(open_page: Visitor):
    page = open_page(SECTION)
    page.keyboard.press("c")
    wait_until(page, "document.documentElement.dataset.beside !== 'none'")
    button = page.locator("#compare-button")
    assert beside(page) == OTHER and button.text_content().strip() == "with JAX"
    choose(page, OTHER)
    assert (chosen(page), beside(page)) == (OTHER, FIRST)
    assert page.evaluate(MARKED)
    page.keyboard.press("d")
    assert not page.evaluate(MARKED)
    for key, expected in [("c", "none"), ("c", FIRST)]:
        page.keyboard.press(key)
        assert beside(page) == expected
    expect(button).to_have_text("with PyTorch")
    page.keyboard.press("d")
    assert page.evaluate(MARKED)


@pytest.mark.parametrize("width", [1280, 1400, 1600])
def test_what_both_have_begins_at_the_edge_of_their_columns(
    open_http_page: Visitor, width: int
):
    page = open_http_page(BOTH, viewport={"width": width, "height": 900})
    found = page.evaluate("""() => {
      const boxes = (selector) => [...document.querySelectorAll(selector)]
        .filter((e) => e.checkVisibility() && !e.closest("[hidden]"))
        .map((e) => e.getBoundingClientRect());
      const [text] = boxes("article");
      const shared = "p, h1, figure), article h2, .shared, .only, .asks > .guess";
      return {
        text: [text.left, text.right],
        shared: boxes(`article > section > :is(${shared}`)
          .map((box) => [box.left, box.width]),
        columns: boxes(".pair").map((box) => [box.left, box.right]),
        cut: [...document.querySelectorAll(".pair div:not(.output) > .highlight pre")]
          .filter((e) => e.checkVisibility() && e.scrollWidth > e.clientWidth)
          .map((e) => e.textContent),
      };
    }""")
    edges = found["text"]
    assert len(found["shared"]) > 12 and len(found["columns"]) > 10
    for box in found["shared"]:
        assert box == pytest.approx([edges[0], 760], abs=1)
    for columns in found["columns"]:
        assert columns == pytest.approx(edges, abs=1)
    assert found["cut"] == []


def test_code_stays_readable_beside_the_contents(open_http_page: Visitor):
    page = open_http_page(BOTH, viewport={"width": 1600, "height": 900})
    sizes = page.locator(".pair > .tab-panel > :not(.output) pre").evaluate_all(
        "codes => codes.map((e) => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert len(sizes) > 20 and min(sizes) >= 12.8


# The names of frameworks, with what they name within 40 px below them.
NAMED = """() => {
  const isSeen = (e) => e.checkVisibility() && e.getBoundingClientRect().height > 0;
  const labels = [...document.querySelectorAll(".pair .tab-label")].filter(isSeen);
  return labels.map((label) => {
    const { bottom } = label.getBoundingClientRect();
    const near = ({ top }) => top >= bottom - 1 && top <= bottom + 40;
    const all = [...label.parentElement.children].filter(isSeen);
    return [label.closest(".pair").id, label.innerText,
      all.some((e) => near(e.getBoundingClientRect()))];
  });
}"""


@pytest.mark.parametrize("prediction", ["on", "off"])
@pytest.mark.parametrize("name", ["memory", "model-parallelism", "out-of-memory"])
def test_names_of_frameworks_stand_above_what_both_have(
    open_http_page: Visitor, name: str, prediction: str
):
    address = f"chapter_gpus/{name}.html?tab={FIRST}&beside={OTHER}"
    page = open_http_page(
        f"{address}&predict={prediction}", viewport={"width": 1600, "height": 900}
    )
    reach_everything(page)  # pictures are drawn late
    named = page.evaluate(NAMED)
    assert len(named) > 10
    assert [label for label in named if not label[-1]] == []


def test_code_that_defines_the_same_name_stands_side_by_side(open_http_page: Visitor):
    page = open_http_page(f"chapter_gpus/out-of-memory.html?tab={FIRST}&beside={OTHER}")
    folded, shown = (
        page.locator(f".pair > .{side} > *", has_text="def show_memory")
        for side in ("first", "second")
    )
    expect(folded).to_have_attribute("open", "")  # as its counterpart is not folded
    tops = [block.bounding_box()["y"] for block in (folded, shown)]  # type: ignore[index]
    assert tops[0] == pytest.approx(tops[1], abs=8)
    page.keyboard.press("c")
    folded = page.locator("details", has_text="def show_memory").first
    expect(folded).not_to_have_attribute("open", "")


# Shown code in columns whose lines wrap.
WRAPPED = """() => {
  const cells = ".pair > .tab-panel > :not(.output, .wide) > div > pre";
  const all = [...document.querySelectorAll(cells)];
  const shown = all.filter((pre) => pre.checkVisibility());
  const wrapped = shown.filter((pre) => {
    const { paddingTop, lineHeight } = getComputedStyle(pre);
    const height = pre.clientHeight - 2 * parseFloat(paddingTop);
    const lines = pre.textContent.trimEnd().split("\\n").length;
    return height > (lines + 0.5) * parseFloat(lineHeight);
  });
  return [shown.length, wrapped.map((pre) => pre.textContent.slice(0, 99))];
}"""


@pytest.mark.parametrize("width", [1280, 1440])
@pytest.mark.parametrize("name", ["fine-tuning", "inference"])
def test_code_in_columns_is_whole(open_http_page: Visitor, name: str, width: int):
    address = f"chapter_gpus/{name}.html?tab={FIRST}&beside={OTHER}&predict=off"
    page = open_http_page(address, viewport={"width": width, "height": 900})
    shown, wrapped = page.evaluate(WRAPPED)
    assert shown > 3 and wrapped == []


def test_code_wider_than_a_column_stands_one_above_the_other(open_http_page: Visitor):
    page = open_http_page(f"chapter_gpus/fine-tuning.html?tab={FIRST}&beside={OTHER}")
    above, below = (
        page.locator(f".pair > .{side} > div", has_text="def accuracy").bounding_box()
        for side in ("first", "second")
    )
    assert above and below
    assert above["x"] == below["x"] and above["width"] == below["width"] > 700
    assert above["y"] + above["height"] < below["y"]


def test_the_same_code_stands_once(open_http_page: Visitor):
    page = open_http_page(f"chapter_gpus/data-movement.html?tab={FIRST}&beside={OTHER}")
    code = ".pair > :is(.first, .second) > div"
    cells = page.locator(code, has_text="h, d = 20, 40")
    expect(cells).to_have_count(2)
    assert [cell.is_visible() for cell in cells.all()] == [True, False]
    box = cells.first.bounding_box()
    assert box and box["width"] > 700
    page.keyboard.press("c")
    expect(page.locator(".shared")).to_have_count(0)


def test_output_is_not_held_up_by_the_longer_code_of_another(open_http_page: Visitor):
    address = f"chapter_gpus/memory.html?tab={FIRST}&beside={OTHER}"
    page = open_http_page(address)
    code = page.locator(".pair > .first > div", has_text="d2l.recorded_peak(DeepMLP")
    gap = code.evaluate("""(code) => {
      const next = code.nextElementSibling;
      return next.getBoundingClientRect().top - code.getBoundingClientRect().bottom;
    }""")
    assert 0 <= gap < 40


def test_the_contents_of_the_book_stay_in_reach(open_http_page: Visitor):
    page = open_http_page(BOTH, viewport={"width": 1600, "height": 900})
    contents, text = page.locator("#book-contents"), page.locator("article")
    expect(contents).to_be_visible()
    beside, column = contents.bounding_box(), text.bounding_box()
    assert beside and column and beside["x"] + beside["width"] < column["x"]
    page.set_viewport_size({"width": 1280, "height": 900})
    expect(contents).to_be_hidden()
    page.click("[popovertarget=book-contents]")
    expect(contents).to_be_visible()


def test_paragraphs_that_differ_in_a_few_words_stand_once(open_http_page: Visitor):
    page = open_http_page(f"chapter_gpus/quick-guide.html?tab={FIRST}&beside={OTHER}")
    shared = page.locator(".shared", has_text="on the device of x")
    for width in (1400, 375):
        resize(page, width)
        found = page.locator("main p:visible", has_text="on the device of x")
        expect(found).to_have_count(1)
        expect(shared.locator(".variants [title]")).to_have_text(
            [
                *("torch.zeros(3, device=x.device)", "jnp.zeros(3, device=x.device)"),
                *("a tensor", "an array"),
            ]
        )
    titles = shared.locator(".variants").first.locator("[title]")
    assert [e.get_attribute("title") for e in titles.all()] == ["PyTorch", "JAX"]


def test_paragraphs_that_say_something_else_stand_side_by_side(
    open_http_page: Visitor,
):
    page = open_http_page(BOTH)
    texts = {"first": "Each tensor has a device", "second": "Each array has a device"}
    found = [
        page.locator(f".pair > .{side} > p:not(.shared, .twin, .wide)", has_text=words)
        for side, words in texts.items()
    ]
    # At one moment, since the page still changes.
    left, right = page.evaluate(
        "pair => pair.map((text) => text.getBoundingClientRect().toJSON())",
        [text.element_handle() for text in found],
    )
    assert left["y"] == right["y"] and left["right"] < right["x"]


def test_paragraphs_without_a_counterpart_stand_one_below_the_other(
    open_http_page: Visitor,
):
    page = open_http_page(BOTH)
    texts = {"PyTorch": "Older programs call", "JAX": "virtual devices"}
    below = 0.0
    for name, words in texts.items():
        text = page.locator(f".only:text-is('Only {name}') + p.wide", has_text=words)
        box = text.first.bounding_box()
        assert box and box["y"] > below
        below = box["y"] + box["height"]
    pair = page.locator(".pair", has_text=texts["PyTorch"])
    expect(pair.locator(".tab-label:visible")).to_have_count(0)


def test_the_end_of_a_comparison_gives_paragraphs_back(open_http_page: Visitor):
    texts = """() => [...document.querySelectorAll("main .place > .tab-panel > p")]
      .map((p) => p.innerHTML)"""
    page = open_http_page("chapter_gpus/pitfalls.html")
    before = page.evaluate(texts)
    page.keyboard.press("c")
    wait_until(page, "!!document.querySelector('.variants')")
    assert page.evaluate(texts) != before
    page.keyboard.press("c")
    assert page.evaluate(texts) == before


def test_equal_paragraphs_are_not_marked(open_http_page: Visitor):
    page = open_http_page(f"chapter_gpus/pitfalls.html?tab={FIRST}&beside={OTHER}")
    words = "Make the tensor on the device of the input."
    found = page.locator("main p:visible", has_text=words)
    expect(found).to_have_count(1)
    assert not found.locator(".variants").count()


def test_a_long_cell_of_one_framework_leaves_no_hole(open_http_page: Visitor):
    address = f"chapter_gpus/compiling.html?tab={FIRST}&beside={OTHER}"
    page = open_http_page(f"{address}&predict=off")
    label = page.locator(".only:text-is('Only PyTorch')").first
    found = label.evaluate("""(label) => {
      const block = label.nextElementSibling.getBoundingClientRect();
      const pair = label.closest(".pair"), set = pair.getBoundingClientRect();
      const beside = [...pair.querySelectorAll(":scope > .second > *")]
        .map((e) => e.getBoundingClientRect())
        .filter(({ top, bottom }) => top < block.bottom - 1 && bottom > block.top + 1);
      return [block.left - set.left, beside.length];
    }""")
    assert found == [pytest.approx(0, abs=1), 0]
    # A cell that the other framework lacks needs no empty column.
    page = open_http_page(f"chapter_gpus/checkpoints.html?tab={FIRST}&beside={OTHER}")
    code = page.locator(".lone", has_text="class DropoutMLP")
    expect(code).to_be_visible()
    expect(page.get_by_text("No code for JAX here.").first).to_be_hidden()


def test_a_question_is_asked_once(open_http_page: Visitor):
    page = open_http_page(BOTH)
    forms = page.locator(".pair .guess:visible")
    questions = forms.locator("label > span:first-child").all_inner_texts()
    assert questions and len(set(questions)) == len(questions)
    expect(page.locator("main").get_by_role("button", name="Compare")).to_have_count(0)
    form = forms.first
    form.get_by_role("textbox").fill("3")
    page.keyboard.press("Enter")
    answers = page.locator(".prediction", has_text=questions[0]).locator(".answers")
    expect(answers.filter(visible=True)).to_have_count(2)
    answers.filter(visible=True).last.get_by_role("button", name="Cover again").click()
    expect(form.get_by_role("textbox")).to_be_focused()


def test_the_menu_closes_when_the_reader_scrolls(open_http_page: Visitor):
    page = open_http_page("chapter_gpus/memory.html")
    page.click("#compare-button")
    wait_until(page, "!!window.bookCompare")
    page.click(f"#comparison [value={OTHER}]")
    page.keyboard.press("ArrowDown")  # a choice is no scroll
    expect(page.locator("#comparison")).to_be_visible()
    page.mouse.move(300, 500)
    page.mouse.wheel(0, 300)
    expect(page.locator("#comparison")).to_be_hidden()


def test_marks_are_what_differs(open_page: Visitor):
    page = open_page(f"{BOTH}&differences=on")
    code = ".pair:has(.folded) > .{} pre"
    for side, words in [("first", "import torch"), ("second", "import jax")]:
        assert words in (page.locator(code.format(side)).first.text_content() or "")
    marked = page.evaluate(MARKED)
    assert {"FakeTensorMode", "params", "device_put"} <= set(marked)
    assert len(marked) > 60
    assert "warnings" not in marked
    # Docstrings, brackets and modules in front of names have no meaning.
    assert not any("Return" in mark or '"""' in mark for mark in marked)
    assert not {",", "(", ")", "jnp", "torch."} & set(marked)
    assert not any("\n" in mark or mark != mark.strip() for mark in marked)
    reload(page)
    assert page.evaluate(MARKED) == marked


def test_marks_are_what_differs_in_folded_imports(open_http_page: Visitor):
    address = BOTH.replace("use-gpu", "data-movement")
    marked = open_http_page(f"{address}&differences=on").evaluate(MARKED)
    assert {"torch", "jax", "device_put"} <= set(marked)
    assert not {",", "(", ")", "jnp", "torch.", "warnings"} & set(marked)


def test_nothing_is_compared_with_itself(open_page: Visitor):
    page = open_page(f"{SECTION}?tab={OTHER}&beside={OTHER}")
    assert beside(page) == "none" and probe(page, "wrongTabs") == []


def test_an_address_with_the_second_framework_makes_it_the_first(
    open_http_page: Visitor,
):
    page = open_http_page(SECTION)
    page.keyboard.press("c")
    wait_until(page, "document.documentElement.dataset.beside !== 'none'")
    second = beside(page)
    reload(page)  # the browser stores the choice a bit later
    page.goto(f"{open_http_page.base}{SECTION}?tab={second}")
    for _ in range(2):
        assert (chosen(page), beside(page)) == (second, FIRST) and pairs(page)
        page.goto(f"{open_http_page.base}chapter_gpus/memory.html")


def test_a_link_to_a_panel_that_is_shown_keeps_the_order(open_http_page: Visitor):
    panel = open_http_page(SECTION).locator(f".place > [data-choices={OTHER}]").last
    anchor = panel.get_attribute("id")
    page = open_http_page(f"{BOTH}#{anchor}")
    assert (chosen(page), beside(page)) == (FIRST, OTHER)
    expect(page.locator(f"#{anchor}")).to_be_in_viewport()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("screen", [{}, TOUCH_SCREEN], ids=["wide", "phone"])
def test_axe_finds_nothing_in_a_comparison(
    open_http_page: Visitor, violations: Violations, screen: dict, scheme: str
):
    page = open_http_page(BOTH, color_scheme=scheme, **screen)
    if screen:
        page.tap(".framework-button")
    page.click("#compare-button")
    expect(page.locator("#comparison")).to_be_visible()
    assert violations(page) == []


@pytest.mark.parametrize("value", [OTHER, "none"])
def test_nothing_jumps_when_a_comparison_begins_or_ends(
    open_http_page: Visitor, value: str
):
    page = open_http_page(SECTION if value == OTHER else BOTH)
    for part in (0.2, 0.5, 0.8):
        before = probe(page, "mark", part)
        page.keyboard.press("c")
        assert abs(probe(page, "placeOfMarked") - before) <= 2, part
        page.keyboard.press("c")


def test_nothing_jumps_under_the_choice_of_a_second_framework(open_http_page: Visitor):
    page = open_http_page("chapter_gpus/memory.html")
    for value in (OTHER, "none"):
        reach_everything(page)  # what comes late moves by itself
        before = probe(page, "mark", 0.6)
        # Playwright's own click would scroll the page to show the sticky bar.
        page.locator("#compare-button").evaluate("button => button.click()")
        page.click(f"#comparison [value={value}]")
        assert beside(page) == value
        assert abs(probe(page, "placeOfMarked") - before) <= 2, value
        page.keyboard.press("Escape")


def test_a_drawer_holds_the_contents_beside_a_comparison(open_http_page: Visitor):
    page = open_http_page(BOTH)
    for drawer in ("book-contents", "page-contents"):
        open_drawer = partial(page.click, f"[popovertarget={drawer}]")
        assert not page.is_visible(f"#{drawer}")
        open_drawer()
        assert page.is_visible(f"#{drawer}")
        page.keyboard.press("Escape")


def test_a_figure_of_two_frameworks_comes_once_in_each(open_http_page: Visitor):
    page = open_http_page(
        f"chapter_gpus/memory.html?tab={FIRST}&beside={OTHER}&predict=off",
        viewport=WIDE,
    )
    sides = ".pair > :is(.first, .second) > figure.output"
    figures = page.locator(f"{sides}[data-explorable]")
    # It has no height before it is in view.
    figures.first.evaluate("figure => figure.scrollIntoView()")
    assert figures.count() >= 2
    expect(page.locator(f"{sides}.live:visible")).to_have_count(figures.count())
    for figure in figures.all():
        assert figure.locator(".explorable").count() == 1
