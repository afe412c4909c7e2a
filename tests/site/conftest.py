"""The book's own site, built if it is not, as trees and in a browser."""

from collections.abc import Iterator
from pathlib import Path

import figures
import pytest
import tools
from browsing import WCAG, Violations, Visitor, free_port, launch, probe, served
from bs4 import BeautifulSoup
from golden.made_up import MadeUp
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    expect,
    sync_playwright,
)

from book.base import build_paths
from book.base.files import locked
from book.pages import html
from book.text.book import Book

ROOT = Path(__file__).parents[2]
expect.set_options(timeout=30_000)  # ms; another program may need the processor


@pytest.fixture(scope="session")
def book() -> Book:
    return Book(ROOT)


@pytest.fixture(scope="session")
def site(book: Book) -> Path:
    """The folder of the site, which one worker builds."""
    with locked(ROOT / build_paths.PAGES_LOCK, "another worker builds the book"):
        return html.build(book).parent


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> MadeUp:
    """The book in `tests/golden/book`, for tests that only read what is made of it."""
    return MadeUp(tmp_path_factory.mktemp("made-up"))


@pytest.fixture(scope="session")
def pages(site: Path) -> dict[Path, BeautifulSoup]:
    return {
        path: BeautifulSoup(path.read_text("utf-8"), "html.parser")
        for path in sorted(site.rglob("*.html"))
    }


@pytest.fixture(scope="session")
def node() -> str:
    """The path of Node."""
    return tools.node()


@pytest.fixture(scope="session")
def debugging_port() -> int:
    """Return the address at which programs other than Playwright reach the browser."""
    return free_port()


@pytest.fixture(scope="session")
def browser(debugging_port: int) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = launch(playwright, debugging_port)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def http_url(site: Path) -> Iterator[str]:
    with served(site) as url:
        yield url


@pytest.fixture(
    scope="session",
    params=["file", pytest.param("http", marks=pytest.mark.slow)],
)
def site_url(request: pytest.FixtureRequest, site: Path) -> str:
    """The address of the site's folder, as a file and over HTTP, ending in "/"."""
    if request.param == "http":
        return request.getfixturevalue("http_url")
    return f"{site.as_uri()}/"


@pytest.fixture
def open_page(browser: Browser, site_url: str) -> Iterator[Visitor]:
    """Call it with a page's path; see `browsing.Visitor`."""
    visitor = Visitor(browser, site_url)
    yield visitor
    visitor.close()


@pytest.fixture
def open_http_page(browser: Browser, http_url: str) -> Iterator[Visitor]:
    """The same over HTTP alone, for what does not depend on how the site is read."""
    visitor = Visitor(browser, http_url)
    yield visitor
    visitor.close()


@pytest.fixture(scope="session")
def violations() -> Violations:
    """A function: the rules of WCAG 2.2 A and AA that a page breaks, and where.

    Asked for what is `fresh` it leaves out what an earlier call saw in the page. Asked
    for `colors` it applies the rules of color only.
    """
    axe = (tools.NODE_MODULES / "axe-core/axe.min.js").read_text("utf-8")

    def violations(page: Page, fresh: bool = False, colors: bool = False) -> list[str]:
        if not page.evaluate("'axe' in window"):
            page.evaluate(axe)
        return probe(page, "violations", [WCAG, fresh, colors])

    return violations


# The interactive figures


@pytest.fixture(scope="session")
def harness(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a page with all figures and the book's policy."""
    return figures.write_page(tmp_path_factory.mktemp("figures")).as_uri()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport={"width": 900, "height": 900})
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page whose console has to stay empty."""
    page = context.new_page()
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    yield page
    assert messages == []


@pytest.fixture
def opened(page: Page, harness: str) -> Page:
    """The page of all figures."""
    page.goto(harness)
    return page
