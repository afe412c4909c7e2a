"""Outputs as a page shows them and as the next run repeats them.

Kept exactly as printed: what the chapter's own code writes. Taken out: log lines of
the frameworks, colours of a terminal, temporary paths, dates and comments in figures.
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
    | [IWEF]\d{4}\ \d\d:\d\d:\d+\.\d+\ .*                # absl, XLA
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
OVERWRITTEN = re.compile(r"[^\n]*\r(?=[^\n])")
ERASED = re.compile(r"[^\n\x08]\x08")

SVG = "image/svg+xml"
SVG_NOISE = re.compile(
    r"<!--.*?-->\s*|<metadata>.*?</metadata>\s*|<\?xml.*?\?>\s*|<!DOCTYPE.*?>\s*",
    re.DOTALL,
)


def clean_outputs(outputs: Iterable[NotebookNode]) -> list[NotebookNode]:
    """The outputs of one cell, streams merged, without what cannot repeat."""
    cleaned: list[NotebookNode] = []
    for is_stream, group in groupby(outputs, lambda o: o.output_type == "stream"):
        clean = _merged if is_stream else _clean_displays
        cleaned += clean(list(group))
    return cleaned


def _merged(streams: list[NotebookNode]) -> Iterator[NotebookNode]:
    """One stream of each name: the order between two names differs from run to run."""
    for name in ("stdout", "stderr"):
        text = _as_on_a_terminal("".join(s.text for s in streams if s.name == name))
        if name == "stderr":
            text = without_logs(text)
        if text:
            yield new_output("stream", name=name, text=text)


def _as_on_a_terminal(text: str) -> str:
    """What stays to be seen of `text`: no colours, and of a progress bar its end."""
    text = TERMINAL_CODE.sub("", text).replace("\r\n", "\n")
    text = OVERWRITTEN.sub("", text)
    while ERASED.search(text):
        text = ERASED.sub("", text)
    return text


def without_logs(text: str) -> str:
    """`text` without log lines of frameworks, warnings without the path they name."""
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
        data = output.get("data", {})
        if SVG in data:
            data[SVG] = SVG_NOISE.sub("", data[SVG])
        if "text/plain" in data:
            data["text/plain"] = TERMINAL_CODE.sub("", data["text/plain"])
        yield output
