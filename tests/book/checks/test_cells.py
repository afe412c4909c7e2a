"""The cells of a tab use and define all names; null device and private modules."""

from collections.abc import Callable

import pytest

from book.checks import cells
from book.text.book import Book

CELL = "```{.python .input}\n%%tab jax\n"


def problems(make_book: Callable[..., Book], *codes: str) -> list[str]:
    text = "".join(f"{CELL}{code}\n```\n\n" for code in codes)
    return list(cells.problems(make_book(one=f"# One\n\n{text}")))


def test_cells_that_use_the_names_of_earlier_ones(make_book: Callable[..., Book]):
    assert problems(make_book, "!ls", "import os", "x = os.sep", "print(x)") == []


@pytest.mark.parametrize(
    "code, message",
    [
        ("import os", "`os` imported but unused"),
        ("from os import path, sep\nsep", "`os.path` imported but unused"),
        ("print(x)", "Undefined name `x`"),
    ],
)
def test_an_unused_or_undefined_name_is_found(
    make_book: Callable[..., Book], code: str, message: str
):
    (line,) = problems(make_book, "1 + 1", code)
    remedy = "in jax; remove or define the name"
    assert line == f"chapter/one.md:10: {message} {remedy}"


@pytest.mark.parametrize(
    "code",
    [
        "import os\nopen(os.devnull, 'w')",
        "print(filename='/dev/null')",
        "from os import devnull as nothing\nprint(nothing)",
    ],
)
def test_the_null_device_is_found(make_book: Callable[..., Book], code: str):
    (line,) = problems(make_book, f"\n{code}")
    row = 6 + code[: code.index("null")].count("\n")
    message = "a cell names the null device; use a temporary file"
    assert line == f"chapter/one.md:{row}: {message}"


@pytest.mark.parametrize(
    "code, module",
    [
        ("import jax._src.core\njax", "jax._src.core"),
        ("1\nfrom jax._src import core\ncore", "jax._src.core"),
        ("from jax import _src\n_src", "jax._src"),
        ("from torch._inductor.graph import f\nf", "torch._inductor.graph.f"),
    ],
)
def test_a_private_module_that_stops_the_rest_of_a_section_is_found(
    make_book: Callable[..., Book], code: str, module: str
):
    (line,) = problems(make_book, "1 + 1", code)
    row = 10 + code[: code.index(module.split(".")[0])].count("\n")
    assert line == (
        f"chapter/one.md:{row}: {module} is private, and other releases may lack it;"
        " import it below try, in the cell that needs it"
    )


@pytest.mark.parametrize(
    "code",
    [
        "try:\n    from jax._src import core\nexcept ImportError:\n    core = 1\ncore",
        "def f():\n    from jax._src import core\n    return core\nf",
        "from torch.utils._pytree import tree_map\ntree_map",
        "import mxnet._ffi\nmxnet",
        "from torch._subclasses.fake_tensor import f\nf",
        "from torch.distributed._functional_collectives import f\nf",
        "from torch.testing._internal.distributed.fake_pg import f\nf",
        "from torch.utils._python_dispatch import f\nf",
        "from . import sibling\nsibling",
    ],
)
def test_a_private_module_that_stops_nothing_else_is_in_order(
    make_book: Callable[..., Book], code: str
):
    assert problems(make_book, code) == []
