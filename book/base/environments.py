"""The Python environments of the book, one a folder in `.venvs/`, built by uv.

Each is built from its pinned list `environments/NAME.txt` when it is first needed
and again when the list changes. One of them is the environment that the rest of
`book` runs in, so this module needs nothing but the standard library:

    python3.11 -m book.base.environments book
"""

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path

from book.base.errors import BookError
from book.base.files import locked
from book.base.paths import ROOT
from book.runner.signals import exit_status, report

PYTHON_VERSION = "3.11"
STAMP = "built-from.sha256"
LAST_LINES = 4
# Each environment on Linux, measured as the sum of its wheels and by `du`. PyTorch's
# wheels include CUDA there.
SIZES = {
    "book": "0.2 GB to download, 0.8 GB on disk",
    "test": "0.3 GB to download, 1.2 GB on disk",
    "pytorch": "2.8 GB to download on Linux, as CUDA is included, and more on disk",
    "mxnet": "0.4 GB to download, 1.4 GB on disk",
    "jax": "0.2 GB to download, 1.0 GB on disk",
    "tensorflow": "0.7 GB to download, 2.6 GB on disk",
}
# Failures of uv and pip that have nothing to do with the packages.
UNREACHABLE = {
    "name resolution failed": "(?i)dns error|name resolution|getaddrinfo"
    "|Name or service not known|failed to lookup address",
    "connection refused": "(?i)connection refused",
    "network unreachable": "(?i)network is unreachable",
}
# The environments for readers, and the tabs whose packages each has.
READERS = {
    "reader": ("pytorch", "jax", "tensorflow"),
    "reader-mxnet": ("mxnet",),
}
# Their compilers for GPUs are parts of CUDA, which need no GPU. PyTorch's list leaves
# CUDA to the build of PyTorch.
WITH_CUDA = ("mxnet", "plans", "tensorflow")

# Settings of pip in the environment, and the names that uv has for them.
PIP_TO_UV = {
    "PIP_FIND_LINKS": "UV_FIND_LINKS",
    "PIP_INDEX_URL": "UV_DEFAULT_INDEX",
    "PIP_EXTRA_INDEX_URL": "UV_INDEX",
    "PIP_CERT": "SSL_CERT_FILE",
    "PIP_DEFAULT_TIMEOUT": "UV_HTTP_TIMEOUT",
}


def python(name: str, root: Path = ROOT) -> Path:
    """The interpreter of the environment `name`, which is built if that is due."""
    pins = pins_file(name, root)
    digest = hashlib.sha256(pins.read_bytes()).hexdigest()
    folder = root / ".venvs" / name
    if not _is_built(folder, digest):
        with _lock(folder):
            # Another process may have built it while this one waited.
            if not _is_built(folder, digest):
                _build(folder, pins, digest)
    return folder / "bin" / "python"


def pins_file(name: str, root: Path = ROOT) -> Path:
    pins = root / "environments" / f"{name}.txt"
    if not pins.is_file():
        known = ", ".join(sorted(p.stem for p in pins.parent.glob("*.txt")))
        raise BookError(f"no environment '{name}'; there are {known}", pins)
    return pins


def pins(name: str, root: Path = ROOT) -> list[str]:
    """The pinned requirements of an environment, without comments."""
    lines = pins_file(name, root).read_text(encoding="utf-8").splitlines()
    bare = (re.sub(r"(^|\s)#.*", "", line).strip() for line in lines)
    return [line for line in bare if line]


def lock(root: Path = ROOT) -> list[Path]:
    """Make each `environments/NAME.txt` from pyproject.toml; pins that still fit stay.

    A tab's environment has the extra of this name, the group `run`, and the group
    `run-TAB` if there is one. The environment `plans` is that of JAX with the group
    `plans`; those of readers have the extras of several tabs.
    """
    file = root / "pyproject.toml"
    project = tomllib.loads(file.read_text("utf-8"))
    groups = {n: ["--group", f"{file}:{n}"] for n in project["dependency-groups"]}
    run = [str(file), *groups.pop("run")]
    for name in project["project"]["optional-dependencies"]:
        groups[name] = [*run, *groups.pop(f"run-{name}", []), "--extra", name]
    for name in READERS.keys() & groups:
        extras = [word for tab in READERS[name] for word in ("--extra", tab)]
        book = root / "environments/book.txt"
        groups[name] = [*run, *groups[name], *extras, "--constraint", str(book)]
    if "plans" in groups:
        jax = root / "environments/jax.txt"
        groups["plans"] = [*groups["jax"], *groups["plans"], "--constraint", str(jax)]
    return [
        _compile(root / f"environments/{name}.txt", sources)
        for name, sources in sorted(groups.items())
    ]


def _compile(target: Path, sources: Sequence[str]) -> Path:
    draft = target.with_suffix(".txt.new")
    try:
        if target.exists():
            shutil.copy(target, draft)
        report(f"pinning the environment {target.stem}")
        _uv(
            f"the requirements of {target.stem} cannot be resolved",
            *("pip", "compile", *sources),
            *("-o", draft, "--quiet"),
            *("--python-version", PYTHON_VERSION),
            *("--no-emit-find-links", "--no-annotate", "--no-header"),
            root=target.parent.parent,
        )
        if target.stem not in WITH_CUDA:
            draft.write_text(for_any_build(draft.read_text()))
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)
    return target


