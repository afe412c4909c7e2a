"""The bar that a terminal shows while the trainer works."""

# The fixture d2l is a module, and mypy does not know its classes.
# mypy: disable-error-code="name-defined"

import contextlib
import os
import re
import sys
import termios

import pytest

from d2l import plots


@pytest.fixture
def screen(monkeypatch):
    """Call a function in a terminal, and return what its screen shows."""

    def run(function):
        screen, line = os.openpty()
        termios.tcsetwinsize(line, (24, 120))
        shown = b""
        os.set_blocking(screen, False)
        with os.fdopen(line, "w") as stream, monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", stream)
            function()
            stream.flush()
            with contextlib.suppress(BlockingIOError):
                while True:  # a read returns a part of the text
                    shown += os.read(screen, 1 << 16)
        os.close(screen)
        return shown.decode().strip()

    return run


@pytest.fixture
def clock(monkeypatch):
    """The seconds that the bar believes to have passed, in a list."""
    now = [0.0]
    monkeypatch.setattr("tqdm.std.time", lambda: now[0])
    return now


def fit(d2l, fw, clock, pause):
    """Train for two epochs of four minibatches, each of which takes `pause` seconds."""

    class Slow(d2l.Trainer):
        def prepare_batch(self, batch):
            clock[0] += pause
            return super().prepare_batch(batch)

    data = d2l.SyntheticRegressionData(fw.tensor([2.0, -3.4]), 4.2, 0.01, 128, 32)
    fw.fit(Slow(max_epochs=2), d2l.LinearRegression(lr=0.1), data)


def test_a_terminal_shows_how_much_of_a_long_run_is_done(d2l, fw, screen, clock):
    bars = screen(lambda: fit(d2l, fw, clock, pause=0.2)).split("\r")
    percent = [int(re.findall(r"(\d+)%", bar)[0]) for bar in bars]
    assert percent == sorted(percent) and percent[-1] == 100
    assert 0 < percent[0] < 100
    last = bars[-1]
    assert last.startswith("LinearRegression: 100%")
    assert re.search(r"\d\d:\d\d<00:00, train_loss=[\d.]+, val_loss=[\d.]+$", last)


def test_a_terminal_shows_no_bar_for_a_short_run(d2l, fw, screen, clock):
    assert screen(lambda: fit(d2l, fw, clock, pause=0)) == ""


def test_a_notebook_has_its_board_and_no_bar(d2l, fw, screen, clock, monkeypatch):
    monkeypatch.setattr(plots, "in_notebook", lambda: True)
    monkeypatch.setattr(d2l.ProgressBoard, "publish", lambda self: None)
    assert screen(lambda: fit(d2l, fw, clock, pause=0.15)) == ""


def test_without_tqdm_a_terminal_shows_nothing(d2l, fw, screen, clock, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert screen(lambda: fit(d2l, fw, clock, pause=0.15)) == ""


def test_output_that_no_one_watches_has_no_bar(d2l, fw, clock, capfd):
    fit(d2l, fw, clock, pause=0.15)
    assert "LinearRegression" not in capfd.readouterr().err
