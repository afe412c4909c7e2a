"""Outputs that readers predict: covered, compared, remembered, turned off."""

import re
from typing import Any

import pytest
from browsing import (
    TABS,
    TOP,
    TOUCH_SCREEN,
    WIDE,
    Violations,
    Visitor,
    choose,
    probe,
    reload,
    wait_until,
)
from playwright.sync_api import Locator, Page, expect

SECTION = "chapter_gpus/memory.html"
FIRST, OTHER = TABS[0], TABS[2]
QUESTION = "How many MiB does a step of DeepMLP with 2048 examples reach at most?"


def prediction(page: Page, place: int = 0) -> Locator:
    """Return the prediction of the question in a framework that the page shows."""
    found = page.locator(f'.prediction[data-question="{QUESTION}"]:visible')
    return found.nth(place)


def other(page: Page) -> Locator:
    """Return the prediction of another question."""
    return page.locator('.prediction[data-question*="sbh bytes"]:visible').first


def outputs(page: Page, place: int = 0) -> Locator:
    return prediction(page, place).locator(".covered")


def button(page: Page) -> Locator:
    return prediction(page).get_by_role("button", name="Show the output")


def arithmetic(page: Page) -> Locator:
    return page.locator("p.arithmetic", has_text="begin with the weights")


def row(page: Page, place: int = 0) -> dict[str, str]:
    """Return the visible names and numbers of the row."""
    entries = prediction(page, place).locator("dl > div:visible").all()
    texts = [entry.locator("dt, dd").all_inner_texts() for entry in entries]
    return dict(texts)


def field(prediction: Locator) -> Locator:
    return prediction.get_by_role("textbox")


def enter(page: Page, number: str) -> None:
    field(prediction(page)).fill(number)
    page.keyboard.press("Enter")


def compare(prediction: Locator, number: str) -> None:
    field(prediction).fill(number)
    prediction.get_by_role("button", name="Check").click()


def test_an_output_is_covered_until_the_reader_has_predicted_it(open_page: Visitor):
    page = open_page(SECTION)
    expect(outputs(page)).to_be_hidden()
    expect(arithmetic(page)).to_be_hidden()
    texts = page.locator(".output:visible").all_inner_texts()
    assert texts and not any("the highest point is" in text for text in texts)
    enter(page, "19.5")
    expect(outputs(page)).to_be_visible()
    expect(outputs(page)).to_contain_text("the highest point is 25.0 MiB")
    expect(arithmetic(page)).to_be_visible()
    expect(button(page)).to_be_hidden()
    assert row(page) == {
        "You": "19.5 MiB, too small by a factor of 1.3",
        "Arithmetic": "21 MiB",
        "Output": "25.0 MiB",
    }


def test_a_reader_may_show_the_output_without_a_number(open_http_page: Visitor):
    page = open_http_page(SECTION)
    button(page).click()
    expect(outputs(page)).to_be_visible()
    assert list(row(page)) == ["Arithmetic", "Output"]
    expect(other(page).locator(".covered")).to_be_hidden()
    reload(page)  # it was no prediction, so the question is asked again
    expect(outputs(page)).to_be_hidden()


def paragraph(page: Page, words: str) -> Locator:
    return page.locator("main p", has_text=words)


def test_only_the_paragraph_below_an_output_waits(open_http_page: Visitor):
    page = open_http_page("chapter_gpus/compiling.html")
    asked = page.locator(".prediction:visible", has_text="the GELU chain").first
    behind = asked.get_by_text("The explanation follows your prediction.")
    explained = paragraph(page, "Bytes alone predict both times")
    for words in ("On your machine, try a chain", "Read what the compiler made"):
        expect(paragraph(page, words)).to_be_visible()
    expect(explained).to_be_hidden()
    expect(behind).to_be_visible()
    compare(asked, "1.3")
    expect(explained).to_be_visible()
    expect(behind).to_be_hidden()


@pytest.mark.parametrize("path", ["memory", "compiling", "performance", "tiles"])
def test_no_figure_table_list_or_code_waits(open_http_page: Visitor, path: str):
    page = open_http_page(f"chapter_gpus/{path}.html")
    for tab in TABS:
        choose(page, tab)
        asked = page.locator(".prediction:visible").count()
        told = page.locator('p[hidden="until-found"].waits')
        assert 0 < told.count() and asked
        others = page.locator('main [hidden="until-found"]:not(p, .covered)')
        assert others.count() == 0


