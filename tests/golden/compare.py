"""Compares what two checkouts have built: `make golden BASE=FOLDER`.

Build the same things in both before. Pages and decks are compared as streams of texts
and elements with all attributes, scripts that hold data by entry, PDFs by word, and the
rest by line. Below each file that differs, `-` precedes what only BASE has and `+` what
only this checkout has. The exit status is 1 if any file differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from fnmatch import fnmatch
from html.parser import HTMLParser
from pathlib import Path

# What is compared, with the command that makes it.
PRODUCTS = {
    "_build/html": "make",
    "_build/notebooks": "make notebooks",
    "_build/eval*": "make eval",
    "_build/slides": "make slides",
    "_build/pdf": "make pdf",
    "d2l": "make lib",
}
# Items that do not count, in files whose names match these patterns.
SEAL = re.compile(r"# Generated from [0-9a-f]{16}.*\.")
VARYING = {
    # nbformat draws an id for each cell that d2lbook reads from Markdown.
    "_build/eval*.ipynb": re.compile(r' *"id": "[0-9a-f]{8}",'),
    # The seal names the program that wrote the library.
    "d2l/*.py": SEAL,
    "_build/notebooks/library/d2l/*.py": SEAL,
    # These archives contain the library, which is compared itself.
    "_build/notebooks/*.ipynb": re.compile(r" *\"    archive='[\w+/=]+',\\n\","),
    "_build/notebooks/*.zip": re.compile(r"\S*d2l/\w+\.py [0-9a-f]{8}"),
}
# Readers see the spaces beside these elements, but not those beside others.
INLINE = set(
    "a abbr b button cite code em i img input kbd label math mark q s samp small span"
    " strong sub sup svg u var".split()
)
VERBATIM = {"pre", "script", "style", "textarea"}
VOID = set("area br col embed hr img input link meta source track wbr".split())
DATA = re.compile(r"(?:[\w.]+ = |Object\.assign\(\w+, )(.*?)\)?;?", re.DOTALL)
MOST = 6  # lines on a part of a file, if no page is chosen
WIDTH = 160


def report(
    base: Path, ours: Path, page: str | None = None
) -> Iterator[tuple[str, str]]:
    """Yield each file that differs, with lines on its differences.

    If `page` is the last part of a name, only files with this name are compared.
    """
    for name in sorted(_files(base, page) ^ _files(ours, page)):
        yield name, f"only in {'BASE' if (base / name).exists() else 'this checkout'}"
    for name in sorted(_files(base, page) & _files(ours, page)):
        if (base / name).read_bytes() == (ours / name).read_bytes():
            continue
        before, after = _parts(base / name), _parts(ours / name)
        for part, items in after.items():
            changes = [c for c in _changes(before[part], items) if not _varies(name, c)]
            if changes:
                removed = sum(change[0] == "-" for change in changes)
                count = f"-{removed} +{len(changes) - removed} of {len(items)} items"
                shown = changes if page else changes[:MOST]
                lines = [f"    {change[0]} {change[1:WIDTH]}" for change in shown]
                yield name, "\n".join([f"{part}{count}", *lines])


def incomparable(base: Path, ours: Path) -> Iterator[str]:
    """Yield each product that is not in both folders, and what to do about it."""
    for product, command in PRODUCTS.items():
        for root, name in ((base, "BASE"), (ours, "this checkout")):
            if not any(root.glob(product)):
                yield f"{product} is not in {name}; run {command} there"
    if shutil.which("pdftotext") is None:
        yield "PDFs need pdftotext; install poppler-utils"


def _files(root: Path, page: str | None) -> set[str]:
    """Return the files of all products, relative to `root`."""
    return {
        str(path.relative_to(root))
        for product in PRODUCTS
        for folder in root.glob(product)
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
        if page in (None, path.stem)
        if path.suffix != ".pdf" or shutil.which("pdftotext")
    }


def _varies(name: str, change: str) -> bool:
    return any(
        fnmatch(name, pattern) and items.fullmatch(change[1:])
        for pattern, items in VARYING.items()
    )


def _changes(old: list[str], new: list[str]) -> list[str]:
    """Return the items that differ, behind a `-` if they are old and a `+` if new."""
    with tempfile.TemporaryDirectory() as folder:
        for name, items in (("old", old), ("new", new)):
            text = "".join(f"{item}\n" for item in items)
            Path(folder, name).write_text(text, "utf-8")
        # difflib would take minutes, since many items of a page are alike.
        git = "git diff --no-index --no-ext-diff --no-color --text --unified=0 old new"
        run = subprocess.run(git.split(), cwd=folder, capture_output=True)
    lines = run.stdout.decode("utf-8").split("\n")[4:]
    return [line for line in lines if line[:1] in ("-", "+")]


# The items of a file


def _parts(path: Path) -> dict[str, list[str]]:
    """Return the items of each part of a file, all of them texts of one line."""
    if path.suffix == ".html":
        stream = _Stream()
        stream.feed(path.read_text("utf-8"))
        stream.close()
        return stream.parts
    if path.suffix == ".zip":
        members = zipfile.ZipFile(path).infolist()
        return {"": [f"{member.filename} {member.CRC:08x}" for member in members]}
    if path.suffix == ".pdf":
        command = ["pdftotext", str(path), "-"]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        return {"": run.stdout.split()}
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError:
        return {"": [hashlib.sha256(path.read_bytes()).hexdigest()]}
    return {"": _entries(text) if path.suffix == ".js" else text.split("\n")}


def _entries(script: str) -> list[str]:
    """Return each entry of the data that a script holds, or the lines of a program."""
    match = DATA.fullmatch(script.strip())
    try:
        data = json.loads(match[1] if match else "")
    except json.JSONDecodeError:
        return script.split("\n")
    return [
        f"{key}: {_quoted(entry)}"
        for key, value in sorted(data.items())
        for entry in (value if isinstance(value, list) else [value])
    ]


def _quoted(value: object) -> str:
    """Return a value on one line."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


