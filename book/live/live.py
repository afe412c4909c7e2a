"""Serves the book with cells that run on this machine: `python -m book live`.

Only the reader may run code. The address that the command prints has a random token,
which becomes a cookie. Browsers send a cookie to all ports of a machine, so its path is
random, too: a server of another user on another port does not get it. A request that
runs something must carry the cookie, come from a page of this server (`Origin` and
`Sec-Fetch-Site`), and be JSON, which no form can send and which no other site may send
without asking. ORIGIN names one more origin whose pages are pages of this server.
"""

import base64
import hashlib
import hmac
import html
import json
import os
import re
import secrets
from functools import partial
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import parse_qs, urlsplit

from book.base.paths import STATIC
from book.live import lab, serve
from book.live.origin import BEHIND_PROXY, Origin, hint
from book.live.sessions import Sessions
from book.render import code
from book.runner import machine
from book.runner.errors import BookError
from book.text.book import Book
from book.text.section import Section
from book.text.tabs import tab_name

FOLDER = STATIC / "live"
FILES = {"/.live/live.js": "text/javascript", "/.live/live.css": "text/css"}
ADDED = (
    '<link rel="stylesheet" href="{0}/.live/live.css">'
    '<script type="application/json" id="live-page">{1}</script>'
    '<script defer src="{0}/.live/live.js"></script>'
    "</body>"
)
EARLY = re.compile(r"<script>(.*?)</script>", re.DOTALL)
# Runs before the page chooses a tab. On the first page of this server, an earlier
# choice gives way to a tab that runs here.
CHOICE = """
try {{
  if (localStorage.getItem("live-server") !== "{0}") {{
    localStorage.setItem("live-server", "{0}");
    if (!{1}.includes(localStorage.getItem("tab"))) localStorage.setItem("tab", {1}[0]);
  }}
}} catch {{}} // storage is blocked
"""
# The browser opens the page by itself: after a redirect, it would leave out the cookie
# if a link on another site, such as a console in the browser, has led here.
ENTRANCE = (
    '<!DOCTYPE html><html lang="en"><title>GPUs</title>'
    '<meta http-equiv="refresh" content="0; url={}"></html>\n'
)
WRONG_TOKEN = "Open the address that make live has printed last.\n"
WRONG_ORIGIN = (
    "This server runs code for pages of {} only. Behind a proxy, run make live with"
    " ORIGIN and the https address up to the port; in a container, use --origin.\n"
)
COOKIE = "gpus-live"
PLACE = re.compile(r"[\w-]{1,99}")
MOST_BYTES = 1_000_000  # of a request


