"""Run a notebook by the Python that this is called with, and by nothing of the book.

    python alone.py NOTEBOOK FOLDER

The kernel works in FOLDER and is reached without a network. What it prints first, and
the number of cells that ran, go to stdout.
"""

import sys
import tempfile
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient


class OneInterpreter(KernelSpecManager):
    """Knows the kernel of this interpreter alone, whatever else is installed."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        launch = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=launch, display_name=kernel_name, language="python")


def main(file: str, folder: str) -> None:
    notebook = nbformat.read(file, as_version=4)
    with tempfile.TemporaryDirectory() as scratch:
        manager = AsyncKernelManager(
            kernel_name="python3",
            kernel_spec_manager=OneInterpreter(),
            connection_file=str(Path(scratch) / "kernel.json"),
            transport="ipc",
        )
        place = {"metadata": {"path": folder}}
        client = NotebookClient(notebook, km=manager, startup_timeout=120)
        client.resources = place
        client.execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell in code[:2]:
        print(*(output.get("text", "") for output in cell.outputs), end="")
    print(len(code), "cells ran")


if __name__ == "__main__":
    main(*sys.argv[1:])