@pytest.mark.parametrize("path", ["memory", "compiling", "performance", "tiles"])
def test_what_waits_in_no_framework_is_in_view(open_http_page: Visitor, path: str):
    page = open_http_page(f"chapter_gpus/{path}.html")
    for tab in TABS:
        choose(page, tab)
        assert page.locator(".waits").locator("visible=true").count() == 0


def test_an_open_text_does_not_wait(open_http_page: Visitor):
    page = open_http_page("chapter_gpus/performance.html")
    expect(paragraph(page, "Here is the picture that gives the model")).to_be_visible()
    expect(paragraph(page, "A single number, the time of a call")).to_be_hidden()


def test_a_figure_below_a_cover_is_in_sight(open_http_page: Visitor):
    page = open_http_page("chapter_gpus/data-movement.html#fig-workers")
    expect(page.locator("#fig-workers")).to_be_in_viewport()
    assert page.locator(".prediction[data-open]:visible").count() == 0


def test_a_search_of_the_browser_opens_the_cover(open_http_page: Visitor):
    page = open_http_page(f"{SECTION}#:~:text=four%20arrays%20exist")
    told = page.locator("p.waits:visible", has_text="four arrays exist")
    expect(told).to_be_in_viewport()
    expect(outputs(page)).to_be_visible()
    expect(arithmetic(page)).to_be_visible()


def test_the_arithmetic_is_found_too(open_http_page: Visitor):
    page = open_http_page(SECTION)
    event = "e => e.dispatchEvent(new Event('beforematch', { bubbles: true }))"
    assert arithmetic(page).get_attribute("hidden") == "until-found"
    arithmetic(page).evaluate(event)
    expect(outputs(page)).to_be_visible()


def test_a_text_waits_for_the_prediction_next_to_it(open_http_page: Visitor):
    page = open_http_page(f"{SECTION}?tab=jax")  # in which a part has two predictions
    above = paragraph(page, "state before the first step, so in JAX each step")
    explained = paragraph(page, "On a CPU, 17 arrays are enough")
    enter(page, "20")
    expect(above).to_be_visible()
    expect(explained).to_be_hidden()
    compare(page.locator('.prediction[data-question*="temporaries"]:visible'), "17")
    expect(explained).to_be_visible()


def test_one_question_can_be_covered_again(open_http_page: Visitor):
    page = open_http_page(SECTION)
    enter(page, "20")
    compare(other(page), "3")
    prediction(page).get_by_role("button", name="Cover again").click()
    expect(outputs(page)).to_be_hidden()
    expect(field(prediction(page))).to_be_focused()
    expect(field(prediction(page))).to_have_value("")
    reload(page)
    expect(outputs(page)).to_be_hidden()
    expect(other(page).locator(".covered")).to_be_visible()


def test_a_published_number_is_compared_if_the_cell_prints_no_other(
    open_http_page: Visitor,
):
    page = open_http_page("chapter_gpus/performance.html")
    asked = page.locator('.prediction:has([data-unit="TFLOP/s"]):visible').first
    compare(asked, "147.2")
    expect(asked.locator(".yours dd")).to_have_text(
        "147.2 TFLOP/s, like the arithmetic; "
        "the published number is smaller by a factor of 1.2"
    )


ASKED = "How many µs does it take to create a matrix of one value"


@pytest.mark.parametrize("tab", TABS)
def test_the_first_lesson_asks_for_a_number_on_its_first_two_screens(
    open_http_page: Visitor, tab: str
):
    screen = {"width": 1300, "height": 900}
    path = f"chapter_gpus/first-hour.html?tab={tab}"
    page = open_http_page(path, viewport=screen)
    wait_until(page, "document.querySelector('figure.live')")
    box = field(page.locator(".prediction:visible").first).bounding_box()
    assert box and box["y"] + box["height"] < 2 * screen["height"]


