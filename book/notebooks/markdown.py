"""The text of a section as a notebook shows it: Markdown without d2lbook's marks.

References become links, citations author and year, figures images in the notebook
itself, and equations get their numbers.
"""

import base64
import html
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from d2lbook.slides import remove_slide_marks
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_notebook

from book.base.errors import BookError
from book.notebooks.figures import Picture, picture
from book.sources.bibliography import Bibliography
from book.sources.book import Section
from book.sources.numbers import Numbers, Place

FENCED = re.compile(r"^(`{3,}|~{3,})[^\n]*\n.*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
NOT_FOR_NOTEBOOKS = re.compile(r"(?:`{3,}|~{3,}) *(toc|eval_rst)\b")
HEADING = re.compile(
    r"^(?P<level>#{1,6}) +(?P<title>.*\S)[ \t]*(?:\n+:label:`(?P<label>[^`\n]+)`)?$",
    re.MULTILINE,
)
FIGURE = re.compile(
    r"^!\[(?P<caption>[^\n]*)\]\((?P<path>[^\s)]+)"
    r'(?:\s+"(?P<alt>(?:[^"\\\n]|\\.)*)")?\)[ \t]*'
    r"(?P<options>(?:\n:(?:label|width|height):`[^`\n]+`)*)$",
    re.MULTILINE,
)
OPTION = re.compile(r":(label|width|height):`([^`]+)`")
EQUATION = re.compile(
    r"\$\$(?P<body>(?:(?!\$\$).)+)\$\$[ \t]*\n:eqlabel:`(?P<label>[^`\n]+)`", re.DOTALL
)
# A table's caption stands in front of it, the label behind.
TABLE = re.compile(
    r"(?:^:(?P<caption>[^:`\n][^\n]*)\n+)?(?P<rows>^\|[^\n]*(?:\n\|[^\n]*)*)"
    r"(?:\n+:label:`(?P<label>[^`\n]+)`)?$",
    re.MULTILINE,
)
# A role, or code and equations, in which nothing is one.
INLINE = re.compile(
    r":(?P<role>[a-z_]+):`(?P<value>[^`]+)`|(?P<tick>`+)(?:(?!(?P=tick)).)+(?P=tick)"
    r"|\$\$.+?\$\$|\$[^$\n]+\$",
    re.DOTALL,
)
WITHOUT_TEXT = ("label", "eqlabel", "width", "height")
API = ("class", "func", "mod")
SHORT = {"figure": "Fig. ", "table": "Table ", "section": "Section ", "equation": ""}
SLIDE_MARK = re.compile(r"[\[(](?:\*\*|~~)")
BLANK_LINES = re.compile(r"\n{3,}")

Link = Callable[[Place], str]


@dataclass
class Writer:
    """Writes the text cells of one notebook, in their order.

    `link` is the address of a place in another section, `on_site` that on the book's
    site, empty where there is none. With `inline` images stand in the text itself,
    otherwise they are attachments.
    """

    section: Section
    numbers: Numbers
    bibliography: Bibliography
    link: Link
    on_site: Link
    inline: bool = False
    cited: dict[str, None] = field(default_factory=dict)
    headings: int = 0
    attachments: dict[str, dict[str, str]] = field(default_factory=dict)

    def cell(self, source: str) -> NotebookNode:
        """A text cell that shows `source`, which is as the Markdown has it."""
        self.attachments = {}
        cell = new_markdown_cell(self.text(source))
        if self.attachments:
            cell["attachments"] = NotebookNode(self.attachments)
        return cell

    def text(self, source: str) -> str:
        """`source` in Markdown that every notebook knows."""
        source = _without_slide_marks(source)
        written = _around(FENCED, source, self._fence, self._prose)
        return BLANK_LINES.sub("\n\n", written).strip("\n")

    def references(self) -> NotebookNode | None:
        """The works that were cited, if any."""
        if not self.cited:
            return None
        entries = self.bibliography.entries(self.cited)
        return new_markdown_cell(f"## References\n\n{entries}")

    def _fence(self, fence: re.Match[str]) -> str:
        if found := NOT_FOR_NOTEBOOKS.match(fence[0]):
            what = f"a notebook cannot show a block of {found[1]}; move it out of here"
            raise BookError(what, self.section.where(fence[0]))
        return fence[0]

    def _prose(self, text: str) -> str:
        text = HEADING.sub(self._heading, text)
        text = EQUATION.sub(self._equation, text)
        text = TABLE.sub(self._table, text)
        return _around(FIGURE, text, self._figure, self._lines)

    def _lines(self, text: str) -> str:
        return INLINE.sub(self._inline, text)

    # Blocks

    def _heading(self, found: re.Match[str]) -> str:
        numbers = self.numbers.headings[self.section.name]
        number = numbers[self.headings] if self.headings < len(numbers) else ""
        self.headings += 1
        prefix = f"{number}. " if number else ""
        head = f"{found['level']} {prefix}{found['title']}"
        # The title is where a link to the notebook leads.
        labelled = found["label"] and len(found["level"]) > 1
        return f"{head}\n\n{_anchor(found['label'])}" if labelled else head

    def _equation(self, found: re.Match[str]) -> str:
        number = self.numbers.places[found["label"]].number
        body = found["body"].rstrip()
        return f"{_anchor(found['label'])}\n$${body} \\tag{{{number}}}$$"

    def _table(self, found: re.Match[str]) -> str:
        if not found["label"]:
            caption = (found["caption"] or "").strip()
        else:
            number = self.numbers.places[found["label"]].number
            head = f"{_anchor(found['label'])}**Table {number}.**"
            caption = f"{head} {(found['caption'] or '').strip()}".strip()
        return f"{caption}\n\n{found['rows']}" if caption else found["rows"]

    def _figure(self, found: re.Match[str]) -> str:
        options = dict(OPTION.findall(found["options"]))
        image = picture((self.section.path.parent / found["path"]).resolve())
        caption, label = self._lines(found["caption"]), options.get("label")
        alt = re.sub(r"\\(.)", r"\1", found["alt"] or "") or _plain(caption)
        width = options.get("width", "").removesuffix("px") or image.width
        size = f' width="{width}"' if width else ""
        shown = f'<img src="{self._source(image)}" alt="{html.escape(alt)}"{size}>'
        if label:
            place = self.numbers.places[label]
            # In the line of the image, it would be at the foot of it.
            shown = f"{_anchor(label)}\n\n{shown}"
            caption = f"**Fig. {place.number}.** {caption}{self._answers(found, place)}"
        return f"{shown}\n\n{caption}".rstrip()

    def _answers(self, figure: re.Match[str], place: Place) -> str:
        """Where the figure is interactive, for a notebook shows it as it begins."""
        script = Path(figure["path"]).with_suffix(".js").name
        root = self.numbers.book.root
        if not (root / "static" / "explorables" / script).exists():
            return ""
        address = self.on_site(place)
        edition = f"[the HTML edition]({address})" if address else "the HTML edition"
        return f" In {edition} this figure is interactive."

    def _source(self, image: Picture) -> str:
        data = base64.b64encode(image.data).decode()
        if self.inline:
            return f"data:{image.mime};base64,{data}"
        self.attachments[image.name] = {image.mime: data}
        return f"attachment:{image.name}"

    # What stands in a line

    def _inline(self, found: re.Match[str]) -> str:
        role, value = found["role"], found["value"]
        if role is None:
            return found[0]
        where = self.section.where(f":{role}:`{value}`")
        if role in ("ref", "numref", "eqref"):
            return self._reference(role, value, where)
        if role in ("cite", "citep", "citet"):
            keys = [key.strip() for key in value.split(",")]
            self.cited |= dict.fromkeys(keys)
            return self.bibliography.cited(keys, where, role == "citet")
        if role in API:
            return f"`{value.lstrip('~')}`"
        if role in WITHOUT_TEXT:
            return ""
        raise BookError(f"a notebook cannot show the role '{role}'; write words", where)

    def _reference(self, role: str, label: str, where: str) -> str:
        place = self.numbers.places.get(label)
        if place is None:
            raise BookError(f"no label '{label}'; add it or mend the name", where)
        words = _words(role, place)
        if place.page == self.section.name:
            return f"[{words}](#{label})"
        address = self.link(place)
        return f"[{words}]({address})" if address else words


def _around(
    pattern: re.Pattern[str],
    text: str,
    found: Callable[[re.Match[str]], str],
    rest: Callable[[str], str],
) -> str:
    """`text` with what the pattern matches, and what is between, each written anew."""
    written, end = [], 0
    for match in pattern.finditer(text):
        written += [rest(text[end : match.start()]), found(match)]
        end = match.end()
    return "".join([*written, rest(text[end:])])


def _words(role: str, place: Place) -> str:
    """What a reference says."""
    if place.kind == "equation":
        return f"({place.number})"
    if role == "ref" and place.title or not place.number:
        return place.title or place.label
    title = f": {place.title}" if place.title else ""
    return f"{SHORT[place.kind]}{place.number}{title}"


def _anchor(label: str) -> str:
    return f'<a id="{label}"></a>'


def _plain(caption: str) -> str:
    """A caption without its links and marks."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)|[*`]", r"\1", caption)


def _without_slide_marks(source: str) -> str:
    if not SLIDE_MARK.search(source):
        return source
    cell = new_markdown_cell(source)
    return remove_slide_marks(new_notebook(cells=[cell])).cells[0].source
