"""Draws img/task-softmax.svg: a row that four threads work through.

Run: python img/src/task-softmax.py
"""

from xml.etree import ElementTree as ET

from svg import BLUE, INK, WHITE, add, arrow, canvas, centered, label, save, target_of

WIDTH, HEIGHT, SIDE, COUNT, THREADS = 600, 230, 38, 14, 4


def draw() -> ET.Element:
    """Return the picture."""
    svg = canvas(WIDTH, HEIGHT)
    label(svg, 34, 26, "a row, and the thread that takes each number")
    size = {"width": SIDE, "height": SIDE, "stroke": INK}
    for i in range(COUNT):
        thread = i % THREADS
        x = 34.0 + SIDE * i
        color = {"fill": BLUE} if thread == 1 else {"fill": WHITE}
        add(svg, "rect", x=x, y=38, **size, **color)
        ink = WHITE if thread == 1 else INK
        centered(svg, x + SIDE / 2, 62, str(thread), fill=ink)
    for thread in range(THREADS):
        x = 186.0 + 62 * thread
        add(svg, "circle", cx=x, cy=136, r=16, stroke=INK, fill=WHITE)
        centered(svg, x, 141, str(thread))
        arrow(svg, (x, 80.0), (x, 116.0), stroke_opacity=0.6)
        arrow(svg, (x, 154.0), (279.0 + 8 * (thread - 1.5), 190.0), stroke_opacity=0.6)
    label(svg, 436, 141, "a sum each")
    centered(svg, 279, 212, "one sum, for all threads")
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
