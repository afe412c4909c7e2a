"""A page with all interactive figures and the book's policy."""

import shutil
from pathlib import Path

from playwright.sync_api import Page, expect

from book.library.figures import scripts_of
from book.pages.site_files import write_explorables
from book.text.book import Book

ROOT = Path(__file__).parents[2]
EXPLORABLES = ROOT / "static" / "explorables"
NAMES = (
    *("two-devices", "queue", "worth-moving", "memory-timeline", "allocator"),
    *("roofline", "sectors", "warps", "collectives", "plans", "workers", "server"),
    *("turns", "map", "audit", "race", "checkpoints", "pipeline", "buckets"),
    *("fuse", "adapt", "trace", "shards", "decide", "clock", "loop"),
    *("pinned", "tiles", "stages"),
)
SCRIPTS = dict.fromkeys(script for name in NAMES for script in scripts_of(name))
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'"
)
PAGE = """<!DOCTYPE html>
<html lang="en" data-tab="pytorch">
<head><meta charset="utf-8"><title>Figures</title>
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="static/explorables/explorables.css">
<link rel="stylesheet" href="page.css"></head>
<body><main><h1>Figures</h1>{figures}</main>
{scripts}<script src="start.js"></script></body></html>
"""
FIGURE = """<figure id="fig-{0}" data-explorable="{0}"><img src="img/{0}.svg" alt="{0}">
<figcaption>Caption of {0}.</figcaption></figure>
"""
COLOURS = """:root { color-scheme: light dark; --text: light-dark(#1c1e21, #e6e8ea);
--quiet: light-dark(#4b5058, #b4b9c0); --page: light-dark(#fff, #131416); }
body { margin: 0; color: var(--text); background: var(--page); }
figure { margin: 1rem 0; } main { padding: 0 1rem; } img { max-width: 100%; }
"""
START = """for (const figure of document.querySelectorAll("[data-explorable]"))
  bookExplorables[figure.dataset.explorable](figure);
"""


def write_page(folder: Path) -> Path:
    """Write the page and the files that it loads, and return its path."""
    shutil.copytree(EXPLORABLES, folder / "static" / "explorables")
    write_explorables(Book(ROOT), folder / "static" / "explorables")
    (folder / "img").mkdir()
    for name in NAMES:
        shutil.copy(ROOT / "img" / f"{name}.svg", folder / "img")
    tag = '<script src="static/explorables/{}.js"></script>'
    scripts = "".join(map(tag.format, SCRIPTS))
    figures = "".join(map(FIGURE.format, NAMES))
    page = PAGE.format(policy=POLICY, figures=figures, scripts=scripts)
    (folder / "page.html").write_text(page, "utf-8")
    (folder / "page.css").write_text(COLOURS, "utf-8")
    (folder / "start.js").write_text(START, "utf-8")
    return folder / "page.html"


def result(page: Page, name: str) -> str:
    """Return the result of a figure in words, which changes at once."""
    text = page.locator(f"#fig-{name} .result").inner_text()
    return text.replace("\N{NO-BREAK SPACE}", " ")


def settle(page: Page, name: str) -> None:
    """Wait until a figure that was changed has put its setting into the address.

    At the same moment it tells screen readers its result.
    """
    expect(page.locator(f"#fig-{name} .announced")).to_have_text(result(page, name))
