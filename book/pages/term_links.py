"""Links the terms on a page to the glossary.

`[pages] glossary` in config.ini names the page of the glossary. An entry is an item of
a list that begins with a term in bold. On each other page, the first mention of a term
becomes a link to its entry, which the page shows beside the link (`static/preview.js`).
A term among `everyday` has another meaning in common English, too, so only a mention in
italics, without other words, becomes a link.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import takewhile

from markdown_it.token import Token

from book.pages.addresses import identifier
from book.render.texts import Mention
from book.text.book import Book
from book.text.tokens import body, outside_links

ABBREVIATION = re.compile(r"(.+) \((\w+)\)")


class Glossary:
    """The terms of a book; `page` is empty if it has no glossary."""

    def __init__(self, book: Book):
        self.page = book.setting("pages", "glossary")
        self.everyday = set(book.setting("pages", "everyday").split())
        self._section = next((s for s in book.sections if s.name == self.page), None)

    @cached_property
    def entries(self) -> dict[str, tuple[str, str]]:
        """The term of each entry under its id, and the label of its section."""
        return {
            name: (term, home)
            for block in (self._section.blocks if self._section else [])
            for term, name, home in name_entries(body(block, "web"))
        }

    @cached_property
    def terms(self) -> dict[str, str]:
        """The id of the entry of each form of a term."""
        return {
            f: name for name, (term, _) in self.entries.items() for f in forms(term)
        }

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        longest = sorted(self.terms, key=len, reverse=True)
        written = (re.escape(term).replace(r"\ ", r"\s+") for term in longest)
        return re.compile(rf"\b({'|'.join(written)})s?\b", re.IGNORECASE)

    def mentions(
        self, texts: Iterable[tuple[Token, bool]], address: str
    ) -> dict[int, list[Mention]]:
        """Return the first mention of each term, under the id of its token.

        Each of `texts` is an `inline` token, and whether it is in a tab: a mention that
        all readers see is preferred. `address` is that of the glossary.
        """
        chosen: dict[str, tuple[Token, re.Match[str], bool]] = {}
        for inline, in_tab in texts:
            for token, stressed in _linkable(inline):
                for match in self._pattern.finditer(token.content):
                    name = self._entry(match, stressed)
                    if name and (
                        name not in chosen or (chosen[name][2] and not in_tab)
                    ):
                        chosen[name] = (token, match, in_tab)
        found: dict[int, list[Mention]] = {}
        for name, (token, match, _) in chosen.items():
            found.setdefault(id(token), []).append((match, f"{address}#{name}"))
        for matches in found.values():
            matches.sort(key=lambda mention: mention[0].start())
        return found

    def counts(self, texts: Iterable[tuple[Token, bool]]) -> Counter[str]:
        """Return how often `texts` mention each term, under its id."""
        return Counter(
            name
            for inline, _ in texts
            for token, stressed in _linkable(inline)
            for match in self._pattern.finditer(token.content)
            if (name := self._entry(match, stressed))
        )

    def _entry(self, match: re.Match[str], stressed: str) -> str | None:
        """Return the id of the entry that a mention leads to, if any."""
        form = " ".join(match[1].split())
        is_everyday = form.lower() in self.everyday and match[0] != stressed
        return None if is_everyday else self.terms.get(form)  # "sm" is no "SM"


def forms(term: str) -> list[str]:
    """Return the spellings of a term: "Model (M)" may be "model", "Model" or "M"."""
    full = ABBREVIATION.fullmatch(term)
    first, *others = full.groups() if full else (term,)
    return [first, first[:1].lower() + first[1:], *others]


def name_entries(tokens: list[Token]) -> list[tuple[str, str, str]]:
    """Give each entry in a text of the glossary an id.

    Returns the terms, the ids, and the labels of the sections that introduce them.
    """
    found = []
    for item, paragraph, text in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if item.type != "list_item_open" or paragraph.type != "paragraph_open":
            continue
        kinds = [child.type for child in text.children or []]
        if "strong_open" in kinds:
            start, end = kinds.index("strong_open"), kinds.index("strong_close")
            term = "".join(c.content for c in (text.children or [])[start:end])
            item.attrSet("id", f"term-{identifier(term)}")
            roles = (c.content for c in text.children or [] if c.type == "role")
            found.append((term, str(item.attrs["id"]), next(roles, "")))
    return found


def entries(tokens: Sequence[Token]) -> Iterator[tuple[str, Sequence[Token]]]:
    """Yield the id of each item or row of a text that has one, and the tokens in it."""
    for start, token in enumerate(tokens):
        if token.type in ("list_item_open", "tr_open") and "id" in token.attrs:
            levels = [other.level for other in tokens[start + 1 :]]
            end = start + 1 + levels.index(token.level)
            yield str(token.attrs["id"]), tokens[start + 1 : end]


def _linkable(inline: Token) -> Iterator[tuple[Token, str]]:
    """Yield each text outside of links, with the whole italic phrase around it."""
    children, stressed = outside_links(inline), ""
    for i, child in enumerate(children):
        if child.type == "em_open":
            within = takewhile(lambda c: c.type != "em_close", children[i:])
            stressed = "".join(c.content for c in within)
        elif child.type == "em_close":
            stressed = ""
        elif child.type == "text":
            yield child, stressed
