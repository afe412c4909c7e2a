"""Cards, stored plans of memory, and what JAX's compiler plans for GPUs."""

import csv
import importlib.util
import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from d2l.tables import Plan

CARDS = ("T4", "A100", "H100", "H200", "B200")


def one_line(error) -> str:
    message = str(error.value)
    assert message and "\n" not in message
    return message


# In all frameworks


@pytest.mark.parametrize("card", CARDS)
def test_a_card_has_less_memory_than_a_program_may_think(d2l, card):
    data = d2l.card_data(card)
    # A GB of a data sheet is 10^9 or 2^30 bytes, and ECC takes a part.
    assert 0.92 * 2**30 < data["memory"] / data["advertised"] <= 2**30 * 1.001


def test_an_unknown_card_is_one_line_with_the_known_ones(d2l):
    with pytest.raises(ValueError) as error:
        d2l.card_data("H1000")
    assert one_line(error) == (
        "no card 'H1000'; the cards are T4, A100, H100, H200, B200, B300, RTX 4090,"
        " RTX 5090, V100, P100, L4, A100 40 GB"
    )


def test_an_unknown_model_is_one_line_with_the_known_ones(d2l):
    with pytest.raises(
        ValueError, match="the models are layer, mlp, gpt2, llama3"
    ) as error:
        d2l.stored_plans("gpt3")
    one_line(error)


def test_a_plan_counts_each_byte_once(d2l):
    plan = Plan("T4", 1, arguments=10, outputs=8, aliased=7, temporaries=5)
    assert plan.total == 16 and plan.fits
    assert replace(plan, code=3).total == 19


def test_a_plan_fits_up_to_the_last_byte(d2l):
    memory = int(d2l.card_data("T4")["memory"])
    plan = Plan("T4", 1, arguments=memory, outputs=0, aliased=0, temporaries=0)
    assert plan.fits and not replace(plan, temporaries=1).fits


MODELS = ("layer", "mlp", "gpt2", "llama3")
CHECKPOINTING = tuple(f"{model}-checkpointing" for model in MODELS[1:])
MORE = {"llama3-checkpointing": {("H100", 64)}}


@pytest.mark.parametrize("model", MODELS + CHECKPOINTING)
def test_stored_plans_are_of_all_cards_for_one_and_eight_gpus(d2l, model):
    plans = d2l.stored_plans(model)
    everywhere = {(card, n) for card in CARDS for n in (1, 8)}
    assert set(plans) == everywhere | MORE.get(model, set())
    assert all((plan.card, plan.num_gpus) == key for key, plan in plans.items())
    assert not any(plan.text for plan in plans.values())


def test_the_stored_plan_of_a_layer_is_that_of_the_formula(d2l):
    """See eq_transformer_activations; the rest are temporaries of single operations."""
    predicted = 4 * 512 * 256 * (34 + 5 * 8 * 512 / 256)
    plans = d2l.stored_plans("layer")
    planned = {card: plans[card, 1].temporaries for card in CARDS}
    assert planned["A100"] == pytest.approx(predicted, rel=0.05)
    assert all(predicted < p < 1.2 * predicted for p in planned.values())


def test_the_stored_plan_of_llama_on_one_gpu_is_that_of_the_arithmetic(d2l):
    parameters, positions, width, vocabulary, layers = 8.03e9, 4096, 4096, 128256, 32
    gradients, logits = 4 * parameters, 4 * positions * vocabulary
    inputs = 2 * layers * positions * width
    plans = d2l.stored_plans("llama3-checkpointing")
    for card in CARDS:
        planned = plans[card, 1].temporaries
        assert planned == pytest.approx(gradients + logits + inputs, rel=0.07)
    fitting = [key for key, plan in plans.items() if plan.fits]
    assert fitting == [
        *(("H200", 1), ("B200", 1)),
        *((card, 8) for card in CARDS[1:]),
        ("H100", 64),
    ]


def test_the_stored_plan_of_gpt2_is_twice_the_arithmetic(d2l):
    """The rest is scores of 6 bytes, six arrays of GELU, and norms in 32 bits."""
    unit, scores = 12 * 8 * 1024 * 768, 12 * 1024 / 768
    state, logits = 16 * 124_337_664, 4 * 8 * 1024 * 50257
    needed = state + logits + unit * (32 + 2 * scores)
    rest = unit * (4 * scores + 4 * 8 + 12)
    plans = d2l.stored_plans("gpt2")
    for card in CARDS:
        assert plans[card, 1].total == pytest.approx(2 * needed, rel=0.03)
        assert plans[card, 1].total == pytest.approx(needed + rest, rel=0.05)


