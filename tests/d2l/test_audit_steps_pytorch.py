"""Published steps of BERT-large, GPT-2 and ResNet-50, predicted by the library."""

import predicted_steps
import pytest

from benchmarks import audit as audit_data
from d2l import audit, predictions, recorded_steps
from d2l import torch as d2l
from d2l.published import published_rows

pytestmark = pytest.mark.slow


def test_no_published_step_beats_the_bounds_of_its_operations():
    found = audit.outcomes("step")
    assert not [each.why for each in found if each.why]
    summary = audit.summary("step", found)
    assert (summary.rows, summary.sources, summary.broken) == (15, 3, 0)
    assert summary.median == pytest.approx(1.5, rel=0.1)
    expected = audit.expected("step", found)
    assert (expected.rows, expected.sources) == (10, 2)  # the others assume minibatches
    assert expected.median == pytest.approx(1.1, rel=0.1)
    assert expected.within_quarter == pytest.approx(0.6, abs=0.1)


def test_predicted_peaks_are_near_the_published_ones():
    summary = audit.summary("step-memory")
    assert summary.rows == 4
    assert 0.6 < summary.low < summary.median < summary.high < 1.05
    expected = audit.expected("step-memory")
    assert summary.median < expected.median < 1


def test_stored_predictions_are_those_of_today():
    stored = {
        (each.kind, each.row.id): each.predicted
        for name, kind in predictions.KINDS.items()
        if kind.needs
        for each in audit.stored(name)
    }
    found = {(name, row): value for name, row, value in predicted_steps.predicted()}
    assert found == pytest.approx(stored, rel=0.02), predicted_steps.__doc__


def test_a_forgotten_backward_pass_is_found(monkeypatch):
    (row,) = (r for r in published_rows() if r.id == "dle-resnet50-v100-float16")
    whole = predictions.predict("step", row)
    record = d2l.list_operations
    monkeypatch.setattr(
        d2l, "list_operations", lambda step, *args: record(step, *args)[::3]
    )
    assert predictions.predict("step", row) > 2 * whole


def test_resnet_has_the_published_number_of_parameters():
    model = recorded_steps.ResNet50()
    assert sum(p.numel() for p in model.parameters()) == 25_557_032


def test_products_are_those_of_the_model():
    (row,) = (r for r in published_rows() if r.id == "hf-bert-vanilla-step")
    flops = sum(op.flops for op in recorded_steps.operations(row))
    # 2 FLOPs for each weight of 24 layers and token forward, 4 backward; attention too
    weights, pairs = 24 * 12 * 1024**2, 24 * 2 * 512 * 1024
    assert flops == pytest.approx(6 * 4 * 512 * (weights + pairs), rel=0.02)
    assert isinstance(recorded_steps.machine_of("V100", "float32"), d2l.Machine)


@pytest.mark.parametrize("name", ["step", "step-memory"])
def test_the_figure_has_the_predictions_of_today(name):
    kind = audit_data.stored()["kinds"][name]
    assert kind["predicted"] == audit_data.predictions(audit.outcomes(name)), (
        "run make audit"
    )
