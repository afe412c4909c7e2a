"""`python -m d2l memory`: its table, and one line for each mistake."""

import os
import re
import shlex
import subprocess
import sys
import warnings

import numpy as np
import pytest
from printed_memory import rows

from d2l import __main__ as command
from d2l import audit, memory_command, step_memory, tables, wrappers
from d2l.settings import LowerBound

MIB = 2**20
CARDS = "T4, L4, RTX 4090, RTX 5090, A100 40 GB, H100, A100, H200, B200, B300"


@pytest.fixture
def library(fw):
    return fw.d2l.__name__


def test_the_table(library, memory):
    output = memory(f"{library}:DeepMLP(4, 64)", "--batch", "512x64", "512x64")
    free = "10% of each card is kept free for the framework, the driver, and gaps"
    assert f"Cards for this step: {CARDS}. {free} between arrays." in output
    found = rows(output)
    params = 4 * (64 * 64 + 64)
    assert found["weights"] == pytest.approx(4 * params / MIB, abs=0.006)
    assert found["optimizer"] == pytest.approx(8 * params / MIB, abs=0.006)
    assert found["activations"] >= 5 * 512 * 64 * 4 / MIB - 0.006
    assert found["peak"] > found["activations"]


def beside(kind):
    """Return how often and in what range predictions of a kind were exceeded."""
    found = audit.summary(kind)
    assert found.rows < 10
    low, median, high = (1 / ratio for ratio in (found.most, found.median, found.least))
    spread = f"({low:.2f} to {high:.2f} in all {found.rows} measurements)"
    return f"{median:.2f} times", spread


def test_published_measurements_stand_beside_the_prediction(library, memory):
    output = memory(f"{library}:DeepMLP(2, 32)", "--batch", "8x32", "8x32")
    times, spread = beside("step-memory")
    (line,) = (line for line in output.splitlines() if spread in line)
    assert line.startswith(f"Published peaks in PyTorch were {times} such predictions")
    output = memory("Llama 3 8B", "--generate", "8192")
    assert f"Published memory was {beside('generation')[0]} such a sum" in output
    assert f"servers had room for {beside('cache')[0]} as many tokens" in output
    assert all(spread in output for _, spread in map(beside, ("generation", "cache")))


