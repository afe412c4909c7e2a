"""Run the hosted notebooks with the versions that a host has today.

    make test-hosts HOST=colab                            # all notebooks
    make test-hosts HOST=kaggle TAB=jax SECTION=tiles     # some of them

The versions are those of `environments/hosts/HOST.txt`. A notebook runs in an empty
folder, without this repository and without a network; what its first cell installs on
the host comes from a folder of wheels. It is in order if no cell fails, or if its first
cell says in an `ImportError` what the notebook needs. Outputs are not compared with the
records, since versions differ. A run of all notebooks of a tab becomes a row of
`environments/hosts/results.csv`.
"""

import argparse
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import alone
import nbformat

from book.base import arguments
from book.base.environments import uv_command, uv_settings
from book.notebooks import hosts
from book.notebooks.editions import NotebookEdition, listed_packages
from book.runner.errors import BookError
from book.runner.signals import exit_status
from book.runs import stale as runs
from book.text.book import Book
from book.text.section import Section

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "_build/hosts"
TOOLS = ("ipykernel", "nbclient", "pip")  # hosts have them, too
JOBS = 2
SECONDS = 3600  # for one notebook
# The versions that a row of the table names, as far as a tab has them.
SHOWN = ("torch", "triton", "jax", "flax", "tensorflow", "keras", "numba-cuda", "numpy")
TORCH = re.compile(r"torch-([\d.]+)(?:\+cpu|%2Bcpu)-cp3(\d+)-")
# The modules of these packages that an interpreter does not have.
FIND_MISSING = """
import importlib.util, json, sys
print(json.dumps([m for m in sys.argv[1:] if importlib.util.find_spec(m) is None]))
"""


# The environment of a host


@dataclass
class Environment:
    """The environment of a tab on a host; `notes` say where it differs from theirs."""

    book: Book
    host: str
    tab: str
    notes: list[str] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        return BUILT / f"{self.host}-{self.tab}"

    @cached_property
    def published(self) -> hosts.Published:
        return hosts.load(ROOT, self.host)

    @cached_property
    def versions(self) -> dict[str, str]:
        """The versions of the packages of this tab that the host has."""
        wanted = hosts.packages(ROOT, self.tab)
        found = self.published.versions
        return {name: found[name] for name in found if name in wanted}

    def build(self) -> Path:
        """Return the interpreter of the environment, which is built if need be."""
        python, pins = self._choose_builds()
        stamp = self.folder / "built-from.json"
        inputs = json.dumps([python, pins])
        if not stamp.exists() or stamp.read_text() != inputs:
            shutil.rmtree(self.folder, ignore_errors=True)
            uv("venv", "--quiet", "--python", python, str(self.folder))
            # The pins hold whatever the packages ask of each other, as on the host.
            file = self.folder / "pins.txt"
            file.write_text("\n".join(pins))
            into = ("--quiet", "--python", str(self.python))
            uv("pip", "install", *into, "--override", str(file), *pins, *TOOLS)
            stamp.write_text(inputs)
        return self.python

    @property
    def python(self) -> Path:
        return self.folder / "bin/python"

    def _choose_builds(self) -> tuple[str, list[str]]:
        """Return the version of Python and the pins, with builds for a CPU."""
        python, versions = self.published.python, dict(self.versions)
        for cpu, gpu in hosts.GPU_BUILDS.items():
            if gpu in versions:
                versions[cpu] = versions.pop(gpu)
                self.notes.append(f"{cpu} {versions[cpu]} in place of {gpu}")
        if "torch" in versions and not os.environ.get("UV_TORCH_BACKEND"):
            torch, python = nearest_torch(versions["torch"])
            theirs, versions["torch"] = versions["torch"], torch
            self.notes.append(
                f"torch {torch} for a CPU on Python {python} in place of torch {theirs}"
            )
            print("to test the host's torch, set UV_TORCH_BACKEND=cpu")
        return python, [f"{name}=={version}" for name, version in versions.items()]

    def shown_versions(self) -> str:
        """Return the versions for the table, and what ran in their place."""
        named = [f"{n} {self.versions[n]}" for n in SHOWN if n in self.versions]
        return "; ".join([", ".join(named), *self.notes])

    def fetch_missing(self, folder: Path) -> None:
        """Put into `folder` the wheels that first cells install on this host."""
        sections = [Path(section.name).name for section in self.book.sections]
        settings = [self.tab, "all", *(f"{self.tab}-{name}" for name in sections)]
        needed = listed_packages(self.book, *settings)
        found = run_python(self.python, "-c", FIND_MISSING, *needed)
        missing = [
            needed[module].partition(">=")[0] for module in json.loads(found.stdout)
        ]
        folder.mkdir(exist_ok=True)
        if not missing:
            return
        report = folder / "report.json"
        wish = [word for each in missing for word in each.split()]
        options = ("-m", "pip", "install", "--quiet", "--dry-run", "--report")
        tried = run_python(self.python, *options, str(report), *wish)
        if tried.returncode:
            reason = tried.stderr.strip().splitlines()[-1]
            wished = " ".join(wish)
            print(f"pip cannot install {wished} with the host's Python: {reason}")
            return
        new = [each["metadata"] for each in json.loads(report.read_text())["install"]]
        versions = {each["name"].lower(): each["version"] for each in new}
        pins = [f"{name}=={version}" for name, version in versions.items()]
        named = [f"{name} {versions[name]}" for name in SHOWN if name in versions]
        self.notes.append(f"first cells install {', '.join(named)}")
        download = ("-m", "pip", "download", "--quiet", "--no-deps", "-d", str(folder))
        run_python(self.python, *download, *pins).check_returncode()

    def copy(self, folder: Path) -> Path:
        """Return the interpreter of a copy into which a notebook may install."""
        uv("venv", "--quiet", "--python", str(self.python), str(folder))
        (theirs,) = self.folder.glob("lib/python*/site-packages")
        (ours,) = folder.glob("lib/python*/site-packages")
        # Packages such as cuda-pathfinder look for others below the prefixes of `site`.
        prefix = f"site.PREFIXES.append({str(self.folder)!r})"
        line = f"import site; {prefix}; site.addsitedir({str(theirs)!r})\n"
        (ours / "host.pth").write_text(line)
        return folder / "bin/python"


