"""Notebooks run in their own interpreter; whatever goes wrong, records stay whole.

Figures get descriptions by `book/runner/descriptions.py`.
"""

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from pathlib import Path

import pytest
from nbformat import NotebookNode

from book.records import store, validation
from book.runner import machine as runner_machine
from book.runner.errors import BookError
from book.runner.kernel_settings import kernel_settings
from book.runs import stale
from book.text.book import Book

ROOT = Path(__file__).resolve().parents[3]
HERE = Path(sys.executable)


def section(*cells: str, label: str = "sec_a", tab: str = "pytorch") -> str:
    """A section of code cells."""
    fences = (f"```{{.python .input}}\n%%tab {tab}\n{cell}\n```\n" for cell in cells)
    return f"# A\n:label:`{label}`\n\n" + "\nText.\n\n".join(fences)


def outputs(book: Book, name: str, machine: str = "cpu") -> list[NotebookNode]:
    """The outputs of the record of a section in the first tab, cell after cell."""
    shown = store.shown(book, book.section(name), book.tabs[0], machine)
    assert shown is not None and shown.state == "fresh"
    return [output for cell in shown.cells for output in cell.outputs]


BOX = "│ \\n <a> *b* _c_   "
PRINTED = f"""\
import os, sys
print(sys.prefix)
print(os.listdir(), os.environ["CUDA_VISIBLE_DEVICES"] == "")
print({BOX!r})"""


def test_a_run_is_that_of_the_given_interpreter_and_repeats(
    make_book: Callable[..., Book], other_python: Path, capsys: pytest.CaptureFixture
):
    book = make_book(a=section(PRINTED, "from d2l import mine\nmine.two()"))
    (book.root / "d2l/mine.py").write_text("def two(): return 2\n")
    assert stale.run(book, python=other_python) == 1
    printed, result = outputs(book, "a")
    assert printed.text == f"{other_python.parent.parent}\n[] True\n{BOX}\n"
    assert result.data["text/plain"] == "2"

    told = capsys.readouterr()
    assert told.out == "to run: chapter/a (pytorch)\n"
    assert told.err.startswith("pytorch: chapter/a: 2 cells in ")

    path = store.path(book, book.section("a"), "pytorch")
    first = path.read_bytes()
    assert stale.run(book, python=other_python) == 0
    assert stale.run(book, python=other_python, force=True) == 1
    assert path.read_bytes() == first


def test_failures_are_told_and_the_rest_is_kept(
    make_book: Callable[..., Book], capsys: pytest.CaptureFixture
):
    book = make_book(
        good=section("1 + 1", label="sec_good"),
        bad=section("x = 1", "\ny = x / 0", label="sec_bad"),
        dead=section("import os\nos._exit(1)", label="sec_dead"),
    )
    kept = store.path(book, book.section("bad"), "pytorch")
    kept.parent.mkdir(parents=True)
    kept.write_text("what was there\n")
    with pytest.raises(BookError) as caught:
        stale.run(book, python=HERE)
    bad, dead = str(caught.value).splitlines()
    assert bad == (
        "chapter/bad.md:14: pytorch, cell 2: ZeroDivisionError: division by zero"
    )
    assert book.section("bad").text.split("\n")[13] == "y = x / 0"
    assert dead == (
        "chapter/dead.md:6: pytorch, cell 1: the kernel exited with status 1"
    )
    error = capsys.readouterr().err
    assert "y = x / 0" in error and "\x1b" not in error
    assert kept.read_text() == "what was there\n"
    assert outputs(book, "good")[0].data["text/plain"] == "2"


def test_numbers_that_a_new_record_does_not_have_are_printed(
    make_book: Callable[..., Book], capsys: pytest.CaptureFixture
):
    text = "\nA takes [2 ms]{.measured}. B takes [16 ms]{.measured}.\n"
    book = make_book(a=section("print('2 ms')") + text)
    stale.run(book, python=HERE)
    assert capsys.readouterr().out.splitlines()[1:] == [
        "reread these sentences: the outputs of cpu have other numbers",
        "chapter/a.md:9: '16 ms' is not in the output of line 4 in pytorch, which has"
        " 2 ms; correct the number",
    ]


# Cells that misbehave


