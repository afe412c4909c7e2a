"""The book's commands: `python -m book COMMAND`; `make help` lists them."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from book.base import arguments, build_paths
from book.base.files import locked
from book.live.origin import origin
from book.runner.errors import BookError
from book.runner.signals import exit_status

if TYPE_CHECKING:
    from book.text.book import Book

Command = Callable[[argparse.Namespace], None]

# Modules that take long to import are imported only by the commands that need them.
# jsonschema imports these if it finds them, for formats that no notebook has.
FORMATS = (
    *("rfc3987_syntax", "rfc3986_validator", "rfc3339_validator"),
    *("webcolors", "isoduration"),
)


def html(options: argparse.Namespace) -> None:
    """Build the book and print the path of its first page, last of all."""
    from book.base import inputs

    if not Path("config.ini").exists():
        _read_book()  # raises an error before a folder is created here
    with locked(build_paths.PAGES_LOCK, "another process builds it"):
        if not inputs.pages_are_fresh(Path.cwd()):
            from book.library import package
            from book.pages import html

            book = _checked_book()
            for tab in book.tabs:
                package.generated(book, tab)  # reports a wrong #@save, as `make lib`
            html.build(book)
        pages = inputs.pages(Path.cwd())
        print(*pages.notes, pages.path, sep="\n")


def pdf(options: argparse.Namespace) -> None:
    """Make the PDF of each named tab, or of the first one, and print its path."""
    from book.paper import pdf

    book = _checked_book()
    for tab in options.tab:
        book.check_tab(tab)
    with locked(book.root / build_paths.PAGES_LOCK, "another process builds it"):
        for tab in options.tab or book.tabs[:1]:
            print(pdf.build(book, tab), flush=True)


def run(options: argparse.Namespace) -> None:
    """Run the sections whose outputs are missing or stale, and record the outputs."""
    from book.runs.stale import run

    book = _checked_book()
    run(
        book,
        tabs=options.tab,
        sections=options.section,
        machine=options.machine,
        force=options.force,
        jobs=options.jobs,
        python=options.python,
    )


def export(options: argparse.Namespace) -> None:
    """Write a folder that runs stale sections on a machine without this book."""
    from book.runs.export import export

    if options.machine is None:
        raise BookError("name the machine, as in MACHINE=h200", "MACHINE")
    book = _checked_book()
    export(
        book,
        options.machine,
        tabs=options.tab,
        sections=options.section,
        force=options.force,
        to=options.to,
    )


def import_(options: argparse.Namespace) -> None:
    """Record the results in an exported folder, except those that are stale."""
    from book.runs.export import import_results

    if options.folder is None:
        raise BookError("name the folder, as in FROM=_build/export/h200", "FROM")
    import_results(_read_book(), options.folder)


def notebooks(options: argparse.Namespace) -> None:
    """Write plain notebooks, notebooks for Colab and SageMaker, and a zip archive."""
    from book.notebooks.editions import write
    from book.records import store

    book, machine = _checked_book(), options.machine
    known = store.machines(book)
    if store.check_machine(machine) not in known:
        there = f"there are {', '.join(known)}"
        raise BookError(f"no records of '{machine}'; {there}", "MACHINE")
    print(write(book, options.tab, options.section, options.outputs, machine))


def eval_(options: argparse.Namespace) -> None:
    """Write the notebooks that d2lbook's own commands read, with the kept outputs."""
    from book.notebooks.evaluated import write
    from book.records import store

    book = _checked_book()
    for line in store.notes(store.states(book)):
        print(line)
    print(write(book))


def slides(options: argparse.Namespace) -> None:
    """Make decks of slides and print the path of the page that lists them."""
    from book.slides.decks import build

    book = _checked_book()
    with locked(book.root / build_paths.SLIDES_LOCK, "another process makes slides"):
        print(build(book, options.tab, options.section))


def publish(options: argparse.Namespace) -> None:
    """Make a folder for a static host and print its path, last of all."""
    from book.pages.hosting import choose_edition
    from book.publish.layout import build, check_push, push
    from book.records import store

    book = _checked_book()
    if options.edition:
        choose_edition(book, options.edition)
    if options.push:
        check_push(book)  # before minutes of work
    with locked(book.root / build_paths.PUBLISH_LOCK, "another process publishes"):
        folder = build(book, options.pdf)
        for line in store.notes(store.states(book)):
            print(line)
        if options.push:
            push(book, folder)
    print(folder)


def release(options: argparse.Namespace) -> None:
    """Give the book a new version everywhere, and print the commands of git to run."""
    from book.publish.release import release

    if options.version is None:
        raise BookError("name the version, as in VERSION=1.0.0", "VERSION")
    print(*release(Path.cwd(), options.version, date.today()), sep="\n")


def lib(options: argparse.Namespace) -> None:
    """Write the package d2l from the cells marked #@save, or check it with --check."""
    from book.library import package

    book = _read_book()
    if options.check:
        package.check(book)
    else:
        package.write(book)


def check(options: argparse.Namespace) -> None:
    """Check that the sources follow all rules for authors."""
    from book.checks import rules

    rules.check(_read_book())


