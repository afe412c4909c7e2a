"""The Sphinx extension of the book: its parts, and what is left of the page's text.

It handles the output of `book.pages.html` and of stock `d2lbook build html --tab all`;
`config.ini` names it under `[build] sphinx_configs`.
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
from book.pages.sphinx import numbers as sphinx_numbers
from book.pages.sphinx import search as sphinx_search
from book.pages.sphinx import site as sphinx_site
from book.pages.sphinx import tabs as sphinx_tabs

PARTS = (
    sphinx_math,
    sphinx_numbers,
    sphinx_tabs,
    sphinx_machines,
    sphinx_front,
    sphinx_site,
    sphinx_search,
    sphinx_latex,
)


# Outputs


class BookOutput(SphinxDirective):
    """A text exactly as a cell printed it: its lines as JSON strings.

    Lines longer than any table's, such as error messages, are folded on the page.
    """

    widest_table = 92  # nvidia-smi prints 91 columns

    has_content = True
    option_spec = {"class": directives.class_option}

    def run(self) -> list[nodes.Node]:
        lines = [json.loads(line) for line in self.content]
        text = "\n".join(lines)
        long = any(len(line) > self.widest_table for line in lines)
        classes = ["output", "fold"] if long else ["output"]
        literal = nodes.literal_block(text, text, language="none", classes=classes)
        self.set_source_info(literal)
        style = nodes.raw("", r"\diilbookstyleoutputcell", format="latex")
        return [style, literal]


# Figures and tables


class DescribeImages(SphinxTransform):
    """A figure without a text of its own is described by its caption."""

    default_priority = 410

    def apply(self, **kwargs: Any) -> None:
        for image in self.document.findall(nodes.image):
            if image.get("alt"):
                continue
            captions = image.parent.findall(nodes.caption)
            image["alt"] = next((c.astext() for c in captions), "")


class LinkSources(SphinxPostTransform):
    """An entry of the bibliography ends with a link to its source, if it has one."""

    default_priority = 600

    def run(self, **kwargs: Any) -> None:
        known: Any = self.env.get_domain("cite")
        addresses = {c.citation_id: c.entry.fields.get("url") for c in known.citations}
        for entry in self.document.findall(nodes.citation):
            text = next(entry.findall(nodes.paragraph), None)
            address = next(filter(None, map(addresses.get, entry["ids"])), None)
            if text is not None and address:
                # Paper shows where the link leads.
                on_paper = self.app.builder.format == "latex"
                shown = address if on_paper else urlsplit(address).hostname or address
                link = nodes.reference(text=shown, refuri=address, internal=False)
                text += [nodes.Text(" "), link]


class BookTranslator(HTML5Translator):
    """Valid HTML where docutils 0.19 writes other, and images that keep their place."""

    def visit_image(self, node: nodes.Element) -> None:
        width, height = _shown_size(node, Path(self.builder.srcdir, node["uri"]))
        for attribute in ("width", "height"):
            node.attributes.pop(attribute, None)
        super().visit_image(node)
        size = f' width="{width}" height="{height}"' if width else ""
        tag = self.body[-1]
        self.body[-1] = tag.replace("<img ", f'<img loading="lazy"{size} ', 1)

    def visit_figure(self, node: nodes.Element) -> None:
        super().visit_figure(node)
        if name := sphinx_site.explorable(node):
            tag = self.body[-1]
            self.body[-1] = tag.replace("<figure", f'<figure data-explorable="{name}"')

    def visit_table(self, node: nodes.Element) -> None:
        self.body.append('<div class="table-wrapper">\n')
        super().visit_table(node)

    def depart_table(self, node: nodes.Element) -> None:
        super().depart_table(node)
        self.body.append("</div>\n")

    def depart_colspec(self, node: nodes.Element) -> None:
        """Columns are as wide as they need: their widths would be inline styles."""

    def visit_citation(self, node: nodes.Element) -> None:
        self.body.append(self.starttag(node, "div", CLASS="citation"))

    def depart_citation(self, node: nodes.Element) -> None:
        self.body.append("</div>\n")

    def visit_label(self, node: nodes.label) -> None:
        # The text of an entry begins with what its label says.
        if isinstance(node.parent, nodes.citation):
            raise nodes.SkipNode
        super().visit_label(node)


def _shown_size(image: nodes.Element, file: Path) -> tuple[int, int]:
    """Width and height in pixels, by the image's file and the width asked for."""
    width, height = imagesize.get(file) if file.exists() else (0, 0)
    asked = re.fullmatch(r"(\d+)(?:px)?", image.get("width", ""))
    if width <= 0 or height <= 0:
        return 0, 0
    shown = int(asked[1]) if asked else width
    return round(shown), round(height * shown / width)


def _settle_config(app: Sphinx, config: Config) -> None:
    # d2lbook writes [""] where a book has no bibliography, and that is no file.
    bibfiles = getattr(config, "bibtex_bibfiles", [])
    config.bibtex_bibfiles = [f for f in bibfiles if f]  # type: ignore[attr-defined]


def setup(app: Sphinx) -> dict[str, Any]:
    for part in PARTS:
        part.setup(app)
    # What Sphinx does not see change: this code and the files of the site.
    app.add_config_value("book_made_with", "", "env")
    app.add_transform(DescribeImages)
    app.add_post_transform(LinkSources)
    app.add_directive("book-output", BookOutput)
    app.set_translator("html", BookTranslator)
    app.connect("config-inited", _settle_config, priority=100)
    return {"version": "2", "parallel_read_safe": True, "parallel_write_safe": True}
