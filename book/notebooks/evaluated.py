"""Writes the notebooks that `d2lbook build eval` would, with the recorded outputs.

d2lbook's own commands `html` and `pdf` then find each section evaluated, and need
neither the frameworks nor a GPU. They know only one medium, so the texts are those of
print: nothing is said of buttons that their pages do not have.
"""

from pathlib import Path

import nbformat
from d2lbook import library
from d2lbook import notebook as d2l_notebook
from nbformat import NotebookNode

from book.base import build_paths
from book.base.progress import counted
from book.records import store
from book.runner.files import write_whole
from book.text.book import Book
from book.text.inline import for_medium
from book.text.section import Section


def write(book: Book) -> Path:
    """Write the notebooks of all sections and tabs; return the folder of the first tab.

    A tab without code of a section has an empty file there, as d2lbook makes it.
    """
    eval_dir = book.root / build_paths.BUILD / "eval"
    folders = {tab: eval_dir.with_name(f"eval_{tab}") for tab in book.tabs}
    folders[book.tabs[0]] = eval_dir
    for section in counted(book.sections, "laying notebooks"):
        for tab, folder in folders.items():
            notebook = _notebook(book, section, tab)
            text = nbformat.writes(notebook) if notebook else ""
            write_whole(folder / f"{section.name}.ipynb", text)
    return eval_dir


def _notebook(book: Book, section: Section, tab: str) -> NotebookNode | None:
    """Return the notebook of a section in one tab, or None if the tab has none."""
    whole = d2l_notebook.read_markdown(section.text)
    whole = d2l_notebook.split_markdown_cell(whole)
    nb = d2l_notebook.get_tab_notebook(whole, tab, default_tab=tab)
    shown = store.shown(book, section, tab)
    if nb is None or shown is None:
        return None
    nb = library.replace_alias(nb, book.config.library.get(tab, {}))
    for cell in nb.cells:
        if cell.cell_type == "markdown":
            cell.source = for_medium(cell.source, "print")
    cells = [cell for cell in nb.cells if cell.cell_type == "code"]
    for cell, recorded in zip(cells, shown.cells, strict=True):
        cell.outputs = list(recorded.outputs)
    return nb
