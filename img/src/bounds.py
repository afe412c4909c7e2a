"""Draws img/bounds.svg: three bounds for the time of three operations.

Run: python img/src/bounds.py
"""

from xml.etree import ElementTree as ET

from svg import BLUE, GREEN, ORANGE, box, canvas, label, save, target_of

WIDTH, LEFT, SCALE, TALL, BLOCK = 520, 120, 3.1, 18, 96
# An RTX 4090 in 16 bits: FLOP/s in tensor cores and without them, bytes per second,
# and the microseconds of a call (see the section's roofline).
TENSOR, PLAIN, BANDWIDTH, CALL = 165.2e12, 82.6e12, 1.008e12, 14.6
# The FLOPs, their rate and the bytes of each operation.
OPERATIONS = {
    "product of two 256 × 256 matrices": (2 * 256**3, TENSOR, 6 * 256**2),
    "sum of two arrays of 16 million": (16e6, PLAIN, 6 * 16e6),
    "product of two 2048 × 2048 matrices": (2 * 2048**3, TENSOR, 6 * 2048**2),
}
COLORS = {"calls": ORANGE, "bytes": BLUE, "arithmetic": GREEN}


def draw() -> ET.Element:
    """Return the picture."""
    svg = canvas(WIDTH, 3 * BLOCK + 4)
    for i, (name, (flops, rate, nbytes)) in enumerate(OPERATIONS.items()):
        y = 24 + BLOCK * i
        label(svg, 12, y, name, font_weight="bold")
        times = (CALL, 1e6 * nbytes / BANDWIDTH, 1e6 * flops / rate)
        for row, (term, time) in enumerate(zip(COLORS, times, strict=True)):
            top = y + 8 + (TALL + 3) * row
            decides = time == max(times)
            wide = max(1.5, time * SCALE)
            shade = 1 if decides else 0.4
            box(svg, (LEFT, top), (wide, TALL), fill=COLORS[term], opacity=shade)
            weight = "bold" if decides else "normal"
            label(svg, 24, top + 14, term, font_weight=weight)
            text = f"{time:.3g} µs"
            label(svg, LEFT + wide + 8, top + 14, text, font_weight=weight)
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
