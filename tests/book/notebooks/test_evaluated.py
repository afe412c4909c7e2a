"""The notebooks for d2lbook's own commands have the texts of print."""

from collections.abc import Callable

import nbformat
import pytest

from book.notebooks import evaluated
from book.text.book import Book

TEXT = """\
# One
:label:`sec_one`

A [number]{.measured}. [Press the button.]{.web} [The picture shows it.]{.print .slide}

[Only a deck says this.]{.point}

![Two. [Choose one.]{.web} [One is chosen.]{.print}](../img/a.svg)
:label:`fig_one`

:begin_tab:`jax`
[On the page.]{.web} In JAX, [in plain words]{.play queue.every=1}.
:end_tab:

```{.python .input}
%%tab pytorch, jax
'[kept]{.web}'
```
"""


@pytest.mark.parametrize("folder, tab", [("eval", "pytorch"), ("eval_jax", "jax")])
def test_texts_are_those_of_print(
    make_book: Callable[..., Book], folder: str, tab: str
):
    book = make_book(one=TEXT)
    evaluated.write(book)
    file = book.root / f"_build/{folder}/chapter/one.ipynb"
    cells = nbformat.reads(file.read_text("utf-8"), 4).cells
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    assert "A number. The picture shows it.\n" in text
    assert "![Two. One is chosen.](../img/a.svg)\n:label:`fig_one`" in text
    for absent in ("{.", "button", "a deck", "Choose", "On the page"):
        assert absent not in text
    assert ("In JAX, in plain words." in text) == (tab == "jax")
    assert [c.source for c in cells if c.cell_type == "code"] == ["'[kept]{.web}'"]
