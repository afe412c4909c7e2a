"""The fields below exercises, and the right answers, which are not on the page.

The script of the solutions (`book/pages/solutions.py`) has the answers and the hints,
encoded, so that no one reads them by accident. `static/exercises.js` judges.
"""

import base64
import html
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markdown_it.token import Token

from book.facts.exercises import Question, right, solution
from book.facts.predictions import asks_for_order, parts
from book.merge import Asked, Prediction, TabView
from book.pages.covered_outputs import fields
from book.render.texts import raw
from book.text.blocks import Block

FORM = """\
<form class="guess exercise" data-question="{question}" data-units="{units}">
{fields}
<button type="submit">Check</button>
<p class="reading yours" role="status"></p>
</form>
"""


def form(question: Question) -> str:
    """Return the form in which readers answer a question."""
    choices = tuple(parts(question.span, "choices"))
    labels = [""] if choices else question.fields
    units, is_order = question.units, asks_for_order(question.span)
    asked = tuple(
        Asked(label, unit, (), choices, is_order)
        for label, unit in zip(labels, units, strict=True)
    )
    shown = fields(Prediction(question.text, asked))
    text, of_fields = html.escape(question.text), html.escape("|".join(units))
    return FORM.format(question=text, units=of_fields, fields=shown)


def with_forms(
    tokens: Sequence[Token], questions: Mapping[str, list[Question]]
) -> list[Token]:
    """Return the tokens of a text with the forms of each exercise at its end.

    `questions` are those that lead to the solution with a label.
    """
    found: list[Token] = []
    asked: list[Question] = []
    for token in tokens:
        if token.type == "inline":
            asked += questions.get(_solution(token.children or []), [])
        elif token.type == "list_item_close":
            found += [raw(form(question)) for question in asked]
            asked = []
        found.append(token)
    return found


def _solution(children: Sequence[Token]) -> str:
    """Return the label of the solution to which a text leads at its end, if any."""
    ends_with_link = len(children) > 2 and children[-1].type == "raw"
    return children[-3].content if ends_with_link else ""


def answers(
    questions: Iterable[Question], views: Iterable[TabView]
) -> dict[str, dict[str, Any]]:
    """Return the hints and the right answers in each tab, by the question's words."""
    shown = [(view.tab, view.blocks) for view in views]
    return {
        question.text: {
            "hints": parts(question.span, "hints"),
            "right": dict(_right(question, shown)),
        }
        for question in questions
    }


def _right(
    question: Question, shown: Sequence[tuple[str, list[Block]]]
) -> Iterable[tuple[str, list[Any]]]:
    for tab, blocks in shown:
        found = right(question, solution(blocks, question.solution))
        if found:
            yield tab, [found.varies, *found.texts]


def encoded(answers: Mapping[str, Any]) -> str:
    """Return answers as a text that does not show them."""
    return base64.b64encode(json.dumps(answers).encode()).decode()
