"""Letters tell works of the same authors and year apart; the list is sorted."""

import pytest

from book.refs.bibliography import Bibliography
from book.text.book import Book

BIB = """\
@misc{Z, author = {{Zeta Corp.}}, title = {Beta}, year = {2026}, url = {https://z.org}}
@misc{Y, author = {{Zeta Corp.}}, title = {{Alpha}}, year = {2026}}
@misc{X, author = {{Zeta Corp.}}, title = {Gamma}, year = {2025}}
@misc{never, author = {{Zeta Corp.}}, title = {Aaa}, year = {2026}}
@article{W, author = {Young, Ann and Abel, Bo}, title = {T}, journal = {J}, year = 2020}
@article{V, author = {de Aarde, Cy and B, D and E, F}, title = {T}, journal = {J},
  year = "2020"}
"""
TEXT = """\
# One

By :cite:`Z`, :cite:`Y,X` and :citet:`W`. `:cite:` no.

```{.python .input cited=run}
%%tab jax
1
```
"""
CITED = "id,source\nrun,V\nother,never\n"  # what a prediction is compared with


@pytest.fixture
def bibliography(make_book) -> Bibliography:
    book: Book = make_book(one=TEXT)
    (book.root / "refs.bib").write_text(BIB)
    (book.root / "d2l/cited.csv").write_text(CITED)
    return Bibliography(Book(book.root))


def test_works_of_one_author_and_year_have_letters_by_title(bibliography):
    labels = {key: bibliography.label(key) for key in "ZYXWV"}
    assert labels == {
        "Z": ("Zeta Corp.", "2026b"),
        "Y": ("Zeta Corp.", "2026a"),
        "X": ("Zeta Corp.", "2025"),
        "W": ("Young and Abel", "2020"),
        "V": ("de Aarde et al.", "2020"),
    }


def test_the_list_is_sorted_by_author_year_and_title(bibliography):
    assert [*bibliography.formatted] == list("VWXYZ")
    assert "(2026b)" in bibliography.formatted["Z"]
    assert bibliography.link("Z") == " [z.org](https://z.org)"


def test_a_price_in_a_title_is_readable_and_no_formula(make_book):
    book: Book = make_book(one="# One\n\nBy :cite:`Z`.\n")
    (book.root / "refs.bib").write_text(BIB.replace("{Beta}", r"{For \$672}"))
    assert r"For \$672*" in Bibliography(Book(book.root)).formatted["Z"]
