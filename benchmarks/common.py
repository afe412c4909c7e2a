"""Shared parts of the benches: folders, progress, the machine, uv and ranges."""

import contextlib
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from book.base import environments
from book.runner import machine as machine_facts
from book.runner.errors import BookError

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "_build/bench"


@contextlib.contextmanager
def progress(name: str) -> Iterator[None]:
    """Report on stderr what is being done, and how long it took."""
    start = time.monotonic()
    print(f"{name} ...", end="", file=sys.stderr, flush=True)
    yield
    print(f" {time.monotonic() - start:.1f} s", file=sys.stderr, flush=True)


def machine() -> str:
    """Return the processor, the cores and the memory of this machine."""
    bound = hasattr(os, "sched_getaffinity")  # macOS binds no process to cores
    cores = len(os.sched_getaffinity(0)) if bound else os.cpu_count()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    processor = machine_facts.cpu_model() or platform.machine()
    return f"{processor}, {cores} cores, {memory:.0f} GiB"


def uv(*arguments: str | Path) -> None:
    """Run a command of uv; raise a `BookError` if it fails."""
    command = [*environments.uv_command(), "--quiet", *map(str, arguments)]
    settings = environments.uv_settings(os.environ)
    done = subprocess.run(command, env=settings, capture_output=True, text=True)
    if done.returncode:
        raise BookError(f"uv failed: {done.stderr.strip()[-300:]}")


def spread(values: Sequence[float], digits: int = 0) -> str:
    """Return the median, with the minimum and the maximum where they differ."""
    middle, low, high = (
        f"{value:.{digits}f}" for value in (median(values), min(values), max(values))
    )
    return middle if low == high else f"{middle} ({low} to {high})"
