"""Runs a notebook with the Python that runs this script, without use of the book.

    python run_notebook.py NOTEBOOK FOLDER

The kernel works in FOLDER and is reached without a network. The script writes the
outputs into NOTEBOOK, also if a cell fails, which ends the run.
"""

import sys
import tempfile
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient


class ThisInterpreter(KernelSpecManager):
    """Knows only the kernel of this interpreter, whatever else is installed."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        """Return the specification of this interpreter's kernel."""
        launch = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=launch, display_name=kernel_name, language="python")


def main(file: str, folder: str) -> None:
    """Run the notebook in `file`, and keep its outputs there."""
    notebook = nbformat.read(file, as_version=4)
    with tempfile.TemporaryDirectory() as scratch:
        manager = AsyncKernelManager(
            kernel_name="python3",
            kernel_spec_manager=ThisInterpreter(),
            connection_file=str(Path(scratch) / "kernel.json"),
            transport="ipc",
        )
        client = NotebookClient(notebook, km=manager, startup_timeout=120)
        client.resources = {"metadata": {"path": folder}}
        try:
            client.execute()
        finally:
            nbformat.write(notebook, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
