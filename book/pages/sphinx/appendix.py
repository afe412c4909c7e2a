"""Numbers the appendices by letters; a part of the extension.

`book_appendix` among the settings of Sphinx names the first of them. Sphinx itself
numbers all pages in the contents by 1, 2, ...
"""

from collections.abc import Callable
from typing import Any

from docutils import nodes
from sphinx.addnodes import start_of_file
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform

from book.sources.section import appendix_letter

Number = tuple[Any, ...]


class BeginAppendices(SphinxPostTransform):
    """Lets LaTeX number the chapters from the first appendix on by letters."""

    default_priority = 320  # after the files are under their chapters
    formats = ("latex",)

    def run(self, **kwargs: Any) -> None:
        """Add the command before the first appendix."""
        for file in self.document.findall(start_of_file):
            if file["docname"] == self.config.book_appendix:
                place = file.parent.index(file)
                command = nodes.raw("", "\n\\bookappendix\n", format="latex")
                file.parent.insert(place, command)
                return


def _letter_numbers(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Give the appendices letters in place of the numbers that Sphinx has assigned."""
    pages = env.toctree_includes.get(app.config.root_doc, [])
    if app.config.book_appendix in pages:
        first = pages.index(app.config.book_appendix) + 1

        def letter(number: Number) -> Number:
            later = isinstance(number[0], int) and number[0] >= first
            letters = (appendix_letter(number[0] - first),) if later else number[:1]
            return (*letters, *number[1:])

        env.book_first_appendix = first  # type: ignore[attr-defined]
        _change_numbers(env, letter)
    return []


def _restore_numbers(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Undo it, so that Sphinx sees which numbers have changed since the last build."""
    first = getattr(env, "book_first_appendix", 0)

    def restore(number: Number) -> Number:
        if isinstance(number[0], str):
            return (ord(number[0]) - ord("A") + first, *number[1:])
        return number

    _change_numbers(env, restore)
    return []


def _change_numbers(env: BuildEnvironment, change: Callable[[Number], Number]) -> None:
    """Apply a function to the numbers of all sections, figures and tables."""
    for page, sections in env.toc_secnumbers.items():
        for anchor, number in sections.items():
            sections[anchor] = change(number) if number else number
        listed: list[nodes.Element] = [env.titles[page]]
        listed += env.tocs[page].findall(nodes.reference)
        for node in listed:
            if node.get("secnumber"):
                node["secnumber"] = change(node["secnumber"])
    for kinds in env.toc_fignumbers.values():
        for places in kinds.values():
            for anchor, number in places.items():
                places[anchor] = change(number)


def setup(app: Sphinx) -> None:
    """Add the setting and what it does to Sphinx."""
    app.add_config_value("book_appendix", "", "env")
    app.connect("env-get-updated", _restore_numbers, priority=100)
    app.connect("env-get-updated", _letter_numbers, priority=900)
    app.add_post_transform(BeginAppendices)
