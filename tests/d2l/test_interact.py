"""Controls in notebooks, and the arithmetic and pictures that they are for."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from matplotlib import pyplot as plt

pytestmark = pytest.mark.shared

ROOT = Path(__file__).parents[2]


# interact


@pytest.fixture
def shown(d2l, monkeypatch):
    """A list that grows by what is displayed in the notebook that this pretends."""
    shown: list = []
    monkeypatch.setattr(d2l, "get_ipython", lambda: SimpleNamespace(kernel="a kernel"))
    monkeypatch.setattr(d2l, "display", SimpleNamespace(display=shown.append))
    return shown


@pytest.fixture
def no_widgets(monkeypatch):
    """Let the import of ipywidgets fail, as where it is not installed."""
    monkeypatch.setitem(sys.modules, "ipywidgets", None)


@pytest.fixture
def widgets(monkeypatch):
    """A stand-in for ipywidgets; its `calls` are those of `interact`."""
    calls: list = []
    fake = SimpleNamespace(
        calls=calls,
        fixed=lambda value: ("fixed", value),
        interact=lambda function, **choices: calls.append((function, choices)),
    )
    monkeypatch.setitem(sys.modules, "ipywidgets", fake)
    return fake


class Called:
    """A function with three parameters, which keeps the arguments of its calls."""

    def __init__(self):
        self.calls = []

    def __call__(self, a=1, b="x", c=(5, 2)):
        self.calls.append((a, b, c))
        return f"{a}{b}"


@pytest.fixture
def called():
    return Called()


def test_without_widgets_the_function_runs_once(d2l, no_widgets, shown, called):
    d2l.interact(called, a=(0, 3), b=["x", "y"])
    assert called.calls == [(1, "x", (5, 2))]
    assert shown == ["1x"]


def test_with_widgets_but_no_kernel_the_function_runs_once(
    d2l, widgets, shown, called, monkeypatch
):
    for shell in (None, SimpleNamespace(), SimpleNamespace(kernel=None)):
        monkeypatch.setattr(d2l, "get_ipython", lambda shell=shell: shell)
        d2l.interact(called, a=(0, 3))
    assert called.calls == [(1, "x", (5, 2))] * 3
    assert widgets.calls == []


def test_outside_a_notebook_nothing_is_printed(d2l, no_widgets, called, capsys):
    d2l.interact(called, a=(0, 3))
    assert len(called.calls) == 1
    assert capsys.readouterr().out == ""


def test_what_returns_nothing_displays_nothing(d2l, no_widgets, shown):
    d2l.interact(lambda a=1: None, a=(0, 3))
    assert shown == []


def test_in_a_notebook_widgets_choose(d2l, widgets, shown, called):
    d2l.interact(called, b=["x", "y"], a=(0, 9, 3))
    fixed = {"c": ("fixed", (5, 2))}
    assert widgets.calls == [(called, {"a": (0, 9, 3), "b": ["x", "y"], **fixed})]
    assert called.calls == [] and shown == []  # ipywidgets calls and displays


@pytest.mark.parametrize("installed", ["widgets", "no_widgets"])
def test_a_choice_for_no_parameter(d2l, request, shown, installed):
    request.getfixturevalue(installed)
    for function in (lambda a=1: a, lambda a, k: a, lambda a=1, **k: a):
        with pytest.raises(ValueError, match="'k'"):
            d2l.interact(function, k=(0, 3))


def test_an_error_of_the_function_is_not_hidden(d2l, no_widgets, shown):
    def function(a=1):
        raise ImportError("mine")

    with pytest.raises(ImportError, match="mine"):
        d2l.interact(function, a=(0, 3))


def test_records_are_made_without_widgets(fw):
    """They hold static plots: their environment has no ipywidgets."""
    pins = (ROOT / "environments" / f"{fw.tab}.txt").read_text()
    assert "ipykernel==" in pins and "ipywidgets" not in pins


# The queue


def closed_form(n, k, h, d, c):
    """The end of `n` steps as the chapter derives it."""

    def block(steps):
        return steps * max(h, d) + min(h, d) if steps else 0

    blocks, rest = divmod(n, k) if k else (0, n)
    return blocks * (block(k) + c) + block(rest)


STEPS = [(n, k) for n in (1, 2, 7, 12) for k in (0, 1, 3, 12, 20)]
TIMES = [(44e-6, 2.5e-3, 1e-5), (3, 1, 2), (1, 3, 0), (2, 2, 1), (0, 1, 1), (1, 0, 1)]


@pytest.mark.parametrize("times", TIMES)
def test_queue_ends_as_the_formula_says(d2l, times):
    for n, k in STEPS:
        *_, end = d2l.queue_times(n, k, *times)
        assert end == pytest.approx(closed_form(n, k, *times))


def apart(spans):
    """Whether spans are in order and do not overlap."""
    flat = [time for span in spans for time in span]
    return flat == sorted(flat)


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("k", [0, 1, 3, 20])
def test_queue_makes_sense(d2l, k, times, n=7):
    host, waits, device, end = d2l.queue_times(n, k, *times)
    fetched = [device[i][1] for i in range(n) if k and (i + 1) % k == 0]
    assert len(host) == n + len(fetched) and len(device) == n
    assert apart(device) and apart(sorted(host + waits))
    assert [e - s for s, e in device] == pytest.approx([times[1]] * n)
    assert [stop for _, stop in waits] == fetched
    assert {(stop, stop + times[2]) for stop in fetched} <= set(host)
    assert end == max(host[-1][1], device[-1][1])


def test_queue_step_by_step(d2l):
    host, waits, device, end = d2l.queue_times(3, 2, 1, 3, 2)
    assert host == [(0, 1), (1, 2), (7, 9), (9, 10)]
    assert waits == [(2, 7)]
    assert device == [(1, 4), (4, 7), (10, 13)]
    assert end == 13


def test_queue_of_the_cited_products(d2l):
    host, _, _, end = d2l.queue_times(32, 0, 1.4e-3 / 32, 80e-3 / 32, 1e-5)
    assert host[-1][1] == pytest.approx(1.4e-3)
    assert end == pytest.approx(80e-3, rel=1e-3)


def test_queue_of_nothing(d2l):
    assert d2l.queue_times(0, 1, 1, 1, 1) == ([], [], [], 0)


@pytest.mark.parametrize("wrong", range(5))
def test_queue_refuses_what_is_negative(d2l, wrong):
    arguments = [4, 2, 1.0, 1.0, 1.0]
    arguments[wrong] *= -1
    with pytest.raises(ValueError, match="must not be negative"):
        d2l.queue_times(*arguments)


# Products


MACHINE = {
    "itemsize": 4,
    "cpu_rate": 7.168e12,
    "gpu_rate": 66.9e12,
    "link_bandwidth": 64e9,
    "memory_bandwidth": 3.35e12,
    "copy_latency": 1e-5,
    "launch_time": 44e-6,
    "num_products": 1,
}


def test_products_by_hand(d2l):
    # 16 operations and 3 * 4 numbers of 4 bytes
    times = d2l.product_times(2, 4, 8, 4, 24, 48, 0.5, 0.25, 3)
    assert times == (3 * 16 / 8, 3 * 0.5 + 48 / 24, 3 * (max(16 / 4, 48 / 48) + 0.25))
    *_, gpu = d2l.product_times(2, 4, 8, 4, 24, 6, 0.5, 0.25, 3)
    assert gpu == 3 * (48 / 6 + 0.25)  # the memory of the GPU is what takes longer


def test_moving_pays_for_large_products_only(d2l):
    cpu, copies, gpu = d2l.product_times(256, **MACHINE)
    assert cpu < copies + gpu
    cpu, copies, gpu = d2l.product_times(4096, **MACHINE)
    assert gpu < copies < cpu / 5


def test_the_defaults_are_those_of_the_section(d2l):
    assert d2l.product_times(300) == d2l.product_times(300, **MACHINE)


def test_copies_do_not_depend_on_how_many_products(d2l):
    one = d2l.product_times(512, **MACHINE)
    ten = d2l.product_times(512, **MACHINE | {"num_products": 10})
    assert ten == pytest.approx((10 * one[0], one[1], 10 * one[2]))


@pytest.mark.parametrize("sign", [0, -1])
@pytest.mark.parametrize("name", [*list(MACHINE)[:5], "n"])
def test_products_refuse_what_is_not_positive(d2l, name, sign):
    with pytest.raises(ValueError, match="must be positive"):
        d2l.product_times(**{"n": 8, **MACHINE, name: sign})


@pytest.mark.parametrize("name", list(MACHINE)[5:])
def test_products_refuse_what_is_negative(d2l, name):
    with pytest.raises(ValueError, match="must not be negative"):
        d2l.product_times(8, **MACHINE | {name: -1})


# Pictures


@pytest.fixture
def notebook_shell(monkeypatch, tmp_path):
    """IPython with what makes it a notebook, as the formatters of figures need it."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    shell: Any = InteractiveShell.instance()
    shell.kernel = "a kernel"
    yield shell
    InteractiveShell.clear_instance()


