"""Outputs are read as texts and pictures."""

from nbformat.v4 import new_output

from book.records.cleaning import FIGURE, SVG
from book.records.outputs import (
    InteractiveFigure,
    Picture,
    PrintedText,
    read,
    text_of,
)


def test_streams_in_a_row_are_one_text():
    parts = {"stdout": "1%\r", "stderr": "2%\n\n"}
    outputs = [new_output("stream", name=n, text=t) for n, t in parts.items()]
    assert list(read(outputs)) == [PrintedText("2%\n")]
    assert list(read([new_output("stream", text="")])) == []


def test_a_picture_is_read_with_the_description_of_its_record():
    data = {"image/png": "QUJD", "text/plain": "Figure"}
    own = new_output("display_data", data, metadata={"alt": "its own"})
    assert list(read([own])) == [Picture("image/png", "QUJD", "its own")]


def test_the_best_of_what_an_output_shows_is_read():
    shown = {SVG: "<svg>", "image/png": "QUJD", "image/jpeg": "QUJD"}
    data = {"text/plain": "Figure", FIGURE: "heat?n=2&m=3"} | shown
    for kind in shown:
        [picture] = read([new_output("display_data", dict(reversed(data.items())))])
        assert isinstance(picture, Picture)
        assert (picture.kind, picture.alt) == (kind, "")
        assert picture.bytes == (b"<svg>" if kind == SVG else b"ABC")
        del data[kind]
    figure = InteractiveFigure("Figure", "heat", "n=2&m=3")
    assert list(read([new_output("display_data", data)])) == [figure]
    del data[FIGURE]
    assert list(read([new_output("display_data", data)])) == [PrintedText("Figure")]
    assert list(read([new_output("display_data", {})])) == []


def test_messages_of_errors_are_no_text_of_the_cell():
    error = new_output("error", ename="E", evalue="", traceback=["16 ms", "E"])
    result = new_output("execute_result", {"text/plain": "8 ms\n"})
    assert text_of([new_output("stream", text="9 ms"), error, result]) == "9 ms\n8 ms"
    assert list(read([error])) == [PrintedText("16 ms\nE")]
