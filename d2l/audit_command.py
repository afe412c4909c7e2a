"""Compare predictions for GPUs with measurements that others have published.

python -m d2l audit                          # each kind of prediction, in a table
python -m d2l audit decode                   # its rows, those furthest off first
python -m d2l audit --constants              # what expectations depend on
python -m d2l audit --card 'RTX 4090'        # the table for one card
python -m d2l audit --rows --card 'RTX 4090' # the rows of all kinds for one card
python -m d2l audit --csv > predictions.csv  # all rows with their predictions
python -m d2l audit --mine decode 'Llama 3 8B' --card 'RTX 4090' --bits 4 --value 130
python -m d2l audit --mine all-reduce --card H100 --gpus 8 --nbytes 1e9 --value 350

The library predicts the speed and the memory of models from their sizes and from the
data sheet of a card. The ratio of a row is the prediction over the measurement.

A bound is a speed or an amount of free memory that no GPU should exceed, so its ratios
are above 1: 1.6 means that the bound is 1.6 times what the GPU reached. An estimate may
be off in both directions. A ratio below 1 means that it was too small; for memory, that
is the dangerous side.

The table has, for each kind of prediction, the median of the ratios, the range of the
middle eight of ten, and the shares of the rows that are within 25 percent and within a
factor of 2. The last column counts the measurements that beat a bound by more than 5
percent; it is empty for estimates.

An expectation adds what a prediction leaves out: kernels between products, the time of
a call, the share of its peak that a GPU usually reaches. --constants lists its few
constants with the sources that they were fitted on. 'others' counts the rows of all
other sources.

--mine compares a measurement of your own with its prediction and with the published
rows whose settings are closest to yours. Name the kind and the model, then the settings
that the prediction depends on:

--value      the measurement, in --unit or else in the unit of the kind below
--bits       of a weight, or of a factor of a product; 16 if it is not given
--batch      sequences of a step; --micro: of a microbatch on one GPU
--length     tokens of a sequence or of a prompt, or those before a token
--output     tokens that a server generates for each prompt
--adapters   parameters that fine-tuning trains; --nbytes: of an array to be added up
--recompute  selective: every second product; half: every second layer
--loss       chunks: the logits of only a part of the tokens exist at a time
--optimizer  host: its state is in the memory of the host
--recipe     cast: weights of 32 bits and layers in 16; mixed: with a master copy
--split      how GPUs share a model: layers, tensor, or such as 'zero 3, tensor 8'

The model of a product is its sizes, such as '4096 x 4096 x 4096'.

Only step and step-memory need a framework, PyTorch. The exit status is 2 for a mistake
in the arguments.
"""

import argparse
import csv
import io
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from d2l import arguments as args
from d2l import audit, expectations, tables
from d2l.arguments import UsageError
from d2l.audit import Outcome, Summary
from d2l.language_models import LANGUAGE_SHAPES
from d2l.predictions import KINDS, RECORDED
from d2l.published import COLUMNS, SCALES, SPLIT, UNITS, Row, published_rows, row_from
from d2l.training_plans import RECIPES

# The settings without which a kind predicts nothing.
NEEDED = {
    "training": ("model", "card", "micro", "length"),
    "peak-share": ("model", "card", "length"),
    "memory": ("model", "micro", "length"),
    "fine-tuning": ("model", "micro", "length", "adapters"),
    "generation": ("model",),
    "decode": ("model", "card"),
    "prefill": ("model", "card", "length"),
    "serving": ("model", "card", "length", "output"),
    "cache": ("model", "card"),
    "step": ("model", "card", "micro"),
    "step-memory": ("model", "micro"),
    "all-reduce": ("card", "gpus", "nbytes"),
    "product": ("model", "card"),
    "bandwidth": ("card",),
}
CHOICES = {
    "recipe": [*RECIPES, "float16", "tf32"],
    "recompute": ["none", "selective", "half", "full"],
    "loss": ["whole", "chunks"],
    "optimizer": ["adam", "adam8", "sgd", "momentum", "host"],
}
COUNTS = ("gpus", "batch", "micro", "length", "output", "adapters")
HEAD = (
    f"{'kind':12}{'rows':>5}{'sources':>9}{'median':>8}{'10 to 90 %':>14}"
    f"{'within 25 %':>13}{'factor 2':>10}{'beaten':>8}"
)
EXPECTED_HEAD = (
    f"{'kind':12}{'rows':>5}{'sources':>9}{'median':>8}{'10 to 90 %':>14}"
    f"{'within 25 %':>13}{'others':>8}{'within':>8}"
)
ROW_HEAD = (
    f"{'ratio':>6}{'predicted':>11}{'ratio':>7}{'expected':>11}{'measured':>11}  "
    "unit, model, card, settings, program, source"
)


