"""The commands print their results, or one clear line for each mistake."""

import errno
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from book.__main__ import main
from book.base import progress
from book.checks import rules
from book.text.book import Book

ROOT = Path(__file__).resolve().parents[2]
TEXT = """\
# One
:label:`sec_one`

```{.python .input}
%%tab pytorch, jax
1 + 1
```
"""


NO_RECORDS = "error: MACHINE: no records of 'zz'; there are cpu"


def errors(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().err.splitlines()


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["run", "--tab", "torch"], "error: TAB: unknown tab 'torch'; choose"),
        (["run", "--section", "nosuch"], "error: SECTION: unknown section 'nosuch'"),
        (["run", "--machine", "H200"], "error: MACHINE: 'H200' is not a valid name"),
        (["run", "--python", "nosuch"], "error: nosuch: not an interpreter"),
        (["run", "--tab", ","], "error: TAB: ',' contains no name"),
        (["run", "--section", ""], "error: SECTION: '' contains no name"),
        (["run", "--jobs", "0"], "error: JOBS: '0' is not a positive integer"),
        (["run", "--jobs", "²"], "error: JOBS: '²' is not a positive integer"),
        (["run", "--force=maybe"], "error: FORCE: 'maybe' is neither 1 nor 0"),
        (["serve", "--port", "65536"], "error: PORT: '65536' is not a valid port; use"),
        (["serve", "--port", "0"], "error: PORT: '0' is not a valid port"),
        (["notebooks", "--tab", "torch"], "error: TAB: unknown tab 'torch'; choose"),
        (
            ["notebooks", "--section", "x"],
            "error: SECTION: unknown section 'x'; choose",
        ),
        (["notebooks", "--outputs=maybe"], "error: OUTPUTS: 'maybe' is neither 1"),
        (["run", "--machine", ""], "error: MACHINE: '' is not a valid name"),
        (["run", "--tab", " "], "error: TAB: ' ' contains no name"),
        (["run", "--python", ""], "error: PYTHON: '' is not a path"),
        (["serve", "--port", ""], "error: PORT: '' is not a valid port"),
        (["import", "--from", " "], "error: FROM: ' ' is not a path"),
        (["notebooks", "--outputs", "--machine", "zz"], NO_RECORDS),
        (["notebooks", "--machine", "zz"], NO_RECORDS),
        (["nosuch"], "error: COMMAND: invalid choice: 'nosuch'"),
        (["check", "--nosuch"], "error: unrecognized arguments: --nosuch"),
    ],
)
def test_a_users_mistake_is_one_line(
    arguments: list[str],
    message: str,
    make_book: Callable[..., Book],
    capsys: pytest.CaptureFixture[str],
):
    make_book(one=TEXT)
    assert main(arguments) == 1
    (line,) = errors(capsys)
    assert line.startswith(message)


def test_all_problems_in_the_sources_are_reported(
    make_book: Callable[..., Book], capsys: pytest.CaptureFixture[str]
):
    make_book(one=TEXT.replace("jax", "jxa"), two=TEXT)
    assert main(["check"]) == 1
    lines = errors(capsys)
    assert len(lines) == 2 and all(line.startswith("error: ") for line in lines)


