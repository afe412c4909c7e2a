"""Language models as lists of layers: the parameters, caches and FLOPs that follow.

    from d2l.configurations import built_in
    model = built_in("gpt-oss 120B")
    print(model.params, model.cache_bytes(131072), model.read_params(16))

A layer mixes tokens and then computes with each token alone. `Mixer` has the kinds of
the former: attention to all tokens or to a window, latent attention, and linear
attention or a state-space model, whose state is constant for a user. `Network` is dense
or has experts. `d2l.configurations` makes such a model from its published
configuration, and `d2l.generation` answers what it takes to serve it.
"""

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

# A linear layer adds up over all tokens, so servers keep its state in 32 bits.
STATE_BYTES = 4


class Types(NamedTuple):
    """Bits of a weight: of routed experts, other networks, mixers, and the ends.

    The ends are the embedding and the head, which most formats leave in 16 bits.
    """

    experts: float = 16
    networks: float = 16
    mixers: float = 16
    ends: float = 16


@dataclass(frozen=True)
class Mixer:
    """The part of a layer that mixes tokens, or nothing if the `kind` is 'none'.

    A token adds `values` to the cache, and the cache keeps the last `window` tokens, or
    all if that is 0. `state` values of 32 bits and `recent` values of the cache's type
    are constant for a user. Of a token's values, `index` serve to choose the `chosen`
    tokens that it attends to, if that is not 0. `pair` are the FLOPs of attending to a
    token in a prompt, `pair_later` those in decoding, and `pair_index` those of the
    choice. The cache can be divided among as many GPUs as it has `parts`.
    """

    kind: str
    params: float = 0
    values: int = 0
    window: int = 0
    state: int = 0
    recent: int = 0
    index: int = 0
    chosen: int = 0
    pair: int = 0
    pair_later: int = 0
    pair_index: int = 0
    parts: int = 1

    def kept(self, length: int) -> int:
        """Return how many of `length` tokens the cache keeps."""
        return min(length, self.window) if self.window else length

    def attended(self, length: int) -> int:
        """Return how many of `length` tokens the next one attends to."""
        kept = self.kept(length)
        return min(kept, self.chosen) if self.chosen else kept

    def cache_bytes(self, length: int, itemsize: float) -> float:
        """Return the bytes that the cache of one user has after `length` tokens."""
        values = (self.values + self.index) * self.kept(length) + self.recent
        return values * itemsize + STATE_BYTES * self.state

    def read_bytes(self, length: int, itemsize: float) -> float:
        """Return the bytes of the cache that the token after `length` others reads."""
        values = self.values * self.attended(length) + self.index * self.kept(length)
        return (values + self.recent) * itemsize + STATE_BYTES * self.state

    def token_flops(self, length: int) -> float:
        """Return the FLOPs of attention for the token after `length` others."""
        chosen = self.pair_index * self.kept(length)
        # The state decays, takes up a token and is read: a multiplication and two
        # products with additions.
        return self.pair_later * self.attended(length) + chosen + 5 * self.state

    def prompt_flops(self, length: int) -> float:
        """Return the FLOPs of attention for a prompt, whose tokens see earlier ones."""
        attended = _pairs(length, self.attended(length))
        chosen = self.pair_index * _pairs(length, self.kept(length))
        return self.pair * attended + chosen + 5 * self.state * length


def _pairs(length: int, most: int) -> float:
    """Return the pairs of a token and an earlier one, at most `most` for each."""
    return most * length - most**2 / 2


@dataclass(frozen=True)
class Network:
    """The part of a layer that computes with each token alone.

    Each token uses `dense` parameters: a dense network, shared experts, and the router;
    and `used` of `experts` with `expert` parameters each.
    """

    dense: float = 0
    expert: float = 0
    experts: int = 0
    used: int = 0

    @property
    def params(self) -> float:
        """Return the number of all parameters."""
        return self.dense + self.experts * self.expert

    def read_experts(self, tokens: int) -> float:
        """Return the parameters of the experts that a step over `tokens` reads.

        Each token uses all experts equally often, as in `d2l.tables.read_params`.
        """
        if not self.experts:
            return 0.0
        idle = (1 - self.used / self.experts) ** tokens
        return self.experts * self.expert * (1 - idle)


class Layer(NamedTuple):
    """A layer: a mixer, a network, and the parameters of its normalization."""

    mixer: Mixer
    network: Network
    norms: float = 0

    @property
    def dense(self) -> float:
        """Return the parameters that each token uses, without routed experts."""
        return self.mixer.params + self.network.dense + self.norms


