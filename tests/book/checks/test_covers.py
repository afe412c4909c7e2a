"""No answer is in sight while its output is covered."""

from collections.abc import Callable
from typing import Any

import pytest
from nbformat.v4 import new_output

from book.checks.covers import problems
from book.records import fingerprint, store, validation
from book.records.cleaning import FIGURE
from book.text.book import Book

ASKING = """\
```{{.python .input .predict question="How many?" answer="{}"}}
%%tab all
print(1)
```
"""
PLAIN = "\n```{.python .input}\n%%tab all\nprint(2)\n```\n"
CELL = ASKING.format("copies: ? ms")
SVG = '<svg xmlns="http://www.w3.org/2000/svg"></svg>'
PRINTED = "copies: 3.18 ms"
OPEN = "\nThis explains it.\n\n[Something else]{.open} follows.\n"


def found_in(book: Book) -> list[str]:
    return list(problems(book))


@pytest.mark.parametrize(
    "text",
    [
        "The copies take 3.18 ms.\n\n" + CELL,
        "The copies take 3180 µs.\n\n" + CELL,
        "* early\n* after 0.00318 s\n\n" + CELL,
        f"![The copies take 3.18 ms.](a.svg)\n\n{CELL}",
        f'![A caption.](a.svg "It takes 3.18 ms.")\n\n{CELL}',
        f"{CELL}{OPEN}\nThe copies take 3.18 ms.\n",
        f"{CELL}{OPEN}\nThe copies take 3.5 ms, which would be right.\n",
        f"{CELL}{OPEN}{CELL}\nThis is covered.\n\n[It]{{.open}} takes 3.18 ms.\n",
    ],
)
def test_a_text_in_sight_tells_the_answer(asking: Callable[..., Book], text: str):
    found = found_in(asking(text.replace("a.svg", "a.png"), PRINTED))
    assert found and "tells '3.18 ms', the answer of line " in found[0]


@pytest.mark.parametrize(
    "text",
    [
        CELL + "\nThe copies take 3.18 ms, as predicted.\n",  # covered, too
        CELL + "\n![The copies take 3.18 ms.](a.png)\n",
        CELL + "\n## Next\n\nThe copies still take 3.18 ms.\n",
        "They take [$3.15 + 0.03 = 3.18$ ms]{.arithmetic}.\n\n" + CELL,
        "They take 3.18 s, or 3.3 ms, or 3.18 MiB.\n\n" + CELL,
        f"{CELL}{OPEN}\nThe copies take 3 s, or 5 ms.\n",
    ],
)
def test_other_texts_do_not(asking: Callable[..., Book], text: str):
    assert found_in(asking(text, PRINTED)) == []


@pytest.mark.parametrize(
    "text, printed, told",
    [
        ("It reaches 26.2 MB.", "? MiB: 25.0 MiB", True),
        ("It reaches 26 MB.", "? MiB: 25.0 MiB", False),
        ("It reaches 25 MiB.", "? MiB: 25.0 MiB", True),
        ("It takes 150 %.", "? times: 1.50 times", True),
        ("It sends 1.50 S.", "? S: 1.50 S", True),
        ("The table has 16 rows.", "? sectors: 16 sectors", False),
        ("A warp reads 16 sectors.", "? sectors: 16 sectors", True),
        ("The prediction is 1.00.", "? S: 1.00 S", False),
        ("Each has 100 values.", "? S: 100 S", False),
    ],
)
def test_units_are_converted_and_round_numbers_need_theirs(
    asking: Callable[..., Book], text: str, printed: str, told: bool
):
    place = printed.partition(":")[0]
    output = printed.partition(": ")[2]
    found = found_in(asking(f"{text}\n\n{ASKING.format(place)}", output))
    assert bool(found) == told


@pytest.mark.parametrize("later, is_found", [("", True), (CELL, False)])
def test_a_text_right_below_an_output_is_open_only_before_another_question(
    asking: Callable[..., Book], later: str, is_found: bool
):
    text = f"{CELL}\n[Two predictions]{{.open}} are too high:\n\n{later}"
    found = found_in(asking(text, PRINTED))
    assert ["move .open down" in line for line in found] == [True, True] * is_found


