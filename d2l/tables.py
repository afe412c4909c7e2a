"""The tables of this package: published measurements, cards, prices, plans.

Each row of `cited.csv`, `cards.csv` and `prices.csv` names its source; `make plans`
writes the others from what XLA's compiler and Triton plan for GPUs that need not exist.
"""

import csv
import math
import re
from collections import namedtuple
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import resources


def read_rows(name: str) -> list[dict[str, str]]:
    """Return the rows of a file of this package, each by the names of its columns."""
    text = resources.files("d2l").joinpath(name).read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))


Cited = namedtuple("Cited", "id topic what framework value unit hardware source")


def cited_rows(topic: str, framework: str | None = None) -> list:
    """Return the published measurements of a topic, in one framework or in all.

    A row has the attributes `id`, `topic`, `what`, `framework`, `value` (a number),
    `unit`, `hardware` and `source`, a key of the bibliography. Raises ValueError if
    there is no such row.
    """
    rows = [
        Cited(**row | {"value": float(row["value"])}) for row in read_rows("cited.csv")
    ]
    found = [
        row
        for row in rows
        if topic in (row.topic, "all") and framework in (row.framework, None)
    ]
    if not found:
        topics = ", ".join(dict.fromkeys(row.topic for row in rows))
        raise ValueError(
            f"no measurement of '{topic}' ({framework or 'all frameworks'})"
            f"; the topics are {topics}"
        )
    return found


def cited(id: str) -> float:
    """Return the published measurement `id`, in the unit of its row.

    Raises ValueError if there is none.
    """
    values = {row.id: row.value for row in cited_rows("all")}
    if id not in values:
        similar = get_close_matches(id, values) or ["the rows of d2l/cited.csv"]
        raise ValueError(f"no measurement '{id}'; see {', '.join(similar)}")
    return values[id]


def card_data(card: str) -> dict[str, float]:
    """Return the properties of a card, such as 'H100', in the units of `cards.csv`.

    Raises ValueError if the card is unknown.
    """
    rows = read_rows("cards.csv")
    found = {
        row["property"]: float(row["value"]) for row in rows if row["card"] == card
    }
    if not found:
        cards = ", ".join(dict.fromkeys(row["card"] for row in rows))
        raise ValueError(f"no card '{card}'; the cards are {cards}")
    return found


# The cards that answers name, from the smallest memory to the largest.
NAMED_CARDS = (
    *("T4", "L4", "RTX 4090", "RTX 5090", "A100 40 GB"),
    *("H100", "A100", "H200", "B200", "B300"),
)
# The share of a card that stays free for the framework, the driver, copies and gaps
# between arrays. A step is expected to take 1 / (1 - LEFT) of the sum of its arrays.
LEFT = 0.1


def card_memory(card: str) -> float:
    """Return the bytes of a card: those that programs see, or else the data sheet's.

    The two differ by up to 7 percent. A GB of a data sheet may have 2**30 bytes, and
    error correction takes a part of some cards. Raises ValueError if the card is
    unknown.
    """
    data = card_data(card)
    return data.get("memory") or 1e9 * data["advertised"]


def usable_memory(card: str) -> float:
    """Return the bytes of a card that arrays may take; errors of `card_memory`."""
    return (1 - LEFT) * card_memory(card)


def card_holds(card: str, nbytes: float) -> bool:
    """Return whether a card holds arrays of so many bytes, with a tenth to spare.

    This is the rule of the whole book. Raises ValueError if the card is unknown.
    """
    return nbytes <= usable_memory(card)


# The share of the data sheet's rate that training a language model reaches: on cards
# without a share of their own, on an A100, on RTX cards, and in 8 bits. `CONSTANTS` in
# d2l.expectations names the sources that they were fitted on.
PEAK_SHARE, PEAK_SHARE_A100, PEAK_SHARE_RTX, PEAK_SHARE_8 = 0.4, 0.53, 0.65, 0.25


def peak_share_of(card: str, bits: float = 16) -> str:
    """Return the name of the constant that is a card's share of the peak."""
    if bits == 8:
        return "PEAK_SHARE_8"
    if card.startswith("RTX"):
        return "PEAK_SHARE_RTX"
    return "PEAK_SHARE_A100" if card.startswith("A100") else "PEAK_SHARE"


def peak_share(card: str, bits: float = 16) -> float:
    """Return the share of the data sheet's rate that training reaches on a card.

    It is that of language models with all parameters; in 8 bits it refers to the rate
    of products in 8 bits.
    """
    return globals()[peak_share_of(card, bits)]


Offer = namedtuple("Offer", "card provider rented price date source")


def rental_offers(card: str) -> list[Offer]:
    """Return the offers in `prices.csv` to rent a card by the hour, cheapest first.

    `price` is in dollars for a GPU and an hour on demand, as listed on `date`, without
    taxes, storage and traffic; `source` is a key of the bibliography. Raises ValueError
    if there is no offer.
    """
    names = "card", "provider", "rented", "value", "date", "source"
    rows = read_rows("prices.csv")
    offers = [Offer(*map(row.get, names)) for row in rows if row["card"] == card]
    if not offers:
        cards = ", ".join(dict.fromkeys(row["card"] for row in rows))
        raise ValueError(f"no price of '{card}'; there are prices of {cards}")
    offers = [offer._replace(price=float(offer.price)) for offer in offers]
    return sorted(offers, key=lambda offer: offer.price)


