"""An error in a model names the shapes and the user's own line at its end.

`d2l/settings.py` finds this line.
"""

# The fixture d2l is a module, and mypy does not know its classes.
# mypy: disable-error-code="name-defined"

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Models whose shapes do not match, in one place each.
MODELS = """
import sys
import traceback

class Product(d2l.MLP):
    def forward(self, X):
        return d2l.matmul(super().forward(X), d2l.ones((3, 10)))

class Difference(d2l.MLP):
    def loss(self, *args):
        return (d2l.ones((4, 5)) - d2l.ones((4, 6))).mean()

class Training(d2l.MLP):
    def training_step(self, *args):
        return d2l.ones((4, 5)) + d2l.ones((4, 6))

class Validation(d2l.MLP):
    def validation_step(self, *args):
        self.plot('sum', d2l.ones((4, 5)) + d2l.ones((4, 6)), train=False)

class Calling(d2l.MLP):
    def training_step(self, *args):
        return helper(d2l.ones((4, 5)))

def helper(X):
    return X + d2l.ones((4, 6))

for model in (Product, Difference, Training, Validation, Calling):
    try:
        d2l.Trainer(max_epochs=1).fit(model(10, 8, 0.1), d2l.Digits())
    except Exception:
        print(model.__name__, traceback.format_exc(), sep="\\n", end="\\f")
"""
# The function that fails, a part of its line, and what does not match.
WRONG = {
    "Product": ("forward", "d2l.ones((3, 10))", "10", "3"),
    "Difference": ("loss", "- d2l.ones((4, 6))", "5", "6"),
    "Training": ("training_step", "+ d2l.ones((4, 6))", "5", "6"),
    "Validation": ("validation_step", "+ d2l.ones((4, 6))", "5", "6"),
    "Calling": ("helper", "return X + d2l.ones((4, 6))", "5", "6"),
}


def run(fw, folder, code):
    """Return what a program prints that uses the library as `d2l`."""
    program = folder / "program.py"
    program.write_text(f"from d2l import {fw.module} as d2l\n{code}")
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "MPLBACKEND": "Agg",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    command = [sys.executable, program.name]
    finished = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_the_last_ten_lines_of_a_traceback_name_the_shapes_and_the_line(fw, tmp_path):
    tracebacks = run(fw, tmp_path, MODELS).rstrip("\f").split("\f")
    assert len(tracebacks) == len(WRONG)
    for each in tracebacks:
        for step in ("train_step", "val_step"):  # a tracer's error is not shown too
            assert each.count(f"in {step}\n") <= 1, each
        name, *lines = each.strip().split("\n")
        function, code, *sizes = WRONG[name]
        *last, note = lines[-10:]
        assert re.fullmatch(rf"The error arose at line \d+ in {function}, `.*`", note)
        assert code in note
        shapes = [line for line in last if re.search("(?i)shape|size", line)]
        for n in sizes:
            assert re.search(rf"(?<!\d){n}(?!\d)", "\n".join(shapes)), last


def test_an_error_keeps_its_type_and_message(d2l):
    def fail():
        raise KeyError("a key")

    with pytest.raises(KeyError) as raised, d2l.locate_errors():
        fail()
    assert raised.value.args == ("a key",)
    [note] = raised.value.__notes__
    assert re.fullmatch(r"The error arose at line \d+ in fail, `raise K.*`", note)


def test_an_error_outside_of_the_users_code_names_no_line(d2l, fw):
    with pytest.raises(TypeError, match="train_dataloader") as raised:
        fw.fit(d2l.Trainer(max_epochs=1), d2l.MLP(10, 8, 0.1), None)
    assert not hasattr(raised.value, "__notes__")


def test_an_interrupt_has_no_note(d2l):
    with pytest.raises(KeyboardInterrupt) as raised, d2l.locate_errors():
        raise KeyboardInterrupt
    assert not hasattr(raised.value, "__notes__")


def test_a_program_in_a_folder_beside_the_library_is_the_users(d2l, monkeypatch):
    folder = str(Path(__file__).parent)
    monkeypatch.setattr(sys.modules["d2l"], "__path__", [folder[:-1]])
    with pytest.raises(ZeroDivisionError) as raised, d2l.locate_errors():
        raise ZeroDivisionError
    assert "raise ZeroDivisionError" in raised.value.__notes__[0]
