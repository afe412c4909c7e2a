"""Opens pages of the site for the tests: a server, and pages that record errors.

A page that is open may write no error or warning to the console, raise nothing that
is not caught, and ask nothing of another host; a test that opens one also tests this.
"""

import re
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Locator,
    Page,
    Playwright,
    Request,
    Route,
    expect,
)
from tools import CHROMIUM_FLAGS, chromium

from book.text.book import Book

# A page that asks for a GPU cannot keep the browser from saying no.
NO_ADAPTER = "No available adapters."
BOOK = Book(Path(__file__).parents[2])
TABS = BOOK.tabs
PAGES = [f"{section.name}.html" for section in BOOK.sections]
WITH_TABS = [f"{s.name}.html" for s in BOOK.sections if "%%tab" in s.text]
# `make test` opens these pages, and `make test-all` opens all.
REPRESENTATIVE = {
    *("index.html", "chapter_gpus/use-gpu.html", "chapter_gpus/pitfalls.html"),
    *("chapter_gpus/model-parallelism.html", "chapter_gpus/solutions-use-gpu.html"),
}
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
Violations = FaultsOf = Callable[..., list[str]]
WIDE = {"width": 1400, "height": 900}
PHONE = {"width": 375, "height": 812}
TOUCH_SCREEN = {"viewport": PHONE, "is_mobile": True, "has_touch": True}
SCREENS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    # Buttons that elsewhere appear on hover are always visible here.
    "phone": TOUCH_SCREEN,
}


def launch(playwright: Playwright, debugging_port: int) -> Browser:
    """The system's Chromium, which other programs can use through the port."""
    return playwright.chromium.launch(
        executable_path=chromium(),
        args=[*CHROMIUM_FLAGS, f"--remote-debugging-port={debugging_port}"],
    )


@contextmanager
def quiet(page: Page) -> Iterator[Page]:
    """The page, whose console has to stay empty but for a missing GPU."""
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    yield page
    assert set(messages) <= {NO_ADAPTER}


def each(paths: Iterable[str], chosen: Collection[str] = REPRESENTATIVE) -> list[Any]:
    """Parameters of a test: all paths, of which only the chosen are not slow."""
    marks = {True: (), False: (pytest.mark.slow,)}
    return [pytest.param(path, marks=marks[path in chosen]) for path in paths]


def free_port() -> int:
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return int(tried.getsockname()[1])


class Files(SimpleHTTPRequestHandler):
    """Serves the files of a folder and says nothing."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that leaves a page drops connections; so be it."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of `folder` on this machine, with "/" at its end."""
    handler = partial(Files, directory=str(folder))
    with Server(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()


class Visitor:
    """Opens pages below `base`, each watched, all in contexts of its own."""

    def __init__(self, browser: Browser, base: str) -> None:
        self.browser = browser
        self.base = base
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.contexts: dict[str, BrowserContext] = {}

    def __call__(self, path: str, **options: Any) -> Page:
        """A new page at `path`; `options` are the browser context's.

        Pages with the same options share a context, and with it what is stored.
        """
        page = self.context(**options).new_page()
        self.watch(page)
        page.goto(self.base + path, wait_until="load")
        return page

    def context(self, **options: Any) -> BrowserContext:
        options = {"viewport": WIDE} | options
        key = repr(sorted(options.items()))
        if key not in self.contexts:
            self.contexts[key] = self.browser.new_context(**options)
        return self.contexts[key]

    def watch(self, page: Page) -> None:
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self._complain(page, str(error)))
        page.on("request", lambda request: self._ask(page, request.url))
        page.on("requestfailed", lambda asked: self._miss(page, asked))

    def _hear(self, message: ConsoleMessage) -> None:
        if message.text == NO_ADAPTER:
            return
        if message.type in ("error", "warning") and message.page:
            # The browser's tools, of which `fonts` asks, load the page a second time,
            # and a page that is a file may not load itself.
            url = message.page.url
            if not message.text.startswith(f"Unsafe attempt to load URL {url} from"):
                self._complain(message.page, message.text)

    def _ask(self, page: Page, url: str) -> None:
        self.requests.append(url)
        if not url.startswith((self.base, "data:", "blob:", "about:")):
            self._complain(page, f"asks for {url}")

    def _miss(self, page: Page, asked: Request) -> None:
        # What is still on its way when a test goes to another page is no fault, nor is
        # the second load by the browser's tools (see above).
        by_tools = (asked.failure, asked.url) == ("origin", page.url)
        if asked.failure != "net::ERR_ABORTED" and not by_tools:
            self._complain(page, f"does not get {asked.url}: {asked.failure}")

    def _complain(self, page: Page, what: str) -> None:
        self.complaints.append(f"{urlsplit(page.url).path}: {what}")

    def close(self) -> None:
        for context in self.contexts.values():
            context.close()
        assert not self.complaints, self.complaints


def lost_links(
    pages: dict[Path, BeautifulSoup], selector: str, host: Path | None = None
) -> list[str]:
    """The links to files and places that do not exist; "/" is the folder `host`."""
    ids = {path: {e["id"] for e in page.select("[id]")} for path, page in pages.items()}
    lost = []
    for path, page in pages.items():
        for element in page.select(selector):
            url = urlsplit(str(element.get("href") or element.get("src")))
            if url.scheme or url.netloc:
                continue
            start = host if host and url.path.startswith("/") else path.parent
            named = (start / unquote(url.path).lstrip("/")).resolve()
            target = named if url.path else path
            fragment = unquote(url.fragment) if element.name == "a" else ""
            if not target.is_file() or fragment and fragment not in ids[target]:
                lost.append(f"{path}: {element}")
    return lost


