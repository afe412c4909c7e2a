"""The outputs that a page covers until a reader has predicted them.

Nothing is covered in print, without JavaScript, or where the attribute `data-predict`
of the page is "off". The script `static/predict.js` uncovers outputs together with the
paragraph right below them, and adds the answers of the reader, which `static/guess.js`
reads, to the others. `static/tally.js` sums all of them up. Cells with the same
question are uncovered together.
"""

import html

from book.merge import Asked, Prediction, escaped

FORM = """\
<div class="prediction" data-question="{question}">
<form class="guess">
{asked}
<button type="submit">Check</button>
<button type="button" class="reveal">Show the {answer}</button>
<p class="reading" role="status"></p>
<p class="behind">The explanation follows your prediction.</p>
</form>
<div class="answers" role="group" aria-label="Comparison" tabindex="-1">
<p>{question}</p>
{rows}<button type="button" class="again">Cover again</button>
</div>
<div class="covered">
{outputs}</div>
</div>
"""
INPUT = '<span><input type="text" inputmode="decimal" autocomplete="off"> \
{}</span>'
FIELD = "<label><span>{}</span> {}</label>\n"
CHOICE = '<label><input type="radio" name="guess" value="{0}"> {0}</label>\n'
ITEM = '<label><input type="checkbox" value="{0}"> {0}</label>\n'
# A line to draw: static/sketch.js lays the sliders over a board.
SLIDER = """\
<label><span>{}<span class="visually-hidden"> {}</span></span> \
<input type="range" min="0" max="100" value="50"></label>
"""
LINE = """\
<fieldset class="sketch" data-least="{}" data-most="{}" data-ticks="{}" data-over="{}">
<legend>{}</legend>
{}</fieldset>"""
NUMBERS = """\
<details>
<summary>The numbers</summary>
{}</details>
"""
SEVERAL = "<fieldset>\n<legend>{}</legend>\n{}</fieldset>"
LABEL = "<p><strong>{}</strong></p>\n"
ROW = """\
{label}<dl data-unit="{unit}">
<div class="yours"><dt>{reader}</dt><dd></dd></div>
{entries}</dl>
"""
ENTRY = "<div><dt>{}</dt><dd>{}</dd></div>\n"


def covered(outputs: str, prediction: Prediction) -> str:
    """Return outputs below the form and the rows of answers to compare."""
    question = html.escape(prediction.question)
    asked = _line(prediction) if prediction.axes else fields(prediction)
    # A published number is in the text below.
    answer = "output" if any(field.answers for field in prediction.fields) else "answer"
    shown = rows(prediction, "You")
    if prediction.axes:
        shown = NUMBERS.format(shown)
    of_page = {"rows": shown, "outputs": outputs, "answer": answer}
    return FORM.format(question=question, asked=asked, **of_page)


def rows(prediction: Prediction, reader: str) -> str:
    """Return the rows of answers to compare; `reader` is the name of the first."""
    return "".join(_row(asked, prediction, reader) for asked in prediction.fields)


def fields(prediction: Prediction) -> str:
    """Return the fields into which readers type numbers, or the choices."""
    question, fields = html.escape(prediction.question), prediction.fields
    inputs = [INPUT.format(html.escape(asked.unit)) for asked in fields]
    if choices := fields[0].choices:
        form = ITEM if fields[0].is_order else CHOICE
        shown = (form.format(html.escape(choice)) for choice in choices)
    elif len(fields) == 1:
        return f"<label><span>{question}</span> {inputs[0]}</label>"
    else:
        labels = (html.escape(asked.label) for asked in fields)
        pairs = zip(labels, inputs, strict=True)
        shown = (FIELD.format(*pair) for pair in pairs)
    return SEVERAL.format(question, "".join(shown))


def _line(prediction: Prediction) -> str:
    """Return a slider for each place below the line that readers draw."""
    axes = prediction.axes
    assert axes
    over, question = map(html.escape, (axes.over, prediction.question))
    labels = (html.escape(field.label) for field in prediction.fields)
    sliders = "".join(SLIDER.format(label, over) for label in labels)
    ends = (f"{number:g}" for number in (axes.least, axes.most))
    ticks = " ".join(f"{tick:g}" for tick in axes.ticks)
    return LINE.format(*ends, ticks, over, question, sliders)


def _row(asked: Asked, prediction: Prediction, reader: str) -> str:
    """Return the answers to compare in a field."""
    row, cited = list(asked.answers), prediction.cited
    if cited:
        row.append((f"{cited['hardware']}, cited", f"{cited['value']} {cited['unit']}"))
    entries = "".join(ENTRY.format(*map(html.escape, pair)) for pair in row)
    label = LABEL.format(html.escape(asked.label)) if asked.label else ""
    unit = html.escape(asked.unit)
    return ROW.format(label=label, unit=unit, reader=reader, entries=entries)


def source(prediction: Prediction) -> str:
    """Return the origin of the cited number in Markdown; empty if there is none."""
    cited = prediction.cited
    if not cited:
        return ""
    text = f"{cited['hardware']}, {cited['framework']}: {cited['what']}"
    return f"{escaped(text)} :cite:`{cited['source']}`."
