"""Choose mutants, copies of a module with one small fault each, for `make mutate`.

Prints them as JSON for survivors.py. The faults are those of mutmut, also outside of
functions, and strings that lack one alternative of a pattern.
"""

import argparse
import difflib
import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import libcst
from libcst.metadata import MetadataWrapper
from mutmut.mutation.file_mutation import MutationVisitor
from mutmut.mutation.mutators import mutation_operators
from mutmut.mutation.pragma_handling import IgnoredCode

from book.base import arguments
from book.runner.errors import BookError
from book.runner.signals import exit_status

ROOT = Path(__file__).parents[2]
GENERATED = {f"d2l/{name}.py" for name in ("torch", "mxnet", "jax", "tensorflow")}
# Mutants that differ only there behave alike.
UNSEEN = re.compile(
    r"(, *)?(encoding|strict) *= *[\w'\"-]+|(?<=code\(|text\()[\w'\"-]+"
)
# A part of a pattern; classes and escaped signs are one part each.
TOKEN = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^]\\])*\]|(?P<open>\((?:\?(?:P<\w+>|<?[=!]|:))?)|[)|]"
)
SEED = 0  # the same mutants again, as long as the code is the same


def choose(modules: list[Path], most: int) -> list[dict[str, Any]]:
    """Return at most `most` mutants, in the order of the files, at different places."""
    dice = random.Random(SEED)
    places: dict[tuple[Path, Any], list[tuple[Any, Any, Any]]] = {}
    for path in modules:
        for change in changes(path):
            places.setdefault((path, change[1]), []).append(change)
    found = [(path, *dice.choice(changes)) for (path, _), changes in places.items()]
    chosen = sorted(dice.sample(range(len(found)), min(most, len(found))))
    mutants = (mutant(*found[number]) for number in chosen)
    return [mutant for mutant in mutants if mutant]


def changes(path: Path) -> list[tuple[Any, Any, Any]]:
    """Return the module of a file with nodes and what replaces them."""
    ignored = IgnoredCode(set(), set(), set())
    operators = [*mutation_operators, (libcst.SimpleString, without_alternatives)]
    visitor = MutationVisitor(operators, ignored)
    module = MetadataWrapper(libcst.parse_module(path.read_bytes())).visit(visitor)
    return [(module, m.original_node, m.mutated_node) for m in visitor.mutations]


def mutant(path: Path, module: Any, old: Any, new: Any) -> dict[str, Any] | None:
    """Return a module after a change, the place and what differs, if anything."""
    before, after = module.code, module.deep_replace(old, new).code
    if UNSEEN.sub("", before) == UNSEEN.sub("", after):
        return None
    differences = list(
        difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    )
    line = int(re.match(r"@@ -(\d+)", differences[2])[1])  # type: ignore[index]
    file = path.relative_to(ROOT).as_posix()
    return {"file": file, "line": line, "text": after, "diff": differences[3:]}


def without_alternatives(node: libcst.SimpleString) -> Iterator[libcst.SimpleString]:
    """Yield a string like `a|b` without each of its alternatives."""
    text = node.value
    quote = len(node.prefix) + len(node.quote)
    open_groups = [[quote]]  # where the alternatives of each group begin
    for token in TOKEN.finditer(text, quote, len(text) - len(node.quote)):
        if token["open"]:
            open_groups.append([token.end()])
        elif token[0] == "|":
            open_groups[-1].append(token.end())
        elif token[0] == ")" and len(open_groups) > 1:
            yield from _shorter(node, open_groups.pop(), token.start())
    yield from _shorter(node, open_groups[0], len(text) - len(node.quote))


def _shorter(
    node: libcst.SimpleString, begins: list[int], end: int
) -> Iterator[libcst.SimpleString]:
    """Yield the string without each alternative of a group that ends before `end`."""
    for begin, following in zip(begins, [*begins[1:], end + 1], strict=True):
        # The bar behind it goes, too, or the one before the last.
        last = following > end
        if len(begins) > 1:
            kept = node.value[: begin - last], node.value[following - last :]
            yield node.with_changes(value="".join(kept))


def sources(places: list[str]) -> list[Path]:
    """Return the modules in `places`, files or folders of `book/` and `d2l/`."""
    found: list[Path] = []
    for place in places:
        path = ROOT / place
        inside = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        if not path.exists() or not place.startswith(("book", "d2l")):
            what = "not a module or a room of book/ or d2l/, such as book/facts"
            raise BookError(f"'{place}' is {what}", "PLACE")
        found += [p for p in inside if p.relative_to(ROOT).as_posix() not in GENERATED]
    return found


def main() -> int:
    parser = arguments.Parser(description=__doc__)
    parser.add_argument("--place", type=arguments.names, default=[])
    parser.add_argument("--rounds", type=arguments.count, default=60)

    def work() -> None:
        given: argparse.Namespace = parser.parse_args()
        if not given.place:
            raise BookError("name what to mutate, as in PLACE=book/facts", "PLACE")
        json.dump(choose(sources(given.place), given.rounds), sys.stdout)

    return exit_status(work)


if __name__ == "__main__":
    sys.exit(main())
