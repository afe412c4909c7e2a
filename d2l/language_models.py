"""The sizes of published Transformers, and the parameters and FLOPs that follow.

The figures have the same formulas in JavaScript; `tests/static/published.test.js`
compares both for each row of `published.csv`.
"""

from dataclasses import dataclass

from d2l import tables
from d2l.tables import LanguageShape


@dataclass(frozen=True)
class Transformer:
    """The sizes of a dense Transformer of the kind 'gpt' or 'llama'.

    `hidden` is the width of the feed-forward network, `positions` the number of
    learned ones, and `tied` tells whether the head uses the matrix of the embedding.
    """

    kind: str
    layers: int
    width: int
    hidden: int
    heads: int
    kv_heads: int
    vocabulary: int
    positions: int = 0
    tied: bool = False

    @property
    def layer_params(self) -> float:
        """Return the number of parameters of a layer."""
        if self.kind == "gpt":
            return 12 * self.width**2 + 13 * self.width
        attention = 2 * self.width**2 * (1 + self.kv_heads / self.heads)
        return attention + 3 * self.width * self.hidden + 2 * self.width

    @property
    def embedding_params(self) -> int:
        """Return the number of parameters of the embedding, with the positions."""
        return (self.vocabulary + self.positions) * self.width

    @property
    def head_params(self) -> int:
        """Return the number of parameters of the last normalization and the head."""
        norm = 2 * self.width if self.kind == "gpt" else self.width
        return norm + (0 if self.tied else self.vocabulary * self.width)

    @property
    def params(self) -> float:
        """Return the number of all parameters."""
        layers = self.layers * self.layer_params
        return layers + self.embedding_params + self.head_params

    @property
    def active(self) -> float:
        """Return the number of parameters that compute a token."""
        used_again = self.vocabulary * self.width if self.tied else 0
        return self.params - self.embedding_params + used_again

    @property
    def shape(self) -> LanguageShape:
        """Return the shape that generating text depends on."""
        head = self.width // self.heads
        counts = self.params, self.active, self.layers, self.heads, self.kv_heads
        matrix = self.vocabulary * self.width
        embedding = 0 if self.tied else matrix
        return LanguageShape(*counts, head, embedding=embedding, head=matrix)

    def training_flops(self, length: int) -> float:
        """Return the FLOPs of training on a token of a sequence: 6 N + 12 L h s."""
        return 6 * self.active + 12 * self.layers * self.width * length


def _gpt(
    layers: int, width: int, heads: int, vocabulary: int, positions: int
) -> Transformer:
    sizes = layers, width, 4 * width, heads, heads
    return Transformer("gpt", *sizes, vocabulary, positions, True)


def _llama(
    *sizes: *tuple[int, int, int, int, int, int], tied: bool = False
) -> Transformer:
    return Transformer("llama", *sizes, 0, tied)


# As published.csv's sources name or configure them; MPT is the family of llm-foundry,
# as its configurations for benchmarks have it.
TRANSFORMERS = {
    "Llama 2 7B": _llama(32, 4096, 11008, 32, 32, 32000),
    "Llama 2 13B": _llama(40, 5120, 13824, 40, 40, 32000),
    "Llama 2 70B": _llama(80, 8192, 28672, 64, 8, 32000),
    "Llama 3 8B": _llama(32, 4096, 14336, 32, 8, 128256),
    "Llama 3 70B": _llama(80, 8192, 28672, 64, 8, 128256),
    "Llama 3 405B": _llama(126, 16384, 53248, 128, 8, 128256),
    "Llama 3.2 1B": _llama(16, 2048, 8192, 32, 8, 128256, tied=True),
    "Llama 3.2 3B": _llama(28, 3072, 8192, 24, 8, 128256, tied=True),
    "Code Llama 34B": _llama(48, 8192, 22016, 64, 8, 32016),
    "TinyLlama 1.1B": _llama(22, 2048, 5632, 32, 4, 32000),
    "Mistral 7B": _llama(32, 4096, 14336, 32, 8, 32000),
    "Qwen2.5 0.5B": _llama(24, 896, 4864, 14, 2, 151936, tied=True),
    "Qwen2.5 1.5B": _llama(28, 1536, 8960, 12, 2, 151936, tied=True),
    "Qwen2.5 3B": _llama(36, 2048, 11008, 16, 2, 151936, tied=True),
    "Qwen2.5 7B": _llama(28, 3584, 18944, 28, 4, 152064),
    "Qwen2.5 14B": _llama(48, 5120, 13824, 40, 8, 152064),
    "Qwen2.5 32B": _llama(64, 5120, 27648, 40, 8, 152064),
    "GPT-2 124M": _gpt(12, 768, 12, 50304, 1024),
    "MPT 125M": _gpt(12, 768, 12, 50368, 2048),
    "MPT 350M": _gpt(24, 1024, 16, 50368, 2048),
    "MPT 760M": _gpt(24, 1536, 12, 50368, 2048),
    "MPT 1B": _gpt(24, 2048, 16, 50368, 2048),
    "MPT 3B": _gpt(32, 2560, 20, 50368, 2048),
    "MPT 7B": _gpt(32, 4096, 32, 50368, 2048),
    "MPT 13B": _gpt(40, 5120, 40, 50368, 2048),
    "MPT 30B": _gpt(48, 7168, 56, 50368, 2048),
    "MPT 70B": _gpt(80, 8192, 64, 50368, 2048),
}
MIXTURES = {
    "Mixtral 8x7B": LanguageShape(
        *(46.7e9, 12.75e9, 32, 32, 8, 128, 32768, 8, 2),
        *(32000 * 4096, 32000 * 4096),
    ),
    "Qwen3 235B-A22B": LanguageShape(
        *(235e9, 22e9, 94, 64, 4, 128, 40960, 128, 8),
        *(151936 * 4096, 151936 * 4096),
    ),
}
# Two sources may count parameters a little differently: the shapes that the sections
# use come first.
LANGUAGE_SHAPES = {
    **{name: model.shape for name, model in TRANSFORMERS.items()},
    **MIXTURES,
    **tables.SHAPES,
}
