"""The orders and the simulated times of a pipeline, and stored collectives.

Those are read by `d2l/tables.py`.
"""

import itertools

import pytest

pytestmark = pytest.mark.shared

SIZES = [(1, 1), (1, 5), (2, 1), (3, 2), (4, 8), (5, 7), (8, 3)]
SCHEDULES = ["GPipe", "1F1B"]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_microbatches_held(d2l, sizes):
    p, m = sizes
    for schedule in SCHEDULES:
        for stage in range(p):
            held = most = 0
            for name, _ in d2l.pipeline_order(schedule, stage, p, m):
                held += 1 if name == "forward" else -1
                most = max(most, held)
            assert most == (m if schedule == "GPipe" else min(p - stage, m))


def test_a_schedule_that_does_not_exist(d2l):
    with pytest.raises(ValueError, match="must be 'GPipe' or '1F1B', not 'gpipe'"):
        d2l.pipeline_times("gpipe", 4, 4)


@pytest.mark.parametrize(
    ("schedule", "sizes"), [*itertools.product(SCHEDULES, SIZES)], ids=str
)
@pytest.mark.parametrize("backward", [1, 2, 3.5])
def test_a_step_takes_the_predicted_time(d2l, schedule, sizes, backward):
    p, m = sizes
    rows = d2l.pipeline_times(schedule, p, m, forward=1, backward=backward)
    assert len(rows) == p
    total = max(start + duration for row in rows for _, start, duration in row)
    if schedule == "GPipe" or m >= p:
        assert total == pytest.approx((m + p - 1) * (1 + backward))
    for row in rows:  # a stage does one thing at a time
        for (_, start, duration), (_, after, _) in itertools.pairwise(row):
            assert start + duration <= after + 1e-9


def test_work_waits_for_what_it_needs(d2l):
    first, second = d2l.pipeline_times("1F1B", 2, 2)
    assert [(name, start) for name, start, _ in first] == [
        ("forward", 0),
        ("forward", 1),
        ("backward", 4),
        ("backward", 7),
    ]
    assert [(name, start) for name, start, _ in second] == [
        ("forward", 1),
        ("backward", 2),
        ("forward", 4),
        ("backward", 5),
    ]


def test_stored_collectives_have_their_counts_and_bytes(d2l):
    found = d2l.stored_collectives("fsdp")
    assert [*found] == [8, 64]
    assert list(map(str, found[64])) == [
        "Collective(kind='all-gather', count=8, nbytes=134217728)",
        "Collective(kind='reduce-scatter', count=1, nbytes=134217728)",
    ]


def test_unknown_layout(d2l):
    known = "^no layout 'ring'; the layouts are data, fsdp, tensor$"
    with pytest.raises(ValueError, match=known):
        d2l.stored_collectives("ring")