@pytest.mark.parametrize("name", ["plot_queue", "plot_product_times"])
def test_pictures_are_closed_and_repeat(d2l, name, notebook_shell):
    def svg(**choices):
        with plt.rc_context({"svg.hashsalt": "book"}):
            figure = getattr(d2l, name)(**choices)
            formats, metadata = notebook_shell.display_formatter.format(figure)
        assert plt.get_fignums() == []
        text = formats["image/svg+xml"]
        return text[: text.index("<metadata>")] + text.split("</metadata>")[1]

    assert svg() == svg()
    assert len(svg()) < 40_000


def spans_of(bars):
    """The spans of time that one call of broken_barh has drawn."""
    return [tuple(path.get_extents().intervalx) for path in bars.get_paths()]


@pytest.mark.parametrize("k", [0, 1, 5])
def test_plot_queue(d2l, k):
    figure = d2l.plot_queue(7, k, 1, 3, 2)
    host, waits, device, end = d2l.queue_times(7, k, 1, 3, 2)
    (axes,) = figure.axes
    drawn = [spans_of(bars) for bars in axes.collections]
    assert drawn == [host, device, waits]
    assert axes.get_xlim() == (0, end)
    assert f"device busy {21 / end:.0%}" in axes.get_title()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["device", "host"]


