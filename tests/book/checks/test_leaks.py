"""No answer stands uncovered near its question."""

import pytest

from book.checks.leaks import SCREEN, problems

CELL = """\
```{.python .input .predict question="How many ms are copies?" answer="copies: ? ms"}
%%tab all
print(1)
```
"""
PRINTED = "copies: 3.18 ms"
FAR = "\n\n" + "Words. " * (SCREEN // 6 + 1) + "\n\n"


@pytest.mark.parametrize(
    "text",
    [
        "The copies take 3.18 ms.\n\n" + CELL,
        CELL + "\n## Next\n\nThe copies still take 3.18 ms.\n",
        CELL + "\n## Next\n\nAll takes 3.18 ms.\n",
        CELL + "\nAfter 3.18 ms it ends:\n\n* early\n",
        "[$2 \\cdot 3.18 = 6.36$ ms]{.arithmetic}\n\nIt has 3.18 ms.\n\n" + CELL,
        CELL + '\n![The copies take 3.18 ms.](a.svg "An alternative text.")\n',
    ],
)
def test_a_text_in_view_tells_the_answer(asking, text: str):
    found = list(problems(asking(text, PRINTED)))
    assert found and "tells the answer '3.18 ms'" in found[0]


@pytest.mark.parametrize(
    "text",
    [
        CELL + "\nThe copies take 3.18 ms, as predicted.\n",  # covered, too
        "They take [$3.15 + 0.03 = 3.18$ ms]{.arithmetic}.\n\n" + CELL,
        "A step has 3.18 ms.\n\nTwo: [$2 \\cdot 3.18 = 6.36$ ms]{.arithmetic}.\n\n"
        + CELL,
        "The copies take 3.18 ms." + FAR + CELL,
        CELL + "\n## Next\n\nThe copies take 3.18 s, or 3.3 ms, or 3.18 of them.\n",
    ],
)
def test_other_texts_do_not(asking, text: str):
    assert list(problems(asking(text, PRINTED))) == []


def test_a_round_number_tells_it_only_with_the_words_of_the_question(asking):
    text = f"{CELL}\n## Next\n\nThe fetch takes 3 ms. Copies take 3 ms.\n"
    book = asking(text, "copies: 3.0 ms")
    found = list(problems(book))
    assert len(found) == len(book.tabs)
    assert all("reword 'Copies take 3 ms.'" in problem for problem in found)