def test_a_text_asks_for_a_published_number(open_http_page: Visitor):
    page = open_http_page("chapter_gpus/first-hour.html")
    asked = page.locator(f'.prediction[data-question^="{ASKED}"]')
    told = paragraph(page, "nearly all of that was station")
    expect(told).to_be_hidden()
    expect(asked.get_by_role("button", name="Show the answer")).to_be_visible()
    compare(asked, "5")
    expect(asked.locator(".answers > dl")).to_have_text(
        re.compile(r"You\s*5 µs, too small by a factor of 13.*cited\s*66\.5 µs", re.S)
    )
    expect(told).to_be_visible()
    expect(page.locator(".tally").first).to_contain_text("off by a factor of 13")


def test_a_question_of_the_text_is_text_on_paper_and_without_covers(
    open_http_page: Visitor,
):
    page = open_http_page("chapter_gpus/first-hour.html")
    question = paragraph(page, ASKED).and_(page.locator(".question"))
    expect(question).to_be_hidden()
    page.emulate_media(media="print")
    expect(question).to_be_visible()
    page = open_http_page("chapter_gpus/first-hour.html?predict=off")
    expect(page.locator("p.question")).to_be_visible()


def test_what_is_no_prediction_is_refused_with_a_reason(open_http_page: Visitor):
    page = open_http_page(SECTION)
    enter(page, "twenty")
    box = field(prediction(page))
    expect(box).to_be_focused()
    expect(box).to_have_attribute("aria-invalid", "true")
    expect(prediction(page).get_by_role("status")).not_to_be_empty()
    assert box.evaluate(
        "e => document.getElementById(e.getAttribute('aria-describedby')).textContent"
    )
    expect(outputs(page)).to_be_hidden()
    box.fill("20")
    expect(prediction(page).get_by_role("status")).to_be_empty()
    assert box.get_attribute("aria-invalid") is None


def test_a_conversion_is_shown_while_the_reader_types(open_http_page: Visitor):
    page = open_http_page(SECTION)
    box = field(prediction(page))
    box.press_sequentially("26.2 MB")
    expect(prediction(page).get_by_role("status")).to_have_text("26.2 MB = 25.0 MiB")
    box.fill("26")
    expect(prediction(page).get_by_role("status")).to_be_empty()


def test_the_question_names_the_field(open_page: Visitor):
    page = open_page(SECTION)
    named = prediction(page).get_by_label(f"{QUESTION} MiB")
    assert named.get_attribute("inputmode") == "decimal"
    compare(prediction(page), "20")
    expect(outputs(page)).to_be_visible()


def test_a_record_sums_up_what_the_reader_has_predicted(open_http_page: Visitor):
    page = open_http_page(SECTION)
    record = page.get_by_role("region", name="Your predictions")
    button(page).click()
    expect(record).to_have_count(0)  # nothing was predicted
    prediction(page).get_by_role("button", name="Cover again").click()
    enter(page, "50")
    expect(record).to_contain_text(
        "Your prediction on this page is off by a factor of 2.0, the arithmetic by 1.2."
    )
    assert record.evaluate("e => e.nextElementSibling.id") == "exercises"
    compare(other(page), "354")
    expect(record).to_contain_text("Your 2 predictions on this page are typically off")
    expect(record.get_by_role("img")).to_have_attribute(
        "aria-label", re.compile("your numbers are 2, 1; the arithmetic is 0.84, 1")
    )
    reload(page)
    record.get_by_role("button", name="Erase my predictions on this page").click()
    expect(record).to_have_count(0)
    expect(outputs(page)).to_be_hidden()
    assert page.evaluate("localStorage.predictions") == "{}"


# Choices, and several numbers

USES = "chapter_gpus/use-gpu.html"


def about(page: Page, words: str) -> Locator:
    """Return the first visible prediction whose question has some words."""
    return page.locator(f'.prediction[data-question*="{words}"]:visible').first


def verdicts(prediction: Locator) -> list[str]:
    return prediction.locator(".yours dd:visible").all_inner_texts()


def test_a_choice_is_made_with_the_keyboard(open_http_page: Visitor):
    page = open_http_page(f"{USES}?tab=pytorch")
    asked = about(page, "What does PyTorch do if you add")
    expect(asked.locator(".covered")).to_be_hidden()
    page.keyboard.press("Tab")
    asked.get_by_role("radio").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(asked.locator(".covered")).to_be_visible()
    expect(asked.get_by_role("group", name="Comparison")).to_be_focused()
    assert verdicts(asked) == ["copy silently, then add, not so"]
    reload(page)
    expect(asked.locator(".covered")).to_be_visible()
    asked.get_by_role("button", name="Cover again").click()
    expect(asked.get_by_role("radio", checked=True)).to_have_count(0)
    asked.get_by_role("radio", name="raise an error").check()
    asked.get_by_role("button", name="Check").click()
    assert verdicts(asked) == ["raise an error, right"]
    expect(page.locator(".tally")).to_contain_text("Your choice on this page is right.")


