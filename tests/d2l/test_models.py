"""Models written for d2l 1.0 train here unchanged, on the CPU and on the GPU."""

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
