"""An image in a record is a picture, or it is refused."""

import base64
import json
import time
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from book.records import images, validation
from book.records.cleaning import SVG, clean_outputs
from book.records.images import problem_with_image

ROOT = Path(__file__).resolve().parents[3]
START = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
HTML = "http://www.w3.org/1999/xhtml"


def problem(content: str) -> str:
    return problem_with_image(SVG, f"{START}{content}</svg>")


def recorded_figures() -> list[str]:
    """The SVGs in the book's records, which matplotlib drew."""
    outputs = [
        output
        for file in sorted((ROOT / "outputs").rglob("*.ipynb"))
        for cell in json.loads(file.read_text("utf-8"))["cells"]
        for output in cell["outputs"]
    ]
    figures = [output.get("data", {}).get(SVG, []) for output in outputs]
    return ["".join(figure) for figure in figures if figure]


def test_the_books_own_figures_pass_unchanged():
    figures = recorded_figures()
    assert len(figures) > 20
    for figure in figures:
        assert problem_with_image(SVG, figure) == ""
        (cleaned,) = clean_outputs([new_output("display_data", {SVG: figure})])
        assert cleaned.data[SVG] == figure


@pytest.mark.parametrize(
    "content",
    [
        "",
        '<g id="f(x)" class="a"><use href="#a"/><use xlink:href="#a" x="1"/></g>',
        '<path d="M 0 0" style="fill: url(#a); stroke: rgb(1, 2, 3)"/>',
        '<g clip-path="url(#p)" transform="translate(1 2) rotate(3)"/>',
        '<style type="text/css">*{stroke-linejoin: round}</style>',
        '<image xlink:href="data:image/png;base64,AAAA\nAA=="/>',
        '<text style="font: 10px \'DejaVu Sans\'" xml:space="preserve">a &lt; b</text>',
        '<image href="data:image/jpeg;base64,AAAA"/>',
        '<linearGradient><stop offset="1"/></linearGradient>',
        "<symbol/><title/><desc/><rect/><circle/><ellipse/><line/><polyline/>",
        "<polygon/><text><tspan/></text><clipPath/><mask/><pattern/><marker/>",
        '<defs><radialGradient id="\\(" class="\\("/></defs>',
        '<g transform="matrix(1) skewX(1) skewY(1) scale(1) scaleX(1) scaleY(1)"/>',
        '<g style="transform: translateX(calc(1px)) translateY(1px)"/>',
        '<g style="fill: rgba(1); stroke: hsl(1); color: hsla(1)"/>',
    ],
)
def test_what_draws_passes(content: str):
    assert problem(content) == ""


@pytest.mark.parametrize(
    "content, reason",
    [
        ("<script>a()</script>", "holds <script>"),
        (f'<script xmlns="{HTML}">a()</script>', "holds <script>"),
        ('<g onload="a()"/>', "holds onload='a()'"),
        ('<g ONLOAD="a"/>', "holds ONLOAD='a'"),
        ('<a href="javascript:a()"/>', "holds <a>"),
        ('<use href="javascript:a()"/>', "holds href='javascript:a()'"),
        ('<use href=" #a"/>', "holds href='#a'"),
        ('<use href="other.svg#a"/>', "holds href='other.svg#a'"),
        ('<use href="data:image/svg+xml,x#a"/>', "holds href="),
        ('<image href="https://a.example/b.png"/>', "holds href="),
        ('<image xlink:href="//a.example/b.png"/>', "holds href="),
        ('<image href="../secret.png"/>', "holds href="),
        ('<image href="data:image/svg+xml;base64,AAAA"/>', "holds href="),
        ('<g href="data:image/png;base64,AAAA"/>', "holds href="),
        ('<g xml:base="https://a.example/"/>', "holds base="),
        ('<path fill="url(https://a.example#a)"/>', "holds fill="),
        ('<path style="fill: url(//a.example)"/>', "holds style="),
        ("<path style=\"fill: URL('a.svg')\"/>", "holds style="),
        ('<path style="fill: u\\72l(a.svg)"/>', "holds style="),
        ("<path style=\"mask: image-set('a.svg' 1x)\"/>", "holds style="),
        ('<path style="width: expression(a())"/>', "holds style="),
        ('<path style="fill: url(#a"/>', "holds style="),
        ("<style>@import 'a.css';</style>", "has a style sheet"),
        ("<style>@font-face{src: url(a.ttf)}</style>", "has a style sheet"),
        ("<style>* { fill: url(a.svg) }</style>", "has a style sheet"),
        ("<style>* { fill: ur<g/>l(a.svg) }</style>", "has a style sheet"),
        (f'<foreignObject><p xmlns="{HTML}"/></foreignObject>', "holds <foreignOb"),
        (f'<iframe xmlns="{HTML}" src="a"/>', "holds <iframe>"),
        ('<animate attributeName="href" to="javascript:a()"/>', "holds <animate>"),
        ('<set attributeName="onload" to="a()"/>', "holds <set>"),
        ('<filter><feImage href="a.png"/></filter>', "holds <filter>"),
        ("<metadata/>", "holds <metadata>"),
        ('<?xml-stylesheet href="a.css"?>', "holds a declaration"),
        ("<!-- a comment -->", "holds a declaration"),
        ("<![CDATA[<script>]]>", "holds a declaration"),
        ("<g>", "is broken"),
        ("&a;", "is broken"),
        ("\ud800", "is broken"),
        ("\x00", "is broken"),
    ],
)
def test_what_runs_or_refers_to_something_outside_is_refused(content: str, reason: str):
    found = problem(content)
    assert found.startswith(reason)
    assert "\n" not in found and len(found) < 120


