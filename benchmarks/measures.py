"""Measures pages in a browser, whichever tool made them.

No host but this machine can be reached: a request to another is counted, and fails.
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import tools  # of tests/site, which the Makefile puts on the path
from playwright.sync_api import (
    Browser,
    ElementHandle,
    Page,
    Playwright,
    Response,
    ViewportSize,
)
from playwright.sync_api import Error as BrowserError

from benchmarks.peers import Peer, Tabs
from benchmarks.serving import compress

WIDE: ViewportSize = {"width": 1400, "height": 900}
PHONE: ViewportSize = {"width": 375, "height": 812}
NO_OTHER_HOST = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
WORD = "device"  # what is searched for
PATIENCE = 5000  # milliseconds
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]

PROBES = Path(__file__).with_name("probes.js").read_text("utf-8")


class Place(NamedTuple):
    """The address of a book, which ends in "/", and the names of its pages."""

    base: str
    page: str
    next_page: str


def launch(playwright: Playwright) -> Browser:
    flags = [*tools.CHROMIUM_FLAGS, NO_OTHER_HOST]
    return playwright.chromium.launch(executable_path=tools.chromium(), args=flags)


@contextmanager
def opened(browser: Browser, url: str, **options: Any) -> Iterator[Page]:
    """A page at `url` in a context of its own."""
    context = browser.new_context(**{"viewport": WIDE, **options})
    try:
        page = context.new_page()
        page.goto(url, wait_until="load")
        yield page
    finally:
        context.close()


def ask(page: Page, tabs: Tabs, probe: str, name: Any = None) -> Any:
    """Return the result of a function of probes.js on a page."""
    return page.evaluate(_function(probe), [tabs._asdict(), name])


def choose(page: Page, tabs: Tabs, framework: str) -> None:
    """Press the first tab of a framework, as a reader would."""
    button = page.evaluate_handle(
        _function("button"), [tabs._asdict(), framework]
    ).as_element()
    assert isinstance(button, ElementHandle)
    button.click(timeout=PATIENCE)


def _function(probe: str) -> str:
    return f"([tabs, name]) => ({PROBES})(tabs, name).{probe}()"


# What a load asks for


def load(browser: Browser, peer: Peer, place: Place) -> dict[str, Any]:
    """Requests, other hosts, and what came, in kB as a host with gzip sends it."""
    asked, came = [], []
    context = browser.new_context(viewport=WIDE)
    page = context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.on("response", lambda response: came.append(response))
    page.goto(place.base + place.page, wait_until="load")
    page.wait_for_load_state("networkidle")
    weights = _weights(came)
    context.close()
    urls = [url for url in asked if url.startswith("http")]
    others = {url.split("/")[2] for url in urls if not url.startswith(place.base)}
    return {
        "requests": len(urls),
        "hosts": sorted(others),
        "weight": sum(weights.values()),
        "js": weights["script"],
        "css": weights["stylesheet"],
    }


def _weights(came: list[Response]) -> dict[str, float]:
    weights: dict[str, float] = defaultdict(float)
    for response in came:
        if response.ok and response.url.startswith("http"):
            body = response.body()
            # A host leaves alone what gains nothing, such as fonts and photographs.
            size = min(len(body), len(compress(body)))
            weights[response.request.resource_type] += size / 1000
    return weights


# Tabs


def panels(browser: Browser, peer: Peer, place: Place) -> dict[str, Any]:
    """Return the numbers of panels: all, those without JavaScript, those in print."""
    url = place.base + place.page
    with opened(browser, url, java_script_enabled=False) as page:
        there = sum(len(set_) for set_ in ask(page, peer.tabs, "panels"))
        shown = _count(page, peer.tabs)
        reached = sum(ask(page, peer.tabs, "reached"))
    with opened(browser, url) as page:
        page.emulate_media(media="print")
        printed = _count(page, peer.tabs)
        page.emulate_media(media="screen")
        printed_all = _print_all(page, peer.tabs)
    return {
        **{"panels": there, "shown": shown, "reached": reached},
        **{"printed": printed, "printed_all": printed_all},
    }


def _count(page: Page, tabs: Tabs) -> int:
    return sum(sum(set_) for set_ in ask(page, tabs, "panels"))


def _print_all(page: Page, tabs: Tabs) -> int | None:
    """The panels in print after the page's own button for that, if it has one."""
    button = page.locator("#print-all")
    if not button.count():
        return None
    page.evaluate("() => { window.print = () => {}; }")
    button.click()
    page.emulate_media(media="print")
    return _count(page, tabs)


