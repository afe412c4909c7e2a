"""A fresh run is compared with the record: text exactly, numbers to a tolerance."""

import time

import pytest
from compare import differences
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook, new_output

LENGTH = 300_000


def notebook(*outputs: NotebookNode, tags: tuple[str, ...] = ()) -> NotebookNode:
    cell = new_code_cell("f()", outputs=list(outputs), metadata={"tags": list(tags)})
    return new_notebook(cells=[cell])


def printed(text: str, **kwargs) -> NotebookNode:
    return notebook(new_output("stream", name="stdout", text=text), **kwargs)


SAME = [
    ("loss 0.1234\n", "loss 0.1235\n"),
    ("1.0e-05", "1.2e-05"),
    ("tensor([ 1.0000, -0.5000])", "tensor([1.0001, -0.5001])"),
    ("[1.\n 2.]", "[1.   2.]"),
    ("<object at 0x7f00deadbeef>", "<object at 0x7f11deadbeef>"),
    ("1e3", "1001.0"),
    ("-0.0", "0.0"),
]
DIFFERENT = [
    ("loss 0.12", "loss 0.15"),
    ("epoch 3", "epoch 4"),
    ("cuda:0", "cuda:1"),
    ("1.5", "-1.5"),
    ("a\nb", "a"),
    ("nan", "1.0"),
    ("cpu", "gpu"),
]


@pytest.mark.parametrize("kept, fresh", SAME)
def test_within_the_tolerance(kept: str, fresh: str):
    assert differences(printed(kept), printed(fresh)) == []


@pytest.mark.parametrize("kept, fresh", DIFFERENT)
def test_beyond_it(kept: str, fresh: str):
    assert len(differences(printed(kept), printed(fresh))) == 1


def test_tells_the_cell_and_the_first_line_that_differs():
    found = differences(printed("a\nb 1\nc 2"), printed("a\nb 2\nc 3"))
    assert found == ["cell 1: expected 'b 1', found 'b 2'"]


def figure(data: str, kind: str = "image/svg+xml", **kwargs) -> NotebookNode:
    text = f"<Figure {data}>"
    bundle = {kind: data, "text/plain": text}
    return notebook(new_output("display_data", bundle), **kwargs)


def test_images_by_type():
    assert differences(figure("<svg/>"), figure("<svg></svg>")) == []
    assert differences(figure("<svg/>"), figure("AAAA", "image/png"))


def test_figures_by_how_much_they_draw():
    def plot(shapes: int, **kwargs) -> NotebookNode:
        return figure("<path d=''/>" * (shapes - 1) + "<use/><paths/>", **kwargs)

    assert differences(plot(100), plot(85)) == []
    assert differences(plot(100), plot(70)) == [
        "cell 1: the figure of the record has 100 shapes, that of the run 70"
    ]
    assert not differences(plot(100, tags=("varies",)), plot(70))
    assert differences(plot(100, tags=("varies",)), figure("<svg/>"))


def test_results_and_errors_are_compared():
    def result(text: str) -> NotebookNode:
        return notebook(new_output("execute_result", {"text/plain": text}))

    def error(text: str) -> NotebookNode:
        return notebook(new_output("error", ename="E", evalue=text))

    assert differences(result("cpu"), result("gpu"))
    assert differences(error("a"), error("b"))
    assert not differences(error("a"), error("a"))


def test_of_what_varies_only_the_kind_of_output_counts():
    assert not differences(printed("3 s", tags=("varies",)), printed("9 s"))
    assert differences(printed("3 s", tags=("varies",)), notebook())


def test_a_missing_cell():
    assert differences(printed("1"), new_notebook()) == [
        "the record has 1 cells, 0 ran"
    ]


@pytest.mark.timing
@pytest.mark.parametrize("part", ["1", "a", "1e", "0x1", "0x", ".", "-", "1.", " 1\n"])
def test_long_lines_are_compared_quickly(part: str):
    text = part * (LENGTH // len(part))
    start = time.monotonic()
    assert differences(printed(text + "a"), printed(text + "b"))
    assert not differences(printed(text + "a"), printed(text + "a"))
    assert time.monotonic() - start < 20
