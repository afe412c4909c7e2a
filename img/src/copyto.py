"""Draws img/copyto.svg: tensor X is copied to the device of Y and added there.

Run: python img/src/copyto.py
"""

from pathlib import Path
from xml.etree import ElementTree as ET

INK, BLUE, ORANGE = "#1b1f24", "#0b62a8", "#a84a0b"
FONT = {"font-family": "system-ui, sans-serif", "font-size": "15"}


def add(
    parent: ET.Element, tag: str, text: str = "", **attributes: object
) -> ET.Element:
    """Append an element; underscores in the names of attributes become hyphens."""
    names = {k.replace("_", "-"): str(v) for k, v in attributes.items()}
    element = ET.SubElement(parent, tag, names)
    element.text = text or None
    return element


def label(svg: ET.Element, x: float, y: float, text: str, **style: object) -> None:
    add(svg, "text", text, x=x, y=y, text_anchor="middle", **{"fill": INK, **style})


def device(svg: ET.Element, x: float, name: str) -> None:
    add(svg, "rect", x=x, y=34, width=220, height=176, rx=10, fill="none", stroke=INK)
    label(svg, x + 110, 24, name, font_weight="bold")


def tensor(svg: ET.Element, x: float, y: float, name: str, color: str) -> None:
    add(svg, "rect", x=x, y=y, width=64, height=44, rx=4, fill=color)
    label(svg, x + 32, y + 28, name, fill="#ffffff", font_weight="bold")


def arrow(svg: ET.Element, x1: float, y1: float, x2: float, y2: float, **style) -> None:
    add(
        svg,
        "line",
        x1=x1,
        y1=y1,
        x2=x2,
        y2=y2,
        stroke=INK,
        stroke_width=2,
        marker_end="url(#head)",
        **style,
    )


def draw() -> ET.Element:
    svg = ET.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": "0 0 600 222",
            "width": "600",
            "height": "222",
            **FONT,
        },
    )
    add(svg, "rect", width=600, height=222, rx=8, fill="#ffffff")
    head = add(
        add(svg, "defs"),
        "marker",
        id="head",
        viewBox="0 0 10 10",
        refX=9,
        refY=5,
        markerWidth=8,
        markerHeight=8,
        orient="auto-start-reverse",
    )
    add(head, "path", d="M0 0 L10 5 L0 10 z", fill=INK)
    device(svg, 12, "GPU 0")
    device(svg, 368, "GPU 1")
    tensor(svg, 90, 58, "X", BLUE)
    tensor(svg, 390, 58, "Z", BLUE)
    tensor(svg, 502, 58, "Y", ORANGE)
    tensor(svg, 446, 152, "Y + Z", INK)
    arrow(svg, 158, 80, 384, 80, stroke_dasharray="6 4")
    label(svg, 300, 70, "copy")
    arrow(svg, 424, 106, 462, 148)
    arrow(svg, 532, 106, 494, 148)
    return svg


if __name__ == "__main__":
    ET.indent(root := draw())
    target = Path(__file__).resolve().parents[1] / "copyto.svg"
    target.write_text(ET.tostring(root, encoding="unicode") + "\n", encoding="utf-8")
