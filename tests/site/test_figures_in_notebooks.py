"""The interactive figures as outputs of cells: in notebooks, and on pages."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from figures import NAMES
from playwright.sync_api import Browser, FrameLocator, Page, expect

from d2l.figures import Figure

NOTEBOOK = '<!DOCTYPE html><meta charset="utf-8"><title>n</title><body{}>{}{}</body>'
LINE = (
    "cpu: products in GFLOP/s: float32 98.9; memory 34 GB/s; 5.1 µs per operation; "
    "spread 3 percent"
)


@pytest.fixture
def reader(browser: Browser) -> Iterator[Page]:
    """A page without a network."""
    context = browser.new_context(viewport={"width": 900, "height": 900})
    page = context.new_page()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    yield page
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    context.close()


def show(page: Page, folder: Path, *figures: Figure, body: str = "") -> FrameLocator:
    """Show outputs as a notebook does that has no kernel; return the first frame."""
    shown = "".join(each._repr_mimebundle_()["text/html"] for each in figures)
    (folder / "notebook.html").write_text(NOTEBOOK.format(body, shown, ""), "utf-8")
    page.goto((folder / "notebook.html").as_uri())
    return page.frame_locator("iframe").first


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_works_in_a_notebook(reader: Page, tmp_path: Path, name: str):
    frame = show(reader, tmp_path, Figure(name))
    expect(frame.locator(".explorable .drawing svg")).to_be_visible()
    expect(reader.locator("img")).to_be_hidden()
    assert reader.evaluate(
        """() => { const { contentDocument: d, clientHeight: h } =
          document.querySelector("iframe");
          return d.documentElement.scrollHeight <= h; }"""
    )


@pytest.mark.parametrize(
    ("figure", "result"),
    [
        (Figure("queue", host=30, device=20, fetch=10, every=1), "take 720"),
        (Figure("roofline", machine="own", type="float32", line=LINE), "2.71"),
        (Figure("memory-timeline", model="deep", tape=[4, 20, 5]), "reaches 21"),
        (Figure("two-devices", framework="jax"), "With JAX"),
    ],
    ids=lambda value: value.name if isinstance(value, Figure) else "",
)
def test_a_figure_begins_with_what_it_is_given(
    reader: Page, tmp_path: Path, figure: Figure, result: str
):
    frame = show(reader, tmp_path, figure)
    expect(frame.locator(".result")).to_contain_text(result)
    shown = frame.locator(".result").inner_text()
    slider = frame.locator("input[type=range]:visible").first
    if slider.count():
        before = slider.input_value()
        for end in ("End", "Home"):
            if slider.input_value() == before:
                slider.press(end)
    else:
        frame.get_by_role("button", name="Copy X").click()
    frame.get_by_role("button", name="Reset").click()
    expect(frame.locator(".result")).to_have_text(shown)


def test_a_wrong_setting_is_named(reader: Page, tmp_path: Path):
    frame = show(reader, tmp_path, Figure("queue", host="fast"))
    expect(frame.locator("body")).to_contain_text("queue has no setting host=fast")


def test_a_notebook_may_show_a_figure_twice(reader: Page, tmp_path: Path):
    figures = [Figure("queue", every=1), Figure("queue", every=12)]
    show(reader, tmp_path, *figures)
    results = [f.locator(".result").inner_text() for f in frames(reader)]
    assert len({*results}) == 2


def frames(page: Page) -> list[FrameLocator]:
    return [page.frame_locator("iframe").nth(i) for i in range(2)]


def test_without_scripts_there_is_a_picture(browser: Browser, tmp_path: Path):
    """Jupyter takes frames out of notebooks that the reader does not trust."""
    html = Figure("queue", host=44)._repr_mimebundle_()["text/html"]
    still = html.partition("<iframe")[0]
    (tmp_path / "n.html").write_text(NOTEBOOK.format("", still, ""), "utf-8")
    page = browser.new_page(java_script_enabled=False)
    page.goto((tmp_path / "n.html").as_uri())
    expect(page.locator("img")).to_be_visible()
    assert page.locator("img").evaluate("i => i.naturalWidth") > 0
    expect(page.locator("p")).to_contain_text("numbers of the book")
    expect(page.locator("p")).to_contain_text("host = 44")
    page.close()


def test_a_figure_has_the_colors_of_the_notebook(reader: Page, tmp_path: Path):
    light = ' data-jp-theme-light="{}"'
    colors = []
    for theme in ("true", "false"):
        frame = show(reader, tmp_path, Figure("queue"), body=light.format(theme))
        body = frame.locator("body")
        expect(frame.locator(".drawing svg")).to_be_visible()
        colors.append(body.evaluate("e => getComputedStyle(e).backgroundColor"))
    assert colors[0] == "rgb(255, 255, 255)" and colors[1] != colors[0]


def test_a_page_shows_the_recorded_numbers(site: Path, reader: Page):
    page = site / "chapter_gpus" / "performance.html"
    reader.goto(f"{page.as_uri()}?tab=pytorch&predict=off")
    figure = reader.locator("figure[data-settings]").first
    figure.evaluate("figure => figure.scrollIntoView()")  # it has no height before
    expect(figure.locator(".drawing svg")).to_be_visible()
    settings = parse_qs(figure.get_attribute("data-settings") or "")
    bandwidth = re.search(r"memory ([\d.]+) GB/s", settings["line"][0])
    assert bandwidth
    expect(figure.locator(".drawing")).to_contain_text(
        re.compile(rf"{re.escape(bandwidth[1])}\s*GB/s")
    )
    button = figure.get_by_role("button", name="Measure my GPU")
    expect(button).to_have_count(0)
    other = reader.locator("figure[data-explorable=roofline]").first
    other.scroll_into_view_if_needed()
    ids = reader.evaluate("[...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len({*ids})
