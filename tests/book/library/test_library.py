"""The package d2l is generated from marked cells, or their mistakes are reported."""

import ast
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from d2lbook import library as stock

from book.library import package
from book.runner.errors import BookError


def cell(source: str, tab: str = "pytorch") -> str:
    return f"```{{.python .input}}\n%%tab {tab}\n{source.strip()}\n```\n"


def section(name: str, *cells: str) -> str:
    return "\n".join([f"# {name.title()}\n:label:`sec_{name}`\n", *map(cell, cells)])


@pytest.fixture
def make(make_book):
    """Make a book of sections a, b, and so on; each tuple holds a section's cells."""

    def make(*sections: tuple[str, ...], **aliases: str):
        texts = {n: section(n, *c) for n, c in zip("abcdef", sections, strict=False)}
        book = make_book(tabs=("pytorch",), **texts)
        del book.config.library["pytorch"]["lib_name"]
        book.config.library["pytorch"] |= aliases
        return book

    return make


@pytest.fixture
def lib(make, tmp_path):
    """Return the names in the library of such a book, after it has been imported."""

    def lib(*sections: tuple[str, ...], **aliases: str):
        text = package.generate(make(*sections, **aliases), "pytorch")
        path = tmp_path / "generated.py"
        path.write_text(text)
        return {"text": text, **runpy.run_path(str(path))}

    return lib


def definitions(text: str) -> set[str]:
    """Return the names that the text of a library defines, other than by imports."""
    found: set[str] = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {ast.unparse(target) for target in node.targets}
    return {name for name in found if name != "d2l" and not name.startswith("_")}


@pytest.fixture
def error_message(make):
    """Return the message of the error that such a book raises."""

    def error_message(*sections: tuple[str, ...], **aliases: str) -> str:
        with pytest.raises(BookError) as error:
            package.generate(make(*sections, **aliases), "pytorch")
        assert "\n" not in str(error.value)
        return str(error.value)

    return error_message


# Marks


def test_only_the_marked_statement_is_saved(lib):
    got = lib(("a = 1\nb = 2  #@save\nc = 3\ndef f():  #@save\n    return b\nd = 4",))
    assert definitions(got["text"]) == {"b", "f"}
    assert got["f"]() == 2
    assert "a" not in got and "c" not in got and "d" not in got


@pytest.mark.parametrize(
    "source",
    [
        "def f(x):  #@save\n    return x + 1",
        "def f(x):  #   @save\n    return x + 1",
        "def f(x): return x + 1  #@save",
        "#@save\ndef f(x):\n    return x + 1",
        "#@save\n\n# A comment.\ndef f(x):\n    return x + 1",
        "def f(  #@save\n    x,\n):\n    return x + 1",
        "def f(\n    #@save\n    x,\n):\n    return x + 1",
        "def f(\n    x,\n):  #@save\n    return x + 1",
        "import functools\n@functools.cache  #@save\ndef f(x):\n    return x + 1",
        "import functools\n@functools.cache\ndef f(x):  #@save\n    return x + 1",
        "f = (\n    lambda x: x + 1\n)  #@save",
        "!ls\ndef f(x):  #@save\n    return x + 1",
    ],
)
def test_a_mark_may_be_in_any_of_these_places(lib, source):
    got = lib((source + "\nother = 1",))
    assert got["f"](1) == 2
    assert definitions(got["text"]) == {"f"}
    assert "@save" not in got["text"].partition('"""\n')[2]


def test_a_mark_in_a_string_is_ignored(lib):
    got = lib(("s = '#@save'\nt = '#@save'  #@save",))
    assert definitions(got["text"]) == {"t"}
    assert got["t"] == "#@save"


def test_statements_keep_their_order_but_settings_come_first(lib):
    got = lib(
        ("def f():  #@save\n    return table\ntable = {}  #@save",),
        ("table['x'] = 1  #@save\nimport warnings",),
        ("warnings.simplefilter('ignore')  #@save",),
    )
    assert got["f"]() == {"x": 1}
    assert got["text"].index("simplefilter") < got["text"].index("def f")


def test_each_block_names_its_section(make):
    book = make(("x = 1  #@save",), ("def f():  #@save\n    return 1",))
    text = package.generate(book, "pytorch")
    assert "# Defined in chapter/a.md (sec_a)\nx = 1\n" in text
    assert "# Defined in chapter/b.md (sec_b)\ndef f():\n" in text


