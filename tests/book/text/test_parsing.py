"""Sections become blocks with exact lines, and d2lbook reads the same cells."""

from pathlib import Path

import pytest
from d2lbook import library
from d2lbook import notebook as d2l_notebook

from book.text import blocks as b
from book.text.book import Book
from book.text.parsing import parse

BOOK = Book(Path(__file__).resolve().parents[3])
TEXT = """\
# A *Title*
:label:`sec_a`

A paragraph
of two lines.
* a list
  that goes on

:begin_tab:`jax, mxnet`
Only for two:
$$x
- y$$
:eqlabel:`eq_a`
:end_tab:

(**![A *caption*](../img/a.svg "An \\"alt\\" text")**)
:label:`fig_a`


:A caption of a table

| a | b |
|:--|--:|
| 1 | 2 |
:label:`tab_a`

(~~
* on slides

only
~~)

```toc
:maxdepth: 2

one
two/three
```

```{.python .input .varies alt="A plot"}
%%tab pytorch, jax
x = 1

y = 2
```

```python
# a listing, no heading
:label:`no`
```

## Another ##
"""


def blocks_of(kind: type, text: str = TEXT) -> list:
    parsed = parse(text)
    assert not parsed.problems
    return [block for block in parsed.blocks if isinstance(block, kind)]


def test_the_source_of_each_block_is_its_lines_of_the_file():
    lines = TEXT.split("\n")
    blocks = parse(TEXT).blocks
    assert len(blocks) == 13
    for block in blocks:
        end = block.line + block.source.count("\n")
        assert "\n".join(lines[block.line - 1 : end]) == block.source


def test_headings_have_levels_titles_and_labels_on_lines():
    first, other = blocks_of(b.Heading)
    assert (first.line, first.level, first.title) == (1, 1, "A *Title*")
    assert (first.label, first.label_line) == ("sec_a", 2)
    assert (other.line, other.level, other.title, other.label) == (52, 2, "Another", "")


def test_a_figure_is_found_within_a_slide_mark():
    (figure,) = blocks_of(b.Figure)
    assert (figure.path, figure.caption) == ("../img/a.svg", "A *caption*")
    assert (figure.alt, figure.label) == ('An "alt" text', "fig_a")


def test_an_equation_ends_a_paragraph_and_keeps_its_signs():
    (equation,) = blocks_of(b.Equation)
    assert (equation.line, equation.tex, equation.label) == (11, "x\n- y", "eq_a")
    assert equation.tabs == ("jax", "mxnet")


def test_a_paragraph_above_a_table_is_its_caption():
    (table,) = blocks_of(b.Table)
    assert (table.line, table.caption, table.label) == (
        20,
        "A caption of a table",
        "tab_a",
    )
    assert table.rows.startswith("| a | b |") and ":" not in table.rows.split("\n")[0]


def test_a_slide_mark_may_enclose_blocks():
    signs = [(block.line, block.sign) for block in parse(TEXT).blocks if block.sign]
    assert signs == [(28, "(~~"), (30, "(~~")]


def test_a_cell_knows_its_tabs_classes_and_rows():
    (cell,) = blocks_of(b.Cell)
    assert cell.tabs == ("pytorch", "jax") and cell.code == "x = 1\n\ny = 2"
    assert [each.number for each in blocks_of(b.Cell, TEXT + TEXT)] == [1, 2]
    assert [TEXT.split("\n")[row - 1] for row in cell.rows] == cell.code.split("\n")
    assert cell.varies and cell.attributes == {"alt": "A plot"}
    lines = [cell.line_of(row) - cell.line for row in (0, 1, 2, 3, 9)]
    assert lines == [2, 2, 3, 4, 4]
    assert [cell.line_at(offset) - cell.line for offset in (0, 60)] == [0, 2]
    assert [cell.is_for(tab) for tab in ("jax", "mxnet")] == [True, False]
    assert not cell.predicts and not cell.only_in_notebooks


def test_contents_have_entries_with_lines():
    (contents,) = blocks_of(b.Contents)
    assert contents.entries == (("one", 36), ("two/three", 37))


@pytest.mark.parametrize("section", BOOK.sections, ids=lambda s: s.name)
def test_stock_d2lbook_has_the_same_cells_in_each_tab(section):
    whole = d2l_notebook.read_markdown(section.text)
    whole = d2l_notebook.split_markdown_cell(whole)
    for tab in BOOK.tabs:
        nb = d2l_notebook.get_tab_notebook(whole, tab, tab)
        nb = nb and library.replace_alias(nb, BOOK.config.library[tab])
        cells = nb.cells if nb else []
        code = [cell.source for cell in cells if cell.cell_type == "code"]
        assert [cell.code for cell in BOOK.cells(section, tab)] == code


@pytest.mark.parametrize("section", BOOK.sections, ids=lambda s: s.name)
def test_every_line_of_the_book_is_in_a_block(section):
    signs = ("(**", "**)", "[**", "**]", "(~~", "~~)", "[~~", "~~]")
    seen = {line for _, line in section.labels}
    for block in section.blocks:
        lines = set(range(block.line, block.line + block.source.count("\n") + 1))
        assert not lines & seen
        seen |= lines
    for number, line in enumerate(section.text.split("\n"), start=1):
        if line.strip() and not line.startswith((":begin_tab:", ":end_tab:")):
            assert number in seen or line in signs, section.at(number)
