"""Writes the book as LaTeX in the order of a printed book; a part of the extension.

The text of the front page becomes a preface, and each section is placed under its
chapter. `preamble.tex` beside the templates of pages defines the look of all parts.
"""

import contextlib
import re
from pathlib import Path
from typing import Any

import imagesize
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders.latex.nodes import thebibliography
from sphinx.config import Config
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import texescape
from sphinx.writers.latex import LaTeXTranslator

from book.base.paths import TEMPLATES
from book.pages.sphinx import book_index, contents
from book.pages.sphinx import machines as sphinx_machines
from book.pages.sphinx import site as sphinx_site
from book.pages.sphinx.tabs import tab_panel, tab_set
from book.sources.tabs import tab_name

# Characters that the text font lacks and the fallback font has.
FALLBACK_CHARACTERS = re.compile("[\u0370-\u1dff\u2190-\u2bff]+")
# Code in the narrow columns of a table may break after these characters, as LaTeX
# escapes them. Long code in a text may break there too, but not close to its ends.
CODE_BREAKS = re.compile(r"(?:\.|\\_|\(|\{\[\}|=)(?=[^\s)])")
LONG_CODE_BREAKS = re.compile(rf"(?<=.{{4}}){CODE_BREAKS.pattern}(?=.{{4}})")
INDEX_BREAKS = re.compile(r"\.|\\_")  # as in the narrow columns of the index
# Lines of code that belong to the next line: the first lines of definitions.
FIRST_LINES = re.compile(
    r"^ *(?:\\PYG\{\+w\}\{ *\})?\\PYG\{(?:k\}\{(?:def|class)\}|n\+nd\}\{@).*$", re.M
)
FIRST_LINE = re.compile(r" *(?:(?:def|class)\b|@)")  # the same in plain text
BLANK_LINES = re.compile(r"^(?=\n(?!\\end))", re.M)
# Code of up to WHOLE_LINES lines is kept on one page, together with its outputs if both
# have up to WHOLE_CELL_LINES. Of longer code, the first SOME_LINES are kept together.
WHOLE_LINES, WHOLE_CELL_LINES, SOME_LINES = 12, 20, 4
LABEL_LINES, ITEM_LINES, MOST_LINES = 2, 5, 26
FRAME_LINES, NOTE_LINES, RULE_LINES = 2, 2, 3  # with the space around them
LINE_LENGTH, CODE_LENGTH = 80, 91  # characters
LONG_CODE = 18  # characters
LINE_HEIGHT = 12  # points
HYPHEN = r"\sphinxhyphen{}"
PICTURE_SCALE = 0.8  # relative to the size on a screen


LISTS = nodes.bullet_list | nodes.enumerated_list

# The order of the book


class MoveUnderChapters(SphinxPostTransform):
    """Moves the text of each file to the end of the file whose contents name it.

    The text of the first page becomes the preface, whose headings have no numbers.
    """

    default_priority = 300
    formats = ("latex",)

    def run(self, **kwargs: Any) -> None:
        """Move the files and make the preface."""
        book = next(iter(self.document.findall(nodes.section)), None)
        if book is None:
            return
        files = list(self.document.findall(addnodes.start_of_file))
        for file in files:
            for node in file.children:
                node.parent = file  # Sphinx does not update the parents of nodes.
        for file in files:
            above = contents.file_around(file)
            file.parent.remove(file)
            root = self.document if above is None else above
            next(iter(root.findall(nodes.section))).append(file)
        self._make_preface(book)

    def _make_preface(self, book: nodes.section) -> None:
        """Put the text of the first page into a preface, if the page has text."""
        text = [
            node
            for node in book.children
            if not isinstance(node, nodes.title | addnodes.start_of_file)
        ]
        files = [n for n in book.children if isinstance(n, addnodes.start_of_file)]
        if not files or not any(node.astext().strip() for node in text):
            return
        preface = nodes.section("", nodes.title(text="Preface"), *text)
        for section in preface.findall(nodes.section):
            section["classes"].append("unnumbered")
        book.children[1:] = []
        book.extend([preface, *files])


