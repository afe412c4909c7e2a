"""Checks that exercises say what they need, are graded, and lead to their solutions.

The exercises of the section NAME are a numbered list under the heading "Exercises",
whose label is `sec_ex_NAME`. They begin with `(CPU)`, `(One GPU)` or `(Two GPUs)`, with
`(Warm-up, ...)` for the easy ones, which come first, and `(Research, ...)` for the hard
ones, which come last. Each ends with a reference to its solution, a heading of
`solutions-NAME.md`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from book.text.blocks import Block, Heading
from book.text.book import Book
from book.text.section import Section

ITEM = re.compile(r"^1\. (.+(?:\n   .+)*)", re.MULTILINE)
NEEDS = re.compile(r"\((?:(?:Warm-up|Research), )?(?:CPU|[Oo]ne GPU|[Tt]wo GPUs)\) ")
LEVELS = {"(Warm-up": 0, "(Research": 2}
LABEL = "sec_ex_"
TITLE = re.compile(r"Exercise (\d+): \S.*")


def problems(book: Book) -> Iterator[str]:
    """Yield a line for each exercise and each solution that breaks the rules."""
    for section in book.sections:
        for heading, blocks in _parts(section):
            if heading.title == "Exercises":
                yield from _problems(book, section, heading, blocks)


def _problems(
    book: Book, section: Section, heading: Heading, blocks: list[Block]
) -> Iterator[str]:
    if not heading.label.startswith(LABEL):
        where = section.at(heading.line)
        yield f"{where}: exercises without a label; write :label:`{LABEL}NAME` below"
        return
    name = heading.label.removeprefix(LABEL)
    found = list(_exercises(section, blocks))
    yield from _problems_of_exercises(name, found)
    yield from _problems_of_solutions(book, section, name, found)


@dataclass(frozen=True)
class _Exercise:
    where: str
    text: str

    @property
    def level(self) -> int:
        """How hard the exercise says it is, from 0 to 2."""
        return LEVELS.get(self.text.partition(",")[0], 1)


def _exercises(section: Section, blocks: list[Block]) -> Iterator[_Exercise]:
    for block in blocks:
        for item in ITEM.finditer(block.source):
            where = section.at(block.line_at(item.start()))
            yield _Exercise(where, " ".join(item[1].split()))


def _problems_of_exercises(name: str, found: list[_Exercise]) -> Iterator[str]:
    level = 0
    for number, exercise in enumerate(found, start=1):
        solution = f" Solution: :numref:`sec_sol_{name}_{number}`."
        if not NEEDS.match(exercise.text):
            needs = "begin it with (CPU), (Warm-up, CPU) or (Research, one GPU), say"
            yield f"{exercise.where}: an exercise does not say what it needs; {needs}"
        elif exercise.level < level:
            order = "warm-ups come first and research comes last; move it"
            yield f"{exercise.where}: an easier exercise follows a harder one; {order}"
        else:
            level = exercise.level
        if not exercise.text.endswith(solution):
            end = f"end it with '{solution.strip()}'"
            yield f"{exercise.where}: an exercise leads to no solution; {end}"


def _problems_of_solutions(
    book: Book, section: Section, name: str, found: list[_Exercise]
) -> Iterator[str]:
    file = f"solutions-{Path(section.name).name}"
    solutions = [s for s in book.sections if Path(s.name).name == file]
    if not solutions:
        yield f"{found[0].where if found else section.at(1)}: no {file}.md; write it"
        return
    parts = [part for part in _parts(solutions[0]) if part[0].level == 2]
    for number, (heading, blocks) in enumerate(parts, start=1):
        where = solutions[0].at(heading.line)
        label, title = f"sec_sol_{name}_{number}", TITLE.fullmatch(heading.title)
        if heading.label != label or not title or int(title[1]) != number:
            head = f"## Exercise {number}: TITLE"
            yield f"{where}: not the next solution; write {head} and :label:`{label}`"
            continue
        start = f"Exercise {number} of :numref:`{LABEL}{name}`"
        if not blocks or not blocks[0].source.startswith(start):
            yield f"{where}: a solution restates its exercise; begin with '{start}'"
    if len(parts) != len(found):
        counts = f"{len(found)} exercises have {len(parts)} solutions"
        yield f"{solutions[0].at(1)}: {counts}; write those that are missing"


def _parts(section: Section) -> Iterator[tuple[Heading, list[Block]]]:
    """Yield each heading with the blocks below it."""
    found: list[tuple[Heading, list[Block]]] = []
    for block in section.blocks:
        if isinstance(block, Heading):
            found.append((block, []))
        elif found:
            found[-1][1].append(block)
    yield from found
