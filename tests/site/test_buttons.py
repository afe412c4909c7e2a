"""The published site: each button of each page followed, in each tab; every link too.

The PDFs are blank here, since what is tested is that buttons lead to them;
tests/book/publish/test_publish.py has one typeset.
"""

import functools
import gzip
import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http import HTTPStatus
from pathlib import Path
from pprint import pformat
from typing import Any
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
import tools
from browsing import (
    PAGES,
    PHONE,
    TABS,
    WITH_TABS,
    Files,
    Server,
    Violations,
    Visitor,
    choose,
    each,
    probe,
    served,
)
from bs4 import BeautifulSoup
from playwright.sync_api import Browser, Page, expect
from pypdf import PdfWriter
from two_machines import not_copied

from book.notebooks import editions
from book.paper import pdf
from book.publish import layout
from book.slides import decks
from book.text.book import Book
from book.text.tabs import tab_name

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
OURS = "someone/made-up"
HOSTS = ["Colab", "Studio Lab", "Kaggle"]
FILES = ["Notebook", "Slides", "Book as PDF"]
OF_BOOK = ["All notebooks", "All slides", "PDF in all frameworks"]
BUTTONS = ".take a:visible"
Sites = dict[str, Path]


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Sites:
    """The published folder by the repository that is set: none, or `OURS`.

    The setting changes the pages, not the notebooks and decks: they are made once.
    """
    folder = tmp_path_factory.mktemp("published")
    root = folder / "book"
    shutil.copytree(ROOT, root, ignore=not_copied)
    made = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pdf, "build", blank)
        made[""] = publish(root, "").rename(folder / "no-repository")
        patch.setattr(editions, "write", lambda book: made[""] / "notebooks")
        patch.setattr(decks, "build", lambda book: made[""] / "slides/index.html")
        made[OURS] = publish(root, OURS).rename(folder / "repository")
    return made


def publish(root: Path, repository: str) -> Path:
    """The published folder of the book in `root`, with this repository and no site."""
    config = root / "config.ini"
    settings = re.sub(
        r"(?m)^(repository|site) *=.*$", r"\1 =", config.read_text("utf-8")
    )
    settings = settings.replace("repository =", f"repository = {repository}")
    config.write_text(settings, "utf-8")
    return layout.build(Book(root))


def blank(book: Book, tab: str | None = None) -> Path:
    """A PDF where `make pdf` writes one, of one page and nothing on it."""
    name = book.config.project["name"] + (f"-{tab}" if tab else "")
    file = book.root / f"_build/pdf/{name}.pdf"
    file.parent.mkdir(parents=True, exist_ok=True)
    writer = PdfWriter()
    writer.add_blank_page(100, 100)
    writer.write(file)
    return file


