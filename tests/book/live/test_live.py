"""Only the reader's own pages run code on this machine."""

import json
import re
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import psutil
import pytest
from bs4 import BeautifulSoup
from nbclient import NotebookClient

from book.live import lab, live, serve
from book.live import sessions as sessions_module
from book.live.sessions import Sessions
from book.runner import execution
from book.text.book import Book

TOKEN, PREFIX = "the-token", "/the-path"


def ask(
    port: int, path: str, body: object = None, /, **headers: str | None
) -> HTTPResponse:
    """Send what a page of the server sends; a header that is None is left out.

    The path is that below the random one.
    """
    sent = {
        "Host": f"127.0.0.1:{port}",
        "Cookie": f"gpus-live={TOKEN}",
        "Sec-Fetch-Site": "same-origin",
    }
    if body is not None:
        sent |= {"Origin": f"http://127.0.0.1:{port}"}
        sent |= {"Content-Type": "application/json"}
    changed = {name.replace("_", "-"): value for name, value in headers.items()}
    kept = {k: v for k, v in (sent | changed).items() if v is not None}
    connection = HTTPConnection(serve.HOST, port, timeout=60)
    text = None if body is None else json.dumps(body)
    method = "GET" if body is None else "POST"
    connection.request(method, f"{PREFIX}{path}", text, kept)
    return connection.getresponse()


def order(*cells: tuple[str, str], **more: object) -> dict[str, object]:
    """Return an order to run the last of these cells: places and codes."""
    return {"section": "chapter/one", "tab": "jax", "cells": cells, **more}


def run(port: int, code: str, place: str = "exercise-1") -> dict[str, Any]:
    """Run a code alone, and return the state of its run in the end."""
    assert ask(port, "/.live/run", order((place, code))).status == 200
    return finish(port)[place]


def finish(port: int) -> dict[str, dict[str, Any]]:
    """Wait until nothing runs, and return the last run of each place."""
    runs: dict[str, dict[str, Any]] = {}
    state = {"version": 0, "busy": True}
    while state["busy"]:
        seen = state["version"]
        state = json.load(ask(port, f"/.live/state?section=chapter/one&seen={seen}"))
        runs |= {run["place"]: run for run in state["runs"]}
    return runs


def printed(run: dict[str, Any]) -> str:
    """Return the text of a run's outputs."""
    return BeautifulSoup(run["html"], "html.parser").get_text().strip()


def entrance(answer: HTTPResponse) -> str:
    """Return the address of the page to which a browser with the token is led."""
    soup = BeautifulSoup(answer.read(), "html.parser")
    assert not soup.select("script")
    return str(soup.select_one("meta")["content"]).partition("url=")[2]  # type: ignore[index]


def test_the_token_becomes_a_cookie(port: int):
    answer = ask(port, f"/chapter/one.html?token={TOKEN}", Cookie=None)
    assert (answer.status, entrance(answer)) == (200, f"{PREFIX}/chapter/one.html")
    kind, *rules = answer.headers["Set-Cookie"].split("; ")
    assert kind == f"gpus-live={TOKEN}"
    # Other ports get a cookie, too, unless its path is one that they cannot know.
    assert sorted(rules) == ["HttpOnly", f"Path={PREFIX}/", "SameSite=Strict"]
    away = ask(port, f"//evil.example/?token={TOKEN}", Cookie=None)
    assert entrance(away) == f"{PREFIX}/evil.example/"
    quoted = ask(port, f'/"><script>?token={TOKEN}', Cookie=None)
    assert entrance(quoted) == f'{PREFIX}/"><script>'


def test_a_folder_leads_to_its_page_below_the_random_path(port: int):
    assert ask(port, "/chapter").headers["Location"] == f"{PREFIX}/chapter/"


