"""Assigns tests to pytest's workers: some files stay together, others are spread."""

from pathlib import Path

from xdist.scheduler import LoadScopeScheduling

# Their tests share something that takes long to make.
KEPT_TOGETHER = {
    "test_browser_machines.py",  # the pages of the made-up book
    "test_buttons.py",  # the published made-up book
    "test_made_up_book.py",  # everything that is made of that book
    "test_pdf.py",  # a typeset book
    "test_sections.py",  # fresh runs of the sections
    "test_site.py",  # the pages, parsed
    "test_slides.py",  # the decks
}


class Scheduling(LoadScopeScheduling):
    """Hands out the files that are kept together, the largest first, then the rest."""

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        return path if Path(path).name in KEPT_TOGETHER else nodeid
