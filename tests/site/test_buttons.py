"""The published made-up book: each button of each page followed, and every link."""

import threading
import zipfile
from collections.abc import Iterator
from contextlib import chdir, closing
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
from browsing import (
    SCREENS,
    FaultsOf,
    Files,
    Server,
    Violations,
    Visitor,
    choose,
    lost_links,
    probe,
    served,
)
from golden.made_up import MadeUp, parsed
from playwright.sync_api import Browser, Page, expect

from book.publish import layout
from book.text.tabs import tab_name

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("the published made-up book")]
OURS = "nobody/made-up"
HOSTS = ["Colab", "Studio Lab", "Kaggle"]
OF_BOOK = ["All notebooks", "All slides"]
BUTTONS = ".take a:visible"
TABS = ["pytorch", "jax"]
SECTION = "chapter/outputs.html"
# The tabs in which a page has code. Those with points have slides, too.
CODE = {"text": ["pytorch"], "outputs": TABS, "predictions": TABS, "solutions": TABS}
PAGES = ["index.html", *(f"chapter/{name}.html" for name in CODE)]
ALONE = ["404.html", "editions.html"]  # pages without the contents of the book
PAGES += [f"chapter/{name}.html" for name in ("more", "terms", "references")]


CHANGES = """\
## Unreleased

### New

- A *figure* of `x`.

### Corrected

- A sum.
"""


@pytest.fixture(scope="module")
def folder(made: MadeUp) -> Path:
    """Return the published folder with an edition, named as on its host."""
    (made.root / "CHANGELOG.md").write_text(CHANGES)
    edition = made.root / "_build/editions/v0.1.zip"
    edition.parent.mkdir(parents=True)
    with zipfile.ZipFile(edition, "w") as packed:
        link = '<!DOCTYPE html>\n<a href="../editions.html">Edition v0.1</a>\n'
        packed.writestr("v0.1/index.html", link)
    with chdir(made.root):
        return layout.build(made.book).rename(made.root / "made-up")


@pytest.fixture(params=["file", "http"])
def visitor(
    request: pytest.FixtureRequest, browser: Browser, folder: Path
) -> Iterator[Visitor]:
    if request.param == "file":
        with closing(Visitor(browser, f"{folder.as_uri()}/")) as visitor:
            yield visitor
        return
    with served(folder) as url, closing(Visitor(browser, url)) as visitor:
        yield visitor


@pytest.fixture
def open_page(browser: Browser, folder: Path) -> Iterator[Visitor]:
    with served(folder.parent) as url:
        with closing(Visitor(browser, f"{url}made-up/")) as visitor:
            yield visitor


# Every button


@pytest.mark.parametrize("path", PAGES)
def test_every_button_opens_what_it_says(visitor: Visitor, folder: Path, path: str):
    page = visitor(path)
    for tab in TABS:
        choose(page, tab)
        found = {b.inner_text(): str(b.get_attribute("href")) for b in visible(page)}
        assert list(found) == expected(path, tab), (tab, found)
        for label, address in found.items():
            if label in HOSTS:
                file = opened_by(label, address)
            else:
                file = unquote(urlsplit(page.evaluate(ABSOLUTE, address)).path)
                file = file.removeprefix(urlsplit(visitor.base).path)
            assert f"/{tab}/" in file or f"-{tab}." in file or label in OF_BOOK
            assert is_whole(folder / file), (label, address)


ABSOLUTE = "address => new URL(address, location.href).href"


def visible(page: Page) -> list[Any]:
    return page.locator(BUTTONS).all()


def expected(path: str, tab: str) -> list[str]:
    """Return the buttons of a page for the readers of one framework."""
    if path == "index.html":
        return [*OF_BOOK, f"PDF in {tab_name(tab)}"]
    name = Path(path).stem
    if tab not in CODE.get(name, []):
        return ["Book as PDF"]
    slides = ["Slides"] if name in ("outputs", "predictions") else []
    return [*HOSTS, "Notebook", *slides, "Book as PDF"]


def opened_by(label: str, address: str) -> str:
    """The file of the branch that a host opens."""
    start, _, file = address.partition(f"{OURS}/blob/notebooks/")
    hosts = {
        "Colab": "https://colab.research.google.com/github/",
        "Studio Lab": "https://studiolab.sagemaker.aws/import/github/",
        "Kaggle": "https://kaggle.com/kernels/welcome?src=https://github.com/",
    }
    assert start == hosts[label] and file.startswith("notebooks/")
    return file


