"""Checks the marked numbers of the text, and the numbers that readers predict.

- A number marked `.cited` is the value of its row in the package's `cited.csv`.
- A text marked `.audited` has the numbers of a kind of prediction in `d2l.audit`.
- A number marked `.measured` is one that the nearest cell above it with numbers in its
  output has printed.
- A number marked `.arithmetic` is the prediction of the next cell marked `.predict`,
  whose output has the number that readers predict, or shows which choice is right.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain, zip_longest

from book.base import build_paths
from book.base.paths import ROOT
from book.facts.exercises import Question, questions
from book.facts.marked_numbers import (
    MEASUREMENTS,
    Rows,
    marked,
    published_measurements,
)
from book.facts.predictions import (
    EQUATION,
    ORDERS,
    Asking,
    asks_for_order,
    axes,
    number_at,
    numbers_in_text,
    ordered_choices,
    parts,
    question_in_text,
    result,
    right_choices,
)
from book.records import outputs, store
from book.runner.freshness import digest_of_files
from book.text.blocks import Block, Cell, Heading, Prose
from book.text.book import Book
from book.text.inline import CITATIONS, MARKS, Span, roles
from book.text.quantities import Quantity, quantities
from book.text.section import Section

# The settings of marks: their forms, each with an example.
POINTS = {"show"}  # the settings of a point (book/facts/points.py)
SETTINGS = {
    "show": ("code|both", "show=code"),
    "within": (r"\d+(?:\.\d+)?%", "30%"),
    "value": (r"\d+(?:\.\d+)?(?:e-?\d+)?", "2"),
}
OF_CELLS = "question choices fields answer right arithmetic cited draw".split()
MEASURED_WITHIN = 0.25
ROUNDED = 0.02
MOST_SHOWN = 8
MOST_HINTS = 3
MARKUP = re.compile(r"[`$*\[\]]|:\w+:")  # which the form of a question does not show
# The name of a GPU in the description of hardware, such as 4090 in "2 x RTX 4090".
GPU = re.compile(r"\b\w*\d{3}\w*\b")


def problems(book: Book) -> Iterator[str]:
    """Yield a line for each number that a fresh record does not have."""
    for section in book.sections:
        for tab in book.tabs:
            yield from wrong_quotations(book, section, tab, "cpu")
            if any(cell.predicts for cell in section.cells):
                for machine in store.machines(book):
                    yield from _wrong_answers(book, section, tab, machine)


# Markup, which `book.checks.markup` reports


def mistakes_in_mark(span: Span) -> Iterator[str]:
    """Yield the settings that the mark of a number does not have, and those missing."""
    kinds = [name for name in span.classes if name in MARKS]
    if len(kinds) > 1:
        yield f"'{kinds[0]}' and '{kinds[1]}' mark the same text; keep one of them"
        return
    known = MARKS[kinds[0]] if kinds else POINTS if "point" in span.classes else set()
    for name, value in span.attributes.items():
        form, example = SETTINGS.get(name, (".+", ""))
        if name not in known:
            yield f"unknown setting '{name}' of this mark; remove it"
        elif not re.fullmatch(form, value):
            yield f"'{value}' is not a valid {name}; write one such as {example}"
    if "id" in known - set(span.attributes):
        yield f"no id; write one, as in {{.{kinds[0]} id=NAME}}"
    if "value" in known - set(span.attributes) and not any(quantities(span.text)):
        yield f"no number in '{span.text}'; name it, as in {{.{kinds[0]} value=2}}"


def mistakes_in_predictions(book: Book, section: Section) -> Iterator[tuple[int, str]]:
    """Yield each mistake in the predictions of a section with its line, once."""
    of_tabs = (
        _mistakes([block for block in section.blocks if block.is_for(tab)])
        for tab in book.tabs
    )
    yield from dict.fromkeys(chain.from_iterable(of_tabs))
    of_exercises = {question.span: question for question in questions(section)}
    for block, span in marked(section.blocks, "ask"):
        if span in of_exercises:
            found = _mistakes_in_exercise(of_exercises[span])
        else:
            found = _mistakes_in_question(block, span)
        yield from ((block.line_at(span.start), problem) for problem in found)
    yield from _different_forms([cell for cell in section.cells if cell.predicts])


def _different_forms(cells: list[Cell]) -> Iterator[tuple[int, str]]:
    """Yield each cell that asks the question of another with other fields or choices.

    A reader's answer to a question counts in all tabs.
    """
    first: dict[str, Cell] = {}
    for cell in cells:
        other = first.setdefault(cell.attributes.get("question", ""), cell)
        for name in ("choices", "fields", "draw"):
            if parts(cell, name) != parts(other, name):
                problem = f"the same question has other {name} in line {other.line}"
                yield cell.line, f"{problem}; write the same, in the same order"


def _mistakes(tab_blocks: list[Block]) -> Iterator[tuple[int, str]]:
    """Yield the mistakes in the predictions of a tab, each with its line."""
    waiting: list[tuple[int, str]] = []
    for block in tab_blocks:
        if isinstance(block, Heading):
            yield from waiting
            waiting = []
        if isinstance(block, Cell):
            yield from ((block.line, message) for message in _mistakes_in_cell(block))
            waiting = [] if block.predicts else waiting
        for _, span in marked([block], "arithmetic"):
            line = block.line_at(span.start)
            yield from ((line, message) for message in _mistakes_in_text(block, span))
            alone = f"'{span.text}' is the arithmetic of no cell marked .predict below"
            remedy = "mark a cell before the next heading, or remove .arithmetic"
            waiting.append((line, f"{alone}; {remedy}"))
    yield from waiting


def _mistakes_in_cell(cell: Cell) -> Iterator[str]:
    if not cell.predicts:
        for name in OF_CELLS:
            if name in cell.attributes:
                yield f"'{name}' without .predict; add it, or remove {name}"
        return
    if not cell.attributes.get("question", "").endswith("?"):
        yield 'no question for readers; write question="How many ms for n = 8?"'
    if "choices" in cell.attributes:
        yield from _mistakes_in_choices(cell)
        return
    if "answer" not in cell.attributes:
        yield 'no part of the output to predict; write answer="n = 8: ? ms"'
    if {"fields", "cited"} <= cell.attributes.keys():
        yield "'cited' of a question with several fields; remove one of them"
    if "right" in cell.attributes:
        yield "'right' without choices; add them, or remove right"
    fields = parts(cell, "fields") or [""]
    if "fields" in cell.attributes and not _are_several(fields):
        yield 'name at least two different fields, as in fields="n = 8 | n = 16"'
    if "draw" in cell.attributes and not (axes(cell) and len(fields) > 2):
        yield 'no line to draw; write draw="0 to 50 over n" and at least three fields'
    for name in ("answer", "arithmetic"):
        places = parts(cell, name) if name in cell.attributes else ["?"] * len(fields)
        yield from _wrong_number(name, places, "fields", fields)
        yield from _without_number(places)


def _mistakes_in_question(block: Block, span: Span) -> Iterator[str]:
    if not question_in_text(block):
        yield "a text marked .ask is not alone; make it a paragraph of its own"
    yield from _not_plain(span)
    if "cited" not in span.attributes:
        yield "no number to predict; write {.ask cited=NAME}"


def _not_plain(span: Span) -> Iterator[str]:
    if not span.text.endswith("?") or MARKUP.search(span.text):
        yield f"'{span.text}' is no question in plain words; write one that ends with ?"


def _mistakes_in_exercise(question: Question) -> Iterator[str]:
    """Yield the mistakes in a question whose answer the solution has."""
    span = question.span
    yield from _not_plain(span)
    if "hints" in span.attributes:
        hints = parts(span, "hints")
        if not all(hints) or len(hints) > MOST_HINTS:
            yield f"write one to {MOST_HINTS} hints; | separates them"
    if "choices" in span.attributes:
        yield from _mistakes_in_choices(span)
        return
    for name in ("cited", "right"):
        if name in span.attributes:
            yield f"'{name}' of an exercise without choices; remove it"
    places, fields = parts(span, "answer"), question.fields
    if not places:
        yield 'no part of the solution; write {.ask answer="takes ? ms"}'
        return
    if "fields" in span.attributes and not _are_several(fields):
        yield 'name at least two different fields, as in fields="n = 8 | n = 16"'
    yield from _wrong_number("answer", places, "fields", fields)
    yield from _without_number(places)


def _mistakes_in_choices(asking: Asking) -> Iterator[str]:
    choices, right = parts(asking, "choices"), asking.attributes.get("right")
    for name in ("fields", "arithmetic", "cited", "draw"):
        if name in asking.attributes:
            yield f"'{name}' of a question with choices; remove one of them"
    if not _are_several(choices):
        yield 'name at least two different choices, as in choices="yes | no"'
    places = parts(asking, "answer") or choices
    yield from _wrong_number("answer", places, "choices", choices)
    if right is None:
        for place in places:
            if "answer" in asking.attributes and "?" in place:
                yield f"'{place}' has a ?; write no ?, or add right=smallest"
    elif right not in {"smallest", "largest", *ORDERS}:
        forms = "smallest, largest, ascending or descending"
        yield f"'{right}' is not valid; write right={forms}"
    else:
        yield from _without_number(places)


def _are_several(texts: list[str]) -> bool:
    return all(texts) and len(set(texts)) == len(texts) > 1


def _wrong_number(
    name: str, places: list[str], of: str, texts: list[str]
) -> Iterator[str]:
    if len(places) != len(texts):
        yield f"{name} has {len(places)} parts for {len(texts)} {of}; | separates them"


def _without_number(places: list[str]) -> Iterator[str]:
    for place in places:
        if place.count("?") != 1:
            yield f"'{place}' must have one ? in the place of the number"


def _mistakes_in_text(block: Block, span: Span) -> Iterator[str]:
    text = " ".join(span.text.split())
    if not isinstance(block, Prose):
        yield f"'{span.text}' is in no paragraph; mark a number in one"
    if result(span) is None:
        yield f"no number in '{text}'; mark the number of the arithmetic"
        return
    for equation in EQUATION.finditer(text):
        value = evaluate(equation["left"])
        claimed = next(quantities(equation["right"].strip()), None)
        if claimed and value and abs(claimed.value / value - 1) > ROUNDED:
            yield f"'{text}' is wrong, since the left side is {value:g}"


# Published measurements


def wrong_citations(book: Book) -> Iterator[str]:
    """Yield a line for each number that differs from its published measurement."""
    rows = published_measurements(book)
    inputs = [repr(rows), digest_of_files(ROOT, "d2l/*")]  # of the audit, too
    cache = build_paths.cache(book.root, "sources")
    for section in book.sections:
        parts = ["citations", section.text, *inputs]
        find = partial(list[tuple[int, str]], _wrong_in_section(section, rows))
        found = cache.value(parts, find)
        yield from (f"{section.at(line)}: {problem}" for line, problem in found)


def _wrong_in_section(section: Section, rows: Rows) -> Iterator[tuple[int, str]]:
    """Yield each wrong citation of a section with its line."""
    for cell in section.cells:
        name = cell.attributes.get("cited", "")
        if name and name not in rows:
            yield cell.line, _unknown(name)
    of_exercises = {question.span for question in questions(section)}
    for block, span in marked(section.blocks, "ask"):
        if span not in of_exercises and span.attributes.get("cited") not in rows:
            yield block.line_at(span.start), _unknown(span.attributes.get("cited", ""))
    cited, audited = (marked(section.blocks, m) for m in ("cited", "audited"))
    found = [(*each, _problem_with_citation(*each, rows)) for each in cited]
    found += [(*each, _problem_with_record(each[1])) for each in audited]
    for block, span, problem in found:
        if problem:
            yield block.line_at(span.start), problem


def _problem_with_citation(block: Block, span: Span, rows: Rows) -> str:
    """Return why a number is not a right citation; empty if it is one."""
    name = span.attributes.get("id", "")
    if name not in rows:
        return _unknown(name)
    row = rows[name]
    value = f"{row['value']} {row['unit']}"
    measured = next(quantities(value))
    if not all(_is_rounded(number, measured, span) for number in _numbers(span)):
        return (
            f"'{span.text}' is not the value of '{name}', {value}; correct the number"
        )
    works = {key for r in roles(block.text) if r.name in CITATIONS for key in r.keys}
    names = GPU.findall(row["hardware"]) or [row["hardware"]]
    if row["source"] in works or any(n in block.text for n in names):
        return ""
    name_it = f"name the hardware of '{name}', {row['hardware']}, in this paragraph"
    return f"{name_it}, or cite {row['source']}"


def _unknown(name: str) -> str:
    return f"no measurement '{name}' in {MEASUREMENTS}; add it or correct the id"


def _problem_with_record(span: Span) -> str:
    """Return why a text is not the record of a kind of prediction; empty if it is."""
    from d2l import audit

    name = span.attributes.get("id", "")
    try:
        record = audit.summary(name).record
    except (KeyError, ValueError):
        return f"no record of '{name}'; python -m d2l audit lists all kinds"
    given, right = list(quantities(span.text)), list(quantities(record))
    pairs = zip_longest(given, right)
    if all(all(pair) and _is_rounded(*pair, span) for pair in pairs):
        return ""
    text = f"'{' '.join(span.text.split())}'"
    return f"{text} is not the record of {name}, {record}; correct the numbers"


def _is_rounded(number: Quantity, measured: Quantity, span: Span) -> bool:
    """Return True if a number is a measured one, rounded to the digits it has."""
    if tolerance := _tolerance(span, 0):
        return agree(number, measured, tolerance)
    decimals = len(number.text.split()[0].partition(".")[2])
    half_a_digit = 0.5001 * 10**-decimals / abs(number.value or 1)
    return agree(measured, number, half_a_digit)


# Outputs


def wrong_quotations(
    book: Book, section: Section, tab: str, machine: str
) -> Iterator[str]:
    """Yield a line for each number of a tab that a fresh record does not have."""
    if not any(marked(section.blocks, "measured")):
        return
    line, printed = 0, list[Quantity]()
    for block in fresh_blocks(book, section, tab, machine):
        if isinstance(block, Cell):
            if found := list(quantities(outputs.text_of(block.outputs))):
                line, printed = block.line, found
        for _, span in marked([block], "measured"):
            if not _are_printed(span, printed):
                where = section.at(block.line_at(span.start))
                number = " ".join(span.text.split())
                yield f"{where}: '{number}' {_difference(line, printed, tab)}"


def fresh_blocks(book: Book, section: Section, tab: str, machine: str) -> list[Block]:
    """Return the blocks of a tab with outputs; empty without a fresh record."""
    shown = store.shown(book, section, tab, machine)
    return shown.blocks if shown is not None and shown.state == "fresh" else []


def _are_printed(span: Span, printed: list[Quantity]) -> bool:
    """Return True if a cell printed the numbers of a text, within their tolerance."""
    within = _tolerance(span, MEASURED_WITHIN)
    return all(
        any(agree(number, other, within) for other in printed)
        for number in _numbers(span)
    )


def _difference(line: int, printed: list[Quantity], tab: str) -> str:
    """Return why the output of a line does not have a number, and the remedy."""
    if not printed:
        problem = f"quotes no cell, because none prints a number in {tab}"
        return f"{problem}; move or remove the mark"
    found = list(dict.fromkeys(quantity.text for quantity in printed))
    has = ", ".join([*found[:MOST_SHOWN], *["..."][: len(found) - MOST_SHOWN]])
    problem = f"is not in the output of line {line} in {tab}, which has {has}"
    return f"{problem}; correct the number"


def _wrong_answers(
    book: Book, section: Section, tab: str, machine: str
) -> Iterator[str]:
    """Yield a line for each prediction whose numbers a fresh record does not have."""
    blocks = fresh_blocks(book, section, tab, machine)
    for cell in blocks:
        if isinstance(cell, Cell) and cell.predicts:
            text = outputs.text_of(cell.outputs)
            for problem in _problems_with_answer(blocks, cell, text):
                yield f"{section.at(cell.line)}: {problem} in {tab} on {machine}"


def _problems_with_answer(blocks: list[Block], cell: Cell, text: str) -> Iterator[str]:
    if asks_for_order(cell):
        if not ordered_choices(cell, text):
            yield "correct answer: no output has a different number for each choice"
    elif choices := parts(cell, "choices"):
        right = [f"'{choices[i]}'" for i in right_choices(cell, text)]
        if len(right) != 1:
            found = " and ".join(right) or "none"
            yield f"correct answer: of the choices, {found} would be right"
    for name in () if parts(cell, "choices") else ("answer", "arithmetic"):
        for place in parts(cell, name):
            number, line = number_at(place, text), axes(cell)
            if number and line and not line.least <= number.value <= line.most:
                yield f"correct draw: {number.text} is beyond the ends of the axis"
            if number is None:
                yield f"correct {name}: no output has the number of '{place}'"
    for span in numbers_in_text(blocks, cell):
        equation, number = EQUATION.search(span.text), result(span)
        is_derived = equation and evaluate(equation["left"]) is not None
        is_printed = number and any(agree(number, q, ROUNDED) for q in quantities(text))
        if not is_derived and not is_printed:
            wrong = f"'{span.text}' is neither an equation nor in the output"
            yield f"write it as one, such as $2 + 3 = 5$ MiB: {wrong}"


# Comparison


def _numbers(span: Span) -> list[Quantity]:
    """Return the numbers of a marked text; they share the unit that follows them."""
    if "value" in span.attributes:
        last_word = span.text.split()[-1]
        return list(quantities(f"{span.attributes['value']} {last_word}"))[:1]
    found = list(quantities(span.text))
    unit = next((q.unit for q in reversed(found) if q.unit), "")
    return [Quantity(q.text, q.value, q.unit or unit) for q in found]


def _tolerance(span: Span, default: float) -> float:
    """Return the tolerance that a mark names, as a share."""
    named = span.attributes.get("within")
    return float(named.removesuffix("%")) / 100 if named else default


def agree(one: Quantity, other: Quantity, within: float) -> bool:
    """Return True if two quantities differ at most by this part of `other`.

    Units must measure the same thing. A number without a unit may have that of the
    other number, as in a table whose head names the unit.
    """
    pairs = [(one.value, other.value), (one.base_value, other.base_value)]
    if one.kind and other.kind:
        pairs = pairs[1:] if one.kind == other.kind else []
    return any(abs(a - b) <= within * abs(b) for a, b in pairs)


# Arithmetic

TEX = ((r"\cdot", "*"), (r"\times", "*"), ("{", "("), ("}", ")"), ("^", "**"))
OPERATIONS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


def evaluate(formula: str, values: Mapping[str, float] | None = None) -> float | None:
    """Return the value of a formula, which may be TeX, up to its first equals sign.

    It is None if the formula has other parts than numbers and names with `values`.
    """
    for sign, code in TEX:
        formula = formula.replace(sign, code)
    try:
        tree = ast.parse(formula.partition("=")[0].strip(), mode="eval")
        return _evaluate(tree.body, values or {})
    except (SyntaxError, ValueError, ArithmeticError):
        return None


def _evaluate(node: ast.expr, values: Mapping[str, float]) -> float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name) if name in values:
            return values[name]
        case ast.BinOp() if type(node.op) in OPERATIONS:
            sides = _evaluate(node.left, values), _evaluate(node.right, values)
            return OPERATIONS[type(node.op)](*sides)
    raise ValueError("not a formula")
