"""References and citations say the same in every format; slides have no numbers."""

from collections.abc import Callable

import pytest
from markdown_it.token import Token

from book.refs.targets import Targets
from book.text.book import Book
from book.text.tokens import parse

BIB = """\
@misc{Z, author = {Zeta}, title = {A}, year = {2026}}
@article{Y, author = {Bee, Ann and Cee, Bo and Dee, Cy}, title = {T}, journal = {J},
  year = 2020}
@misc{not_cited, author = {Abel}, title = {A}, year = {2026}}
"""
ONE = """\
# On *One* & `two`
:label:`sec_one`

![A picture.](a.svg)
:label:`fig_a`

$$a$$
:eqlabel:`eq_a`

By :cite:`Z,Y`.
"""


@pytest.fixture
def book(make_book: Callable[..., Book]) -> Book:
    book = make_book(one=ONE)
    (book.root / "refs.bib").write_text(BIB)
    return Book(book.root)


def written(tokens: list[Token]) -> str:
    """Return tokens as text, with each reference in brackets before where it leads."""
    parts = []
    for token in tokens:
        words = written(token.children or [])
        match token.type:
            case "reference":
                parts.append(f"[{words}]({token.info} {token.meta['to']})")
            case "inline" | "role":
                parts.append(words)
            case "em_open" | "em_close" | "text" | "code_inline":
                parts.append(token.content or token.markup)
    return "".join(parts)


TITLE = "On *One* & two"
CITED = "([Bee *et al.*, 2020](work Y); [Zeta, 2026](work Z))"
TEXTUAL = "Bee *et al.* ([2020](work Y)), Zeta ([2026](work Z))"


@pytest.mark.parametrize(
    "text, numbered, on_slides",
    [
        (
            "A :numref:`sec_one`",
            "A [Section 1](number sec_one)",
            f"A [*{TITLE}*](title",
        ),
        (":ref:`sec_one`", f"[{TITLE}](title sec_one)", f"[*{TITLE}*](title"),
        ("A :numref:`fig_a`.", "A [Fig. 1.1](number fig_a).", "A [the figure](kind"),
        ("A: :eqref:`eq_a`", "A: [(1.1)](number eq_a)", "A: [The equation](kind"),
        ("* a\n* :ref:`fig_a`", "a[Fig. 1.1](number fig_a)", "a[The figure](kind"),
        (":cite:`Z, Y`", CITED, CITED),
        (":citet:`Z,Y`", TEXTUAL, TEXTUAL),
    ],
)
def test_a_role_says(text: str, numbered: str, on_slides: str, book: Book):
    assert written(Targets(book).word(parse(text))) == numbered
    found = written(Targets(book, numbered=False).word(parse(text)))
    assert found.startswith(on_slides)


def test_a_reference_leads_to_a_page_and_an_id(make_book: Callable[..., Book]):
    works = "# Works\n\n:bibliography:`refs.bib`\n"
    book = make_book(one=ONE.replace("`Z,", "`Z:1,"), works=works)
    (book.root / "refs.bib").write_text(BIB.replace("{Z,", "{Z:1,"))
    targets = Targets(Book(book.root))
    roles = ("ref", "sec_one"), ("eqref", "eq_a"), ("citet", "Z:1")
    found = [t for role in roles for t in targets.words(*role) if t.type == "reference"]
    assert [targets.target(token) for token in found] == [
        ("chapter/one", "sec-one"),
        ("chapter/one", "equation-eq-a"),
        ("chapter/works", "Z-1"),
    ]
