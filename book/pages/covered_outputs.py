"""The outputs that a page covers until a reader has predicted them.

Nothing is covered in print, without JavaScript, or where the attribute `data-predict`
of the page is "off". The script `static/predict.js` uncovers outputs together with the
paragraph right below them, and adds the reader's number, which `static/guess.js` reads,
to the others. `static/tally.js` sums all of them up. Cells with the same question are
uncovered together.
"""

import html

from book.merge import Prediction, escaped

FORM = """\
<div class="prediction" data-question="{question}" data-unit="{unit}">
<form class="guess">
<label><span>{question}</span> \
<span><input type="text" inputmode="decimal" autocomplete="off"> {unit}</span></label>
<button type="submit">Check</button>
<button type="button" class="reveal">Show the output</button>
<p class="reading" role="status"></p>
<p class="behind">The explanation follows your prediction.</p>
</form>
<div class="answers" role="group" aria-label="Comparison" tabindex="-1">
<p>{question}</p>
<dl>
<div class="yours"><dt>You</dt><dd></dd></div>
{row}</dl>
<button type="button" class="again">Cover again</button>
</div>
<div class="covered">
{outputs}</div>
</div>
"""
ENTRY = "<div><dt>{}</dt><dd>{}</dd></div>\n"


def covered(outputs: str, prediction: Prediction) -> str:
    """Return outputs below the form and the row of numbers to compare."""
    row, cited = list(prediction.numbers), prediction.cited
    if cited:
        row.append((f"{cited['hardware']}, cited", f"{cited['value']} {cited['unit']}"))
    question, unit = html.escape(prediction.question), html.escape(prediction.unit)
    entries = "".join(ENTRY.format(*map(html.escape, pair)) for pair in row)
    return FORM.format(question=question, unit=unit, row=entries, outputs=outputs)


def source(prediction: Prediction) -> str:
    """Return the origin of the cited number in Markdown; empty if there is none."""
    cited = prediction.cited
    if not cited:
        return ""
    text = f"{cited['hardware']}, {cited['framework']}: {cited['what']}"
    return f"{escaped(text)} :cite:`{cited['source']}`."
