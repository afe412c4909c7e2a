"""The versions that the hosts of notebooks have, and what runs there.

    python -m book hosts --host colab

writes `environments/hosts/HOST.txt` from the lists that the host publishes on GitHub.
A list has those packages that the environments of our own tabs have, too. The table of
what runs where is made from `environments/hosts/results.csv`, which `make test-hosts`
writes.
"""

import csv
import json
import os
import re
import urllib.request
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from book.base import environments
from book.pages import addresses
from book.runner.errors import BookError
from book.runner.files import write_bytes_whole
from book.text.tabs import tab_name

RAW = "https://raw.githubusercontent.com"
API = "https://api.github.com/repos"
SECONDS = 60  # to wait for GitHub
FOLDER = Path("environments/hosts")
RESULTS = FOLDER / "results.csv"

COLAB, KAGGLE = "googlecolab/backend-info", "Kaggle/docker-python"
SAGEMAKER = "aws/sagemaker-distribution"
TITLES = {"colab": "Colab", "kaggle": "Kaggle", "sagemaker": "SageMaker Studio"}
KINDS = {
    "colab": addresses.COLAB,
    "kaggle": addresses.COLAB,
    "sagemaker": addresses.SAGEMAKER,
}

PIN = re.compile(r"\"?([\w.-]+)==([\w.]+)(?:\+\w+)?\"?")
PYTHON = re.compile(r"^Python (3\.\d+)", re.MULTILINE)
COLAB_IMAGE = re.compile(
    r"colab-external-images_(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)"
)
CONDA_PACKAGE = re.compile(r"/([^/]+)-([^/-]+)-[^/-]+\.(?:conda|tar\.bz2)")
RELEASE = re.compile(r"build_artifacts/v\d+/v[\d.]+/v(\d+)\.(\d+)\.(\d+)/RELEASE\.md")
HEADER = re.compile(r"# (\d{4}-\d\d-\d\d), Python (3\.\d+), (.+)")
# The names on PyPI of packages that conda names otherwise; and packages of conda that
# are no release of the package of this name on PyPI, or with which only its own build
# of TensorFlow works.
RENAMED = {"pytorch": "torch"}
CONDAS_OWN = ("graphviz", "tzdata", "protobuf")
# A framework has this name on hosts, whose builds use GPUs.
GPU_BUILDS = {"tensorflow-cpu": "tensorflow"}


@dataclass(frozen=True)
class Published:
    """The versions that a host has published, by name, with the date and the source."""

    versions: dict[str, str]
    python: str
    date: str
    source: str


# The lists that hosts publish


def colab(until: str = "") -> Published:
    """Return what Colab's runtimes with a GPU have, today or at the time `until`."""
    commit, date = _last_commit(COLAB, "pip-freeze.gpu.txt", until)
    versions = _pins(_raw(COLAB, commit, "pip-freeze.gpu.txt"))
    system = _raw(COLAB, commit, "os-info-gpu.txt")
    found = PYTHON.search(system)
    if not found:
        raise BookError("os-info-gpu.txt names no Python", COLAB)
    source = f"{COLAB}@{commit[:12]}: pip-freeze.gpu.txt"
    return Published(versions, found[1], date, source)


def kaggle() -> Published:
    """Return what Kaggle has: Colab's packages of some day, and a few pins of its own.

    The packages that Kaggle adds without a version are those of the day of its image,
    which no list names; the notebooks need none of them.
    """
    commit, date = _last_commit(KAGGLE, "Dockerfile.tmpl")
    recipe = _raw(KAGGLE, commit, "Dockerfile.tmpl")
    image = COLAB_IMAGE.search(recipe)
    if not image:
        raise BookError("Dockerfile.tmpl names no image of Colab", KAGGLE)
    year, month, day, hour, minute, second = image.groups()
    base = colab(f"{year}-{month}-{day}T{hour}:{minute}:{second}Z")
    own = _pins(_raw(KAGGLE, commit, "kaggle_requirements.txt") + "\n" + recipe)
    source = f"{KAGGLE}@{commit[:12]}: Colab's image of {year}-{month}-{day}"
    source += f" ({base.source})"
    return Published(base.versions | own, base.python, date, source)


def sagemaker() -> Published:
    """Return what the newest SageMaker Distribution has, the image of Studio.

    Studio Lab has no list of its own that is known to us.
    """
    tree = json.loads(_read(f"{API}/{SAGEMAKER}/git/trees/main?recursive=1"))
    paths = [each["path"] for each in tree["tree"]]
    releases = [found for found in map(RELEASE.fullmatch, paths) if found]
    if not releases:
        raise BookError("build_artifacts has no release", SAGEMAKER)
    newest = max(releases, key=lambda found: tuple(map(int, found.groups())))
    path = newest[0].replace("RELEASE.md", "gpu.env.out")
    commit, date = _last_commit(SAGEMAKER, path)
    packages = CONDA_PACKAGE.findall(_raw(SAGEMAKER, commit, path))
    versions = {_normal(name): v for name, v in packages if name not in CONDAS_OWN}
    if "python" not in versions:
        raise BookError(f"{path} names no Python", SAGEMAKER)
    python = ".".join(versions["python"].split(".")[:2])
    return Published(versions, python, date, f"{SAGEMAKER}@{commit[:12]}: {path}")


