"""The programs and fonts that the book needs of the system, from Debian's packages.

    python3 -m book.base.system check browser  # says how to install what is missing
    python3 -m book.base.system install    # installs it as root

`environments/system.toml` lists the packages in groups; without a group, all count.
This module runs before any environment exists, so it needs only the standard library.
"""

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence

from book.base.paths import ROOT
from book.runner.errors import BookError
from book.runner.signals import exit_status

LIST = ROOT / "environments" / "system.toml"
INSTALL = "apt-get update && apt-get install --yes --no-install-recommends"
BROWSER = "chromium-headless-shell"


def packages(*groups: str) -> dict[str, str]:
    """Return the packages of `groups`, or of all groups if none is given.

    Each comes with a command of the shell that succeeds if it is there.
    """
    listed = tomllib.loads(LIST.read_text("utf-8"))
    return {name: test for g in groups or listed for name, test in listed[g].items()}


def missing(*groups: str) -> list[str]:
    """Return the packages that are not there.

    Raises a `BookError` if CHROME_PATH names a browser that is not there either.
    """
    wanted, named = packages(*groups), os.environ.get("CHROME_PATH")
    if BROWSER in wanted and named and shutil.which(named) is None:
        message = f"'{named}' is not a program; correct or unset it"
        raise BookError(message, "CHROME_PATH")
    python = os.environ | {"PYTHON": sys.executable}
    return [
        name
        for name, test in wanted.items()
        if subprocess.run(test, shell=True, env=python, capture_output=True).returncode
    ]


def browser() -> str:
    """Return the path of Chromium, which the variable CHROME_PATH may name."""
    check("browser")
    return str(shutil.which(os.environ.get("CHROME_PATH") or BROWSER))


def check(*groups: str) -> None:
    """Raise a `BookError` with the command that installs what is missing here."""
    if names := " ".join(missing(*groups)):
        root = "" if os.geteuid() == 0 else "sudo "
        command = f"{root}sh -c '{INSTALL} {names}'"
        guide = "elsewhere, see System packages in CONTRIBUTING.md"
        raise BookError(f"not installed: {names}; on Debian, run: {command}; {guide}")


def install(*groups: str) -> None:
    """Install what is missing here, as root, or raise the `BookError` of `check`."""
    names = " ".join(missing(*groups))
    if names and os.geteuid() == 0 and shutil.which("apt-get"):
        print(f"installing {names}", file=sys.stderr, flush=True)
        quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        # What is printed on stdout belongs to the commands that need the packages.
        subprocess.run(f"{INSTALL} {names}", shell=True, env=quiet, stdout=sys.stderr)
    check(*groups)


def main(arguments: Sequence[str]) -> int:
    """Carry out `check` or `install` for some groups; return the exit status."""
    commands = {"check": check, "install": install}
    command, *groups = arguments or [""]

    def work() -> None:
        if command not in commands:
            raise BookError("usage: python3 -m book.base.system check|install [GROUP]")
        commands[command](*groups)

    return exit_status(work)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
