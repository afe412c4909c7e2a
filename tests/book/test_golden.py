"""`make golden` finds each difference between two builds, and nothing else."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from golden import compare

PAGE = """\
<html><head><title>One</title></head><body><nav><a href="two.html">Two</a></nav>
<article><h1 id="one">One</h1> <p>Some <em>plain</em> words.</p>
<pre>x = 1
</pre></article></body></html>
"""
SEAL = "# Generated from 0123456789abcdef.\n"
FILES = {
    "config.ini": "",
    "_build/html/one.html": PAGE,
    "_build/html/_static/site.css": "p { margin: 0 }\n",
    "_build/html/_static/search-data.js": 'bookData = {"entries": [\n["a"], ["b"]]};\n',
    "_build/html/_static/solutions/s.js": 'Object.assign(all, {\n"one": "<p>"});\n',
    "_build/notebooks/one.ipynb": '{\n "cells": []\n}\n',
    "_build/eval_jax/one.ipynb": '{\n "id": "0123abcd",\n "source": ["x"]\n}\n',
    "_build/slides/jax/one.html": "<article>A slide</article>\n",
    "d2l/jax.py": f"x = 1\n{SEAL}",
}
# The file, what stands in it, what stands there in the other build, and the report.
DIFFERENCES = {
    "text": ("one.html", "plain", "new", 'article: -1 +1 of 15 items\n    - "new"\n'),
    "space": ("one.html", "</em> words", "</em>words", '+ " words."'),
    "code": ("one.html", "x = 1", "x =  1", '- "x =  1\\n"'),
    "element": ("one.html", "<em>plain</em>", "plain", "+ <em>\n"),
    "attribute": ("one.html", 'id="one"', 'id="1"', '- <h1 id="1">\n'),
    "navigation": ("one.html", "two.html", "2.html", "around it: -1 +1 of"),
    "style": ("site.css", "0", "1", "-1 +1 of 2 items\n    - p { margin: 1 }"),
    "search data": ("search-data.js", '"b"', '"c"', '- entries: ["c"]'),
    "solution": ("s.js", "<p>", "<q>", '+ one: "<p>"'),
    "notebook": ("notebooks/one.ipynb", "[]", "[1]", '-  "cells": [1]'),
    "eval": ("eval_jax/one.ipynb", '"x"', '"y"', '-  "source": ["y"]'),
    "slide": ("slides/jax/one.html", "A slide", "Slides", '+ "A slide"'),
    "library": ("d2l/jax.py", "x = 1", "x = 2", "- x = 2\n    + x = 1"),
}  # fmt: skip
UNSEEN = {
    "space between elements": ("one.html", "</h1> <p>", "</h1>\n\n  <p>"),
    "end of a line": ("one.html", "plain</em> words", "plain</em>\nwords"),
    "data on one line": ("search-data.js", "[\n", "["),
    "seal of a library": ("d2l/jax.py", "from 0123", "from 4567"),
    "id of a cell": ("eval_jax/one.ipynb", "0123abcd", "4567abcd"),
}


@pytest.fixture
def builds(tmp_path: Path) -> tuple[Path, Path]:
    """Two equal builds."""
    for build in ("base", "ours"):
        for name, text in FILES.items():
            (tmp_path / build / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / build / name).write_text(text)
    return tmp_path / "base", tmp_path / "ours"


def change(build: Path, file: str, old: str, new: str) -> str:
    """Replace a text in the file whose name ends with `file`; return its name."""
    (name,) = [name for name in FILES if name.endswith(file) and old in FILES[name]]
    (build / name).write_text(FILES[name].replace(old, new))
    return name


def test_equal_builds_do_not_differ(builds):
    assert list(compare.report(*builds)) == []


@pytest.mark.parametrize("kind", DIFFERENCES)
def test_each_kind_of_difference_is_found(builds, kind):
    *changed, shown = DIFFERENCES[kind]
    name = change(builds[0], *changed)
    ((where, difference),) = compare.report(*builds)
    assert where == name and shown in f"{difference}\n"


@pytest.mark.parametrize("kind", UNSEEN)
def test_differences_that_readers_do_not_see_do_not_count(builds, kind):
    change(builds[0], *UNSEEN[kind])
    assert list(compare.report(*builds)) == []


def test_the_words_of_a_pdf_are_compared(builds, tmp_path, monkeypatch):
    program = tmp_path / "pdftotext"
    program.write_text('#!/bin/sh\ncat "$1"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    texts = ("two\nwords of\nBASE", "two words\nof BASE", "two words of ours")
    for build, text in zip((*builds, builds[1]), texts, strict=True):
        (build / "_build/pdf").mkdir(parents=True, exist_ok=True)
        (build / "_build/pdf/one.pdf").write_text(text)
        found = [difference for _, difference in compare.report(*builds)]
    assert found == ["-1 +1 of 4 items\n    - BASE\n    + ours"]


def test_the_contents_of_an_archive_are_compared(builds):
    for build, text in zip(builds, ("old", "new"), strict=True):
        with zipfile.ZipFile(build / "_build/notebooks/all.zip", "w") as archive:
            archive.writestr("one.ipynb", text)
            archive.writestr("library/d2l/jax.py", text)  # compared itself
    ((name, difference),) = compare.report(*builds)
    assert name == "_build/notebooks/all.zip"
    assert re.fullmatch(
        r"-1 \+1 of 2 items\n    - one.ipynb \w{8}\n    \+ one.ipynb \w{8}", difference
    )


def test_a_file_of_one_build_is_a_difference(builds):
    (builds[0] / "_build/html/two.html").write_text(PAGE)
    assert list(compare.report(*builds)) == [("_build/html/two.html", "only in BASE")]
    assert list(compare.report(*builds, page="one")) == []


def test_the_command_fails_if_something_differs(builds):
    base, ours = builds
    shutil.rmtree(base / "_build/slides")
    shutil.rmtree(ours / "_build/slides")

    def run() -> subprocess.CompletedProcess[str]:
        command = [sys.executable, compare.__file__, "--base", str(base)]
        return subprocess.run(command, cwd=ours, capture_output=True, text=True)

    same = run()
    assert same.returncode == 0
    missing = "not compared: _build/slides is not in BASE; run make slides there"
    assert missing in same.stdout.splitlines()
    change(base, "d2l/jax.py", "x = 1", "x = 2")
    assert run().returncode == 1
    assert run().stdout.endswith("files that differ: 1\n")
    shutil.rmtree(base)
    assert run().stderr.startswith("error: BASE: not a checkout of the book; name one")
