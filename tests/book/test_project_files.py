"""Every command, file and link that the guides name exists, and so do all settings."""

import os
import re
import subprocess
from itertools import takewhile
from pathlib import Path

import pytest

from book.base import environments
from book.checks.rules import FOR_AUTHORS
from book.text.book import Book
from book.text.tabs import TAB_NAMES

ROOT = Path(__file__).resolve().parents[2]
GUIDES = ("README.md", "CONTRIBUTING.md")
PLACEHOLDER = re.compile("TAB|NAME|MACHINE|SECTION|OWNER")
# The first folders of paths that the commands make.
MADE = (
    *("_build", ".venvs", "outputs", "results"),
    *("slides", "pdf", "notebooks", "colab", "sagemaker"),
)


def read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def targets() -> set[str]:
    """Return the targets that `make help` lists."""
    listed = re.findall(r"^([a-z0-9-]+):.*  ## ", read("Makefile"), re.MULTILINE)
    return {
        *listed,
        *(f"test-d2l-{tab.name}" for tab in (ROOT / "outputs/cpu").iterdir()),
    }


def commands(text: str) -> set[str]:
    """Return the targets of the commands `make TARGET` in a text."""
    code = re.findall(r"^```\n(.*?)^```|`([^`\n]+)`", text, re.MULTILINE | re.DOTALL)
    lines = "\n".join(map("".join, code)).splitlines()
    called = [line for line in lines if re.match(r"make\b", line)]
    return {
        word for line in called for word in re.findall(r"make ([a-z][a-z0-9-]*)", line)
    }


# Guides


@pytest.mark.parametrize("name", GUIDES)
def test_every_make_target_of_a_guide_exists(name: str):
    found = commands(read(name))
    assert found and found <= targets()


@pytest.mark.parametrize("name", GUIDES)
def test_every_path_in_a_guide_exists(name: str):
    named = re.findall(r"`([^`\s]+)`", read(name))
    paths = [path for path in named if re.fullmatch(r"[\w.-]+(/[\w.-]*)+", path)]
    kept = [p for p in paths if p.split("/")[0] not in MADE]
    kept = [p for p in kept if not PLACEHOLDER.search(p)]
    assert kept and [path for path in kept if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("name", GUIDES)
def test_every_relative_link_of_a_guide_exists(name: str):
    prose = re.sub(r"^```.*?^```|`[^`\n]+`", "", read(name), flags=re.M | re.S)
    links = re.findall(r"\]\(([^()\s]+)", prose)
    files = [li.partition("#")[0] for li in links if not re.match(r"[a-z]+:|#", li)]
    assert links and [file for file in files if not (ROOT / file).exists()] == []


def test_the_readme_gives_the_sizes_of_the_downloads():
    text = " ".join(read("README.md").split())
    downloads = {name: size.split()[0] for name, size in environments.SIZES.items()}
    assert f"`make` downloads {downloads['book']} GB" in text
    for tab, name in TAB_NAMES.items():
        assert re.search(rf"{name}(?: downloads)? {downloads[tab]} GB", text)


# The settings of make


def make(*arguments: str, **given: str) -> subprocess.CompletedProcess[str]:
    """Return what make would do, with variables in its environment, or why nothing."""
    command = ["make", "--dry-run", *arguments]
    own = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    own |= given
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=own)


@pytest.mark.parametrize("given", ["TABS=jax", "tab=jax", "SECTON=a b"])
def test_an_unknown_setting_is_refused(given: str):
    done = make("lab", given)
    assert done.returncode == 2 and done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert f"*** {given.split('=')[0]}: unknown setting; make help lists them" in line


def test_settings_and_variables_of_other_programs_are_accepted():
    others = ("CHROME_PATH=/chrome", "CI=true", "JAX_PLATFORMS=cpu")
    done = make("run", "test-book", "TAB=$(x)", "ALL=1", *others)
    assert done.returncode == 0 and done.stderr == ""


def test_another_make_may_give_variables_of_its_own():
    done = make("help", MAKELEVEL="1", MAKEFLAGS=" -- V=1 TAB=jax")
    assert done.returncode == 0 and done.stderr == ""


@pytest.mark.parametrize(
    "call, ignored",
    [
        ("html TAB=jax", "TAB"),
        ("TAB=jax", "TAB"),
        ("lib check SECTION=trainer", "SECTION"),
        ("pdf TAB=jax SECTION=trainer", "SECTION"),
        ("serve PORT=80 TAB=jax", "TAB"),
        ("bench-kernels GPUS=2", "GPUS"),
        ("html ALL=1", "ALL"),
        ("x'/y TAB=jax", "TAB"),
    ],
)
def test_a_setting_that_no_command_of_the_call_takes_is_refused(
    call: str, ignored: str
):
    done = make(*call.split())
    assert done.returncode == 2 and done.stdout == ""
    (line,) = done.stderr.splitlines()
    goals = " ".join(word for word in call.split() if "=" not in word) or "html"
    assert f"*** {ignored}: make {goals} does not take this setting; " in line


@pytest.mark.parametrize(
    "call",
    [
        *("run lib TAB=jax", "lib run TAB=jax", "test ALL=1", "test-d2l-jax ALL=1"),
        *("system test-book ALL=1", "check test-site ALL=1", "lock"),
        "test-wheel TAB=jax PYTHON=python3.13 OLDEST=",
    ],
)
def test_a_setting_that_one_command_of_the_call_takes_is_accepted(call: str):
    done = make(*call.split())
    assert done.returncode == 0 and done.stderr == ""


def test_help_names_the_settings_that_each_command_takes():
    rule = re.compile(r"^([a-z0-9-]+):.*  ## (.*)\n((?:\t.*\n)*)", re.MULTILINE)
    rules = rule.findall(read("Makefile"))
    named = {name: set(re.findall(r"\b([A-Z]+)=", text)) for name, text, _ in rules}
    taken = {name: set(re.findall("option,([A-Z]+)", code)) for name, _, code in rules}
    assert len(rules) > 30 and named == taken


def test_help_explains_every_setting():
    lines = re.findall("^SETTINGS [:+]= (.*)", read("Makefile"), re.MULTILINE)
    explained = " ".join(re.findall("@echo ['\"]([A-Z, ]+)", read("Makefile")))
    assert set(" ".join(lines).split()) <= set(explained.replace(",", "").split())


def test_the_readme_lists_the_sections_of_the_book():
    book, number, lines = Book(ROOT), 0, []
    appendix = book.setting("pages", "appendix")
    for part, pages in book.parts:
        lessons = [*takewhile(lambda page: page.name != appendix, pages)]
        titles = [page.title.title for page in lessons if page.title]
        shown = (f"{n}. {title}" for n, title in enumerate(titles, number + 1))
        number += len(titles)
        if part and titles:
            lines.append(f"- **{part}**: {', '.join(shown)}")
    _, _, listed = read("README.md").partition("## The Sections\n")
    listed, _, _ = listed.partition("Appendices")
    assert " ".join(listed.split()) == " ".join(lines)


def test_the_guide_names_each_rule_for_authors():
    _, _, rules = read("CONTRIBUTING.md").partition("### Follow the Rules")
    named = {*re.findall(r"`(\w+)`: ", rules)}
    assert {rule.__module__.rpartition(".")[2] for rule in FOR_AUTHORS} <= named
