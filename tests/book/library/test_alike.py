"""Tests marked `shared` run in one framework: their code is the same in all four."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
LIBRARIES = ("torch", "jax", "mxnet", "tensorflow")
FILES = sorted((ROOT / "tests/d2l").glob("test_*.py"))


def definitions(library: str) -> dict[str, str]:
    """Return the code of each definition of a library, without comments.

    Of what it imports from a module of the package, that is the name of the module.
    """
    found: dict[str, str] = {}
    for node in ast.parse((ROOT / f"d2l/{library}.py").read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = ast.dump(node)
        elif isinstance(node, ast.ImportFrom) and f"{node.module}".startswith("d2l."):
            found |= {alias.name: f"from {node.module}" for alias in node.names}
    return found


def shared_code(file: Path) -> Iterator[ast.AST]:
    """Yield the code that is marked as shared: all of a file, or functions."""
    tree = ast.parse(file.read_text("utf-8"))
    marks = [node for node in tree.body if isinstance(node, ast.Assign)]
    if any("pytest.mark.shared" in ast.unparse(node) for node in marks):
        yield tree
        return
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            if "pytest.mark.shared" in map(ast.unparse, node.decorator_list):
                yield node


def names_of_library(code: ast.AST) -> Iterator[str]:
    """Yield each name that code takes from d2l."""
    for node in ast.walk(code):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id == "d2l":
                yield node.attr


TESTED = {
    file.stem: {name for code in shared_code(file) for name in names_of_library(code)}
    for file in FILES
}


@pytest.mark.parametrize("file", [file for file, names in TESTED.items() if names])
def test_the_code_of_shared_tests_is_the_same_in_all_libraries(file: str):
    first, *others = map(definitions, LIBRARIES)
    tested = TESTED[file] & set(first)
    assert tested
    different = [n for n in tested for other in others if other.get(n) != first[n]]
    assert different == []


def test_there_are_shared_tests():
    assert {"test_occupancy", "test_pipeline", "test_report"} <= {
        file for file, names in TESTED.items() if names
    }


# Names that `__all__` has in some tabs only: why, which tabs have them, which names.
DIFFERENCES = {
    "the tape of a step, and its operations, are recorded by other means": {
        "pytorch mxnet": "MemoryTape",
        "jax tensorflow": "memory_tape",
        "jax": "Operations",
        "pytorch mxnet jax": "OperationRecorder",
        "pytorch": "recorded_peak",
        "mxnet": "saved_bytes",
        "tensorflow": "memory_info needed_operations trace",
    },
    "JAX has the compiler that plans for other cards": {
        "jax": "Decoder gpu_compiler_command language_model_plan plan_memory",
    },
    "collectives are read in the text of a program, or counted in calls": {
        "jax": "array_bytes count_messages layout_program read_collectives",
        "pytorch jax": "count_collectives",
    },
    "JAX has no parameters outside of layers": {
        "pytorch mxnet tensorflow": "scratch_tensors",
        "mxnet": "all_arrays flatten trained_arrays",
    },
    "a checkpoint is saved by the tools of the framework": {
        "mxnet": "wait_for_checkpoints",
        "pytorch": "shard_writer",
        "jax": "read_arrays write_arrays",
    },
    "the framework has no activation checkpointing or 16 bits that would do": {
        "mxnet": "Checkpoint checkpoint",
        "jax": "compute_in lean_tanh",
        "tensorflow": "Recompute in_precision",
    },
    "kernels are written in Triton, or in CUDA": {
        "pytorch": "inner_loop interpret_kernel triton_code",
        "mxnet tensorflow": "compile_cuda simulate_kernel",
    },
    "a process learns its rank and its device in another way": {
        "jax": "device_group free_address",
        "mxnet": "group_environment new_key worker_store",
        "mxnet jax tensorflow": "rank_environment",
        "mxnet tensorflow": "free_ports",
        "tensorflow": "Device join_workers mirrored_strategy replica_id run_on send "
        "worker_rank",
    },
}


def public(library: str) -> set[str]:
    """Return the names in `__all__`."""
    for node in ast.parse((ROOT / f"d2l/{library}.py").read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
    raise AssertionError(f"{library} has no __all__")


def test_the_public_names_of_the_tabs_differ_only_for_a_reason():
    tabs = {
        library.replace("torch", "pytorch"): public(library) for library in LIBRARIES
    }
    explained = {
        name: set(where.split())
        for names in DIFFERENCES.values()
        for where, some in names.items()
        for name in some.split()
    }
    found = {
        name: having
        for name in set.union(*tabs.values())
        if (having := {tab for tab in tabs if name in tabs[tab]}) != set(tabs)
    }
    assert found == explained


@pytest.mark.parametrize(
    "file", sorted((ROOT / "chapter_gpus").glob("*.md")), ids=lambda file: file.stem
)
def test_a_cell_gives_numpy_one_name(file: Path):
    """That is `onp` where a cell of all tabs needs it, since MXNet has its own `np`."""
    cells = re.findall(r"^```\{\.python.*?^```", file.read_text("utf-8"), re.S | re.M)
    assert not [cell for cell in cells if cell.count("\nimport numpy as ") > 1]
