"""Finds numbers with their units in text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
WORDS = {"": 1.0, "kilo": 1e3, "mega": 1e6, "giga": 1e9, "tera": 1e12}
TIMES = {"": 1.0, "milli": 1e-3, "micro": 1e-6, "nano": 1e-9}

# Of each unit: what it measures, and its value in seconds, bytes, FLOP or ones.
UNITS: dict[str, tuple[str, float]] = {
    **{f"{word}second": ("time", factor) for word, factor in TIMES.items()},
    **{f"{word}seconds": ("time", factor) for word, factor in TIMES.items()},
    **{"s": ("time", 1.0), "sec": ("time", 1.0), "ms": ("time", 1e-3)},
    **dict.fromkeys(("µs", "μs", "us"), ("time", 1e-6)),
    **{"ns": ("time", 1e-9), "min": ("time", 60.0)},
    **dict.fromkeys(("minute", "minutes"), ("time", 60.0)),
    **dict.fromkeys(("hour", "hours"), ("time", 3600.0)),
    **{f"{p}B": ("bytes", f) for p, f in (PREFIXES | BINARY).items()},
    **{f"{p}B/s": ("rate", f) for p, f in (PREFIXES | BINARY).items()},
    **{f"{word}byte": ("bytes", f) for word, f in WORDS.items()},
    **{f"{word}bytes": ("bytes", f) for word, f in WORDS.items()},
    **{f"{p}FLOP": ("arithmetic", f) for p, f in PREFIXES.items()},
    **{f"{p}FLOP/s": ("speed", f) for p, f in PREFIXES.items()},
    **dict.fromkeys(("%", "percent"), ("ratio", 1e-2)),
    **dict.fromkeys(("times", "x"), ("ratio", 1.0)),
}
LONGEST_FIRST = sorted(UNITS, key=len, reverse=True)
NUMBER = re.compile(
    rf"""
    (?<![\w.]) (?P<number>
        \d{{1,3}} (?:[ ,]\d{{3}})+ (?![\d,]) (?:\.\d+)?
        | (?:\d+(?:\.\d+)?|\.\d+) (?:e[-+]?\d+)? )
    (?: \s? (?P<unit> {"|".join(map(re.escape, LONGEST_FIRST))} ) (?![\w/]) )?
    """,
    re.VERBOSE,
)


@dataclass(frozen=True)
class Quantity:
    """A number in a text, with its unit, which is empty if the text names none."""

    text: str
    value: float
    unit: str

    @property
    def kind(self) -> str:
        """Return what the unit measures, such as `time`; empty without a unit."""
        return UNITS[self.unit][0] if self.unit else ""

    @property
    def base_value(self) -> float:
        """The value in seconds, bytes, FLOP or ones."""
        return self.value * (UNITS[self.unit][1] if self.unit else 1)


def quantities(text: str) -> Iterator[Quantity]:
    """Yield the numbers of a text in order."""
    for match in NUMBER.finditer(text):
        value = float(re.sub("[ ,]", "", match["number"]))
        found = " ".join(match[0].split())
        yield Quantity(found, value, match["unit"] or "")
