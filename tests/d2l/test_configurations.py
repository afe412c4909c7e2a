"""`d2l/configurations.py`: published models as their configurations describe them.

Published numbers come from other places than the configurations: reports, model cards,
and the logs of servers.
"""

import json

import pytest

from d2l import configurations as conf
from d2l import tables
from d2l.configurations import ConfigurationError, built_in, model_of
from d2l.generation import of_shape
from d2l.language_models import MIXTURES, TRANSFORMERS
from d2l.model_layers import Types

pytestmark = pytest.mark.shared

KIB, MIB, GIB = 2**10, 2**20, 2**30

# Billions of parameters, and of those for a token, with where they are published. Some
# publishers count the embedding among the latter. The names of Qwen, of Nemotron and of
# Llama 4 have them, rounded.
PARAMETERS = {
    "DeepSeek-V3": (671, 37),  # table in the README of XiaomiMiMo/MiMo-V2-Flash
    "DeepSeek-V3.2": (671, 37),  # the same
    "MiMo-V2-Flash": (309, 15),  # the same
    "Kimi K2": (1043, 32),  # the same
    "Kimi K2.5": (1043, 32),  # a Kimi K2 with an encoder of images
    "gpt-oss 20B": (20.9, 3.6),  # gpt-oss Model Card
    "gpt-oss 120B": (116.8, 5.1),  # the same
    "GLM-4.7": (355, 32),  # GLM-4.5, README of zai-org/GLM-5
    "GLM-5": (744, 40),  # README of zai-org/GLM-5
    "GLM-5.2": (744, 40),  # the same
    "Gemma 4 31B": (30.7, 30.7),  # Gemma 4 Model Card
    "Gemma 4 26B-A4B": (26, 3.8),  # the same, with an encoder of images
    "Nemotron 3 Nano 30B-A3B": (31.6, 3.2),  # Nemotron 3 Nano report
    "Nemotron 3 Super 120B-A12B": (120, 12),
    "Nemotron 3 Ultra 550B-A55B": (550, 55),
    "Llama 4 Maverick": (400, 17),  # Llama-4-Maverick-17B-128E
    "Qwen3 32B": (32, 32),
    "Qwen3 235B-A22B": (235, 22),
    "Qwen3-Coder 480B-A35B": (480, 35),
    "Qwen3-Next 80B-A3B": (80, 3.5),
    "Qwen3.5 27B": (27, 27),
    "Qwen3.5 35B-A3B": (35, 3),
    "Qwen3.5 122B-A10B": (122, 10),
    "Qwen3.5 397B-A17B": (397, 17),
    "Mixtral 8x7B": (46.7, 12.9),  # Jiang et al., Mixtral of Experts
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_are_those_that_were_published(name):
    model, (params, active) = built_in(name), PARAMETERS[name]
    assert model.params / 1e9 == pytest.approx(params, rel=0.03)
    embedding = model.vocabulary * model.width
    assert 0.97 * model.active <= 1e9 * active <= 1.03 * (model.active + embedding)


@pytest.mark.parametrize(
    "name", [name for name, (params, _) in PARAMETERS.items() if params % 1]
)
def test_parameters_with_a_decimal_agree_in_it(name):
    model, (params, active) = built_in(name), PARAMETERS[name]
    assert round(model.params / 1e9, 1) == params
    if name != "Mixtral 8x7B":  # whose 12.9 have the embedding
        assert round(model.active / 1e9, 1) == active


def test_at_least_fifteen_models_of_2025_and_2026_are_built_in():
    earlier = ("Llama 3", "Mixtral", "DeepSeek-V3")
    later = [name for name in conf.configurations() if not name.startswith(earlier)]
    assert len(later) >= 25
    assert all(built_in(name).params > 1e8 for name in conf.configurations())


def test_each_model_names_the_file_that_it_was_copied_from():
    for entry in conf.configurations().values():
        assert entry["source"].endswith("_config.json")
        assert "commit " in entry["source"] and entry["repository"].count("/") == 1


def test_dense_models_have_exactly_the_parameters_of_the_tables():
    for name, known in {
        "Llama 3.1 8B": TRANSFORMERS["Llama 3 8B"],
        "Llama 3.1 70B": TRANSFORMERS["Llama 3 70B"],
        "Llama 3.1 405B": TRANSFORMERS["Llama 3 405B"],
    }.items():
        model = built_in(name)
        assert model.params == known.params and model.active == known.active
        for length in 1, 8192:
            cache = tables.cache_bytes(known.shape, length)
            assert model.cache_bytes(length) == cache


# The values in the published checkpoints.
VALUES = {
    "Llama 2 7B": 6_738_415_616,
    "Llama 2 13B": 13_015_864_320,
    "Llama 2 70B": 68_976_648_192,
    "Llama 3 8B": 8_030_261_248,
    "Llama 3 70B": 70_553_706_496,
    "Llama 3 405B": 405_853_388_800,
    "Llama 3.2 1B": 1_235_814_400,
    "Llama 3.2 3B": 3_212_749_824,
    "TinyLlama 1.1B": 1_100_048_384,
    "Mistral 7B": 7_241_732_096,
    "Qwen2.5 0.5B": 494_032_768,
    "Qwen2.5 1.5B": 1_543_714_304,
    "Qwen2.5 3B": 3_085_938_688,
    "Qwen2.5 7B": 7_615_616_512,
    "Qwen2.5 14B": 14_770_033_664,
    "Qwen2.5 32B": 32_763_876_352,
}


@pytest.mark.parametrize("name", VALUES)
def test_sizes_give_the_parameters_of_the_checkpoint(name):
    model = TRANSFORMERS[name]
    # Queries, keys and values of Qwen2.5 have biases, which the formula leaves out.
    sides = model.width + 2 * model.kv_heads * model.shape.head_size
    biases = model.layers * sides if name.startswith("Qwen2.5") else 0
    assert model.params + biases == VALUES[name]


def test_sizes_are_those_of_the_names():
    for model in TRANSFORMERS.values():
        assert model.width in (64 * model.heads, 128 * model.heads)
    for size in 0.125, 0.35, 0.76, 13, 30:
        name = f"MPT {size:.0f}B" if size >= 1 else f"MPT {1000 * size:.0f}M"
        assert TRANSFORMERS[name].params / 1e9 == pytest.approx(size, rel=0.02)
    code = TRANSFORMERS["Code Llama 34B"]
    assert code.params / 1e9 == pytest.approx(33.7, abs=0.05)


@pytest.mark.parametrize("name", ["Mixtral 8x7B", "Qwen3 235B-A22B"])
def test_mixtures_are_those_of_their_configurations(name):
    shape, model = MIXTURES[name], built_in(name)
    (network,) = {layer.network for layer in model.layers}
    assert len(model.layers) == shape.layers and model.context == shape.context
    assert (network.experts, network.used) == (shape.experts, shape.used)
    assert tables.cache_bytes(shape, 99) == model.cache_bytes(99)
    assert shape.params == pytest.approx(model.params, rel=0.005)
    # Qwen names an A22B for 21.6 billion.
    assert shape.active == pytest.approx(model.active, rel=0.025)


# Caches


def per_token(model, length=200_000):
    return model.cache_bytes(length + 1) - model.cache_bytes(length)


@pytest.mark.parametrize(
    "name, kib",
    [
        ("DeepSeek-V3", 69),  # The Weight of Remembering, news.future-shock.ai
        ("Llama 3.1 8B", 128),  # the same
    ],
)
def test_published_bytes_of_a_token(name, kib):
    assert round(per_token(built_in(name)) / KIB) == kib


def test_states_are_those_that_llama_cpp_allocates():
    # lilting.ch on Qwen3.5-35B-A3B: 251 MiB, for 4 sequences, all of 32 bits.
    mixers = [layer.mixer for layer in built_in("Qwen3.5 35B-A3B").layers]
    values = sum(mixer.state + mixer.recent for mixer in mixers)
    assert round(4 * 4 * values / MIB) == 251


def test_states_and_tokens_give_the_page_of_vllm():
    # docs.lmcache.ai on Qwen3.6-27B, whose layers are those of Qwen3.5 27B: vLLM takes
    # 784 tokens, the first multiple of 16 whose keys and values outweigh a state.
    mixers = {layer.mixer.kind: layer.mixer for layer in built_in("Qwen3.5 27B").layers}
    state = mixers["linear"].cache_bytes(0, 2)
    token = mixers["full"].cache_bytes(1, 2)
    assert 783 * token >= state > 782 * token and -(-783 // 16) * 16 == 784


def test_windows_divide_the_cache_as_published():
    # README of MiMo-V2-Flash: "nearly 6x" less than if all layers kept all tokens.
    model = built_in("MiMo-V2-Flash")
    # Layers with a window have twice as many heads of keys and values.
    full = next(layer.mixer for layer in model.layers if layer.mixer.kind == "full")
    all_tokens = len(model.layers) * full.cache_bytes(262144, 2)
    assert 5 < all_tokens / model.cache_bytes(262144) < 6


@pytest.mark.parametrize(
    "name, gib",
    [
        ("Llama 3.1 8B", 2 * 32 * 8 * 128 * 131072 * 2 / GIB),
        ("gpt-oss 120B", 18 * 2 * 8 * 64 * 2 * (131072 + 128) / GIB),
        ("DeepSeek-V3", 61 * (512 + 64) * 2 * 131072 / GIB),
        ("Gemma 4 31B", 4 * (10 * 4 * 512 * 131072 + 50 * 16 * 256 * 1024) / GIB),
        ("Llama 4 Scout", 2 * 8 * 128 * 2 * (12 * 131072 + 36 * 8192) / GIB),
        (
            "Qwen3.5 27B",
            (16 * 4 * 4 * 256 * 131072 + 48 * 128 * (48 * 128 * 4 + 80 * 3 * 2)) / GIB,
        ),
        (
            "Nemotron 3 Nano 30B-A3B",
            (6 * 2 * 2 * 128 * 131072 * 2 + 23 * (4096 * 128 * 4 + 6144 * 3 * 2)) / GIB,
        ),
        ("DeepSeek-V3.2", 61 * (512 + 64 + 128) * 2 * 131072 / GIB),
        ("GLM-5.2", (78 * 576 + 21 * 128) * 2 * 131072 / GIB),
    ],
)
def test_bytes_of_each_kind_by_hand(name, gib):
    assert built_in(name).cache_bytes(131072) / GIB == pytest.approx(gib, rel=1e-12)


def test_a_negative_length_is_refused():
    with pytest.raises(ValueError, match="not -1"):
        built_in("gpt-oss 20B").cache_bytes(-1)


# Types of weights


def test_gpt_oss_has_the_bytes_of_its_checkpoint():
    # gpt-oss Model Card: 60.8 GiB.
    model = built_in("gpt-oss 120B")
    assert model.types == Types(4.25)
    assert model.weight_bytes(model.types) / GIB == pytest.approx(60.8, abs=0.1)


def test_eight_bits_leave_the_ends_in_sixteen():
    model = built_in("DeepSeek-V3")
    ends = 2 * 129280 * 7168 + 7168
    layers = (model.params - ends) * (1 + 4 / 128**2)
    assert model.weight_bytes(model.types) == pytest.approx(layers + 2 * ends)


@pytest.mark.parametrize(
    "given, experts, layers",
    [
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, 4.15625, 4.15625),
        ({"quant_method": "mxfp4"}, 4.25, 16),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, 4.5, 4.5),
        ({"quant_method": "fp8"}, 8, 8),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {
                    "group_0": {
                        "weights": {"num_bits": 4, "type": "float", "group_size": 16}
                    }
                },
            },
            4.5,
            4.5,
        ),
    ],
)
def test_types_of_formats(given, experts, layers):
    model = model_of(SMALL | {"quantization_config": given}, "own")
    assert model.types == Types(experts, layers, layers, 16)


