"""Declarations for type checkers change nothing that runs."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from book.library.declarations import declared, undeclared
from book.library.saved import SavedStatement

ROOT = Path(__file__).resolve().parents[3]

TRAINER = '''\
class Trainer(Base):
    """Trains."""

    def __init__(self, epochs: int = 1, _own: int = 0, **settings: Any):
        self.save_hyperparameters(ignore=['settings'])
        apply_settings(self, settings)'''
PARTS = "d2l.Trainer.parts = d2l.Setting('parts', 1, 'Parts', '1, 2', d2l.is_count)"
EPOCHS = "Trainer.epochs = Setting('epochs', 1, 'Epochs', '1, 2', lambda n: n > 0)"
DATACLASS = "class Point(Base):\n    x: int\n    y: int = 0"


def block(code: str) -> SavedStatement:
    return SavedStatement(tuple((line, "a.md:1") for line in code.split("\n")), "A")


def codes(*sources: str) -> list[str]:
    return [found.code for found in declared([block(source) for source in sources])]


def as_run(code: str) -> str:
    """Return a statement without what is declared for type checkers."""
    statement = undeclared(ast.parse(code).body[0])
    assert statement is not None
    return ast.unparse(statement)


def test_a_class_declares_its_settings_and_what_it_keeps():
    keywords, trainer, *others = codes(TRAINER, PARTS, EPOCHS)
    assert others == [PARTS, EPOCHS]
    tree = ast.parse(trainer).body[0]
    assert isinstance(tree, ast.ClassDef) and ast.get_docstring(tree) == "Trains."
    assert [ast.unparse(part) for part in tree.body[1:3]] == [
        "epochs: Setting",
        "parts: Setting",
    ]
    assert "**settings: Unpack[_TrainerSettings]" in trainer
    namespace: dict = {}
    exec(f"from typing import Any, TypedDict\n{keywords}", namespace)
    assert namespace["_TrainerSettings"].__annotations__ == {"parts": int}


def test_arguments_that_are_kept_are_attributes():
    (code,) = codes(TRAINER)
    assert "    epochs: int\n" in code and "_own: int\n" not in code
    assert "    settings:" not in code and "**settings: Any" in code


def test_fields_of_a_dataclass_stay():
    assert codes(DATACLASS) == [DATACLASS]
    assert as_run(DATACLASS) == DATACLASS


def test_a_declared_class_runs_as_before():
    keywords, trainer, _ = codes(TRAINER, PARTS)
    assert undeclared(ast.parse(keywords).body[0]) is None
    assert as_run(TRAINER) == as_run(trainer) == ast.unparse(ast.parse(TRAINER))


READER = """
from d2l import {tab} as d2l

trainer = d2l.Trainer(max_epochs=3, accumulate=2)
trainer.accumulate = 4
print(trainer.precision, trainer.max_epochs, d2l.Digits(batch_size=3).batch_size + 1)
d2l.Trainer(acumulate=2)
d2l.Trainer(accumulate="two")
"""


@pytest.mark.parametrize("tab", ["torch", "mxnet", "jax", "tensorflow"])
def test_a_readers_type_checker_knows_the_settings(tab, tmp_path):
    (tmp_path / "reader.py").write_text(READER.format(tab=tab))
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--config-file=", "--no-incremental"),
            *("--ignore-missing-imports", "--follow-imports=silent", "reader.py"),
        ],
        cwd=tmp_path, env={"MYPYPATH": str(ROOT), "PATH": ""},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    errors = [line for line in done.stdout.splitlines() if "error:" in line]
    assert [line.split(": error: ")[0] for line in errors] == [
        "reader.py:7",
        "reader.py:8",
    ], done.stdout + done.stderr
    assert 'did you mean "accumulate"?' in errors[0] and 'expected "int"' in errors[1]
