"""Audits pages with Lighthouse, html-validate and the Nu HTML checker."""

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import tools  # tests/site/tools.py, which the Makefile puts on the path

from benchmarks.measures import NO_OTHER_HOST
from book.base.errors import BookError

CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
METRICS = {
    "lcp": "largest-contentful-paint",
    "tbt": "total-blocking-time",
    "cls": "cumulative-layout-shift",
}
RULES = Path(__file__).with_name("htmlvalidate.mjs")
PROGRAMS = ("lighthouse/cli/index.js", "html-validate/bin/html-validate.mjs")


def check_tools() -> None:
    """Raise a `BookError` if the browser or a program of npm is missing."""
    tools.chromium()
    for program in (*PROGRAMS, "axe-core/axe.min.js"):
        if not (tools.NODE_MODULES / program).exists():
            raise BookError("not installed; run make tools", f"npm's {program}")


def lighthouse(url: str) -> dict[str, float]:
    """Return scores up to 100, LCP in s, TBT in ms and CLS, on a simulated phone."""
    flags = ["--headless=new", *tools.CHROMIUM_FLAGS, f'"{NO_OTHER_HOST}"']
    report = _json_of(
        *(tools.node(), tools.NODE_MODULES / PROGRAMS[0], url),
        f"--only-categories={','.join(CATEGORIES)}",
        # `measures.load` counts requests to other hosts, which fail here.
        "--skip-audits=errors-in-console",
        "--disable-full-page-screenshot",
        f"--chrome-flags={' '.join(flags)}",
        *("--output=json", "--quiet", "--no-enable-error-reporting"),
    )
    scores = {name: report["categories"][name]["score"] for name in CATEGORIES}
    values = {key: report["audits"][name] for key, name in METRICS.items()}
    results = {name: round(100 * (score or 0)) for name, score in scores.items()}
    results |= {key: audit["numericValue"] for key, audit in values.items()}
    return results | {"lcp": results["lcp"] / 1000}


def html_validate(page: Path) -> int:
    """Return the number of errors that html-validate finds, except those of style."""
    program = tools.NODE_MODULES / PROGRAMS[1]
    with tempfile.TemporaryDirectory() as folder:
        # html-validate truncates long reports that it writes to a pipe.
        report = Path(folder) / "report.json"
        options = ("--config", RULES, "--formatter", f"json={report}")
        command = map(str, (tools.node(), program, *options, page))
        subprocess.run([*command], capture_output=True)
        files = json.loads(report.read_text("utf-8"))
    return sum(file["errorCount"] for file in files)


def nu_checker(page: Path, jar: Path) -> int:
    """Return the number of errors that the Nu HTML checker finds."""
    if not jar.is_file():
        raise BookError("no such file; the package vnu-jar of npm has it", jar)
    command: list[str | Path] = [
        *("java", "-jar"),
        jar,
        "--format",
        "json",
        "--errors-only",
        page,
    ]
    result = subprocess.run(command, capture_output=True, text=True)
    messages = json.loads(result.stderr)["messages"]
    return sum(message["type"] == "error" for message in messages)


def _json_of(*command: str | Path) -> Any:
    """Return the JSON that a command prints; raise a `BookError` if it prints none."""
    environment = os.environ | {"CHROME_PATH": tools.chromium()}
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    try:
        return json.loads(result.stdout)
    except ValueError:
        error = result.stderr.strip()[-300:]
        raise BookError(f"printed no report: {error}", Path(command[1]).name) from None


def versions() -> dict[str, str]:
    """Return the versions of the programs."""
    command = [tools.chromium(), "--version", "--no-sandbox"]
    output = subprocess.run(command, capture_output=True, text=True).stdout
    versions = {"Chromium": output.split()[1]}
    for name in ("lighthouse", "axe-core", "html-validate"):
        package = (tools.NODE_MODULES / name / "package.json").read_text("utf-8")
        versions[name] = json.loads(package)["version"]
    return versions
