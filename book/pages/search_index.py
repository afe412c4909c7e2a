"""The index of the search: which words are in which fields of which entries.

`static/search-engine.js` reads the index. Words of texts and of queries have to be
treated alike, so the rules for words are here alone, and the data brings them along.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

# Patterns and replacements have the same meaning in JavaScript, where the first place
# that is found is replaced.
# Words match regardless of their endings and of the spellings -ise and -ize.
ENDINGS = (
    ("ie[sd]$", "y"),
    ("([^s])s$", "$1"),
    ("is(e|ed|er|ing|ation)$", "iz$1"),
    ("^(.*[aeiouy].*[^e])(?:ing|ed)$", "$1"),
    (r"([^aeiouls])\1$", "$1"),
    ("(..[^aeiou])e$", "$1"),
)
# Names are divided where a capital letter begins a word.
CAPITALS = (("([a-z0-9])([A-Z])", "$1_$2"), ("([A-Z])([A-Z][a-z]{2})", "$1_$2"))
FIELDS = ("heading", "names", "text", "code", "trail")
# Kinds of entries whose last heading is their own title.
TITLED = ("section", "term", "symptom")
NUMBER = re.compile(r"^(?:\d+|[A-Z])\.[\d.]*\s+")
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def build(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the index of entries, which are known by their places in the list.

    `hits` has a text for each word: for each field, the entries with the word, each as
    the distance from the one before it, in base 36, and behind a `*` how often it has
    the word, if more than once. `lengths` holds the number of different words of each
    field of each entry.
    """
    found: dict[str, list[dict[int, int]]] = {}
    lengths: list[list[int]] = [[] for _ in FIELDS]
    for place, entry in enumerate(entries):
        for at, text in enumerate(fields(entry)):
            words = words_of(text)
            lengths[at].append(len(set(words)))
            for term, count in Counter(
                t for word in words for t in terms(word)
            ).items():
                found.setdefault(term, [{} for _ in FIELDS])[at][place] = count
    names = sorted(found)
    return {
        "rules": {"endings": ENDINGS, "capitals": CAPITALS},
        "fields": FIELDS,
        "words": names,
        "hits": ["/".join(map(_places, found[name])) for name in names],
        "lengths": lengths,
    }


def fields(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the texts of the fields of an entry.

    A heading counts more for its section than for the entries below it. What readers
    ask counts as a heading of what answers.
    """
    trail = [NUMBER.sub("", title) for title in entry["trail"]]
    heading = [*trail[-1:]] if entry["kind"] in TITLED else []
    heading += entry.get("asked", [])
    names = entry.get("names", [])
    texts = (entry.get("text", ""), entry.get("code", ""))
    return (" ".join(heading), " ".join(names), *texts, " ".join(trail))


def words_of(text: str) -> list[str]:
    """Return the words of a text."""
    return re.findall(r"\w+", text)


@cache
def terms(word: str) -> tuple[str, ...]:
    """Return what finds a word: a name is found as a whole and by its parts.

    `device_put` is also found by `device` and by `put`.
    """
    parts = word
    for pattern, new in _CAPITALS:
        parts = pattern.sub(new, parts)
    return tuple(dict.fromkeys(map(stem, filter(None, [word, *parts.split("_")]))))


@cache
def stem(word: str) -> str:
    """Return a word without its ending."""
    word = word.lower()
    for pattern, new in _ENDINGS:
        word = pattern.sub(new, word, count=1)
    return word


def _compiled(rules: Iterable[tuple[str, str]]) -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(old), new.replace("$", "\\")) for old, new in rules]


_ENDINGS, _CAPITALS = _compiled(ENDINGS), _compiled(CAPITALS)


def _places(found: Mapping[int, int]) -> str:
    places, before = [], 0
    for place, count in found.items():
        places.append(_base36(place - before) + (f"*{count}" if count > 1 else ""))
        before = place
    return " ".join(places)


def _base36(number: int) -> str:
    above, last = divmod(number, 36)
    return (_base36(above) if above else "") + DIGITS[last]
