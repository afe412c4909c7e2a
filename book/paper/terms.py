"""Chooses the entries of the index of the printed book.

The index lists the terms of the glossary where a part of a section first mentions them,
the terms that the text emphasizes where it explains them, the names of frameworks and
tools, and the definitions of the library that another section mentions. The page on
which a section introduces a term is the main one. Where many parts mention a term, only
those that mention it most often count, since nobody looks up a passing mention.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import takewhile
from typing import NamedTuple

from markdown_it.token import Token

from book.pages.term_links import ABBREVIATION, Glossary, entries, forms, name_entries
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
NO_TERM = re.compile(r" > |\.$|^(?:the|an?|from|of) ", re.IGNORECASE)
MENTIONED = re.compile(r"(?:d2l\.)?(\w+)")
# The most places of a term in the index.
PLACES = 8


class Place(NamedTuple):
    """A part of a section, the number of times it mentions a term, and where first."""

    token: Token
    times: int
    is_main: bool = False


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
    parts: Sequence[tuple[str, Sequence[Token]]],
    glossary: Glossary,
    proper: Iterable[str] = (),
) -> tuple[dict[str, str], dict[str, str]]:
    """Add entries for the terms of the glossary that parts of sections mention.

    The tokens of a part are behind the label of its section. `proper` are names, which
    keep their capitals. Returns the full term of each abbreviation, and the entry in
    the index of each term that is mentioned, under its id in the glossary.
    """
    abbreviations, names = {}, {}
    proper, explained = set(proper), _explanations(parts, glossary)
    places: defaultdict[str, list[Place]] = defaultdict(list)
    for label, tokens in parts:
        lines = [(token, False) for token in tokens if token.type == "inline"]
        by_token = {id(t): t for line, _ in lines for t in line.children or []}
        counts = glossary.counts(lines)
        for key, links in glossary.mentions(lines, "").items():
            for _, address in links:
                id_of_term = address.removeprefix("#")
                term, home = glossary.entries[id_of_term]
                names[id_of_term] = name = _name(term, proper)
                token = by_token[key]
                if home == label:
                    # Else a term is explained where its section first mentions it.
                    main = explained.setdefault(id_of_term, token)
                    token = main if id(main) in by_token else token
                is_main = token is explained.get(id_of_term)
                places[name].append(Place(token, counts[id_of_term], is_main))
                if short := ABBREVIATION.fullmatch(term):
                    abbreviations[short[2]] = name
    for name, found in places.items():
        for place in _most(found):
            add_entry(place.token, name, place.is_main)
    return abbreviations, names


def _most(places: Sequence[Place]) -> Iterator[Place]:
    """Yield the main places of a term, and those with the most mentions, in order."""
    ranked = sorted(places, key=lambda place: (place.is_main, place.times))
    kept = {id(place) for place in ranked[-PLACES:]}
    return (place for place in places if place.is_main or id(place) in kept)


def _explanations(
    parts: Iterable[tuple[str, Sequence[Token]]], glossary: Glossary
) -> dict[str, Token]:
    """Return the emphasis of each term in the section that introduces it, by its id."""
    found: dict[str, Token] = {}
    for label, tokens in parts:
        for children in map(outside_links, tokens):
            for place, token in enumerate(children):
                within = takewhile(lambda t: t.type != "em_close", children[place:])
                words = plain(within) if token.type == "em_open" else ""
                name = glossary.terms.get(words) or glossary.terms.get(
                    words.removesuffix("s")
                )
                if name and glossary.entries[name][1] == label:
                    found.setdefault(name, token)
    return found


def _name(term: str, proper: Set[str]) -> str:
    """Return the entry of a term, in lower case unless it or a word of it is a name."""
    full, small = forms(term)[:2]
    if " " in full:
        return _uncapitalized(full)
    return small if full[1:].islower() and full not in proper else full


def placed(
    tokens: list[Token], glossary: Glossary, names: Mapping[str, str], text: str
) -> list[Token]:
    """Return entries of the glossary without those whose terms are in no `text`.

    References in an entry lead to the term that is under its id in `names`.
    """
    name_entries(tokens)
    left_out: set[int] = set()
    for id_of_term, item in list(entries(tokens)):
        term, _ = glossary.entries[id_of_term]
        written = "|".join(map(re.escape, forms(term)))
        if id_of_term not in names and not re.search(rf"\b(?:{written})", text, re.I):
            start = next(i for i, token in enumerate(tokens) if token is item[0])
            left_out |= {*range(start - 1, start + len(item) + 1)}
        for place in (token for token in walk(item) if token.info == "number"):
            place.meta["term"] = names.get(id_of_term, "")
            break  # the first one, which names the section of the term
    return [token for i, token in enumerate(tokens) if i not in left_out]


def mark_names(pages: Iterable[Sequence[Token]], names: Iterable[str]) -> None:
    """Add an entry for the first mention of each name on each page, in any case."""
    spelled = {name.lower(): name for name in names}
    found = re.compile(
        rf"(?<![\w-])({'|'.join(map(re.escape, spelled)) or '(?!)'})(?![\w-])",
        re.IGNORECASE,
    )
    places: defaultdict[str, list[Place]] = defaultdict(list)
    for tokens in pages:
        texts = [t for line in tokens for t in outside_links(line) if t.type == "text"]
        first: dict[str, Token] = {}
        counts = Counter[str]()
        for token in texts:
            for word in found.findall(token.content):
                first.setdefault(spelled[word.lower()], token)
                counts[spelled[word.lower()]] += 1
        for name, token in first.items():
            places[name].append(Place(token, counts[name]))
    for name in sorted(places):
        for place in _most(places[name]):
            add_entry(place.token, name)


def add_entry(token: Token, name: str, is_main: bool = False) -> None:
    """Add an entry of the index at the place of a token."""
    entries = token.meta.setdefault("entries", {})
    entries[name] = is_main or entries.get(name, False)


def mentions(tokens: Iterable[Token]) -> Iterator[str]:
    """Yield the names in code that may be definitions of the library."""
    for token in walk(tokens):
        if token.type == "code_inline" and (found := MENTIONED.match(token.content)):
            yield found[1]


def _uncapitalized(text: str) -> str:
    """Return a term in lower case if only its first word begins with a capital.

    A single word in one piece may be a name.
    """
    first, *others = re.split("[ -]", text)
    begins_sentence = first[1:].islower() and bool(others) and others[-1].islower()
    return text[:1].lower() + text[1:] if begins_sentence else text


def _singular(term: str, terms: Set[str]) -> str:
    """Return a term in lower case and in the singular, if `terms` have it like that."""
    within = term[:1].lower() + term[1:]
    term = within if within in terms else term
    for ending, singular in (("ies", "y"), ("s", "")):
        other = term.removesuffix(ending) + singular
        if term.endswith(ending) and other in terms:
            return other
    return term