def test_plot_queue_says_how_long(d2l):
    assert "567.00 µs" in d2l.plot_queue(fetch_every=0).axes[0].get_title()


def test_plot_queue_of_nothing(d2l):
    assert "busy 0%" in d2l.plot_queue(num_steps=0).axes[0].get_title()


def test_plot_product_times(d2l):
    figure = d2l.plot_product_times(256, num_products=3)
    (axes,) = figure.axes
    cpu, copies, gpu = d2l.product_times(256, **MACHINE | {"num_products": 3})
    marked = axes.lines[-1]
    assert list(marked.get_xdata()) == [256, 256]
    assert list(marked.get_ydata()) == pytest.approx([cpu, copies + gpu])
    assert axes.get_xscale() == axes.get_yscale() == "log"
    assert "256" in axes.get_xlabel() and "14.0 µs" in axes.get_title()
    on_cpu, on_gpu = (line.get_ydata() for line in axes.lines[:2])
    assert on_cpu[0] < on_gpu[0] and on_cpu[-1] > on_gpu[-1]


def test_plots_refuse_what_makes_no_sense(d2l):
    with pytest.raises(ValueError, match="negative"):
        d2l.plot_queue(fetch_every=-1)
    with pytest.raises(ValueError, match="positive"):
        d2l.plot_product_times(cpu_rate=0)
    assert plt.get_fignums() == []