def main(arguments: Sequence[str]) -> int:
    """Print the answer and return 0, or print an error and return 2."""
    return args.run(answer, arguments)


def answer(arguments: Sequence[str]) -> str:
    """Return what the arguments ask for; raise UsageError."""
    options = parser().parse_args(arguments)
    if options.kind and options.kind not in KINDS:
        known = args.similar(options.kind, [*KINDS])
        raise UsageError(f"'{options.kind}' is not a kind; write {known}")
    if options.mine:
        return mine(options)
    _refuse_settings(options)
    if options.constants:
        return constants()
    names = [options.kind] if options.kind else [*KINDS]
    if options.card:
        _known_card(options.card, {row.card for row in published_rows()})
    found = {
        name: [
            each
            for each in audit.known_outcomes(name)
            if options.card in (None, each.row.card)
        ]
        for name in names
    }
    if options.kind and not found[options.kind]:
        raise UsageError(
            f"--card: no row of {options.kind} is about the {options.card}"
        )
    if options.csv:
        return as_csv(each for name in names for each in found[name])
    if options.kind or options.rows:
        return "\n\n".join(text for name in names if (text := listing(found[name])))
    return table(found)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the arguments."""
    kinds = [
        f"{name:12}{'bound' if kind.is_bound else 'estimate':10}"
        f"{UNITS[kind.kind][0]:14}{kind.formula}"
        for name, kind in KINDS.items()
    ]
    made = args.Parser(
        prog="python -m d2l audit",
        description=__doc__,
        epilog="\n".join(
            ["the kinds, their units, and where the book predicts them:", *kinds]
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("kind", nargs="?", metavar="KIND", help="one of those below")
    made.add_argument("model", nargs="?", metavar="MODEL", help="with --mine")
    made.add_argument("--card", metavar="NAME")
    form = made.add_mutually_exclusive_group()
    form.add_argument("--rows", action="store_true", help="rows in place of the table")
    form.add_argument("--csv", action="store_true", help="rows with all columns")
    form.add_argument("--constants", action="store_true", help="of expectations")
    form.add_argument("--mine", action="store_true", help="a measurement of your own")
    made.add_argument("--value", type=_positive, metavar="NUMBER")
    made.add_argument("--unit", choices=[*SCALES])
    made.add_argument("--bits", type=_bits, metavar="BITS")
    made.add_argument("--nbytes", type=_positive, metavar="BYTES")
    for name in COUNTS:
        made.add_argument(f"--{name}", type=args.count, metavar="N")
    for name, choices in CHOICES.items():
        made.add_argument(f"--{name}", choices=choices)
    made.add_argument("--split", metavar="GROUPS")
    return made


def _positive(value: str) -> float:
    return args.number(value, 1e-9, 1e15)


def _bits(value: str) -> float:
    return args.number(value, 1, 32)


def _refuse_settings(options: argparse.Namespace) -> None:
    """Raise UsageError if a setting is given that only --mine reads."""
    for name in (
        "model",
        "value",
        "unit",
        "bits",
        "nbytes",
        *COUNTS,
        *CHOICES,
        "split",
    ):
        if getattr(options, name) is not None:
            shown = options.model if name == "model" else f"--{name}"
            raise UsageError(
                f"{shown}: only a measurement of your own has it; add --mine"
            )


def _known_card(card: str, cards: Iterable[str]) -> None:
    if card not in cards:
        raise UsageError(
            f"--card: '{card}' has no rows; {args.similar(card, sorted(cards))}"
        )


# All rows


def table(found: dict[str, list[Outcome]]) -> str:
    """Return a line for each kind, and how many rows have no prediction."""
    lines = [HEAD]
    for name, each in found.items():
        if any(not outcome.why for outcome in each):
            lines.append(line_of(audit.summary(name, each)))
    if len(lines) == 1:
        return "No row has a prediction."
    expected = [expected_line(*each) for each in found.items()]
    lines += ["", "The same of expectations, for all rows and for those of others:"]
    lines += [EXPECTED_HEAD, *(line for line in expected if line)]
    left = sum(bool(each.why) for outcomes in found.values() for each in outcomes)
    lines += [
        "",
        "Predicted over measured; 'python -m d2l audit -h' explains the columns.",
    ]
    if left:
        lines.append(
            f"{left} predictions are left out; 'audit KIND' gives the reasons."
        )
    return "\n".join(lines)


def line_of(found: Summary) -> str:
    """Return the line of a kind."""
    spread = f"{found.low:.2f} to {found.high:.2f}"
    beaten = "" if found.broken is None else str(found.broken)
    return (
        f"{found.kind:12}{found.rows:5}{found.sources:9}{found.median:8.2f}{spread:>14}"
        f"{found.within_quarter:13.0%}{found.within_double:10.0%}{beaten:>8}"
    ).rstrip()


def expected_line(name: str, found: list[Outcome]) -> str:
    """Return the line of the expectations of a kind, or nothing without any."""
    try:
        every = audit.expected(name, found)
    except ValueError:
        return ""
    spread = f"{every.low:.2f} to {every.high:.2f}"
    line = (
        f"{name:12}{every.rows:5}{every.sources:9}{every.median:8.2f}{spread:>14}"
        f"{every.within_quarter:13.0%}"
    )
    try:
        others = audit.expected(name, found, is_fitted=False)
    except ValueError:
        return line
    return f"{line}{others.rows:8}{others.within_quarter:8.0%}"


def constants() -> str:
    """Return the constants of expectations, where they are from, and how they fare."""
    lines = [f"{'constant':23}{'value':>8}  meaning; sources that it was fitted on"]
    for name, constant in expectations.CONSTANTS.items():
        value = f"{getattr(expectations, name):g}"
        fitted = f"; {', '.join(constant.sources)}" if constant.sources else ""
        lines.append(f"{name:23}{value:>8}  {constant.meaning}{fitted}")
    lines += ["", f"{'kind':12}{'rows fitted':>12}{'median':>8}{'within 25 %':>13}"
              f"{'others':>8}{'median':>8}{'within 25 %':>13}"]  # fmt: skip
    for name in KINDS:
        lines.append(f"{name:12}{_share(name, True, 12)}{_share(name, False, 8)}")
    lines += ["", "d2l/expectations.py says where constants without a source are from."]
    return "\n".join(line.rstrip() for line in lines)


def _share(name: str, is_fitted: bool, width: int) -> str:
    """Return rows, median and share within 25 percent, or spaces."""
    try:
        found = audit.expected(name, is_fitted=is_fitted)
    except ValueError:
        return " " * (width + 21)
    return f"{found.rows:{width}}{found.median:8.2f}{found.within_quarter:13.0%}"


def listing(found: list[Outcome]) -> str:
    """Return a line for each row of a kind, and the reasons why others are missing."""
    if not found:
        return ""
    kind = KINDS[found[0].kind]
    counted = [each for each in found if not each.why]
    counted.sort(key=lambda each: -max(each.ratio, 1 / each.ratio))
    word = "a bound" if kind.is_bound else "an estimate"
    lines = [f"{found[0].kind}: {kind.formula}, {word}", ROW_HEAD]
    lines += [row_line(each) for each in counted]
    if not counted:
        lines[1:] = []
    reasons = Counter(each.why for each in found if each.why)
    lines += [f"left out, {why}: {count}" for why, count in reasons.most_common()]
    return "\n".join(lines)


def row_line(found: Outcome) -> str:
    """Return the line of a row: prediction, expectation, measurement and settings."""
    row, scale = found.row, SCALES[found.row.unit]
    gpus = f"{row.gpus} x {row.card}" if row.gpus > 1 else row.card
    parts = [row.unit, row.model, gpus, settings(row), row.program, row.source]
    expected = " " * 18
    if not math.isnan(found.expected):
        expected = f"{found.expected_ratio:7.2f}{_short(found.expected / scale):>11}"
    return (
        f"{found.ratio:6.2f}{_short(found.predicted / scale):>11}{expected}"
        f"{_short(row.value):>11}  {', '.join(part for part in parts if part)}"
    )


def settings(row: Row) -> str:
    """Return the settings of a row in words, without those that do not apply."""
    texts = [f"{row.bits:g} bits"] if row.bits else []
    names = "batch", "micro", "length", "output", "nbytes", "adapters"
    texts += [f"{name} {n}" for name in names if (n := getattr(row, name))]
    if row.recompute not in ("", "none"):
        texts.append(f"recompute {row.recompute}")
    return ", ".join([*texts, *([row.split] if row.split else [])])


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def as_csv(found: Iterable[Outcome]) -> str:
    """Return rows with their predictions as comma-separated values."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    numbers = ["predicted", "ratio", "expected", "expected_ratio"]
    writer.writerow(["prediction", *numbers, "left_out", *COLUMNS])
    for each in found:
        scale = SCALES[each.row.unit]
        numbers = [
            *(f"{each.predicted / scale:.6g}", f"{each.ratio:.4f}"),
            *(f"{each.expected / scale:.6g}", f"{each.expected_ratio:.4f}"),
        ]
        known = ["" if number == "nan" else number for number in numbers]
        values = [getattr(each.row, name) or "" for name in COLUMNS]
        writer.writerow([each.kind, *known, each.why, *values])
    return text.getvalue().rstrip()


