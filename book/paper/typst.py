"""Writes the tokens of a text as Typst, with the functions of `templates/book.typ`."""

import re
from collections.abc import Mapping, Sequence, Set

from markdown_it.token import Token

SPECIAL = re.compile(r"([\\*_`$#\[\]<>@~\"'/=+-])")
NUMBERED = re.compile(r"^(\s*\d+)([.)])", re.MULTILINE)
LISTS = {"bullet_list_open": "list", "ordered_list_open": "enum"}
# What is written for tokens that mean the same wherever they are. In markup, each call
# ends with a semicolon, since a bracket after it would be an argument.
CALLS = {
    "paragraph_close": "\n\n",
    "list_item_open": "[",
    "list_item_close": "],\n",
    "bullet_list_close": ")\n\n",
    "ordered_list_close": ")\n\n",
    "blockquote_open": "#quote(block: true)[",
    "blockquote_close": "]\n\n",
    "table_open": "#plain-table(",
    "thead_open": "(",
    "thead_close": "), (",
    "th_close": "]),",
    "td_open": "[",
    "td_close": "],",
    "tr_close": "\n",
    "table_close": "))\n\n",
    "em_close": "];",
    "strong_open": "#strong[",
    "strong_close": "];",
    "link_close": "];",
    "hardbreak": "#linebreak();",
}
# The name of a page, which is a chapter or an appendix in print.
OF_SECTION = re.compile(r"^Section~(\w+)$")
THIS_SECTION = re.compile(r"\b([Tt]his\s+)section\b")
CHAPTERS = {"section": "chapter", "sections": "chapters", "Sections": "Chapters"}
SECTIONS = re.compile(rf"\b({'|'.join(CHAPTERS)})\b")
# An equation of up to this many characters of TeX is not parted from its ending.
SHORT_EQUATION = 30


class Markup:
    """Writes texts as Typst markup; `cited` holds the keys of works that they cite.

    `math` holds the Typst of each equation under its TeX, and `chapters` the labels of
    the pages that are chapters in print.
    """

    def __init__(self, math: Mapping[str, str], chapters: Set[str]):
        self.math, self.chapters = math, chapters
        self.cited: set[str] = set()
        self.has_pages = True  # behind references
        self.brackets = 0  # that are open in the text
        # What a section of the screen is in print, and its depth below the front page.
        self.unit, self.depth = "chapter", 1

    def text(self, tokens: Sequence[Token]) -> str:
        """Return paragraphs, lists, quotations, listings, tables and lines as Typst."""
        parts = []
        for place, token in enumerate(tokens):
            if token.type in LISTS:
                # Within a list are an item and a paragraph, which is hidden if tight.
                tight = str(tokens[place + 2].hidden).lower()
                start = "".join(f", start: {n}" for n in token.attrs.values())
                parts.append(f"#{LISTS[token.type]}(tight: {tight}{start}, ")
            else:
                parts.append(self._token(token))
        return "".join(parts)

    def caption(self, tokens: Sequence[Token]) -> str:
        """Return a title or a caption, whose references have no pages behind them."""
        self.has_pages = False
        text = self.text(tokens)
        self.has_pages = True
        return text

    def _token(self, token: Token) -> str:
        is_code = token.type == "code_inline"
        entries = token.meta.get("entries", {}).items()
        entered = "".join(entry(name, is_code, is_main) for name, is_main in entries)
        match token.type:
            case "inline":
                self.brackets = 0
                return self.text(token.children or [])
            case "text":
                self.brackets += token.content.count("(") - token.content.count(")")
                return f"{entered}{escape(self._of_chapters(token.content))}"
            case "code_inline":
                return f"{entered}#raw({string(token.content)});"
            case "em_open":
                return f"{entered}#emph["
            case "math":
                return self._equation(token)
            case "role":
                return self.text(token.children or [])
            case "reference":
                return self._reference(token)
            case "link_open":
                noted = "" if token.markup != "autolink" else ", noted: false"
                return f"#web({string(str(token.attrs['href']))}{noted})["
            case "fence":
                return code(token.content.rstrip("\n"), token.info.strip() or "text")
            case "th_open":
                align = str(token.attrs.get("style", "text-align:left"))
                return f"({align.partition(':')[2]}, ["
            case "paragraph_close" if token.hidden:
                return ""
        return CALLS.get(token.type, "")

    def _of_chapters(self, text: str) -> str:
        """Return a text in which what is a chapter in print is not called a section."""
        if self.depth == 0:
            return SECTIONS.sub(lambda found: CHAPTERS[found[0]], text)
        return THIS_SECTION.sub(rf"\1{self.unit}", text) if self.depth == 1 else text

    def _equation(self, token: Token) -> str:
        """Return an equation, which is not parted from a short ending."""
        typst = f"#formula({string(token.content)}, ${self.math[token.content]}$);"
        ending = escape(token.meta.get("ending", ""))
        whole = ending and len(token.content) < SHORT_EQUATION
        return f"#box[{typst}{ending}];" if whole else f"{typst}{ending}"

    def _reference(self, token: Token) -> str:
        """Return a link to a place, or to the entry of a work."""
        text, to = self.text(token.children or []), token.meta["to"]
        if token.info == "work":
            self.cited.add(to)
            return f"#cited({string(f'cite-{to}')})[{text}];"
        if token.info == "number":
            text = text.replace(" ", "~")
            if to in self.chapters:
                text = OF_SECTION.sub(_of_chapter, text)
            if self.brackets > 0:  # no brackets within brackets
                text = text.removeprefix("(").removesuffix(")")
        term = token.meta.get("term", "")
        paged = "" if self.has_pages else ", paged: false"
        paged += f", term: {string(term)}" if term else ""
        within = ", within: true" if self.brackets > 0 else ""
        return f"#refer({string(to)}{paged}{within})[{text}];"


def _of_chapter(name: re.Match[str]) -> str:
    kind = "Chapter" if name[1].isdigit() else "Appendix"
    return f"{kind}~{name[1]}"


def escape(text: str) -> str:
    """Return markup that shows a text unchanged."""
    return NUMBERED.sub(r"\1\\\2", SPECIAL.sub(r"\\\1", text))


def string(text: str) -> str:
    """Return a string of Typst."""
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{quoted}"'


def code(source: str, language: str, mark: str = "", has_outputs: bool = False) -> str:
    """Return a block of code, which is on the page of its outputs if it is short.

    `mark` is the number of the listing.
    """
    facts = f", mark: {string(mark)}" if mark else ""
    facts += ", sticky: true" if has_outputs else ""
    return f"#code({string(source)}, {string(language)}{facts})\n"


def entry(name: str, is_code: bool, is_main: bool = False) -> str:
    """Return an entry of the index for the place where it is."""
    main = ", main: true" if is_main else ""
    return f"#entry({string(name)}, {str(is_code).lower()}{main});"
