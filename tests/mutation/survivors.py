"""Run the nearest tests on each mutant that mutants.py has printed to a file.

Prints the mutants that no test finds, each with its place and difference, and counts
them. The tests run in a copy of the checkout. Each run is a fork of this process, after
it has imported what the tests need except the book itself.
"""

import contextlib
import functools
import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PASSED = int(pytest.ExitCode.OK)
STUCK = 100
TAB = "pytorch"  # of the tests in tests/d2l
OTHER_TAB = re.compile("_(jax|mxnet|tensorflow)$")


def nearest(file: Path) -> list[str]:
    """Return the test files of a module.

    They are those that name its path, and those of its room that have its name or
    import it; else those of another room that import it; else those of the first room
    whose modules import it.
    """
    tests, room = Path("tests") / file.parts[0], Path("tests") / file.parent
    of_name = matching(re.escape(str(file)), tests)
    of_name += [str(p) for p in [room / f"test_{file.stem}.py"] if p.exists()]
    package = "[.]".join(file.parent.parts)
    imported = rf"{package}(?:[.]| import (?:.*|\([^)]*)\b){file.stem}\b"
    found = {*of_name, *matching(imported, room)} or {*matching(imported, tests)}
    users = [Path(user) for user in matching(imported, Path(file.parts[0]))]
    if not found and users:
        beside = (user for user in users if user.parent == users[0].parent)
        return sorted({test for user in beside for test in nearest(user)})
    return sorted(found)


def matching(pattern: str, folder: Path) -> list[str]:
    """Return the modules, or in `tests` the test files, in which a pattern occurs."""
    glob = "test_*.py" if folder.parts[0] == "tests" else "*.py"
    files = (
        file for file in sorted(folder.rglob(glob)) if not OTHER_TAB.search(file.stem)
    )
    return [str(file) for file in files if re.search(pattern, file.read_text("utf-8"))]


class Reach:
    """A plugin that notes which lines of a file each test reaches."""

    def __init__(self, file: Path) -> None:
        self.file, self.now = str(file), ""
        self.lines: dict[str, set[int]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        self.now = item.nodeid
        self.lines[item.nodeid] = set()
        sys.settrace(self.enter)
        try:
            return (yield)
        finally:
            sys.settrace(None)

    def enter(self, frame: FrameType, event: str, value: object) -> Any:
        return self.note if frame.f_code.co_filename == self.file else None

    def note(self, frame: FrameType, event: str, value: object) -> Any:
        self.lines[self.now].add(frame.f_lineno)
        return self.note


class First:
    """A plugin that runs the tests that reach a line before the others."""

    def __init__(self, line: int, lines: dict[str, list[int]]) -> None:
        self.line, self.lines = line, lines

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: self.line not in self.lines.get(item.nodeid, ()))


def forked(work: Callable[[], Any], limit: float = float("inf")) -> Any:
    """Return what `work` returns in a process of its own, or STUCK after `limit` s."""
    with tempfile.TemporaryFile() as answer, open(os.devnull, "w") as nowhere:
        child = os.fork()
        if not child:
            try:
                os.setsid()
                os.dup2(nowhere.fileno(), 1)
                os.dup2(nowhere.fileno(), 2)
                answer.write(json.dumps(work()).encode())
                answer.flush()
            finally:
                os._exit(0)
        end = time.monotonic() + limit
        try:
            while time.monotonic() < end and not os.waitpid(child, os.WNOHANG)[0]:
                time.sleep(0.02)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)  # with what the tests have left
        with contextlib.suppress(ChildProcessError):
            os.waitpid(child, 0)
        answer.seek(0)
        text = answer.read()
        return json.loads(text) if text else STUCK


def tests(files: list[str], *plugins: object) -> int:
    """Return pytest's status of the tests in `files`, up to the first that fails."""
    options = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not timing"]
    tab = ["--tab", TAB] if files[0].startswith("tests/d2l") else []
    return int(pytest.main([*options, *tab, *files], list(plugins)))


def reach(files: list[str], module: Path) -> dict[str, Any]:
    """Return how the tests end, the lines that each reaches, and what they import."""
    plugin = Reach(module)
    status = tests(files, plugin)
    here = str(Path.cwd())
    foreign = [
        name
        for name, each in list(sys.modules.items())
        if not str(getattr(each, "__file__", None) or here).startswith(here)
    ]
    lines = {test: sorted(lines) for test, lines in plugin.lines.items()}
    return {"status": status, "lines": lines, "imports": foreign}


def survivors(mutants: list[dict[str, Any]], files: list[str]) -> Iterator[dict]:
    """Yield the mutants of one module that its tests do not find."""
    module = Path(mutants[0]["file"]).absolute()
    original = module.read_text("utf-8")
    start = time.monotonic()
    before = forked(lambda: reach(files, module))
    if before == STUCK or before["status"] != PASSED:
        sys.exit(f"error: {' '.join(files)}: a test fails without a fault; mend it")
    for name in before["imports"]:
        with contextlib.suppress(BaseException):
            importlib.import_module(name)
    limit = 10 + 3 * (time.monotonic() - start)
    for compiled in module.parent.glob(f"__pycache__/{module.stem}.*"):
        compiled.unlink()  # it would seem to be that of a mutant of the same size
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    for mutant in mutants:
        module.write_text(mutant["text"], "utf-8")
        first = First(mutant["line"], before["lines"])
        if forked(functools.partial(tests, files, first), limit) == PASSED:
            yield mutant
    module.write_text(original, "utf-8")
    sys.dont_write_bytecode = False
    del os.environ["PYTHONDONTWRITEBYTECODE"]


def copied(folder: Path) -> None:
    """Copy the checkout, with its environments as a link, and go there."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, check=True, stdout=subprocess.PIPE, cwd=ROOT).stdout
    for name in names.decode().split("\0"):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    (folder / ".venvs").symlink_to((ROOT / ".venvs").resolve())
    os.chdir(folder)
    os.environ["PYTHONPATH"] = str(folder)
    sys.path[:] = [str(folder), *(p for p in sys.path if p not in ("", str(ROOT)))]


def main() -> None:
    """Print which of the mutants in a file survive, and how many are found."""
    mutants = json.loads(Path(sys.argv[1]).read_text())
    with tempfile.TemporaryDirectory() as folder:
        copied(Path(folder).resolve())
        for file in dict.fromkeys(mutant["file"] for mutant in mutants):
            of_file = [mutant for mutant in mutants if mutant["file"] == file]
            files = nearest(Path(file))
            left = 0
            for mutant in survivors(of_file, files):
                left += 1
                print(f"{file}:{mutant['line']}", *mutant["diff"], sep="\n", flush=True)
            counts = f"{len(of_file) - left} of {len(of_file)} faults found"
            print(f"{file}: {counts} by {' '.join(files)}", flush=True)
        os.chdir(ROOT)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
