"""Fields below exercises: judged like predictions, with hints and then the solution."""

import json
from collections.abc import Iterator

import pytest
from browsing import (
    BOOK,
    SCREENS,
    TABS,
    Violations,
    Visitor,
    choose,
    probe,
    reload,
)
from playwright.sync_api import Locator, Page, expect

from book.checks.quotations import fresh_blocks
from book.facts.exercises import Question, questions, right, solution
from book.text.section import Section

SECTION = "chapter_gpus/memory.html"
LOGITS = "How many GB do its logits take in 32 bits, together with their gradient?"
PRINTS = "What does the script print if rank 1 is missing?"
WHOLE = "[data-question='{}']"


def exercise(page: Page, question: str = LOGITS) -> Locator:
    """Return the form below the exercise that asks a question."""
    return page.locator(f"form.exercise{WHOLE.format(question)}")


def answer(form: Locator, *texts: str) -> None:
    for field, text in zip(form.get_by_role("textbox").all(), texts, strict=True):
        field.fill(text)
    form.get_by_role("button", name="Check").click()


def verdict(form: Locator) -> Locator:
    return form.get_by_role("status")


def offer(form: Locator) -> Locator:
    return form.get_by_role("button", name="Show the solution")


def asked(name: str) -> Iterator[tuple[Section, Question]]:
    """Yield the page of the solution and the question, for each in a section."""
    found = next(s for s in BOOK.sections if s.name == f"chapter_gpus/{name}")
    of = next(s for s in BOOK.sections if s.name == f"chapter_gpus/solutions-{name}")
    yield from ((of, question) for question in questions(found))


def test_a_right_answer_is_told_in_any_unit(open_page: Visitor):
    page = open_page(SECTION)
    for typed in ("8.4", "8400 MB", "8,4e9 B"):
        answer(exercise(page), typed)
        expect(verdict(exercise(page))).to_contain_text(": right.")
    expect(exercise(page).get_by_text("Hint")).to_have_count(0)
    expect(offer(exercise(page))).to_be_visible()


def test_hints_follow_wrong_answers_and_then_the_solution(open_page: Visitor):
    page = open_page(SECTION)
    form = exercise(page)
    answer(form, "4.2")
    said = "You answered 4.2 GB: too small by a factor of 2."
    expect(verdict(form).locator(".bad")).to_have_text(said)
    hints = verdict(form).locator(".hint")  # so screen readers tell them, too
    expect(hints).to_have_text("Hint 1 of 2: Each position has a logit for each word.")
    answer(form, "840")
    expect(verdict(form)).to_contain_text("too large by a factor of 100")
    expect(hints.nth(1)).to_contain_text("Hint 2 of 2: The gradient is as large")
    expect(offer(form)).to_have_count(0)
    answer(form, "4")
    offer(form).click()
    shown = page.locator("li", has=form).locator(".solution")
    expect(shown.locator(".solution-source")).to_be_visible()
    expect(shown.locator("summary")).to_be_focused()


def test_a_number_of_another_machine_may_be_close(open_page: Visitor):
    page = open_page("chapter_gpus/performance.html")
    form = page.locator("form.exercise", has_text="layer normalization")
    answer(form, "0.25", "0.7", "0.625")
    said = "softmax: 0.7, close: the solution is smaller by a factor of 1.1."
    expect(verdict(form)).to_contain_text(said)
    expect(form.get_by_text("Hint")).to_have_count(0)
    answer(form, "0.25", "5", "0.625")
    expect(verdict(form)).to_contain_text("sum: 0.25, right. softmax: 5, too large")
    expect(form.get_by_text("Hint 1 of 2")).to_be_visible()


