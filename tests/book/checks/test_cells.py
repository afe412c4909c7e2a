"""The cells of a tab use all names, define them, and spare the null device."""

from collections.abc import Callable

import pytest

from book.checks import cells
from book.text.book import Book

CELL = "```{.python .input}\n%%tab jax\n"


def problems(make_book: Callable[..., Book], *codes: str) -> list[str]:
    text = "".join(f"{CELL}{code}\n```\n\n" for code in codes)
    return list(cells.problems(make_book(one=f"# One\n\n{text}")))


def test_cells_that_use_the_names_of_earlier_ones(make_book: Callable[..., Book]):
    assert problems(make_book, "!ls", "import os", "x = os.sep", "print(x)") == []


@pytest.mark.parametrize(
    "code, message",
    [
        ("import os", "`os` imported but unused in jax"),
        ("from os import path, sep\nsep", "`os.path` imported but unused"),
        ("print(x)", "Undefined name `x` in jax"),
    ],
)
def test_an_unused_or_undefined_name_is_found(
    make_book: Callable[..., Book], code: str, message: str
):
    (line,) = problems(make_book, "1 + 1", code)
    assert line.startswith("chapter/one.md:10: ") and message in line


@pytest.mark.parametrize(
    "code",
    [
        "import os\nopen(os.devnull, 'w')",
        "print(filename='/dev/null')",
        "from os import devnull as nothing\nprint(nothing)",
    ],
)
def test_the_null_device_is_found(make_book: Callable[..., Book], code: str):
    (line,) = problems(make_book, code)
    assert line.endswith("a cell names the null device; use a temporary file")