class KeepBibliography(SphinxPostTransform):
    """Keeps the bibliography under its heading; Sphinx would move it to the end."""

    default_priority = 740
    formats = ("latex",)

    def run(self, **kwargs: Any) -> None:
        """Replace the citations with a list of entries in the same place."""
        bibliography = None
        for citation in list(self.document.findall(nodes.citation)):
            # Sphinx would move nodes of the type `citation`.
            entry = bibliography_entry("", *citation.children[1:])
            entry["key"] = f"{citation['docname']}:{citation['ids'][0]}"
            if bibliography is None:
                bibliography = thebibliography()
                place = citation.parent.index(citation)
                citation.parent.insert(place, bibliography)
            bibliography += entry
            citation.parent.remove(citation)
        if bibliography is not None:
            _unnumber_bibliography(bibliography)


class bibliography_entry(nodes.General, nodes.Element):
    """An entry of the bibliography, which text refers to by its `key`."""


def _unnumber_bibliography(bibliography: nodes.Element) -> None:
    """Remove the number of a chapter that holds only the bibliography."""
    section = bibliography.parent
    while section is not None and not isinstance(section, nodes.section):
        section = section.parent
    if section is not None and all(
        isinstance(node, nodes.title) or node.astext() in ("", bibliography.astext())
        for node in section.children
    ):
        section["classes"].append("unnumbered")


# Interactive figures


class LinkInteractiveFigures(SphinxPostTransform):
    """Adds a link to the interactive version of a figure to its caption."""

    default_priority = 390  # before Sphinx turns links into footnotes
    formats = ("latex",)

    def run(self, **kwargs: Any) -> None:
        """Extend the caption of each interactive figure."""
        for figure in self.document.findall(nodes.figure):
            caption = next(figure.findall(nodes.caption), None)
            if caption is not None and sphinx_site.explorable_name(figure):
                caption += [nodes.Text(" "), *self._link(figure)]

    def _link(self, figure: nodes.figure) -> list[nodes.Node]:
        """Return a link to a figure, or a note if the book has no address yet."""
        if not self.config.book_site:
            return [nodes.emphasis(text="Interactive in the HTML edition.")]
        file = contents.file_around(figure)
        page = file["docname"] if file is not None else self.config.root_doc
        tabs = self.config.book_tabs
        query = f"?tab={tabs[0]}" if len(tabs) == 1 else ""
        anchor = figure["ids"][-1] if figure["ids"] else ""
        address = f"{self.config.book_site.rstrip('/')}/{page}.html{query}#{anchor}"
        return [
            nodes.reference(text="Interactive version", refuri=address),
            nodes.Text("."),
        ]


# LaTeX


