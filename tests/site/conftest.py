"""The book's own site, built if it is not, and its pages as trees."""

from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from book import html
from book.sources import Book

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def book() -> Book:
    return Book(ROOT)


@pytest.fixture(scope="session")
def site(book: Book) -> Path:
    """The folder of the site."""
    return html.build(book).parent


@pytest.fixture(scope="session")
def pages(site: Path) -> dict[Path, BeautifulSoup]:
    return {
        path: BeautifulSoup(path.read_text("utf-8"), "html.parser")
        for path in sorted(site.rglob("*.html"))
    }
