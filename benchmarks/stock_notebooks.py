"""Makes notebooks as stock d2lbook does, with the recorded outputs."""

from d2lbook import library
from d2lbook import notebook as d2l_notebook
from nbformat import NotebookNode

from book.records import store
from book.sources.book import Book
from book.sources.section import Section


def notebooks(book: Book, section: Section) -> dict[str, NotebookNode]:
    """Return the notebook of a section in each tab that shows the section."""
    all_notebooks = {tab: _notebook(book, section, tab) for tab in book.tabs}
    return {tab: nb for tab, nb in all_notebooks.items() if nb is not None}


def _notebook(book: Book, section: Section, tab: str) -> NotebookNode | None:
    """Return the notebook of a section in one tab, or None if the tab has none."""
    whole = d2l_notebook.read_markdown(section.text)
    whole = d2l_notebook.split_markdown_cell(whole)
    nb = d2l_notebook.get_tab_notebook(whole, tab, default_tab=tab)
    shown = store.shown(book, section, tab)
    if nb is None or shown is None:
        return None
    nb = library.replace_alias(nb, book.config.library.get(tab, {}))
    cells = [cell for cell in nb.cells if cell.cell_type == "code"]
    for cell, recorded in zip(cells, shown.cells, strict=True):
        cell.outputs = list(recorded.outputs)
    return nb
