"""Runs a notebook as a reader does: without the book, and without a network."""

import functools
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

RUN_NOTEBOOK = Path(__file__).with_name("run_notebook.py")
# A new network has no interface but the loopback, which is down; ranks need it.
LOOPBACK = """
import fcntl, os, socket, struct, sys
with socket.socket() as any_socket:
    set_flags, up = 0x8914, 1
    fcntl.ioctl(any_socket, set_flags, struct.pack("16sh", b"lo", up))
os.execv(sys.argv[1], sys.argv[1:])
"""
NEW_NETWORK = ["unshare", "--map-root-user", "--net", sys.executable, "-c", LOOPBACK]
# Where a container allows no new network, downloads go to a port that nobody serves.
NOBODY = dict.fromkeys(["http_proxy", "https_proxy"], "http://127.0.0.1:9")
NO_DOWNLOADS = ["env", *(f"{k}={v}" for k, v in NOBODY.items()), "no_proxy=127.0.0.1"]


@functools.cache
def without_network() -> list[str]:
    """Return the words before a command that run it without a network."""
    try:
        trial = subprocess.run([*NEW_NETWORK, sys.executable, "-c", ""])
    except OSError:
        return NO_DOWNLOADS
    return NO_DOWNLOADS if trial.returncode else NEW_NETWORK


def run_notebook(
    file: Path,
    folder: Path,
    python: Path,
    env: Mapping[str, str],
    seconds: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run the notebook `file` in `folder`, and keep its outputs there.

    `python` runs its kernel, with the environment `env` and the home `folder`/home.
    The outputs include those of the first cell that fails; the exit status is 1 then.
    Raises a `TimeoutExpired` after `seconds`.
    """
    return subprocess.run(
        [*without_network(), str(python), str(RUN_NOTEBOOK), str(file), str(folder)],
        cwd=folder,
        env={**env, "HOME": str(folder / "home")},
        capture_output=True,
        text=True,
        timeout=seconds,
    )


def without_settings_of_python() -> dict[str, str]:
    """Return the environment of this process without what concerns its own Python."""
    own = ("VIRTUAL_ENV", "MPLBACKEND")
    return {
        name: value
        for name, value in os.environ.items()
        if name not in own and not name.startswith(("PYTHON", "PIP_", "UV_"))
    }
