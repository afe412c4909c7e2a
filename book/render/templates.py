"""Fills in the templates of pages, decks and lists."""

import functools

import jinja2

from book.base.paths import TEMPLATES


def render_template(template: str, **context: object) -> str:
    """Return the page that one of the book's templates makes from these variables."""
    return _environment().get_template(template).render(context) + "\n"


@functools.cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
