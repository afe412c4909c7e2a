"""Only the reader's own pages run code on this machine."""

import json
import re
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import psutil
import pytest

from book.live import live, serve
from book.live.sessions import Sessions
from book.runner import signals
from book.sources.book import Book

TOKEN = "the-token"
EARLY = 'const known = {"machine": ["cpu"], "theme": ["auto"]};'
PAGE = "<html><head><script>{}</script></head><body><p>Text</p></body></html>"
SECTION = """\
# One

```{.python .input}
%%tab all
number = 6
```

```{.python .input .predict answer="is ?"}
%%tab all
print('is', number * 7)
```
"""


@pytest.fixture
def book(make_book: Callable[..., Book]) -> Book:
    return make_book(one=SECTION)


@pytest.fixture
def sessions(book: Book) -> Iterator[Sessions]:
    signals.listen()  # as the command does; a kernel inherits what is ignored
    pythons = dict.fromkeys(book.tabs, Path(sys.executable))
    sessions = Sessions(book, pythons, "A GPU")
    yield sessions
    sessions.close()


@pytest.fixture
def rebuilds() -> serve.Rebuilds:
    return serve.Rebuilds()


@pytest.fixture
def port(book: Book, sessions: Sessions, rebuilds: serve.Rebuilds) -> Iterator[int]:
    site = book.root / "_build/html"
    (site / "chapter").mkdir(parents=True)
    for name in ("index.html", "chapter/one.html"):
        (site / name).write_text(PAGE.format(EARLY))
    handler = partial(live.Handler, rebuilds=rebuilds, sessions=sessions, token=TOKEN)
    with serve._open_server(site, 0, handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server.server_port
        server.shutdown()


def ask(
    port: int, path: str, body: object = None, /, **headers: str | None
) -> HTTPResponse:
    """Send what a page of the server sends; a header that is None is left out."""
    sent = {
        "Host": f"127.0.0.1:{port}",
        "Cookie": f"gpus-live-{port}={TOKEN}",
        "Sec-Fetch-Site": "same-origin",
    }
    if body is not None:
        sent |= {"Origin": f"http://127.0.0.1:{port}"}
        sent |= {"Content-Type": "application/json"}
    changed = {name.replace("_", "-"): value for name, value in headers.items()}
    kept = {k: v for k, v in (sent | changed).items() if v is not None}
    connection = HTTPConnection(serve.HOST, port, timeout=60)
    text = None if body is None else json.dumps(body)
    connection.request("GET" if body is None else "POST", path, text, kept)
    return connection.getresponse()


def order(code: str, **more: object) -> dict[str, object]:
    place = {"section": "chapter/one", "tab": "jax", "place": "p", "shown": ""}
    return {**place, "code": code, **more}


def outcome(port: int, seen: int = 0) -> dict[str, object]:
    """Return the last state of the run at `p`, when nothing runs any more."""
    last: dict[str, object] = {}
    while True:
        address = f"/.live/state?section=chapter/one&seen={seen}"
        state = json.load(ask(port, address))
        for run in state["runs"]:
            last = run
        seen = state["version"]
        if not state["busy"]:
            return last


def test_the_token_becomes_a_cookie(port: int):
    answer = ask(port, f"/chapter/one.html?token={TOKEN}", Cookie=None)
    assert (answer.status, answer.headers["Location"]) == (302, "/chapter/one.html")
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith(f"gpus-live-{port}={TOKEN};")
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    away = ask(port, f"//evil.example/?token={TOKEN}", Cookie=None)
    assert away.headers["Location"] == "/evil.example/"


@pytest.mark.parametrize("cookie", [None, "", "x", "gpus-live=the-token"])
@pytest.mark.parametrize("path", ["/", "/chapter/one.html", "/.live/live.js"])
def test_without_the_token_nothing_is_shown(port: int, path: str, cookie: str | None):
    answer = ask(port, path, Cookie=cookie)
    assert answer.status == 403
    assert b"make live" in answer.read()


def test_a_page_gets_the_script_and_a_policy_that_allows_it(port: int):
    answer = ask(port, "/chapter/one.html")
    page = answer.read().decode()
    assert 'data-section="chapter/one" data-machine="A GPU"></script></body>' in page
    assert '{"machine": ["cpu", "live"], "theme": ["auto"]}' in page
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert b"bookChoose" in ask(port, "/.live/live.js").read()


@pytest.mark.parametrize(
    "headers",
    [
        {"Cookie": None},
        {"Origin": None},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "none"},
        {"Content_Type": "text/plain"},
        {"Content_Type": "application/x-www-form-urlencoded"},
        {"Content_Type": "application/json-patch"},
        {"Host": "evil.example"},
    ],
)
@pytest.mark.parametrize("what", ["run", "interrupt", "restart"])
def test_another_page_runs_nothing(
    port: int, sessions: Sessions, what: str, headers: dict[str, str | None]
):
    answer = ask(port, f"/.live/{what}", order("1"), **headers)
    assert answer.status in (403, 415, 421)
    assert sessions.sessions == {}


@pytest.mark.parametrize(
    "body, status",
    [
        ([], 400),
        ({}, 400),
        (order("1", section="nosuch"), 404),
        (order("1", tab="nosuch"), 404),
    ],
)
def test_a_wrong_order_is_refused(
    port: int, sessions: Sessions, body: object, status: int
):
    assert ask(port, "/.live/run", body).status == status
    assert sessions.sessions == {}


def test_a_large_order_is_refused_before_it_is_read(port: int):
    length = str(live.MOST_BYTES + 1)
    assert ask(port, "/.live/run", {}, Content_Length=length).status == 413


