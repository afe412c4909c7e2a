"""No answer is in sight while its output is covered, and little waits with it."""

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
BELOW = "\nThis explains it.\n"


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
        f"{CELL}{BELOW}\nThe copies take 3.18 ms.\n",
        f"{CELL}{BELOW}\nThe copies take 3.49 ms, which would be right.\n",
        f"{CELL}{BELOW}\nThe copies take 2.87 ms, which would be right.\n",
        "The copies take 3.19 ms.\n\n" + CELL,
        f"{CELL}{BELOW}{CELL}{BELOW}\nIt takes 3.18 ms.\n",
        f"{CELL}\n[It takes 3.18 ms]{{.open}}.\n",
        f"{CELL}\n* It takes 3.18 ms.\n",
        f"{CELL}\n![The copies take 3.18 ms.](a.svg)\n",
        f"{CELL}\n| ms |\n|--:|\n| 3.18 |\n",
    ],
)
def test_a_text_in_sight_tells_the_answer(asking: Callable[..., Book], text: str):
    found = found_in(asking(text.replace("a.svg", "a.png"), PRINTED))
    assert found and "tells '3.18 ms', the answer of line " in found[0]


@pytest.mark.parametrize(
    "text",
    [
        CELL + "\nThe copies take 3.18 ms, as predicted.\n",  # covered, too
        CELL + "\n## Next\n\nThe copies still take 3.18 ms.\n",
        "They take [$3.15 + 0.03 = 3.18$ ms]{.arithmetic}.\n\n" + CELL,
        "They take 3.18 s, or 3.2 ms, or 3.18 MiB.\n\n" + CELL,
        f"{CELL}{BELOW}\nThey take 3 s, or 3.5 ms, or 2.86 ms, or 3.3 loads.\n",
    ],
)
def test_other_texts_do_not(asking: Callable[..., Book], text: str):
    assert found_in(asking(text, PRINTED)) == []


def test_each_of_several_answers_waits(asking: Callable[..., Book]):
    place = '? ms | sums: ? ms" fields="copies | sums'
    text = f"The sums take 1.27 ms.\n\n{ASKING.format(place)}"
    found = found_in(asking(text, "copies: 3.18 ms, sums: 1.27 ms"))
    assert found and all("tells '1.27 ms'" in line for line in found)


@pytest.mark.parametrize(
    "answer, told",
    [
        ("RuntimeError | True", True),
        ("True | RuntimeError", False),  # the wrong one
        ("Runtime | True", False),  # too short to tell anything
    ],
)
def test_the_text_of_the_right_choice_waits(
    asking: Callable[..., Book], answer: str, told: bool
):
    choice = ASKING.format(f'{answer}" choices="an error | a sum')
    text = f"It isn't a `RuntimeError`.\n\n{choice}"
    printed = "True" if answer.startswith("True") else "RuntimeError"
    found = found_in(asking(text, printed))
    assert bool(found) == told == any("tells 'RuntimeError'" in f for f in found)


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


TWO_TABS = """\
:begin_tab:`jax`
{}
:end_tab:

This is below the cell in the other tab.
"""


@pytest.mark.parametrize(
    "text, message",
    [
        (f"{CELL}\nTwo predictions are too high:\n\n* one\n* two\n", "introduces"),
        (f"{CELL}{BELOW}\n[More]{{.open}} of it.\n", "remove .open"),
        ("[It]{.open} is in sight.\n", "remove .open"),
        (CELL + "\n" + TWO_TABS.format("This waits, too."), "a second paragraph"),
    ],
)
def test_only_a_whole_paragraph_below_an_output_waits(
    make_book: Callable[..., Book], text: str, message: str
):
    (found,) = found_in(make_book(one=f"# One\n\n{text}"))
    assert message in found


def test_a_tab_may_have_a_paragraph_in_sight_below_an_output(
    make_book: Callable[..., Book],
):
    text = f"{CELL}\n{TWO_TABS.format('[This]{.open} does not wait.')}"
    assert found_in(make_book(one=f"# One\n\n{text}")) == []


@pytest.mark.parametrize(
    "invitation",
    [
        "Predict it.",
        "It is slow. Predict how slow.",
        "(**Predict it.**)",
        "Predict: it.",
    ],
)
@pytest.mark.parametrize(
    "below, is_answered",
    [
        (CELL, True),
        (PLAIN + CELL, True),
        (PLAIN, False),
        (f"## Two\n\n{CELL}", False),
        (f"Predict that, too.\n\n{CELL}", False),
    ],
)
def test_an_invitation_to_predict_needs_a_covered_output(
    make_book: Callable[..., Book], invitation: str, below: str, is_answered: bool
):
    found = found_in(make_book(one=f"# One\n\n{invitation}\n\n{below}"))
    expected = "one.md:3: no cell marked .predict answers 'Predict'"
    assert [expected in line for line in found] == [True] * (not is_answered)