HOSTS: dict[str, Callable[[], Published]] = {
    "colab": colab,
    "kaggle": kaggle,
    "sagemaker": sagemaker,
}


def _pins(text: str) -> dict[str, str]:
    """Return the versions of a list in pip's format, without those of local builds."""
    bare = (re.sub(r"(^|\s)#.*", "", line) for line in text.splitlines())
    found = (PIN.findall(line) for line in bare)
    return {_normal(name): version for pins in found for name, version in pins}


def _normal(name: str) -> str:
    """Return the name of a package as our own pins write it."""
    normal = re.sub(r"[-_.]+", "-", name).lower()
    return RENAMED.get(normal, normal)


def _last_commit(repository: str, path: str, until: str = "") -> tuple[str, str]:
    """Return the last commit of a file, and its date."""
    query = {"path": path, "per_page": "1"} | ({"until": until} if until else {})
    commits = json.loads(_read(f"{API}/{repository}/commits?{urlencode(query)}"))
    if not commits:
        raise BookError(
            f"no commit has {path}; has the host moved its list?", repository
        )
    return commits[0]["sha"], commits[0]["commit"]["committer"]["date"][:10]


def _raw(repository: str, commit: str, path: str) -> str:
    return _read(f"{RAW}/{repository}/{commit}/{path}")


def _read(address: str) -> str:
    """Return a file of GitHub; raise a `BookError` if it cannot be had."""
    request = urllib.request.Request(address)
    token = os.environ.get("GITHUB_TOKEN")
    if token and address.startswith(f"{API}/"):
        request.add_unredirected_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return answer.read().decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "reason", error)
        message = f"cannot be read ({reason}); check the address, or set GITHUB_TOKEN"
        raise BookError(message, address) from None


# Our copy


def check_host(host: str) -> str:
    """Return `host`; raise a `BookError` if there is no such host."""
    if host not in HOSTS:
        raise BookError(
            f"unknown host '{host}'; choose from {', '.join(HOSTS)}", "HOST"
        )
    return host


def renew(root: Path, tabs: Iterable[str], host: str) -> Path:
    """Write the list of a host anew, and return its path."""
    published = HOSTS[check_host(host)]()
    wanted = {name for tab in tabs for name in packages(root, tab)}
    pins = [
        f"{name}=={version}"
        for name, version in sorted(published.versions.items())
        if name in wanted
    ]
    if "numpy" not in published.versions:
        raise BookError(
            "this list has no numpy; the format may be new", published.source
        )
    header = f"# {published.date}, Python {published.python}, {published.source}"
    path = root / FOLDER / f"{host}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    about = f"# {TITLES[host]}, of which `make hosts HOST={host}` makes this list"
    write_bytes_whole(path, "\n".join([about, header, *pins, ""]).encode())
    return path


def packages(root: Path, tab: str) -> set[str]:
    """Return the packages of the environment of a tab, under the names of hosts."""
    pins = environments.pins(tab, root)
    found = {_normal(re.split(r"[=<>;\s\[]", pin)[0]) for pin in pins}
    return found | {GPU_BUILDS[name] for name in found & GPU_BUILDS.keys()}


def load(root: Path, host: str) -> Published:
    """Return our copy of the list of a host."""
    path = root / FOLDER / f"{check_host(host)}.txt"
    if not path.exists():
        raise BookError(f"does not exist; run make hosts HOST={host}", path)
    text = path.read_text("utf-8")
    header = next(filter(None, map(HEADER.fullmatch, text.splitlines())), None)
    if header is None:
        missing = "has no line with date and Python"
        raise BookError(f"{missing}; run make hosts HOST={host}", path)
    return Published(_pins(text), header[2], header[1], header[3])


# What runs where

COLUMNS = ("host", "tab", "date", "python", "versions", "notebooks", "ran", "others")


def results(root: Path) -> list[dict[str, str]]:
    """Return the rows of results.csv, of which there may be none."""
    file = root / RESULTS
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def keep_result(root: Path, row: dict[str, str]) -> None:
    """Put a row in the place of the row of the same host and tab."""
    rows = {(each["host"], each["tab"]): each for each in results(root)}
    rows[row["host"], row["tab"]] = row
    lines = [",".join(COLUMNS)]
    for _, each in sorted(rows.items()):
        lines.append(",".join(_quoted(each[column]) for column in COLUMNS))
    write_bytes_whole(root / RESULTS, ("\n".join(lines) + "\n").encode())


def _quoted(value: str) -> str:
    """Return a value as a field of a CSV file."""
    doubled = value.replace('"', '""')
    return f'"{doubled}"' if re.search(r'[",\n]', value) else value


def table(root: Path) -> str:
    """Return the table of what runs where, in Markdown; empty without results."""
    rows = [
        f"| {TITLES[row['host']]} | {tab_name(row['tab'])} | Python {row['python']},"
        f" {row['versions']} | {row['date']} | {row['ran']} of {row['notebooks']} |"
        f" {row['others'] or 'none'} |"
        for row in results(root)
    ]
    if not rows:
        return ""
    head = ["| host | framework | versions | tested | ran | exceptions |"]
    return "\n".join([*head, "|:--|:--|:--|:--|:--|:--|", *rows])
