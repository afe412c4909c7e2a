"""The interactive figures of the book in notebooks, with the reader's own numbers.

`figures.json`, which `make lib` writes, holds the scripts and the pictures of the
figures on the book's pages.
"""

import base64
import html
import json
from collections.abc import Iterable
from importlib import resources
from typing import Any
from urllib.parse import urlencode

# A page of the book reads this type and shows its own figure.
PAGE = "text/vnd.d2l.figure"
SHOWN = 80  # characters of a setting in the text
MOST = 150  # numbers of a setting
DOCUMENT = """\
<!DOCTYPE html><html lang="en"><meta charset="utf-8"><style>{style}
body {{ margin: 4px; background: var(--page); }} figure {{ margin: 0; }}</style>
<figure data-explorable="{name}" data-settings="{settings}"><figcaption></figcaption>
</figure><script>{scripts}</script><script>
const frame = window.frameElement, root = document.documentElement;
const light = parent.document?.body?.dataset.jpThemeLight;
if (light) root.dataset.theme = light === "true" ? "light" : "dark";
try {{ bookExplorables["{name}"](document.querySelector("figure")); }}
catch (error) {{ document.body.textContent = error.message; }}
if (frame) {{
  frame.previousElementSibling.hidden = true;
  new ResizeObserver(() => {{ frame.style.height = `${{root.offsetHeight + 8}}px`; }})
    .observe(root);
}}</script></html>"""
STILL = """\
<div><img src="data:image/svg+xml;base64,{picture}" alt="The figure {name} of the book">
<p>This picture has the numbers of the book. In a notebook that you trust (<i>File &gt;
Trust Notebook</i>), the figure is interactive and has these: {text}.</p></div>"""


class Figure:
    """An interactive figure of the book; Jupyter shows it, without a kernel later.

    The settings are those in the address of the page on which a reader has changed the
    figure, without its name.
    """

    def __init__(self, name: str, **settings: Any):
        """Raise ValueError if the book has no figure called `name`."""
        text = resources.files("d2l").joinpath("figures.json").read_text("utf-8")
        figures = json.loads(text)
        if name not in figures["pictures"]:
            known = ", ".join(sorted(figures["pictures"]))
            raise ValueError(f"no figure is called {name!r}; the figures are {known}")
        self.name, self.figures = name, figures
        self.settings = {key: as_text(value) for key, value in settings.items()}

    def __repr__(self) -> str:
        pairs = [f"{key} = {value}" for key, value in self.settings.items()]
        shown = [p if len(p) < SHOWN else f"{p[:SHOWN]}…" for p in pairs]
        numbers = "; ".join(shown) or "its own numbers"
        return f"Interactive figure {self.name}: {numbers}"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Return the figure as HTML, as text, and for a page of the book."""
        settings = urlencode(self.settings, safe=",")
        document = DOCUMENT.format(
            name=self.name,
            settings=html.escape(settings),
            style=self.figures["style"],
            scripts="".join(
                self.figures["scripts"][script]
                for script in self.figures["needs"][self.name]
            ),
        )
        still = STILL.format(
            name=self.name,
            picture=base64.b64encode(
                self.figures["pictures"][self.name].encode()
            ).decode(),
            text=html.escape(repr(self)),
        )
        frame = (
            f'<iframe srcdoc="{html.escape(document)}" title="{self.name}"'
            ' style="width: 100%; height: 640px; border: 0"></iframe>'
        )
        return {
            "text/html": still + frame,
            "text/plain": repr(self),
            PAGE: f"{self.name}?{settings}",
        }


def as_text(value: Any) -> str:
    """Return a setting as it stands in an address.

    Numbers with a fraction have four digits. A long list becomes the largest number of
    each of at most `MOST` equal parts.
    """
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, str) or not isinstance(value, Iterable):
        return str(value)
    numbers = list(value)
    size = -(-len(numbers) // MOST)  # rounded up
    parts = [numbers[i : i + size] for i in range(0, len(numbers), size or 1)]
    return ",".join(f"{max(part):.4g}" for part in parts)
