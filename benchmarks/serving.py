"""A server like a typical host of static pages, with HTTP/1.1 and gzip."""

import gzip
import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

COMPRESSED_TYPES = {".html", ".css", ".js", ".svg", ".json", ".map", ".txt", ".inv"}


@cache
def compress(data: bytes) -> bytes:
    """Return data compressed with gzip."""
    return gzip.compress(data, mtime=0)


class Host(SimpleHTTPRequestHandler):
    """Serves files; text is compressed."""

    protocol_version = "HTTP/1.1"

    def send_head(self) -> Any:
        """Send the headers of a file and return the file, or its compressed data."""
        path = Path(self.translate_path(self.path))
        if path.suffix not in COMPRESSED_TYPES or not path.is_file():
            return super().send_head()
        data = compress(path.read_bytes())
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Cache-Control", "max-age=600")
        self.end_headers()
        return io.BytesIO(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve `folder` on this machine, and yield its address, which ends in "/"."""
    handler = partial(Host, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
