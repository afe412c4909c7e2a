"""The settings under `[publish]` in config.ini: where the book is published.

Features that need a setting are left out as long as it is empty.
"""

import re
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from book.base import inputs, remote
from book.base.arguments import EDITION
from book.runner.errors import BookError
from book.text.book import Book

WHERE = "config.ini, [publish]"
EDITIONS = "editions.html"  # the page that lists all editions, beside the newest pages
# For each setting, the pattern that it must match, and what an error asks for.
RULES = {
    "repository": (
        re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+"),
        "a GitHub repository; write OWNER/NAME",
    ),
    "branch": (
        re.compile(r"(?!.*(\.\.|//|\.lock$|[./]$))[A-Za-z0-9_][A-Za-z0-9._/-]*"),
        "a valid name for a branch",
    ),
    "site": (
        re.compile(r"(?i:https?)://[\w.-]+(:\d+)?(/[^\s<>\"&?#]*)?"),
        "the address of a site; write one such as https://example.org/gpus",
    ),
    "edition": (EDITION, "an edition; write one such as v1.0"),
}


@dataclass(frozen=True)
class Hosting:
    """The publishing settings; a setting that the book does not give is empty.

    `repository` is OWNER/NAME on GitHub, `branch` is the branch from which hosted
    notebooks are opened, and `site` is the address of the site without a final "/".
    Those of an edition end in its name, such as `notebooks-v1.0` and `/v1.0`.
    """

    repository: str = ""
    branch: str = "notebooks"
    site: str = ""
    edition: str = ""

    @property
    def root(self) -> str:
        """The path of the site on its host, which ends in "/".

        It is "/" if the address of the site is not known.
        """
        return f"{urlsplit(self.site).path}/"

    def blob(self, path: str) -> str:
        """Return the path on GitHub of a file of the branch."""
        return f"{self.repository}/blob/{self.branch}/{path}"


def load(book: Book) -> Hosting:
    """Return the publishing settings of a book; raise a `BookError` for a bad one."""
    parser = book.config.build.parser
    settings = dict(parser.items("publish", raw=True)) if "publish" in parser else {}
    settings = {name: value.strip() for name, value in settings.items()}
    for name in settings.keys() - RULES.keys() - parser.defaults().keys():
        known = ", ".join(RULES)
        raise BookError(f"unknown setting '{name}'; choose from {known}", WHERE)
    given = {name: settings[name] for name in RULES if settings.get(name)}
    for name, value in given.items():
        pattern, kind = RULES[name]
        if not pattern.fullmatch(value):
            raise BookError(f"'{value}' is not {kind}", WHERE)
    hosting = Hosting(**given)
    site, edition = hosting.site.rstrip("/"), hosting.edition
    branch = inputs.of_edition(hosting.branch, edition)
    site = f"{site}/{edition}" if site and edition else site
    return replace(hosting, branch=branch, site=site)


def choose_edition(book: Book, edition: str) -> None:
    """Give the book this edition in place of the one that config.ini names."""
    book.config.build.parser.read_dict({"publish": {"edition": edition}})


def with_remote(book: Book, settings: Hosting) -> Hosting:
    """Return the settings; a clone knows the repository, unless config.ini names it."""
    found = settings.repository or remote.repository(book.root, settings.branch)
    return replace(settings, repository=found)
