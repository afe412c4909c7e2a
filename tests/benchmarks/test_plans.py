"""The stored plans are those of today's code, cards and compiler."""

import csv
import math
import re
from typing import Any

import pytest

from benchmarks import kernel_plans, plans

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


@pytest.mark.parametrize("module", [plans, kernel_plans])
def test_the_stored_plans_are_of_the_pinned_compiler(module):
    pins = (plans.ROOT / "environments/plans.txt").read_text().splitlines()
    with module.FILE.open(encoding="utf-8", newline="") as file:
        (version,) = {row["jax"] for row in csv.DictReader(file)}
    assert f"jax=={version}" in pins and f"jax-cuda12-plugin=={version}" in pins


def test_each_plan_is_stored_once_and_has_all_columns():
    keys = [(row["model"], row["card"], row["num_gpus"]) for row in ROWS]
    assert len(keys) == len(set(keys)) == 7 * len(plans.CARDS) * 2 + 1 + 3
    assert set(ROWS[0]) == set(plans.COLUMNS)
    assert all(int(row[role]) >= 0 for row in ROWS for role in plans.ROLES)


CARDS, LIBRARY, PINS = "d2l/cards.csv", "d2l/jax.py", "environments/plans.txt"


@pytest.mark.parametrize(
    "name, old, new, stale",
    [
        (LIBRARY, "jax.nn.silu(", "jax.nn.gelu(", True),
        (CARDS, "T4,cores,40", "T4,cores,41", True),
        (CARDS, "A100,capability,8.0", "A100,capability,8.6", True),
        (PINS, "jax-cuda12-plugin==", "jax-cuda12-plugin==1", True),
        (LIBRARY, '"""Return the memory that XLA plans', '"""Return the bytes', False),
        (LIBRARY, "class SGD", "class Descent", False),
        # Data that do not reach the compiler
        (CARDS, "T4,blocks,16", "T4,sockets,1,,assumed\nT4,blocks,15", False),
        (CARDS, "T4,pcie,16", "T4,pcie,15", False),
    ],
)
def test_what_plans_depend_on_makes_them_out_of_date(copy, name, old, new, stale):
    before = plans.inputs_digest(copy.root)
    assert before == plans.inputs_digest()
    copy.replace(name, old, new)
    assert (plans.inputs_digest(copy.root) != before) == stale


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
            plans.inputs_digest(copy.root, needed)
            for needed in (plans.DEFINITIONS, plans.PROGRAM_DEFINITIONS)
        ]

    before = digests()
    copy.replace(plans.SECTION, old, new)
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


def test_a_missing_definition_is_named(copy):
    copy.replace(LIBRARY, "def rotate(", "def turn(")
    with pytest.raises(ValueError, match="does not define rotate"):
        plans.inputs_digest(copy.root)