# The places at which readers found answers, each with the cover's end planted above it:
# a page as it was, what its cells printed, and the words of the problem.
FOUND: dict[str, tuple[str, list[Any], str]] = {
    "memory": (
        ASKING.format("the highest point is ? MiB") + OPEN + PLAIN,
        ["the highest point is 25.0 MiB", {"settings": "tape=2.000,25.031"}],
        "tells '25.0 MiB'",
    ),
    "use-gpu": (
        f"![](a.svg)\n\n{CELL}",
        ["copies: 3.176 ms"],
        "'5.24 ms, of which 3.18 ms are copies' tells",
    ),
    "multiple-gpus": (
        ASKING.format("device 0: sends ? S") + OPEN + PLAIN,
        ["device 0: sends 1.50 S", "n = 4: star 3.00 S, ring 1.50 S"],
        "tells '1.50'",
    ),
    "out-of-memory": (
        ASKING.format("float16 ?")
        + "\n[The weight in `bfloat16` does not move]{.open} at all.\n",
        ["float16 0.02"],
        "this text explains the output",
    ),
    "model-parallelism": (
        ASKING.format("all-gather ? MiB")
        + "\nThese rows are plans. [Two of the predictions]{.open} are too high:\n",
        ["all-gather 128.0 MiB"],
        "this text explains the output",
    ),
    "faster-training": (
        ASKING.format("bfloat16: ? measured") + OPEN + PLAIN,
        ["bfloat16: 1.38 measured", {"alt": "Bars: larger batch 1.08, bfloat16 1.38"}],
        "tells '1.38'",
    ),
    "does-it-fit": (
        ASKING.format("mlp, MiB of temporaries: ? (T4)") + OPEN + PLAIN,
        ["mlp, MiB of temporaries: 21.1 (T4)", "25.0 MiB planned: 25.1 (T4)"],
        "tells '21.1'",
    ),
}


@pytest.mark.parametrize("page", FOUND)
def test_each_answer_that_readers_have_found(make_book: Callable[..., Book], page: str):
    text, printed, problem = FOUND[page]
    book = make_book(tabs=("jax",), one=f"# One\n\n{text}")
    labels = "<svg><text>5.24 ms, of which 3.18 ms are copies</text></svg>"
    (book.root / "chapter/a.svg").write_text(labels)
    record(book, printed)
    found = found_in(book)
    assert found and problem in found[0]


def record(book: Book, printed: list[Any]) -> None:
    """Keep what each cell printed, or the description of the plot that it drew."""
    section = book.section("one")
    nb = store.blank(book, section, "jax")
    for cell, output in zip(nb.cells, printed, strict=True):
        if isinstance(output, str):
            cell.outputs = [new_output("stream", name="stdout", text=output)]
        else:
            figure = f"memory-timeline?{output.pop('settings', '')}"
            data = {"image/svg+xml": SVG} if output else {FIGURE: figure}
            cell.outputs = [new_output("display_data", data=data, metadata=output)]
    facts = dict.fromkeys(validation.FACTS, "") | {"python": "3.11.2"}
    facts |= {"date": "2026-01-02", "framework": "jax", "machine": "cpu"}
    facts["fingerprint"] = fingerprint.fingerprint(book, section, "jax")
    store.write(book, section, "jax", nb, facts)


@pytest.mark.parametrize("vary", [(True, True), (True, False), (False, True)])
def test_two_measurements_agree_by_chance(
    make_book: Callable[..., Book], vary: tuple[bool, bool]
):
    above, asking = (".input .varies" if varies else ".input" for varies in vary)
    cells = PLAIN.replace(".input", above) + "\n" + CELL.replace(".input", asking)
    book = make_book(tabs=("jax",), one=f"# One\n{cells}")
    record(book, ["sums: 3.18 ms", PRINTED])
    assert bool(found_in(book)) is not all(vary)
