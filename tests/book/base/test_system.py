"""Missing programs and fonts are found, installed if that is allowed, else named."""

import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from book.base import system
from book.base.errors import BookError

ROOT = Path(__file__).parents[3]
LIST = """\
[book]
git = { commands = ["git"] }

[print]
made-up-printer = { commands = ["made-up-print"] }
fonts-made-up = { fonts = ["Made Up", "Made Up Mono"] }

[browser]
chromium-headless-shell = { commands = ["chromium-headless-shell"] }
"""
# Stands in for apt-get: notes its calls; an installation brings every program and
# font, unless a file beside it says that it fails, or fails with an old index.
APT = """\
#!/bin/sh
echo "apt-get $*" >> {here}/calls
echo progress
case "$*" in
*update*) rm -f {here}/old; touch {index}/a_Packages;;
*install*)
    if [ -e {here}/fails -o -e {here}/old ]; then echo 'E: refused' >&2; exit 100; fi
    for name in made-up-print chromium-headless-shell; do
        printf '#!/bin/sh\\necho %s\\n' $name > {here}/$name; chmod +x {here}/$name
    done
    printf '#!/bin/sh\\necho "Made Up"; echo "Other,Made Up Mono"\\n' > {here}/fc-list
    chmod +x {here}/fc-list;;
esac
"""
SUDO = """\
#!/bin/sh
if [ -e {here}/refuses ]; then exit 1; fi
shift
exec "$@"
"""
EVERYTHING = "made-up-printer fonts-made-up chromium-headless-shell"


