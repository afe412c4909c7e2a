"""The tools: growing classes, hyperparameters, the board, plots, the clock."""

# The fixture d2l is a module, and mypy does not know its classes.
# mypy: disable-error-code="attr-defined,name-defined,has-type"

from types import SimpleNamespace

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from matplotlib import pyplot as plt
from traitlets.config import Config

from d2l import plots
from d2l.plots import Point


@pytest.mark.shared
def test_add_to_class_reaches_instances_that_exist(d2l):
    class Counter:
        count = 0

    counter = Counter()

    @d2l.add_to_class(Counter)
    def increase(self):
        self.count += 1
        return self.count

    assert counter.increase() == 1
    assert increase is Counter.increase


@pytest.mark.shared
def test_add_to_class_replaces_a_method(d2l):
    class Greeter:
        def greet(self):
            return "old"

    @d2l.add_to_class(Greeter)
    def greet(self):
        return "new"

    assert Greeter().greet() == "new"


def test_save_hyperparameters(d2l):
    class Model(d2l.HyperParameters):
        def __init__(self, width, depth=2, *, name, _secret=3):
            local = width * 2  # noqa: F841
            self.save_hyperparameters(ignore=["name"])

    model = Model(256, name="a")
    assert model.hparams == {"width": 256, "depth": 2}
    assert (model.width, model.depth) == (256, 2)
    assert not hasattr(model, "name") and not hasattr(model, "_secret")


def test_hyperparameters_of_a_subclass_add_to_those_of_its_base(d2l):
    class Base(d2l.HyperParameters):
        def __init__(self, a):
            self.save_hyperparameters()

    class Sub(Base):
        def __init__(self, b):
            super().__init__(a=1)
            self.save_hyperparameters()

    sub = Sub(2)
    assert (sub.a, sub.b) == (1, 2)


def test_save_hyperparameters_costs_little(d2l):
    """Flax copies a model, and so makes a board, each time it is applied."""

    class Model(d2l.HyperParameters):
        def __init__(self, width):
            self.save_hyperparameters()

    def seconds(depth):
        if depth:
            return seconds(depth - 1)
        timer = d2l.Timer()
        for _ in range(100):
            Model(1)
        return timer.stop()

    assert min(seconds(depth=40) for _ in range(10)) < 0.02


def test_board_draws_the_mean_of_every_n(d2l):
    board = d2l.ProgressBoard("x", display=False)
    for x in range(7):
        board.draw(x, 10 * x, "a", every_n=3)
        board.draw(x, x, "b")
    assert board.data["a"] == [(1, 10), (4, 40)]
    assert board.data["b"] == [(x, x) for x in range(7)]
    assert board.axes is None


def test_points_of_the_board_have_names(d2l, fw):
    board = d2l.ProgressBoard(display=False)
    for x in range(4):
        board.draw(x, fw.tensor(2.0 * x), "a", every_n=2)
    last = board.data["a"][-1]
    assert (last.x, last.y) == (2.5, 5) == last
    assert isinstance(last, Point) and type(last.y) is float


@pytest.mark.parametrize("every_n", [0, 1])
def test_board_draws_every_point_if_it_may_not_wait(d2l, every_n):
    board = d2l.ProgressBoard(display=False)
    board.draw(0, 1.5, "a", every_n=every_n)
    assert board.data["a"] == [(0, 1.5)]


def test_board_takes_tensors_and_numbers(d2l, fw):
    board = d2l.ProgressBoard(display=False)
    for y in (fw.tensor(1.0), 2, np.float32(3), fw.tensor(6.0)):
        board.draw(0, y, "a", every_n=4)
    [(_, mean)] = board.data["a"]
    assert type(mean) is float and mean == 3


def test_board_names_a_remedy_for_the_first_nan(d2l):
    board = d2l.ProgressBoard("epoch", display=False)
    remedy = "lower the learning rate or set gradient_clip_val"
    with pytest.warns(UserWarning) as told:
        for epoch in 3, 4:
            board.draw(epoch, float("nan"), "a")
    (warning,) = told
    assert str(warning.message) == (
        f"a is NaN at epoch 3; if the training has diverged, {remedy}"
    )


