"""Checks that the images in outputs are pictures and nothing more.

Records come from other machines and from pull requests, and a browser that opens an SVG
by itself runs its scripts on the site's origin. So an SVG may hold only what draws, and
refer only to its own parts. Sanitizers write an SVG anew and would change each one that
matplotlib draws; here an image passes as it is or is refused.
"""

import base64
import functools
import io
import math
import re
from collections.abc import Iterator
from xml.etree import ElementTree

import imagesize
import tinycss2

from book.records.cleaning import SVG

FIRST_BYTES = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff"}

ELEMENTS = {
    *("svg", "g", "defs", "symbol", "use", "title", "desc", "style"),
    *("path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "image"),
    *("text", "tspan", "clipPath", "mask", "pattern", "marker"),
    *("linearGradient", "radialGradient", "stop"),
}
NAMESPACE = "{http://www.w3.org/2000/svg}"
LINKS = ("href", "{http://www.w3.org/1999/xlink}href")
OTHER_NAMESPACES = ("{http://www.w3.org/XML/1998/namespace}space",)
EMBEDDED = re.compile(r"data:image/(?:png|jpeg);base64,[A-Za-z0-9+/=\s]*")
# Values that CSS does not read, whatever characters they hold.
NAMES = ("id", "class")
FUNCTIONS = {
    *("rgb", "rgba", "hsl", "hsla", "calc", "matrix", "rotate", "skewx", "skewy"),
    *("translate", "translatex", "translatey", "scale", "scalex", "scaley"),
}
BLOCKS = ("{} block", "[] block", "() block")
# In pixels. Programs that draw a picture need memory for each of its pixels.
LONGEST_SIDE = 5_000
INCH = 96
PIXELS = {
    **{"": 1, "px": 1, "%": 1, "pt": INCH / 72, "pc": INCH / 6},
    **{"in": INCH, "cm": INCH / 2.54, "mm": INCH / 25.4},
}
LENGTH = re.compile(r"\s*([0-9.]+(?:e[-+]?[0-9]+)?)([a-z%]*)\s*", re.IGNORECASE)
CSS_SIZES = {
    f"{limit}{side}"
    for limit in ("", "min-")
    for side in ("width", "height", "inline-size", "block-size")
}


def problem_with_image(kind: str, data: object) -> str:
    """Return why an image of the MIME type `kind` is refused; empty if it is not."""
    if not isinstance(data, str):
        return "is not a text"
    if kind == SVG:
        return _problem_with_svg(data)
    try:
        content = base64.b64decode("".join(data.split()), validate=True)
        is_of_kind = content.startswith(FIRST_BYTES[kind])
        sides = imagesize.get(io.BytesIO(content)) if is_of_kind else (0, 0)
    except (KeyError, ValueError):
        sides = 0, 0
    if min(sides) <= 0:
        return "is broken"
    return _problem_with_size(max(sides))


def _problem_with_svg(svg: str) -> str:
    # Without these there are no entities that grow, and no style sheets from elsewhere.
    if "<!" in svg or "<?" in svg:
        return "holds a declaration, a comment or an instruction"
    try:
        root = ElementTree.fromstring(svg)
    except (ElementTree.ParseError, ValueError):
        return "is broken"
    if root.tag != f"{NAMESPACE}svg":
        return "is not an SVG"
    return next(_problems(root), "") or _problem_with_size(_longest_side(root))


def _problem_with_size(longest_side: float) -> str:
    if longest_side <= LONGEST_SIDE:
        return ""
    return f"has a side of more than {LONGEST_SIDE:,} pixels; draw it smaller"


def _longest_side(root: ElementTree.Element) -> float:
    """Return the longest side of an SVG in pixels, infinity if it is in no known unit.

    The box of what it draws counts as well: it is the size if no other is given.
    """
    box = re.split(r"[\s,]+", root.get("viewBox", "").strip())[2:]
    sizes = [root.get("width", "0"), root.get("height", "0"), *box]
    return max(_pixels(size) for size in sizes)


def _pixels(length: str) -> float:
    """Return a length such as `100pt` in pixels, or infinity if it is not valid."""
    found = LENGTH.fullmatch(length)
    try:
        return float(found[1]) * PIXELS[found[2].lower()] if found else math.inf
    except (KeyError, ValueError):
        return math.inf


def _problems(root: ElementTree.Element) -> Iterator[str]:
    for element in root.iter():
        name = element.tag.removeprefix(NAMESPACE)
        if name not in ELEMENTS:
            yield f"holds <{_short(name)}>"
        if name == "style" and not _is_safe_css("".join(element.itertext())):
            yield "has a style sheet that sets sizes or refers to something outside"
        for attribute, value in element.items():
            if not _is_safe(name, attribute, value):
                yield f"holds {_short(attribute)}='{_short(value)}'"


def _short(text: str) -> str:
    """Return a name without its namespace, or a value, short enough for a message."""
    local = re.sub(r"^\{[^}]*\}", "", text)
    return " ".join(local[:40].split())


def _is_safe(element: str, attribute: str, value: str) -> bool:
    """Return whether an attribute neither runs code nor refers to another file."""
    if attribute in LINKS:
        embeds = element == "image" and EMBEDDED.fullmatch(value) is not None
        return value.startswith("#") or embeds
    if attribute.startswith("{"):
        return attribute in OTHER_NAMESPACES
    if attribute.lower().startswith("on"):
        return False
    may_refer = attribute == "style" or "(" in value or "\\" in value
    return attribute in NAMES or not may_refer or _is_safe_css(value)


@functools.cache  # plots repeat a few styles thousands of times
def _is_safe_css(css: str) -> bool:
    """Return whether a style has only known functions, local addresses and no sizes.

    A size would replace those in the attributes of the SVG.
    """
    waiting = tinycss2.parse_component_value_list(css, skip_comments=True)
    while waiting:
        token = waiting.pop()
        if token.type in ("at-keyword", "error"):
            return False
        if token.type == "ident" and token.lower_value in CSS_SIZES:
            return False
        if token.type == "url" and not token.value.startswith("#"):
            return False
        if token.type == "function":
            if token.lower_name not in FUNCTIONS:
                return False
            waiting += token.arguments
        elif token.type in BLOCKS:
            waiting += token.content
    return True
