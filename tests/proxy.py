"""A reverse proxy that ends TLS, as Codespaces and JupyterHub put one before a port.

    python tests/proxy.py 8000 --keep-host --path /user/ada/proxy/8000 --strip-path

It prints its own port. By default it names 127.0.0.1:8000 as the host, as Codespaces
does. `tests/proxy.pem` is a certificate for localhost that nobody trusts.
"""

import argparse
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PEM = Path(__file__).with_suffix(".pem")
OF_A_CONNECTION = {"connection", "keep-alive", "transfer-encoding", "host"}


class Proxy(BaseHTTPRequestHandler):
    """Hands each request on, and the answer back."""

    protocol_version = "HTTP/1.1"
    timeout = 60
    options: argparse.Namespace

    def do_GET(self) -> None:
        options = self.options
        if not self.path.startswith(f"{options.path}/"):
            return self.send_error(404)
        path = self.path.removeprefix(options.path) if options.strip_path else self.path
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        behind = HTTPConnection("127.0.0.1", options.port, timeout=60)
        behind.putrequest(self.command, path, skip_host=True, skip_accept_encoding=True)
        for name, value in self._headers():
            behind.putheader(name, value)
        behind.endheaders(body or None)
        self._answer(behind)

    do_POST = do_HEAD = do_GET

    def _headers(self) -> Iterator[tuple[str, str]]:
        """The headers of the browser, and those that proxies add."""
        options, host = self.options, self.headers["Host"]
        yield "Host", host if options.keep_host else f"127.0.0.1:{options.port}"
        yield from (each for each in self.headers.items() if _is_end_to_end(each[0]))
        yield "X-Forwarded-Host", host
        yield "X-Forwarded-Proto", "https"
        yield "X-Forwarded-For", self.client_address[0]

    def _answer(self, behind: HTTPConnection) -> None:
        answer = behind.getresponse()
        body = answer.read()
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if _is_end_to_end(name) and name.lower() != "content-length":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def _is_end_to_end(name: str) -> bool:
    return name.lower() not in OF_A_CONNECTION


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that leaves is no error."""


def free_port() -> int:
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return int(tried.getsockname()[1])


@contextmanager
def proxied(port: int, *options: str) -> Iterator[int]:
    """Run a proxy before `port` in a process of its own; yield its port."""
    command = [sys.executable, __file__, str(port), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("--keep-host", action="store_true")
    parser.add_argument("--path", default="")
    parser.add_argument("--strip-path", action="store_true")
    Proxy.options = parser.parse_args()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(PEM)
    with Server(("127.0.0.1", 0), Proxy) as server:
        # Each connection shakes hands in a thread of its own.
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
        print(server.server_port, flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
