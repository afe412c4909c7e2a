"""Functions that `book.notebooks.editions` copies into notebooks that run alone.

The functions here go into the first cells of each notebook, word for word. So they
use what every kernel has, and run on Python 3.10 too.
"""

import importlib.metadata
import importlib.util
import inspect
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from IPython import get_ipython

IMPORTS = re.compile(r"^(?:import|from) .*$", re.MULTILINE)


def nvidia_smi(*options):
    """Return what nvidia-smi prints; nothing where there is no driver."""
    try:
        command = ["nvidia-smi", *options]
        run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return "" if run.returncode else run.stdout


def tell_gpus():
    """Show the GPUs as the driver sees them, and say in one line what was found."""
    print(nvidia_smi(), end="")
    names = nvidia_smi("--query-gpu=name", "--format=csv,noheader").splitlines()
    count = "one NVIDIA GPU" if len(names) == 1 else f"{len(names)} NVIDIA GPUs"
    no_gpu = "no NVIDIA GPU here; the code runs on the CPU"
    print(f"Found {count}: {', '.join(names)}." if names else f"Found {no_gpu}.")


def check_mxnet():
    """Refuse a Python or a NumPy that MXNet does not run with."""
    try:
        numpy = importlib.metadata.version("numpy")
    except importlib.metadata.PackageNotFoundError:
        numpy = ""
    old_numpy = not numpy or tuple(map(int, numpy.split(".")[:2])) < (1, 24)
    if sys.version_info < (3, 12) and old_numpy:
        return
    raise ImportError(
        "MXNet 1.9.1, its last release, needs Python 3.11 or older and a NumPy below"
        f" 1.24; here are Python {sys.version.split()[0]} and NumPy {numpy or 'none'}."
        " With such a Python: pip install mxnet==1.9.1 numpy==1.23.5, then restart"
        " the kernel. Otherwise choose another framework."
    )


def install_missing(packages):
    """Install what cannot be imported; `packages` maps modules to requirements."""
    missing = [
        requirement
        for module, requirement in packages.items()
        if importlib.util.find_spec(module) is None
    ]
    if missing:
        get_ipython().run_line_magic("pip", f"install -q {' '.join(missing)}")


def library_fits(folder, init, module, needed):
    """Return whether the d2l in `folder` is this book's and has what is `needed`."""
    files = Path(folder, "__init__.py"), Path(folder, module)
    if not all(file.is_file() for file in files):
        return False
    found, text = (file.read_text(encoding="utf-8") for file in files)
    return found == init and all(re.search(rf"\b{name}\b", text) for name in needed)


def use_library(init, module, needed, source=None):
    """Let `import d2l` find this book's library, and say in one line where it is.

    It may be installed, or in a folder beside the notebook's; otherwise `source`
    is written to a temporary folder.
    """
    spec = importlib.util.find_spec("d2l")
    installed = [Path(p) for p in (spec and spec.submodule_search_locations) or []]
    beside = [Path.cwd().parent / "d2l", Path.cwd() / "d2l"]
    fitting = [
        folder
        for folder in [*installed, *beside]
        if library_fits(folder, init, module, needed)
    ]
    if not fitting and source is None:
        raise ModuleNotFoundError(
            "the library d2l of this book is not here; unpack the whole zip, and run"
            " this notebook in its folder"
        )
    folder = fitting[0] if fitting else Path(tempfile.mkdtemp(prefix="d2l-"), "d2l")
    if not fitting:
        folder.mkdir()
        (folder / "__init__.py").write_text(init, encoding="utf-8")
        (folder / module).write_text(source, encoding="utf-8")
    if folder not in installed:
        # Another package of that name, such as that of D2L 1.0, has to stand back.
        sys.path.insert(0, str(folder.parent))
        for name in [n for n in sys.modules if n.split(".")[0] == "d2l"]:
            del sys.modules[name]
    print(f"d2l is imported from {folder}.")


# Writing the cells

Function = Callable[..., Any]


def cell(functions: Iterable[Function], rest: str) -> str:
    """The code of a cell that has some of the functions above, and then `rest`."""
    sources = [inspect.getsource(function).strip() for function in functions]
    body = "\n\n".join([*sources, rest])
    return f"{_imports(body)}\n\n{body}"


def _imports(body: str) -> str:
    """The lines of this module that import what `body` uses."""
    lines = IMPORTS.findall(inspect.getsource(sys.modules[__name__]))
    code = re.sub(r'""".*?"""', "", body, flags=re.DOTALL)
    wanted = [
        line
        for line in lines
        if re.search(rf"(?<![\w.]){re.escape(line.split()[-1])}\b", code)
    ]
    return "\n".join(wanted)
