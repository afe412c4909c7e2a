"""The code in the quick guide's tables is right.

Each entry runs in its framework, in a process of its own. An entry that needs a GPU is
compared with the signatures of the functions that it calls.
"""

import importlib
import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from guide_snippets import (
    CODE,
    GUIDE,
    SETTINGS,
    TABS,
    TOOLS,
    VARIABLE,
    entries,
    of_tab,
    operations,
)

SNIPPETS = Path(__file__).with_name("guide_snippets.py")
NEEDS_GPU = {
    "pytorch": {"Wait", "Half of the memory at most", "Capture"},
    "mxnet": {"Free and total bytes"},
    "jax": {"GPU `i`"},
    "tensorflow": {"Bytes in use, and peak", "Memory as needed, for each GPU"},
}
# Where Python code reads or names a variable, unless only compiled code does.
VARIABLES = {
    "TRITON_INTERPRET": "triton.knobs",
    "NUMBA_ENABLE_CUDASIM": "numba.core.config",
    "NVIDIA_TF32_OVERRIDE": "mxnet.test_utils",
    "MXNET_ENFORCE_DETERMINISM": None,  # in a build for GPUs
    "MXNET_ENABLE_CUDA_GRAPHS": None,  # in a build for GPUs, too
    "XLA_PYTHON_CLIENT_PREALLOCATE": "jaxlib.xla_client",
    "XLA_FLAGS": None,  # tested below
}


def test_each_task_has_an_entry_for_each_framework():
    tasks = operations(GUIDE.read_text("utf-8"))
    assert len(tasks) > 12
    assert {task: row for task, row in tasks.items() if not all(row[:4])} == {}
    assert {len(row) for row in tasks.values()} == {4}


def test_each_tool_has_an_entry_for_each_framework():
    text = GUIDE.read_text("utf-8")
    tools = [of_tab(text, tab, TOOLS) for tab in TABS]
    assert len(tools[0]) > 8
    assert [list(found) for found in tools] == [list(tools[0])] * len(TABS)
    assert all(all(found.values()) for found in tools)


def test_settings_have_code(fw):
    found = of_tab(GUIDE.read_text("utf-8"), fw.tab, SETTINGS)
    assert len(found) > 2
    assert {name for name, code in found.items() if not CODE.fullmatch(code)} == set()


def test_entries_run(fw):
    if fw.d2l.framework_info(look=False).cuda:
        pytest.skip("this framework is a GPU build")
    env = {**os.environ, "PYTHONPATH": str(GUIDE.parents[1])}
    command = [sys.executable, str(SNIPPETS), fw.tab]
    result = subprocess.run(command, env=env, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    errors = json.loads(result.stdout.splitlines()[-1])
    failed = {code for code, error in errors.items() if error != "needs a GPU"}
    assert {code: errors[code] for code in failed} == {}
    tasks = {task for task, code in entries(fw.tab) if code in errors}
    assert tasks == NEEDS_GPU[fw.tab]


def test_environment_variables_exist(fw):
    codes = [code for _, code in entries(fw.tab) if VARIABLE.fullmatch(code)]
    names = {code.partition("=")[0] for code in codes}
    assert names
    for name in names:
        if module := VARIABLES[name]:
            assert name in inspect.getsource(importlib.import_module(module))


@pytest.mark.parametrize("flags, status", [(None, 0), ("--xla_no_such_flag=1", 1)])
def test_flags_of_xla_exist(fw, flags, status):
    if fw.tab != "jax":
        pytest.skip("of JAX")
    flag = dict(code.split("=", 1) for _, code in entries("jax") if "XLA" in code)
    env = {**os.environ, "XLA_FLAGS": flags or flag["XLA_FLAGS"]}
    code = "import jax; jax.numpy.ones(1)"
    result = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True)
    assert bool(result.returncode) == bool(status), result.stderr


def test_names_of_this_library_exist(d2l):
    names = set(re.findall(r"`d2l\.(\w+)", GUIDE.read_text("utf-8")))
    assert len(names) > 5
    assert {name for name in names if not hasattr(d2l, name)} == set()
