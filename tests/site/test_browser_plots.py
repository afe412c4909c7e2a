"""Plots as parts of a page, in a browser with the book's stylesheet and policy."""

import shutil
from contextlib import closing
from functools import partial
from html import escape
from pathlib import Path

import pytest
from browsing import Visitor, choose
from figures import POLICY
from playwright.sync_api import Browser, Page, expect

from book.render import plots

ROOT = Path(__file__).parents[2]
FILES = ROOT / "tests/book/render/plots"
CURVES = "a 'copy' <1>: from \"10\" & more"
PAGE = """<!DOCTYPE html>
<html lang="en" data-theme="auto"><head><meta charset="utf-8"><title>Plots</title>
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="book.css"></head>
<body><div class="columns"><main class="text"><article><h1>Plots</h1>{plots}
</article></main></div></body></html>
"""
SCHEMES = {"light": "rgb(26, 86, 176)", "dark": "rgb(138, 180, 248)"}
CURVE = ".plot path[fill='none'][stroke*='series-1']"
# The smallest text of each plot in pixels, without exponents.
TEXT_SIZES = """() => [...document.querySelectorAll(".plot")].map((plot) => {
  const zoom = plot.getScreenCTM().a;
  const texts = [...plot.querySelectorAll("text")];
  return zoom * Math.min(...texts.map((t) => parseFloat(getComputedStyle(t).fontSize)));
})"""


@pytest.fixture(scope="module")
def plots_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a page with plots; the text of the first needs escapes."""
    folder = tmp_path_factory.mktemp("plots")
    shutil.copy(ROOT / "static/book.css", folder)
    shutil.copytree(ROOT / "static/fonts", folder / "fonts")
    shown = "".join(part(name) for name in ("curves", "bars", "timeline", "valley"))
    page = PAGE.format(policy=escape(POLICY), plots=shown)
    (folder / "page.html").write_text(page, "utf-8")
    return f"{folder.as_uri()}/"


def part(name: str) -> str:
    svg = (FILES / f"{name}.svg").read_text("utf-8")
    alt = CURVES if name == "curves" else f"A plot: {name}"
    html = plots.inline(plots.restyle(svg), alt, f"{name}-")
    return f'<div class="output plotted">{html}</div>'


@pytest.fixture
def open_plots(browser: Browser, plots_url: str):
    with closing(Visitor(browser, plots_url)) as visitor:
        yield partial(visitor, "page.html")


def color(page: Page, selector: str, name: str) -> str:
    return str(
        page.locator(selector).first.evaluate(
            "(element, name) => getComputedStyle(element)[name]", name
        )
    )


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_curve_has_the_color_of_the_page(open_plots, scheme: str):
    page = open_plots(color_scheme=scheme)
    assert color(page, CURVE, "stroke") == SCHEMES[scheme]
    # The reader's choice counts for more than the system's. Paper is always light.
    other = "dark" if scheme == "light" else "light"
    page.evaluate(f"document.documentElement.dataset.theme = '{other}'")
    assert color(page, CURVE, "stroke") == SCHEMES[other]
    page.emulate_media(media="print")
    assert color(page, CURVE, "stroke") == SCHEMES["light"]


def test_text_and_background_are_those_of_the_page(open_plots):
    page = open_plots(color_scheme="dark")
    assert color(page, ".plot text", "fontFamily").startswith("-apple-system")
    assert color(page, ".plot text:text-is('bytes')", "fill") == color(
        page, "body", "color"
    )
    assert page.locator(".plot rect[width='100%']").count() == 0


def test_plots_are_visible_in_forced_colors(open_plots):
    page = open_plots(forced_colors="active", color_scheme="dark")
    canvas = color(page, "body", "backgroundColor")
    for element in page.locator(".plot :is(path, use)[stroke^='var']").all():
        stroke = element.get_attribute("stroke")
        seen = element.evaluate("e => getComputedStyle(e).stroke")
        assert (seen == canvas) == (stroke == "var(--page)"), stroke


def test_a_plot_is_one_picture_with_a_name(open_plots):
    page = open_plots()
    expect(page.get_by_role("img", name=CURVES, exact=True)).to_have_count(1)
    assert page.get_by_role("img").count() == 4
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")
    shown = [node for node in tree["nodes"] if not node["ignored"]]
    names = [node["name"]["value"] for node in shown if "name" in node]
    assert CURVES in names and "measured" not in names


def test_plots_are_480_pixels_wide_and_readable(open_plots):
    page = open_plots()
    curves, bars, timeline, valley = (
        plot.bounding_box()["width"] for plot in page.locator(".plot").all()
    )
    assert 460 < curves < 520 and 460 < valley < 520
    assert 640 < timeline <= 736 and bars == 760
    assert min(page.evaluate(TEXT_SIZES)) > 11.5


def test_plots_are_readable_on_a_phone(open_plots):
    page = open_plots(viewport={"width": 375, "height": 812})
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    widths = [plot.bounding_box()["width"] for plot in page.locator(".plot").all()]
    assert widths[0] == widths[3] == 343  # the others scroll
    sizes = page.evaluate(TEXT_SIZES)
    assert min(sizes) > 10.5


def test_plots_of_the_book_have_their_place(open_http_page: Visitor):
    """No plot of a section is a file, or scrolls on a wide screen."""
    page = open_http_page("chapter_gpus/faster-training.html?predict=off")
    assert page.locator(".plotted > .plot").count() >= 12
    assert page.locator("img.output[src$='.svg']").count() == 0
    scrolls = "all => all.filter((e) => e.scrollWidth > e.clientWidth).length"
    for tab in ("pytorch", "jax"):
        choose(page, tab)
        assert page.locator(".plotted:visible").count() >= 3
        assert page.locator(".plotted:visible").evaluate_all(scrolls) == 0
