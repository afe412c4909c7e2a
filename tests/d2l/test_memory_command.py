"""`python -m d2l memory`: its table, and one line for each mistake."""

import warnings

import pytest

from d2l import __main__ as command
from d2l import memory_command
from d2l.settings import LowerBound

MIB = 2**20


@pytest.fixture
def library(fw):
    return fw.d2l.__name__


@pytest.fixture
def memory(capsys):
    """Return what `python -m d2l memory` prints, with the arguments of a test."""

    def run(*arguments):
        assert command.main(["memory", *arguments]) == 0
        return capsys.readouterr().out

    return run


def rows(text):
    pairs = [line.split() for line in text.splitlines() if line.endswith(" MiB")]
    return {role: float(number.replace(",", "")) for role, number, _ in pairs}


def test_the_table(library, memory):
    output = memory(f"{library}:DeepMLP(4, 64)", "--batch", "512x64", "512x64")
    assert "more memory than this: T4, A100, H100, H200, B200." in output
    found = rows(output)
    params = 4 * (64 * 64 + 64)
    assert found["weights"] == pytest.approx(4 * params / MIB, abs=0.006)
    assert found["optimizer"] == pytest.approx(8 * params / MIB, abs=0.006)
    assert found["activations"] >= 5 * 512 * 64 * 4 / MIB - 0.006
    assert found["peak"] > found["activations"]


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
    assert "The peak leaves out a part. " in shown.out
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
    assert "in float32 only; cast the model" in capsys.readouterr().err


def test_memory_to_generate_text(memory):
    output = memory("Llama 3 8B", "--generate", "8192", "--users", "16")
    found = rows(output)
    cache = 2 * 32 * 8 * 128 * 8192 * 2  # keys and values, layers, heads, values
    assert found["caches"] == pytest.approx(16 * cache / MIB, abs=0.006)
    assert found["weights"] == pytest.approx(2 * 8.03e9 / MIB, abs=0.006)
    assert found["sum"] == pytest.approx(found["weights"] + found["caches"], abs=0.02)
    users = int((0.9 * 85_100_068_864 - 2 * 8.03e9) // cache)
    assert f"Most users: T4 0, A100 {users}, " in output


def test_bits_and_cards_of_generate(memory):
    output = memory("llama 3 8b", "--generate", "8192", "--users", "100")
    assert output.endswith("Cards for 100: H200, B200.\n")
    small = ("--weight-bits", "4.5", "--cache-bits", "8")
    output = memory("Llama 3 8B", "--generate", "8192", *small)
    weights, cache = 8.03e9 * 4.5 / 8, 32 * 2 * 8 * 128 * 8192
    assert rows(output)["weights"] == pytest.approx(weights / MIB, abs=0.006)
    assert rows(output)["caches"] == pytest.approx(cache / MIB, abs=0.006)
    assert f"H100 {int((0.9 * 84942979072 - weights) // cache)}, " in output


@pytest.mark.parametrize("length, warns", [("8192", False), ("8193", True)])
def test_a_text_longer_than_the_model_is_made_for(memory, length, warns):
    output = memory("Llama 3 8B", "--generate", length)
    assert ("is made for texts of up to 8,192 tokens" in output) == warns


def test_a_shape_of_ones_own(memory):
    own = memory("own", "--generate", "64", "--shape", "28,4,128,7.62e9")
    assert own == memory("Qwen2.5 7B", "--generate", "64")


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
        ("LIBRARY:Missing", ["3x3"], "is no model: name 'Missing' is not defined"),
        ("LIBRARY:LinearRegression", ["3x3"], "lr"),
        ("LIBRARY:Timer", ["3x3"], "Timer is no d2l.Module"),
        ("LIBRARY:DeepMLP", ["3xa"], "'3xa' is no shape"),
        ("LIBRARY:DeepMLP", ["3x4:float"], "'3x4:float' is no shape"),
        ("LIBRARY:DeepMLP", ["4x4", "4x4", "--accumulate", "0"], "1, 2, ..."),
        ("LIBRARY:DeepMLP", ["4x3", "4x3"], "fails on a minibatch 4x3 4x3"),
    ],
)
def test_mistakes_of_batch(library, model, batch, message, capsys):
    fails(capsys, [model.replace("LIBRARY", library), "--batch", *batch], message)


@pytest.mark.parametrize(
    "model, arguments, message",
    [
        ("Llama 2", "--generate 8", "write 'Llama 3 8B', 'Llama 3 70B', "),
        ("Llama 3 8B", "--generate 0", "--generate: write 1, 2, ..., not 0"),
        ("Llama 3 8B", "--generate 8 --users 0", "--users: write 1, 2"),
        ("Llama 3 8B", f"--generate 8 --users {'9' * 400}", "--users: write 1"),
        ("Llama 3 8B", "--generate 8 --accumulate 2", "--accumulate does"),
        ("Llama 3 8B", "--generate 8 --precision float32", "--precision do"),
        ("m:x", "--batch 8 --users 2", "--users does not apply to --batch"),
        ("m:x", "--batch 8 --cache-bits 8", "--cache-bits does not apply"),
        ("Qwen3 8B", "--generate 8 --weight-bits 0", "not 0"),
        ("Qwen3 8B", "--generate 8 --cache-bits nan", "not nan"),
        ("x", "--generate 8 --shape 1,2,3", "'1,2,3' is no shape"),
        ("x", "--generate 8 --shape 1,2,3,-4", "'1,2,3,-4' is no shape"),
        ("x", "--generate 8 --shape a,2,3,4", "'a,2,3,4' is no shape"),
        ("x", "--generate 8 --shape 1,2,nan,4", "'1,2,nan,4' is no shape"),
    ],
)
def test_mistakes_of_generate(model, arguments, message, capsys):
    fails(capsys, [model, *arguments.split()], message)
