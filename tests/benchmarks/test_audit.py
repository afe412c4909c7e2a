"""The data, the table and the numbers of sec_gpu_predictions are today's."""

import itertools
import re

import pytest

from benchmarks import audit as writer
from d2l import audit, predictions, serving, training_plans
from d2l.predictions import KINDS
from d2l.published import published_rows

STORED = writer.stored()
ROWS = {row.id: row for row in published_rows()}
QUICK = [name for name, kind in KINDS.items() if not kind.needs]
SECTION = writer.SECTION.read_text("utf-8")
SOLUTIONS = writer.SECTION.with_name("solutions-predictions.md").read_text("utf-8")


def test_the_data_are_up_to_date():
    assert STORED["rows"] == writer.rows(), "run make audit"
    assert STORED["sources"] == writer.titles(), "run make audit"
    assert STORED["columns"] == [*writer.COLUMNS]
    for name in QUICK:
        found = writer.predictions(audit.outcomes(name))
        assert STORED["kinds"][name]["predicted"] == found, f"{name}: run make audit"


def test_all_kinds_and_rows_are_shown():
    assert STORED["kinds"].keys() == KINDS.keys()
    assert all(kind["predicted"] for kind in STORED["kinds"].values())
    assert {row.source for row in ROWS.values()} == STORED["sources"].keys()
    assert writer.FILE.read_text("utf-8") == writer.text_of(STORED)
    assert len(writer.FILE.read_bytes()) < 130_000


def test_an_expected_value_follows_the_prediction():
    class Expected(audit.Outcome):
        expected = 1e12

    (row,) = [row for row in ROWS.values() if row.id == "stas-mamf-mi300x"]
    found = Expected("product", row, 2e12)
    assert writer.values(found) == [2, 1]
    assert writer.values(audit.Outcome("product", row, 2e12)) == [2]


def test_the_tables_are_those_of_the_data():
    assert writer.with_tables(SECTION, STORED) == SECTION, "run make audit"
    assert SECTION.count("\n| ") == 2 * (len(KINDS) + 1)


def test_another_prediction_changes_the_table():
    kind = dict(
        STORED["kinds"]["decode"], predicted=STORED["kinds"]["decode"]["predicted"][:9]
    )
    other = STORED | {"kinds": STORED["kinds"] | {"decode": kind}}
    assert "| Decoding | 9 |" in writer.with_tables(SECTION, other)


def test_each_source_is_cited():
    cited = {*re.findall(r":cite:`([^`]+)`", SECTION)}
    assert cited == STORED["sources"].keys()


# The numbers of the text that no link sets in the figure


def summary(name):
    return next(each for each in writer.summaries(STORED) if each.kind == name)


def times(name, which="median"):
    ratio = getattr(summary(name), which)
    return f"{ratio if ratio > 1 else 1 / ratio:.1f}"


def in_order(name):
    """Return the share of alike pairs of runs in the predicted order, and their number.

    Alike are runs of one model with the same lengths.
    """
    counted = [each for each in audit.outcomes(name) if not each.why]
    pairs = [
        (a.predicted > b.predicted) == (a.row.measured > b.row.measured)
        for a, b in itertools.combinations(counted, 2)
        if (a.row.model, a.row.length, a.row.output)
        == (b.row.model, b.row.length, b.row.output)
        and max(a.predicted, b.predicted) > 1.1 * min(a.predicted, b.predicted)
    ]
    return f"{sum(pairs) / len(pairs):.0%}".replace("%", " %"), len(pairs)


def test_the_text_has_the_numbers_of_the_table():
    text = " ".join(SECTION.split())
    order = {name: in_order(name) for name in ("training", "decode", "serving")}
    (training, runs), (decode, rates), (serve, servers) = order.values()
    for words in (
        f"{training} of the pairs for training, {decode} for decoding and {serve} for "
        f"serving**) (of {runs}, {rates} and {servers} pairs)",
        f"with a slight bias ({in_order('prefill')[0]})",
        f"about {times('training')} times as long as its bound, and a token "
        f"{times('decode')} times; a server produces its bound divided by "
        f"{times('serving')}",
        f"{times('training', 'high')} times for training, "
        f"{times('decode', 'high')} times for decoding, "
        f"{times('serving', 'high')} times for a server",
        f"training needed at most {times('memory', 'low')} times what is predicted, "
        f"fine-tuning {times('fine-tuning', 'low')} times, "
        f"and generation {times('generation', 'low')} times",
    ):
        assert words in text
    assert len(STORED["sources"]) == 15 and "fifteen sources" in text


