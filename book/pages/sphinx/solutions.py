"""Shows solutions below their exercises; a part of the extension.

An exercise ends with "Solution:" and a reference to a label that begins with
`sec_sol_`. The page of the exercise opens that section in place
(`static/solutions.js`). It loads a script with all sections of the page of solutions,
`_static/solutions/PAGE.js`, since a page that is opened from a disk can load scripts
but cannot fetch files.
"""

import json
import posixpath
import re
from pathlib import Path

from bs4 import BeautifulSoup, NavigableString, Tag
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from book.base import build_paths
from book.pages.sphinx.search import HEADINGS, read_article, written_pages

ID = "sec-sol-"  # the start of the id of a solution
WORD = re.compile(r"\bSolution:\s*$")
NUMBER = re.compile(r"^Exercise \d+: ")
RESTATEMENT = re.compile(r"^\s*(?:Exercise \d+ of|It asks)\b")
END_OF_SENTENCE = re.compile(r"\.(?:\s+|$)")
# Attributes that name elements of the page.
NAMING = ("id", "aria-controls", "aria-labelledby")
LINKS = ("href", "xlink:href")
SOURCE = (
    '<p class="solution-source"><span>'
    'Also on <a href="{page}#{anchor}">the page of solutions</a>{code}.</span></p>'
)
SHARED_CODE = ", which starts with the imports and helpers that the code needs"


# The exercises


class MarkSolutionLinks(SphinxPostTransform):
    """Puts the words that lead to a solution into an element of their own."""

    default_priority = 600
    formats = ("html",)

    def run(self, **kwargs: object) -> None:
        """Mark each link to a solution at the end of an exercise."""
        for link in list(self.document.findall(nodes.reference)):
            if f"#{ID}" in link.get("refuri", ""):
                _mark(link)


def _mark(link: nodes.reference) -> None:
    """Mark a link if the paragraph ends with "Solution:", this link and a period."""
    paragraph = link.parent
    start = paragraph.index(link) - 1
    before, *after = paragraph.children[start : start + 1] + paragraph[start + 2 :]
    if not isinstance(before, nodes.Text) or [n.astext() for n in after] != ["."]:
        return
    if word := WORD.search(before):
        sentence = nodes.inline("", word[0], link, *after, classes=["solution-link"])
        rest = nodes.Text(before[: word.start()])
        paragraph.children[start:] = []
        paragraph += [rest, sentence]


# The solutions


def solutions(name: str, page: BeautifulSoup) -> dict[str, str]:
    """Return the HTML of each solution of a page, under the id of its label."""
    labels = page.select(f'section section > span[id^="{ID}"]')
    sections = [label.parent.extract() for label in labels if label.parent]
    shared = SHARED_CODE if page.select_one("div:not(.output) > .highlight") else ""
    return dict(_solution(section, name, shared) for section in sections)


def _solution(section: Tag, page: str, shared: str) -> tuple[str, str]:
    """Return the id of a solution, and its HTML for use on the page of its exercise.

    Links lead to where they lead on `page`; they are relative to its folder. `shared`
    says where to find the code that the solution needs.
    """
    for row in section.select('[data-axis="tab"] > .tab-list'):
        row.decompose()  # the page of the exercise has one already
    label, heading = section.find_all(True, recursive=False)[:2]
    anchor, page = str(label.extract()["id"]), posixpath.basename(page)
    _shorten_heading(heading)
    _remove_restatement(heading.find_next_sibling())
    _rename(section, anchor, page)
    _lower_headings(section)
    code = shared if section.select_one("div:not(.output) > .highlight") else ""
    source = SOURCE.format(page=page, anchor=anchor, code=code)
    return anchor, f"{section.decode_contents().strip()}\n{source}"


def _shorten_heading(heading: Tag) -> None:
    """Remove the number of the section and that of the exercise from a heading."""
    for number in heading.select(".section-number"):
        number.decompose()
    for text in heading.find_all(string=NUMBER):
        text.replace_with(NUMBER.sub("", text))


def _remove_restatement(paragraph: Tag | None) -> None:
    """Remove the sentences in which a solution repeats its exercise."""
    while paragraph and RESTATEMENT.match(paragraph.get_text()):
        _remove_sentence(paragraph)
        if not paragraph.get_text(strip=True):
            paragraph.decompose()
            return


def _remove_sentence(paragraph: Tag) -> None:
    """Remove the first sentence of a paragraph."""
    for child in list(paragraph.children):
        if type(child) is NavigableString and (end := END_OF_SENTENCE.search(child)):
            child.replace_with(child[end.end() :])
            return
        child.extract()


def _rename(section: Tag, anchor: str, page: str) -> None:
    """Give all elements new ids, which begin with `anchor`, and adapt the links."""
    ids = {str(tag["id"]) for tag in section.select("[id]")}

    def renamed(name: str, value: str) -> str:
        if name in NAMING:
            return f"{anchor}-{value}"
        if name in LINKS and value.startswith("#"):
            target = value[1:]
            return f"#{anchor}-{target}" if target in ids else f"{page}#{target}"
        return value.replace("url(#", f"url(#{anchor}-")

    for tag in section.find_all(True):
        for name, value in tag.attrs.items():
            if isinstance(value, str):
                tag[name] = renamed(name, value)


def _lower_headings(section: Tag) -> None:
    """Make each heading, which is a link to itself, a plain heading one level lower."""
    for heading in section.find_all(HEADINGS):
        heading.name = f"h{int(heading.name[1]) + 1}"
        for link in heading.select(".heading"):
            link.unwrap()


def _write_scripts(app: Sphinx, error: Exception | None) -> None:
    """Write a script for each page with solutions at the end of a build."""
    if error or app.builder.format != "html":
        return
    cache = build_paths.cache_beside(Path(app.outdir), "solutions")
    pages = [page for page in written_pages(app).items() if f'id="{ID}' in page[1]]

    def data(page: tuple[str, str]) -> str:
        name, text = page

        def make() -> str:
            return json.dumps(solutions(name, read_article(text)), ensure_ascii=False)

        return cache.value(page, make)

    cache.fill(data, pages)
    for page in pages:
        file = Path(app.outdir, "_static/solutions", page[0]).with_suffix(".js")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"Object.assign(bookSolutions, {data(page)});\n", "utf-8")
    cache.forget_others()


def setup(app: Sphinx) -> None:
    """Add the steps of this module to Sphinx."""
    app.add_post_transform(MarkSolutionLinks)
    app.connect("build-finished", _write_scripts, priority=910)
