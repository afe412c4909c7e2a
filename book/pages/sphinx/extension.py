"""The Sphinx extension of the book, which `config.ini` names under `sphinx_configs`.

It sets up the extension's other modules and handles outputs, figures, tables and the
bibliography itself. It processes the output of `book.pages.html` and that of stock
`d2lbook build html --tab all`.
"""

import html
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import imagesize
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

from book.pages import plots
from book.pages.sphinx import appendix as sphinx_appendix
from book.pages.sphinx import folded as sphinx_folded
from book.pages.sphinx import front as sphinx_front
from book.pages.sphinx import glossary as sphinx_glossary
from book.pages.sphinx import machines as sphinx_machines
from book.pages.sphinx import math as sphinx_math
from book.pages.sphinx import predictions as sphinx_predictions
from book.pages.sphinx import references as sphinx_references
from book.pages.sphinx import search as sphinx_search
from book.pages.sphinx import site as sphinx_site
from book.pages.sphinx import solutions as sphinx_solutions
from book.pages.sphinx import tabs as sphinx_tabs

PARTS = (
    sphinx_appendix,
    sphinx_math,
    sphinx_references,
    sphinx_tabs,
    sphinx_machines,
    sphinx_predictions,
    sphinx_folded,
    sphinx_front,
    sphinx_glossary,
    sphinx_site,
    sphinx_search,
    sphinx_solutions,
)


# Outputs


class BookOutput(SphinxDirective):
    """Shows a text exactly as a cell printed it; each line is a JSON string.

    If a line is longer than any table, as error messages are, the page wraps the text.
    On a page, the option `figure` is the name and the settings of an interactive
    figure, and the text becomes its caption.
    """

    widest_table = 92  # nvidia-smi prints 91 columns

    has_content = True
    option_spec = {"class": directives.class_option, "figure": json.loads}

    def run(self) -> list[nodes.Node]:
        """Return the text, below a style for LaTeX."""
        lines = [json.loads(line) for line in self.content]
        text = "\n".join(lines)
        long = any(len(line) > self.widest_table for line in lines)
        classes = ["output", "fold"] if long else ["output"]
        literal = nodes.literal_block(text, text, language="none", classes=classes)
        if figure := self.options.get("figure"):
            number = self.env.new_serialno("figure")
            literal["figure"] = [*figure, f"{figure[0]}-{number + 1}"]
        self.set_source_info(literal)
        style = nodes.raw("", r"\diilbookstyleoutputcell", format="latex")
        return [style, literal]


# Figures and tables

# Code in the narrow columns of a table may break after these characters, and not within
# a name or the HTML tags around the code. After a dot, only a long name begins a line.
IN_CODE_BREAKS = re.compile(r"([(\[=](?=[\w'&-])|\.(?=\w{8}))(?![^<]*>)")

NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
# The space between a number and its unit does not break, and neither does the space
# between an equation and its unit or the place between an equation and punctuation.
UNIT = r"(?:[kMGT]?i?B|[kMGT]bit|[MGT]?FLOPs?)(?:/s)?|[mµn]?s|[MG]Hz|W|%"
BEFORE_UNIT = re.compile(rf"(?<=\d)\s(?=(?:{UNIT})(?![\w/]))")
AFTER_EQUATION = re.compile(rf"\s?(?:(?:{UNIT})(?![\w/]))?[.,;:!?)’]*")


def figure_of_output(text: str, name: str, settings: str, identifier: str) -> str:
    """Return the HTML of an interactive figure that a cell shows."""
    data = sphinx_site.explorable_data(name)
    return (
        f'<figure class="output" id="{html.escape(identifier)}" {data}'
        f' data-settings="{html.escape(settings)}">'
        f"<figcaption>{html.escape(text)}</figcaption></figure>\n"
    )


class DescribeImages(SphinxTransform):
    """Makes the caption of a figure its alternative text, unless it has another."""

    default_priority = 410

    def apply(self, **kwargs: Any) -> None:
        """Set the alternative text of each image."""
        for image in self.document.findall(nodes.image):
            if image.get("alt"):
                continue
            captions = image.parent.findall(nodes.caption)
            image["alt"] = next((c.astext() for c in captions), "")


