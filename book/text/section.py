"""A Markdown file of the book, which is read and parsed only once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from book.base.cache import Cache
from book.runner.errors import BookError
from book.text.blocks import Block, Cell, Contents, Heading, Labelled
from book.text.parsing import Parsed, parse


@dataclass(frozen=True)
class Section:
    """A Markdown file of the book; `name` is its path in the book without `.md`.

    What its text says is kept in a cache, if there is one.
    """

    name: str
    path: Path
    kept: Cache | None = field(default=None, compare=False, repr=False)

    @cached_property
    def text(self) -> str:
        """The text of the file.

        Raises a `BookError` if the file is not plain UTF-8.
        """
        data = self.path.read_bytes()
        if data.startswith(b"\xef\xbb\xbf"):
            message = "starts with a byte order mark; save it as UTF-8 without one"
            raise BookError(message, self.at(1))
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise BookError("not UTF-8; save it as UTF-8", self.at(line)) from None
        if "\0" in text:
            line = text.count("\n", 0, text.index("\0")) + 1
            raise BookError("contains a NUL character; remove it", self.at(line))
        return text.replace("\r\n", "\n")

    @cached_property
    def _parsed(self) -> Parsed:
        if self.kept is None:
            return parse(self.text)
        return self.kept.value([self.text], lambda: parse(self.text))

    @property
    def blocks(self) -> list[Block]:
        """The blocks of the section in order; do not change them."""
        return self._parsed.blocks

    @property
    def problems(self) -> list[tuple[int, str]]:
        """The line and the description of each mistake in the Markdown."""
        return self._parsed.problems

    @property
    def cells(self) -> Iterator[Cell]:
        """The code cells in order."""
        return (block for block in self.blocks if isinstance(block, Cell))

    def at(self, line: int) -> str:
        """Return the name of a line of the file, such as `chapter/one.md:12`."""
        return f"{self.name}.md:{line}"

    @property
    def title(self) -> Heading | None:
        """The first heading, if there is one."""
        headings = (block for block in self.blocks if isinstance(block, Heading))
        return next(headings, None)

    @property
    def labels(self) -> Iterator[tuple[str, int]]:
        """Each label with the line that it is on."""
        for block in self.blocks:
            if isinstance(block, Labelled) and block.label:
                yield block.label, block.label_line

    @property
    def contents(self) -> Iterator[tuple[str, int]]:
        """The entries of the tables of contents, each with its line."""
        for block in self.blocks:
            if isinstance(block, Contents):
                yield from block.entries
