"""The lists of pins cover all systems, and pins change only on request."""

from pathlib import Path

import pytest
from fake_uv import Uv

from book.base import locks
from book.runner.errors import BookError

PROJECT = """\
[project.optional-dependencies]
jax = ["jax>=1,<2; os_name == 'a'"]
pytorch = ["torch[b]"]
[dependency-groups]
run = ["ipykernel"]
run-jax = ["a-compiler"]
book = ["d2lbook"]
plans = ["jax-cuda12-plugin"]
"""
NAMES = ("book", "jax", "plans", "pytorch")
CUDA = "cuda-bindings==1\nnvidia-cuda-nvcc==1\n"


@pytest.fixture
def project(root: Path) -> Path:
    (root / "pyproject.toml").write_text(PROJECT)
    for name in NAMES:
        (root / f"environments/{name}.txt").write_text(f"a==1\nb-cuda==1\n{CUDA}")
    return root


@pytest.fixture
def calls(project: Path, uv: Uv) -> dict[str, str]:
    """The call of uv that makes each list."""
    made = locks.lock(root=project)
    assert made == [project / f"environments/{name}.txt" for name in NAMES]
    assert not list(project.glob("environments/*.new"))
    return dict(zip(NAMES, uv.calls(), strict=True))


def test_a_list_is_for_all_systems(calls):
    for call in calls.values():
        assert call.startswith("pip compile --python-version 3.11 --universal ")


def test_an_environment_of_a_tab_has_its_extra_and_its_groups(calls, project: Path):
    groups = f"--group {project}/pyproject.toml:"
    assert f"{groups}run {groups}run-jax --extra jax" in calls["jax"]
    assert f"{groups}run --extra pytorch" in calls["pytorch"]
    assert f"{groups}book" in calls["book"] and "--extra" not in calls["book"]


def test_the_compiler_for_gpus_stands_beside_the_pins_of_jax(calls, project: Path):
    first = f"--constraint {project}/environments/jax.txt"
    assert "--extra jax" in calls["plans"] and first in calls["plans"]
    assert f":plans {first}" in calls["plans"]


def test_only_pytorch_leaves_cuda_to_its_own_build(calls, project: Path):
    for name in NAMES:
        pins = (project / f"environments/{name}.txt").read_text()
        assert pins == f"a==1\nb-cuda==1\n{'' if name == 'pytorch' else CUDA}"


def test_a_wheel_of_this_machine_does_not_count(
    project: Path, uv: Uv, monkeypatch: pytest.MonkeyPatch
):
    program = uv.log.with_name("uv")
    program.write_text(f'#!/bin/sh\necho "$UV_FIND_LINKS$UV_INDEX" >> "{uv.log}"\n')
    monkeypatch.setenv("PIP_FIND_LINKS", "/wheels")
    monkeypatch.setenv("UV_INDEX", "an-index")
    locks.lock(root=project)
    assert set(uv.calls()) == {"an-index"}


@pytest.mark.parametrize(
    "upgrade, options",
    [
        ((), []),
        (("a",), ["--upgrade-package=a"]),
        (("1",), ["--upgrade"]),
        (("pytorch",), ["--upgrade-package=torch"]),
        (
            ("a", "jax"),
            [
                "--upgrade-package=a",
                "--upgrade-package=jax",
                "--upgrade-package=a-compiler",
                "--upgrade-package=jax-cuda12-plugin",
            ],
        ),
    ],
)
def test_pins_stay_unless_an_upgrade_is_asked_for(
    project: Path, uv: Uv, upgrade: tuple[str, ...], options: list[str]
):
    locks.lock(upgrade, project)
    for call in uv.calls():
        assert [w for w in call.split() if w.startswith("--upgrade")] == options


def test_texts_name_the_new_versions(
    project: Path, uv: Uv, capfd: pytest.CaptureFixture[str]
):
    readme, chapter = project / "README.md", project / "chapter_gpus/a.md"
    chapter.parent.mkdir()
    readme.write_text("`pip install a==1`\n")
    chapter.write_text("A 1 has a fault.\n")
    program = uv.log.with_name("uv")
    lists = f"{project}/environments/*.txt.new"
    program.write_text(f"#!/bin/sh\nsed -i s/^a==1/a==2/ {lists}\n")
    assert locks.lock(["a"], project)[-1] == readme
    assert readme.read_text() == "`pip install a==2`\n"
    assert chapter.read_text() == "A 1 has a fault.\n"
    shown = "read: is this still true? chapter_gpus/a.md:1: A 1 has a fault."
    assert capfd.readouterr().err.splitlines()[-1].endswith(shown)


def test_a_misspelt_package_is_named_before_anything_changes(project: Path, uv: Uv):
    with pytest.raises(BookError, match="UPGRADE: .*'nvidia-cuda'; .*-nvcc"):
        locks.lock(["nvidia-cuda"], project)
    assert uv.calls() == []


def test_a_list_that_cannot_be_resolved_stays(project: Path, uv: Uv):
    uv.fail()
    with pytest.raises(BookError, match="of book cannot be resolved: .*nosuch"):
        locks.lock(root=project)
    assert (project / "environments/book.txt").read_text().startswith("a==1\n")
    assert not list(project.glob("environments/*.new"))
