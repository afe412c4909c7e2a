"""The built site, without a browser: whole, light, and closed in itself."""

import base64
import copy
import gzip
import hashlib
import re
from itertools import groupby
from pathlib import Path
from string import ascii_uppercase
from urllib.parse import unquote, urlsplit

import imagesize
import pytest
from browsing import lost_links
from bs4 import BeautifulSoup, Tag
from figures import ROOT

from book.render import code
from book.text.book import Book

pytestmark = pytest.mark.xdist_group("the parsed pages")
Pages = dict[Path, BeautifulSoup]

LOADED = "script[src], img[src], link[href], source[src], iframe[src]"
AT_ONCE = (
    "script[src], img[src]:not([loading=lazy]), link[rel~=stylesheet], link[rel~=icon]"
)


def address(element: Tag) -> str:
    return str(element.get("href") or element.get("src"))


def test_every_section_has_its_page_and_there_is_no_other(
    book: Book, site: Path, pages
):
    names = {str(p.relative_to(site).with_suffix("")) for p in pages}
    assert names == {section.name for section in book.sections}


def test_every_link_within_the_site_leads_somewhere(pages: Pages):
    assert lost_links(pages, "a[href]") == []
    addresses = [address(a) for page in pages.values() for a in page.select("a[href]")]
    schemes = {urlsplit(address).scheme for address in addresses}
    assert schemes <= {"", "https", "mailto"}


def test_nothing_is_asked_of_another_host(site: Path, pages: Pages):
    for path, page in pages.items():
        for element in page.select(LOADED):
            url = urlsplit(address(element))
            assert not url.scheme and not url.netloc, (path, element)
            assert (path.parent / unquote(url.path)).exists(), (path, element)
    for sheet in site.rglob("*.css"):
        text = sheet.read_text("utf-8")
        assert "@import" not in text, sheet
        for file in re.findall(r"url\([\"']?([^\"')]+)", text):
            assert (sheet.parent / file).exists(), (sheet, file)


def test_every_page_has_a_name_of_its_own(pages: Pages):
    titles = [str(find(page, "title").string) for page in pages.values()]
    assert len(titles) == len(set(titles)) and all(titles)


def find(page: Tag, selector: str) -> Tag:
    found = page.select_one(selector)
    assert found is not None, selector
    return found


def test_headings_leave_no_level_out_below_one_title(pages: Pages):
    for path, page in pages.items():
        assert len(page.select("h1")) == 1, path
        levels = [int(h.name[1]) for h in page.select("main :is(h1,h2,h3,h4,h5,h6)")]
        steps = [b - a for a, b in zip(levels, levels[1:], strict=False)]
        assert all(step <= 1 for step in steps), (path, levels)


def test_images_keep_their_place(pages: Pages):
    for path, page in pages.items():
        for image in page.select("img"):
            assert image.get("width") and image.get("height"), (path, image)


def test_tabs_are_whole_and_name_their_panels(book: Book, pages: Pages):
    for path, page in pages.items():
        for tab_set in page.select('[data-axis="tab"]'):
            offered = str(tab_set["data-choices"]).split()
            assert not tab_set.select("[role=tab]"), path  # the header has them
            assert offered == [tab for tab in book.tabs if tab in offered], path
            panels = tab_set.select(".tab-panel")
            shown = [str(panel["data-choices"]).split() for panel in panels]
            assert sorted(sum(shown, [])) == sorted(offered), path
            for panel in tab_set.select(".tab-panel"):
                label, *content = panel.find_all(True, recursive=False)
                assert label["class"] == ["tab-label"] and content, (path, panel["id"])


def test_no_notice_stands_beside_code_of_its_framework(pages: Pages):
    for path, page in pages.items():
        for section in page.select("article, article section"):
            children = section.find_all(recursive=False)
            for is_row, group in groupby(children, is_code):
                row = list(group) if is_row else []
                absent = [e for s in row for e in s.select(":scope > .tab-absent")]
                others = [
                    e for s in row for e in s.select(":scope > :not(.tab-absent)")
                ]
                offered = {t for e in others for t in choices(e)}
                assert offered.isdisjoint(t for e in absent for t in choices(e)), path


def is_code(element: Tag) -> bool:
    return element.name in ("div", "details")


def choices(panel: Tag) -> list[str]:
    return str(panel.get("data-choices", "")).split()


def test_references_and_equations_are_resolved(pages: Pages):
    for path, page in pages.items():
        main = copy.copy(find(page, "main"))
        assert not re.search(r":\w+:`|\?\?|:begin_tab:|%%tab", main.get_text()), path
        for listing in main.select("pre"):
            listing.replace_with("")  # it may say `None (after each epoch)`
        assert not re.search(r"\bNone\b \(", main.get_text()), path
        for math in page.select("math"):
            assert find(math, "annotation").get_text().strip(), path


def zipped(*files: Path) -> float:
    return sum(len(gzip.compress(file.read_bytes())) for file in files) / 1000


def test_a_word_of_two_senses_links_only_where_it_means_the_term(pages: Pages):
    homes = {"cluster": {"tiles", "asynchronous-kernels"}, "guard": {"compiling"}}
    for term, known in homes.items():
        links = f'a.term[href$="#term-{term}"]'
        found = {path.stem for path, page in pages.items() if page.select(links)}
        assert found == known, term


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