def tab_sets(browser: Browser, peer: Peer, place: Place, names: list[str]) -> dict:
    """Roles and keys, and the sets that a framework leaves blank or wrong."""
    blank: set[int] = set()
    wrong = 0
    with opened(browser, place.base + place.page) as page:
        roles = ask(page, peer.tabs, "roles")
        arrows = _arrow_moves(page, peer.tabs, names)
        for name in names:
            choose(page, peer.tabs, name)
            page.wait_for_timeout(200)
            shown = ask(page, peer.tabs, "panels")
            blank |= {i for i, set_ in enumerate(shown) if not any(set_)}
            wrong = max(wrong, ask(page, peer.tabs, "wrong"))
    best = next((r for r in ("tablist", "radio") if r in roles), "none")
    return {
        **{"sets": len(roles), "roles": best, "arrows": arrows},
        **{"wrong": wrong, "blank": len(blank)},
    }


def _arrow_moves(page: Page, tabs: Tabs, names: list[str]) -> bool:
    """Return whether an arrow key on the first framework's tab shows the second."""
    choose(page, tabs, names[0])
    ask(page, tabs, "focus", names[0])
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(200)
    return ask(page, tabs, "isChosen", names[1])


def memory(browser: Browser, peer: Peer, place: Place, name: str) -> dict[str, bool]:
    """Return whether a choice survives a reload and applies to other pages."""
    with opened(browser, place.base + place.page) as page:
        choose(page, peer.tabs, name)
        page.goto(place.base + place.page, wait_until="load")
        kept = _settled(page, peer.tabs, name)
        page.goto(place.base + place.next_page, wait_until="load")
        next_page = _settled(page, peer.tabs, name)
    url = f"{place.base}{place.page}?{peer.tabs.query}={name}"
    with opened(browser, url) as page:
        by_address = _settled(page, peer.tabs, name)
    return {"reload": kept, "next_page": next_page, "by_address": by_address}


def _settled(page: Page, tabs: Tabs, name: str) -> bool:
    page.wait_for_timeout(500)
    return ask(page, tabs, "isChosen", name)


# The page in view


def reading(browser: Browser, peer: Peer, place: Place, name: str) -> dict[str, Any]:
    """Characters of each full line, and the boxes of four tabs on a phone."""
    url = place.base + place.page
    with opened(browser, url) as page:
        lines = ask(page, peer.tabs, "lines")
    phone = {"viewport": PHONE, "is_mobile": True, "has_touch": True}
    with opened(browser, url, **phone) as page:
        boxes = ask(page, peer.tabs, "boxes", name)
    return {
        "lines": lines,
        "tab_height": min(box["height"] for box in boxes),
        "one_row": len({box["top"] for box in boxes}) == 1
        and max(box["right"] for box in boxes) <= PHONE["width"],
    }


def violations(browser: Browser, peer: Peer, place: Place, names: list[str]) -> dict:
    """Serious and critical nodes that axe finds, with any framework chosen.

    `dark` is None where a page has no dark colours.
    """
    found: dict[str, list[str] | None] = {"light": None, "dark": None}
    inks: list[str] = []
    for scheme in found:
        with opened(browser, place.base + place.page, color_scheme=scheme) as page:
            inks.append(ask(page, peer.tabs, "ink"))
            if inks.count(inks[-1]) == 1:
                found[scheme] = _violations(page, peer.tabs, names)
    return found


def _violations(page: Page, tabs: Tabs, names: list[str]) -> list[str]:
    page.evaluate((tools.NODE_MODULES / "axe-core/axe.min.js").read_text("utf-8"))
    nodes: set[str] = set()
    for name in names:
        choose(page, tabs, name)
        nodes.update(ask(page, tabs, "violations", WCAG))
    return sorted(nodes)


# From a disk


def from_disk(browser: Browser, peer: Peer, place: Place, name: str) -> dict[str, Any]:
    """Return whether page, tabs and search work without a server."""
    base = f"{peer.site.as_uri()}/"
    with opened(browser, base + place.page) as page:
        opens = page.locator("h1:visible").count() > 0
        choose(page, peer.tabs, name)
        tabs = _settled(page, peer.tabs, name)
        search = _search(page, base)
    return {"opens": opens, "tabs": tabs, "search": search}


def _search(page: Page, base: str) -> str:
    """Return what a search shows: `none`, `titles`, or `excerpts`."""
    if page.locator("#search-button").count():
        page.locator("#search-button").click()
        page.keyboard.type(WORD)
        results, excerpts = "dialog [role=option]", ".search-excerpt"
    else:
        page.goto(f"{base}search.html?q={WORD}", wait_until="load")
        results, excerpts = "#search-results li", ".context"
    try:
        page.locator(results).first.wait_for(timeout=PATIENCE)
        page.wait_for_timeout(1000)
    except BrowserError:
        return "none"
    texts = page.locator(results).locator(excerpts).all_text_contents()
    return "excerpts" if any(text.strip() for text in texts) else "titles"