def test_a_cell_runs_after_those_above(port: int):
    shown = "print('is', number * 7)"
    assert ask(port, "/.live/run", order(shown, shown=shown)).status == 200
    run = outcome(port)
    assert (run["state"], run["answer"], run["tab"]) == ("done", "42", "jax")
    assert ">is 42\n</pre>" in str(run["html"])
    edited = order("print('is', number + 1)", shown=shown)
    ask(port, "/.live/run", edited)
    assert outcome(port)["answer"] == "7"


def test_a_changed_book_is_read_again(port: int, book: Book, rebuilds: serve.Rebuilds):
    shown = "print('is', number * 7)"
    ask(port, "/.live/run", order(shown, shown=shown))
    assert outcome(port)["answer"] == "42"
    path = book.root / "chapter/one.md"
    path.write_text(path.read_text().replace("number = 6", "number = 60"))
    rebuilds.count += 1
    ask(port, "/.live/run", order(shown, shown=shown))
    assert outcome(port)["answer"] == "420"


def test_what_goes_wrong_is_shown(port: int):
    ask(port, "/.live/run", order("1 / 0"))
    run = outcome(port)
    assert run["state"] == "error" and "ZeroDivisionError" in str(run["html"])
    ask(port, "/.live/run", order("input()"))
    assert "StdinNotImplementedError" in str(outcome(port)["html"])
    ask(port, "/.live/run", order("import os; os._exit(3)"))
    assert outcome(port)["state"] == "died"
    ask(port, "/.live/run", order("print('new kernel')"))
    run = outcome(port)
    assert run["state"] == "done" and "new kernel" in str(run["html"])


def test_a_cell_is_interrupted_and_those_that_wait_do_not_run(port: int):
    code = "import time; print('be' 'gun', flush=True); time.sleep(600)"
    ask(port, "/.live/run", order(code))
    ask(port, "/.live/run", order("print('later')", place="q"))
    state = json.load(ask(port, "/.live/state?section=chapter/one&seen=0"))
    while "begun" not in json.dumps(state):
        seen = state["version"]
        state = json.load(ask(port, f"/.live/state?section=chapter/one&seen={seen}"))
    ask(port, "/.live/interrupt", order(""))
    outcome(port)
    runs = json.load(ask(port, "/.live/state?section=chapter/one&seen=0"))["runs"]
    found = {run["place"]: run for run in runs}
    assert "KeyboardInterrupt" in found["p"]["html"]
    assert (found["q"]["state"], found["q"]["html"]) == ("stopped", "")


def test_a_restart_forgets_names(port: int):
    ask(port, "/.live/run", order("x = 1"))
    outcome(port)
    ask(port, "/.live/restart", order(""))
    ask(port, "/.live/run", order("x", place="q"))
    assert "NameError" in str(outcome(port)["html"])


def test_a_restart_stops_what_runs_but_not_what_is_ordered_later(port: int):
    code = "import time; print('be' 'gun', flush=True); time.sleep(600)"
    ask(port, "/.live/run", order(code))
    state = json.load(ask(port, "/.live/state?section=chapter/one&seen=0"))
    while "begun" not in json.dumps(state):
        seen = state["version"]
        state = json.load(ask(port, f"/.live/state?section=chapter/one&seen={seen}"))
    restart = threading.Thread(target=ask, args=(port, "/.live/restart", order("")))
    restart.start()
    while state["runs"][0]["state"] == "running":
        seen = state["version"]
        state = json.load(ask(port, f"/.live/state?section=chapter/one&seen={seen}"))
        state["runs"] = state["runs"] or [{"state": "running"}]
    assert state["runs"][0]["state"] == "stopped"
    ask(port, "/.live/run", order("print('later')", place="q"))
    assert "later" in str(outcome(port)["html"])
    restart.join()


def test_too_much_output_stops_a_cell(port: int):
    ask(port, "/.live/run", order("while True: print('a' * 1000)"))
    run = outcome(port)
    assert run["state"] == "error" and "characters" in str(run["note"])
    ask(port, "/.live/run", order("print('alive')"))
    assert "alive" in str(outcome(port)["html"])


def test_pictures_are_safe_and_progress_is_one_line(port: int):
    svg = "<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>"
    code = f"from IPython.display import SVG, HTML\nSVG({svg!r})"
    ask(port, "/.live/run", order(code))
    assert "picture refused" in str(outcome(port)["html"])
    ask(port, "/.live/run", order("HTML('<script>alert(1)</script>')"))
    assert "<script" not in str(outcome(port)["html"])
    bar = "for i in range(3): print(f'\\r{i} of 3', end='')"
    ask(port, "/.live/run", order(bar))
    assert ">2 of 3\n</pre>" in str(outcome(port)["html"])


def test_kernels_end_with_the_server(make_book: Callable[..., Book], book: Book):
    sessions = Sessions(book, {"jax": Path(sys.executable)}, "CPU")
    section = book.section("one")
    sessions.call(sessions.run(section, "jax", "p", "import os; os.getpid()", ""))
    seen = 0
    runs: list[dict[str, Any]] = []
    while not (runs and runs[-1]["state"] == "done"):
        state = sessions.call(sessions.state(section, seen))
        seen, runs = state["version"], state["runs"] or runs
    process = int(re.search(r">(\d+)\n</pre>", runs[-1]["html"])[1])  # type: ignore[index]
    assert psutil.pid_exists(process)
    sessions.close()
    assert not psutil.pid_exists(process)
