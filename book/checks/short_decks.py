"""Checks the short decks of slides: their number, their titles and what they show."""

from collections.abc import Iterator

from book.facts.points import Point, points
from book.records import outputs, store
from book.text.blocks import Cell
from book.text.book import Book

FEWEST, MOST = 8, 12  # slides
LONGEST = 90  # characters of a title
LINES = 18  # of code and output


def problems(book: Book) -> Iterator[str]:
    """Yield a line for each problem of a short deck."""
    for section in book.sections:
        shown = (store.shown(book, section, tab) for tab in book.tabs)
        decks = {view.tab: list(points(view.blocks)) for view in shown if view}
        pictures = {p.line for deck in decks.values() for p in deck if p.block}
        for tab, deck in decks.items():
            count = sum(point.block is not None for point in deck)
            if deck and not FEWEST <= count <= MOST:
                message = f"{count} points in {tab}; mark {FEWEST} to {MOST}"
                yield f"{section.name}.md: {message} sentences with '.point'"
            for point in deck:
                place = section.at(point.line)
                if point.line not in pictures:
                    yield f"{place}: nothing shows this point; put it above a picture"
                yield from (f"{place}: {text}" for text in _problems(point, tab))


def _problems(point: Point, tab: str) -> Iterator[str]:
    """Yield what is wrong with a title, and with a cell in a tab."""
    sentence = point.sentence
    if not sentence.endswith((".", "?")) or sentence[:1].islower():
        yield f"'{sentence}' is not a sentence; it begins with a capital, ends with '.'"
    if len(sentence) > LONGEST:
        yield f"a title has at most {LONGEST} characters, and this has {len(sentence)}"
    lines = _lines(point.block, point.show) if isinstance(point.block, Cell) else 0
    if lines > LINES:
        yield f"{lines} lines on a slide in {tab}; choose a cell with at most {LINES}"


def _lines(cell: Cell, show: str) -> int:
    """Return the lines of code and output on a slide; a plot has none."""
    found = list(outputs.read(cell.outputs)) if show != "code" else []
    if any(isinstance(output, outputs.Picture) for output in found):
        found = []
    texts = [o.text for o in found if isinstance(o, outputs.PrintedText)]
    texts += [cell.code.strip()] if show else []
    return sum(text.count("\n") + 1 for text in texts)