@pytest.mark.parametrize(
    "svg, reason",
    [
        ("", "is broken"),
        ("text", "is broken"),
        ("<svg/>", "is not an SVG"),
        (f'<html xmlns="{HTML}"/>', "is not an SVG"),
        ('<!DOCTYPE svg [<!ENTITY a "b">]>' + START + "&a;</svg>", "holds a declar"),
        ('<?xml version="1.0" encoding="UTF-16"?>' + START + "</svg>", "holds a decl"),
        (["<svg/>"], "is not a text"),
        (None, "is not a text"),
    ],
)
def test_what_is_no_svg_is_refused(svg: object, reason: str):
    assert problem_with_image(SVG, svg).startswith(reason)


@pytest.mark.timing
@pytest.mark.parametrize(
    "content",
    [
        "<g>" * 140_000 + "</g>" * 140_000,
        '<path style="' + "rgb(" * 200_000 + '"/>',
        '<path style="' + "url(" * 200_000 + '"/>',
        "<style>" + "(" * 500_000 + "</style>",
        "<style>" + "a:b;" * 200_000 + "</style>",
        "<style>" + "/*" * 400_000 + "</style>",
        "<g/>" * 200_000,
        "<g " + " ".join(f'a{n}=""' for n in range(80_000)) + "/>",
    ],
    ids=["deep", "calls", "addresses", "blocks", "rules", "comments", "wide", "marks"],
)
def test_a_megabyte_is_checked_quickly(content: str):
    start = time.monotonic()
    problem(content)
    assert time.monotonic() - start < 60


PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAA"
    "AABJRU5ErkJggg=="
)
JPEG = base64.b64encode(
    bytes.fromhex("ffd8ffe000104a46494600010100000100010000ffc0000b080001000101011100")
).decode()


@pytest.mark.parametrize(
    "kind, data, passes",
    [
        ("image/png", PNG, True),
        ("image/png", PNG[:20] + "\n" + PNG[20:], True),
        ("image/jpeg", JPEG, True),
        ("image/jpeg", PNG, False),
        ("image/png", JPEG, False),
        ("image/png", PNG[:20], False),
        ("image/png", "", False),
        ("image/png", "no base64!", False),
        ("image/png", base64.b64encode(b"<script>a()</script>").decode(), False),
        ("image/gif", base64.b64encode(b"GIF89a" + bytes(99)).decode(), False),
    ],
)
def test_pixels_are_of_the_kind_that_they_claim(kind: str, data: str, passes: bool):
    assert problem_with_image(kind, data) == ("" if passes else "is broken")


TOO_LARGE = "has a side of more than 5,000 pixels; draw it smaller"
NAMESPACE = 'xmlns="http://www.w3.org/2000/svg"'


@pytest.mark.timing
def test_a_long_size_is_checked_quickly():
    start = time.monotonic()
    problem_with_image(SVG, f"<svg {NAMESPACE} width='{'1' * 10**6}!'/>")
    assert time.monotonic() - start < 60


