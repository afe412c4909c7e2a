"""Generated text does not depend on the cache, whose bytes are as counted by hand."""

import inspect
import math
import random
from pathlib import Path

import numpy as np
import pytest

from d2l.tables import LanguageShape, read_params

CHAPTER = Path(__file__).parents[2] / "chapter_gpus"


def test_a_cache_does_not_change_the_text(d2l):
    model = d2l.make_language_model(2, 32, heads=4, kv_heads=2, vocabulary=50)
    text = [[3, 1, 4], [9, 2, 6]]
    for token in d2l.generate(model, numbers(d2l, text), 6):
        wanted = d2l.likeliest(decode_whole(d2l, model, numbers(d2l, text)))
        assert d2l.numpy(token).tolist() == d2l.numpy(wanted).tolist()
        new = [int(value) for value in d2l.numpy(token)[:, 0]]
        text = [[*row, value] for row, value in zip(text, new, strict=True)]


def numbers(d2l, rows):
    """Return tokens on the device of the model."""
    return d2l.move_to(d2l.tensor(rows, dtype=d2l.int32), d2l.try_gpu())


def decode_whole(d2l, model, tokens):
    """Return the logits of the next token, computed without an earlier cache."""
    cache = d2l.make_cache(model, len(tokens), tokens.shape[1])
    return d2l.decode(model, tokens, cache, 0)[0]


@pytest.mark.parametrize("kv_heads, length", [(1, 7), (2, 7), (4, 100)])
def test_bytes_of_a_cache_are_those_of_its_arrays(d2l, kv_heads, length):
    model = d2l.make_language_model(3, 32, heads=4, kv_heads=kv_heads, vocabulary=10)
    cache = d2l.make_cache(model, 2, length)
    counted = 4 * sum(math.prod(array.shape) for array in cache)
    shape = LanguageShape(0, 0, 3, 4, kv_heads, 8)
    assert 2 * d2l.cache_bytes(shape, length, 4) == counted
    assert counted == 2 * 4 * 2 * 3 * kv_heads * 8 * length


def test_published_caches(d2l):
    caches = [d2l.cache_bytes(shape, 1) / 1024 for shape in d2l.SHAPES.values()]
    assert caches == [128, 320, 128, 56, 144, 96]
    with pytest.raises(ValueError, match="tokens, not -5"):
        d2l.cache_bytes(d2l.SHAPES["Llama 3 8B"], -5)


@pytest.mark.parametrize(
    "name, vocabulary, width, hidden, experts, used",
    [
        ("Llama 3 8B", 128256, 4096, 14336, 1, 1),
        ("Llama 3 70B", 128256, 8192, 28672, 1, 1),
        ("Mistral 7B", 32768, 4096, 14336, 1, 1),
        ("Qwen2.5 7B", 152064, 3584, 18944, 1, 1),
        ("Qwen3 8B", 151936, 4096, 12288, 1, 1),
        ("Qwen3 30B-A3B", 151936, 2048, 768, 128, 8),
    ],
)
def test_parameters_are_those_of_the_published_configuration(
    d2l, name, vocabulary, width, hidden, experts, used
):
    shape = d2l.SHAPES[name]
    assert (shape.experts, shape.used) == (experts, used)
    queries, keys = shape.heads * shape.head_size, shape.kv_heads * shape.head_size
    attention, expert = 2 * width * (queries + keys), 3 * width * hidden
    embedding = vocabulary * width
    params = 2 * embedding + shape.layers * (attention + experts * expert)
    active = embedding + shape.layers * (attention + used * expert)
    assert shape.params == pytest.approx(params, rel=2e-3)
    assert shape.active == pytest.approx(active, rel=5e-3)


def test_a_mixture_reads_the_experts_that_its_tokens_use(d2l):
    dense, mixture = d2l.SHAPES["Qwen3 8B"], d2l.SHAPES["Qwen3 30B-A3B"]
    assert read_params(dense, 1) == read_params(dense, 64) == dense.active
    assert read_params(mixture, 1) == mixture.active
    draw = random.Random(0)
    idle = 0.0
    for _ in range(200):
        used = {e for _ in range(16) for e in draw.sample(range(128), 8)}
        idle += 1 - len(used) / 128
    experts = mixture.params - mixture.embedding - mixture.active  # not used
    share = experts / (1 - 8 / 128)
    expected = mixture.params - mixture.embedding - share * idle / 200
    assert read_params(mixture, 16) == pytest.approx(expected, rel=0.01)
    embedding = 151936 * 2048  # of which tokens read rows
    assert read_params(mixture, 10**6) == mixture.params - embedding


def test_tokens_beyond_the_cache_are_one_line(d2l):
    model = d2l.make_language_model(1, 16, heads=2, kv_heads=1, vocabulary=10)
    tokens = numbers(d2l, [[1, 2, 3]])
    assert d2l.decode(model, tokens, d2l.make_cache(model, 1, 3), 0)
    for start, length in (0, 2), (1, 3), (-1, 5):
        with pytest.raises(ValueError, match=f"has room for {length}$") as error:
            d2l.decode(model, tokens, d2l.make_cache(model, 1, length), start)
        assert len(str(error.value).splitlines()) == 1


