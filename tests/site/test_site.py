"""The built site, without a browser: whole, light, and closed in itself."""

import gzip
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup, Tag
from pygments.styles import get_style_by_name

from book.sources import Book

Pages = dict[Path, BeautifulSoup]

LOADED = "script[src], img[src], link[href], source[src], iframe[src]"
AT_ONCE = (
    "script[src], img[src]:not([loading=lazy]), link[rel~=stylesheet], link[rel~=icon]"
)
# Grey that marks no text, and colours for output formats that code does not use.
NOT_TEXT = ("Token.Text.Whitespace", "Token.Generic", "Token.Error")


def address(element: Tag) -> str:
    return str(element.get("href") or element.get("src"))


def test_every_section_has_its_page_and_there_is_no_other(
    book: Book, site: Path, pages
):
    names = {str(p.relative_to(site).with_suffix("")) for p in pages}
    written = {section.name for section in book.sections}
    assert written <= names
    assert names - written <= {"search", "references"}


def test_every_link_within_the_site_leads_somewhere(pages: Pages):
    for path, page in pages.items():
        for link in page.select("a[href]"):
            url = urlsplit(address(link))
            if url.scheme or url.netloc:
                assert url.scheme in ("https", "mailto"), (path, link)
                continue
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            assert target in pages, (path, link)
            if url.fragment:
                ids = {element["id"] for element in pages[target].select("[id]")}
                assert unquote(url.fragment) in ids, (path, link)


def test_nothing_is_asked_of_another_host(site: Path, pages: Pages):
    for path, page in pages.items():
        for element in page.select(LOADED):
            url = urlsplit(address(element))
            assert not url.scheme and not url.netloc, (path, element)
            assert (path.parent / unquote(url.path)).exists(), (path, element)
    for sheet in site.rglob("*.css"):
        loaded = re.findall(r"@import|url\((?!\s*['\"]?data:)", sheet.read_text())
        assert not loaded, sheet


def test_what_stock_d2lbook_and_sphinx_load_is_gone(site: Path):
    names = {path.name for path in site.rglob("*.*")}
    assert not {n for n in names if re.match("jquery|underscore|d2l|material", n)}


def test_every_page_has_a_name_a_language_and_one_title(pages: Pages):
    titles = [str(find(page, "title").string) for page in pages.values()]
    assert len(titles) == len(set(titles)) and all(titles)
    for path, page in pages.items():
        assert find(page, "html")["lang"] == "en"
        if path.name != "search.html":
            assert len(page.select("h1")) == 1, path


def find(page: Tag, selector: str) -> Tag:
    found = page.select_one(selector)
    assert found is not None, selector
    return found


def test_headings_leave_no_level_out(pages: Pages):
    for path, page in pages.items():
        levels = [int(h.name[1]) for h in page.select("main :is(h1,h2,h3,h4,h5,h6)")]
        steps = [b - a for a, b in zip(levels, levels[1:], strict=False)]
        assert all(step <= 1 for step in steps), (path, levels)


def test_ids_are_unique(pages: Pages):
    for path, page in pages.items():
        ids = [element["id"] for element in page.select("[id]")]
        assert len(ids) == len(set(ids)), path


def test_images_say_what_they_show_and_keep_their_place(pages: Pages):
    for path, page in pages.items():
        for image in page.select("img"):
            assert image.get("alt"), (path, image)
            assert image.get("width") and image.get("height"), (path, image)


def test_tabs_are_whole_and_name_their_panels(book: Book, pages: Pages):
    for path, page in pages.items():
        for tab_set in page.select(".tab-set"):
            offered = [str(tab["data-tab"]) for tab in tab_set.select("[role=tab]")]
            assert offered == str(tab_set["data-tabs"]).split(), path
            assert offered == [tab for tab in book.tabs if tab in offered], path
            shown = [str(p["data-tab"]).split() for p in tab_set.select(".tab-panel")]
            assert sorted(sum(shown, [])) == sorted(offered), path
            for panel in tab_set.select(".tab-panel"):
                label, *content = panel.find_all(True, recursive=False)
                assert label["class"] == ["tab-label"] and content, (path, panel["id"])


def test_a_set_with_code_has_a_panel_for_every_framework(book: Book, pages: Pages):
    for path, page in pages.items():
        for tab_set in page.select(".tab-set:has(.highlight)"):
            assert str(tab_set["data-tabs"]).split() == book.tabs, path


def test_references_and_equations_are_resolved(pages: Pages):
    for path, page in pages.items():
        text = find(page, "main").get_text()
        assert not re.search(r":\w+:`|\?\?|\bNone\b \(|:begin_tab:|%%tab", text), path
        for math in page.select("math"):
            assert find(math, "annotation").get_text().strip(), path


def zipped(*files: Path) -> float:
    return sum(len(gzip.compress(file.read_bytes())) for file in files) / 1000


def test_a_page_is_light(site: Path, pages: Pages):
    css, js = site / "_static/site.css", site / "_static/site.js"
    assert zipped(css) <= 15 and zipped(js) <= 20
    for path, page in pages.items():
        assert 1 + len(page.select(AT_ONCE)) <= 10, path
        assert zipped(path, css, js) <= 100, path


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [
        p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts
    ]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("key", ["pygments_style", "pygments_dark_style"])
def test_code_can_be_read(book: Book, site: Path, key: str):
    found = re.search(rf'{key} = "(.*)"', book.config.build["sphinx_configs"])
    assert found
    css = (site / "_static/site.css").read_text("utf-8")
    backgrounds = re.findall(r"--color-code-background: #(\w{6})", css)
    background = backgrounds[0] if key == "pygments_style" else backgrounds[-1]
    for token, style in get_style_by_name(found[1]):
        if style["color"] and not str(token).startswith(NOT_TEXT):
            behind = style["bgcolor"] or background
            assert contrast(style["color"], behind) >= 4.5, (token, style["color"])
