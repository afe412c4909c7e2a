"""Ranks in new interpreters: results, errors, ends, hangs, and that nothing is left.

The launcher is the same for all frameworks; `test_ranks.py` starts it through each.
"""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
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
    os.environ.update(RANK=f"{rank}", SIZE=f"{size}")
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


@pytest.mark.parametrize("n", [1, 2, 5])
def test_results_come_by_rank(n):
    results = launch(lambda x: (rank(), os.environ["SIZE"], n * x), n, 3)
    assert results == [(i, f"{n}", 3 * n) for i in range(n)]
    assert "RANK" not in os.environ


def test_results_larger_than_a_pipe():
    assert [len(x) for x in launch(lambda: bytes(10**7), 2)] == [10**7] * 2


def test_a_rank_can_start_processes():
    command = [sys.executable, "-c", "exit(3)"]
    assert launch(lambda: subprocess.run(command).returncode, 1) == [3]


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
    "SIGTERM": "was killed by SIGTERM",
}


def error_of(kind: str, seconds: float = 20) -> BaseException:
    """Return the error of a job whose rank 1 fails; the others do not hold it up."""
    start = time.monotonic()
    with pytest.raises(RuntimeError) as caught:
        launch(fail, 3, 1, kind)
    assert str(caught.value) == f"rank 1 of 3 {ENDS[kind]}"
    assert time.monotonic() - start < seconds  # and not after the timeout
    return caught.value


@pytest.mark.parametrize("kind", ENDS)
def test_the_end_of_a_rank_is_an_error_at_once(kind):
    (note,) = error_of(kind).__notes__
    assert ("in fail\n" in note) if kind == "raise" else note == "the last words"


def test_errors_of_ranks_in_two_jobs_at_once():
    with ThreadPoolExecutor() as pool:
        pool.map(lambda kind: error_of(kind, 50), ["raise", "SIGKILL"])


@pytest.mark.parametrize("kind", ["raise", "SIGKILL"])
def test_the_first_cause_is_reported_when_the_others_follow(kind):
    def follow():
        if rank() == 2:
            time.sleep(0.1)
            fail(2, kind)
        raise OSError("Connection closed by the remote process")

    with pytest.raises(RuntimeError, match=f"rank 2 of 4 {ENDS[kind]}"):
        launch(follow, 4)


def test_a_result_that_cannot_be_sent_is_an_error_of_the_rank():
    with pytest.raises(RuntimeError, match="rank 0 of 1 raised TypeError: .*pickle"):
        launch(threading.Lock, 1)


def wait_in_vain() -> None:
    if rank() != 1:
        time.sleep(600)


def test_a_hang_ends_with_the_ranks_and_the_lines_that_wait(monkeypatch):
    # Give ranks that other programs disturb 3 s instead of 0.3 s to write their lines.
    sleep = time.sleep
    monkeypatch.setattr(time, "sleep", lambda seconds: sleep(10 * seconds))
    start = time.monotonic()
    text = "no result from rank 0, 2 of 3 within 1 seconds; usually a rank waits"
    with pytest.raises(TimeoutError, match=text) as caught:
        launch(wait_in_vain, 3, timeout=1)
    notes = caught.value.__notes__
    assert [note.split(":")[0] for note in notes] == ["Rank 0", "Rank 2"]
    assert all("in wait_in_vain" in note for note in notes)
    assert not any(launcher.__file__ in note for note in notes)  # the user's own lines
    assert time.monotonic() - start < 40


def abort_or_wait() -> None:
    if rank() == 0:
        time.sleep(6)  # the other rank has started
        os.abort()
    wait_in_vain_elsewhere()


def wait_in_vain_elsewhere() -> None:
    time.sleep(600)


@pytest.mark.slow
def test_a_rank_that_aborts_shows_where_the_others_are(monkeypatch):
    """So does NCCL's watchdog end a rank that waits for one that does not come."""
    sleep = time.sleep  # as above
    monkeypatch.setattr(time, "sleep", lambda seconds: sleep(10 * seconds))
    with pytest.raises(RuntimeError, match="rank 0 of 2 was killed by SIGABRT") as e:
        launch(abort_or_wait, 2)
    assert "Rank 1:" in e.value.__notes__[-1]
    assert "in wait_in_vain_elsewhere" in e.value.__notes__[-1]


def test_the_start_of_ranks_has_a_limit(monkeypatch):
    seconds = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: 20 * seconds())
    with pytest.raises(TimeoutError, match="rank .*1 of 2 within 120 seconds") as e:
        launch(rank, 2, timeout=float("inf"), address="late")
    assert "Rank 1" in e.value.__notes__[-1]


def report_pids(folder: str, children: bool) -> None:
    """Write the numbers of this process and of a child into a folder; then hang."""
    pids = [os.getpid()]
    if children:
        pids.append(subprocess.Popen(["sleep", "100"]).pid)
    for pid in pids:
        Path(folder, f"{pid}").touch()
    time.sleep(100)


def wait_for_end(folder: Path) -> None:
    """Wait until all processes that are named in a folder have ended."""
    numbers = [int(path.name) for path in folder.iterdir()]
    processes = [psutil.Process(n) for n in numbers if psutil.pid_exists(n)]
    _, alive = psutil.wait_procs(processes, timeout=50)
    assert alive == []


def test_processes_of_ranks_end_with_them(tmp_path):
    folder = tmp_path / "pids"
    folder.mkdir()
    with pytest.raises(TimeoutError):
        launch(report_pids, 2, str(folder), True, timeout=3)
    assert len(list(folder.iterdir())) == 4
    wait_for_end(folder)


CALLER = """
import signal, sys, test_launcher as t
signal.signal(signal.SIGINT, signal.default_int_handler)
t.launch(t.report_pids, 2, sys.argv[1], len(sys.argv) > 2)
"""


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_the_end_of_the_caller_ends_the_ranks(tmp_path, sign):
    folder = tmp_path / "pids"
    folder.mkdir()
    children = ["too"] if sign == signal.SIGINT else []  # else only ranks notice it
    with subprocess.Popen(
        [sys.executable, "-c", CALLER, folder, *children],
        env=os.environ | {"PYTHONPATH": PATH},
        stderr=subprocess.PIPE,
    ) as caller:
        while len(list(folder.iterdir())) < 2 + 2 * len(children):
            time.sleep(0.05)
            assert caller.poll() is None
        caller.send_signal(sign)
        _, error = caller.communicate()
    assert sign == signal.SIGKILL or b"KeyboardInterrupt" in error
    wait_for_end(folder)


def test_free_ports_are_different():
    ports = launcher.free_ports(20)
    assert ports == sorted(set(ports)) and len(ports) == 20
