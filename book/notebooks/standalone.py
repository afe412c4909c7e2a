"""Functions that `book.notebooks.editions` copies into the first cell of notebooks.

The source of these functions becomes part of each notebook. They therefore use only
modules that every kernel has, and begin to run on older versions of Python, too.
"""

import atexit
import base64
import importlib.metadata
import importlib.util
import inspect
import io
import re
import shutil
import site
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from IPython import get_ipython

IMPORTS = re.compile(r"^(?:import|from) .*$", re.MULTILINE)


def nvidia_smi(*options):
    """Return the output of nvidia-smi, or an empty text if there is no driver."""
    try:
        command = ["nvidia-smi", *options]
        run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return "" if run.returncode else run.stdout


def report_gpus():
    """Print the number and the names of the GPUs."""
    names = nvidia_smi("--query-gpu=name", "--format=csv,noheader").splitlines()
    count = "one NVIDIA GPU" if len(names) == 1 else f"{len(names)} NVIDIA GPUs"
    no_gpu = "no NVIDIA GPU here; the code runs on the CPU"
    print(f"Found {count}: {', '.join(names)}." if names else f"Found {no_gpu}.")


def check_python():
    """Raise an `ImportError` if d2l does not run with this version of Python."""
    oldest = 3, 11
    if sys.version_info < oldest:
        raise ImportError(
            "this notebook needs Python 3.11 or newer, and this kernel has Python"
            f" {sys.version.split()[0]}; choose a kernel or a runtime with a newer one"
        )


def version_of(packages):
    """Return the version of the first of these packages that is installed, or None."""
    for package in packages:
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue


def report_version(packages, recorded):
    """Print the version of the framework if the book's outputs are of another one."""
    version = version_of(packages)
    if version and version.split("+")[0] != recorded:
        name = packages[0]
        print(f"The outputs in the book were made with {name} {recorded};", end=" ")
        print(f"this runtime has {name} {version}.")


def check_mxnet():
    """Raise an `ImportError` if MXNet does not run with this Python or NumPy."""
    numpy = version_of(["numpy"])
    old_numpy = not numpy or tuple(map(int, numpy.split(".")[:2])) < (1, 24)
    if sys.version_info < (3, 12) and old_numpy:
        return
    raise ImportError(
        "MXNet 1.9.1, its last release, needs Python 3.11 or older and NumPy below"
        f" 1.24; this kernel has Python {sys.version.split()[0]} and NumPy"
        f" {numpy or '(not installed)'}. With Python 3.11, run pip install mxnet==1.9.1"
        " numpy==1.23.5 and restart the kernel. Otherwise, choose another framework."
    )


def path_files():
    """Return the files that Python reads at its start, each as a folder and a name."""
    folders = [*site.getsitepackages(), site.getusersitepackages()]
    return {(f, file.name) for f in folders for file in Path(f).glob("*.pth")}


def check_version(package, oldest, reason):
    """Raise an `ImportError` if the installed package is older than `oldest`."""
    version = importlib.metadata.version(package)
    numbers, wanted = (re.findall(r"\d+", text) for text in (version, oldest))
    if [*map(int, numbers)] < [*map(int, wanted)]:
        raise ImportError(
            f"this notebook needs {package} {oldest} or newer, as {reason}, and this"
            f" kernel has {version}. Choose a host or an environment with a newer one."
        )


def install_missing(packages):
    """Install missing packages; `packages` maps modules to requirements.

    "NAME>=VERSION, REASON" is a package whose version is checked if it is installed.
    A package such as numba-cuda takes effect by a file that Python reads at its start.
    The new files are read here, so the kernel needs no restart.
    """
    missing = []
    for module, requirement in packages.items():
        package, _, oldest = requirement.partition(">=")
        if importlib.util.find_spec(module) is None:
            missing.append(package)
        elif oldest:
            check_version(package, *oldest.split(", ", 1))
    if missing:
        before = path_files()
        get_ipython().run_line_magic("pip", f"install -q {' '.join(missing)}")
        importlib.invalidate_caches()
        for folder, name in path_files() - before:
            site.addpackage(folder, name, None)


def is_our_library(folder, init, module, names):
    """Return True if `folder` holds this book's d2l with these names."""
    files = Path(folder, "__init__.py"), Path(folder, module)
    if not all(file.is_file() for file in files):
        return False
    text_of_init, text = (file.read_text(encoding="utf-8") for file in files)
    has_names = all(re.search(rf"\b{name}\b", text) for name in names)
    return text_of_init == init and has_names


def use_library(init, module, names, archive=None):
    """Make this book's library available as d2l, and print where it is.

    The library may be installed, or in the folder `library` beside the notebook's.
    Otherwise, `archive`, a zip file as text, is unpacked to a folder that lasts as
    long as the kernel.
    """
    spec = importlib.util.find_spec("d2l")
    installed = [Path(p) for p in (spec and spec.submodule_search_locations) or []]
    here = Path.cwd()
    nearby = [here.parent / "library/d2l", here / "library/d2l", here / "d2l"]
    folders = [
        folder
        for folder in [*installed, *nearby]
        if is_our_library(folder, init, module, names)
    ]
    if not folders and archive is None:
        raise ModuleNotFoundError(
            "cannot find d2l, the library of this book; unpack the whole zip archive"
            " and run this notebook in its folder"
        )
    folder = folders[0] if folders else Path(tempfile.mkdtemp(prefix="d2l-"), "d2l")
    if not folders:
        packed = io.BytesIO(base64.b64decode(archive))
        zipfile.ZipFile(packed).extractall(folder.parent)
        atexit.register(shutil.rmtree, folder.parent, ignore_errors=True)
    if folder not in installed:
        # This library takes precedence over other packages of the same name.
        sys.path.insert(0, str(folder.parent))
        for name in [n for n in sys.modules if n.split(".")[0] == "d2l"]:
            del sys.modules[name]
    print(f"d2l is imported from {folder}.")


# Writing the cell

Function = Callable[..., Any]


def cell(functions: Iterable[Function], rest: str) -> str:
    """Return the code of a cell that defines some of these functions, then `rest`."""
    sources = [inspect.getsource(function).strip() for function in functions]
    body = "\n\n".join([*sources, rest])
    return f"{_imports(body)}\n\n{body}"


def _imports(body: str) -> str:
    """Return the lines of this module that import the names that `body` uses."""
    lines = IMPORTS.findall(inspect.getsource(sys.modules[__name__]))
    code = re.sub(r'""".*?"""', "", body, flags=re.DOTALL)
    return "\n".join(
        line
        for line in lines
        if re.search(rf"(?<![\w.]){re.escape(line.split()[-1])}\b", code)
    )