def test_outside_a_book(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    assert main(["check"]) == 1
    assert "run this from the book's folder" in errors(capsys)[0]


def test_one_option_takes_several_names(
    make_book: Callable[..., Book], capsys: pytest.CaptureFixture[str]
):
    make_book(one=TEXT)
    assert main(["run", "--tab", "pytorch,jax mxnet"]) == 1
    assert "unknown tab 'mxnet'" in errors(capsys)[0]


@pytest.mark.parametrize(
    "error, status, line",
    [
        (KeyboardInterrupt(), 130, "interrupted: finished work is kept"),
        (OSError(errno.ENOSPC, "No space left"), 1, "error: No space left"),
        (PermissionError(errno.EACCES, "Denied", "x.md"), 1, "error: x.md: Denied"),
        (OSError("of an unknown kind"), 1, "error: of an unknown kind"),
    ],
)
def test_a_command_that_fails_prints_one_line(
    error: BaseException,
    status: int,
    line: str,
    make_book: Callable[..., Book],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    def fail(book: Book) -> None:
        raise error

    make_book(one=TEXT)
    monkeypatch.setattr(rules, "check", fail)
    assert main(["check"]) == status
    assert errors(capsys) == [line]


@pytest.mark.parametrize(
    "option, forced",
    [
        ([], False),
        (["--force"], True),
        (["--force=1"], True),
        (["--force=YES"], True),
        (["--force=0"], False),
        (["--force=no"], False),
    ],
)
def test_force(option: list[str], forced: bool):
    from book.__main__ import _parser

    assert _parser().parse_args(["run", *option]).force is forced


def test_a_broken_save_stops_the_build(
    make_book: Callable[..., Book], capsys: pytest.CaptureFixture[str]
):
    make_book(one=TEXT.replace("1 + 1", "def f(x):  #@save\n    return y"))
    assert main(["lib"]) == 1
    reported = errors(capsys)
    assert reported and "name 'y' is not defined" in reported[0]
    assert main(["html"]) == 1
    assert errors(capsys) == reported


def test_outside_a_book_no_file_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    assert main(["html"]) == 1
    assert "run this from the book's folder" in errors(capsys)[0]
    assert list(tmp_path.iterdir()) == []


def with_our_tools(root: Path) -> None:
    """Give a made-up book this project's templates and styles."""
    for folder in ("book", "static"):
        (root / folder).symlink_to(ROOT / folder)


@pytest.mark.slow
def test_three_builds_at_once(make_book: Callable[..., Book]):
    book = make_book(one=TEXT)
    with_our_tools(book.root)
    builds = [
        subprocess.Popen(
            [sys.executable, "-m", "book", "html"],
            cwd=book.root,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    outputs = [build.communicate(timeout=600) for build in builds]
    assert [build.returncode for build in builds] == [0, 0, 0], outputs
    assert {out for out, _ in outputs} == {outputs[0][0]}
    assert {err for _, err in outputs} <= {
        "",
        "waiting: another process builds it\n",
    }


@pytest.mark.timing
def test_a_build_hears_repeated_signals_once(make_book: Callable[..., Book]):
    book = make_book(**{f"part_{n}": TEXT.replace("one", f"{n}") for n in range(30)})
    with_our_tools(book.root)
    for number in (signal.SIGTERM, signal.SIGINT):
        build = subprocess.Popen(
            [sys.executable, "-m", "book", "html"],
            cwd=book.root,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stderr=subprocess.PIPE,
            text=True,
        )
        while not (book.root / "_build/caches/pages").exists():
            assert build.poll() is None
            time.sleep(0.01)
        end = time.monotonic() + 120
        while build.poll() is None and time.monotonic() < end:
            build.send_signal(number)
            time.sleep(0.001)
        error = build.communicate(timeout=120)[1]
        *progress, last = error.splitlines()  # a slow machine has progress to show
        assert last == "interrupted: finished work is kept"
        assert not [line for line in progress if "interrupted" in line]
        assert build.returncode == 130
        shutil.rmtree(book.root / "_build")


@pytest.mark.parametrize(
    "command, titles",
    [
        ("html", ["reading sections", "reading records", "making pages"]),
        (
            "pdf --tab=jax",
            ["reading sections", "writing pages", "typesetting made-up-jax.pdf"],
        ),
        ("slides", ["reading sections", "making decks"]),
        ("notebooks", ["reading sections", "making notebooks"]),
        ("eval", ["reading sections", "reading records", "laying notebooks"]),
        ("export --machine=h200", ["reading records", "writing notebooks"]),
        ("publish --pdf=0", ["making notebooks", "making decks", "writing pages"]),
        ("lib", ["making libraries"]),
        ("check", ["applying rules"]),
    ],
)
def test_a_command_that_takes_long_says_what_it_is_doing(
    command: str,
    titles: list[str],
    make_site_book: Callable[..., Book],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setattr(progress, "DELAY", -1)
    monkeypatch.setattr(progress, "MANY", 1)
    index = "# A Book\n\nText.\n\n```toc\nchapter/one\n```\n"
    text = TEXT.replace("\n```{", "\n[A title.]{.point}\n\n$$x$$\n\n```{")
    monkeypatch.chdir(make_site_book(index, one=text).root)
    main(command.split())
    said = re.findall(
        r"^([\w. -]+?)(?: \(\d+\))?$", capsys.readouterr().err, re.MULTILINE
    )
    assert [title for title in titles if title not in said] == []


def test_starts_quickly():
    """No large package is imported before the command is known."""
    code = "import sys, book.__main__; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True)
    assert not {"nbformat", "sphinx", "d2lbook", "asyncio"} & set(loaded.split())


# The Makefile


def make(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=ROOT,
        env=os.environ | env,
        capture_output=True,
        text=True,
    )


def test_help_is_the_whole_manual():
    listed = set(re.findall(r"^  ([a-z0-9-]+) ", make("help").stdout, re.MULTILINE))
    makefile = (ROOT / "Makefile").read_text().replace("\\\n", " ")
    (phony,) = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert listed == set(phony.split())
    assert all(len(line) < 100 for line in make("help").stdout.splitlines())
    assert listed <= set(re.findall(r"^([a-z0-9-]+):", makefile, re.MULTILINE))


def test_settings_are_passed_on_only_if_given():
    plain = make("-n", "run").stdout.replace("\\\n", "")
    assert plain.split()[-2:] == ["book", "run"]
    full = make("-n", "run", "TAB=jax,pytorch", "MACHINE=h200", "FORCE=1").stdout
    assert "--tab='jax,pytorch'" in full and "--machine='h200'" in full
    assert "--force='1'" in full and "--section" not in full


def test_an_empty_setting_is_given_too():
    line = make("-n", "run", "TAB= ", "MACHINE=").stdout.replace("\\\n", "")
    assert shlex.split(line)[-2:] == ["--tab=", "--machine="]


def test_settings_are_not_expanded(tmp_path: Path):
    makefile = (ROOT / "Makefile").read_text()
    settings = set(re.findall(r"\$\(call option,([A-Z]+),", makefile))
    assert len(settings) > 10
    touched = tmp_path / "touched"
    given = [f"{name}=$(shell touch {touched})" for name in settings]
    commands = re.findall(r"^([a-z-]+):.*\n(?:\t.*\n)*?\t.*call opt", makefile, re.M)
    assert make("--dry-run", *commands, *given).returncode == 0
    assert not touched.exists()


def test_environment_variables_are_not_settings():
    env = {"TAB": "jax", "PYTHON": "/usr/bin/python", "PORT": "80", "FORCE": "1"}
    for target in ("run", "serve"):
        assert make("-n", target, **env).stdout == make("-n", target).stdout


@pytest.mark.parametrize(
    "value", ["it's", '"$HOME" `ls`; ls', "--force", "$(shell ls)"]
)
def test_settings_reach_the_command_unchanged(value: str):
    line = make("-n", "run", f"TAB={value}").stdout.replace("\\\n", "")
    assert shlex.split(line)[-2:] == ["run", f"--tab={value}"]


def test_without_python_311_make_says_so(tmp_path: Path):
    for tool in ("sh", "sed", "tr"):
        (tmp_path / tool).symlink_to(str(shutil.which(tool)))
    target = ".venvs/book/built-from.sha256"
    command = [str(shutil.which("make")), "--always-make", target]
    failed = subprocess.run(
        command, cwd=ROOT, env={"PATH": str(tmp_path)}, capture_output=True, text=True
    )
    assert failed.returncode == 2
    assert failed.stderr.startswith("error: no Python 3.11 on PATH;")