def test_nothing_is_uncovered_without_a_choice(open_http_page: Visitor):
    page = open_http_page(USES)
    asked = about(page, "on the device already")
    asked.get_by_role("button", name="Check").click()
    expect(asked.get_by_role("status")).to_have_text(
        "Choose an answer, or show the output."
    )
    expect(asked.get_by_role("radio").first).to_be_focused()
    expect(asked.locator(".covered")).to_be_hidden()
    asked.get_by_role("radio").first.check()
    expect(asked.get_by_role("status")).to_be_empty()


MODELS = ["Llama 3 70B", "Qwen2.5 7B", "Qwen3 8B", "Qwen3 30B-A3B"]


def test_choices_are_put_in_order(open_http_page: Visitor):
    page = open_http_page("chapter_gpus/inference.html")
    asked = about(page, "In which order are four models")
    boxes = [asked.get_by_role("checkbox", name=name) for name in MODELS]
    status, check = asked.get_by_role("status"), asked.get_by_text("Check", exact=True)
    for box in (boxes[2], boxes[0], boxes[1]):
        box.check()
    expect(status).to_have_text("Qwen3 8B → Llama 3 70B → Qwen2.5 7B")
    boxes[2].uncheck()
    expect(status).to_have_text("Llama 3 70B → Qwen2.5 7B")
    check.click()
    expect(status).to_contain_text("Choose all, one after the other")
    expect(asked.locator(".covered")).to_be_hidden()
    boxes[3].focus()
    page.keyboard.press("Space")
    boxes[2].check()
    page.keyboard.press("Enter")
    expect(asked.locator(".covered")).to_be_visible()
    order = " → ".join([MODELS[0], MODELS[1], MODELS[3], MODELS[2]])
    assert verdicts(asked) == [f"{order}, 0 of 4 in place"]
    reload(page)
    assert verdicts(asked) == [f"{order}, 0 of 4 in place"]
    asked.get_by_role("button", name="Cover again").click()
    for i in (1, 3, 2, 0):
        expect(boxes[i]).not_to_be_checked()
        boxes[i].check()
    check.click()
    assert verdicts(asked)[0].endswith(", right")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "screen", [{"viewport": WIDE}, TOUCH_SCREEN], ids=["wide", "phone"]
)
def test_an_order_is_accessible(
    open_http_page: Visitor, violations: Violations, screen: dict[str, Any], scheme: str
):
    page = open_http_page("chapter_gpus/inference.html", color_scheme=scheme, **screen)
    about(page, "In which order").get_by_role("checkbox").nth(1).check()
    assert violations(page) == [] and probe(page, "tooWide") == []


def test_the_output_of_each_framework_decides(open_http_page: Visitor):
    page = open_http_page(f"{USES}?tab=pytorch")
    asked = "on the device already"
    about(page, asked).get_by_role("radio", name="yes").check()
    about(page, asked).get_by_role("button", name="Check").click()
    assert verdicts(about(page, asked)) == ["yes, right"]
    choose(page, "jax")
    assert verdicts(about(page, asked)) == ["yes, not so"]


def test_several_numbers_are_compared_one_by_one(open_http_page: Visitor):
    page = open_http_page(USES)
    asked = about(page, "three copies of n")
    asked.get_by_label("n = 6144").fill("7.1")
    asked.get_by_label("n = 256").fill("many")
    page.keyboard.press("Enter")
    expect(asked.get_by_label("n = 256")).to_be_focused()
    expect(asked.get_by_role("status")).to_contain_text("“many” is not a number")
    expect(asked.locator(".covered")).to_be_hidden()
    asked.get_by_label("n = 256").fill("12 µs")
    page.keyboard.press("Enter")
    expect(asked.locator(".covered")).to_be_visible()
    assert verdicts(asked) == [
        "7.1 ms, right",
        "12 µs = 0.0120 ms, too small by a factor of 3.5",
    ]
    reload(page)
    assert len(verdicts(asked)) == 2


