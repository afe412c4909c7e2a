"""Checks that exercises say what they need, are graded, and lead to their solutions.

The exercises of the section NAME are a numbered list under the heading "Exercises",
whose label is `sec_ex_NAME`. They begin with `(CPU)`, `(One GPU)` or `(Two GPUs)`, with
`(Warm-up, ...)` for the easy ones, which come first, and `(Research, ...)` for the hard
ones, which come last. Each ends with a reference to its solution, a heading of
`solutions-NAME.md`.

The solution has the right answer to each question of an exercise that is marked `.ask`
(`book.facts.exercises`), in each tab that shows the exercise and has a fresh record.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from book.checks.quotations import fresh_blocks
from book.facts.exercises import ITEM, Question, questions, right, solution
from book.text.blocks import Block, Heading
from book.text.book import Book
from book.text.quantities import quantities
from book.text.section import Section

NEEDS = re.compile(r"\((?:(?:Warm-up|Research), )?(?:CPU|[Oo]ne GPU|[Tt]wo GPUs)\) ")
LEVELS = {"(Warm-up": 0, "(Research": 2}  # 1 without these words
LABEL = "sec_ex_"


def problems(book: Book) -> Iterator[str]:
    """Yield a line for each exercise and each solution that breaks the rules."""
    for section in book.sections:
        for heading, blocks in _parts(section):
            if heading.title == "Exercises" and heading.label.startswith(LABEL):
                name = heading.label.removeprefix(LABEL)
                found = _exercises(section, blocks)
                yield from _problems_of_exercises(name, found)
                yield from _problems_of_solutions(book, section, name, found)
            elif heading.title == "Exercises":
                needed = f"write :label:`{LABEL}NAME` below"
                where = section.at(heading.line)
                yield f"{where}: exercises without a label; {needed}"
        yield from _problems_of_questions(book, section)


def _parts(section: Section) -> list[tuple[Heading, list[Block]]]:
    """Return each heading with the blocks below it."""
    found: list[tuple[Heading, list[Block]]] = []
    for block in section.blocks:
        if isinstance(block, Heading):
            found.append((block, []))
        elif found:
            found[-1][1].append(block)
    return found


def _exercises(section: Section, blocks: list[Block]) -> list[tuple[str, str]]:
    """Return the place and the text of each exercise."""
    return [
        (section.at(block.line_at(item.start())), " ".join(item[1].split()))
        for block in blocks
        for item in ITEM.finditer(block.source)
    ]


def _problems_of_exercises(name: str, found: list[tuple[str, str]]) -> Iterator[str]:
    reached = 0
    for number, (where, text) in enumerate(found, start=1):
        solution = f" Solution: :numref:`sec_sol_{name}_{number}`."
        level = LEVELS.get(text.partition(",")[0], 1)
        if not NEEDS.match(text):
            needs = "begin it with (CPU), (Warm-up, CPU) or (Research, one GPU), say"
            yield f"{where}: an exercise does not say what it needs; {needs}"
        elif level < reached:
            order = "warm-ups come first and research comes last; move it"
            yield f"{where}: an easier exercise follows a harder one; {order}"
        else:
            reached = level
        if not text.endswith(solution):
            end = f"end it with '{solution.strip()}'"
            yield f"{where}: an exercise leads to no solution; {end}"


def _problems_of_questions(book: Book, section: Section) -> Iterator[str]:
    """Yield a line for each question whose solution does not have its answer."""
    pages = {
        b.label: s for s in book.sections for b in s.blocks if isinstance(b, Heading)
    }
    seen: set[str] = set()
    for question in questions(section):
        where = section.at(question.block.line_at(question.span.start))
        if question.text in seen:
            yield f"{where}: the same question stands above; ask with other words"
        seen.add(question.text)
        for tab in filter(question.block.is_for, book.tabs):
            page = pages.get(question.solution)
            blocks = fresh_blocks(book, page, tab, "cpu") if page else []
            if blocks:
                for problem in _wrong_answer(question, blocks):
                    yield f"{where}: {problem} in {tab}"


def _wrong_answer(question: Question, blocks: list[Block]) -> Iterator[str]:
    """Yield why a solution, in the blocks of a tab, does not answer a question."""
    found = right(question, solution(blocks, question.solution))
    if found is None:
        place = question.span.attributes.get("answer", "one of the choices")
        yield f"correct answer: no output or text of the solution has '{place}'"
        return
    if "choices" in question.span.attributes:
        return
    for unit, text in zip(question.units, found.texts, strict=True):
        number = next(quantities(text))
        if number.unit and not unit:
            yield f"correct answer: write {number.unit} behind the ?, as for {text}"


def _problems_of_solutions(
    book: Book, section: Section, name: str, found: list[tuple[str, str]]
) -> Iterator[str]:
    file = f"solutions-{Path(section.name).name}"
    page = next((s for s in book.sections if Path(s.name).name == file), None)
    if page is None:
        where = found[0][0] if found else section.at(1)
        yield f"{where}: no {file}.md; write it"
        return
    parts = [part for part in _parts(page) if part[0].level == 2]
    for number, (heading, blocks) in enumerate(parts, start=1):
        where, label = page.at(heading.line), f"sec_sol_{name}_{number}"
        title = f"Exercise {number}: "
        start = f"Exercise {number} of :numref:`{LABEL}{name}`"
        if heading.label != label or not heading.title.startswith(title):
            head = f"## {title}TITLE"
            yield f"{where}: not the next solution; write {head} and :label:`{label}`"
        elif not blocks or not blocks[0].source.startswith(start):
            yield f"{where}: a solution restates its exercise; begin with '{start}'"
    if len(parts) != len(found):
        counts = f"{len(found)} exercises have {len(parts)} solutions"
        yield f"{page.at(1)}: {counts}; write those that are missing"
