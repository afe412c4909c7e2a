"""Plots in notebooks, a board whose curves grow, a bar in terminals, and a timer.

Matplotlib is imported where it is used, because its import takes a while.
"""

import contextlib
import importlib.util
import sys
import time
import warnings
from collections import namedtuple
from collections.abc import Iterator, Sequence
from typing import Any


def in_notebook() -> bool:
    """Return whether this program runs in a notebook, and can show pictures."""
    ipython = sys.modules.get("IPython")  # a notebook has imported it
    return getattr(ipython and ipython.get_ipython(), "kernel", None) is not None


Point = namedtuple("Point", "x y")


class ProgressBoard:
    """A plot whose curves grow while the program runs.

    `data` maps the label of each curve to its list of points, with attributes `x`
    and `y`.
    """

    bar: Any = None  # counts the epochs in a terminal

    def __init__(
        self,
        xlabel=None,
        ylabel=None,
        xlim=None,
        ylim=None,
        xscale="linear",
        yscale="linear",
        ls=("-", "--", "-.", ":"),
        colors=("C0", "C1", "C2", "C3"),
        fig=None,
        axes=None,
        figsize=(3.5, 2.5),
        display=True,
    ):
        self.xlabel, self.ylabel, self.xlim, self.ylim = xlabel, ylabel, xlim, ylim
        self.xscale, self.yscale, self.ls, self.colors = xscale, yscale, ls, colors
        self.fig, self.axes, self.figsize, self.display = fig, axes, figsize, display
        self.waiting: dict[str, list] = {}  # points whose mean is to be drawn
        self.data: dict[str, list] = {}
        self.lines: dict[str, Any] = {}
        self.picture, self.due, self.diverged = None, 0.0, False

    @staticmethod
    def mean(values: Sequence) -> Any:
        """Return the mean of some values; a framework computes it on their device."""
        return sum(values) / len(values)

    def clear(self) -> None:
        """Forget all points."""
        self.data.clear()
        self.waiting.clear()
        self.diverged = False

    def draw(self, x: float, y: Any, label: str, every_n: int = 1) -> None:
        """Add the point (x, y) to curve `label`; draw the mean of each `every_n`.

        `y` is a number, or a tensor that holds one, on any device.
        """
        points = self.waiting.setdefault(label, [])
        points.append((x, y))
        if len(points) < every_n:
            return
        xs, ys = zip(*points)
        points.clear()
        point = Point(sum(xs) / len(xs), float(self.mean(ys)))
        self.data.setdefault(label, []).append(point)
        if point.y != point.y and not self.diverged:  # NaN
            self.diverged = True
            warnings.warn(
                f"{label} is NaN at {self.xlabel} {point.x:.3g}; if the training has "
                "diverged, lower the learning rate or set gradient_clip_val",
                stacklevel=2,
            )
        if self.display and in_notebook():
            self.publish()

    def start(self) -> None:
        """Make the figure and its axes."""
        from matplotlib import pyplot as plt  # takes a while

        use_svg_display()
        if self.fig is None and self.axes is None:
            self.fig = plt.figure(figsize=self.figsize)
            plt.close(self.fig)  # the notebook would show it a second time
        self.axes = self.axes or self.fig.gca()
        self.axes.set(
            xlabel=self.xlabel,
            ylabel=self.ylabel,
            xscale=self.xscale,
            yscale=self.yscale,
        )

    def show(self) -> None:
        """Draw the current data into the figure."""
        if not self.lines:
            self.start()
        for label, points in self.data.items():
            if label not in self.lines:
                i = len(self.lines)
                (self.lines[label],) = self.axes.plot(
                    [],
                    [],
                    label=label,
                    linestyle=self.ls[i % len(self.ls)],
                    color=self.colors[i % len(self.colors)],
                )
                self.axes.legend()
            self.lines[label].set_data(*zip(*points))
        self.axes.relim()
        self.axes.autoscale_view()
        limits = {"xlim": self.xlim, "ylim": self.ylim}
        self.axes.set(**{k: limit for k, limit in limits.items() if limit})

    def publish(self) -> None:
        """Show the picture in the notebook when it is due, and when the cell ends."""
        start = time.perf_counter()
        if start >= self.due:
            self.replace_picture()
            end = time.perf_counter()
            self.due = end + max(0.1, 20 * (end - start))
        from IPython import get_ipython

        events = get_ipython().events
        if self.finish not in events.callbacks["post_run_cell"]:
            events.register("post_run_cell", self.finish)

    def replace_picture(self) -> None:
        """Draw the picture, and show it in place of the previous one."""
        from IPython import display

        self.show()
        figure = self.axes.figure
        if self.picture is None:
            self.picture = display.display(figure, display_id=True)
        else:
            self.picture.update(figure)

    def finish(self, _result: Any) -> None:
        """Draw the last picture of a cell."""
        from IPython import get_ipython

        get_ipython().events.unregister("post_run_cell", self.finish)
        self.replace_picture()
        self.picture = None  # another cell has a picture of its own


def use_svg_display() -> None:
    """Show plots as vector graphics, if this is a notebook."""
    if in_notebook():
        from matplotlib_inline import backend_inline

        backend_inline.set_matplotlib_formats("svg")


