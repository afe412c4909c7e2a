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
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from book.base import build_paths
from book.live.origin import Origin
from book.runner.errors import BookError, describe_os_error

HOST = "127.0.0.1"
# The port may be that of a tunnel.
OWN = re.compile(r"(127\.0\.0\.1|localhost)(:[0-9]{1,5})?")
WRONG_HOST = (
    "This server answers at {}. To open it through a proxy, run make live with ORIGIN"
    " and the https address up to the port, such as"
    " https://HOST/user/NAME/proxy/absolute/8000; in a container, use --origin.\n"
)
BUILDS = "/.builds"
# The page's policy allows scripts from files only. A page asks for the number of builds
# now and then: with a connection of its own, the seventh open page would hang.
SCRIPT = """\
setInterval(async () => {{
  if (document.hidden) return;
  const answer = await fetch("{}").catch(() => null);
  if (answer?.ok && (await answer.text()) !== "{}") location.reload();
}}, 1000);
"""
RELOAD = "/.reload.js"
POLL_SECONDS = 0.5
NO_HEADERS: Mapping[str, str] = {}
# Folders that a build writes, or that no page is made from.
UNWATCHED = {build_paths.BUILD.name, "__pycache__", "tests", "benchmarks"}


class Handler(SimpleHTTPRequestHandler):
    """Serves pages with the script that reloads them, and other files unchanged.

    All addresses begin with `prefix`; in a browser that comes through the proxy of
    `origin`, the path of the proxy stands before it.
    """

    prefix = ""
    origin: Origin | None = None
    server: "Server"

    def parse_request(self) -> bool:
        """Read the request; refuse one for another host or another address."""
        if not super().parse_request():
            return False
        if not self._is_for_us():
            self.refuse_host()
            return False
        if self.origin and self.path.startswith(f"{self.origin.path}/"):
            self.path = self.path.removeprefix(self.origin.path)
        if not self.path.startswith(f"{self.prefix}/"):
            self.refuse_address()
            return False
        if "%00" in self.path:  # in no name of a file
            self.send_error(HTTPStatus.NOT_FOUND)
            return False
        return True

    @property
    def own_host(self) -> str | None:
        """The host of the request, if that is this machine."""
        hosts = self.headers.get_all("Host", [])
        return hosts[0] if len(hosts) == 1 and OWN.fullmatch(hosts[0]) else None

    def _is_for_us(self) -> bool:
        """Whether the request names this machine or, as some proxies do, the origin."""
        proxied = [[host] for host in self.origin.hosts] if self.origin else []
        return bool(self.own_host) or self.headers.get_all("Host") in proxied

    def refuse_host(self) -> None:
        """Say at which addresses there is an answer."""
        self.close_connection = True
        known = f"{HOST}, localhost{f' and {self.origin}' if self.origin else ''}"
        text = WRONG_HOST.format(known)
        self.send("text/plain", text, HTTPStatus.MISDIRECTED_REQUEST)

    def refuse_address(self) -> None:
        """Answer a request for an address that does not begin with the prefix."""
        self.send_error(HTTPStatus.NOT_FOUND)

    @property
    def root(self) -> str:
        """The prefix of all addresses in a browser."""
        return (self.origin.path if self.origin else "") + self.prefix

    @property
    def address(self) -> str:
        """The address without the prefix and the query."""
        return self.path.partition("?")[0].removeprefix(self.prefix)

    def translate_path(self, path: str) -> str:
        """Return the file at an address."""
        return super().translate_path(path.removeprefix(self.prefix))

    def do_GET(self) -> None:
        query = self.path.partition("?")[2]
        file = Path(self.translate_path(self.path))
        if self.address.endswith("/"):
            file /= "index.html"
        if self.address == BUILDS:
            self.send("text/plain", str(self.server.builds))
        elif self.address == RELOAD:
            count = int(query) if re.fullmatch("[0-9]{1,9}", query) else 0
            self.send("text/javascript", SCRIPT.format(self.root + BUILDS, count))
        elif file.suffix == ".html" and file.is_file():
            self.send("text/html", self.page(file))
        else:
            super().do_GET()

    def page(self, file: Path) -> str:
        """Return a page of the site with the script that reloads it."""
        address = f"{self.root}{RELOAD}?{self.server.builds}"
        script = f'<script src="{address}"></script></body>'
        return file.read_text(encoding="utf-8").replace("</body>", script)

    def send(
        self,
        kind: str,
        text: str,
        status: int = HTTPStatus.OK,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> None:
        """Answer with a text of this kind."""
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def send_header(self, keyword: str, value: str) -> None:
        """Send a header; an address in it is one below the path of the proxy."""
        if keyword == "Location" and self.origin:
            value = self.origin.path + value
        super().send_header(keyword, value)

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: the terminal is for the builds."""


class Server(ThreadingHTTPServer):
    """Serves `site` to browsers on this machine, and counts its later builds."""

    builds = 0

    daemon_threads = True
    request_queue_size = 128  # a browser may ask for many files at once

    def __init__(
        self, site: Path, port: int, handler: Callable[..., Handler], listen: str = HOST
    ):
        super().__init__((listen, port), partial(handler, directory=str(site)))

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print the traceback of an error, unless a browser or the server just left."""
        if not isinstance(sys.exception(), (ConnectionError, CancelledError)):
            super().handle_error(request, client_address)


def serve(
    root: Path,
    port: int,
    handler: Callable[..., Handler] = Handler,
    address: str = "/",
    listen: str = HOST,
    origin: Origin | None = None,
) -> None:
    """Serve the book in `root` until interrupted, and print the `address` to open.

    That is an address of this machine, or of the proxy at `origin`. In a container,
    whose ports are mapped, the server has to `listen` at more than 127.0.0.1. Raises a
    `BookError` if the port is taken or the book does not build.
    """
    # The port is taken before the book is built, so that a mistake shows at once.
    try:
        server = Server(root / build_paths.HTML, port, handler, listen)
    except OSError as error:
        message = f"{port} is not available ({describe_os_error(error)})"
        raise BookError(f"{message}; name another, as in PORT=8001", "PORT") from error
    with server:
        before = snapshot(root)
        if not build(root):
            raise BookError(
                "the book does not build; fix the errors above, start again"
            )
        threading.Thread(target=server.serve_forever, daemon=True).start()
        site = origin or f"http://{HOST}:{server.server_port}"
        print(f"{site}{address} (Ctrl-C stops the server)", flush=True)
        try:
            _rebuild_on_change(root, before, server)
        except KeyboardInterrupt:
            server.shutdown()


def _rebuild_on_change(root: Path, before: dict[str, int], server: Server) -> None:
    while True:
        time.sleep(POLL_SECONDS)
        now = snapshot(root)
        if now != before:
            before = now
            # A failed build has printed its errors and kept the last good site.
            if build(root):
                server.builds += 1


def build(root: Path) -> bool:
    """Build the book in a process of its own and return whether that succeeded.

    A fresh process sees changes of the book's own code too.
    """
    command = [sys.executable, "-m", "book", "html"]
    built = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True)
    is_built = built.returncode == 0
    lines = built.stdout.splitlines(keepends=True)
    # The last line is the path of a file, which is not what is served.
    print(*(lines[:-1] if is_built else lines), sep="", end="", flush=True)
    return is_built


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
