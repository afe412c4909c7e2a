"""Generated text does not depend on the cache, whose bytes are as counted by hand."""

import math

import pytest


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
    shape = d2l.LanguageShape(0, 3, 4, kv_heads, 8)
    assert 2 * d2l.cache_bytes(shape, length, 4) == counted
    assert counted == 2 * 4 * 2 * 3 * kv_heads * 8 * length


def test_published_caches(d2l):
    caches = [d2l.cache_bytes(shape, 1) / 1024 for shape in d2l.SHAPES.values()]
    assert caches == [128, 320]


def test_static_and_continuous_batches(d2l):
    requests = [3, 1, 1, 2]
    assert d2l.serve(requests, 2, False) == ([2, 1, 1, 2, 1], [0, 0, 3, 3])
    assert d2l.serve(requests, 2, True) == ([2, 2, 2, 1], [0, 0, 1, 2])
    assert d2l.serve([], 2, True) == ([], [])
    for continuous in False, True:
        counts, _ = d2l.serve([5, 4, 3, 2, 1], 3, continuous)
        assert sum(counts) == 15 and max(counts) == 3


def test_requests_wait_for_a_place_and_not_before_they_arrive(d2l):
    assert d2l.serve([2, 1], 1, True, [0, 4]) == ([1, 1, 0, 0, 1], [0, 0])
    assert d2l.serve([4, 1], 1, True, [0, 1]) == ([1] * 5, [0, 3])
    assert d2l.serve([4, 1], 2, False, [0, 1]) == ([1] * 5, [0, 3])


def test_a_server_tells_the_time_of_its_steps(d2l):
    served = []

    def run_step(count):
        served.append(count)
        return 10.0 * len(served)

    counts, waits = d2l.serve([2, 1, 1], 2, True, [0, 0, 5], run_step)
    assert served == counts == [2, 2] and waits == [0, 0, 5]
