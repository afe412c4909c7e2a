"""The notebook of a deck, for RISE and for Jupyter's own slide views.

d2lbook makes it; around its code stand-ins take the places of code and figures, which
it would change: it takes a `#` in a string for a comment.
"""

import ast
import base64
import copy
import io
import mimetypes
import re
import tokenize
from pathlib import Path
from typing import Any

import nbformat
from d2lbook import slides as d2l_slides
from nbformat import NotebookNode

from book.records.store import KERNEL
from book.slides.deck_page import Picture
from book.slides.marks import IMAGE, LABEL, SAVE, off_slides, pieces
from book.slides.words import Worded

CODE = re.compile(r"BOOKCODE(\d+)END")
PICTURE = re.compile(r"BOOKPICTURE(\d+)END")
# d2lbook's settings, but for its corners with an author's name.
RISE = {"autolaunch": True, "enable_chalkboard": True, "scroll": True}


def notebook(
    nb: NotebookNode,
    where: str,
    tab: str,
    worded: Worded,
    picture: Picture,
) -> NotebookNode | None:
    """The slides of a tab's notebook; None without marks. It runs from top to bottom.

    Code that is on no slide is there, to run, in cells that are skipped.
    """
    maker = _Maker(worded, picture)
    prepared = copy.deepcopy(nb)
    prepared.cells = [
        new for cell in nb.cells for new in maker.prepared(cell, where, tab)
    ]
    made = d2l_slides._generate_slides(prepared)
    if made is None:
        return None
    made.cells = [maker.finished(cell) for cell in made.cells]
    for number, cell in enumerate(made.cells, start=1):
        cell.id = f"slide-{number:02}"
    made.metadata = NotebookNode(
        kernelspec=KERNEL,
        language_info={"name": "python"},
        celltoolbar="Slideshow",
        rise=RISE,
    )
    made.nbformat, made.nbformat_minor = 4, 5
    return made


class _Maker:
    """Puts stand-ins into cells, and what they stand for into what is made of them."""

    def __init__(self, worded: Worded, picture: Picture):
        self.worded, self.picture = worded, picture
        self.sources: list[str] = []
        self.pictures: list[re.Match[str]] = []

    def prepared(self, cell: NotebookNode, where: str, tab: str) -> list[NotebookNode]:
        if cell.cell_type != "code":
            parts = [self._text(piece) for piece in pieces(cell.source, where, tab)]
            return [nbformat.v4.new_markdown_cell(part) for part in parts]
        self.sources.append(without_comments(SAVE.sub("", cell.source)).strip("\n"))
        source = f"BOOKCODE{len(self.sources) - 1}END"
        if off_slides(cell):
            return [nbformat.v4.new_raw_cell(source)]  # d2lbook joins code to code
        outputs = copy.deepcopy(cell.get("outputs", []))
        return [nbformat.v4.new_code_cell(source, outputs=outputs)]

    def _text(self, text: str) -> str:
        text = IMAGE.sub(self._set_aside, self.worded(LABEL.sub("", text)))
        # A text that ends in a full stop and a space breaks d2lbook.
        return re.sub(r"\s+(\*\*|~~)(?=[])])", r"\1", text)

    def _set_aside(self, image: re.Match[str]) -> str:
        self.pictures.append(image)
        return f"BOOKPICTURE{len(self.pictures) - 1}END"

    def finished(self, cell: NotebookNode) -> NotebookNode:
        if cell.cell_type == "markdown":
            self._restore_pictures(cell)
            return cell
        source = CODE.sub(lambda m: self.sources[int(m[1])], cell.source)
        if cell.cell_type == "raw":
            skipped: dict[str, Any] = {"slideshow": {"slide_type": "skip"}}
            return nbformat.v4.new_code_cell(source, metadata=skipped)
        new = nbformat.v4.new_code_cell(source, outputs=cell.outputs)
        new.metadata["slideshow"] = {"slide_type": "-"}
        return new

    def _restore_pictures(self, cell: NotebookNode) -> None:
        """Put figures back; they travel inside of the notebook."""
        images = [self.pictures[int(n)] for n in PICTURE.findall(cell.source)]
        if images:
            files = [self.picture(image["path"]) for image in images]
            cell.attachments = {file.name: _attached(file) for file in files}
        cell.source = PICTURE.sub(self._with_attachment, cell.source)

    def _with_attachment(self, found: re.Match[str]) -> str:
        image = self.pictures[int(found[1])]
        name, alt = Path(image["path"]).name, image["alt"] or image["caption"]
        return f"![{alt}](attachment:{name})\n\n{image['caption']}"


def _attached(file: Path) -> dict[str, str]:
    kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    return {kind: base64.b64encode(file.read_bytes()).decode()}


def without_comments(source: str) -> str:
    """Code without its comments, as d2lbook has it on slides, its strings untouched.

    What Python cannot read, such as a line for the shell, stays as it is.
    """
    lines = source.split("\n")
    try:
        ast.parse(source)
    except SyntaxError:
        return source
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = [token for token in tokens if token.type == tokenize.COMMENT]
    for token in reversed(comments):
        row, column = token.start[0] - 1, token.start[1]
        lines[row] = lines[row][:column].rstrip()
        if not lines[row]:
            del lines[row]
    return "\n".join(lines)