class _Stream(HTMLParser):
    """Collects the texts and elements of a page, those of its article separately."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: dict[str, list[str]] = {"article: ": [], "around it: ": []}
        self.items = self.parts["around it: "]
        self.verbatim = False
        self.text = ""
        self.before = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._end_text(tag)
        if tag == "article":
            self.items = self.parts["article: "]
        self.verbatim = self.verbatim or tag in VERBATIM
        pairs = sorted(f"{name}={_value(name, value or '')}" for name, value in attrs)
        self.items.append(f"<{' '.join([tag, *pairs])}>")

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        self._end_text(tag)
        self.verbatim = self.verbatim and tag not in VERBATIM
        self.items.append(f"</{tag}>")
        if tag == "article":
            self.items = self.parts["around it: "]

    def handle_data(self, data: str) -> None:
        self.text += data

    def _end_text(self, tag: str) -> None:
        """Add the text before an element, without spaces that readers do not see."""
        text, self.text = self.text, ""
        if not self.verbatim:
            text = re.sub(r"\s+", " ", text)
            text = text if self.before in INLINE else text.lstrip()
            text = text if tag in INLINE else text.rstrip()
        if text:
            self.items.append(_quoted(text))
        self.before = tag


def _value(name: str, value: str) -> str:
    """Return the value of an attribute; the order of classes means nothing."""
    return _quoted(" ".join(sorted(value.split())) if name == "class" else value)


def main() -> None:
    """Print what differs from the folder of the option `base`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--base", type=Path)
    parser.add_argument("--page")
    options = parser.parse_args()
    if options.base is None or not (options.base / "config.ini").is_file():
        sys.exit(
            "error: BASE: not a checkout of the book; name one, as in BASE=../before"
        )
    files = set()
    for name, difference in report(options.base, Path.cwd(), options.page):
        print(f"{name}: {difference}", flush=True)
        files.add(name)
    for reason in incomparable(options.base, Path.cwd()):
        print(f"not compared: {reason}")
    print(f"files that differ: {len(files)}")
    sys.exit(bool(files))


if __name__ == "__main__":
    main()