INFERENCE = writer.SECTION.with_name("inference.md").read_text("utf-8")


def shares(model, *cards, bound=serving.throughput):
    """Return the published throughputs as shares of a bound, the smallest first."""
    chosen = [
        row
        for row in ROWS.values()
        if row.kind == "serving"
        and row.model == model
        and (row.card, row.gpus) in cards
    ]
    servers = [predictions.server_of(row) for row in chosen]
    bounds = [bound(server, serving.capacity(server)) for server in servers]
    return sorted(row.measured / each for row, each in zip(chosen, bounds, strict=True))


def spread(found):
    return f"{found[0]:.2f} to {found[-1]:.2f}"


def test_the_section_on_inference_has_the_shares_of_published_servers():
    text = " ".join(INFERENCE.split())
    one = "Llama 3 8B", ("H100", 1)
    shortest, *apart = shares(*one, bound=serving.throughput_without_chunks)
    for words in (
        f"it is {spread(shares(*one))} of this bound",
        f"nine pairs are {spread(apart)}",
        f"it is {shortest:.2f} of either",
        f"{spread(shares('Llama 3 8B', ('H200', 1)))} of it for 8B on an H200",
        f"{spread(shares('Llama 3 70B', ('H200', 1), ('H100', 2)))} for 70B",
        f"{spread(shares('Llama 3 405B', ('H200', 8), ('H100', 8)))} for 405B",
    ):
        assert words in text


def outcome(name, row):
    return audit.outcome(name, ROWS[row])


def seconds(name, row):
    """Return the measured and the predicted time of a thing in a rate."""
    found = outcome(name, row)
    return 1 / found.row.measured, 1 / found.predicted


def product():
    measured, bound = (
        2 * 1024**3 * x for x in seconds("product", "azure-h200-gemm-1024x1024x1024")
    )
    yield f"take {1e6 * bound:.1f} µs at the peak and took {1e6 * measured:.1f} µs"
    yield f"The {1e6 * (measured - bound):.1f} µs in between"


def turns():
    one, bound = seconds("decode", "dai-a100pcie-1-8b-q4-tg1024")
    four, _ = seconds("decode", "dai-a100pcie-4-8b-q4-tg1024")
    yield f"needs {1e3 * one:.1f} ms for a token, and four need {1e3 * four:.1f} ms"
    yield f"costs {1e3 * (four - one) / 3:.1f} ms"
    yield f"three times the {1e3 * bound:.1f} ms of its bound"
    yield f"{1e3 * (one - bound) / 32:.2f} ms here"


def fewer_bits():
    long, some = seconds("decode", "litgpt-inf-llama2-7b-none")
    longer, few = seconds("decode", "litgpt-inf-llama2-7b-bnb-nf4-dq")
    yield f"{1e3 * long:.1f} ms in 16 bits, and its bytes {1e3 * some:.1f} ms"
    yield f"it takes {1e3 * longer:.1f} ms, and its bytes {1e3 * few:.1f} ms"
    first, second = (long - some) / 32, (longer - few) / 32
    yield f"is {1e3 * first:.2f} ms and {1e3 * second:.1f} ms"
    yield f"the time of {first / 14.6e-6:.0f} calls"
    yield f"larger by {1e3 * (second - first):.1f} ms"


def calls():
    v100, t4 = (
        1 / ROWS[f"dle-resnet50-inference-{card}-float16-1"].value
        for card in ("v100", "t4")
    )
    yield f"takes {1e3 * v100:.1f} ms, or {1e6 * v100 / 174:.0f} µs for each of 174"
    yield f"a T4 needs {1e3 * t4:.1f} ms"


def prompts():
    lost = {}
    for length in 20, 29:
        found = outcome("cache", f"cache-3090-{length}k")
        lost[length] = 128 * 1024 * (found.predicted - found.row.measured)
    yield f"{lost[29] / 1e9:.2f} GB are missing for 29000 tokens"
    yield f"and {lost[20] / 1e9:.2f} GB for 20000"
    yield f"difference is {(lost[29] - lost[20]) / 9e6:.0f} kB for each token"
    yield f"these are {2 * (28672 + 14336 + 2 * 4096) / 1e3:.0f} kB"


