"""Answers what it takes to serve a language model: memory, users, GPUs and times.

    from d2l.configurations import built_in
    from d2l.generation import Service
    service = Service(built_in("gpt-oss 120B"), length=8192, users=16)
    print(service.total, service.fits("H100"), service.token_time("H100"))

The times are bounds and expectations: the former follow from bytes and data sheets, and
the latter from the constants of `d2l.expectations`. Layers are divided evenly among the
GPUs (tensor parallelism).
"""

import math
from dataclasses import dataclass

from d2l import expectations, tables
from d2l.model_layers import Layer, Mixer, Model, Network, Types
from d2l.tables import LanguageShape

MACHINE = 8  # the GPUs of a machine, beyond which the links are slower


def of_shape(name: str, shape: LanguageShape) -> Model:
    """Return the model of a shape: all of its layers keep all tokens.

    `read_params`, `cache_bytes` and `params` are those of `d2l.tables`. What a dense
    model does not compute with is its embedding, unless the head has the same matrix.
    """
    width = shape.heads * shape.head_size
    rest = shape.params - shape.active
    is_tied = bool(shape.head) and not shape.embedding
    experts, vocabulary = 0.0, shape.head / width
    if shape.experts > 1:
        experts = (rest - shape.embedding) / (1 - shape.used / shape.experts)
    elif not is_tied:
        vocabulary = rest / width  # all digits of the rounded sizes
    used = experts * shape.used / shape.experts
    computing = shape.params if is_tied else shape.active  # with learned positions
    dense = (computing - used - width * (vocabulary + 1)) / shape.layers
    pair = 4 * shape.heads * shape.head_size
    mixer = Mixer(
        "full",
        values=2 * shape.kv_heads * shape.head_size,
        pair=pair,
        pair_later=pair,
        parts=shape.kv_heads,
    )
    number = shape.experts if shape.experts > 1 else 0
    each = experts / shape.layers / number if number else 0
    layer = Layer(mixer, Network(dense, each, number, shape.used if number else 0))
    layers = (layer,) * shape.layers
    return Model(
        *(name, layers, width, vocabulary, is_tied, shape.context),
        is_configured=False,
    )


def types_of(
    model: Model, weight_bits: float | None = None, end_bits: float | None = None
) -> Types:
    """Return the types of a model's weights: those given, or else the published ones.

    Without `end_bits`, the embedding and the head have 16, or `weight_bits` if larger.
    """
    types = model.types
    if weight_bits is not None:
        types = Types(*3 * (weight_bits,), max(weight_bits, 16))
    return types if end_bits is None else types._replace(ends=end_bits)


