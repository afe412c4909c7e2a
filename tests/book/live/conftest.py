"""A book whose pages are served with cells that run, in the Python of the tests."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from book.live import live, serve
from book.live.origin import Origin
from book.live.sessions import Sessions
from book.runner import signals
from book.text.book import Book

TOKEN, PREFIX = "the-token", "/the-path"
EARLY = 'const known = {"machine": ["cpu"], "theme": ["auto"]};'
PAGE = "<html><head><script>{}</script></head><body><p>Text</p></body></html>"
SECTION = """\
# One

```{.python .input}
%%tab all
number = 6
```

```{.python .input .predict question="What is it?" answer="is ?"}
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
def serve_live(book: Book, sessions: Sessions) -> Iterator[Callable[..., serve.Server]]:
    """Call it with an origin, or without one; it returns a server of the book."""
    site = book.root / "_build/html"
    (site / "chapter").mkdir(parents=True)
    for name in ("index.html", "chapter/one.html"):
        (site / name).write_text(PAGE.format(EARLY))
    with ExitStack() as stack:

        def serve_live(origin: Origin | None = None) -> serve.Server:
            secrets = {"prefix": PREFIX, "token": TOKEN}
            handler = partial(
                live.LiveHandler, sessions=sessions, origin=origin, **secrets
            )
            server = stack.enter_context(serve.Server(site, 0, handler))
            run = partial(server.serve_forever, 0.01)
            threading.Thread(target=run, daemon=True).start()
            stack.callback(server.shutdown)
            return server

        yield serve_live


@pytest.fixture
def server(serve_live: Callable[..., serve.Server]) -> serve.Server:
    return serve_live()


@pytest.fixture
def port(server: serve.Server) -> int:
    return server.server_port
