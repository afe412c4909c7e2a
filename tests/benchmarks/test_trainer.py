"""Tests of the Trainer's bench without a framework: ratios, targets, the chart."""

import contextlib
import importlib
import json
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import pytest

from benchmarks import stock_d2l, trainer_report
from benchmarks.common import spread
from book.runner.errors import BookError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def chart(monkeypatch):
    """The script that draws the figure."""
    monkeypatch.syspath_prepend(ROOT / "img/src")
    return importlib.import_module("trainer-speed")


@pytest.fixture
def workloads(monkeypatch):
    """Return the module that a kernel of the bench imports."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks/loops")
    return importlib.import_module("workloads")


def runs(**times):
    """Three rounds; a variant takes its multiple of what the bare loop takes."""
    bare = [0.001, 0.002, 0.001]
    stock = {"d2l 1.0.3": 3, "d2l 1.0.3, plotting": 9}
    everything = {"bare": 1, "bare, again": 0.99} | stock | times
    return {
        name: [{"whole": 100 * b * times, "steady": b * times} for b in bare]
        for name, times in everything.items()
    }


@pytest.fixture
def found():
    workloads = {name: runs(silent=1.02, plotting=1.2) for name in ("linear", "mlp")}
    tab = {"versions": {"jax": "0.10.2"}, "runs": workloads}
    numbers = {"machine": "a machine", "gpus": 0, "load": 0.1, "rounds": 3}
    return {"date": "2026-01-01", **numbers, "tabs": {"jax": tab}}


def test_a_ratio_is_taken_within_a_round():
    found = trainer_report.ratios(runs(silent=1.5), "silent", "steady", "bare")
    assert found == pytest.approx([1.5, 1.5, 1.5])


def test_the_table_has_a_line_for_each_workload_and_kind(found):
    lines = trainer_report.table(found).splitlines()
    assert len(lines) == 2 + 4
    cells = [cell.strip() for cell in lines[3].strip("|").split("|")]
    assert cells[:2] == ["jax, linear, steady step", "1.000 (1.000 to 2.000)"]
    assert cells[2:4] == ["0.99", "1.02"]
    assert cells[5] == ""  # nothing of others was measured in JAX


def test_targets_are_told_with_what_was_reached(found):
    told = list(trainer_report.targets(found))
    held = {line.split(": ")[1]: line.rsplit(": ")[-1] for line in told}
    assert held == {
        "this Trainer, steady, linear": "yes",
        "this Trainer, steady, mlp": "yes",
        "this Trainer, plotting, steady, linear": "yes",
        "this Trainer, plotting, steady, mlp": "NO",
        "times as fast as d2l 1.0.3, plotting": "yes",
    }


def test_what_was_measured_is_kept_with_a_chart(found, tmp_path, capsys):
    trainer_report.write(found, tmp_path)
    assert json.loads((tmp_path / "trainer.json").read_text()) == found
    assert (tmp_path / "trainer.md").read_text() == capsys.readouterr().out[:-1]
    texts = [e.text for e in ET.parse(tmp_path / "trainer.svg").iter() if e.text]
    assert {"JAX", "this Trainer", "1.20", "9.00"} <= set(texts)


def test_bars_double_in_equal_steps(chart):
    assert chart.bar_length(0.9) == chart.bar_length(1) == 0
    assert chart.bar_length(8) - chart.bar_length(4) == pytest.approx(
        chart.bar_length(2)
    )


def test_the_figure_shows_the_kept_measurement(chart):
    kept = json.loads((ROOT / "benchmarks/results/trainer.json").read_text())
    ET.indent(root := chart.draw(kept))
    drawn = ET.tostring(root, encoding="unicode") + "\n"
    assert (ROOT / "img/trainer-speed.svg").read_text("utf-8") == drawn


def test_a_fix_that_fits_nowhere_is_refused(tmp_path, monkeypatch):
    def install(*arguments):
        (tmp_path / "d2l").mkdir(parents=True)
        (tmp_path / "d2l/torch.py").write_text("nothing")

    monkeypatch.setattr(stock_d2l.common, "uv", install)
    with pytest.raises(BookError, match="d2l 1.0.3 lacks 'import torchvision'"):
        stock_d2l.install(Path("python"), tmp_path)


@pytest.fixture
def now(workloads, monkeypatch):
    """The time, which passes only where a test says so."""
    now = [0.0]
    monkeypatch.setattr(workloads.time, "perf_counter", lambda: now[0])
    return now


def fit(seconds, now, done, workload, clock, epochs):
    """A loop whose first epoch takes ten times as long as the others."""
    for epoch in range(epochs):
        clock.epoch()
        now[0] += workload.steps * seconds * (1 if epoch else 10)
        done.append((seconds, epoch))
        clock.stop()


def test_a_clock_leaves_out_the_first_epoch(workloads, now):
    clock = workloads.Clock()
    fit(2, now, [], workloads.WORKLOADS["mlp"], clock, epochs=3)
    assert clock.epochs == [1200, 120, 120]
    assert clock.steady() == 120


def test_a_step_alone_is_taken_from_a_longer_run_if_there_is_one(workloads, now):
    done: list[tuple] = []
    run, mlp = partial(fit, 2, now, done), workloads.WORKLOADS["mlp"]
    assert workloads.measure(run, mlp, 0) == {"whole": 1440, "steady": 2}
    assert len(done) == 3
    assert workloads.measure(run, mlp, 600) == {"whole": 1440, "steady": 2}
    assert len(done) == 3 + 3 + 5


def test_loops_take_turns_and_each_has_a_time_of_its_own(workloads, now):
    done: list[tuple] = []
    runs = {name: partial(fit, s, now, done) for name, s in (("a", 1), ("b", 3))}
    found = workloads.take_turns(runs, workloads.WORKLOADS["mlp"], 4)
    assert found == {"a": 1, "b": 3}
    assert sorted(done[:2]) == [(1, 0), (3, 0)]
    assert sorted(done, key=lambda d: d[1]) == done  # no epoch before all had the last
    assert len(done) == 8 and {done[i][0] for i in (0, 2, 4, 6)} == {1, 3}


def test_a_board_draws_no_more_often_for_a_pause(workloads, now):
    board = SimpleNamespace(due=5)
    trainer = SimpleNamespace(fit_epoch=lambda: None)
    mlp = workloads.WORKLOADS["mlp"]

    def plotting(workload, clock, epochs):
        workloads.watch(trainer, clock, board)
        for _ in range(epochs):
            trainer.fit_epoch()

    runs = {"plotting": plotting, "other": partial(fit, 1, now, [])}
    workloads.take_turns(runs, mlp, 3)
    # The other's last epoch is a pause only if it is not the last of all.
    assert board.due - 5 in (11 * mlp.steps, 12 * mlp.steps)


def test_a_scope_of_a_device_ends_before_another_loop_has_its_turn(workloads, now):
    scopes: list[str] = []

    @contextlib.contextmanager
    def scope(name):
        scopes.append(name)
        yield
        assert scopes.pop() == name  # as in TensorFlow

    def run(name, workload, clock, epochs):
        trainer = SimpleNamespace(
            fit_epoch=lambda: inside.append([*scopes]),
            device_scope=partial(scope, name),
        )
        workloads.watch(trainer, clock, SimpleNamespace())
        with trainer.device_scope():
            for _ in range(epochs):
                trainer.fit_epoch()

    inside: list[list[str]] = []
    runs = {name: partial(run, name) for name in ("a", "b")}
    now[0] = 1.0
    workloads.take_turns(runs, workloads.WORKLOADS["mlp"], 3)
    assert sorted(inside) == [["a"]] * 3 + [["b"]] * 3


def test_a_run_of_so_many_seconds_has_three_epochs_at_least(workloads):
    mlp = workloads.WORKLOADS["mlp"]
    assert mlp.epochs_in(6, step=0.01) == 10
    assert mlp.epochs_in(6, step=1) == 3


def test_minibatches_are_counted_with_those_of_the_validation(workloads):
    steps = {name: w.steps for name, w in workloads.WORKLOADS.items()}
    assert steps == {"linear": 64, "mlp": 60}


def test_a_spread_is_the_median_with_its_limits():
    assert spread([3, 1, 2]) == "2 (1 to 3)"
    assert spread([0.125], 2) == "0.12"
    assert spread([1.01, 1.04], 1) == "1.0"