def test_type_hints_lose_their_quotes(lib):
    got = lib(('class A:  #@save\n    def f(self) -> "d2l.A":\n        return self',))
    assert "def f(self) -> A:" in got["text"]


# Methods that are added to classes, and statements that are saved again

CLASS = """
class A:  #@save
    \"\"\"An A.\"\"\"
    size = 1

    def f(self):
        \"\"\"Return f.\"\"\"
        raise NotImplementedError

    def g(self):
        return self.f()
"""
ADD = "def add_to_class(cls):\n    return lambda f: setattr(cls, f.__name__, f)\n"


@pytest.mark.parametrize("name", ["add_to_class", "d2l.add_to_class"])
@pytest.mark.parametrize("owner", ["A", "d2l.A"])
def test_a_method_is_added_to_its_class(lib, name, owner):
    got = lib((CLASS,), (f"@{name}({owner})  #@save\ndef h(self): return 3",))
    assert got["A"]().h() == 3
    assert definitions(got["text"]) == {"A"}
    assert "add_to_class" not in got["text"]
    assert "    # Defined in chapter/b.md (sec_b)\n    def h(self):" in got["text"]


def test_a_method_replaces_the_stub(lib):
    got = lib((CLASS, "@d2l.add_to_class(A)  #@save\ndef f(self):\n    return 2"))
    assert got["A"]().g() == 2
    assert "NotImplementedError" not in got["text"]
    assert got["text"].index("def f") < got["text"].index("def g")
    assert got["text"].count("Defined in") == 1


def test_a_method_that_is_added_twice_appears_once(lib):
    first = "@d2l.add_to_class(A)  #@save\ndef h(self): return 1"
    again = "@d2l.add_to_class(d2l.A)  #@save\n@property\ndef h(self): return 2"
    got = lib((CLASS,), (first,), (again,))
    assert got["A"]().h == 2
    assert got["text"].count("def h") == 1
    assert "b.md" not in got["text"] and "c.md" in got["text"]


def test_a_text_of_an_added_method_keeps_its_lines(lib):
    method = '@d2l.add_to_class(A)  #@save\ndef f(self):\n    return """a\nb\n"""'
    assert lib((CLASS, method))["A"]().f() == "a\nb\n"


def test_methods_replace_attributes_and_fill_empty_classes(lib):
    got = lib(
        (CLASS, "@d2l.add_to_class(A)  #@save\ndef size(self):\n    return 5"),
        (
            "class B:  #@save\n    pass",
            "@d2l.add_to_class(B)  #@save\ndef f(self): return 6",
        ),
    )
    assert got["A"]().size() == 5
    assert got["B"]().f() == 6
    assert "pass" not in got["text"]


def test_a_statement_that_is_saved_again_replaces_the_earlier_one(lib):
    got = lib(
        ("def f():  #@save\n    return 1",),
        ("x = f()  #@save",),
        ("def f():  #@save\n    return 2",),
    )
    assert (got["f"](), got["x"]) == (2, 2)
    assert got["text"].count("def f") == 1


def test_statements_that_a_replacement_needs_precede_it(lib):
    got = lib(
        ("class A:  #@save\n    x = 1\nclass C(A):  #@save\n    pass",),
        ("class B:  #@save\n    y = 2\nclass A(B):  #@save\n    x = 3",),
    )
    assert (got["C"].x, got["C"].y) == (3, 2)


def test_overloads_of_one_function_are_all_kept(lib):
    register = "@f.register  #@save\ndef _(x: {0}):\n    return '{0}'"
    got = lib(
        (
            "import functools\n@functools.singledispatch  #@save\ndef f(x):\n"
            "    return None",
            register.format("int"),
            register.format("str"),
        )
    )
    assert (got["f"](1), got["f"](""), got["f"](1.0)) == ("int", "str", None)


# What all tabs share


@pytest.fixture
def common(make_book):
    """Return the names in the module of all tabs, for cells of all and of one tab."""

    def common(*cells: str, pytorch: str = "x = 1", jax: str = "x = 1") -> set[str]:
        shared = (cell(source, "all") for source in cells)
        own = cell(pytorch, "pytorch"), cell(jax, "jax")
        text = "\n".join(["# A\n:label:`sec_a`\n", *own, *shared])
        book = make_book(tabs=("pytorch", "jax"), a=text)
        for tab in book.tabs:
            del book.config.library[tab]["lib_name"]
        package.write(book)
        return definitions((book.root / "d2l/common.py").read_text())

    return common


