"""Draws img/task-tiled.svg: the tiles that a workgroup of a tiled product loads.

Run: python img/src/task-tiled.py
"""

from matrices import product
from svg import save, target_of

TILE = 4


def tile(row: int, column: int) -> set[tuple[int, int]]:
    """Return the boxes of a tile."""
    return {
        (TILE * row + y, TILE * column + x) for y in range(TILE) for x in range(TILE)
    }


if __name__ == "__main__":
    filled = {"a": tile(0, 1), "b": tile(1, 1), "out": tile(0, 1)}
    text = "each number of the two tiles is loaded once, and used by four threads"
    save(product(filled, text), target_of(__file__))
