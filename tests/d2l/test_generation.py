"""`d2l/generation.py`, and the command that prints what it answers.

For models whose layers keep all tokens, it has to agree with `d2l.serving`,
`d2l.expectations` and `d2l.needs`, which the sections use.
"""

import json
import re
from pathlib import Path

import pytest
from printed_memory import rows

from d2l import (
    configurations,
    expectations,
    generation,
    memory_command,
    serving,
    tables,
)
from d2l.configurations import built_in
from d2l.generation import Service, of_shape
from d2l.model_layers import Types
from d2l.needs import memory_need

pytestmark = pytest.mark.shared

DENSE = [name for name, shape in tables.SHAPES.items() if shape.experts == 1]


def hardware(card):
    data = tables.card_data(card)
    return 1e12 * data["tensor16"], 1e9 * data["bandwidth"]


@pytest.mark.parametrize("name", tables.SHAPES)
def test_memory_is_that_of_the_rule(name):
    shape = tables.SHAPES[name]
    for users, bits in (1, 16), (16, 4.5):
        need = memory_need(shape, "generate", 4096, users, bits=bits)
        service = Service(of_shape(name, shape), 4096, users, types=Types(*3 * (bits,)))
        # A model has the embedding and the head of its rounded numbers of parameters.
        rel = 1e-12 if bits == 16 else 4e-3
        assert service.total == pytest.approx(need.total, rel=rel)
        for card in tables.NAMED_CARDS:
            assert service.fits(card) == need.fits(card)


@pytest.mark.parametrize("name", tables.SHAPES)
def test_bounds_of_a_token_are_those_of_serving(name):
    shape = tables.SHAPES[name]
    _, bandwidth = hardware("H100")
    service = Service(of_shape(name, shape), 8192)
    known = serving.decode_time(shape, 8192, 16, bandwidth)
    assert service.token_time("H100") == pytest.approx(known, rel=1e-9)
    usual = expectations.decode_time(
        shape, 8192, 16, bandwidth, expectations.layer_time()
    )
    assert service.expected_token_time("H100") == pytest.approx(usual, rel=1e-9)


@pytest.mark.parametrize("name", DENSE)
def test_a_prompt_is_that_of_serving_with_attention_and_one_row_of_logits(name):
    shape, length = tables.SHAPES[name], 8192
    peak, bandwidth = hardware("A100")
    model = of_shape(name, shape)
    service = Service(model, length)
    logits = 2 * model.head * (length - 1)
    attention = 2 * shape.layers * shape.heads * shape.head_size * length**2
    bound = serving.prefill_time(shape, length, 16, peak, bandwidth)
    expected = bound + (attention - logits) / peak
    assert service.prompt_time("A100") == pytest.approx(expected, rel=1e-9)
    rate = expectations.product_rate("A100", peak)
    usual = expectations.prefill_time(shape, length, 16, rate, bandwidth)
    usual -= logits / rate
    assert service.expected_prompt_time("A100") == pytest.approx(usual, rel=1e-9)


def test_attention_of_a_long_prompt_outweighs_the_weights():
    model = built_in("Llama 3.1 8B")
    flops = model.prompt_flops(65536)
    weights = 2 * (model.active - model.head) * 65536
    assert 1.2 < (flops - weights) / weights < 1.3
    assert model.prompt_flops(5000) < 1.1 * 2 * model.active * 5000
    # 32 layers, whose 32 heads have 128 values each
    mixing = model.token_flops(65536) - 2 * model.active
    assert mixing == pytest.approx(4 * 32 * 32 * 128 * 65536, rel=1e-3)


def test_windows_limit_what_a_token_reads_and_computes():
    window = built_in("gpt-oss 120B").layers[0].mixer
    assert window.read_bytes(10_000, 2) == 2 * 8 * 64 * 128 * 2
    assert window.token_flops(10_000) == 4 * 64 * 64 * 128
    pairs = 128 * 1000 - 128**2 / 2
    assert window.prompt_flops(1000) == 4 * 64 * 64 * pairs


