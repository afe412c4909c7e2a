"""A tab has the cells that its text names, and the answers to its questions."""

from collections.abc import Callable

import pytest

from book.checks.orphans import problems
from book.text.book import Book

CELL = "```{{.python .input}}\n%%tab {}\nprint(1)\n```\n"
ONE, OTHER, ALL = (CELL.format(tab) for tab in ("pytorch", "jax", "all"))
OF_ONE = ":begin_tab:`jax`\n{}\n:end_tab:\n"


@pytest.mark.parametrize(
    "text, found",
    [
        (f"The next cell prints.\n\n{ONE}", "next cell"),
        (f"The next cell prints.\n\n{ONE}\n{OTHER}", ""),
        (f"The next cell prints.\n\n{ONE}\n[~~Slide~~]\n\n{OTHER}", ""),
        (f"The next cell prints.\n\n{ONE}\nText.\n\n{ALL}", "next cell"),
        (OF_ONE.format("The next cell prints.") + f"\n{ONE}\nText.\n\n{OTHER}", ""),
        (f"The next cell prints.\n\n## Two\n\n{ALL}", ""),
        (f"{ONE}\nIn the cell above, it prints.\n", "cell above"),
        (f"{ALL}\nIn the cell above, it prints.\n", ""),
        (f"{ALL}\n## Two\n\nIn the cell above, it prints.\n", "cell above"),
        (f"{ONE}\nThe cells mask all scores.\n", "The cells"),
        (f"The cells mask all scores.\n\n{ALL}", ""),
        ("The cell in the last section masks all scores.\n", ""),
    ],
)
def test_a_text_names_cells_that_its_tab_has(
    make_book: Callable[..., Book], text: str, found: str
):
    lines = list(problems(make_book(one=f"# One\n\n{text}")))
    assert {line.split("'")[1] for line in lines} == ({found} if found else set())
    assert not lines or "in jax; move the sentence" in lines[-1]


ASKED = """\
How many copies?

```{.python .input .predict question="How many?" answer="copies: ?"}
%%tab pytorch
print(1)
```

"""


@pytest.mark.parametrize(
    "text, complete",
    [
        (ASKED, False),
        (ASKED + OF_ONE.format("There would be 12."), True),
        (ASKED + OF_ONE.format("There would be 16."), False),
        (ASKED + "There are 12.\n", True),
        (ASKED + "## Next\n\nThere are 12.\n", False),
        (OF_ONE.replace("jax", "pytorch").format("How many copies?"), True),
        (
            OF_ONE.replace("jax", "pytorch").format("How?")
            + ASKED[ASKED.index("``") :],
            True,
        ),
    ],
)
def test_each_tab_that_asks_has_the_answer(
    asking: Callable[..., Book], text: str, complete: bool
):
    text = text if "%%tab" in text else f"{text}\n{ONE}"
    found = list(problems(asking(text, "copies: 12")))
    told = "chapter/one.md:3: jax does not have its answer, 12; write it there"
    assert found == ([] if complete else [told])
