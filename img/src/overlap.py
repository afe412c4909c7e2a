"""Draws img/overlap.svg: three ways to add up the gradients of six layers.

Run: python img/src/overlap.py
"""

from xml.etree import ElementTree as ET

from svg import BLUE, INK, ORANGE, QUIET, WHITE, add, canvas, label, save, target_of

LAYERS, BACKWARD, LATENCY, SENDING = 6, 10, 9, 3  # times per layer, in units
CASES = (("one bucket", 6), ("buckets of two layers", 2), ("a bucket per layer", 1))
LEFT, UNIT, TOP, ROW, GAP = 96, 3.6, 34, 26, 34


def messages(per_bucket: int) -> list[tuple[float, float]]:
    """Return the start and the end of each message, one after the other."""
    spans, free = [], 0.0
    for layer in range(per_bucket, LAYERS + 1, per_bucket):
        start = max(free, layer * BACKWARD)
        free = start + LATENCY + per_bucket * SENDING
        spans.append((start, free))
    return spans


def bar(svg: ET.Element, y: float, start: float, end: float, fill: str) -> None:
    """Draw a bar from a start to an end."""
    place = {"x": round(LEFT + start * UNIT, 1), "y": y}
    size = {"width": round((end - start) * UNIT, 1), "height": ROW - 4}
    add(
        svg,
        "rect",
        **place,
        **size,
        fill=fill,
        stroke=WHITE,
        stroke_width=1,
        **look(fill),
    )


def look(fill: str) -> dict[str, float]:
    """Return what makes bytes lighter than latency."""
    return {"opacity": 0.55} if fill == ORANGE else {}


def case(svg: ET.Element, top: float, name: str, per_bucket: int) -> None:
    """Draw the backward pass and the messages of one way."""
    label(svg, LEFT, top - 8, name, font_weight="bold")
    label(svg, 8, top + 16, "backward")
    label(svg, 8, top + ROW + 16, "link")
    for layer in range(LAYERS):
        bar(svg, top, layer * BACKWARD, (layer + 1) * BACKWARD, BLUE)
        number = {"fill": WHITE, "text_anchor": "middle", "font_size": 13}
        x = LEFT + (layer + 0.5) * BACKWARD * UNIT
        label(svg, x, top + 15, str(LAYERS - layer), **number)
    for start, end in messages(per_bucket):
        bar(svg, top + ROW, start, start + LATENCY, QUIET)
        bar(svg, top + ROW, start + LATENCY, end, ORANGE)
    x = LEFT + messages(per_bucket)[-1][1] * UNIT
    line = {"stroke": INK, "stroke_width": 1.5, "stroke_dasharray": "4 3"}
    add(svg, "path", d=f"M{x:.1f} {top - 4}V{top + 2 * ROW}", **line)


def legend(svg: ET.Element, y: float) -> None:
    """Draw what the colors of the link mean."""
    x = LEFT
    for name, fill in (("latency", QUIET), ("bytes", ORANGE), ("end of the step", "")):
        if fill:
            add(
                svg, "rect", x=x, y=y - 11, width=14, height=14, fill=fill, **look(fill)
            )
        else:
            line = {"stroke": INK, "stroke_width": 1.5, "stroke_dasharray": "4 3"}
            add(svg, "path", d=f"M{x + 7} {y - 12}V{y + 4}", **line)
        label(svg, x + 20, y + 1, name, font_size=13)
        x += 90


def draw() -> ET.Element:
    """Return the picture."""
    height = TOP + len(CASES) * (2 * ROW + GAP) + 14
    last = max(messages(per_bucket)[-1][1] for _, per_bucket in CASES)
    svg = canvas(round(LEFT + last * UNIT + 16), height, 14)
    for i, (name, per_bucket) in enumerate(CASES):
        case(svg, TOP + i * (2 * ROW + GAP), name, per_bucket)
    legend(svg, height - 14)
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
