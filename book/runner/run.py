"""Runs the notebooks of this folder and keeps each in results/.

    python run.py [--tab TAB] [--section SECTION]

`make export` copies this file beside the folder `runner`. It needs Python 3.11 with
nbclient and ipykernel, and the framework of the notebooks.
"""

import importlib.util
import platform
import sys
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036  # on another machine it may be
    sys.exit(f"error: Python {platform.python_version()} is too old; use 3.11 or newer")
for name in ("nbclient", "ipykernel"):
    if importlib.util.find_spec(name) is None:
        install = f"{sys.executable} -m pip install nbclient ipykernel"
        sys.exit(f"error: {name} is missing here; {install}")

if __name__ == "__main__":
    from runner.command import main

    sys.exit(main(Path(__file__).resolve().parent))
