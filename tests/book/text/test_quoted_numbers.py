"""The numbers in the text are those of the outputs and of published measurements."""

from pathlib import Path

from book.records import quotations
from book.sources.book import Book

BOOK = Book(Path(__file__).resolve().parents[3])


def test_the_text_quotes_the_outputs_that_are_recorded():
    assert [str(quotation) for quotation in quotations.wrong_quotations(BOOK)] == []


def test_each_number_that_quotes_an_output_is_marked():
    assert list(quotations.unmarked_numbers(BOOK)) == []