NVFP4 = {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["*.self_attn*"]}


def test_a_format_without_attention_has_the_bytes_of_its_checkpoint():
    # kaitchup.substack.com on nvidia/Gemma-4-31B-IT-NVFP4: 32.7 GB, of which half a
    # billion weights that encode images take one.
    model = built_in("Gemma 4 31B")
    config = conf.configurations()["Gemma 4 31B"]["config"]
    types = model_of(config | {"quantization_config": NVFP4}, "own").types
    assert types == Types(4.5, 4.5, 16, 16)
    assert model.weight_bytes(types) / 1e9 == pytest.approx(32.7 - 1.1, abs=0.15)


def test_a_format_may_leave_shared_experts_out():
    names = ["lm_head", "re:.*self_attn.*", "re:.*shared_experts.*"]
    given = {"quantization_config": NVFP4 | {"ignore": names}}
    assert model_of(SMALL | given, "own").types == Types(4.5)


def test_a_format_may_be_in_a_file_of_its_own(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(SMALL))
    given = {"quantization": {"quant_algo": "NVFP4", "exclude_modules": ["lm_head"]}}
    (tmp_path / "hf_quant_config.json").write_text(json.dumps(given))
    assert conf.read_configuration(tmp_path).types == Types(4.5, 4.5, 4.5, 16)


