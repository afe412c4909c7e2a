"""The stored plans are those of today's code, cards and compiler."""

import csv
import math
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from benchmarks import plans

with plans.FILE.open(encoding="utf-8", newline="") as file:
    ROWS = list(csv.DictReader(file))
PROGRAMS = {row["model"]: row["text"] for row in ROWS if row["text"]}


def test_the_stored_plans_are_up_to_date():
    for needed, has_program in (
        (plans.DEFINITIONS, False),
        (plans.PROGRAM_DEFINITIONS, True),
    ):
        stored = {row["inputs"] for row in ROWS if bool(row["text"]) == has_program}
        assert stored == {plans.inputs_digest(needed=needed)}, "run make plans"


def test_the_stored_plans_are_of_the_pinned_compiler():
    pins = (plans.ROOT / "environments/plans.txt").read_text().splitlines()
    (version,) = {row["jax"] for row in ROWS}
    assert f"jax=={version}" in pins and f"jax-cuda12-plugin=={version}" in pins


def test_each_plan_is_stored_once_and_has_all_columns():
    keys = [(row["model"], row["card"], row["num_gpus"]) for row in ROWS]
    assert len(keys) == len(set(keys)) == 7 * len(plans.CARDS) * 2 + 1 + 3
    assert set(ROWS[0]) == set(plans.COLUMNS)
    assert all(int(row[role]) >= 0 for row in ROWS for role in plans.ROLES)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in (
        *("d2l/jax.py", "d2l/cards.csv", "benchmarks/plans.py", plans.SECTION),
    ):
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
        ("d2l/cards.csv", "A100,capability,8.0", "A100,capability,8.6"),
        ("environments/plans.txt", "jax-cuda12-plugin==", "jax-cuda12-plugin==1"),
    ],
)
def test_what_plans_depend_on_makes_them_out_of_date(copy, name, old, new):
    before = plans.inputs_digest(copy)
    text = (copy / name).read_text()
    assert before == plans.inputs_digest() and old in text
    (copy / name).write_text(text.replace(old, new))
    assert plans.inputs_digest(copy) != before


@pytest.mark.parametrize(
    "old, new, stale",
    [
        (
            "for _ in range(4):\n        x = x * 1.01",
            "for _ in range(5):\n        x = x",
            1,
        ),
        ("nn.LayerNorm(", "nn.RMSNorm(", 1),
        ("nn.Dense(width, use_bias=False)", "nn.Dense(width)", 0),
        ("F.layer_norm(", "F.rms_norm(", 0),  # of PyTorch's tab
    ],
)
def test_programs_are_out_of_date_if_their_functions_change(copy, old, new, stale):
    def digests():
        return [
            plans.inputs_digest(copy, needed)
            for needed in (plans.DEFINITIONS, plans.PROGRAM_DEFINITIONS)
        ]

    before = digests()
    text = (copy / plans.SECTION).read_text()
    assert text.count(old) >= 1
    (copy / plans.SECTION).write_text(text.replace(old, new))
    assert digests()[0] == before[0] and (digests()[1] != before[1]) == stale


def test_stored_programs_do_not_say_where_they_were_compiled():
    for text in PROGRAMS.values():
        assert not re.search(r"/|metadata|sharding|frontend|FileNames|\n", text)


X, ROW, COLUMN = 4 * 4096 * 1024, 4 * 1024, 4 * 4096  # bytes


@pytest.mark.parametrize(
    "name, arrays",
    [
        ("chain", [2 * 4 * 2**24]),
        ("norm", [2 * X + 2 * ROW]),
        # The sums; one over the standard deviation; the result, from both.
        (
            "norm-fast",
            [X + 2 * COLUMN, 3 * COLUMN, 2 * X + 2 * ROW + 2 * COLUMN],
        ),
    ],
)
def test_the_section_counts_the_bytes_of_stored_programs(capsys, name, arrays):
    names: dict[str, Any] = {"re": re, "math": math}
    for _, code in plans.definitions(plans.ROOT / plans.SECTION, {"print_fusions"}):
        exec(code, names)
    names["print_fusions"]("H100", PROGRAMS[name].replace("; ", "\n"))
    title, *lines = capsys.readouterr().out.splitlines()
    assert title == f"H100: {sum(arrays) / 1e6:.1f} MB, fusions: {len(arrays)}"
    assert [float(line.split()[0]) for line in lines] == [
        round(nbytes / 1e6, 1) for nbytes in arrays
    ]


def test_other_parts_of_the_library_leave_plans_up_to_date(copy):
    before = plans.inputs_digest(copy)
    text = (copy / "d2l/jax.py").read_text()
    assert '"""Return the memory that XLA plans' in text and "class SGD" in text
    text = text.replace(
        '"""Return the memory that XLA plans', '"""Return the bytes that'
    )
    (copy / "d2l/jax.py").write_text(text.replace("class SGD", "class Descent"))
    assert plans.inputs_digest(copy) == before


def test_properties_that_the_compiler_does_not_get_leave_plans_up_to_date(copy):
    before = plans.inputs_digest(copy)
    text = (copy / "d2l/cards.csv").read_text()
    assert "T4,blocks,16" in text and "T4,pcie,16" in text
    text = text.replace("T4,blocks,16", "T4,blocks,15").replace(
        "T4,pcie,16", "T4,pcie,15"
    )
    (copy / "d2l/cards.csv").write_text(text + "T4,sockets,1,,assumed\n")
    assert plans.inputs_digest(copy) == before


def test_a_missing_definition_is_named(copy):
    text = (copy / "d2l/jax.py").read_text()
    (copy / "d2l/jax.py").write_text(text.replace("def rotate(", "def turn("))
    with pytest.raises(ValueError, match="does not define rotate"):
        plans.inputs_digest(copy)
