"""Small made-up books to test on, written to a temporary folder."""

from collections.abc import Callable
from pathlib import Path

import pytest

from book.sources import Book

CONFIG = """\
[project]
name = made-up
title = A Made-Up Book
author = Nobody
copyright = Nobody
release = 0.1
lang = en

[build]
index = index
notebooks = index.md chapter/*.md
resources = img/*.svg refs.bib
tabs = {tabs}
warning_is_error = True

[pdf]
bibfile = refs.bib

[library]
version_file = d2l/__init__.py
"""
LIBRARY = """
[library-{tab}]
lib_file = d2l/{tab}.py
lib_name = {tab}
"""
INDEX = """\
# A Made-Up Book
:label:`chapter_made_up`

Its sections follow.

```toc
:maxdepth: 2

{toc}
```
"""


def write_book(root: Path, sections: dict[str, str], tabs: tuple[str, ...]) -> Book:
    """A book in `root` whose `sections` map names to Markdown, all in one chapter."""
    files = {
        "config.ini": CONFIG.format(tabs=", ".join(tabs))
        + "".join(LIBRARY.format(tab=tab) for tab in tabs),
        "index.md": INDEX.format(toc="\n".join(f"chapter/{s}" for s in sections)),
        "refs.bib": "",
        "d2l/__init__.py": '__version__ = "0.1"\n',
    }
    files |= {f"chapter/{name}.md": text for name, text in sections.items()}
    files |= {f"environments/{tab}.txt": "ipykernel==7.4.0\n" for tab in tabs}
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return Book(root)


@pytest.fixture
def make_book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Book]:
    """Call it with `name="Markdown"` sections; `tabs=` if not PyTorch and JAX."""

    def make(
        tabs: tuple[str, ...] = ("pytorch", "jax"),
        folder: str = "made-up",
        **sections: str,
    ) -> Book:
        root = tmp_path / folder
        root.mkdir()
        # d2lbook looks for the index page in the folder it is called from.
        (root / "index.md").touch()
        monkeypatch.chdir(root)
        return write_book(root, sections, tabs)

    return make
