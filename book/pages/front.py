"""Writes the article of the front page: a link to start, a card for each section.

An item of a list on the front page that begins with a reference to a section becomes
the card of that section, with its reading time.
"""

from collections.abc import Sequence

from markdown_it.token import Token

from book.merge import Part, parts_of
from book.pages.article import Article
from book.pages.site import address
from book.render.texts import add_class, raw
from book.text.blocks import Figure, Prose
from book.text.section import Section
from book.text.tokens import parse_line

START = '<p class="start"><a href="{}">Start reading</a></p>\n'
NUMBER = '<span class="section-number">{}</span> '
CARD = "section-card"
MACHINE = """\
<nav class="machine" aria-label="Sections by part of the machine">
<p>Sections by part</p>
{}</nav>
"""
PART = """\
<details name="part"><summary>{}</summary>
<ul id="part-{}">
{}</ul>
</details>
"""
MINUTES = '<span class="minutes">{} min</span> '


class FrontPage(Article):
    """The article of the front page."""

    def part(self, part: Part) -> str:
        """Return the HTML of a part; the link to start follows the first text."""
        if not isinstance(part.block, Prose):
            return super().part(part)
        tokens = self.body_of(part.block)
        for i, token in enumerate(tokens):
            if token.type == "list_item_open":
                self._make_card(tokens[i:])
        rendered = super().part(part)
        first = next(p for p, _ in parts_of(self.items) if isinstance(p.block, Prose))
        if part is not first:
            return rendered
        return add_class(rendered, "lead") + self._start()

    def _figure(self, block: Figure) -> str:
        # The first image is in view at once.
        self.lazy = Article.lazy if self.figures else ""
        shown = super()._figure(block)
        is_map = self._file_of(block) == self.site.map.file
        lists = self._lists() if is_map else ""
        return shown.replace("<figcaption", f"{lists}<figcaption")

    def _lists(self) -> str:
        """Return the sections that treat each part of the machine, as folded lists."""
        lists = []
        for part, name in self.site.map.parts.items():
            items = (
                f"<li>{self._numbered_link(section)}</li>\n"
                for section in self.site.book.sections
                if part in self.site.map.parts_of(section)
            )
            lists.append(PART.format(name, part, "".join(items)))
        return MACHINE.format("".join(lists))

    def note(self, tokens: list[Token]) -> None:
        """Add a text to the entries for search, except cards, which repeat sections."""
        if not any(token.attrs.get("class") == CARD for token in tokens):
            super().note(tokens)

    def _numbered_link(self, section: Section) -> str:
        """Return a link to a section, with its number."""
        number = self.site.numbers.pages[section.name]
        label = next(label for label, _ in section.labels)
        link = self.site.word(parse_line(f":ref:`{label}`"))
        return f"{NUMBER.format(number)}{self.texts.line(link)}"

    def _start(self) -> str:
        """Return a link to the first section."""
        _, *pages = self.site.book.sections
        return START.format(address(pages[0].name, "", self.name)) if pages else ""

    def _make_card(self, tokens: Sequence[Token]) -> None:
        """Turn a list item that names a section into a card; `tokens` begin with it.

        The second paragraph of the item says what the section requires.
        """
        item, start, text = tokens[:3]
        link, *rest = text.children or []
        page = self._page_of(link)
        if page is None or start.type != "paragraph_open":
            return
        item.attrSet("class", CARD)
        if rest and rest[0].type == "text":
            rest[0].content = rest[0].content.lstrip(".:, \n")
        number = self.site.numbers.pages[page]
        text.children = [raw(NUMBER.format(number)), link, *rest]
        follows = tokens[4].type == "paragraph_open"
        minutes = self.site.minutes.get(page)
        shown = MINUTES.format(minutes) if minutes else ""
        if follows:
            tokens[4].attrSet("class", "requires")
            tokens[5].children = [raw(shown), *(tokens[5].children or [])]
        else:
            text.children.append(raw(f'</p>\n<p class="requires">{shown}'))

    def _page_of(self, link: Token) -> str | None:
        """Return the page of the section that a reference names, if it names one."""
        if link.type != "role" or link.info != "ref":
            return None
        return self.site.numbers.places[link.content].page
