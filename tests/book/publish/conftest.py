"""A made-up book with settings for publishing."""

from collections.abc import Callable

import pytest

from book.text.book import Book

INDEX = """\
# A Made-Up Book

What it is about.

```toc
:numbered:

chapter/one
chapter/two
```
"""
ONE = """\
# One
:label:`sec_one`

[A first look.]{.point}

$$x$$

Text.

```{.python .input}
%%tab pytorch
1 + 1
```

```{.python .input}
%%tab jax
1 + 1
```
"""
TWO = "# Two\n:label:`sec_two`\n\nText, and no code.\n"
MakeBook = Callable[..., Book]


@pytest.fixture
def make(make_site_book: MakeBook) -> Callable[..., Book]:
    """Return a function that makes a book with these settings under `[publish]`."""

    def make(**settings: str) -> Book:
        root = make_site_book(INDEX, one=ONE, two=TWO).root
        lines = [f"{name} = {value}\n" for name, value in settings.items()]
        with open(root / "config.ini", "a") as config:
            config.write("".join(["\n[publish]\n", *lines]))
        return Book(root)

    return make
