"""A Sphinx extension: the appendices have letters in d2lbook's own pages, too."""

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from book.refs.numbers import Numbers
from book.text.book import Book


def use_letters(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Begin the numbers in appendices as our pages do; name no page to read again."""
    for page, number in Numbers(Book(Path.cwd())).pages.items():
        letter: Any = number.partition(".")[0]  # where Sphinx expects an int
        if letter.isalpha():
            captions = env.toc_fignumbers.get(page, {})
            for numbers in (env.toc_secnumbers[page], *captions.values()):
                numbers.update({id: (letter, *own[1:]) for id, own in numbers.items()})
            for node in (env.titles[page], *env.tocs[page].findall(nodes.reference)):
                node["secnumber"] = [letter, *node["secnumber"][1:]]
    return []


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("env-get-updated", use_letters, priority=501)  # Sphinx has counted
    return {"parallel_read_safe": True}
