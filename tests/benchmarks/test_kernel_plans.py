"""The stored plans of kernels are those of today's code, cards and compiler."""

import ast
import csv
import sys
import types

import pytest

from benchmarks import kernel_plans, plans

with kernel_plans.FILE.open(encoding="utf-8", newline="") as file:
    ROWS = list(csv.DictReader(file))
SECTION, SOLUTIONS = (f"{name}.md" for name in kernel_plans.SECTIONS)


def test_the_stored_plans_are_up_to_date():
    stored = {row["inputs"] for row in ROWS}
    assert stored == {kernel_plans.inputs_digest()}, "run make plans"


def test_each_plan_is_stored_once_and_has_all_columns():
    keys = [(row["call"], row["card"], row["digest"]) for row in ROWS]
    assert len(keys) == len(set(keys)) > 0
    assert set(ROWS[0]) == set(kernel_plans.COLUMNS)
    for row in ROWS:
        assert 0 < int(row["registers"]) <= 255
        assert int(row["stack"]) >= 0 and int(row["shared"]) >= 0
        for instruction in row["instructions"].split("; "):
            name, count = instruction.split(" x ")
            assert kernel_plans.KEPT.fullmatch(name) and int(count) > 0


@pytest.mark.parametrize(
    "name, old, new",
    [
        (SECTION, "E = jnp.exp(X - X.max())", "E = jnp.exp(X)"),  # a kernel
        (SECTION, "in_specs=[row], out_specs=row", "in_specs=[row, row]"),  # its grid
        (SECTION, "jax.ShapeDtypeStruct((4096, 64)", "jax.ShapeDtypeStruct((4096, 32)"),
        (SECTION, "compile_kernel(add, vector, vector", "compile_kernel(add, vector"),
        (SOLUTIONS, "for T in 32, 64, 128:", "for T in 32, 64:"),
        (SOLUTIONS, "E = jnp.exp(S - new[:, None])", "E = jnp.exp(S)"),
        ("d2l/jax.py", '"xla_gpu_autotune_level": 0', '"xla_gpu_autotune_level": 4'),
        ("d2l/jax.py", "CompilerParams(num_warps=num_warps)", "CompilerParams()"),
        ("d2l/cards.csv", "A100,capability,8.0", "A100,capability,8.6"),
        ("environments/plans.txt", "jax-cuda12-plugin==", "jax-cuda12-plugin==1"),
        (
            "environments/plans.txt",
            "nvidia-cuda-nvcc-cu12==",
            "nvidia-cuda-nvcc-cu12==1",
        ),
    ],
)
def test_what_plans_depend_on_makes_them_out_of_date(copy, name, old, new):
    before = kernel_plans.inputs_digest(copy.root)
    assert before == kernel_plans.inputs_digest()
    copy.replace(name, old, new)
    assert kernel_plans.inputs_digest(copy.root) != before


@pytest.mark.parametrize(
    "name, old, new",
    [
        (SECTION, "# Tiles", "# Many Tiles"),
        (
            SECTION,
            '"""Return the softmax of each row of a matrix."""',
            '"""Changed."""',
        ),
        (SECTION, "def plain_softmax(X)", "def naive_softmax(X)"),
        (SOLUTIONS, "def long_softmax_kernel(x", "def longer_softmax_kernel(x"),
        (SECTION, "tl.program_id", "tl.number"),  # PyTorch's kernels
        (SECTION, "for T in 16, 32, 64, 128:", "for T in 16, 32:"),  # counts traffic
        ("d2l/jax.py", "class SGD", "class Descent"),
        ("d2l/cards.csv", "T4,blocks,16", "T4,blocks,15"),
    ],
)
def test_other_changes_leave_plans_up_to_date(copy, name, old, new):
    copy.replace(name, old, new)
    assert kernel_plans.inputs_digest(copy.root) == kernel_plans.inputs_digest()


SMALL = """# Small

```{.python .input}
%%tab all
import math
from functools import partial as bound
SIZE = 2
print(SIZE)
```

```{.python .input}
%%tab jax
def kernel(x):
    \"""Return twice x.\"""
    size = math.pi
    return [helper(y.other) for y in x]

def helper(x):
    return x * SIZE

def unused(x):
    return compile_kernels(x)
```

```{.python .input}
%%tab pytorch
def kernel(x):
    pass
```

```{.python .input}
%%tab jax
other = size = 4
for name in 'a', 'b':
    plan = d2l.compile_kernel(kernel, name)
for name in 'c', 'd':
    print(name)
plan = d2l.compile_kernel(kernel, name='e')
```
"""


def test_the_compiling_code_is_what_calls_of_the_compiler_need(tmp_path):
    path = tmp_path / SECTION
    path.parent.mkdir()
    path.write_text(SMALL)
    name = kernel_plans.SECTIONS[0]
    code = [ast.unparse(node) for node in kernel_plans.compiling_code(name, tmp_path)]
    assert code == [
        "import math",
        "SIZE = 2",
        "def kernel(x):\n    size = math.pi\n    return [helper(y.other) for y in x]",
        "def helper(x):\n    return x * SIZE",
        "for name in ('a', 'b'):\n    plan = d2l.compile_kernel(kernel, name)",
        "plan = d2l.compile_kernel(kernel, name='e')",
    ]


def test_a_table_is_written_whole_or_not_at_all(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(plans, "ROOT", tmp_path)
    path = tmp_path / "plans.csv"
    plans.write_table(path, ["a", "b"], [{"a": 1, "b": 2}])
    assert path.read_text() == "a,b\n1,2\n"
    assert capsys.readouterr().err == "plans.csv\n"
    with pytest.raises(ValueError, match="'c'"):
        plans.write_table(path, ["a", "b"], [{"a": 3, "b": 4}, {"c": 5}])
    assert path.read_text() == "a,b\n1,2\n"


def test_without_the_compiler_there_is_one_line_and_no_new_file(monkeypatch):
    def compile_only_devices(card):
        raise ModuleNotFoundError("no compiler")

    library = types.ModuleType("jax")
    library.compile_only_devices = compile_only_devices  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "d2l.jax", library)
    monkeypatch.setattr("d2l.jax", library, raising=False)
    monkeypatch.setattr(plans, "write_table", lambda *_: pytest.fail("written"))
    for variable in "JAX_PLATFORMS", "MPLBACKEND":  # main sets them
        monkeypatch.setenv(variable, "")
    with pytest.raises(SystemExit, match="^error: no compiler$"):
        kernel_plans.main()
