"""Starts a process for each rank, collects the results, and leaves nothing behind.

A rank joins its group, calls a function, and writes the result or the error to a file.
The library `cloudpickle` sends the function and its arguments to a new interpreter, so
both may be those of a notebook. A thread of such a rank reads the standard input, which
closes when the process that started the rank ends; then the rank ends, too.

When a rank is killed, other ranks may fail, too, and their errors can arrive first. So
the caller first looks for a rank that has ended. Only if there is none, it reports the
error that arose first, and one that follows from another rank's end comes last. If a
rank has waited too long, the error names the ranks that did not come, and shows where.
"""

import contextlib
import faulthandler
import hashlib
import os
import pickle
import re
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cloudpickle

# In the text of an error of a group: another rank has not come, or has closed its
# connections.
LATE = re.compile("[Tt]imed out|[Tt]imeout")
FOLLOWS = re.compile(f"Connection|remote process|{LATE.pattern}")
# Who raises such an error: libraries by text, packages by the type or by the last line.
LIBRARIES = re.compile("gloo|nccl|c10d", re.IGNORECASE)
PACKAGES = re.compile(r"(jax|jaxlib|tensorflow|mxnet|torch[./]distributed)\b")


# In a rank

caller: Any = None  # the pipe to the process that has started this one


@dataclass(order=True)
class RankError:
    """An error of a rank; the smallest of several is the first cause."""

    follows: bool  # from the end of another rank
    seconds: float  # on the clock of the machine
    rank: int
    text: str
    trace: str


def write_outcome(
    folder: str, rank: int, function: Callable, dumps: Callable = cloudpickle.dumps
) -> None:
    """Call a function, and write (result, None) or (None, `RankError`) to a file.

    The name of the file is the rank. `dumps` turns the outcome into bytes.
    """
    try:
        outcome = dumps((function(), None))
    except BaseException as error:
        text = f"{type(error).__name__}: {error}".strip().split("\n")[0]
        follows = bool(FOLLOWS.search(text)) and of_group(error)
        details = follows, time.monotonic(), rank, text, traceback.format_exc()
        outcome = pickle.dumps((None, RankError(*details)))
    draft = Path(folder, f"{rank}.draft")
    draft.write_bytes(outcome)
    draft.rename(draft.with_name(f"{rank}"))


def of_group(error: BaseException) -> bool:
    """Return whether an error arose where a rank works with others.

    A rank's own storage or loader can also time out or lose its connection.
    """
    cause = error.__cause__
    if LIBRARIES.search(f"{error}") or (cause and of_group(cause)):
        return True
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1].filename.rpartition("site-packages/")[2] if frames else ""
    return any(map(PACKAGES.match, (type(error).__module__, last)))


def run_rank(folder: str, rank: int, size: int, address: str) -> None:
    """Be a rank of a group in a new interpreter, until the launcher ends.

    The function in the file `group` returns the context in which this process is a
    rank; the file `call` has the function to call and its arguments.
    """

    def call() -> Any:
        group = cloudpickle.loads(Path(folder, "group").read_bytes())
        with group(rank, size, address):
            Path(folder, f"{rank}.ready").touch()
            function, args = cloudpickle.loads(Path(folder, "call").read_bytes())
            return function(*args)

    waiting = threading.Thread(target=end_with_launcher)
    waiting.start()
    faulthandler.register(signal.SIGUSR1, all_threads=False)
    write_outcome(folder, rank, call)
    waiting.join()


def end_with_launcher() -> None:
    """End this process as soon as the process that started it has ended."""
    sys.stdin.read()
    os._exit(0)


def first_other(values: Sequence) -> int | None:
    """Return the first rank whose value differs from that of rank 0, or None."""
    others = (rank for rank, value in enumerate(values) if value != values[0])
    return next(others, None)


def fingerprint(value: Any) -> str:
    """Return a digest of lists, numbers and arrays of NumPy, the same in all ranks."""
    return hashlib.sha256(pickle.dumps(value)).hexdigest()


# In the launcher


def run_ranks(
    group: Callable,
    call: tuple,
    environments: Sequence[dict],
    timeout: float,
    address: str = "",
) -> list:
    """Return what a function returns in a rank for each of the environments.

    `call` is the function and the tuple of its arguments; it is called within
    `group(rank, size, address)`. Raises the errors of `wait_for_ranks`.
    """
    processes: list = []
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "group").write_bytes(cloudpickle.dumps(group))
        Path(folder, "call").write_bytes(cloudpickle.dumps(call))
        try:
            for rank, environment in enumerate(environments):
                arguments = folder, rank, len(environments), address
                code = f"from d2l import launcher; launcher.run_rank{arguments}"
                with open(Path(folder, f"{rank}.log"), "wb") as log:
                    processes.append(start_process(code, environment, log))
            return wait_for_ranks(folder, processes, timeout)
        finally:
            for process in processes:
                end_process(process)


def start_process(code: str, environment: dict, log: Any) -> subprocess.Popen:
    """Start an interpreter that runs `code` and writes to the open file `log`."""
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=log,
        env=environment,
        start_new_session=True,
    )


