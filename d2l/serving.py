"""Predicts how many users a server has room for, and the tokens that it generates.

`inference-arithmetic.js` computes the same for :numref:`fig_server`; both are bounds,
and `tests/static/published.test.js` compares them.
"""

import math
from typing import NamedTuple

from d2l import tables
from d2l.tables import LanguageShape


class Server(NamedTuple):
    """A model on a card, or on several whose numbers are added up.

    `memory` is in bytes, `bandwidth` in B/s and `rate` in FLOP/s. `input` and `output`
    are the tokens of each user.
    """

    shape: LanguageShape
    memory: float
    bandwidth: float
    rate: float
    bits: float
    cache_bits: float
    input: int
    output: int


def cache_room(
    shape: LanguageShape, memory: float, bits: float, share: float = 1 - tables.LEFT
) -> float:
    """Return the bytes that weights of so many bits in the layers leave for caches.

    `share` is the part of the memory that weights and caches may take.
    """
    return share * memory - tables.weight_bytes(shape, bits)


def capacity(server: Server) -> int:
    """Return the most users whose caches fit beside the weights, on average.

    Users are spread over their outputs, and pages hold no more than a user has so far.
    More than a few of them at the end of their texts do not fit at once.
    """
    return _users(server, server.input + server.output / 2)


def reserved_capacity(server: Server) -> int:
    """Return the most users whose caches fit if whole texts are reserved."""
    return _users(server, server.input + server.output)


def _users(server: Server, length: float) -> int:
    """Return how many caches of so many tokens fit beside the weights."""
    room = cache_room(server.shape, server.memory, server.bits)
    each = length * tables.cache_bytes(server.shape, 1, server.cache_bits / 8)
    return max(0, math.floor(room / each))


def token_flops(shape: LanguageShape, before: float) -> float:
    """Return the operations of a token that attends to so many others."""
    return 2 * shape.active + 4 * shape.layers * shape.heads * shape.head_size * before


def throughput(server: Server, users: int) -> float:
    """Return the generated tokens per second of all users, an upper bound.

    While a step reads weights and caches for the users, it also computes parts of the
    prompts of the users to come. So it takes the time of its bytes or that of all
    arithmetic, whichever is longer.
    """
    reading, computing, prompt = _times(server, users)
    return users / max(reading, computing + users * prompt / server.output)


def throughput_without_chunks(server: Server, users: int) -> float:
    """Return the same if prompts are computed between the steps, one by one."""
    reading, computing, prompt = _times(server, users)
    seconds = server.output * max(reading, computing) + users * prompt
    return users * server.output / seconds


def _times(server: Server, users: int) -> tuple[float, float, float]:
    """Return the seconds of a step's bytes, of its new tokens, and of a prompt.

    Users are spread over their outputs, so their caches have half of them on average.
    """
    shape, cached = server.shape, server.input + server.output / 2
    weights = tables.read_bytes(shape, users, server.bits)
    caches = users * cached * tables.cache_bytes(shape, 1, server.cache_bits / 8)
    computing = users * token_flops(shape, cached) / server.rate
    prompt = server.input * token_flops(shape, server.input / 2) / server.rate
    return (weights + caches) / server.bandwidth, computing, prompt


def decode_time(
    shape: LanguageShape, before: int, bits: float, bandwidth: float
) -> float:
    """Return the seconds of a token for one user, at least: its bytes are read once.

    `bits` are those of a weight that a token reads, on average. `before` are the tokens
    whose keys and values of 16 bits are in the cache.
    """
    nbytes = tables.read_params(shape, 1) * bits / 8 + tables.cache_bytes(shape, before)
    return nbytes / bandwidth


def prefill_time(
    shape: LanguageShape, tokens: int, bits: float, rate: float, bandwidth: float
) -> float:
    """Return the seconds until a prompt has been computed, at least."""
    weights = shape.active * bits / 8
    return max(2 * shape.active * tokens / rate, weights / bandwidth)
