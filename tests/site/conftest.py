"""The book's own site, built if it is not, as trees and in a browser."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import figures
import pytest
import tools
from browsing import (
    WCAG,
    FaultsOf,
    Violations,
    Visitor,
    free_port,
    launch,
    probe,
    quiet,
    served,
)
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


@pytest.fixture(scope="module")
def engine(browser: Browser) -> Iterator[Browser]:
    """A browser that offers WebGPU without a GPU."""
    flags = [*tools.CHROMIUM_FLAGS, "--enable-unsafe-webgpu"]
    other = browser.browser_type.launch(executable_path=tools.chromium(), args=flags)
    yield other
    other.close()


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
    with closing(Visitor(browser, site_url)) as visitor:
        yield visitor


@pytest.fixture
def open_http_page(browser: Browser, http_url: str) -> Iterator[Visitor]:
    """The same over HTTP alone, for what does not depend on how the site is read."""
    with closing(Visitor(browser, http_url)) as visitor:
        yield visitor


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


@pytest.fixture
def faults_of(node: str, tmp_path: Path) -> FaultsOf:
    """A function: what html-validate finds in files and folders."""
    program = tools.NODE_MODULES / "html-validate/bin/html-validate.mjs"
    # Through a pipe a long report arrives cut off.
    report = tmp_path / "report.json"
    config = Path(__file__).with_name("htmlvalidate.mjs")
    options = [f"--config={config}", f"--formatter=json={report}"]

    def faults_of(*paths: Path) -> list[str]:
        done = subprocess.run([node, program, *options, *paths], capture_output=True)
        assert report.exists(), done.stderr
        return [
            f"{file['filePath']}:{message['line']}: {message['ruleId']}:"
            f" {message['message']} ({message.get('selector')})"
            for file in json.loads(report.read_text("utf-8"))
            for message in file["messages"]
        ]

    return faults_of


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
    with quiet(context.new_page()) as page:
        yield page


@pytest.fixture
def opened(page: Page, harness: str) -> Page:
    """The page of all figures."""
    page.goto(harness)
    return page
