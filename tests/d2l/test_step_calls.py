"""A step of the network of the section makes as many calls as the section counts."""

import inspect
import re
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

SECTION = Path(__file__).parents[2] / "chapter_gpus" / "use-gpu.md"
# Operations of TensorFlow that start no kernel.
NAMES = {"Placeholder", "ReadVariableOp", "Identity", "IdentityN"}


def section_cell(tab: str) -> str:
    """Return the cell of a tab that makes the step and counts its calls."""
    cells = re.findall(
        rf"%%tab {tab}\n(def make_step.*?)```", SECTION.read_text(), re.S
    )
    assert len(cells) == 1
    return cells[0]


def calls_pytorch(fw: Any, step: Any, batch: Any) -> int:
    return len(fw.d2l.list_operations(step, *batch))


def calls_mxnet(fw: Any, step: Any, batch: Any) -> int:
    profiler = fw.mx.profiler
    names = ("profile_symbolic", "profile_api", "profile_memory")
    parts: dict[str, Any] = dict.fromkeys(names, False)
    parts["filename"] = str(Path("profile.json").resolve())
    profiler.set_config(profile_imperative=True, aggregate_stats=True, **parts)
    fw.d2l.synchronize()
    profiler.set_state("run")
    step(*batch)
    fw.d2l.synchronize()
    profiler.set_state("stop")
    rows = re.findall(r"^(\w+) +(\d+) +[\d.]+ ", profiler.dumps(reset=True), re.M)
    return sum(int(count) for name, count in rows if name != "DeleteVariable")


def calls_jax(fw: Any, step: Any, batch: Any) -> int:
    """Count the operations of the compiled step, which the section adds to a call."""
    closed = inspect.getclosurevars(step).nonlocals
    text = closed["step"].lower(closed["params"], *batch).compile().as_text()
    return len(re.findall(r" (?:fusion|dot)\(", text[text.index("ENTRY") :]))


def calls_tensorflow(fw: Any, step: Any, batch: Any) -> int:
    """Count the operations that depend on data, and on which a result depends."""
    graph = step.get_concrete_function(*batch).graph
    known: set[str] = set()  # others are constants, which TensorFlow computes once
    for op in graph.get_operations():
        if op.type == "Placeholder" or known & {x.op.name for x in op.inputs}:
            known.add(op.name)
    wanted = {x.op.name for x in graph.outputs}
    for op in reversed(graph.get_operations()):
        if op.name in wanted or op.type.startswith("Assign"):
            wanted |= {op.name, *(x.op.name for x in op.inputs)}
    both = map(graph.get_operation_by_name, known & wanted)
    return sum(op.type not in NAMES for op in both)


def namespace(fw: Any) -> dict[str, Any]:
    """Return what the cells above that of the step define in the section."""
    if fw.tab == "pytorch":
        return {"torch": fw.torch, "nn": fw.torch.nn}
    if fw.tab == "mxnet":
        gluon = fw.mx.gluon
        loss = gluon.loss.SoftmaxCrossEntropyLoss()
        return {"mx": fw.mx, "gluon": gluon, "nn": gluon.nn, "loss_fn": loss}
    if fw.tab == "jax":
        jnp, nn = import_module("jax.numpy"), import_module("flax.linen")
        return {"jax": fw.jax, "jnp": jnp, "nn": nn}
    loss = fw.tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return {"tf": fw.tf, "loss_fn": loss}


def test_the_section_counts_the_calls_of_its_step(
    fw: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.chdir(tmp_path)  # MXNet's profiler writes a file
    names = namespace(fw)
    exec(section_cell(fw.tab), names)
    if fw.tab == "pytorch":  # as on a GPU, where this is the default
        sgd = partial(fw.torch.optim.SGD, foreach=True)
        monkeypatch.setattr(fw.torch.optim, "SGD", sgd)
    step = names["make_step"](64, fw.d2l.cpu())
    batch = next(iter(fw.d2l.Digits().train_dataloader()))
    step(*batch)  # some operations belong to the first step only
    found = globals()[f"calls_{fw.tab}"](fw, step, batch)
    seconds = 57e-6 + found * 2.3e-6 if fw.tab == "jax" else found * 14e-6
    assert names["calls"] == pytest.approx(seconds)
