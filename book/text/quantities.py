"""Units, and numbers with their units in text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

ONE = {"": 1.0}
DECIMAL = ONE | {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
SIZES = DECIMAL | {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
SMALL = ONE | {"m": 1e-3, "µ": 1e-6, "μ": 1e-6, "u": 1e-6, "n": 1e-9}
LARGE_WORDS = ONE | {"kilo": 1e3, "mega": 1e6, "giga": 1e9, "tera": 1e12}
SMALL_WORDS = ONE | {"milli": 1e-3, "micro": 1e-6, "nano": 1e-9}

Units = dict[str, tuple[str, float]]


def _units(kind: str, prefixes: dict[str, float], *names: str, of: float = 1) -> Units:
    """Return units that measure a `kind` of thing, each with its value."""
    sizes = prefixes.items()
    return {
        f"{prefix}{name}": (kind, size * of) for name in names for prefix, size in sizes
    }


# Of each unit: what it measures, and its value in seconds, bytes, bits, FLOP, hertz,
# watts or ones. `static/guess.js` has the same; `make test-static` compares them.
SYMBOLS: Units = {
    **_units("time", SMALL, "s"),
    **_units("time", ONE, "min", of=60),
    **_units("time", ONE, "h", of=3600),
    **_units("bytes", SIZES, "B"),
    **_units("rate", SIZES, "B/s"),
    **_units("bits", DECIMAL, "bit"),
    **_units("rate of bits", DECIMAL, "bit/s"),
    **_units("arithmetic", DECIMAL, "FLOP", "FLOPs"),
    **_units("speed", DECIMAL, "FLOP/s", "FLOPS"),
    **_units("frequency", DECIMAL, "Hz"),
    **_units("power", SMALL | DECIMAL, "W"),
    **_units("ratio", ONE, "%", of=1e-2),
}
UNITS: Units = SYMBOLS | {
    **_units("time", SMALL, "sec"),
    **_units("time", SMALL_WORDS, "second", "seconds"),
    **_units("time", ONE, "minute", "minutes", of=60),
    **_units("time", ONE, "hour", "hours", of=3600),
    **_units("bytes", LARGE_WORDS, "byte", "bytes"),
    **_units("ratio", ONE, "percent", of=1e-2),
    **_units("ratio", ONE, "times", "x", "×"),
}


def pattern(units: Iterable[str]) -> str:
    """Return a pattern of units, none of which is the start of another word."""
    longest_first = map(re.escape, sorted(units, key=len, reverse=True))
    return rf"(?:{'|'.join(longest_first)})(?![\w/])"


NUMBER = re.compile(
    rf"""
    (?<![\w.]) (?P<number>
        \d{{1,3}} (?:[ ,]\d{{3}})+ (?![\d,]) (?:\.\d+)?
        | (?:\d+(?:\.\d+)?|\.\d+) (?:e[-+]?\d+)? )
    (?: \s? (?P<unit> {pattern(UNITS)} ) )?
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
        """The value in the unit of its kind, such as seconds."""
        return self.value * (UNITS[self.unit][1] if self.unit else 1)


def quantities(text: str) -> Iterator[Quantity]:
    """Yield the numbers of a text in order."""
    for match in NUMBER.finditer(text):
        value = float(re.sub("[ ,]", "", match["number"]))
        found = " ".join(match[0].split())
        yield Quantity(found, value, match["unit"] or "")