@contextlib.contextmanager
def progress_bar(trainer: Any) -> Iterator[None]:
    """Show a bar in a terminal while `trainer` trains; elsewhere do nothing."""
    in_terminal = not in_notebook() and sys.stderr.isatty()
    ranks = getattr(trainer, "ranks", trainer)
    if getattr(ranks, "rank", 0):  # only rank 0 shows a bar
        in_terminal = False
    if not in_terminal or importlib.util.find_spec("tqdm") is None:
        yield
        return
    from tqdm import tqdm

    bar = tqdm(
        total=trainer.max_epochs,
        desc=type(trainer.model).__name__,
        delay=1,
        bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}",
    )
    try:
        with bar as trainer.model.board.bar:
            yield
    finally:
        trainer.model.board.bar = None


def set_figsize(figsize: tuple[float, float] = (3.5, 2.5)) -> None:
    """Set the size of the figures that follow, in inches."""
    from matplotlib import pyplot as plt

    use_svg_display()
    plt.rcParams["figure.figsize"] = figsize


def set_axes(axes, xlabel, ylabel, xlim, ylim, xscale, yscale, legend) -> None:
    """Label and scale `axes`, and give them a grid."""
    axes.set(xlabel=xlabel, ylabel=ylabel, xscale=xscale, yscale=yscale)
    axes.set(xlim=xlim, ylim=ylim)
    if legend:
        axes.legend(legend)
    axes.grid()


def plot(
    X,
    Y=None,
    xlabel=None,
    ylabel=None,
    legend=(),
    xlim=None,
    ylim=None,
    xscale="linear",
    yscale="linear",
    fmts=("-", "m--", "g-.", "r:"),
    figsize=(3.5, 2.5),
    axes=None,
) -> None:
    """Plot one curve or several: each item of `Y` over `X`, or `X` over 0, 1, ...

    `X` and `Y` are sequences of numbers, or sequences of such sequences. Tensors in
    main memory are sequences, too.
    """

    def curves(values):
        inner = getattr(values[0], "ndim", hasattr(values[0], "__len__"))
        return values if inner else [values]

    ys = curves(X if Y is None else Y)
    xs = [range(len(y)) for y in ys] if Y is None else curves(X)
    from matplotlib import pyplot as plt

    set_figsize(figsize)
    axes = axes or plt.gca()
    axes.cla()
    for i, y in enumerate(ys):
        axes.plot(xs[i % len(xs)], y, fmts[i % len(fmts)])
    set_axes(axes, xlabel, ylabel, xlim, ylim, xscale, yscale, legend)


class Timer:
    """A stopwatch that remembers each of its times, in seconds."""

    def __init__(self):
        self.times: list[float] = []
        self.start()

    def start(self) -> None:
        """Start, or start again."""
        self.tik = time.perf_counter()

    def stop(self) -> float:
        """Return the seconds since the start, and remember them."""
        self.times.append(time.perf_counter() - self.tik)
        return self.times[-1]

    def avg(self) -> float:
        """Return the mean of the times."""
        return sum(self.times) / len(self.times)

    def sum(self) -> float:
        """Return the sum of the times."""
        return sum(self.times)

    def cumsum(self) -> list[float]:
        """Return the running sums of the times."""
        return [sum(self.times[: i + 1]) for i in range(len(self.times))]


def plot_trace(traces: dict[str, list], aligned: bool = True) -> None:
    """Plot the phases of several traces, each in a row of its own.

    If not `aligned`, all rows have one clock, which starts with the first.
    """
    from matplotlib import pyplot as plt

    use_svg_display()
    first = min(e[1] for events in traces.values() for e in events)
    bars: dict[str, list] = {}
    for row, events in enumerate(traces.values()):
        begin = min(e[1] for e in events) if aligned else first
        for name, start, seconds in events:
            bars.setdefault(name, []).append(
                (row, 1e3 * seconds, 0.7, 1e3 * (start - begin))
            )
    figure, axes = plt.subplots(figsize=(5, 0.8 + 0.5 * len(traces)))
    for name, spans in bars.items():
        rows, widths, heights, lefts = zip(*spans)
        axes.barh(rows, widths, heights, lefts, ec="white", label=name)
    axes.set(yticks=range(len(traces)), yticklabels=traces, xlabel="ms")
    axes.invert_yaxis()
    axes.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1))


def plot_ladder(ladders: dict[str, dict]) -> None:
    """Plot the speeds of each machine, relative to its first."""
    from matplotlib import pyplot as plt

    use_svg_display()
    figure, plots = plt.subplots(
        1,
        len(ladders),
        figsize=(3.5 * len(ladders), 2.5),
        squeeze=False,
        layout="constrained",
    )
    for axes, (title, speeds) in zip(plots[0], ladders.items()):
        first, *_ = speeds.values()
        bars = axes.barh(list(speeds), [v / first for v in speeds.values()])
        axes.bar_label(bars, [f"{v / 1e3:.3g}" for v in speeds.values()], padding=2)
        axes.set(title=title, xlabel="times the first (label: 1000 tokens/s)")
        axes.margins(x=0.3)
        axes.invert_yaxis()
