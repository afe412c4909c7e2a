"""Headings, figures, tables and equations have numbers, with or without labels."""

from collections.abc import Callable
from pathlib import Path

import pytest

from book.refs.numbers import Numbers
from book.text.blocks import Heading
from book.text.book import Book

ROOT = Path(__file__).parents[3]

ONE = """\
# One
:label:`sec_one`

## A

### B

### C

## D

### E
:label:`sec_e`

![A picture.](a.svg)

![Another.](b.svg)
:label:`fig_b`

:Ages

| a |
|---|
| b |

$$a$$

$$b$$
:eqlabel:`eq_b`
"""
PART = """\
# A Part

![One more.](c.svg)
:label:`fig_part`
"""
TWO = """\
# Two

![One more.](c.svg)
:label:`fig_c`
"""


@pytest.fixture
def numbers(make_book: Callable[..., Book]) -> Numbers:
    one = f"{ONE}\n```toc\npart\n```\n"
    three = TWO.replace("fig_c", "fig_d")
    book = make_book(one=one, part=PART, two=TWO, three=three)
    index = book.root / "index.md"
    front = index.read_text("utf-8").replace("chapter/part\n", "")
    front += "\n![A front.](d.svg)\n:label:`fig_front`\n"
    index.write_text(front, "utf-8")
    config = book.root / "config.ini"
    appendix = "[pages]\nappendix = chapter/two\n"
    config.write_text(f"{config.read_text('utf-8')}\n{appendix}", "utf-8")
    return Numbers(Book(book.root))


def numbers_on(numbers: Numbers, name: str) -> list[str]:
    """Return the numbers on a page in order."""
    return [n for (page, _), n in numbers.captions.items() if page == name]


def test_headings_are_counted_below_those_above(numbers: Numbers):
    found = ["1", "1.1", "1.1.1", "1.1.2", "1.2", "1.2.1"]
    assert numbers_on(numbers, "chapter/one")[:6] == found
    assert numbers_on(numbers, "index") == ["", "1"]
    assert numbers.pages["chapter/part"] == "1.1"


def test_appendices_have_letters(numbers: Numbers):
    assert numbers.pages["chapter/two"] == "A"
    assert numbers.pages["chapter/three"] == "B"


def test_a_figure_or_table_with_a_caption_has_a_number_without_a_label(
    numbers: Numbers,
):
    found = numbers_on(numbers, "chapter/one")
    assert found[6:] == ["1.1", "1.2", "1.1", "1.1"]
    places = {label: place.number for label, place in numbers.places.items()}
    assert places["fig_b"] == "1.2" and places["fig_d"] == "B.1"
    # They are counted through all pages of a chapter.
    assert places["fig_part"] == "1.3"


def test_tables_for_one_tab_each_share_a_number(make_book: Callable[..., Book]):
    def table(label: str) -> str:
        return f":Rows\n\n| a |\n|---|\n| b |\n:label:`tab_{label}`\n"

    in_tabs = "".join(
        f":begin_tab:`{tab}`\n{table(tab)}:end_tab:\n\n" for tab in ("pytorch", "jax")
    )
    book = make_book(one=f"# One\n\n{table('a')}\n{in_tabs}{table('z')}")
    places = Numbers(book).places
    found = {label: place.number for label, place in places.items()}
    assert found["tab_a"] == "1.1" and found["tab_z"] == "1.3"
    assert found["tab_pytorch"] == found["tab_jax"] == "1.2"


@pytest.mark.parametrize("tab", ["pytorch", "mxnet", "jax", "tensorflow"])
def test_each_tab_of_this_book_has_all_numbers(tab: str):
    book = Book(ROOT)
    captions = Numbers(book).captions
    numbers: dict[tuple[type, str], list[int]] = {}
    for section in book.sections:
        for block in section.blocks:
            number = captions.get((section.name, block.line))
            if number and block.is_for(tab) and not isinstance(block, Heading):
                chapter, _, place = number.rpartition(".")
                numbers.setdefault((type(block), chapter), []).append(int(place))
    assert len(numbers) > 30
    for key, found in numbers.items():
        assert found == list(range(1, len(found) + 1)), key


def test_only_equations_with_a_label_are_counted(numbers: Numbers):
    assert numbers.places["eq_b"].number == "1.1"