@pytest.mark.parametrize(
    "text",
    [
        "In :numref:`fig_a`, which one? Predict it, and drag the other.",
        "The bytes predict the time. They are predicted.",
        "`Predict` is a name, and a method `Machine.predict`.",
        "1. (CPU) Predict it.",
    ],
)
def test_figures_exercises_and_statements_need_none(
    make_book: Callable[..., Book], text: str
):
    figure = "![A figure.](a.png)\n:label:`fig_a`\n"
    assert found_in(make_book(one=f"# One\n\n{text}\n\n{figure}")) == []


ASK = "[How many ms does a copy take?]{.ask cited=copy}\n"


@pytest.mark.parametrize(
    "text, problem",
    [
        (f"{ASK}\nIt takes 3.18 ms.\n", ""),
        (f"Predict it.\n\n{ASK}", ""),
        (f"It takes 3.18 ms.\n\n{ASK}", "tells '3.18 ms', the answer of line 5"),
        (f"{ASK}{BELOW}\nIt takes 3.18 ms.\n", "tells '3.18 ms', the answer of line 3"),
        (f"{ASK}\n[It]{{.open}} takes 3180 µs.\n", "tells '3.18 ms'"),
        (f"{ASK}\nTwo are too high:\n\n* one\n* two\n", "introduces"),
    ],
)
def test_a_published_number_waits_below_the_text_that_asks_for_it(
    make_book: Callable[..., Book], text: str, problem: str
):
    book = make_book(tabs=("jax",), one=f"# One\n\n{text}")
    head = "id,topic,what,framework,value,unit,hardware,source"
    row = "copy,copies,copying,JAX,3.18,ms,a GPU,A.2026"
    (book.root / "d2l").mkdir(exist_ok=True)
    (book.root / "d2l/cited.csv").write_text(f"{head}\n{row}\n")
    found = found_in(book)
    assert len(found) == bool(problem) and all(problem in line for line in found)


# The places at which readers found answers: a page as it was, with one paragraph below
# the output, what its cells printed, and the words of the problem.
FOUND: dict[str, tuple[str, list[Any], str]] = {
    "memory": (
        ASKING.format("the highest point is ? MiB") + BELOW + PLAIN,
        ["the highest point is 25.0 MiB", {"settings": "tape=2.000,25.031"}],
        "tells '25.0 MiB'",
    ),
    "use-gpu": (
        f"![](a.svg)\n\n{CELL}",
        ["copies: 3.176 ms"],
        "'5.24 ms, of which 3.18 ms are copies' tells",
    ),
    "multiple-gpus": (
        ASKING.format("device 0: sends ? S") + BELOW + PLAIN,
        ["device 0: sends 1.50 S", "n = 4: star 3.00 S, ring 1.50 S"],
        "tells '1.50'",
    ),
    "out-of-memory": (
        ASKING.format("float16 ?")
        + "\nThe weight in `float16` does not arrive. In 32 bits:\n\n* it does\n",
        ["float16 0.02"],
        "what this introduces is in sight",
    ),
    "model-parallelism": (
        ASKING.format("all-gather ? MiB")
        + "\nThese rows are plans.\n\n* FSDP gathers 128 MiB.\n",
        ["all-gather 128.0 MiB"],
        "tells '128.0 MiB'",
    ),
    "faster-training": (
        ASKING.format("bfloat16: ? measured") + BELOW + PLAIN,
        ["bfloat16: 1.38 measured", {"alt": "Bars: larger batch 1.08, bfloat16 1.38"}],
        "tells '1.38'",
    ),
    "does-it-fit": (
        ASKING.format("mlp, MiB of temporaries: ? (T4)") + BELOW + PLAIN,
        ["mlp, MiB of temporaries: 21.1 (T4)", "planned: 21.1 and 4.0 MiB (T4)"],
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


def test_a_cell_of_notebooks_alone_is_not_in_sight(make_book: Callable[..., Book]):
    hidden = PLAIN.replace(".input", ".input .notebook")
    text = f"# One\n\n{CELL}{hidden}\nIt takes 3.18 ms, which waits.\n"
    book = make_book(tabs=("jax",), one=text)
    record(book, [PRINTED, PRINTED])
    assert found_in(book) == []


@pytest.mark.parametrize("vary", [(True, True), (True, False), (False, True)])
def test_two_measurements_agree_by_chance(
    make_book: Callable[..., Book], vary: tuple[bool, bool]
):
    above, asking = (".input .varies" if varies else ".input" for varies in vary)
    cells = PLAIN.replace(".input", above) + "\n" + CELL.replace(".input", asking)
    book = make_book(tabs=("jax",), one=f"# One\n{cells}")
    record(book, ["sums: 3.18 ms", PRINTED])
    assert bool(found_in(book)) is not all(vary)
