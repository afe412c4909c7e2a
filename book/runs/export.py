"""Exports notebooks to a machine that only files reach, and imports the results.

    python -m book export --machine NAME [--tab TAB] [--section SECTION] [--to FOLDER]
    python -m book import --from FOLDER

The exported folder holds all that the machine needs; its runner/ is a
copy of `book/runner/`.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from book.base import build_paths
from book.base.errors import BookError
from book.base.files import locked, replace_folder
from book.library import package
from book.records import fingerprint, store, validation
from book.runner import folder as exported
from book.runner.folder import ExportedNotebook, Manifest
from book.runner.machine import Unfit, is_cpu
from book.runs import run
from book.text.book import Book
from book.text.section import Section

SCRIPT = "run.py"
RUNNER = Path(exported.__file__).parent
PARTS = {
    *(SCRIPT, RUNNER.name, exported.MANIFEST),
    *(exported.NOTEBOOKS, exported.LIBRARY, exported.RESULTS),
}
AGAIN = "export it and run it again"

# Export


def export(
    book: Book,
    machine: str,
    tabs: Sequence[str] = (),
    sections: Sequence[str] = (),
    force: bool = False,
    to: Path | None = None,
) -> Path | None:
    """Write a folder that runs on `machine` what is not fresh, and return its path.

    If everything is fresh, write nothing and return None. Empty `tabs` or `sections`
    mean all of them.
    """
    run.check_names(book, tabs, sections, machine)
    folder = (to or book.root / build_paths.EXPORT / machine).resolve()
    lock = book.root / build_paths.EXPORT_LOCK
    with locked(lock, "another process exports"):
        check_free(folder)
        package.write(book)
        due = run.plan(book, tabs, sections, machine, force)
        if not due:
            print("all records are fresh; there is nothing to export")
            return None
        with replace_folder(folder) as draft:
            _write_contents(draft, book, machine, due)
    print(f"exported: {', '.join(f'{s.name} ({tab})' for s, tab in due)}")
    print(f"copy this folder to {machine} and run in it: python {SCRIPT}")
    print(folder)
    return folder


def check_free(folder: Path) -> None:
    """Raise a `BookError` if an export to `folder` would overwrite something."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise BookError("a file, not a folder; name a folder: TO=FOLDER", folder)
    names = {path.name for path in folder.iterdir()}
    if names and (exported.MANIFEST not in names or not names <= PARTS):
        raise BookError("holds other files; name a new folder: TO=FOLDER", folder)
    if _find_results(folder):
        raise BookError(
            f"holds results; import them with make import FROM='{folder}' and remove"
            " the folder, or name another: TO=FOLDER",
            folder,
        )


def _write_contents(
    draft: Path, book: Book, machine: str, due: list[tuple[Section, str]]
) -> None:
    (draft / exported.LIBRARY).mkdir(parents=True)
    for file in (book.root / exported.LIBRARY).glob("*.*"):
        shutil.copyfile(file, draft / exported.LIBRARY / file.name)
    shutil.copyfile(RUNNER / SCRIPT, draft / SCRIPT)
    (draft / RUNNER.name).mkdir()
    for file in RUNNER.glob("*.py"):
        if file.name != SCRIPT:
            shutil.copyfile(file, draft / RUNNER.name / file.name)
    entries = [_put_notebook(draft, book, section, tab) for section, tab in due]
    manifest = Manifest(
        machine,
        exported.library_digest(draft),
        {tab: store.DISTRIBUTIONS.get(tab, [tab]) for _, tab in due},
        entries,
    )
    (draft / exported.MANIFEST).write_text(manifest.text(), encoding="utf-8")


def _put_notebook(
    draft: Path, book: Book, section: Section, tab: str
) -> ExportedNotebook:
    blank = store.blank(book, section, tab)
    varies = [n for n, c in enumerate(blank.cells, start=1) if store.varies(c)]
    code = fingerprint.fingerprint(book, section, tab)
    entry = ExportedNotebook(tab, section.name, code, varies)
    file = draft / exported.NOTEBOOKS / entry.file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(nbformat.writes(blank) + "\n", encoding="utf-8")
    return entry


# FolderImport


def import_results(book: Book, folder: Path) -> None:
    """Keep the results in an exported folder as records.

    Results that are stale, damaged or made from other code are left out; a `BookError`
    then lists them.
    """
    manifest = _read_manifest(folder)
    found = _find_results(folder)
    if not found:
        raise BookError(
            f"there are no results; make them first: python {SCRIPT}", folder
        )
    lock = book.root / build_paths.records_lock(manifest.machine)
    with locked(lock, f"another process writes outputs/{manifest.machine}"):
        refused, recorded = FolderImport(book, folder, manifest).all(found)
        run.print_sentences_to_reread(book, recorded, manifest.machine)
    if refused:
        raise BookError("\n".join(refused))


def _read_manifest(folder: Path) -> Manifest:
    try:
        manifest = exported.read_manifest(folder)
    except Unfit as error:
        raise BookError(str(error), folder) from None
    if not store.MACHINE.fullmatch(manifest.machine):
        raise BookError(
            "does not name a machine; export it again", folder / exported.MANIFEST
        )
    return manifest


def _find_results(folder: Path) -> list[str]:
    """Return the paths of the results in an exported folder, below `results`."""
    results = folder / exported.RESULTS
    return sorted(
        path.relative_to(results).as_posix() for path in results.rglob("*.ipynb")
    )