@dataclass(frozen=True)
class Service:
    """A model that generates text for some users on GPUs of one kind.

    Each user has `length` tokens. `types` are those of the weights.
    """

    model: Model
    length: int
    users: int = 1
    gpus: int = 1
    types: Types = Types()
    cache_bits: float = 16

    @property
    def weights(self) -> float:
        """Return the bytes of all weights."""
        return self.model.weight_bytes(self.types)

    @property
    def cache(self) -> float:
        """Return the bytes of the cache of one user, on all GPUs together."""
        return self.model.cache_bytes(self.length, self.cache_bits / 8, self.gpus)

    @property
    def total(self) -> float:
        """Return the bytes of the weights and of all caches."""
        return self.weights + self.users * self.cache

    def fits(self, card: str) -> bool:
        """Return whether the GPUs hold it by the rule of `tables.card_holds`."""
        return tables.card_holds(card, self.total / self.gpus)

    def most_users(self, card: str) -> int:
        """Return how many users the GPUs have room for."""
        room = self.gpus * tables.usable_memory(card) - self.weights
        return max(0, int(room // self.cache))

    def _hardware(self, card: str) -> tuple[float, float]:
        """Return the FLOP/s in 16 bits and the B/s of all GPUs."""
        data = tables.card_data(card)
        return self.gpus * 1e12 * data["tensor16"], self.gpus * 1e9 * data["bandwidth"]

    # A token for each user

    @property
    def _read(self) -> tuple[float, float]:
        """Return the bytes of weights and of caches that a step reads."""
        weights = self.model.read_weight_bytes(self.users, self.types)
        size = self.cache_bits / 8
        each = self.model.read_cache_bytes(self.length, size, self.gpus)
        return weights, self.users * each

    def token_time(self, card: str) -> float:
        """Return the seconds of a token for each user, at least."""
        rate, bandwidth = self._hardware(card)
        flops = self.users * self.model.token_flops(self.length)
        return max(sum(self._read) / bandwidth, flops / rate)

    def expected_token_time(self, card: str) -> float | None:
        """Return the seconds that a token for each user is expected to take.

        Reading the weights overlaps with the arithmetic, but reading the caches does
        not. The result is None if the links between the GPUs are not known.
        """
        rate, bandwidth = self._usual(card)
        weights, caches = self._read
        flops = self.users * self.model.token_flops(self.length)
        sums = self._sums(card, self.users)
        if sums is None:
            return None
        product = max(weights / bandwidth, flops / rate)
        return product + caches / bandwidth + self._calls + sums

    # The first token, after a prompt of `length` tokens

    def prompt_time(self, card: str) -> float:
        """Return the seconds until the first token of a prompt, at least."""
        rate, bandwidth = self._hardware(card)
        weights = self.model.read_weight_bytes(self.length, self.types)
        flops = self.model.prompt_flops(self.length)
        return max(flops / rate, weights / bandwidth)

    def expected_prompt_time(self, card: str) -> float | None:
        """Return the seconds until the first token that are expected, or None."""
        rate, bandwidth = self._usual(card)
        weights = self.model.read_weight_bytes(self.length, self.types)
        sums = self._sums(card, self.length)
        if sums is None:
            return None
        flops = self.model.prompt_flops(self.length)
        return max(flops / rate, weights / bandwidth) + self._calls + sums

    # What expectations add

    def _usual(self, card: str) -> tuple[float, float]:
        """Return the FLOP/s of usual products and the B/s that arrays are read with."""
        peak = 1e12 * tables.card_data(card)["tensor16"]
        rate = self.gpus * expectations.product_rate(card, peak)
        return rate, expectations.BANDWIDTH_SHARE * self._hardware(card)[1]

    @property
    def _calls(self) -> float:
        """Return the seconds of small kernels in all layers."""
        return self.model.depth * expectations.layer_time()

    def _sums(self, card: str, tokens: int) -> float | None:
        """Return the seconds of all sums among the GPUs; None beyond NVLink."""
        if self.gpus == 1:
            return 0.0
        link = tables.card_data(card).get("nvlink")
        if not link or self.gpus > MACHINE:
            return None
        link *= 1e9 * expectations.link_share(card, self.gpus)
        ring = 2 * (self.gpus - 1) / self.gpus * 2 * self.model.width * tokens / link
        return 2 * self.model.depth * max(expectations.ALL_REDUCE, ring)


def fewest(service: Service, card: str, most: int = 64) -> int | None:
    """Return the fewest GPUs, as a power of two, that hold a service; None if over."""
    for exponent in range(1 + int(math.log2(most))):
        gpus = 2**exponent
        each = Service(
            *(service.model, service.length, service.users, gpus, service.types),
            service.cache_bits,
        )
        if each.fits(card):
            return gpus
    return None


# In words


def describe(model: Model) -> str:
    """Return the layers and the parameters of a model in a sentence."""
    kinds = []
    for kind, number in model.kinds.items():
        mixers = [layer.mixer for layer in model.layers if layer.mixer.kind == kind]
        window = f" of {mixers[0].window:,} tokens" if kind == "window" else ""
        kinds.append(f"{number} {NAMES[kind]}{window}")
    experts = {
        (layer.network.experts, layer.network.used): None
        for layer in model.layers
        if layer.network.experts
    }
    mixture = "".join(f"; {n:,} experts, {used} used" for n, used in experts)
    return (
        f"Layers: {', '.join(kinds)}{mixture}. "
        f"{model.params / 1e9:,.2f} billion parameters, {model.active / 1e9:,.2f} "
        "for a token."
    )


def describe_types(types: Types) -> str:
    """Return the bits of the parts of a model in words."""
    parts = "experts", "networks", "attention"
    shown = [f"{bits:.3g}" for bits in types]
    apart = ", ".join(f"{bits} in {part}" for bits, part in zip(shown, parts))
    layers = f"{shown[0]} in the layers" if len({*shown[:3]}) == 1 else apart
    return f"{layers}, {shown[3]} in the embedding and the head"


NAMES = {
    "full": "with full attention",
    "window": "with a window",
    "latent": "with latent attention",
    "linear": "with linear attention",
    "state": "with a state-space model",
}


def time_rows(service: Service, cards: list[str]) -> list[str]:
    """Return a table of the times on some cards, in milliseconds."""
    heading = f"{'milliseconds':<14}{'first token':>22}{'token':>22}"
    names = f"{'':<14}{'bound':>11}{'expected':>11}" + f"{'bound':>11}{'expected':>11}"
    rows = [heading, names]
    for card in cards:
        times = (
            service.prompt_time(card),
            service.expected_prompt_time(card),
            service.token_time(card),
            service.expected_token_time(card),
        )
        shown = "".join(f"{_ms(each):>11}" for each in times)
        number = f"{service.gpus} x " if service.gpus > 1 else ""
        rows.append(f"{number + card:<14}{shown}")
    return rows


def _ms(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    ms = 1e3 * seconds
    return f"{ms:,.0f}" if ms >= 100 else f"{ms:.2f}" if ms < 10 else f"{ms:.1f}"
