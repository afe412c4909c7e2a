"""Reads what a language model is from the configuration with which it is published.

    from d2l.configurations import built_in, read_configuration
    read_configuration("Qwen3.5-27B/config.json").cache_bytes(131072)
    built_in("openai/gpt-oss-120b").params

The keys are those of Hugging Face's Transformers. Nothing is skipped in silence: a key
that may matter and that is not known here ends up in `notes`, and one that changes the
cache is refused. `models.json` has the configurations of published models, without keys
that have no bearing on sizes; each names the file that it was copied from.
"""

import functools
import json
import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from importlib import resources
from pathlib import Path
from typing import Any

from d2l.model_layers import Layer, Mixer, Model, Network, Types

# Keys that have no bearing on sizes: how numbers are computed, how text is written, and
# what Transformers stores with each configuration.
IGNORED = re.compile(
    r"architectures|auto_map|_.*|(torch_)?dtype|transformers_version|use_cache|id2label"
    r"|label2id|problem_type|.*_token(_id|_index)?s?|.*placeholder.*|pruned_heads"
    r"|.*(rope|rotary).*|.*_eps(ilon)?|.*dropout|.*hidden_act(ivation)?|initializer.*"
    r"|.*_coef|aux_loss_alpha|.*norm_topk.*|seq_aux|scoring_func|topk_.*|n_group"
    r"|routed_scaling.*|output_(router|attentions|hidden|scores).*|.*jitter.*"
    r"|moe_re?normalize|moe_router_.*|use_grouped_topk|num_expert_group|pretraining_tp"
    r"|.*(swiglu|activation|attention_value)_(limit|alpha|scale|beta|.*)"
    r"|.*softcapping|query_pre_attn_scalar|max_window_layers|ep_size|bos|eos"
    r"|(add|use)_.*(bias|sink).*|use_qk_norm|use_gemma_norm|(qk|q|k)_norm_type"
    r"|.*beams?(_groups)?|.*penalty|(max|min)_length|temperature|top_[kp]|typical_p"
    r"|do_sample|early_stopping|no_repeat.*|encoder_no.*|num_return.*|return_dict.*"
    r"|remove_invalid.*|torchscript|tf_legacy.*|tie_encoder.*|chunk_size.*|use_bfloat16"
    r"|cross_attention.*|add_cross.*|is_(en|de)coder.*|ignore_index|initial_context.*"
    r"|rescale.*|residual_in.*|time_step_.*|use_mamba.*|num_logits_to_keep|expand"
    r"|.*_(ssm_cache_)?dtype|mamba_hidden.*|mlp_hidden.*|use_bidirectional.*"
    r"|interleave_sliding.*|vision_soft.*|language_model_only|.*overlap|unsloth.*"
    r"|max_batch.*|use_unified.*|mla_use_nope|output_gate_type|mtp_use_dedicated.*"
    r"|vocab_size_per_layer_input|sliding_window_size|attention_chunk_size|keys_to.*"
    r"|index_share.*|index_skip.*|index_topk_freq|decoder_start.*|prefix|task_.*|sep_.*"
    r"|finetuning_task|bad_words.*|suppress.*|forced_.*|exponential.*|begin_supp.*"
    r"|logits_scaling|.*multiplier|use_conv_bias|use_bias|mamba_proj_bias|head_dim"
    r"|qk_head_dim|intermediate_size|model_type|num_key_value_heads|decoder_sparse_step"
)
# Other parts of a model and what they are; a draft of the next tokens is optional.
PARTS = {
    "vision_config": "the encoder of images",
    "audio_config": "the encoder of sound",
    "num_nextn_predict_layers": "the layers that draft tokens",
    "mtp_num_hidden_layers": "the layers that draft tokens",
    "num_mtp_modules": "the layers that draft tokens",
    "mtp_hybrid_override_pattern": "the layers that draft tokens",
    "mtp_transformer_layers": "the layers that draft tokens",
    "use_mtp": "the layers that draft tokens",
    "mtp_layers_block_type": "the layers that draft tokens",
}
# Keys that change the layers in ways that are not known here.
REFUSED = (
    *("compress_ratios", "block_configs", "sparse_attention_config", "num_loops"),
    *("num_kv_shared_layers", "is_encoder_decoder", "cross_attention_layers"),
    *("hidden_size_per_layer_input", "routed_expert_hidden_size", "attn_layer_period"),
    *("use_double_wide_mlp", "layer_group_size"),
)
# If such keys are not read, there are layers that the formulas below do not know.
OTHER_LAYERS = re.compile(r"(mamba|ssm|linear|swa|attn|layers_block|compress|window).*")
LAYER_TYPES = {
    "full_attention": "full",
    "attention": "full",
    "sliding_attention": "window",
    "chunked_attention": "window",
    "linear_attention": "linear",
    "deepseek_sparse_attention": "full",
}
# The separate layers of Nemotron-H, as letters of its pattern.
BLOCKS = {"mamba": "M", "attention": "*", "moe": "E", "mlp": "-"}
# Transformers leaves values out that are the defaults of a kind of model.
DEFAULTS: dict[str, dict[str, Any]] = {
    "gemma2": {"sliding_window": 4096},
    "gemma3_text": {"sliding_window": 4096, "vocab_size": 262208, "head_dim": 256}
    | {"num_attention_heads": 8, "num_key_value_heads": 4},
    "mixtral": {"sliding_window": None},
}
PATTERNS = {"gemma2": 2, "gemma3_text": 6}  # every so-manieth layer has no window
# The families whose layers the formulas below were tested with.
KNOWN = re.compile(
    r"llama(4(_text)?)?|mistral|mixtral|qwen[23](_moe|_next)?|qwen3_5(_moe)?(_text)?"
    r"|qwen3_vl(_moe)?(_text)?"
    r"|gemma[234](_text)?|gpt_oss|deepseek_v(3|32)|kimi_k2(5)?|kimi_linear|glm4_moe"
    r"(_lite)?|glm_moe_dsa|minimax_m2|mimo_v2_flash|nemotron_h"
)
MOST = 10**9  # the largest size that a configuration may name


