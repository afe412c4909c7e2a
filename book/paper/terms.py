"""Chooses the entries of the index of the printed book.

The index lists the terms that the text emphasizes where it explains them, the names of
frameworks and tools, and the definitions of the library that another section mentions.
"""

import re
from collections.abc import Iterable, Iterator, Set
from itertools import takewhile

from markdown_it.token import Token

from book.text.tokens import outside_links, plain, walk

FRAMEWORKS = "torch|jax|jnp|tf|mx|np|npx|nn|d2l|dist|optax|triton|tl|pl|cuda"
# A name of a framework, a variable of the environment, or one of the programs.
NAME = rf"@?((?:{FRAMEWORKS})(?:\.\w+)+|[A-Z][A-Z0-9]*_[A-Z0-9_]+|{{}})(?![\w-])"
MENTIONED = re.compile(r"(?:d2l\.)?(\w+)")


def mark_entries(
    lines: Iterable[Token], others: Iterable[str], programs: Iterable[str]
) -> None:
    """Note the entry of each term and name in the `meta` of its emphasis or code.

    `others` are emphasized texts that are no terms, and `programs` are names.
    """
    names = re.compile(NAME.format("|".join(map(re.escape, programs)) or "(?!)"))
    emphases: list[tuple[Token, str]] = []
    for children in map(outside_links, lines):
        for place, token in enumerate(children):
            if token.type == "em_open":
                within = takewhile(lambda t: t.type != "em_close", children[place:])
                emphases.append((token, _uncapitalized(plain(within))))
            elif token.type == "code_inline" and (name := names.match(token.content)):
                token.meta["entry"] = name[1]
    terms = {term for _, term in emphases}.difference(others)
    for token, term in emphases:
        token.meta["entry"] = _singular(term, terms) if term in terms else ""


def mentions(tokens: Iterable[Token]) -> Iterator[str]:
    """Yield the names in code that may be definitions of the library."""
    for token in walk(tokens):
        if token.type == "code_inline" and (found := MENTIONED.match(token.content)):
            yield found[1]


def _uncapitalized(text: str) -> str:
    """Return a term in lower case if only its first word begins with a capital."""
    first, *others = text.split(" ")
    begins_sentence = first.istitle() and others and text[1:] == text[1:].lower()
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