def test_a_choice_is_right_or_not_so(open_page: Visitor):
    page = open_page("chapter_gpus/many-machines.html")
    form = exercise(page, PRINTS)
    form.get_by_role("button", name="Check").click()
    expect(verdict(form)).to_have_text("Choose an answer, or open the solution.")
    form.get_by_label("a loss").check()
    form.get_by_role("button", name="Check").click()
    expect(verdict(form).locator(".bad")).to_have_text("You answered a loss: not so.")
    form.get_by_label("nothing").check()
    form.get_by_role("button", name="Check").click()
    expect(verdict(form).locator(".good")).to_have_text("You answered nothing: right.")


def test_the_answer_is_that_of_the_chosen_framework(open_page: Visitor):
    page = open_page(SECTION)
    of, question = list(asked("memory"))[-1]
    for tab in TABS:
        found = right(
            question, solution(fresh_blocks(BOOK, of, tab, "cpu"), question.solution)
        )
        assert found
        choose(page, tab)
        answer(exercise(page, question.text), *found.texts)
        expect(verdict(exercise(page, question.text))).to_contain_text("right")


def test_keys_suffice(open_page: Visitor):
    page = open_page(SECTION)
    form = exercise(page)
    field = form.get_by_role("textbox")
    field.focus()
    page.keyboard.type("many")
    page.keyboard.press("Enter")
    expect(verdict(form)).to_contain_text("“many” is not a number")
    expect(field).to_be_focused()
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_accessible_description(
        "“many” is not a number. Type one such as 7 GB."
    )
    field.fill("")
    page.keyboard.type("8.4")
    page.keyboard.press("Enter")
    expect(verdict(form)).to_contain_text("right")
    expect(field).not_to_have_attribute("aria-invalid", "true")
    page.keyboard.press("Tab")  # over the button that checks
    page.keyboard.press("Tab")
    expect(offer(form)).to_be_focused()


def test_answers_are_kept_in_the_record_of_the_book(open_http_page: Visitor):
    page = open_http_page(SECTION)
    answer(exercise(page), "8.4")
    expect(verdict(exercise(page))).to_contain_text("right")
    chunks = "How many chunks bring this below 500 MB?"
    answer(exercise(page, chunks), "3")
    expect(verdict(exercise(page, chunks))).to_contain_text("too small")
    reload(page)
    expect(verdict(exercise(page))).to_have_text("You answered 8.4: right.")
    page.goto(open_http_page.base + "index.html")
    record = page.locator(".tally")
    expect(record).to_contain_text("1 right, 0 close, 1 missed")
    record.get_by_role("link", name=chunks).click()
    expect(exercise(page, chunks).get_by_role("textbox")).to_be_focused()


def test_the_page_has_no_answer_and_loads_none(open_http_page: Visitor):
    page = open_http_page(SECTION)
    page.wait_for_load_state("networkidle")
    loads = [url for url in open_http_page.requests if "solutions/" in url]
    assert loads == [] and "8.4 GB" not in page.content()
    answer(exercise(page), "1")
    expect(verdict(exercise(page))).to_contain_text("too small")
    encoded = page.evaluate("bookAnswers")
    assert "8.4" not in encoded and "logits" not in encoded
    assert json.loads(page.evaluate("atob(bookAnswers)"))[LOGITS]["hints"]


def test_an_answer_that_cannot_be_loaded_is_said(open_http_page: Visitor):
    page = open_http_page.context().new_page()
    page.route("**/solutions/**", lambda route: route.abort())
    page.goto(open_http_page.base + SECTION)
    answer(exercise(page), "1")
    expect(verdict(exercise(page))).to_contain_text("cannot be loaded. Try again.")


def test_fields_are_not_printed(open_page: Visitor):
    page = open_page(SECTION)
    page.emulate_media(media="print")
    expect(exercise(page)).to_be_hidden()


@pytest.mark.parametrize("screen", SCREENS)
def test_axe_finds_nothing_in_answers(
    open_http_page: Visitor, violations: Violations, screen: str
):
    page = open_http_page(SECTION, **SCREENS[screen])
    for number in ("1", "8.4"):
        answer(exercise(page), number)
        expect(verdict(exercise(page))).to_contain_text("You answered")
        assert violations(page) == [] and probe(page, "tooWide") == []
