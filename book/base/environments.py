"""The Python environments of the book, one a folder in `.venvs/`, built by uv.

Each is built from its pinned list `environments/NAME.txt` when it is first needed
and again when the list changes. One of them is the environment that the rest of
`book` runs in, so this module needs nothing but the standard library:

    python3.11 -m book.base.environments book
"""

import functools
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from book.base.files import locked
from book.base.paths import ROOT
from book.runner.errors import BookError
from book.runner.freshness import Product, digest
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
# Where records are made, as markers of requirements name it.
RECORDING = {
    "sys_platform": "linux",
    "platform_system": "Linux",
    "platform_machine": "x86_64",
    "os_name": "posix",
    "implementation_name": "cpython",
    "python_version": PYTHON_VERSION,
    "python_full_version": f"{PYTHON_VERSION}.0",
}
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
    return _made(name, "python", root, _build)


def _made(
    name: str, program: str, root: Path, build: Callable[[Path, Path], None]
) -> Path:
    """Return a program of an environment, which `build` makes whole or not at all."""
    pins, folder = pins_file(name, root), root / ".venvs" / name
    product = Product(folder / "bin" / program, folder / STAMP)
    inputs = digest(pins.read_bytes())
    if not product.is_fresh(inputs):
        waiting = f"another process builds {_short(folder)}"
        with locked(folder.with_suffix(".lock"), waiting):
            # Another process may have built it while this one waited.
            if not product.is_fresh(inputs):
                try:
                    with product.made_from(inputs):
                        shutil.rmtree(folder, ignore_errors=True)
                        build(folder, pins)
                except BaseException:
                    shutil.rmtree(folder, ignore_errors=True)
                    raise
    return product.path


def pins_file(name: str, root: Path = ROOT) -> Path:
    pins = root / "environments" / f"{name}.txt"
    if not pins.is_file():
        known = ", ".join(sorted(p.stem for p in pins.parent.glob("*.txt")))
        raise BookError(f"no environment '{name}'; there are {known}", pins)
    return pins


def pins(name: str, root: Path = ROOT) -> list[str]:
    """The requirements of an environment on all systems, without comments."""
    lines = pins_file(name, root).read_text(encoding="utf-8").splitlines()
    bare = (re.sub(r"(^|\s)#.*", "", line).strip() for line in lines)
    return [line for line in bare if line]


def pins_on(
    system: Mapping[str, str] | None, name: str, root: Path = ROOT
) -> list[str]:
    """The pins, such as `jax==0.10.2`, of an environment on one system.

    `system` has the values of markers, as `RECORDING` has; None is this system.
    """
    here = None if system is None else tuple(system.items())
    return list(_pins_on(here, tuple(pins(name, root))))


@functools.lru_cache(maxsize=16)  # parsing takes long, and each record asks for it
def _pins_on(
    system: tuple[tuple[str, str], ...] | None, pins: tuple[str, ...]
) -> tuple[str, ...]:
    from packaging.requirements import Requirement

    values = None if system is None else dict(system)
    found = map(Requirement, pins)
    chosen = [r for r in found if r.marker is None or r.marker.evaluate(values)]
    return tuple(f"{r.name}{r.specifier}" for r in chosen)


def _build(folder: Path, pins: Path) -> None:
    size = f": about {SIZES[folder.name]}" if folder.name in SIZES else ""
    report(f"building {_short(folder)} from environments/{pins.name}{size}")
    start = time.monotonic()
    root = folder.parent.parent
    failure = f"environments/{pins.name} cannot be installed"
    run_uv(failure, "venv", "--quiet", "--python", sys.executable, folder, root=root)
    run_uv(
        failure,
        *("pip", "install", "--compile-bytecode"),
        *("--python", folder / "bin" / "python", "-r", pins),
        root=root,
    )
    _link_pandoc(folder)
    report(f"built {_short(folder)} in {time.monotonic() - start:.0f} s")


def _link_pandoc(folder: Path) -> None:
    """Put the pandoc of the wheel on the PATH of d2lbook's own commands."""
    for pandoc in folder.glob("lib/python*/site-packages/pypandoc/files/pandoc"):
        link = folder / "bin" / "pandoc"
        link.symlink_to(os.path.relpath(pandoc, link.parent))


def run_uv(failure: str, *arguments: str | Path, root: Path, drop: str = "") -> None:
    """Run uv, without the setting `drop`.

    On a terminal, uv's progress shows; elsewhere, its last lines are kept.
    """
    shows = sys.stderr.isatty()
    settings = uv_settings(os.environ)
    settings.pop(drop, None)
    result = subprocess.run(
        [*uv_command(root), *map(str, arguments)],
        env=settings,
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
    return [str(_made("uv", "uv", root, _fetch_uv))]


def _fetch_uv(folder: Path, pins: Path) -> None:
    report(f"fetching uv into {_short(folder)}")
    if _run([sys.executable, "-m", "venv", str(folder)]).returncode:
        raise BookError(
            f"Python {PYTHON_VERSION} has no module venv here; on Debian 12:"
            " apt-get install python3-venv"
        )
    pip = [str(folder / "bin/python"), "-m", "pip"]
    result = _run([*pip, "install", "--quiet", "-r", str(pins)])
    if result.returncode:
        raise BookError(f"uv cannot be fetched: {_reason(result.stdout)}")


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
