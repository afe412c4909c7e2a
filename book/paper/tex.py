"""Typeset LaTeX with XeLaTeX: what that needs, how far it is, what its log tells.

latexmk calls XeLaTeX until the page numbers hold still.
"""

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from book.base import system

LATEXMK = (
    *("latexmk", "-norc", "-xelatex", "-file-line-error", "-halt-on-error"),
    "-interaction=nonstopmode",
)
# What latexmk and LaTeX keep for the next run; after a failure it misleads them.
KEPT = ("*.fdb_latexmk", "*.fls", "*.aux", "*.toc", "*.out", "*.xdv")
TOO_WIDE = 1.0  # points
RUN = re.compile(rb"Run number (\d+) of rule '(?:xelatex|pdflatex)'")
PAGE = re.compile(rb"\[(\d+)")
FAILED = re.compile(r"^(?:! (?P<bare>.+)|\S+?\.\w+:(?P<line>\d+): (?P<told>.+))$", re.M)
AT_LINE = re.compile(r"^l\.(\d+) (.*)$", re.M)
LOST = re.compile(r"^Missing character: There is no (\S+) .*?in font ([^:;!/]+)", re.M)
OVERFULL = re.compile(
    r"^Overfull \\[hv]box \((?P<points>[\d.]+)pt too (?P<way>wide|high)\)"
    r"(?:.*? at lines? (?P<line>\d+))?",
    re.M,
)
UNKNOWN = re.compile(r"^LaTeX Warning: Reference `([^']+)'.* undefined", re.M)


@dataclass(frozen=True)
class Remark:
    """What a log tells of; `line` is that of the LaTeX file, 0 if it is not known."""

    text: str
    line: int = 0
    clue: str = ""


def check_tools() -> None:
    """Raise a `BookError` with the command that installs what is missing here."""
    system.check("pdf")


# Run


def typeset(file: Path) -> Path:
    """The PDF of a LaTeX file, beside it; progress is told on stderr.

    Where it fails, what it leaves does not keep the next run from starting anew.
    """
    pdf, log = file.with_suffix(".pdf"), file.with_suffix(".log")
    for old in (pdf, log):
        old.unlink(missing_ok=True)
    done = False
    try:
        _run_latexmk(file)
        # Page numbers that never hold still are no mistake of the author's.
        done = pdf.exists() and log.exists() and error_in(_read(log)) is None
    finally:
        if not done:
            pdf.unlink(missing_ok=True)
            for pattern in KEPT:
                for kept in file.parent.glob(pattern):
                    kept.unlink()
    return pdf


def _run_latexmk(file: Path) -> None:
    # TeX breaks the lines of its log, messages too, unless told how long they may be.
    environment = os.environ | {"max_print_line": "100000"}
    with subprocess.Popen(
        [*LATEXMK, file.name],
        cwd=file.parent,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        try:
            _tell_progress(process)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 15)
            raise


def _tell_progress(process: subprocess.Popen[bytes]) -> None:
    """Tell each run on a line of its own; a terminal also sees the page go by."""
    assert process.stdout is not None
    terminal, shown, output = sys.stderr.isatty(), "", b""
    while chunk := os.read(process.stdout.fileno(), 65536):
        output += chunk
        run, page = _progress(output)
        told = f"xelatex, run {run}" + (f": page {page}" if terminal else "")
        if run and told != shown:
            start, end = ("\r", "") if terminal else ("", "\n")
            print(f"{start}{told}", end=end, file=sys.stderr, flush=True)
            shown = told
    if terminal and shown:
        print(file=sys.stderr)


def _progress(output: bytes) -> tuple[int, int]:
    """Which run of XeLaTeX it is, and the last page that it has made."""
    runs = list(RUN.finditer(output))
    if not runs:
        return 0, 0
    pages = PAGE.findall(output, runs[-1].end())
    return int(runs[-1][1]), int(pages[-1]) if pages else 0


# The log


def _read(log: Path) -> str:
    return log.read_text("utf-8", errors="replace")


def error_in(log: str) -> Remark | None:
    """The first error that a log tells of."""
    found = FAILED.search(log)
    if found is None:
        return None
    place = AT_LINE.search(log, found.end())
    line = int(found["line"] or (place[1] if place else 0))
    text = (found["told"] or found["bare"]).strip().rstrip(".")
    return Remark(text, line, place[2] if place else "")


def remarks_in(log: str) -> Iterator[Remark]:
    """What a log tells of that a reader of the book would miss or see."""
    for character, font in dict.fromkeys(LOST.findall(log)):
        yield Remark(f"no '{character}' in the font {font.strip()}", clue=character)
    for label in dict.fromkeys(UNKNOWN.findall(log)):
        yield Remark(f"nothing is labelled '{label}'", clue=label)
    for found in OVERFULL.finditer(log):
        if float(found["points"]) > TOO_WIDE:
            size = f"{found['points']} pt too {found['way']}"
            yield Remark(f"{size} for the page", int(found["line"] or 0))
