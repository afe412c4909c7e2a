"""Describes the plots of a kernel in words, for readers who do not see them.

IPython asks for the description of each figure that it shows, whatever drew it, and
keeps it with the output as `alt`. A kernel reads this file with its settings, so the
file needs nothing but Python.
"""

import math
import re
from typing import Any

RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
# The texts of ticks that are numbers, also as formulas.
NUMBER = re.compile(r"[-\N{MINUS SIGN}$.\d]|$")
# The share of an axis by which a value has to differ from others to be mentioned.
SPREAD = 0.05


def add_description(figure: Any) -> tuple[dict[str, str], dict[str, str]]:
    """Return the data and the metadata that IPython adds to those of a figure."""
    return {}, {"alt": describe(figure)}


def describe(figure: Any) -> str:
    """Return a description of a figure; empty if the figure is."""
    if images := [axes.get_title() for axes in figure.axes if axes.images]:
        count = f"{len(images)} images" if len(images) > 1 else "An image"
        names = ", ".join(filter(None, images))
        return f"{count}: {names}." if names else f"{count}."
    count = f"{len(figure.axes)} plots. " if len(figure.axes) > 1 else ""
    return count + " ".join(map(_describe_axes, figure.axes))


def _describe_axes(axes: Any) -> str:
    """Return a sentence about axes and what they hold."""
    sentence = _describe_bars(axes)
    if not sentence:
        y, x = _describe_axis(axes.yaxis, "values"), _describe_axis(axes.xaxis, "steps")
        contents = _describe_contents(axes)
        sentence = f"Plot of {y} over {x}" + (f", with {contents}" if contents else "")
    title = axes.get_title()
    return f"{title}: {sentence}." if title else f"{sentence}."


def _describe_bars(axes: Any) -> str:
    """Return the names and values of bars; empty unless each has a name."""
    bars = axes.containers[0] if len(axes.containers) == 1 else None
    values = list(map(_write, getattr(bars, "datavalues", [])))
    axis, other = axes.yaxis, axes.xaxis
    if getattr(bars, "orientation", "") == "horizontal":
        axis, other = other, axis
    names = _names(other)
    if not values or len(names) != len(values):
        return ""
    pairs = ", ".join(map(" ".join, zip(names, values, strict=True)))
    return f"Bars of {axis.get_label_text() or 'values'}: {pairs}"


def _describe_axis(axis: Any, default: str) -> str:
    """Return the label of an axis or the `default`, and its names or its ends."""
    names = _names(axis)
    label = axis.get_label_text() or ("rows" if names else default)
    ends = filter(math.isfinite, axis.get_data_interval())
    extent = ", ".join(names) or " to ".join(dict.fromkeys(map(_write, ends)))
    # A label may end with an explanation in brackets.
    start = f"{label[:-1]}; " if label.endswith(")") else f"{label} ("
    return f"{start}{extent})" if extent else label


def _names(axis: Any) -> list[str]:
    """Return the texts of the ticks of an axis; none if they are numbers."""
    texts = axis.get_major_formatter().format_ticks(axis.get_majorticklocs())
    return [] if all(map(NUMBER.match, texts)) else texts


def _describe_contents(axes: Any) -> str:
    """Return a description of the curves of axes, or the names in their legend."""
    legend = axes.get_legend()
    names = [text.get_text() for text in legend.get_texts()] if legend else []
    curves = [line for line in axes.lines if len(line.get_xdata())]
    if not curves:
        return f"bars for {', '.join(names)}" if names else ""
    count = f"{len(curves)} curves" if len(curves) > 1 else "a curve"
    if not names:
        return count + (_describe_curve(curves[0]) if len(curves) == 1 else "")
    named = zip(names, curves, strict=False)
    return f"{count}: {'; '.join(n + _describe_curve(line) for n, line in named)}"


def _describe_curve(line: Any) -> str:
    """Return the values of a curve with a space before."""
    points = [point for point in line.get_xydata() if all(map(math.isfinite, point))]
    if not points:
        return ""
    xs, ys = zip(*points, strict=True)
    if len(points) > 1 and min(xs) == max(xs):
        return f" at {_write(xs[0])}"
    axis = line.axes.yaxis
    first, last, low, high = ys[0], ys[-1], min(ys), max(ys)
    bottom, top, start, end, lowest, highest = axis.get_transform().transform(
        [*axis.get_data_interval(), first, last, low, high]
    )
    text = f" from {_write(first)} to {_write(last)}"
    if min(start, end) - lowest > SPREAD * (top - bottom):
        text += f", lowest {_write(low)}"
    if highest - max(start, end) > SPREAD * (top - bottom):
        text += f", highest {_write(high)}"
    return text


def _write(value: float) -> str:
    """Return a value with two digits."""
    rounded = f"{value:.1e}"
    mantissa, exponent = rounded.split("e")
    if -4 < int(exponent) < 6:
        return f"{float(rounded):,.10g}"
    power = f"10{str(int(exponent)).translate(RAISED)}"
    return power if float(mantissa) == 1 else f"{float(mantissa):g} × {power}"
