"""Writes the previews that appear beside links to other pages.

The data is a script, `previews.js`, because a page that is opened from a disk can load
scripts but cannot fetch files.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from book.merge import Item, Part, parts_of
from book.pages.article import Article, anchor_of
from book.pages.glossary import entries
from book.pages.search import Title
from book.pages.site import id_of_work
from book.text.blocks import (
    Equation,
    Figure,
    Heading,
    Prose,
    References,
    Table,
)

ANNOTATION = re.compile(r"<annotation.*?</annotation>", re.DOTALL)
OPENING = '<div><p class="previewed-title">{}</p>{}</div>'


class Preview(Article):
    """Writes parts of the article `source` without links and ids, for any page.

    The paths of images are relative to the site.
    """

    lazy = ""

    def __init__(self, source: Article):
        super().__init__(source.site, source.section, source.items, source=source)
        mathml = source.texts.mathml
        self.texts.mathml = {tex: ANNOTATION.sub("", mathml[tex]) for tex in mathml}
        self.texts.mentions, self.texts.has_links = {}, False

    def link(self, page: str, name: str, html: str, title: str | None = None) -> str:
        """Return the text of a link."""
        return html

    def id_of(self, name: str) -> str | None:
        """Return None, since no element has an id."""
        return None

    def to_part(self, part: str, html: str) -> str:
        """Return the text of a link to a part of the machine."""
        return html

    def permalink(self, name: str, what: str) -> str:
        """Return nothing."""
        return ""

    def source_of(self, file: str) -> str:
        """Return the address of an image, relative to the site."""
        return f"_images/{file}"

    def script_of(self, name: str) -> str:
        """Return nothing, since figures stay pictures."""
        return ""

    def all(self, titles: Iterator[Title]) -> Iterator[tuple[str, str]]:
        """Yield the id and the preview of each place.

        The preview of a section consists of its title and its first paragraph. `titles`
        are the titles of the page.
        """
        for i, item in enumerate(self.items):
            for part, _ in parts_of([item]):
                match part.block:
                    case Heading():
                        yield self._opening(
                            part.block, next(titles), self.items[i + 1 :]
                        )
                    case Figure() | Equation():
                        yield anchor_of(part.block), self.part(part)
                    case Table():
                        yield anchor_of(part.block), self.table(part.block)
                    case References():
                        for key in self.site.bibliography.formatted:
                            yield id_of_work(key), self.work(key)
                    case Prose() if self.name == self.site.glossary.page:
                        for name, tokens in entries(self.body_of(part.block)):
                            yield name, f"<div>{self.texts.html(tokens)}</div>"

    def _opening(
        self, block: Heading, title: Title, items: Sequence[Item]
    ) -> tuple[str, str]:
        """Return the id of a section, and its title above its first paragraph."""
        shown = OPENING.format(title.numbered, self._first_paragraph(items))
        return anchor_of(block), shown

    def _first_paragraph(self, items: Sequence[Item]) -> str:
        """Return the first paragraph outside of tabs, up to the next heading."""
        for item in items:
            if not isinstance(item, Part):
                continue
            if isinstance(item.block, Heading):
                break
            if isinstance(item.block, Prose):
                tokens = self.body_of(item.block)
                if tokens and tokens[0].type == "paragraph_open":
                    return self.texts.html(tokens[:3])
        return ""


def script(previews: Mapping[str, str]) -> str:
    """Return the script with the previews by their addresses."""
    lines = ",\n".join(
        f"{json.dumps(name)}: {json.dumps(html, ensure_ascii=False)}"
        for name, html in sorted(previews.items())
    )
    return f"bookPreviews = {{\n{lines}\n}};\n"
