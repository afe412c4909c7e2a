"""The stored plans are those of today's code, cards and compiler."""

import csv
import shutil
from pathlib import Path

import pytest

from benchmarks import plans

with plans.FILE.open(encoding="utf-8", newline="") as file:
    ROWS = list(csv.DictReader(file))


def test_the_stored_plans_are_up_to_date():
    stored = {row["inputs"] for row in ROWS}
    assert stored == {plans.inputs_digest()}, "run make plans"


def test_the_stored_plans_are_of_the_pinned_compiler():
    pins = (plans.ROOT / "environments/plans.txt").read_text().splitlines()
    (version,) = {row["jax"] for row in ROWS}
    assert f"jax=={version}" in pins and f"jax-cuda12-plugin=={version}" in pins


def test_each_plan_is_stored_once_and_has_all_columns():
    keys = [(row["model"], row["card"], row["num_gpus"]) for row in ROWS]
    assert len(keys) == len(set(keys)) == 7 * len(plans.CARDS) * 2
    assert set(ROWS[0]) == set(plans.COLUMNS)
    assert all(int(row[role]) >= 0 for row in ROWS for role in plans.ROLES)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in "d2l/jax.py", "d2l/cards.csv", "benchmarks/plans.py":
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(plans.ROOT / name, tmp_path / name)
    (tmp_path / "environments").mkdir()
    shutil.copy(plans.ROOT / "environments/plans.txt", tmp_path / "environments")
    return tmp_path


@pytest.mark.parametrize(
    "name, old, new",
    [
        ("d2l/jax.py", "jax.nn.silu(", "jax.nn.gelu("),
        ("d2l/cards.csv", "T4,cores,40", "T4,cores,41"),
        ("environments/plans.txt", "jax-cuda12-plugin==", "jax-cuda12-plugin==1"),
    ],
)
def test_what_plans_depend_on_makes_them_out_of_date(copy, name, old, new):
    before = plans.inputs_digest(copy)
    text = (copy / name).read_text()
    assert before == plans.inputs_digest() and old in text
    (copy / name).write_text(text.replace(old, new))
    assert plans.inputs_digest(copy) != before


def test_other_parts_of_the_library_leave_plans_up_to_date(copy):
    before = plans.inputs_digest(copy)
    text = (copy / "d2l/jax.py").read_text()
    assert '"""Return the memory that XLA plans' in text and "class SGD" in text
    text = text.replace(
        '"""Return the memory that XLA plans', '"""Return the bytes that'
    )
    (copy / "d2l/jax.py").write_text(text.replace("class SGD", "class Descent"))
    assert plans.inputs_digest(copy) == before


def test_a_missing_definition_is_named(copy):
    text = (copy / "d2l/jax.py").read_text()
    (copy / "d2l/jax.py").write_text(text.replace("def rotate(", "def turn("))
    with pytest.raises(ValueError, match="does not define rotate"):
        plans.inputs_digest(copy)