def for_any_build(requirements: str) -> str:
    """The same pins for a CPU build of a framework and for a CUDA build.

    `torch==2.13.0+cpu` names one machine's wheel, `torch==2.13.0` any; and the CUDA
    build asks for its own libraries by itself. Both builds have the same Triton.
    """
    pins = re.sub(r"(==[^\s+]+)\+\S+", r"\1", requirements)
    return re.sub(r"^(?:cuda|nvidia)\b\S*\n", "", pins, flags=re.MULTILINE)


def _is_built(folder: Path, digest: str) -> bool:
    stamp = folder / STAMP
    is_there = (folder / "bin" / "python").exists() and stamp.exists()
    return is_there and stamp.read_text() == digest


def _lock(folder: Path) -> contextlib.AbstractContextManager[None]:
    """Hold the right to build `folder`."""
    waiting = f"another process builds {_short(folder)}"
    return locked(folder.with_suffix(".lock"), waiting)


def _build(folder: Path, pins: Path, digest: str) -> None:
    size = f": about {SIZES[folder.name]}" if folder.name in SIZES else ""
    report(f"building {_short(folder)} from environments/{pins.name}{size}")
    start = time.monotonic()
    root = folder.parent.parent
    try:
        shutil.rmtree(folder, ignore_errors=True)
        failure = f"environments/{pins.name} cannot be installed"
        _uv(failure, "venv", "--quiet", "--python", sys.executable, folder, root=root)
        _uv(
            failure,
            *("pip", "install", "--compile-bytecode"),
            *("--python", folder / "bin" / "python", "-r", pins),
            root=root,
        )
        _link_pandoc(folder)
        # The stamp comes last: without it the folder counts as not built.
        (folder / STAMP).write_text(digest)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    report(f"built {_short(folder)} in {time.monotonic() - start:.0f} s")


def _link_pandoc(folder: Path) -> None:
    """Put the pandoc of the wheel on the PATH of d2lbook's own commands."""
    for pandoc in folder.glob("lib/python*/site-packages/pypandoc/files/pandoc"):
        link = folder / "bin" / "pandoc"
        link.symlink_to(os.path.relpath(pandoc, link.parent))


def _uv(failure: str, *arguments: str | Path, root: Path = ROOT) -> None:
    """Run uv; on a terminal its progress shows, elsewhere its last lines are kept."""
    shows = sys.stderr.isatty()
    result = subprocess.run(
        [*uv_command(root), *map(str, arguments)],
        env=uv_settings(os.environ),
        stdout=None if shows else subprocess.PIPE,
        stderr=None if shows else subprocess.STDOUT,
        text=True,
    )
    if result.returncode:
        reason = _reason(result.stdout) if result.stdout else "uv tells why above"
        raise BookError(f"{failure}: {reason}")


def uv_settings(environ: os._Environ[str] | dict[str, str]) -> dict[str, str]:
    """Return the caller's environment, with pip's settings under uv's names."""
    settings = {"UV_PYTHON_DOWNLOADS": "never"} | dict(environ)
    # An activated environment would be taken for the one to build.
    settings.pop("VIRTUAL_ENV", None)
    for pip, uv in PIP_TO_UV.items():
        if pip in environ and not environ.get(uv):
            settings[uv] = environ[pip]
    if "UV_FIND_LINKS" in settings:
        settings["UV_FIND_LINKS"] = ",".join(
            re.split(r"[\s,]+", settings["UV_FIND_LINKS"].strip())
        )
    return settings


def _reason(output: str) -> str:
    """Return why uv or pip failed: that it has no network, or its last lines."""
    for reason, pattern in UNREACHABLE.items():
        if re.search(pattern, output):
            return f"cannot reach the package index ({reason})"
    lines = [line.strip(" │×╰─▶├") for line in output.splitlines()]
    return " ".join([line for line in lines if line][-LAST_LINES:])


def uv_command(root: Path = ROOT) -> list[str]:
    """Return the command of uv: the one on PATH, or a copy in `.venvs/uv`."""
    on_path = shutil.which("uv")
    if on_path:
        return [on_path]
    folder = root / ".venvs" / "uv"
    if not (folder / STAMP).exists():
        with _lock(folder):
            if not (folder / STAMP).exists():
                _fetch_uv(folder, pins_file("uv", root))
    return [str(folder / "bin" / "uv")]


def _fetch_uv(folder: Path, pins: Path) -> None:
    report(f"fetching uv into {_short(folder)}")
    shutil.rmtree(folder, ignore_errors=True)
    pip = _pip_for(folder)
    result = _run([*pip, "install", "--quiet", "-r", str(pins)])
    if result.returncode:
        shutil.rmtree(folder, ignore_errors=True)
        raise BookError(f"uv cannot be fetched: {_reason(result.stdout)}")
    (folder / STAMP).write_text("")


def _pip_for(folder: Path) -> list[str]:
    """A pip that installs into `folder`: that of a new venv there, or the system's."""
    if not _run([sys.executable, "-m", "venv", str(folder)]).returncode:
        return [str(folder / "bin" / "python"), "-m", "pip"]
    shutil.rmtree(folder, ignore_errors=True)
    pip = [sys.executable, "-m", "pip"]
    if not _run([*pip, "--version"]).returncode:
        return ["env", f"PIP_TARGET={folder}", *pip]
    raise BookError(
        f"Python {PYTHON_VERSION} has neither venv nor pip here; on Debian 12:"
        " apt-get install python3-venv"
    )


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def _short(folder: Path) -> str:
    return f"{folder.parent.name}/{folder.name}"


def main(names: Sequence[str]) -> int:
    """Build the environments `names`, print the interpreter of each."""

    def work() -> None:
        for name in names:
            print(python(name))

    return exit_status(work)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
