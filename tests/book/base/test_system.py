"""Missing programs and fonts are found, installed by root, else named."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from book.base import system
from book.runner.errors import BookError

ROOT = Path(__file__).parents[3]
LIST = """\
[book]
git = "command -v git"

[print]
made-up-printer = "command -v made-up-print"
fonts-made-up = "fc-list | grep 'Made Up Mono'"

[browser]
chromium-headless-shell = 'command -v "${CHROME_PATH:-chromium-headless-shell}"'
"""
# Stands in for apt-get: notes its calls; an installation brings every program and
# font, unless a file beside it says that it fails.
APT = """\
#!/bin/sh
echo "apt-get $*" >> {here}/calls
echo progress
case "$*" in
*install*)
    if [ -e {here}/fails ]; then echo 'E: refused' >&2; exit 100; fi
    for name in made-up-print chromium-headless-shell; do
        printf '#!/bin/sh\\necho %s\\n' $name > {here}/$name; chmod +x {here}/$name
    done
    printf '#!/bin/sh\\necho "Made Up,Made Up Mono"\\n' > {here}/fc-list
    chmod +x {here}/fc-list;;
esac
"""
EVERYTHING = "made-up-printer fonts-made-up chromium-headless-shell"


class Machine:
    """A made-up machine whose programs are in one folder."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch):
        self.folder = folder
        folder.mkdir(parents=True)
        (folder / "list.toml").write_text(LIST)
        for tool in ("git", "grep", "sh", "chmod"):
            (folder / tool).symlink_to(str(shutil.which(tool)))
        self.add("apt-get", APT)
        self.user = 0
        monkeypatch.setattr(system, "LIST", folder / "list.toml")
        monkeypatch.setattr(os, "geteuid", lambda: self.user)
        monkeypatch.setenv("PATH", str(folder))
        monkeypatch.delenv("CHROME_PATH", raising=False)

    def add(self, name: str, program: str = "#!/bin/sh\n") -> None:
        (self.folder / name).write_text(program.format(here=self.folder))
        (self.folder / name).chmod(0o755)

    def calls(self) -> list[str]:
        log = self.folder / "calls"
        return log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path / "bin", monkeypatch)


def test_missing_packages_are_found(machine: Machine):
    assert system.missing("book") == []
    assert system.missing() == EVERYTHING.split()
    machine.add("fc-list", "#!/bin/sh\necho 'Made Up Mono,Mono'\n")
    assert system.missing("print") == ["made-up-printer"]


def test_a_variable_may_name_the_browser(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
):
    machine.add("my-browser")
    monkeypatch.setenv("CHROME_PATH", str(machine.folder / "my-browser"))
    assert system.browser() == str(machine.folder / "my-browser")
    monkeypatch.setenv("CHROME_PATH", "/nowhere/browser")
    for action in (system.browser, system.check, system.install):
        with pytest.raises(BookError, match="^CHROME_PATH: '/nowhere/browser' is not"):
            action()
    assert machine.calls() == []  # root does not install what the variable replaces


@pytest.mark.parametrize("action", [system.check, system.install])
def test_others_than_root_are_told_the_command_and_nothing_is_run(
    machine: Machine, action
):
    machine.user = 1000
    with pytest.raises(BookError) as refused:
        action("browser")
    assert str(refused.value) == (
        "not installed: chromium-headless-shell; on Debian, run: sudo sh -c 'apt-get"
        " update && apt-get install --yes --no-install-recommends"
        " chromium-headless-shell'; elsewhere, see System packages in CONTRIBUTING.md"
    )
    assert machine.calls() == []
    action("book")  # where all is there, anyone may ask


def test_root_installs_what_is_missing(
    machine: Machine, capfd: pytest.CaptureFixture[str]
):
    system.install()
    install = f"apt-get install --yes --no-install-recommends {EVERYTHING}"
    assert machine.calls() == ["apt-get update", install]
    printed = capfd.readouterr()
    assert printed.err.startswith(f"installing {EVERYTHING}\nprogress\n")
    assert printed.out == ""
    system.install()
    assert len(machine.calls()) == 2
    assert capfd.readouterr().err == ""


def test_only_the_group_that_is_asked_for_is_installed(machine: Machine):
    system.install("browser")
    assert machine.calls()[-1].endswith("recommends chromium-headless-shell")


def test_a_failed_installation_ends_in_one_clear_line(
    machine: Machine, capfd: pytest.CaptureFixture[str]
):
    (machine.folder / "fails").touch()
    assert system.main(["install", "browser"]) == 1
    *above, last = capfd.readouterr().err.splitlines()
    assert above[-1] == "E: refused"
    assert last.startswith("error: not installed: chromium-headless-shell; on Debian")


def test_other_systems_are_told_where_to_look(machine: Machine):
    (machine.folder / "apt-get").unlink()
    with pytest.raises(BookError, match="; elsewhere, see System packages"):
        system.install()


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "error: usage: "),
        (["remove"], "error: usage: "),
    ],
)
def test_a_wrong_call_is_one_line(
    arguments: list[str],
    message: str,
    machine: Machine,
    capsys: pytest.CaptureFixture[str],
):
    assert system.main(arguments) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(message)


# The book's own list


def test_a_test_of_the_list_fails_for_what_is_not_there():
    for name, test in system.packages().items():
        wrong = re.sub(r"(\w[\w.'-]*)(\W*)$", r"no-\1-at-all\2", test)
        without = {k: v for k, v in os.environ.items() if k != "CHROME_PATH"}
        done = subprocess.run(wrong, shell=True, capture_output=True, env=without)
        assert done.returncode, name


def test_the_readme_names_the_packages_of_the_book():
    readme = (ROOT / "README.md").read_text("utf-8")
    debian = " ".join(["apt-get install", *system.packages("book")])
    assert f"`sudo {debian}`" in readme


def test_no_message_names_a_package_that_is_not_listed():
    files = [ROOT / "Makefile", *(ROOT / "book").rglob("*.py")]
    found = re.findall(
        r"apt-get install ([a-z][\w-]+)",
        " ".join(path.read_text("utf-8") for path in files),
    )
    assert found and set(found) <= set(system.packages())


def test_the_module_needs_nothing_but_the_standard_library():
    code = "import sys, book.base.system; print(*sys.modules)"
    command = [
        sys.executable,
        "-I",
        "-S",
        "-c",
        f"import sys; sys.path[:0] = ['.']; {code}",
    ]
    loaded = subprocess.check_output(command, cwd=ROOT, text=True).split()
    roots = {name.partition(".")[0] for name in loaded}
    assert roots - set(sys.stdlib_module_names) <= {"book", "__main__"}