@pytest.mark.parametrize(
    "cell, reason",
    [
        ("os._exit(3)", "the kernel exited with status 3"),
        ("os.kill(os.getpid(), 11)", "the kernel was killed by SIGSEGV"),
        (
            "os.kill(os.getpid(), 9)",
            "the kernel was killed by SIGKILL, probably for lack of memory",
        ),
    ],
)
def test_the_end_of_a_kernel_is_reported_as_it_was(
    cell: str, reason: str, make_book: Callable[..., Book]
):
    book = make_book(a=section("1", f"import os\n{cell}"))
    with pytest.raises(BookError) as caught:
        stale.run(book, python=HERE)
    assert str(caught.value) == f"chapter/a.md:13: pytorch, cell 2: {reason}"


ENDLESS = "while True: print('a' * 1000)"
LARGE = "print('a' * 10_000_000)"
SCRIPT = """\
from IPython.display import SVG, display
display(SVG('<svg xmlns="http://www.w3.org/2000/svg" onload="a()"/>'))"""


@pytest.mark.parametrize(
    "cell, reason",
    [
        (ENDLESS, validation.TOO_LARGE),
        (LARGE, validation.TOO_LARGE),
        (
            "print('a' * 300_000)",
            "it prints a line of 300,000 characters; break it into shorter ones",
        ),
        (SCRIPT, "an image (image/svg+xml) holds onload='a()'"),
    ],
)
def test_outputs_that_no_page_can_show_are_not_recorded(
    cell: str, reason: str, make_book: Callable[..., Book]
):
    book = make_book(a=section("1", cell), b=section("1 + 1", label="sec_b"))
    with pytest.raises(BookError) as caught:
        stale.run(book, python=HERE)
    assert str(caught.value) == f"chapter/a.md:13: pytorch, cell 2: {reason}"
    assert store.state(book, book.section("a"), "pytorch") == "missing"
    assert outputs(book, "b")[0].data["text/plain"] == "2"


def test_large_outputs_up_to_the_limit_are_recorded(make_book: Callable[..., Book]):
    book = make_book(a=section("for _ in range(450): print('a' * 2000)"))
    assert stale.run(book, python=HERE) == 1
    assert outputs(book, "a")[0].text == ("a" * 2000 + "\n") * 450


def test_what_no_file_can_hold_is_left_out(make_book: Callable[..., Book]):
    cell = "print('a\\x00b\\x07\\x1bc')"
    book = make_book(a=section(cell))
    assert stale.run(book, python=HERE) == 1
    assert outputs(book, "a")[0].text == "abc\n"


DETACHED = """\
import os, subprocess, sys
sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
child = subprocess.Popen(sleep, start_new_session=True)
if not os.fork():
    os.setsid()
    if not os.fork():
        grandchild = subprocess.Popen(sleep)
        with open("{marker}", "w") as file:
            print(child.pid, os.getpid(), grandchild.pid, file=file)
        os.execv(sleep[0], sleep)
    os._exit(0)
os.wait()
while not os.path.exists("{marker}"): pass"""


def test_processes_that_cells_leave_behind_are_ended(
    make_book: Callable[..., Book], tmp_path: Path
):
    marker = tmp_path / "marker"
    book = make_book(a=section(DETACHED.format(marker=marker)))
    assert stale.run(book, python=HERE) == 1
    processes = [int(word) for word in marker.read_text().split()]
    assert len(processes) == 3
    wait_for(lambda: not any(map(is_running, processes)))


# Being stopped

SLEEPING = """\
import os, pathlib, time
pathlib.Path("{marker}").write_text(str(os.getpid()))
time.sleep(600)"""


