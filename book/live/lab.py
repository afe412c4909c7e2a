"""Opens the book's notebooks in JupyterLab: `python -m book lab`.

Each framework has a kernel, which runs in the environment of its tab or in an
interpreter of the reader, and a folder with notebooks and a list of them. All that
Jupyter writes is in `_build/lab`, and nothing needs a network once the environments are
there.
"""

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
from book.live.origin import BEHIND_PROXY, Origin, hint
from book.notebooks import archive, editions
from book.pages import addresses
from book.records import store
from book.runner.errors import BookError
from book.runner.files import write_whole
from book.runner.freshness import digest
from book.runner.kernel_settings import KERNEL_SETTINGS
from book.runs import stale
from book.text.book import Book
from book.text.section import Section
from book.text.tabs import tab_name

WRITTEN = "gpus_written"  # in the metadata of a notebook: a hash of what it was
# On macOS, a path of a socket has at most 103 characters, about 65 in the folder.
LONGEST_FOLDER = 36
FIND = """\
import importlib.util, sys
print(*[name for name in sys.argv[1:] if importlib.util.find_spec(name) is None])
"""
INDEX_NAME = "0-contents.md"  # the first in a list of files
INDEX = """\
# {title}: {tab}

These are the notebooks in this folder, in the order of the book. What you change is
kept. For a fresh copy of a notebook, delete it and run `make lab` again.

{contents}
"""
INDEX_ITEM = "* [{number} {title}]({file})"
# The host may be that of another Jupyter, whose cookies have the name of the host.
PROXIED_COOKIE = {"secure_cookie": True, "cookie_name": "gpus-lab"}
LAB_SETTINGS = {
    "@jupyterlab/docmanager-extension:plugin": {
        "defaultViewers": {"markdown": "Markdown Preview"}
    },
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
    },
}


def interpreters(
    book: Book, tabs: Sequence[str], python: Path | None
) -> dict[str, Path]:
    """Return the Python of each tab: `python`, or that of the tab's environment.

    Raises a `BookError` if `python` cannot run the notebooks of a tab.
    """
    if python is None:
        return {tab: environments.python(tab) for tab in tabs}
    found = stale.check_interpreter(python)
    for tab in tabs:
        _check_packages(book, found, tab)
    return dict.fromkeys(tabs, found)


