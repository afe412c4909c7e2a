"""The file with the interactive figures, and what of it a notebook gets."""

import json
import re

from nbformat.v4 import new_output

from book.base.paths import CODE
from book.library import figures, package
from book.records import outputs
from book.records.cleaning import clean_outputs
from book.text.book import Book
from d2l.figures import Figure

ROOT = CODE.parent
TABLES = package.tables(Book(ROOT))
TEXT = figures.generate(ROOT, TABLES)


def test_scripts_come_after_those_that_they_need():
    found = json.loads(TEXT)
    for name, scripts in found["needs"].items():
        assert scripts[-1] == name
        for number, script in enumerate(scripts):
            source = (ROOT / f"static/explorables/{script}.js").read_text("utf-8")
            needed = {module for _, module in figures.IMPORT.findall(source)}
            assert needed <= {*scripts[:number]}


def test_browsers_get_no_modules_which_they_do_not_load_from_a_disk():
    for name, script in figures.page_scripts(TABLES).items():
        assert not re.search(r"^(?:import|export)\b", script, re.MULTILINE), name


def test_the_file_is_complete_without_a_network():
    found = json.loads(TEXT)
    assert found["pictures"].keys() == found["needs"].keys() >= {"queue", "roofline"}
    for script in found["scripts"].values():
        assert "BOOK_CARDS" not in script and "</script" not in script
    assert "url(" not in found["style"] and "@import" not in found["style"]


def test_a_part_holds_what_the_figure_needs():
    some = json.loads(figures.part(TEXT, ["queue"]))
    assert [*some["needs"]] == [*some["pictures"]] == ["queue"]
    assert {*some["scripts"]} == {"arithmetic", *figures.KERNEL, "queue"}


def test_notebooks_get_the_figures_that_they_show():
    book = Book(ROOT)
    assert package.figure_data(book, "d2l.plot(x)") == {}
    code = "d2l.figure('queue', host=1)\nd2l.figure('plans')"
    files = package.figure_data(book, code)
    assert {*json.loads(files[figures.FILE])["needs"]} == {"queue", "plans"}


def test_a_record_has_the_settings_of_a_figure():
    bundle = Figure("queue", host=44.2, every="1")._repr_mimebundle_()
    (cleaned,) = clean_outputs([new_output("display_data", bundle)])
    assert "text/html" not in cleaned.data
    (shown,) = outputs.read([cleaned])
    assert isinstance(shown, outputs.InteractiveFigure)
    assert (shown.name, shown.settings) == ("queue", "host=44.2&every=1")
    assert shown.text == bundle["text/plain"]
