"""Draws img/roles.svg: six turns of a product with one buffer and with three.

Run: python img/src/roles.py
"""

from xml.etree import ElementTree as ET

from svg import BLUE, ORANGE, QUIET, WHITE, add, canvas, label, save, target_of

LATENCY, COPY, PRODUCT, TURNS = 900, 400, 512, 6  # clocks, as in the section
LEFT, TOP, ROW, GAP, CLOCK = 112, 34, 20, 38, 0.052
Span = tuple[float, float]


def turns(stages: int) -> list[tuple[Span, Span, Span]]:
    """Return the request, the copy and the product of each turn, in clocks."""
    spans: list[tuple[Span, Span, Span]] = []
    for t in range(TURNS):
        asked = spans[t - stages][2][1] if t >= stages else 0
        free, idle = (spans[-1][1][1], spans[-1][2][1]) if spans else (0, 0)
        begin = max(asked + LATENCY, free)
        copied = begin + COPY
        start = max(copied, idle)
        spans.append(((asked, begin), (begin, copied), (start, start + PRODUCT)))
    return spans


def bar(svg: ET.Element, y: float, span: Span, fill: str, text: str = "") -> None:
    """Draw a span of time, with a text in its middle."""
    x, width = LEFT + span[0] * CLOCK, (span[1] - span[0]) * CLOCK
    place = {"x": round(x, 1), "y": y, "width": round(width, 1), "height": ROW - 3}
    add(svg, "rect", **place, fill=fill, stroke=WHITE, stroke_width=1)
    if text:
        look = {"fill": WHITE, "text_anchor": "middle", "font_size": 12}
        label(svg, round(x + width / 2, 1), y + 13, text, **look)


def case(svg: ET.Element, top: float, stages: int) -> float:
    """Draw the turns with some buffers; return the height below."""
    name = "one buffer" if stages == 1 else f"{stages} buffers"
    label(svg, LEFT, top - 8, name, font_weight="bold")
    for s in range(stages):
        label(svg, 8, top + s * ROW + 13, f"buffer {s}")
    y = top + stages * ROW + 4
    label(svg, 8, y + 13, "tensor cores")
    for t, (request, copy, product) in enumerate(turns(stages)):
        row = top + t % stages * ROW
        bar(svg, row, request, QUIET)
        bar(svg, row, copy, ORANGE)
        bar(svg, y, product, BLUE, str(t))
    return y + ROW


def legend(svg: ET.Element, y: float) -> None:
    """Draw the meaning of the colors."""
    names = (("request on its way", QUIET, 160), ("tiles arrive", ORANGE, 112))
    x = LEFT
    for name, fill, width in (*names, ("product", BLUE, 0)):
        add(svg, "rect", x=x, y=y - 12, width=14, height=14, fill=fill)
        label(svg, x + 20, y, name, font_size=13)
        x += width


def draw() -> ET.Element:
    """Return the picture."""
    width = LEFT + turns(1)[-1][2][1] * CLOCK + 16
    height = TOP + (1 + 3 + 2) * ROW + 8 + GAP + 40
    svg = canvas(round(width), height, 14)
    below = case(svg, TOP, 1)
    legend(svg, case(svg, below + GAP, 3) + 26)
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
