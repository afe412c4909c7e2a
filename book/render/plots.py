"""The plots of records in the colors, the typeface and the size of the book.

matplotlib draws for paper. Here its SVG becomes one for the screen, without what nobody
sees and without styles, which the policy of a page forbids. It stands alone, as slides,
notebooks and the PDF need it, or it is a part of a page, whose colors it takes.
"""

import functools
import re
from collections.abc import Iterable, Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import tinycss2

SVG = "{http://www.w3.org/2000/svg}"
LINK = "{http://www.w3.org/1999/xlink}href"
FIGURE = f"{SVG}g[@id='figure_1']"

# A plot of 3.5 inches is 480 pixels wide, so text of 7 points is 13 pixels high. A plot
# that is wider than the column of a page is reduced, so its text is larger.
PIXELS_PER_POINT = 480 / (3.5 * 72)
FONT_SIZE = 7
COLUMN, REDUCED_FONT_SIZE = 736, 8
WIDE = 560  # in pixels; on phones, wider plots scroll
DIGIT_WIDTH = 0.636  # in DejaVu Sans, relative to the size
FONTS = "Roboto, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"

# Variables of the stylesheet. The first color of each is its value on light pages, as
# in records (book/runner/kernel_settings.py). The others are colors of matplotlib:
# those of older records, and those of letters in formats, such as the "m" of "m--".
COLORS = {
    "text": ("#1c1f23", "#000000", "#262626"),
    "quiet": ("#4a5058",),
    "edge": ("#838c97", "#7f7f7f", "#808080"),
    "rule": ("#dcdfe4", "#b0b0b0", "#cccccc"),
    "page": ("#ffffff",),
    "series-1": ("#1a56b0", "#1f77b4", "#17becf", "#0000ff", "#00bfbf"),
    "series-2": ("#a84a0b", "#ff7f0e", "#8c564b", "#bf00bf", "#bfbf00"),
    "series-3": ("#1a6b34", "#2ca02c", "#bcbd22", "#008000"),
    "series-4": ("#6b3fc0", "#9467bd", "#e377c2"),
    "series-5": ("#a8261c", "#d62728", "#ff0000"),
}
LIGHT = {color: similar[0] for similar in COLORS.values() for color in similar}
VARIABLES = {similar[0]: f"var(--{name})" for name, similar in COLORS.items()}

# On paper, series also differ in gray.
PRINTED = {
    "series-1": "#123f85",
    "series-2": "#d98a45",
    "series-3": "#2f8d57",
    "series-4": "#c3b2ea",
    "series-5": "#7a1a14",
}
PRINTED_COLORS = {COLORS[name][0]: color for name, color in PRINTED.items()}

# Attributes that the root replaces, and values that are the default.
UNUSED = {"class", "style", "font", "font-family", "type", "version"}
DEFAULTS = {
    *(("opacity", "1"), ("fill-opacity", "1"), ("stroke-opacity", "1")),
    ("text-anchor", "start"),
}
COORDINATES = {"x", "y", "width", "height"}
FRACTION = re.compile(r"-?\d+\.\d+")
COMMAND = re.compile(r"([A-Za-z])([^A-Za-z]*)")
REFERENCE = re.compile(r"#([\w.-]+)")
TICK = re.compile(r"M0 0l[-. \d]+$")
NO_ROTATION = re.compile(r"rotate\(-?0 [^)]*\)")


# Plots that stand alone


def printed(svg: str) -> str:
    """Return a plot of `restyle` whose series can be told apart in gray."""
    found = re.compile("|".join(PRINTED_COLORS))
    return found.sub(lambda color: PRINTED_COLORS[color[0]], svg)


@functools.cache  # several formats show the same plot
def restyle(svg: str) -> str:
    """Return a plot that stands alone, in the size and the light colors of a page.

    An SVG that matplotlib did not draw is unchanged.
    """
    root = ElementTree.fromstring(svg)
    if root.find(FIGURE) is None:
        return svg
    plot = Element("svg", _root_attributes(root))
    ElementTree.SubElement(plot, "rect", width="100%", height="100%", fill="#ffffff")
    _remove_backgrounds(root)
    references = {name for e in root.iter() for name in _references(e)}
    for child in root:
        plot.extend(_restyled(child, references))
    plot[:] = _merged(_with_drawn_ticks(plot))
    return ElementTree.tostring(plot, "unicode")


