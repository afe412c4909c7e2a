"""Exports notebooks to a machine that only files reach, and imports the results.

    python -m book export --machine NAME [--tab TAB] [--section SECTION] [--to FOLDER]
    python -m book import --from FOLDER

The exported folder holds all that the machine needs; its runner/ is a
copy of `book/runner/`.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from book.base import build_paths
from book.base.files import locked, replace_folder
from book.base.progress import counted
from book.library import package
from book.records import fingerprint, store, validation
from book.runner import folder as exported
from book.runner.errors import BookError
from book.runner.files import write_whole
from book.runs import stale
from book.text.book import Book
from book.text.section import Section

SCRIPT = "run.py"
RUNNER = Path(exported.__file__).parent
PARTS = {
    *(SCRIPT, RUNNER.name, exported.NOTEBOOKS, exported.LIBRARY, exported.RESULTS),
}
AGAIN = "export it and run it again"
RESULT_FACTS = [fact for fact in validation.FACTS if fact != "outputs"]

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
    stale.check_names(book, tabs, sections, machine)
    folder = (to or book.root / build_paths.EXPORT / machine).resolve()
    lock = book.root / build_paths.EXPORT_LOCK
    with locked(lock, "another process exports"):
        check_free(folder)
        package.write(book)
        due = stale.plan(book, tabs, sections, machine, force)
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
    if names and (SCRIPT not in names or not names <= PARTS):
        raise BookError("holds other files; name a new folder: TO=FOLDER", folder)
    if exported.notebooks(folder, exported.RESULTS):
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
    others = shutil.ignore_patterns(SCRIPT, "__pycache__")
    shutil.copytree(RUNNER, draft / RUNNER.name, ignore=others)
    library = exported.library_digest(draft)
    for section, tab in counted(due, "writing notebooks"):
        origin = {
            **{"machine": machine, "framework": tab, "library": library},
            "fingerprint": fingerprint.fingerprint(book, section, tab),
        }
        blank = store.blank(book, section, tab)
        blank.metadata = {"book": origin, "distributions": store.distributions(tab)}
        file = draft / exported.NOTEBOOKS / tab / f"{section.name}.ipynb"
        write_whole(file, nbformat.writes(blank) + "\n")


# Import


def import_results(book: Book, folder: Path) -> None:
    """Keep the results in an exported folder as records.

    Results that are stale, damaged or made from other code are left out; a `BookError`
    then lists them.
    """
    wanted = exported.notebooks(folder)
    found = exported.notebooks(folder, exported.RESULTS)
    if not wanted:
        message = f"there is no {exported.NOTEBOOKS}/; name a folder that was exported"
        raise BookError(message, folder)
    if not found:
        raise BookError(
            f"there are no results; make them first: python {SCRIPT}", folder
        )
    refused: list[str] = []
    recorded: dict[str, list[tuple[Section, str]]] = {}  # of each machine
    for file in found:
        try:
            section, tab = _origin(book, file)
            path = folder / exported.RESULTS / file
            executed, facts = _read_result(book, section, tab, path)
            machine = store.check_machine(facts["machine"])
            lock = book.root / build_paths.records_lock(machine)
            with locked(lock, f"another process writes outputs/{machine}"):
                kept = store.write(book, section, tab, executed, facts)
            print(f"imported: {kept.relative_to(book.root)}", flush=True)
            recorded.setdefault(machine, []).append((section, tab))
        except BookError as error:
            refused.append(f"{folder / exported.RESULTS / file}: {error}")
    if missing := [_title(file) for file in wanted if file not in found]:
        print(
            f"without a result: {', '.join(missing)};"
            " see the .log files beside the results"
        )
    for machine, kept_there in recorded.items():
        stale.print_sentences_to_reread(book, kept_there, machine)
    if refused:
        raise BookError("\n".join(refused))


def _title(file: str) -> str:
    tab, _, section = file.removesuffix(".ipynb").partition("/")
    return f"{section} ({tab})"


def _origin(book: Book, file: str) -> tuple[Section, str]:
    """Return the section and the tab of a result, or raise `BookError`."""
    tab, _, name = file.removesuffix(".ipynb").partition("/")
    section = next((s for s in book.sections if s.name == name), None)
    if section is None or tab not in book.code_tabs(section):
        raise BookError(f"the book no longer has code of {name or file} in {tab}")
    return section, tab


def _read_result(
    book: Book, section: Section, tab: str, file: Path
) -> tuple[NotebookNode, dict[str, str]]:
    """Return an executed notebook and the facts of its run.

    Raises `BookError` for a result that is damaged or not of today's code.
    """
    try:
        result = nbformat.v4.reads(file.read_text(encoding="utf-8"))
        nbformat.validate(result)
        facts = {fact: result.metadata.book[fact] for fact in RESULT_FACTS}
        if facts["fingerprint"] != fingerprint.fingerprint(book, section, tab):
            raise BookError(
                "stale: its code, the code of d2l that it uses, or the list of its"
                f" environment has changed since; {AGAIN}"
            )
        # Only the outputs are taken; the rest is that of the book.
        executed = store.blank(book, section, tab)
        for cell, ran in zip(executed.cells, result.cells, strict=True):
            cell.outputs, cell.execution_count = ran.outputs, ran.execution_count
    except OSError as error:
        raise BookError(f"cannot be read ({error.strerror})") from None
    except validation.UNREADABLE:
        raise BookError(f"damaged (not a result); copy it again, or {AGAIN}") from None
    if problem := validation.problem_with_record(store.new_record(executed, facts)):
        raise BookError(f"{problem}; {AGAIN}")
    return executed, facts