def all_reduces():
    found = outcome("serving", "trt-llama3-405b-h100-128-2048")
    users = serving.capacity(predictions.server_of(found.row))
    nbytes = 2 * 126 * users * 16384 * 2
    sent, step = 2 * 7 / 8 * nbytes / 450e9, users / found.predicted
    yield f"{users} users send $2 \\cdot 126 \\cdot {users} \\cdot 16384 \\cdot 2$"
    yield f"or {nbytes / 1e9:.1f} GB"
    yield f"of them, {2 * 7 / 8 * nbytes / 1e9:.1f} GB"
    yield f"which takes {1e3 * sent:.1f} ms at 450 GB/s"
    yield f"takes {1e3 * step:.1f} ms at the bound"
    yield f"so {1e3 * (step + sent):.0f} ms with the all-reduces"
    yield f"ratio of {(step + sent) / step:.1f} of the {found.ratio:.1f}"
    yield f"would have taken {1e3 * users / found.row.measured:.0f} ms"


def attention():
    found = outcome("peak-share", "titan-cp8-tps")
    model, length = predictions.TRANSFORMERS[found.row.model], found.row.length
    flops, products = model.training_flops(length), model.training_flops(0)
    scores, slow, fast, share = flops - products, 989e12, 1979e12, 0.25
    yield f"from {share * fast / flops:.0f} to "
    yield f"{scores / flops:.0%} of the arithmetic".replace("%", " %")
    yield f"to {share / (products / fast + scores / slow):.0f} tokens/s"
    twice = 4 / 3 * (products / fast + scores / 2 / slow)
    yield f"which leaves {share / twice:.0f} tokens/s"
    yield f"factor of {share / twice / found.row.measured:.1f} remains"
    rest = 1 / found.row.measured - 4 / 3 * products / fast / share
    reached = 4 / 3 * scores / 2 / slow / rest
    yield f"reached {100 * reached:.0f} % of the peak in 16 bits"
    text = " ".join(SECTION.split())
    assert f"would be {share * fast / flops:.0f} tokens/s" in text


def tokens():
    models = {}
    for name in "tiny-llama", "llama-2-7b":
        found = outcome("fine-tuning", f"litgpt-{name}-qlora")
        plan = predictions.plans_of(found.row)[0]
        weights = training_plans.quantized_bytes(plan.model, found.row.bits)
        kept = found.predicted - weights - 16 * found.row.adapters
        lack = found.row.measured - found.predicted
        models[name] = lack, lack / plan.model.params, lack / plan.tokens, kept / lack
    small, large = models.values()
    yield f"lacks {small[0] / 1e9:.1f} GB and the large one {large[0] / 1e9:.1f} GB"
    yield f"these are {small[1]:.1f} bytes and {large[1]:.1f} bytes"
    yield f"they are {small[2] / 1e6:.1f} MB and {large[2] / 1e6:.1f} MB"
    kept = [each[2] * each[3] / 1e6 for each in (small, large)]
    yield f"beside {kept[0]:.1f} MB and {kept[1]:.1f} MB that the prediction keeps"
    yield f"keeps {1 / small[3]:.1f} and {1 / large[3]:.1f} times as much again"


def neighbors():
    wide, form = (
        ROWS[f"dai-{n}-f16-pp1024"].value for n in ("a100-1-8b", "a100pcie-1-8b")
    )
    yield f"{wide:.1f} or {form:.0f} tokens/s"
    yield f"{ROWS['dai-a100-1-70b-q4-pp1024'].value:.0f} tokens/s for a model"
    yield f"at {outcome('decode', 'dai-a100-1-8b-f16-tg1024').ratio:.1f} times"


FACTS = (
    product,
    turns,
    fewer_bits,
    calls,
    prompts,
    all_reduces,
    attention,
    tokens,
    neighbors,
)


@pytest.mark.parametrize("number", range(1, len(FACTS) + 1))
def test_a_solution_has_the_numbers_of_its_rows(number):
    parts = re.split(r"^## ", SOLUTIONS, flags=re.MULTILINE)
    assert len(parts) == len(FACTS) + 1
    text = " ".join(parts[number].split())
    for words in FACTS[number - 1]():
        assert words in text