def test_separate_layers_are_named_or_written_as_a_pattern():
    config = conf.configurations()["Nemotron 3 Nano 30B-A3B"]["config"]
    words = {letter: word for word, letter in conf.BLOCKS.items()}
    blocks = [words[each] for each in config["hybrid_override_pattern"]]
    renamed = {k: v for k, v in config.items() if k != "num_hidden_layers"}
    renamed |= {"hybrid_override_pattern": None, "layers_block_type": blocks}
    assert model_of(renamed, "own").layers == model_of(config, "own").layers


def test_an_unknown_format_is_named():
    given = {"quantization_config": {"quant_method": "own4"}}
    (note,) = model_of(SMALL | given, "own").notes
    assert "own4" in note and "counted as 16 bits" in note


# Reading


SMALL = {
    **{"model_type": "llama", "hidden_size": 64, "intermediate_size": 128},
    **{"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2},
    **{"vocab_size": 100, "tie_word_embeddings": False, "max_position_embeddings": 512},
}


def test_a_small_model_by_hand():
    model = model_of(SMALL, "own")
    attention = 64 * 64 * 2 + 64 * 32 * 2
    layer = attention + 3 * 64 * 128 + 2 * 64
    assert model.params == 2 * layer + 2 * 100 * 64 + 64
    assert model.active == 2 * layer + 100 * 64 + 64
    assert model.cache_bytes(10) == 2 * 2 * 2 * 16 * 10 * 2
    assert not model.notes and model.depth == 2


def test_a_tied_model_has_one_matrix():
    model = model_of(SMALL | {"tie_word_embeddings": True}, "own")
    assert model.params == model.active


def test_dense_layers_before_the_experts():
    experts = {"model_type": "glm4_moe", "n_routed_experts": 8, "n_shared_experts": 1}
    experts |= {"num_experts_per_tok": 2, "moe_intermediate_size": 32}
    model = model_of(SMALL | experts | {"first_k_dense_replace": 1}, "own")
    dense, sparse = (layer.network for layer in model.layers)
    assert dense.params == 3 * 64 * 128 and dense.experts == 0
    assert sparse.expert == 3 * 64 * 32 and (sparse.experts, sparse.used) == (8, 2)
    assert sparse.dense == 3 * 64 * 32 + 8 * 65
    assert model.read_params(1) == model.active
    read = sparse.read_experts(4) / sparse.expert
    assert read == pytest.approx(8 * (1 - 0.75**4))


LINEAR = {
    **{"model_type": "qwen3_next", "full_attention_interval": 2, "head_dim": 16},
    **{"linear_num_key_heads": 2, "linear_key_head_dim": 8},
    **{"linear_num_value_heads": 4, "linear_value_head_dim": 8},
    "linear_conv_kernel_dim": 4,
}


def test_linear_attention_by_hand():
    model = model_of(SMALL | LINEAR, "own")
    linear, full = (layer.mixer for layer in model.layers)
    assert (linear.kind, full.kind) == ("linear", "full")
    keys, values = 2 * 8, 4 * 8
    products = 64 * (2 * keys + values + values + 2 * 4) + values * 64
    assert linear.params == products + 4 * (2 * keys + values) + 2 * 4 + 8
    assert (linear.state, linear.recent) == (4 * 8 * 8, 3 * (2 * keys + values))
    assert full.params == 64 * 4 * 2 * 16 + 2 * 64 * 32 + 64 * 64  # with a gate


LATENT = {
    **{"model_type": "deepseek_v3", "kv_lora_rank": 24, "q_lora_rank": 20},
    **{"qk_nope_head_dim": 6, "qk_rope_head_dim": 4, "v_head_dim": 5},
}


def test_latent_attention_by_hand():
    mixer = model_of(SMALL | LATENT, "own").layers[0].mixer
    queries = 64 * 20 + 20 + 20 * 4 * (6 + 4)
    keys = 64 * (24 + 4) + 24 + 24 * 4 * (6 + 5)
    assert mixer.params == queries + keys + 4 * 5 * 64
    assert (mixer.kind, mixer.values, mixer.parts) == ("latent", 24 + 4, 1)
    assert mixer.pair == 2 * 4 * (10 + 5) and mixer.pair_later == 2 * 4 * (28 + 24)
    direct = model_of(SMALL | LATENT | {"q_lora_rank": None}, "own").layers[0].mixer
    assert direct.params == 64 * 4 * 10 + keys + 4 * 5 * 64


def test_a_choice_of_tokens_by_hand():
    given = {"index_topk": 8, "index_n_heads": 3, "index_head_dim": 7}
    chosen, plain = (
        model_of(SMALL | LATENT | more, "own").layers[0].mixer for more in (given, {})
    )
    more = 3 * (20 * 7 + 64) + 64 * 7 + 2 * 7
    assert chosen.params == plain.params + more
    assert (chosen.index, chosen.chosen, chosen.pair_index) == (7, 8, 2 * 3 * 7)


def test_a_state_space_model_by_hand():
    config = conf.configurations()["Nemotron 3 Nano 30B-A3B"]["config"]
    mixer = model_of(config, "own").layers[0].mixer
    inside, mixed = 64 * 64, 64 * 64 + 2 * 8 * 128
    products = 2688 * (inside + mixed + 64) + inside * 2688
    assert mixer.params == products + mixed * (4 + 1) + 3 * 64 + inside
    assert (mixer.state, mixer.recent) == (inside * 128, mixed * 3)


def test_a_shared_expert_may_have_a_gate_and_a_width():
    experts = {"model_type": "qwen2_moe", "num_experts": 8, "num_experts_per_tok": 2}
    experts |= {"moe_intermediate_size": 32, "shared_expert_intermediate_size": 48}
    network = model_of(SMALL | experts, "own").layers[0].network
    assert network.dense == 8 * 65 + 3 * 64 * 48 + 64


def test_gemma_has_four_norms_in_a_layer():
    given = {"model_type": "gemma3_text", "sliding_window": 8}
    assert model_of(SMALL | given, "own").layers[0].norms == 4 * 64
    assert model_of(SMALL, "own").layers[0].norms == 2 * 64


def test_windows_of_qwen2_begin_after_some_layers():
    given = {"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 4}
    model = model_of(SMALL | given | {"max_window_layers": 1}, "own")
    assert [layer.mixer.kind for layer in model.layers] == ["full", "window"]
    off = model_of(SMALL | given | {"use_sliding_window": False}, "own")
    assert off.kinds == {"full": 2}


def test_gemma_3_leaves_its_pattern_to_the_program():
    given = {"model_type": "gemma3_text", "sliding_window": 8, "num_hidden_layers": 12}
    model = model_of(SMALL | given, "own")
    assert model.kinds == {"window": 10, "full": 2}
    assert model.layers[5].mixer.kind == "full"


def test_a_key_that_is_not_known_is_named():
    (note,) = model_of(SMALL | {"secret_layers": 3, "odd": 0}, "own").notes
    assert note == "keys not known here, and not counted: secret_layers"


# Keys of published configurations, and those that Transformers stores with each.
NO_BEARING = """
architectures auto_map dtype torch_dtype transformers_version use_cache id2label
label2id pad_token_id image_token_index rope_theta rotary_dim rms_norm_eps
layer_norm_epsilon attention_dropout hidden_act hidden_activation initializer_range
router_aux_loss_coef aux_loss_alpha norm_topk_prob seq_aux scoring_func topk_method
topk_group n_group routed_scaling_factor output_router_logits output_attentions
output_hidden_states router_jitter_noise moe_renormalize moe_router_enable_expert_bias
use_grouped_topk pretraining_tp swiglu_limit attn_logit_softcapping
query_pre_attn_scalar ep_size add_bias_kv return_dict temperature top_k top_p typical_p
num_beams num_beam_groups repetition_penalty max_length min_length do_sample
early_stopping no_repeat_ngram_size num_return_sequences remove_invalid_values
torchscript chunk_size_feed_forward tf_legacy_loss tie_encoder_decoder is_decoder
cross_attention_hidden_size add_cross_attention initial_context_length
rescale_prenorm_residual residual_in_fp32 time_step_min num_logits_to_keep
mamba_ssm_cache_dtype mamba_hidden_act mlp_hidden_act embedding_multiplier
logits_scaling use_conv_bias use_bias mamba_proj_bias bad_words_ids suppress_tokens
forced_bos_token_id exponential_decay_length_penalty begin_suppress_tokens
decoder_start_token_id finetuning_task task_specific_params sep_token_id prefix
problem_type pruned_heads
""".split()


def test_keys_without_a_bearing_on_sizes_are_not_named():
    assert model_of(SMALL | dict.fromkeys(NO_BEARING, 1), "own").notes == ()
    assert model_of(SMALL | {"topk": 1, "use_norm": 1}, "own").notes != ()


def test_an_unknown_kind_of_model_is_named():
    (note,) = model_of(SMALL | {"model_type": "zebra"}, "own").notes
    assert note.startswith("models of type 'zebra' are not known here")


def test_encoders_and_drafts_are_named():
    given = {"vision_config": {"depth": 2}, "num_nextn_predict_layers": 1}
    assert {*model_of(SMALL | given, "own").notes} == {
        "the encoder of images is not counted",
        "the layers that draft tokens are not counted",
    }


def test_a_missing_key_for_tied_weights_is_named():
    given = {key: value for key, value in SMALL.items() if key[:3] != "tie"}
    (note,) = model_of(given, "own").notes
    assert "embedding and head are two matrices" in note


@pytest.mark.parametrize(
    "change, message",
    [
        ({"hidden_size": None}, "there is no 'hidden_size'"),
        ({"hidden_size": "64"}, "'hidden_size' is '64', not an integer"),
        ({"hidden_size": True}, "'hidden_size' is True, not an integer"),
        ({"num_hidden_layers": 0}, "'num_hidden_layers' cannot be 0"),
        ({"num_hidden_layers": -3}, "'num_hidden_layers' cannot be -3"),
        ({"num_hidden_layers": 10**6}, "'num_hidden_layers' cannot be 1000000"),
        ({"num_key_value_heads": 8}, "8 heads of keys are more than 4 heads"),
        ({"layer_types": ["full_attention"]}, "has 1 entries for 2 layers"),
        ({"layer_types": ["full_attention", "odd"]}, "layers of type 'odd' are not"),
        ({"layer_types": "full_attention"}, "is 'full_attention', not a list"),
        ({"hidden_size": 3}, "'hidden_size' is too small for 4 heads"),
        ({"hybrid_override_pattern": "--"}, "no layer mixes tokens"),
        ({"compress_ratios": [4, 4]}, "'compress_ratios' changes the layers"),
        ({"mamba_heads": 3}, "'mamba_heads' is about layers that are not known here"),
        ({"attn_type_list": [0, 1]}, "'attn_type_list' names layers that are not"),
        ({"layers_block_type": ["moe", "odd"]}, "layers of type 'odd' are not known"),
        ({"num_experts": 4, "num_experts_per_tok": 5}, "cannot use 5 of 4 experts"),
        ({"hybrid_override_pattern": "MX"}, "is no pattern of M, E, \\* and -"),
    ],
)
def test_mistakes_in_a_configuration(tmp_path, change, message):
    (tmp_path / "config.json").write_text(json.dumps(SMALL | change))
    with pytest.raises(ConfigurationError, match=message) as caught:
        conf.read_configuration(tmp_path)
    assert str(tmp_path / "config.json") in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "{", "3", '{"text_config": 3}', "\\xff"])
