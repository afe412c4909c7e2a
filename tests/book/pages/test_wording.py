"""Text that other programs read in another way than markdown-it is an error."""

from collections.abc import Callable

import pytest

from book.base.errors import BookError
from book.notebooks import editions
from book.pages import html, wording
from book.slides import decks
from book.sources.book import Book

# Of each text: its line on the page, and the name of the construct.
MISREAD = [
    ("\\begin{foo} x \\end{foo} text after", 3, "a TeX command outside of an equation"),
    ("The folder C:\\temp\\logs is full.", 3, "a TeX command outside of an equation"),
    ("> A quote\n> * one\n> * two", 3, "a list without a blank line above it"),
    ("(i) first\n\n(ii) then", 3, "a list"),
    ("A) B", 3, "a list"),
    ("Before.\n\nTerm\n: a description", 5, "a definition list"),
    ("Water is H~2~O.", 3, "a subscript, or text that is struck out"),
    ("This is the 3^rd^ time.", 3, "a superscript"),
    ("It ends like this::\n\nMore.", 3, "two colons at the end of a paragraph"),
    ("![B.](../img/a.svg)", 3, "a list"),
]


def test_texts_that_pages_misread_are_errors(make_site_book: Callable[..., Book]):
    names = [f"page{number}" for number in range(len(MISREAD))]
    sections = {
        name: f"# One\n\n{text}\n"
        for name, (text, _, _) in zip(names, MISREAD, strict=True)
    }
    index = INDEX.replace("chapter/one", "\n".join(f"chapter/{n}" for n in names))
    with pytest.raises(BookError) as error:
        html.build(make_site_book(index=index, **sections))
    found = str(error.value).splitlines()
    assert len(found) == len(MISREAD)
    for name, (text, line, construct), problem in zip(
        names, MISREAD, sorted(found, key=natural), strict=True
    ):
        assert problem.startswith(f"chapter/{name}.md:{line}: "), text
        assert f"read {construct} here; write it" in problem, problem


def natural(line: str) -> int:
    """Return the number of a page, by which its problem is sorted."""
    return int(line.removeprefix("chapter/page").partition(".")[0])


INDEX = "# Made Up\n\n```toc\nchapter/one\n```\n"
RIGHT = """\
# One "Quoted" -- and More

A **bold** and *slanted* text of $a_b^2
\\cdot c$ bytes, `code`, [a link](https://d2l.ai "Title"), <https://d2l.ai>, it's 5 \\$.

* an item
  of two lines
* another

  with a paragraph

1. first
2. second

> A quotation.

![A *caption*. With two sentences.](../img/a.svg "A description.")

:A caption of $n$ rows

| a | *b* |
|---|---|
| 1 | `2` |

[**A slide mark**] and (~~not here~~) [only here]{.web}[nowhere]{.print}.
[5 ms]{.given}. Dots ... and 3 * 4 * 5, a_b_c, 2 < 3 & 4 > 1; #hash, |pipe|, a:b

```python
listing()
```

It ends with two backslashes \\\\ and \\*stars\\*.
"""


def test_a_text_that_all_programs_read_alike(
    make_site_book: Callable[..., Book],
):
    index = html.build(make_site_book(index=INDEX, one=RIGHT))
    assert (index.parent / "chapter/one.html").exists()


def test_the_first_misread_text_of_each_page_is_reported(
    make_site_book: Callable[..., Book],
):
    index = INDEX.replace("chapter/one", "chapter/one\nchapter/two")
    texts = {"one": "# One\n\nH~2~O\n\nA) B\n", "two": "# Two\n\nWell.\n\nA) B\n"}
    book = make_site_book(index=index, **texts)
    with pytest.raises(BookError) as error:
        html.build(book)
    lines = [line.partition(": ")[0] for line in str(error.value).splitlines()]
    assert lines == ["chapter/one.md:3", "chapter/two.md:5"]
    # What is mended is built; what is not is reported again.
    (book.root / "chapter/one.md").write_text("# One\n\nWater.\n")
    with pytest.raises(BookError, match=r"chapter/two\.md:5: "):
        html.build(Book(book.root))


def test_the_text_of_markdown_has_no_code_equations_or_roles():
    text = "A `b` $c$ *d* :ref:`e`\nf [g](h) \\$ ~i~"
    assert wording.text_of(text) == "Adfg$~i~"


def test_typographic_signs_are_those_of_the_keyboard():
    assert wording.compact("“a” – ‘b’ … c") == "\"a\"--'b'...c"


CELL = "```{{.python .input}}\n%%tab all\n1\n```\n"
MARKED = "# One\n\n[**A claim.**] (**{}**)\n\n" + CELL


@pytest.mark.parametrize("text", ["Water is H~2~O.", "Use \\foo{bar} now."])
def test_a_text_that_slides_misread_is_an_error(
    make_book: Callable[..., Book], text: str
):
    book = make_book(one=MARKED.format(text))
    with pytest.raises(BookError, match=r"^chapter/one\.md:3: readers would see "):
        decks.build(book)


def test_a_text_that_notebooks_misread_is_an_error(make_book: Callable[..., Book]):
    book = make_book(one=MARKED.format("It is ~~gone~~ now."))
    with pytest.raises(BookError, match=r"^chapter/one\.md:3: .* struck out here"):
        editions.write(book)