@pytest.mark.parametrize(
    "model, parameters", [("gpt2", 124_337_664), ("llama3", 8_030_261_248)]
)
def test_stored_state_has_twelve_bytes_per_parameter(d2l, model, parameters):
    plans = [*d2l.stored_plans(model).values()]
    plans += d2l.stored_plans(f"{model}-checkpointing").values()
    for plan in plans:
        num_gpus = plan.num_gpus
        assert plan.arguments == pytest.approx(12 * parameters / num_gpus, rel=1e-3)
        assert plan.outputs == pytest.approx(plan.aliased, rel=1e-3)


@pytest.mark.parametrize(
    "model, fusions", [("chain", 1), ("norm", 1), ("norm-fast", 3)]
)
def test_stored_programs_are_read_line_by_line(d2l, model, fusions):
    (plan,) = d2l.stored_plans(model).values()
    assert (plan.card, plan.num_gpus) == ("H100", 1)
    main = plan.text[plan.text.index("\nENTRY") :].splitlines()
    assert sum(" fusion(" in line for line in main) == fusions
    assert main[-1] == "}" and main[-2].startswith("  ROOT ")


@pytest.mark.parametrize("model", ["gpt2", "llama3"])
def test_checkpointing_plans_less_memory(d2l, model):
    with_checkpoints = d2l.stored_plans(f"{model}-checkpointing")
    for key, plan in d2l.stored_plans(model).items():
        assert with_checkpoints[key].temporaries < 0.3 * plan.temporaries


# In JAX, without its compiler for GPUs


@pytest.fixture
def jax_only(fw):
    if fw.tab != "jax":
        pytest.skip("of JAX")


@pytest.fixture
def no_compiler(jax_only, d2l, monkeypatch):
    def version(name):
        raise d2l.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(d2l.metadata, "version", version)


def shape(*sizes, **kwargs):
    import jax

    return jax.ShapeDtypeStruct(sizes, "float32", **kwargs)


def test_a_missing_compiler_is_one_line_with_a_command(d2l, no_compiler):
    import jax

    with pytest.raises(ModuleNotFoundError) as error:
        d2l.plan_memory(lambda x: x + 1, shape(3))
    command = f"pip install jax-cuda12-plugin=={jax.__version__} nvidia-cuda-nvcc-cu12"
    assert one_line(error).endswith(command)


def test_the_stored_plan_stands_in_for_a_missing_compiler(d2l, no_compiler):
    plan = d2l.plan_memory(lambda x: x, shape(3), card="A100", model="gpt2")
    assert plan == d2l.stored_plans("gpt2")["A100", 1] and plan.text == ""


def test_a_compiler_of_another_version_is_one_line(d2l, jax_only, monkeypatch):
    import jax

    monkeypatch.setattr(d2l.metadata, "version", lambda name: "0.1.0")
    with pytest.raises(ImportError) as error:
        d2l.plan_memory(lambda x: x, shape(3), model="gpt2")
    assert f"0.1.0 does not fit JAX {jax.__version__}: pip install" in one_line(error)


def test_a_wrong_card_or_number_of_gpus_is_found_first(d2l, no_compiler):
    with pytest.raises(ValueError, match="no card 'K80'"):
        d2l.plan_memory(lambda x: x, shape(3), card="K80")
    for num_gpus in 0, -8, 12:
        with pytest.raises(ValueError, match=f"multiple of 8, not {num_gpus}$"):
            d2l.plan_memory(lambda x: x, shape(3), num_gpus=num_gpus)


def divided(num_gpus, *spec):
    from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec

    return NamedSharding(AbstractMesh((num_gpus,), ("gpu",)), PartitionSpec(*spec))


def test_a_sharding_of_another_number_of_gpus_is_one_line(d2l, jax_only):
    import jax

    with pytest.raises(ValueError, match="among 8 devices, but num_gpus is 2") as error:
        d2l.place(shape(16, sharding=divided(8, "gpu")), jax.devices("cpu")[:2])
    one_line(error)


def test_a_sharding_moves_to_other_devices(d2l, jax_only):
    import jax

    devices = jax.devices("cpu")[:2]
    placed = d2l.place(shape(16, sharding=divided(2, "gpu")), devices)
    assert placed.sharding.device_set == set(devices)
    assert placed.sharding.shard_shape((16,)) == (8,)
    whole = d2l.place(jax.numpy.ones((4, 2), "int32"), devices)
    assert whole.sharding.is_fully_replicated and whole.dtype == "int32"


