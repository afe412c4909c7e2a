"""Installs d2l 1.0.3 from PyPI with the changes that today's frameworks require."""

import shutil
from pathlib import Path
from typing import NamedTuple

from benchmarks import common
from book.runner.errors import BookError

VERSION = "1.0.3"


class Fix(NamedTuple):
    """A change of a module: `old` is replaced with `new` everywhere; `why` says why."""

    module: str
    old: str
    new: str
    why: str


FIXES = [
    Fix("torch", "import torchvision\n", "", "torchvision is not needed"),
    Fix("torch", "from torchvision import transforms\n", "", "nor are its transforms"),
    Fix(
        "jax",
        "dropout_rng: jax.random.PRNGKeyArray",
        "dropout_rng: Any",
        "JAX no longer has this name",
    ),
    Fix(
        "tensorflow",
        "        self.board = ProgressBoard()\n",
        "        self.board = ProgressBoard()\n        del self.loss\n",
        "Keras 3 hides the method loss behind an attribute that is None",
    ),
]


def install(python: Path, folder: Path) -> Path:
    """Install the package without dependencies in `folder`, fix it, and return it.

    Raises a `BookError` if a fix does not apply.
    """
    shutil.rmtree(folder, ignore_errors=True)
    # The files are copied, since changes to hard links would change uv's cache.
    target = ("--python", python, "--target", folder, "--link-mode", "copy")
    common.uv("pip", "install", "--no-deps", *target, f"d2l=={VERSION}")
    for fix in FIXES:
        path = folder / "d2l" / f"{fix.module}.py"
        text = path.read_text("utf-8")
        if fix.old not in text:
            raise BookError(f"d2l {VERSION} lacks {fix.old.strip()!r}", path)
        path.write_text(text.replace(fix.old, fix.new), "utf-8")
    return folder


def describe_fixes() -> str:
    """Return a line that lists the changes."""
    return "; ".join(f"`d2l.{fix.module}`: {fix.why}" for fix in FIXES)
