"""Notebooks that stock d2lbook makes of a section, with the outputs that are kept."""

from d2lbook import library
from d2lbook import notebook as d2l_notebook
from nbformat import NotebookNode

from book.records import store
from book.sources.book import Book
from book.sources.section import Section


def notebooks(book: Book, section: Section) -> dict[str, NotebookNode]:
    """Return the section in each tab that shows something of it, with outputs."""
    found = {tab: _notebook(book, section, tab) for tab in book.tabs}
    return {tab: nb for tab, nb in found.items() if nb is not None}


def _notebook(book: Book, section: Section, tab: str) -> NotebookNode | None:
    whole = d2l_notebook.read_markdown(section.text)
    whole = d2l_notebook.split_markdown_cell(whole)
    nb = d2l_notebook.get_tab_notebook(whole, tab, default_tab=tab)
    shown = store.shown(book, section, tab)
    if nb is None or shown is None:
        return None
    nb = library.replace_alias(nb, book.config.library.get(tab, {}))
    cells = [cell for cell in nb.cells if cell.cell_type == "code"]
    for cell, outputs in zip(cells, shown.outputs, strict=True):
        cell.outputs = outputs
    return nb
