"""Where the book is published: the settings under `[publish]` in config.ini.

While one is empty, what needs it is left out.
"""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from book.base.errors import BookError
from book.sources.book import Book

REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+")
BRANCH = re.compile(r"(?!.*(\.\.|//|\.lock$|[./]$))[A-Za-z0-9_][A-Za-z0-9._/-]*")
WHERE = "config.ini, [publish]"


@dataclass(frozen=True)
class Hosting:
    """Where things are, or are to be; an empty text where that is not settled.

    `repository` is OWNER/NAME on GitHub, `branch` what hosted notebooks are opened
    from, `site` the address of the site's folder, without "/" at its end.
    """

    repository: str = ""
    branch: str = "notebooks"
    site: str = ""

    @property
    def root(self) -> str:
        """The path of the site's folder on its host, which ends in "/".

        A site whose address is not known is taken to be all that its host serves.
        """
        return f"{urlsplit(self.site).path}/"

    def blob(self, path: str) -> str:
        """What GitHub, and who reads from there, calls a file of the branch."""
        return f"{self.repository}/blob/{self.branch}/{path}"


def of(book: Book) -> Hosting:
    """What the settings of a book say; raises a `BookError` if that cannot be."""
    parser = book.config.build.parser
    given = dict(parser.items("publish", raw=True)) if "publish" in parser else {}
    given = {name: value.strip() for name, value in given.items()}
    known = Hosting.__dataclass_fields__
    for name in given.keys() - known - parser.defaults().keys():
        raise _refused(f"no setting is called '{name}'; there are {', '.join(known)}")
    found = Hosting(**{name: given[name] for name in known if given.get(name)})
    _check(found)
    return Hosting(found.repository, found.branch, found.site.rstrip("/"))


def _check(found: Hosting) -> None:
    if found.repository and not REPOSITORY.fullmatch(found.repository):
        raise _refused(
            f"'{found.repository}' is no repository of GitHub; write OWNER/NAME"
        )
    if not BRANCH.fullmatch(found.branch):
        raise _refused(f"'{found.branch}' cannot be the name of a branch")
    if found.site and not _is_address(found.site):
        raise _refused(
            f"'{found.site}' is no address of a site; write one as"
            " https://example.org/gpus"
        )


def _is_address(text: str) -> bool:
    try:
        url = urlsplit(text)
    except ValueError:
        return False
    plain = not url.query and not url.fragment and not re.search(r'[\s<>"&]', text)
    return url.scheme in ("http", "https") and bool(url.hostname) and plain


def _refused(message: str) -> BookError:
    return BookError(message, WHERE)
