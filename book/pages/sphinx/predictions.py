"""The outputs that a page covers until a reader has predicted them.

`book.pages.rst` writes this directive. The stylesheet covers nothing in print, without
JavaScript, or where the attribute `data-predict` of the page is "off". The script
`static/predict.js` uncovers outputs, and adds the reader's number to the others.
"""

import html
import json
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator


class prediction(nodes.General, nodes.Element):
    """The outputs of a cell that are covered, below the number to predict."""


class BookPrediction(SphinxDirective):
    """Covers outputs until a reader has predicted a number of them.

    `words` are those before and after the number, whose unit is `unit`. `row` holds the
    names of the numbers to compare and their texts. Cells with the same `question` are
    uncovered together.
    """

    has_content = True
    option_spec = dict.fromkeys(("question", "words", "unit", "row"), json.loads)

    def run(self) -> list[nodes.Node]:
        """Return the covered outputs."""
        node = prediction("", **self.options)
        self.state.nested_parse(self.content, self.content_offset, node)
        return [node]


FORM = """\
<div class="prediction" data-question="{question}">
<form class="guess">
<p>Predict the number, or show the output.</p>
<label>{before} \
<span><input type="number" step="any" autocomplete="off"> {after}</span></label>
<button type="submit">Show the output</button>
</form>
<div class="answers" role="group" aria-label="Comparison" tabindex="-1">
<p>{before} ? {after}</p>
<dl>
<div class="yours"><dt>You</dt><dd data-unit="{unit}"></dd></div>
{row}</dl>
<button type="button" class="again">Cover again</button>
</div>
<div class="covered">
"""
ENTRY = "<div><dt>{}</dt><dd>{}</dd></div>\n"
SETTING = """\
</div>
<label class="covering"><input type="checkbox" checked> \
Cover outputs until I predict them</label>
</div>
"""


def visit_prediction(self: HTML5Translator, node: prediction) -> None:
    """Write the form and the row above the outputs."""
    before, after = map(html.escape, node["words"])
    row = "".join(ENTRY.format(*map(html.escape, pair)) for pair in node["row"])
    words = {"before": before, "after": after, "unit": node["unit"], "row": row}
    self.body.append(FORM.format(question=html.escape(node["question"]), **words))


def depart_prediction(self: HTML5Translator, node: prediction) -> None:
    """Write the end of the outputs, and the setting below them."""
    self.body.append(SETTING)


def setup(app: Sphinx) -> None:
    """Add the directive and the node of this module to Sphinx."""
    app.add_directive("book-prediction", BookPrediction)
    methods: Any = (visit_prediction, depart_prediction)
    app.add_node(prediction, html=methods)
