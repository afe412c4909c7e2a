"""Chooses the words of the text that the index of the printed book holds.

They are the terms that the text emphasizes where it explains them, the names of the
frameworks and tools that it mentions, and the definitions of the library that another
section mentions. The rest of the library is not what a reader looks up.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from markdown_it.token import Token

from book.library.bindings import imported_names
from book.text.tokens import walk

FRAMEWORKS = "torch|jax|jnp|tf|mx|np|npx|nn|d2l|dist|optax|triton|tl|pl|cuda"
# A name of a framework, a variable of the environment, or one of the programs.
NAME = rf"@?((?:{FRAMEWORKS})(?:\.\w+)+|[A-Z][A-Z0-9]*_[A-Z0-9_]+|{{}})(?![\w-])"
# A definition with its decorators; one that is added to a class is not a name of `d2l`.
SAVED = re.compile(r"^((?:@.*\n)*)(?:class|def) ([A-Za-z]\w*)", re.MULTILINE)
MENTIONED = re.compile(r"(?:d2l\.)?(\w+)")


class Terms:
    """The terms and the names of an edition, once it has read all of its text.

    `stressed` are emphasized words that are no terms, and `programs` are names.
    """

    def __init__(self, stressed: Iterable[str], programs: Iterable[str]):
        self.stressed = set(stressed)
        self.named = re.compile(
            NAME.format("|".join(map(re.escape, programs)) or "(?!)")
        )
        self.titles: set[str] = set()
        self.emphasized: set[str] = set()
        self.mentions: dict[str, set[str]] = defaultdict(set)

    # Reading

    def read_title(self, page: str, tokens: Iterable[Token]) -> None:
        """Read a title or a caption, which is no term where the text repeats it."""
        tokens = list(tokens)
        self.titles.add(plain(tokens))
        self.read_mentions(page, tokens)

    def read_text(self, page: str, tokens: Iterable[Token]) -> None:
        """Read a text with terms; links have none."""
        tokens = list(tokens)
        self.read_mentions(page, tokens)
        lines = [token.children or [] for token in tokens if token.type == "inline"]
        self.emphasized.update(text for line in lines for text in _emphases(line))

    def read_mentions(self, page: str, tokens: Iterable[Token]) -> None:
        """Read a text that may mention definitions of the library, but has no terms."""
        for token in walk(tokens):
            if token.type == "code_inline" and (
                found := MENTIONED.match(token.content)
            ):
                self.mentions[found[1]].add(page)

    # Entries

    def term(self, text: str) -> str:
        """Return the entry of an emphasized text; empty if it is no term."""
        term = self._as_written(text)
        within = term[:1].lower() + term[1:]
        return self._singular(within if within in self._terms else term)

    def name(self, code: str) -> str:
        """Return the entry of code in the text; empty if it is no name."""
        found = self.named.match(code)
        return found[1] if found else ""

    def definitions(self, code: str, page: str) -> Iterator[str]:
        """Yield the entry of each definition in code that another page mentions."""
        saved = SAVED.findall(code) if "#@save" in code else []
        saved += [("", name) for name in imported_names(code)]
        for decorators, name in saved:
            if self.mentions[name] - {page} and "add_to_class" not in decorators:
                yield f"d2l.{name}"

    def _as_written(self, text: str) -> str:
        """Return an emphasized text as a term; empty if it is none."""
        term = _uncapitalized(text)
        is_term = term not in self.stressed and text not in self.titles
        return term if is_term and not term.startswith("et al") else ""

    @cached_property
    def _terms(self) -> set[str]:
        return {self._as_written(text) for text in self.emphasized} - {""}

    def _singular(self, term: str) -> str:
        """Return the singular of a term if that is a term, too."""
        for ending, singular in (("ies", "y"), ("s", "")):
            other = term.removesuffix(ending) + singular
            if term.endswith(ending) and other in self._terms:
                return other
        return term


def _emphases(children: Sequence[Token]) -> Iterator[str]:
    """Yield the emphasized texts of a line that are in no link."""
    links = 0
    for place, token in enumerate(children):
        links += (token.type == "link_open") - (token.type == "link_close")
        if token.type == "em_open" and not links:
            yield emphasis(children, place)


def emphasis(children: Sequence[Token], start: int) -> str:
    """Return the text of the emphasis that begins at the token `start`."""
    end = next(i for i in range(start, len(children)) if children[i].type == "em_close")
    return plain(children[start:end])


def plain(tokens: Iterable[Token]) -> str:
    """Return the words of tokens without their markup, on one line."""
    words = (
        token.content + token.meta.get("ending", "")
        for token in walk(tokens)
        if token.type != "inline"
    )
    return " ".join("".join(words).split())


def _uncapitalized(text: str) -> str:
    """Return a term in lower case if only its first word begins with a capital."""
    first, *others = text.split(" ")
    begins_sentence = first.istitle() and others and text[1:] == text[1:].lower()
    return text.lower() if begins_sentence else text