def small_model(d2l, positions):
    """Return the loss of a small language model, its parameters and a batch."""
    import jax

    sizes = d2l.Decoder(2, 32, 4, 4 if positions else 2, 64, 50, positions)
    leaves, tree = jax.tree.flatten(d2l.decoder_params(sizes))
    random = np.random.default_rng(0)
    values = [0.1 * random.normal(size=a.shape).astype("float32") for a in leaves]
    tokens = jax.numpy.asarray(random.integers(50, size=(4, 17)))
    loss = partial(d2l.decoder_loss, c=sizes, dtype="float32")
    loss = jax.jit(loss, static_argnames="checkpoint")
    return loss, jax.tree.unflatten(tree, values), (tokens[:, :-1], tokens[:, 1:])


@pytest.fixture(params=[16, 0], ids=["learned-positions", "rotated"])
def small(request, d2l, jax_only):
    return small_model(d2l, request.param)


def test_an_untrained_language_model_guesses_and_then_learns(d2l, small):
    import jax
    import optax

    loss, params, batch = small
    state = params, optax.adam(1e-3).init(params)
    step = jax.jit(d2l.adam_step(loss))
    state, first = step(state, *batch)
    assert float(first) == pytest.approx(np.log(50), abs=0.3)
    for _ in range(100):
        state, last = step(state, *batch)
    assert float(last) < float(first) - 0.5


