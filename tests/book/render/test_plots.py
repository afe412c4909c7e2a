"""Plots of matplotlib in the colors of the book; `plots/draw.py` draws them."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

from book.base.drawing import draw_png
from book.records.images import problem_with_image
from book.render import plots

ROOT = Path(__file__).parents[3]
FILES = sorted((Path(__file__).parent / "plots").glob("*.svg"))
SVG = "{http://www.w3.org/2000/svg}"
STYLED = {"fill", "stroke"}
WITHOUT_MATPLOTLIB = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'

each_plot = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)


def restyled(file: Path) -> Element:
    return ElementTree.fromstring(plots.restyle(file.read_text("utf-8")))


def inline(file: Path, prefix: str = "a-") -> Element:
    """Return a plot as a part of a page."""
    html = plots.inline(plots.restyle(file.read_text("utf-8")), "words", prefix)
    assert html is not None
    return ElementTree.fromstring(html)


def plot(name: str) -> Path:
    return FILES[[file.stem for file in FILES].index(name)]


def colors(root: Element) -> set[str]:
    return {e.attrib[name] for e in root.iter() for name in STYLED if name in e.attrib}


def light_colors() -> set[str]:
    """Return the colors of light pages."""
    css = (ROOT / "static/book.css").read_text("utf-8")
    return {"#ffffff", *re.findall(r"light-dark\((#\w{6}),", css)}


# Plots that stand alone


@each_plot
def test_a_plot_has_the_colors_and_the_size_of_light_pages(file: Path):
    root = restyled(file)
    named = {c for c in colors(root) if c.startswith("#")}
    assert named and named <= light_colors()
    assert not [e for e in root.iter() if "style" in e.attrib]
    assert "<style" not in plots.restyle(file.read_text("utf-8"))
    if file.stem in ("curves", "valley"):
        assert 460 < int(root.attrib["width"]) < 520
    assert draw_png(plots.restyle(file.read_text("utf-8")), file)
    assert not problem_with_image("image/svg+xml", plots.restyle(file.read_text()))


@each_plot
def test_every_reference_in_a_plot_has_its_target(file: Path):
    root = restyled(file)
    names = [e.attrib["id"] for e in root.iter() if "id" in e.attrib]
    text = ElementTree.tostring(root, "unicode")
    references = re.findall(r'(?:href="|url\()#([\w.-]+)', text)
    assert set(references) == set(names) and len(names) == len(set(names))


NUMBER = r"-?(?:\d+\.?\d*|\.\d+)"


def places(path: str) -> set[tuple[int, int]]:
    """The points of a path in tenths, whether its commands are absolute or relative."""
    here, found = (0, 0), set()
    for command, text in re.findall(r"([A-Za-z])([^A-Za-z]*)", path):
        tenths = [round(10 * float(number)) for number in re.findall(NUMBER, text)]
        length = {"l": 2, "q": 4, "c": 6}.get(command.lower(), 2)
        for i in range(0, len(tenths), length):
            x0, y0 = here if command.islower() else (0, 0)
            xs, ys = tenths[i : i + length : 2], tenths[i + 1 : i + length : 2]
            points = [(x + x0, y + y0) for x, y in zip(xs, ys, strict=True)]
            here = points[-1]
            found |= {*points}
    return found


def all_places(root: Element) -> set[tuple[int, int]]:
    """The points of all paths, and of the copies of straight lines."""
    paths = {e.get("id"): places(e.get("d", "")) for e in root.iter(f"{SVG}path")}
    found = set().union(*(places(e.get("d", "")) for e in root.iter(f"{SVG}path")))
    for use in root.iter(f"{SVG}use"):
        line = paths[(use.get("href") or use.attrib[plots.LINK])[1:]]
        if len(line) == 2:
            x, y = (round(10 * float(use.attrib[axis])) for axis in "xy")
            found |= {(x + dx, y + dy) for dx, dy in line}
    return found


@each_plot
def test_points_stay_where_they_are_though_paths_are_shorter(file: Path):
    before, after = (
        all_places(ElementTree.parse(file).getroot()),
        all_places(restyled(file)),
    )
    assert after <= before
    # The corners of two backgrounds, and the lines of two axes before they are copied.
    assert len(before - after) <= 8 + 3
    assert len(plots.restyle(file.read_text("utf-8"))) < 0.7 * file.stat().st_size


def test_a_path_of_points_alone_gets_no_lines():
    path = '<path d="M 1 1 \nM 2 3 \nL 4 4 \nL 5 5" style="stroke: #1a56b0"/>'
    figure = f'<g id="figure_1">{path}</g>'
    svg = f'<svg xmlns="{plots.SVG[1:-1]}" viewBox="0 0 9 9">{figure}</svg>'
    (found,) = ElementTree.fromstring(plots.restyle(svg)).iter(f"{plots.SVG}path")
    assert found.get("d") == "M1 1M2 3l2 1 1 1"


def test_neighbors_of_one_style_become_one_path_unless_one_can_see_through():
    bars = "".join(
        f'<path d="M {x} 0 \nL {x + 1} 0 \nL {x + 1} 9 \nz\n" style="{style}"/>'
        for x, style in enumerate(
            ["fill: #1a56b0"] * 3 + ["fill: #a84a0b; opacity: 0.5"] * 2
        )
    )
    figure = f'<g id="figure_1">{bars}</g>'
    svg = f'<svg xmlns="{plots.SVG[1:-1]}" viewBox="0 0 9 9">{figure}</svg>'
    first, *others = ElementTree.fromstring(plots.restyle(svg)).iter(f"{plots.SVG}path")
    assert first.get("d") == "M0 0l1 0 0 9zM1 0l1 0 0 9zM2 0l1 0 0 9z"
    assert len(others) == 2


def test_the_ticks_of_an_axis_become_one_path():
    style = 'style="stroke: #838c97; stroke-width: 0.6"'
    line = f'<defs><path id="m" d="M 0 0 \nL 0 2.5" {style}/></defs>'
    ticks = [f'<use xlink:href="#m" x="{x}" y="9"/><text>{x}</text>' for x in (1, 4)]
    figure = f'<g id="figure_1">{line}{"".join(ticks)}</g>'
    names = f'xmlns="{plots.SVG[1:-1]}" xmlns:xlink="{plots.LINK[1:-5]}"'
    root = ElementTree.fromstring(
        plots.restyle(f'<svg {names} viewBox="0 0 9 9">{figure}</svg>')
    )
    (path,) = root.iter(f"{plots.SVG}path")
    assert path.attrib == {
        "d": "M1 9l0 2.5M4 9l0 2.5",
        "stroke": "#838c97",
        "stroke-width": "0.6",
    }
    assert [text.text for text in root.iter(f"{plots.SVG}text")] == ["1", "4"]
    # A line that a part of a group refers to stays.
    inner = figure.replace("<use", '<g clip-path="url(#c)"><use').replace(
        "<text", "</g><text"
    )
    kept = plots.restyle(f'<svg {names} viewBox="0 0 9 9">{inner}</svg>')
    assert kept.count("<use") == 2 and 'id="m"' in kept


def test_neighbors_that_others_refer_to_stay_apart():
    paths = [f'<path id="{n}" d="M 0 0" style="fill: #1a56b0"/>' for n in "ab"]
    uses = [f'<use xlink:href="#{n}"/>' for n in "ab"]
    figure = f'<g id="figure_1">{"".join([*paths, *uses])}</g>'
    names = f'xmlns="{plots.SVG[1:-1]}" xmlns:xlink="{plots.LINK[1:-5]}"'
    plot = plots.restyle(f'<svg {names} viewBox="0 0 9 9">{figure}</svg>')
    found = ElementTree.fromstring(plot).iter(f"{plots.SVG}path")
    assert [path.get("id") for path in found] == ["a", "b"]


def test_colors_of_matplotlib_become_colors_of_the_book():
    blue, magenta = "#1f77b4", "#bf00bf"
    assert blue in plot("letters-as-paths").read_text()
    assert magenta in plot("curves").read_text()
    assert "#1a56b0" in colors(restyled(plot("letters-as-paths")))
    assert "#a84a0b" in colors(restyled(plot("curves")))


def test_line_styles_and_hatches_remain():
    for name in ("curves", "timeline"):
        before = re.findall(r"stroke-dasharray: ([^;\"]+)", plot(name).read_text())
        dashes = {e.get("stroke-dasharray") for e in restyled(plot(name)).iter()}
        assert dashes - {None} == set(before)
    assert len(restyled(plot("timeline")).findall(f".//{SVG}pattern")) == 1


def test_texts_remain_and_exponents_are_smaller():
    root = restyled(plot("curves"))
    texts = {"".join(text.itertext()) for text in root.iter(f"{SVG}text")}
    assert {"bytes", "seconds", "A Copy", "measured", "10−5"} <= texts
    sizes = {span.get("font-size") for span in root.iter(f"{SVG}tspan")}
    assert sizes == {None, "0.7em"}
    assert (
        root.attrib["font-size"] == "7" and "sans-serif" in root.attrib["font-family"]
    )


def test_a_plot_wider_than_a_page_has_larger_text():
    root = restyled(plot("bars"))
    assert int(root.attrib["width"]) > 736 and root.attrib["font-size"] == "8"
    assert "wide" in root.attrib["class"]


def test_another_picture_is_unchanged_and_no_part_of_a_page():
    assert plots.restyle(WITHOUT_MATPLOTLIB) == WITHOUT_MATPLOTLIB
    assert plots.inline(WITHOUT_MATPLOTLIB, "words", "a-") is None


# Plots as parts of a page


@each_plot
def test_a_plot_on_a_page_takes_all_colors_from_the_page(file: Path):
    root = inline(file)
    css = (ROOT / "static/book.css").read_text("utf-8")
    names = set(re.findall(r"(--[\w-]+): light-dark", css))
    for color in colors(root) - {"none"}:
        variable = color.removeprefix("var(").removesuffix(")")
        assert variable in names or color.startswith("url(#a-")
    assert "#ffffff" not in colors(root)
    assert (root.attrib["role"], root.attrib["aria-label"]) == ("img", "words")


@each_plot
def test_two_plots_on_a_page_share_no_identifier(file: Path):
    def names(prefix: str) -> set[str]:
        return {e.attrib["id"] for e in inline(file, prefix).iter() if "id" in e.attrib}

    assert not names("a-") & names("b-")
    html = ElementTree.tostring(inline(file), "unicode")
    assert set(re.findall(r'(?:href="|url\()#([\w.-]+)', html)) == names("a-")


def test_the_colors_of_dark_pages_are_visible():
    """Curves contrast with the background by 3:1 in light and dark pages."""
    css = (ROOT / "static/book.css").read_text("utf-8")
    for scheme, page in ((0, "#ffffff"), (1, "#14161a")):
        pairs = re.findall(r"--series-\d: light-dark\((#\w+), (#\w+)\)", css)
        assert len(pairs) == 5
        for pair in pairs:
            assert contrast(pair[scheme], page) > 4.5


def contrast(one: str, other: str) -> float:
    """Return the ratio of the luminances of two colors."""
    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def luminance(color: str) -> float:
    parts = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = (
        p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts
    )
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


# Records


def test_the_plots_of_all_records_are_parts_of_their_pages():
    found = 0
    for file in sorted(ROOT.glob("outputs/*/*/chapter_gpus/*.ipynb")):
        for cell in json.loads(file.read_text("utf-8"))["cells"]:
            for output in cell.get("outputs", []):
                svg = "".join(output.get("data", {}).get("image/svg+xml", []))
                if not svg:
                    continue
                found += 1
                html = plots.inline(plots.restyle(svg), "words", "a-")
                assert html is not None and len(html) < 60_000, file
                assert not re.search(r'(?:fill|stroke)="#', html), file
    assert found > 50


def test_series_differ_in_gray_on_paper() -> None:
    def gray(color: str) -> float:
        red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
        return 0.299 * red + 0.587 * green + 0.114 * blue

    screen = "".join(plots.COLORS[f"series-{n}"][0] for n in range(1, 5))
    printed = re.findall("#[0-9a-f]{6}", plots.printed(screen))
    grays = sorted(map(gray, printed))
    assert len(grays) == 4 and "#1a56b0" not in printed
    assert min(b - a for a, b in zip(grays, grays[1:], strict=False)) > 30
