"""Pages cover the outputs that readers predict."""

from collections.abc import Callable

import pytest
from bs4 import Tag
from test_html import make_site_book as site_book
from test_machines import GPU, page_of, record

from book.text.book import Book

assert site_book  # a fixture

TEXT = """\
# One
:label:`sec_one`

Predict the time.

(**It takes [$2 + 17 = 19$ ms]{.arithmetic}.**)

```{.python .input .varies .predict answer="took ? ms" cited=queue}
%%tab all
wait()
```

Its end.

A list:

* an item

## Next

More.
"""
ROWS = """\
id,topic,what,framework,value,unit,hardware,source
queue,queue,a *long* queue,PyTorch,80.1,ms,RTX 4090 & <b>,Williams.2009
"""
PRINTED = "took 21.5 ms"


@pytest.fixture
def predicting(site_book: Callable[..., Book]) -> Callable[..., Book]:
    """Call it with the text of section `one` to get a book with published rows."""

    def make(text: str = TEXT) -> Book:
        book = site_book(one=text)
        (book.root / "d2l/cited.csv").write_text(ROWS)
        return Book(book.root)

    return make


def row_of(prediction: Tag) -> dict[str, str]:
    names, numbers = prediction.select("dt"), prediction.select("dd")
    return {n.text: d.text for n, d in zip(names, numbers, strict=True)}


def test_a_row_compares_arithmetic_the_output_and_a_citation(predicting):
    book = predicting()
    (book.root / "refs.bib").write_text(
        "@misc{Williams.2009, author={Williams, Samuel}, title={Roofline}, year={2009}}"
    )
    record(book, "cpu", PRINTED)
    page = page_of(book)
    (prediction,) = page.select(".prediction")
    assert list(row_of(prediction).items()) == [
        ("You", ""),
        ("Arithmetic", "19 ms"),
        ("Output on CPU", "21.5 ms"),
        ("RTX 4090 & <b>, cited", "80.1 ms"),
    ]
    assert prediction.select(".yours [data-unit=ms]")
    assert [told.text.strip() for told in page.select(".explains")] == [
        *("Its end.", "an item")
    ]
    label = prediction.select_one("form label")
    assert label is not None and label.text.split() == ["took", "ms"]
    covered = prediction.select_one(".covered")
    assert covered is not None
    assert (
        PRINTED in covered.text
        and "Your output may differ, here and below." in covered.text
    )
    source = covered.select_one(".prediction-source")
    assert source is not None
    assert source.text.startswith(
        "RTX 4090 & <b>, PyTorch: a *long* queue (Williams, 2009)"
    )
    (arithmetic,) = page.select("p.arithmetic")
    assert arithmetic.text.startswith("It takes")


def test_each_machine_has_its_number(predicting):
    book = predicting(TEXT.replace(" cited=queue", ""))
    record(book, "cpu", PRINTED)
    record(book, "h200", "took 2.5 ms", **GPU)
    (prediction,) = page_of(book).select(".prediction")
    row = row_of(prediction)
    assert (row["Output on CPU"], row["Output on NVIDIA TEST"]) == ("21.5 ms", "2.5 ms")


def test_an_output_without_the_number_is_not_covered(predicting):
    book = predicting()
    record(book, "cpu", "nothing")
    assert not page_of(book).select(".prediction")


@pytest.mark.parametrize(
    "answer, printed, label, number",
    [
        ("took ? ms", "took 5 ms", ["took", "ms"], "5 ms"),
        ("<b> took ?", "<b> took 5 ms", ["<b> took", "ms"], "5 ms"),
        ("step-?", "step-0024", ["step-", ""], "0024"),
        ("took .. or ?", "took 4 or 5", ["took … or", "ms"], "5 ms"),
    ],
)
def test_readers_need_not_type_the_unit(predicting, answer, printed, label, number):
    text = TEXT.replace("took ? ms", answer).replace(" cited=queue", "")
    if answer.startswith("step"):
        text = text.replace("$2 + 17 = 19$ ms", "$2 + 17 = 19$")
    book = predicting(text)
    record(book, "cpu", printed)
    (prediction,) = page_of(book).select(".prediction")
    words = prediction.select_one("form label")
    assert words is not None and words.text.split() == " ".join(label).split()
    assert row_of(prediction)["Output on CPU"] == number


def test_a_published_number_that_the_cell_prints_is_shown_once(predicting):
    book = predicting()
    record(book, "cpu", "took 80.1 ms")
    (prediction,) = page_of(book).select(".prediction")
    assert list(row_of(prediction)) == ["You", "Arithmetic", "RTX 4090 & <b>, cited"]
