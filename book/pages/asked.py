"""Adds what readers ask to the entries of the search: `asked.csv` beside the sections.

A row names the place that answers. A `message` of a framework is an entry of its own.
A `question` has other words than the section that answers it, which is found by them,
too.
The words in the column `answer` are a part of the answer; `tests/site/test_search.py`
looks for them in the place, so that a row does not outlive its answer.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from book.runner.errors import BookError

FILE = "asked.csv"
COLUMNS = ["kind", "asked", "place", "answer"]
Records = Mapping[str, Sequence[Mapping[str, Any]]]


def add(root: Path, pages: Records) -> dict[str, list[dict[str, Any]]]:
    """Return the entries of each page with what readers ask."""
    found = {
        page: [dict(entry) for entry in entries] for page, entries in pages.items()
    }
    for file in sorted({Path(page).parent / FILE for page in pages}):
        if (root / file).exists():
            for where, row in _rows(root, file):
                page, _, anchor = row["place"].partition("#")
                _add(row, anchor, found.get(f"{file.parent}/{page}.html", []), where)
    return found


def _rows(root: Path, file: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each row of a file, and where it is."""
    reader = csv.DictReader((root / file).read_text("utf-8").splitlines())
    if reader.fieldnames != COLUMNS:
        raise BookError(f"the columns must be {', '.join(COLUMNS)}", file)
    for row in reader:
        where = f"{file}:{reader.line_num}"
        if None in row or not all(row.values()):
            raise BookError("each column needs a value", where)
        if row["kind"] not in ("message", "question"):
            raise BookError("the kind is neither `message` nor `question`", where)
        yield where, row


def _add(
    row: Mapping[str, str], anchor: str, entries: list[dict[str, Any]], where: str
) -> None:
    """Add a row to the entries of a page."""
    place = next((entry for entry in entries if entry["anchor"] == anchor), None)
    if place is None:
        raise BookError(f"there is no section `{row['place']}`", where)
    if row["kind"] == "question":
        place.setdefault("asked", []).append(row["asked"])
        return
    text = f"{row['asked']} … {row['answer']}"
    kept = {"anchor": anchor, "kind": "message", "trail": place["trail"]}
    entries.append({**kept, "asked": [row["asked"]], "text": text})