def test_a_product_replaces_all_products_of_the_layers(d2l):
    model = d2l.make_language_model(2, 16, heads=2, kv_heads=1, vocabulary=10)
    tokens, product = numbers(d2l, [[1, 2]]), inspect.signature(d2l.decode).parameters
    names = ["model", "tokens", "cache", "start", "product"]
    assert list(product) == names
    called = []

    def count(X, W):
        called.append(W.shape)
        return product["product"].default(X, W)

    plain = d2l.decode(model, tokens, d2l.make_cache(model, 1, 2), 0)[0]
    other = d2l.decode(model, tokens, d2l.make_cache(model, 1, 2), 0, count)[0]
    assert len(called) == 8
    assert d2l.numpy(other) == pytest.approx(d2l.numpy(plain))


@pytest.mark.parametrize("heads", [(5, 1), (4, 3), (0, 1), (4, 0), (2, 4)])
def test_heads_that_do_not_divide_are_one_line(d2l, heads):
    with pytest.raises(ValueError, match="have to divide the width 16"):
        d2l.make_language_model(1, 16, *heads, vocabulary=10)


@pytest.mark.parametrize(
    "prompt, count, message",
    [
        ([[1, 2]], -1, "count is 0, 1, 2, ..., not -1"),
        ([[]], 1, "a prompt has the shape"),
        ([1, 2], 1, "a prompt has the shape"),
        ([[1, 10]], 1, "integers from 0 to 9"),
        ([[-1, 1]], 1, "integers from 0 to 9"),
    ],
)
def test_a_prompt_that_cannot_be_continued_is_one_line(d2l, prompt, count, message):
    model = d2l.make_language_model(1, 16, heads=2, kv_heads=1, vocabulary=10)
    with pytest.raises(ValueError, match=message):
        d2l.generate(model, numbers(d2l, prompt), count)
    if not message.startswith("count"):
        return
    assert d2l.generate(model, numbers(d2l, prompt), 0) == []
    fractions = d2l.tensor(prompt, dtype=d2l.float32)
    with pytest.raises(ValueError, match="integers from 0 to 9"):
        d2l.generate(model, fractions, 1)


def test_a_list_is_no_prompt(d2l):
    model = d2l.make_language_model(1, 16, heads=2, kv_heads=1, vocabulary=10)
    with pytest.raises(ValueError, match="a prompt is an array of tokens, not list"):
        d2l.generate(model, [[1, 2]], 1)


def test_a_model_has_layers_and_decodes_at_least_one_token(d2l):
    for layers in 0, -1:
        with pytest.raises(ValueError, match=f"layers, not {layers}"):
            d2l.make_language_model(layers, 16, heads=2, kv_heads=1, vocabulary=10)
    model = d2l.make_language_model(1, 16, heads=2, kv_heads=1, vocabulary=10)
    none = numbers(d2l, [[1]])[:, :0]
    with pytest.raises(ValueError, match="at least one token"):
        d2l.decode(model, none, d2l.make_cache(model, 1, 3), 0)


def test_weights_and_caches_are_on_the_first_gpu(d2l, fw, monkeypatch):
    gpu = fw.torch.device("meta") if fw.tab == "pytorch" else fw.second
    fw.pretend(monkeypatch, gpu)
    model = d2l.make_language_model(1, 16, heads=2, kv_heads=1, vocabulary=10)
    tensors = [*model.weights, *d2l.make_cache(model, 1, 3)]
    if fw.tab == "tensorflow":
        del tensors[0]  # is scaled on TensorFlow's default device, a real GPU
    assert {fw.device(tensor) for tensor in tensors} == {gpu}


@pytest.mark.shared
def test_chunks_gain_or_lose_throughput_of_a_full_server_as_the_section_says(d2l):
    shape, h100 = d2l.SHAPES["Llama 3 8B"], d2l.card_data("H100")

    def step_time(new, cached):
        nbytes = 2 * shape.active + d2l.cache_bytes(shape, new + cached)
        flops = 2 * shape.active * new
        return max(
            nbytes / (1e9 * h100["bandwidth"]), flops / (1e12 * h100["tensor16"])
        )

    rng = np.random.default_rng(0)
    rng.exponential(1 / 16, 480)  # the arrivals of the section
    prompts, lengths = rng.geometric(1 / 1024, 480), rng.geometric(1 / 256, 480)
    requests = [d2l.Request(0, int(prompts[i]), int(lengths[i])) for i in range(480)]
    times = {
        budget: max(
            own[-1]
            for own in d2l.serve(requests, 256, step_time=step_time, budget=budget)
        )
        for budget in (math.inf, 512, 256)
    }
    gains = [times[math.inf] / times[budget] for budget in (512, 256)]
    assert [f"{gain:.2f}" for gain in gains] == ["1.10", "0.90"]
    text = " ".join((CHAPTER / "inference.md").read_text("utf-8").split())
    assert "512 or 1024 tokens raise the throughput by a tenth" in text
    assert "chunks of 256 lower it by a tenth" in text
