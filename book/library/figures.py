"""Writes the interactive figures of the pages into one file of the library.

`d2l/figures.py` shows them in notebooks.
"""

import functools
import itertools
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rcssmin import cssmin

from book.base.paths import STATIC

FILE = "figures.json"
INTERACTIVE = "figure({\n"  # in the script of a figure with settings
# Every figure needs these, which are one file of the pages.
KERNEL = ("chart", "controls", "explorable")
FOLDER = STATIC / "explorables"
# The kernel of a task as readers get it, and one that passes.
KERNELS = re.compile(r"^  (begin|solution): `\n(.*?)`,$", re.MULTILINE | re.DOTALL)
IMPORT = re.compile(
    r'^import (?:\* as )?([^"]+) from "\./([\w-]+)\.js";$', re.MULTILINE
)
EXPORT = re.compile(r"^export const (\w+)", re.MULTILINE)
# Node runs the scripts as they are. Browsers load no modules from a disk, so there each
# is a function that fills an object of `bookModules`. `bookExplorables` has the
# functions that begin a figure.
MODULE = """\
globalThis.bookModules ??= {{}};
globalThis.bookExplorables ??= {{}};
((module) => {{
"use strict";
{text}
Object.assign(module, {{ {exports} }});
bookExplorables["{name}"] = module.default?.start;
}})((bookModules["{name}"] = {{}}));
"""
# The data of a script, by card: `cards.js` exports `cards`.
Tables = Mapping[str, Mapping[str, Any]]
COLORS = re.compile(r"^:root.*?\{.*?\}$", re.MULTILINE | re.DOTALL)


def generate(root: Path, tables: Tables) -> str:
    """Return the scripts, the pictures and the style of all figures, as JSON.

    `needs` names the scripts of a figure in the order in which they run.
    """
    pictures = {
        path.stem: path.read_text("utf-8")
        for path in sorted((root / "img").glob("*.svg"))
        if is_interactive(path.stem)
    }
    if not pictures:
        return ""
    needs = {name: _needed(name) for name in pictures}
    modules = _modules(tables)
    used = sorted({*itertools.chain(*needs.values())})
    scripts = {name: modules[name] for name in used}
    found = {
        **{"needs": needs, "pictures": pictures},
        **{"scripts": scripts, "style": _style()},
    }
    return json.dumps(found, indent=0, ensure_ascii=False) + "\n"


def page_scripts(tables: Tables) -> dict[str, str]:
    """Return the scripts of the pages by their names, those of the kernel in one."""
    modules = _modules(tables)
    kernel = "".join(modules.pop(name) for name in KERNEL)
    return modules | {KERNEL[-1]: kernel}


def part(text: str, names: Iterable[str]) -> str:
    """Return what some figures need of the text of the file."""
    whole = json.loads(text)
    chosen = [name for name in whole["needs"] if name in names]
    scripts = {script for name in chosen for script in whole["needs"][name]}
    some = {"needs": chosen, "pictures": chosen, "scripts": scripts}
    kept = {
        key: {name: whole[key][name] for name in whole[key] if name in names}
        for key, names in some.items()
    }
    return json.dumps(kept | {"style": whole["style"]}, indent=0, ensure_ascii=False)


@functools.cache
def scripts_of(name: str) -> list[str]:
    """Return the scripts of a figure on a page in the order in which they run."""
    return [script for script in _needed(name) if script not in KERNEL[:-1]]


def is_explorable(name: str) -> bool:
    """Return True if a page runs a script in place of the picture of this name."""
    return name in _scripts()


def is_interactive(name: str) -> bool:
    """Return True if the picture of this name has a version with settings."""
    return INTERACTIVE in _scripts().get(name, "")


def kernels(name: str) -> dict[str, str]:
    """Return the kernel that a task begins with, and its solution; else nothing."""
    return dict(KERNELS.findall(_scripts().get(name, "")))


def standalone(name: str, tables: Tables) -> dict[str, str]:
    """Return the style and the scripts of a figure on a page of its own."""
    modules = _modules(tables)
    scripts = "".join(modules[script] for script in _needed(name))
    return {"name": name, "style": _style(), "scripts": scripts}


@functools.cache
def _scripts() -> dict[str, str]:
    return {path.stem: path.read_text("utf-8") for path in FOLDER.glob("*.js")}


def _modules(tables: Tables) -> dict[str, str]:
    """Return the scripts for a browser; tables replace the scripts that read them."""
    texts = _scripts() | {
        name: f"export const {name} = {json.dumps(rows)};\n"
        for name, rows in tables.items()
    }
    return {name: _module(name, text) for name, text in texts.items()}


def _module(name: str, text: str) -> str:
    """Return the script that fills `bookModules[name]` with what a module exports."""
    exports = ", ".join(EXPORT.findall(text))
    text = IMPORT.sub(_declaration, text).replace(
        "\nexport default", "\nmodule.default ="
    )
    text = EXPORT.sub(r"const \1", text)
    return MODULE.format(name=name, text=text, exports=exports)


def _declaration(imported: re.Match[str]) -> str:
    names, module = imported.groups()
    return f'const {names.replace(" as ", ": ")} = bookModules["{module}"];'


def _needed(name: str) -> list[str]:
    """Return a script after those that it requires, each after its own."""
    before: list[str] = []
    for _, other in IMPORT.findall(_scripts().get(name, "")):
        before += [script for script in _needed(other) if script not in before]
    return [*before, name]


def _style() -> str:
    """Return the style of the figures, and the colors that it takes from the pages."""
    page = (STATIC / "book.css").read_text("utf-8")
    own = (FOLDER / "explorables.css").read_text("utf-8")
    return cssmin("\n".join([*COLORS.findall(page)[:1], own, *THEMES]))


THEMES = (
    ':root[data-theme="light"] { color-scheme: light; }',
    ':root[data-theme="dark"] { color-scheme: dark; }',
)
