"""Runs each entry of the quick guide's tables in one framework.

`python guide_snippets.py jax` prints as JSON the error of each entry that raises one.
The entries change settings of the process, so no other test should run in it. Where an
entry fails for lack of a GPU, the functions that it calls are looked up instead, and
their arguments are compared with the signatures.
"""

import ast
import contextlib
import inspect
import json
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "chapter_gpus" / "quick-guide.md"
HEADER = "| Task | PyTorch | MXNet | JAX | TensorFlow |"
SETTINGS = "| Setting | Code |"
TOOLS = "| Tool | Code |"
TABS = ("pytorch", "mxnet", "jax", "tensorflow")
CODE = re.compile(r"`([^`]+)`")
VARIABLE = re.compile(r"[A-Z][A-Z0-9_]+=\S*")
COMMAND = re.compile("pip install .*")
NO_GPU = re.compile(
    "not compiled with CUDA|Expected a cuda device|dummy base class"
    "|built with CUDA support|Unknown backend: 'gpu'"
    "|No matching devices found|list index out of range"  # TensorFlow's list of GPUs
)
SETUP = {
    "pytorch": """
import torch
import triton
from torch import nn
from torch.utils.flop_counter import FlopCounterMode
from d2l import torch as d2l
device, x = torch.device('cpu'), torch.ones(2, 3)
net, c = nn.Sequential(nn.Linear(3, 1)), FlopCounterMode(display=False)
""",
    "mxnet": """
import mxnet as mx
from mxnet import np, npx
from mxnet.gluon import nn
from numba import cuda
from d2l import mxnet as d2l
npx.set_np()
mx.profiler.set_config(filename=f'{folder}/profile.json')
device, x, net = npx.cpu(1), np.ones((2, 3)), nn.Sequential()
net.add(nn.Dense(1, in_units=3))
""",
    "jax": """
import jax
import numpy as np
from flax import linen as nn
from jax import numpy as jnp
from jax.experimental import pallas as pl
from d2l import jax as d2l
jax.config.update('jax_num_cpu_devices', 2)
device, key = jax.devices()[1], jax.random.key(0)
x = jnp.ones((2, 3))
params = nn.Dense(1).init(key, x)
""",
    "tensorflow": """
import tensorflow as tf
from numba import cuda
from d2l import tensorflow as d2l
cpus, gpus = (tf.config.list_physical_devices(kind) for kind in ('CPU', 'GPU'))
tf.config.set_logical_device_configuration(
    cpus[0], [tf.config.LogicalDeviceConfiguration()] * 2)
device, x = tf.device('/CPU:1'), tf.ones((2, 3))
net = tf.keras.Sequential([tf.keras.layers.Dense(1)])
with tf.Graph().as_default() as graph:
    tf.constant(1.0)
options = tf.compat.v1.profiler.ProfileOptionBuilder.float_operation()
""",
}


def table_rows(text: str, header: str) -> Iterator[list[str]]:
    """Yield the cells of each row of the tables with a header."""
    inside = False
    for line in text.splitlines():
        inside = line == header or (inside and line.startswith("|"))
        if inside and line != header and not line.startswith("|:"):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


def operations(text: str) -> dict[str, list[str]]:
    """Return the four entries of each task in the tables with the header `HEADER`."""
    return {task: row for task, *row in table_rows(text, HEADER)}


def of_tab(text: str, tab: str, header: str) -> dict[str, str]:
    """Return the rows of the tables with a header in the tabs of a framework."""
    panels = re.findall(rf":begin_tab:`{tab}`\n(.*?):end_tab:", text, re.S)
    return {name: code for panel in panels for name, code in table_rows(panel, header)}


def entries(tab: str) -> Iterator[tuple[str, str]]:
    """Yield each task, tool or setting with each code of its entry for a framework."""
    text = GUIDE.read_text("utf-8")
    tasks = {task: row[TABS.index(tab)] for task, row in operations(text).items()}
    tasks |= of_tab(text, tab, TOOLS) | of_tab(text, tab, SETTINGS)
    for task, entry in tasks.items():
        for code in CODE.findall(entry):
            yield task, code


def check_calls(code: str, names: dict) -> None:
    """Raise an error if a function does not exist or does not take its arguments."""
    calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    for call in calls:
        function = eval(ast.unparse(call.func), names)
        given = dict.fromkeys(word.arg for word in call.keywords if word.arg)
        with contextlib.suppress(ValueError):  # a function in C++ has no signature
            inspect.signature(function).bind(*[None] * len(call.args), **given)


def run_entry(code: str, names: dict) -> str:
    """Run an entry and return its error, "needs a GPU", or "" if it runs."""
    try:
        exec(code, names)
    except Exception as error:
        if not NO_GPU.search(str(error)):
            return f"{type(error).__name__}: {error}"
        check_calls(code, names)
        return "needs a GPU"
    return ""


def main(tab: str) -> None:
    """Run the entries of a framework and print their errors."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        names: dict = {"i": 0, "folder": folder, "f": lambda x: x + x}
        exec(SETUP[tab], names)
        codes = [
            code
            for _, code in entries(tab)
            if not VARIABLE.fullmatch(code) and not COMMAND.fullmatch(code)
        ]
        errors = {
            code: error for code in codes if (error := run_entry(code, dict(names)))
        }
    print(json.dumps(errors))


if __name__ == "__main__":
    main(sys.argv[1])
