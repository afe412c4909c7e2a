"""The book as the source of a Jupyter Book: MyST Markdown, four tabs, outputs included.

The tabs are sphinx-design's, with one `sync-group`, so that a choice holds for all
sets. Code and outputs are code blocks: MyST runs no cells inside a tab.
"""

import hashlib
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path

from d2lbook import notebook as d2l_notebook
from nbformat import NotebookNode

from book.notebooks.evaluated import notebooks
from book.text.book import Book
from book.text.tabs import tab_name

SVG = "image/svg+xml"
RULES = [
    # Contents and bibliography stand elsewhere.
    (r"^```toc\n.*?^```", ""),
    (r"^:bibliography:`.*?`", "```{bibliography}\n```"),
    (r"^(#+ .*)\n:label:`(.*?)`", r"(\2)=\n\1"),
    (
        r'^!\[(.*?)\]\((\S+?)(?: "(.*?)")?\)\n(?::width:`.*?`\n)?:label:`(.*?)`',
        r"```{figure} \2\n:name: \4\n:alt: \3\n\n\1\n```",
    ),
    (r"\$\$\n:eqlabel:`(.*?)`", r"$$ (\1)"),
    (r":numref:`(fig_.*?)`", r"{numref}`\1`"),
    (r":(?:num)?ref:`(.*?)`", r"{ref}`\1`"),
    (r":eqref:`(.*?)`", r"{eq}`\1`"),
    (r":cite:`(.*?)`", r"{cite:p}`\1`"),
    (r":citet:`(.*?)`", r"{cite:t}`\1`"),
    # The marks of what goes on slides.
    (r"[(\[](\*\*|~~)(.*?)\1[)\]]", r"\1\2\1"),
]
CONFIG = """\
title: {title}
author: {author}
only_build_toc_files: true
execute:
  execute_notebooks: "off"
bibtex_bibfiles: [d2l.bib]
parse:
  myst_enable_extensions: [colon_fence, dollarmath, amsmath]
"""
CONTENTS = """\
format: jb-book
root: {}
options:
  numbered: true
chapters:
"""


def write_book(book: Book, folder: Path) -> None:
    """Put the sources of the same book for Jupyter Book 1 into `folder`."""
    names = [section.name for section in book.sections]
    files = {
        "_config.yml": CONFIG.format(**book.config.project).encode(),
        "_toc.yml": _contents(names).encode(),
    }
    for pattern in book.config.build["resources"].split():
        for file in book.root.glob(pattern):
            files[str(file.relative_to(book.root))] = file.read_bytes()
    for section in book.sections:
        text, images = write_section(notebooks(book, section))
        files[f"{section.name}.md"] = text.encode()
        parent = Path(section.name).parent
        files |= {str(parent / name): data for name, data in images.items()}
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def _contents(names: list[str]) -> str:
    first, *others = names
    chapters = "".join(f"  - file: {name}\n" for name in others)
    return CONTENTS.format(first) + chapters


def write_section(found: dict[str, NotebookNode]) -> tuple[str, dict[str, bytes]]:
    """A section as MyST Markdown, and the images that its outputs are."""
    images: dict[str, bytes] = {}
    tabs = list(found)
    cells = list(_folded(d2l_notebook.merge_tab_notebooks(list(found.values())).cells))
    parts: list[str] = []
    for shared, group in itertools.groupby(cells, lambda c: _tabs(c, tabs) == tabs):
        if shared:
            parts += [_cell(cell, images) for cell in group]
        else:
            parts.append(_tab_set(list(group), tabs, images))
    return "\n\n".join(parts) + "\n", images


def _tabs(cell: NotebookNode, tabs: list[str]) -> list[str]:
    return [tab for tab in tabs if tab in cell.metadata.get("tab", tabs)]


def _folded(cells: list[NotebookNode]) -> Iterator[NotebookNode]:
    """The cells; those alike at one place of the source made one, with all its tabs."""
    for _, group in itertools.groupby(cells, lambda c: c.metadata.origin_pos):
        alike: dict[str, NotebookNode] = {}
        for cell in group:
            seen = json.dumps([cell.source, cell.get("outputs")], sort_keys=True)
            first = alike.setdefault(seen, cell)
            if first is not cell and "tab" in cell.metadata:
                first.metadata.tab = [*first.metadata.tab, *cell.metadata.tab]
        yield from alike.values()


def _tab_set(cells: list[NotebookNode], tabs: list[str], images: dict) -> str:
    items = []
    for tab in tabs:
        mine = [_cell(cell, images) for cell in cells if tab in cell.metadata.tab]
        if mine:
            item = "\n\n".join(mine)
            head = f":::::{{tab-item}} {tab_name(tab)}\n:sync: {tab}"
            items.append(f"{head}\n\n{item}\n:::::")
    body = "\n".join(items)
    return f"::::::{{tab-set}}\n:sync-group: framework\n\n{body}\n::::::"


def _cell(cell: NotebookNode, images: dict[str, bytes]) -> str:
    if cell.cell_type == "markdown":
        return markdown(cell.source)
    outputs = [_output(output, images) for output in cell.get("outputs", [])]
    return "\n\n".join([_block(cell.source, "python"), *filter(None, outputs)])


def markdown(source: str) -> str:
    """d2lbook's Markdown as MyST's."""
    for pattern, replacement in RULES:
        source = re.sub(pattern, replacement, source, flags=re.MULTILINE | re.DOTALL)
    return source


def _output(output: NotebookNode, images: dict[str, bytes]) -> str:
    data = output.get("data", {"text/plain": output.get("text", "")})
    if SVG in data:
        drawing = data[SVG].encode()
        name = f"output_{hashlib.sha256(drawing).hexdigest()[:10]}.svg"
        images[name] = drawing
        alt = output.get("metadata", {}).get("alt", "A plot")
        return f"![{alt}]({name})"
    return _block(data.get("text/plain", ""), "none") if any(data.values()) else ""


def _block(text: str, language: str) -> str:
    return f"```{{code-block}} {language}\n{text.rstrip()}\n```"