def is_whole(file: Path) -> bool:
    data = file.read_bytes()
    if file.suffix == ".ipynb":
        nbformat.validate(nbformat.reads(data.decode(), as_version=4))
    starts = {".pdf": b"%PDF-", ".zip": b"PK", ".html": b"<!DOCTYPE html>"}
    return data.startswith(starts.get(file.suffix, b"{"))


def test_a_notebook_is_saved(open_page: Visitor, folder: Path):
    page = open_page(f"{SECTION}?tab=jax")
    with page.expect_download() as downloading:
        page.click(f"{BUTTONS} >> text=Notebook")
    assert downloading.value.suggested_filename == "outputs.ipynb"
    saved = Path(downloading.value.path()).read_bytes()
    assert saved == (folder / "notebooks/sagemaker/jax/outputs.ipynb").read_bytes()


def test_slides_are_shown(visitor: Visitor):
    page = visitor(f"{SECTION}?tab=jax")
    page.click(f"{BUTTONS} >> text=Slides")
    expect(page.locator(".reveal.ready")).to_be_visible()
    assert "in JAX" in page.title()


@pytest.mark.parametrize("path", PAGES)
def test_without_script_all_are_there_under_their_labels(visitor: Visitor, path: str):
    page = visitor(path, java_script_enabled=False)
    panels = page.locator(".take .tab-panel")
    assert panels.count() == len(TABS)
    assert all(panel.locator(".tab-label").is_visible() for panel in panels.all())
    always = OF_BOOK if path == "index.html" else []
    each = [len(expected(path, tab)) - len(always) for tab in TABS]
    assert page.locator(BUTTONS).count() == len(always) + sum(each)
    assert probe(page, "useless") == [] and probe(page, "overlaps") == []


def test_in_print_there_are_none(open_page: Visitor):
    page = open_page(SECTION)
    page.emulate_media(media="print")
    assert page.locator(BUTTONS).count() == 0


# Every link


def test_every_link_of_the_folder_leads_somewhere(folder: Path):
    pages = {path: parsed(path.read_text("utf-8")) for path in folder.rglob("*.html")}
    assert len(pages) > len(PAGES)
    # The addresses on a page for missing pages begin at the root of the host.
    elements = "a[href], link[href], script[src], img[src]"
    assert lost_links(pages, elements, folder.parent) == []


# Standards


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("path", ["index.html", SECTION, *ALONE])
def test_axe_finds_nothing_in_the_buttons(
    open_page: Visitor, violations: Violations, path: str, screen: str
):
    page = open_page(path, **SCREENS[screen])
    assert violations(page, colors=screen == "dark") == []
    assert probe(page, "tooWide") == []
    if screen == "phone":
        boxes = [button.bounding_box() for button in visible(page)]
        assert all(box and box["height"] >= 44 for box in boxes), boxes


def test_html_validate_finds_nothing(folder: Path, faults_of: FaultsOf):
    assert faults_of(*(folder / path for path in [*PAGES, *ALONE])) == []


def test_nothing_moves_when_a_framework_is_chosen(open_page: Visitor):
    page = open_page(f"{SECTION}?tab={TABS[-1]}")
    top = "document.querySelector('h1 ~ p, h1 ~ .section, h1 ~ section').offsetTop"
    places = set()
    for tab in TABS:
        choose(page, tab)
        places.add(page.evaluate("document.querySelector('.take').offsetHeight"))
    assert len(places) == 1 and page.evaluate(top)


# A page that is not there


class WithMissingPage(Files):
    """As hosts do: an address that leads nowhere gets 404.html, with its status."""

    def send_error(self, code: int, *args: Any) -> None:
        body = Path(self.directory, "made-up/404.html").read_bytes()
        self.send_response(HTTPStatus.NOT_FOUND)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def host(folder: Path) -> Iterator[str]:
    handler = partial(WithMissingPage, directory=str(folder.parent))
    with Server(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.parametrize("path", ["nothing", "chapter/nothing.html", "a/b/c/d/"])
def test_the_page_for_missing_pages_works_at_any_depth(
    browser: Browser, host: str, path: str
):
    visitor = Visitor(browser, f"{host}made-up/")
    page = visitor(path)
    told = [c for c in visitor.complaints if "404" not in c]
    visitor.complaints.clear()  # the browser itself reports the status
    assert told == []
    assert page.evaluate("getComputedStyle(document.body).margin") == "0px"
    links = page.locator("article a")
    assert links.count() == 3  # the front page, the glossary and the slides
    for link in links.all():
        address = page.evaluate(ABSOLUTE, link.get_attribute("href"))
        assert page.request.get(address).status == HTTPStatus.OK, address
    visitor.close()
