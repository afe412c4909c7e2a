"""The pinned lists of the environments, made by uv from pyproject.toml.

A list is the same on all systems: pins that are for some systems only have a marker.
"""

import os
import re
import shutil
import tomllib
from collections.abc import Sequence
from pathlib import Path

from book.base import environments, mentions
from book.base.choices import choices
from book.base.environments import PYTHON_VERSION
from book.base.paths import ROOT
from book.runner.errors import BookError
from book.runner.signals import report

# The environments for readers, and the tabs whose packages each has.
READERS = {
    "reader": ("pytorch", "jax", "tensorflow"),
    "reader-mxnet": ("mxnet",),
}
# What these have in common has the versions of the other one.
SHARING = {"plans": "jax", "reader": "book", "reader-mxnet": "book", "test": "book"}
# These lists leave CUDA to PyTorch, whose CUDA build asks for all of its own libraries:
# a machine with a CPU build needs none of them.
WITH_PYTORCH = ("pytorch", "reader")
CUDA_PINS = re.compile(r"^(?:cuda|nvidia)-.*\n", re.MULTILINE)


def lock(upgrade: Sequence[str] = (), root: Path = ROOT) -> list[Path]:
    """Make each `environments/NAME.txt` from pyproject.toml, for all systems.

    Pins that still fit stay, but for the packages `upgrade`: these, or all if it names
    `1`, become the newest releases that pyproject.toml allows. The name of a tab stands
    for all packages that its extra and its groups name. Texts that name a changed
    pin are written anew, too, or shown as lines to read.
    A tab's environment has the extra of this name, the group `run`, and the group
    `run-TAB` if there is one. The environment `plans` is that of JAX with the group
    `plans`; those of readers have the extras of several tabs.
    """
    _check_names(upgrade, root)
    newer = ["--upgrade"] if "1" in upgrade else []
    newer += [f"--upgrade-package={name}" for name in _packages(upgrade, root)]
    sources = sorted(_sources(root).items())
    targets = [root / f"environments/{name}.txt" for name, _ in sources]
    before = mentions.versions(targets)
    try:
        for target, (_, arguments) in zip(targets, sources, strict=True):
            _compile(target, [*arguments, *newer])
    finally:  # a list that cannot be resolved stays, but those before it are new
        changed = mentions.changes(before, mentions.versions(targets))
        texts = mentions.renew(changed, root)
    for place in mentions.places(changed, root):
        report(f"read: is this still true? {place}")
    return targets + texts


def _sources(root: Path) -> dict[str, list[str]]:
    """Return the arguments of uv that say what each environment contains.

    What two environments share has the same version in both: the second list is made
    with the first one as a constraint.
    """
    file = root / "pyproject.toml"
    project = tomllib.loads(file.read_text("utf-8"))
    groups = {n: ["--group", f"{file}:{n}"] for n in project["dependency-groups"]}
    groups.pop("d2lbook", None)
    run = [str(file), *groups.pop("run")]
    for name in project["project"]["optional-dependencies"]:
        groups[name] = [*run, *groups.pop(f"run-{name}", []), "--extra", name]
    for name in READERS.keys() & groups:
        extras = [word for tab in READERS[name] for word in ("--extra", tab)]
        groups[name] = [*run, *groups[name], *extras]
    if "plans" in groups:
        groups["plans"] = [*groups["jax"], *groups["plans"]]
    for name in SHARING.keys() & groups:
        first = root / f"environments/{SHARING[name]}.txt"
        groups[name] += ["--constraint", str(first)]
    return groups


def _packages(upgrade: Sequence[str], root: Path) -> list[str]:
    """Return the packages that these names of packages and tabs stand for."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    extras = project["project"]["optional-dependencies"]
    groups = {"plans": [], **project["dependency-groups"]}
    names = dict.fromkeys(n for n in upgrade if n != "1" and n not in extras)
    for tab in (name for name in extras if name in upgrade):
        asked = [*extras[tab], *groups.get(f"run-{tab}", [])]
        if tab == "jax":  # its compiler for GPUs, which has a list of its own
            asked += groups["plans"]
        names |= dict.fromkeys(mentions.package(each) for each in asked)
    return list(names)


def _check_names(upgrade: Sequence[str], root: Path) -> None:
    """Raise a `BookError` if a name is neither a tab nor a package of a list."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    lists = [file.stem for file in (root / "environments").glob("*.txt")]
    pins = (pin for name in lists for pin in environments.pins(name, root))
    known = {"1", *project["project"]["optional-dependencies"]}
    known |= {mentions.package(pin) for pin in pins}
    for name in upgrade:
        if name not in known:
            nearest = choices(name, known, "UPGRADE=1 takes all")
            raise BookError(f"no environment has '{name}'; {nearest}", "UPGRADE")


def _compile(target: Path, arguments: Sequence[str]) -> Path:
    report(f"resolving environments/{target.name}")
    draft = target.with_suffix(".txt.new")
    try:
        if target.exists():
            shutil.copy(target, draft)
        environments.run_uv(
            f"the requirements of {target.stem} cannot be resolved",
            *("pip", "compile", "--python-version", PYTHON_VERSION),
            # One version of each package for all systems and all later Pythons.
            *("--universal", "--fork-strategy", "fewest"),
            *arguments,
            *("-o", draft, "--quiet", "--no-annotate", "--no-header"),
            root=target.parent.parent,
            # It may hold wheels that fit only this machine.
            drop="UV_FIND_LINKS",
        )
        if target.stem in WITH_PYTORCH:
            draft.write_text(CUDA_PINS.sub("", draft.read_text()))
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)
    return target
