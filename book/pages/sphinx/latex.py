"""The book on paper: what Sphinx writes for LaTeX; a part of the extension.

The preamble beside the page's template gives the look; here the parts of the text
become its commands, in the order of a printed book: what the front page says is a
preface, and each section stands under its chapter.
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
from book.pages.sphinx import machines as sphinx_machines
from book.pages.sphinx import site as sphinx_site
from book.pages.sphinx.tabs import tab_panel, tab_set
from book.sources.tabs import tab_name

# What the font of the text lacks, and the one that stands in for it has.
UNUSUAL = re.compile("[\u0370-\u1dff\u2190-\u2bff]+")
# A block of code no longer than this stands on one page, and so does the output of it
# where both are no longer than that. Of other code some lines stay together.
WHOLE_LINES, WHOLE_CELL_LINES, SOME_LINES = 12, 20, 4
LABEL_LINES, MOST_LINES = 2, 26
FRAME_LINES, NOTE_LINES, RULE_LINES = 2, 2, 3  # with the space around them
LINE_LENGTH, CODE_LENGTH = 80, 91  # characters
LINE = 12  # points
HYPHEN = r"\sphinxhyphen{}"
PICTURE_SCALE = 0.8  # of its size on a screen


# The order of the book


class StandUnderChapters(SphinxPostTransform):
    """Put each file's text where its contents name it, out of the headings there.

    What the first page says before is the preface, whose headings have no numbers.
    """

    default_priority = 300
    formats = ("latex",)

    def run(self, **kwargs: Any) -> None:
        book = next(iter(self.document.findall(nodes.section)), None)
        if book is None:
            return
        files = list(self.document.findall(addnodes.start_of_file))
        for file in files:
            for node in file.children:
                node.parent = file  # Sphinx leaves them the document they come from
        for file in files:
            above = _file_of(file.parent)
            file.parent.remove(file)
            whole = self.document if above is None else above
            next(iter(whole.findall(nodes.section))).append(file)
        self._gather_preface(book)

    def _gather_preface(self, book: nodes.section) -> None:
        said = [
            node
            for node in book.children
            if not isinstance(node, nodes.title | addnodes.start_of_file)
        ]
        files = [n for n in book.children if isinstance(n, addnodes.start_of_file)]
        if not files or not any(node.astext().strip() for node in said):
            return
        preface = nodes.section("", nodes.title(text="Preface"), *said)
        for section in preface.findall(nodes.section):
            section["classes"].append("unnumbered")
        book.children[1:] = []
        book.extend([preface, *files])


def _file_of(node: nodes.Node | None) -> addnodes.start_of_file | None:
    """The file of the book that a node is in, None on the first page."""
    while node is not None and not isinstance(node, addnodes.start_of_file):
        node = node.parent
    return node


class KeepBibliography(SphinxPostTransform):
    """The bibliography stays under its heading; Sphinx would move it to the end."""

    default_priority = 740
    formats = ("latex",)

    def run(self, **kwargs: Any) -> None:
        listed = None
        for entry in list(self.document.findall(nodes.citation)):
            # Sphinx gathers citations, so they are none when it comes to them.
            kept = bibliography_entry("", *entry.children[1:])
            kept["key"] = f"{entry['docname']}:{entry['ids'][0]}"
            if listed is None:
                listed = thebibliography()
                entry.parent.insert(entry.parent.index(entry), listed)
            listed += kept
            entry.parent.remove(entry)
        if listed is not None:
            _name_chapter(listed)


class bibliography_entry(nodes.General, nodes.Element):
    """An entry of the bibliography, which text refers to by its `key`."""


def _name_chapter(listed: nodes.Element) -> None:
    """A chapter that holds nothing but the bibliography has no number."""
    section = listed.parent
    while section is not None and not isinstance(section, nodes.section):
        section = section.parent
    if section is not None and all(_is_bare(n, listed) for n in section.children):
        section["classes"].append("unnumbered")


def _is_bare(node: nodes.Node, listed: nodes.Element) -> bool:
    """Whether a part of a section is its title, or shows nothing but the list."""
    return isinstance(node, nodes.title) or node.astext() in ("", listed.astext())


# Figures that answer


class LeadToInteractive(SphinxPostTransform):
    """The caption of an interactive figure says where it can be touched."""

    default_priority = 390  # before Sphinx makes footnotes of links
    formats = ("latex",)

    def run(self, **kwargs: Any) -> None:
        for figure in self.document.findall(nodes.figure):
            caption = next(figure.findall(nodes.caption), None)
            if caption is not None and sphinx_site.explorable(figure):
                caption += [nodes.Text(" "), *self._way_to(figure)]

    def _way_to(self, figure: nodes.figure) -> list[nodes.Node]:
        if not self.config.book_site:
            return [nodes.emphasis(text="Interactive in the HTML edition.")]
        file = _file_of(figure)
        page = file["docname"] if file is not None else self.config.root_doc
        chosen = self.config.book_tabs
        query = f"?tab={chosen[0]}" if len(chosen) == 1 else ""
        place = figure["ids"][-1] if figure["ids"] else ""
        address = f"{self.config.book_site.rstrip('/')}/{page}.html{query}#{place}"
        return [
            nodes.reference(text="Interactive version", refuri=address),
            nodes.Text("."),
        ]


# LaTeX


class BookLaTeXTranslator(LaTeXTranslator):
    """The text with the commands of the book's preamble."""

    def visit_title(self, node: nodes.Element) -> None:
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
        super().visit_Text(node)
        if not self.literal_whitespace:
            self.body[-1] = UNUSUAL.sub(r"\\bookfallback{\g<0>}", self.body[-1])

    def visit_paragraph(self, node: nodes.Element) -> None:
        kinds = set(node["classes"]) & set(PARAGRAPHS)
        self._keep_with_next(node)
        if not kinds:
            super().visit_paragraph(node)
            return
        command = PARAGRAPHS[kinds.pop()]
        if command == r"\booktablabel":
            command = self._label_of(node.parent)
        self.body.append(f"\n{command}{{{self.encode(node.astext())}}}\n")
        raise nodes.SkipNode

    def _label_of(self, panel: nodes.Element) -> str:
        if isinstance(panel, sphinx_machines.machine_panel):
            return r"\bookmachinelabel"
        if "record" in panel.parent["classes"]:
            return r"\bookrecordlabel"
        return r"\booktablabel"

    def visit_literal_block(self, node: nodes.Element) -> None:
        self._keep_with_next(node)
        super().visit_literal_block(node)

    def _keep_with_next(self, node: nodes.Element) -> None:
        """Ask for the room that a part of the text wants on the page it begins on."""
        self._note_place(node)
        if self.table or (isinstance(node, nodes.paragraph) and not _leads(node)):
            return
        before = _before(node)
        if before is None or not _leads(before):
            wanted = min(self._wanted(node), MOST_LINES)
            self.body.append(f"\n\\bookneed{{{wanted}}}\n")

    def _note_place(self, node: nodes.Element) -> None:
        """Write where a part comes from, for errors; see book/paper/pdf.py."""
        if node.line and not self.table:
            self.body.append(f"\n%% {self.curfilestack[-1]}:{node.line}\n")

    def _wanted(self, node: Any) -> int:
        """The lines that a part takes with what must not part from it."""
        if isinstance(node, tab_set | tab_panel | nodes.section):
            return self._wanted(node.children[0])
        if isinstance(node, nodes.literal_block):
            return self._cell_lines(node)
        if isinstance(node, nodes.table):
            return len(list(node.findall(nodes.row))) + RULE_LINES
        if isinstance(node, nodes.Element) and _leads(node):
            return LABEL_LINES + _text_lines(node) + self._wanted(_after(node))
        return SOME_LINES if isinstance(node, nodes.paragraph) else 0

    def _cell_lines(self, block: nodes.Element) -> int:
        """The lines of a short block and of its outputs; else of a few of its own."""
        lines = _code_lines(block)
        if lines > WHOLE_LINES:
            return SOME_LINES
        node = _after(block)
        while node is not None and _is_output(node) and not _is_output(block):
            drawn = isinstance(node, nodes.image)
            more = self._height(node) if drawn else _code_lines(node)
            if lines + more > WHOLE_CELL_LINES:
                break
            lines += more + FRAME_LINES
            node = _after(node)
        noted = node is not None and "output-note" in node.get("classes", [])
        return lines + FRAME_LINES + NOTE_LINES * noted

    def _height(self, image: nodes.Element) -> int:
        """The lines that a picture stands for."""
        file = self.builder.env.original_image_uri.get(image["uri"], image["uri"])
        _, pixels = imagesize.get(Path(self.builder.srcdir, file))
        return round(pixels * PICTURE_SCALE * 72 / 96 / LINE)

    def visit_math_block(self, node: nodes.Element) -> None:
        self._note_place(node)
        super().visit_math_block(node)

    # Where things are

    def visit_reference(self, node: nodes.Element) -> None:
        super().visit_reference(node)
        address = node.get("refuri", "")
        if address.startswith("%") and not (self.in_title or self.in_caption):
            place = address[1:].replace("#", ":")
            place = place if "#" in address else f"{place}::doc"
            self.context[-1] += self._page_of(place)

    def visit_number_reference(self, node: nodes.Element) -> None:
        with contextlib.suppress(nodes.SkipNode):
            super().visit_number_reference(node)
        if node.get("refid"):
            place = f"{self.curfilestack[-1]}:{node['refid']}"
        else:
            place = node.get("refuri", "")[1:].replace("#", ":")
        if not (self.in_title or self.in_caption):
            self.body.append(self._page_of(place))
        raise nodes.SkipNode

    def visit_math_reference(self, node: nodes.Element) -> None:
        super().visit_math_reference(node)
        if not (self.in_title or self.in_caption):
            self.body.append(
                rf"\bookpage{{equation:{node['docname']}:{node['target']}}}"
            )

    def _page_of(self, place: str) -> str:
        return rf"\bookpage{{{self.idescape(place)}}}"

    # The bibliography

    def visit_thebibliography(self, node: nodes.Element) -> None:
        self.body.append("\n\\begin{sphinxthebibliography}{}\n")

    def visit_bibliography_entry(self, node: bibliography_entry) -> None:
        self.body.append(f"\n\\bookcitation{{{node['key']}}}")

    def depart_bibliography_entry(self, node: bibliography_entry) -> None:
        self.body.append("\n")


