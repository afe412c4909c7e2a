"""Reads the questions of exercises, whose answers pages check.

In an exercise, `[How many MB does it move?]{.ask answer="moves ? MB"}` marks a question
in plain words. Pages show a field for the answer below the exercise. The right one is
found in the solution, as `book.facts.predictions` finds the number of an output: in the
output of its first cell that has it, or else in its text. `fields`, `choices` and
`right` are those of a prediction. `hints`, which bars separate, help readers whose
answer is wrong, one after the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from book.facts.marked_numbers import marked
from book.facts.predictions import parts, right_answers, unit_asked
from book.records.outputs import text_of
from book.text.blocks import Block, Cell, Heading, Prose
from book.text.inline import Span
from book.text.quantities import UNITS
from book.text.section import Section

LEVEL = 2  # of the headings of solutions
ITEM = re.compile(r"^1\. (.+(?:\n   .+)*)", re.MULTILINE)
SOLUTION = re.compile(r"Solution:\s+:numref:`(sec_sol_\w+)`\.\s*$")
UNIT = re.compile(r"\?\s?([^\s?|,;:]+)")


@dataclass(frozen=True)
class Question:
    """A question of the exercise whose solution has the label `solution`."""

    solution: str
    span: Span
    block: Block

    @property
    def text(self) -> str:
        """The words of the question."""
        return " ".join(self.span.text.split())

    @property
    def fields(self) -> list[str]:
        """The name of each field; of the only one, it is empty."""
        return parts(self.span, "fields") or [""]

    @property
    def units(self) -> list[str]:
        """The unit of each field, behind its number in the answer.

        If nothing is there, it is that of the question. It is empty for numbers without
        a unit, and for choices.
        """
        if "choices" in self.span.attributes:
            return [""]
        return [self._unit(place) for place in parts(self.span, "answer")]

    def _unit(self, place: str) -> str:
        behind = UNIT.search(place)
        if behind is None:
            return unit_asked(self.text)
        word = behind[1].rstrip(".)*")
        return word if word in UNITS else ""


@dataclass(frozen=True)
class Right:
    """The right answers of a question, one a field; `varies` is that of their cell."""

    texts: list[str]
    varies: bool = False


def questions(section: Section) -> Iterator[Question]:
    """Yield the questions of a section's exercises that lead to a solution."""
    for block, span in marked(section.blocks, "ask"):
        for item in ITEM.finditer(block.source):
            solution = SOLUTION.search(item[0])
            if solution and item.start() <= span.start < item.end():
                yield Question(solution[1], span, block)


def solution(blocks: Iterable[Block], label: str) -> list[Block]:
    """Return the blocks of the solution with a label; empty if there is none."""
    is_in, found = False, []
    for block in blocks:
        if isinstance(block, Heading) and block.level <= LEVEL:
            is_in = block.label == label
        elif is_in:
            found.append(block)
    return found


def right(question: Question, blocks: Iterable[Block]) -> Right | None:
    """Return the right answers in the blocks of a solution; None if it lacks any.

    `blocks` are those of a tab, with outputs.
    """
    texts: list[str] = []
    for block in blocks:
        if isinstance(block, Cell):
            if found := right_answers(question.span, text_of(block.outputs)):
                return Right(found, block.varies)
        elif isinstance(block, Prose):
            texts.append(" ".join(block.text.split()))
    found = right_answers(question.span, "\n".join(texts))
    return Right(found) if found else None
