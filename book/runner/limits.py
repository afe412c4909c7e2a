"""The limits of a cell: how long it may run, and how much it may show."""

CELL_SECONDS = 20 * 60
MOST_CHARACTERS = 1_000_000  # of the outputs of one cell, as JSON
TOO_LARGE = (
    f"its outputs have more than {MOST_CHARACTERS:,} characters; print or draw less"
)
