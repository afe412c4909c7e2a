"""Ranks in new interpreters: their results and errors, and how they are cleaned up.

The launcher is the same for all frameworks; `test_ranks.py` starts it through each.
"""

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from frameworks import HERE, ROOT

from d2l import launcher

pytestmark = pytest.mark.shared
PATH = os.pathsep.join([str(ROOT), str(HERE)])


@contextlib.contextmanager
def group(rank: int, size: int, address: str) -> Iterator[None]:
    """Act as a rank that knows its number; the last one starts late if asked to."""
    os.environ["RANK"] = f"{rank}"
    if address == "late" and rank == size - 1:
        time.sleep(100)
    yield


def launch(
    function: Callable, n: int, *args: Any, timeout: float = 60, address: str = ""
) -> list:
    environments = [os.environ | {"PYTHONPATH": PATH}] * n
    return launcher.run_ranks(group, (function, args), environments, timeout, address)


def rank() -> int:
    return int(os.environ["RANK"])


@pytest.fixture(autouse=True)
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Check after each test that it has left no process, folder or open file."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    me = psutil.Process()
    files, others = me.num_fds(), set(me.children())  # such as a compiler's workers
    yield
    assert set(me.children()) <= others and me.num_fds() <= files
    assert [p for p in tmp_path.iterdir() if p.name.startswith("tmp")] == []


def fail(failing: int, kind: str = "raise") -> None:
    """Fail in one of several ways in a rank; the other ones wait."""
    if rank() != failing:
        time.sleep(600)
    print("the last words", flush=True)
    if kind == "raise":
        raise LookupError("first\nsecond line")
    if kind == "exit":
        os._exit(3)
    os.kill(os.getpid(), getattr(signal, kind))


ENDS = {
    "raise": "raised LookupError: first",
    "exit": "ended with exit status 3 before it returned a result",
    "SIGKILL": "was killed by SIGKILL",
}


@pytest.mark.parametrize("kind", ENDS)
def test_the_end_of_a_rank_is_an_error_at_once(kind):
    start = time.monotonic()
    with pytest.raises(RuntimeError) as caught:
        launch(fail, 3, 1, kind)
    assert time.monotonic() - start < 20  # and not after the timeout
    assert str(caught.value) == f"rank 1 of 3 {ENDS[kind]}"
    (note,) = caught.value.__notes__
    assert ("in fail\n" in note) if kind == "raise" else note == "the last words"


@pytest.mark.parametrize("kind", ["raise", "SIGKILL"])
def test_the_first_cause_is_reported_when_the_others_follow(kind):
    def follow():
        if rank() == 2:
            time.sleep(0.1)
            fail(2, kind)
        raise OSError("gloo: Connection closed by the remote process")

    with pytest.raises(RuntimeError, match=f"rank 2 of 4 {ENDS[kind]}"):
        launch(follow, 4)


def test_a_rank_for_which_others_wait_too_long_is_named():
    def wait():
        if rank() == 1:
            time.sleep(600)
        raise OSError("gloo: Timed out after 30 s")

    with pytest.raises(TimeoutError) as caught:
        launch(wait, 3)
    text = "rank 1 of 3 did not take part in a collective operation; rank "
    assert str(caught.value).startswith(text)
    assert str(caught.value).endswith(" raised OSError: gloo: Timed out after 30 s")
    silent, *others = caught.value.__notes__
    assert silent.startswith("Rank 1:") and len(others) == 2
    assert all("in wait\n" in note for note in others)


def test_a_rank_whose_own_storage_is_slow_is_named_and_not_the_others():
    def read():
        if rank() == 1:
            raise TimeoutError("reading s3://bucket/shard-17 timed out")
        time.sleep(600)

    words = "rank 1 of 3 raised TimeoutError: reading s3://bucket/shard-17 timed out"
    with pytest.raises(RuntimeError, match=words):
        launch(read, 3)


def stop(stopped: int) -> None:
    """Stop in a rank; the other ones return."""
    if rank() == stopped:
        os.kill(os.getpid(), signal.SIGSTOP)


def test_a_rank_that_is_stopped_is_told_as_such():
    with pytest.raises(
        TimeoutError, match="no result from rank 1 of 2 within 1 s"
    ) as e:
        launch(stop, 2, 1, timeout=1)
    (note,) = e.value.__notes__
    assert note.splitlines() == [
        "Rank 1:",
        "stopped by a signal, such as SIGSTOP, and not continued",
    ]


def test_ranks_that_run_have_not_failed(tmp_path, monkeypatch):
    monkeypatch.setattr(launcher, "raise_first", pytest.fail)
    launcher.check_ranks(str(tmp_path), [SimpleNamespace(exitcode=None)], {})


@pytest.mark.parametrize(
    "text, follows",
    [
        ("[../gloo/transport/tcp/pair.cc:1] Connection reset by peer", True),
        ("ncclRemoteError: the remote process has ended", True),
        ("Gloo all-reduce failed: Timed out after 1800 s", True),
        ("NCCL: the operation timed out", True),
        ("[c10d] Timeout of a barrier", True),
        ("gloo: no such file", False),
        ("reading s3://bucket/shard-17 timed out", False),
        ("Connection reset by peer", False),
    ],
)
def test_an_error_that_names_another_rank_follows(tmp_path, text, follows):
    def fail():
        raise RuntimeError(text)

    launcher.write_outcome(str(tmp_path), 0, fail)
    outcome = launcher.read_outcome(str(tmp_path), 0)
    assert outcome and outcome[1].follows is follows


def test_a_result_that_cannot_be_sent_is_an_error_of_the_rank():
    with pytest.raises(RuntimeError, match="rank 0 of 1 raised TypeError: .*pickle"):
        launch(threading.Lock, 1)


def abort_or_wait() -> None:
    if rank() == 0:
        time.sleep(6)  # the other rank has started
        os.abort()
    time.sleep(600)


@pytest.mark.slow
def test_a_rank_that_aborts_shows_where_the_others_are(monkeypatch):
    """So does NCCL's watchdog end a rank that waits for one that does not come."""
    # Give ranks that other programs disturb 3 s instead of 0.3 s to write their lines.
    sleep = time.sleep
    monkeypatch.setattr(time, "sleep", lambda seconds: sleep(10 * seconds))
    with pytest.raises(RuntimeError, match="rank 0 of 2 was killed by SIGABRT") as e:
        launch(abort_or_wait, 2)
    assert "Rank 1:" in e.value.__notes__[-1]
    assert "in abort_or_wait" in e.value.__notes__[-1]


def test_the_start_of_ranks_has_a_limit(monkeypatch):
    seconds = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: 20 * seconds())
    with pytest.raises(TimeoutError, match="rank .*1 of 2 within 120 seconds") as e:
        launch(rank, 2, timeout=float("inf"), address="late")
    assert "Rank 1" in e.value.__notes__[-1]


def test_processes_of_ranks_end_with_them():
    pids = launch(lambda: subprocess.Popen(["sleep", "100"]).pid, 2)
    processes = [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]
    assert psutil.wait_procs(processes, timeout=50)[1] == []


def test_free_ports_are_different():
    ports = launcher.free_ports(20)
    assert ports == sorted(set(ports)) and len(ports) == 20