def choose(page: Page, tab: str) -> None:
    """Choose a framework where every page has the choice, in the bar at its top."""
    for control in (".framework-button", f"#frameworks [value={tab}]"):
        # The bar is sticky, so Playwright's own clicks would scroll the page first.
        if box := page.locator(control).bounding_box():
            x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
            page.mouse.click(x, y)


def chosen(page: Page, axis: str = "tab") -> str:
    return page.evaluate("axis => document.documentElement.dataset[axis]", axis)


def wait_for_copy_buttons(page: Page) -> None:
    """A script puts the buttons there that copy code, one at a time."""
    code = "div:not(.output) > .highlight"
    expect(page.locator(f"{code}:not(:has(.copy))")).to_have_count(0, timeout=30_000)


def copied(button: Locator) -> str:
    """Press a button that copies code, and return what the page has copied."""
    expect(button).to_be_attached()
    button.dispatch_event("click")
    expect(button).to_have_text("Copied")
    return button.page.evaluate("navigator.clipboard.readText()")


TOP = "element => element.getBoundingClientRect().top"
FRAMES = """() => new Promise((done) => requestAnimationFrame(
  () => requestAnimationFrame(() => setTimeout(done))))"""


def resize(page: Page, width: int) -> None:
    """Give the page a width, and let it draw again what it draws for a width.

    Figures do so in the frame after the one in which they hear of their width.
    """
    page.set_viewport_size({"width": width, "height": PHONE["height"]})
    page.evaluate(FRAMES)


STORED = "JSON.stringify(Object.entries(localStorage).sort())"
# A page may store more by itself, a bit later.
SEES = """(stored) => JSON.parse(stored).every(
  ([key, value]) => localStorage.getItem(key) === value)"""
STORE = """(stored) => {
  for (const [key, value] of JSON.parse(stored)) localStorage.setItem(key, value);
}"""


def revisit(page: Page, go: Callable[[], object]) -> None:
    """Leave a page for another or the same one, with what it has stored.

    One in about a hundred files that Chromium opens in a new context keeps what it
    stores to itself, and loses it when it is left. What other files store is there at
    once or soon. So another page sees it before, or another file stores it instead.
    """
    stored = page.evaluate(STORED)
    with closing(page.context.new_page()) as other:
        other.goto(re.split(r"[?#]", page.url)[0])
        _see(other, stored, other)
        go()
        _see(page, stored, other)


def _see(page: Page, stored: str, other: Page) -> None:
    """Reload a page until it sees what is stored; for a file, `other` may store it."""
    if page.url.startswith("file:") and not _reload_until(page, stored):
        other.evaluate(STORE, stored)
    assert _reload_until(page, stored), f"{stored} is not stored any more"


def turn(page: Page, to: str = "next") -> None:
    """Go to the next or the previous page with what this one has stored."""

    def follow_link() -> None:
        with page.expect_navigation():
            page.click(f"footer a[rel={to}]")

    revisit(page, follow_link)


def reload(page: Page) -> None:
    """Reload the page with what it has stored."""
    revisit(page, page.reload)


def _reload_until(page: Page, stored: str) -> bool:
    for _ in range(8):
        if page.evaluate(SEES, stored):
            return True
        page.wait_for_timeout(250)
        page.reload()
    return False


HAS_COME = """() => {
  const all = (selector) => [...document.querySelectorAll(selector)]
    .filter((element) => !element.closest("[hidden]")); // covered by a prediction
  return all("[data-explorable]").every((figure) =>
    !figure.checkVisibility() || figure.matches(".live, .measurable"))
    && all(".solution[open]").every((one) => one.querySelector(".solution-source"))
    && all("img").every((image) => image.complete);
}"""


def reach_everything(page: Page) -> None:
    """Have what comes when it is reached come, and open what is closed."""
    page.evaluate("""() => {
      document.querySelectorAll("details").forEach((details) => (details.open = true));
      document.querySelectorAll("img").forEach((image) => (image.loading = "eager"));
    }""")
    # A figure in an output is empty until it is reached, and Playwright waits for it.
    for figure in page.locator("[data-explorable]").all():
        figure.evaluate("""async (figure) => {
          if (!figure.checkVisibility()) return;
          figure.scrollIntoView({ behavior: "instant" });
          for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);
        }""")
    page.wait_for_load_state("networkidle")
    wait_until(page, HAS_COME)
    # Otherwise, the bar would cover whatever happens to be at the top of the view.
    page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")


def probe(page: Page, question: str, about: Any = None) -> Any:
    """The answer of a function of `probes.js` in the page."""
    return page.evaluate(asking(question), about)


def asking(question: str) -> str:
    """JavaScript that calls a function of `probes.js`."""
    probes = Path(__file__).with_name("probes.js").read_text("utf-8")
    return f"(about) => {{ {probes} return {question}(about); }}"


def wait_until(page: Page, condition: str, about: Any = None) -> None:
    """Wait until JavaScript gives something true, or raise AssertionError after 30 s.

    Playwright's `wait_for_function` asks again from within the page, whose policy
    forbids to evaluate text.
    """
    end = time.monotonic() + 30
    while not page.evaluate(condition, about):
        assert time.monotonic() < end, f"waited in vain for {condition}"
        page.wait_for_timeout(50)


def fonts(page: Page, selector: str) -> list[dict[str, Any]]:
    """The fonts that the browser draws an element in."""
    ask = page.context.new_cdp_session(page).send
    ask("DOM.enable"), ask("CSS.enable")
    root = ask("DOM.getDocument")["root"]["nodeId"]
    found = ask("DOM.querySelector", {"nodeId": root, "selector": selector})
    return ask("CSS.getPlatformFontsForNode", found)["fonts"]


def hold_up(route: Route) -> None:
    """Let a file come late."""
    time.sleep(0.5)
    route.continue_()