def end_process(process: subprocess.Popen) -> None:
    """End a process with all processes that it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()  # closes its input


def wait_for_ranks(
    folder: str,
    processes: Sequence,
    timeout: float,
    listen: Callable[[], Any] = lambda: None,
) -> list:
    """Return the results of all ranks, by rank; call `listen` again and again.

    Raises RuntimeError if a rank has raised an error or has ended, and TimeoutError if
    a rank has no result `timeout` seconds after all ranks have started. They must have
    started within min(timeout, 60) + 60 seconds.
    """
    n, ready = len(processes), False
    limit = min(timeout, 60) + 60  # for the start
    deadline = time.monotonic() + limit
    results: dict[int, Any] = {}
    while len(results) < n:
        time.sleep(0.02)
        listen()
        check_ranks(folder, processes, results)
        if not ready and len(list(Path(folder).glob("*.ready"))) == n:
            ready, limit, deadline = True, timeout, time.monotonic() + timeout
        if time.monotonic() > deadline:
            silent = [rank for rank in range(n) if rank not in results]
            raise rank_error(
                TimeoutError,
                f"no result from rank {', '.join(map(str, silent))} of {n} within "
                f"{limit:g} seconds; usually a rank waits for a collective operation "
                "that another rank does not call",
                silent_ranks(folder, processes, silent),
            )
    listen()
    return [results[rank] for rank in range(n)]


def check_ranks(folder: str, processes: Sequence, results: dict) -> None:
    """Add the results of the ranks that have finished to `results`.

    Raises RuntimeError if a rank has raised an error or has ended.
    """
    failed = False
    for rank, process in enumerate(processes):
        ended = exit_status(process) is not None  # before the look at its file
        if rank not in results:
            outcome = read_outcome(folder, rank)
            failed |= ended if outcome is None else outcome[1] is not None
            if outcome and not outcome[1]:
                results[rank] = outcome[0]
    if failed:
        raise_first(folder, processes)


def raise_first(folder: str, processes: Sequence) -> None:
    """Raise an error for a rank that has ended, or else the error that arose first."""
    n, patience = len(processes), time.monotonic() + 2
    while True:
        time.sleep(0.2)  # the end of another rank may be the reason
        outcomes = {rank: read_outcome(folder, rank) for rank in range(n)}
        for rank, outcome in outcomes.items():
            status = exit_status(processes[rank])
            if status is not None and outcome is None:
                text = f"rank {rank} of {n} {describe_end(status)}"
                notes = [rank_log(folder, rank)]
                if status == -signal.SIGABRT:  # NCCL ends a rank that waits too long
                    alive = [r for r in range(n) if exit_status(processes[r]) is None]
                    notes += silent_ranks(folder, processes, alive)
                raise rank_error(RuntimeError, text, notes)
        errors = [o[1] for o in outcomes.values() if o and o[1]]
        if not errors:
            return  # a rank ended just after it had written its result
        first = min(errors)
        if not first.follows or time.monotonic() > patience:
            if first.follows and LATE.search(first.text):
                raise_late(folder, processes, outcomes)
            text = f"rank {first.rank} of {n} raised {first.text}"
            raise rank_error(RuntimeError, text, [f"Rank {first.rank}: {first.trace}"])


def raise_late(folder: str, processes: Sequence, outcomes: dict) -> None:
    """Raise TimeoutError for the ranks for which others have waited too long."""
    errors = [outcome[1] for outcome in outcomes.values() if outcome and outcome[1]]
    late = sorted(set(outcomes) - {error.rank for error in errors})
    if not late:
        return  # all have waited, for different operations
    silent = [rank for rank in late if not outcomes[rank]]  # others have returned
    first = min(errors)
    text = (
        f"rank {', '.join(map(str, late))} of {len(outcomes)} did not take part in a "
        f"collective operation; rank {first.rank} raised {first.text}"
    )
    traces = [f"Rank {error.rank}: {error.trace}" for error in errors]
    places = silent_ranks(folder, processes, silent)
    raise rank_error(TimeoutError, text, [*places, *traces])


def read_outcome(folder: str, rank: int) -> tuple | None:
    """Return the outcome that a rank has written, or None if it has not."""
    path = Path(folder, f"{rank}")
    return cloudpickle.loads(path.read_bytes()) if path.exists() else None


def exit_status(process: Any) -> int | None:
    """Return the exit status of a process, or None while it runs."""
    if isinstance(process, subprocess.Popen):
        return process.poll()
    return process.exitcode


def describe_end(code: int) -> str:
    """Return how a process ended, from its exit status."""
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"ended with exit status {code} before it returned a result"


def rank_error(kind: type, text: str, notes: Iterable[str]) -> Exception:
    """Return an error, with the notes that are not empty."""
    error = kind(text)
    for note in filter(str.strip, notes):
        error.add_note(note.rstrip())
    return error


def rank_log(folder: str, rank: int, lines: int = 20) -> str:
    """Return the last lines in the file to which a rank prints."""
    path = Path(folder, f"{rank}.log")
    text = path.read_text(errors="replace") if path.exists() else ""
    return "\n".join(text.splitlines()[-lines:])


def is_stopped(pid: int) -> bool:
    """Return whether a process is stopped by a signal, if the system tells."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text()
    except OSError:  # this system has no such files, or the process has ended
        return False
    return state.rpartition(")")[2].split()[0] in ("T", "t")


def silent_ranks(folder: str, processes: Sequence, silent: Sequence[int]) -> list[str]:
    """Return where in the user's own code each silent rank waits."""
    paths = *sysconfig.get_paths().values(), __file__
    libraries = tuple(f'  File "{path}' for path in paths)
    for rank in silent:
        os.kill(processes[rank].pid, signal.SIGUSR1)
    time.sleep(0.3)
    notes = []
    for rank in silent:
        log = rank_log(folder, rank, 100) or "not started yet"
        if is_stopped(processes[rank].pid):
            log = "stopped by a signal, such as SIGSTOP, and not continued"
        own = [line for line in log.splitlines() if not line.startswith(libraries)]
        notes.append("\n".join([f"Rank {rank}:", *own]))
    return notes


def free_ports(n: int) -> list[int]:
    """Return `n` different ports of this machine that no program uses, sorted."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(n)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return sorted(each.getsockname()[1] for each in sockets)
