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


def weight_bytes(shape: LanguageShape, bits: float) -> float:
    """Return the bytes of all weights of a model in so many bits."""
    return shape.params * bits / 8


def cache_room(
    shape: LanguageShape, memory: float, bits: float, share: float = 1 - tables.LEFT
) -> float:
    """Return the bytes that weights of so many bits leave for caches.

    `share` is the part of the memory that weights and caches may take.
    """
    return share * memory - weight_bytes(shape, bits)


def capacity(server: Server) -> int:
    """Return the most users whose caches fit beside the weights."""
    room = cache_room(server.shape, server.memory, server.bits)
    length = server.input + server.output
    each = tables.cache_bytes(server.shape, length, server.cache_bits / 8)
    return max(0, math.floor(room / each))


def throughput(server: Server, users: int) -> float:
    """Return the generated tokens per second of all users, an upper bound.

    Prompts are computed between the steps. Users are spread over their outputs, so
    their caches have half of them on average.
    """
    shape, cached = server.shape, server.input + server.output / 2
    weights = tables.read_params(shape, users) * server.bits / 8
    caches = users * cached * tables.cache_bytes(shape, 1, server.cache_bits / 8)
    reading = (weights + caches) / server.bandwidth
    step = max(reading, 2 * shape.active * users / server.rate)
    prefill = 2 * shape.active * server.input / server.rate
    return users * server.output / (server.output * step + users * prefill)


def decode_time(
    shape: LanguageShape, before: int, bits: float, bandwidth: float
) -> float:
    """Return the seconds of a token for one user, at least: its bytes are read once.

    `before` are the tokens whose keys and values of 16 bits are in the cache.
    """
    nbytes = tables.read_params(shape, 1) * bits / 8 + tables.cache_bytes(shape, before)
    return nbytes / bandwidth


def prefill_time(
    shape: LanguageShape, tokens: int, bits: float, rate: float, bandwidth: float
) -> float:
    """Return the seconds until a prompt has been computed, at least."""
    weights = shape.active * bits / 8
    return max(2 * shape.active * tokens / rate, weights / bandwidth)
