"""What programs say of a page: Lighthouse, html-validate and the Nu HTML checker."""

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import tools  # of tests/site, which the Makefile puts on the path

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
    """Raise a BookError if the browser or what Node runs is not there."""
    tools.chromium()
    for program in (*PROGRAMS, "axe-core/axe.min.js"):
        if not (tools.NODE_MODULES / program).exists():
            raise BookError("not there; make tools installs it", f"npm's {program}")


def lighthouse(url: str) -> dict[str, float]:
    """Scores of 100, and LCP in s, TBT in ms and CLS, on a simulated phone."""
    flags = ["--headless=new", *tools.CHROMIUM_FLAGS, f'"{NO_OTHER_HOST}"']
    report = _json_of(
        *(tools.node(), tools.NODE_MODULES / PROGRAMS[0], url),
        f"--only-categories={','.join(CATEGORIES)}",
        # Requests to hosts that cannot be reached are counted elsewhere.
        "--skip-audits=errors-in-console",
        "--disable-full-page-screenshot",
        f"--chrome-flags={' '.join(flags)}",
        *("--output=json", "--quiet", "--no-enable-error-reporting"),
    )
    scores = {name: report["categories"][name]["score"] for name in CATEGORIES}
    values = {key: report["audits"][name] for key, name in METRICS.items()}
    found = {name: round(100 * (score or 0)) for name, score in scores.items()}
    found |= {key: audit["numericValue"] for key, audit in values.items()}
    return found | {"lcp": found["lcp"] / 1000}


def html_validate(page: Path) -> int:
    """How many errors html-validate finds, style aside."""
    program = tools.NODE_MODULES / PROGRAMS[1]
    with tempfile.TemporaryDirectory() as folder:
        # Through a pipe a long report comes cut off.
        found = Path(folder) / "found.json"
        options = ("--config", RULES, "--formatter", f"json={found}")
        command = map(str, (tools.node(), program, *options, page))
        subprocess.run([*command], capture_output=True)
        files = json.loads(found.read_text("utf-8"))
    return sum(file["errorCount"] for file in files)


def nu_checker(page: Path, jar: Path) -> int:
    """How many errors the Nu HTML checker finds."""
    if not jar.is_file():
        raise BookError("no such file; npm's vnu-jar has it", jar)
    command: list[str | Path] = [
        *("java", "-jar"),
        jar,
        "--format",
        "json",
        "--errors-only",
        page,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    messages = json.loads(done.stderr)["messages"]
    return sum(message["type"] == "error" for message in messages)


def _json_of(*command: str | Path) -> Any:
    environment = os.environ | {"CHROME_PATH": tools.chromium()}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    try:
        return json.loads(done.stdout)
    except ValueError:
        last = done.stderr.strip()[-300:]
        raise BookError(f"gave no report: {last}", Path(command[1]).name) from None


def versions() -> dict[str, str]:
    """The versions of the programs that measure."""
    command = [tools.chromium(), "--version", "--no-sandbox"]
    said = subprocess.run(command, capture_output=True, text=True).stdout
    found = {"Chromium": said.split()[1]}
    for name in ("lighthouse", "axe-core", "html-validate"):
        package = (tools.NODE_MODULES / name / "package.json").read_text("utf-8")
        found[name] = json.loads(package)["version"]
    return found
