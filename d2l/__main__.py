"""What GPUs each framework here can use, and what is wrong with them.

python -m d2l        # all frameworks that this Python can import
python -m d2l jax    # one of them

The exit status is 0 if nothing is wrong, 1 if something is or if there is no framework,
and 2 if the arguments make no sense.
"""

import importlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence

MODULES = {
    "pytorch": "torch",
    "mxnet": "mxnet",
    "jax": "jax",
    "tensorflow": "tensorflow",
}
# A framework may take memory, or end the process: each has one of its own.
SHOW = "import sys; from d2l import __main__; sys.exit(__main__.show(sys.argv[1]))"


def main(arguments: Sequence[str]) -> int:
    """Report on the frameworks named, or on all; return the exit status."""
    if {"-h", "--help"} & {*arguments}:
        print(__doc__)
        return 0
    for name in arguments:
        if name not in MODULES:
            return _error(f"'{name}' is no framework; use {', '.join(MODULES)}", 2)
    here = [tab for tab, module in MODULES.items() if importlib.util.find_spec(module)]
    for name in arguments:
        if name not in here:
            return _error(f"{name} is not installed for {sys.executable}", 1)
    if not here:
        names = ", ".join(MODULES.values())
        return _error(f"install one of {names} for {sys.executable}", 1)
    return max([_in_a_process(tab) for tab in dict.fromkeys(arguments or here)])


def _in_a_process(tab: str) -> int:
    # TensorFlow's log is long, and what it says of GPUs the report says too.
    env = {"TF_CPP_MIN_LOG_LEVEL": "3", **os.environ}
    status = subprocess.run([sys.executable, "-c", SHOW, tab], env=env).returncode
    if status not in (0, 1):
        return _error(f"{tab} ended with status {status} and no report", 1)
    return status


def show(tab: str) -> int:
    """Print the report of one framework; return 1 if something is wrong, else 0."""
    try:
        library = importlib.import_module(f"d2l.{MODULES[tab]}")
    except Exception as error:  # a library that is missing, or of the wrong version
        mend = "install what is missing, or the framework anew"
        return _error(f"{tab} cannot be imported ({error}); {mend}", 1)
    report = library.gpu_report()
    print(report, end="\n\n", flush=True)
    return 1 if report.problems else 0


def _error(message: str, status: int) -> int:
    print(f"error: {' '.join(message.split())}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
