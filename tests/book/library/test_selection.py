"""A part of a library has all that some names need, and no more."""

import ast
import builtins
from pathlib import Path

import pytest

from book.library import package
from book.library.selection import needed_part
from book.records import fingerprint
from book.sources.book import Book

BOOK = Book(Path(__file__).parents[3])
MODULE = '''\
"""A library."""

from __future__ import annotations

import math
import re as regex

__all__ = ["area", "half", "other"]
npx.set_np()
PI = math.pi

# Defined in a section
@decorate
def area(r):
    """Return PI times r squared."""
    return PI * square(r)


def square(x):
    return x * x


def other():
    return regex.compile("x")


def decorate(f):
    return f
'''


def test_what_names_need_is_kept_in_order():
    part = needed_part(MODULE, ["area"])
    expected = MODULE
    for left_out in (
        "import re as regex\n",
        '\n__all__ = ["area", "half", "other"]\n',
        '\n\ndef other():\n    return regex.compile("x")\n',
    ):
        expected = expected.replace(left_out, "")
    assert part == expected.removesuffix("\n")


def test_statements_that_bind_nothing_stay():
    part = needed_part(MODULE, [])
    assert "npx.set_np()" in part and "__future__" in part and "def " not in part


def unbound(source: str) -> set[str]:
    """Return the names that a module uses and nowhere binds."""
    used, bound = set(), {*dir(builtins), "__file__", "__class__", "npx"}
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                used.add(name)
            case ast.Name(id=name) | ast.arg(arg=name):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.alias(name=name, asname=other):
                bound.add(other or name.partition(".")[0])
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                bound.add(name)
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                bound.add(name)
    return used - bound


LARGEST_SHARE = 0.64  # of the lines of a library


@pytest.mark.parametrize("tab", BOOK.tabs)
def test_each_section_gets_all_that_it_needs(tab: str):
    module = package.generated(BOOK, tab)
    most = module.count("\n")
    for section in BOOK.sections:
        code = "\n".join(cell.code for cell in BOOK.cells(section, tab))
        if code:
            part = needed_part(module, set(fingerprint.D2L_NAME.findall(code)))
            assert unbound(part) <= unbound(module), section.name
            assert part.count("\n") < LARGEST_SHARE * most, section.name