def nearest_torch(wish: str) -> tuple[str, str]:
    """Return the version of the CPU build next to `wish` that is here, and its Python.

    Raises a `BookError` if there is none, as PyPI has builds with CUDA only.
    """
    settings = os.environ.get("UV_FIND_LINKS") or os.environ.get("PIP_FIND_LINKS", "")
    folders = [Path(each) for each in re.split(r"[,\s]+", settings) if each]
    wheels = [file.name for each in folders for file in each.glob("torch-*.whl")]
    builds = [found.groups() for found in map(TORCH.match, wheels) if found]
    if not builds:
        message = (
            f"PyPI has torch {wish} only with CUDA (2.8 GB); for the CPU build, set"
            " UV_TORCH_BACKEND=cpu"
        )
        raise BookError(message, "PyTorch")

    def distance(build: tuple[str, ...]) -> int:
        here, there = (int(each.split(".")[1]) for each in (build[0], wish))
        return abs(here - there)

    version, minor = min(builds, key=distance)
    return version, f"3.{minor}"


def uv(*words: str) -> None:
    """Run uv; raise a `BookError` with its last line if it fails."""
    command = [*uv_command(), *words]
    env = uv_settings(os.environ)
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        raise BookError(" ".join(line.strip(" ╰─▶│×") for line in lines[-4:]), "uv")


def run_python(python: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(python), *words], capture_output=True, text=True)


# The runs


@dataclass(frozen=True)
class Verdict:
    """How a notebook ran: `told` is what its first cell asks for, if it does."""

    section: str
    told: str = ""
    failure: str = ""


def judge(section: str, notebook: nbformat.NotebookNode, stderr: str) -> Verdict:
    """Return the verdict on a notebook that ran; `stderr` is empty if it succeeded.

    A notebook may refuse to run, if its first cell raises an `ImportError` that says
    what it needs.
    """
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    errors = [
        (number, output)
        for number, cell in enumerate(cells, start=1)
        for output in cell.outputs
        if output.output_type == "error"
    ]
    if not errors:
        lines = stderr.strip().splitlines()
        return Verdict(section, failure=lines[-1] if lines else "")
    number, error = errors[0]
    first_line = error.evalue.strip().split("\n")[0]
    refuses = number == 1 and error.ename == "ImportError" and " needs " in first_line
    if refuses:
        return Verdict(section, told=first_line)
    return Verdict(section, failure=f"cell {number}: {error.ename}: {first_line}")


