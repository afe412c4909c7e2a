"""The book's predictions, held against the measurements in published.csv.

No framework computes anything here: the last tests compare the formulas with those of
the libraries. Those of `d2l/serving.py` are among the predictions.
"""

import csv
import dataclasses
import math
import re

import audit_quantiles
import pytest

from d2l import (
    audit,
    audit_command,
    bounds,
    expectations,
    predictions,
    published,
    serving,
    tables,
    training_plans,
)
from d2l.predictions import KINDS

pytestmark = pytest.mark.shared


@pytest.fixture
def fresh():
    """Forget the outcomes before and after a test that changes a formula."""
    audit.outcomes.cache_clear()
    yield
    audit.outcomes.cache_clear()


QUICK = [name for name, kind in KINDS.items() if not kind.needs]


def counted(name):
    return [each for each in audit.outcomes(name) if not each.why]


def check_bounds():
    """No measurement beats a bound by more than 5 percent."""
    beaten = [
        (each.row.id, round(each.ratio, 3))
        for name in QUICK
        for each in counted(name)
        if KINDS[name].is_bound and each.ratio < audit.TOLERANCE
    ]
    assert not beaten


def check_quantiles():
    """No quantile of a kind differs from the stored one by more than 2 percent."""
    stored, found = audit_quantiles.stored(), audit_quantiles.measured()
    for name, *cells in found:
        how = f"{name}: if a better formula moved it, see {audit_quantiles.FILE.name}"
        assert [float(cell) for cell in cells] == pytest.approx(
            stored[name], rel=0.02
        ), how


def test_no_measurement_beats_a_bound():
    check_bounds()


def test_predictions_are_as_good_as_they_were():
    assert [*audit_quantiles.stored()] == QUICK
    check_quantiles()


# The least share of rows within 25 percent, of sources that no constant was fitted on.
WANTED = {"training": 0.6, "decode": 0.6, "peak-share": 0.7, "memory": 0.6}


@pytest.mark.parametrize("name", WANTED)
def test_expectations_hold_for_sources_that_nobody_fitted(name):
    found = audit.expected(name, is_fitted=False)
    assert found.rows > 20 and found.sources >= 2
    assert found.within_quarter >= WANTED[name]


def test_expected_memory_errs_on_the_safe_side():
    ratios = [each.expected_ratio for each in counted("memory")]
    assert sum(ratio >= 1 for ratio in ratios) >= 0.75 * len(ratios)


def test_expectations_are_nearer_than_bounds():
    for name in QUICK:
        if KINDS[name].is_bound:
            found, bound = audit.expected(name), audit.summary(name)
            assert abs(found.median - 1) < abs(bound.median - 1), name
            assert found.within_quarter >= bound.within_quarter, name


def test_constants_name_sources_that_have_rows():
    sources = {row.source for row in published.published_rows()}
    used = {name for kind in KINDS.values() for name in kind.constants}
    assert used == expectations.CONSTANTS.keys()
    for constant in expectations.CONSTANTS.values():
        assert sources >= {*constant.sources}


def test_kernels_move_what_a_layer_keeps_and_the_update_the_state():
    model = predictions.TRANSFORMERS["GPT-2 124M"]
    plan = training_plans.TrainingPlan(model, 8, 4, 1024, zero=1, gpus=2, recipe="cast")
    # Per token: five passes over 16 arrays of 768 values of 16 bits, two numbers of
    # each norm and one of each head, and six passes over the logits in 32 bits.
    kept = 12 * (16 * 768 * 2 + 16 + 4 * 12)
    token = 5 * kept + 6 * 4 * 50304
    # Both GPUs read half of all weights, gradients, and two moments, and write all but
    # the gradients, in 32 bits.
    update = 7 * 4 * model.params / 2
    assert expectations.moved_bytes(plan) == pytest.approx(4 * 1024 * token + update)
    # Without ZeRO, each GPU updates all of it.
    alone = expectations.moved_bytes(dataclasses.replace(plan, zero=0))
    assert alone == pytest.approx(4 * 1024 * token + 2 * update)
    twice = dataclasses.replace(plan, recompute="full")
    more = expectations.moved_bytes(twice) - expectations.moved_bytes(plan)
    assert more == pytest.approx(4 * 1024 * 2 * kept)