def test_a_model_of_ones_own(library, memory, tmp_path, monkeypatch):
    code = f"import {library} as d2l\n\nmodel = d2l.DeepMLP(2, 32)\n"
    (tmp_path / "my_models.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    assert rows(memory("my_models:model", "--batch", "8x32", "8x32"))["peak"] > 0


def test_a_lower_bound(fw, library, monkeypatch, capsys):
    predict = fw.d2l.predict_memory

    def predict_low(*args, **options):
        warnings.warn("the peak leaves out a part", LowerBound, stacklevel=2)
        return predict(*args, **options)

    monkeypatch.setattr(fw.d2l, "predict_memory", predict_low)
    model = f"{library}:DeepMLP(2, 32)"
    assert command.main(["memory", model, "--batch", "8x32", "8x32"]) == 0
    shown = capsys.readouterr()
    assert "MiB, at least\n" in shown.out
    assert "\nThe peak leaves out a part.\n" in shown.out
    assert "leaves out" not in shown.err


def test_the_settings_of_the_trainer(library, memory, capsys):
    def peak(*settings):
        model = f"{library}:DeepMLP(4, 64)"
        return rows(memory(model, "--batch", "512x64", "512x64", *settings))["peak"]

    whole = peak()
    assert peak("--accumulate", "4") < 0.9 * whole
    if library != "d2l.mxnet":
        assert peak("--precision", "bfloat16") != whole
        return
    arguments = ["d2l.mxnet:DeepMLP", "--batch", "4x4", "--precision", "bfloat16"]
    assert memory_command.main(arguments) == 2
    assert "in float32 only; otherwise cast the model" in capsys.readouterr().err


def test_memory_to_generate_text(memory):
    output = memory("Llama 3 8B", "--generate", "8192", "--users", "16")
    found = rows(output)
    cache = 2 * 32 * 8 * 128 * 8192 * 2  # keys and values, layers, heads, values
    assert found["caches"] == pytest.approx(16 * cache / MIB, abs=0.006)
    assert found["weights"] == pytest.approx(2 * 8.03e9 / MIB, abs=0.006)
    assert found["sum"] == pytest.approx(found["weights"] + found["caches"], abs=0.02)
    users = int((0.9 * 85_100_068_864 - 2 * 8.03e9) // cache)
    assert f", A100 {users}, " in output and "Most users: T4 0, L4 5, " in output


def test_bits_and_cards_of_generate(memory):
    output = memory("llama 3 8b", "--generate", "8192", "--users", "100")
    assert output.endswith("Cards for 100 users: H200, B200, B300.\n")
    small = ("--weight-bits", "4.5", "--cache-bits", "8")
    output = memory("Llama 3 8B", "--generate", "8192", *small)
    ends = 2 * (8.03e9 - 7.50e9)  # stay in 16 bits
    weights, cache = (8.03e9 - ends) * 4.5 / 8 + 2 * ends, 32 * 2 * 8 * 128 * 8192
    assert rows(output)["weights"] == pytest.approx(weights / MIB, abs=0.006)
    assert rows(output)["caches"] == pytest.approx(cache / MIB, abs=0.006)
    assert f"H100 {int((0.9 * 84942979072 - weights) // cache)}, " in output


@pytest.mark.parametrize("length, warns", [("8192", False), ("8193", True)])
def test_a_text_longer_than_the_model_is_made_for(memory, length, warns):
    output = memory("Llama 3 8B", "--generate", length)
    assert ("is made for texts of up to 8,192 tokens" in output) == warns


def test_a_shape_of_ones_own(memory):
    for number in "7.62e9", "7.62B":
        own = memory("own", "--generate", "64", "--shape", f"28,4,128,{number}")
        known = memory("Qwen2.5 7B", "--generate", "64")
        # The numbers of a shape do not suffice for times.
        sizes = re.sub(r"\nmilliseconds.*?\n\n", "", known, flags=re.DOTALL)
        assert "milliseconds" in known and own == f"{sizes}{ALL_TOKENS}\n"


ALL_TOKENS = (
    "These sizes are right only if each layer keeps all tokens: sliding windows, "
    "latent and linear attention keep fewer."
)


@pytest.mark.parametrize("name", ["meta-llama/Llama-3-8B", "llama_3_8b"])
def test_a_name_as_publishers_write_it(memory, name):
    known = memory("Llama 3 8B", "--generate", "64")
    assert memory(name, "--generate", "64") == known


# Models of other libraries


@pytest.fixture
def foreign(fw):
    """Return how a test names a model of plain PyTorch, Flax, Keras or Gluon."""
    return f"foreign_{fw.tab}:{{}}".format


def batch_of(fw, *items):
    """Return items as --batch takes them; images and classes depend on the tab."""
    last = fw.tab in ("jax", "tensorflow")
    names = {
        "images": "8x16x16x3" if last else "8x3x16x16",
        "classes": "8:int64" if fw.tab == "pytorch" else "8:int32",
        "words": "8x12:int64" if fw.tab == "pytorch" else "8x12:int32",
    }
    return ["--batch", *(names.get(item, item) for item in items)]


PAIR = ("64x32", "64x16", "64x1")
FOREIGN = {
    "mlp": (("8x64", "classes"), ()),
    "instance": (("8x64", "classes"), ("--optimizer", "momentum")),
    "images": (("images", "classes"), ("--optimizer", "rmsprop")),
    "Words": (("words", "words"), ("--optimizer", "adagrad")),
    "Pair": (PAIR, ("--loss", "mse", "--optimizer", "sgd")),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_model_of_another_library(fw, memory, foreign, name):
    items, options = FOREIGN[name]
    output = memory(foreign(name), *batch_of(fw, *items), *options)
    found = rows(output)
    assert 0 < found["weights"] == found["gradients"] or name == "images"
    assert found["peak"] > found["weights"] + found["optimizer"] + found["batch"]
    moments = {"mlp": 2, "Pair": 0}.get(name, 1)
    trained = found["gradients"]
    assert found["optimizer"] == pytest.approx(moments * trained, abs=0.011)
    assert "--accumulate 4 takes " in output


def test_a_foreign_model_takes_what_a_module_takes(fw, memory, foreign):
    wrapped = rows(memory(foreign("mlp"), *batch_of(fw, "512x64", "512:int32")))
    kind = "int64" if fw.tab == "pytorch" else "int32"
    X = fw.tensor(np.zeros((512, 64)))
    y = fw.tensor(np.zeros(512), kind)
    size = fw.d2l.predict_memory(fw.model(256, "relu", 10), (X, y))._asdict()
    if fw.tab == "pytorch":
        size["batch"] -= 512 * 4  # the labels of the command have 32 bits
    for role in "weights", "gradients", "optimizer", "batch", "activations", "peak":
        assert wrapped[role] == pytest.approx(size[role] / MIB, rel=0.05, abs=0.006)


def test_weights_need_no_memory(fw, memory, foreign):
    if fw.tab == "mxnet":
        return  # which runs the model
    batch = "1x64", "1:int64" if fw.tab == "pytorch" else "1:int32"
    found = rows(memory(foreign("large"), "--batch", *batch, "--optimizer", "sgd"))
    assert found["weights"] == found["gradients"] == 64 * 2**28 * 4 / MIB


@pytest.mark.parametrize("loss", ["binary_cross_entropy", "mse", "l1"])
def test_losses_of_outputs_and_labels_of_one_shape(memory, foreign, loss):
    output = memory(foreign("Pair"), "--batch", *PAIR, "--loss", loss)
    assert rows(output)["peak"] > 0


def test_a_model_with_a_loss_of_its_own(fw, memory, foreign, capsys):
    arguments = [foreign("Own"), "--batch", "8x64", "8x64", "--loss", "own"]
    if fw.tab == "tensorflow":
        arguments[0] = foreign("mlp")
        return fails(capsys, arguments, "'own' is unknown; write cross_entropy, bin")
    assert rows(memory(*arguments))["peak"] > 0
    arguments[0] = foreign("mlp")
    return fails(capsys, arguments, "fails on a minibatch")


@pytest.mark.parametrize(
    "name, items, options, message",
    [
        ("Raising", ("8x64", "classes"), "", "my own problem"),
        ("mlp", ("8x64", "8"), "", "of shape (8, 10) need one class per prediction"),
        ("mlp", ("8x64", "8x3"), "--loss mse", "have (8, 10) and (8, 3)"),
        ("mlp", ("8x64", "classes"), "--loss nll", "the loss 'nll' is unknown; write "),
        ("mlp", ("8x64", "classes"), "--optimizer lion", "is unknown; write adam, "),
        ("Missing", ("8x64", "classes"), "", "name 'Missing' is not defined"),
        (
            "__name__",
            ("8x64", "classes"),
            "",
            "is a str, not a model of PyTorch, Flax,",
        ),
    ],
)
def test_mistakes_with_foreign_models(
    fw, foreign, name, items, options, message, capsys
):
    arguments = [foreign(name), *batch_of(fw, *items), *options.split()]
    if fw.tab == "mxnet" and "(8, 10)" in message:
        message = message.replace("(8, ", "(4, ")  # the examples that it runs
    fails(capsys, arguments, message)


@pytest.mark.shared
def test_outputs_without_an_array_have_advice_that_is_true_in_keras_too():
    with pytest.raises(TypeError, match="if object holds .* 'own', except in Keras"):
        wrappers.predictions(object())


# Remedies


def changes(text):
    return {line.split(" takes ")[0]: line for line in text.splitlines()}


def test_a_remedy_is_predicted_again(fw, memory, foreign):
    arguments = foreign("mlp"), *batch_of(fw, "4096x64", "4096:int32")
    if fw.tab == "pytorch":
        arguments = *arguments[:-1], "4096:int64"
    output = memory(*arguments)
    parts = rows(memory(*arguments, "--accumulate", "4"))["peak"]
    saved = rows(output)["peak"] - parts
    line = changes(output)["--accumulate 4"]
    assert float(line.split()[3].replace(",", "")) == pytest.approx(saved, abs=0.011)
    assert line.endswith("MiB less.") and saved > 0


def test_remedies_that_do_not_apply_are_left_out(fw, memory, foreign):
    given = foreign("mlp"), *batch_of(fw, "8x64", "classes"), "--accumulate", "8"
    assert "--accumulate 8" not in memory(*given)
    if fw.tab in ("pytorch", "tensorflow"):
        output = memory(*given, "--precision", "bfloat16")
        assert "--precision" not in output and "--accumulate" not in output


def test_a_remedy_names_the_cards_that_it_adds():
    before, after = (
        step_memory.Prediction(type("Size", (), {"peak": n}), step_memory.holding(n))
        for n in (3e10, 2e10)
    )
    line = memory_command._change(before, "--accumulate 4", after)
    saved, more = line.split(", and also fits on ")
    assert saved == "--accumulate 4 takes 9,536.74 MiB less"
    assert more == "L4, RTX 4090, RTX 5090."
    line = memory_command._change(after, "--accumulate 4", before)
    assert line == "--accumulate 4 takes 9,536.74 MiB more."


def test_cards_are_sorted_and_keep_a_tenth():
    sizes = [tables.card_memory(card) for card in step_memory.CARDS]
    assert sizes == sorted(sizes)
    fits = 0.9 * tables.card_data("T4")["memory"]
    assert "T4" in step_memory.holding(fits) and "T4" not in step_memory.holding(
        fits + 1
    )


# Mistakes


def fails(capsys, arguments, message):
    """Expect one line that contains `message`."""
    assert memory_command.main(arguments) == 2
    output, error = capsys.readouterr()
    assert not output
    assert len(error.splitlines()) == 1 and error.startswith("error: ")
    assert message in error


@pytest.mark.parametrize(
    "model, batch, message",
    [
        ("nowhere:Net", ["3x3"], "nowhere cannot be imported"),
        ("LIBRARY", ["3x3"], "write MODULE:MODEL"),
        ("LIBRARY:Missing", ["3x3"], "cannot be made: name 'Missing' is not defined"),
        ("LIBRARY:LinearRegression", ["3x3"], "lr"),
        (
            "LIBRARY:Timer",
            ["3x3"],
            "is a Timer, not a model of PyTorch, Flax, Keras or",
        ),
        (
            "LIBRARY:DeepMLP",
            ["4x4", "4x4", "--loss", "mse"],
            "--loss: DeepMLP is a d2l",
        ),
        ("LIBRARY:DeepMLP", ["0x4", "0x4"], "'0x4' is not a shape"),
        ("LIBRARY:DeepMLP", ["3xa"], "'3xa' is not a shape"),
        ("LIBRARY:DeepMLP", ["3x4:float"], "'3x4:float' is not a shape"),
        (
            "LIBRARY:DeepMLP",
            ["4x4", "4x4", "--accumulate", "0"],
            "is not a positive integer",
        ),
        ("LIBRARY:DeepMLP", ["4x3", "4x3"], "fails on a minibatch 4x3 4x3"),
    ],
)
def test_mistakes_of_batch(library, model, batch, message, capsys):
    fails(capsys, [model.replace("LIBRARY", library), "--batch", *batch], message)


@pytest.mark.parametrize(
    "model, arguments, message",
    [
        ("Falcon", "--generate 8", "write 'Llama 3 8B', 'Llama 3 70B', "),
        ("Llama 9 8B", "--generate 8", "write 'Llama 3 8B' or 'Llama 3.1 8B' or"),
        ("Llama 3 8B", "--generate 0", "--generate: '0' is not a positive integer"),
        (
            "Llama 3 8B",
            "--generate 8 --users 0",
            "--users: '0' is not a positive integer",
        ),
        (
            "Llama 3 8B",
            f"--generate 8 --users {'9' * 400}",
            "is not a positive integer",
        ),
        ("Llama 3 8B", "--generate 8 --accumulate 2", "--accumulate does"),
        ("Llama 3 8B", "--generate 8 --precision float32", "--precision do"),
        ("m:x", "--batch 8 --users 2", "--users does not apply to --batch"),
        ("m:x", "--batch 8 --cache-bits 8", "--cache-bits does not apply"),
        ("Qwen3 8B", "--generate 8 --weight-bits 0", "is not 16, 8, 4.5"),
        ("Qwen3 8B", "--generate 8 --cache-bits nan", "is not 16, 8, 4.5"),
        ("x", "--generate 8 --shape 1,2,3", "'1,2,3' is not a shape"),
        ("x", "--generate 8 --shape 1,2,3,-4", "'1,2,3,-4' is not a shape"),
        ("x", "--generate 8 --shape a,2,3,4", "'a,2,3,4' is not a shape"),
        ("x", "--generate 8 --shape 1,2,nan,4", "'1,2,nan,4' is not a shape"),
        ("x", "--generate 8 --shape 32.5,8,128,8e9", "'32.5,8,128,8e9' is not a shape"),
        ("x", "--generate 8 --shape 32,8,128,8", "'32,8,128,8' is not a shape"),
    ],
)
def test_mistakes_of_generate(model, arguments, message, capsys):
    fails(capsys, [model, *arguments.split()], message)


@pytest.mark.parametrize(
    "model, arguments, message",
    [
        ("Llama 9B", "--train 8", "of 'Llama 9B' are not known here; write 'Llama"),
        ("Llama 3 8B", "--train 8 --rank 4", "--rank does not apply to --train"),
        ("Llama 3 8B", "--train 8 --weight-bits 4", "--weight-bits does not apply"),
        ("Llama 3 8B", "--generate 8 --chunks 2", "--chunks does not apply"),
        ("Llama 3 8B", "--adapt 8 --rank 0", "--rank: '0' is not a positive integer"),
    ],
)
def test_mistakes_of_train_and_adapt(model, arguments, message, capsys):
    fails(capsys, [model, *arguments.split()], message)


def test_a_larger_rank_takes_more_for_adapters_alone(memory):
    small, large = (
        rows(memory("Llama 3 8B", "--adapt", "512", "--rank", rank)) for rank in "48"
    )
    assert large["adapters"] == pytest.approx(2 * small["adapters"])
    assert large["weights"] == small["weights"]
    assert large["sum"] - small["sum"] == pytest.approx(small["adapters"], abs=0.02)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ("", "arguments are required: MODEL; 'python -m d2l memory -h' explains"),
        ("m:x", "one of the arguments --batch --generate --train --adapt is required"),
        ("m:x --batch", "--batch: expected at least one argument"),
        ("m:x --batch 3 --accumulate x", "--accumulate: 'x' is not a positive integer"),
        ("m:x --batch 3 --precision foo", "--precision: invalid choice: 'foo' (choose"),
        ("m:x --batch 3 --nonsense", "unrecognized arguments: --nonsense; 'python -m"),
        ("m:x --batch 3 --generate 8k", "--generate: '8k' is not a positive integer"),
        ("m:x --batch 3 --generate 8", "--generate: not allowed with argument --batch"),
        (
            "x --generate 8 --weight-bits 8B",
            "is not 16, 8, 4.5, ... (1 to 32)",
        ),
    ],
)
def test_mistakes_that_argparse_finds(arguments, message, capsys):
    fails(capsys, arguments.split(), message)


def examples():
    """Return the arguments of those examples of the help that name a known model."""
    lines = memory_command.__doc__.splitlines()
    commands = [line for line in lines if line.startswith(f"{memory_command.COMMAND} ")]
    given = [shlex.split(line)[4:] for line in commands]
    unknown = "MODULE", "my_models", "path/"
    return [each for each in given if not each[0].startswith(unknown)]


def test_the_examples_of_the_help_work(fw, memory):
    found = examples()
    tasks = {f"--{task}" for task in memory_command.TASKS}
    assert tasks == {arguments[1] for arguments in found}
    for arguments in found:
        if fw.tab == "pytorch" or arguments[1] != "--batch":
            assert " MiB\n" in memory(*arguments)


def test_the_help_names_the_losses_and_the_optimizers(fw, capsys):
    with pytest.raises(SystemExit, match="0"):
        memory_command.main(["-h"])
    text = " ".join(capsys.readouterr().out.split())
    for name in ("cross_entropy", "binary_cross_entropy", "mse", "l1", "own"):
        assert name in text
    for name in ("adam", "adamw", "sgd", "momentum", "rmsprop", "adagrad", "adafactor"):
        assert name in text


@pytest.mark.shared
def test_a_reader_that_stops_is_no_error():
    code = "import sys; from d2l import memory_command as c; "
    code += "sys.exit(c.main(['Llama 3 8B', '--generate', '8']))"
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-c", code], stdout=writer, stderr=subprocess.PIPE
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_python_m_d2l_alone_names_the_command(capsys):
    assert command.main(["mem"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: 'mem' is not a framework; use pytorch, ")
    assert line.endswith("or memory")


def test_a_failing_step_is_told_with_its_line_once():
    def fault(kind: type[Exception], text: str) -> str:
        try:
            raise kind(text)
        except kind as error:
            return step_memory.where(error)

    told = fault(ValueError, "wrong sizes")
    assert told.startswith("wrong sizes (at ") and "raise kind(text)" in told
    line = told.removeprefix("wrong sizes (at ").removesuffix(")")
    assert fault(ValueError, f"wrong, {line}") == f"wrong, {line}"
    assert step_memory.where(ValueError("no line")) == "no line"
    Fake = type("Fake", (ValueError,), {"__module__": "torch.fake_tensor"})
    told = fault(Fake, "no item")
    assert told.startswith("it reads values of a tensor") and "(no item)" in told