class BookLaTeXTranslator(LaTeXTranslator):
    """Writes the text with the commands of the book's preamble."""

    def visit_title(self, node: nodes.Element) -> None:
        """Write a heading, with the command for one without a number if need be."""
        self._keep_with_next(node)
        start = len(self.body)
        super().visit_title(node)
        if "unnumbered" not in node.parent.get("classes", []):
            return
        command = self.body[start]
        if command == r"\chapter{":
            self.body[start] = r"\bookchapter{"
        else:
            self.body[start] = command.replace("{", "*{", 1)

    def visit_Text(self, node: nodes.Text) -> None:
        """Write a text, with the fallback font for characters that need it."""
        super().visit_Text(node)
        if not self.literal_whitespace:
            fallback = r"\\bookfallback{\g<0>}"
            self.body[-1] = FALLBACK_CHARACTERS.sub(fallback, self.body[-1])
        if not isinstance(node.parent, nodes.literal):
            return
        if self.table:
            code = CODE_BREAKS.sub(r"\g<0>\\allowbreak{}", self.body[-1])
            self.body[-1] = rf"\scriptsize {code}"
        elif len(node) > LONG_CODE:
            code = LONG_CODE_BREAKS.sub(r"\g<0>\\bookbreak{}", self.body[-1])
            self.body[-1] = code

    def visit_paragraph(self, node: nodes.Element) -> None:
        """Write a paragraph, or the command for a label or a note."""
        kinds = set(node["classes"]) & set(PARAGRAPHS)
        command = PARAGRAPHS[kinds.pop()] if kinds else ""
        if command == r"\booktablabel":
            command = self._label_command(node.parent)
        if command == r"\booktablabel":
            self.body.append("\n\\bookleavetab\n")
        self._keep_with_next(node)
        if not command:
            super().visit_paragraph(node)
            return
        self.body.append(f"\n{command}{{{self.encode(node.astext())}}}\n")
        raise nodes.SkipNode

    def _label_command(self, panel: nodes.Element) -> str:
        """Return the command for the label of a panel."""
        if isinstance(panel, sphinx_machines.machine_panel):
            return r"\bookmachinelabel"
        if "record" in panel.parent["classes"]:
            return r"\bookrecordlabel"
        return r"\booktablabel"

    def visit_bullet_list(self, node: nodes.Element) -> None:
        """Write a list, whose only item may belong on the page of the code below."""
        if _leads_in(node):
            self._keep_with_next(node)
        super().visit_bullet_list(node)

    def visit_enumerated_list(self, node: nodes.Element) -> None:
        """Write a list, whose only item may belong on the page of the code below."""
        if _leads_in(node):
            self._keep_with_next(node)
        super().visit_enumerated_list(node)

    def visit_literal_block(self, node: nodes.Element) -> None:
        """Write code or an output, with marks where its page must not end."""
        self._keep_with_next(node)
        start = len(self.body)
        try:
            super().visit_literal_block(node)
        finally:
            code = "".join(self.body[start:])
            code = BLANK_LINES.sub(r"\\bookblankline{}", code)
            code = FIRST_LINES.sub(r"\g<0>\\bookfirstline{}", code)
            self.body[start:] = [code]

    def visit_index_entry(self, node: nodes.Element) -> None:
        """Write an entry of the index."""
        text = node["text"]
        shown = self.encode(text).replace(HYPHEN, "-")
        if node["code"]:
            shown = INDEX_BREAKS.sub(r"\g<0>\\allowbreak {}", shown)
            shown = rf"\sphinxcode {{{shown}}}"
        # LaTeX sorts apart what differs in spaces, and it adds these in some places.
        self.body.append(rf"\index{{{text}@\spxentry {{{shown}}}}}")
        raise nodes.SkipNode

    def _keep_with_next(self, node: nodes.Element) -> None:
        """Write how many lines must fit on the page on which a node begins."""
        self._write_source_line(node)
        if self.table or (isinstance(node, nodes.paragraph) and not _leads_in(node)):
            return
        previous = _previous(node)
        if previous is None or not _leads_in(previous):
            lines = min(self._lines_to_keep(node), MOST_LINES)
            self.body.append(f"\n\\bookneed{{{lines}}}\n")

    def _write_source_line(self, node: nodes.Element) -> None:
        """Write the source line of a node as a comment for `book.paper.pdf`."""
        if node.line and not self.table:
            self.body.append(f"\n%% {self.curfilestack[-1]}:{node.line}\n")

    def _lines_to_keep(self, node: Any) -> int:
        """Return the number of lines of a node and of those that belong on its page."""
        is_group = isinstance(node, tab_set | tab_panel | nodes.section)
        if is_group and not _leads_in(node):
            return self._lines_to_keep(node.children[0])
        if isinstance(node, nodes.literal_block):
            return self._cell_lines(node)
        if isinstance(node, nodes.table):
            return len(list(node.findall(nodes.row))) + RULE_LINES
        if isinstance(node, nodes.Element) and _leads_in(node):
            lines = len(node) if isinstance(node, tab_set) else _text_lines(node)
            return LABEL_LINES + lines + self._lines_to_keep(_next(node))
        is_text = isinstance(node, nodes.paragraph | nodes.math_block | LISTS)
        return SOME_LINES if is_text else 0

    def _cell_lines(self, block: nodes.Element) -> int:
        """Return the number of lines of a block of code to keep on one page.

        They are all lines of a short block with its outputs, or some of a long one.
        """
        lines = _code_lines(block)
        if lines > WHOLE_LINES:
            return _unbroken_lines(block.astext().split("\n")) + FRAME_LINES
        node = _next(block)
        while node is not None and _is_output(node) and not _is_output(block):
            is_picture = isinstance(node, nodes.image)
            more = self._height(node) if is_picture else _code_lines(node)
            if lines + more > WHOLE_CELL_LINES:
                break
            lines += more + FRAME_LINES
            node = _next(node)
        has_note = node is not None and "output-note" in node.get("classes", [])
        return lines + FRAME_LINES + NOTE_LINES * has_note

    def _height(self, image: nodes.Element) -> int:
        """Return the height of a picture in lines of text."""
        file = self.builder.env.original_image_uri.get(image["uri"], image["uri"])
        _, pixels = imagesize.get(Path(self.builder.srcdir, file))
        return round(pixels * PICTURE_SCALE * 72 / 96 / LINE_HEIGHT)

    def visit_math_block(self, node: nodes.Element) -> None:
        """Write a displayed equation below its source line."""
        self._write_source_line(node)
        super().visit_math_block(node)

    # Page numbers of references

    def visit_reference(self, node: nodes.Element) -> None:
        """Write a link, and the page that it leads to if that is in the book."""
        super().visit_reference(node)
        address = node.get("refuri", "")
        if address.startswith("%") and not (self.in_title or self.in_caption):
            label = address[1:].replace("#", ":")
            label = label if "#" in address else f"{label}::doc"
            self.context[-1] += self._page_of(label)

    def visit_number_reference(self, node: nodes.Element) -> None:
        """Write a reference by number and the page that it leads to."""
        with contextlib.suppress(nodes.SkipNode):
            super().visit_number_reference(node)
        if node.get("refid"):
            label = f"{self.curfilestack[-1]}:{node['refid']}"
        else:
            label = node.get("refuri", "")[1:].replace("#", ":")
        if not (self.in_title or self.in_caption):
            self.body.append(self._page_of(label))
        raise nodes.SkipNode

    def visit_math_reference(self, node: nodes.Element) -> None:
        """Write the number of an equation and its page."""
        super().visit_math_reference(node)
        if not (self.in_title or self.in_caption):
            self.body.append(
                rf"\bookpage{{equation:{node['docname']}:{node['target']}}}"
            )

    def _page_of(self, label: str) -> str:
        """Return the command for the page of a label."""
        return rf"\bookpage{{{self.idescape(label)}}}"

    # The bibliography

    def visit_thebibliography(self, node: nodes.Element) -> None:
        """Write the start of the bibliography."""
        self.body.append("\n\\begin{sphinxthebibliography}{}\n")

    def visit_bibliography_entry(self, node: bibliography_entry) -> None:
        """Write the key of an entry."""
        self.body.append(f"\n\\bookcitation{{{node['key']}}}")

    def depart_bibliography_entry(self, node: bibliography_entry) -> None:
        """Write the end of an entry."""
        self.body.append("\n")