def test_board_keeps_one_figure_and_one_line_a_curve(d2l):
    board = d2l.ProgressBoard("x", ylabel="y", xlim=[0, 50], yscale="log")
    axes = set()
    for x in range(50):
        board.draw(x, x + 1, "a")
        board.draw(x, 2 * x + 1, "b", every_n=2)
        board.show()
        axes.add(board.axes)
    assert axes == {board.axes} and board.fig is board.axes.figure
    first, second = board.axes.lines
    assert len(first.get_xdata()) == 50 and len(second.get_xdata()) == 25
    assert first.get_color() != second.get_color()
    assert first.get_linestyle() != second.get_linestyle()
    assert board.axes.get_xlim() == (0, 50) and board.axes.get_yscale() == "log"
    assert (board.axes.get_xlabel(), board.axes.get_ylabel()) == ("x", "y")
    labels = [text.get_text() for text in board.axes.get_legend().get_texts()]
    assert labels == ["a", "b"]
    assert plt.get_fignums() == []


def test_board_has_styles_for_more_curves_than_colors(d2l):
    board = d2l.ProgressBoard()
    for i in range(6):
        board.draw(0, i, f"curve {i}")
    board.show()
    assert len(board.axes.lines) == 6


def test_board_shows_all_points_without_limits(d2l):
    board = d2l.ProgressBoard()
    for x in range(5):
        board.draw(x, 100 * x, "a")
        board.show()
    (left, right), (bottom, top) = board.axes.get_xlim(), board.axes.get_ylim()
    assert left <= 0 and right >= 4 and bottom <= 0 and top >= 400


def test_board_draws_into_given_axes(d2l):
    figure, (left, right) = plt.subplots(1, 2)
    board = d2l.ProgressBoard("x", axes=right)
    board.draw(0, 1, "a")
    board.show()
    assert len(right.lines) == 1 and len(left.lines) == 0
    assert right.get_xlabel() == "x"
    assert plt.get_fignums() == [figure.number]


def test_board_draws_into_a_given_figure(d2l):
    figure = plt.figure()
    board = d2l.ProgressBoard("x", fig=figure)
    board.draw(0, 1, "a")
    board.show()
    assert board.axes.figure is figure


@pytest.fixture
def cell(monkeypatch, tmp_path):
    """Run a cell as in a notebook, and return what it displays."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    config = Config({"HistoryManager": {"enabled": False}})
    shell = InteractiveShell.instance(config=config)
    shell.kernel = "a kernel"  # a terminal's shell has none

    def run(code, **names):
        shell.push(names)
        with capture_output() as captured:
            shell.run_cell(code).raise_error()
        assert captured.stdout == ""
        return captured._outputs

    yield run
    InteractiveShell.clear_instance()


DRAW = """
for x in range(100):
    clock.now += 0.01
    board.draw(x, x, "a")
    board.draw(x, -x, "b")