def test_a_file_that_is_no_configuration(tmp_path, text):
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ConfigurationError):
        conf.read_configuration(tmp_path / "config.json")


@pytest.mark.parametrize("value", [[1], {"a": 1}, "x", 2.5, [None, None]])
def test_values_of_wrong_types_are_mistakes(tmp_path, value):
    for key in {*SMALL, "layer_types", "quantization_config", "linear_attn_config"}:
        if key in ("tie_word_embeddings", "model_type"):
            continue
        (tmp_path / "config.json").write_text(json.dumps(SMALL | {key: value}))
        try:
            conf.read_configuration(tmp_path)
        except ConfigurationError:
            pass


# Names


@pytest.mark.parametrize(
    "name, known",
    [
        ("meta-llama/Llama-3.1-8B", "Llama 3.1 8B"),
        ("meta-llama/Meta-Llama-3.1-8B-Instruct", "Llama 3.1 8B"),
        ("openai/gpt-oss-120b", "gpt-oss 120B"),
        ("GPT-OSS-20B", "gpt-oss 20B"),
        ("deepseek-ai/DeepSeek-R1-0528", "DeepSeek-R1"),
        ("Qwen/Qwen3-235B-A22B-Instruct-2507", "Qwen3 235B-A22B"),
        ("google/gemma-4-31b-it", "Gemma 4 31B"),
        ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "Nemotron 3 Nano 30B-A3B"),
        ("Qwen/Qwen3-235B-A22B-FP8", None),  # the weights have another type
        ("gpt-4", None),
    ],
)
def test_names_as_people_write_them(name, known):
    assert conf.known_name(name) == known


def test_an_unknown_name_has_the_nearest():
    with pytest.raises(ConfigurationError, match="write 'gpt-oss 120B'"):
        built_in("gpt-oss-130b")


# Shapes of the tables


@pytest.mark.parametrize("name", tables.SHAPES)
def test_a_shape_of_the_tables_is_such_a_model(name):
    shape = tables.SHAPES[name]
    model = of_shape(name, shape)
    assert model.params == pytest.approx(shape.params, rel=1e-12)
    assert model.cache_bytes(8192) == tables.cache_bytes(shape, 8192)
    for tokens in 1, 8, 512:
        read = tables.read_params(shape, tokens)
        assert model.read_params(tokens) == pytest.approx(read, rel=1e-12)