@dataclass(frozen=True)
class Model:
    """A language model: its layers, and the embedding and the head around them.

    `context` is the number of tokens that it is made for, 0 if it is not known, and
    `types` are those of its published weights. `notes` are sentences on what was not
    counted, or taken for granted. Whether it is read from a configuration, rather than
    from a few numbers, is in `is_configured`.
    """

    name: str
    layers: tuple[Layer, ...]
    width: int
    vocabulary: float
    tied: bool
    context: int = 0
    types: Types = Types()
    notes: tuple[str, ...] = ()
    is_configured: bool = True

    @property
    def head(self) -> float:
        """Return the parameters of the head, with the last normalization."""
        return self.vocabulary * self.width + self.width

    @property
    def ends(self) -> float:
        """Return the parameters of embedding and head, which may be one matrix."""
        return self.head + (0 if self.tied else self.vocabulary * self.width)

    @property
    def params(self) -> float:
        """Return the number of all parameters."""
        layers = sum(layer.dense + layer.network.experts * layer.network.expert
                     for layer in self.layers)  # fmt: skip
        return layers + self.ends

    @property
    def active(self) -> float:
        """Return the number of parameters that compute a token."""
        return self.read_params(1)

    @property
    def depth(self) -> float:
        """Return the number of layers; one with a mixer or a network alone is half."""
        mixers = sum(layer.mixer.kind != "none" for layer in self.layers)
        return (mixers + sum(layer.network.params > 0 for layer in self.layers)) / 2

    @property
    def kinds(self) -> Counter[str]:
        """Return how many layers there are of each kind, except for 'none'."""
        kinds = Counter(layer.mixer.kind for layer in self.layers)
        del kinds["none"]
        return kinds

    def read_params(self, tokens: int) -> float:
        """Return the number of parameters that a step over a batch of tokens reads."""
        experts = sum(layer.network.read_experts(tokens) for layer in self.layers)
        return sum(layer.dense for layer in self.layers) + experts + self.head

    def weight_bytes(self, types: Types) -> float:
        """Return the bytes of all weights."""
        networks = [layer.network for layer in self.layers]
        experts = sum(each.experts * each.expert for each in networks)
        return self._bytes(types, experts, self.ends)

    def read_weight_bytes(self, tokens: int, types: Types) -> float:
        """Return the bytes of the weights that a step over a batch of tokens reads."""
        experts = sum(layer.network.read_experts(tokens) for layer in self.layers)
        return self._bytes(types, experts, self.head)

    def _bytes(self, types: Types, experts: float, ends: float) -> float:
        """Return the bytes of all layers with some experts, and of some ends."""
        networks = sum(layer.network.dense for layer in self.layers)
        mixers = sum(layer.mixer.params + layer.norms for layer in self.layers)
        sizes = experts, networks, mixers, ends
        return sum(size * bits for size, bits in zip(sizes, types)) / 8

    def cache_bytes(self, length: int, itemsize: float = 2, gpus: int = 1) -> float:
        """Return the bytes of the cache of one user with `length` tokens.

        They are those on all GPUs. If there are more of them than a cache has parts,
        each part is on several. Raises ValueError if `length` is negative.
        """
        if length < 0:
            raise ValueError(f"a text has 0, 1, 2, ... tokens, not {length}")
        return sum(
            max(1, gpus / layer.mixer.parts) * layer.mixer.cache_bytes(length, itemsize)
            for layer in self.layers
        )

    def read_cache_bytes(self, length: int, itemsize: float, gpus: int = 1) -> float:
        """Return the bytes of a user's cache that a token after `length` reads."""
        return sum(
            max(1, gpus / layer.mixer.parts) * layer.mixer.read_bytes(length, itemsize)
            for layer in self.layers
        )

    def copies(self, gpus: int) -> bool:
        """Return whether some part of a cache is on several of so many GPUs."""
        mixers = [layer.mixer for layer in self.layers]
        return any(gpus > mixer.parts for mixer in mixers if mixer.kind != "none")

    def token_flops(self, length: int) -> float:
        """Return the FLOPs of a token after `length` others."""
        mixing = sum(layer.mixer.token_flops(length) for layer in self.layers)
        return 2 * self.active + mixing

    def prompt_flops(self, length: int) -> float:
        """Return the FLOPs of a prompt; only its last token has logits."""
        mixing = sum(layer.mixer.prompt_flops(length) for layer in self.layers)
        return 2 * (self.active - self.head) * length + 2 * self.head + mixing
