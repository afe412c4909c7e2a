"""Behind a proxy, pages of one more origin run code, and of no other.

The attacks of `test_live.py`, once more: on a server that knows of a proxy, straight
and through a proxy that ends TLS.
"""

import json
import re
import ssl
from collections.abc import Callable, Iterator
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import Any

import pytest
from proxy import PEM, proxied

from book import __main__ as main
from book.live import live, serve
from book.live.origin import Origin, hint, origin
from book.live.sessions import Sessions
from book.text.book import Book

HOST = "gpu.example"
SITE = f"https://{HOST}"
PATH = "/user/ada/proxy/8000"
RUN = "/the-path/.live/run"
ORDER = json.dumps({"section": "chapter/one", "tab": "jax", "cells": []})


def ask(
    connection: HTTPConnection, path: str, body: str | None = None, **headers: object
) -> HTTPResponse:
    """Send what a page at SITE sends; a header that is None is left out.

    The name of a header has `_` for `-`; a tuple is a header that is there twice.
    """
    sent: dict[str, object] = {"Host": HOST, "Cookie": "gpus-live=the-token"}
    sent |= {"Sec-Fetch-Site": "same-origin"}
    if body is not None:
        sent |= {"Origin": SITE, "Content-Type": "application/json"}
        sent |= {"Content-Length": len(body)}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    connection.putrequest("GET" if body is None else "POST", path, skip_host=True)
    for name, value in sent.items():
        for each in value if isinstance(value, tuple) else (value,):
            if each is not None:
                connection.putheader(name, str(each))
    connection.endheaders(None if body is None else body.encode())
    return connection.getresponse()


@pytest.fixture
def port(serve_live: Callable[..., serve.Server]) -> int:
    """The port of a server that knows of the proxy."""
    return serve_live(Origin(HOST)).server_port


@pytest.fixture
def straight(port: int) -> HTTPConnection:
    return HTTPConnection(serve.HOST, port, timeout=60)


def trusting(port: int) -> HTTPSConnection:
    """Return a connection to a proxy on this machine."""
    context = ssl.create_default_context(cafile=PEM)
    return HTTPSConnection("localhost", port, timeout=60, context=context)


@pytest.fixture(params=["straight", "--keep-host", "--rewrite-host"])
def connection(request: pytest.FixtureRequest, port: int) -> Iterator[HTTPConnection]:
    """A connection to the server, or to a proxy that keeps or replaces the host."""
    if request.param == "straight":
        yield HTTPConnection(serve.HOST, port, timeout=60)
        return
    options = [request.param] if request.param == "--keep-host" else []
    with proxied(port, *options) as proxy:
        yield trusting(proxy)


# 400: the cells are missing, but everything else is right.


def test_a_page_of_the_origin_is_answered(connection: HTTPConnection):
    assert ask(connection, RUN, ORDER).status == 400
    answer = ask(trusting_again(connection), "/the-path/chapter/one.html")
    assert answer.status == 200 and SITE.encode() in answer.read()


def trusting_again(connection: HTTPConnection) -> HTTPConnection:
    """Return a new connection to the same port: an error has ended the old one."""
    if isinstance(connection, HTTPSConnection):
        return trusting(connection.port)
    return HTTPConnection(connection.host, connection.port, timeout=60)


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_a_page_of_this_machine_is_still_answered(port: int, name: str):
    own = f"{name}:{port}"
    connection = HTTPConnection(serve.HOST, port, timeout=60)
    answer = ask(connection, RUN, ORDER, Host=own, Origin=f"http://{own}")
    assert answer.status == 400


FORGED = {
    **{"X_Forwarded_Host": HOST, "X_Forwarded_Proto": "https"},
    **{"Forwarded": f"host={HOST};proto=https", "X_Original_Host": HOST},
    **{"X_Forwarded_Prefix": "/the-path", "X_Forwarded_For": "127.0.0.1"},
}
ORIGINS = [
    *(None, "null", "", "*", f"http://{HOST}", "https://evil.example", HOST),
    *(f"{SITE}.evil.example", f"https://evil{HOST}", f"https://evil.{HOST}"),
    *(f"{SITE}:8443", f"{SITE}:80", f"{SITE}/", f"{SITE}@evil.example", f"{SITE}."),
    *("https://127.0.0.1", "http://127.0.0.1:1", "file://", f"{SITE} {SITE}"),
    *("https://gpu.examp1e", "https://GPU.example", f"{SITE}:443"),
]


