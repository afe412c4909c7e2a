"""Benches refuse a wrong setting in one line, before they measure anything."""

import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "bench, arguments, message",
    [
        ("build", ["--runs", "x"], "RUNS: 'x' is not a positive integer"),
        ("build", ["--runs", "0"], "RUNS: '0' is not a positive integer"),
        ("page", ["--runs", "-1"], "RUNS: '-1' is not a positive integer"),
        ("page", ["--vnu", ""], "VNU: '' is not a path"),
        ("trainer", ["--rounds", "0"], "ROUNDS: '0' is not a positive integer"),
        ("trainer", ["--gpus", "x"], "GPUS: 'x' is neither 1 nor 0"),
        ("trainer", ["--tab", " "], "TAB: ' ' contains no name"),
        (
            "trainer",
            ["--tab", "torch"],
            "TAB: unknown tab 'torch'; choose from pytorch, ",
        ),
        ("trainer", ["--python", ""], "PYTHON: '' is not a path"),
    ],
)
def test_a_wrong_setting_is_refused(
    bench: str,
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.syspath_prepend(ROOT / "tests/site")  # as the Makefile does
    module = importlib.import_module(f"benchmarks.{bench}")
    monkeypatch.setattr(sys, "argv", [bench, *arguments])
    assert module.main() == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: {message}")
