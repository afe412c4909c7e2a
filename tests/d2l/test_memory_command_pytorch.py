"""`python -m d2l memory` with models that only PyTorch has, against real steps."""

import re
from collections.abc import Callable

import foreign_pytorch as foreign
import pytest
import torch
from torch.nn import functional as F

from d2l import memory_command, step_memory
from d2l import torch as d2l

MIB = 2**20
WORDS, IMAGES = "8x64:int64", "16x3x16x16"


def flat_loss(Y, y):
    return F.cross_entropy(Y.flatten(0, -2), y.flatten())


def own_loss(model, X, y):
    return model(X, labels=y).loss


# Each model's minibatch, its options, and its loss in plain PyTorch.
CASES: dict[str, tuple[list[str], list[str], Callable]] = {
    "LanguageModel": ([WORDS, WORDS], [], lambda m, X, y: flat_loss(m(X).logits, y)),
    "LanguageModel(2)": ([WORDS, WORDS], ["--loss", "own"], own_loss),
    "Words": ([WORDS, WORDS], [], lambda m, X, y: flat_loss(m(X), y)),
    "images": ([IMAGES, "16:int64"], [], lambda m, X, y: flat_loss(m(X), y)),
    "Frozen": (["256x64", "256:int64"], [], lambda m, X, y: flat_loss(m(X), y)),
    "Reading": (["256x64", "256:int64"], [], lambda m, X, y: flat_loss(m(X), y)),
    "Auxiliary": (
        ["256x64", "256:int64"],
        ["--optimizer", "adamw"],
        lambda m, X, y: flat_loss(m(X).logits, y),
    ),
    "Segmentation": (
        ["4x3x32x32", "4x32x32:int64"],
        ["--optimizer", "momentum"],
        lambda m, X, y: F.cross_entropy(m(X), y),
    ),
}


def predicted(capsys, *arguments):
    """Return what the command prints, and the bytes by role."""
    assert memory_command.main(arguments) == 0
    output = capsys.readouterr().out
    found = re.findall(r"^(\w+) +([\d.,]+) MiB", output, re.MULTILINE)
    return output, {role: float(number.replace(",", "")) for role, number in found}


def real_tensor(item):
    """Return a tensor with data, of the shape and type that --batch takes."""
    sizes, _, kind = item.partition(":")
    shape = [int(n) for n in sizes.split("x")]
    return torch.randint(0, 4, shape) if kind else torch.rand(*shape)


def peak_of_a_plain_loop(model, items, options, loss):
    """Return the highest bytes of two steps of PyTorch, without this library's loop."""
    X, y = map(real_tensor, items)
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(params)
    if "momentum" in options:
        optimizer = torch.optim.SGD(params, momentum=0.9)
    with d2l.MemoryTape([*model.parameters(), *model.buffers(), X, y]) as record:
        for _ in range(2):
            optimizer.zero_grad()
            loss(model, X, y).backward()
            with torch.no_grad():
                optimizer.step()
    return max(record.tape)


@pytest.mark.parametrize("name", CASES)
def test_a_prediction_is_what_a_plain_loop_takes(name, capsys):
    items, options, loss = CASES[name]
    _, found = predicted(capsys, f"foreign_pytorch:{name}", "--batch", *items, *options)
    model = eval(name if "(" in name else f"{name}()", vars(foreign))
    peak = peak_of_a_plain_loop(model, items, options, loss)
    assert found["peak"] == pytest.approx(peak / MIB, rel=0.02, abs=0.01)


def test_a_compiled_model_is_predicted_as_if_it_were_not(capsys):
    batch = ["--batch", "256x64", "256:int64"]
    plain, _ = predicted(capsys, "foreign_pytorch:mlp", *batch)
    assert predicted(capsys, "foreign_pytorch:compiled", *batch)[0] == plain


def test_names_that_a_module_makes_when_asked(monkeypatch, capsys, tmp_path):
    code = "import foreign_pytorch\n\n\ndef __getattr__(name):\n"
    code += "    if name == 'Lazy':\n        return foreign_pytorch.mlp\n"
    code += "    raise AttributeError(name)\n"
    (tmp_path / "lazy_models.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    batch = ["--batch", "8x64", "8:int64"]
    assert predicted(capsys, "lazy_models:Lazy", *batch)[1]["peak"] > 0


def test_shapes_that_depend_on_values_are_one_clear_line(capsys):
    arguments = ["foreign_pytorch:Routing", "--batch", "8x64", "8x64", "--loss", "mse"]
    assert memory_command.main(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "Routing reads the value of a tensor at line" in line
    assert "in forward, `rows = self.gate(X).argmax(-1).nonzero()[:, 0]`" in line
    assert "which only a real step has" in line


# Checkpointing


def test_checkpointing_of_the_blocks_saves_most_activations(capsys):
    arguments = "foreign_pytorch:LanguageModel(8)", "--batch", WORDS, WORDS
    output, found = predicted(capsys, *arguments)
    line = next(x for x in output.splitlines() if x.startswith("checkpointing"))
    assert line.startswith("checkpointing of its 8 Blocks takes ")
    saved = float(line.split()[6].replace(",", ""))
    assert 0.6 * found["activations"] < saved < found["activations"]


def test_a_checkpointed_step_takes_what_a_real_one_takes():
    model = foreign.LanguageModel()
    items = [WORDS, WORDS]
    with step_memory.checkpointing(torch, model) as blocks:
        assert blocks == "4 Blocks"
        peak = peak_of_a_plain_loop(model, items, [], own_loss)
        wrapped = step_memory.wrapped(model, "own", "adam")
        batch = [real_tensor(item) for item in items]
        size = step_memory.predict(step_memory.Step(d2l, wrapped, batch)).size
    assert size.peak == pytest.approx(peak, rel=0.02)
    assert {type(layer) for layer in model.layers} == {foreign.Block}


def test_layers_are_no_blocks():
    with step_memory.checkpointing(torch, foreign.mlp()) as blocks:
        assert blocks == ""