PAIR = "def f():  #@save\n    return 1", "def g():  #@save\n    return d2l.f()"


def test_what_is_the_same_in_all_tabs_is_generated_once(common, tmp_path):
    assert common(*PAIR, jax="def h():  #@save\n    return d2l.g()") == {"f", "g"}
    (folder,) = tmp_path.rglob("d2l")
    texts = {path.stem: path.read_text() for path in folder.glob("*.py")}
    assert definitions(texts["pytorch"]) == set()
    assert definitions(texts["jax"]) == {"h"}
    assert "# Defined in chapter/a.md (sec_a)\ndef f():" in texts["common"]
    program = (
        "import inspect, pickle, d2l.pytorch, d2l.jax\n"
        "assert d2l.pytorch.g is d2l.jax.g and d2l.jax.h() == 1\n"
        "assert pickle.loads(pickle.dumps(d2l.jax.g)) is d2l.jax.g\n"
        "assert inspect.getsource(d2l.jax.g) == 'def g():\\n    return f()\\n'"
    )
    subprocess.run([sys.executable, "-c", program], cwd=folder.parent, check=True)


@pytest.mark.parametrize(
    "pytorch, jax",
    [
        ("def f():  #@save\n    return 1", "def f():  #@save\n    return 2"),
        ("from math import sin as f  #@save", "from math import cos as f  #@save"),
        ("from math import sin as f  #@save", "def f():  #@save\n    return 1"),
    ],
)
def test_what_uses_something_of_a_tab_stays_in_its_library(common, pytorch, jax):
    users = PAIR[1], "def h():  #@save\n    return d2l.g()", "def i(): pass  #@save"
    assert common(*users, pytorch=pytorch, jax=jax) == {"i"}


@pytest.mark.parametrize(
    "change, changed",
    [
        ("d2l.A().f = None", set()),
        ("d2l.A.f = None", {"A", "make"}),
        ("d2l.A = object", {"A", "make"}),
        ("@d2l.add_to_class(A)\ndef f(self): return 2", {"A", "make"}),
        ("@d2l.add_to_class(d2l.A)\ndef f(self): return 2", {"A", "make"}),
    ],
)
def test_what_a_cell_changes_stays_in_the_libraries(common, change, changed):
    shared = CLASS, "def make():  #@save\n    return d2l.A()", PAIR[0]
    assert common(*shared, jax=change) == {"A", "make", "f"} - changed


@pytest.mark.parametrize(
    "state",
    [
        "f = {}  #@save",
        "f = __name__  #@save",
        "def f():  #@save\n    return __name__",
        "def f():  #@save\n    global x\n    x = 1",
        "from collections import namedtuple\nf = namedtuple('f', [])()  #@save",
    ],
)
def test_what_a_library_keeps_stays_in_it(common, state):
    assert common(state, PAIR[1]) == set()


def test_a_tuple_with_names_is_shared(common):
    source = "from collections import namedtuple\nf = namedtuple('f', 'a b')  #@save"
    assert common(source, PAIR[1]) == {"f", "g"}


def test_the_first_value_of_an_attribute_may_have_its_name(common):
    owner = "class A:  #@save\n    f = staticmethod(f)\n    h = f"
    f = "def f():  #@save\n    return {}"
    assert common(owner, pytorch=f.format(1), jax=f.format(2)) == set()


# Names


def test_d2l_names_become_names_of_the_module(lib):
    got = lib(
        ("def f(x):  #@save\n    return x + 1\nclass A:  #@save\n    pass",),
        ("class B(d2l.A):  #@save\n    def g(self):\n        return d2l.f(1)",),
    )
    assert got["B"]().g() == 2
    code = got["text"].partition(stock.HEADER)[2]
    assert "d2l" not in code.replace("d2l.md", "")