@pytest.mark.parametrize(
    "size, passes",
    [
        ("", True),
        ('width="252pt" height="180.5" viewBox="0 0 252 180.5"', True),
        ('width="100%" height="25.4mm"', True),
        ('viewBox="0,0 4e3,5000"', True),
        ('width="1000000000" height="1000000000"', False),
        ('width="1e9px" height="1"', False),
        ('height="1E9"', False),
        ('width="5000px"', True),
        ('width="5000.1"', False),
        ('width="5001%"', False),
        ('width="3750pt"', True),
        ('width="3751pt"', False),
        ('width="312PC"', True),
        ('width="313pc"', False),
        ('width="52in"', True),
        ('width="53in"', False),
        ('width="132cm"', True),
        ('width="133cm"', False),
        ('width="1322mm"', True),
        ('width="1323mm"', False),
        ('width="5e+3" height="5e-3"', True),
        ('width="1..2"', False),
        ('width="1e9999"', False),
        ('width="nan"', False),
        ('width="calc(1px)"', False),
        ('width="9em"', False),
        ('viewBox="0 0 1000000000 1000000000"', False),
        ('width="9" height="9" viewBox="0 0 9 1e5"', False),
    ],
)
def test_an_svg_that_nobody_has_the_memory_to_draw_is_refused(size: str, passes: bool):
    expected = "" if passes else TOO_LARGE
    assert problem_with_image(SVG, f"<svg {NAMESPACE} {size}/>") == expected


@pytest.mark.parametrize(
    "content",
    [
        '<g style="width: 1e9px"/>',
        "<style>svg { height: 1000000000px }</style>",
        "<style>svg { MIN-width: 1000000000px }</style>",
        "<style>svg { inline-size: 1000000000px }</style>",
        "<style>svg { block-size: 1000000000px }</style>",
        "<style>svg { wid<g/>th: 1000000000px }</style>",
        "<style>svg { min-height: 1000000000px }</style>",
        "<style>svg { min-block-size: 1000000000px }</style>",
        "<style>svg [ ( min-inline-size: 1000000000px ) ]</style>",
    ],
)
def test_styles_set_no_sizes(content: str):
    assert problem(content) in (
        "holds style='width: 1e9px'",
        "has a style sheet that sets sizes or refers to something outside",
    )
    assert problem('<path style="stroke-width: 2; line-height: 1"/>') == ""


def pixels(width: int, height: int) -> str:
    """A PNG that says that it has this size."""
    png = base64.b64decode(PNG)
    sides = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    return base64.b64encode(png[:16] + sides + png[24:]).decode()


def test_a_png_of_few_bytes_and_many_pixels_is_refused():
    assert problem_with_image("image/png", pixels(5_000, 1)) == ""
    for size in ((5_001, 1), (10**9, 10**9)):
        found = problem_with_image("image/png", pixels(*size))
        assert found == TOO_LARGE


# In a notebook


def problems(**output: object) -> list[tuple[int, str]]:
    shown = new_output("display_data", output)
    cells = [new_code_cell("1"), new_code_cell("2", outputs=[shown])]
    return list(validation.output_problems(new_notebook(cells=cells)))


def test_the_cell_and_the_kind_of_an_output_are_named():
    svg = f"{START}<script/></svg>"
    assert problems(**{SVG: svg}) == [(2, f"an image ({SVG}) holds <script>")]
    assert problems(**{"application/javascript": "a()"}) == [
        (2, "it shows application/javascript, which no page does")
    ]
    assert problems(**{"text/plain": "a\x00"}) == [(2, "it prints what is not text")]
    assert problems(**{"text/plain": "a", "image/png": PNG}) == []


def test_a_run_keeps_only_what_pages_and_notebooks_show():
    data = {"text/plain": "a", "application/javascript": "a()", "text/html": "<b>"}
    output = new_output("display_data", data)
    (cleaned,) = clean_outputs([output])
    assert cleaned.data == {"text/plain": "a"} and output.data == data


def test_lines_have_a_limit():
    line = "a" * validation.LONGEST_LINE
    assert problems(**{"text/plain": f"{line}\n{line}"}) == []
    assert problems(**{"text/plain": f"b\n{line}a"}) == [
        (2, "it prints a line of 2,001 characters; break it into shorter ones")
    ]


def test_outputs_have_a_limit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(images, "ElementTree", None)  # which nothing that large meets
    large = "a" * validation.MOST_CHARACTERS
    for data in ({"text/plain": large}, {SVG: large}, {"image/png": large}):
        assert problems(**data) == [(2, validation.TOO_LARGE)]