class InlinePlots(SphinxPostTransform):
    """Makes plots parts of an HTML page, from which they take their colors."""

    default_priority = 50
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Replace the images that are plots."""
        for number, image in enumerate([*self.document.findall(nodes.image)], start=1):
            file = Path(self.env.srcdir, image["uri"])
            if "output" not in image["classes"] or file.suffix != ".svg":
                continue
            svg = file.read_text("utf-8")
            if plot := plots.inline(svg, image["alt"], f"plot-{number}-"):
                # The new node has the classes of the image as well.
                raw = nodes.raw("", plot, format="html", classes=["plotted"])
                image.replace_self(raw)


class LinkSources(SphinxPostTransform):
    """Adds a link to the source at the end of each entry of the bibliography."""

    default_priority = 600

    def run(self, **kwargs: Any) -> None:
        """Add the links to the entries that have an address."""
        domain: Any = self.env.get_domain("cite")
        addresses = {c.citation_id: c.entry.fields.get("url") for c in domain.citations}
        for entry in self.document.findall(nodes.citation):
            text = next(entry.findall(nodes.paragraph), None)
            address = next(filter(None, map(addresses.get, entry["ids"])), None)
            if text is not None and address:
                # A reader of the printed book needs to see the whole address.
                on_paper = self.app.builder.format == "latex"
                shown = address if on_paper else urlsplit(address).hostname or address
                link = nodes.reference(text=shown, refuri=address, internal=False)
                text += [nodes.Text(" "), link]


class BookTranslator(HTML5Translator):
    """Writes valid HTML where docutils 0.19 does not, and gives images their size.

    An image with a size does not move the text when it loads.
    """

    # Headings

    def section_title_tags(self, node: nodes.Element) -> tuple[str, str]:
        """Return the tags of a heading, which is a link to its own section.

        A sign behind the heading would be read as a part of its name. The stylesheet
        shows one beside a heading that is pointed at.
        """
        start, end = super().section_title_tags(node)
        if not node.parent["ids"] or any(True for _ in node.findall(nodes.reference)):
            return start, end
        address = f"#{node.parent['ids'][0]}"
        return f'{start}<a class="heading" href="{address}">', f"</a>{end}"

    def depart_title(self, node: nodes.Element) -> None:
        """Write the end of a heading without the link that Sphinx adds."""
        if isinstance(node.parent, nodes.section):
            self.body.append(self.context.pop())
        else:
            super().depart_title(node)

    def add_permalink_ref(self, node: nodes.Element, title: str) -> None:
        """Write the link of a caption or an equation; the stylesheet has its sign."""
        if node["ids"]:
            address = f"#{node['ids'][0]}"
            name = title.replace("Permalink", "Link")
            self.body.append(
                f' <a class="headerlink" href="{address}" aria-label="{name}"></a>'
            )

    # Images, code and tables

    def visit_image(self, node: nodes.Element) -> None:
        """Write an image with its width and height, which loads when it is needed."""
        width, height = _shown_size(node, Path(self.builder.srcdir, node["uri"]))
        for attribute in ("width", "height"):
            node.attributes.pop(attribute, None)
        super().visit_image(node)
        size = f' width="{width}" height="{height}"' if width else ""
        # The first image of the front page is in view at once.
        is_first = self.builder.current_docname == self.config.root_doc
        is_first = is_first and not any("<img " in text for text in self.body[:-1])
        loading = "" if is_first else ' loading="lazy"'
        self.body[-1] = self.body[-1].replace("<img ", f"<img{loading}{size} ", 1)

    def visit_figure(self, node: nodes.Element) -> None:
        """Write a figure with the name of its interactive version, if it has one."""
        super().visit_figure(node)
        if name := sphinx_site.explorable_name(node):
            tag = self.body[-1]
            data = sphinx_site.explorable_data(name)
            self.body[-1] = tag.replace("<figure", f"<figure {data}")

    def visit_literal_block(self, node: nodes.Element) -> None:
        """Write code or an output, with its kind for readers who do not see it."""
        if figure := node.get("figure"):
            self.body.append(figure_of_output(node.astext(), *figure))
            raise nodes.SkipNode
        kind = "Output" if "output" in node["classes"] else "Code"
        try:
            super().visit_literal_block(node)
        except nodes.SkipNode:  # The block is complete.
            tag = f'<div role="group" aria-label="{kind}" '
            self.body[-1] = self.body[-1].replace("<div ", tag, 1)
            raise

    def visit_table(self, node: nodes.Element) -> None:
        """Write a table in an element that scrolls if the table is too wide."""
        self.body.append('<div class="table-wrapper">\n')
        if sphinx_tabs.mark_columns(node):
            self.body.append(sphinx_tabs.ALL_COLUMNS)
        super().visit_table(node)

    def visit_entry(self, node: nodes.entry) -> None:
        """Write the start of a cell, with the framework that its column is for."""
        super().visit_entry(node)
        if tab := node.get("framework"):
            self.body[-1] = re.sub(
                "(?<=^<t.)", f' data-framework="{tab}"', self.body[-1]
            )

    def depart_table(self, node: nodes.Element) -> None:
        """Write the end of a table."""
        super().depart_table(node)
        self.body.append("</div>\n")

    def visit_Text(self, node: nodes.Text) -> None:
        """Write a text, and mark where its lines may break and where they may not."""
        start = len(self.body)
        super().visit_Text(node)
        words = "".join(self.body[start:])
        del self.body[start:]
        if isinstance(node.parent, nodes.literal):
            if sphinx_site.is_within(node, (nodes.entry,)):
                words = IN_CODE_BREAKS.sub(r"\1<wbr>", words)
        elif not isinstance(node.parent, nodes.literal_block):
            words = BEFORE_UNIT.sub(NO_BREAK_SPACE, words)
            words = self._attach_to_equation(node, words)
        self.body.append(words)

    def _attach_to_equation(self, node: nodes.Text, words: str) -> str:
        """Move a unit and punctuation that begin `words` to the equation before them.

        Return the other words.
        """
        found = AFTER_EQUATION.match(words)
        if not found or not found[0].strip() or not _follows_equation(node):
            return words
        end = found.end()
        ending = re.sub(r"\s", NO_BREAK_SPACE, found[0])
        self.body[-1] = f'<span class="unbroken">{self.body[-1]}{ending}</span>'
        return words[end:]

    def depart_colspec(self, node: nodes.Element) -> None:
        """Omit the width of a column, which would be an inline style."""

    def visit_citation(self, node: nodes.Element) -> None:
        """Write the start of an entry of the bibliography."""
        self.body.append(self.starttag(node, "div", CLASS="citation"))

    def depart_citation(self, node: nodes.Element) -> None:
        """Write the end of an entry of the bibliography."""
        self.body.append("</div>\n")

    def visit_label(self, node: nodes.label) -> None:
        """Omit the label of an entry, since its text begins with the same words."""
        if isinstance(node.parent, nodes.citation):
            raise nodes.SkipNode
        super().visit_label(node)


def _follows_equation(text: nodes.Text) -> bool:
    """Return True if the node before a text is an equation."""
    place = text.parent.index(text) if text.parent else 0
    return place > 0 and isinstance(text.parent[place - 1], nodes.math)


def _shown_size(image: nodes.Element, file: Path) -> tuple[int, int]:
    """Return the width and height of an image on the page in pixels.

    The text may set the width; `file` gives the ratio. Both are 0 if the size of the
    file is not known.
    """
    width, height = imagesize.get(file) if file.exists() else (0, 0)
    set_width = re.fullmatch(r"(\d+)(?:px)?", image.get("width", ""))
    if width <= 0 or height <= 0:
        return 0, 0
    shown = int(set_width[1]) if set_width else width
    return round(shown), round(height * shown / width)


def _remove_empty_bibfiles(app: Sphinx, config: Config) -> None:
    """Remove the empty name that d2lbook sets for a book without a bibliography."""
    bibfiles = getattr(config, "bibtex_bibfiles", [])
    config.bibtex_bibfiles = [f for f in bibfiles if f]  # type: ignore[attr-defined]


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the extension to Sphinx and return its metadata."""
    for part in PARTS:
        part.setup(app)
    # Sphinx does not notice changes of this code and of the site's files by itself.
    app.add_config_value("book_code_hash", "", "env")
    app.add_transform(DescribeImages)
    app.add_post_transform(InlinePlots)
    app.add_post_transform(LinkSources)
    app.add_directive("book-output", BookOutput)
    app.set_translator("html", BookTranslator)
    app.connect("config-inited", _remove_empty_bibfiles, priority=100)
    return {"version": "2", "parallel_read_safe": True, "parallel_write_safe": True}
