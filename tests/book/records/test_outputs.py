"""Outputs are read as texts and pictures."""

from nbformat.v4 import new_output

from book.records.outputs import Picture, PrintedText, read, text_of


def test_streams_in_a_row_are_one_text():
    outputs = [new_output("stream", name=n, text=n) for n in ("stdout", "stderr")]
    assert list(read(outputs)) == [PrintedText("stdoutstderr")]


def test_a_picture_is_read_with_the_description_of_its_record():
    data = {"image/png": "QUJD", "text/plain": "Figure"}
    own = new_output("display_data", data, metadata={"alt": "its own"})
    assert list(read([own])) == [Picture("image/png", "QUJD", "its own")]


def test_messages_of_errors_are_no_text_of_the_cell():
    error = new_output("error", ename="E", evalue="", traceback=["16 ms"])
    assert text_of([new_output("stream", text="9 ms"), error]) == "9 ms"
