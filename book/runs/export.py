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
from book.base.files import locked, replace_folder, write_whole
from book.library import package
from book.records import fingerprint, store, validation
from book.runner import folder as exported
from book.runner.errors import Unfit
from book.runner.machine import is_cpu
from book.runs import run
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
    (draft / RUNNER.name).mkdir()
    for file in RUNNER.glob("*.py"):
        if file.name != SCRIPT:
            shutil.copyfile(file, draft / RUNNER.name / file.name)
    library = exported.library_digest(draft)
    for section, tab in due:
        origin = {
            **{"machine": machine, "framework": tab, "library": library},
            "fingerprint": fingerprint.fingerprint(book, section, tab),
        }
        blank = store.blank(book, section, tab)
        text = exported.new_notebook(blank, origin, store.distributions(tab))
        write_whole(draft / exported.NOTEBOOKS / tab / f"{section.name}.ipynb", text)


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
    recorded: list[Result] = []
    for file in found:
        try:
            result = _read_result(book, folder / exported.RESULTS, file)
            print(f"imported: {_keep(book, result)}", flush=True)
            recorded.append(result)
        except Unfit as error:
            refused.append(f"{folder / exported.RESULTS / file}: {error}")
    if missing := [_title(file) for file in wanted if file not in found]:
        print(
            f"without a result: {', '.join(missing)};"
            " see the .log files beside the results"
        )
    for machine in dict.fromkeys(result.facts["machine"] for result in recorded):
        run.print_sentences_to_reread(
            book,
            [(r.section, r.tab) for r in recorded if r.facts["machine"] == machine],
            machine,
        )
    if refused:
        raise BookError("\n".join(refused))


def _title(file: str) -> str:
    tab, _, section = file.removesuffix(".ipynb").partition("/")
    return f"{section} ({tab})"


@dataclass(frozen=True)
class Result:
    """An executed notebook that came back, and the facts of its run."""

    section: Section
    tab: str
    notebook: NotebookNode
    facts: dict[str, str]


def _read_result(book: Book, results: Path, file: str) -> Result:
    """Return a result; raise `Unfit` if it is not one of a section of the book."""
    tab, _, name = file.removesuffix(".ipynb").partition("/")
    section = next((s for s in book.sections if s.name == name), None)
    if section is None or tab not in book.code_tabs(section):
        raise Unfit(f"the book no longer has code of {name or file} in {tab}")
    try:
        if not (results / file).is_file():
            raise Unfit(f"not a file; {AGAIN}")
        notebook = nbformat.v4.reads((results / file).read_text(encoding="utf-8"))
        nbformat.validate(notebook)
        facts = {fact: notebook.metadata.book[fact] for fact in RESULT_FACTS}
    except OSError as error:
        raise Unfit(f"cannot be read ({error.strerror})") from None
    except validation.UNREADABLE:
        raise Unfit(f"damaged (not a result); copy it again, or {AGAIN}") from None
    return Result(section, tab, notebook, facts)


def _keep(book: Book, result: Result) -> Path:
    """Write the record of a result and return its path, or raise `Unfit`."""
    _check_origin(book, result)
    # Only the outputs are taken; the rest is that of the book.
    executed = store.blank(book, result.section, result.tab)
    for cell, ran in zip(executed.cells, result.notebook.cells, strict=True):
        cell.outputs, cell.execution_count = ran.outputs, ran.execution_count
    record = store.new_record(executed, result.facts)
    if problem := validation.problem_with_record(record):
        raise Unfit(f"{problem}; {AGAIN}")
    machine = store.check_machine(result.facts["machine"])
    lock = book.root / build_paths.records_lock(machine)
    with locked(lock, f"another process writes outputs/{machine}"):
        file = store.write(book, result.section, result.tab, executed, result.facts)
    return file.relative_to(book.root)


def _check_origin(book: Book, result: Result) -> None:
    """Raise `Unfit` if a result is not of today's code, or of another machine."""
    facts, ran = result.facts, result.notebook.cells
    if facts["framework"] != result.tab:
        raise Unfit(f"made for {facts['framework']}; {AGAIN}")
    if not facts["gpu"] and not is_cpu(str(facts["machine"])):
        raise Unfit(f"made without a GPU; {AGAIN} on a machine that has one")
    if facts["fingerprint"] != fingerprint.fingerprint(
        book, result.section, result.tab
    ):
        raise Unfit(
            "stale: its code, the code of d2l that it uses, or the list of its"
            f" environment has changed since; {AGAIN}"
        )
    today = [cell.code for cell in book.cells(result.section, result.tab)]
    if [cell.source for cell in ran] != today:
        raise Unfit(
            f"made from other code: its cells are not those of the book; {AGAIN}"
        )
    for number, cell in enumerate(ran, start=1):
        outputs = cell.get("outputs", [])
        if cell.source.strip() and cell.get("execution_count") is None:
            raise Unfit(f"cell {number} did not run; {AGAIN}")
        if any(output.output_type == "error" for output in outputs):
            raise Unfit(f"cell {number} failed; {AGAIN}")
