"""Commands get the version of a pin that has changed; sentences are shown to read."""

from pathlib import Path

import pytest

from book.base import mentions
from book.base.mentions import Change

JAX = Change("jax", "0.10.2", "0.11.0")


def versions(folder: Path, pins: str) -> dict[tuple[str, str], str]:
    (folder / "jax.txt").write_text(pins)
    return mentions.versions([folder / "jax.txt", folder / "missing.txt"])


@pytest.mark.parametrize(
    "requirement", ["numba-cuda[cu12]", "numba-cuda; os == 'a'", "numba-cuda>=1,<2"]
)
def test_a_requirement_names_its_package(requirement: str):
    assert mentions.package(requirement) == "numba-cuda"


def test_only_a_pin_with_another_version_is_a_change(tmp_path: Path):
    before = versions(tmp_path, "a==1\njax==0.10.2 ; os_name == 'nt'\ngone==1\n")
    after = versions(tmp_path, "a==1\njax==0.11.0 ; os_name == 'nt'\nnew==1\n")
    assert mentions.changes(before, after) == [JAX]


@pytest.mark.parametrize(
    "text, renewed",
    [
        ("`jax[cuda13]==0.10.2`", "`jax[cuda13]==0.11.0`"),
        ("| jax 0.10.2, flax 1.0 |", "| jax 0.11.0, flax 1.0 |"),
        ("end with jax==0.10.2.", "end with jax==0.11.0."),
        ("a-jax==0.10.2, jax==0.10.21, jax==0.10.2.1, jax==0.10.2rc1", None),
        ("since JAX 0.10.2", None),
    ],
)
def test_commands_and_the_table_get_the_new_version(
    text: str, renewed: str | None, tmp_path: Path
):
    file = tmp_path / "README.md"
    file.write_text(text)
    file.chmod(0o600)
    assert mentions.renew([JAX], tmp_path) == ([file] if renewed else [])
    assert file.read_text() == (renewed or text)
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    "line, is_shown",
    [
        ("made by JAX 0.10.2.", True),
        ("the interpreter of JAX 0.10. It", True),
        ("JAX 0.7.2 and 0.10.2", True),
        ("JAX 0.10.1, JAX 0.10.21 and JAX 1.0.10", False),
        ("MXNet 0.10.2", False),
    ],
)
def test_a_line_that_speaks_of_the_old_version_is_shown(
    line: str, is_shown: bool, tmp_path: Path
):
    chapter = tmp_path / "chapter_gpus"
    chapter.mkdir()
    (chapter / "a.md").write_text(f"# A\n  {line}\n")
    shown = [f"chapter_gpus/a.md:2: {line}"] if is_shown else []
    assert mentions.places([JAX], tmp_path) == shown


def test_a_name_in_prose_may_differ_from_the_package(tmp_path: Path):
    (tmp_path / "README.md").write_text("PyTorch 2.13\nTensorFlow 2.21.0\n")
    changed = [Change("torch", "2.13.0", "2.15.0")]
    assert mentions.places(changed, tmp_path) == ["README.md:1: PyTorch 2.13"]
    changed = [Change("tensorflow-cpu", "2.21.0", "2.22.0")]
    assert mentions.places(changed, tmp_path) == ["README.md:2: TensorFlow 2.21.0"]


def test_generated_files_are_not_shown(tmp_path: Path):
    (tmp_path / "d2l").mkdir()
    for name in ("jax.py", "cards.py"):
        (tmp_path / "d2l" / name).write_text("# JAX 0.10.2\n")
    assert mentions.places([JAX], tmp_path) == ["d2l/cards.py:1: # JAX 0.10.2"]
