"""Makes the index of the printed book; a part of the extension.

The index holds the terms that the text emphasizes where it explains them, the names of
the frameworks and tools that it mentions, and the definitions of the library that
another section mentions. The rest of the library is not what a reader looks up.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.addnodes import start_of_file
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from book.library.bindings import imported_names
from book.pages.sphinx.contents import file_around

FRAMEWORKS = "torch|jax|jnp|tf|mx|np|npx|nn|d2l|dist|optax|triton|tl|pl|cuda"
# A name of a framework, a variable of the environment, or one of the programs.
NAME = rf"@?((?:{FRAMEWORKS})(?:\.\w+)+|[A-Z][A-Z0-9]*_[A-Z0-9_]+|{{}})(?![\w-])"
# A definition with its decorators; one that is added to a class is not a name of `d2l`.
SAVED = re.compile(r"^((?:@.*\n)*)(?:class|def) ([A-Za-z]\w*)", re.MULTILINE)
MENTIONED = re.compile(r"(?:d2l\.)?(\w+)")
# Text in these places has no entries.
OUTSIDE = (nodes.title, nodes.caption, nodes.citation, nodes.reference)


class index_entry(nodes.Inline, nodes.Element):
    """An entry of the index for the page on which the node is: a `term` or `code`."""


class CollectIndexEntries(SphinxPostTransform):
    """Adds an entry to the index for each term and each name."""

    default_priority = 350  # after the files are one book
    formats = ("latex",)

    def run(self, **kwargs: Any) -> None:
        """Insert an entry before each emphasized term, name and definition."""
        found = list(self._entries())
        terms = {entry["text"] for _, entry in found if not entry["code"]}
        for node, entry in found:
            if not entry["code"]:
                entry["text"] = _singular(_as_within(entry["text"], terms), terms)
            place = _table_around(node) or node
            place.parent.insert(place.parent.index(place), entry)

    def _entries(self) -> Iterator[tuple[nodes.Element, index_entry]]:
        """Yield each node that needs an entry, and the entry."""
        titles = {title.astext() for title in self.document.findall(nodes.title)}
        stressed = set(self.config.book_stressed)
        programs = "|".join(map(re.escape, self.config.book_programs)) or "(?!)"
        named = re.compile(NAME.format(programs))
        for node in self.document.findall(nodes.emphasis):
            term = _uncapitalized(node.astext())
            is_term = term not in stressed and node.astext() not in titles
            if is_term and not term.startswith("et al") and _is_in_text(node):
                yield node, index_entry(text=term, code=False)
        for literal in self.document.findall(nodes.literal):
            name = named.match(literal.astext())
            if name and _is_in_text(literal):
                yield literal, index_entry(text=name[1], code=True)
        yield from self._definitions()

    def _definitions(self) -> Iterator[tuple[nodes.Element, index_entry]]:
        """Yield code that defines a name which other files mention, and its entry."""
        mentions = defaultdict(set)
        for literal in self.document.findall(nodes.literal):
            if name := MENTIONED.match(literal.astext()):
                mentions[name[1]].add(file_around(literal))
        for block in self.document.findall(nodes.literal_block):
            code = block.astext()
            saved = SAVED.findall(code) if "#@save" in code else []
            saved += [("", name) for name in imported_names(code)]
            for decorators, name in saved:
                is_mentioned = mentions[name] - {file_around(block)}
                if is_mentioned and "add_to_class" not in decorators:
                    yield block, index_entry(text=f"d2l.{name}", code=True)


def _is_in_text(node: nodes.Node) -> bool:
    """Return True if a node is in a chapter, in text that has entries."""
    in_chapter = False
    while node.parent is not None:
        node = node.parent
        if isinstance(node, OUTSIDE):
            return False
        in_chapter |= isinstance(node, start_of_file)
    return in_chapter


def _table_around(node: nodes.Node) -> nodes.Node | None:
    """Return the table that a node is in; LaTeX typesets its cells more than once."""
    around: nodes.Node | None = node
    while around is not None and not isinstance(around, nodes.table):
        around = around.parent
    return around


def _uncapitalized(text: str) -> str:
    """Return a term in lower case if only its first word begins with a capital."""
    first, *others = text.split(" ")
    begins_sentence = first.istitle() and others and text[1:] == text[1:].lower()
    return text.lower() if begins_sentence else text


def _as_within(term: str, terms: set[str]) -> str:
    """Return a term as it is written within a sentence, if it is there as well."""
    within = term[:1].lower() + term[1:]
    return within if within in terms else term


def _singular(term: str, terms: set[str]) -> str:
    """Return the singular of a term if that is a term, too."""
    for ending, singular in (("ies", "y"), ("s", "")):
        if term.endswith(ending) and term.removesuffix(ending) + singular in terms:
            return term.removesuffix(ending) + singular
    return term


def setup(app: Sphinx) -> None:
    """Add the entries to Sphinx."""
    app.add_node(index_entry)
    app.add_config_value("book_stressed", [], "env")
    app.add_config_value("book_programs", [], "env")
    app.add_post_transform(CollectIndexEntries)
