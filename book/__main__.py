"""The book's commands: `python -m book COMMAND`; `make help` lists them."""

import argparse
import errno
import os
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from book.base import arguments
from book.base.errors import BookError, describe_os_error
from book.base.files import locked, write_whole

if TYPE_CHECKING:
    from book.sources.book import Book

Command = Callable[[argparse.Namespace], None]
Option = tuple[str, dict[str, Any]]

# What takes long to import is imported by the command that needs it.


def html(options: argparse.Namespace) -> None:
    """Build the book; the last line printed is the path of its first page."""
    if not Path("config.ini").exists():
        _book()  # says what is missing, before a folder is made here
    with locked(Path("_build/.lock"), "another process builds the book"):
        index, notes = _built()
    print(notes, end="")
    print(index)


def _built() -> tuple[Path, str]:
    """The book's first page, built if that is due, and which records are to be made."""
    from book.pages import html

    notes = Path("_build/html.notes")
    index = html.built(Path.cwd())
    if index is None or not notes.exists():
        from book.library import package

        book = _book()
        book.check()
        for tab in book.tabs:
            package.generated(book, tab)  # refuses a broken #@save, as make lib does
        index = html.build(book)
        write_whole(notes, "".join(f"{line}\n" for line in _records_to_make(book)))
    return index, notes.read_text("utf-8")


def _records_to_make(book: "Book") -> list[str]:
    """A line for each machine whose records are not all fresh."""
    from book.records import store

    lines = []
    for machine in {"cpu", *store.machines(book)}:
        states = store.states(book, machine)
        # Another machine may have recorded a part of the book only.
        wanted = {"stale", "damaged"} | ({"missing"} if machine == "cpu" else set())
        due = [f"{s.name} ({tab}, {how})" for s, tab, how in states if how in wanted]
        if due:
            option = "" if machine == "cpu" else f" MACHINE={machine}"
            lines.append(f"without outputs: {', '.join(due)}; make run{option}")
    return sorted(lines)


def pdf(options: argparse.Namespace) -> None:
    """Print the book, in one tab or all; the last line printed is the PDF's path."""
    from book.paper import pdf

    book = _book()
    for tab in options.tab:
        book.check_tab(tab)
    book.check()
    with locked(Path("_build/.lock"), "another process builds the book"):
        for tab in options.tab or [None]:
            print(pdf.build(book, tab), flush=True)


def run(options: argparse.Namespace) -> None:
    """Run what is stale and keep its outputs."""
    from book.runs.run import run

    book = _book()
    book.check()
    run(
        *(book, options.tab, options.section, options.machine),
        *(options.force, options.jobs, options.python),
    )


def export(options: argparse.Namespace) -> None:
    """Write a folder that runs what is stale on a machine without this book."""
    from book.runs.export import export

    if options.machine is None:
        raise BookError("name the machine, as in MACHINE=h200", "MACHINE")
    book = _book()
    book.check()
    export(
        *(book, options.machine, options.tab, options.section),
        *(options.force, options.to),
    )


def import_(options: argparse.Namespace) -> None:
    """Keep the results of an exported folder, but for what is stale."""
    from book.runs.export import import_results

    if options.folder is None:
        raise BookError("name the folder, as in FROM=_build/export/h200", "FROM")
    import_results(_book(), options.folder)


def notebooks(options: argparse.Namespace) -> None:
    """Write notebooks that run alone: plain, for Colab, for SageMaker, and a zip."""
    from book.notebooks.editions import write

    book = _book()
    book.check()
    machine = _recorded_machine(book, options.machine)
    print(write(book, options.tab, options.section, options.outputs, machine))


def _recorded_machine(book: "Book", machine: str | None) -> str:
    """Return `machine`, or `cpu` if it is None; refuse one without records."""
    from book.records import store

    known = store.machines(book)
    if machine is not None and store.check_machine(machine) not in known:
        there = f"there are {', '.join(known)}" if known else "there are none"
        raise BookError(f"no records of '{machine}'; {there}", "MACHINE")
    return machine or "cpu"


def slides(options: argparse.Namespace) -> None:
    """Make decks of slides; the last line printed is the path of their list."""
    from book.slides.decks import build

    book = _book()
    book.check()
    with locked(Path("_build/slides.lock"), "another process makes slides"):
        print(build(book, options.tab, options.section))


def publish(options: argparse.Namespace) -> None:
    """Lay out a folder for a host; the last line printed is its path."""
    from book.publish.layout import build, push

    book = _book()
    book.check()
    with locked(Path("_build/publish.lock"), "another process publishes"):
        folder = build(book, options.pdf)
        for line in _records_to_make(book):
            print(line)
        if options.push:
            push(book, folder)
    print(folder)


def lib(options: argparse.Namespace) -> None:
    """Write the package d2l from the cells marked #@save, or check that it is so."""
    from book.library import package

    book = _book()
    if options.check:
        package.check(book)
    else:
        package.write(book)


