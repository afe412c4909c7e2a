"""Pages show the outputs of several machines, with a switch where they differ."""

from collections.abc import Callable
from pathlib import Path

import pytest
import test_html
from bs4 import BeautifulSoup, Tag
from nbformat import NotebookNode
from nbformat.v4 import new_output
from rcssmin import cssmin

from book.pages import html
from book.pages.sets import machine_rules
from book.records import fingerprint, store, validation
from book.text.book import Book

TEXT = """\
# One
:label:`sec_one`

![Two devices.](../img/a.svg)

```{.python .input}
%%tab all
import this
```

```{.python .input}
%%tab all
where()
```

```{.python .input .varies}
%%tab all
how_long()
```

Its end.
"""
PLOTS = Path(__file__).parents[1] / "render/plots"
CELL_WITH_ALT = '{.python .input .varies alt="Copies take time."}'
FACTS = dict.fromkeys(validation.FACTS, "") | {
    "machine_name": "CPU",
    "cpu": "Some Processor",
    "python": "3.11.2",
    "date": "2026-01-02",
}
GPU = {
    "gpu": "NVIDIA TEST",
    "machine_name": "NVIDIA TEST",
    "driver": "000.00",
    "date": "2026-01-03",
}
VERSIONS = {"pytorch": "2.13.0+cpu", "jax": "0.10.2"}

site_book = test_html.make_site_book
soup, find = test_html.soup, test_html.find


def printed(text: str) -> list[NotebookNode]:
    return [new_output("stream", name="stdout", text=text)] if text else []


def plotted(width: int) -> list[NotebookNode]:
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="1"></svg>'
    return [new_output("display_data", {"image/svg+xml": svg})]


def record(
    book: Book,
    machine: str,
    *outputs: str | list[NotebookNode],
    tabs: str = "pytorch jax",
    **facts: str,
) -> None:
    """Record outputs of the cells of section `one` on a machine, in each tab."""
    section = book.section("one")
    for tab in tabs.split():
        nb = store.blank(book, section, tab)
        for cell, output in zip(nb.cells, outputs, strict=True):
            cell.outputs = printed(output) if isinstance(output, str) else output
        origin = {
            "machine": machine,
            "framework": tab,
            "framework_version": VERSIONS.get(tab, ""),
            "fingerprint": fingerprint.fingerprint(book, section, tab),
        }
        store.write(book, section, tab, nb, FACTS | origin | facts)


def page_of(book: Book) -> BeautifulSoup:
    html.build(Book(book.root))
    return soup(book, "chapter/one")


def switches(page: BeautifulSoup) -> list[Tag]:
    return page.select('.tab-set[data-axis="machine"]')


def shown(panel: Tag) -> str:
    """Return the text of a panel without its label and its facts."""
    parts = panel.find_all(recursive=False)
    assert [part.name for part in (parts[0], parts[-1])] == ["p", "details"]
    return "".join(part.text for part in parts[1:-1]).strip()


def record_lines(page: BeautifulSoup) -> dict[str, str]:
    panels = page.select(".record > .tab-panel")
    texts = [[" ".join(p.text.split()) for p in panel.select("p")] for panel in panels]
    return {label: " ".join(paragraphs) for label, *paragraphs in texts}


# The switch


def test_only_outputs_that_differ_have_a_switch(site_book):
    book = site_book(one=TEXT)
    record(book, "cpu", "", "same\n", "7 ms\n")
    record(book, "h200", "", "same\n", "1 ms\n", **GPU)
    page = page_of(book)
    (switch,) = switches(page)
    assert [shown(p) for p in switch.select(".tab-panel")] == ["7 ms", "1 ms"]
    (shared,) = (o for o in page.select(".output") if o.text.strip() == "same")
    assert shared.find_parent(class_="tab-set") is None
    # Outputs that are the same in all tabs are not in the panel of a tab.
    assert switch.find_parent(class_="tab-panel") is None
    (note,) = page.select(".output-note")
    assert note.text == "Your output may differ, here and below."
    assert note.find_parent(class_="tab-panel") is None


def test_a_page_says_once_that_outputs_may_differ(site_book):
    book = site_book(one=TEXT.replace("{.python .input}", "{.python .input .varies}"))
    record(book, "cpu", "", "first\n", "second\n")
    (note,) = page_of(book).select(".output-note")
    output = note.find_previous_sibling()
    assert output and output.text.strip() == "first"


