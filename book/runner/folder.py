"""The contents of an exported folder: a manifest, notebooks, the library, results."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from .machine import Unfit

FORMAT = 1
MANIFEST = "manifest.json"
NOTEBOOKS = "notebooks"
RESULTS = "results"
LIBRARY = "d2l"


@dataclass(frozen=True)
class ExportedNotebook:
    """One notebook of an exported folder."""

    tab: str
    section: str
    fingerprint: str  # of the code and of what it uses, when it was exported
    varies: list[int]  # the cells, from 1, whose outputs cannot repeat

    @property
    def title(self) -> str:
        return f"{self.tab}: {self.section}"

    @property
    def file(self) -> str:
        """The path of the notebook, below notebooks/ and below results/."""
        return f"{self.tab}/{self.section}.ipynb"


@dataclass(frozen=True)
class Manifest:
    """The contents of an exported folder."""

    machine: str
    library: str  # the digest of d2l/
    distributions: dict[str, list[str]]  # what each tab's framework may come in
    notebooks: list[ExportedNotebook]

    def text(self) -> str:
        """Return the contents of the file."""
        entries = [vars(entry) for entry in self.notebooks]
        whole = {"format": FORMAT} | vars(self) | {"notebooks": entries}
        return json.dumps(whole, indent=1) + "\n"


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of an exported folder; raise `Unfit` if it has none."""
    file = folder / MANIFEST
    if not file.is_file():
        raise Unfit(f"there is no {MANIFEST}; name a folder that was exported")
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        if found.pop("format") != FORMAT:
            raise Unfit("made by another version of the book; export it again")
        entries = [ExportedNotebook(**entry) for entry in found.pop("notebooks")]
        manifest = Manifest(**found, notebooks=entries)
        if not _is_sound(manifest):
            raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Unfit(f"{MANIFEST} is damaged; export it again") from None
    return manifest


def _is_sound(manifest: Manifest) -> bool:
    entries = manifest.notebooks
    texts = [manifest.machine, manifest.library]
    texts += [text for e in entries for text in (e.tab, e.section, e.fingerprint)]
    return all(isinstance(text, str) for text in texts) and all(
        isinstance(manifest.distributions[entry.tab], list) for entry in entries
    )


def library_digest(folder: Path) -> str:
    """Return a hash of the package d2l in `folder`."""
    digest = hashlib.sha256()
    for file in sorted((folder / LIBRARY).glob("*")):
        if file.suffix in (".py", ".csv") and file.is_file():
            content = file.read_bytes()
            digest.update(f"{file.name}:{len(content)}:".encode() + content)
    return digest.hexdigest()


def seal(result: NotebookNode) -> str:
    """Return a hash of a result's contents, which shows damage on the way."""
    cells = [[c.source, c.execution_count, c.outputs] for c in result.cells]
    text = json.dumps([result.metadata.book, cells], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def read_notebook(file: Path) -> NotebookNode:
    """Return a notebook of the folder; raise `Unfit` if it is missing or damaged."""
    try:
        return nbformat.read(file, as_version=4)
    except FileNotFoundError:
        raise Unfit(f"{file}: missing; export it again") from None
    except (ValueError, nbformat.ValidationError):
        raise Unfit(f"{file}: damaged; export it again") from None


def seal_result(
    notebook: NotebookNode,
    manifest: Manifest,
    entry: ExportedNotebook,
    facts: dict[str, str],
) -> str:
    """Return the text of a result: an executed notebook and the facts of its run."""
    made_by = facts | {"fingerprint": entry.fingerprint, "library": manifest.library}
    notebook.metadata = NotebookNode(book=made_by)
    # The seal is that of the notebook as the file has it, where no half of a surrogate
    # pair can stand.
    text = nbformat.writes(notebook).encode(errors="replace").decode()
    notebook = nbformat.reads(text, as_version=4)
    notebook.metadata["seal"] = seal(notebook)
    return nbformat.writes(notebook) + "\n"
