"""A section shows what it is about before its first long piece of code."""

import pytest
from browsing import BOOK, Visitor, each

# Pages to look things up, and appendices.
OTHERS = ("quick-guide", "glossary", "solutions", "tools", "more-", "rank-", "refer")
NAMES = [s.name for s in BOOK.sections if s.name.startswith("chapter_gpus/")]
SECTIONS = [
    f"{name}.html" for name in NAMES if not name.split("/")[1].startswith(OTHERS)
]
FIRST_PICTURE = """() => {
  const first = (names) => [...document.querySelectorAll(names)]
    .find((element) => element.checkVisibility())?.getBoundingClientRect();
  const picture = first("article :is(figure, .output img, .plotted)");
  return picture ? picture.top - first("article > section > p").bottom : Infinity;
}"""


@pytest.mark.parametrize("path", each(SECTIONS))
def test_the_first_screen_has_a_picture(open_http_page: Visitor, path: str):
    """The picture begins within 800 pixels below the first paragraph."""
    page = open_http_page(path, viewport={"width": 1280, "height": 800})
    assert page.evaluate(FIRST_PICTURE) <= 800