@pytest.mark.parametrize(
    "body",
    [
        "def g(f):\n    return d2l.f(f)",
        "def g(x):\n    f = x\n    return d2l.f(f)",
        "def g(x):\n    return [d2l.f(f) for f in [x]][0]",
        "def g(x):\n    def h():\n        return d2l.f(f)\n    f = x\n    return h()",
        "g = lambda f: d2l.f(f)",
    ],
)
def test_a_local_variable_does_not_hide_a_d2l_name(lib, body):
    got = lib(("def f(x):  #@save\n    return x + 1",), ("#@save\n" + body,))
    assert got["g"](1) == 2
    assert "_d2l_f" not in got["__all__"]


def test_an_added_method_may_have_the_name_of_a_function(lib):
    got = lib(
        ("def f(x):  #@save\n    return x + 1\nclass A:  #@save\n    pass",),
        ("@d2l.add_to_class(d2l.A)  #@save\ndef f(self, g=d2l.f):\n    return g(1)",),
        ("@d2l.add_to_class(d2l.A)  #@save\ndef h(self, g=d2l.f):\n    return g(1)",),
    )
    assert got["A"]().f() == 2
    assert got["A"]().h() == 2


def test_a_local_variable_may_be_read_above_its_assignment(lib):
    source = (
        "def f(n):  #@save\n    for i in range(n):\n        if i:\n"
        "            last = total\n        total = i\n    return last"
    )
    assert lib((source,))["f"](3) == 1


def test_the_library_imports_only_modules_that_its_code_uses(lib):
    inside = "import math as n, re, xml.dom\n    assert n and re and xml"
    got = lib(
        ("import os\nimport os.path\nimport math as m\nfrom d2l import torch as d2l",),
        ("from collections import OrderedDict, deque\nimport json",),
        (f"def f(x):  #@save\n    {inside}\n    return deque([os.path.join(x, 'y')])",),
    )
    assert got["f"]("x")[0] == "x/y"
    imports = [x for x in got["text"].splitlines() if x.startswith(("import", "from"))]
    assert imports == [
        "from __future__ import annotations",
        "import os",
        "import os.path",
        "import sys",  # for d2lbook, whose libraries name themselves d2l
        "from collections import deque",
    ]


def test_the_first_iterable_of_a_comprehension_is_from_outside(lib):
    got = lib(("import string\nx = [string for string in string.digits]  #@save",))
    assert got["x"][0] == "0"


def test_the_names_of_a_marked_import_are_names_of_the_library(lib):
    got = lib(
        ("from math import (  #@save\n    floor,\n    sqrt as root)\nimport json",),
        ("def f(x):  #@save\n    return d2l.root(x)\nd2l.floor(1.5)",),
    )
    assert got["floor"](1.5) == 1 and got["f"](4) == 2
    assert definitions(got["text"]) == {"f"}
    assert not {"json", "sqrt"} & got.keys()


def test_all_has_the_names_that_cells_use_outside_of_the_library(lib):
    own = "def f():  #@save\n    return d2l.g()\ndef g():  #@save\n    return 1\ng()"
    other = "from math import floor, sqrt  #@save\nd2l.f()\nd2l.floor(d2l.missing)"
    assert lib((own,), (other,))["__all__"] == ["f", "floor"]


def test_all_also_has_the_public_names_of_the_configuration(make):
    book = make(("def f():  #@save\n    return 1\ndef g():  #@save\n    return 1",))
    book.config.library["public"] = "g\n h"
    assert '__all__ = [\n    "g"\n]' in package.generate(book, "pytorch")


def test_a_library_depends_on_the_names_that_cells_use(make):
    book = make(("def f():  #@save\n    return 1",), ("print(d2l.f())",))
    [*_, others] = package._sources(book, "pytorch")
    assert "d2l.f" in others
    path = book.root / "chapter/b.md"
    path.write_text(path.read_text().replace("d2l.f()", "f()"))
    [*_, others] = package._sources(read(book), "pytorch")
    assert "d2l" not in others


def test_d2l_can_name_an_imported_module(lib):
    got = lib(("import math\ndef f(math):  #@save\n    return d2l.math.sqrt(math)",))
    assert got["f"](4) == 2


def test_two_ways_to_import_one_object_agree(lib):
    use = "def f(x):  #@save\n    return path.basename(x)"
    got = lib(("import os.path as path",), ("from os import path", use))
    assert got["f"]("a/b") == "b"


# Aliases


