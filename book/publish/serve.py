"""Serves the book on this machine, builds it again on each change, reloads the page.

    python -m book serve [--port PORT]

The script that reloads is added on the way to the browser; the site has none of it.
"""

import os
import subprocess
import sys
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from book.base.errors import BookError

HOST = "127.0.0.1"
EVENTS = "/.rebuilt"
# The page's policy allows scripts from files only.
SCRIPT = "new EventSource('{}?{}').onmessage = () => location.reload()"
RELOAD = "/.reload.js"
POLL_SECONDS = 0.5
PING_SECONDS = 15
# Folders that a build writes, or that no page is made from.
UNWATCHED = {"_build", "__pycache__", "tests", "benchmarks"}


class Rebuilds:
    """Counts the builds that went well; browsers wait for the next one."""

    def __init__(self) -> None:
        self.count = 0
        self.changed = threading.Condition()

    def announce(self) -> None:
        with self.changed:
            self.count += 1
            self.changed.notify_all()

    def wait(self, seen: int, seconds: float = PING_SECONDS) -> int:
        """The count, as soon as it is not `seen` any more or the time is up."""
        with self.changed:
            self.changed.wait_for(lambda: self.count != seen, seconds)
            return self.count


class Handler(SimpleHTTPRequestHandler):
    """Pages with the reloading script, other files as they are."""

    def __init__(self, *args: object, rebuilds: Rebuilds, **kwargs: object):
        self.rebuilds = rebuilds
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        if self.path.startswith(f"{EVENTS}?"):
            self._send_events(self.path.partition("?")[2])
            return
        if self.path.startswith(f"{RELOAD}?"):
            self._send_script(self.path.partition("?")[2])
            return
        file = Path(self.translate_path(self.path))
        if self.path.split("?")[0].endswith("/"):
            file /= "index.html"
        if file.suffix == ".html" and file.is_file():
            self._send_page(file)
        else:
            super().do_GET()

    def _send_page(self, file: Path) -> None:
        script = f'<script src="{RELOAD}?{self.rebuilds.count}"></script></body>'
        page = file.read_text(encoding="utf-8").replace("</body>", script)
        self._send("text/html", page)

    def _send_script(self, of_page: str) -> None:
        self._send(
            "text/javascript",
            SCRIPT.format(EVENTS, int(of_page) if of_page.isdigit() else 0),
        )

    def _send(self, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _send_events(self, of_page: str) -> None:
        """Tell the page that shows build number `of_page` of each later one."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        seen = int(of_page) if of_page.isdigit() else self.rebuilds.count
        try:
            while True:
                now = self.rebuilds.wait(seen)
                self.wfile.write(b": ping\n\n" if now == seen else b"data: rebuilt\n\n")
                seen = now
        except OSError:
            # The browser has left the page.
            return

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing of requests: the terminal is for the builds."""


def serve(root: Path, port: int) -> None:
    """Serve the book in `root` until interrupted."""
    rebuilds = Rebuilds()
    # A port that is taken is told of before the book is built.
    with _server(root / "_build" / "html", port, rebuilds) as server:
        before = snapshot(root)
        if not build(root):
            raise BookError("the book does not build; mend that, then serve it")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(f"http://{HOST}:{server.server_port}/ (Ctrl-C ends)", flush=True)
        try:
            _rebuild_on_change(root, before, rebuilds)
        except KeyboardInterrupt:
            server.shutdown()


def _server(site: Path, port: int, rebuilds: Rebuilds) -> ThreadingHTTPServer:
    handler = partial(Handler, rebuilds=rebuilds, directory=str(site))
    try:
        server = ThreadingHTTPServer((HOST, port), handler)
    except OSError as error:
        raise BookError(
            f"{port} cannot be had ({error.strerror}); name another, as in PORT=8001",
            "PORT",
        ) from error
    server.daemon_threads = True
    return server


def _rebuild_on_change(root: Path, before: dict[str, int], rebuilds: Rebuilds) -> None:
    while True:
        time.sleep(POLL_SECONDS)
        now = snapshot(root)
        if now != before:
            before = now
            # A failed build has printed its errors and left the last good site.
            if build(root):
                rebuilds.announce()


def build(root: Path) -> bool:
    """Build the book in a process of its own; whether that went well.

    A fresh process sees changes of the book's own code too, and Sphinx starts clean.
    """
    command = [sys.executable, "-m", "book", "html"]
    built = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True)
    print(built.stdout, end="", flush=True)
    return built.returncode == 0


def snapshot(root: Path) -> dict[str, int]:
    """When each file that the book may be made from was last changed."""
    changed = {}
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders if f not in UNWATCHED and f[0] != "."]
        for name in files:
            path = os.path.join(folder, name)
            try:
                changed[path] = os.stat(path).st_mtime_ns
            except OSError:
                # An editor's temporary file, gone again.
                continue
    return changed