def start_run(book: Book, **options: bool) -> subprocess.Popen[str]:
    """Start the book's command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "book", "run", "--python", sys.executable],
        cwd=book.root,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,  # type: ignore[call-overload]
    )


def wait_for_cell(process: subprocess.Popen[str], marker: Path) -> None:
    """Wait until the cell that writes `marker` runs, or the process has ended."""
    wait_for(lambda: process.poll() is not None or _has_text(marker))


def wait_for(condition: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come about in time"
        time.sleep(0.05)


def wait_for_end(process: int) -> None:
    wait_for(lambda: not is_running(process))


def _has_text(file: Path) -> bool:
    return file.exists() and file.read_text() != ""


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")")[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.slow
def test_a_stopped_run_leaves_the_old_record(
    make_book: Callable[..., Book], tmp_path: Path
):
    runs = []
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        marker = tmp_path / number.name / "marker"
        text = section(SLEEPING.format(marker=marker))
        book = make_book(folder=number.name, a=text)
        record = store.path(book, book.section("a"), "pytorch")
        record.parent.mkdir(parents=True)
        record.write_text("what was there\n")
        runs.append((number, start_run(book), marker, record))
    for number, process, marker, record in runs:
        wait_for_cell(process, marker)
        process.send_signal(number)
        error = process.communicate(timeout=120)[1]
        wait_for_end(int(marker.read_text()))
        assert record.read_text() == "what was there\n"
        assert list(record.parent.iterdir()) == [record]
        if number != signal.SIGKILL:
            assert process.returncode == 130
            assert error.endswith("interrupted: finished work is kept\n")
            assert "Traceback" not in error


@pytest.mark.slow
@pytest.mark.timing
def test_repeated_signals_do_no_harm(make_book: Callable[..., Book], tmp_path: Path):
    """make sends SIGTERM on to a command that got it from their group already."""
    marker = tmp_path / "marker"
    book = make_book(a=section(SLEEPING.format(marker=marker)))
    for number in (signal.SIGTERM, signal.SIGINT):
        marker.unlink(missing_ok=True)
        process = start_run(book, start_new_session=True)
        wait_for_cell(process, marker)
        end = time.monotonic() + 120
        while process.poll() is None and time.monotonic() < end:
            os.killpg(process.pid, number)
            time.sleep(0.002)
        error = process.communicate(timeout=120)[1]
        assert "Traceback" not in error
        assert error.endswith("interrupted: finished work is kept\n")
        assert process.returncode == 130


@pytest.mark.parametrize(
    "machine, cores, most",
    [("cpu", 8, stale.MAX_KERNELS), ("cpu", None, 1), ("h200", 8, 1)],
)
def test_notebooks_do_not_share_a_gpu(
    machine: str,
    cores: int | None,
    most: int,
    make_book: Callable[..., Book],
    monkeypatch: pytest.MonkeyPatch,
):
    book = make_book(**{n: section("1", label=f"sec_{n}") for n in ("a", "b", "c")})
    running: list[str] = []
    at_once: list[int] = []

    async def pretend(*_: object) -> None:
        running.append("a kernel")
        at_once.append(len(running))
        await asyncio.sleep(0.01)
        running.pop()

    monkeypatch.setattr(stale.execution, "execute", pretend)
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    jobs = [
        stale.Job(book, book.section(name), "pytorch", machine, HERE, fingerprint="")
        for name in ("a", "b", "c")
    ]
    assert stale.execute(jobs, lambda job, notebook: None) == []
    assert max(at_once) == most


# What is asked for


def test_the_plan_is_what_is_stale(make_book: Callable[..., Book]):
    both = section("1", label="sec_b", tab="pytorch, jax")
    book = make_book(a=section("1"), b=both)

    def planned(**options) -> list[tuple[str, str]]:
        return [(Path(s.name).name, tab) for s, tab in stale.plan(book, **options)]

    assert planned() == [("a", "pytorch"), ("b", "pytorch"), ("b", "jax")]
    assert planned(tabs=["jax"]) == [("b", "jax")]
    assert planned(sections=["a.md"]) == [("a", "pytorch")]
    assert planned(machine="h200", sections=["chapter/b"], tabs=["pytorch"]) == [
        ("b", "pytorch")
    ]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"tabs": ["torch"]}, "TAB: unknown tab 'torch'; choose from pytorch, jax"),
        ({"sections": ["c"]}, "SECTION: unknown section 'c'; choose from index, a"),
        ({"machine": "../x"}, "MACHINE: '../x' is not a valid name"),
        ({"python": Path("nosuch")}, "nosuch: not an interpreter"),
        ({"python": Path("chapter")}, "chapter: not an interpreter"),
        ({"python": Path("./index.md")}, "index.md: not an interpreter"),
        ({"python": Path("ls")}, f"{shutil.which('ls')}: not Python 3.11"),
    ],
)
def test_what_does_not_exist_is_refused(
    options: dict, message: str, make_book: Callable[..., Book]
):
    with pytest.raises(BookError) as caught:
        stale.run(make_book(a=section("1")), **options)
    assert str(caught.value).startswith(message)


def test_an_interpreter_is_looked_for_on_path(
    other_python: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", f"{other_python.parent}{os.pathsep}{os.environ['PATH']}")
    assert stale.check_interpreter(Path("python")) == other_python
    monkeypatch.chdir(other_python.parent.parent)
    assert stale.check_interpreter(Path("bin/python")) == other_python


CHANGING = """\
import pathlib
page = pathlib.Path("{page}")
page.write_text(page.read_text().replace("{old}", "{new}"))"""


@pytest.mark.parametrize(
    "old, new, is_stale", [("1 + 1", "1 + 2", True), ("Text", "Prose", False)]
)
def test_a_record_is_of_the_code_that_ran(
    old: str,
    new: str,
    is_stale: bool,
    make_book: Callable[..., Book],
    tmp_path: Path,
    capsys: pytest.CaptureFixture,
):
    page = tmp_path / "made-up/chapter/b.md"
    change = CHANGING.format(page=page, old=old, new=new)
    book = make_book(a=section(change), b=section("1 + 1", "2", label="sec_b"))
    assert stale.run(book, python=HERE, jobs=1) == 2
    book = Book(book.root)
    state = store.state(book, book.section("b"), "pytorch")
    assert state == ("stale" if is_stale else "fresh")
    told = [x for x in capsys.readouterr().err.splitlines() if "changed" in x]
    line = "warning: the sources changed during the run, so these records are stale:"
    assert told == (
        [f"{line} chapter/b (pytorch); repeat make run"] if is_stale else []
    )


@pytest.mark.slow
def test_two_runs_at_once_run_it_once(make_book: Callable[..., Book]):
    book = make_book(a=section("import time\ntime.sleep(1)"))
    runs = [start_run(book) for _ in range(2)]
    said = sorted(process.communicate(timeout=300)[0] for process in runs)
    assert said == [
        "all records are fresh; there is nothing to run\n",
        "to run: chapter/a (pytorch)\n",
    ]
    assert [p.name for p in (book.root / "outputs/cpu").iterdir()] == ["pytorch"]


def test_an_interpreter_without_ipykernel(
    make_book: Callable[..., Book], tmp_path: Path
):
    venv.create(tmp_path / "bare", symlinks=True)
    with pytest.raises(
        BookError, match="a.md: pytorch: no kernel .* is ipykernel installed"
    ):
        stale.run(make_book(a=section("1")), python=tmp_path / "bare/bin/python")


def test_the_gpu_is_hidden_from_the_records_of_the_cpu_alone(tmp_path: Path):
    for machine, hidden in (("cpu", True), ("cpu-arm", True), ("h200", False)):
        settings = kernel_settings(HERE, ROOT, machine, tmp_path)
        assert (settings.get("CUDA_VISIBLE_DEVICES") == "") == hidden


def test_caches_of_compilers_begin_empty(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", "/full")
    settings = kernel_settings(HERE, ROOT, "cpu", tmp_path)
    for name in "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR":
        folder = Path(settings[name])
        assert tmp_path in folder.parents and not folder.exists()


def test_plots_are_recorded_in_the_colors_of_light_pages(tmp_path: Path):
    """Text is recorded as text, and curves in the colors that the page knows."""
    kernel_settings(HERE, ROOT, "cpu", tmp_path)
    style = (tmp_path / "matplotlibrc").read_text()
    assert "svg.fonttype: none\n" in style
    css = (ROOT / "static/book.css").read_text("utf-8")
    known = set(re.findall(r"light-dark\(#([0-9a-f]{6}),", css))
    recorded = set(re.findall(r"\b[0-9a-f]{6}\b", style))
    assert len(recorded) == 9 and recorded <= known


def test_records_hold_what_is_seen_without_widgets(
    make_book: Callable[..., Book], tmp_path: Path, other_python: Path
):
    """Our kernels do not find ipywidgets, even if the interpreter has them."""
    packages = next(other_python.parents[1].glob("lib/python*/site-packages"))
    (packages / "ipywidgets.py").touch()
    cell = "try:\n    import ipywidgets\nexcept ImportError:\n    print('none')"
    book = make_book(a=section(cell))
    assert stale.run(book, python=other_python) == 1
    assert outputs(book, "a")[0].text == "none\n"


FIGURE = """\
class Axes:
    images = [1]
    def get_title(self): return "coat"