def test_chosen_tokens_are_read_and_the_others_only_looked_up():
    mixer = built_in("DeepSeek-V3.2").layers[0].mixer
    assert mixer.cache_bytes(10_000, 2) == 2 * (576 + 128) * 10_000
    assert mixer.read_bytes(10_000, 2) == 2 * (576 * 2048 + 128 * 10_000)
    chosen = 2 * 128 * (576 + 512) * 2048
    assert mixer.token_flops(10_000) == chosen + 2 * 64 * 128 * 10_000


def test_a_state_is_read_whatever_the_length():
    mixer = built_in("Qwen3.5 27B").layers[0].mixer
    assert mixer.read_bytes(1, 2) == mixer.read_bytes(10**6, 2)
    assert mixer.read_bytes(1, 2) == mixer.cache_bytes(9, 2)


def test_experts_that_users_share_are_read_once():
    model = built_in("gpt-oss 20B")
    assert model.read_weight_bytes(10**4, model.types) < model.weight_bytes(model.types)
    one, many = (model.read_params(n) for n in (1, 64))
    assert one == model.active < many < model.params


# Several GPUs


def test_gpus_share_weights_caches_and_bandwidth():
    model = built_in("Llama 3.1 70B")
    one, four = (Service(model, 8192, 8, n) for n in (1, 4))
    assert not one.fits("H100") and four.fits("H100")
    assert four.total == one.total
    assert four.token_time("H100") == pytest.approx(one.token_time("H100") / 4)
    assert four.prompt_time("H100") == pytest.approx(one.prompt_time("H100") / 4)


def test_parts_of_a_cache_are_copied_to_more_gpus():
    grouped, latent = built_in("Llama 3.1 70B"), built_in("DeepSeek-V3")
    assert grouped.cache_bytes(99, gpus=8) == grouped.cache_bytes(99)
    assert grouped.cache_bytes(99, gpus=16) == 2 * grouped.cache_bytes(99)
    assert latent.cache_bytes(99, gpus=8) == 8 * latent.cache_bytes(99)
    one, eight = (latent.read_cache_bytes(99, 2, gpus) for gpus in (1, 8))
    assert eight == 8 * one == 8 * 61 * 576 * 99 * 2
    assert latent.copies(2) and not grouped.copies(8) and grouped.copies(16)


def test_sums_among_gpus_are_expected_within_a_machine_with_nvlink():
    model = built_in("Llama 3.1 8B")
    sums = 2 * 32 * expectations.ALL_REDUCE
    usual = Service(model, 64, 1, 2).expected_token_time("H100")
    alone = Service(model, 64).expected_token_time("H100")
    calls = 32 * expectations.layer_time()
    assert alone is not None
    assert usual == pytest.approx((alone - calls) / 2 + calls + sums)
    assert Service(model, 64, 1, 2).expected_token_time("RTX 4090") is None
    assert Service(model, 64, 1, 16).expected_token_time("H100") is None


def test_sums_of_long_prompts_are_bound_by_the_links():
    model = built_in("Llama 3.1 8B")
    service, alone = Service(model, 8192, 1, 2), Service(model, 8192)
    ring = 2 * 1 / 2 * 2 * 4096 * 8192 / (expectations.RING_SHARE * 450e9)
    usual, half = (
        service.expected_prompt_time("H100"),
        alone.expected_prompt_time("H100"),
    )
    calls = 32 * expectations.layer_time()
    assert half is not None and ring > expectations.ALL_REDUCE
    assert usual == pytest.approx((half - calls) / 2 + calls + 64 * ring)


