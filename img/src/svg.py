"""The common parts of the scripts that draw figures: colors, labels and arrows."""

import itertools
from collections.abc import Container
from pathlib import Path
from xml.etree import ElementTree as ET

INK, QUIET, WHITE = "#1b1f24", "#4a5058", "#ffffff"
BLUE, ORANGE, GREEN, PALE = "#0b62a8", "#a84a0b", "#1f6f43", "#dbe4ee"
HEAD = {
    "viewBox": "0 0 10 10",
    "refX": 9,
    "refY": 5,
    "markerWidth": 8,
    "markerHeight": 8,
    "orient": "auto-start-reverse",
}


def add(
    parent: ET.Element, tag: str, text: str = "", **attributes: object
) -> ET.Element:
    """Append an element and return it; underscores in attributes become hyphens."""
    names = {k.replace("_", "-"): str(v) for k, v in attributes.items()}
    element = ET.SubElement(parent, tag, names)
    element.text = text or None
    return element


def canvas(width: float, height: float, font_size: float = 15) -> ET.Element:
    """Return the root of a picture, with its size in pixels and a white background."""
    size = {"width": str(width), "height": str(height)}
    font = {"font-family": "Helvetica, Arial, sans-serif", "font-size": str(font_size)}
    attributes = {"viewBox": f"0 0 {width} {height}", **size, **font}
    svg = ET.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", **attributes})
    add(svg, "rect", **size, rx=8, fill=WHITE)
    return svg


def label(svg: ET.Element, x: float, y: float, text: str, **style: object) -> None:
    """Draw a text that begins at `x`."""
    add(svg, "text", text, x=x, y=y, **{"fill": INK, **style})


def centered(svg: ET.Element, x: float, y: float, text: str, **style: object) -> None:
    """Draw a text that is centered at `x`."""
    label(svg, x, y, text, text_anchor="middle", **style)


def box(
    svg: ET.Element,
    place: tuple[float, float],
    size: tuple[float, float],
    text: str = "",
    fill: str = BLUE,
    **style: object,
) -> None:
    """Draw a rectangle from its upper left corner on, with a text in its middle."""
    (x, y), (width, height) = place, size
    add(svg, "rect", x=x, y=y, width=width, height=height, rx=3, fill=fill, **style)
    ink = INK if fill in (WHITE, PALE, "none") else WHITE
    if text:
        centered(svg, x + width / 2, y + height / 2 + 5, text, fill=ink)


def arrow(
    svg: ET.Element, start: tuple[float, float], end: tuple[float, float], **style
) -> None:
    """Draw a line with an arrowhead at its end."""
    if svg.find("defs") is None:
        marker = add(add(svg, "defs"), "marker", id="head", **HEAD)
        add(marker, "path", d="M0 0 L10 5 L0 10 z", fill=INK)
    ends = dict(zip(("x1", "y1", "x2", "y2"), start + end, strict=True))
    line = {"stroke": INK, "stroke_width": 2, "marker_end": "url(#head)"}
    add(svg, "line", **ends, **line, **style)


def boxes(
    svg: ET.Element,
    corner: tuple[float, float],
    shape: tuple[int, int],
    side: float,
    filled: Container[tuple[int, int]],
) -> None:
    """Draw an array of `shape` rows and columns, whose `filled` boxes are blue."""
    size = {"width": side, "height": side, "stroke": INK}
    for row, column in itertools.product(*map(range, shape)):
        x, y = corner[0] + side * column, corner[1] + side * row
        fill = BLUE if (row, column) in filled else WHITE
        add(svg, "rect", x=x, y=y, fill=fill, **size)


def save(svg: ET.Element, target: Path) -> None:
    """Write a picture with indentation, so that differences are readable."""
    ET.indent(svg)
    target.write_text(ET.tostring(svg, encoding="unicode") + "\n", encoding="utf-8")


def target_of(script: str) -> Path:
    """Return the path of the picture that a script in this folder draws."""
    return Path(script).resolve().parents[1] / f"{Path(script).stem}.svg"
