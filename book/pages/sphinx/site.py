"""Sets up the page around the text and its few files; a part of the extension.

A page loads one stylesheet and one script. Its content security policy allows nothing
else: no other host, and no inline script except the one that applies the reader's
choices before the page is painted.
"""

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterator
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments.formatters import HtmlFormatter
from pygments.style import StyleMeta
from pygments.token import STANDARD_TYPES, _TokenType
from rcssmin import cssmin
from rjsmin import jsmin
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.highlighting import PygmentsBridge

from book.base.drawing import draw_png
from book.base.files import remove
from book.base.paths import STATIC
from book.library.figures import fill_cards, scripts_of
from book.pages.sphinx import machines as sphinx_machines
from book.pages.sphinx.tabs import tab_rules, tab_set
from book.sources.tabs import tab_name

EXPLORABLES = STATIC / "explorables"
SCRIPTS = ("book.js", "compare.js", "predict.js", "preview.js", "solutions.js")
# Drawings that other programs show as pixels: links to the book, and home screens.
DRAWN = ("card", "touch-icon")
FOR_DECKS = ("slides.css", "slides.js", "vendor/reveal")
THEMES = ["auto", "light", "dark"]
POLICY = (
    "default-src 'none'; script-src 'self' '{script}'; style-src 'self';"
    " img-src 'self' data:; font-src 'self'; connect-src 'self';"
    " base-uri 'none'; form-action 'none'"
)
DESCRIPTION_LENGTH = 160


# The page


