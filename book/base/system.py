"""The programs and fonts that the book needs of the system, from Debian's packages.

    python3 -m book.base.system check browser  # tells how to install what is missing
    python3 -m book.base.system install    # installs it, if it may

`environments/system.toml` lists the packages in groups; without a group, all count.
This module runs before any environment exists, so it needs only the standard library.
"""

import ctypes
import functools
import importlib.util
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from book.base.errors import BookError
from book.base.paths import ROOT

LIST = ROOT / "environments" / "system.toml"
APT_INDEX = Path("/var/lib/apt/lists")
INSTALL = ("apt-get", "install", "--no-install-recommends")
# apt waits this long for another process that installs something.
LOCK_SECONDS = 300
BROWSER = "chromium-headless-shell"
# A command that an environment variable may name instead.
NAMED_BY = {BROWSER: "CHROME_PATH"}

Evidence = dict[str, list[str]]


# What is needed and what is missing


def packages(*groups: str) -> dict[str, Evidence]:
    """Return the packages of `groups`, or of all groups if none is given.

    Each comes with the evidence that it is installed: names by kind, such as commands.
    """
    listed = tomllib.loads(LIST.read_text("utf-8"))
    for group in groups:
        if group not in listed:
            known = ", ".join(listed)
            raise BookError(f"no group '{group}'; there are {known}", LIST.name)
    found: dict[str, Evidence] = {}
    for group in groups or listed:
        found |= listed[group]
    return found


def missing(*groups: str) -> dict[str, list[str]]:
    """Return each package that is not installed, with the names that it would bring."""
    _font_families.cache_clear()
    absent = {
        package: [n for kind, names in evidence.items() for n in _absent(kind, names)]
        for package, evidence in packages(*groups).items()
    }
    return {package: names for package, names in absent.items() if names}


def _absent(kind: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if not FINDERS[kind](name)]


def command(name: str) -> str | None:
    """Return the path of a command, or of the one that a variable names instead."""
    variable = NAMED_BY.get(name, "")
    named = os.environ.get(variable, "")
    path = shutil.which(named or name)
    if named and path is None:
        raise BookError(f"'{named}' is not a program; correct or unset it", variable)
    return path


def _has_command(name: str) -> bool:
    return command(name) is not None


def _has_module(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def _has_library(name: str) -> bool:
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def _has_font(family: str) -> bool:
    return family in _font_families()


@functools.cache
def _font_families() -> set[str]:
    listed = _output("fc-list", "--format", "%{family}\n")
    return {name.strip() for line in listed.splitlines() for name in line.split(",")}


def _has_tex_file(name: str) -> bool:
    return bool(_output("kpsewhich", name).strip())


def _output(*command: str) -> str:
    """Return what a command prints; nothing if there is no such command."""
    if shutil.which(command[0]) is None:
        return ""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


FINDERS: dict[str, Callable[[str], bool]] = {
    "commands": _has_command,
    "modules": _has_module,
    "libraries": _has_library,
    "fonts": _has_font,
    "tex_files": _has_tex_file,
}


def check(*groups: str) -> None:
    """Raise a `BookError` with the command that installs what is missing here."""
    absent = missing(*groups)
    if absent:
        raise BookError(advice(absent))


def advice(absent: dict[str, list[str]]) -> str:
    """Return one line: what is not installed, and the command that installs it."""
    names = ", ".join(name for found in absent.values() for name in found)
    if shutil.which("apt-get") is None:
        return f"not installed: {names}; install them by your system's own means"
    return f"not installed: {names}; run: {install_command(absent)}"


def install_command(names: Iterable[str]) -> str:
    """Return the command for the user's shell that installs the packages `names`."""
    sudo = "" if os.geteuid() == 0 else "sudo "
    command = f"{sudo}{' '.join([*INSTALL, *names])}"
    return command if _has_index() else f"{sudo}apt-get update && {command}"


# Installation


def install(*groups: str) -> None:
    """Install what is missing here, as root or by sudo.

    Raises a `BookError` that names the command where that is not possible.
    """
    absent = missing(*groups)
    if not absent:
        return
    sudo = _privilege()
    if sudo is None or shutil.which("apt-get") is None:
        raise BookError(advice(absent))
    _say(f"installing {' '.join(absent)}")
    _install([*sudo, "env", "DEBIAN_FRONTEND=noninteractive"], list(absent))
    absent = missing(*groups)
    if absent:
        names = ", ".join(name for found in absent.values() for name in found)
        raise BookError(f"apt-get installed the packages, but {names} is still missing")


def _privilege() -> list[str] | None:
    """Return what goes before a command to run it as root; None if that is refused."""
    if os.geteuid() == 0:
        return []
    sudo = ["sudo", "-n"]
    if shutil.which("sudo") is None:
        return None
    allowed = subprocess.run([*sudo, "true"], capture_output=True).returncode == 0
    return sudo if allowed else None


def _install(as_root: Sequence[str], names: Sequence[str]) -> None:
    """Install packages by apt, with its index brought up to date if that is needed."""
    updated = not _has_index()
    if updated:
        _apt(as_root, "update")
    command = (*INSTALL[1:], "--yes", *names)
    status = _apt(as_root, *command)
    if status and not updated:
        # The index may name versions that the archive no longer has.
        _apt(as_root, "update")
        status = _apt(as_root, *command)
    if status:
        raise BookError(
            f"apt-get failed with status {status}, for the reason above;"
            f" afterwards run: {install_command(names)}"
        )


def _has_index() -> bool:
    """Return whether apt knows any packages; a fresh machine has an empty index."""
    return any(APT_INDEX.glob("*_Packages*"))


def _apt(as_root: Sequence[str], *arguments: str) -> int:
    """Run apt-get with its output in sight; return its exit status."""
    wait = f"--option=DPkg::Lock::Timeout={LOCK_SECONDS}"
    command = [*as_root, "apt-get", wait, *arguments]
    # What is printed on stdout belongs to the commands that need the packages.
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr)
    return done.returncode


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


# The command line


def main(arguments: Sequence[str]) -> int:
    """Carry out `check` or `install` for some groups; return the exit status."""
    commands = {"check": check, "install": install}
    command, *groups = arguments or [""]
    try:
        if command not in commands:
            raise BookError("usage: python3 -m book.base.system check|install [GROUP]")
        commands[command](*groups)
    except BookError as error:
        _say(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