@pytest.mark.parametrize("given", ORIGINS)
def test_a_page_of_another_origin_runs_nothing(
    straight: HTTPConnection, sessions: Sessions, given: str | None
):
    answer = ask(straight, RUN, ORDER, Origin=given, **FORGED)
    assert answer.status == 403 and b"with ORIGIN" in answer.read()
    assert sessions.sessions == {}


def test_through_a_proxy_a_page_of_another_origin_runs_nothing(
    connection: HTTPConnection, sessions: Sessions
):
    for given in ORIGINS:
        again = trusting_again(connection)
        assert ask(again, RUN, ORDER, Origin=given).status == 403, given
    assert sessions.sessions == {}


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": (SITE, "https://evil.example")},
        {"Origin": ("https://evil.example", SITE)},
        {"Cookie": None},
        {"Cookie": "gpus-live=a-token"},
        {"Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "none"},
        {"Content_Type": "text/plain"},
        {"Host": "evil.example"},
        {"Host": f"{HOST}.evil.example"},
        {"Host": f"evil{HOST}"},
        {"Host": f"{HOST}:8443"},
        {"Host": f"{HOST}:443:443"},
        {"Host": f"{HOST}:80@evil.example"},
        {"Host": f"127.0.0.1:80@{HOST}"},
        {"Host": (HOST, "evil.example")},
        {"Host": ("127.0.0.1", HOST)},
        {"Host": None},
    ],
)
def test_another_request_runs_nothing(
    straight: HTTPConnection, sessions: Sessions, headers: dict[str, object]
):
    answer = ask(straight, RUN, ORDER, **headers, **FORGED)
    assert answer.status in (403, 415, 421)
    assert sessions.sessions == {}


def test_pages_of_the_host_without_tls_are_strangers(straight: HTTPConnection):
    """A proxy that passes the host on may serve http, too."""
    answer = ask(straight, RUN, ORDER, Host=f"{HOST}:443", Origin=f"http://{HOST}:443")
    assert answer.status == 403


def test_without_an_origin_a_proxy_gets_no_code_run_and_a_reason(
    serve_live: Callable[..., serve.Server], sessions: Sessions
):
    port = serve_live().server_port
    for options, status in (([], 403), (["--keep-host"], 421)):
        with proxied(port, *options) as proxy:
            answer = ask(trusting(proxy), RUN, ORDER, **FORGED)
            assert answer.status == status
            assert b"run make live with ORIGIN" in answer.read()
    assert sessions.sessions == {}


def test_a_wrong_token_and_a_wrong_origin_have_different_reasons(port: int):
    def reason(**headers: object) -> str:
        connection = HTTPConnection(serve.HOST, port, timeout=60)
        return ask(connection, RUN, ORDER, **headers).read().decode()

    wrong_token = reason(Cookie="gpus-live=a-token", Origin="https://evil.example")
    assert wrong_token == live.WRONG_TOKEN
    wrong_origin = reason(Origin="https://evil.example")
    assert f"for pages of {SITE} only" in wrong_origin and "with ORIGIN" in wrong_origin


@pytest.mark.parametrize("strips", [True, False])
def test_all_addresses_are_below_the_path_of_the_proxy(
    serve_live: Callable[..., serve.Server], strips: bool
):
    port = serve_live(Origin(HOST, PATH)).server_port
    with proxied(port, "--path", PATH, *["--strip-path"] * strips) as proxy:
        root = f"{PATH}/the-path"
        answer = ask(trusting(proxy), f"{root}/?token=the-token", Cookie=None)
        assert f"; Path={root}/; Secure" in answer.headers["Set-Cookie"]
        assert f'content="0; url={root}/"' in answer.read().decode()
        folder = ask(trusting(proxy), f"{root}/chapter")
        assert folder.headers["Location"] == f"{root}/chapter/"
        page = ask(trusting(proxy), f"{root}/chapter/one.html").read().decode()
        for file in ("/.live/live.js", "/.live/live.css", "/.reload.js"):
            assert f'"{root}{file}' in page
            assert ask(trusting(proxy), root + file).status == 200
        assert f'fetch("{root}/.builds")' in (
            ask(trusting(proxy), f"{root}/.reload.js").read().decode()
        )
        assert ask(trusting(proxy), f"{PATH}{RUN}", ORDER).status == 400
    for path in (f"{PATH}{PATH}{RUN}", f"{PATH}/.live/run", f"/evil{RUN}"):
        straight = HTTPConnection(serve.HOST, port, timeout=60)
        assert ask(straight, path, ORDER).status == 403


