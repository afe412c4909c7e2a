"""Each section has its places: contents, card, and parts of the machine."""

from collections.abc import Callable
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from book.checks import contents as rule
from book.pages import html
from book.text.book import Book

DRAWING = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" width="9" height="9">
<g data-touch="host"><title>Host</title></g>
<g data-touch="memory"><title>GPU memory: 3.35 TB/s</title></g></svg>
"""
SETTINGS = """
[pages]
glossary = chapter/glossary
appendix = chapter/tools

[map]
drawing = img/map.svg
one = memory host
glossary =
"""
TEXTS = {
    "one": "# One\n:label:`sec_one`\n\n*Rings*.\n",
    "glossary": "# Glossary\n\n* **Ring** (:numref:`sec_one`). A loop.\n",
    "tools": "# Tools\n",
}
FRONT = "![A machine.](img/map.svg)\n"


@pytest.fixture
def make(make_book: Callable[..., Book]) -> Callable[..., Book]:
    """A function that makes a book with a map, in whose settings it replaces a text."""

    def make(right: str = "", wrong: str = "") -> Book:
        root = make_book(**TEXTS).root
        (root / "img").mkdir()
        (root / "img/map.svg").write_text(DRAWING, "utf-8")
        assert right in SETTINGS
        config = root / "config.ini"
        settings = SETTINGS.replace(right, wrong) if right else SETTINGS
        config.write_text(config.read_text("utf-8") + settings, "utf-8")
        index = root / "index.md"
        index.write_text(index.read_text("utf-8").replace("```toc", f"{FRONT}\n```toc"))
        return Book(Path(root))

    return make


@pytest.mark.parametrize(
    "right, wrong, problem",
    [
        ("", "", ""),
        (
            *("memory host", "memori memory host"),
            "config.ini: [map] one: unknown part 'memori'; choose from host, memory",
        ),
        (
            *("memory host", "memory"),
            "config.ini: [map] no section treats the part 'host'; name it in one",
        ),
        (
            *("glossary =\n", ""),
            "chapter/glossary.md: lacks 'glossary = PARTS' (or no parts) under [map] in"
            " config.ini; add what it lacks",
        ),
        (
            *("one =", "two = host\none ="),
            "config.ini: [map] no section 'two'; correct or remove it",
        ),
        (
            *("map.svg", "mat.svg"),
            "config.ini: [map] drawing: no parts in 'mat.svg'; correct it",
        ),
    ],
)
def test_mistakes_are_named(
    make: Callable[..., Book], right: str, wrong: str, problem: str
):
    found = list(rule.problems(make(right, wrong)))
    assert found[:1] == ([problem] if problem else [])


def test_a_book_without_a_map_needs_no_entries(make_book: Callable[..., Book]):
    assert not list(rule.problems(make_book(**TEXTS)))


def test_a_file_outside_of_the_contents_is_named(make: Callable[..., Book]):
    book = make()
    (book.root / "chapter/heat.md").write_text("# Heat\n", "utf-8")
    assert [*rule.problems(book)] == [
        "chapter/heat.md: not in the contents of index.md; add or remove it"
    ]


def test_all_that_a_section_lacks_is_one_mistake(make: Callable[..., Book]):
    root = make("one = memory host\nglossary =\n", "glossary = memory host\n").root
    for file, old, new in (
        ("index.md", "```toc", "* :ref:`sec_glossary`. Terms.\n\n```toc"),
        ("chapter/glossary.md", "# Glossary\n", "# Glossary\n:label:`sec_glossary`\n"),
    ):
        path = root / file
        path.write_text(path.read_text("utf-8").replace(old, new, 1), "utf-8")
    [line] = rule.problems(Book(root))
    lacks = "a card in index.md and 'one = PARTS' (or no parts) under [map]"
    assert line == f"chapter/one.md: lacks {lacks} in config.ini; add what it lacks"


@pytest.fixture
def pages(make: Callable[..., Book]) -> Callable[[str], BeautifulSoup]:
    folder = html.build(make()).parent
    return lambda name: BeautifulSoup((folder / name).read_text("utf-8"), "html.parser")


def test_the_front_page_lists_the_sections_of_each_part(pages: Callable):
    part = pages("index.html").select_one("nav.machine #part-memory")
    assert part.find_parent("details").summary.text == "GPU memory"
    assert [link["href"] for link in part.select("a")] == ["chapter/one.html#sec-one"]