@pytest.mark.parametrize(
    "path", ["/", "/index.html", "/.live/run", "/the-pathos/", "x"]
)
def test_other_paths_show_nothing(
    port: int, path: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(globals(), "PREFIX", "")
    for body in (None, order(("p", "1"))):
        answer = ask(port, path, body)
        assert answer.status == 403 and b"make live" in answer.read()


def test_two_servers_have_different_paths(book: Book, monkeypatch: pytest.MonkeyPatch):
    addresses = []
    monkeypatch.setattr(serve, "serve", lambda *given: addresses.append(given[3]))
    monkeypatch.setattr(lab, "interpreters", lambda *_: {"jax": Path(sys.executable)})
    for _ in range(2):
        live.start(book, ["jax"], Path(sys.executable), 0)
    paths = {re.sub(r"/\?token=.*", "", address) for address in addresses}
    assert len(paths) == 2 and min(map(len, paths)) > 16


@pytest.mark.parametrize("cookie", [None, "", "x", "gpus-live=a-token"])
@pytest.mark.parametrize("path", ["/", "/chapter/one.html", "/.live/live.js"])
def test_without_the_token_nothing_is_shown(port: int, path: str, cookie: str | None):
    answer = ask(port, path, Cookie=cookie)
    assert answer.status == 403
    assert b"make live" in answer.read()


def test_a_page_gets_the_script_and_a_policy_that_allows_it(port: int):
    answer = ask(port, "/chapter/one.html")
    page = answer.read().decode()
    soup = BeautifulSoup(page, "html.parser")
    data = json.loads(soup.select_one("#live-page").text)  # type: ignore[union-attr]
    assert (data["section"], data["machine"]) == ("chapter/one", "A GPU")
    assert data["cells"]["jax"] == [
        ["cell-1", "number = 6"],
        ["cell-2", "print('is', number * 7)"],
    ]
    assert data["tabs"] == ["pytorch", "jax"] and data["names"]["jax"] == "JAX"
    scripts = [str(script["src"]) for script in soup.select("script[src]")]
    assert scripts == [f"{PREFIX}/.reload.js?0", f"{PREFIX}/.live/live.js"]
    assert '{"machine": ["cpu", "live"], "theme": ["auto"]}' in page
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert answer.headers["Referrer-Policy"] == "same-origin"
    assert b"bookChoose" in ask(port, "/.live/live.js").read()


def test_a_page_stores_no_secret(port: int):
    """On a hub, pages of other users may have the same origin, and read the storage."""
    page = ask(port, "/chapter/one.html").read().decode()
    stored = re.findall(r"setItem\((.*)\)", page)
    assert len(stored) == 2 and not any(PREFIX[1:] in each for each in stored)
    assert TOKEN not in page


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
        {"Host": "127.0.0.1:80@evil.example"},
        {"Origin": "https://127.0.0.1"},
    ],
)
@pytest.mark.parametrize("what", ["run", "interrupt", "restart"])
def test_another_page_runs_nothing(
    port: int, sessions: Sessions, what: str, headers: dict[str, str | None]
):
    answer = ask(port, f"/.live/{what}", order(("p", "1")), **headers)
    assert answer.status in (403, 415, 421)
    assert sessions.sessions == {}