def test_selective_recomputation_keeps_every_second_product():
    # Of a token: the input, queries, the attention and the last product (4096 each),
    # the values (1024), and the first product of the network (14336), in 16 bits.
    model = predictions.TRANSFORMERS["Llama 3 8B"]
    plan = training_plans.TrainingPlan(model, 1, 1, 1, recompute="selective")
    kept = 2 * (4 * 4096 + 1024 + 14336) + 4 * 32
    assert training_plans.selected_per_token(plan) == kept
    # The keys, the output of the attention, and the gate are computed again.
    repeated = 4096 * (1024 + 4096 + 14336)
    assert training_plans.recomputed_params(plan) == repeated
    whole = dataclasses.replace(plan, recompute="none")
    more = training_plans.step_flops(plan) - training_plans.step_flops(whole)
    assert more == pytest.approx(2 * 32 * repeated)


def test_plain_attention_of_llama_keeps_a_softmax_in_32_bits_and_its_copy():
    model = predictions.TRANSFORMERS["Llama 3 8B"]
    plan = training_plans.TrainingPlan(model, 1, 1, 4096, attention="plain")
    # A width of 4096 keeps 41 bytes of a value, and a norm keeps a number in 32 bits.
    kept = 41 * 4096 + 2 * 4 + 32 * 4096 * (4 + 2)
    assert training_plans.kept_per_token(plan) == kept


def test_a_step_begins_with_its_tokens_and_ends_with_all_gradients():
    model = predictions.TRANSFORMERS["GPT-2 124M"]
    plan = training_plans.TrainingPlan(model, 2, 2, 1024)
    first, *_, last = map(dict, training_plans.memory_over_step(plan))
    assert first["activations"] == 2 * 1024 * 2 * 8  # tokens and targets, of 64 bits
    assert (first["gradients"], last["gradients"]) == (0, 4 * model.params)


def test_parts_of_stages_hold_more_microbatches():
    # Each GPU holds 4 microbatches of its 8 layers, and then 1 + 3/8 times as many.
    model = predictions.TRANSFORMERS["Llama 3 8B"]
    plan = training_plans.TrainingPlan(model, 16, 1, 4096, gpus=4, pipeline=4)
    held = 4 * 8 * training_plans.layer_bytes(plan)
    assert training_plans.gpu_memory(plan)["activations"] == held
    parts = dataclasses.replace(plan, interleave=2)
    assert training_plans.gpu_memory(parts)["activations"] == 1.375 * held


def wrap(module, name, change):
    """Return a fault: the module, a function of it, and the function changed."""
    original = getattr(module, name)
    return module, name, lambda *given, **named: change(original(*given, **named))


THROUGHPUT, CACHE_ROOM = serving.throughput, serving.cache_room


def without(role):
    return lambda sizes: sizes | {role: 0}