def test_the_switch_has_the_markup_for_styles_and_script(site_book):
    book = site_book(one=TEXT)
    record(book, "cpu", "", "cpu\n", "")
    record(book, "h200", "", "gpu\n", "", **GPU)
    page = page_of(book)
    (switch,) = switches(page)
    assert switch["class"] == ["tab-set"]
    assert switch["data-choices"] == "cpu h200"
    (row,) = switch.select("[role=tablist]")
    assert (row["class"], row["aria-label"]) == (["tab-list"], "Machine")
    buttons = row.select("button[type=button][role=tab][tabindex='-1']")
    assert [b["data-choice"] for b in buttons] == ["cpu", "h200"]
    assert [b.text for b in buttons] == ["CPU", "NVIDIA TEST"]
    assert {b["aria-selected"] for b in buttons} == {"false"}
    for button, panel in zip(buttons, switch.select(".tab-panel"), strict=True):
        number, machine = str(button["id"]).removeprefix("machine-").split("-")
        assert panel["id"] == button["aria-controls"] == f"output-{number}-{machine}"
        assert panel["data-choices"] == machine
        assert find(panel, "p.tab-label > strong").text == button.text
    assert not page.select("main [style], main [hidden]")


def test_a_panel_names_the_origin_of_its_outputs(site_book):
    book = site_book(one=TEXT)
    record(book, "cpu", "", "cpu\n", "", tabs="jax")
    record(book, "h200", "", "gpu\n", "", tabs="jax", **GPU)
    page = page_of(book)
    folded = page.select(".tab-panel > details.made-on")
    assert {find(f, "summary").text for f in folded} == {"What made this"}
    assert [find(f, "p").text for f in folded] == [
        "CPU (Some Processor), JAX 0.10.2, Python 3.11.2, 2026-01-02.",
        "NVIDIA TEST, driver 000.00, JAX 0.10.2, Python 3.11.2, 2026-01-03.",
    ]
    assert not page.select("details[open]")


def test_a_panel_of_several_tabs_names_the_origin_for_each(site_book):
    book = site_book(one=TEXT)
    record(book, "cpu", "", "cpu\n", "")
    record(book, "h200", "", "gpu\n", "", **GPU)
    for folded in page_of(book).select("details.made-on"):
        texts = [p.text for p in folded.select("p")]
        assert ["PyTorch 2.13.0" in texts[0], "JAX 0.10.2" in texts[1]] == [True, True]


def test_machines_with_the_same_outputs_share_a_panel(site_book):
    book = site_book(one=TEXT)
    record(book, "cpu", "", "cpu\n", "")
    record(book, "a100", "", "gpu\n", "", **GPU)
    record(book, "h200", "", "gpu\n", "", **GPU | {"gpu": "NVIDIA OTHER"})
    (switch,) = switches(page_of(book))
    assert switch["data-choices"] == "cpu a100 h200"
    panels = switch.select(".tab-panel")
    assert [p["data-choices"] for p in panels] == ["cpu", "a100 h200"]
    assert find(panels[1], ".tab-label").text == "NVIDIA TEST, NVIDIA OTHER"
    controls = [b["aria-controls"] for b in switch.select("button")]
    assert controls == [panels[0]["id"], *[panels[1]["id"]] * 2]
    assert len(panels[1].select("details p")) == 4


@pytest.mark.parametrize("silent", ["cpu", "h200"])
def test_a_machine_without_an_output_says_so(site_book, silent):
    book = site_book(one=TEXT)
    outputs = {"cpu": "cpu\n", "h200": "gpu\n"} | {silent: ""}
    record(book, "cpu", "", outputs["cpu"], "")
    record(book, "h200", "", outputs["h200"], "", **GPU)
    page = page_of(book)
    # The outputs are the same in both tabs, so there is one switch.
    (switch,) = switches(page)
    texts = {p["data-choices"]: shown(p) for p in switch.select(".tab-panel")}
    assert texts == {m: o.strip() or "No output." for m, o in outputs.items()}
    assert find(switch, ".no-output").name == "p"


def test_each_machine_has_its_own_image_files(site_book):
    book = site_book(one=TEXT)
    record(book, "cpu", "", "", plotted(1))
    record(book, "h200", "", "", plotted(2), **GPU)
    images = page_of(book).select(".tab-panel img.output")
    assert [i["width"] for i in images] == ["1", "2"]
    assert len({i["src"] for i in images}) == 2
    for image in images:
        assert (book.root / "_build/html/chapter" / str(image["src"])).exists()


def test_plots_are_parts_of_their_page(site_book):
    book = site_book(one=TEXT.replace("{.python .input .varies}", CELL_WITH_ALT))
    svg = (PLOTS / "curves.svg").read_text("utf-8")
    alt = {"alt": "Three curves."}
    output = [new_output("display_data", {"image/svg+xml": svg}, metadata=alt)]
    record(book, "cpu", "", output, output)
    record(book, "h200", "", output, [], **GPU)
    page = page_of(book)
    first, *_, last = page.select(".plotted.output > svg.plot")
    assert first["aria-label"] == "Three curves."
    assert last["aria-label"] == "Copies take time."
    names = [str(element["id"]) for element in page.select("[id]")]
    assert len(names) == len(set(names)) and any("plot-" in name for name in names)
    assert not page.select("[style], article style, img.output")
    assert not list((book.root / "_build/html/_images").glob("one_*.svg"))


