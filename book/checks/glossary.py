"""Checks the glossary: its entries are in order, short, and marked where they belong.

An entry is an item of a list that begins with a term in bold and, in parentheses, the
section that introduces it. There, the term is in italics.
"""

import re
from collections.abc import Iterator

from book.text.blocks import Cell
from book.text.book import Book
from book.text.section import Section

ENTRY = re.compile(
    r"^\* \*\*(.+?)\*\*(?: \(:numref:`(\w+)`\))?\. (.+(?:\n  .+)*)", re.M
)
SLIDE_MARK = re.compile(r"[\[(]\*\*|\*\*[\])]")
ITALICS = re.compile(r"(?<![*\w])\*([^*\s][^*]*?)\*(?![*\w])")
SENTENCE = re.compile(r"[.?!](?=\s|$)")


def problems(book: Book) -> Iterator[str]:
    """Yield a line for each entry that breaks the rules."""
    named = {label: s for s in book.sections for label, _ in s.labels}
    glossary = book.setting("pages", "glossary")
    pages = [s for s in book.sections if s.name == glossary]
    if glossary and not pages:
        yield f"config.ini: [pages] glossary: no section '{glossary}'; correct it"
    for page in pages:
        before = ""
        for entry in ENTRY.finditer(page.text):
            term, label, text = entry.groups()
            where = page.at(page.text.count("\n", 0, entry.start()) + 1)
            if term.lower() < before.lower():
                yield f"{where}: '{term}' comes before '{before}' in the alphabet"
            if len(SENTENCE.findall(text)) > 2:
                yield f"{where}: '{term}' has more than two sentences; shorten it"
            if label not in named:
                yield f"{where}: '{term}' without its section; add (:numref:`LABEL`)"
            elif _key(term) not in _terms(named[label]):
                section = f"{named[label].name}.md"
                yield f"{where}: '{term}' is not in italics in {section}; mark it there"
            before = term


def _terms(section: Section) -> set[str]:
    """Return the keys of all that is in italics in a section."""
    blocks = (b.source for b in section.blocks if not isinstance(b, Cell))
    prose = (SLIDE_MARK.sub("", text) for text in blocks)
    return {_key(term) for text in prose for term in ITALICS.findall(text)}


def _key(term: str) -> str:
    """Return a term without its abbreviation, capitals and the plural."""
    words = " ".join(re.sub(r" \(\w+\)", "", term).lower().split())
    return re.sub(r"(?<=ch)es$|(?<=[^s])s$", "", words)
