"""The places of this project that name a pinned version, after a pin has changed.

Commands and the table of README.md get the new version. All other lines are for an
author to read, since a sentence may be true of the old version only.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

# Here `jax[cuda13]==0.10.2` and `flax 0.12.8` name what `make lock` pins.
COMMANDS = ("README.md", "CONTRIBUTING.md", "Containerfile", "benchmarks/trainer.py")
# Files written by hand that may speak of a version. Those that are made from others and
# the tests, whose versions are examples, are not among them.
SOURCES = (
    *COMMANDS,
    *("config.ini", "environment.yml", "environments/mxnet.yml"),
    *("chapter_gpus/*.md", "static/explorables/*.js", "img/src/*.py", "img/src/*.js"),
    *("benchmarks/*.py", "book/notebooks/*.py", "d2l/*.py"),
)
GENERATED = ("torch.py", "mxnet.py", "jax.py", "tensorflow.py", "published.js")


class Change(NamedTuple):
    """A pin of a list that has changed."""

    package: str
    old: str
    new: str


def package(requirement: str) -> str:
    """Return the name of the package that a requirement, such as `a[b]>=1`, names."""
    return re.split(r"[^\w.-]", requirement.strip(), maxsplit=1)[0]


def versions(lists: Iterable[Path]) -> dict[tuple[str, str], str]:
    """Return the version of each package in each of the lists that exist."""
    found = {}
    for file in lists:
        lines = file.read_text("utf-8").splitlines() if file.exists() else []
        for line in lines:
            name, _, version = line.partition(";")[0].strip().partition("==")
            found[file.stem, name] = version
    return found


def changes(
    before: dict[tuple[str, str], str], after: dict[tuple[str, str], str]
) -> list[Change]:
    """Return the pins that changed, each once, without those new in a list or gone."""
    pairs = [(key[1], before[key], after[key]) for key in before.keys() & after.keys()]
    return sorted({Change(*each) for each in pairs if each[1] != each[2]})


def renew(changed: Iterable[Change], root: Path) -> list[Path]:
    """Write the new versions where a command or a table has the old ones.

    Return the files that changed.
    """
    renewed = []
    for file in filter(Path.exists, (root / name for name in COMMANDS)):
        text = old_text = file.read_text("utf-8")
        for change in changed:
            text = _named(change).sub(rf"\g<1>{change.new}", text)
        if text != old_text:
            draft = file.with_name(f"{file.name}.new")
            draft.write_text(text, "utf-8")
            draft.chmod(file.stat().st_mode)
            os.replace(draft, file)
            renewed.append(file)
    return renewed


def places(changed: Iterable[Change], root: Path) -> list[str]:
    """Return the lines that speak of an old version, as `FILE:LINE: TEXT`."""
    patterns = [_spoken(change) for change in changed]
    files = sorted({file for name in SOURCES for file in root.glob(name)})
    return [
        f"{file.relative_to(root)}:{number}: {line.strip()}"
        for file in files
        if file.name not in GENERATED
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1)
        if any(pattern.search(line) for pattern in patterns)
    ]


def _named(change: Change) -> re.Pattern[str]:
    """Match `jax[cuda13]==0.10.2` and `jax 0.10.2`, with what precedes the version."""
    name, version = re.escape(change.package), re.escape(change.old)
    return re.compile(rf"((?<![\w-]){name}(?:\[[\w,-]+\])?(?:==| )){version}(?!\.?\w)")


def _spoken(change: Change) -> re.Pattern[str]:
    """Match a line with the version, also without its last part: PyTorch 2.13."""
    name = re.escape(change.package.partition("-")[0])
    parts = change.old.split(".")
    short, rest = ".".join(parts[:2]), "".join(f".{part}" for part in parts[2:])
    version = rf"{re.escape(short)}(?:{re.escape(rest)})?"
    return re.compile(rf"{name}.*(?<![\w.]){version}(?!\.?\d)", re.IGNORECASE)
