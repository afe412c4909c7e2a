"""Folds code that is not the point of a section; a part of the extension.

`book.pages.rst` writes the directive for pages only. The browser opens the code when
the reader searches the page for something in it, and the stylesheet when it is printed.
"""

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator


class folded(nodes.General, nodes.Element):
    """Code that a reader can open; its first child is the title."""


class folded_title(nodes.General, nodes.TextElement):
    """The line that says what is folded."""


class BookFolded(SphinxDirective):
    """Code below a title, which is the argument.

    The class `head` says that the rest of the cell follows.
    """

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = {"class": directives.class_option}

    def run(self) -> list[nodes.Node]:
        """Return the title and the code."""
        words, messages = self.state.inline_text(self.arguments[0], self.lineno)
        classes = ["folded", *self.options.get("class", [])]
        node = folded("", folded_title("", "", *words), classes=classes)
        self.state.nested_parse(self.content, self.content_offset, node)
        return [node, *messages]


def visit_folded(self: HTML5Translator, node: folded) -> None:
    """Write the start of folded code."""
    self.body.append(self.starttag(node, "details", suffix=""))


def depart_folded(self: HTML5Translator, node: folded) -> None:
    """Write the end of folded code."""
    self.body.append("</details>\n")


def visit_title(self: HTML5Translator, node: folded_title) -> None:
    """Write the start of the title."""
    self.body.append("<summary>")


def depart_title(self: HTML5Translator, node: folded_title) -> None:
    """Write the end of the title."""
    self.body.append("</summary>\n")


def setup(app: Sphinx) -> None:
    """Add the directive and nodes of this module to Sphinx."""
    app.add_directive("book-folded", BookFolded)
    app.add_node(folded, html=(visit_folded, depart_folded))
    app.add_node(folded_title, html=(visit_title, depart_title))
