"""The Sphinx extension of the book: tabs, outputs, equations, a page without ballast.

It works on what `book.html` writes and on what stock `d2lbook build html --tab all`
writes alike; `config.ini` names it under `[build] sphinx_configs`.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import imagesize
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

from book import sphinx_math
from book.tabs import TAB_NAMES, tab_name

logger = logging.getLogger(__name__)

TAB_BAR = re.compile(r'^<div class="mdl-tabs .*mdl-tabs__tab-bar ([a-z]*)"')
PANEL = re.compile(r'^<div class="mdl-tabs__panel[^>]* id="([^"]+)-\d+-\d+"')
END = re.compile(r"^</div>$")
STYLES = ("styles/furo.css", "pygments.css", "book.css")
SCRIPTS = ("scripts/furo.js", "book.js")
SEARCH_SCRIPTS = ("documentation_options.js", "doctools.js", "sphinx_highlight.js")
PRINTED = ("latex", "text", "man")
JQUERY = ("jquery", "underscore", "_sphinx_javascript_frameworks_compat")


# Tabs


class tab_set(nodes.General, nodes.Element):
    """Panels of which a reader sees one; `number` is its place on the page."""


class tab_panel(nodes.General, nodes.Element):
    """What is shown in `tabs`; `absent` if that is only that there is nothing."""


class GatherTabs(SphinxTransform):
    """Put what stands between d2lbook's raw HTML marks into nodes of our own."""

    default_priority = 400

    def apply(self, **kwargs: Any) -> None:
        found = [(n, _is(TAB_BAR, n)) for n in self.document.findall(nodes.raw)]
        bars = [(bar, mark[1]) for bar, mark in found if mark]
        for number, (bar, kind) in enumerate(bars, start=1):
            parent = bar.parent
            start = parent.index(bar)
            gathered, length = self._gather(parent.children[start + 1 :])
            if gathered is None:
                logger.warning("a tab does not end in its section", location=bar)
                return
            gathered["number"] = number
            gathered["classes"] = ["tab-set", kind]
            parent[start : start + 1 + length] = [self._completed(gathered)]

    def _gather(self, siblings: list[nodes.Node]) -> tuple[tab_set | None, int]:
        """The set of tabs that `siblings` start with, and how many make it."""
        found = tab_set()
        panel = None
        for length, node in enumerate(siblings, start=1):
            if start := _is(PANEL, node):
                panel = self._panel(start[1].split(","))
                found += panel
            elif not _is(END, node):
                if panel is not None:
                    panel += node
            elif panel is not None:
                panel = None
            else:
                return found, length
        return None, 0

    def _panel(self, tabs: list[str], **attributes: Any) -> tab_panel:
        label = nodes.paragraph(classes=["tab-label"])
        label += nodes.strong(text=", ".join(map(tab_name, tabs)))
        return tab_panel("", label, tabs=tabs, **attributes)

    def _completed(self, found: tab_set) -> tab_set:
        """A set with code says so where a tab has none; one of text is left out."""
        if not any(True for _ in found.findall(nodes.literal_block)):
            return found
        there = {tab for panel in found.findall(tab_panel) for tab in panel["tabs"]}
        for tab in self.config.book_tabs:
            if tab not in there:
                panel = self._panel([tab], absent=True)
                panel += nodes.paragraph(text=f"No code for {tab_name(tab)} here.")
                found += panel
        return found


def _is(mark: re.Pattern[str], node: nodes.Node) -> re.Match[str] | None:
    if isinstance(node, nodes.raw) and node.get("format") == "html":
        return mark.search(node.astext().strip())
    return None


def visit_tab_set(self: HTML5Translator, node: tab_set) -> None:
    panels = {tab: p for p in node.findall(tab_panel) for tab in p["tabs"]}
    order = [t for t in self.config.book_tabs if t in panels]
    attributes: dict[str, Any] = {"data-tabs": " ".join(order)}
    self.body.append(self.starttag(node, "div", **attributes))
    self.body.append('<div class="tab-list" role="tablist" aria-label="Framework">\n')
    for tab in order:
        self.body.append(_tab_button(node["number"], tab, panels[tab]))
    self.body.append("</div>\n")


def _tab_button(number: int, tab: str, panel: tab_panel) -> str:
    return (
        f'<button type="button" role="tab" id="tab-{number}-{tab}" data-tab="{tab}"'
        f' aria-controls="{_panel_id(number, panel)}" aria-selected="false"'
        f' tabindex="-1">{tab_name(tab)}</button>\n'
    )


def _panel_id(number: int, panel: tab_panel) -> str:
    return f"panel-{number}-{panel['tabs'][0]}"