def test_a_mixer_or_a_network_alone_is_half_a_layer():
    assert built_in("Nemotron 3 Nano 30B-A3B").depth == 52 / 2
    assert built_in("Qwen3.5 27B").depth == 64
    service = Service(built_in("Nemotron 3 Nano 30B-A3B"), 64)
    _, bandwidth = hardware("H100")
    nbytes = 2 * service.model.active + service.model.cache_bytes(64)
    reading = nbytes / (expectations.BANDWIDTH_SHARE * bandwidth)
    calls = 26 * expectations.layer_time()
    assert service.expected_token_time("H100") == pytest.approx(reading + calls)


def test_the_fewest_gpus_are_the_first_power_of_two_that_fits():
    service = Service(built_in("Llama 3.1 70B"), 8192)
    assert generation.fewest(service, "H100") == 2
    assert generation.fewest(service, "B300") == 1
    huge = Service(built_in("Kimi K2"), 8192, types=Types())
    assert generation.fewest(huge, "T4", most=64) is None


# The command


@pytest.fixture
def file(tmp_path):
    """Return a function that writes a configuration, and returns its path."""
    from test_configurations import SMALL

    def write(**change):
        path = tmp_path / "config.json"
        path.write_text(json.dumps(SMALL | change))
        return str(path)

    return write


def test_a_file_alone_asks_for_a_server(memory, file, tmp_path):
    output = memory(file())
    assert "Each user has 512 tokens." in output
    assert output.replace(file(), "") == memory(str(tmp_path)).replace(
        str(tmp_path), ""
    )
    assert "Layers: 2 with full attention." in output


def test_a_published_model_alone_has_users_of_8192_tokens(memory):
    output = memory("openai/gpt-oss-120b", "--users", "4")
    found, model = rows(output), built_in("gpt-oss 120B")
    caches = 4 * model.cache_bytes(8192) / 2**20
    assert found["caches"] == pytest.approx(caches, abs=0.01)
    weights = model.weight_bytes(model.types) / 2**20
    assert found["weights"] == pytest.approx(weights, abs=0.01)
    assert "18 with a window of 128 tokens, 18 with full attention" in output
    assert "; 128 experts, 4 used. 116.83 billion parameters, 5.13 for a" in output
    assert "Bits: 4.25 in experts, 16 in networks, 16 in attention, 16 in the" in output


def test_the_command_prints_times_for_each_card_that_fits(memory):
    output = memory("openai/gpt-oss-120b", "--generate", "4096", "--users", "4")
    service = Service(built_in("gpt-oss 120B"), 4096, 4, types=Types(4.25))
    heading = r"^milliseconds +first token +token\n +bound +expected +bound +expected$"
    assert re.search(heading, output, re.M)
    (line,) = re.findall("^H200 +(.*)", output, re.M)
    shown = [float(each.replace(",", "")) for each in line.split()]
    times = (
        service.prompt_time("H200"),
        service.expected_prompt_time("H200"),
        service.token_time("H200"),
        service.expected_token_time("H200"),
    )
    assert shown == pytest.approx([1e3 * each for each in times if each], rel=0.01)
    assert not re.search("^RTX 4090 ", output, re.M)
    assert "Products in 8 or 4 bits, if a card has them, may beat" in output
    assert "Products in" not in memory("Llama 3 8B", "--generate", "4096")


def test_the_command_says_what_it_does_not_know(memory, file):
    output = memory(file(secret=1, vision_config={"depth": 1}))
    assert "\nKeys not known here, and not counted: secret.\n" in output
    assert "\nThe encoder of images is not counted.\n" in output


def test_the_command_counts_gpus(memory):
    output = memory("meta-llama/Llama-3.1-70B", "--gpus", "2", "--generate", "8192")
    cards = "Cards for 1 user with 2 GPUs: H100, A100, H200, B200, B300."
    assert output.endswith(f"{cards}\n")
    assert "2 x H100" in output and "Most users with 2 GPUs: T4 0" in output
    alone = memory("meta-llama/Llama-3.1-70B", "--generate", "8192")
    assert "GPUs for this many users: T4 16, " in alone and "H100 2, " in alone
    eight = memory("deepseek-ai/DeepSeek-V3", "--gpus", "8", "--generate", "8192")
    assert "The caches cannot be divided among so many GPUs" in eight