class Machine:
    """A made-up machine whose programs are in one folder."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch):
        self.folder = folder
        self.index = folder / "index"
        self.index.mkdir(parents=True)
        (folder / "list.toml").write_text(LIST)
        for tool in ("env", "git", "sh", "touch", "true", "rm", "chmod"):
            (folder / tool).symlink_to(str(shutil.which(tool)))
        self.add("apt-get", APT)
        self.user = 0
        monkeypatch.setattr(system, "LIST", folder / "list.toml")
        monkeypatch.setattr(system, "APT_INDEX", self.index)
        monkeypatch.setattr(os, "geteuid", lambda: self.user)
        monkeypatch.setenv("PATH", str(folder))
        monkeypatch.delenv("CHROME_PATH", raising=False)

    def add(self, name: str, program: str = "#!/bin/sh\n") -> None:
        program = program.format(here=self.folder, index=self.index)
        (self.folder / name).write_text(program)
        (self.folder / name).chmod(0o755)

    def mark(self, name: str) -> None:
        (self.folder / name).touch()

    def calls(self) -> list[str]:
        """Return the calls of apt-get, without the option that is always there."""
        log = self.folder / "calls"
        lines = log.read_text().splitlines() if log.exists() else []
        return [line.replace("--option=DPkg::Lock::Timeout=300 ", "") for line in lines]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path / "bin", monkeypatch)


def test_missing_packages_are_found_by_what_they_bring(machine: Machine):
    assert system.missing("book") == {}
    assert system.missing("print") == {
        "made-up-printer": ["made-up-print"],
        "fonts-made-up": ["Made Up", "Made Up Mono"],
    }
    assert list(system.missing()) == EVERYTHING.split()


def test_one_missing_font_is_found(machine: Machine):
    machine.add("fc-list", "#!/bin/sh\necho 'Made Up Mono,Mono'\n")
    assert system.missing("print")["fonts-made-up"] == ["Made Up"]


def test_a_missing_library_is_found(machine: Machine):
    listed = '[made-up]\nlibmade = { libraries = ["libc.so.6", "libmade-up.so.9"] }\n'
    system.LIST.write_text(listed)
    assert system.missing() == {"libmade": ["libmade-up.so.9"]}


def test_a_variable_may_name_the_browser(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
):
    machine.add("my-browser")
    monkeypatch.setenv("CHROME_PATH", str(machine.folder / "my-browser"))
    assert system.missing("browser") == {}
    monkeypatch.setenv("CHROME_PATH", "/nowhere/browser")
    with pytest.raises(BookError, match="^CHROME_PATH: '/nowhere/browser' is not a"):
        system.missing("browser")


def test_check_names_the_command_that_installs(machine: Machine):
    machine.mark("index/a_Packages")
    with pytest.raises(BookError) as refused:
        system.check("browser")
    command = "apt-get install --no-install-recommends chromium-headless-shell"
    assert str(refused.value) == f"not installed: {system.BROWSER}; run: {command}"
    machine.user = 1000
    with pytest.raises(BookError, match=f"; run: sudo {command}$"):
        system.check("browser")
    assert machine.calls() == []


def test_the_command_fetches_an_index_where_there_is_none(machine: Machine):
    machine.user = 1000
    command = "sudo apt-get update && sudo apt-get install .* chromium-headless-shell$"
    with pytest.raises(BookError, match=command):
        system.check("browser")


def test_other_systems_are_told_what_is_missing(machine: Machine):
    (machine.folder / "apt-get").unlink()
    for action in (system.check, system.install):
        with pytest.raises(BookError) as refused:
            action()
        assert str(refused.value) == (
            "not installed: made-up-print, Made Up, Made Up Mono,"
            " chromium-headless-shell;"
            " install them by your system's own means"
        )


def test_root_installs_what_is_missing(
    machine: Machine, capfd: pytest.CaptureFixture[str]
):
    system.install()
    install = f"apt-get install --no-install-recommends --yes {EVERYTHING}"
    assert machine.calls() == ["apt-get update", install]
    printed = capfd.readouterr()
    assert printed.err.startswith(f"installing {EVERYTHING}\nprogress\n")
    assert printed.out == ""
    system.install()
    assert len(machine.calls()) == 2


def test_only_the_group_that_is_asked_for_is_installed(machine: Machine):
    machine.mark("index/a_Packages")
    system.install("browser")
    assert machine.calls() == [
        "apt-get install --no-install-recommends --yes chromium-headless-shell"
    ]


def test_an_old_index_is_fetched_again(machine: Machine):
    machine.mark("index/a_Packages")
    machine.mark("old")
    system.install("browser")
    assert [call.split()[1] for call in machine.calls()] == [
        *("install", "update", "install")
    ]


def test_others_install_by_sudo_if_that_asks_nothing(machine: Machine):
    machine.user = 1000
    machine.add("sudo", SUDO)
    system.install()
    assert len(machine.calls()) == 2 and system.missing() == {}


@pytest.mark.parametrize("has_sudo", [False, True])
def test_others_are_told_the_command_and_nothing_is_run(
    machine: Machine, has_sudo: bool
):
    machine.user = 1000
    if has_sudo:
        machine.add("sudo", SUDO)
        machine.mark("refuses")
    with pytest.raises(BookError, match=f"run: sudo .*{EVERYTHING}$"):
        system.install()
    assert machine.calls() == []


def test_a_failed_installation_ends_in_one_clear_line(
    machine: Machine, capfd: pytest.CaptureFixture[str]
):
    machine.mark("fails")
    assert system.main(["install", "browser"]) == 1
    assert len(machine.calls()) == 2
    *above, last = capfd.readouterr().err.splitlines()
    assert above[-1] == "E: refused"
    assert last == (
        "error: apt-get failed with status 100, for the reason above; afterwards run:"
        " apt-get install --no-install-recommends chromium-headless-shell"
    )


def test_packages_that_do_not_bring_what_is_needed(machine: Machine):
    machine.add("apt-get")
    with pytest.raises(
        BookError, match="but chromium-headless-shell is still missing$"
    ):
        system.install("browser")


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "error: usage: "),
        (["remove"], "error: usage: "),
        (["check", "nosuch"], "error: list.toml: no group 'nosuch'; there are book, "),
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


def test_every_package_has_evidence_that_is_looked_for():
    for group in tomllib.loads(system.LIST.read_text("utf-8")).values():
        for package, evidence in group.items():
            assert evidence and set(evidence) <= set(system.FINDERS), package


def test_the_guides_name_what_other_systems_need():
    readme = (ROOT / "README.md").read_text("utf-8")
    guide = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    _, _, section = guide.partition("### System packages\n")
    text = " ".join(section.partition("\n## ")[0].split())
    needs = [names for e in system.packages().values() for names in e.values()]
    for name in sum(needs, []):
        assert name in text
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


@pytest.mark.timing
def test_the_check_takes_less_than_a_second():
    times = []
    for _ in range(3):
        start = time.monotonic()
        system.missing()
        times.append(time.monotonic() - start)
    assert min(times) < 1