def visit_tab_panel(self: HTML5Translator, node: tab_panel) -> None:
    classes = "tab-panel tab-absent" if node.get("absent") else "tab-panel"
    tabs = " ".join(node["tabs"])
    identity = _panel_id(node.parent["number"], node)
    self.body.append(f'<div class="{classes}" id="{identity}" data-tab="{tabs}">\n')


def depart_element(self: HTML5Translator, node: nodes.Element) -> None:
    self.body.append("</div>\n")


def visit_printed_panel(self: Any, node: tab_panel) -> None:
    """Where there is no choice, a panel that holds nothing is left out."""
    if node.get("absent"):
        raise nodes.SkipNode


def pass_through(self: Any, node: nodes.Element) -> None:
    """The contents, the tab's label among them, are all there is to write."""


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


# Figures and wrappers


class DescribeImages(SphinxTransform):
    """A figure without a text of its own is described by its caption."""

    default_priority = 410

    def apply(self, **kwargs: Any) -> None:
        for image in self.document.findall(nodes.image):
            if image.get("alt"):
                continue
            captions = image.parent.findall(nodes.caption)
            image["alt"] = next((c.astext() for c in captions), "")


class UniqueIds(SphinxPostTransform):
    """Furo copies a table's or an equation's ids to its wrapper: keep them once."""

    default_priority = 501
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        for node in self.document.findall(nodes.container):
            if {"table-wrapper", "math-wrapper"} & set(node["classes"]):
                node["ids"] = []


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


# The page's files


def _trim_page(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """One stylesheet and one script a page; the search page has Sphinx's own too."""
    scripts = [
        script
        for script in context["script_files"]
        if page == "search" and Path(script).name in SEARCH_SCRIPTS
    ]
    context["css_files"] = ["_static/site.css"]
    context["script_files"] = [*scripts, "_static/site.js"]
    context["book_tabs"] = app.config.book_tabs
    # Furo counts contents that have no heading on the page.
    context["furo_hide_toc"] = context.get("toc", "").count("<a ") < 2


def _bundle(app: Sphinx, error: Exception | None) -> None:
    if error or app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    tabs = _tab_rules(app.config.book_tabs)
    (static / "site.css").write_text(_joined(static, STYLES) + tabs, "utf-8")
    (static / "site.js").write_text(_joined(static, SCRIPTS), "utf-8")
    for file in static.glob("*.js"):
        if file.name.startswith(JQUERY):
            file.unlink()


def _joined(folder: Path, names: tuple[str, ...]) -> str:
    texts = [(folder / name).read_text("utf-8") for name in names]
    return "\n".join(re.sub(r"(//|/\*)# sourceMappingURL=.*", "", t) for t in texts)


def _tab_rules(tabs: list[str]) -> str:
    """Hide what is not of the chosen tab, which stands in the root's `data-tab`."""
    rules: Iterator[str] = (
        f'html[data-tab="{tab}"] .tab-set:not([data-tabs~="{tab}"]),\n'
        f'html[data-tab="{tab}"] .tab-panel:not([data-tab~="{tab}"])'
        for tab in tabs
    )
    return ",\n".join(rules) + " { display: none; }\n"


def _settle_config(app: Sphinx, config: Config) -> None:
    # d2lbook writes [""] where a book has no bibliography, and that is no file.
    bibfiles = getattr(config, "bibtex_bibfiles", [])
    config.bibtex_bibfiles = [f for f in bibfiles if f]  # type: ignore[attr-defined]


def setup(app: Sphinx) -> dict[str, Any]:
    sphinx_math.setup(app)
    app.add_config_value("book_tabs", list(TAB_NAMES), "env")
    # What Sphinx does not see change: this code and the files of the site.
    app.add_config_value("book_made_with", "", "env")
    app.add_transform(GatherTabs)
    app.add_transform(DescribeImages)
    app.add_post_transform(UniqueIds)
    app.add_directive("book-output", BookOutput)
    whole: dict[str, Any] = dict.fromkeys(PRINTED, (pass_through, pass_through))
    printed: dict[str, Any] = dict.fromkeys(
        PRINTED, (visit_printed_panel, pass_through)
    )
    app.add_node(tab_set, html=(visit_tab_set, depart_element), **whole)
    app.add_node(tab_panel, html=(visit_tab_panel, depart_element), **printed)
    app.set_translator("html", BookTranslator)
    app.connect("config-inited", _settle_config, priority=100)
    app.connect("html-page-context", _trim_page, priority=900)
    app.connect("build-finished", _bundle, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