def test_bits_of_the_ends_are_apart(memory):
    given = ("meta-llama/Llama-3.1-8B", "--generate", "64", "--weight-bits", "4.5")
    model = built_in("Llama 3.1 8B")
    for more, ends in ((), 16), (("--end-bits", "4.5"), 4.5):
        weights = model.weight_bytes(Types(4.5, 4.5, 4.5, ends))
        found = rows(memory(*given, *more))["weights"]
        assert found == pytest.approx(weights / 2**20, abs=0.01)
    assert model.weight_bytes(Types(4.5, 4.5, 4.5, 16)) == pytest.approx(
        6.03e9, rel=0.001
    )


@pytest.mark.parametrize(
    "name", ["Llama 2 7B", "TinyLlama 1.1B", "Qwen2.5-0.5B-Instruct", "Llama 3 8B"]
)
def test_models_of_the_audit_are_known(memory, name):
    assert rows(memory(name, "--generate", "64"))["weights"] > 0


def fails(capsys, arguments, message):
    assert memory_command.main(arguments) == 2
    output, error = capsys.readouterr()
    assert not output and message in error
    assert len(error.splitlines()) == 1 and error.startswith("error: ")


def test_mistakes_with_files_are_one_line(capsys, file, tmp_path):
    fails(capsys, [str(tmp_path / "none.json")], "none.json: No such file")
    fails(capsys, [file(hidden_size="a")], "config.json: 'hidden_size' is 'a', not")
    fails(capsys, [file(layer_types=["odd", "odd"])], "layers of type 'odd' are not")
    (tmp_path / "config.json").write_text("{")
    fails(capsys, [str(tmp_path)], "config.json is not JSON: ")
    (tmp_path / "empty").mkdir()
    fails(capsys, [str(tmp_path / "empty")], "No such file")


def test_a_format_in_a_name_is_not_overlooked(capsys):
    given = ["Qwen/Qwen3-235B-A22B-FP8", "--generate", "64"]
    fails(capsys, given, "has no published shape here; write 'Qwen3 235B-A22B'")


def test_gpus_do_not_apply_to_training(capsys):
    fails(capsys, ["Llama 3 8B", "--train", "64", "--gpus", "2"], "--gpus does not ap")


# What the section says


CHAPTER = Path(__file__).parents[2] / "chapter_gpus"


def section():
    return " ".join((CHAPTER / "inference.md").read_text("utf-8").split())


def table_rows(first):
    """Return the rows of the section's table whose first heading is `first`."""
    text = (CHAPTER / "inference.md").read_text("utf-8")
    (table,) = re.findall(rf"^\| {first} \|.*\n\|[-:|]+\n((?:\|.*\n)+)", text, re.M)
    return [
        [cell.strip() for cell in row.strip("|").split("|")]
        for row in table.splitlines()
    ]


def as_if_full(model):
    """Return the bytes if each layer kept the keys and values of all tokens."""
    mixer = next(
        layer.mixer for layer in model.layers if layer.mixer.kind in ("full", "latent")
    )
    # DeepSeek-V3 has 128 heads, with keys of 128 + 64 values and values of 128.
    latent = 128 * (128 + 64 + 128)
    values = latent if mixer.kind == "latent" else mixer.values
    return 2 * values * 131072 * len(model.layers)


