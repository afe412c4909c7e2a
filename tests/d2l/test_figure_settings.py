"""The outputs of `d2l/figures.py`: what each medium gets of an interactive figure."""

import html
import json
import re
from importlib import resources

import pytest

from d2l.figures import MOST, PAGE, SHOWN, Figure, as_text

pytestmark = pytest.mark.shared


def test_a_figure_has_the_settings_for_each_medium():
    figure = Figure("queue", host=44.2, every="1")
    bundle = figure._repr_mimebundle_()
    assert bundle.keys() == {"text/html", "text/plain", PAGE}
    text = "Interactive figure queue: host = 44.2; every = 1"
    assert bundle["text/plain"] == text and f"has these: {text}." in bundle["text/html"]
    assert bundle[PAGE] == "queue?host=44.2&every=1"
    assert not re.search(r"(?:src|href)=\"(?!data:)", bundle["text/html"])


def test_a_notebook_gets_the_scripts_of_a_figure_in_their_order():
    text = shown("queue", host=1, every=2)
    found = re.search('srcdoc="(.*?)" title="queue"', text, re.DOTALL)
    assert found
    document = html.unescape(found[1])
    assert 'data-explorable="queue" data-settings="host=1&amp;every=2"' in document
    figures = json.loads(resources.files("d2l").joinpath("figures.json").read_text())
    scripts = [figures["scripts"][name] for name in figures["needs"]["queue"]]
    assert len(scripts) > 1
    assert f"<script>{''.join(scripts)}</script>" in document


def shown(name, **settings):
    return Figure(name, **settings)._repr_mimebundle_()["text/html"]


def test_a_figure_without_settings_has_its_own_numbers():
    assert repr(Figure("queue")) == "Interactive figure queue: its own numbers"
    short, long = "x" * (SHOWN - 10), "x" * SHOWN
    assert repr(Figure("queue", line=short)).endswith(f"line = {short}")
    assert repr(Figure("queue", line=long)).endswith(f"line = {long[: SHOWN - 7]}…")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a, b", "a, b"),
        (3, "3"),
        (1 / 3, "0.3333"),
        ([1, 2.34567], "1,2.346"),
        ([], ""),
    ],
)
def test_settings_are_texts(value, text):
    assert as_text(value) == text


def test_a_long_list_keeps_its_largest_numbers():
    numbers = [*range(10 * MOST), 0]
    parts = [float(text) for text in as_text(numbers).split(",")]
    assert len(parts) <= MOST and max(parts) == max(numbers)


def test_an_unknown_figure():
    with pytest.raises(ValueError, match="no figure is called 'queues'; .*roofline"):
        Figure("queues")