LINES = "chapter_gpus/out-of-memory.html"
U = ["39.0", "23.5", "16.6", "14.5", "16.5", "23.5"]  # MiB, in the record of PyTorch


def line_asked(page: Page) -> Locator:
    asked = page.locator(".prediction:has(.sketch):visible").first
    expect(asked.locator(".sketch .board")).to_be_visible()
    return asked


def stroke(page: Page, board: Locator, *points: tuple[float, float]) -> None:
    """Draw through points, each a part of the width and of the height from below."""
    board.scroll_into_view_if_needed()
    box = board.bounding_box()
    assert box
    for i, (x, y) in enumerate(points):
        page.mouse.move(box["x"] + x * box["width"], box["y"] + (1 - y) * box["height"])
        if not i:
            page.mouse.down()
    page.mouse.up()


def test_a_line_is_drawn_with_the_pointer(open_http_page: Visitor):
    page = open_http_page(LINES)
    asked = line_asked(page)
    check = asked.get_by_role("button", name="Check")
    check.click()
    expect(asked.get_by_role("status")).to_contain_text("Draw the whole line")
    expect(asked.locator(".covered")).to_be_hidden()
    # A fast stroke passes all places between its points.
    stroke(page, asked.locator(".board"), (0.02, 0.8), (0.6, 0.25), (0.98, 0.6))
    values = asked.get_by_role("slider").evaluate_all("all => all.map((s) => +s.value)")
    assert len(values) == 6 and values[:4] == sorted(values[:4], reverse=True)
    assert values[3] < values[4] < values[5]
    check.click()
    expect(asked.locator(".covered")).to_be_visible()
    said = asked.locator(".verdict")
    expect(said).to_contain_text("The line of the output falls, then rises; so does")
    kinds = asked.locator(".drawn polyline")
    assert [kind.get_attribute("class") for kind in kinds.all()] == [
        *("output", "arithmetic", "value")
    ]
    asked.get_by_text("The numbers").click()
    assert len(verdicts(asked)) == 6
    outputs = asked.locator("dl > div:last-child dd").all_inner_texts()
    assert outputs == [f"{number} MiB" for number in U]
    expect(page.locator(".tally")).to_contain_text("Your 6 predictions on this page")
    reload(page)
    expect(said).to_contain_text("so does yours")


def test_a_line_is_drawn_with_the_keyboard(open_http_page: Visitor):
    page = open_http_page(LINES)
    asked = line_asked(page)
    sliders = asked.get_by_role("slider")
    expect(sliders).to_have_count(6)
    first = asked.get_by_role("slider", name="1 segments", exact=True)
    expect(first).to_have_attribute("aria-valuetext", "not drawn yet")
    first.focus()
    page.keyboard.press("End")
    expect(first).to_have_attribute("aria-valuetext", "50 MiB")
    for _ in range(5):
        page.keyboard.press("Tab")
        page.keyboard.press("ArrowDown")
    expect(sliders.last).to_have_attribute("aria-valuetext", "24.5 MiB")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    said = asked.locator(".verdict")
    expect(said).to_contain_text("yours falls, then stays level")
    expect(asked.locator(".drawn [role=img]")).to_have_attribute(
        "aria-label", said.inner_text()
    )
    asked.get_by_role("button", name="Cover again").click()
    expect(first).to_have_attribute("aria-valuetext", "not drawn yet")
    expect(first).to_be_focused()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "screen", [{"viewport": WIDE}, TOUCH_SCREEN], ids=["wide", "phone"]
)
def test_a_line_is_accessible(
    open_http_page: Visitor, violations: Violations, screen: dict[str, Any], scheme: str
):
    page = open_http_page(LINES, color_scheme=scheme, **screen)
    asked = line_asked(page)
    assert violations(page) == [] and probe(page, "tooWide") == []
    stroke(page, asked.locator(".board"), (0.02, 0.8), (0.98, 0.6))
    asked.get_by_role("button", name="Check").click()
    expect(asked.locator(".drawn")).to_be_visible()
    assert violations(page) == [] and probe(page, "tooWide") == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "screen", [{"viewport": WIDE}, TOUCH_SCREEN], ids=["wide", "phone"]
)
def test_choices_and_several_fields_are_accessible(
    open_http_page: Visitor, violations: Violations, screen: dict[str, Any], scheme: str
):
    page = open_http_page(USES, color_scheme=scheme, **screen)
    about(page, "on the device already").get_by_role("button", name="Check").click()
    compare_all(page)
    assert violations(page) == [] and probe(page, "tooWide") == []


