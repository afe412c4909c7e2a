"""Compares the book's predictions with published measurements.

    from d2l import audit
    summary = audit.summary("decode")
    print(summary.median, summary.low, summary.high, summary.rows)
    expected = audit.expected("decode")

A ratio is the prediction over the measurement, so a bound is beaten if it is below 1.
Rows whose settings had to be assumed count for bounds, but neither for estimates nor
for expectations. `expected` is the summary of the expectations' ratios, of all rows or
of those whose sources no constant was fitted on.
"""

import functools
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from d2l.predictions import KINDS, Unpredictable, expect, fitted_on, predict
from d2l.published import Row, published_rows
from d2l.tables import read_rows

TOLERANCE = 1 / 1.05  # a measurement beats a bound if the ratio is below
# Columns that hardly change an expectation, even if they had to be assumed: a short
# text's cache is less than 2 percent of the bytes of a token.
MINOR = {"decode": ("length",)}


class Outcome(NamedTuple):
    """A row with its prediction and its expectation, in the unit of `row.measured`.

    `why` says why there is no prediction, or why the row does not count; '' if it does.
    `expected` is not a number where there is no expectation, and `is_fitted` tells
    whether one of its constants was fitted on the row's source.
    """

    kind: str
    row: Row
    predicted: float
    why: str = ""
    expected: float = math.nan
    is_fitted: bool = False

    @property
    def ratio(self) -> float:
        """Return the prediction over the measurement."""
        return self.predicted / self.row.measured

    @property
    def expected_ratio(self) -> float:
        """Return the expectation over the measurement."""
        return self.expected / self.row.measured


def outcome(name: str, row: Row) -> Outcome:
    """Return the prediction and the expectation of a row, or why there is none."""
    try:
        predicted = predict(name, row)
    except Unpredictable as error:
        return Outcome(name, row, math.nan, str(error))
    assumed = [column for column in row.assumed.split() if column in KINDS[name].uses]
    if assumed and not KINDS[name].is_bound:
        return Outcome(name, row, predicted, f"assumed: {', '.join(assumed)}")
    found = Outcome(name, row, predicted, is_fitted=row.source in fitted_on(name, row))
    try:
        doubtful = {*assumed} - {*MINOR.get(name, ())}
        return found if doubtful else found._replace(expected=expect(name, row))
    except Unpredictable:  # the bound needs less
        return found


@functools.cache
def outcomes(name: str) -> tuple[Outcome, ...]:
    """Return the outcome of each published row that a kind is about."""
    rows = (row for row in published_rows() if row.kind == KINDS[name].kind)
    return tuple(outcome(name, row) for row in rows)


class Summary(NamedTuple):
    """How well a kind predicts: ratios, and shares of the rows from 0 to 1.

    `low` and `high` are the ratios that a tenth of the rows are below and above, and
    `least` and `most` the ends of all of them. `broken` counts the measurements that
    beat a bound; it is None for an estimate or an expectation.
    """

    kind: str
    rows: int
    sources: int
    median: float
    low: float
    high: float
    within_quarter: float
    within_double: float
    broken: int | None
    least: float
    most: float

    @property
    def spread(self) -> tuple[float, float, str]:
        """Return the ends of a range of ratios, and in words how many rows it has.

        Fewer than ten rows have no tenth to leave out, so their range has all of them.
        """
        if self.rows < 10:
            return self.least, self.most, f"in all {self.rows}"
        return self.low, self.high, f"in eight of ten; {self.rows}"

    @property
    def record(self) -> str:
        """Return the ratios and the numbers of rows and sources in words."""
        sources = "one source" if self.sources == 1 else f"{self.sources} sources"
        low, high, number = self.spread
        return (
            f"{self.median:.2f} ({low:.2f} to {high:.2f} {number} rows from {sources})"
        )


def summary(name: str, found: Iterable[Outcome] | None = None) -> Summary:
    """Return the summary of outcomes of a kind, of all published ones by default.

    Raises ValueError if none of them counts.
    """
    found = known_outcomes(name) if found is None else found
    counted = [o for o in found if not o.why]
    if not counted:
        raise ValueError(f"no row of {name} has a prediction")
    made = _summary(name, counted, [o.ratio for o in counted])
    beaten = sum(o.ratio < TOLERANCE for o in counted)
    return made._replace(broken=beaten if KINDS[name].is_bound else None)


def expected(
    name: str, found: Iterable[Outcome] | None = None, is_fitted: bool | None = None
) -> Summary:
    """Return the summary of the expectations of a kind, of all rows by default.

    `is_fitted` chooses rows of sources that a constant was, or was not, fitted on.
    Raises ValueError if no such row has an expectation.
    """
    found = known_outcomes(name) if found is None else found
    counted = [
        o
        for o in found
        if not math.isnan(o.expected) and is_fitted in (None, o.is_fitted)
    ]
    if not counted:
        raise ValueError(f"no such row of {name} has an expectation")
    return _summary(name, counted, [o.expected_ratio for o in counted])


def _summary(name: str, counted: Sequence[Outcome], found: list[float]) -> Summary:
    ratios = sorted(found)
    return Summary(
        name,
        len(ratios),
        len({o.row.source for o in counted}),
        quantile(ratios, 0.5),
        quantile(ratios, 0.1),
        quantile(ratios, 0.9),
        _share_within(ratios, 1.25),
        _share_within(ratios, 2),
        None,
        ratios[0],
        ratios[-1],
    )


def stored(name: str) -> list[Outcome]:
    """Return the outcomes of a kind that needs PyTorch, without PyTorch.

    `predicted_steps.csv` has the predictions; a test compares them with today's.
    """
    rows = {row.id: row for row in published_rows()}
    return [
        Outcome(
            name,
            rows[each["id"]],
            float(each["predicted"]),
            expected=float(each["expected"] or "nan"),
        )
        for each in read_rows("predicted_steps.csv")
        if each["kind"] == name and each["id"] in rows
    ]


def known_outcomes(name: str) -> Sequence[Outcome]:
    """Return the outcomes of a kind, without PyTorch; raise KeyError if it is none."""
    return stored(name) if KINDS[name].needs else outcomes(name)


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return the value below which a share of the ordered values lies."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def _share_within(ratios: Sequence[float], factor: float) -> float:
    return sum(1 / factor <= ratio <= factor for ratio in ratios) / len(ratios)


def nearest(name: str, row: Row, count: int = 5) -> list[Outcome]:
    """Return the published outcomes of a kind whose settings are most like a row's."""
    counted = [o for o in known_outcomes(name) if not o.why]
    return sorted(counted, key=lambda o: _distance(o.row, row))[:count]


def _distance(a: Row, b: Row) -> float:
    """Return how different the settings of two rows are.

    Another card or model counts as much as a factor of 4 in the number of bits or of
    GPUs, and a factor of 256 in another number.
    """
    words = 2 * (a.card != b.card) + 2 * (a.model != b.model)
    words += (a.split != b.split) + (a.recompute != b.recompute)
    weights = {"bits": 1, "gpus": 1, "nbytes": 1 / 4, "adapters": 1 / 4}
    weights |= dict.fromkeys(("micro", "length", "output"), 1 / 4)
    pairs = {name: (getattr(a, name), getattr(b, name)) for name in weights}
    octaves = {
        name: abs(math.log2((1 + x) / (1 + y))) for name, (x, y) in pairs.items()
    }
    return words + sum(weights[name] * octaves[name] for name in weights)
