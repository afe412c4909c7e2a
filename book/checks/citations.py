"""Checks the numbers marked `.cited`, which repeat published measurements.

Each is the value of a row of the package's `cited.csv`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from book.facts.marked_numbers import (
    MEASUREMENTS,
    Rows,
    cited_works,
    marked,
    numbers,
    published_measurements,
    tolerance,
)
from book.facts.quantities import Quantity, distance, quantities
from book.text.blocks import Block
from book.text.book import Book
from book.text.inline import Span

# The name of a GPU in the description of hardware, such as 4090 in "2 x RTX 4090".
GPU = re.compile(r"\b\w*\d{3}\w*\b")


def wrong_citations(book: Book) -> Iterator[str]:
    """Yield a line for each number that differs from its published measurement."""
    rows = published_measurements(book)
    for section in book.sections:
        for cell in section.cells:
            name = cell.attributes.get("cited", "")
            if name and name not in rows:
                yield f"{section.at(cell.line)}: {_unknown(name)}"
        for block, span in marked(section.blocks, "cited"):
            if problem := _problem_with_citation(block, span, rows):
                where = section.at(block.line_at(span.start))
                yield f"{where}: {problem}"


def _problem_with_citation(block: Block, span: Span, rows: Rows) -> str:
    """Return why a number is not a right citation; empty if it is one."""
    name = span.attributes.get("id", "")
    if name not in rows:
        return _unknown(name)
    row = rows[name]
    value = f"{row['value']} {row['unit']}"
    measured = next(quantities(value))
    if not all(_is_rounded(number, measured, span) for number in numbers(span)):
        return (
            f"'{span.text}' is not the value of '{name}', {value}; correct the number"
        )
    names = GPU.findall(row["hardware"]) or [row["hardware"]]
    if row["source"] in cited_works(block) or any(n in block.text for n in names):
        return ""
    name_it = f"name the hardware of '{name}', {row['hardware']}, in this paragraph"
    return f"{name_it}, or cite {row['source']}"


def _unknown(name: str) -> str:
    return f"no measurement '{name}' in {MEASUREMENTS}; add it or correct the id"


def _is_rounded(number: Quantity, measured: Quantity, span: Span) -> bool:
    """Return True if a number is a measured one, rounded to the digits it has."""
    if tolerance(span):
        return distance(number, measured) <= tolerance(span)
    decimals = len(number.text.split()[0].partition(".")[2])
    half_a_digit = 0.5001 * 10**-decimals / abs(number.value or 1)
    # The distance is relative to its second argument.
    return distance(measured, number) <= half_a_digit
