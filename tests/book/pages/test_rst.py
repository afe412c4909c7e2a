"""Text, code and outputs are converted to reStructuredText."""

import base64
import json
import re

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_output

from book.merge import Part, Run
from book.pages import rst
from book.render.pictures import PLOT
from book.sources.blocks import Cell
from book.sources.parsing import parse

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="2" height="1"></svg>'


def code_part(
    code: str, *outputs: NotebookNode, classes: str = "", **attributes: str
) -> Part:
    cell = Cell(
        line=1,
        number=1,
        source=code,
        code=code,
        rows=(1,),
        classes=tuple(classes.split()),
        attributes=attributes,
    )
    return Part(cell, ("pytorch",), [Run(("cpu",), list(outputs))])


def text_parts(source: str) -> list[Part]:
    return [Part(block, ("pytorch",)) for block in parse(source).blocks]


def page(*parts: Part) -> rst.Page:
    return rst.convert(list(parts), "sec")


def text_page(source: str) -> str:
    return page(*text_parts(source)).text


def printed(*outputs: NotebookNode) -> list[str]:
    """Return the texts of the page's outputs, decoded."""
    text = page(code_part("run()", *outputs)).text
    blocks = re.findall(r"^\.\. book-output::\n\n((?:   .*\n?)*)", text, re.M)
    return ["\n".join(map(json.loads, b.strip().split("\n"))) for b in blocks]


def stream(text: str, name: str = "stdout") -> NotebookNode:
    return new_output("stream", name=name, text=text)


@pytest.mark.parametrize(
    "text",
    [
        "+----+\n| 0  | N/A   <b>  |\n+====+",
        r"C:\new \alpha *star* _under_ under_ `x` ``y`` |pipe| :label:``fig_x``",
        "  indented\n\n\nafter two blank lines\t tab   ",
        "\n\nfirst two lines blank",
        ".. image:: x.png\n.. code:: toc\n\n:alt: nothing",
        "│ ┌─┐ 漢字 é \u2028 end",
        'quotes " and \\" and \\n',
    ],
)
def test_printed_text_is_unchanged(text):
    assert printed(stream(text + "\n")) == [text]


def test_colors_and_overwritten_lines_are_removed():
    text = "\x1b[1;31mred\x1b[0m\n 10%\r 50%\r100%\nkept\r\n"
    assert printed(stream(text)) == ["red\n100%\nkept"]


def test_consecutive_streams_are_one_output_and_errors_are_shown():
    error = new_output(
        "error", ename="E", evalue="", traceback=["\x1b[31mE\x1b[0m", "at <x>"]
    )
    assert printed(stream("a\n"), stream("b\n", "stderr"), error) == [
        "a\nb",
        "E\nat <x>",
    ]


def test_characters_that_no_page_may_hold_are_left_out():
    assert printed(stream("a\x00b\x0b\x85\x1b\ud800c")) == ["abc"]


def image_page(data: dict[str, str], **attributes: str) -> rst.Page:
    output = new_output("display_data", {"text/plain": "<Figure>", **data})
    return page(code_part("plot()", output, **attributes))


def test_an_image_becomes_a_file_and_svg_is_preferred():
    png = base64.b64encode(b"png").decode()
    got = image_page({"image/png": png, "image/svg+xml": SVG})
    ((name, content),) = got.images.items()
    assert content == SVG.encode() and name.endswith(".svg")
    assert f".. image:: {name}" in got.text and "<Figure>" not in got.text
    assert image_page({"image/png": png}).images.popitem()[1] == b"png"


def test_an_image_has_a_description():
    assert f":alt: {PLOT}" in image_page({"image/svg+xml": SVG}).text
    described = image_page({"image/svg+xml": SVG}, alt="Loss\n falls")
    assert ":alt: Loss falls" in described.text


def test_an_output_that_varies_has_a_note():
    output = stream("7 ms\n")
    note = "Your output may differ, here and below."
    assert note not in page(code_part("run()", output)).text
    varies = code_part("run()", output, classes="varies")
    assert page(varies).text.count(note) == 1
    assert page(varies, varies).text.count(note) == 1  # once on a page is enough


def test_code_is_unchanged():
    source = "x = 'a:label:`b`'\n\nif x:\n    y = \":numref:``z``\"  # .. figure:: w"
    got = page(code_part(source)).text
    body = got.split(".. code:: python\n\n")[1]
    assert "\n".join(line[4:] for line in body.split("\n")).strip() == source


def test_shell_lines_have_the_colors_of_a_shell():
    assert ".. code:: ipython3" in page(code_part("!nvidia-smi")).text


def test_a_comment_about_hiding_hides_nothing():
    """d2lbook's own pages would show neither the code nor the output."""
    cells = [
        code_part("# hide code latency behind the copy\nx = 1", stream("seen\n")),
        code_part("# hide all outputs of the copy\ny = 1", stream("too\n")),
    ]
    got = page(*cells).text
    assert all(word in got for word in ("x = 1", '"seen"', "y = 1", '"too"'))


def test_slide_marks_are_not_shown():
    got = page(*text_parts("[**shown on the slide**] too (~~not here~~)")).text
    assert "not here" not in got
    assert "[**" not in got and "shown on the slide" in got


def test_text_keeps_its_order_around_code():
    parts = [*text_parts("1. one"), code_part("a"), *text_parts("then"), code_part("b")]
    got = page(*parts).text
    places = [got.index(s) for s in ("1. one", "    a", "then", "    b")]
    assert places == sorted(places)


def test_lines_of_a_page_map_to_lines_of_the_markdown():
    source = "# T\n\nOne\nparagraph.\n\n* a\n* b\n\nEnd.\n"
    got = page(*text_parts(source))
    lines = got.text.split("\n")
    for text, line in {"T": 1, "One paragraph.": 3, "- b": 6, "End.": 9}.items():
        assert got.origin(lines.index(text) + 1)[0] == line
    assert got.origin(lines.index("- b") + 1) == (6, 9)


def test_text_for_one_medium_is_only_in_that_medium():
    parts = text_parts("Here. [Press it.]{.web} [See page 2.]{.print}")
    assert rst.convert(list(parts), "sec", "web").text.strip() == "Here. Press it."
    assert rst.convert(list(parts), "sec", "print").text.strip() == "Here. See page 2."


def test_a_figure_keeps_its_caption_label_and_description():
    got = text_page(
        "# T\n\n"
        '![A *host*, $n$ bytes.](../img/a.svg "A \\"box\\" beside another")\n'
        ":label:`fig_a`\n\nSee :numref:`fig_a`."
    )
    figure = got[got.index(".. _fig_a:") :]
    assert '.. figure:: ../img/a.svg\n   :alt: A "box" beside another\n' in figure
    assert "   A *host*, :math:`n` bytes." in figure
    assert ":numref:`fig_a`" in got


def test_roles_in_a_table_keep_its_columns_aligned():
    got = text_page(
        ":Caption\n\n| Section | What |\n|:--|:--|\n"
        "| :numref:`sec_a` | put data and models on a device, and train them there |\n"
        "| :cite:`B.2016` and :eqref:`eq_c` | x |\n:label:`tab_t`\n"
    )
    rows = [line for line in got.split("\n") if re.match(r"   [+|]", line)]
    assert ":numref:`sec_a`" in got and ":cite:`B.2016`" in got and ":eq:`eq_c`" in got
    assert len({len(row) for row in rows}) == 1
    assert ".. table:: Caption" in got