def test_aliases_are_defined_in_the_library_and_replaced_in_cells(lib):
    got = lib(
        (
            "import math, operator\ndef f(x, y):  #@save\n"
            "    return d2l.sqrt(x) + d2l.count(y, 'a')",
        ),
        alias="Base = dict\ntwo = operator.index(2)",
        lib_name="math",
        simple_alias="sqrt(, power -> pow(, abs -> fabs",
        fluent_alias="count, top -> upper",
        args_alias="double(a) -> a * 2\nthird(a, n=3) -> a[n]",
    )
    assert got["f"](4, "aa") == 4
    assert 'return math.sqrt(x) + y.count("a")' in got["text"]
    assert got["sqrt"](9) == 3 and got["power"](2, 3) == 8 and got["abs"](-1) == 1
    assert got["top"]("a") == "A" and got["double"](4) == 8
    assert got["third"]("abcd") == "d" and got["third"]("abcd", n=1) == "b"
    assert got["two"] == 2
    assert "def double(a: Any) -> Any:" in got["text"]
    assert got["double"].__doc__ == "Return `a * 2`."
    assert definitions(got["text"]) == {
        *("Base", "abs", "count", "double", "f", "power", "sqrt", "third", "top", "two")
    }


def test_an_alias_may_be_a_base_or_a_default(lib):
    got = lib(
        ("class A(d2l.Base):  #@save\n    pass",),
        ("def f(x, how=d2l.top):  #@save\n    return how(x)",),
        alias="Base = dict",
        lib_name="str",
        fluent_alias="top -> upper",
    )
    assert got["A"](x=1) == {"x": 1}
    assert got["f"]("a") == "A"


# Mistakes