def test_the_section_has_the_bytes_of_four_kinds_of_caches():
    rows = table_rows("model")
    assert len(rows) == 4
    for name, layers, cache, full in rows:
        model = built_in(name)
        size, *states = re.findall(r"[\d.]+(?= GB)", cache)
        assert f"{model.cache_bytes(131072) / 1e9:.1f}" == size
        assert float(full[:-3]) == pytest.approx(as_if_full(model) / 1e9, abs=0.5)
        for state in states:
            assert f"{model.cache_bytes(0) / 1e9:.2f}" == state
        numbers = [int(n) for n in re.findall(r"(\d+) with", layers)]
        assert sorted(numbers) == sorted(model.kinds.values())
    assert {kind for name, *_ in rows for kind in built_in(name).kinds} == {
        *("full", "window", "latent", "linear")
    }


def test_the_section_has_the_bits_of_formats():
    rows = {row[0]: row[-1] for row in table_rows("format")}
    assert rows == {
        "FP8": f"{8 + 32 / 128**2:.1f}",
        "MXFP4": f"{4 + 8 / 32:.2f}",
        "NVFP4": f"{4 + 8 / 16:.1f}",
        "groups of 32": f"{4 + 16 / 32:.1f}",
        "groups of 128": f"{4 + 16 / 128:.3f}",
        "NF4": f"{4 + 32 / 64:.1f} or {4 + (8 + 32 / 256) / 64:.2f}",
    }
    for method, bits in ("mxfp4", rows["MXFP4"]), ("fp8", rows["FP8"]):
        types, _ = configurations._types({"quant_method": method})
        assert types.experts == float(bits)


def test_the_section_has_the_bytes_with_ends_in_sixteen_bits():
    model = built_in("Llama 3.1 8B")  # with the sizes of Llama 3 8B
    ends, whole = 2 * model.ends, model.weight_bytes(Types())
    quantized = (model.weight_bytes(Types(*4 * (4.5,))), ends)
    apart = model.weight_bytes(Types(4.5, 4.5, 4.5, 16))
    words = [f"{n / 1e9:.1f}" for n in (ends, whole, quantized[0], apart)]
    text = "which for Llama 3 8B are {} of its {} GB: with 4.5 bits in its layers, the "
    text += "model has not {} but {} GB."
    assert text.format(*words) in section()


def test_the_section_has_the_price_of_a_draft_in_a_mixture():
    text = (CHAPTER / "inference.md").read_text("utf-8")
    (cell,) = re.findall(r"%%tab all\n(def draft_gain\(.*?)^```", text, re.M | re.S)
    printed: list[str] = []
    given = {"read_params": tables.read_params, "SHAPES": tables.SHAPES}
    exec(cell, given | {"print": printed.append})
    one, *_, many = (line for line in printed if "A3B" in line)
    # The experts of n tokens: 1 - (15/16)^n of 27.15 billion parameters / (1 - 1/16)
    rest = 3.04e9 - 27.15e9 / 15
    prices = {
        n: (rest + 27.15e9 * 16 / 15 * (1 - (15 / 16) ** n)) / 3.04e9 for n in (2, 3, 5)
    }
    for n, price in prices.items():
        gain = (1 - 0.7**n) / 0.3 / price
        assert f"k = {n - 1}: {gain:.2f}" in one
    assert f"reads {prices[5]:.2f} times" in section()
    assert f"yields only {(1 - 0.7**5) / 0.3:.2f} tokens" in section()
    dense = next(line for line in printed if "8B" in line)
    for k in 1, 2, 4:
        pattern = f"k = {k}: ([\\d.]+)"
        (least,), (gain_of_many,) = (
            re.findall(pattern, line) for line in (dense, many)
        )
        assert float(gain_of_many) > 0.98 * float(least)


def test_the_section_has_the_share_of_attention_in_a_prompt():
    model = built_in("Llama 3.1 8B")
    shares = [
        (model.prompt_flops(n) - 2 * (model.active - model.head) * n)
        / (2 * model.active * n)
        for n in (5000, 65536)
    ]
    words = "it adds {:.0%} to the arithmetic of a prompt of 5000 tokens, but {:.0%}"
    assert words.format(*shares).replace("%", " %") in section()
