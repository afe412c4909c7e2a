"""The settings under `[publish]` in config.ini: where the book is published.

Features that need a setting are left out as long as it is empty.
"""

import re
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from book.base.errors import BookError
from book.text.book import Book

REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+")
BRANCH = re.compile(r"(?!.*(\.\.|//|\.lock$|[./]$))[A-Za-z0-9_][A-Za-z0-9._/-]*")
WHERE = "config.ini, [publish]"


@dataclass(frozen=True)
class Hosting:
    """The publishing settings; a setting that the book does not give is empty.

    `repository` is OWNER/NAME on GitHub, `branch` is the branch from which hosted
    notebooks are opened, and `site` is the address of the site without a final "/".
    """

    repository: str = ""
    branch: str = "notebooks"
    site: str = ""

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
    known = Hosting.__dataclass_fields__
    for name in settings.keys() - known - parser.defaults().keys():
        raise _error(f"unknown setting '{name}'; choose from {', '.join(known)}")
    hosting = Hosting(**{name: settings[name] for name in known if settings.get(name)})
    _check(hosting)
    return replace(hosting, site=hosting.site.rstrip("/"))


def _check(hosting: Hosting) -> None:
    """Raise a `BookError` if a setting is not valid."""
    if hosting.repository and not REPOSITORY.fullmatch(hosting.repository):
        raise _error(
            f"'{hosting.repository}' is not a GitHub repository; write OWNER/NAME"
        )
    if not BRANCH.fullmatch(hosting.branch):
        raise _error(f"'{hosting.branch}' is not a valid name for a branch")
    if hosting.site and not _is_address(hosting.site):
        raise _error(
            f"'{hosting.site}' is not the address of a site; write one such as"
            " https://example.org/gpus"
        )


def _is_address(text: str) -> bool:
    """Return True if a text is a web address without a query or a fragment."""
    try:
        url = urlsplit(text)
    except ValueError:
        return False
    plain = not url.query and not url.fragment and not re.search(r'[\s<>"&]', text)
    return url.scheme in ("http", "https") and bool(url.hostname) and plain


def _error(message: str) -> BookError:
    return BookError(message, WHERE)