def _root_attributes(root: Element) -> dict[str, str]:
    """Return the attributes of a plot, which its parts inherit."""
    sizes = map(float, root.attrib["viewBox"].split()[2:])
    width, height = (round(size * PIXELS_PER_POINT) for size in sizes)
    return {
        "xmlns": "http://www.w3.org/2000/svg",
        "class": "plot wide" if width > WIDE else "plot",
        "width": str(width),
        "height": str(height),
        "viewBox": _shorten(root.attrib["viewBox"]),
        "font-family": FONTS,
        "font-size": str(FONT_SIZE if width <= COLUMN else REDUCED_FONT_SIZE),
        "fill": LIGHT["#000000"],  # matplotlib leaves out black, which is the default
        "stroke-linejoin": "round",
    }


def _remove_backgrounds(root: Element) -> None:
    """Remove the white backgrounds of the figure and of its axes."""
    (figure,) = root.iterfind(FIGURE)
    for group in (figure, *figure.iterfind(f"{SVG}g")):
        path = group.find(f"{SVG}g[1]/{SVG}path")
        if path is not None and path.get("style") == "fill: #ffffff":
            group.remove(group[0])


def _references(element: Element) -> Iterator[str]:
    """Yield the identifiers of the elements that an element refers to."""
    for name, value in element.items():
        if name == LINK or "url(" in value:
            yield from REFERENCE.findall(value)


def _restyled(element: Element, references: set[str]) -> Iterator[Element]:
    """Yield an element with attributes instead of styles; of some, only its contents.

    Of the identifiers, those in `references` remain.
    """
    name = element.tag.removeprefix(SVG)
    new = Element(name, dict(_attributes(element, references)))
    new.text = (element.text or "").strip() or None
    for child in element:
        new.extend(_restyled(child, references))
    if name == "text":
        _join_formula(new)
        if new.get("fill") == LIGHT["#000000"]:  # as that of the root
            del new.attrib["fill"]
    if name == "g" and not new.attrib:
        yield from new
    elif name not in ("style", "metadata") and (len(new) or name not in ("g", "defs")):
        yield new


def _with_drawn_ticks(plot: Element) -> Iterator[Element]:
    """Yield the parts of a plot; the copies of a straight line become one path.

    matplotlib draws the ticks of an axis as such copies, each before its label.
    """
    inner = {use.get("href") for part in plot for use in part.iterfind(".//use")}
    ticks: dict[str | None, tuple[Element, str]] = {}
    for part in plot:
        line = part.find("path") if part.tag == "defs" else None
        name = f"#{line.get('id')}" if line is not None else ""
        if line is not None and name not in inner and TICK.match(line.attrib["d"]):
            tick = Element("path", line.attrib | {"d": ""})
            del tick.attrib["id"]
            ticks[name] = tick, line.attrib["d"].removeprefix("M0 0")
            yield tick
        elif part.get("href") in ticks:
            tick, length = ticks[part.get("href")]
            tick.attrib["d"] += f"M{part.get('x')} {part.get('y')}{length}"
        else:
            yield part


def _merged(elements: Iterable[Element]) -> Iterator[Element]:
    """Yield elements; opaque paths of one style that follow one another become one."""
    last: Element | None = None
    for element in elements:
        if last is not None and _style(element) == _style(last) is not None:
            last.attrib["d"] += element.attrib["d"]
            continue
        yield element
        last = element


def _style(element: Element) -> dict[str, str] | None:
    """Return the style of an opaque path; None for everything else."""
    style = {name: value for name, value in element.items() if name != "d"}
    is_opaque = not any("opacity" in name or name == "id" for name in style)
    return style if element.tag == "path" and is_opaque else None


def _join_formula(text: Element) -> None:
    """Let the parts of a formula follow one another, centered, in any typeface.

    matplotlib gives each of them the place that it has in its own typeface.
    """
    places = [[float(x) for x in part.attrib.pop("x").split()] for part in text]
    parts = sorted(zip(places, text, strict=True), key=lambda pair: pair[0])
    if not parts:
        return
    end, last = parts[-1][0][-1], parts[-1][1]
    size = float(last.get("font-size", "1em").removesuffix("em"))
    width = end + DIGIT_WIDTH * size * FONT_SIZE
    text.attrib |= {"x": f"{width / 2:.2f}", "text-anchor": "middle"}
    text[:] = [part for _, part in parts]
    heights = [float(part.attrib.pop("y").split()[0]) for part in text]
    for part, height, before in zip(text, heights, [0, *heights], strict=False):
        part.set("dy", f"{height - before:.2f}")