def compare_all(page: Page) -> None:
    """Answer a question with choices and one with two numbers."""
    about(page, "add tensors on two").get_by_role("radio").first.check()
    about(page, "add tensors on two").get_by_role("button", name="Check").click()
    for box in about(page, "three copies of n").get_by_role("textbox").all():
        box.fill("7.1")
    page.keyboard.press("Enter")


# The record over the whole book


def answer_both(page: Page) -> None:
    """Miss a number by far on one page, and choose right on another one."""
    enter(page, "250")
    wait_until(page, "localStorage.record")  # or it is noted at the next visit
    page.goto(page.url.replace("memory", "use-gpu"))
    choice = about(page, "four times is the longest")
    printed = page.locator("pre", has_text="16384 hidden units: calls").first
    line = (printed.text_content() or "").partition("16384 hidden units: ")[2]
    times = dict(re.findall(r"(\w+) ([\d.]+) ms", line))
    longest = max(times, key=lambda name: float(times[name]))
    choice.get_by_role("radio", name=longest).check()
    choice.get_by_role("button", name="Check").click()
    wait_until(page, "Object.keys(JSON.parse(localStorage.record ?? '{}')).length == 2")


def front(page: Page) -> Locator:
    """Go to the front page, and return its record."""
    page.goto(page.url.partition("chapter_gpus")[0] + "index.html")
    return page.get_by_role("region", name="Your Predictions")


def offered(page: Page) -> Locator:
    return page.get_by_role("region", name="Try it again")


def test_the_front_page_sums_up_all_predictions(open_http_page: Visitor):
    page = open_http_page(f"{SECTION}?tab=pytorch")
    answer_both(page)
    record = front(page)
    expect(record).to_contain_text("2 predicted in this book: 1 right, 0 close, 1")
    found = map(cells, record.get_by_role("row").all())
    rows = [row.all_inner_texts() for row in found]
    (section,) = [row for row in rows if row[0].endswith("Using GPUs")]
    assert section[1:] == ["1", "0", "0"]
    assert ["bytes", "0", "0", "1"] in rows and ["choice", "1", "0", "0"] in rows
    again = record.get_by_role("listitem")
    expect(again).to_have_count(1)
    expect(again).to_contain_text("You were off by a factor of 10; try it again: How m")
    assert record.evaluate("e => e.nextElementSibling.id") == "the-sections"


def cells(row: Locator) -> Locator:
    return row.locator("th, td")


def test_a_missed_question_is_asked_again(open_http_page: Visitor):
    page = open_http_page(f"{SECTION}?tab=pytorch")
    answer_both(page)
    page.goto(page.url.replace("use-gpu", "data-movement"))
    offered(page).get_by_role("link", name=QUESTION).click()
    expect(field(prediction(page))).to_be_focused()
    expect(prediction(page)).to_be_in_viewport()
    expect(outputs(page)).to_be_hidden()
    assert "again" not in page.url  # a reload asks nothing again
    enter(page, "25")
    wait_until(page, "!localStorage.record.includes('missed')")
    page.goto(page.url.replace("memory", "data-movement"))
    page.wait_for_load_state("networkidle")
    expect(offered(page)).to_have_count(0)
    expect(front(page)).to_contain_text("2 right, 0 close, 0 missed")


def test_a_page_offers_its_own_questions_after_a_day(open_http_page: Visitor):
    page = open_http_page(SECTION)
    enter(page, "250")
    expect(page.locator(".tally")).to_have_count(1)
    page.wait_for_load_state("networkidle")
    expect(offered(page)).to_have_count(0)
    page.evaluate(
        """() => {
          const record = JSON.parse(localStorage.record);
          for (const entry of Object.values(record)) entry.when -= 25 * 3600 * 1000;
          localStorage.record = JSON.stringify(record);
        }"""
    )
    reload(page)
    offered(page).get_by_role("link").click()
    expect(outputs(page)).to_be_hidden()
    expect(field(prediction(page))).to_be_focused()