# The records that are shown


def test_a_machine_is_shown_only_in_tabs_that_it_ran(site_book):
    book = site_book(one=TEXT)
    record(book, "cpu", "", "cpu\n", "")
    record(book, "h200", "", "gpu\n", "", tabs="jax", **GPU)
    page = page_of(book)
    (switch,) = switches(page)
    around = switch.find_parent(class_="tab-panel")
    assert around is not None and str(around["id"]).endswith("-jax")
    lines = record_lines(page)
    assert "NVIDIA TEST" in lines["JAX"] and "NVIDIA TEST" not in lines["PyTorch"]


def test_a_stale_record_is_neither_shown_nor_offered(site_book):
    book = site_book(one=TEXT)
    record(book, "h200", "", "gpu\n", "", **GPU)
    path = book.section("one").path
    path.write_text(TEXT.replace("where()", "where(1)"), encoding="utf-8")
    book = Book(book.root)
    record(book, "cpu", "", "cpu\n", "")
    page = page_of(book)
    assert not switches(page)
    assert "NVIDIA" not in page.text and "gpu" not in page.text
    css = (book.root / "_build/html/_static/site.css").read_text("utf-8")
    assert "h200" not in css


@pytest.mark.parametrize("text", ["", "{", '{"nbformat": 4}'])
def test_a_damaged_record_is_neither_shown_nor_offered(site_book, text):
    book = site_book(one=TEXT)
    record(book, "cpu", "", "cpu\n", "")
    record(book, "h200", "", "gpu\n", "", **GPU)
    for tab in book.tabs:
        store.path(book, book.section("one"), tab, "h200").write_text(text)
    page = page_of(book)
    assert not switches(page) and "NVIDIA" not in page.text
    assert "Outputs: CPU" in record_lines(page)["JAX"]


def test_another_machine_is_shown_if_the_cpu_has_no_record(site_book):
    book = site_book(one=TEXT)
    record(book, "h200", "", "gpu\n", "", **GPU)
    page = page_of(book)
    assert not switches(page)
    (output,) = page.select(".output")
    assert output.text.strip() == "gpu"
    line = "Outputs: NVIDIA TEST, driver 000.00, JAX 0.10.2, Python 3.11.2, 2026-01-03."
    assert record_lines(page)["JAX"] == line


def test_a_page_without_a_fresh_record_gives_the_reason(site_book):
    book = site_book(one=TEXT)
    record(book, "h200", "", "gpu\n", "", **GPU)
    path = book.section("one").path
    path.write_text(TEXT.replace("where()", "where(1)"), encoding="utf-8")
    for line in record_lines(page_of(book)).values():
        assert line.startswith("No outputs. This code has not been run yet: make run")


def test_a_tab_without_code_has_no_record(site_book):
    text = TEXT.replace("%%tab all", "%%tab pytorch")
    text_for_jax = ":begin_tab:`jax`\nNothing yet.\n:end_tab:\n\nIts end."
    book = site_book(one=text.replace("Its end.", text_for_jax))
    record(book, "cpu", "", "cpu\n", "", tabs="pytorch")
    lines = record_lines(page_of(book))
    assert lines["JAX"] == "No code for JAX in this section."


def test_the_line_under_the_title_lists_all_machines(site_book):
    book = site_book(one=TEXT)
    record(book, "cpu", "", "cpu\n", "")
    record(book, "h200", "", "cpu\n", "", **GPU)
    assert record_lines(page_of(book))["PyTorch"] == (
        "Outputs: CPU (Some Processor), PyTorch 2.13.0+cpu, Python 3.11.2, 2026-01-02; "
        "NVIDIA TEST, driver 000.00, PyTorch 2.13.0+cpu, Python 3.11.2, 2026-01-03."
    )


# The names of machines


def test_machines_of_one_name_are_distinguished(make_book: Callable[..., Book]):
    book = make_book(one=TEXT)
    for machine, facts in {"cpu": {}, "laptop": {}, "a": GPU, "b": GPU}.items():
        record(book, machine, "", "", "", **facts)
    other = GPU | {"gpu": "NVIDIA OTHER"}
    record(book, "c", "", "", "", tabs="pytorch", **GPU)
    record(book, "c", "", "", "", tabs="jax", **other)
    (book.root / "outputs/none").mkdir()
    assert store.titles(book) == {
        "cpu": "CPU",
        "a": "NVIDIA TEST (a)",
        "b": "NVIDIA TEST (b)",
        "c": "NVIDIA TEST / NVIDIA OTHER",
        "laptop": "CPU (laptop)",
    }


