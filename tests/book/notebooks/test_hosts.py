"""The lists of hosts are read from what they publish; results become a table."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from book.__main__ import main
from book.notebooks import archive, hosts
from book.refs.numbers import Numbers
from book.runner.errors import BookError
from book.text.book import Book

ROOT = Path(__file__).resolve().parents[3]
COMMITS = {
    "colab-new": ("googlecolab/backend-info", "2026-08-19T12:32:30Z"),
    "colab-old": ("googlecolab/backend-info", "2026-05-08T16:23:42Z"),
    "kaggle-new": ("Kaggle/docker-python", "2026-06-29T00:14:24Z"),
    "aws-new": ("aws/sagemaker-distribution", "2026-08-17T11:51:48Z"),
}
FREEZE = """\
# Do not modify this file directly
Flax_Extra==1.0
jax==0.7.2
jupyter_kernel @ git+https://example.org/kernel@b134e99
NumPy==2.1.3
protobuf==5.29.6
torch==2.11.0+cu128
unknown-elsewhere==1.0
"""
AWS = "aws/sagemaker-distribution/aws-new"
FILES = {
    "googlecolab/backend-info/colab-new/pip-freeze.gpu.txt": FREEZE,
    "googlecolab/backend-info/colab-new/os-info-gpu.txt": "Ubuntu\nPython 3.13.15\n",
    "googlecolab/backend-info/colab-old/pip-freeze.gpu.txt": "numpy==2.0.2\n"
    "protobuf==5.29.6\njax==0.7.1\n",
    "googlecolab/backend-info/colab-old/os-info-gpu.txt": "Python 3.12.13\njulia 1.12",
    "Kaggle/docker-python/kaggle-new/Dockerfile.tmpl": "FROM us-docker.pkg.dev/"
    "runtime:release-colab-external-images_20260514-060047_RC00\n"
    'RUN uv pip install "protobuf==5.29.5" "grpcio-tools>=1.60.0"\n',
    "Kaggle/docker-python/kaggle-new/kaggle_requirements.txt": "# jax==9 was too new\n"
    "flax\nfastcore<2\n",
    f"{AWS}/build_artifacts/v4/v4.10/v4.10.0/gpu.env.out": """\