def _attributes(element: Element, references: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the attributes of an element and those that its style becomes."""
    for name, value in (*element.items(), *_declarations(element.get("style", ""))):
        if name == LINK:
            yield "href", value
        elif name == "d":
            yield name, _relative(value)
        elif name in COORDINATES:
            yield name, _shorten(value)
        elif name == "font-size":
            size = float(value.removesuffix("px")) / FONT_SIZE
            yield from [(name, f"{size:.2g}em")] if size != 1 else []
        elif _is_seen(name, value, references):
            yield name, LIGHT.get(value, value)


def _is_seen(name: str, value: str, references: set[str]) -> bool:
    """Return True if an attribute has an effect that the root does not have."""
    if name == "id":
        return value in references
    if name in UNUSED or name.startswith("{") or (name, value) in DEFAULTS:
        return False
    return not NO_ROTATION.fullmatch(value)


@functools.cache  # plots repeat a few styles thousands of times
def _declarations(style: str) -> tuple[tuple[str, str], ...]:
    """Return the names and values in a style."""
    return tuple(
        (part.lower_name, tinycss2.serialize(part.value).strip())
        for part in tinycss2.parse_declaration_list(style, skip_whitespace=True)
        if part.type == "declaration"
    )


def _shorten(coordinates: str) -> str:
    """Return coordinates with one decimal, a fifth of a pixel."""
    rounded = FRACTION.sub(lambda match: f"{round(float(match[0]), 1):g}", coordinates)
    return " ".join(rounded.split())


def _relative(path: str) -> str:
    """Return a path with one decimal, a fifth of a pixel, in few characters.

    Each point is relative to the one before, which is rounded itself, so errors do not
    add up. The path has the commands of matplotlib, whose points are absolute.
    """
    parts, last, here = [], "", (0, 0)
    for command, numbers in COMMAND.findall(path):
        tenths = [round(10 * float(number)) for number in numbers.split()]
        points = list(zip(tenths[::2], tenths[1::2], strict=True))
        x0, y0 = (0, 0) if command == "M" else here
        moves = [_tenth(move) for x, y in points for move in (x - x0, y - y0)]
        name = command if command == "M" else command.lower()
        # After an M, a point without a name would be the end of a line.
        parts += [" " if name == last != "M" else name, " ".join(moves)]
        last, here = name, points[-1] if points else here
    return "".join(parts).replace(" -", "-")


def _tenth(tenths: int) -> str:
    """Return a number of tenths without zeros that say nothing."""
    return re.sub(r"^(-?)0(?=\.)", r"\1", f"{tenths / 10:g}")


def height_of(plot: str) -> float:
    """Return the height of a restyled plot in the unit of its text."""
    return float(ElementTree.fromstring(plot).attrib["viewBox"].split()[3])


# Plots as parts of a page


def inline(svg: str, alt: str, prefix: str) -> str | None:
    """Return a restyled plot as a part of a page; None if the SVG is no such plot.

    Its colors are variables of the stylesheet. Its identifiers begin with `prefix`.
    Readers who do not see the plot hear `alt`.
    """
    root = ElementTree.fromstring(svg)
    if "plot" not in root.get("class", "").split():
        return None
    drawing = Element("g", {"aria-hidden": "true"})
    _background, *drawing[:] = root
    root[:] = [drawing]
    root.attrib |= {"role": "img", "aria-label": alt}
    del root.attrib["font-family"], root.attrib["fill"]
    for element in root.iter():
        element.tag = element.tag.removeprefix(SVG)
        for name, value in element.items():
            element.set(name, _on_page(name, value, prefix))
    return ElementTree.tostring(root, "unicode")


def _on_page(name: str, value: str, prefix: str) -> str:
    """Return the value of an attribute on a page."""
    if name == "id":
        return prefix + value
    if name == "href" or value.startswith("url("):
        return value.replace("#", f"#{prefix}", 1)
    return VARIABLES.get(value, value)
