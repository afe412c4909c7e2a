"""Writes static/explorables/published.js: published measurements and their predictions.

`make audit`, or with an interpreter that has PyTorch: `python -m benchmarks.audit`. The
figure of sec_gpu_predictions shows the data, and its table, which is written, too, sums
them up.
"""

import importlib
import json
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from d2l import audit
from d2l.audit import Outcome, Summary
from d2l.audit_command import settings
from d2l.predictions import KINDS
from d2l.published import SCALES, UNITS, Row, published_rows

ROOT = Path(__file__).parents[1]
FILE = ROOT / "static/explorables/published.js"
SECTION = ROOT / "chapter_gpus/predictions.md"
HEADER = """\
/* Published measurements and the predictions for them. `make audit` writes this; edit
 * d2l/published.csv or a formula. A row has the columns `columns`, and a prediction is
 * [place of the row, value in its unit, expected value if there is one].
 */
export const published = """
COLUMNS = (
    *("id", "model", "card", "gpus", "settings", "program"),
    *("value", "unit", "source", "place"),
)
DIGITS = 5
# The kinds in the order of the table, by the names that it has for them.
NAMES = {
    "training": "Speed of training",
    "decode": "Decoding",
    "prefill": "Prefill",
    "serving": "A server",
    "cache": "Room for caches",
    "product": "Products",
    "step": "Recorded steps",
    "bandwidth": "Bandwidth",
    "peak-share": "Share of the peak",
    "memory": "Memory of training",
    "step-memory": "Memory of a step",
    "fine-tuning": "Memory of fine-tuning",
    "generation": "Memory of generation",
    "all-reduce": "All-reduces",
}


def shown_settings(row: Row) -> str:
    """Return the settings of a row, with the type of a step and an array in MiB."""
    text = settings(row).replace(f"nbytes {row.nbytes}", f"{row.nbytes / 2**20:g} MiB")
    return f"{row.recipe}, {text}" if row.recipe and not row.bits else text


def rows() -> list[list[Any]]:
    """Return what the figure shows of each published row."""
    return [
        [plain(cells[name]) for name in COLUMNS]
        for row in published_rows()
        for cells in ({**vars(row), "settings": shown_settings(row)},)
    ]


def plain(value: Any) -> Any:
    """Return a whole number without a decimal point, and any other value as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def predictions(found: Iterable[Outcome]) -> list[list[float]]:
    """Return the predictions that count, each with the place of its row."""
    places = {row.id: place for place, row in enumerate(published_rows())}
    return [[places[each.row.id], *values(each)] for each in found if not each.why]


def values(found: Outcome) -> list[float]:
    """Return a prediction in the unit of its row, and the expected value if known."""
    both = found.predicted, getattr(found, "expected", math.nan)
    known = [x / SCALES[found.row.unit] for x in both if not math.isnan(x)]
    return [plain(float(f"{x:.{DIGITS}g}")) for x in known]


def data() -> dict[str, Any]:
    """Return the rows, and the predictions of each kind.

    Raises ModuleNotFoundError without PyTorch, which two kinds need.
    """
    importlib.import_module("d2l.recorded_steps")
    kinds = {
        name: {
            "bound": KINDS[name].is_bound,
            "name": title,
            "formula": KINDS[name].formula,
            "unit": UNITS[KINDS[name].kind][0],
            "predicted": predictions(audit.outcomes(name)),
        }
        for name, title in NAMES.items()
    }
    scales = {unit: plain(float(scale)) for unit, scale in SCALES.items()}
    found = {"columns": COLUMNS, "scales": scales, "sources": titles(), "kinds": kinds}
    return found | {"rows": rows()}


def titles() -> dict[str, str]:
    """Return the title of each source in the bibliography."""
    text = (ROOT / "d2l.bib").read_text("utf-8")
    entries = re.findall(r"^@\w+\{(\S+),\n[^@]*?^  title = \{(.+)\},$", text, re.M)
    sources = {row.source for row in published_rows()}
    return {key: re.sub("[{}]", "", title) for key, title in entries if key in sources}


def text_of(found: dict[str, Any]) -> str:
    """Return the text of the file, with a row of data in a line."""
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    lines = re.sub(r'(?<=[\[,])(?=\["|"[a-z-]+":\{"bound)', "\n", text)
    return f"{HEADER}{lines};\n"


def stored() -> dict[str, Any]:
    """Return the data in the file."""
    text = FILE.read_text("utf-8")
    return json.loads(text[text.index("{") :].rstrip(";\n"))


# The table of the section


def summaries(found: dict[str, Any]) -> list[Summary]:
    """Return the summary of each kind of the data, bounds first."""
    rows = published_rows()
    return [
        audit.summary(
            name,
            [
                Outcome(name, row, value * SCALES[row.unit])
                for place, value, *_ in kind["predicted"]
                for row in (rows[place],)
            ],
        )
        for name, kind in found["kinds"].items()
    ]


def line_of(found: Summary) -> str:
    """Return the line of a kind in the table."""
    spread = f"{found.low:.2f} to {found.high:.2f}".replace(" ", "\u00a0")
    shares = f"{found.within_quarter:.0%}", f"{found.within_double:.0%}"
    beaten = "estimate" if found.broken is None else str(found.broken)
    cells = [NAMES[found.kind], found.rows, found.sources, f"{found.median:.2f}"]
    cells += [spread, *(share.replace("%", " %") for share in shares), beaten]
    return f"| {' | '.join(map(str, cells))} |"


def with_table(section: str, found: dict[str, Any]) -> str:
    """Return the text of the section with the lines of today's table."""
    lines = "\n".join(map(line_of, summaries(found)))
    return re.sub(r"(?<=\|--:\|\n)(\|.*\n)*", lambda _: f"{lines}\n", section)


if __name__ == "__main__":
    today = data()
    FILE.write_text(text_of(today), "utf-8")
    SECTION.write_text(with_table(SECTION.read_text("utf-8"), today), "utf-8")
