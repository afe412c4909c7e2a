"""A server that behaves like a usual host of static pages: HTTP/1.1, text in gzip."""

import gzip
import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SQUEEZED = {".html", ".css", ".js", ".svg", ".json", ".map", ".txt", ".inv"}


@cache
def gzipped(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


class Host(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def send_head(self) -> Any:
        path = Path(self.translate_path(self.path))
        if path.suffix not in SQUEEZED or not path.is_file():
            return super().send_head()
        data = gzipped(path.read_bytes())
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Cache-Control", "max-age=600")
        self.end_headers()
        return io.BytesIO(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of `folder` on this machine, with "/" at its end."""
    handler = partial(Host, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
