"""The Sphinx extension of the book, which `config.ini` names under `sphinx_configs`.

It sets up the extension's other modules and handles outputs, figures, tables and the
bibliography itself. It processes the output of `book.pages.html` and that of stock
`d2lbook build html --tab all`.
"""

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

from book.pages.sphinx import front as sphinx_front
from book.pages.sphinx import latex as sphinx_latex
from book.pages.sphinx import machines as sphinx_machines
from book.pages.sphinx import math as sphinx_math
from book.pages.sphinx import references as sphinx_references
from book.pages.sphinx import search as sphinx_search
from book.pages.sphinx import site as sphinx_site
from book.pages.sphinx import tabs as sphinx_tabs

PARTS = (
    sphinx_math,
    sphinx_references,
    sphinx_tabs,
    sphinx_machines,
    sphinx_front,
    sphinx_site,
    sphinx_search,
    sphinx_latex,
)


# Outputs


class BookOutput(SphinxDirective):
    """Shows a text exactly as a cell printed it; each line is a JSON string.

    If a line is longer than any table, as error messages are, the page wraps the text.
    """

    widest_table = 92  # nvidia-smi prints 91 columns

    has_content = True
    option_spec = {"class": directives.class_option}

    def run(self) -> list[nodes.Node]:
        """Return the text, below a style for LaTeX."""
        lines = [json.loads(line) for line in self.content]
        text = "\n".join(lines)
        long = any(len(line) > self.widest_table for line in lines)
        classes = ["output", "fold"] if long else ["output"]
        literal = nodes.literal_block(text, text, language="none", classes=classes)
        self.set_source_info(literal)
        style = nodes.raw("", r"\diilbookstyleoutputcell", format="latex")
        return [style, literal]


# Figures and tables

# Code in the narrow columns of a table may break after these characters, but not within
# the HTML tags around the code.
IN_CODE_BREAKS = re.compile(r"([_(\[=/]|\.(?!\d))(?=[\w'&-])(?![^<]*>)")


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

    def visit_image(self, node: nodes.Element) -> None:
        """Write an image with its width and height, which loads when it is needed."""
        width, height = _shown_size(node, Path(self.builder.srcdir, node["uri"]))
        for attribute in ("width", "height"):
            node.attributes.pop(attribute, None)
        super().visit_image(node)
        size = f' width="{width}" height="{height}"' if width else ""
        tag = self.body[-1]
        self.body[-1] = tag.replace("<img ", f'<img loading="lazy"{size} ', 1)

    def visit_figure(self, node: nodes.Element) -> None:
        """Write a figure with the name of its interactive version, if it has one."""
        super().visit_figure(node)
        if name := sphinx_site.explorable_name(node):
            tag = self.body[-1]
            self.body[-1] = tag.replace("<figure", f'<figure data-explorable="{name}"')

    def visit_table(self, node: nodes.Element) -> None:
        """Write a table in an element that scrolls if the table is too wide."""
        self.body.append('<div class="table-wrapper">\n')
        super().visit_table(node)

    def depart_table(self, node: nodes.Element) -> None:
        """Write the end of a table."""
        super().depart_table(node)
        self.body.append("</div>\n")

    def visit_Text(self, node: nodes.Text) -> None:
        """Write a text; code in a table may break after punctuation."""
        start = len(self.body)
        super().visit_Text(node)
        if isinstance(node.parent, nodes.literal) and sphinx_site.is_within(
            node, (nodes.entry,)
        ):
            words = self.body[start:]
            self.body[start:] = [IN_CODE_BREAKS.sub(r"\1<wbr>", word) for word in words]

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
    app.add_post_transform(LinkSources)
    app.add_directive("book-output", BookOutput)
    app.set_translator("html", BookTranslator)
    app.connect("config-inited", _remove_empty_bibfiles, priority=100)
    return {"version": "2", "parallel_read_safe": True, "parallel_write_safe": True}