# The setting


@pytest.mark.parametrize(
    "value, site, path",
    [
        ("https://gpu.example", "https://gpu.example", ""),
        ("HTTPS://GPU.Example:443/", "https://gpu.example", ""),
        ("https://gpu.example:8443", "https://gpu.example:8443", ""),
        ("https://h.example/user/ada/proxy/8000/", "https://h.example", PATH),
        ("https://h.example/user/a%40x", "https://h.example", "/user/a%40x"),
    ],
)
def test_an_origin_is_what_browsers_send(value: str, site: str, path: str):
    found = origin(value)
    assert (found.site, found.path) == (site, path)


@pytest.mark.parametrize(
    "value",
    [
        *("", "*", "null", "gpu.example", "http://gpu.example", "https://", "ws://x"),
        *("https://*.example", "https://a b", "https://x:0", "https://x:65536"),
        *("https://x:y", "https://x:1:2", "https://u@x", "https://x/?token=1"),
        *("https://x/#a", "https://x/../y", "https://x/.", "https://x//y"),
        *('https://x/"><script>', "https://x/a;b", "https://x/a b", "https://x\ny"),
        *(
            "https://x\n",
            "https://é.example",
            "https://x..y",
            "https://-x",
            " https://x",
        ),
        *("https://x,https://y", "https://[::1]", "https://x²", "https://x:٣"),
    ],
)
@pytest.mark.parametrize("command", ["live", "lab"])
def test_a_malformed_origin_is_one_line_of_error(
    command: str, value: str, capsys: pytest.CaptureFixture[str]
):
    assert main.main([command, f"--origin={value}"]) == 1
    text = capsys.readouterr().err
    assert text.startswith("error: ORIGIN: '") and "write https://HOST" in text
    assert text.count("\n") == 1 + value.count("\n")


CODESPACE = {
    "CODESPACE_NAME": "super-robot-x5",
    "GITHUB_CODESPACES_PORT_FORWARDING_DOMAIN": "app.github.dev",
}
HUB = {"JUPYTERHUB_SERVICE_PREFIX": "/user/ada/"}


@pytest.mark.parametrize(
    "environ, setting",
    [
        ({}, None),
        (CODESPACE, "ORIGIN=https://super-robot-x5-8000.app.github.dev"),
        (CODESPACE | {"CODESPACE_NAME": "x; rm -rf ~"}, None),
        (
            HUB,
            "ORIGIN=https://HOST/user/ada/proxy/absolute/8000"
            " (HOST: the name in your browser's address bar)",
        ),
        ({"JUPYTERHUB_SERVICE_PREFIX": "`x`"}, None),
    ],
)
def test_a_hosted_editor_gets_a_hint(environ: dict[str, str], setting: str | None):
    assert hint(environ, 8000) == setting


@pytest.mark.parametrize("given", [None, Origin(HOST, PATH)])
def test_a_hint_opens_nothing_and_the_printed_address_is_that_of_the_origin(
    book: Book,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    given: Origin | None,
):
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    for name, value in CODESPACE.items():
        monkeypatch.setenv(name, value)
    new, made = serve.Server, []

    def make(*of: Any) -> serve.Server:
        made.append(of)
        return new(*of)

    monkeypatch.setattr(live.lab, "interpreters", lambda *_: {"jax": Path("python")})
    monkeypatch.setattr(serve, "Server", make)
    monkeypatch.setattr(serve, "build", lambda root: True)
    monkeypatch.setattr(serve, "_rebuild_on_change", stop)
    live.start(book, ["jax"], None, 0, given)
    printed = capsys.readouterr().out
    site = f"{SITE}{PATH}/" if given else r"http://127.0.0.1:\d+/"
    assert re.search(rf"^{site}[\w-]+/\?token=[\w-]+ ", printed, re.MULTILINE)
    assert ("add to your command: ORIGIN=" in printed) == (given is None)
    ((*_, handler, listen),) = made
    assert (handler.keywords["origin"], listen) == (given, "127.0.0.1")