STUB = "class A:  #@save\n    pass\n"
MISTAKES = {
    "no such class": (
        ["@d2l.add_to_class(A)  #@save\ndef f(self):\n    pass"],
        "a.md:6: class 'A' is not saved before its method 'f'",
    ),
    "an unsaved class": (
        ["class A:\n    pass\n\n@d2l.add_to_class(A)  #@save\ndef f(self):\n    pass"],
        "a.md:9: class 'A' is not saved",
    ),
    "no class at all": (
        [STUB + "@d2l.add_to_class(type(1))  #@save\ndef f(self):\n    pass"],
        "a.md:8: add_to_class takes the name of a saved class",
    ),
    "half of a property": (
        [
            "class A:  #@save\n    @property\n    def x(self): return 1\n"
            "    @x.setter\n    def x(self, y): pass\n"
            "@d2l.add_to_class(A)  #@save\ndef x(self): return 2"
        ],
        "a.md:11: class 'A' defines 'x' twice",
    ),
    "a mark in a body": (
        ["x = 1\ndef f():\n    y = 1  #@save\n    return y"],
        "a.md:8: #@save inside a body",
    ),
    "a mark at the end of a body": (
        ["def f():\n    return 1\n    #@save\nx = 1"],
        "a.md:8: #@save inside a body",
    ),
    "a mark below the def line": (
        ["def f():\n    #@save\n    return 1"],
        "a.md:7: #@save inside a body",
    ),
    "a mark without a statement": (["x = 1\n#@save"], "a.md:7: #@save without a"),
    "a syntax error": (
        ["x = 1\ndef f(:  #@save\n    pass"],
        "a.md:7: not valid Python",
    ),
    "a command": (["def f():  #@save\n    !ls"], "a.md:7: not valid Python"),
    "an undefined name": (
        ["x = 1\ndef f():  #@save\n    return x"],
        "a.md:8: name 'x' is not defined in the library; save it or import it",
    ),
    "an undefined name in a hint": (
        ["def f(x: 'Tensor'):  #@save\n    return x"],
        "a.md:6: name 'Tensor' is not defined",
    ),
    "an unsaved d2l name": (
        ["def f():  #@save\n    return d2l.foo(1)"],
        "a.md:7: d2l.foo is used but not saved",
    ),
    "d2l itself": (["x = d2l  #@save"], "a.md:6: d2l can only be used to"),
    "a d2l name set": (
        ["def f():  #@save\n    d2l.f = 1"],
        "a.md:7: d2l can only be used to read a name",
    ),
    "a part replaced": (
        ["a, b = 1, 2  #@save\na = 3  #@save"],
        "a.md:7: replaces only a part of the statement at chapter/a.md:6 (a, b)",
    ),
    "a class replaced by a function": (
        ["class A:  #@save\n    pass", "def A():  #@save\n    pass"],
        "a.md:12: function A would replace the class of that name saved at"
        " chapter/a.md:6; rename one of them, or remove its #@save",
    ),
    "a function replaced by a class": (
        ["def f():  #@save\n    pass\nclass f:  #@save\n    pass"],
        "a.md:8: class f would replace the function of that name saved at",
    ),
    "a function replaced by a value": (
        ["def f():  #@save\n    pass\nf = 1  #@save"],
        "a.md:8: assignment f would replace the function of that name saved at",
    ),
    "made from itself": (
        ["x = 1  #@save\nx = x + 1  #@save"],
        "a.md:7: 'x' is needed at import before it is defined",
    ),
    "a change": (
        ["x = 1  #@save\nx += 1  #@save"],
        "a.md:7: this statement cannot be saved; put it into a function",
    ),
    "a loop": (
        ["for i in range(3):  #@save\n    print(i)"],
        "a.md:6: this statement cannot be saved; put it into a function",
    ),
    "a circle": (
        ["x = 1  #@save\ny = x  #@save\nx = y  #@save"],
        "a.md:8: 'x' is needed at import before it is defined",
    ),
    "saved and imported": (
        ["import math", "math = 1  #@save\ndef f():  #@save\n    return math.pi"],
        "a.md:13: 'math' is saved at chapter/a.md:11 but imported at chapter/a.md:6",
    ),
    "a builtin redefined": (
        ["def sum(x):  #@save\n    return 1", "def f(x):  #@save\n    return sum(x)"],
        "a.md:13: 'sum' is Python's own here, but chapter/a.md:6 defines",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_broken_block_is_reported_with_its_line(error_message, name):
    cells, message = MISTAKES[name]
    assert error_message(tuple(cells)).startswith(f"chapter/{message}")


def test_conflicting_imports_are_reported(error_message):
    use = "def f():  #@save\n    return time()"
    message = error_message(("import time",), ("from time import time", use))
    assert message == (
        "chapter/b.md:6: 'time' is `from time import time` here, but `import time`"
        " at chapter/a.md:6; import it the same way"
    )


def test_unused_import_conflicts_are_ignored(lib):
    lib(("import time",), ("from time import time",), ("x = 1  #@save",))


ALIASES = {
    "twice": (
        "x = 1",
        {"alias": "top = 1", "fluent_alias": "top -> upper"},
        "config.ini [library-pytorch]: 'top' is already an alias in config.ini",
    ),
    "saved": (
        "def top(x):  #@save\n    return 1",
        {"fluent_alias": "top -> upper"},
        "chapter/a.md:6: 'top' is already an alias in config.ini [library-pytorch]",
    ),
    "without d2l": (
        "def f(x):  #@save\n    return top(x)",
        {"fluent_alias": "top -> upper"},
        "chapter/a.md:7: 'top' is an alias in config.ini [library-pytorch]; write d2l",
    ),
    "of a builtin": (
        "def f(x):  #@save\n    return abs(x)",
        {"alias": "abs = max"},
        "chapter/a.md:7: 'abs' is Python's own here, but config.ini",
    ),
    "of a module that no cell imports": (
        "x = 1",
        {"lib_name": "torch", "simple_alias": "ones"},
        "config.ini [library-pytorch]: name 'torch' is not defined in the library",
    ),
    "broken": (
        "x = 1",
        {"args_alias": "size(a -> a.size"},
        "config.ini [library-pytorch]: 'def size(a:' is not valid Python",
    ),
}


@pytest.mark.parametrize("name", ALIASES)
def test_a_bad_alias_is_reported(error_message, name):
    source, aliases, message = ALIASES[name]
    assert error_message((source,), **aliases).startswith(message)


def test_an_error_below_branches_names_the_line_of_the_file(error_message):
    source = (
        "if tab.selected('jax'):\n    x = 1\n    y = 2\n"
        "if tab.selected('pytorch'):\n    def f():  #@save\n        return foo"
    )
    assert error_message(("z = 1", source)).startswith("chapter/a.md:16: name 'foo'")


# The files


def test_a_library_is_generated_again_if_its_sources_change(make, monkeypatch):
    book = make(("x = 1  #@save",))
    text = package.generated(book, "pytorch")
    monkeypatch.setattr(package, "generate", lambda book, tab: "another")
    assert package.generated(read(book), "pytorch") == text  # from the cache
    path = book.root / "chapter/a.md"
    for old, new, same in (
        ("# A", "Prose.\n\n# A", True),
        ("sec_a", "sec_b", False),
        ("x = 1", "x = 2", False),
    ):
        before = path.read_text()
        path.write_text(before.replace(old, new))
        assert (package.generated(read(book), "pytorch") == text) == same, old
        path.write_text(before)


def test_a_section_that_saves_nothing_leaves_a_sealed_file_as_it_is(make):
    book = make(("x = 1  #@save",), ("print(1)",))
    package.write(book)
    path = book.root / "chapter/b.md"
    path.write_text(section("c", "y = 2", "z = 3"))
    assert package.write(read(book)) == []
    path.write_text(section("c", "import os", "z = 3  #@save"))
    assert package.write(read(book)) == [book.root / "d2l/pytorch.py"]


def test_an_import_of_a_section_that_saves_counts_if_others_have_it_too(make):
    saving = "import os", "def f():  #@save\n    return os.sep"
    book = make(saving, ("import os\nimport posix as os",))
    before = [*package._sources(book, "pytorch")]
    path = book.root / "chapter/a.md"
    path.write_text(path.read_text().replace("import os", "import posix as os"))
    assert [*package._sources(read(book), "pytorch")] != before


def test_a_sealed_file_is_todays_library_unless_it_was_edited(make, monkeypatch):
    book = make(("x = 1  #@save",))
    package.write(book)
    file = book.root / "d2l/pytorch.py"
    text = file.read_text()
    monkeypatch.setattr(package, "_cached", lambda book, tab: "another")
    assert package.generated(read(book), "pytorch") == text
    for edited in (text.replace("x = 1", "x = 2"), text.replace("Generated from", "")):
        file.write_text(edited)
        assert package.generated(read(book), "pytorch") == "another"


def read(book):
    """Return the same book, read again with the same settings."""
    again = type(book)(book.root)
    del again.config.library["pytorch"]["lib_name"]
    return again


def test_a_cache_that_cannot_be_written_is_ignored(make):
    book = make(("x = 1  #@save",))
    (book.root / "_build").write_text("not a folder")
    assert "x = 1" in package.generated(book, "pytorch")


def test_a_tab_may_have_no_library(make):
    book = make(("x = 1  #@save",))
    assert package.generated(book, "none") == ""


def test_only_outdated_files_are_written_and_reported(make):
    book = make(("x = 1  #@save",))
    with pytest.raises(BookError, match="d2l/pytorch.py: differs from the cells"):
        package.check(book)
    written = [book.root / "d2l/__init__.py", book.root / "d2l/pytorch.py"]
    assert package.write(book) == written
    assert package.write(book) == []
    package.check(book)
    version = runpy.run_path(str(written[0]))
    assert version["__version__"] == "0.1"
    assert [p.name for p in written[1].parent.iterdir() if p.suffix != ".py"] == []


def test_a_broken_block_changes_no_file(make_book):
    good = section("a", "x = 1  #@save")
    book = make_book(tabs=("pytorch", "jax"), a=good)
    for tab in book.tabs:
        del book.config.library[tab]["lib_name"]
    package.write(book)
    path = Path(book.root / "chapter/a.md")
    path.write_text(
        good.replace("x = 1", "x = 2") + cell("def f(:  #@save\n    pass", "jax")
    )
    before = {p: p.read_bytes() for p in (book.root / "d2l").iterdir()}
    with pytest.raises(BookError, match="not valid Python"):
        package.write(type(book)(book.root))
    assert {p: p.read_bytes() for p in (book.root / "d2l").iterdir()} == before


def test_the_library_does_not_depend_on_where_it_is_generated(make, monkeypatch):
    uses = "import numpy as np\nimport torch\nx = np.array(torch.ones(1))  #@save"
    long = "long_name = (1000000, 2000000, 3000000, 4000000)  #@save"
    book = make((uses, long))
    first = package.generate(book, "pytorch")
    # Settings of ruff and modules with the names of imported ones have no effect.
    (book.root / "pyproject.toml").write_text("[tool.ruff]\nline-length = 20\n")
    (book.root / "d2l/torch.py").touch()
    assert package.generate(book, "pytorch") == first
    monkeypatch.chdir(book.root / "d2l")
    assert package.generate(book, "pytorch") == first