@EXPLICIT
https://conda.example/linux-64/python-3.12.13-h8ab3286_1_cpython.conda#c6e02a78
https://conda.example/noarch/tzdata-2026c-h1.conda#c6
https://conda.example/linux-64/pytorch-2.8.0-cuda129_mkl_py312_302.conda#ec
https://conda.example/noarch/ml_dtypes-0.5.4-np2py312_1.tar.bz2#56
https://conda.example/linux-64/numpy-1.26.4-py312heda63a1_0.conda#d8
""",
}
RELEASES = "v4/v4.9/v4.9.2/RELEASE.md v4/v4.10/v4.10.0/RELEASE.md"
RELEASES += " v4/v4.11/v4.11.0/gpu.env.in v0/v0.1/v0.1.0/RELEASE.md"
WANTED = "numpy==1 jax==1 flax==1 protobuf==1 torch==1 ml-dtypes==1 tzdata==1"


class GitHub(BaseHTTPRequestHandler):
    """Answers as GitHub does: commits and trees as JSON, and files as they are."""

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(address.query).items()}
        path = address.path.removeprefix("/repos/")
        if path.endswith("/commits"):
            text = self.commits(path.removesuffix("/commits"), query)
        elif path.endswith("/git/trees/main"):
            paths = [{"path": f"build_artifacts/{p}"} for p in RELEASES.split()]
            text = json.dumps({"tree": paths})
        else:
            text = FILES.get(path.removeprefix("/"), "")
        self.send_response(200 if text else 404)
        self.end_headers()
        self.wfile.write(text.encode())

    def commits(self, repository: str, query: dict[str, str]) -> str:
        found = [
            {"sha": sha, "commit": {"committer": {"date": date}}}
            for sha, (place, date) in COMMITS.items()
            if place == repository and date <= query.get("until", "9")
        ]
        return json.dumps(found[: int(query["per_page"])])

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture(autouse=True)
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a local server answer in place of GitHub."""
    with HTTPServer(("127.0.0.1", 0), GitHub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setattr(hosts, "RAW", address)
        monkeypatch.setattr(hosts, "API", f"{address}/repos")
        yield
        server.shutdown()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a folder with the pins of one tab."""
    (tmp_path / "environments").mkdir()
    pins = tmp_path / "environments/jax.txt"
    pins.write_text("\n".join(WANTED.split()))
    return tmp_path


# The lists


@pytest.mark.parametrize(
    "host, pins",
    [
        (
            "colab",
            "# 2026-08-19, Python 3.13, googlecolab/backend-info@colab-new:"
            " pip-freeze.gpu.txt\n"
            "jax==0.7.2\nnumpy==2.1.3\nprotobuf==5.29.6\ntorch==2.11.0\n",
        ),
        (
            "kaggle",
            "# 2026-06-29, Python 3.12, Kaggle/docker-python@kaggle-new:"
            " Colab's image of 2026-05-14 (googlecolab/backend-info@colab-old:"
            " pip-freeze.gpu.txt)\n"
            "jax==0.7.1\nnumpy==2.0.2\nprotobuf==5.29.5\n",
        ),
        (
            "sagemaker",
            "# 2026-08-17, Python 3.12, aws/sagemaker-distribution@aws-new:"
            " build_artifacts/v4/v4.10/v4.10.0/gpu.env.out\n"
            "ml-dtypes==0.5.4\nnumpy==1.26.4\ntorch==2.8.0\n",
        ),
    ],
)
def test_a_list_has_the_packages_that_our_environments_have(
    root: Path, host: str, pins: str
):
    text = hosts.renew(root, ["jax"], host).read_text()
    assert text.split("\n", 1)[1] == pins
    loaded = hosts.load(root, host)
    assert f"{loaded.date}, Python {loaded.python}, {loaded.source}\n" in pins
    assert all(f"{name}=={v}\n" in pins for name, v in loaded.versions.items())


def test_a_framework_has_the_name_that_hosts_give_it(root: Path):
    pins = root / "environments/tensorflow.txt"
    pins.write_text("tensorflow-cpu==2.21.0; platform_machine == 'x86_64'\n")
    assert hosts.packages(root, "tensorflow") == {"tensorflow-cpu", "tensorflow"}


def mistake(call: Callable[[], object]) -> str:
    with pytest.raises(BookError) as error:
        call()
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_list_that_cannot_be_read_is_one_line_and_the_last_one_stays(
    root: Path, monkeypatch: pytest.MonkeyPatch
):
    last = hosts.renew(root, ["jax"], "colab").read_text()
    gone = "googlecolab/backend-info/colab-new/pip-freeze.gpu.txt"
    monkeypatch.setitem(FILES, gone, "")
    message = mistake(lambda: hosts.renew(root, ["jax"], "colab"))
    assert gone in message and message.endswith("set GITHUB_TOKEN")
    monkeypatch.setitem(FILES, gone, "<html>")
    message = mistake(lambda: hosts.renew(root, ["jax"], "colab"))
    assert message.endswith("this list has no numpy; the format may be new")
    monkeypatch.setattr(hosts, "API", "http://127.0.0.1:9")
    assert "cannot be read" in mistake(lambda: hosts.renew(root, ["jax"], "colab"))
    assert (root / hosts.FOLDER / "colab.txt").read_text() == last


@pytest.mark.parametrize(
    "file, text, message",
    [
        ("Dockerfile.tmpl", "FROM debian", "Dockerfile.tmpl names no image of Colab"),
        ("kaggle_requirements.txt", "", "kaggle_requirements.txt: cannot be read"),
    ],
)
def test_a_recipe_of_kaggle_in_a_new_form_is_one_line(
    root: Path, monkeypatch: pytest.MonkeyPatch, file: str, text: str, message: str
):
    monkeypatch.setitem(FILES, f"Kaggle/docker-python/kaggle-new/{file}", text)
    assert message in mistake(lambda: hosts.renew(root, ["jax"], "kaggle"))


def test_lists_that_are_missing_or_damaged_say_what_makes_them(root: Path):
    assert "make hosts HOST=colab" in mistake(lambda: hosts.load(root, "colab"))
    (root / hosts.FOLDER).mkdir()
    (root / hosts.FOLDER / "colab.txt").write_text("jax==0.7.2\n")
    assert "no line with date and Python; run make" in mistake(
        lambda: hosts.load(root, "colab")
    )


def test_an_unknown_host_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(ROOT)
    assert main(["hosts", "--host", "colab,binder"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    known = "colab, kaggle, sagemaker"
    assert line == f"error: HOST: unknown host 'binder'; choose from {known}"


@pytest.mark.parametrize("host", hosts.HOSTS)
def test_our_list_of_a_host_has_what_the_notebooks_need(host: str):
    needed = {"numpy", "matplotlib", "ipython", "ipykernel", "scikit-learn"}
    assert needed <= hosts.load(ROOT, host).versions.keys()


# The table

ROW = {
    "host": "kaggle",
    "tab": "jax",
    "date": "2026-11-29",
    "python": "3.12",
    "versions": "jax 1, numpy 2",
    "notebooks": "43",
    "ran": "42",
    "others": 'tiles: needs "2"',
}


def test_a_result_replaces_that_of_the_same_host_and_tab(tmp_path: Path):
    (tmp_path / hosts.FOLDER).mkdir(parents=True)
    assert hosts.table(tmp_path) == ""
    hosts.keep_result(tmp_path, ROW)
    hosts.keep_result(tmp_path, ROW | {"host": "colab", "others": ""})
    hosts.keep_result(tmp_path, ROW | {"ran": "41"})
    rows = hosts.results(tmp_path)
    assert [(row["host"], row["ran"]) for row in rows] == [
        ("colab", "42"),
        ("kaggle", "41"),
    ]
    assert rows[1] == ROW | {"ran": "41"}
    *_, first, second = hosts.table(tmp_path).splitlines()
    assert first.endswith("| 2026-11-29 | 42 of 43 | none |")
    end = "| Python 3.12, jax 1, numpy 2 | 2026-11-29 | 41 of 43 | tiles: needs"
    assert second.endswith(f'{end} "2" |')


def test_the_readme_of_the_notebooks_shows_all_results():
    book = Book(ROOT)
    readme = archive.supporting_files(book, Numbers(book))["README.md"].decode()
    rows = hosts.results(ROOT)
    assert rows and hosts.table(ROOT) in readme
    for row in rows:
        assert row["tab"] in book.tabs and row["host"] in hosts.HOSTS
        assert int(row["ran"]) <= int(row["notebooks"])
