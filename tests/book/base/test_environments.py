"""Environments are built when due, once, and whole or not at all."""

import io
import sys
import threading
import time
from pathlib import Path

import pytest
from fake_uv import Uv

from book.base import environments
from book.base.files import locked
from book.runner.errors import BookError

# What uv and pip print without a network.
UV_ALONE = """\
error: Request failed after 3 retries
  Caused by: Failed to fetch: `https://host/simple/jax/`
  Caused by: dns error
  Caused by: failed to lookup address information: Temporary failure in name resolution
"""
PIP_ALONE = """\
WARNING: Retrying after connection broken by 'NewConnectionError('<connection at
0x7fda7e5646d0>: Failed to establish a new connection: [Errno 111] Connection refused')'
ERROR: Could not find a version that satisfies the requirement uv (from versions: none)
ERROR: No matching distribution found for uv==0.13.8
"""


def test_built_on_first_use_and_not_again(root: Path, uv: Uv):
    interpreter = environments.python("jax", root)
    assert interpreter == root / ".venvs/jax/bin/python" and interpreter.exists()
    assert [call.split()[0] for call in uv.calls()] == ["venv", "pip"]
    environments.python("jax", root)
    assert len(uv.calls()) == 2


def test_built_again_when_the_pins_change(root: Path, uv: Uv):
    environments.python("jax", root)
    (root / "environments/jax.txt").write_text("jax==0.10.3\n")
    environments.python("jax", root)
    assert len(uv.calls()) == 4


def test_half_made_folder_is_built_again(root: Path, uv: Uv):
    half = root / ".venvs/jax/bin/python"
    half.parent.mkdir(parents=True)
    half.touch()
    environments.python("jax", root)
    assert len(uv.calls()) == 2


def test_failure_is_one_line_and_leaves_nothing(root: Path, uv: Uv):
    uv.fail()
    with pytest.raises(BookError, match="nosuch was not found") as caught:
        environments.python("jax", root)
    assert "\n" not in str(caught.value)
    assert not (root / ".venvs/jax").exists()


def test_the_size_of_an_environment_is_printed_before_it_is_built(
    root: Path, uv: Uv, capsys: pytest.CaptureFixture[str]
):
    uv.fail()
    with pytest.raises(BookError):
        environments.python("jax", root)
    first, *_ = capsys.readouterr().err.splitlines()
    size = environments.SIZES["jax"]
    assert first == f"building .venvs/jax from environments/jax.txt: about {size}"


def test_pandoc_is_on_the_path_of_an_environment(root: Path, uv: Uv):
    interpreter = environments.python("jax", root)
    assert (interpreter.parent / "pandoc").read_text() == "pandoc\n"


@pytest.mark.parametrize(
    "output, reason",
    [(UV_ALONE, "name resolution failed"), (PIP_ALONE, "connection refused")],
)
def test_without_a_network_the_reason_is_short(
    root: Path, uv: Uv, output: str, reason: str
):
    uv.log.with_name("uv").write_text(f"#!/bin/sh\ncat << 'E'\n{output}E\nexit 2\n")
    with pytest.raises(BookError) as caught:
        environments.python("jax", root)
    failed = "environments/jax.txt cannot be installed"
    assert str(caught.value) == f"{failed}: cannot reach the package index ({reason})"


def test_two_at_once_build_it_once(root: Path, uv: Uv):
    threads = [
        threading.Thread(target=environments.python, args=("jax", root))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(uv.calls()) == 2


def test_one_that_waits_says_what_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    lock, order, told = tmp_path / "deep" / ".lock", list[str](), io.StringIO()
    monkeypatch.setattr(sys, "stderr", told)

    def second() -> None:
        with locked(lock, "another process works"):
            order.append("second")

    with locked(lock, "nobody"):
        thread = threading.Thread(target=second)
        thread.start()
        while "waiting: another process works\n" not in told.getvalue():
            time.sleep(0.01)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_a_lock_that_cannot_be_made(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(BookError, match="cannot be created"):
        with locked(tmp_path / "file" / ".lock", "nobody"):
            pass


def test_unknown_environment(root: Path):
    with pytest.raises(BookError, match="no environment 'jaxx'; there are jax"):
        environments.python("jaxx", root)


def test_neither_venv_nor_pip(
    root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    (root / "environments/uv.txt").write_text("uv==0.13.8\n")
    broken = tmp_path / "python3.11"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(environments.sys, "executable", str(broken))
    monkeypatch.setattr(environments.shutil, "which", lambda name: None)
    with pytest.raises(BookError, match="apt-get install python3-venv"):
        environments.python("jax", root)


# Stands in for Python: makes an environment, whose pip is this program, too.
PYTHON = """\
#!/bin/sh
echo "$@" >> "{log}"
if [ "$2" = venv ]; then
    mkdir -p "$3/bin" && cp "$0" "$3/bin/python"
else
    touch "${{0%python}}uv"
fi
"""


def test_uv_is_fetched_again_when_its_pin_changes_and_only_then(
    root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    python, log, pins = (tmp_path / n for n in ("python", "log", "environments/uv.txt"))
    python.write_text(PYTHON.format(log=log))
    python.chmod(0o755)
    monkeypatch.setattr(environments.sys, "executable", str(python))
    monkeypatch.setattr(environments.shutil, "which", lambda name: None)
    for version, fetched in (("0.13.8", 1), ("0.13.8", 1), ("0.13.9", 2)):
        pins.write_text(f"uv=={version}\n")
        assert environments.uv_command(root) == [f"{root}/.venvs/uv/bin/uv"]
        assert log.read_text().count(" venv ") == fetched


def test_pins_have_no_comments(root: Path):
    (root / "environments/jax.txt").write_text("# all\njax==1  # why\n\nnumpy==2\n")
    assert environments.pins("jax", root) == ["jax==1", "numpy==2"]


def test_the_pins_of_a_system_are_those_whose_markers_hold(root: Path):
    lines = [
        "a==1",
        "b==2 ; sys_platform == 'darwin'",
        "c==3 ; sys_platform == 'linux'",
    ]
    lines += ["d==4 ; platform_machine == 'x86_64'"]
    (root / "environments/jax.txt").write_text("\n".join(lines))
    linux = environments.RECORDING
    assert environments.pins_on(linux, "jax", root) == ["a==1", "c==3", "d==4"]
    mac = {"sys_platform": "darwin", "platform_machine": "arm64"}
    assert environments.pins_on(mac, "jax", root) == ["a==1", "b==2"]


def test_uv_is_told_what_pip_is_told():
    told = {"PIP_FIND_LINKS": "/wheels /more", "VIRTUAL_ENV": "/elsewhere"}
    settings = environments.uv_settings(told)
    assert settings["UV_FIND_LINKS"] == "/wheels,/more"
    assert settings["UV_PYTHON_DOWNLOADS"] == "never"
    assert "VIRTUAL_ENV" not in settings
    assert environments.uv_settings(told | {"UV_FIND_LINKS": "/own"})[
        "UV_FIND_LINKS"
    ] == ("/own")


def test_main_says_what_is_wrong_in_one_line(capsys: pytest.CaptureFixture[str]):
    assert environments.main(["nosuch"]) == 1
    assert capsys.readouterr().err.startswith("error: ")
