"""Each exercise says what it needs and leads to its solution, which leads back."""

import re
from pathlib import Path

import pytest

from book.sources.book import Book
from book.sources.section import Section

BOOK = Book(Path(__file__).resolve().parents[3])
SOLUTIONS = BOOK.section("solutions").prose

PART = re.compile(r"^## Exercises\n(.*?)(?=^#|\Z)", re.MULTILINE | re.DOTALL)
LABEL = re.compile(r"\A:label:`sec_ex_(\w+)`\n")
ITEM = re.compile(r"^1\. (.+(?:\n   .+)*)", re.MULTILINE)
NEEDS = re.compile(r"\((?:(?:Warm-up|Research), )?(?:CPU|[Oo]ne GPU|[Tt]wo GPUs)\) ")
LEVELS = ("(Warm-up", "(", "(Research")
SOLUTION = re.compile(
    r"^### Exercise (?P<number>\d+): \S.*\n"
    r":label:`sec_sol_(?P<name>\w+)_(?P=number)`\n\n"
    r"Exercise (?P=number) of :numref:`sec_ex_(?P=name)`",
    re.MULTILINE,
)
SECTIONS = [s for s in BOOK.sections if PART.search(s.text)]


def exercises(section: Section) -> tuple[str, list[str]]:
    """The name in the label of a section's exercises, and the exercises."""
    part = PART.search(section.text)
    label = part and LABEL.match(part[1])
    assert part and label, f"write :label:`sec_ex_...` below {section.where('## Ex')}"
    return label[1], [" ".join(item.split()) for item in ITEM.findall(part[1])]


def level(exercise: str) -> int:
    """How hard it says it is."""
    return max(i for i, mark in enumerate(LEVELS) if exercise.startswith(mark))


@pytest.mark.parametrize("section", SECTIONS, ids=lambda s: Path(s.name).name)
def test_exercises_are_marked_graded_and_lead_to_their_solutions(section: Section):
    name, found = exercises(section)
    assert found
    assert [e for e in found if not NEEDS.match(e)] == []
    assert found == sorted(found, key=level)
    for number, exercise in enumerate(found, start=1):
        assert exercise.endswith(f" Solution: :numref:`sec_sol_{name}_{number}`.")


def test_the_solutions_are_those_of_the_exercises_in_their_order():
    wanted = [
        (name, number)
        for name, found in map(exercises, SECTIONS)
        for number, _ in enumerate(found, start=1)
    ]
    solved = [(m["name"], int(m["number"])) for m in SOLUTION.finditer(SOLUTIONS)]
    assert solved == wanted
    assert len(solved) == SOLUTIONS.count("\n### ")
