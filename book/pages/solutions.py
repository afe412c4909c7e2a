"""Writes solutions for use below their exercises.

An exercise ends with "Solution:" and a reference to a label that begins with
`sec_sol_`. The page of the exercise opens that section in place
(`static/solutions.js`). It loads a script with all sections of the page of solutions,
`_static/solutions/PAGE.js`, since a page that is opened from a disk can load scripts
but cannot fetch files.
"""

import copy
import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from markdown_it.token import Token

from book.merge import Item, Part, parts_of
from book.pages.article import SOLUTION, Article, anchor_of
from book.pages.search import Title
from book.pages.site import address
from book.text.blocks import Cell, Heading, Labelled, Prose

NUMBER = re.compile(r"^Exercise \d+: ")
RESTATEMENT = re.compile(r"^\s*(?:Exercise \d+ of|It asks)\b")
END_OF_SENTENCE = re.compile(r"\.(?:\s+|$)")
SOURCE = (
    '<p class="solution-source"><span>'
    'Also on <a href="{page}#{name}">the page of solutions</a>{code}.</span></p>'
)
SHARED_CODE = ", which starts with the imports and helpers that the code needs"


class Solution(Article):
    """A solution of the page `source`, for use on the page of its exercise.

    Its first item is its heading. Links lead to where they lead on its own page; they
    are relative to the folder of that page.
    """

    def __init__(self, source: Article, items: list[Item]):
        super().__init__(source.site, source.section, items, source=source)
        labelled = [
            p.block for p, _ in parts_of(items) if isinstance(p.block, Labelled)
        ]
        self.anchors = {anchor_of(block) for block in labelled}
        self.prefix = f"{anchor_of(labelled[0])}-"

    def html_below(self, shares_code: bool) -> str:
        """Return the solution, and where else it is.

        If it `shares_code`, the code on its page that comes first is needed for it.
        """
        heading, *rest = self.items
        assert isinstance(heading, Part)
        title = self.texts.line(self.caption_of(heading.block))
        shown = f"<h3>{NUMBER.sub('', title)}</h3>\n"
        first = rest[0] if rest else None
        if isinstance(first, Part) and isinstance(first.block, Prose):
            shown += self.texts.html(without_restatement(self.body_of(first.block)))
            rest.pop(0)
        shown += "".join(map(self.item, rest)) + self._end_sections(0)
        has_code = any(isinstance(part.block, Cell) for part, _ in parts_of(rest))
        code = SHARED_CODE if has_code and shares_code else ""
        page, name = posixpath.basename(self.name), self.prefix.removesuffix("-")
        return shown + SOURCE.format(page=f"{page}.html", name=name, code=code)

    def _title(self, title: Title) -> str:
        """Return a heading below that of the solution, which is no link."""
        tag = f"h{title.level + 1}"
        return f"<{tag}>{title.html}</{tag}>"

    def address(self, page: str, name: str) -> str:
        """Return the address of an id on a page, from the page of the exercise."""
        if page != self.name:
            return address(page, name, self.name)
        if name in self.anchors:
            return f"#{self.prefix}{name}"
        return f"{posixpath.basename(page)}.html#{name}"


def solutions(article: Article) -> Iterator[tuple[str, str]]:
    """Yield the id of each solution of a page, and its HTML."""
    starts = [i for i, item in enumerate(article.items) if _heading(item)]
    shares_code, has_begun = False, False
    for start, end in pairwise([*starts, len(article.items)]):
        items = article.items[start:end]
        heading = _heading(items[0])
        if heading and heading.level > 1 and heading.label.startswith(SOLUTION):
            has_begun = True
            solution = Solution(article, items)
            html = solution.html_below(shares_code)
            yield solution.prefix.removesuffix("-"), html
        elif not has_begun:
            shares_code |= any(isinstance(p.block, Cell) for p, _ in parts_of(items))


def _heading(item: Item) -> Heading | None:
    """Return the heading that an item is, unless it is one within a solution."""
    block = item.block if isinstance(item, Part) else None
    return block if isinstance(block, Heading) and block.level <= 2 else None


def without_restatement(tokens: list[Token]) -> list[Token]:
    """Return a text without the sentences in which a solution repeats its exercise."""
    if len(tokens) < 3 or tokens[1].type != "inline":
        return tokens
    start, text, end, *rest = tokens
    children = list(text.children or [])
    while children and RESTATEMENT.match(_words(children)):
        children = _without_sentence(children)
    text = copy.copy(text)
    text.children = children
    return [start, text, end, *rest] if _words(children).strip() else rest


def _words(children: list[Token]) -> str:
    return "".join(child.content for child in children)


def _without_sentence(children: list[Token]) -> list[Token]:
    """Return the tokens of a text after its first sentence."""
    for i, child in enumerate(children):
        end = END_OF_SENTENCE.search(child.content) if child.type == "text" else None
        if end:
            rest = copy.copy(child)
            rest.content = child.content[end.end() :]
            return [rest, *children[i + 1 :]]
    return []


def script(solutions: Mapping[str, str], answers: str = "") -> str:
    """Return the script with the solutions of a page, and the encoded answers."""
    data = json.dumps(solutions, ensure_ascii=False)
    line = f"Object.assign(bookSolutions, {data});\n"
    return f'{line}bookAnswers = "{answers}";\n' if answers else line