def test_code_can_be_read(site: Path):
    css = (site / "_static/site.css").read_text("utf-8")
    pairs = r"light-dark\(#(\w+),\s*#(\w+)\)"
    found = re.search(rf"--code-bg:\s*{pairs}", css)
    colors = re.findall(pairs, code.rules())
    assert found and len(colors) > 4
    for both in colors:
        for color, behind in zip(both, found.groups(), strict=True):
            assert contrast(color, behind) >= 4.5, (color, behind)


def test_pages_say_what_they_are_about(pages: Pages):
    told = [str(find(p, "meta[name=description]")["content"]) for p in pages.values()]
    assert all(20 <= len(text) <= 160 for text in told), told
    assert len(set(told)) == len(told)


def test_the_front_page_has_each_section_with_its_time(site: Path, pages: Pages):
    front = pages[site / "index.html"]
    cards = front.select(".section-card")
    linked = [str(find(card, "a")["href"]).partition("#")[0] for card in cards]
    listed = [str(a["href"]) for a in front.select("#book-contents li > a")]
    assert linked == listed[:-1] and listed[-1].endswith("references.html")
    numbers = [find(card, ".section-number").text for card in cards]
    last = next(k for k, link in enumerate(linked) if link.endswith("/solutions.html"))
    sections = [str(k + 1) for k in range(last)]
    assert numbers == sections + [*ascii_uppercase[: len(cards) - last]]
    for link, card in zip(linked, cards, strict=True):
        minutes = [part.text.strip() for part in card.select(".minutes")]
        has_pages = link.endswith("/solutions.html")
        assert len(minutes) == (0 if has_pages else 1)
        assert all(re.fullmatch(r"\d+ min", text) for text in minutes)
        assert len(find(card, ".requires").text.split()) > 3


def test_section_numbers_have_three_levels_at_most(pages: Pages):
    for path, page in pages.items():
        numbers = [n.text.strip(". ") for n in page.select("main .section-number")]
        assert all(number.count(".") <= 2 for number in numbers), path


def test_above_each_table_of_symptoms_are_as_many_links_as_it_has_rows(
    site: Path, pages: Pages
):
    guide = pages[site / "chapter_gpus/quick-guide.html"]
    tables = [t for t in guide.select("table") if t.select_one("tr[id^=symptom-]")]
    assert len(tables) == 5
    for table in tables:
        section = table.find_parent("section")
        assert section
        links = section.select("p a.reference, p a[href*=html]")
        above = [link for link in links if table in link.find_all_next("table")]
        targets = {address(link) for link in above}
        assert len(targets) >= len(table.select("tbody tr")), table.caption


def test_the_card_and_the_icon_are_those_of_the_book(site: Path, pages: Pages):
    title = find(pages[site / "index.html"], "h1").text
    card = (ROOT / "static/card.svg").read_text("utf-8")
    assert f">{title}</text>" in card
    assert imagesize.get(site / "_static/touch-icon.png") == (180, 180)


def test_figures_with_a_script_of_their_own_can_be_explored(site: Path, pages: Pages):
    folder = site / "_static/explorables"
    shared = {"explorable", "device", "measure", "experiments", "published"}
    shared |= {"kernel-task", "kernel-code", "kernel-judge", "kernel-run"}
    shared |= {
        "kernel-drawing",
        "kernel-progress",
        "cards",
        "prices",
        "language-models",
        "training-cards",
        "warp-drawing",
        "expectations",
    }
    names = {file.stem for file in folder.glob("*.js")} - shared
    scripts = {name for name in names if not name.endswith("arithmetic")}
    figures = {
        str(figure["data-explorable"])
        for page in pages.values()
        for figure in page.select("figure[data-explorable]")
    }
    assert figures == scripts and len(figures) >= 3


# Strict

POLICY = {
    "default-src": {"'none'"},
    "script-src": {"'self'"},
    "style-src": {"'self'"},
    "img-src": {"'self'", "data:"},
    "font-src": {"'self'"},
    "connect-src": {"'self'"},
    "worker-src": {"blob:"},  # the search
    "base-uri": {"'none'"},
    "form-action": {"'none'"},
}


def test_a_page_allows_its_own_files_and_named_scripts_alone(pages: Pages):
    for path, page in pages.items():
        metas = page.select("meta[http-equiv=Content-Security-Policy]")
        assert len(metas) == 1, path
        inline = page.select("script:not([src])")
        assert policy(metas[0]) == POLICY | {
            "script-src": {"'self'", *map(hash_of, inline)}
        }, path
        # What stands before the policy is not under it.
        before = [e for e in metas[0].find_all_previous(["script", "link", "style"])]
        assert before == [], path


def policy(meta: Tag) -> dict[str, set[str]]:
    parts = [part.split() for part in str(meta["content"]).split(";")]
    return {name: set(sources) for name, *sources in parts}


def hash_of(script: Tag) -> str:
    digest = hashlib.sha256(str(script.string).encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def test_a_page_holds_no_style_and_no_code_in_attributes(pages: Pages):
    for path, page in pages.items():
        assert page.select("style") == [], path  # html-validate finds attributes
        names = {name for element in page.select("*") for name in element.attrs}
        assert not {name for name in names if name.startswith("on")}, path
