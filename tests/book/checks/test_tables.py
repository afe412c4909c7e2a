"""The tables of cards and of published measurements are complete and plausible."""

import datetime
from collections.abc import Callable

import pytest

from book.checks import tables
from book.runner.errors import BookError
from book.text.book import Book

PROPERTIES = {
    "bandwidth": ["GB/s", 200, 10000],
    "cores": ["", 20, 200],
    "lanes": ["", 64, 128],
    "fp32": ["TFLOP/s", 5, 150],
    "fp8": ["TFLOP/s", 5, 150],
}
DATA = {
    "complete": {"cards": ["T4"], "optional": ["fp8"]},
    "relations": {"fp32": "cores * lanes / 1000"},
    "measurements": {"units": ["samples/s"]},
}
CARDS = """\
card,property,value,unit,source
T4,bandwidth,320,GB/s,NVIDIA.T4
T4,cores,100,,NVIDIA.T4
T4,lanes,100,,assumed
T4,fp32,9.5,TFLOP/s,NVIDIA.T4
"""
CITED = """\
id,topic,what,framework,value,unit,hardware,source
copy-jax,copy,a copy,JAX,1.5,ms,T4,NVIDIA.T4
copy-all,copy,"a copy, again",any,2,samples/s,T4,NVIDIA.T4
"""


@pytest.fixture(autouse=True)
def few_properties(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "PROPERTIES", PROPERTIES)
    monkeypatch.setattr(tables, "DATA", DATA)


def problems(
    make_book: Callable[..., Book],
    cards: str = CARDS,
    cited: str = CITED,
    prices: str = "",
) -> list[str]:
    book = make_book(one="# One\n")
    (book.root / "refs.bib").write_text("@misc{NVIDIA.T4, year={2018}}\n")
    (book.root / "d2l/cards.csv").write_text(cards)
    (book.root / "d2l/cited.csv").write_text(cited)
    if prices:
        (book.root / "d2l/prices.csv").write_text(prices)
    return list(tables.problems(book))


def test_complete_tables(make_book: Callable[..., Book]):
    assert problems(make_book) == []


IMPLAUSIBLE = (
    "is not a plausible bandwidth, 200 to 10000 GB/s; correct it, or"
    " book/checks/tables.toml"
)
VALID = "is not a valid id; write one such as copy-pytorch-finished"


@pytest.mark.parametrize(
    "right, wrong, message",
    [
        ("320,GB/s", "10001,GB/s", f"'10001 GB/s' {IMPLAUSIBLE}"),
        ("320,GB/s", "199,GB/s", f"'199 GB/s' {IMPLAUSIBLE}"),
        ("320,GB/s", "320,MB/s", f"'320 MB/s' {IMPLAUSIBLE}"),
        ("320,GB/s", "x,GB/s", f"'x GB/s' {IMPLAUSIBLE}"),
        (
            "cores,100,,",
            "cores,10,,",
            "3: '10 ' is not a plausible cores, 20 to 200 -;",
        ),
        (
            *("T4,bandwidth", "T4,width"),
            "cards.csv:2: unknown property 'width'; choose from bandwidth, cores,"
            " lanes, fp32, fp8",
        ),
        ("lanes", "cores", "cards.csv:4: T4 has 'cores' already; remove one"),
        ("T4,cores,100,,NVIDIA.T4\n", "", "d2l/cards.csv: T4 has no 'cores'; add it"),
        (
            "9.5",
            "8.9",
            "T4: 'fp32' is 8.9, but cores * lanes / 1000 is 10; correct one",
        ),
        ("9.5", "11.2", "T4: 'fp32' is 11.2, but cores * lanes / 1000 is 10; correct"),
        (
            *("320,GB/s,NVIDIA.T4", "320,GB/s,Nobody"),
            "cards.csv:2: 'Nobody' is not in the bibliography; add it",
        ),
        (
            "copy-all",
            "copy-jax",
            "cited.csv:2: the id 'copy-jax' is not unique; rename",
        ),
        ("copy-all", "all", f"'all' {VALID}"),
        ("copy-all", "copy-All", f"'copy-All' {VALID}"),
        ("copy-all", "copy-", f"'copy-' {VALID}"),
        (",1.5,", ",-1,", "cited.csv:2: '-1' is not a positive number"),
        (",1.5,", ",nan,", "cited.csv:2: 'nan' is not a positive number; correct it"),
        (",1.5,", ",0,", "cited.csv:2: '0' is not a positive number"),
        (",1.5,", ",inf,", "cited.csv:2: 'inf' is not a positive number"),
        (
            *("samples/s", "samples"),
            "cited.csv:3: unknown unit 'samples'; write one that texts can use, or list"
            " it in book/checks/tables.toml",
        ),
        (
            *("JAX", "Jax"),
            "cited.csv:2: unknown framework 'Jax'; choose from PyTorch, MXNet, JAX,"
            " TensorFlow, any",
        ),
        ("ms,T4,NVIDIA.T4", "ms,T4,Nobody", "cited.csv:2: 'Nobody' is not in the bib"),
    ],
)
def test_a_card_or_a_measurement_with_a_mistake(
    make_book: Callable[..., Book], right: str, wrong: str, message: str
):
    tables = CARDS.replace(right, wrong), CITED.replace(right, wrong)
    found = problems(make_book, *tables)
    assert any(message in line for line in found), found
    assert all(line.startswith("d2l/c") for line in found)


@pytest.mark.parametrize(
    "right, wrong, message",
    [
        ("card,property", "name,property", r"cards.csv:1: its columns are not card, "),
        ("T4,cores,100,,NVIDIA.T4", "T4,cores,100", r"cards.csv:3: a row needs card, "),
        ("T4,cores,100,", "T4,cores,,", r"cards.csv:3: a row needs card, "),
    ],
)
def test_a_table_that_cannot_be_read(
    make_book: Callable[..., Book], right: str, wrong: str, message: str
):
    with pytest.raises(BookError, match=message):
        problems(make_book, cards=CARDS.replace(right, wrong))


PRICES = """\
card,provider,rented,value,unit,date,source
T4,Cloud,"machine, with one GPU",0.5,$/h,{},NVIDIA.T4
"""


@pytest.mark.parametrize(
    "days, said", [(365, ""), (366, "over a year old; look it up")]
)
def test_an_old_price_is_said_and_is_no_problem(
    make_book: Callable[..., Book],
    capsys: pytest.CaptureFixture[str],
    days: int,
    said: str,
):
    then = datetime.date.today() - datetime.timedelta(days)
    assert problems(make_book, prices=PRICES.format(then)) == []
    out = capsys.readouterr().out
    assert out == (f"d2l/prices.csv: a price of {then} is {said}\n" if said else "")


@pytest.mark.parametrize(
    "right, wrong, message",
    [
        (",0.5,", ",-0.5,", "prices.csv:2: '-0.5' is not a positive number"),
        (",0.5,", ",free,", "prices.csv:2: 'free' is not a positive number"),
        ("NVIDIA.T4", "Nobody", "prices.csv:2: 'Nobody' is not in the bibliography"),
    ],
)
def test_a_price_with_a_mistake(
    make_book: Callable[..., Book], right: str, wrong: str, message: str
):
    prices = PRICES.format(datetime.date.today()).replace(right, wrong)
    assert any(message in line for line in problems(make_book, prices=prices))