def test_special_characters_in_names_are_escaped(site_book):
    name = '"A" <b> *c* \\d `e` &amp; :ref:`f` é'
    book = site_book(one=TEXT)
    record(book, "cpu", "", "cpu\n", "")
    facts = {"gpu": name, "framework_version": "0.9.1"}
    (book.root / "environments/jax.txt").write_text("jax==0.10.2\n")
    book = Book(book.root)
    record(book, "cpu", "", "cpu\n", "")
    record(book, "odd", "", "gpu\n", "", **GPU | facts)
    page = page_of(book)
    (switch,) = switches(page)
    assert switch.select("button")[1].text == name
    plain = {ord("“"): '"', ord("”"): '"'}
    texts = [switch.select("details p")[-1].text, find(page, ".version-notice").text]
    assert all(name in text.translate(plain) for text in texts)


def test_a_renamed_folder_is_a_machine_of_the_new_name(site_book):
    book = site_book(one=TEXT)
    record(book, "cpu", "", "cpu\n", "")
    record(book, "h200", "", "gpu\n", "", **GPU)
    (book.root / "outputs/h200").rename(book.root / "outputs/other")
    (switch,) = switches(page_of(book))
    assert switch["data-choices"] == "cpu other"


# The notice of other versions


@pytest.mark.parametrize(
    "tab, pin, ran, notice",
    [
        ("jax", "jax==0.10.2", "0.9.1", "JAX 0.9.1; these instructions install 0.10.2"),
        ("jax", "jax==0.10.2", "0.10.2", ""),
        ("jax", "jaxlib==0.10.2", "0.9.1", ""),
        ("jax", "jax[cuda13]==0.10.2 ; python_version > '3'", "0.10.2+cuda13", ""),
        ("jax", "jax==0.10.2", "", ""),
        ("pytorch", "torch==2.13.0", "2.13.0+cu130", ""),
        (
            *("pytorch", "torch==2.13.0+cpu", "2.9.0a0+nv25"),
            "PyTorch 2.9.0a0; these instructions install 2.13.0",
        ),
        (
            *("tensorflow", "tensorflow-cpu==2.21.0", "2.20.1"),
            "TensorFlow 2.20.1; these instructions install 2.21.0",
        ),
        ("tensorflow", "tensorflow==2.21.0", "2.21.0", ""),
        (
            *("mxnet", "mxnet==1.9.1", "2.0"),
            "MXNet 2.0; these instructions install 1.9.1",
        ),
    ],
)
def test_a_record_of_another_version_has_a_notice(site_book, tab, pin, ran, notice):
    book = site_book(one=TEXT, tabs=(tab,))
    (book.root / f"environments/{tab}.txt").write_text(f"ipykernel==7.4.0\n{pin}\n")
    record(book, "cpu", "", "", "", tabs=tab, framework_version=ran)
    page = page_of(book)
    assert not page.select(".tab-set")  # of the only framework
    notices = [p.text.strip() for p in page.select(".version-notice")]
    assert notices == ([f"Made with {notice}."] if notice else [])


def test_the_notice_names_the_machine_if_there_are_several(site_book):
    book = site_book(one=TEXT)
    for tab, pin in {"jax": "jax==0.10.2", "pytorch": "torch==2.13.0"}.items():
        (book.root / f"environments/{tab}.txt").write_text(f"{pin}\n")
    record(book, "cpu", "", "cpu\n", "")
    other = {"framework_version": "0.9.1"}
    record(book, "h200", "", "gpu\n", "", tabs="jax", **GPU | other)
    page = page_of(book)
    (notice,) = page.select(".version-notice")
    text = "Made with JAX 0.9.1 on NVIDIA TEST; these instructions install 0.10.2."
    assert notice.text == text
    assert notice.find_parent(class_="record") is not None


# Styles and other formats


def test_rules_hide_the_other_machines_or_all_panels_but_the_first():
    rules = machine_rules(["cpu", "h200"])
    assert rules.endswith(" { display: none; }\n")
    assert (
        'html.js[data-machine="h200"] .tab-set[data-axis="machine"]'
        '[data-choices~="h200"] > .tab-panel:not([data-choices~="h200"])' in rules
    )
    assert (
        'html.js[data-machine="h200"] .tab-set[data-axis="machine"]'
        ':not([data-choices~="h200"]) > .tab-panel ~ .tab-panel' in rules
    )
    assert rules.count('html.js[data-machine="cpu"]') == 2
    assert machine_rules([]) == ""


def test_each_machine_of_the_book_has_its_rules(site_book):
    book = site_book(one=TEXT)
    record(book, "cpu", "", "cpu\n", "")
    record(book, "h200", "", "gpu\n", "", **GPU)
    page_of(book)
    css = (book.root / "_build/html/_static/site.css").read_text("utf-8")
    assert cssmin(machine_rules(["cpu", "h200"])) in css
