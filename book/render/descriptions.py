"""Describes a plot in words, for readers who do not see it.

matplotlib names the parts of its SVG: the axes with their ticks and labels, the curves,
the bars and the legend. The values of curves and bars follow from the places of ticks.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from book.render.plots import FIGURE, SVG, declarations, parse

RAISED = str.maketrans("0123456789-\N{MINUS SIGN}", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻")
LOWERED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
MANTISSA = r"(?P<mantissa>-?\d+(?:\.\d+)?)"
NUMBER = re.compile(rf"{MANTISSA}(?:e(?P<exponent>-?\d+))?")
POWER = re.compile(rf"(?:{MANTISSA}\s*×\s*)?10(?P<exponent>[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)")
QUANTITY = re.compile(r"-?\d")
COORDINATE = re.compile(r"-?\d+(?:\.\d+)?")
# The share of an axis by which a value has to differ from others to be mentioned.
SPREAD = 0.05

Point = tuple[float, float]


def describe(svg: str) -> str:
    """Return a description of a plot; empty if the SVG is none, or one without text."""
    root = parse(svg)
    if root is None or root.find(f".//{SVG}text") is None:
        return ""
    (figure,) = root.iterfind(FIGURE)
    groups = _groups(figure, "axes_")
    images = [_title(g) for g in groups if g.find(f".//{SVG}image") is not None]
    if images:
        return _describe_images(images)
    count = f"{len(groups)} plots. " if len(groups) > 1 else ""
    return count + " ".join(map(_describe_axes, groups))


def _describe_images(titles: list[str]) -> str:
    count = f"{len(titles)} images" if len(titles) > 1 else "An image"
    names = ", ".join(filter(None, titles))
    return f"{count}: {names}." if names else f"{count}."


def _describe_axes(group: Element) -> str:
    """Return a sentence about the axes in a group, and what they hold."""
    x, y = _axis(group, "x"), _axis(group, "y")
    title, bars = _title(group), _bars(group, x, y)
    sentence = f"Plot of {y.describe('values')} over {x.describe('steps')}"
    if bars:
        axis = x if y.is_categorical else y
        sentence = f"Bars of {axis.label or 'values'}: {', '.join(bars)}"
    elif contents := _contents(group, x, y):
        sentence += f", with {contents}"
    return f"{title}: {sentence}." if title else f"{sentence}."


def _contents(group: Element, x: "Axis", y: "Axis") -> str:
    """Return a description of the curves in a group, or the names of its colors."""
    legend = next(iter(_groups(group, "legend_")), None)
    names = [] if legend is None else list(map(_text, _groups(legend, "text_")))
    curves = [points for g in _groups(group, "line2d_") if (points := _points(g))]
    if not curves:
        return f"bars for {', '.join(dict.fromkeys(names))}" if names else ""
    if not names:
        count = len(curves)
        values = _describe_curve(curves[0], x, y)
        return f"a curve{values}" if count == 1 else f"{count} curves"
    named = [
        f"{name}{_describe_curve(points, x, y)}"
        for name, points in zip(names, curves, strict=False)
    ]
    count_of_named = f"{len(named)} curves" if len(named) > 1 else "a curve"
    return f"{count_of_named}: {'; '.join(named)}"


def _describe_curve(points: list[Point], x: "Axis", y: "Axis") -> str:
    """Return the values of a curve with a space before; empty if they are unknown."""
    xs, ys = ([point[i] for point in points] for i in (0, 1))
    if y.value(0) is None or x.value(0) is None:
        return ""
    if len(points) > 1 and max(xs) - min(xs) < SPREAD:
        return f" at {_written(x.value(xs[0]), x)}"
    first, last, high, low = ys[0], ys[-1], min(ys), max(ys)  # y grows downward
    text = f" from {_written(y.value(first), y)} to {_written(y.value(last), y)}"
    if low - max(first, last) > SPREAD * y.length:
        text += f", lowest {_written(y.value(low), y)}"
    if min(first, last) - high > SPREAD * y.length:
        text += f", highest {_written(y.value(high), y)}"
    return text


# Axes


@dataclass
class Axis:
    """An axis: its label, the places and texts of its ticks, and their factor."""

    label: str
    ticks: list[tuple[float, str]]
    factor: str = ""

    @property
    def is_categorical(self) -> bool:
        """True if the texts of the ticks are names and not quantities."""
        return any(not QUANTITY.match(text) for _, text in self.ticks)

    @property
    def length(self) -> float:
        """The distance between the first and the last tick."""
        return abs(self.ticks[-1][0] - self.ticks[0][0]) if self.ticks else 0

    def describe(self, default: str) -> str:
        """Return the label or the `default`, and what the ticks say."""
        label = self.label or ("rows" if self.is_categorical else default)
        if not self.ticks:
            return label
        # A label may end with an explanation in brackets.
        if label.endswith(")"):
            return f"{label[:-1]}; {self._extent()})"
        return f"{label} ({self._extent()})"

    def _extent(self) -> str:
        """Return the names of the ticks, or the first and the last quantity."""
        texts = list(dict.fromkeys(text for _, text in self.ticks))
        if self.is_categorical:
            return ", ".join(texts)
        ends = " to ".join([texts[0], *texts[1:][-1:]])
        return f"{ends} times {self.factor}" if self.factor else ends

    def value(self, place: float) -> float | None:
        """Return the value at a place; None if the ticks do not tell."""
        values = [_number(text) for _, text in self.ticks]
        if len(values) < 2 or values[0] is None or values[-1] is None:
            return None
        factor, first, last = _number(self.factor) or 1, values[0], values[-1]
        start, end = self.ticks[0][0], self.ticks[-1][0]
        share = (place - start) / (end - start)
        if POWER.search(self.ticks[0][1]):  # The scale is logarithmic.
            return first * (last / first) ** share
        return factor * (first + (last - first) * share)


def _axis(group: Element, name: str) -> Axis:
    """Return the axis x or y of the axes in a group."""
    axes = _groups(group, "matplotlib.axis_")
    axis = axes["xy".index(name)] if len(axes) == 2 else Element("g")
    ticks = []
    for tick in _groups(axis, f"{name}tick_"):
        mark, text = tick.find(f".//{SVG}use"), _text(tick)
        if mark is not None and text:
            ticks.append((float(mark.attrib[name]), text))
    # The labels between powers of ten come last.
    if ticks and all(_number(text) is not None for _, text in ticks):
        ticks.sort(key=lambda tick: _number(tick[1]) or 0)
    texts = list(map(_text, _groups(axis, "text_")))
    factor = next((text for text in texts if NUMBER.fullmatch(text)), "")
    label = next((text for text in texts if text != factor), "")
    return Axis(label, ticks, factor)


def _number(text: str) -> float | None:
    """Return the value of a text, such as 0.5, 1e-5 or 10⁻⁵; None if it has none."""
    match = NUMBER.fullmatch(text) or POWER.fullmatch(text)
    if match is None:
        return None
    exponent = (match["exponent"] or "0").translate(LOWERED)
    return float(f"{match['mantissa'] or 1}e{exponent}")


def _written(value: float | None, axis: Axis) -> str:
    """Return a value with two digits."""
    assert value is not None
    ends = [axis.value(place) or 0 for place, _ in axis.ticks]
    if not value or abs(value) < 0.005 * min(map(abs, filter(None, ends))):
        return "0"
    exponent = math.floor(math.log10(abs(value)))
    if -4 < exponent < 6:
        return f"{round(value, 1 - exponent):,.10g}"
    power = f"10{str(exponent).translate(RAISED)}"
    mantissa = f"{value / 10**exponent:.2g}"
    return power if mantissa == "1" else f"{mantissa} × {power}"


# Parts of the SVG


def _groups(parent: Element, start: str) -> list[Element]:
    """Return the groups directly in an element whose names begin with `start`."""
    groups = parent.findall(f"{SVG}g")
    return [group for group in groups if group.get("id", "").startswith(start)]


def _text(group: Element) -> str:
    """Return the text in a group, in which exponents are raised."""
    text = group.find(f".//{SVG}text")
    if text is None:
        return ""
    parts = sorted(map(_part_of_formula, text.iter(f"{SVG}tspan")))
    largest = max((size for _, size, _ in parts), default=0)
    words = [w if size == largest else w.translate(RAISED) for _, size, w in parts]
    found = "".join(words) or text.text or ""
    return " ".join(found.replace("\N{MINUS SIGN}", "-").split())


def _part_of_formula(part: Element) -> tuple[float, float, str]:
    """Return the place, the size and the text of a part of a formula."""
    style = dict(declarations(part.get("style", "")))
    size = float(style.get("font-size", "0").removesuffix("px"))
    return float(part.get("x", "0").split()[0]), size, part.text or ""


def _title(group: Element) -> str:
    """Return the text above the axes in a group, if there is one."""
    top = min((y for g in _groups(group, "patch_") for _, y in _corners(g)), default=0)
    for words in reversed(_groups(group, "text_")):
        text = words.find(f".//{SVG}text")
        if text is not None and float(text.get("y", "inf")) < top:
            return _text(words)
    return ""


def _points(group: Element) -> list[Point]:
    """Return the points of a curve, or those that its markers are at."""
    if corners := _corners(group):
        return corners
    marks = group.iter(f"{SVG}use")
    return [(float(mark.attrib["x"]), float(mark.attrib["y"])) for mark in marks]


def _corners(group: Element) -> list[Point]:
    """Return the points of the path directly in a group."""
    path = group.find(f"{SVG}path")
    numbers = map(float, COORDINATE.findall("" if path is None else path.get("d", "")))
    return list(zip(numbers, numbers, strict=False))


def _bars(group: Element, x: Axis, y: Axis) -> list[str]:
    """Return the names and values of bars, if each tick of an axis has one bar."""
    names, values = (y, x) if y.is_categorical else (x, y)
    bars = [_corners(g) for g in _groups(group, "patch_") if _is_filled(g)]
    if not names.is_categorical or len(bars) != len(names.ticks):
        return []
    return list(_describe_bars(bars, names, values, int(names is x)))


def _is_filled(group: Element) -> bool:
    """Return True if a patch is a bar, and not the background or an edge of axes."""
    path = group.find(f"{SVG}path")
    style = dict(declarations("" if path is None else path.get("style", "")))
    return style.get("fill", "none") not in ("none", "#ffffff")


def _describe_bars(
    bars: list[list[Point]], names: Axis, values: Axis, side: int
) -> Iterator[str]:
    """Yield the name and the value of each bar; `side` is the coordinate of values."""
    for place, name in names.ticks:
        bar = min(bars, key=lambda b: abs(_middle(b, 1 - side) - place))
        ends = [corner[side] for corner in bar]
        value = values.value(min(ends) if side else max(ends))
        yield name if value is None else f"{name} {_written(value, values)}"


def _middle(corners: list[Point], side: int) -> float:
    places = [corner[side] for corner in corners]
    return (min(places) + max(places)) / 2
