"""The index of the search, and what readers ask."""

from pathlib import Path
from typing import Any

import pytest

from book.pages import asked, search_index
from book.runner.errors import BookError


def entry(text: str, kind: str = "section", **others: Any) -> dict[str, Any]:
    return {"anchor": "a", "kind": kind, "trail": ["1. Page", "1.1. Copies"]} | {
        "text": text,
        **others,
    }


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("Copies", ("copy",)),
        ("copying", ("copy",)),
        ("quantised", ("quantiz",)),
        ("quantisation", ("quantization",)),
        ("running", ("run",)),
        ("process", ("process",)),
        ("device_put", ("device_put", "devic", "put")),
        ("DataLoader", ("dataloader", "data", "loader")),
        ("XLAProgram", ("xlaprogram", "xla", "program")),
    ],
)
def test_words_are_found_by_their_stems_and_parts(word: str, found: tuple[str, ...]):
    assert search_index.terms(word) == found


def test_hits_are_distances_with_counts():
    texts = ["gpu"] * 40 + ["none", "gpu gpu tile"]
    index = search_index.build([entry(text, "tab") for text in texts])
    hits = dict(zip(index["words"], index["hits"], strict=True))
    assert hits["gpu"] == f"//0{' 1' * 39} 2*2//"
    assert hits["til"] == "//15//"  # 41 in base 36
    assert index["lengths"][index["fields"].index("text")] == [1] * 41 + [2]


def test_a_section_has_its_heading_and_what_readers_ask():
    made = entry("x", names=["copy_to"], code="y = 1", asked=["move data"])
    assert search_index.fields(made) == (
        "Copies move data",
        "copy_to",
        "x",
        "y = 1",
        "Page Copies",
    )
    assert search_index.fields(entry("x", "tab"))[0] == ""


HEAD = "kind,asked,place,answer\n"
PAGES = {"chapter/one.html": [entry("x")], "index.html": []}


def write(root: Path, text: str) -> Path:
    (root / "chapter").mkdir()
    (root / "chapter/asked.csv").write_text(text, "utf-8")
    return root


def test_a_message_is_an_entry_and_a_question_is_not(tmp_path: Path):
    rows = "message,It broke,one#a,Mend it\nquestion,how to mend,one#a,Mend it\n"
    found = asked.add(write(tmp_path, HEAD + rows), PAGES)["chapter/one.html"]
    assert [each.get("asked") for each in found] == [["how to mend"], ["It broke"]]
    assert found[1]["kind"] == "message"
    assert found[1]["trail"] == found[0]["trail"]
    assert found[1]["text"] == "It broke … Mend it"
    assert "asked" not in PAGES["chapter/one.html"][0]


def test_a_book_may_have_no_list(tmp_path: Path):
    assert asked.add(tmp_path, PAGES) == PAGES


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("asked,place\n", "chapter/asked.csv: the columns must be kind, asked, place"),
        (f"{HEAD}message,m,one#b,w\n", "asked.csv:2: there is no section `one#b`"),
        (f"{HEAD}message,m,two#a,w\n", "asked.csv:2: there is no section `two#a`"),
        (f"{HEAD}error,m,one#a,w\n", "asked.csv:2: the kind is neither"),
        (f"{HEAD}message,m,one#a,\n", "asked.csv:2: each column needs a value"),
        (f"{HEAD}message,m,one#a,w,x\n", "asked.csv:2: each column needs a value"),
    ],
)
def test_mistakes_in_the_list_are_named(tmp_path: Path, text: str, message: str):
    with pytest.raises(BookError, match=message.replace("`", ".")):
        asked.add(write(tmp_path, text), PAGES)
