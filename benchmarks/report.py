"""The bench's numbers as a table, with the book's budgets beside its own column."""

from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, NamedTuple

NOT_ASKED = "not asked"
# What was measured of one tool's page: a dictionary for each measure.
Measured = dict[str, Any]


class Row(NamedTuple):
    """A row of the table; `holds` compares the book with Jupyter Book 1."""

    name: str
    text: Callable[[Measured], str]
    budget: str
    holds: Callable[[Measured, Measured], bool] | None


def spread(values: Sequence[float], digits: int = 0) -> str:
    """The median, with what the runs lie between where they differ."""
    middle, low, high = (
        f"{value:.{digits}f}" for value in (median(values), min(values), max(values))
    )
    return middle if low == high else f"{middle} ({low} to {high})"


def runs(measured: Measured, key: str) -> list[float]:
    return [run[key] for run in measured["lighthouse"]]


def yes(*facts: bool) -> str:
    return "; ".join("yes" if fact else "no" for fact in facts)


def _scores(m: Measured) -> str:
    names = ("performance", "accessibility", "best-practices", "seo")
    return " / ".join(spread(runs(m, name)) for name in names)


def _scores_hold(m: Measured, other: Measured) -> bool:
    others = ("accessibility", "best-practices", "seo")
    full = all(median(runs(m, name)) == 100 for name in others)
    return full and median(runs(m, "performance")) >= 98


def _paint(m: Measured) -> str:
    lcp, tbt, cls = runs(m, "lcp"), runs(m, "tbt"), runs(m, "cls")
    return f"{spread(lcp, 1)}; {spread(tbt)}; {spread(cls, 2)}"


def _paint_holds(m: Measured, other: Measured) -> bool:
    limits = {"lcp": 1.5, "tbt": 50, "cls": 0.01}
    return all(median(runs(m, key)) <= limit for key, limit in limits.items())


def _axe(m: Measured) -> str:
    light, dark = m["axe"]["light"], m["axe"]["dark"]
    return f"{len(light)} / {'no dark' if dark is None else len(dark)}"


def _printed(m: Measured) -> str:
    found = m["panels"]
    whole = found["printed_all"]
    chosen = str(found["printed"])
    return chosen if whole is None else f"{chosen}, or {whole} by a button"


def _reached(m: Measured) -> str:
    found = m["panels"]
    reached = f"{found['shown']} shown, {found['reached']} reached"
    return f"{reached} of {found['panels']}; {_printed(m)}"


def _panels_hold(m: Measured, other: Measured) -> bool:
    found = m["panels"]
    printed = max(found["printed"], found["printed_all"] or 0)
    return found["shown"] == found["panels"] == printed


def _keys(m: Measured) -> str:
    found = m["tab_sets"]
    moves = "arrows move" if found["arrows"] else "arrows do not move"
    wrong = f"; {found['wrong']} sets wrong" if found["roles"] == "tablist" else ""
    roles = {"tablist": "tabs", "radio": "radio buttons", "none": "none"}
    return f"{roles[found['roles']]}; {moves}{wrong}"


def _keys_hold(m: Measured, other: Measured) -> bool:
    found = m["tab_sets"]
    return found["roles"] == "tablist" and found["arrows"] and not found["wrong"]


def _lines(m: Measured) -> str:
    found = m["reading"]
    row = "one row" if found["one_row"] else "several rows"
    return f"{median(found['lines']):.0f}; {found['tab_height']}, {row}"


def _lines_hold(m: Measured, other: Measured) -> bool:
    found = m["reading"]
    wide = 65 <= median(found["lines"]) <= 80
    return wide and found["tab_height"] >= 44 and found["one_row"]


def _disk(m: Measured) -> str:
    found = m["from_disk"]
    return f"{yes(found['opens'], found['tabs'])}; {found['search']}"


def _disk_holds(m: Measured, other: Measured) -> bool:
    found = m["from_disk"]
    return found["opens"] and found["tabs"] and found["search"] == "excerpts"


def _weight(m: Measured) -> str:
    return "; ".join(f"{m['load'][key]:.1f}" for key in ("weight", "js", "css"))


