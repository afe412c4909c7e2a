"""Puts an article into its page, with the contents of the book and of the page.

A page loads one stylesheet and one script. Its content security policy allows nothing
else: no other host, and no inline script except the one that applies the reader's
choices before the page is painted.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rjsmin import jsmin

from book.base.paths import STATIC
from book.pages.buttons import Buttons
from book.pages.hosting import EDITIONS, Hosting
from book.pages.search import Title
from book.pages.site import address
from book.records.store import RecordState
from book.render.templates import render_template
from book.render.texts import attribute
from book.text.book import Book
from book.text.section import Section
from book.text.tabs import tab_name

THEMES = ["auto", "light", "dark"]
LINK = re.compile(r"</?a\b[^>]*>")
POLICY = (
    "default-src 'none'; script-src 'self' '{script}'; style-src 'self';"
    " img-src 'self' data:; font-src 'self'; connect-src 'self'; worker-src blob:;"
    " base-uri 'none'; form-action 'none'"
)


@dataclass(frozen=True)
class Written:
    """The article of a section, and all data derived from it.

    `above` and `below` are its HTML above and below the buttons of the page. `records`
    are its entries for search, `referred` lists the places on other pages that it links
    to, and `previews` and `solutions` map ids to HTML. `answers` are those of exercises
    that its solutions have, encoded. `figures` are the paths of its
    pictures, `images` the pictures that its cells drew, and `states` the states of its
    records.
    """

    above: str
    below: str
    titles: list[Title]
    records: list[dict[str, Any]]
    referred: list[tuple[str, str]]
    previews: dict[str, str]
    solutions: dict[str, str]
    answers: str
    minutes: int
    description: str
    figures: list[str]
    images: dict[str, bytes]
    states: list[RecordState]


class Pages:
    """Writes the pages of a book from the article `written` for each section.

    `machines` lists the machines whose outputs are shown. `has_editions` says whether
    the list of editions is beside the pages.
    """

    def __init__(
        self,
        book: Book,
        written: Mapping[str, Written],
        buttons: Buttons,
        machines: Sequence[str],
        hosting: Hosting,
        has_editions: bool,
    ):
        self.book = book
        self.written = written
        self.buttons = buttons
        self.choices = choices(book.tabs, machines)
        self.early = early_script(self.choices)
        self.site = hosting.site
        self.edition = _link_to_editions(hosting.edition, has_editions)

    def page(self, section: Section) -> str:
        """Return the page of a section."""
        name, written = section.name, self.written[section.name]
        front, at = self.book.sections[0], self.book.sections.index(section)
        is_front = section is front
        return render_template(
            "page.html",
            written=written,
            title=written.titles[0].text,
            is_front=is_front,
            root="../" * name.count("/"),
            front=self._link(front.name, name),
            project=self.book.config.project,
            choices=self.choices,
            beside=self.book.setting("pages", "beside"),
            tab_names={tab: tab_name(tab) for tab in self.book.tabs},
            early=self.early,
            policy=policy(self.early),
            address=self.site and f"{self.site}/{'' if is_front else f'{name}.html'}",
            card=f"{self.site}/_static/card.png",
            edition=self.edition,
            buttons=self.buttons.get(name, {}),
            parts=list(self._parts(section)),
            before=self._neighbor(at - 1, name),
            after=self._neighbor(at + 1, name),
            # A table of contents that holds only the title does not help. The front
            # page is the contents of the book.
            contents="" if is_front or len(written.titles) < 2 else toc(written.titles),
        )

    def _link(self, page: str, here: str) -> str:
        return "#" if page == here else address(page, "", here)

    def _neighbor(self, at: int, here: str) -> dict[str, str] | None:
        """Return the address and the title of a page by its position; None outside."""
        if not 0 <= at < len(self.book.sections):
            return None
        page = self.book.sections[at].name
        title = self.written[page].titles[0].numbered
        return {"link": address(page, "", here), "title": title}

    # The contents of the book

    def _parts(self, section: Section) -> Iterator[dict[str, Any]]:
        """Yield the parts of the book with their pages.

        The part that contains the page is open; on the front page, the first part is.
        Pages outside of all parts are grouped under the title "".
        """
        titles = {page: title for title, pages in self.book.parts for page in pages}
        groups: dict[str, list[Section]] = {}
        for page in self.book.below(self.book.sections[0]):
            groups.setdefault(titles.get(page, ""), []).append(page)
        current = titles.get(section, next(iter(groups), ""))
        for title, pages in groups.items():
            items = "".join(self._item(page, section) for page in pages)
            yield {"title": title, "pages": items, "is_open": title == current}

    def _item(self, page: Section, here: Section) -> str:
        """Return the entry of a page, with its subpages if the reader is there."""
        below = self.book.below(page)
        link = attribute("href", self._link(page.name, here.name))
        current = ' aria-current="page"' if page is here else ""
        title = numbered(self.written[page.name].titles[0])
        items = "".join(self._item(other, here) for other in below)
        inner = f"<ul>\n{items}</ul>\n" if below and here in (page, *below) else ""
        return f"<li><a{current}{link}>{title}</a>{inner}</li>\n"


def _link_to_editions(edition: str, has_list: bool) -> dict[str, str] | None:
    """Return the link below a page to the list of editions, and its text.

    An edition is in a folder beside the list.
    """
    if edition:
        return {"link": f"../{EDITIONS}", "text": f"Edition {edition}"}
    return {"link": EDITIONS, "text": "All editions"} if has_list else None


def numbered(title: Title) -> str:
    """Return the HTML of a heading with its number, for links in contents."""
    html = LINK.sub("", title.html)
    return f"{title.number}. {html}" if title.number else html


def toc(titles: Sequence[Title]) -> str:
    """Return the contents of a page as nested lists."""
    html, above = "", 0
    for i, title in enumerate(titles):
        ends = "</li>\n" + "</ul>\n</li>\n" * (above - title.level)
        html += "<ul>\n" if title.level > above else ends
        html += f'<li><a href="#{title.name if i else ""}">{numbered(title)}</a>'
        above = title.level
    return html + "</li>\n</ul>\n" * above


# The choices of readers


def choices(tabs: Sequence[str], machines: Sequence[str]) -> dict[str, list[str]]:
    """Return the values of each choice of the reader; the first is the default."""
    return {
        "tab": [*tabs],
        "beside": ["none", *tabs],  # the second framework of a comparison
        "differences": ["on", "off"],
        "machine": [*machines],
        "predict": ["on", "off"],  # whether outputs are covered until readers predict
        "code": ["folded", "shown"],
        "theme": THEMES,
    }


def early_script(choices: Mapping[str, list[str]]) -> str:
    """Return the inline script of a page with these choices."""
    script = str(jsmin((STATIC / "early.js").read_text("utf-8")))
    return script.replace("KNOWN", json.dumps(choices))


def policy(script: str) -> str:
    """Return the content security policy of a page with one inline script."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return POLICY.format(script=f"sha256-{digest}")