# A measurement of one's own


def mine(options: argparse.Namespace) -> str:
    """Return a reader's measurement beside its prediction and the nearest rows."""
    row = row_of(options)
    found = audit.outcome(options.kind, row)
    if found.predicted != found.predicted:
        raise UsageError(f"{options.kind} cannot be predicted: {found.why}")
    unit, scale = row.unit, SCALES[row.unit]
    known, kind = audit.summary(options.kind), KINDS[options.kind]
    word = "at most" if kind.is_bound else "about"
    others = [each.ratio for each in audit.known_outcomes(options.kind) if not each.why]
    below = sum(ratio < found.ratio for ratio in others)
    lines = [
        f"measured:  {_short(row.value)} {unit}",
        f"predicted: {word} {_short(found.predicted / scale)} {unit} ({kind.formula})",
        *_expectation(found),
        f"predicted / measured: {found.ratio:.2f}; published: {known.record}; "
        f"{below} of these ratios are smaller",
    ]
    if kind.is_bound and found.ratio < audit.TOLERANCE:
        lines.append(
            "Your measurement beats the bound: check its unit and its settings. If they"
            " are right, the formula or the data of the card is wrong; please tell us."
        )
    lines += ["", "The nearest published rows:", ROW_HEAD]
    lines += [row_line(each) for each in audit.nearest(options.kind, row)]
    return "\n".join(lines)