class LiveHandler(serve.Handler):
    """Serves pages whose cells run, to the reader who has the token."""

    protocol_version = "HTTP/1.1"
    timeout = 60  # an idle connection must not hold a thread for ever

    def __init__(
        self,
        *args: Any,
        sessions: Sessions,
        prefix: str,
        token: str,
        origin: Origin | None = None,
        **kwargs: Any,
    ):
        self.sessions = sessions
        self.prefix = prefix
        self.token = token
        self.origin = origin
        super().__init__(*args, **kwargs)

    def parse_request(self) -> bool:
        """Read the request; refuse one without the token."""
        if not super().parse_request():
            return False
        address = urlsplit(self.path)
        given = parse_qs(address.query).get("token", [""])[0]
        if given and hmac.compare_digest(given.encode(), self.token.encode()):
            self._enter()
            return False
        if not self._has_cookie():
            self.refuse_address()
            return False
        if not self._is_from_here():
            self._refuse_page(WRONG_ORIGIN.format(" and ".join(self.origins)))
            return False
        return True

    def _enter(self) -> None:
        """Hand the browser the cookie, and lead it to the page without the token."""
        rules = f"HttpOnly; SameSite=Strict; Path={self.root}/"
        if self.origin:  # browsers take a secure cookie from 127.0.0.1, too
            rules += "; Secure"
        page = html.escape(f"{self.root}/{self.address.lstrip('/')}")
        cookie = {"Set-Cookie": f"{COOKIE}={self.token}; {rules}"}
        self.send("text/html", ENTRANCE.format(page), headers=cookie)

    def refuse_address(self) -> None:
        """Say which address leads to the book."""
        self._refuse_page(WRONG_TOKEN)

    def _refuse_page(self, message: str) -> None:
        self.close_connection = True
        self.send("text/plain", message, HTTPStatus.FORBIDDEN)

    def _has_cookie(self) -> bool:
        """Whether the token is in a cookie; other ports can set cookies, too."""
        cookies = self.headers.get("Cookie", "").split("; ")
        own = f"{COOKIE}={self.token}".encode()
        return any(hmac.compare_digest(each.encode(), own) for each in cookies)

    def _is_from_here(self) -> bool:
        """Whether a page of this server asks, or the reader opens a page."""
        site = self.headers.get("Sec-Fetch-Site", "same-origin")
        if self.command in ("GET", "HEAD") and not self.address.startswith("/.live/"):
            is_navigation = self.headers.get("Sec-Fetch-Mode") == "navigate"
            return site in ("same-origin", "none") or is_navigation
        given = self.headers.get_all("Origin", [])
        is_own = set(given) <= set(self.origins) and (given or self.command == "GET")
        return site == "same-origin" and bool(is_own)

    @property
    def origins(self) -> list[str]:
        """The origins of this server's pages: of this machine, and of the proxy."""
        own = [f"http://{self.own_host}"] if self.own_host else []
        return own + ([self.origin.site] if self.origin else [])

    def end_headers(self) -> None:
        """Let no other site show or load what is served."""
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Referrer-Policy", "same-origin")  # the path is a secret
        super().end_headers()

    def page(self, file: Path) -> str:
        """Return a page with the script that runs its cells."""
        name = file.relative_to(Path(self.directory)).with_suffix("").as_posix()
        data = json.dumps(self._page_data(name)).replace("<", "\\u003c")
        added = ADDED.format(self.root, data)
        # All pages of the origin can read what is stored, on a hub also other users'.
        server, tabs = _digest(self.prefix), list(self.sessions.pythons)
        choice = CHOICE.format(server, json.dumps(tabs))
        page = _with_live_machine(super().page(file), choice)
        return page.replace("</body>", added)

    def _page_data(self, name: str) -> dict[str, Any]:
        """Return what the script has to know: the code that runs, above all."""
        path = PurePosixPath(name)
        solutions = path.with_name(f"solutions-{path.name}")
        kinds = {"cell": self._section(name), "solution": self._section(str(solutions))}
        book = self.sessions.book
        cells = {
            tab: [
                [f"{kind}-{cell.number}", code.without_marks(cell.code)]
                for kind, section in kinds.items()
                if section is not None
                for cell in book.cells(section, tab)
            ]
            for tab in book.tabs
        }
        return {
            "section": name,
            "machine": self.sessions.machine,
            "origins": self.origins,
            "tabs": list(self.sessions.pythons),
            "names": {tab: tab_name(tab) for tab in book.tabs},
            "cells": cells,
        }

    def do_GET(self) -> None:
        if self.address in FILES:
            text = (FOLDER / Path(self.address).name).read_text("utf-8")
            if self.address.endswith(".css"):
                text += code.highlight_rules()
            self.send(FILES[self.address], text)
        elif self.address == "/.live/state":
            query = {k: v[0] for k, v in parse_qs(urlsplit(self.path).query).items()}
            section = self._section(query.get("section"))
            seen = query.get("seen", "0")
            if section is None or not re.fullmatch("[0-9]{1,12}", seen):
                self.send_error(HTTPStatus.NOT_FOUND)
                return
            state = self.sessions.call(self.sessions.state(section, int(seen)))
            self.send("application/json", json.dumps(state))
        else:
            super().do_GET()

    def do_POST(self) -> None:
        """Run, interrupt or restart, or color some code."""
        length = self.headers.get("Content-Length", "")
        if self.headers.get("Content-Type") != "application/json":
            return self._refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        if not length.isdecimal() or int(length) > MOST_BYTES:
            return self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        try:
            asked = json.loads(self.rfile.read(int(length)))
            if self.address == "/.live/highlight":
                text = str(asked["code"])
                answer = {"html": code.colored(text, code.language_of(text))}
                return self.send("application/json", json.dumps(answer))
            section = self._section(asked["section"])
            tab = asked["tab"]
            if section is None or tab not in self.sessions.pythons:
                return self._refuse(HTTPStatus.NOT_FOUND)
            match self.address:
                case "/.live/run":
                    cells, to_here = _cells(asked["cells"]), bool(asked.get("toHere"))
                    work = self.sessions.run(section, tab, cells, to_here)
                case "/.live/interrupt":
                    work = self.sessions.interrupt(section, tab)
                case "/.live/restart":
                    work = self.sessions.restart(section, tab)
                case _:
                    return self._refuse(HTTPStatus.NOT_FOUND)
        except (ValueError, KeyError, TypeError, RecursionError):
            return self._refuse(HTTPStatus.BAD_REQUEST)
        self.sessions.call(work)
        self.send("application/json", "{}")

    def _refuse(self, status: HTTPStatus) -> None:
        self.close_connection = True
        self.send_error(status)

    def _section(self, name: object) -> Section | None:
        sections = self.sessions.book_after(self.server.builds).sections
        return next((s for s in sections if s.name == name), None)


def _cells(given: list[list[str]]) -> list[tuple[str, str]]:
    """Return the place and the code of each cell; raise a `ValueError` if it has none.

    A name of a place becomes a part of names in the page.
    """
    cells = [(str(place), str(code)) for place, code in given]
    if not cells or not all(PLACE.fullmatch(place) for place, _ in cells):
        raise ValueError
    return cells


def _with_live_machine(page: str, choice: str) -> str:
    """Return a page whose first script knows the machine `live`, and its policy too.

    The script begins with `choice`.
    """
    early = EARLY.search(page)
    if early is None:
        return page
    script = re.sub(r'("machine": \[)("[^\]]*")', r'\1\2, "live"', early[1])
    script = choice + script
    page = page.replace(early[1], script)
    return page.replace(_digest(early[1]), _digest(script))


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def start(
    book: Book,
    tabs: list[str],
    python: Path | None,
    port: int,
    origin: Origin | None = None,
    listen: str = serve.HOST,
) -> None:
    """Serve the book with cells that run, until interrupted."""
    for tab in tabs:
        book.check_tab(tab)
    pythons = lab.interpreters(book, tabs, python)
    try:
        name = machine.gpus_of("live")[0]
    except BookError:  # there are none
        name = "CPU"
    sessions = Sessions(book, pythons, name)
    prefix, token = f"/{secrets.token_urlsafe(12)}", secrets.token_urlsafe(24)
    handler = partial(
        LiveHandler, sessions=sessions, prefix=prefix, token=token, origin=origin
    )
    address = f"{prefix}/?token={token}"
    if origin is None and (setting := hint(os.environ, port)):
        print(f"{BEHIND_PROXY} {setting}", flush=True)
    try:
        serve.serve(book.root, port, handler, address, listen, origin)
    finally:
        sessions.close()
