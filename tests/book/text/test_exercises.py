"""Each exercise says what it needs and leads to its solution, which leads back."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from book.sources.blocks import Block, Heading
from book.sources.book import Book
from book.sources.section import Section

BOOK = Book(Path(__file__).resolve().parents[3])

ITEM = re.compile(r"^1\. (.+(?:\n   .+)*)", re.MULTILINE)
NEEDS = re.compile(r"\((?:(?:Warm-up|Research), )?(?:CPU|[Oo]ne GPU|[Tt]wo GPUs)\) ")
LEVELS = ("(Warm-up", "(", "(Research")
TITLE = re.compile(r"Exercise (\d+): \S.*")


def parts(section: Section) -> Iterator[tuple[Heading, list[Block]]]:
    """Yield each heading with the blocks below it."""
    found: list[tuple[Heading, list[Block]]] = []
    for block in section.blocks:
        if isinstance(block, Heading):
            found.append((block, []))
        elif found:
            found[-1][1].append(block)
    yield from found


def exercises(section: Section) -> tuple[str, list[str]] | None:
    """Return the name in the label of a section's exercises, and the exercises."""
    for heading, blocks in parts(section):
        if heading.title == "Exercises":
            assert heading.label.startswith("sec_ex_"), section.at(heading.line)
            items = [item for b in blocks for item in ITEM.findall(b.source)]
            name = heading.label.removeprefix("sec_ex_")
            return name, [" ".join(item.split()) for item in items]
    return None


EXERCISES = {s.name: found for s in BOOK.sections if (found := exercises(s))}


def level(exercise: str) -> int:
    """Return how hard an exercise says it is."""
    return max(i for i, mark in enumerate(LEVELS) if exercise.startswith(mark))


@pytest.mark.parametrize("section", EXERCISES)
def test_exercises_are_marked_graded_and_lead_to_their_solutions(section: str):
    name, found = EXERCISES[section]
    assert found
    assert [e for e in found if not NEEDS.match(e)] == []
    assert found == sorted(found, key=level)
    for number, exercise in enumerate(found, start=1):
        assert exercise.endswith(f" Solution: :numref:`sec_sol_{name}_{number}`.")


@pytest.mark.parametrize("section", EXERCISES)
def test_the_solutions_are_those_of_the_exercises_in_their_order(section: str):
    name, exercises = EXERCISES[section]
    solutions = BOOK.section(f"solutions-{Path(section).name}")
    wanted = [f"sec_sol_{name}_{number + 1}" for number in range(len(exercises))]
    solved = [(h, blocks) for h, blocks in parts(solutions) if h.level == 2]
    assert [heading.label for heading, _ in solved] == wanted
    for heading, blocks in solved:
        title = TITLE.fullmatch(heading.title)
        assert title, heading.title
        start = f"Exercise {title[1]} of :numref:`sec_ex_{name}`"
        assert blocks[0].source.startswith(start), solutions.at(heading.line)