FAULTS = {
    "a doubled cache": wrap(tables, "cache_bytes", lambda size: 2 * size),
    "a forgotten key or value": wrap(tables, "cache_bytes", lambda size: size / 2),
    "all parameters in each token": wrap(tables, "read_params", lambda n: 1.05 * n),
    "a forgotten gradient": wrap(training_plans, "per_parameter", without("gradients")),
    "a forgotten state": wrap(training_plans, "per_parameter", without("optimizer")),
    "activations of 8 bits": wrap(
        training_plans, "kept_per_token", lambda size: size / 2
    ),
    "FLOPs of the forward pass alone": wrap(
        training_plans, "step_flops", lambda flops: flops / 3
    ),
    "a multiplication and an addition as one": wrap(
        training_plans, "step_flops", lambda flops: flops / 2
    ),
    "links in bits": wrap(
        training_plans, "links", lambda link: {k: x / 8 for k, x in link.items()}
    ),
    "FLOPs without the backward pass": wrap(
        predictions.Transformer, "training_flops", lambda flops: flops / 3
    ),
    "a latency in milliseconds": (predictions, "NVLINK_LATENCY", 3.4e-3),
    "a free all-reduce": (predictions, "ALL_REDUCE", 0),
    "a selected layer that keeps all": wrap(
        training_plans, "selected_per_token", lambda size: 1.5 * size
    ),
    "a selected layer that repeats nothing": wrap(
        training_plans, "recomputed_params", lambda count: 0
    ),
    "kernels that move nothing": wrap(expectations, "moved_bytes", lambda size: 0),
    "attention like products": wrap(expectations, "attention_share", lambda x: 1),
    "programs that are all compiled": (
        expectations,
        "layer_time",
        lambda program="": 40e-6,
    ),
    "free kernels": (expectations, "KERNEL_TIME", 0),
    "kernels in milliseconds": (expectations, "KERNEL_TIME", 4e-3),
    "sums that take no time": wrap(expectations, "sum_time", lambda s: 0 * s),
    "prompts without attention": (
        expectations,
        "prompt_time",
        lambda shape, tokens, rate: 2 * shape.active * tokens / rate,
    ),
    "prompts without memory": wrap(expectations, "prompt_bytes", lambda size: 0),
    "servers without room for prompts": (
        expectations,
        "server_users",
        lambda server, moment: serving.capacity(server),
    ),
    "quantized products that keep nothing": wrap(
        expectations, "copied_inputs", lambda size: 0
    ),
    "logits in 32 bits only": wrap(
        expectations,
        "with_copies",
        lambda plan: dataclasses.replace(plan, copies=False),
    ),
    "no margin": wrap(expectations, "with_margin", lambda size: 0.9 * size),
    "switches that never add up": (expectations, "NVLS", ()),
    "rings that carry all": (expectations, "RING_SHARE", 1),
    "all products like the best": (expectations, "PRODUCT_SHARE", 1),
    "all of the bandwidth": (expectations, "BANDWIDTH_SHARE", 1),
    "one share of the peak": wrap(tables, "peak_share_of", lambda x: "PEAK_SHARE"),
    "a ring that sends once": wrap(predictions, "ring_time", lambda s: s / 2),
    "a product of half the FLOPs": wrap(predictions, "product_time", lambda s: 2 * s),
    "GB as GiB": (published, "SCALES", published.SCALES | {"GiB": 1e9}),
    "weights without the embedding": wrap(
        tables, "weight_bytes", lambda size: 0.95 * size
    ),
    "embeddings in 4 bits": wrap(
        training_plans, "quantized_bytes", lambda size: 0.95 * size
    ),
    "adapters with 32 bytes each": wrap(
        predictions, "fine_tuning_memory", lambda size: 1.05 * size
    ),
    "a prompt at twice the rate": wrap(predictions, "prefill_time", lambda s: s / 2),
    "a server without prompts": (
        predictions,
        "throughput",
        lambda server, users: THROUGHPUT(server._replace(input=0), users),
    ),
    "a server that hides no prompts": (
        predictions,
        "throughput",
        serving.throughput_without_chunks,
    ),
    "a server that reserves whole texts": (
        predictions,
        "capacity",
        serving.reserved_capacity,
    ),
    "users of all of the memory": (
        predictions,
        "cache_room",
        lambda shape, memory, bits: CACHE_ROOM(shape, memory, bits, 1),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_a_formula_is_found(fault, fresh, monkeypatch):
    monkeypatch.setattr(*FAULTS[fault])
    for module in (predictions, serving, training_plans, expectations):
        original = FAULTS[fault][1]  # a module may have imported the name
        if FAULTS[fault][0] is not module and hasattr(module, original):
            monkeypatch.setattr(module, original, FAULTS[fault][2])
    with pytest.raises(AssertionError):
        check_bounds()
        check_quantiles()


# The statistics


def test_a_quantile_is_between_the_values_around_it():
    assert [audit.quantile([1, 2, 4], share) for share in (0, 0.5, 0.75, 1)] == [
        1,
        2,
        3,
        4,
    ]


def row(**changes):
    cells = {"id": "mine", "kind": "decode", "model": "Llama 3 8B", "card": "H100"}
    cells |= {"gpus": "1", "bits": "16", "value": "100", "unit": "tokens/s"}
    return published.row_from(cells | changes)


def test_the_summary_of_a_few_rows():
    found = [audit.outcome("decode", row(value=str(value))) for value in (50, 100, 200)]
    summary = audit.summary("decode", found)
    (most,) = {each.predicted for each in found}
    assert most == pytest.approx(1 / (2 * 7.50e9 / 3352.32e9))
    assert summary.median == pytest.approx(most / 100)
    assert (summary.rows, summary.sources, summary.within_double) == (3, 1, 1 / 3)
    assert summary.broken == 0
    beaten = audit.summary("decode", [audit.outcome("decode", row(value="240"))])
    assert (beaten.broken, beaten.within_quarter) == (1, 1)


def decodes(*values):
    """Return the outcomes of decoding at some rates, in tokens per second."""
    return [audit.outcome("decode", row(value=str(value))) for value in values]


def test_the_range_of_fewer_than_ten_rows_has_all_of_them():
    least, *_, most = (outcome.ratio for outcome in decodes(200, 150, 100, 50))
    few = audit.summary("decode", decodes(50, 100, 150, 200)).record
    assert f"({least:.2f} to {most:.2f} in all 4 rows from one source)" in few
    many = audit.summary("decode", decodes(*[50, 200, *[100] * 8]))
    assert f"({many.low:.2f} to {many.high:.2f} in eight of ten; 10 rows" in many.record
    assert least < many.low and many.high < most


def test_an_assumed_setting_counts_for_bounds_only_and_only_if_it_is_used():
    given = {"kind": "training", "micro": "1", "length": "8192", "unit": "tokens/s/GPU"}
    assumed = row(**given, assumed="recompute")
    assert audit.outcome("training", assumed).why == ""
    assert audit.outcome("peak-share", assumed).why == ""
    short = row(**given, assumed="length")
    assert audit.outcome("peak-share", short).why == "assumed: length"


def test_a_row_without_a_prediction_says_why():
    assert "no X100" in audit.outcome("decode", row(card="X100")).why
    assert "Llama 9" in audit.outcome("decode", row(model="Llama 9")).why
    with pytest.raises(ValueError, match="no row of decode has a prediction"):
        audit.summary("decode", [audit.outcome("decode", row(card="X100"))])


def test_a_cell_that_is_no_number_is_named():
    with pytest.raises(ValueError, match="mine: gpus is not a number: 'many'"):
        row(gpus="many")


def test_the_nearest_rows_have_the_card_and_the_model():
    first, *_ = audit.nearest("decode", row(card="A100", bits="8"))
    assert (first.row.card, first.row.model) == ("A100", "Llama 3 8B")


def test_a_measurement_is_in_bytes_and_seconds():
    sizes = {"MiB": 1048576, "GiB": 1073741824, "GB": 10**9, "TB/s": 10**12}
    for unit, size in sizes.items():
        assert row(value="2", unit=unit).measured == 2 * size
    units = {unit for units in published.UNITS.values() for unit in units}
    assert units == {*published.SCALES}


# One arithmetic


def test_rings_without_nvlink_and_between_machines():
    def ring(card, gpus):
        given = {"kind": "all-reduce", "card": card, "gpus": str(gpus)}
        return predictions.ring_of(row(**given))

    assert ring("H100", 8) == (3.4e-6, 450e9)
    assert ring("H100", 16) == (9.6e-6, 8 * 50e9)
    assert ring("RTX 4090", 2) == (5.7e-6, 32e9)
    assert ring("RTX 4090", 16) == (9.6e-6, 8 * 3e9)


def test_a_product_with_a_vector_reads_its_matrix():
    sizes = {"kind": "product", "model": "4096 x 1 x 4096", "unit": "TFLOP/s"}
    nbytes = 2 * (4096 * 4096 + 4096) + 2 * 4096
    bound = 2 * 4096 * 4096 / (nbytes / 3352.32e9)
    assert predictions.predict("product", row(**sizes)) == pytest.approx(bound)


def test_rings_and_products_are_those_of_the_library(d2l):
    for each in published.published_rows():
        if each.kind == "all-reduce":
            given = each.nbytes, each.gpus, 3.4e-6, 450e9
            assert bounds.ring_time(*given) == d2l.ring_time(*given)
        elif each.kind == "product" and each.model and each.bits == 16:
            m, n, k = (int(size) for size in each.model.split(" x "))
            machine = d2l.Machine("x", {"float16": 9e14}, 3e12)
            nbytes = 2 * (m * k + k * n + m * n)
            expected = machine.bound(2 * m * n * k, nbytes, "float16")
            found = bounds.product_time((m, k, n), 2, 9e14, 3e12)
            assert math.isclose(found, expected)


def test_weights_are_those_of_the_memory_command(capsys):
    from d2l import __main__ as command

    rows = [row for row in published.published_rows() if row.kind == "generation"]
    for each in rows:
        given = [each.model, "--generate", "1"]
        assert command.main(["memory", *given, "--weight-bits", str(each.bits)]) == 0
        weights, *_ = capsys.readouterr().out.splitlines()
        mib = float(weights.split()[1].replace(",", ""))
        found = predictions.predict("generation", each)
        assert found / 2**20 == pytest.approx(mib, rel=2e-4)  # a cache of a token


def test_sizes_agree_with_the_shapes_of_the_sections():
    for name, shape in tables.SHAPES.items():
        if name in predictions.TRANSFORMERS:
            found = predictions.TRANSFORMERS[name].shape
            assert found.params == pytest.approx(shape.params, rel=0.005)
            assert found.active == pytest.approx(shape.active, rel=0.005)
            assert found[2:6] == shape[2:6]


# python -m d2l audit


@pytest.fixture
def run(capsys):
    """Return what the command prints, after its exit status has been checked."""
    from d2l import __main__ as command

    def printed(*arguments, status=0):
        assert command.main(["audit", *arguments]) == status
        out, err = capsys.readouterr()
        return err if status else out

    return printed


def test_the_table_has_a_line_for_each_kind(run):
    lines = run().splitlines()
    assert [line.split()[0] for line in lines[1 : 1 + len(KINDS)]] == [*KINDS]
    decode = audit.summary("decode")
    bound, expected = (line for line in lines if line.startswith("decode"))
    for line, found in (bound, decode), (expected, audit.expected("decode")):
        numbers = [str(found.rows), str(found.sources), f"{found.median:.2f}"]
        assert line.split()[1:4] == numbers


def test_the_rows_of_a_kind_begin_with_the_worst(run):
    lines = run("decode").splitlines()
    ratios = [float(line.split()[0]) for line in lines[2 : 2 + len(counted("decode"))]]
    assert ratios == sorted(ratios, key=lambda r: -max(r, 1 / r))


def test_a_card_restricts_table_and_rows(run):
    table = run("--card", "RTX 4090")
    assert "serving" not in table
    own = [each for each in counted("decode") if each.row.card == "RTX 4090"]
    assert audit_command.line_of(audit.summary("decode", own)) in table.splitlines()
    rows = [
        line
        for line in run("--rows", "--card", "RTX 4090").splitlines()
        if "/s" in line
    ]
    assert rows and all("RTX 4090" in line for line in rows)


def test_csv_has_all_rows_and_columns(run):
    found = list(csv.DictReader(run("--csv").splitlines()))
    kinds = [kind.kind for kind in KINDS.values()]
    rows = [row for row in published.published_rows() for k in kinds if k == row.kind]
    assert len(found) == len(rows)
    assert {*published.COLUMNS, "predicted", "ratio", "left_out"} <= found[0].keys()
    assert all(row["predicted"] or row["left_out"] for row in found)
    for name, ratio in ("predicted", "ratio"), ("expected", "expected_ratio"):
        known = [each for each in found if each[name]]
        assert len(known) > 500
        for each in known:
            quotient = float(each[name]) / float(each["value"])
            assert quotient == pytest.approx(float(each[ratio]), abs=1e-4, rel=1e-4)


MINE = ["--mine", "decode", "Llama 3 8B", "--card", "RTX 4090", "--bits", "4"]


def test_a_measurement_of_ones_own_stands_beside_its_prediction(run):
    text = run(*MINE, "--value", "130")
    most = 1 / (7.50e9 * 4 / 8 / 1008e9)
    assert f"at most {most:.1f} tokens/s" in text
    assert f"predicted / measured: {most / 130:.2f}; published: " in text
    assert "RTX 4090" in text.partition("nearest")[2]
    assert "beats the bound" not in text
    assert "beats the bound" in run(*MINE, "--value", "300")


def test_a_measurement_stands_beside_its_expectation(run):
    text = run(*MINE, "--value", "130")
    seconds = 7.50e9 / 2 / (0.85 * 1008e9) + 32 * 40e-6
    assert f"expected:  about {1 / seconds:.1f} tokens/s" in text
    assert f"expected / measured: {1 / seconds / 130:.2f}; published: " in text


def test_constants_are_printed_with_their_sources(run):
    text = run("--constants")
    for name, constant in expectations.CONSTANTS.items():
        (line,) = (line for line in text.splitlines() if line.startswith(f"{name} "))
        assert f"{getattr(expectations, name):g}" in line
        assert all(source in line for source in constant.sources)
    counts = "median +within 25 %"
    heading = f"^kind +rows fitted +{counts} +others +{counts}$"
    assert re.search(heading, text, re.M)
    found = audit.expected("decode", is_fitted=False)
    (line,) = (line for line in text.splitlines() if line.startswith("decode "))
    assert line.endswith(
        f"{found.rows:8}{found.median:8.2f}{found.within_quarter:13.0%}"
    )


def test_the_help_explains_bounds_and_columns(capsys):
    with pytest.raises(SystemExit):
        audit_command.main(["-h"])
    text = capsys.readouterr().out
    assert "A bound is a speed" in text and "\n--bits       of a weight, or" in text


MISTAKES = [
    (["decod"], "'decod' is not a kind; write decode"),
    (["--card", "H10"], "--card: 'H10' has no rows; H100"),
    (["--value", "3"], "--value: only a measurement of your own has it; add --mine"),
    (["decode", "Llama 3 8B"], "Llama 3 8B: only a measurement of your own has it"),
    (["serving", "--card", "RTX 4090"], "--card: no row of serving is about the RTX"),
    (["--rows", "--csv"], "--csv: not allowed with argument --rows"),
    (["--rwos"], "unrecognized arguments: --rwos; 'python -m d2l audit -h' explains"),
    (["--mine"], "--mine: say which kind: training, "),
    (["--mine", "decode"], "--mine decode needs --value; add it"),
    (["--mine", "decode", "--value", "3"], "--mine decode needs a MODEL; add it"),
    ([*MINE, "--value", "fast"], "--value: write a number from 1e-09 to 1e+15, not f"),
    ([*MINE, "--value", "nan"], "--value: write a number from 1e-09 to 1e+15, not nan"),
    ([*MINE, "--value", "3", "--gpus", "0"], "--gpus: '0' is not a positive integer"),
    ([*MINE, "--value", "3", "--unit", "GB"], "--unit: decode is in tokens/s"),
    ([*MINE, "--value", "3", "--output", "3"], "--output does not apply to decode"),
    ([*MINE, "--value", "3", "--split", "ten"], "--split: 'ten' is not a way to share"),
    (
        ["--mine", "decode", "Llama 3 8", "--card", "H100", "--value", "3"],
        "'Llama 3 8' has no known sizes; write Llama 3 8B or Llama 3 70B or Llama 3.2"
        " 3B\n",
    ),
    (
        ["--mine", "decode", "Llama 3 8B", "--card", "H10", "--value", "3"],
        "--card: 'H10' is not in cards.csv; write H100",
    ),
    (
        ["--mine", "generation", "Llama 3 8B", "--gpus", "2", "--value", "3"],
        "--gpus does not apply to generation; leave it out",
    ),
    (
        ["--mine", "prefill", "Llama 3 8B", "--card", "P100", "--length", "9",
         "--value", "3"],
        "prefill cannot be predicted: cards.csv has no 'tensor16' of the P100",
    ),
    (
        ["--mine", "product", "3x3", "--card", "H100", "--value", "3"],
        "'3x3' is not the sizes of a product such as '4096 x 4096 x 4096'",
    ),
    (
        [*["--mine", "training", "Llama 3 8B", "--card", "H100", "--micro", "1"],
         *["--length", "8192", "--value", "3", "--gpus", "8", "--split", "tensor 3"]],
        "training cannot be predicted: 8 GPUs cannot form groups of 3",
    ),
]  # fmt: skip


@pytest.mark.parametrize("arguments, message", MISTAKES)
def test_a_mistake_is_one_line(run, arguments, message):
    error = run(*arguments, status=2)
    assert error.startswith(f"error: {message}") and error.count("\n") == 1


def test_every_kind_can_be_compared(run):
    settings = {
        "--card": "H100", "--gpus": "2", "--micro": "1", "--length": "512",
        "--output": "64", "--nbytes": "1e6", "--adapters": "1000",
    }  # fmt: skip
    from d2l.audit_command import NEEDED

    for name in QUICK:
        needed = NEEDED[name]
        model = "512 x 512 x 512" if name == "product" else "Llama 3 8B"
        given = [model] if "model" in needed else []
        for option, value in settings.items():
            if option[2:] in needed:
                given += [option, value]
        assert "predicted / measured" in run("--mine", name, *given, "--value", "1")
