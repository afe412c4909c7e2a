"""Computes formulas of numbers, and of names with values."""

import ast
import operator
from collections.abc import Callable, Mapping

TEX = ((r"\cdot", "*"), (r"\times", "*"), ("{", "("), ("}", ")"), ("^", "**"))
OPERATIONS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


def value_of_tex(tex: str) -> float | None:
    """Return the value of a formula in TeX; None if it has other parts than numbers."""
    for sign, code in TEX:
        tex = tex.replace(sign, code)
    return evaluate(tex.split("=")[0].strip(), {})


def evaluate(formula: str, values: Mapping[str, float]) -> float | None:
    """Return the value of a formula; None if it has a name without a value."""
    try:
        return _evaluate(ast.parse(formula, mode="eval").body, values)
    except (SyntaxError, ValueError, ArithmeticError):
        return None


def _evaluate(node: ast.expr, values: Mapping[str, float]) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    if isinstance(node, ast.Name) and node.id in values:
        return values[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATIONS:
        sides = _evaluate(node.left, values), _evaluate(node.right, values)
        return OPERATIONS[type(node.op)](*sides)
    raise ValueError("not a formula")
