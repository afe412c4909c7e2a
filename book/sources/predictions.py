"""Reads the cells marked `.predict`, whose outputs pages cover at first.

Readers predict a number of the output before they see it. The attribute `answer` of the
cell is the part of the output with this number, in whose place it has a question mark:
`n = 8: ? ms`. Two dots stand for any text within the line. `arithmetic` is the part
with the number that the cell itself predicts. Otherwise, a number marked `.arithmetic`
in the text above is the prediction.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator

from book.base.errors import BookError
from book.sources.blocks import Block, Cell, Prose
from book.sources.inline import Span
from book.sources.marked_numbers import marked
from book.sources.quantities import Quantity, distance, quantities

SETTINGS = ("answer", "arithmetic", "cited")
PIECE = re.compile(r"(\s+|\.\.|\?)")
PATTERNS = {"..": ".*?", "?": r"(?P<number>\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?)"}
ARITHMETIC = ".arithmetic"
# The equation of a marked number, such as $2 + 17 = 19$ MiB.
EQUATION = re.compile(r"\$(?P<left>[^$]+)=(?P<right>[^$=]+)\$")
TEX = ((r"\cdot", "*"), (r"\times", "*"), ("{", "("), ("}", ")"), ("^", "**"))
ROUNDED = 0.02
OPERATIONS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


def number_at(place: str, output: str) -> Quantity | None:
    """Return the number of an output at a place such as `n = 8: ? ms`, if any."""
    patterns = [
        r"[ \t]+" if piece.isspace() else PATTERNS.get(piece, re.escape(piece))
        for piece in PIECE.split(place)
    ]
    found = re.search("".join(patterns), output)
    if found is None:
        return None
    number = found["number"].rstrip(",")
    with_unit = next(quantities(output[found.start("number") :]), None)
    if with_unit and with_unit.text.startswith(number):
        return with_unit
    return next(quantities(number))


def words_around(place: str) -> tuple[str, str]:
    """Return the words before and after the number at a place, as readers see them."""
    before, _, after = place.replace("..", "…").partition("?")
    return before.strip(), after.strip()


# The arithmetic of the text


def number_in_text(blocks: list[Block], cell: Cell) -> Span | None:
    """Return the last number marked `.arithmetic` above a cell, if it is the cell's.

    It is not if another cell marked `.predict` comes between them.
    """
    found = None
    for block in blocks:
        if block.line == cell.line:
            break
        if isinstance(block, Cell):
            found = None if block.predicts else found
        elif has_arithmetic(block):
            found = [span for _, span in marked([block], "arithmetic")][-1]
    return found


def has_arithmetic(block: Block) -> bool:
    """Return True if a block has a number marked `.arithmetic`."""
    return any(True for _ in marked([block], "arithmetic"))


def result(span: Span) -> Quantity:
    """Return the number that a text marked `.arithmetic` arrives at, which is its last.

    Raises a `BookError` if the text has no number, or an equation that is wrong.
    """
    text = " ".join(span.text.split())
    found = list(quantities(EQUATION.sub(r"\g<right>", text).replace("$", "")))
    if not found:
        raise BookError(f"no number in '{text}'; mark the number of the arithmetic")
    for equation in EQUATION.finditer(text):
        value = _value(equation["left"])
        claimed = next(quantities(equation["right"].strip()), None)
        if claimed and value and abs(claimed.value / value - 1) > ROUNDED:
            raise BookError(f"'{text}' is wrong, since the left side is {value:g}")
    return found[-1]


def is_derived(span: Span) -> bool:
    """Return True if a marked text shows how its number follows from others."""
    equation = EQUATION.search(span.text)
    return equation is not None and _value(equation["left"]) is not None


def _value(tex: str) -> float | None:
    """Return the value of a formula; None if it has other parts than numbers."""
    for sign, code in TEX:
        tex = tex.replace(sign, code)
    try:
        return _evaluate(ast.parse(tex.split("=")[0].strip(), mode="eval").body)
    except (SyntaxError, ValueError, ArithmeticError):
        return None


def _evaluate(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATIONS:
        sides = _evaluate(node.left), _evaluate(node.right)
        return OPERATIONS[type(node.op)](*sides)
    raise ValueError("not a formula of numbers")


# Mistakes


def problems(tab_blocks: list[Block]) -> Iterator[tuple[int, str]]:
    """Yield the mistakes in the predictions of a tab, each with its line."""
    waiting: list[tuple[int, str]] = []
    for block in tab_blocks:
        if isinstance(block, Cell):
            yield from _cell_problems(block)
            waiting = [] if block.predicts else waiting
        for _, span in [] if isinstance(block, Cell) else marked([block], "arithmetic"):
            yield from _text_problems(block, span)
            alone = f"'{span.text}' is the arithmetic of no cell marked .predict below"
            waiting.append((block.line_at(span.start), f"{alone}; mark the cell"))
    yield from waiting


def _cell_problems(cell: Cell) -> Iterator[tuple[int, str]]:
    if not cell.predicts:
        for name in SETTINGS:
            if name in cell.attributes:
                yield cell.line, f"'{name}' without .predict; add it, or remove {name}"
        return
    if "answer" not in cell.attributes:
        example = 'answer="n = 8: ? ms"'
        yield cell.line, f"no part of the output to predict; write {example}"
    for name in ("answer", "arithmetic"):
        place = cell.attributes.get(name, "?")
        if place.count("?") != 1:
            yield cell.line, f"'{place}' must have one ? in the place of the number"


def _text_problems(block: Block, span: Span) -> Iterator[tuple[int, str]]:
    line = block.line_at(span.start)
    if not isinstance(block, Prose):
        yield line, f"'{span.text}' is in no paragraph; mark a number in one"
    try:
        result(span)
    except BookError as error:
        yield line, str(error)


def agrees(span: Span, printed: list[Quantity]) -> bool:
    """Return True if an equation derives a marked number, or if a cell printed it."""
    number = result(span)
    return is_derived(span) or any(distance(number, q) <= ROUNDED for q in printed)
