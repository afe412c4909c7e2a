"""Progress shows on a terminal as a bar, and elsewhere as one line, if work is long."""

import io
import sys

import pytest

from book.base import progress
from book.base.cache import Cache
from book.base.progress import counted


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands still: its only item is the time in seconds."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def work(clock: list[float], items: int, seconds: float) -> None:
    for _ in counted(range(items), "making pages"):
        clock[0] += seconds


def test_long_work_gets_one_line_in_a_log(clock, capsys: pytest.CaptureFixture[str]):
    work(clock, items=20, seconds=0.2)
    assert capsys.readouterr() == ("", "making pages (20)\n")


@pytest.mark.parametrize("items, seconds", [(20, 0.01), (19, 10)])
def test_short_work_gets_none(
    clock, items: int, seconds: float, capsys: pytest.CaptureFixture[str]
):
    work(clock, items, seconds)
    assert capsys.readouterr() == ("", "")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_bar_that_leaves_nothing(
    clock, monkeypatch: pytest.MonkeyPatch
):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "DELAY", 0)
    for _ in counted(range(3), "making pages"):
        pass
    shown = terminal.getvalue()
    assert "making pages:   0%" in shown and "0/3" in shown and "\n" not in shown
    assert shown.rpartition("\r")[0].rpartition("\r")[2].strip() == ""


def test_work_on_all_processors_is_counted(
    tmp_path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(progress, "DELAY", -1)
    monkeypatch.setattr(progress, "MANY", 1)
    Cache(tmp_path / "new").fill(lambda item: item, range(4), "making pages")
    assert capsys.readouterr().err == "making pages (4)\n"
