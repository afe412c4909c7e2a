"""Resolves references by number without repeated loading; a part of the extension.

Sphinx loads the target page of every reference again, which took a quarter of the time
of a build. This module loads each page once.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.domains.std import StandardDomain
from sphinx.environment import BuildEnvironment


class LoadedPages:
    """The environment of a build, but pages that are only read are loaded once."""

    def __init__(self, env: BuildEnvironment):
        self.env = env
        self.pages: dict[str, nodes.document] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.env, name)

    def get_doctree(self, name: str) -> nodes.document:
        """Return the document of a page, which must not be changed."""
        if name not in self.pages:
            self.pages[name] = self.env.get_doctree(name)
        return self.pages[name]


class BookDomain(StandardDomain):
    """Sphinx's standard domain with a cache of the pages that references lead to."""

    loaded: LoadedPages | None = None

    def _resolve_numref_xref(self, env: BuildEnvironment, *rest: Any) -> Any:
        if self.loaded is None:
            self.loaded = LoadedPages(env)
        return super()._resolve_numref_xref(self.loaded, *rest)  # type: ignore[arg-type]


def setup(app: Sphinx) -> None:
    """Replace the standard domain of Sphinx."""
    app.add_domain(BookDomain, override=True)