def test_checkpointing_changes_no_gradient(small):
    import jax

    loss, params, batch = small
    plain, cheap = (
        jax.tree.leaves(jax.jit(jax.grad(partial(loss, checkpoint=c)))(params, *batch))
        for c in (False, True)
    )
    for a, b in zip(plain, cheap, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_a_language_model_does_not_see_later_tokens(small):
    loss, params, (tokens, labels) = small
    changed = tokens.at[:, -1].set((tokens[:, -1] + 1) % 50)
    # Only the loss of the last token depends on it; the labels of that token decide
    # how much, so the difference is the same whatever the other labels are.
    others = labels.at[:, :-1].set(0)
    differences = [
        float(loss(params, changed, y) - loss(params, tokens, y))
        for y in (labels, others)
    ]
    assert differences[0] == pytest.approx(differences[1], abs=1e-6)
    assert differences[0] != pytest.approx(0, abs=1e-6)


def test_the_mlp_of_the_plans_is_a_deep_mlp(d2l, jax_only):
    import jax

    keys = jax.random.split(jax.random.key(0), 3)
    params = [(jax.random.normal(key, (4, 4)), 0.5 * np.ones(4)) for key in keys]
    X = np.ones((2, 4), "float32")
    H = X
    for W, b in params:
        H = np.tanh(H @ np.asarray(W) + b)
    expected = ((H - X) ** 2).mean()
    for checkpoint in False, True:
        assert float(d2l.mlp_loss(params, X, checkpoint)) == pytest.approx(expected)


# With JAX's compiler for GPUs


@pytest.fixture
def compiler(jax_only):
    if not importlib.util.find_spec("jax_cuda12_plugin"):
        pytest.skip("the compiler for GPUs is not installed")


def product_step(state, x):
    square = x @ x.T  # 4 MiB
    return state + square @ square, square.sum()


@pytest.mark.parametrize("card", CARDS)
def test_roles_are_those_of_a_step_counted_by_hand(d2l, compiler, card):
    state, x = shape(1024, 1024), shape(1024, 256)
    plan = d2l.plan_memory(product_step, state, x, card=card)
    assert plan.arguments == 4 * (1024 * 1024 + 1024 * 256)
    assert plan.outputs == pytest.approx(4 * 1024 * 1024, abs=64)
    assert plan.aliased == 0 and plan.card == card
    # `square`, the product before it is added, and a workspace of 4 MiB on a T4.
    assert 4 * 2**20 <= plan.temporaries <= 3.1 * 4 * 2**20
    assert plan.text.startswith("HloModule")


def test_donated_state_is_stored_once(d2l, compiler):
    state, x = shape(1024, 1024), shape(1024, 256)
    plan = d2l.plan_memory(product_step, state, x, donate=[0])
    assert plan.aliased == 4 * 1024 * 1024
    assert plan.total == plan.arguments + plan.temporaries + (
        plan.outputs - plan.aliased
    )


def test_a_bare_output_replaces_a_donated_argument(d2l, compiler):
    plan = d2l.plan_memory(lambda x: x + 1, shape(4096), donate=[0])
    assert plan.aliased == 4 * 4096


def test_eight_gpus_store_an_eighth_of_a_divided_state(d2l, compiler):
    state = shape(1024, 1024, sharding=divided(8, "gpu"))
    x = shape(1024, 256, sharding=divided(8, "gpu"))
    plan = d2l.plan_memory(product_step, state, x, card="A100", num_gpus=8, donate=[0])
    assert plan.arguments == 4 * (1024 * 1024 + 1024 * 256) // 8
    assert plan.aliased == 4 * 1024 * 1024 // 8
    assert "all-gather" in plan.text


def test_sixty_four_gpus_are_eight_machines(d2l, compiler):
    x = shape(1024, 256, sharding=divided(64, "gpu"))
    plan = d2l.plan_memory(lambda x: (x * x).sum(), x, num_gpus=64)
    assert plan.arguments == 4 * 1024 * 256 // 64 and "all-reduce" in plan.text


def test_the_stored_plans_are_those_of_the_compiler(d2l, compiler):
    sizes = d2l.Decoder(12, 768, 12, 12, 3072, 50257, 1024)
    plan = d2l.language_model_plan(sizes, (8, 1024), "A100", checkpoint=True)
    stored = d2l.stored_plans("gpt2-checkpointing")["A100", 1]
    assert replace(plan, text="", code=None) == stored


def test_the_stored_programs_are_those_of_the_compiler(d2l, compiler):
    from benchmarks import plans  # needs a package that not all environments have

    with plans.FILE.open(encoding="utf-8", newline="") as file:
        stored = [row for row in csv.DictReader(file) if row["text"]]
    found = [
        {column: str(value) for column, value in row.items()}
        for row in plans.program_rows(d2l)
    ]
    assert found == stored


def test_a_normalization_in_one_kernel_loads_its_matrix_once(d2l, compiler):
    def norm(X, scale):
        Y = X - X.mean(1, keepdims=True)
        return Y * scale / ((Y**2).mean(1, keepdims=True) + 1e-6) ** 0.5

    kernel = d2l.compile_kernel(norm, shape(4096, 1024), shape(1024))
    plan = d2l.plan_memory(norm, shape(4096, 1024), shape(1024))
    (rows,) = re.findall(r'"sizes":\["(\d+)","1024"\]', plan.text)
    (warps,) = re.findall(r'"num_warps":"(\d+)"', plan.text)
    # A thread loads and stores four values at once. Each has a part of `scale`, too.
    times = 1024 / (32 * int(warps) * 4)
    assert kernel.ptx.count("ld.global.v4") == (int(rows) + 1) * times
    assert kernel.ptx.count("st.global.v4") == int(rows) * times


def test_the_plan_of_a_trainer_step_of_deep_mlp_is_that_of_the_function(d2l, compiler):
    import jax

    X = shape(2048, 128)
    step, state = trainer_step(d2l, d2l.DeepMLP(), X)
    plan = d2l.plan_memory(step, state, X, X, card="A100", donate=[0])
    stored = d2l.stored_plans("mlp")["A100", 1]
    # The trainer gets its labels as a batch of their own.
    assert plan.arguments == pytest.approx(stored.arguments + 2**20, rel=1e-3)
    assert plan.temporaries == pytest.approx(stored.temporaries, rel=0.05)
    assert jax.tree.leaves(state)


def trainer_step(d2l, model, X):
    """Return a training step of a model, and the shapes of its state."""
    import jax

    def create(key):
        params = model.init(key, jax.numpy.zeros(X.shape))["params"]
        return d2l.TrainState.create(
            **{"apply_fn": model.apply, "params": params, "batch_stats": {}},
            **{"tx": model.configure_optimizers(), "dropout_rng": key},
        )

    def step(state, X, y):
        grads = jax.grad(model.loss)(state.params, (X,), y, state)
        return state.apply_gradients(grads=grads)

    return step, jax.eval_shape(create, jax.random.key(0))


def test_a_trainer_state_can_be_donated(d2l, compiler):
    """The state of a trainer holds functions beside arrays."""
    step, state = trainer_step(d2l, d2l.LinearRegression(lr=0.1), shape(64, 2))
    plan = d2l.plan_memory(
        step, state, shape(64, 2), shape(64, 1), card="T4", donate=[0]
    )
    assert plan.aliased >= 3 * 4 and plan.fits
