"""ResNet-18, which goes through the book, and the answers about it in the sections."""

import ast
import contextlib
import io
import re
from pathlib import Path

import numpy as np
import pytest
from counting import counted
from test_memory import images

CHAPTER = Path(__file__).parents[2] / "chapter_gpus"
BOX = re.compile(r"^> \*\*\[?ResNet-18\..*?^```\{\.python.*?\n(.*?)^```", re.M | re.S)
JOURNEY = re.compile(r"^(journey = .*?)^```", re.M | re.S)
# Channels in, channels out, width of the kernel, and width of the output.
CONVOLUTIONS = [(1, 64, 7, 48), *[(64, 64, 3, 24)] * 4]
for outputs, width in ((128, 12), (256, 6), (512, 3)):
    CONVOLUTIONS += [
        (outputs // 2, outputs, 3, width),
        (outputs // 2, outputs, 1, width),
    ]
    CONVOLUTIONS += [(outputs, outputs, 3, width)] * 3
NORMALIZED = 64 * 5 + (128 + 256 + 512) * 4


def boxes():
    """Return the code of the box of each section."""
    texts = {path.stem: path.read_text("utf-8") for path in CHAPTER.glob("*.md")}
    return {
        name: found[1] for name, text in texts.items() if (found := BOX.search(text))
    }


def printed(code, names):
    """Return the lines that code prints, without what it saves to the library."""
    kept: list[ast.stmt] = [
        node for node in ast.parse(code.partition("\n")[2]).body
        if isinstance(node, ast.Expr | ast.For | ast.Assign)
    ]  # fmt: skip
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(ast.unparse(ast.Module(kept, [])), names)
    return output.getvalue().splitlines()


def test_the_model_has_the_parameters_of_the_other_book(d2l):
    weights = sum(i * o * k * k + o for i, o, k, _ in CONVOLUTIONS)
    by_hand = weights + 2 * NORMALIZED + 513 * 10
    assert d2l.resnet18_memory(8).gradients == 4 * by_hand
    assert round(by_hand / 1e6, 1) == 11.2


def test_the_flops_of_a_step_are_those_by_hand(d2l):
    each = [2 * i * o * k * k * w * w for i, o, k, w in CONVOLUTIONS]
    forward = sum(each) + 2 * 512 * 10
    step = 3 * forward - each[0]  # the images have no gradient
    for train, by_hand in ((False, forward), (True, step)):
        operations = d2l.resnet18_operations(16, train)
        assert sum(op.flops for op in operations) == pytest.approx(
            16 * by_hand, rel=0.01
        )


def test_flops_and_bytes_grow_with_the_minibatch(d2l):
    few, many = (d2l.resnet18_operations(n) for n in (8, 128))
    assert len(few) == len(many)
    assert sum(op.flops for op in many) == 16 * sum(op.flops for op in few)
    grown = sum(op.nbytes for op in many) / sum(op.nbytes for op in few)
    assert 4 < grown < 16  # weights stay as they are


@pytest.mark.filterwarnings("ignore:the peak is at least")
@pytest.mark.slow
def test_the_memory_is_that_of_a_step_that_runs(d2l, fw):
    model, batch = d2l.ResNet18(), images(fw, 4, 1, 96)
    size = d2l.predict_memory(model, batch)
    assert size == d2l.resnet18_memory(4)
    for role, nbytes in counted(fw, model, batch).items():
        assert getattr(size, role) == pytest.approx(nbytes, rel=fw.memory_error), role


def test_checkpointing_keeps_less_and_computes_the_blocks_twice(d2l):
    plain, twice = map(d2l.resnet18_activations, (False, True))
    assert twice < 0.7 * plain
    plain, twice = (d2l.resnet18_operations(16, True, each) for each in (False, True))
    ratio = sum(op.flops for op in twice) / sum(op.flops for op in plain)
    assert 1.28 < ratio < 4 / 3


@pytest.mark.slow
def test_the_model_learns_with_and_without_checkpointing(d2l, fw):
    X, y = images(fw, 16, 1, 96)

    class Same(d2l.DataModule):  # type: ignore[name-defined]
        batch_size = 16

        def get_dataloader(self, train):
            return self.get_tensorloader((X, y), train)

    losses = []
    for checkpointing in (False, True):
        fw.seed(0)
        model = d2l.ResNet18(lr=0.05, checkpointing=checkpointing)
        fw.fit(d2l.Trainer(max_epochs=4), model, Same())
        losses.append([y for _, y in model.board.data["train_loss"]])
    assert losses[0][-1] < 0.8 * losses[0][0]
    np.testing.assert_allclose(losses[1], losses[0], rtol=0.05)


def test_a_bound_is_below_the_expectation_and_falls_with_the_bits(d2l):
    for card in ("T4", "RTX 4090", "H100"):
        for bits in (32, 16):
            assert d2l.resnet18_bound(card, bits) < d2l.resnet18_expected(card, bits)
        assert d2l.resnet18_bound(card, 16) < d2l.resnet18_bound(card)
        assert d2l.resnet18_expected(card, 16) < d2l.resnet18_expected(card)


def test_each_section_of_the_first_parts_has_a_box():
    assert {*boxes()} == {
        *("first-hour", "use-gpu", "data-movement", "trainer", "memory"),
        *("out-of-memory", "fine-tuning", "does-it-fit", "performance", "compiling"),
        *("faster-training", "kernels", "tiles", "inference"),
    }


@pytest.mark.slow
def test_the_table_has_the_answer_of_each_box(d2l):
    names = {"d2l": d2l, **vars(d2l)}
    (journey,) = JOURNEY.findall((CHAPTER / "inference.md").read_text("utf-8"))
    table = printed(f"\n{journey}", names)
    answers = {name: printed(code, names) for name, code in boxes().items()}
    for name, lines in answers.items():
        answer = lines[-1].split(": ", 1)[-1] if name in SEVERAL else lines[-1]
        assert any(row.endswith(answer) for row in table), (name, answer)


SEVERAL = ("use-gpu", "faster-training", "inference")  # lines, each after its setting
