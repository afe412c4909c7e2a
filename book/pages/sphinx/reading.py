"""The text of a page as Sphinx has read it; a part of the extension."""

from collections.abc import Iterator

from docutils import nodes

# What is no text of the source: code, outputs, equations, references, our own notes.
KINDS = (
    *(nodes.raw, nodes.literal, nodes.literal_block, nodes.comment),
    *(nodes.math, nodes.math_block, nodes.image, nodes.system_message),
)
NAMES = {"machine_set", "pending_xref", "toctree", "folded_title", "bibliography"}
CLASSES = {
    *("record", "tab-label", "output-note", "no-output", "prediction-source"),
    *("version-notice", "made-on"),
}


def texts(node: nodes.Node) -> Iterator[str]:
    """Yield the texts below a node that come from the text of the book."""
    for child in node.children:
        if isinstance(child, nodes.Text):
            yield child.astext()
        elif isinstance(child, nodes.Element) and not _is_other(child):
            yield from texts(child)


def _is_other(node: nodes.Element) -> bool:
    return (
        isinstance(node, KINDS)
        or node.get("absent", False)
        or type(node).__name__ in NAMES
        or not CLASSES.isdisjoint(node.get("classes", ()))
    )