def run_one(environment: Environment, section: Section, make: Callable) -> Verdict:
    """Run the notebook of a section on a copy of the environment of a host."""
    name = Path(section.name).name
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "work")
        (folder / "home").mkdir(parents=True)
        file = folder / "hosted.ipynb"
        nbformat.write(make(section), file)
        env = alone.without_settings_of_python() | {
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(wheels(environment)),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }
        python = environment.copy(Path(scratch, "environment"))
        try:
            done = alone.run_notebook(file, folder, python, env, SECONDS)
        except subprocess.TimeoutExpired:
            return Verdict(name, failure=f"did not end within {SECONDS} s")
        ran = nbformat.read(file, as_version=4)
        return judge(name, ran, done.stderr if done.returncode else "")


def wheels(environment: Environment) -> Path:
    return environment.folder / "wheels"


def run_all(
    environment: Environment, sections: Sequence[Section], jobs: int
) -> Iterator[Verdict]:
    """Yield the verdict on each notebook as soon as it has run."""
    edition, one_at_a_time = NotebookEdition(environment.book), threading.Lock()

    def make(section: Section) -> nbformat.NotebookNode:
        with one_at_a_time:
            kind = hosts.KINDS[environment.host]
            return edition.notebook(section, environment.tab, kind)

    with ThreadPoolExecutor(jobs) as pool:
        waiting = [pool.submit(run_one, environment, s, make) for s in sections]
        try:
            for done in as_completed(waiting):
                yield done.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # after an interrupt


def others(verdicts: Sequence[Verdict]) -> str:
    """Return the notebooks that did not run, and the first sentence of each reason."""
    reasons: dict[str, list[str]] = {}
    for verdict in verdicts:
        if reason := (verdict.told or verdict.failure).split(". ")[0]:
            reasons.setdefault(reason, []).append(verdict.section)
    count = len(verdicts)
    listed = [
        f"{'all' if len(names) == count else ', '.join(names)}: {reason}"
        for reason, names in reasons.items()
    ]
    return "; ".join(listed).replace("|", "\\|")


def row(environment: Environment, verdicts: Sequence[Verdict]) -> dict[str, str]:
    """Return the row of results.csv."""
    ran = sum(not (verdict.told or verdict.failure) for verdict in verdicts)
    return {
        "host": environment.host,
        "tab": environment.tab,
        "date": datetime.date.today().isoformat(),
        "python": environment.published.python,
        "versions": environment.shown_versions(),
        "notebooks": str(len(verdicts)),
        "ran": str(ran),
        "others": others(verdicts),
    }


# The command


def test(book: Book, host: str, tab: str, names: Sequence[str], jobs: int) -> bool:
    """Run the notebooks of a tab on a host; return whether none failed."""
    chosen = [s for s, _ in runs.plan(book, [tab], names, force=True)]
    environment = Environment(book, host, tab)
    python = environment.build()
    environment.fetch_missing(wheels(environment))
    version = run_python(python, "-V").stdout.strip()
    print(f"{host}, {tab}: {version}, {environment.shown_versions()}", flush=True)
    verdicts = []
    for verdict in run_all(environment, chosen, jobs):
        word = "FAILED, " if verdict.failure else "says: " if verdict.told else "ran"
        reason = verdict.failure or verdict.told
        print(f"{host}, {tab}: {verdict.section}: {word}{reason}", flush=True)
        verdicts.append(verdict)
    order = {Path(s.name).name: number for number, s in enumerate(chosen)}
    verdicts.sort(key=lambda verdict: order[verdict.section])
    if not names:
        hosts.keep_result(ROOT, row(environment, verdicts))
    return not any(verdict.failure for verdict in verdicts)


def main(argv: Sequence[str] | None = None) -> int:
    """Return 0 if all chosen notebooks are in order on all chosen hosts."""
    parser = arguments.Parser(description=__doc__)
    parser.add_argument("--host", type=arguments.names, default=list(hosts.HOSTS))
    parser.add_argument("--tab", type=arguments.names, default=[])
    parser.add_argument("--section", type=arguments.names, default=[])
    parser.add_argument("--jobs", type=arguments.count, default=JOBS)
    failed = []

    def work() -> None:
        given: argparse.Namespace = parser.parse_args(argv)
        book = Book(ROOT)
        runs.check_names(book, given.tab, given.section, "cpu")
        for host in map(hosts.check_host, given.host):
            for tab in given.tab or book.tabs:
                if not test(book, host, tab, given.section, given.jobs):
                    failed.append(f"{tab} on {host}")
        if failed:
            message = "notebooks failed; the lines above say in which cells"
            raise BookError(message, ", ".join(failed))

    return exit_status(work)


if __name__ == "__main__":
    sys.exit(main())
