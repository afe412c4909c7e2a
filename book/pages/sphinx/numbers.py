"""References by number, without reading a page anew for each; a part of the extension.

To resolve a numbered reference, Sphinx unpickles the whole page that it leads to. With
hundreds of references this takes half of the time of a build, so each page is kept.
"""

import functools
from typing import Any, cast

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.domains.std import StandardDomain
from sphinx.environment import BuildEnvironment


class KeptPages:
    """Sphinx's environment, which reads each page once; for readers of pages only."""

    def __init__(self, env: BuildEnvironment) -> None:
        self.env = env
        self.get_doctree = functools.cache(env.get_doctree)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.env, name)


class NumberingDomain(StandardDomain):
    """The standard domain; it changes no page that a numbered reference leads to."""

    @functools.cached_property
    def kept(self) -> KeptPages:
        """The pages that references led to since this build began to write."""
        return KeptPages(self.env)

    def _resolve_numref_xref(
        self, env: BuildEnvironment, *arguments: Any
    ) -> nodes.Element | None:
        kept = cast(BuildEnvironment, self.kept)
        return super()._resolve_numref_xref(kept, *arguments)


def setup(app: Sphinx) -> None:
    app.add_domain(NumberingDomain, override=True)