"""


def test_board_replaces_its_picture_in_a_notebook(d2l, monkeypatch, cell):
    clock = SimpleNamespace(now=1.0, perf_counter=lambda: clock.now)
    monkeypatch.setattr(plots, "time", clock)
    board = d2l.ProgressBoard("x")
    outputs = cell(DRAW, board=board, clock=clock)
    # One picture at first, about ten in the second, one when the cell ends.
    assert 9 <= len(outputs) <= 12
    assert [o["update"] for o in outputs] == [False] + [True] * (len(outputs) - 1)
    assert len({o["transient"]["display_id"] for o in outputs}) == 1
    assert all("image/svg+xml" in o["data"] for o in outputs)
    assert [len(line.get_xdata()) for line in board.axes.lines] == [100, 100]


def test_drawing_takes_a_twentieth_of_the_time(d2l, monkeypatch, cell):
    clock = SimpleNamespace(now=1.0, perf_counter=lambda: clock.now)
    monkeypatch.setattr(plots, "time", clock)

    class Slow(d2l.ProgressBoard):
        def replace_picture(self):
            pictures.append(clock.now)
            clock.now += 0.05

    pictures: list = []
    # Ten seconds, without the pictures.
    cell(DRAW.replace("100", "1000"), board=Slow("x"), clock=clock)
    assert pictures[0] == pytest.approx(1.01) and len(pictures) == 11
    assert np.diff(pictures[:-1]) == pytest.approx(21 * 0.05, abs=0.02)


def test_board_draws_nothing_when_it_has_no_new_points(d2l, cell):
    board = d2l.ProgressBoard("x")
    cell("board.draw(0, 1, 'a')", board=board)
    assert cell("x = 1") == []


def test_board_without_display_draws_nothing_in_a_notebook(d2l, cell):
    board = d2l.ProgressBoard("x", display=False)
    assert cell("board.draw(0, 1, 'a')", board=board) == []
    assert board.data == {"a": [(0, 1)]}


def test_board_draws_nothing_in_the_shell_of_a_terminal(d2l, cell):
    InteractiveShell.instance().kernel = None
    board = d2l.ProgressBoard("x")
    assert cell("board.draw(0, 1, 'a')", board=board) == []
    assert board.data == {"a": [(0, 1)]}


def test_board_shows_nothing_outside_a_notebook(d2l, capsys):
    board = d2l.ProgressBoard("x")
    board.draw(0, 1, "a")
    board.show()
    assert board.picture is None
    assert capsys.readouterr().out == ""


def curves():
    """Return the points of each line, as lists of numbers."""
    data = [line.get_data() for line in plt.gca().lines]
    return [tuple(np.array(v, float).ravel().tolist() for v in pair) for pair in data]


def test_plot_of_several_curves_over_one_axis(d2l):
    x = np.arange(3)
    d2l.plot(x, [x, 2 * x], "x", "y", legend=["a", "b"], xlim=[0, 3], yscale="log")
    assert curves() == [([0, 1, 2], [0, 1, 2]), ([0, 1, 2], [0, 2, 4])]
    axes = plt.gca()
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "y")
    assert axes.get_xlim() == (0, 3) and axes.get_yscale() == "log"
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["a", "b"]


def test_plot_of_lists_tensors_and_columns(d2l, fw):
    x, y, z = [0, 1, 2], [3, 4, 5], [6, 7, 8]
    X, Y, column = fw.tensor(x), fw.tensor(y), fw.tensor([[value] for value in z])
    for arguments, expected in (
        ((y,), [(x, y)]),
        ((Y,), [(x, y)]),
        ((X, Y), [(x, y)]),
        ((X, [Y, column]), [(x, y), (x, z)]),
        (([x, x[1:]], [y, z[1:]]), [(x, y), (x[1:], z[1:])]),
        (([X, X[1:]], [column, column[1:]]), [(x, z), (x[1:], z[1:])]),
    ):
        plt.close()
        d2l.plot(*arguments)
        assert curves() == expected


def test_plot_into_given_axes(d2l):
    _, (left, right) = plt.subplots(1, 2)
    d2l.plot([1, 2], axes=left)
    assert len(left.lines) == 1 and len(right.lines) == 0


def test_a_trace_has_a_row_for_each_processor(d2l):
    host, gpu = [("copy", 5.0, 0.25)], [("copy", 6.0, 0.25), ("compute", 6.5, 0.5)]
    for aligned, begin in (True, 0), (False, 1000):
        d2l.plot_trace({"host": host, "GPU": gpu}, aligned)
        axes = plt.gca()
        assert [*plt.gcf().get_size_inches()] == [5, 0.8 + 2 * 0.5]
        assert [text.get_text() for text in axes.get_yticklabels()] == ["host", "GPU"]
        bars = [(bar.get_x(), bar.get_width()) for bar in axes.patches]
        assert bars == [(0, 250), (begin, 250), (begin + 500, 500)]
        plt.close()


def test_set_figsize(d2l):
    with plt.rc_context():
        d2l.set_figsize((2, 1))
        assert list(plt.figure().get_size_inches()) == [2, 1]


def test_timer(d2l, monkeypatch):
    ticks = iter([0, 10, 11, 20, 25])
    clock = SimpleNamespace(perf_counter=lambda: next(ticks))
    monkeypatch.setattr(plots, "time", clock)
    timer = d2l.Timer()
    timer.start()
    assert timer.stop() == 1
    timer.start()
    assert timer.stop() == 5
    assert timer.times == [1, 5]
    assert (timer.sum(), timer.avg(), timer.cumsum()) == (6, 3, [1, 6])


def test_pyplot_is_an_attribute_that_is_imported_when_it_is_read(d2l):
    assert d2l.plt is plt
    with pytest.raises(AttributeError, match="no_such_name"):
        d2l.no_such_name  # noqa: B018
