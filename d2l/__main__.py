"""Report the GPUs that each installed framework can use, and what is wrong with them.

python -m d2l           # all frameworks that this Python can import
python -m d2l jax       # one of them
python -m d2l memory -h # the memory of a training step or of a server, before it runs
python -m d2l audit -h  # the book's predictions beside published measurements

The report also says whether another book's package d2l, such as PyPI's, is installed
beside this one or over it. The exit status is 0 if nothing is wrong, 1 if something is
wrong or no framework is installed, and 2 if an argument is not a framework's name.
"""

import importlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

MODULES = {
    "pytorch": "torch",
    "mxnet": "mxnet",
    "jax": "jax",
    "tensorflow": "tensorflow",
}
LIBRARY = Path(__file__).parent
# A framework may take memory or end the process, so each runs in a process of its own.
SHOW = "import sys; from d2l import __main__; sys.exit(__main__.show(sys.argv[1]))"


def main(arguments: Sequence[str]) -> int:
    """Report on the named frameworks, or on all; return the exit status."""
    if [*arguments][:1] == ["memory"]:
        from d2l import memory_command

        return memory_command.main(arguments[1:])
    if [*arguments][:1] == ["audit"]:
        from d2l import audit_command

        return audit_command.main(arguments[1:])
    if {"-h", "--help"} & {*arguments}:
        print(__doc__)
        return 0
    # The module of PyTorch has another name than the framework.
    tabs = {module: tab for tab, module in MODULES.items()}
    arguments = [tabs.get(name, name) for name in arguments]
    for name in arguments:
        if name not in MODULES:
            known = f"{', '.join(MODULES)} or memory"
            return _error(f"'{name}' is not a framework; use {known}", 2)
    conflict = name_conflict()
    if conflict:
        _error(conflict, 1)
    if not library_is_whole():
        return 1
    return max(int(bool(conflict)), _report(arguments))


def _report(arguments: Sequence[str]) -> int:
    """Report on the named frameworks, or on all; return 1 if something is wrong."""
    here = [tab for tab, module in MODULES.items() if importlib.util.find_spec(module)]
    for name in arguments:
        if name not in here:
            return _error(f"{name} is not installed for {sys.executable}", 1)
    if not here:
        names = ", ".join(MODULES.values())
        return _error(f"install one of {names} for {sys.executable}", 1)
    return max([_in_a_process(tab) for tab in dict.fromkeys(arguments or here)])


def name_conflict() -> str:
    """Return how another book's package `d2l` is in the way; "" if there is none."""
    remedy = f"run '{sys.executable} -m pip uninstall d2l'"
    if not library_is_whole():
        remedy += ", then install this library again with --force-reinstall"
    try:
        other = metadata.distribution("d2l")
    except metadata.PackageNotFoundError:
        if library_is_whole():
            return ""
        return f"another book's library has replaced the one in {LIBRARY}; {remedy}"
    return (
        f"another book's package d2l {other.version} is installed in"
        f" {other.locate_file('')}, and a program can import only one d2l; {remedy}"
    )


def library_is_whole() -> bool:
    """Return whether the modules beside this file are this book's."""
    modules = [LIBRARY / f"{module}.py" for module in MODULES.values()]
    texts = [module.read_text("utf-8") for module in modules if module.exists()]
    return all("def gpu_report(" in text for text in texts)


def _in_a_process(tab: str) -> int:
    # TensorFlow's log is long, and the report repeats what the log says about GPUs.
    env = {"TF_CPP_MIN_LOG_LEVEL": "3", **os.environ}
    status = subprocess.run([sys.executable, "-c", SHOW, tab], env=env).returncode
    if status not in (0, 1):
        return _error(f"{tab} ended with status {status} and no report", 1)
    return status


def show(tab: str) -> int:
    """Print the report of one framework; return 1 if something is wrong, else 0."""
    try:
        library = importlib.import_module(f"d2l.{MODULES[tab]}")
    except Exception as error:  # a package is missing or has the wrong version
        remedy = "install the missing package, or install the framework again"
        return _error(f"{tab} cannot be imported ({error}); {remedy}", 1)
    report = library.gpu_report()
    print(report, end="\n\n", flush=True)
    return 1 if report.problems else 0


def _error(message: str, status: int) -> int:
    print(f"error: {' '.join(message.split())}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