# Nodes that belong on one page


def _leads_in(node: nodes.Element) -> bool:
    """Return True for what must be on the same page as the node below it.

    These are headings, labels, the list of what made the outputs, text with a colon,
    short text between a heading and a text, and short text or a single item above code.
    """
    is_label = {"tab-label", "record"} & set(node.get("classes", []))
    if isinstance(node, nodes.title) or is_label:
        return True
    following, lines = _next(node), _text_lines(node)
    is_item = isinstance(node, LISTS) and len(node) == 1
    if following is None or lines > 12:
        return False
    above_code = isinstance(following, nodes.literal_block | tab_set | nodes.table)
    if not isinstance(node, nodes.paragraph):
        return is_item and above_code and lines <= ITEM_LINES
    if isinstance(_sibling(node, -1), nodes.title) and lines < 3:
        return above_code or isinstance(following, nodes.paragraph)
    is_short = lines <= 3 if isinstance(following, nodes.table) else lines < 3
    return (above_code and is_short) or node.astext().rstrip().endswith(":")


def _is_output(node: nodes.Element) -> bool:
    return "output" in node.get("classes", [])


def _text_lines(node: nodes.Element) -> int:
    """Return an estimate of the number of lines of a text."""
    return len(node.astext()) // LINE_LENGTH + 1


