"""Models written for d2l 1.0 train here unchanged, on the CPU and on the GPU."""

import re

import numpy as np


def test_model_of_d2l(d2l, fw, fake_gpu, case, num_gpus):
    clip = 5 * num_gpus  # clipped on the GPU only, to try both
    trainer = d2l.Trainer(case.epochs, num_gpus, clip)
    model, data = case.model(), case.data()
    fw.fit(trainer, model, data)
    curve = [y for _, y in model.board.data[case.curve]]
    assert np.isfinite(curve).all()
    assert case.reached(curve[-1]), curve
    if num_gpus:
        tensors = fw.params(trainer) + fw.opt_state(trainer)
        assert {fw.device(tensor) for tensor in tensors} == {fake_gpu}


def test_layer_summary(d2l, fw, capsys):
    d2l.MLP(10, 8, 0.1).layer_summary((2, 64))
    printed = capsys.readouterr().out
    lines = re.findall(r"^(\w+) output shape:\t \D*(\d+), (\d+)", printed, re.M)
    layer = "Linear" if fw.tab == "pytorch" else "Dense"
    activation = fw.tab in ("pytorch", "jax")  # a layer of its own there
    assert len(lines) == len(printed.strip().split("\n")) == 2 + activation
    assert lines[0] == (layer, "2", "8") and lines[-1] == (layer, "2", "10")
    assert not activation or lines[1][1:] == ("2", "8")
