"""The server shows the book as built, and tells open pages of each new build."""

import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest

from book.live import serve
from book.runner.errors import BookError

PAGE = "<html><body><p>Text</p></body></html>"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "chapter").mkdir()
    for name in ("index.html", "chapter/index.html"):
        (tmp_path / name).write_text(PAGE)
    (tmp_path / "style.css").write_text("p { }</body>")
    return tmp_path


@pytest.fixture
def server(site: Path) -> Iterator[serve.Server]:
    with serve.Server(site, 0, serve.Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def port(server: serve.Server) -> int:
    return server.server_port


def get(port: int, path: str, method: str = "GET", **headers: str) -> HTTPResponse:
    connection = HTTPConnection(serve.HOST, port, timeout=60)
    connection.request(method, path, headers=headers)
    return connection.getresponse()


@pytest.mark.parametrize("path", ["/", "/index.html", "/chapter/", "/?tab=jax"])
def test_pages_reload_but_the_site_has_no_script(port: int, site: Path, path: str):
    page = get(port, path).read().decode()
    address = f"{serve.RELOAD}?0"
    assert f'<script src="{address}"></script></body>' in page
    script = get(port, address)
    assert script.headers.get_content_type() == "text/javascript"
    assert script.read().decode() == serve.SCRIPT.format(serve.BUILDS, 0)
    assert (site / "index.html").read_text() == PAGE


def test_other_files_are_as_they_are(port: int):
    assert get(port, "/style.css").read() == b"p { }</body>"
    assert get(port, "/nosuch.html").status == 404
    assert get(port, "/chapter").status == 301
    assert get(port, "/../secret").status == 404


def test_open_pages_hear_of_a_build(port: int, server: serve.Server):
    assert get(port, serve.BUILDS).read() == b"0"
    server.builds += 1
    assert get(port, serve.BUILDS).read() == b"1"


@pytest.mark.parametrize(
    "host, answered",
    [
        ("127.0.0.1:{}", True),
        ("localhost:{}", True),
        ("127.0.0.1", True),
        ("localhost:1", True),  # the other end of a tunnel
        ("evil.example:{}", False),
        ("127.0.0.1.evil.example:{}", False),
        ("127.0.0.1:80@evil.example", False),
        ("127.0.0.1:", False),
        ("127.0.0.1:{} evil.example", False),
        ("x@127.0.0.1:{}", False),
        ("[::1]:{}", False),
        ("", False),
    ],
)
@pytest.mark.parametrize("path", ["/", "/style.css", serve.BUILDS, serve.RELOAD])
def test_another_host_gets_no_answer(port: int, host: str, answered: bool, path: str):
    """A name that resolves to this machine would let its page read ours."""
    for method in ("GET", "HEAD") if path == "/" else ("GET",):
        answer = get(port, path, method, Host=host.format(port))
        assert answer.status == (200 if answered else 421)
        if not answered:
            body = answer.read()
            assert b"Text" not in body and (method == "HEAD" or b"with ORIGIN" in body)


def test_a_request_without_a_host_gets_no_answer(port: int):
    with socket.create_connection((serve.HOST, port), timeout=60) as client:
        client.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert b" 421 " in client.recv(100)


def test_a_request_for_two_hosts_gets_no_answer(port: int):
    with socket.create_connection((serve.HOST, port), timeout=60) as client:
        hosts = b"Host: localhost\r\nHost: evil.example\r\n"
        client.sendall(b"GET / HTTP/1.1\r\n" + hosts + b"\r\n")
        assert b" 421 " in client.recv(100)


@pytest.mark.parametrize(
    "path", ["/%00", "/index.html%00", "/%FF", "/a%0Ab", "/%", "//"]
)
def test_strange_addresses_get_an_answer(port: int, path: str):
    assert get(port, path).status == (200 if path == "//" else 404)


@pytest.mark.parametrize("number", ["", "x", "9" * 5000, "-1"])
def test_strange_numbers_of_builds(port: int, number: str):
    script = get(port, f"{serve.RELOAD}?{number}")
    assert script.read().decode() == serve.SCRIPT.format(serve.BUILDS, 0)


def test_a_browser_that_leaves_is_no_error(
    port: int, site: Path, capfd: pytest.CaptureFixture[str]
):
    (site / "large.bin").write_bytes(bytes(50_000_000))
    for _ in range(3):
        with socket.create_connection((serve.HOST, port), timeout=60) as client:
            request = f"GET /large.bin HTTP/1.0\r\nHost: localhost:{port}\r\n\r\n"
            client.sendall(request.encode())
            assert client.recv(10)
    time.sleep(0.5)
    assert capfd.readouterr().err == ""


def test_a_port_that_is_taken_is_told_of_before_the_book_is_built(
    port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(serve, "build", lambda root: pytest.fail("it was built"))
    with pytest.raises(BookError, match=f"PORT: {port} is not available .*PORT="):
        serve.serve(tmp_path, port)


def test_a_book_that_does_not_build_is_not_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(serve, "build", lambda root: False)
    with pytest.raises(BookError, match="does not build"):
        serve.serve(tmp_path, 0)


def test_a_change_is_built_and_a_failed_build_is_not_announced(
    server: serve.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    results, failed = iter([False, True]), threading.Event()

    def build(root: Path) -> bool:
        result = next(results)
        failed.set()
        return result

    monkeypatch.setattr(serve, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(serve, "build", build)
    watch = (tmp_path, serve.snapshot(tmp_path), server)
    threading.Thread(
        target=lambda: pytest.raises(StopIteration, serve._rebuild_on_change, *watch),
        daemon=True,
    ).start()
    (tmp_path / "a.md").touch()
    assert failed.wait(60)
    time.sleep(0.1)
    assert server.builds == 0
    (tmp_path / "a.md").touch()
    for _ in range(600):
        if server.builds:
            break
        time.sleep(0.1)
    assert server.builds == 1


@pytest.mark.parametrize(
    "status, printed, shown",
    [(0, "a note\n/x/index.html\n", "a note\n"), (1, "a note\n", "a note\n")],
)
def test_the_path_of_a_page_without_buttons_is_not_shown(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    status: int,
    printed: str,
    shown: str,
):
    built = subprocess.CompletedProcess("make", status, printed)
    monkeypatch.setattr(serve.subprocess, "run", lambda *_, **__: built)
    assert serve.build(tmp_path) == (status == 0)
    assert capsys.readouterr().out == shown


def test_what_is_watched(tmp_path: Path):
    for name in ("a.md", "img/b.svg", "_build/c.html", ".venvs/d", "tests/e.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    watched = [Path(p).relative_to(tmp_path) for p in serve.snapshot(tmp_path)]
    assert sorted(map(str, watched)) == ["a.md", "img/b.svg"]
