"""All rules for authors: `python -m book check`, which `make check` calls.

A rule is a function that yields a line for each problem: the file and the line, what is
wrong, and how to mend it.
"""

from collections.abc import Callable, Iterable

from book.base.progress import counted
from book.checks import (
    cells,
    contents,
    covers,
    english,
    exercises,
    glossary,
    markup,
    orphans,
    quotations,
    tables,
    talks,
)
from book.runner.errors import BookError
from book.text.book import Book
from book.text.inline import MarkupError

Rule = Callable[[Book], Iterable[str]]

# A book that breaks one of these is not built.
FOR_BUILDS: tuple[Rule, ...] = (markup.problems, quotations.wrong_citations)
FOR_AUTHORS: tuple[Rule, ...] = (
    quotations.problems,
    covers.problems,
    orphans.problems,
    exercises.problems,
    cells.problems,
    tables.problems,
    english.problems,
    english.on_screen,
    glossary.problems,
    talks.problems,
    contents.problems,
)


def check_for_build(book: Book) -> None:
    """Raise a `BookError` that lists the problems with which a book is not built."""
    _apply(FOR_BUILDS, book)


def check(book: Book) -> None:
    """Raise a `BookError` that lists all problems of a book."""
    _apply(counted((*FOR_BUILDS, *FOR_AUTHORS), "applying rules"), book)


def _apply(rules: Iterable[Rule], book: Book) -> None:
    found: dict[str, None] = {}
    for rule in rules:
        try:
            found |= dict.fromkeys(rule(book))
        except MarkupError:
            pass  # the rule of markup says where
        except BookError as error:  # a mistake that stops this rule
            found |= dict.fromkeys(str(error).splitlines())
    if found:
        raise BookError("\n".join(found))
