"""Checks the decks of slides: their number, titles, notes, and what they show."""

import re
from collections.abc import Iterator

from book.facts.points import Point, Talk, lines_of, talk
from book.records import store
from book.records.outputs import PrintedText
from book.text.blocks import Cell, Equation, Table
from book.text.book import Book

FEWEST, MOST = 12, 16  # slides
LONGEST = 90  # characters of a title
LINES = 18  # of code and output


def problems(book: Book) -> Iterator[str]:
    """Yield a line for each problem of a deck, but for tabs without fresh outputs."""
    for section in book.sections:
        shown = (store.shown(book, section, tab) for tab in book.tabs)
        talks = {
            v.tab: talk(v.blocks, v.tab) for v in shown if v and v.state == "fresh"
        }
        decks = {tab: found for tab, found in talks.items() if found.points}
        pictures = {p.line for deck in decks.values() for p in deck.points if p.block}
        for tab, deck in decks.items():
            if not FEWEST <= deck.slides <= MOST:
                message = f"{deck.slides} slides in {tab}, with questions; mark points"
                yield f"{section.name}.md: {message} for {FEWEST} to {MOST}"
            for point in deck.points:
                place = section.at(point.line)
                if point.line not in pictures:
                    yield f"{place}: nothing shows this point; put it above a picture"
                yield from (f"{place}: {text}" for text in _problems(point, tab))
            yield from (section.at(n) + f": {text}" for n, text in _told(deck, tab))


def _problems(point: Point, tab: str) -> Iterator[str]:
    """Yield what is wrong with a title, and with what shows it in a tab."""
    sentence = point.sentence
    if not sentence.endswith((".", "?")) or sentence[:1].islower():
        yield f"'{sentence}' is not a sentence; it begins with a capital, ends with '.'"
    if len(sentence) > LONGEST:
        yield f"a title has at most {LONGEST} characters, and this has {len(sentence)}"
    if point.block and not point.said:
        yield f"no text near this point becomes notes in {tab}; explain the point"
    if not isinstance(point.block, Cell):
        if isinstance(point.block, Equation) and not (point.after or point.notes):
            yield "the equation would be alone on its slide; explain it in words"
        return
    lines, code = lines_of(point.outputs), point.code
    lines += code.count("\n") + 1 if code else 0
    if lines > LINES:
        yield f"{lines} lines on a slide in {tab}; choose a cell with at most {LINES}"
    if lines == 1 and not point.asks:
        yield f"a single line on a slide in {tab}; choose another cell"


def _told(deck: Talk, tab: str) -> Iterator[tuple[int, str]]:
    """Yield the line of each question whose answer an earlier slide shows, and why."""
    earlier = ""
    for point in deck.points:
        for answer in point.answers:
            if _is_telling(answer) and re.search(
                rf"(?<![\d.,]){re.escape(answer)}", earlier
            ):
                message = f"an earlier slide in {tab} shows the answer, {answer}"
                yield point.line, f"{message}; show it below the question"
        earlier += "\n".join(["", point.sentence, *_texts(point)])


def _is_telling(answer: str) -> bool:
    """Return True for a number with a unit or four digits; others occur by chance."""
    return sum(sign.isdigit() for sign in answer) > 3 or " " in answer


def _texts(point: Point) -> Iterator[str]:
    """Yield the texts on the slide of a point."""
    yield point.code
    yield from (o.text for o in point.outputs if isinstance(o, PrintedText))
    if isinstance(point.block, Table):
        yield point.block.rows
