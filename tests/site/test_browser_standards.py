"""Every page meets the standards: axe, html-validate and Lighthouse find no fault."""

import json
import subprocess
from pathlib import Path
from pprint import pformat
from typing import Any

import pytest
import tools
from browsing import (
    PAGES,
    SCREENS,
    TABS,
    FaultsOf,
    Violations,
    Visitor,
    choose,
    each,
    probe,
    reach_everything,
    wait_for_copy_buttons,
)
from playwright.sync_api import Browser

# One of each kind: the front page and a section.
KINDS_OF_PAGE = ["index.html", "chapter_gpus/use-gpu.html"]


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("path", each(PAGES))
def test_axe_finds_nothing(
    open_http_page: Visitor, violations: Violations, path: str, screen: str
):
    page = open_http_page(path, **SCREENS[screen])
    reach_everything(page)
    # Nothing that axe looks at may be half under the bar.
    page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
    wrong = {}
    for tab in TABS[:1] if screen == "phone" else TABS:
        choose(page, tab)
        found = violations(page, fresh=tab != TABS[0], colors=screen == "dark")
        if found:
            wrong[tab] = found
    assert not wrong, pformat(wrong)


@pytest.mark.parametrize("path", each(PAGES))
def test_dark_changes_nothing_but_colors(open_http_page: Visitor, path: str):
    """So in the dark only the rules of color need to be applied again."""
    page = open_http_page(path)
    reach_everything(page)
    wait_for_copy_buttons(page)
    counts = set()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        counts.add(probe(page, "shown"))
    assert len(counts) == 1


def test_html_validate_finds_nothing(site: Path, faults_of: FaultsOf):
    assert faults_of(site) == []


@pytest.mark.timing
@pytest.mark.parametrize("path", KINDS_OF_PAGE)
def test_lighthouse_gives_full_marks(
    browser: Browser, debugging_port: int, http_url: str, node: str, path: str
):
    program = Path(__file__).with_name("lighthouse.mjs")
    done = subprocess.run(
        [node, program, tools.NODE_MODULES, str(debugging_port), http_url + path],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    (report,) = json.loads(done.stdout)
    scores = {name: c["score"] for name, c in report["categories"].items()}
    failed = [audit for audit in report["audits"].values() if audit["score"] == 0]
    assert set(scores.values()) == {1}, pformat([scores, *map(described, failed)])


def described(audit: dict[str, Any]) -> str:
    items = audit.get("details", {}).get("items", [])
    where = [i["node"]["selector"] for i in items if "node" in i]
    return f"{audit['title']} {where}"