def serve(options: argparse.Namespace) -> None:
    """Serve the book on this machine; rebuild it and reload the page on each change."""
    from book.live.serve import serve

    serve(Path.cwd(), options.port)


def live(options: argparse.Namespace) -> None:
    """Serve the book with cells that run on this machine; print the address to open."""
    from book.live.live import start

    book = _checked_book()
    tabs = _tabs_or_first(book, options.tab)
    start(book, tabs, options.python, options.port, options.origin, options.listen)


def lab(options: argparse.Namespace) -> None:
    """Open the notebooks in JupyterLab, with a kernel for each framework."""
    from book.live.lab import start

    book = _checked_book()
    tabs = _tabs_or_first(book, options.tab)
    start(book, tabs, options.section, options.python, options.port, options.origin)


def _tabs_or_first(book: "Book", tabs: list[str]) -> list[str]:
    """Return `tabs`, or the first tab of the book after a line that says so."""
    if tabs:
        return tabs
    first, *others = book.tabs
    also = f"; for another, give TAB={' or TAB='.join(others)}" if others else ""
    print(f"without TAB, this is {first}{also}", flush=True)
    return [first]


def lock(options: argparse.Namespace) -> None:
    """Pin the packages of all environments, for all systems, in environments/."""
    from book.base import locks

    for path in locks.lock(options.upgrade, Path.cwd()):
        print(path)


def hosts(options: argparse.Namespace) -> None:
    """Write the versions that hosts of notebooks publish to environments/hosts/."""
    from book.notebooks import hosts

    book = _read_book()
    for host in [hosts.check_host(name) for name in options.host or hosts.HOSTS]:
        print(hosts.renew(book.root, book.tabs, host))


def _read_book() -> "Book":
    from book.text.book import Book

    return Book(Path.cwd())


def _checked_book() -> "Book":
    """Return the book, whose sources have no problem that a build would meet."""
    from book.checks import rules

    book = _read_book()
    rules.check_for_build(book)
    return book


# The command line

YES_OR_NO = {
    **{"nargs": "?", "const": True, "default": False},
    **{"type": arguments.yes_or_no, "metavar": "1"},
}
OPTIONS: dict[str, dict[str, Any]] = {
    "tab": {"type": arguments.names, "default": [], "help": "only these tabs"},
    "section": {"type": arguments.names, "default": [], "help": "only these sections"},
    "force": YES_OR_NO | {"help": "run fresh sections too"},
    "machine": {"help": "the machine that the records are for, such as h200"},
    "jobs": {"type": arguments.count, "help": "notebooks to run at a time"},
    "python": {"type": arguments.path, "help": "an interpreter instead of the tab's"},
    "port": {"type": arguments.port, "default": 8000, "help": "where to serve"},
    "origin": {"type": origin, "help": "the https address that a proxy gives the port"},
    "listen": {
        **{"type": arguments.ip_address, "default": "127.0.0.1"},
        "help": "the container's own address, or 0.0.0.0 for all of them",
    },
    "to": {"type": arguments.path, "help": "by default _build/export/MACHINE"},
    "from": {"type": arguments.path, "dest": "folder", "help": "an exported folder"},
    "outputs": YES_OR_NO | {"help": "include the outputs of the records"},
    "pdf": YES_OR_NO | {"help": "0 to omit the PDFs"},
    "edition": {"type": arguments.edition, "help": "an edition to keep, such as v1.0"},
    "version": {"type": arguments.version, "help": "a version such as 1.0.0"},
    "push": YES_OR_NO | {"help": "push the notebooks to their branch on GitHub"},
    "upgrade": {
        "type": arguments.names,
        "default": [],
        "help": "packages, or 1 for all",
    },
    "host": {"type": arguments.names, "default": [], "help": "only these hosts"},
    "check": {"action": "store_true", "help": "write nothing"},
}


def _parser() -> argparse.ArgumentParser:
    parser = arguments.Parser(prog="python -m book", description=__doc__)
    commands = parser.add_subparsers(metavar="COMMAND")
    parser.set_defaults(command=html)

    def add(command: Command, options: str = "", **defaults: object) -> None:
        name = command.__name__.rstrip("_")
        sub = commands.add_parser(name, help=command.__doc__)
        for option in options.split():
            sub.add_argument(f"--{option}", **OPTIONS[option])
        sub.set_defaults(command=command, **defaults)

    add(html)
    add(pdf, "tab")
    add(run, "tab section force machine jobs python", machine="cpu")
    add(export, "tab section force machine to")
    add(import_, "from")
    add(notebooks, "tab section outputs machine", machine="cpu")
    add(eval_)
    add(slides, "tab section")
    add(publish, "pdf push edition", pdf=True)
    add(release, "version")
    add(lib, "check")
    add(check)
    add(live, "tab python port origin listen")
    add(lab, "tab section python port origin", port=8888)
    add(serve, "port")
    add(lock, "upgrade")
    add(hosts, "host")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    for module in FORMATS:
        sys.modules.setdefault(module, None)  # type: ignore[arg-type]
    os.environ.setdefault("NBFORMAT_VALIDATOR", "fastjsonschema")

    def work() -> None:
        options = _parser().parse_args(argv)
        options.command(options)

    return exit_status(work)


if __name__ == "__main__":
    sys.exit(main())