class Figure:
    axes = [Axes()]
    def _repr_svg_(self): return '<svg xmlns="http://www.w3.org/2000/svg"/>'
"""


def test_a_record_describes_each_figure_that_a_cell_shows(
    make_book: Callable[..., Book], other_python: Path
):
    """Whatever drew it; a description of the cell's own takes precedence."""
    packages = next(other_python.parents[1].glob("lib/python*/site-packages"))
    (packages / "matplotlib").mkdir()
    (packages / "matplotlib/figure.py").write_text(FIGURE)
    cells = (
        "from matplotlib.figure import Figure\nFigure()",
        "handle = display(Figure(), display_id=True)\nhandle.update(Figure())",
        "display(Figure(), metadata={'alt': 'own'})",
    )
    book = make_book(a=section(*cells))
    assert stale.run(book, python=other_python) == 1
    alts = [output.metadata.alt for output in outputs(book, "a")]
    assert alts == ["An image: coat.", "An image: coat.", "own"]


# A machine with a GPU, by its name


@pytest.mark.parametrize(
    "code, reason",
    [
        ("exit 9", "nvidia-smi fails"),
        ("sleep 60", "nvidia-smi does not answer within 0.5 s"),
        ("echo 'No devices were found'", "nvidia-smi lists none"),
        ("head -c 1000 /dev/urandom; exit 0", "nvidia-smi lists none"),
        ("printf '\\377\\376, \\0\\n'", "nvidia-smi lists none"),
    ],
)
def test_a_machine_without_a_gpu_is_refused_before_anything_runs(
    code: str,
    reason: str,
    make_book: Callable[..., Book],
    nvidia_smi: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
):
    if code.startswith("sleep"):
        monkeypatch.setattr(runner_machine, "GPU_SECONDS", 0.5)
    nvidia_smi(code)
    book = make_book(a=section("1"))
    with pytest.raises(BookError) as caught:
        stale.run(book, machine="h200", python=HERE)
    assert str(caught.value) == (
        f"no GPU is found here ({reason}), but 'h200' names a machine with a"
        " GPU; fix the driver, or use a name that begins with cpu-, as in"
        " MACHINE=cpu-arm"
    )
    assert not (book.root / "outputs").exists()