def rental_costs(
    card: str, hours: float, price: float | None = None
) -> tuple[float, float]:
    """Return the dollars for hours on a GPU, by the cheapest and the dearest offer.

    With `price`, which is your own in dollars per hour, no offer counts. Raises
    ValueError if there is no offer, or if `hours` or `price` is negative.
    """
    if hours < 0 or (price or 0) < 0:
        raise ValueError(f"hours and price cannot be negative: {hours}, {price}")
    prices = [price] if price is not None else [o.price for o in rental_offers(card)]
    return hours * min(prices), hours * max(prices)


LanguageShape = namedtuple(
    "LanguageShape",
    "params active layers heads kv_heads head_size context experts used embedding head",
    defaults=(0, 1, 1, 0, 0),
)


def _ends(vocabulary: int, width: int) -> dict[str, int]:
    """Return the parameters of an embedding and of a head with a matrix of its own."""
    return {"embedding": vocabulary * width, "head": vocabulary * width}


# As the makers publish them: Meta.Llama, Mistral.2024, Qwen.2024 and Qwen.2025 in the
# bibliography. `active` are the parameters that compute a token: all but the embedding
# and, in a mixture of experts, those of the experts that are not used. `context` is the
# number of tokens that the model is made for, 0 if it is not known. `embedding` are the
# parameters of the embedding, 0 if the head has the same matrix.
SHAPES = {
    "Llama 3 8B": LanguageShape(
        *(8.03e9, 7.50e9, 32, 32, 8, 128, 8192), **_ends(128256, 4096)
    ),
    "Llama 3 70B": LanguageShape(
        *(70.6e9, 69.5e9, 80, 64, 8, 128, 8192), **_ends(128256, 8192)
    ),
    "Mistral 7B": LanguageShape(
        *(7.25e9, 7.11e9, 32, 32, 8, 128, 32768), **_ends(32768, 4096)
    ),
    "Qwen2.5 7B": LanguageShape(
        *(7.62e9, 7.07e9, 28, 28, 4, 128, 32768), **_ends(152064, 3584)
    ),
    "Qwen3 8B": LanguageShape(
        *(8.19e9, 7.57e9, 36, 32, 8, 128, 40960), **_ends(151936, 4096)
    ),
    "Qwen3 30B-A3B": LanguageShape(
        *(30.5e9, 3.04e9, 48, 32, 4, 128, 40960, 128, 8), **_ends(151936, 2048)
    ),
}


def cache_bytes(shape: LanguageShape, length: int, itemsize: float = 2) -> float:
    """Return the bytes of the keys and values of `length` tokens of one user.

    This holds if each layer keeps the keys and values of all tokens: for multi-head,
    grouped-query and multi-query attention, but neither for sliding windows nor for
    latent attention. Raises ValueError if `length` is negative.
    """
    if length < 0:
        raise ValueError(f"a text has 0, 1, 2, ... tokens, not {length}")
    return 2 * shape.layers * shape.kv_heads * shape.head_size * length * itemsize


def read_params(shape: LanguageShape, batch_size: int) -> float:
    """Return the number of parameters that a step reads for a batch of tokens.

    A dense model reads `active`. In a mixture of experts, each token uses `used` of
    `experts`, all equally often, and a step reads the experts of any of its tokens, but
    only rows of the embedding.
    """
    if shape.experts == 1:
        return shape.active
    idle = (1 - shape.used / shape.experts) ** (batch_size - 1)
    most = shape.params - shape.embedding
    return most - (most - shape.active) * idle


def weight_bytes(shape: LanguageShape, bits: float) -> float:
    """Return the bytes of all weights, in so many bits in the layers.

    The embedding and the head stay in 16 bits, unless the layers have more.
    """
    return _bytes(shape.params, shape.embedding + shape.head, bits)


def read_bytes(shape: LanguageShape, batch_size: int, bits: float) -> float:
    """Return the bytes of `read_params` if the layers have so many bits."""
    return _bytes(read_params(shape, batch_size), shape.head, bits)


def _bytes(params: float, ends: float, bits: float) -> float:
    return bits / 8 * (params - ends) + max(bits, 16) / 8 * ends


@dataclass
class Plan:
    """The bytes that a compiler plans to store on each GPU, by role.

    `aliased` counts outputs that take the place of arguments. `code` is None
    if the compiler does not tell. `text` is the compiled program, or '' if the
    plan was stored without it.
    """

    card: str
    num_gpus: int
    arguments: int
    outputs: int
    aliased: int
    temporaries: int
    code: int | None = None
    text: str = field(default="", repr=False, kw_only=True)

    @property
    def total(self) -> int:
        """Return the bytes of all roles."""
        return (
            self.arguments
            + self.outputs
            - self.aliased
            + self.temporaries
            + (self.code or 0)
        )

    @property
    def fits(self) -> bool:
        """Return whether the card holds `total` by the rule of `card_holds`."""
        return card_holds(self.card, self.total)