@pytest.mark.parametrize(
    "body, status",
    [
        ([], 400),
        ({}, 400),
        (order(("p", "1"), section="nosuch"), 404),
        (order(("p", "1"), tab="nosuch"), 404),
        (order(), 400),
        (order(("p<b>", "1")), 400),
        ({**order(), "cells": [["p"]]}, 400),
        ({**order(), "cells": 1}, 400),
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


def test_deeply_nested_json_is_refused(port: int, capfd: pytest.CaptureFixture[str]):
    connection = HTTPConnection(serve.HOST, port, timeout=60)
    own = f"127.0.0.1:{port}"
    headers = {"Cookie": f"gpus-live={TOKEN}", "Host": own, "Origin": f"http://{own}"}
    headers["Content-Type"] = "application/json"
    connection.request("POST", f"{PREFIX}/.live/run", "[" * 500_000, headers)
    assert connection.getresponse().status == 400
    assert capfd.readouterr().err == ""


def test_many_orders_at_once_are_answered(port: int):
    with ThreadPoolExecutor(100) as pool:
        wrong = [order(tab="nosuch")] * 100
        answers = pool.map(lambda body: ask(port, "/.live/run", body).status, wrong)
        assert set(answers) == {404}


FIRST, SECOND = ("cell-1", "number = 6"), ("cell-2", "print('is', number * 7)")


def test_a_new_kernel_runs_the_cells_above_as_the_page_shows_them(port: int):
    edited = ("cell-1", "number = 60")
    assert ask(port, "/.live/run", order(edited, SECOND)).status == 200
    runs = finish(port)
    assert runs["cell-1"]["code"] == "number = 60"
    assert (runs["cell-2"]["state"], runs["cell-2"]["answers"]) == ("done", ["420"])
    # Later, a cell runs alone.
    ask(port, "/.live/run", order(FIRST, ("cell-2", "print('is', number)")))
    runs = finish(port)
    assert runs["cell-2"]["answers"] == ["60"]
    assert runs["cell-1"]["code"] == "number = 60"


TIME = "__import__('time').time_ns()"
LINES = [(f"cell-{i}", f"print({i}, {TIME})") for i in range(1, 5)]


@pytest.mark.parametrize(
    "earlier, last, repeated",
    [
        ([LINES], LINES, [4]),
        ([LINES[:2]], LINES, [3, 4]),
        ([LINES], [*LINES[:1], ("cell-2", "'new'"), *LINES[2:]], [2, 3, 4]),
        # What ran before a cell above it did may be out of date.
        ([LINES, LINES[1:2]], LINES, [3, 4]),
        ([LINES, [("exercise-1", "1")]], LINES, [4]),
        ([LINES[:1], [("cell-2", "1 / 0")]], [LINES[0], ("cell-2", "1 / 0")], [2]),
    ],
    ids=["nothing", "the rest", "changed", "out of order", "an exercise", "failed"],
)
def test_run_to_here_begins_at_the_first_cell_that_is_not_up_to_date(
    port: int,
    earlier: list[list[tuple[str, str]]],
    last: list[tuple[str, str]],
    repeated: list[int],
):
    for cells in earlier:
        ask(port, "/.live/run", order(*cells))
        before = finish(port)
    ask(port, "/.live/run", order(*last, toHere=True))
    after = finish(port)
    ran = [place for place in after if after[place] != before.get(place)]
    assert ran == [f"cell-{i}" for i in repeated]


def test_a_page_learns_in_which_order_cells_ran(port: int):
    def ran() -> list[tuple[str, int, int, int]]:
        runs = finish(port).items()
        return [(p, run["kernel"], run["order"], run["since"]) for p, run in runs]

    ask(port, "/.live/run", order(FIRST, SECOND))
    assert ran() == [("cell-1", 1, 1, 1), ("cell-2", 1, 2, 2)]
    ask(port, "/.live/run", order(FIRST))
    assert ran() == [("cell-1", 1, 3, 1), ("cell-2", 1, 2, 2)]
    ask(port, "/.live/run", order(("cell-1", "number = 60")))
    assert ran() == [("cell-1", 1, 4, 4), ("cell-2", 1, 2, 2)]
    ask(port, "/.live/restart", order())
    ask(port, "/.live/run", order(SECOND))
    assert ran() == [("cell-1", 1, 4, 4), ("cell-2", 2, 5, 2)]


def test_a_page_that_waits_hears_of_a_run_in_another_framework(port: int):
    state = "/.live/state?section=chapter/one&seen={}"
    ask(port, "/.live/run", order(("exercise-1", "__import__('time').sleep(60)")))
    news: dict[str, Any] = {"version": 0, "runs": []}
    while not any(run["state"] == "running" for run in news["runs"]):
        news = json.load(ask(port, state.format(news["version"])))
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(
            lambda: json.load(ask(port, state.format(news["version"])))
        )
        time.sleep(0.2)  # until it waits
        ask(port, "/.live/run", order(("exercise-1", "1"), tab="pytorch"))
        assert [run["tab"] for run in waiting.result(30)["runs"]] == ["pytorch"]
    ask(port, "/.live/restart", order())


def test_a_cookie_that_another_port_has_set_hides_none(port: int):
    cookies = f"gpus-live={TOKEN}; other=1; gpus-live=evil"
    assert ask(port, "/chapter/one.html", Cookie=cookies).status == 200


def test_outputs_of_a_kernel_that_has_ended_say_so(port: int):
    run(port, "print('old')")
    ask(port, "/.live/restart", order())
    old = finish(port)["exercise-1"]
    assert (old["state"], old["note"]) == ("done", "in a kernel that has ended")
    assert printed(old) == "old"


def test_a_changed_book_is_read_again(port: int, book: Book, server: serve.Server):
    path = book.root / "chapter/one.md"
    path.write_text(path.read_text().replace("number = 6", "number = 60"))
    server.builds += 1
    assert b"number = 60" in ask(port, "/chapter/one.html").read()


def test_code_gets_the_colors_of_the_page(port: int):
    answer = ask(port, "/.live/highlight", {"code": "x = '<1>'"})
    assert """<span class="s">'&lt;1&gt;'</span>""" in json.load(answer)["html"]


def test_what_goes_wrong_is_shown(port: int):
    error = run(port, "1 / 0")
    assert error["state"] == "error" and "ZeroDivisionError" in error["html"]
    assert "StdinNotImplementedError" in run(port, "input()")["html"]
    assert run(port, "import os; os._exit(3)")["state"] == "died"
    assert printed(run(port, "print('new kernel')")) == "new kernel"


def test_a_cell_that_ends_the_kernel_says_so(port: int):
    cells = ("cell-1", "print('last')\nexit()"), ("cell-2", "print('later')")
    ask(port, "/.live/run", order(*cells, toHere=True))
    runs = finish(port)
    assert runs["cell-1"]["state"] == "done" and printed(runs["cell-1"]) == "last"
    assert "the cell ended the kernel" in runs["cell-1"]["note"]
    assert runs["cell-2"]["state"] == "stopped"
    assert printed(run(port, "print('new kernel')")) == "new kernel"


def test_a_kernel_that_died_in_silence_is_replaced_before_the_next_run(port: int):
    ask(port, "/.live/run", order(("cell-1", "import os; os.getpid()")))
    process = psutil.Process(int(printed(finish(port)["cell-1"])))
    process.kill()
    while process.status() != psutil.STATUS_ZOMBIE or process.num_threads() > 1:
        time.sleep(0.01)
    ask(port, "/.live/run", order(FIRST, SECOND))
    runs = finish(port)
    assert printed(runs["cell-2"]) == "is 42", runs  # with those above


BEGUN = "import time; print('be' 'gun', flush=True); time.sleep(600)"


def begin(port: int) -> dict[str, Any]:
    """Run a cell that takes long, and return the state once it has begun."""
    ask(port, "/.live/run", order(("p", BEGUN)))
    state = json.load(ask(port, "/.live/state?section=chapter/one&seen=0"))
    while "begun" not in json.dumps(state):
        seen = state["version"]
        state = json.load(ask(port, f"/.live/state?section=chapter/one&seen={seen}"))
    return state  # type: ignore[no-any-return]


def test_a_cell_is_interrupted_and_those_that_wait_do_not_run(port: int):
    begin(port)
    ask(port, "/.live/run", order(("q", "print('later')")))
    ask(port, "/.live/interrupt", order())
    found = finish(port)
    assert "KeyboardInterrupt" in found["p"]["html"]
    assert (found["q"]["state"], found["q"]["html"]) == ("stopped", "")


def test_a_restart_forgets_names(port: int):
    run(port, "x = 1")
    ask(port, "/.live/restart", order())
    assert "NameError" in run(port, "x", "q")["html"]


def test_a_restart_stops_what_runs_but_not_what_is_ordered_later(port: int):
    state = begin(port)
    restart = threading.Thread(target=ask, args=(port, "/.live/restart", order()))
    restart.start()
    while state["runs"][0]["state"] == "running":
        seen = state["version"]
        state = json.load(ask(port, f"/.live/state?section=chapter/one&seen={seen}"))
        state["runs"] = state["runs"] or [{"state": "running"}]
    assert state["runs"][0]["state"] == "stopped"
    assert printed(run(port, "print('later')", "q")) == "later"
    restart.join()


def test_of_too_much_output_the_first_part_stays(port: int):
    flood = run(port, "print('begun\\n' * 10**6)\nwhile True: pass")
    assert flood["state"] == "error" and "the rest dropped" in flood["note"]
    assert printed(flood).startswith("begun\nbegun\n")
    assert 500_000 < len(flood["html"]) < 2_000_000
    assert printed(run(port, "print('alive')")) == "alive"


def limit_output(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (execution, sessions_module):
        monkeypatch.setattr(module, "MOST_CHARACTERS", 1000)


def test_the_run_after_one_of_too_much_output_shows_its_own(
    port: int, sessions: Sessions, monkeypatch: pytest.MonkeyPatch
):
    """Many short messages are still on their way when the cell has been stopped."""
    limit_output(monkeypatch)
    monkeypatch.setattr(NotebookClient, "iopub_timeout", 0.1)  # as on a slow machine
    run(port, "1")  # the kernel has started

    async def fall_behind() -> None:
        time.sleep(1)

    flood = "for i in range(300_000): print(i, flush=True)"
    ask(port, "/.live/run", order(("exercise-1", flood)))
    sessions.call(fall_behind())
    assert "the rest dropped" in finish(port)["exercise-1"]["note"]
    later = run(port, "print('later')")
    assert (later["state"], printed(later)) == ("done", "later")


def test_a_cell_that_prints_on_after_an_interrupt_loses_its_kernel(
    port: int, monkeypatch: pytest.MonkeyPatch
):
    limit_output(monkeypatch)
    monkeypatch.setattr(sessions_module, "STOP_SECONDS", 0.5)
    deaf = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
    flood = run(port, f"{deaf}\nwhile True: print('x' * 1000)")
    assert flood["state"] == "error" and "starts a new kernel" in flood["note"]
    assert printed(run(port, "print('later')")) == "later"


@pytest.mark.parametrize("kind", ["image/png", "image/svg+xml", "text/plain"])
def test_data_that_are_no_text_are_left_out(port: int, kind: str):
    code = f"display({{{kind!r}: [5], 'text/latex': 'x'}}, raw=True)\nprint('after')"
    found = run(port, code)
    assert found["state"] == "done" and printed(found) == "after"


def test_pictures_are_safe_and_progress_is_one_line(port: int):
    svg = "<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>"
    code = f"from IPython.display import SVG, HTML\nSVG({svg!r})"
    assert "picture refused" in run(port, code)["html"]
    html = run(port, "HTML('<script>alert(1)</script>')")["html"]
    assert "<script" not in html and "HTML is shown as text, because" in html
    bar = "for i in range(3): print(f'\\r{i} of 3', end='')"
    assert printed(run(port, bar)) == "2 of 3"


def test_kernels_end_with_the_server(make_book: Callable[..., Book], book: Book):
    sessions = Sessions(book, {"jax": Path(sys.executable)}, "CPU")
    section = book.section("one")
    cells = [("p", "import os; os.getpid()")]
    sessions.call(sessions.run(section, "jax", cells))
    seen = 0
    runs: list[dict[str, Any]] = []
    while not (runs and runs[-1]["state"] == "done"):
        state = sessions.call(sessions.state(section, seen))
        seen, runs = state["version"], state["runs"] or runs
    process = int(re.search(r">(\d+)\n</pre>", runs[-1]["html"])[1])  # type: ignore[index]
    assert psutil.pid_exists(process)
    sessions.close()
    assert not psutil.pid_exists(process)
