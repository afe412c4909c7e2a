"""Reads CHANGELOG.md, which says for each version what is new, changed or corrected.

The first part is that of the next version, "Unreleased". The others have headings such
as "1.0.0 (2026-12-01)".
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from book.runner.errors import BookError

FILE = "CHANGELOG.md"
UNRELEASED = "Unreleased"
KINDS = ("New", "Changed", "Corrected")
HEADING = re.compile(r"## (?:Unreleased|(\d+\.\d+\.\d+) \((\d{4}-\d\d-\d\d)\))")


@dataclass(frozen=True)
class Version:
    """The changes of a version: `entries` has the Markdown of each, under its kind.

    What is not released has no number and no date.
    """

    number: str
    date: str
    entries: dict[str, list[str]] = field(
        default_factory=lambda: {kind: [] for kind in KINDS}
    )

    @property
    def is_empty(self) -> bool:
        """Whether nothing is listed."""
        return not any(self.entries.values())

    def is_in(self, edition: str) -> bool:
        """Return whether an edition such as v1.0 contains this version."""
        return bool(self.number) and order(self.number) <= order(edition)


def order(version: str) -> list[int]:
    """Return what versions and editions are compared by; v1.0 is the same as 1.0.0."""
    numbers = [int(number) for number in version.removeprefix("v").split(".")]
    while numbers[-1] == 0 and len(numbers) > 1:
        numbers.pop()
    return numbers


def read(root: Path) -> list[Version]:
    """Return the versions of a book in the order of its changelog, if it has one.

    Raises a `BookError` for a line that is none of a changelog.
    """
    file = root / FILE
    versions: list[Version] = []
    entries: list[str] | None = None
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    for number, line in enumerate(lines, start=1):
        if line.startswith("## "):
            heading = HEADING.fullmatch(line)
            if not heading:
                hint = f"write '## {UNRELEASED}' or one such as '## 1.0.0 (2026-12-01)'"
                raise BookError(f"a wrong heading; {hint}", f"{FILE}:{number}")
            versions.append(Version(heading[1] or "", heading[2] or ""))
            entries = None
        elif versions and line.startswith("### ") and line[4:] in KINDS:
            entries = versions[-1].entries[line[4:]]
        elif entries is not None and line.startswith("- "):
            entries.append(line[2:])
        elif entries and line.startswith("  "):
            entries[-1] += f" {line.strip()}"
        elif versions and line.strip():
            hint = f"write items that begin with '- ', below {' or '.join(KINDS)}"
            raise BookError(
                f"neither a heading nor an item; {hint}", f"{FILE}:{number}"
            )
    return versions
