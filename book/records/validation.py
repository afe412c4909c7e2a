"""Says why a record, or an output of a cell, is not shown."""

import json
from collections.abc import Iterator

import nbformat
from nbformat import NotebookNode

from book.records.cleaning import SHOWN, UNPRINTABLE
from book.records.images import problem_with_image
from book.runner.freshness import digest
from book.runner.limits import MOST_CHARACTERS, TOO_LARGE

FACTS = (
    *("machine", "machine_name", "gpu", "driver", "framework", "framework_version"),
    *("python", "platform", "cpu", "date", "fingerprint", "outputs"),
)
# A longer line fills more than half a page.
LONGEST_LINE = 2000
# Errors of reading and checking a file that is not a notebook.
UNREADABLE = (
    *(ValueError, KeyError, TypeError, AttributeError, RecursionError),
    nbformat.ValidationError,
)


def problem_with_text(text: str) -> str:
    """Return why a text is not shown as the record of a run; empty if it is."""
    try:
        record = nbformat.v4.reads(text)
        nbformat.validate(record)
        return problem_with_record(record)
    except UNREADABLE:
        return "not a notebook"


def problem_with_record(record: NotebookNode) -> str:
    """Return why a notebook is not shown as the record of a run; empty if it is."""
    facts = record.metadata.get("book")
    if not isinstance(facts, dict) or not set(FACTS) <= set(facts):
        return "it does not say what made it"
    if not all(map(_is_text, facts.values())):
        return "a fact of its machine is not a text"
    if any(cell.cell_type != "code" for cell in record.cells):
        return "it holds more than code"
    for number, problem in output_problems(record):
        return f"cell {number}: {problem}"
    if facts["outputs"] != hash_of_outputs(record):
        return "its outputs were edited"
    return ""


def output_problems(nb: NotebookNode) -> Iterator[tuple[int, str]]:
    """Yield the number of each cell, from 1, with outputs that are not shown, and why.

    The outputs are those that `cleaned` returns.
    """
    for number, cell in enumerate(nb.cells, start=1):
        if problem := _problem_with_outputs(cell):
            yield number, problem


def _problem_with_outputs(cell: NotebookNode) -> str:
    if len(json.dumps(cell.outputs)) > MOST_CHARACTERS:
        return TOO_LARGE
    problems = filter(None, map(_problem_with_output, cell.outputs))
    places = [part.get("metadata", {}) for part in [cell, *cell.outputs]]
    if not all(_is_text(place.get("alt", "")) for place in places):
        return "the description of an image is not a text"
    return next(problems, "")


def _problem_with_output(output: NotebookNode) -> str:
    data = output.get("data", {})
    for kind, shown in data.items():
        if kind not in SHOWN:
            return f"it shows {kind}, which no page does"
        if kind.startswith("image/"):
            if problem := problem_with_image(kind, shown):
                return f"an image ({kind}) {problem}"
    texts = [text for kind, text in data.items() if kind.startswith("text/")]
    texts += [output.get("text", "")]
    if not all(map(_is_text, texts)):
        return "it prints what is not text"
    longest = max(len(line) for text in texts for line in text.split("\n"))
    if longest > LONGEST_LINE:
        return f"it prints a line of {longest:,} characters; break it into shorter ones"
    return ""


def _is_text(value: object) -> bool:
    return isinstance(value, str) and not UNPRINTABLE.search(value)


def hash_of_outputs(record: NotebookNode) -> str:
    """Return a hash that shows whether the outputs of a record were edited."""
    outputs = [cell.outputs for cell in record.cells]
    return digest(json.dumps(outputs, sort_keys=True, ensure_ascii=False))