# What stands together


def _leads(node: nodes.Element) -> bool:
    """Whether a part must not part from what follows: headings, labels, lead-ins."""
    if isinstance(node, nodes.title) or "tab-label" in node.get("classes", []):
        return True
    if not isinstance(node, nodes.paragraph) or _text_lines(node) > 3:
        return False
    after = _after(node)
    short = isinstance(after, nodes.literal_block | tab_set) and _text_lines(node) < 3
    return short or isinstance(after, nodes.table)


def _is_output(node: nodes.Element) -> bool:
    return "output" in node.get("classes", [])


def _text_lines(node: nodes.Element) -> int:
    return len(node.astext()) // LINE_LENGTH + 1


def _code_lines(node: nodes.Element) -> int:
    return sum(1 + len(line) // CODE_LENGTH for line in node.astext().split("\n"))


def _after(node: nodes.Element) -> nodes.Element | None:
    """What stands after a part beside it, but for bare commands."""
    return _beside(node, 1)


def _before(node: nodes.Element) -> nodes.Element | None:
    """What stands before a part, also if that begins a tab or a section."""
    found = _beside(node, -1)
    if found is None and isinstance(node.parent, tab_set | tab_panel | nodes.section):
        return _before(node.parent)
    return found


def _beside(node: nodes.Element, step: int) -> nodes.Element | None:
    if node.parent is None:
        return None
    around: list[Any] = [n for n in node.parent.children if n is node or _shows(n)]
    place = next(i for i, n in enumerate(around) if n is node) + step
    return around[place] if 0 <= place < len(around) else None


def _shows(node: nodes.Node) -> bool:
    return not isinstance(node, nodes.raw | nodes.target | nodes.comment)


# What a paragraph of these classes becomes.
PARAGRAPHS = {
    "tab-label": r"\booktablabel",
    "output-note": r"\booknote",
    "no-output": r"\booknote",
    "version-notice": r"\booknotice",
}


# Settings


def _settle_config(app: Sphinx, config: Config) -> None:
    """The settings of the LaTeX builder, in place of d2lbook's."""
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
            *(config.root_doc, f"{name}.tex", _escaped(config.project)),
            *(_escaped(config.author), "manual"),
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
        "makeindex": "",
        "printindex": "",
    }
    style = str(TEMPLATES / "figures.css")
    settings.rsvg_converter_args = [f"--zoom={PICTURE_SCALE}", f"--stylesheet={style}"]


