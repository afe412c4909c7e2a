"""Opens the book's notebooks in JupyterLab: `python -m book lab`.

Each framework has a kernel, which runs in the environment of its tab or in an
interpreter of the reader. All that Jupyter writes is in `_build/lab`, and nothing needs
a network once the environments are there.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import nbformat
from nbformat import NotebookNode

from book.base import build_paths, environments
from book.base.errors import BookError
from book.base.files import write_whole
from book.notebooks import editions
from book.pages import names
from book.runner.kernel_settings import KERNEL_SETTINGS
from book.sources.book import Book
from book.sources.tabs import tab_name

WRITTEN = "gpus_written"  # in the metadata of a notebook: a hash of what it was
# A path of a socket has at most 107 characters, about 65 of them in the folder.
LONGEST_FOLDER = 40
LAB_SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
    }
}


def interpreters(tabs: Sequence[str], python: Path | None) -> dict[str, Path]:
    """Return the Python of each tab: `python`, or that of the tab's environment.

    Raises a `BookError` if `python` cannot run a kernel.
    """
    if python is None:
        return {tab: environments.python(tab) for tab in tabs}
    command = [str(python), "-c", "import ipykernel"]
    try:
        works = subprocess.run(command, capture_output=True).returncode == 0
    except OSError as error:
        reason = f"{python} does not start ({error.strerror})"
        raise BookError(reason, "PYTHON") from None
    if not works:
        raise BookError(f"{python} has no ipykernel; pip install ipykernel", "PYTHON")
    return dict.fromkeys(tabs, python.absolute())


def start(
    book: Book, tabs: Sequence[str], sections: Sequence[str], python: Path | None
) -> NoReturn:
    """Write the chosen notebooks and become JupyterLab, which shows them."""
    chosen = editions.chosen_sections(book, tabs, sections)
    shown_tabs = list(dict.fromkeys(tab for tab, _ in chosen))
    pythons = interpreters(shown_tabs, python)
    lab = book.root / build_paths.LAB
    edition = editions.Edition(book)
    for tab, section in chosen:
        file = lab / "notebooks" / names.notebook(book, section, tab)
        _write_notebook(file, edition.notebook(section, tab, names.PLAIN), tab)
    first = f"/{names.notebook(book, chosen[0][1], chosen[0][0])}" if sections else ""
    for tab, interpreter in pythons.items():
        spec = _kernel_spec(tab, interpreter, book.root)
        folder = lab / "share/kernels" / _kernel_name(tab)
        write_whole(folder / "kernel.json", json.dumps(spec, indent=1))
    _write_settings(lab, shown_tabs, f"/lab/tree{first}")
    command = [sys.executable, "-m", "jupyterlab"]
    sys.stdout.flush()
    os.execve(sys.executable, command, {**os.environ, **_places(lab)})


def _write_notebook(file: Path, notebook: NotebookNode, tab: str) -> None:
    """Write a notebook with the kernel of its tab, unless a reader has changed it."""
    notebook.metadata.kernelspec = {
        **{"name": _kernel_name(tab), "display_name": _title(tab)},
        **{"language": "python"},
    }
    digest = _digest(notebook)
    if file.exists():
        try:
            old = nbformat.read(file, as_version=4)
        except (nbformat.reader.NotJSONError, OSError, ValueError):
            return
        written = old.metadata.get(WRITTEN)
        if written == digest or written != _digest(old):
            return
    notebook.metadata[WRITTEN] = digest
    write_whole(file, nbformat.writes(notebook) + "\n")


def _digest(notebook: NotebookNode) -> str:
    """Return a hash of the texts in a notebook, which a reader may have changed."""
    texts = [[cell.cell_type, cell.source] for cell in notebook.cells]
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16]


def _kernel_name(tab: str) -> str:
    return f"gpus-{tab}"


def _title(tab: str) -> str:
    return f"GPUs: {tab_name(tab)}"


def _kernel_spec(tab: str, python: Path, root: Path) -> dict[str, Any]:
    """Return Jupyter's description of the kernel of a tab, which imports our d2l."""
    launch = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    path = f"{python.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    settings = {**KERNEL_SETTINGS, "PYTHONPATH": str(root), "PATH": path}
    return {
        **{"argv": launch, "display_name": _title(tab), "env": settings},
        **{"language": "python", "metadata": {"debugger": True}},
    }


def _write_settings(lab: Path, tabs: Sequence[str], first: str) -> None:
    """Write the settings of JupyterLab: our kernels only, and no news."""
    kernels = [_kernel_name(tab) for tab in tabs]
    settings: Mapping[str, Any] = {
        "ServerApp": {
            "root_dir": str(lab / "notebooks"),
            "default_url": first,
            "allow_root": os.geteuid() == 0,
            "answer_yes": True,  # Ctrl-C ends it
            "jpserver_extensions": {"jupyter_lsp": False},  # asks npm for servers
        },
        "LabApp": {
            "default_url": first,
            "news_url": None,
            "check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
            "extension_manager": "readonly",
        },
        "KernelSpecManager": {
            "allowed_kernelspecs": kernels,
            "ensure_native_kernel": False,
        },
    }
    if len(str(lab)) <= LONGEST_FOLDER:
        settings = {**settings, "KernelManager": {"transport": "ipc"}}
    config = lab / "config"
    write_whole(config / "jupyter_server_config.json", json.dumps(settings, indent=1))
    write_whole(
        config / "labconfig/default_setting_overrides.json", json.dumps(LAB_SETTINGS)
    )


def _places(lab: Path) -> dict[str, str]:
    """Return the variables that keep all that Jupyter writes in one folder."""
    return {
        "JUPYTER_PATH": str(lab / "share"),
        "JUPYTER_CONFIG_DIR": str(lab / "config"),
        "JUPYTER_DATA_DIR": str(lab / "data"),
        "JUPYTER_RUNTIME_DIR": str(lab / "run"),
        "JUPYTERLAB_SETTINGS_DIR": str(lab / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(lab / "workspaces"),
        "IPYTHONDIR": str(lab / "ipython"),
        "MPLCONFIGDIR": str(lab / "matplotlib"),
        "KERAS_HOME": str(lab / "keras"),
    }
