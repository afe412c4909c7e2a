"""Cleans the outputs of a run: what differs between two runs is taken out.

What the chapter's own code prints stays as it is. Log lines of the frameworks, colors
of a terminal, temporary paths, and dates and comments in figures go. All of this takes
time in proportion to the length of the output, whatever a cell prints.
"""

import copy
import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from nbformat import NotebookNode
from nbformat.v4 import new_output

LOG_LINE = re.compile(
    r"""
      (WARNING:\ )?All\ log\ messages\ before\ absl::InitializeLog
    | (\[rank\d+\]:)?[IWEF]\d{4}\ \d\d:\d\d:\d+\.\d+\ .*  # absl, XLA, PyTorch
    | \d{4}-\d\d-\d\d\ \d\d:\d\d:\d\d[.,]\d+:\ [IWEF]\ .*   # TensorFlow
    | (DEBUG|INFO|WARNING):\d{4}-\d\d-\d\d\ .*:(jax|absl|tensorflow)\b.*
    | To\ enable\ the\ following\ instructions:.*
    | .*An\ NVIDIA\ GPU\ may\ be\ present.*
    | \[\d\d:\d\d:\d\d\]\ \S*src/.*                     # MXNet
    """,
    re.VERBOSE,
)
WARNING = re.compile(r"^(?P<path>\S.*?):\d+: (?P<text>\w*Warning: .*)$")
# Warnings about the tools that run the cells, not about the cells.
TOOLS = re.compile(r"/(IPython|ipykernel|traitlets|pkg_resources)/|pkg_resources")

TERMINAL_CODE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
BACKSPACE = "\x08"
# Neither a page nor a PDF takes these, and half a surrogate pair cannot be written.
UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")

SVG = "image/svg+xml"
# What pages and notebooks show; a run may display more, such as scripts and widgets.
FIGURE = "text/vnd.d2l.figure"  # the name and the settings of an interactive figure
SHOWN = ("text/plain", FIGURE, SVG, "image/png", "image/jpeg")
# Where each part of an SVG that nobody sees begins and ends.
SVG_NOISE = (
    ("<!--", "-->"),
    ("<metadata>", "</metadata>"),
    ("<?xml", "?>"),
    ("<!DOCTYPE", ">"),
)
SPACE = re.compile(r"\s*")


def clean_outputs(outputs: Iterable[NotebookNode]) -> list[NotebookNode]:
    """Return the outputs of one cell without what differs between two runs.

    Neighboring streams become one stream of each name.
    """
    cleaned: list[NotebookNode] = []
    for is_stream, group in groupby(outputs, lambda o: o.output_type == "stream"):
        clean = _merge_streams if is_stream else _clean_displays
        cleaned += clean(list(group))
    return cleaned


def _merge_streams(streams: list[NotebookNode]) -> Iterator[NotebookNode]:
    """Yield one stream of each name: how two of them interleave differs by run."""
    for name in ("stdout", "stderr"):
        text = as_on_terminal("".join(s.text for s in streams if s.name == name))
        if name == "stderr":
            text = without_logs(text)
        if text:
            yield new_output("stream", name=name, text=text)


def as_on_terminal(text: str) -> str:
    """Return what a terminal shows of `text` in the end, without colors and bells.

    Of a progress bar, which overwrites or erases itself, the last state stays.
    """
    text = TERMINAL_CODE.sub("", text).replace("\r\n", "\n")
    if "\r" in text:
        lines = (line.rstrip("\r") for line in text.split("\n"))
        text = "\n".join(line.rpartition("\r")[2] for line in lines)
    if BACKSPACE in text:
        text = _apply_backspaces(text)
    return UNPRINTABLE.sub("", text)


def _apply_backspaces(text: str) -> str:
    """Return `text` in which each backspace has erased a character of its line."""
    first, *rest = text.split(BACKSPACE)
    kept = [*first]
    for part in rest:
        if kept and kept[-1] not in ("\n", BACKSPACE):
            kept.pop()
        else:
            kept.append(BACKSPACE)
        kept += part
    return "".join(kept)


def without_logs(text: str) -> str:
    """Return `text` without log lines of frameworks and without paths in warnings."""
    kept: list[str] = []
    in_warning = False
    for line in text.splitlines(keepends=True):
        warning = WARNING.match(line)
        if warning:
            if not TOOLS.search(line):
                kept.append(warning["text"] + "\n")
        # Python prints the line of code below its warning, indented by two.
        elif not (in_warning and line.startswith("  ")) and not LOG_LINE.match(line):
            kept.append(line)
        in_warning = bool(warning)
    return "".join(kept)


def _clean_displays(outputs: list[NotebookNode]) -> Iterator[NotebookNode]:
    for output in copy.deepcopy(outputs):
        if "data" in output:
            output.data = NotebookNode(_clean_bundle(output.data))
        yield output


def _clean_bundle(data: NotebookNode) -> Iterator[tuple[str, str]]:
    """Yield the MIME types of one output that are shown, and what each holds."""
    for kind, text in data.items():
        if kind == SVG:
            for opening, closing in SVG_NOISE:
                text = _cut_out(text, opening, closing)
        elif kind.startswith("text/"):
            text = UNPRINTABLE.sub("", TERMINAL_CODE.sub("", text))
        if kind in SHOWN:
            yield kind, text


def _cut_out(text: str, opening: str, closing: str) -> str:
    """Return `text` without each part from `opening` to `closing`.

    The space behind such a part goes with it. A part without an end stays.
    """
    kept: list[str] = []
    end = 0
    while (start := text.find(opening, end)) >= 0:
        stop = text.find(closing, start + len(opening))
        if stop < 0:
            break
        kept.append(text[end:start])
        end = SPACE.match(text, stop + len(closing)).end()  # type: ignore[union-attr]
    return "".join([*kept, text[end:]])