class ConfigurationError(ValueError):
    """A configuration that cannot be read, with the reason in one line."""


class Keys:
    """The keys of a configuration, each of which is read or ends up in a note."""

    def __init__(self, config: dict[str, Any]):
        family = str(config.get("model_type", ""))
        self.values = DEFAULTS.get(family, {}) | config
        self.family = family
        self.read: set[str] = set()

    def get(self, *names: str, default: Any = None) -> Any:
        """Return the value of the first of some names that is given."""
        self.read.update(names)
        given = (self.values.get(name) for name in names)
        return next((value for value in given if value is not None), default)

    def count(self, *names: str, default: int | None = None) -> int:
        """Return a number of things; raise ConfigurationError if there is none."""
        value = self.get(*names, default=default)
        if value is None:
            raise ConfigurationError(f"there is no '{names[0]}'")
        if isinstance(value, bool) or not isinstance(value, int):
            raise ConfigurationError(f"'{names[0]}' is {_short(value)}, not an integer")
        if not (default == value or 1 <= value <= MOST):
            raise ConfigurationError(f"'{names[0]}' cannot be {_short(value)}")
        return value

    def listed(self, name: str, length: int) -> list | None:
        """Return a list with an entry for each layer, or None if there is none."""
        value = self.get(name)
        if value is None:
            return None
        if not isinstance(value, list):
            raise ConfigurationError(f"'{name}' is {_short(value)}, not a list")
        if len(value) != length:
            problem = f"'{name}' has {len(value)} entries for {length} layers"
            raise ConfigurationError(problem)
        return value

    def unread(self) -> list[str]:
        """Return the keys that were not read and may matter."""
        values = self.values.items()
        return sorted(
            name
            for name, value in values
            if value not in (None, False, 0, [], {}, "")
            and name not in self.read
            and not IGNORED.fullmatch(name)
        )


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) < 40 else f"{shown[:37]}..."


# Layers


