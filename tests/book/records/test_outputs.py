"""Outputs as pages and slides show them."""

import pytest
from nbformat.v4 import new_output

from book.records.outputs import Picture, Printed, read
from book.sources.blocks import Cell

CELL = Cell(line=1, source="x", code="x", rows=(1,))


def test_streams_in_a_row_are_one_text():
    outputs = [new_output("stream", name=n, text=n) for n in ("stdout", "stderr")]
    assert list(read(outputs, CELL)) == [Printed("stdoutstderr")]


@pytest.mark.parametrize("plain", [{}, {"text/plain": "<IPython.HTML object>"}])
def test_an_output_of_html_alone_is_shown_as_text(plain):
    table = "<table><tr><th>name</th></tr><tr><td>H100</td></tr></table>"
    output = new_output("display_data", data={"text/html": table} | plain)
    (shown,) = read([output], CELL)
    assert isinstance(shown, Printed)
    assert shown.text.split() == ["name", "------", "H100"]


def test_the_description_of_a_picture_is_that_of_its_record_first():
    cell = Cell(line=1, source="x", code="x", rows=(1,), attributes={"alt": "a cell"})
    data = {"image/png": "QUJD"}
    own = new_output("display_data", data, metadata={"alt": "its\nown"})
    assert list(read([own], cell)) == [Picture("image/png", "QUJD", "its own")]
    (shown,) = read([new_output("display_data", data)], cell)
    assert isinstance(shown, Picture) and shown.alt == "a cell"
