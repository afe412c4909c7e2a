"""The library, the pages and the index agree on the names that a cell saves."""

import pytest

from book.library.marks import MarkedCode, saved_methods, saved_names

HELPER_AND_SAVED = """\
def helper(x):
    return x

def twice(x):  #@save
    def inner():
        return helper(x)
    return 2 * x
"""
CLASS = """\
@dataclass  #@save
class Device:
    def name(self): ...
    def __str__(self): ...
"""
ADDED = """\
@d2l.add_to_class(Trainer)  #@save
def prepare_batch(self, batch): ...
"""


@pytest.mark.parametrize(
    ("code", "names", "methods"),
    [
        (HELPER_AND_SAVED, ["twice"], []),
        (HELPER_AND_SAVED.replace("#@save", "# @save"), ["twice"], []),
        (CLASS, ["Device"], ["name"]),
        (ADDED, [], ["prepare_batch"]),
        (ADDED.replace("prepare_batch", "__init__"), [], []),
        ("#@save\ndef below(): ...\n", ["below"], []),
        ("from a import b as c, d  #@save", ["c", "d"], []),
        ("from a import (  #@save\n    b,\n    c)", ["b", "c"], []),
        ("from a import b\nimport c  #@save", [], []),
        ("print('#@save')\ndef shown(): ...", [], []),
        ("def wrong(:  #@save", [], []),
    ],
)
def test_only_what_a_mark_belongs_to_is_saved(code, names, methods):
    assert [*saved_names(code)] == names
    assert [*saved_methods(code)] == methods


def test_a_mark_within_a_body_marks_nothing():
    assert MarkedCode("def f():\n    return 1  #@save\n").saved == []
