"""Tests of the bench of scaling without GPUs: the fit, the table, the messages."""

import sys
from pathlib import Path

import pytest

from benchmarks import scaling
from book.base import environments


@pytest.fixture
def found():
    """Return what four GPUs with links of 10 GB/s and 5 µs report, half hidden."""
    sizes = [2**k for k in range(12, 29, 2)]
    shares = {"1": 0.1, "2": 0.05, "4": 0.025}
    sending = {n: scaling.ring_time(1e8, n, 5e-6, 1e10) for n in (2, 4)}
    return {
        "gpus": 4,
        "name": "GPU",
        "versions": "torch 2",
        "nbytes": 1e8,
        "sizes": sizes,
        "all_reduces": [scaling.ring_time(size, 4, 5e-6, 1e10) for size in sizes],
        "shares": shares,
        "steps": {
            "weak": {"1": 0.1} | {str(n): 0.1 + sending[n] / 2 for n in sending},
            "strong": {"1": 0.1}
            | {str(n): shares[str(n)] + sending[n] for n in sending},
        },
    }


def test_latency_and_bandwidth_of_a_link_follow_from_the_all_reduces(found):
    latency, bandwidth = scaling.fit_link(found)
    assert latency == pytest.approx(5e-6, rel=1e-3)
    assert bandwidth == pytest.approx(1e10, rel=1e-3)


def test_the_table_has_predictions_beside_measurements(found):
    assert scaling.table(found).splitlines()[4:] == [
        "| weak | 2 | 91% | 95% | 50% |",
        "| weak | 4 | 87% | 93% | 50% |",
        "| strong | 2 | 83% | 83% | 0% |",
        "| strong | 4 | 62% | 62% | 0% |",
    ]


def test_too_few_gpus_get_one_line(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(scaling, "FOLDER", tmp_path)
    monkeypatch.setattr(scaling, "measure", lambda *_: {"found": 1, "gpus": 4})
    monkeypatch.setattr(sys, "argv", ["scaling", "--python", "python"])
    assert scaling.main() == 1
    said = capsys.readouterr()
    advice = "use a machine with more, and its Python as PYTHON="
    assert said.err == f"error: GPUS: 4 are needed, and 1 found; {advice}\n"
    assert said.out == ""
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_ranks_on_the_cpu_give_every_number_of_the_table():
    small = {"width": 32, "depth": 2, "examples": 64, "largest": 2**16}
    job = small | {"gpus": 2, "rounds": 1, "virtual": True}
    found = scaling.measure(Path(environments.python("pytorch")), job)
    assert found["nbytes"] == 4 * 2 * (32**2 + 32)
    assert list(found["steps"]["weak"]) == ["1", "2"] == list(found["shares"])
    assert len(scaling.table(found).splitlines()) == 6
