"""The style in which plots are recorded, as matplotlib reads and draws it."""

import io
from xml.etree import ElementTree

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt

from book.runner.kernel_settings import PLOT_STYLE

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def style(tmp_path, caplog):
    """The style; matplotlib has complained about none of its lines."""
    (tmp_path / "matplotlibrc").write_text(PLOT_STYLE)
    style = mpl.rc_params_from_file(tmp_path / "matplotlibrc", fail_on_error=True)
    assert caplog.messages == []
    with mpl.rc_context(style):
        yield style
    plt.close("all")


def test_plots_have_one_width_and_their_text_is_text(d2l, style):
    for xs in ([1, 2], [1, 2_000_000]):
        d2l.plot(xs, [[0.001, 5], [3, 4]], "size", "seconds", legend=["CPU", "GPU"])
        file = io.BytesIO()
        plt.savefig(file, format="svg", bbox_inches="tight")
        svg = ElementTree.fromstring(file.getvalue())
        assert 245 < float(svg.attrib["width"].removesuffix("pt")) < 265
        texts = ["".join(text.itertext()) for text in svg.iter(f"{SVG}text")]
        assert {"size", "seconds", "CPU", "GPU"} <= set(texts)
        plt.close("all")
