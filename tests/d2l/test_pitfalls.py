"""The library's part of the section on pitfalls, and statements of its text."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

RECORDS = Path(__file__).parents[2] / "outputs" / "cpu"


@pytest.mark.parametrize("message", ["", "\n  what is wrong\n", "first\nsecond"])
def test_an_error_is_one_line_and_the_program_goes_on(d2l, fw, capsys, message):
    with d2l.show_error():
        raise RuntimeError(message)
    # MXNet names the mistake last, after the places in its own code
    line = "second" if fw.tab == "mxnet" else "first"
    expected = line if "first" in message else message.strip()
    assert capsys.readouterr().out == f"{expected}\n"


def test_without_an_error_nothing_is_shown(d2l, capsys):
    with d2l.show_error():
        pass
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_what_ends_a_program_still_ends_it(d2l, stop):
    with pytest.raises(stop), d2l.show_error():
        raise stop


def test_a_gpu_that_is_there(d2l, fake_gpu):
    assert d2l.require_gpu() == d2l.require_gpu(0) == fake_gpu


@pytest.mark.parametrize("i", [1, 10, -1])
def test_a_gpu_that_is_not_there(d2l, fake_gpu, i):
    with pytest.raises(RuntimeError, match=f"GPU {i} is needed.* 1 GPU"):
        d2l.require_gpu(i)


def test_no_gpu_at_all(d2l, fw, monkeypatch):
    fw.pretend(monkeypatch)
    with pytest.raises(RuntimeError, match="GPU 0 is needed.* 0 GPU"):
        d2l.require_gpu()


@pytest.mark.parametrize(
    ("place", "foreach", "message"),
    [
        ("cuda:0", True, "^Tensors of the same index must be on the same device"),
        ("cpu", False, "^Expected all tensors to be on the same device"),
    ],
)
def test_message_for_averages_of_adam_that_stay_behind(fw, place, foreach, message):
    if fw.tab != "pytorch":
        pytest.skip("of PyTorch")
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        w = torch.zeros(3, device="cuda:1")
        w.grad = torch.ones(3, device="cuda:1")
        optimizer = torch.optim.Adam([w], foreach=foreach)
        average = torch.zeros(3, device=place)
        state = {"step": torch.tensor(1.0), "exp_avg": average, "exp_avg_sq": average}
        optimizer.state[w] = state
        with pytest.raises(RuntimeError, match=message):
            optimizer.step()


def test_jax_platforms_with_the_cpu_does_not_require_a_gpu(fw):
    if fw.tab != "jax":
        pytest.skip("of JAX")
    if os.path.exists("/dev/nvidiactl"):
        pytest.skip("there is a card")
    command = [sys.executable, "-c", "import jax; print(jax.devices())"]
    environment = {**os.environ, "JAX_PLATFORMS": "cuda,cpu"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert "[CpuDevice(id=0)" in run.stdout, run.stderr


def test_recorded_clock_that_does_not_wait_is_wrong(fw):
    record = RECORDS / fw.tab / "chapter_gpus" / "pitfalls.ipynb"
    cells = json.loads(record.read_text("utf-8"))["cells"]
    printed = json.dumps([cell.get("outputs") for cell in cells])
    ratios = dict(re.findall(r"wait=(\w+): ([\d.]+) times the time", printed))
    assert 2 * float(ratios["False"]) < float(ratios["True"])
