"""Measurements on GPUs that others have published: the rows of `published.csv`.

CONTRIBUTING.md says what a row needs, and `d2l.predictions` predicts each row.
"""

import dataclasses
import functools
import re
from dataclasses import dataclass
from typing import Any

from d2l import tables

# The unit of each kind of measurement, and others that a row may have.
UNITS = {
    "training": ("tokens/s/GPU",),
    "memory": ("GiB", "GB", "MiB"),
    "fine-tuning": ("GiB", "GB", "MiB"),
    "generation": ("GiB", "GB", "MiB"),
    "step": ("examples/s",),
    "step-memory": ("MiB", "GB", "GiB"),
    "decode": ("tokens/s",),
    "prefill": ("tokens/s",),
    "serving": ("tokens/s",),
    "cache": ("tokens",),
    "all-reduce": ("GB/s",),
    "product": ("TFLOP/s",),
    "bandwidth": ("GB/s", "TB/s"),
}
SCALES = {
    **{"GiB": 2**30, "GB": 1e9, "MiB": 2**20, "GB/s": 1e9, "TB/s": 1e12},
    **{"TFLOP/s": 1e12, "tokens": 1, "tokens/s": 1, "tokens/s/GPU": 1},
    "examples/s": 1,
}
_GROUP = r"(zero [123]|(tensor|context|pipeline) [1-9]\d{0,4})"
SPLIT = re.compile(rf"layers|tensor|{_GROUP}(, {_GROUP})*")


@dataclass(frozen=True)
class Row:
    """A measurement. A field that does not apply is empty, and a number then 0.

    `model` is a language model, or the sizes m x n x k of a product. `value` is in
    `unit`. `length` are the tokens of a sequence or a prompt, or those before a token,
    and `output` those that a server generates. `bits` are those of a weight or a
    factor, `nbytes` is the size of an array, and `adapters` counts trained parameters.
    `split` says how GPUs share a model, such as "zero 3, tensor 8". `assumed` names the
    columns that the source does not state. `source` is a key of the bibliography, and
    `place` the file and its commit or date, and the line or heading.
    """

    id: str
    kind: str
    model: str
    card: str
    gpus: int
    bits: float
    recipe: str
    batch: int
    micro: int
    length: int
    output: int
    nbytes: int
    adapters: int
    recompute: str
    loss: str
    optimizer: str
    split: str
    program: str
    value: float
    unit: str
    assumed: str
    source: str
    place: str

    @property
    def measured(self) -> float:
        """Return the value in bytes, FLOP/s, B/s, tokens or tokens per second."""
        return self.value * SCALES[self.unit]

    @property
    def groups(self) -> dict[str, int]:
        """Return the numbers of `split` by their names; 'zero' is 0 if it is absent."""
        found = {"zero": 0, "tensor": 1, "context": 1, "pipeline": 1}
        for name, number in re.findall(r"(\w+) (\d+)", self.split):
            found[name] = int(number)
        return found


COLUMNS = [field.name for field in dataclasses.fields(Row)]
NUMBERS: dict[str, type] = {
    **dict.fromkeys(("bits", "value"), float),
    **dict.fromkeys(("gpus", "batch", "micro", "length"), int),
    **dict.fromkeys(("output", "nbytes", "adapters"), int),
}


def row_from(cells: dict[str, str]) -> Row:
    """Return a row whose cells are text; columns that are absent are empty.

    Raises ValueError if a cell is not of the type of its column.
    """
    values: dict[str, Any] = {name: cells.get(name) or "" for name in COLUMNS}
    for name, number in NUMBERS.items():
        try:
            values[name] = number(values[name] or 0)
        except ValueError:
            wrong = f"{name} is not a number: '{values[name]}'"
            raise ValueError(f"{values['id']}: {wrong}") from None
    return Row(**values)


@functools.cache
def published_rows() -> tuple[Row, ...]:
    """Return all rows of `published.csv`."""
    return tuple(row_from(cells) for cells in tables.read_rows("published.csv"))
