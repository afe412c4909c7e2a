"""Writes the previews that appear beside links to other pages.

The data is a script, `previews.js`, because a page that is opened from a disk can load
scripts but cannot fetch files.
"""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import takewhile

from book.merge import Item, Part, parts_of
from book.pages.article import Article, anchor_of
from book.pages.term_links import entries
from book.refs.targets import id_of_work
from book.text.blocks import Equation, Figure, Heading, Prose, References, Table

OPENING = '<div><p class="previewed-title">{}</p>{}</div>'
# A preview leaves out the TeX of equations, links (but not their texts), the
# settings of images and interactive figures. It is for any page of the site.
LEFT_OUT = re.compile(
    r'<annotation.*?</annotation>| <a class="headerlink".*?</a>|</?a\b[^>]*>'
    r'| loading="lazy"| data-(?:explorable|scripts)="[^"]*"',
    re.DOTALL,
)
PARENTS = re.compile(r'(?<= src=")(?:\.\./)+')
ID = re.compile(r' id="[^"]*"')


def previews(article: Article) -> Iterator[tuple[str, str]]:
    """Yield the id and the preview of each place on a page.

    The preview of a section consists of its title and its first paragraph.
    """
    site, items = article.site, article.items
    again = Article(site, article.section, items, source=article)
    titles = iter(article.titles)
    for i, item in enumerate(items):
        for part, _ in parts_of([item]):
            match part.block:
                case Heading() as heading:
                    below = takewhile(_is_no_heading, items[i + 1 :])
                    shown = again.texts.html(again.first_paragraph(below))
                    title = next(titles).numbered
                    yield anchor_of(heading), OPENING.format(title, _reduced(shown))
                case Figure() | Equation() as block:
                    yield anchor_of(block), _without_id(again.part(part))
                case Table() as table:
                    yield anchor_of(table), _without_id(again.table(table))
                case References():
                    for key in site.bibliography.formatted:
                        yield id_of_work(key), _without_id(again.work(key))
                case Prose() as block if article.name == site.glossary.page:
                    for name, tokens in entries(again.body_of(block)):
                        yield name, f"<div>{_reduced(again.texts.html(tokens))}</div>"


def _is_no_heading(item: Item) -> bool:
    return not (isinstance(item, Part) and isinstance(item.block, Heading))


def _without_id(html: str) -> str:
    """Return the preview of an element that has an id on its page."""
    return _reduced(ID.sub("", html, count=1))


def _reduced(html: str) -> str:
    return PARENTS.sub("", LEFT_OUT.sub("", html))


def script(previews: Mapping[str, str]) -> str:
    """Return the script with the previews by their addresses."""
    lines = ",\n".join(
        f"{json.dumps(name)}: {json.dumps(html, ensure_ascii=False)}"
        for name, html in sorted(previews.items())
    )
    return f"bookPreviews = {{\n{lines}\n}};\n"