def _expectation(found: Outcome) -> list[str]:
    """Return the line of what was to be expected, if anything was."""
    if math.isnan(found.expected):
        return []
    unit, known = found.row.unit, audit.expected(found.kind)
    return [
        f"expected:  about {_short(found.expected / SCALES[unit])} {unit}",
        f"expected / measured: {found.expected_ratio:.2f}; published: {known.record}",
    ]


def row_of(options: argparse.Namespace) -> Row:
    """Return the row that the options describe; raise UsageError."""
    if not options.kind:
        raise UsageError(f"--mine: say which kind: {', '.join(KINDS)}")
    kind = KINDS[options.kind]
    given: dict[str, Any] = {
        name: value
        for name in ("model", "card", "bits", "nbytes", *COUNTS, *CHOICES, "split")
        if (value := getattr(options, name)) is not None
    }
    for name in ("value", *NEEDED[options.kind]):
        if getattr(options, name) is None:
            shown = "a MODEL" if name == "model" else f"--{name}"
            raise UsageError(f"--mine {options.kind} needs {shown}; add it")
    for name in given.keys() - {*kind.uses, *NEEDED[options.kind], "card"}:
        shown = options.model if name == "model" else f"--{name}"
        raise UsageError(f"{shown} does not apply to {options.kind}; leave it out")
    _check(options, given)
    unit = options.unit or UNITS[kind.kind][0]
    if unit not in UNITS[kind.kind]:
        raise UsageError(
            f"--unit: {options.kind} is in {' or '.join(UNITS[kind.kind])}"
        )
    texts = {"gpus": "1", "bits": "16", "value": str(options.value), "unit": unit}
    texts |= {
        name: f"{n:.0f}" if name == "nbytes" else str(n) for name, n in given.items()
    }
    return row_from(texts | {"id": "mine", "kind": kind.kind, "program": "yours"})


def _models(options: argparse.Namespace) -> list[str]:
    """Return the models that a kind knows."""
    return [*(RECORDED if KINDS[options.kind].needs else LANGUAGE_SHAPES)]


def _check(options: argparse.Namespace, given: dict[str, Any]) -> None:
    """Raise UsageError for an unknown card or model, or a wrong split."""
    cards = list(dict.fromkeys(row["card"] for row in tables.read_rows("cards.csv")))
    if "card" in given:
        if options.card not in cards:
            raise UsageError(
                f"--card: '{options.card}' is not in cards.csv; "
                f"write {args.similar(options.card, cards)}"
            )
    if options.kind == "product":
        if not re.fullmatch(r"[1-9]\d* x [1-9]\d* x [1-9]\d*", options.model):
            example = "such as '4096 x 4096 x 4096'"
            raise UsageError(
                f"'{options.model}' is not the sizes of a product {example}"
            )
    elif "model" in given and options.model not in _models(options):
        known = args.similar(options.model, _models(options))
        raise UsageError(f"'{options.model}' has no known sizes; write {known}")
    if options.split and not SPLIT.fullmatch(options.split):
        raise UsageError(
            f"--split: '{options.split}' is not a way to share a model; write layers,"
            " tensor, or groups such as 'zero 3, tensor 8'"
        )