def check(options: argparse.Namespace) -> None:
    """Check tabs, labels and references in the sources."""
    _book().check()


def serve(options: argparse.Namespace) -> None:
    """Serve the book here, build it again on each change, reload the page."""
    from book.publish.serve import serve

    serve(Path.cwd(), options.port)


def lock(options: argparse.Namespace) -> None:
    """Pin the environments of pyproject.toml anew, in environments/NAME.txt."""
    from book.base import environments

    for path in environments.lock(Path.cwd(), options.upgrade):
        print(path)


def _make_notebooks_quick() -> None:
    """Spare each start two seconds that nbformat would spend on checks."""
    # jsonschema, once imported, builds a grammar of IRIs, which no notebook has.
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
    os.environ.setdefault("NBFORMAT_VALIDATOR", "fastjsonschema")


def _book() -> "Book":
    from book.sources.book import Book

    return Book(Path.cwd())


# The command line


def _parser() -> argparse.ArgumentParser:
    parser = arguments.Parser(prog="python -m book", description=__doc__)
    commands = parser.add_subparsers(metavar="COMMAND")
    parser.set_defaults(command=html)

    def add(command: Command, *options: Option) -> None:
        name = command.__name__.rstrip("_")
        sub = commands.add_parser(name, help=command.__doc__)
        sub.set_defaults(command=command)
        for option, settings in options:
            sub.add_argument(option, **settings)

    add(html)
    add(pdf, CHOICE[0])
    add(run, *CHOICE, *RUN_OPTIONS)
    add(export, *CHOICE, *EXPORT_OPTIONS)
    add(import_, *IMPORT_OPTIONS)
    add(notebooks, *CHOICE[:2], *NOTEBOOK_OPTIONS)
    add(slides, *CHOICE[:2])
    add(publish, *PUBLISH_OPTIONS)
    add(lib, ("--check", {"action": "store_true", "help": "write nothing"}))
    add(check)
    add(serve, ("--port", {"type": arguments.port, "default": 8000}))
    add(lock, ("--upgrade", {"action": "store_true", "help": "to the newest versions"}))
    return parser


FORCE = {
    **{"nargs": "?", "const": True, "default": False},
    **{"type": arguments.yes_or_no, "metavar": "1", "help": "run what is fresh too"},
}
CHOICE: list[Option] = [
    ("--tab", {"type": arguments.names, "default": [], "help": "these tabs alone"}),
    (
        "--section",
        {"type": arguments.names, "default": [], "help": "these sections alone"},
    ),
    ("--force", FORCE),
]
MACHINE = {"help": "the record's machine, such as h200"}
RUN_OPTIONS: list[Option] = [
    ("--machine", {"default": "cpu"} | MACHINE),
    ("--jobs", {"type": arguments.count, "help": "notebooks at a time"}),
    (
        "--python",
        {"type": arguments.path, "help": "an interpreter in place of the tab's own"},
    ),
]
EXPORT_OPTIONS: list[Option] = [
    ("--machine", MACHINE),
    (
        "--to",
        {"type": arguments.path, "help": "the folder, _build/export/MACHINE if none"},
    ),
]
NOTEBOOK_OPTIONS: list[Option] = [
    ("--outputs", FORCE | {"help": "keep the outputs of the records"}),
    ("--machine", MACHINE),
]
PUBLISH_OPTIONS: list[Option] = [
    ("--pdf", FORCE | {"default": True, "help": "0 to leave the PDFs out"}),
    ("--push", FORCE | {"help": "push the notebooks to their branch"}),
]
IMPORT_OPTIONS: list[Option] = [
    (
        "--from",
        {"type": arguments.path, "dest": "folder", "help": "an exported folder"},
    ),
]


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out one command and return its exit status."""
    # Old packages that d2lbook brings along cause warnings when they are compiled.
    warnings.simplefilter("ignore", SyntaxWarning)
    _make_notebooks_quick()
    # `kill` ends a command as Ctrl-C does: kernels stop, nothing stays half-written.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    try:
        options = _parser().parse_args(argv)
        options.command(options)
    except BookError as error:
        return _report(str(error))
    except OSError as error:
        return _report(_describe(error))
    except KeyboardInterrupt:
        print("interrupted: finished work is kept", file=sys.stderr)
        return 130
    return 0


def _interrupt(number: int, frame: object) -> NoReturn:
    """Raise `KeyboardInterrupt` for a signal, and ignore the signals after it.

    More may follow: make sends SIGTERM on to a command that got it already.
    """
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt


def _describe(error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return "no space left on the disk"
    reason = describe_os_error(error)
    return f"{error.filename}: {reason}" if error.filename else reason


def _report(message: str) -> int:
    for line in message.splitlines():
        print(f"error: {line}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
