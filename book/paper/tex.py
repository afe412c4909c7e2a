"""Typesets LaTeX with XeLaTeX, shows the progress, and finds problems in the log.

latexmk runs XeLaTeX until the page numbers no longer change.
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
    *(
        "-interaction=nonstopmode",
        "-e",
        "$makeindex='makeindex -s python.ist %O -o %D %S'",
    ),
)
# Files that latexmk and LaTeX leave for the next run; after a failure they are wrong.
AUXILIARY_FILES = (
    "*.fdb_latexmk",
    "*.fls",
    "*.aux",
    "*.toc",
    "*.out",
    "*.xdv",
    "*.ind",
)
TOO_WIDE = 1.0  # points
RUN = re.compile(rb"Run number (\d+) of rule '(?:xelatex|pdflatex)'")
PAGE = re.compile(rb"\[(\d+)")
ERROR = re.compile(
    r"^(?:! (?P<bare>.+)|\S+?\.\w+:(?P<line>\d+): (?P<message>.+))$", re.M
)
AT_LINE = re.compile(r"^l\.(\d+) (.*)$", re.M)
MISSING = re.compile(
    r"^Missing character: There is no (\S+) .*?in font ([^:;!/]+)", re.M
)
OVERFULL = re.compile(
    r"^Overfull \\[hv]box \((?P<points>[\d.]+)pt too (?P<way>wide|high)\)"
    r"(?:.*? at lines? (?P<line>\d+))?",
    re.M,
)
UNDEFINED = re.compile(r"^LaTeX Warning: Reference `([^']+)'.* undefined", re.M)


@dataclass(frozen=True)
class Problem:
    """A problem that a log reports.

    `line` is the line of the LaTeX file, or 0 if it is not known; `text` is a text in
    the source that causes the problem, or empty.
    """

    message: str
    line: int = 0
    text: str = ""


def check_tools() -> None:
    """Raise a `BookError` with the command that installs missing tools or fonts."""
    system.check("pdf")


# Run


def typeset(file: Path) -> Path:
    """Typeset a LaTeX file and return the path of the PDF beside it.

    The progress is shown on stderr. If XeLaTeX fails, there is no PDF, and the next
    run starts from scratch.
    """
    pdf, log = file.with_suffix(".pdf"), file.with_suffix(".log")
    for old in (pdf, log):
        old.unlink(missing_ok=True)
    done = False
    try:
        _run_latexmk(file)
        # latexmk also fails if page numbers keep changing, which is not an error.
        done = pdf.exists() and log.exists() and find_error(_read(log)) is None
    finally:
        if not done:
            pdf.unlink(missing_ok=True)
            for pattern in AUXILIARY_FILES:
                for auxiliary in file.parent.glob(pattern):
                    auxiliary.unlink()
    return pdf


def _run_latexmk(file: Path) -> None:
    """Run latexmk and show its progress; stop it if this process is interrupted."""
    # By default, TeX breaks the lines of its log, including messages.
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
            _show_progress(process)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 15)
            raise


def _show_progress(process: subprocess.Popen[bytes]) -> None:
    """Print a line for each run, and the current page if stderr is a terminal."""
    assert process.stdout is not None
    terminal, shown, output = sys.stderr.isatty(), "", b""
    while chunk := os.read(process.stdout.fileno(), 65536):
        output += chunk
        run, page = _progress(output)
        line = f"xelatex, run {run}" + (f": page {page}" if terminal else "")
        if run and line != shown:
            start, end = ("\r", "") if terminal else ("", "\n")
            print(f"{start}{line}", end=end, file=sys.stderr, flush=True)
            shown = line
    if terminal and shown:
        print(file=sys.stderr)


def _progress(output: bytes) -> tuple[int, int]:
    """Return the number of the current run and of the last page; 0 if there is none."""
    runs = list(RUN.finditer(output))
    if not runs:
        return 0, 0
    pages = PAGE.findall(output, runs[-1].end())
    return int(runs[-1][1]), int(pages[-1]) if pages else 0


# The log


def _read(log: Path) -> str:
    return log.read_text("utf-8", errors="replace")


def find_error(log: str) -> Problem | None:
    """Return the first error that a log reports, or None."""
    error = ERROR.search(log)
    if error is None:
        return None
    place = AT_LINE.search(log, error.end())
    line = int(error["line"] or (place[1] if place else 0))
    message = (error["message"] or error["bare"]).strip().rstrip(".")
    return Problem(message, line, place[2] if place else "")


def find_warnings(log: str) -> Iterator[Problem]:
    """Yield missing characters, undefined labels, and parts too large for the page."""
    for character, font in dict.fromkeys(MISSING.findall(log)):
        message = f"no '{character}' in the font {font.strip()}; use another character"
        yield Problem(message, text=character)
    for label in dict.fromkeys(UNDEFINED.findall(log)):
        yield Problem(f"no label '{label}'; add it or correct the name", text=label)
    for box in OVERFULL.finditer(log):
        if float(box["points"]) > TOO_WIDE:
            message = f"{box['points']} pt too {box['way']} for the page; shorten it"
            yield Problem(message, int(box["line"] or 0))