def _code_lines(node: nodes.Element) -> int:
    """Return the number of lines of code, in which long lines are folded."""
    return sum(1 + len(line) // CODE_LENGTH for line in node.astext().split("\n"))


def _unbroken_lines(lines: list[str]) -> int:
    """Return how many of the first lines of long code the preamble keeps together."""
    number = SOME_LINES
    while number < len(lines) and (
        not lines[number].strip()
        or any(map(FIRST_LINE.match, lines[number - 2 : number]))
    ):
        number += 1
    return number


def _next(node: nodes.Element) -> nodes.Element | None:
    """Return the visible sibling after a node."""
    return _sibling(node, 1)


def _previous(node: nodes.Element) -> nodes.Element | None:
    """Return the visible sibling before a node, or before its tab or section."""
    previous = _sibling(node, -1)
    if previous is None and isinstance(
        node.parent, tab_set | tab_panel | nodes.section
    ):
        return _previous(node.parent)
    return previous


def _sibling(node: nodes.Element, step: int) -> nodes.Element | None:
    """Return the visible sibling of a node that many steps away, or None."""
    if node.parent is None:
        return None
    siblings: list[Any] = [
        n for n in node.parent.children if n is node or _is_visible(n)
    ]
    index = next(i for i, n in enumerate(siblings) if n is node) + step
    return siblings[index] if 0 <= index < len(siblings) else None


def _is_visible(node: nodes.Node) -> bool:
    hidden = nodes.raw | nodes.target | nodes.comment | book_index.index_entry
    return not isinstance(node, hidden)


# The commands for paragraphs of these classes.
PARAGRAPHS = {
    "tab-label": r"\booktablabel",
    "output-note": r"\booknote",
    "no-output": r"\booknote",
    "version-notice": r"\booknotice",
}


# Settings


def _set_options(app: Sphinx, config: Config) -> None:
    """Replace d2lbook's settings of the LaTeX builder."""
    texescape.init()
    settings: Any = config
    name = settings.book_name or Path(settings.latex_documents[0][1]).stem
    settings.latex_engine = "xelatex"
    settings.latex_show_urls = "footnote"
    settings.latex_show_pagerefs = False
    settings.latex_domain_indices = False
    settings.latex_table_style = ["booktabs"]
    settings.latex_documents = [
        (
            *(config.root_doc, f"{name}.tex", _escape(config.project)),
            *(_escape(config.author), "manual"),
        )
    ]
    settings.latex_elements = {
        "papersize": "a4paper",
        "pointsize": "11pt",
        "extraclassoptions": "oneside,openany",
        "fncychap": "",
        "fontpkg": "",
        "fvset": r"\fvset{fontsize=\bookcodesize}",
        "figure_align": "H",
        "preamble": _preamble(config),
        "maketitle": r"\bookmaketitle",
        "makeindex": r"\makeindex",
        "printindex": r"\printindex",
    }
    style = str(TEMPLATES / "figures.css")
    settings.rsvg_converter_args = [f"--zoom={PICTURE_SCALE}", f"--stylesheet={style}"]


def _escape(text: str) -> str:
    """Return LaTeX that shows a text unchanged."""
    return texescape.escape(text, "xelatex")


def _preamble(config: Any) -> str:
    """Return the preamble of the book, with the metadata of the PDF."""
    names = [tab_name(tab) for tab in config.book_tabs]
    edition = names[0] if len(names) == 1 else ""
    metadata = {
        "pdftitle": f"{config.project} ({edition})" if edition else config.project,
        "pdfauthor": config.author,
        "pdfsubject": f"Computing on GPUs with {', '.join(names)}",
        "pdfkeywords": ", ".join([*config.book_keywords, *names]),
        "pdflang": config.language,
    }
    # The command for a hyphen is not allowed in the metadata of a PDF.
    facts = ",".join(
        f"{key}={{{_escape(value).replace(HYPHEN, '-')}}}"
        for key, value in metadata.items()
    )
    return "\n".join(
        [
            rf"\newcommand*\bookedition{{{_escape(edition)}}}",
            rf"\newcommand*\bookframeworks{{{_escape(', '.join(names))}}}",
            rf"\newcommand\bookimprint{{{_imprint(config)}}}",
            (TEMPLATES / "preamble.tex").read_text("utf-8"),
            rf"\hypersetup{{{facts}}}",
        ]
    )


def _imprint(config: Any) -> str:
    """Return the text on the back of the title page."""
    paragraphs = [rf"\textcopyright\ {_escape(config.copyright)}"]
    if config.book_site:
        paragraphs.append(rf"The HTML edition is at \url{{{config.book_site}}}.")
    return "\\par\n".join(paragraphs)


def setup(app: Sphinx) -> None:
    """Add the steps and settings of this module to Sphinx."""
    app.add_config_value("book_name", "", "")
    app.add_config_value("book_keywords", [], "")
    app.add_config_value("book_site", "", "env")
    app.add_post_transform(MoveUnderChapters)
    app.add_post_transform(KeepBibliography)
    app.add_post_transform(LinkInteractiveFigures)
    app.add_node(bibliography_entry)
    book_index.setup(app)
    contents.setup(app)
    app.set_translator("latex", BookLaTeXTranslator)
    app.connect("config-inited", _set_options, priority=90)