def _check_packages(book: Book, python: Path, tab: str) -> None:
    """Raise a `BookError` if `python` lacks what the notebooks of `tab` import."""
    packages = editions.listed_packages(book, tab, "all")
    packages["ipykernel"] = "ipykernel"
    asked = subprocess.run(
        [python, "-c", FIND, *packages],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    missing = [packages[name].partition("==")[0] for name in asked.stdout.split()]
    if missing:
        pins = [_pin(package, environments.pins_on(None, tab)) for package in missing]
        raise BookError(
            f"{python} lacks {', '.join(missing)}; run"
            f" {python} -m pip install {' '.join(pins)}",
            "PYTHON",
        )


def _pin(package: str, pins: Sequence[str]) -> str:
    """Return a package in the version that `pins` name, as in `torch==2.13.0`."""
    names = store.distributions(package)
    return next((pin for pin in pins if pin.partition("==")[0] in names), package)


def start(
    book: Book,
    tabs: Sequence[str],
    sections: Sequence[str],
    python: Path | None,
    port: int,
    origin: Origin | None = None,
) -> NoReturn:
    """Write the chosen notebooks and become JupyterLab, which shows the first."""
    chosen = _choose(book, tabs, sections)
    pythons = interpreters(book, list(dict.fromkeys(t for _, t in chosen)), python)
    lab = book.root / build_paths.LAB
    _write_notebooks(lab / "notebooks", book, chosen)
    for tab, interpreter in pythons.items():
        spec = _kernel_spec(tab, interpreter, book.root)
        folder = lab / "share/kernels" / _kernel_name(tab)
        write_whole(folder / "kernel.json", json.dumps(spec, indent=1))
    first, first_tab = chosen[0]
    page = f"/lab/tree/{addresses.notebook(book, first, first_tab)}"
    _write_settings(lab, page, port, origin)
    if origin is None and (setting := hint(os.environ, port)):
        print(f"{BEHIND_PROXY} {setting}")
    command = [sys.executable, "-m", "jupyterlab"]
    sys.stdout.flush()
    os.execve(sys.executable, command, {**os.environ, **_places(lab)})


def _choose(
    book: Book, tabs: Sequence[str], sections: Sequence[str]
) -> list[tuple[Section, str]]:
    """Return each chosen section and tab with code; raise a `BookError` if none has."""
    for tab in tabs:
        book.check_tab(tab)
    chosen = editions.choose(book, tabs, sections)
    if not chosen:
        reason = f"{', '.join(sections)}: no code in {', '.join(tabs)}; choose another"
        raise BookError(reason, "SECTION")
    return chosen


def _write_notebooks(
    folder: Path, book: Book, chosen: Sequence[tuple[Section, str]]
) -> None:
    """Write the chosen notebooks, and the list of those that are in each folder."""
    edition = editions.NotebookEdition(book)
    old = []
    for section, tab in chosen:
        file = folder / addresses.notebook(book, section, tab)
        if _write_notebook(file, edition.notebook(section, tab, addresses.PLAIN), tab):
            old.append(os.path.relpath(file))
    for tab in dict.fromkeys(tab for _, tab in chosen):
        write_whole(folder / tab / INDEX_NAME, _index(edition, folder, tab))
    if old:
        print(
            f"kept, because you changed them: {', '.join(old)}; their sections are"
            " newer; for a fresh copy, delete the file and run make lab again"
        )


def _index(edition: editions.NotebookEdition, folder: Path, tab: str) -> str:
    """Return a list of the notebooks of a tab in `folder`, in the order of the book."""
    book = edition.book
    files = {
        section: addresses.notebook(book, section, tab) for section in book.sections
    }
    there = [section for section, file in files.items() if (folder / file).exists()]
    return INDEX.format(
        title=book.config.project["title"],
        tab=tab_name(tab),
        contents=archive.contents(book, edition.targets.numbers, there, INDEX_ITEM),
    )


def _write_notebook(file: Path, notebook: NotebookNode, tab: str) -> bool:
    """Write a notebook with the kernel of its tab, unless a reader has changed it.

    Below its title, it leads to the list of all notebooks. Return whether the file is
    a changed notebook that is older than its section.
    """
    notebook.cells[0].source += f"\n\n[All notebooks]({INDEX_NAME})"
    notebook.metadata.kernelspec = {
        **{"name": _kernel_name(tab), "display_name": _title(tab)},
        **{"language": "python"},
    }
    contents = _digest(notebook)
    if file.exists():
        try:
            old = nbformat.read(file, as_version=4)
        except (nbformat.reader.NotJSONError, OSError, ValueError):
            return False
        written = old.metadata.get(WRITTEN)
        if written == contents:
            return False
        if written != _digest(old):
            return written is not None
    notebook.metadata[WRITTEN] = contents
    write_whole(file, nbformat.writes(notebook) + "\n")
    return False


def _digest(notebook: NotebookNode) -> str:
    """Return a hash of the texts in a notebook, which a reader may have changed."""
    texts = [[cell.cell_type, cell.source] for cell in notebook.cells]
    return digest(json.dumps(texts))[:16]


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


def _kernels(lab: Path) -> list[str]:
    """Return the kernels whose interpreters exist, also those of earlier commands."""
    specs = {
        file.parent.name: json.loads(file.read_text("utf-8"))
        for file in sorted((lab / "share/kernels").glob("*/kernel.json"))
    }
    return [name for name, spec in specs.items() if Path(spec["argv"][0]).exists()]


def _write_settings(lab: Path, first: str, port: int, origin: Origin | None) -> None:
    """Write the settings of JupyterLab: our kernels only, and no news."""
    settings: Mapping[str, Any] = {
        "ServerApp": {
            "root_dir": str(lab / "notebooks"),
            "default_url": first,
            "port": port,
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
            "allowed_kernelspecs": _kernels(lab),
            "ensure_native_kernel": False,
        },
    }
    if len(str(lab)) <= LONGEST_FOLDER:
        settings = {**settings, "KernelManager": {"transport": "ipc"}}
    if origin:
        server = {**settings["ServerApp"], **_proxied(origin)}
        settings = {**settings, "ServerApp": server, "IdentityProvider": PROXIED_COOKIE}
    config = lab / "config"
    write_whole(config / "jupyter_server_config.json", json.dumps(settings, indent=1))
    write_whole(
        config / "labconfig/default_setting_overrides.json", json.dumps(LAB_SETTINGS)
    )


def _proxied(origin: Origin) -> dict[str, Any]:
    """Return the settings of a server behind the proxy of `origin`, and no other.

    The proxy has to keep its path in the requests, since Jupyter answers below it.
    """
    return {
        "base_url": f"{origin.path}/",
        "allow_origin": origin.site,
        # `allow_remote_access` would let in all other hosts, too.
        "local_hostnames": ["localhost", origin.host.partition(":")[0]],
        "custom_display_url": origin.site,
    }


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