def test_a_question_is_asked_again_in_its_framework(open_http_page: Visitor):
    page = open_http_page(f"{USES}?tab=mxnet")
    about(page, "What does MXNet do if").get_by_role("radio").first.check()
    page.keyboard.press("Enter")
    wait_until(page, "localStorage.record")
    page.goto(page.url.replace("use-gpu", "memory").replace("mxnet", "jax"))
    offered(page).get_by_role("link").click()
    expect(about(page, "What does MXNet do if").locator("input").first).to_be_focused()


def test_the_record_is_emptied_after_a_question(open_http_page: Visitor):
    page = open_http_page(SECTION)
    answer_both(page)
    record = front(page)
    button = record.get_by_role("button", name="Forget all predictions")
    page.once("dialog", lambda dialog: dialog.dismiss())
    button.click()
    expect(record).to_contain_text("2 predicted")
    page.once("dialog", lambda dialog: dialog.accept())
    button.click()
    expect(record).to_have_count(0)
    kept = page.evaluate("[localStorage.record, localStorage.predictions]")
    assert kept == [None, None]


def test_what_a_page_forgets_leaves_the_record(open_http_page: Visitor):
    page = open_http_page(SECTION)
    answer_both(page)
    page.get_by_role("button", name="Erase my predictions on this page").click()
    wait_until(page, "Object.keys(JSON.parse(localStorage.record)).length == 1")
    expect(front(page)).to_contain_text("1 predicted in this book: 0 right, 0 close, 1")


def test_a_damaged_record_starts_anew(open_http_page: Visitor):
    page = open_http_page(SECTION)
    page.evaluate("localStorage.record = '{'")
    reload(page)
    enter(page, "250")
    wait_until(page, "localStorage.record.includes('missed')")


def test_there_is_no_record_without_predictions(open_http_page: Visitor):
    page = open_http_page("index.html")
    page.wait_for_load_state("networkidle")
    assert not any("record.js" in url for url in open_http_page.requests)
    expect(page.locator(".tally")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "screen", [{"viewport": WIDE}, TOUCH_SCREEN], ids=["wide", "phone"]
)
def test_the_record_is_accessible(
    open_http_page: Visitor, violations: Violations, screen: dict[str, Any], scheme: str
):
    page = open_http_page(SECTION, color_scheme=scheme, **screen)
    answer_both(page)
    expect(offered(page)).to_have_count(1)  # that of the page before
    expect(front(page)).to_be_visible()
    assert violations(page) == [] and probe(page, "tooWide") == []


# Focus, frameworks, settings


def test_focus_goes_to_the_row(open_http_page: Visitor):
    page = open_http_page(SECTION)
    button(page).press("Enter")
    expect(prediction(page).get_by_role("group", name="Comparison")).to_be_focused()


def test_nothing_moves_but_what_is_below_the_cover(open_http_page: Visitor):
    page = open_http_page(SECTION)
    button(page).scroll_into_view_if_needed()
    before = prediction(page).evaluate(TOP)
    button(page).click()
    assert prediction(page).evaluate(TOP) == pytest.approx(before, abs=1)
    assert page.evaluate("scrollX") == 0


def test_an_answer_holds_in_all_frameworks(open_http_page: Visitor):
    page = open_http_page(SECTION)
    enter(page, "20")
    choose(page, OTHER)
    expect(outputs(page)).to_contain_text("the highest point is 23.0 MiB")
    assert row(page)["You"].startswith("20 MiB")


def test_frameworks_side_by_side_are_uncovered_together(open_http_page: Visitor):
    page = open_http_page(f"{SECTION}?tab={FIRST}&beside={OTHER}")
    hidden = page.locator(f'[data-question="{QUESTION}"] .covered')
    assert hidden.filter(visible=True).count() == 0 and prediction(page).count() == 1
    enter(page, "20")
    tops = [prediction(page, n).evaluate(TOP) for n in (0, 1)]
    assert tops[0] == tops[1]
    for place, number in enumerate(("25.0 MiB", "23.0 MiB")):
        expect(outputs(page, place)).to_be_visible()
        assert row(page, place)["Output"] == number


def test_two_tabs_of_the_browser_keep_each_others_answers(open_http_page: Visitor):
    page, another = open_http_page(SECTION), open_http_page(SECTION)
    enter(page, "20")
    wait_until(another, "localStorage.predictions")
    compare(other(another), "3")
    assert row(another)["You"].startswith("20 MiB")
    wait_until(page, "Object.keys(JSON.parse(localStorage.predictions)).length === 2")