def _add_context(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Add the variables that the book's template needs."""
    choices = _choices(app)
    script = early_script(choices)
    context["book_choices"] = choices
    context["book_early"] = script
    context["book_policy"] = policy(script)
    context["book_buttons"] = app.config.book_buttons.get(page, {})
    context["book_parts_of"] = partial(_parts_of, app, page)
    context["book_address"] = _address(app, page)
    context["book_card"] = f"{app.config.html_baseurl}/_static/card.png"
    context["book_description"] = _description(doctree) if doctree else ""
    # A table of contents that holds only the title does not help. The front page is the
    # contents of the book.
    is_front = context["book_is_front"] = page == app.config.root_doc
    context["book_has_contents"] = (
        context.get("toc", "").count("<a ") > 1 and not is_front
    )


def _parts_of(app: Sphinx, page: str, contents: str) -> list[dict[str, Any]]:
    """Divide the list of all pages, as HTML, into the parts of the book.

    The part that `page` is in is open, and on the front page the first. Pages that are
    in no part follow each other below the title "".
    """
    titles = {name: title for title, names in app.config.book_parts for name in names}
    pages = app.env.toctree_includes.get(app.config.root_doc, [])
    _, *items = re.split(r'(?=<li class="toctree-l1)', contents.rpartition("</ul>")[0])
    listed = zip((titles.get(name, "") for name in pages), items, strict=True)
    groups = groupby(listed, key=itemgetter(0))
    parts = [(title, "".join(item for _, item in group)) for title, group in groups]
    current = titles.get(page, parts[0][0] if parts else "")
    return [
        {"title": title, "pages": text, "is_open": title == current}
        for title, text in parts
    ]


def _address(app: Sphinx, page: str) -> str:
    """Return the address of a published page; empty if the site has no address."""
    site = app.config.html_baseurl
    if not site:
        return ""
    is_front = page == app.config.root_doc
    return f"{site}/{'' if is_front else app.builder.get_target_uri(page)}"


def _choices(app: Sphinx) -> dict[str, list[str]]:
    """Return the values of each choice of the reader; the first is the default."""
    machines = [name for name, _ in app.config.book_machines]
    tabs = app.config.book_tabs
    return {
        "tab": tabs,
        "beside": ["none", *tabs],  # the second framework of a comparison
        "differences": ["off", "on"],
        "machine": machines,
        "predict": ["on", "off"],  # whether outputs are covered until readers predict
        "theme": THEMES,
    }


def early_script(choices: dict[str, list[str]]) -> str:
    """Return the inline script of a page with these choices."""
    script = (STATIC / "early.js").read_text("utf-8")
    return script.replace("KNOWN", json.dumps(choices))


def policy(script: str) -> str:
    """Return the content security policy of a page with one inline script."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return POLICY.format(script=f"sha256-{digest}")


def _description(doctree: nodes.document) -> str:
    """Return the first words of a page's text, which search engines show."""
    paragraphs = (
        node
        for node in doctree.findall(nodes.paragraph)
        if not is_within(node, (tab_set, nodes.list_item))
    )
    text = next((" ".join(node.astext().split()) for node in paragraphs), "")
    if len(text) <= DESCRIPTION_LENGTH:
        return text
    return text[: DESCRIPTION_LENGTH - 1].rsplit(" ", 1)[0] + "…"


def explorable_name(figure: nodes.Element) -> str:
    """Return the name of a figure's interactive version, or "" if it has none."""
    images = figure.findall(nodes.image)
    name = next((Path(image["uri"]).stem for image in images), "")
    return name if (EXPLORABLES / f"{name}.js").exists() else ""


def explorable_data(name: str) -> str:
    """Return the attributes by which a page finds the scripts of a figure."""
    name = html.escape(name)
    return f'data-explorable="{name}" data-scripts="{" ".join(scripts_of(name))}"'


def is_within(node: nodes.Node, kinds: tuple[type[nodes.Node], ...]) -> bool:
    """Return True if a node is inside a node of one of these kinds."""
    parent = node.parent
    while parent is not None and not isinstance(parent, kinds):
        parent = parent.parent
    return parent is not None


# The files


def _remove_files_of_sphinx(app: Sphinx, error: Exception | None) -> None:
    """Remove the files that Sphinx writes for every site and no page of ours uses."""
    if error or app.builder.format != "html":
        return
    ours = {path.name for path in STATIC.iterdir()}
    others = [p for p in Path(app.outdir, "_static").iterdir() if p.name not in ours]
    others += [Path(app.outdir, name) for name in ("objects.inv", "searchindex.js")]
    if "search" not in app.env.found_docs:
        others.append(Path(app.outdir, "search.html"))
    for path in others:
        remove(path)


def _write_files(app: Sphinx, error: Exception | None) -> None:
    """Write the stylesheet and the script of the site at the end of a build.

    The files that they are made from are removed, and so is what only decks use.
    """
    if error or app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    machines = [name for name, _ in app.config.book_machines]
    styles = [
        (static / "book.css").read_text("utf-8"),
        code_rules(*_code_styles(app)),
        tab_rules(app.config.book_tabs),
        sphinx_machines.machine_rules(machines),
    ]
    (static / "site.css").write_text(cssmin("\n".join(styles)), "utf-8")
    scripts = [(static / name).read_text("utf-8") for name in SCRIPTS]
    (static / "site.js").write_text(jsmin("\n".join(scripts)), "utf-8")
    for name, text in filled_scripts(app.config.book_cards):
        (static / name).write_text(text, "utf-8")
    for name in DRAWN:
        svg = STATIC / f"{name}.svg"
        png = draw_png(svg.read_text("utf-8"), svg, zoom=1)
        (static / f"{name}.png").write_bytes(png)
    parts = ("book.css", "early.js", *SCRIPTS, *(f"{name}.svg" for name in DRAWN))
    for name in (*parts, *FOR_DECKS):
        remove(static / name)


def filled_scripts(cards: dict[str, dict[str, float]]) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each script in which data take a name's place."""
    name = "explorables/cards.js"
    text = (STATIC / name).read_text("utf-8")
    yield name, fill_cards(text, cards)


def _code_styles(app: Sphinx) -> list[StyleMeta]:
    """Return the light and the dark style of code."""
    names = (app.config.pygments_style, app.config.book_dark_code)
    return [PygmentsBridge("html", name).get_style(name) for name in names]


def code_rules(light: StyleMeta, dark: StyleMeta) -> str:
    """Return the CSS for code, with one rule for all tokens that look the same."""
    rules: dict[str, list[str]] = {}
    for token, name in STANDARD_TYPES.items():
        declarations = _declarations(light, dark, token)
        if name and declarations:
            rules.setdefault(declarations, []).append(f".highlight .{name}")
    return "".join(f"{', '.join(s)} {{ {d} }}\n" for d, s in rules.items())


def _declarations(light: StyleMeta, dark: StyleMeta, token: _TokenType) -> str:
    """Return the CSS declarations for a token; empty if it looks like plain text."""
    in_light, in_dark = light.style_for_token(token), dark.style_for_token(token)
    colors = [
        f"#{color}" if color else "currentcolor"
        for color in (in_light["color"], in_dark["color"])
    ]
    declarations = []
    if any(color != "currentcolor" for color in colors):
        declarations.append(f"color: light-dark({', '.join(colors)});")
    if in_light["bold"]:
        declarations.append("font-weight: 600;")
    if in_light["italic"]:
        declarations.append("font-style: italic;")
    return " ".join(declarations)


class CodeFormatter(HtmlFormatter):  # type: ignore[type-arg]
    """Writes no elements around plain tokens, which halves the size of a page."""

    def _get_css_classes(self, ttype: _TokenType) -> str:
        style = self.style.style_for_token(ttype)
        shown = style["color"] or style["bold"] or style["italic"]
        return str(super()._get_css_classes(ttype)) if shown else ""


def _set_up_builder(app: Sphinx) -> None:
    """Set the formatter of code and a filter of the templates."""
    if isinstance(app.builder, StandaloneHTMLBuilder):
        app.builder.highlighter.formatter = CodeFormatter
        app.builder.templates.environment.filters["book_tab_name"] = tab_name


def setup(app: Sphinx) -> None:
    """Add the settings and steps of this module to Sphinx."""
    app.add_config_value("book_dark_code", "book.render.code_styles.Dark", "env")
    app.add_config_value("book_cards", {}, "html")  # see book/library/package.py
    app.add_config_value("book_parts", [], "html")  # titles, and names of sections
    app.add_config_value("book_buttons", {}, "html")  # see book/pages/buttons.py
    app.connect("builder-inited", _set_up_builder)
    app.connect("html-page-context", _add_context, priority=900)
    app.connect("build-finished", _remove_files_of_sphinx, priority=800)
    app.connect("build-finished", _write_files, priority=900)
