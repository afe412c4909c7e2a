"""Checks that the images in outputs are pictures and nothing more.

Records come from other machines and from pull requests, and a browser that opens an SVG
by itself runs its scripts on the site's origin. So an SVG may hold only what draws, and
refer only to its own parts. Sanitizers write an SVG anew and would change each one that
matplotlib draws; here an image passes as it is or is refused.
"""

import base64
import functools
import io
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


def problem_with_image(kind: str, data: object) -> str:
    """Return why an image of the MIME type `kind` is refused; empty if it is not."""
    if not isinstance(data, str):
        return "is not a text"
    if kind == SVG:
        return _problem_with_svg(data)
    try:
        content = base64.b64decode("".join(data.split()), validate=True)
        is_of_kind = content.startswith(FIRST_BYTES[kind])
        is_good = is_of_kind and min(imagesize.get(io.BytesIO(content))) > 0
    except (KeyError, ValueError):
        is_good = False
    return "" if is_good else "is broken"


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
    return next(_problems(root), "")


def _problems(root: ElementTree.Element) -> Iterator[str]:
    for element in root.iter():
        name = element.tag.removeprefix(NAMESPACE)
        if name not in ELEMENTS:
            yield f"holds <{_short(name)}>"
        if name == "style" and not _is_safe_css("".join(element.itertext())):
            yield "has a style sheet that refers to something outside"
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
    """Return whether a style has only known functions and local addresses."""
    waiting = tinycss2.parse_component_value_list(css, skip_comments=True)
    while waiting:
        token = waiting.pop()
        if token.type in ("at-keyword", "error"):
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
