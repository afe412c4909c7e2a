"""Leads from the terms on a page to the glossary; a part of the extension.

`book_glossary` among the settings of Sphinx names the page of the glossary. An entry is
an item of a list that begins with a term in bold. On each other page, the first mention
of a term becomes a link to its entry, which the page shows beside the link
(`static/preview.js`). A term in `book_everyday_words` has another meaning in common
English, too, so only a mention in italics, without other words, becomes a link.
"""

import re
from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform

from book.pages.sphinx.tabs import tab_panel

ABBREVIATION = re.compile(r"(.+) \((\w+)\)")
# Text in these places is not linked.
OUTSIDE = (nodes.title, nodes.caption, nodes.literal, nodes.reference, nodes.citation)


def forms(term: str) -> list[str]:
    """Return how the text may write a term: "Model (M)" is "model", "Model" or "M"."""
    full = ABBREVIATION.fullmatch(term)
    first, *others = full.groups() if full else (term,)
    return [first, first[:1].lower() + first[1:], *others]


def _name_entries(app: Sphinx, doctree: nodes.document) -> None:
    """Give each entry of the glossary an id."""
    if app.env.docname != app.config.book_glossary:
        return
    for item in doctree.findall(nodes.list_item):
        if term := next(item.findall(nodes.strong), None):
            item["ids"].append(f"term-{nodes.make_id(term.astext())}")
            item["term"] = term.astext()


def _collect_terms(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Store the id of each form of a term; return the pages that must be rewritten."""
    page, before = app.config.book_glossary, getattr(env, "book_terms", {})
    entries = env.get_doctree(page) if page in env.found_docs else nodes.Element()
    terms = {
        form: item["ids"][0]
        for item in entries.findall(nodes.list_item)
        for form in forms(item.get("term", ""))
        if form
    }
    env.book_terms = terms  # type: ignore[attr-defined]
    return [] if terms == before else sorted(env.found_docs)


class LinkTerms(SphinxPostTransform):
    """Makes the first mention of each term on a page a link to the glossary."""

    default_priority = 700  # after references have become links
    formats = ("html",)

    def run(self, **kwargs: object) -> None:
        """Add the links to a page."""
        terms = self.env.book_terms  # type: ignore[attr-defined]
        page, own = self.config.book_glossary, self.env.docname
        if not terms or own in (page, self.config.root_doc):
            return
        address = self.app.builder.get_relative_uri(own, page)
        for text, matches in self._mentions(terms).items():
            parts: list[nodes.Node] = []
            end = 0
            for match, name in matches:
                parts.append(nodes.Text(text[end : match.start()]))
                target = f"{address}#{name}"
                link = nodes.reference("", match[0], refuri=target, internal=True)
                link["classes"].append("term")
                parts.append(link)
                end = match.end()
            parent = text.parent
            at = parent.index(text)
            parent[at : at + 1] = [*filter(str, parts), nodes.Text(text[end:])]

    def _mentions(self, terms: dict[str, str]) -> dict[nodes.Text, list]:
        """Return the first mention of each term, by text and in order.

        A mention that all readers see is preferred to one in a tab.
        """
        everyday = set(self.config.book_everyday_words.split())
        longest = sorted(terms, key=len, reverse=True)
        written = (re.escape(term).replace(r"\ ", r"\s+") for term in longest)
        pattern = re.compile(rf"\b({'|'.join(written)})s?\b", re.I)
        chosen: dict[str, tuple] = {}
        for text, stressed, in_tab in self._texts():
            for match in pattern.finditer(str(text)):
                form = " ".join(match[1].split())
                is_everyday = form.lower() in everyday and match[0] != stressed
                if form not in terms or is_everyday:  # "sm" is no "SM"
                    continue
                name = terms[form]
                if name not in chosen or (chosen[name][2] and not in_tab):
                    chosen[name] = (text, match, in_tab)
        found: dict[nodes.Text, list] = {}
        for name, (text, match, _) in chosen.items():
            found.setdefault(text, []).append((match, name))
        for matches in found.values():
            matches.sort(key=lambda pair: pair[0].start())
        return found

    def _texts(self) -> Iterator[tuple[nodes.Text, str, bool]]:
        """Yield each text, all that is in italics around it, and if it is in a tab."""
        for paragraph in self.document.findall(nodes.paragraph):
            for text in paragraph.findall(nodes.Text):
                around = [*_ancestors(text)]
                if not any(isinstance(node, OUTSIDE) for node in around):
                    italics = isinstance(text.parent, nodes.emphasis)
                    in_tab = any(isinstance(node, tab_panel) for node in around)
                    yield text, text.parent.astext() if italics else "", in_tab


def _ancestors(node: nodes.Node) -> Iterator[nodes.Node]:
    while node.parent is not None:
        node = node.parent
        yield node


def setup(app: Sphinx) -> None:
    """Add the settings and what they do to Sphinx."""
    app.add_config_value("book_glossary", "", "env")
    app.add_config_value("book_everyday_words", "", "env")
    app.connect("doctree-read", _name_entries)
    app.connect("env-updated", _collect_terms)
    app.add_post_transform(LinkTerms)
