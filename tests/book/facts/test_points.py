"""A point is a sentence, and what shows it in each tab."""

import pytest

from book.facts.points import points
from book.text.blocks import Block, Cell, Equation, Figure
from book.text.parsing import parse

TEXT = """\
# One

[A figure [here]{.web}[below]{.slide} shows it.]{.point}

Some prose, with a [$2$ ms]{.measured}[ on a slide]{.slide}.

![A caption](../img/a.svg)

[The output of [two]{.measured} cells is *shown*.]{.point show=both}

```{.python .input}
import a
```

```{.python .input}
a.run()
```

[Only code is shown.]{.point show=code}

```{.python .input}
import b
```

[Nothing shows it.]{.point}

## Two

$$x = 1$$
"""


def blocks(text: str) -> list[Block]:
    found = list(parse(text).blocks)
    cells = [block for block in found if isinstance(block, Cell)]
    for cell in cells:
        if "run" in cell.code:
            found[found.index(cell)] = Cell(**{**vars(cell), "outputs": ("out",)})
    return found


def test_a_point_shows_the_next_figure_or_output_of_its_part():
    first, second, third, last = points(blocks(TEXT))
    assert [p.show for p in (first, second, third, last)] == ["", "both", "code", ""]
    assert first.sentence == "A figure below shows it." and first.line == 3
    assert isinstance(first.block, Figure) and first.notes == [
        "Some prose, with a $2$ ms on a slide."
    ]
    assert second.sentence == "The output of two cells is *shown*."
    assert isinstance(second.block, Cell) and second.block.code.strip() == "a.run()"
    assert isinstance(third.block, Cell) and third.block.code.strip() == "import b"
    assert last.block is None


@pytest.mark.parametrize("between, notes", [("", []), ("Prose.\n\n", ["Prose."])])
def test_an_equation_shows_a_point(between: str, notes: list[str]):
    above = "# T\n\nOf another part.\n\n## Two\n\n"
    [point] = points(blocks(f"{above}[So.]{{.point}}\n\n{between}$$x = 1$$\n"))
    assert isinstance(point.block, Equation) and point.notes == notes


def test_two_points_of_one_picture_are_two_points():
    [first, second] = points(blocks("[One.]{.point} [Two.]{.point}\n\n$$x = 1$$\n"))
    assert first.block is None and isinstance(second.block, Equation)