def test_damaged_storage_covers_the_outputs_again(open_http_page: Visitor):
    page = open_http_page(SECTION)
    page.evaluate("localStorage.setItem('predictions', '{')")
    reload(page)
    expect(outputs(page)).to_be_hidden()
    button(page).click()
    expect(outputs(page)).to_be_visible()


def switch_covers(page: Page) -> None:
    """Change the setting for covers with the keyboard."""
    page.focus("#settings-button")
    page.keyboard.press("Enter")
    setting = page.get_by_role("checkbox", name="Cover outputs until I predict them")
    setting.focus()
    page.keyboard.press("Space")
    expect(setting).to_be_focused()
    page.keyboard.press("Escape")


def test_covers_can_be_turned_off_and_on_with_the_keyboard(open_http_page: Visitor):
    page = open_http_page(SECTION)
    switch_covers(page)
    expect(outputs(page)).to_be_visible()
    expect(arithmetic(page)).to_be_visible()
    expect(button(page)).to_be_hidden()
    reload(page)
    expect(outputs(page)).to_be_visible()
    page.goto(page.url.replace("memory", "data-movement"))
    expect(page.locator(".covered:visible").first).to_be_visible()
    expect(page.get_by_role("button", name="Show the output")).to_have_count(0)
    page.go_back()
    switch_covers(page)
    expect(outputs(page)).to_be_hidden()


def test_covers_that_are_turned_on_again_erase_no_answer(open_http_page: Visitor):
    page = open_http_page(SECTION)
    enter(page, "20")
    page.click("#settings-button")
    page.uncheck("#cover-outputs")
    expect(page.locator(".prediction > .guess:visible")).to_have_count(0)
    page.check("#cover-outputs")
    assert row(page)["You"].startswith("20 MiB")
    expect(other(page).locator(".covered")).to_be_hidden()


@pytest.mark.parametrize("state", ["covered", "answered"])
def test_paper_shows_outputs_without_covers_or_rows(
    open_http_page: Visitor, state: str
):
    page = open_http_page(SECTION)
    if state == "answered":
        enter(page, "20")
    page.emulate_media(media="print")
    expect(outputs(page)).to_be_visible()
    expect(arithmetic(page)).to_be_visible()
    expect(page.locator(".waits:visible").first).to_be_visible()
    parts = ".guess, .answers, .prediction-source, .tally"
    assert page.locator(parts).locator("visible=true").count() == 0


def test_nothing_is_covered_without_javascript(open_page: Visitor):
    page = open_page(SECTION, java_script_enabled=False)
    assert page.locator(".covered:visible").count() == page.locator(".covered").count()
    assert page.locator("p.arithmetic:visible").count() > 1
    assert page.locator("[hidden=until-found]").count() == 0
    waiting = page.locator("p.waits")
    assert page.locator("p.waits:visible").count() == waiting.count() > 1
    assert page.locator(".guess:visible").count() == 0


def test_nothing_leaves_the_browser(open_http_page: Visitor):
    page = open_http_page(SECTION)
    page.wait_for_load_state("networkidle")
    before, address = len(open_http_page.requests), page.url
    enter(page, "20")
    page.wait_for_timeout(200)
    # What comes into view loads files of the site, as always.
    later = open_http_page.requests[before:]
    scripts = r"_static/(?=(?:tally|record|sketch|exercises)\.)"
    folders = rf"(?:_images/|_static/explorables/|{scripts})"
    own = re.compile(rf"http://127\.0\.0\.1:\d+/{folders}[\w.-]+")
    assert [url for url in later if not own.fullmatch(url)] == []
    assert page.url == address


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "screen", [{"viewport": WIDE}, TOUCH_SCREEN], ids=["wide", "phone"]
)
def test_covers_and_rows_are_accessible(
    open_http_page: Visitor, violations: Violations, screen: dict[str, Any], scheme: str
):
    page = open_http_page(SECTION, color_scheme=scheme, **screen)
    assert violations(page) == [] and probe(page, "tooWide") == []
    enter(page, "20")
    assert violations(page) == [] and probe(page, "tooWide") == []