def _attention(keys: Keys, kind: str, index: int) -> Mixer:
    """Return attention with keys and values, to all tokens or to a window."""
    width, heads = keys.count("hidden_size"), keys.count("num_attention_heads")
    kv_heads = keys.count("num_key_value_heads", default=heads)
    size = keys.count("head_dim", "attention_head_dim", default=width // heads)
    value_size = keys.count("v_head_dim", default=size)
    if not size:
        raise ConfigurationError(f"'hidden_size' is too small for {heads} heads")
    shared = False  # one matrix makes keys and values
    if kind == "window":
        heads = keys.count("swa_num_attention_heads", default=heads)
        kv_heads = keys.count("swa_num_key_value_heads", default=kv_heads)
        size = keys.count("swa_head_dim", default=size)
        value_size = keys.count("swa_v_head_dim", default=value_size)
    elif keys.get("global_head_dim"):
        size = value_size = keys.count("global_head_dim")
        shared = bool(keys.get("attention_k_eq_v"))
        kv_heads = keys.count("num_global_key_value_heads", default=kv_heads)
    if kv_heads > heads:
        problem = f"{kv_heads} heads of keys are more than {heads} heads"
        raise ConfigurationError(problem)
    gate = 2 if keys.get("attn_output_gate") or keys.family == "qwen3_next" else 1
    matrices = heads * (gate * size + value_size)
    matrices += kv_heads * (size + (0 if shared else value_size))
    biases = 0
    if keys.get("attention_bias") or keys.get("qkv_bias") or keys.family == "qwen2":
        biases = heads * size + kv_heads * (size + value_size)
        biases += width if keys.family != "qwen2" else 0
    window = 0
    if kind == "window":
        window = keys.count("sliding_window", "attention_chunk_size")
    return Mixer(
        kind,
        params=width * matrices + biases,
        values=kv_heads * (size + value_size),
        window=window,
        pair=2 * heads * (size + value_size),
        pair_later=2 * heads * (size + value_size),
        parts=kv_heads,
    )


def _latent(keys: Keys, kind: str, index: int) -> Mixer:
    """Return latent attention (MLA), with the choice of tokens (DSA) if it has one."""
    width, heads = keys.count("hidden_size"), keys.count("num_attention_heads")
    rank, queries = keys.count("kv_lora_rank"), keys.count("q_lora_rank", default=0)
    plain, turned = keys.count("qk_nope_head_dim"), keys.count("qk_rope_head_dim")
    value_size, size = keys.count("v_head_dim"), plain + turned
    params = width * (rank + turned) + rank + rank * heads * (plain + value_size)
    params += heads * value_size * width * (2 if keys.get("mla_use_output_gate") else 1)
    from_input = heads * size
    params += queries * (width + 1 + from_input) if queries else width * from_input
    chosen = keys.count("index_topk", default=0)
    types = keys.listed("indexer_types", keys.count("num_hidden_layers"))
    own = chosen and (types is None or types[index] == "full")
    index_heads = keys.count("index_n_heads", default=0) if chosen else 0
    index_size = keys.count("index_head_dim", default=0) if chosen else 0
    if own:
        params += index_heads * (queries * index_size + width)
        params += width * index_size + 2 * index_size
    return Mixer(
        "latent",
        params=params,
        values=rank + turned,
        index=index_size if own else 0,
        chosen=chosen,
        pair=2 * heads * (size + value_size),
        pair_later=2 * heads * (rank + turned + rank),
        pair_index=2 * index_heads * index_size if own else 0,
    )


def _delta_rule(keys: Keys, kind: str, index: int) -> Mixer:
    """Return linear attention by a gated delta rule, as in Qwen3-Next."""
    width = keys.count("hidden_size")
    key_heads = keys.count("linear_num_key_heads")
    value_heads = keys.count("linear_num_value_heads")
    key_size = keys.count("linear_key_head_dim")
    value_size = keys.count("linear_value_head_dim")
    kernel = keys.count("linear_conv_kernel_dim")
    key_width, value_width = key_heads * key_size, value_heads * value_size
    mixed = 2 * key_width + value_width
    params = width * (mixed + value_width + 2 * value_heads) + value_width * width
    params += mixed * kernel + 2 * value_heads + value_size
    state = value_heads * key_size * value_size
    return Mixer(
        "linear", params, state=state, recent=mixed * (kernel - 1), parts=key_heads
    )


def _kimi_delta(keys: Keys, kind: str, index: int) -> Mixer:
    """Return linear attention as in Kimi Linear, whose gates have a rank of a head."""
    given = keys.get("linear_attn_config")
    width, inner = keys.count("hidden_size"), Keys(given)
    heads, size = inner.count("num_heads"), inner.count("head_dim")
    kernel, inside = inner.count("short_conv_kernel_size"), heads * size
    low = size * (width + inside)
    gate = width * inside if given.get("use_full_rank_gate") else low
    params = 4 * width * inside + low + gate + width * heads
    params += 3 * inside * kernel + inside + heads + size
    recent = 3 * inside * (kernel - 1)
    return Mixer("linear", params, state=inside * size, recent=recent, parts=heads)


def _state_space(keys: Keys, kind: str, index: int) -> Mixer:
    """Return a state-space model (Mamba-2)."""
    width = keys.count("hidden_size")
    heads, size = keys.count("mamba_num_heads"), keys.count("mamba_head_dim")
    groups, states = keys.count("n_groups"), keys.count("ssm_state_size")
    kernel, inside = keys.count("conv_kernel"), heads * size
    mixed = inside + 2 * groups * states
    params = width * (inside + mixed + heads) + inside * width
    params += mixed * (kernel + 1) + 3 * heads + inside
    recent = mixed * (kernel - 1)
    return Mixer("state", params, state=inside * states, recent=recent, parts=groups)


MIXERS: dict[str, Callable[[Keys, str, int], Mixer]] = {
    "full": _attention,
    "window": _attention,
    "latent": _latent,
    "linear": _delta_rule,
    "kimi": _kimi_delta,
    "state": _state_space,
    "none": lambda keys, kind, index: Mixer("none"),
}


def _kinds(keys: Keys, layers: int) -> list[str]:
    """Return the kind of each layer's mixer."""
    full = "latent" if keys.get("kv_lora_rank") else "full"
    keys.get("full_attention_interval")  # which 'layer_types' spell out
    named = keys.listed("layer_types", layers)
    if named is not None:
        unknown = sorted({str(name) for name in named} - LAYER_TYPES.keys())
        if unknown:
            raise ConfigurationError(f"layers of type '{unknown[0]}' are not known")
        found = [LAYER_TYPES[name] for name in named]
        return [full if kind == "full" else kind for kind in found]
    windows = keys.listed("hybrid_layer_pattern", layers)
    if windows is not None:
        return ["window" if each else full for each in windows]
    types = keys.listed("attn_type_list", layers)
    if types and {*types} != {1}:
        raise ConfigurationError(
            "'attn_type_list' names layers that are not known here"
        )
    linear = keys.get("linear_attn_config")
    if linear:
        chosen = linear.get("kda_layers") if isinstance(linear, dict) else None
        if not isinstance(chosen, list):
            raise ConfigurationError("'linear_attn_config' has no list 'kda_layers'")
        return ["kimi" if i + 1 in chosen else full for i in range(layers)]
    if keys.get("linear_num_value_heads"):
        every = keys.count("full_attention_interval")
        return ["linear" if (i + 1) % every else full for i in range(layers)]
    if keys.family.startswith("llama4"):
        turned = keys.listed("no_rope_layers", layers)
        turned = turned or [(i + 1) % 4 for i in range(layers)]
        return ["window" if each else full for each in turned]
    if keys.get("sliding_window") and keys.get("use_sliding_window", default=True):
        if keys.get("use_sliding_window"):  # Qwen2: the first layers have no window
            first = keys.count("max_window_layers", default=0)
            return [full if i < first else "window" for i in range(layers)]
        every = keys.get("sliding_window_pattern", "_sliding_window_pattern")
        every = every or PATTERNS.get(keys.family, 0)
        return [
            full if every and (i + 1) % every == 0 else "window" for i in range(layers)
        ]
    return [full] * layers


def _is_sparse(keys: Keys, layers: int) -> list[bool]:
    """Return for each layer whether its network has experts."""
    if not keys.get(*EXPERTS):
        return [False] * layers
    types = keys.listed("mlp_layer_types", layers)
    if types is not None:
        keys.get("first_k_dense_replace")  # the same in other words
        keys.get("moe_layer_freq")
        return [each == "sparse" for each in types]
    frequency = keys.get("moe_layer_freq", default=1)
    if isinstance(frequency, list):
        found = keys.listed("moe_layer_freq", layers) or []
        return [bool(each) for each in found]
    keys.get("intermediate_size_mlp")  # of dense layers, if there are any
    every = keys.count(
        *("interleave_moe_layer_step", "decoder_sparse_step"), default=frequency
    )
    first = keys.count("first_k_dense_replace", default=0)
    dense = keys.get("mlp_only_layers", default=[])
    return [
        i >= first and (i + 1) % every == 0 and i not in dense for i in range(layers)
    ]


EXPERTS = ("n_routed_experts", "num_local_experts", "num_experts")


def _dense(keys: Keys) -> Network:
    """Return a dense network, with a gate in all families but those with relu2."""
    width = keys.count("hidden_size")
    names = "intermediate_size_mlp", "dense_intermediate_size", "intermediate_size"
    params = _matrices(keys) * width * keys.count(*names)
    return Network(dense=params)


def _matrices(keys: Keys) -> int:
    return 2 if keys.get("mlp_hidden_act") in ("relu2", "relu", "gelu") else 3


def _experts(keys: Keys) -> Network:
    """Return a network with experts, of which some may be used by each token."""
    width, number = keys.count("hidden_size"), keys.count(*EXPERTS)
    used = keys.count(*USED)
    if used > number:
        raise ConfigurationError(f"a token cannot use {used} of {number} experts")
    hidden = keys.count("moe_intermediate_size", "intermediate_size")
    inner = keys.count("moe_latent_size", default=width)
    matrices = _matrices(keys)
    dense: float = (width + 1) * number  # the router, with a bias
    dense += 2 * width * inner if inner != width else 0
    expert = matrices * inner * hidden
    if keys.family == "gpt_oss":
        expert += 2 * hidden + width  # biases
    dense += matrices * width * _shared_width(keys, hidden)
    if keys.get("shared_expert_intermediate_size"):
        dense += width  # the gate of the shared expert
    if keys.get("enable_moe_block"):  # Gemma 4 has a dense network beside the experts
        dense += _dense(keys).dense
    return Network(dense, expert, number, used)


USED = ("num_experts_per_tok", "num_experts_per_token", "top_k_experts")


def _shared_width(keys: Keys, hidden: int) -> int:
    """Return the width of all shared experts of a layer together."""
    if keys.family.startswith("llama4"):
        return keys.count("intermediate_size")
    given = keys.count(
        *("shared_expert_intermediate_size", "moe_shared_expert_intermediate_size"),
        *("shared_intermediate_size", "share_expert_dim"),
        default=0,
    )
    number = keys.count("n_shared_experts", "num_shared_experts", default=0)
    return given or number * hidden


def _layers(keys: Keys) -> tuple[Layer, ...]:
    """Return all layers."""
    blocks = keys.get("layers_block_type")
    pattern = keys.get("hybrid_override_pattern")
    if isinstance(blocks, list):
        unknown = sorted({str(each) for each in blocks} - BLOCKS.keys())
        if unknown:
            raise ConfigurationError(f"layers of type '{unknown[0]}' are not known")
        pattern = "".join(BLOCKS[each] for each in blocks)
    layers = len(pattern) if isinstance(pattern, str) else None
    count = keys.count("num_hidden_layers", default=layers)
    width = keys.count("hidden_size")
    if count > 10_000:
        raise ConfigurationError(f"'num_hidden_layers' cannot be {count}")
    if pattern:
        return _separate_layers(keys, str(pattern), count)
    kinds, sparse = _kinds(keys, count), _is_sparse(keys, count)
    if keys.get("enable_moe_block"):
        sparse = [True] * count
    norms = width * (4 if keys.family.startswith("gemma") else 2)
    found = [
        Layer(
            MIXERS[kind](keys, kind, index),
            _experts(keys) if has_experts else _dense(keys),
            norms,
        )
        for index, (kind, has_experts) in enumerate(zip(kinds, sparse))
    ]
    return tuple(found)


def _separate_layers(keys: Keys, pattern: str, count: int) -> tuple[Layer, ...]:
    """Return layers that are a mixer or a network each, as in Nemotron-H."""
    unknown = sorted({*pattern} - {*"ME*-"})
    if unknown or len(pattern) != count:
        problem = "'hybrid_override_pattern' is no pattern of M, E, * and -"
        raise ConfigurationError(f"{problem} for {count} layers")
    width = keys.count("hidden_size")
    mixers = {"M": "state", "*": "full"}
    networks = {"E": _experts, "-": _dense}
    return tuple(
        Layer(
            MIXERS[mixers.get(each, "none")](keys, "full", index),
            networks[each](keys) if each in networks else Network(),
            width,
        )
        for index, each in enumerate(pattern)
    )


# Types of weights


def _types(given: Any) -> tuple[Types, list[str]]:
    """Return the types of a quantized model, and notes on what was taken for granted.

    A scale belongs to its values: MXFP4 has one of 8 bits for 32 values of 4 bits, and
    NVFP4 one of 8 bits for 16.
    """
    if not isinstance(given, dict):
        return Types(), []
    method = str(given.get("quant_method", given.get("quant_algo", ""))).lower()
    if method == "mxfp4":
        return Types(experts=4 + 8 / 32), []
    if method == "fp8":
        block = given.get("weight_block_size")
        each = 8 + (32 / (block[0] * block[1]) if block else 0)
        return Types(each, each, each), []
    if method in ("gptq", "awq"):
        bits, group = given.get("bits", 4), given.get("group_size", 128)
        each = bits + ((16 + bits) / group if group > 0 else 0)
        return Types(each, each, each), []
    if method == "bitsandbytes" and given.get("load_in_4bit"):  # NF4 or FP4
        # With double quantization, 256 scales of 8 bits share one of 32.
        double = given.get("bnb_4bit_use_double_quant")
        return Types(*3 * (4 + (8 + 32 / 256 if double else 32) / 64,)), []
    algorithm = str(given.get("quant_algo", "")).lower()
    if method == "modelopt" and algorithm in ("nvfp4", "fp8"):
        return _kept(4.5 if algorithm == "nvfp4" else 8, given)
    if method == "compressed-tensors":
        return _compressed(given)
    shown = method or "without a name"
    note = f"the format of the weights ({shown}) is not known here"
    return Types(), [f"{note} and counted as 16 bits"]


def _compressed(given: dict[str, Any]) -> tuple[Types, list[str]]:
    """Return the types of a model in the format of llm-compressor."""
    groups = given.get("config_groups")
    groups = [*groups.values()] if isinstance(groups, dict) else []
    weights = [each.get("weights") or {} for each in groups]
    if len(weights) != 1 or not weights[0].get("num_bits"):
        note = f"{len(weights)} formats of weights in one model are counted as 16 bits"
        return Types(), [note]
    bits, group = weights[0]["num_bits"], weights[0].get("group_size")
    scale = 8 if (weights[0].get("type"), bits) == ("float", 4) else 16
    return _kept(bits + (scale / group if group and group > 0 else 0), given)


def _kept(bits: float, given: dict[str, Any]) -> tuple[Types, list[str]]:
    """Return the types of layers of which some parts keep 16 bits, by their names."""
    names = given.get("ignore") or given.get("exclude_modules") or ()
    kept = " ".join(str(name) for name in names)
    networks = 16 if "shared_experts" in kept else bits
    types = Types(bits, networks, 16 if "attn" in kept else bits)
    if types.mixers == bits:
        return types, []
    return types, ["attention is counted in 16 bits, since the format leaves it out"]


# Models


def model_of(config: Any, name: str) -> Model:
    """Return the model of a configuration; raise ConfigurationError."""
    if not isinstance(config, dict):
        raise ConfigurationError("a configuration is a JSON object")
    inner = config.get("text_config")
    whole = config
    if isinstance(inner, dict):
        outer = {k: v for k, v in config.items() if k not in ("text_config",)}
        whole = outer | {k: v for k, v in inner.items() if v is not None}
    for key in REFUSED:
        if whole.get(key):
            raise ConfigurationError(
                f"'{key}' changes the layers in a way that is not known here"
            )
    keys = Keys(whole)
    layers = _layers(keys)
    if not any(layer.mixer.values or layer.mixer.state for layer in layers):
        raise ConfigurationError("no layer mixes tokens")
    types, told = _types(keys.get("quantization_config", "compression_config"))
    tied = keys.get("tie_word_embeddings")
    notes = [*told]
    if tied is None:
        tied = keys.family.startswith("gemma")
        shown = "one matrix" if tied else "two matrices"
        notes.append(f"without 'tie_word_embeddings', embedding and head are {shown}")
    return Model(
        name,
        layers,
        keys.count("hidden_size"),
        keys.count("vocab_size"),
        bool(tied),
        keys.count("max_position_embeddings", default=0),
        types,
        (*notes, *_uncounted(keys)),
    )


def _uncounted(keys: Keys) -> list[str]:
    """Return notes on the parts and keys that are in no number."""
    unread = keys.unread()
    others = [key for key in unread if OTHER_LAYERS.fullmatch(key)]
    if others:
        raise ConfigurationError(
            f"'{others[0]}' is about layers that are not known here"
        )
    parts = {key: PARTS[key] for key in unread if key in PARTS}
    notes = [f"{part} is not counted" if not part.endswith("tokens") else
             f"{part} are not counted"
             for part in dict.fromkeys(parts.values())]  # fmt: skip
    if not KNOWN.fullmatch(keys.family):
        kind = f"models of type '{keys.family}'" if keys.family else "such models"
        notes.append(f"{kind} are not known here; the names of the keys decide")
    unknown = [key for key in unread if key not in PARTS]
    if unknown:
        notes.append(f"keys not known here, and not counted: {', '.join(unknown)}")
    return notes


def read_configuration(path: str | Path) -> Model:
    """Return the model of a file `config.json`, or of the folder that has one.

    Raises ConfigurationError if it cannot be read or does not describe a known model.
    """
    file = Path(path)
    file = file / "config.json" if file.is_dir() else file
    try:
        config = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise ConfigurationError(f"{file}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{file} is not JSON: {error}") from None
    try:
        return model_of(_with_format(config, file), str(path))
    except ConfigurationError as error:
        raise ConfigurationError(f"{file}: {error}") from None
    except (TypeError, ValueError, ArithmeticError, AttributeError, LookupError):
        raise ConfigurationError(f"{file}: a value has a wrong type") from None


def _with_format(config: Any, file: Path) -> Any:
    """Return a configuration with the format of the weights from a file beside it."""
    beside = file.with_name("hf_quant_config.json")
    if not isinstance(config, dict) or "quantization_config" in config:
        return config
    if file.name != "config.json" or not beside.exists():
        return config
    found = json.loads(beside.read_text("utf-8")).get("quantization")
    return config | {"quantization_config": {"quant_method": "modelopt"} | found}


# Built-in models


@functools.cache
def configurations() -> dict[str, dict[str, Any]]:
    """Return the entries of `models.json` by the names of the models."""
    text = resources.files("d2l").joinpath("models.json").read_text("utf-8")
    return {entry["name"]: entry for entry in json.loads(text)}


@functools.cache
def built_in(name: str) -> Model:
    """Return a published model by its name, in the wording of people or publishers.

    Raises ConfigurationError with the nearest names if it is not known.
    """
    known = known_name(name)
    if known is None:
        near = nearest(name)
        problem = f"'{name}' has no published shape here"
        raise ConfigurationError(f"{problem}; write {' or '.join(near)}")
    return model_of(configurations()[known]["config"], known)


def plain(name: str) -> str:
    """Return the name of a model in small letters, without what does not change it.

    That are the publisher, the kind of training, and the date or number of an edition.
    """
    words = re.sub("[-_ :]+", " ", name.rpartition("/")[2].lower()).split()
    words = [word for word in words if not EDITION.fullmatch(word)]
    if words[:2] == ["meta", "llama"]:
        words = words[1:]
    return " ".join(words)


EDITION = re.compile(
    r"instruct|chat|it|hf|base|thinking|preview|original|v0\.\d|bf16|(0[1-9]|1[0-2])\d\d"
    r"|2[45](0[1-9]|1[0-2])|nvidia|latest|pt"
)


@functools.cache
def _names() -> dict[str, str]:
    """Return the built-in names by the plain forms of all of their names."""
    return {
        plain(form): name
        for name, entry in configurations().items()
        for form in (name, entry["repository"])
    }


def known_name(name: str) -> str | None:
    """Return the built-in name of a model, or None if it is not built in."""
    return _names().get(plain(name))


def nearest(name: str, more: Sequence[str] = ()) -> list[str]:
    """Return the names that are like `name`, in quotation marks, at most three."""
    forms = _names() | {plain(each): each for each in more}
    near = get_close_matches(plain(name), forms, 3, 0.6)
    return list(dict.fromkeys(f"'{forms[each]}'" for each in near))
