"""JupyterLab opens the first notebook, lists all, and runs each in its framework."""

import json
import os
import re
import ssl
import subprocess
import sys
import time
from collections.abc import Callable
from http.client import HTTPSConnection
from pathlib import Path
from types import ModuleType

import nbformat
import pytest
from proxy import PEM, free_port, proxied

from book import __main__ as main
from book.live import lab, live
from book.live.origin import Origin
from book.runner.errors import BookError
from book.text.book import Book

CELL = """\
# {title}
:label:`sec_{title}`

```{{.python .input}}
%%tab {tabs}
{code}
```
"""


def section(title: str, code: str = "1 + 1", tabs: str = "all") -> str:
    return CELL.format(title=title, code=code, tabs=tabs)


@pytest.fixture
def book(make_book: Callable[..., Book]) -> Book:
    return make_book(second=section("Second"), first=section("First", tabs="jax"))


@pytest.fixture
def open_lab(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Call it with what `lab.start` takes; it returns the folder of JupyterLab."""
    monkeypatch.setattr(os, "execve", lambda *command: None)
    monkeypatch.setattr(
        lab,
        "interpreters",
        lambda book, tabs, _: dict.fromkeys(tabs, Path(sys.executable)),
    )

    def start(
        book: Book,
        *tabs: str,
        sections: tuple[str, ...] = (),
        port: int = 8890,
        origin: Origin | None = None,
    ) -> Path:
        lab.start(book, tabs, sections, None, port, origin)
        return book.root / "_build/lab"

    return start


def settings(folder: Path) -> dict[str, dict[str, object]]:
    return json.loads((folder / "config/jupyter_server_config.json").read_text())


def test_the_first_notebook_is_opened(book: Book, open_lab: Callable[..., Path]):
    server = settings(open_lab(book, "jax"))["ServerApp"]
    assert server["default_url"] == "/lab/tree/jax/second.ipynb"
    assert server["port"] == 8890
    server = settings(open_lab(book, "jax", sections=("first",)))["ServerApp"]
    assert server["default_url"] == "/lab/tree/jax/first.ipynb"


def test_each_folder_lists_its_notebooks_in_the_order_of_the_book(
    book: Book, open_lab: Callable[..., Path]
):
    folder = open_lab(book, "jax", sections=("first",)) / "notebooks/jax"
    index = folder / lab.INDEX_NAME
    assert "second.ipynb" not in index.read_text()
    open_lab(book, "jax")
    listed = [line for line in index.read_text().splitlines() if line[:1] == "*"]
    assert listed == ["* [1 Second](second.ipynb)", "* [2 First](first.ipynb)"]
    assert min(file.name for file in folder.iterdir()) == lab.INDEX_NAME
    title, *_ = nbformat.read(folder / "second.ipynb", 4).cells
    assert title.source == f"# 1. Second\n\n[All notebooks]({lab.INDEX_NAME})"


def test_changed_notebooks_that_are_older_than_their_sections_are_named(
    book: Book, open_lab: Callable[..., Path], capsys: pytest.CaptureFixture[str]
):
    for name in ("first", "second"):
        file = open_lab(book, "jax") / f"notebooks/jax/{name}.ipynb"
        changed = nbformat.read(file, 4)
        changed.cells[-1].source = "mine"
        nbformat.write(changed, file)
    open_lab(book, "jax")
    assert capsys.readouterr().out == ""
    (book.root / "chapter/second.md").write_text(section("Second", "2 + 2"))
    open_lab(Book(book.root), "jax")
    (line,) = capsys.readouterr().out.splitlines()
    assert "kept, because you changed them: _build/lab/notebooks/jax/second.ipy" in line
    assert "first.ipynb" not in line
    file = book.root / "_build/lab/notebooks/jax/second.ipynb"
    assert nbformat.read(file, 4).cells[-1].source == "mine"


def test_kernels_of_earlier_commands_stay_while_their_interpreters_exist(
    book: Book, open_lab: Callable[..., Path]
):
    open_lab(book, "jax")
    folder = open_lab(book, "pytorch")
    notebook = nbformat.read(folder / "notebooks/pytorch/second.ipynb", 4)
    assert notebook.metadata.kernelspec.name == "gpus-pytorch"
    allowed = settings(folder)["KernelSpecManager"]["allowed_kernelspecs"]
    assert allowed == ["gpus-jax", "gpus-pytorch"]
    spec = folder / "share/kernels/gpus-jax/kernel.json"
    spec.write_text(spec.read_text().replace(sys.executable, "/nosuch/python"))
    open_lab(book, "pytorch")
    allowed = settings(folder)["KernelSpecManager"]["allowed_kernelspecs"]
    assert allowed == ["gpus-pytorch"]


@pytest.mark.parametrize(
    "tab, sections, reason",
    [
        ("foo", (), "TAB: unknown tab 'foo'; choose from pytorch, jax"),
        ("jax", ("nosuch",), "SECTION: unknown section 'nosuch'"),
        ("pytorch", ("first",), "SECTION: first: no code in pytorch"),
    ],
)
def test_unknown_names_are_refused_before_anything_is_written(
    book: Book,
    open_lab: Callable[..., Path],
    tab: str,
    sections: tuple[str, ...],
    reason: str,
):
    with pytest.raises(BookError, match=reason):
        open_lab(book, tab, sections=sections)
    assert not (book.root / "_build/lab").exists()


# Behind a proxy


OF_A_PROXY = {
    *("allow_origin", "allow_origin_pat", "allow_remote_access", "local_hostnames"),
    *("base_url", "custom_display_url", "ip", "trust_xheaders"),
}


def test_an_origin_opens_jupyter_to_it_and_to_nothing_else(
    book: Book, open_lab: Callable[..., Path]
):
    found = settings(open_lab(book, "jax"))
    assert not OF_A_PROXY & set(found["ServerApp"]) and "IdentityProvider" not in found
    origin = Origin("hub.example:8443", "/user/ada/proxy/absolute/8888")
    found = settings(open_lab(book, "jax", origin=origin))
    assert {k: v for k, v in found["ServerApp"].items() if k in OF_A_PROXY} == {
        "allow_origin": "https://hub.example:8443",
        "local_hostnames": ["localhost", "hub.example"],
        "base_url": "/user/ada/proxy/absolute/8888/",
        "custom_display_url": "https://hub.example:8443",
    }
    assert found["IdentityProvider"] == {
        "secure_cookie": True,
        "cookie_name": "gpus-lab",  # the token stays Jupyter's own
    }
    found = settings(open_lab(book, "jax"))
    assert not OF_A_PROXY & set(found["ServerApp"]) and "IdentityProvider" not in found


@pytest.mark.slow
def test_jupyter_answers_pages_of_the_origin_that_have_the_token(
    book: Book, open_lab: Callable[..., Path]
):
    port, path = free_port(), "/user/ada/proxy/absolute/8888"
    folder = open_lab(book, "jax", port=port, origin=Origin("gpu.example", path))
    log = folder / "log"
    with log.open("w") as file, proxied(port, "--keep-host", "--path", path) as proxy:
        command = [sys.executable, "-m", "jupyterlab"]
        places = os.environ | lab._places(folder)
        process = subprocess.Popen(command, env=places, stderr=file)
        try:
            while not (token := re.search(r"token=(\w+)", log.read_text())):
                assert process.poll() is None, log.read_text()
                time.sleep(0.1)
            assert f"https://gpu.example{path}/lab/tree/jax/second" in log.read_text()
            site, host = "https://gpu.example", "gpu.example"
            for status, origin, name, given in (
                (200, site, host, token[1]),
                (403, site, host, "a-token"),
                (403, site, "evil.example", token[1]),
                (403, site, f"{host}.evil.example", token[1]),
            ):
                assert kernels(proxy, path, origin, name, given) == status
        finally:
            process.terminate()
            process.wait(30)


def kernels(port: int, path: str, origin: str, host: str, token: str) -> int:
    """Return the status of an answer to a request for the running kernels."""
    context = ssl.create_default_context(cafile=PEM)
    connection = HTTPSConnection("localhost", port, timeout=60, context=context)
    headers = {"Host": host, "Origin": origin, "Authorization": f"token {token}"}
    connection.request("GET", f"{path}/api/kernels", headers=headers)
    return connection.getresponse().status


@pytest.mark.parametrize("module", [lab, live])
def test_without_a_tab_the_first_one_is_announced(
    module: ModuleType,
    book: Book,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    tabs: list[str] = []
    monkeypatch.setattr(module, "start", lambda book, chosen, *_: tabs.extend(chosen))
    assert main.main([module.__name__.rpartition(".")[2]]) == 0
    assert tabs == ["pytorch"]
    printed = capsys.readouterr().out
    assert printed == "without TAB, this is pytorch; for another, give TAB=jax\n"


# The reader's own Python


def test_an_interpreter_may_be_on_path(
    book: Book, other_python: Path, monkeypatch: pytest.MonkeyPatch
):
    path = f"{other_python.parent}{os.pathsep}{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    assert lab.interpreters(book, ["jax"], Path("python")) == {"jax": other_python}


def test_an_interpreter_without_a_package_is_refused_with_the_command_that_installs(
    book: Book, other_python: Path
):
    config = book.root / "config.ini"
    packages = "tensorflow = tensorflow: tensorflow\nall = nosuch_module: a-package"
    config.write_text(f"{config.read_text()}\n[notebooks]\n{packages}\n")
    with pytest.raises(BookError) as caught:
        lab.interpreters(Book(book.root), ["tensorflow"], other_python)
    assert str(caught.value) == (
        f"PYTHON: {other_python} lacks tensorflow, a-package; run {other_python}"
        " -m pip install tensorflow-cpu==2.21.0 a-package"
    )