def _escaped(text: str) -> str:
    return texescape.escape(text, "xelatex")


def _preamble(config: Any) -> str:
    names = [tab_name(tab) for tab in config.book_tabs]
    edition = names[0] if len(names) == 1 else ""
    metadata = {
        "pdftitle": f"{config.project} ({edition})" if edition else config.project,
        "pdfauthor": config.author,
        "pdfsubject": f"Computing on GPUs with {', '.join(names)}",
        "pdfkeywords": ", ".join([*config.book_keywords, *names]),
        "pdflang": config.language,
    }
    # In a PDF's facts, a hyphen is no command.
    facts = ",".join(
        f"{key}={{{_escaped(value).replace(HYPHEN, '-')}}}"
        for key, value in metadata.items()
    )
    return "\n".join(
        [
            rf"\newcommand*\bookedition{{{_escaped(edition)}}}",
            rf"\newcommand*\bookframeworks{{{_escaped(', '.join(names))}}}",
            rf"\newcommand\bookimprint{{{_imprint(config)}}}",
            (TEMPLATES / "preamble.tex").read_text("utf-8"),
            rf"\hypersetup{{{facts}}}",
        ]
    )


def _imprint(config: Any) -> str:
    """What stands on the back of the title page."""
    said = [rf"\textcopyright\ {_escaped(config.copyright)}"]
    if config.book_site:
        said.append(rf"The HTML edition is at \url{{{config.book_site}}}.")
    return "\\par\n".join(said)


def setup(app: Sphinx) -> None:
    app.add_config_value("book_name", "", "")
    app.add_config_value("book_keywords", [], "")
    app.add_config_value("book_site", "", "env")
    app.add_post_transform(StandUnderChapters)
    app.add_post_transform(KeepBibliography)
    app.add_post_transform(LeadToInteractive)
    app.add_node(bibliography_entry)
    app.set_translator("latex", BookLaTeXTranslator)
    app.connect("config-inited", _settle_config, priority=90)
