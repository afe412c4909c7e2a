"""The server shows the book as built, and tells open pages of each new build."""

import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest

from book.base.errors import BookError
from book.publish import serve

PAGE = "<html><body><p>Text</p></body></html>"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "chapter").mkdir()
    for name in ("index.html", "chapter/index.html"):
        (tmp_path / name).write_text(PAGE)
    (tmp_path / "style.css").write_text("p { }</body>")
    return tmp_path


@pytest.fixture
def rebuilds() -> serve.Rebuilds:
    return serve.Rebuilds()


@pytest.fixture
def port(site: Path, rebuilds: serve.Rebuilds) -> Iterator[int]:
    with serve._server(site, 0, rebuilds) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server.server_port
        server.shutdown()


def get(port: int, path: str) -> HTTPResponse:
    connection = HTTPConnection(serve.HOST, port, timeout=10)
    connection.request("GET", path)
    return connection.getresponse()


@pytest.mark.parametrize("path", ["/", "/index.html", "/chapter/", "/?tab=jax"])
def test_pages_reload_but_the_site_has_no_script(port: int, site: Path, path: str):
    page = get(port, path).read().decode()
    address = f"{serve.RELOAD}?0"
    assert f'<script src="{address}"></script></body>' in page
    script = get(port, address)
    assert script.headers.get_content_type() == "text/javascript"
    assert script.read().decode() == serve.SCRIPT.format(serve.EVENTS, 0)
    assert (site / "index.html").read_text() == PAGE


def test_other_files_are_as_they_are(port: int):
    assert get(port, "/style.css").read() == b"p { }</body>"
    assert get(port, "/nosuch.html").status == 404
    assert get(port, "/chapter").status == 301
    assert get(port, "/../secret").status == 404


def test_open_pages_hear_of_a_build(port: int, rebuilds: serve.Rebuilds):
    rebuilds.announce()
    events = get(port, f"{serve.EVENTS}?0")
    assert events.fp.readline() == b"data: rebuilt\n"


def test_a_port_that_is_taken(port: int, site: Path, rebuilds: serve.Rebuilds):
    with pytest.raises(BookError, match=f"PORT: {port} cannot be had .*PORT="):
        serve._server(site, port, rebuilds)


def test_a_port_that_is_taken_is_told_of_before_the_book_is_built(
    port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(serve, "build", lambda root: pytest.fail("it was built"))
    with pytest.raises(BookError, match="PORT: "):
        serve.serve(tmp_path, port)


def test_a_book_that_does_not_build_is_not_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(serve, "build", lambda root: False)
    with pytest.raises(BookError, match="does not build"):
        serve.serve(tmp_path, 0)


def test_a_change_is_built_and_a_failed_build_is_not_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    results = iter([False, True])
    monkeypatch.setattr(serve, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(serve, "build", lambda root: next(results))
    rebuilds = serve.Rebuilds()
    watch = (tmp_path, serve.snapshot(tmp_path), rebuilds)
    threading.Thread(
        target=lambda: pytest.raises(StopIteration, serve._rebuild_on_change, *watch),
        daemon=True,
    ).start()
    (tmp_path / "a.md").write_text("wrong")
    time.sleep(0.1)
    assert rebuilds.count == 0
    (tmp_path / "a.md").write_text("right, and longer")
    assert rebuilds.wait(0, 10) == 1


def test_what_is_watched(tmp_path: Path):
    for name in ("a.md", "img/b.svg", "_build/c.html", ".venvs/d", "tests/e.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    watched = [Path(p).relative_to(tmp_path) for p in serve.snapshot(tmp_path)]
    assert sorted(map(str, watched)) == ["a.md", "img/b.svg"]