def test_a_machine_without_nvidia_smi(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BookError, match="nvidia-smi is not installed"):
        runner_machine.gpus_of("h200")


def test_facts_of_a_machine_with_gpus(nvidia_smi: Callable[..., None]):
    nvidia_smi("printf 'A GPU, 550.1\\nA GPU, 550.1\\n'")
    facts = runner_machine.machine_facts("h200", "pytorch", HERE, ["torch"])
    assert facts["gpu"] == facts["machine_name"] == "2 × A GPU"
    assert facts["driver"] == "550.1"
    for name in ("cpu", "cpu-arm"):
        facts = runner_machine.machine_facts(name, "pytorch", HERE, ["torch"])
        assert (facts["gpu"], facts["machine_name"]) == ("", "CPU")


def test_an_interpreter_that_prints_at_its_start(other_python: Path):
    packages = next(other_python.parents[1].glob("lib/python*/site-packages"))
    (packages / "noise.pth").write_text("import sys; print('noise')\n")
    facts = runner_machine.machine_facts("cpu", "pytorch", other_python, [])
    assert facts["python"].startswith("3.")


def test_an_interpreter_that_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(runner_machine, "START_SECONDS", 0.5)
    for code in ("sleep 60", "echo", "exit 1"):
        python = tmp_path / "python"
        python.write_text(f"#!/bin/sh\n{code}\n")
        python.chmod(0o755)
        with pytest.raises(
            BookError, match=f"^{python}: this interpreter does not start"
        ):
            runner_machine.machine_facts("cpu", "pytorch", python, [])
