"""d2l 1.0.3 from PyPI, with the least that makes it run beside today's frameworks."""

import shutil
from pathlib import Path
from typing import NamedTuple

from benchmarks import peers
from book.base.errors import BookError

VERSION = "1.0.3"


class Fix(NamedTuple):
    """Every occurrence of `old` in a module becomes `new`, for the reason `why`."""

    module: str
    old: str
    new: str
    why: str


FIXES = [
    Fix("torch", "import torchvision\n", "", "torchvision is not needed here"),
    Fix("torch", "from torchvision import transforms\n", "", "nor is this part of it"),
    Fix(
        "jax",
        "dropout_rng: jax.random.PRNGKeyArray",
        "dropout_rng: Any",
        "JAX has no such name any more",
    ),
    Fix(
        "tensorflow",
        "        self.board = ProgressBoard()\n",
        "        self.board = ProgressBoard()\n        del self.loss\n",
        "Keras 3 hides the method loss by an attribute that is None",
    ),
]


def install(python: Path, folder: Path) -> Path:
    """Put the package alone, and mended, into `folder`, and return that."""
    shutil.rmtree(folder, ignore_errors=True)
    # Copied, not linked: what is mended must not be the installer's own cache.
    target = ("--python", python, "--target", folder, "--link-mode", "copy")
    peers.uv("pip", "install", "--no-deps", *target, f"d2l=={VERSION}")
    for fix in FIXES:
        path = folder / "d2l" / f"{fix.module}.py"
        text = path.read_text("utf-8")
        if fix.old not in text:
            raise BookError(f"d2l {VERSION} holds no {fix.old.strip()!r}", path)
        path.write_text(text.replace(fix.old, fix.new), "utf-8")
    return folder


def told() -> str:
    """One line on what was changed."""
    return "; ".join(f"`d2l.{fix.module}`: {fix.why}" for fix in FIXES)
