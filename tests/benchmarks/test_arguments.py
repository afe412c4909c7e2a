"""Benches report a mistake or a failure in one line, before they measure anything."""

import importlib
import sys
from pathlib import Path

import pytest

FAILING = "#!/bin/sh\necho 'ImportError: no torch' >&2\nexit 1"
NO_PYTHON = "no/python cannot be started: No such file or directory"
ONE_PYTHON = "PYTHON: one Python has one framework; add TAB=, such as TAB=pytorch"


@pytest.mark.parametrize(
    "bench, arguments, message",
    [
        ("trainer", "--rounds=x", "ROUNDS: 'x' is not a positive integer"),
        ("trainer", "--rounds=0", "ROUNDS: '0' is not a positive integer"),
        ("trainer", "--gpus=x", "GPUS: 'x' is neither 1 nor 0"),
        ("trainer", "--tab=", "TAB: '' contains no name"),
        ("trainer", "--tab=torch", "TAB: unknown tab 'torch'; choose from pytorch, "),
        ("trainer", "--python=", "PYTHON: '' is not a path"),
        ("kernels", "--python=python", ONE_PYTHON),
        ("kernels", "--tab=x", "TAB: no kernels for 'x'; choose from pytorch, mxnet"),
        ("kernels", "--tab=jax --python=no/python", NO_PYTHON),
        ("kernels", "--tab=jax --python=FAILING", "the kernels of jax failed: Import"),
        ("scaling", "--gpus=1", "GPUS: one GPU has nothing to scale to; use 2 or more"),
        ("scaling", "--python=no/python", NO_PYTHON),
        ("scaling", "--python=FAILING", "the measurement of the scaling failed: Impo"),
    ],
)
def test_a_mistake_gets_one_line(
    bench: str,
    arguments: str,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
):
    python = tmp_path / "python"
    python.write_text(FAILING)
    python.chmod(0o755)
    module = importlib.import_module(f"benchmarks.{bench}")
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    given = arguments.replace("FAILING", str(python)).split()
    monkeypatch.setattr(sys, "argv", [bench, *given])
    assert module.main() == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: {message}")