@pytest.fixture(params=["", OURS], ids=["no-repository", "repository"])
def repository(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def folder(sites: Sites, repository: str) -> Path:
    return sites[repository]


@pytest.fixture(params=["file", "http"])
def visitor(
    request: pytest.FixtureRequest, browser: Browser, folder: Path
) -> Iterator[Visitor]:
    if request.param == "file":
        yield from closing(Visitor(browser, f"{folder.as_uri()}/"))
        return
    with served(folder) as url:
        yield from closing(Visitor(browser, url))


def closing(visitor: Visitor) -> Iterator[Visitor]:
    yield visitor
    visitor.close()


@pytest.fixture
def open_page(browser: Browser, sites: Sites) -> Iterator[Visitor]:
    """Pages with all the buttons that there are."""
    with served(sites[OURS]) as url:
        yield from closing(Visitor(browser, url))


# Every button


@pytest.mark.parametrize("path", each(PAGES))
def test_every_button_opens_what_it_says(
    visitor: Visitor, folder: Path, repository: str, path: str
):
    page = visitor(path)
    for tab in TABS:
        choose(page, tab)
        found = {b.inner_text(): str(b.get_attribute("href")) for b in visible(page)}
        assert list(found) == expected(path, repository, tab), (tab, found)
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


def expected(path: str, repository: str, tab: str) -> list[str]:
    """The buttons of a page for the readers of one framework."""
    if path == "index.html":
        return [*OF_BOOK, f"PDF in {tab_name(tab)}"]
    source = ROOT / Path(path).with_suffix(".md")
    # The solutions have no marks.
    has_deck = bool(re.search(r"^[\[(]\*\*", source.read_text("utf-8"), re.MULTILINE))
    if path not in WITH_TABS:
        return [*["Slides"] * has_deck, FILES[-1]]
    files = [label for label in FILES if label != "Slides" or has_deck]
    # MXNet does not run on hosts with Python 3.12 and newer.
    hosts = ["Studio Lab"] if tab == "mxnet" else HOSTS
    return [*(hosts if repository else []), *files]


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


def test_a_notebook_is_saved(open_page: Visitor, sites: Sites):
    page = open_page(f"{WITH_TABS[-1]}?tab=jax")
    with page.expect_download() as downloading:
        page.click(f"{BUTTONS} >> text=Notebook")
    name = f"{Path(WITH_TABS[-1]).stem}.ipynb"
    assert downloading.value.suggested_filename == name
    saved = Path(downloading.value.path()).read_bytes()
    assert saved == (sites[OURS] / "notebooks/sagemaker/jax" / name).read_bytes()


def test_slides_are_shown(visitor: Visitor):
    page = visitor(f"{WITH_TABS[0]}?tab=jax")
    page.click(f"{BUTTONS} >> text=Slides")
    expect(page.locator(".reveal.ready")).to_be_visible()
    assert "in JAX" in page.title()


def test_a_hosted_notebook_is_asked_for_by_a_click(open_page: Visitor):
    for label in HOSTS:
        page = open_page(f"{WITH_TABS[0]}?tab={TABS[-1]}")
        page.route(re.compile("^https://"), lambda route: route.abort())
        with page.expect_request(re.compile("^https://")) as asked:
            page.click(f"{BUTTONS} >> text={label}")
        assert f"/{TABS[-1]}/" in opened_by(label, asked.value.url)
        page.close()
    open_page.complaints.clear()  # it asked other hosts, as it should


def test_without_script_all_are_there_under_their_labels(
    visitor: Visitor, repository: str
):
    for path in PAGES:
        page = visitor(path, java_script_enabled=False)
        panels = page.locator(".take .tab-panel")
        assert panels.count() == len(TABS)
        for panel in panels.all():
            assert panel.locator(".tab-label").is_visible()
        always = len(OF_BOOK) if path == "index.html" else 0
        each = [len(expected(path, repository, tab)) - always for tab in TABS]
        assert page.locator(BUTTONS).count() == always + sum(each)
        assert probe(page, "useless") == [] and probe(page, "overlaps") == []


def test_in_print_there_are_none(open_page: Visitor):
    page = open_page(WITH_TABS[0])
    page.emulate_media(media="print")
    assert page.locator(BUTTONS).count() == 0


# Every link


def test_every_link_of_the_folder_leads_somewhere(folder: Path):
    pages = {path: tree(path.read_text("utf-8")) for path in folder.rglob("*.html")}
    assert len(pages) > len(PAGES)
    ids = {path: {str(e["id"]) for e in p.select("[id]")} for path, p in pages.items()}
    for path, page in pages.items():
        for element in page.select("a[href], link[href], script[src], img[src]"):
            url = urlsplit(str(element.get("href") or element.get("src")))
            if url.scheme or url.netloc:
                continue
            # What a page for missing pages refers to begins at the host's root.
            start = folder if url.path.startswith("/") else path.parent
            named = start / unquote(url.path).lstrip("/")
            target = named.resolve() if url.path else path
            assert target.is_file(), (path, element)
            if url.fragment and element.name == "a":
                assert unquote(url.fragment) in ids[target], (path, element)


@functools.cache  # both folders have the same decks
def tree(html: str) -> BeautifulSoup:
    return BeautifulSoup(html, "html.parser")


# Standards


SCREENS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": PHONE, "is_mobile": True, "has_touch": True},
}


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("path", ["index.html", WITH_TABS[0], "404.html"])
def test_axe_finds_nothing_in_the_buttons(
    open_page: Visitor, violations: Violations, path: str, screen: str
):
    page = open_page(path, **SCREENS[screen])
    assert violations(page, colors=screen == "dark") == []
    assert probe(page, "tooWide") == []
    if screen == "phone":
        boxes = [button.bounding_box() for button in visible(page)]
        assert all(box and box["height"] >= 44 for box in boxes), boxes


def test_html_validate_finds_nothing(folder: Path, node: str, tmp_path: Path):
    program = tools.NODE_MODULES / "html-validate/bin/html-validate.mjs"
    config = Path(__file__).with_name("htmlvalidate.mjs")
    report = tmp_path / "report.json"
    options = [f"--config={config}", f"--formatter=json={report}"]
    pages = [folder / path for path in [*PAGES, "404.html"]]
    done = subprocess.run([node, program, *options, *pages], capture_output=True)
    assert report.exists(), done.stderr
    found = [f["messages"] for f in json.loads(report.read_text("utf-8"))]
    assert not any(found), pformat(found)


def test_a_published_page_is_light(folder: Path):
    css, js = folder / "_static/site.css", folder / "_static/site.js"
    assert zipped(css) <= 15 and zipped(js) <= 20
    for path in PAGES:
        assert zipped(folder / path) + zipped(css) + zipped(js) <= 100, path


def zipped(file: Path) -> float:
    return len(gzip.compress(file.read_bytes())) / 1000


def test_nothing_moves_when_a_framework_is_chosen(open_page: Visitor):
    page = open_page(f"{WITH_TABS[0]}?tab={TABS[-1]}")
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
        body = Path(self.directory, "404.html").read_bytes()
        self.send_response(HTTPStatus.NOT_FOUND)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def host(sites: Sites) -> Iterator[str]:
    handler = partial(WithMissingPage, directory=str(sites[OURS]))
    with Server(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.parametrize("path", ["nothing", "chapter_gpus/nothing.html", "a/b/c/d/"])
def test_the_page_for_missing_pages_works_at_any_depth(
    browser: Browser, host: str, path: str
):
    visitor = Visitor(browser, host)
    page = visitor(path)
    told = [c for c in visitor.complaints if "404" not in c]
    visitor.complaints.clear()  # the browser itself reports the status
    assert told == []
    assert page.evaluate("getComputedStyle(document.body).margin") == "0px"
    links = page.locator("article a")
    pages = [path for path in PAGES if "/solutions-" not in path]
    assert links.count() == len(pages) + 2  # the front page again, and the slides
    for link in links.all():
        address = page.evaluate(ABSOLUTE, link.get_attribute("href"))
        assert page.request.get(address).status == HTTPStatus.OK, address
    visitor.close()
