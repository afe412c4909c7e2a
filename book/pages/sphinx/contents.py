"""Makes the contents the only list of the sections in print; a part of the extension.

On the pages, a file lists the files below it and says what each requires. In print, the
contents name all files, so these lists are removed. A heading above such a list becomes
a line of the contents, and what a file requires is said at the beginning of the file.
"""

from typing import Any

from docutils import nodes
from sphinx.addnodes import start_of_file
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import texescape

# The contents list the headings of a chapter down to this level, and those of a file
# below a chapter down to the other.
CHAPTER_DEPTH, FILE_DEPTH = 2, 1


class KeepOneListOfSections(SphinxPostTransform):
    """Removes the lists of sections from the text of the printed book."""

    default_priority = 310  # after the files are under their chapters
    formats = ("latex",)

    def run(self, **kwargs: Any) -> None:
        """Move what the lists say about a file to the file, and remove the lists."""
        files = {f["docname"]: f for f in self.document.findall(start_of_file)}
        for items in list(self.document.findall(nodes.bullet_list)):
            named = [files.get(_page_of(item)) for item in items.children]
            listed = [f for f in named if f and file_around(f) is file_around(items)]
            if len(listed) == len(items):
                _remove_list(items, listed)
        for file in files.values():
            below = [f for f in files.values() if file_around(f) is file]
            if below:
                _limit_contents(below)


def file_around(node: nodes.Node) -> start_of_file | None:
    """Return the file that a node is in, or None for the first page."""
    around = node.parent
    while around is not None and not isinstance(around, start_of_file):
        around = around.parent
    return around


def _page_of(item: nodes.Node) -> str:
    """Return the page that the reference at the start of an item leads to, if any."""
    first = next(iter(item.findall(nodes.paragraph)), nodes.paragraph())
    link = first.children[0] if first.children else None
    address = link.get("refuri", "") if isinstance(link, nodes.reference) else ""
    return address.removeprefix("%").partition("#")[0]


def _remove_list(items: nodes.bullet_list, files: list[start_of_file]) -> None:
    """Remove a list of files; the further paragraphs of an item begin its file."""
    for item, file in zip(items.children, files, strict=True):
        title = next(iter(file.findall(nodes.title)))
        place = title.parent.index(title) + 1
        title.parent[place:place] = item.children[1:]
    group = items.parent
    group.remove(items)
    if [type(node) for node in group.children] == [nodes.title]:
        heading = _command("bookgroup", group.astext())
        files[0].parent.insert(files[0].parent.index(files[0]), heading)
        group.parent.remove(group)


def _limit_contents(files: list[start_of_file]) -> None:
    """Leave the headings in the files of a chapter out of the contents."""
    parent = files[0].parent
    parent.insert(parent.index(files[0]), _command("bookcontentsdepth", FILE_DEPTH))
    end = parent.index(files[-1]) + 1
    parent.insert(end, _command("bookcontentsdepth", CHAPTER_DEPTH))


def _command(name: str, argument: object) -> nodes.raw:
    """Return a command of the preamble with one argument."""
    text = texescape.escape(str(argument), "xelatex")
    return nodes.raw("", f"\n\\{name}{{{text}}}\n", format="latex")


def setup(app: Sphinx) -> None:
    """Add the transformation to Sphinx."""
    app.add_post_transform(KeepOneListOfSections)