@dataclass(frozen=True)
class FolderImport:
    """The import of an exported folder into a book."""

    book: Book
    folder: Path
    manifest: Manifest

    def all(self, found: list[str]) -> tuple[list[str], list[tuple[Section, str]]]:
        """FolderImport the results `found`.

        Return a line for each that is refused, and the section and tab of the others.
        """
        entries = {entry.file: entry for entry in self.manifest.notebooks}
        refused: list[str] = []
        recorded: list[tuple[Section, str]] = []
        for file in found:
            try:
                if file not in entries:
                    raise Unfit(f"{exported.MANIFEST} does not name it; {AGAIN}")
                entry = entries.pop(file)
                print(f"imported: {self.one(entry)}", flush=True)
                recorded.append((self.section(entry), entry.tab))
            except (Unfit, BookError) as error:
                refused.append(f"{self.folder / exported.RESULTS / file}: {error}")
        if entries:
            names = ", ".join(f"{e.section} ({e.tab})" for e in entries.values())
            print(f"without a result: {names}; see the .log files beside the results")
        return refused, recorded

    def one(self, entry: ExportedNotebook) -> Path:
        """FolderImport one result and return the path of its record."""
        section = self.section(entry)
        result = _read_result(self.folder / exported.RESULTS / entry.file)
        facts = _read_facts(result)
        self.check_origin(entry, facts)
        self.check_code(section, entry, result)
        self.check_library(section, entry, facts)
        _check_outputs(result)
        made_of = {name: facts[name] for name in validation.FACTS if name != "outputs"}
        # Only the outputs are taken; the rest is that of the book.
        executed = store.blank(self.book, section, entry.tab)
        for cell, ran in zip(executed.cells, result.cells, strict=True):
            cell.outputs, cell.execution_count = ran.outputs, ran.execution_count
        record = store.write(self.book, section, entry.tab, executed, made_of)
        return record.relative_to(self.book.root)

    def section(self, entry: ExportedNotebook) -> Section:
        for section in self.book.sections:
            if section.name == entry.section:
                if entry.tab in self.book.code_tabs(section):
                    return section
        raise Unfit(f"the book no longer has code of {entry.section} in {entry.tab}")

    def check_origin(self, entry: ExportedNotebook, facts: dict[str, str]) -> None:
        made_for = facts["machine"], facts["framework"]
        if made_for != (self.manifest.machine, entry.tab):
            raise Unfit(f"made for {', '.join(made_for)}; {AGAIN}")
        if not facts["gpu"] and not is_cpu(facts["machine"]):
            raise Unfit(f"made without a GPU; {AGAIN} on a machine that has one")

    def check_code(
        self, section: Section, entry: ExportedNotebook, result: NotebookNode
    ) -> None:
        today = fingerprint.fingerprint(self.book, section, entry.tab)
        if {entry.fingerprint, result.metadata.book.fingerprint} != {today}:
            raise Unfit(
                "stale: its code, the code of d2l that it uses, or the list of its"
                f" environment has changed since; {AGAIN}"
            )
        cells = self.book.cells(section, entry.tab)
        if [cell.source for cell in result.cells] != [cell.code for cell in cells]:
            raise Unfit(
                f"made from other code: its cells are not those of the book; {AGAIN}"
            )

    def check_library(
        self, section: Section, entry: ExportedNotebook, facts: dict[str, str]
    ) -> None:
        """Raise `Unfit` if the d2l that a result used is not that of today."""
        if facts["library"] != exported.library_digest(self.folder):
            raise Unfit(f"made with a d2l that is not the exported one; {AGAIN}")
        settings = self.book.config.library.get(entry.tab)
        if settings is None:
            return
        library = self.folder / settings["lib_file"]
        try:
            module = library.read_text("utf-8") if library.is_file() else ""
            then = fingerprint.fingerprint(self.book, section, entry.tab, module)
        except (OSError, ValueError, SyntaxError):
            then = ""
        if then != facts["fingerprint"]:
            raise Unfit(
                f"made from other code: its d2l is not that of the book; {AGAIN}"
            )


def _read_result(file: Path) -> NotebookNode:
    try:
        if not file.is_file():
            raise Unfit(f"not a file; {AGAIN}")
        result = nbformat.v4.reads(file.read_text(encoding="utf-8"))
        nbformat.validate(result)
    except OSError as error:
        raise Unfit(f"cannot be read ({error.strerror})") from None
    except validation.UNREADABLE:
        raise Unfit(f"damaged (not a notebook); copy it again, or {AGAIN}") from None
    return result


def _read_facts(result: NotebookNode) -> dict[str, str]:
    """Return the facts of a result's run; raise `Unfit` if it was changed since."""
    facts = result.metadata.get("book")
    known = set(validation.FACTS) - {"outputs"} | {"library"}
    is_whole = (
        isinstance(facts, dict)
        and known <= set(facts)
        and all(isinstance(fact, str) for fact in facts.values())
        and all(cell.cell_type == "code" for cell in result.cells)
        and result.metadata.get("seal") == exported.seal(result)
    )
    if not is_whole:
        raise Unfit(f"damaged (edited, or not copied whole); copy it again, or {AGAIN}")
    return dict(facts)


def _check_outputs(result: NotebookNode) -> None:
    for number, cell in enumerate(result.cells, start=1):
        if cell.source.strip() and cell.execution_count is None:
            raise Unfit(f"cell {number} did not run; {AGAIN}")
        if any(output.output_type == "error" for output in cell.outputs):
            raise Unfit(f"cell {number} failed; {AGAIN}")
    for number, problem in validation.output_problems(store.cleaned(result)):
        raise Unfit(f"cell {number}: {problem}; {AGAIN}")
