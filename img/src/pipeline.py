"""Draws img/pipeline.svg: two orders of the work of a pipeline with four stages.

Run: python img/src/pipeline.py
"""

from xml.etree import ElementTree as ET

from svg import (
    BLUE,
    INK,
    ORANGE,
    QUIET,
    WHITE,
    add,
    canvas,
    centered,
    label,
    save,
    target_of,
)

STAGES, MICROBATCHES = 4, 8
SECONDS = {"forward": 1, "backward": 2}
COLORS = {"forward": BLUE, "backward": ORANGE}
LEFT, SCALE, TALL = 78, 17, 24  # the x coordinate of time 0, pixels per unit, row
WIDTH, TOPS = LEFT + SCALE * 33 + 14, (30, 166)


def order(schedule: str, stage: int) -> list[tuple[str, int]]:
    """Return the work of a stage: ('forward' or 'backward', microbatch)."""
    ahead = MICROBATCHES if schedule == "GPipe" else STAGES - stage
    work = [("forward", i) for i in range(ahead)]
    for i in range(MICROBATCHES):
        work.append(("backward", i))
        if ahead + i < MICROBATCHES:
            work.append(("forward", ahead + i))
    return work


def start_times(schedule: str) -> dict[tuple[str, int, int], int]:
    """Return when each stage starts each piece of work: {(name, number, stage): t}."""
    todo = [order(schedule, stage) for stage in range(STAGES)]
    starts: dict[tuple[str, int, int], int] = {}
    free = [0] * STAGES
    while any(todo):
        for stage, work in enumerate(todo):
            if not work:
                continue
            name, i = work[0]
            before = (name, i, stage + (1 if name == "backward" else -1))
            if 0 <= before[2] < STAGES and before not in starts:
                continue
            arrived = starts[before] + SECONDS[name] if before in starts else 0
            starts[name, i, stage] = max(free[stage], arrived)
            free[stage] = starts[name, i, stage] + SECONDS[name]
            work.pop(0)
    return starts


def timeline(svg: ET.Element, schedule: str, top: float) -> None:
    """Draw the work of all stages, one row for each."""
    label(svg, 12, top - 10, schedule, font_weight="bold")
    for stage in range(STAGES):
        label(svg, 12, top + stage * (TALL + 2) + 17, f"stage {stage}", fill=QUIET)
    for (name, i, stage), start in start_times(schedule).items():
        x, y = LEFT + start * SCALE, top + stage * (TALL + 2)
        width = SECONDS[name] * SCALE - 1.5
        size = {"width": width, "height": TALL, "rx": 2}
        add(svg, "rect", x=x, y=y, **size, fill=COLORS[name])
        centered(svg, x + width / 2, y + 17, f"{i}", fill=WHITE, font_size=12)


def legend(svg: ET.Element, y: float) -> None:
    """Draw a box and a name for each color."""
    for i, (name, color) in enumerate(COLORS.items()):
        x = LEFT + 130 * i
        add(svg, "rect", x=x, y=y, width=18, height=14, rx=2, fill=color)
        label(svg, x + 26, y + 12, name)
    label(svg, LEFT + 280, y + 12, "white: idle; numbers: microbatches", fill=INK)


def draw() -> ET.Element:
    """Return the picture."""
    svg = canvas(WIDTH, 308)
    for schedule, top in zip(("GPipe", "1F1B"), TOPS, strict=True):
        timeline(svg, schedule, top)
    legend(svg, 282)
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