def stored_plans(model: str) -> dict:
    """Return the plans in `plans.csv` for a model, by card and number of GPUs.

    Raises ValueError if there are none.
    """
    rows = read_rows("plans.csv")
    roles = "num_gpus", "arguments", "outputs", "aliased", "temporaries"
    found = [
        Plan(
            row["card"],
            *[int(row[role]) for role in roles],
            text=row["text"].replace("; ", "\n"),
        )
        for row in rows
        if row["model"] == model
    ]
    if not found:
        models = ", ".join(dict.fromkeys(row["model"] for row in rows))
        raise ValueError(f"no plans of '{model}'; the models are {models}")
    return {(plan.card, plan.num_gpus): plan for plan in found}


Collective = namedtuple("Collective", "kind count nbytes")


def stored_collectives(layout: str) -> dict[int, list]:
    """Return the collectives of a step in a layout, by the number of GPUs.

    Raises ValueError if the layout is unknown.
    """
    rows = read_rows("collectives.csv")
    found: dict[int, list] = {}
    for row in rows:
        if row["layout"] == layout:
            found.setdefault(int(row["num_gpus"]), []).append(
                Collective(row["kind"], int(row["count"]), int(row["nbytes"]))
            )
    if not found:
        layouts = ", ".join(dict.fromkeys(row["layout"] for row in rows))
        raise ValueError(f"no layout '{layout}'; the layouts are {layouts}")
    return found


Turn = namedtuple("Turn", "card tile warps stages loop")


def stored_turns() -> list:
    """Return the inner loops in `turns.csv`, of products that Triton has compiled.

    `tile` has the rows and the columns of the result that a block computes, and the
    terms that a turn of the loop adds to each value. `loop` lists the instructions
    that each of the block's `warps` executes in a turn, in machine code (SASS).
    """
    names = "rows", "columns", "terms"
    return [
        Turn(
            row["card"],
            tuple(int(row[name]) for name in names),
            int(row["warps"]),
            int(row["stages"]),
            row["loop"].split("; "),
        )
        for row in read_rows("turns.csv")
    ]


INSTRUCTIONS = {
    "products": r"\w*MMA",
    "LDSM": "LDSM",
    "global loads": "LDG|LDGSTS|UTMALDG",
}


def count_instructions(loop: list[str]) -> dict[str, int]:
    """Return the number of instructions of each kind in a loop of machine code.

    The kinds are products on tensor cores, loads of their operands from shared memory
    (LDSM), loads and copies from global memory, and the rest.
    """
    opcodes = [re.sub(r"^@\S+ ", "", line).split()[0].split(".")[0] for line in loop]
    counts = {
        kind: sum(bool(re.fullmatch(pattern, opcode)) for opcode in opcodes)
        for kind, pattern in INSTRUCTIONS.items()
    }
    return counts | {"rest": len(loop) - sum(counts.values())}


def shared_bytes(turn: Turn) -> tuple[int, int]:
    """Return the bytes that a turn reads from shared memory, and that it writes there.

    The values have 16 bits. An instruction of the tensor cores reads once each factor
    that is in shared memory, and the copies write both tiles once.
    """
    rows, columns, terms = turn.tile
    code = "\n".join(turn.loop)
    matrices = re.findall(r"LDSM\S*88\.?(\d?)", code)  # 128 bytes each, for a warp
    read = turn.warps * sum(128 * int(number or 1) for number in matrices)
    for m, n, k in re.findall(r"HGMMA\.(\d+)x(\d+)x(\d+)", code):  # of four warps
        read += turn.warps // 4 * 2 * int(k) * (int(m) + int(n))
    read += code.count("UTCHMMA") * 2 * 16 * (rows + columns)  # of the whole block
    return read, 2 * terms * (rows + columns)


def turn_clocks(turn: Turn) -> dict[str, float]:
    """Return the clocks for which a turn of a product occupies each unit of an SM.

    The values have 16 bits. In a clock, each of the SM's four schedulers issues one
    instruction, and the shared memory delivers 128 bytes. `shared reads` are its clocks
    if the writes of copies cost none, and `reads + writes` if they cost as many as
    reads. The L2 cache is assumed to deliver 5120 bytes to all SMs together, as that
    of an A100.
    """
    data = card_data(turn.card)
    rows, columns, terms = turn.tile
    # The operations of a clock are a power of two. The rate may be at a lower clock.
    flops = 1e3 * data["tensor16"] / data["cores"] / data["clock"]
    flops = 2 ** round(math.log2(flops))
    read, written = shared_bytes(turn)
    return {
        "tensor cores": 2 * rows * columns * terms / flops,
        "issue": turn.warps * len(turn.loop) / 4,
        "shared reads": read / 128,
        "reads + writes": (read + written) / 128,
        "L2 cache": written * data["cores"] / 5120,
    }
