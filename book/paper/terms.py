"""Chooses the entries of the index of the printed book.

The index lists the terms of the glossary on each page of a section's first mention, the
terms that the text emphasizes where it explains them, the names of frameworks and
tools, and the definitions of the library that another section mentions. The page of the
section that introduces a term is the main one.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import takewhile

from markdown_it.token import Token

from book.pages.term_links import ABBREVIATION, Glossary, forms
from book.text.tokens import outside_links, plain, walk

# The modules whose names are in the index of each edition, and in that of all.
MODULES = {
    "pytorch": "torch|nn|dist|triton|tl",
    "mxnet": "mx|np|npx|gluon",
    "jax": "jax|jnp|nn|nnx|optax|pl|pltpu|plgpu",
    "tensorflow": "tf|keras",
}
SHARED = "d2l|cuda"
# A name of a module, a variable of the environment, or one of the programs.
NAME = r"@?((?:{})(?:\.\w+)+|[A-Z][A-Z0-9]*_[A-Z0-9_]+|{})(?![\w-])"
# Emphasized texts that are no terms: labels of menus, and the starts of items.
NO_TERM = re.compile(r" > |\.$|^[Tt]he ")
MENTIONED = re.compile(r"(?:d2l\.)?(\w+)")


def mark_entries(
    lines: Iterable[Token], tab: str, others: Iterable[str], programs: Iterable[str]
) -> None:
    """Add an entry of the index for each term and name to its emphasis or code.

    `others` are emphasized texts that are no terms, and `programs` are names.
    """
    modules = f"{MODULES.get(tab, '')}|{SHARED}".strip("|")
    known = "|".join(map(re.escape, programs)) or "(?!)"
    names = re.compile(NAME.format(modules, known))
    emphases: list[tuple[Token, str]] = []
    for children in map(outside_links, lines):
        for place, token in enumerate(children):
            if token.type == "em_open":
                within = takewhile(lambda t: t.type != "em_close", children[place:])
                emphases.append((token, _uncapitalized(plain(within))))
            elif token.type == "code_inline" and (name := names.match(token.content)):
                add_entry(token, name[1])
    terms = {term for _, term in emphases if not NO_TERM.search(term)}
    terms.difference_update(others)
    for token, term in emphases:
        if term in terms:
            add_entry(token, _singular(term, terms))


def mark_terms(
    pages: Mapping[str, Sequence[Token]], glossary: Glossary
) -> dict[str, str]:
    """Add entries for the terms of the glossary that pages mention.

    The tokens of a page are under the label of its section. Returns the full term of
    each abbreviation.
    """
    found: list[tuple[Token, str, bool, str]] = []
    for label, tokens in pages.items():
        lines = [(token, False) for token in tokens if token.type == "inline"]
        by_token = {id(t): t for line, _ in lines for t in line.children or []}
        for key, links in glossary.mentions(lines, "").items():
            for match, address in links:
                term, home = glossary.entries[address.removeprefix("#")]
                found.append((by_token[key], term, home == label, match[1]))
    written = {form for *_, form in found}
    abbreviations = {}
    for token, term, is_main, _ in found:
        full, small = forms(term)[:2]
        name = _uncapitalized(full) if " " in full else full
        name = small if small in written else name
        add_entry(token, name, is_main)
        if short := ABBREVIATION.fullmatch(term):
            abbreviations[short[2]] = name
    return abbreviations


def mark_names(pages: Iterable[Sequence[Token]], names: Iterable[str]) -> None:
    """Add an entry for the first mention of each name on each page."""
    found = re.compile(
        rf"(?<![\w-])({'|'.join(map(re.escape, names)) or '(?!)'})(?![\w-])"
    )
    for tokens in pages:
        seen = set[str]()
        for line in tokens:
            for token in outside_links(line):
                if token.type == "text":
                    new = set(found.findall(token.content)) - seen
                    seen |= new
                    for name in sorted(new):
                        add_entry(token, name)


def add_entry(token: Token, name: str, is_main: bool = False) -> None:
    """Add an entry of the index at the place of a token."""
    token.meta.setdefault("entries", {})[name] = is_main


def mentions(tokens: Iterable[Token]) -> Iterator[str]:
    """Yield the names in code that may be definitions of the library."""
    for token in walk(tokens):
        if token.type == "code_inline" and (found := MENTIONED.match(token.content)):
            yield found[1]


def _uncapitalized(text: str) -> str:
    """Return a term in lower case if only its first word begins with a capital."""
    first, *others = text.split(" ")
    begins_sentence = first[1:] == first[1:].lower() and " ".join(others).islower()
    return text.lower() if begins_sentence else text


def _singular(term: str, terms: Set[str]) -> str:
    """Return a term in lower case and in the singular, if `terms` have it like that."""
    within = term[:1].lower() + term[1:]
    term = within if within in terms else term
    for ending, singular in (("ies", "y"), ("s", "")):
        other = term.removesuffix(ending) + singular
        if term.endswith(ending) and other in terms:
            return other
    return term
