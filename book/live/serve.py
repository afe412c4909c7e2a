"""Serves the book on this machine, rebuilds it on each change and reloads the page.

    python -m book serve [--port PORT]

The server adds the script that reloads a page on its way to the browser; the site does
not contain it. Only a browser on this machine gets an answer, and only files of the
site: a page elsewhere could point a name of its own at this machine and read along.
"""

import os
import re
import subprocess
import sys
import threading
import time
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from book.base import build_paths
from book.base.errors import BookError, describe_os_error

HOST = "127.0.0.1"
NAMES = (HOST, "localhost")
EVENTS = "/.rebuilt"
# The page's policy allows scripts from files only.
SCRIPT = "new EventSource('{}?{}').onmessage = () => location.reload()"
RELOAD = "/.reload.js"
POLL_SECONDS = 0.5
PING_SECONDS = 15
# Folders that a build writes, or that no page is made from.
UNWATCHED = {build_paths.BUILD.name, "__pycache__", "tests", "benchmarks"}


class Rebuilds:
    """Counts the successful builds, and lets threads wait for the next one."""

    def __init__(self) -> None:
        self.count = 0
        self.changed = threading.Condition()

    def announce(self) -> None:
        with self.changed:
            self.count += 1
            self.changed.notify_all()

    def wait(self, seen: int, seconds: float = PING_SECONDS) -> int:
        """Return the count once it differs from `seen`, or after `seconds`."""
        with self.changed:
            self.changed.wait_for(lambda: self.count != seen, seconds)
            return self.count


class Handler(SimpleHTTPRequestHandler):
    """Serves pages with the script that reloads them, and other files unchanged."""

    def __init__(self, *args: Any, rebuilds: Rebuilds, **kwargs: Any):
        self.rebuilds = rebuilds
        super().__init__(*args, **kwargs)

    def parse_request(self) -> bool:
        """Read the request; refuse one for another host or for a file elsewhere."""
        if not super().parse_request():
            return False
        if self.headers.get("Host") not in self.server.hosts:  # type: ignore[attr-defined]
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST)
            return False
        if not self._is_inside_site():
            self.send_error(HTTPStatus.NOT_FOUND)
            return False
        return True

    def _is_inside_site(self) -> bool:
        """Return whether the address leads to a place in the site, links followed."""
        site, file = os.path.realpath(self.directory), self.translate_path(self.path)
        try:
            places = [os.path.realpath(p) for p in (file, f"{file}/index.html")]
        except ValueError:  # a NUL byte
            return False
        return all(Path(place).is_relative_to(site) for place in places)

    def do_GET(self) -> None:
        address, _, query = self.path.partition("?")
        file = Path(self.translate_path(self.path))
        if address.endswith("/"):
            file /= "index.html"
        if address == EVENTS:
            self._send_events(_number(query))
        elif address == RELOAD:
            self._send("text/javascript", SCRIPT.format(EVENTS, _number(query) or 0))
        elif file.suffix == ".html" and file.is_file():
            self._send_page(file)
        else:
            super().do_GET()

    def _send_page(self, file: Path) -> None:
        script = f'<script src="{RELOAD}?{self.rebuilds.count}"></script></body>'
        page = file.read_text(encoding="utf-8").replace("</body>", script)
        self._send("text/html", page)

    def _send(self, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _send_events(self, shown: int | None) -> None:
        """Announce each build after number `shown`, until the browser leaves."""
        seen = self.rebuilds.count if shown is None else shown
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        while True:
            now = self.rebuilds.wait(seen)
            self.wfile.write(b": ping\n\n" if now == seen else b"data: rebuilt\n\n")
            seen = now

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: the terminal is for the builds."""


def _number(query: str) -> int | None:
    return int(query) if re.fullmatch("[0-9]{1,9}", query) else None


class Server(ThreadingHTTPServer):
    """Serves `site` to browsers on this machine."""

    daemon_threads = True

    def __init__(self, site: Path, port: int, rebuilds: Rebuilds):
        handler = partial(Handler, rebuilds=rebuilds, directory=str(site))
        super().__init__((HOST, port), handler)
        self.hosts = {f"{name}:{self.server_port}" for name in NAMES}
        if self.server_port == 80:
            self.hosts |= {*NAMES}  # browsers leave this port out

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print the traceback of an error, unless the browser just left."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def serve(root: Path, port: int) -> None:
    """Serve the book in `root` until interrupted.

    Raises a `BookError` if the port is taken or the book does not build.
    """
    rebuilds = Rebuilds()
    # The port is taken before the book is built, so that a mistake shows at once.
    with _open_server(root / build_paths.HTML, port, rebuilds) as server:
        before = snapshot(root)
        if not build(root):
            raise BookError("the book does not build; fix that, then serve it")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(f"http://{HOST}:{server.server_port}/ (Ctrl-C ends)", flush=True)
        try:
            _rebuild_on_change(root, before, rebuilds)
        except KeyboardInterrupt:
            server.shutdown()


def _open_server(site: Path, port: int, rebuilds: Rebuilds) -> Server:
    try:
        return Server(site, port, rebuilds)
    except OSError as error:
        reason = describe_os_error(error)
        raise BookError(
            f"{port} is not available ({reason}); name another, as in PORT=8001",
            "PORT",
        ) from error


def _rebuild_on_change(root: Path, before: dict[str, int], rebuilds: Rebuilds) -> None:
    while True:
        time.sleep(POLL_SECONDS)
        now = snapshot(root)
        if now != before:
            before = now
            # A failed build has printed its errors and kept the last good site.
            if build(root):
                rebuilds.announce()


def build(root: Path) -> bool:
    """Build the book in a process of its own and return whether that succeeded.

    A fresh process sees changes of the book's own code too, and Sphinx starts clean.
    """
    command = [sys.executable, "-m", "book", "html"]
    built = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True)
    print(built.stdout, end="", flush=True)
    return built.returncode == 0


def snapshot(root: Path) -> dict[str, int]:
    """Return the time of the last change of each file that pages may be made from."""
    changed = {}
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders if f not in UNWATCHED and f[0] != "."]
        for name in files:
            path = os.path.join(folder, name)
            try:
                changed[path] = os.stat(path).st_mtime_ns
            except OSError:
                # An editor's temporary file that is gone again.
                continue
    return changed
