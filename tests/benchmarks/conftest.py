"""A copy of the files from which the stored plans are made."""

import shutil
from pathlib import Path

import pytest

from benchmarks import kernel_plans, plans

SOURCES = (
    *("d2l/jax.py", "d2l/cards.csv", "environments/plans.txt", "benchmarks/plans.py"),
    *(plans.SECTION, *(f"{name}.md" for name in kernel_plans.SECTIONS)),
)


class Copy:
    def __init__(self, root: Path):
        self.root = root
        for name in SOURCES:
            (root / name).parent.mkdir(exist_ok=True)
            shutil.copy(plans.ROOT / name, root / name)

    def replace(self, name: str, old: str, new: str) -> None:
        """Change a file that contains `old`."""
        text = (self.root / name).read_text("utf-8")
        assert old in text
        (self.root / name).write_text(text.replace(old, new), "utf-8")


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)
