"""Draws img/versions.svg: three numbers that are called the version of CUDA.

Run: python img/src/versions.py
"""

from xml.etree import ElementTree as ET

from svg import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    QUIET,
    WHITE,
    add,
    arrow,
    canvas,
    centered,
    label,
    save,
    target_of,
)

WIDTH, HEIGHT = 640, 330
LEFT, WIDE, TALL = 12, 260, 72
TOPS = (12, 126, 240)  # of the three boxes


def part(svg: ET.Element, x: float, y: float, fill: str, lines: list) -> None:
    """Draw a box with its name, its version and the command that shows it."""
    add(svg, "rect", x=x, y=y, width=WIDE, height=TALL, rx=4, fill=fill)
    for i, text in enumerate(lines):
        weight = "normal" if i else "bold"
        centered(
            svg, x + WIDE / 2, y + 21 + 21 * i, text, fill=WHITE, font_weight=weight
        )


def condition(svg: ET.Element, y: float, lines: list) -> None:
    """Draw an arrow between two boxes, and what has to hold beside it."""
    x = LEFT + WIDE / 2
    arrow(svg, (x, y + TALL), (x, y + TALL + 40))
    for i, text in enumerate(lines):
        label(svg, x + 14, y + TALL + 18 + 18 * i, text, fill=INK, font_size=14)


def draw() -> ET.Element:
    """Return the picture."""
    svg = canvas(WIDTH, HEIGHT)
    wheel, driver, gpu = TOPS
    part(
        svg,
        *(LEFT, wheel, BLUE),
        ["wheel of the framework", "built for CUDA 13.0", "torch.version.cuda, say"],
    )
    part(
        svg,
        *(LEFT, driver, ORANGE),
        ["driver 580", "supports CUDA up to 13.0", "nvidia-smi"],
    )
    part(svg, LEFT, gpu, GREEN, ["GPU", "compute capability 9.0", "gpu_report()"])
    condition(svg, wheel, ["needs a driver for CUDA 13", "or newer"])
    condition(
        svg,
        driver,
        ["drives the GPU; the wheel also needs code", "for this generation"],
    )
    x = WIDTH - WIDE - 12
    add(svg, "rect", x=x, y=wheel, width=WIDE, height=TALL, rx=4, fill=QUIET)
    part(
        svg,
        x,
        wheel,
        QUIET,
        ["CUDA toolkit", "12.4: may be any, or none", "nvcc --version"],
    )
    for i, text in enumerate(
        ["compiles CUDA programs of your own;", "the wheel doesn't use it"]
    ):
        label(svg, x + 4, wheel + TALL + 24 + 18 * i, text, font_size=14)
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
