"""Compares a fresh run with its record: text exactly, numbers within a tolerance."""

import math
import re
from collections.abc import Iterator
from itertools import zip_longest

from nbformat import NotebookNode

from book.records.cleaning import SVG

SHAPE = re.compile(r"<(?:path|use)\b")
# The number of ticks in a plot of times varies from run to run; a blank plot has none.
SHAPES = 0.2
SHAPES_THAT_VARY = 0.5
RELATIVE = 1e-2
ABSOLUTE = 1e-3

ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")
# A token is a number, a name or a single character. A sign belongs to the number behind
# it unless it stands between two operands, as in `3-1`.
NUMBER = r"(?:(?<![\w.)\]])[-+])?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?"
TOKEN = re.compile(rf"{NUMBER}|[^\W\d]\w*|\S", re.IGNORECASE)
IS_NUMBER = re.compile(NUMBER, re.IGNORECASE)


def differences(kept: NotebookNode, fresh: NotebookNode) -> list[str]:
    """Return the differences between the outputs of two runs, one line for each.

    Integers must be equal; numbers with a point or an exponent may differ by 1 percent
    or 0.001. Images must have the same type, and SVGs the same number of shapes within
    20 percent. The outputs of a cell marked `.varies` need only be of the same kinds,
    and its SVGs may gain or lose up to half of their shapes.
    """
    if len(kept.cells) != len(fresh.cells):
        return [f"the record has {len(kept.cells)} cells, {len(fresh.cells)} ran"]
    pairs = zip(kept.cells, fresh.cells, strict=True)
    return [
        f"cell {number}: {difference}"
        for number, cells in enumerate(pairs, start=1)
        for difference in _cell_differences(*cells)
    ]


def _cell_differences(kept: NotebookNode, fresh: NotebookNode) -> Iterator[str]:
    kinds = [[_kind(output) for output in cell.outputs] for cell in (kept, fresh)]
    if kinds[0] != kinds[1]:
        yield f"the record has outputs {kinds[0]}, the run has {kinds[1]}"
        return
    may_vary = any("varies" in cell.metadata.get("tags", []) for cell in (kept, fresh))
    for outputs in zip(kept.outputs, fresh.outputs, strict=True):
        tolerance = SHAPES_THAT_VARY if may_vary else SHAPES
        counts = [_shapes(output) for output in outputs]
        yield from _shape_differences(counts, tolerance)
        if not may_vary:
            yield from _text_differences(*map(_text, outputs))


def _kind(output: NotebookNode) -> str:
    """Return the kind of an output: a stream's name, the MIME types, or `error`."""
    if output.output_type == "stream":
        return output.name
    return "+".join(sorted(output.get("data", {}))) or output.output_type


def _text(output: NotebookNode) -> str:
    """Return the text of an output; empty for an image."""
    if output.output_type == "stream":
        return output.text
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}"
    if any(kind.startswith("image/") for kind in output.data):
        return ""
    return "\n".join(
        text for kind, text in sorted(output.data.items()) if isinstance(text, str)
    )


def _shapes(output: NotebookNode) -> int:
    """Return the number of paths that an output draws, letters included."""
    return len(SHAPE.findall(output.get("data", {}).get(SVG, "")))


def _shape_differences(counts: list[int], tolerance: float) -> Iterator[str]:
    kept, fresh = counts
    if abs(fresh - kept) > tolerance * max(kept, fresh):
        yield f"the figure of the record has {kept} shapes, that of the run {fresh}"


def _text_differences(kept: str, fresh: str) -> Iterator[str]:
    """Yield the first line that differs: the ones after it often follow from it."""
    # A framework breaks the lines of an array depending on its digits.
    if _same(kept, fresh):
        return
    for expected, found in zip_longest(_lines(kept), _lines(fresh)):
        if expected is None or found is None or not _same(expected, found):
            yield f"expected {_quoted(expected)}, found {_quoted(found)}"
            return


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().splitlines()]


def _quoted(line: str | None) -> str:
    return "no such line" if line is None else f"'{line}'"


def _same(kept: str, fresh: str) -> bool:
    tokens = [TOKEN.findall(ADDRESS.sub("0x", text)) for text in (kept, fresh)]
    return len(tokens[0]) == len(tokens[1]) and all(map(_same_token, *tokens))


def _same_token(kept: str, fresh: str) -> bool:
    if kept == fresh:
        return True
    if not (IS_NUMBER.fullmatch(kept) and IS_NUMBER.fullmatch(fresh)):
        return False
    if kept.lstrip("+-").isdigit() and fresh.lstrip("+-").isdigit():
        return False
    return math.isclose(float(kept), float(fresh), rel_tol=RELATIVE, abs_tol=ABSOLUTE)
