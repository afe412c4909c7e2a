"""Benches refuse a wrong setting in one line, before they measure anything."""

import importlib
import sys

import pytest


@pytest.mark.parametrize(
    "bench, arguments, message",
    [
        ("trainer", ["--rounds", "x"], "ROUNDS: 'x' is not a positive integer"),
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
    module = importlib.import_module(f"benchmarks.{bench}")
    monkeypatch.setattr(sys, "argv", [bench, *arguments])
    assert module.main() == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: {message}")
