"""Draws img/compiler-plan.svg: the sum for a step of GPT-2 and XLA's plan for it.

Run: python img/src/compiler-plan.py
"""

import csv
from pathlib import Path
from xml.etree import ElementTree as ET

from svg import (
    BLUE,
    GREEN,
    ORANGE,
    QUIET,
    WHITE,
    add,
    box,
    canvas,
    label,
    save,
    target_of,
)

WIDTH, LEFT, SCALE, ROW, TOP = 560, 92, 22, 34, 56
GAP = 26  # below the two bars of a step
LAYERS, HIDDEN, HEADS, LENGTH, BATCH, VOCABULARY = 12, 768, 12, 1024, 8, 50257
POSITIONS = BATCH * LENGTH * HIDDEN / 1e9  # billions of values of one activation
SCORES = LAYERS * HEADS * BATCH * LENGTH**2 / 1e9
STATE, LOGITS = 1.99, BATCH * LENGTH * VOCABULARY * 4 / 1e9
# Gigabytes beyond the sum that the rules of differentiation keep.
MORE = {
    "softmax": 4 * SCORES,
    "GELU": LAYERS * 4 * 4 * 2 * POSITIONS,
    "norms": LAYERS * (4 * 4 - 2 * 2) * POSITIONS,
}
COLORS = {
    "state, gradients": BLUE,
    "logits": QUIET,
    "layers": GREEN,
    "beyond the sum": ORANGE,
}
# So that neighbors differ in gray, too.
LOOK = {"logits": {"opacity": 0.4}, "layers": {"opacity": 0.65}}


def planned(model: str) -> float:
    """Return the gigabytes of the stored plan for an H100, as `Plan.total` does."""
    table = Path(__file__).parents[2] / "d2l/plans.csv"
    for row in csv.DictReader(table.read_text("utf-8").splitlines()):
        if (row["model"], row["card"], row["num_gpus"]) == (model, "H100", "1"):
            sizes = {k: int(row[k]) for k in ("arguments", "outputs", "temporaries")}
            return (sum(sizes.values()) - int(row["aliased"])) / 1e9
    raise KeyError(model)


def bars() -> dict[str, tuple[str, dict[str, float]]]:
    """Return the title of each pair of bars and the parts of its sum."""
    state = {"state, gradients": STATE, "logits": LOGITS}
    kept = LAYERS * (32 + 2 * HEADS * LENGTH / HIDDEN) * POSITIONS
    inputs = LAYERS * 2 * POSITIONS
    return {
        "gpt2": ("without checkpointing", state | {"layers": kept}),
        "gpt2-checkpointing": ("with checkpointing", state | {"layers": inputs}),
    }


def draw_bar(svg: ET.Element, y: float, name: str, parts: dict[str, float]) -> None:
    """Draw the parts of a step side by side, and the sum of them at the end."""
    label(svg, 8, y + 17, name)
    x = float(LEFT)
    for role, size in parts.items():
        box(
            svg, (x, y), (size * SCALE - 1, 24), fill=COLORS[role], **LOOK.get(role, {})
        )
        x += size * SCALE
    label(svg, x + 6, y + 17, f"{sum(parts.values()):.1f} GB", font_weight="bold")


def draw() -> ET.Element:
    """Return the picture."""
    svg = canvas(WIDTH, TOP + 2 * (2 * ROW + GAP) + 10, 14)
    place = 8
    for role, color in COLORS.items():
        box(svg, (place, 10), (14, 14), fill=color, **LOOK.get(role, {}))
        label(svg, place + 20, 22, role)
        place += 40 + 8 * len(role)
    y = TOP
    for model, (title, parts) in bars().items():
        more = planned(model) - sum(parts.values())
        label(svg, 8, y, title, fill=QUIET)
        draw_bar(svg, y + 8, "arithmetic", parts)
        draw_bar(svg, y + 8 + ROW, "XLA's plan", parts | {"beyond the sum": more})
        if model == "gpt2":
            x = LEFT + sum(parts.values()) * SCALE
            for name, size in MORE.items():
                if size > 2:
                    text = {"fill": WHITE, "font_size": 12}
                    label(svg, x + 6, y + 25 + ROW, name, **text)
                x += size * SCALE
                line = {"stroke": WHITE, "stroke_width": 1.5}
                add(svg, "path", d=f"M{x:.1f} {y + 8 + ROW}v24", **line)
        y += 2 * ROW + GAP
    return svg


if __name__ == "__main__":
    save(draw(), target_of(__file__))