def _weight_holds(m: Measured, other: Measured) -> bool:
    limits = {"weight": 100, "js": 20, "css": 15}
    return all(m["load"][key] <= limit for key, limit in limits.items())


def _memory_holds(m: Measured, other: Measured) -> bool:
    return all(m["memory"].values())


def _seconds(key: str) -> Callable[[Measured], str]:
    def text(m: Measured) -> str:
        wall = spread([run[0] for run in m[key]], 1)
        return f"{wall}; {spread([run[1] for run in m[key]], 1)}"

    return text


def _processor(m: Measured, key: str) -> float:
    """Median seconds of the processor: other work on the machine changes them less."""
    return median(run[1] for run in m[key])


def _html_errors(key: str, name: str) -> Row:
    def text(m: Measured) -> str:
        return str(m.get(key, NOT_ASKED))

    return Row(f"errors of HTML by {name}", text, "0", lambda m, other: m.get(key) == 0)


CHECKERS = {"html_validate": "html-validate", "nu_checker": "the Nu checker"}
ROWS = [
    Row(
        "requests; hosts other than its own",
        lambda m: f"{m['load']['requests']}; {len(m['load']['hosts'])}",
        "at most 10; 0",
        lambda m, other: m["load"]["requests"] <= 10 and not m["load"]["hosts"],
    ),
    Row(
        "weight, kB in gzip, of its own host: all; JavaScript; CSS",
        _weight,
        "at most 100; 20; 15",
        _weight_holds,
    ),
    Row(
        "Lighthouse, mobile: performance / accessibility / best practices / SEO",
        _scores,
        "at least 98 / 100 / 100 / 100",
        _scores_hold,
    ),
    Row(
        "mobile: largest paint, s; blocking, ms; layout shift",
        _paint,
        "at most 1.5; 50; 0.01",
        _paint_holds,
    ),
    Row(
        "axe, WCAG 2.2 A and AA: serious and critical nodes, light / dark",
        _axe,
        "0 / 0",
        lambda m, other: m["axe"] == {"light": [], "dark": []},
    ),
    *(_html_errors(key, name) for key, name in CHECKERS.items()),
    Row(
        "panels without JavaScript; in print",
        _reached,
        "all shown; all",
        _panels_hold,
    ),
    Row(
        "roles of the tabs; keys",
        _keys,
        "tabs; arrows move; 0 sets wrong",
        _keys_hold,
    ),
    Row(
        "choice kept on reload; on the next page; by address",
        lambda m: yes(*m["memory"].values()),
        "yes; yes; yes",
        _memory_holds,
    ),
    Row(
        "sets of tabs that a framework leaves blank",
        lambda m: f"{m['tab_sets']['blank']} of {m['tab_sets']['sets']}",
        "0",
        lambda m, other: m["tab_sets"]["blank"] == 0,
    ),
    Row(
        "characters a line at 1400 px; tab height at 375 px",
        _lines,
        "65 to 80; 44, one row",
        _lines_hold,
    ),
    Row(
        "from a disk: page; tabs; search",
        _disk,
        "yes; yes; excerpts",
        _disk_holds,
    ),
    Row(
        "first build, s: clock; processor",
        _seconds("first"),
        "",
        None,
    ),
    Row(
        "of that, the pages",
        _seconds("pages"),
        "no slower than Jupyter Book 1",
        lambda m, other: _processor(m, "pages") <= _processor(other, "pages"),
    ),
    Row(
        "build when nothing has changed",
        _seconds("again"),
        "no slower than Jupyter Book 1",
        lambda m, other: _processor(m, "again") <= _processor(other, "again"),
    ),
]


def table(measured: dict[str, Measured]) -> str:
    """Return all results in Markdown, the book first and Jupyter Book 1 last."""
    own, *_, other = measured.values()
    shown = [row for row in ROWS if row.text(own) != NOT_ASKED]
    lines = [["measure", *measured, "budget", "held"], ["---"] * (len(measured) + 3)]
    for row in shown:
        texts = [row.text(m) for m in measured.values()]
        held = yes(row.holds(own, other)) if row.holds else ""
        lines.append([row.name, *texts, row.budget, held])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
