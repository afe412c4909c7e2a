"""The messages that the quick guide quotes are those that the framework prints.

The guide refers to the gallery of faults for the others. The tests cause those mistakes
that need no GPU.
"""

import json
import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "chapter_gpus" / "quick-guide.md"
RECORDS = GUIDE.parents[1] / "outputs" / "cpu"
IN_GALLERY = {
    "pytorch": {
        "Torch not compiled with CUDA enabled",
        "Expected all tensors to be on the same device",
    },
    "mxnet": {"is not implemented for GPU"},
    "jax": {
        "Unknown backend: 'gpu' requested",
        "Received incompatible devices for jitted computation",
    },
    "tensorflow": set(),
}


def quoted(tab):
    """Return what the guide's list of messages quotes in a tab, as one text."""
    blocks = re.findall(rf":begin_tab:`{tab}`\n(.*?):end_tab:", GUIDE.read_text(), re.S)
    lists = [b for b in blocks if "messages have a known cause" in " ".join(b.split())]
    assert len(lists) == 1
    entries = re.split(r"^\* ", lists[0], flags=re.M)[1:]
    heads = [" ".join(entry.split()).split("`:")[0] for entry in entries]
    return re.findall(r"`([^`]+)`", " ".join(f"{head}`" for head in heads))


def pytorch():
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    def mixed():
        with FakeTensorMode():
            torch.ones(2, device="cuda:0") + torch.ones(2, device="cuda:1")

    return [
        lambda: torch.ones(1, device="cuda"),
        mixed,
        lambda: torch.ones(1).pin_memory(),
    ]


def mxnet():
    from mxnet import npx
    from mxnet.gluon import nn

    def network():
        net = nn.Dense(1, in_units=1)
        net.initialize(ctx=npx.gpu())

    return [lambda: __import__("mxnet").np.ones(1, ctx=npx.gpu()), network]


def jax():
    import jax

    def mixed():
        first, second = jax.devices("cpu")[:2]
        jax.device_put(1.0, first) + jax.device_put(1.0, second)

    return [lambda: jax.devices("gpu"), mixed]


def tensorflow():
    import tensorflow as tf

    def divide():
        tf.ones(1)
        cpu = tf.config.list_physical_devices("CPU")[0]
        tf.config.set_logical_device_configuration(
            cpu, [tf.config.LogicalDeviceConfiguration()] * 3
        )

    return [divide]


MISTAKES = {f.__name__: f for f in (pytorch, mxnet, jax, tensorflow)}


def test_gallery_prints_its_messages(fw):
    record = RECORDS / fw.tab / "chapter_gpus" / "pitfalls.ipynb"
    cells = json.loads(record.read_text("utf-8"))["cells"]
    outputs = json.dumps([cell.get("outputs") for cell in cells])
    assert {text for text in IN_GALLERY[fw.tab] if text not in outputs} == set()


def test_messages_of_mistakes(fw):
    if fw.d2l.framework_info(look=False).cuda:
        pytest.skip("the guide quotes the messages of a CPU build")
    for mistake in MISTAKES[fw.tab]():
        with pytest.raises(Exception) as raised:
            mistake()
        message = " ".join(str(raised.value).split())
        known = [*quoted(fw.tab), *IN_GALLERY[fw.tab]]
        assert [text for text in known if text in message], message
