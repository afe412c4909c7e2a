"""Memory plans of JAX's compiler for GPUs, and the models behind the stored plans."""

import csv
import importlib.util
import re
from dataclasses import replace
from functools import partial

import jax
import numpy as np
import optax
import pytest
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec
from test_plans import CARDS, one_line

# Without JAX's compiler for GPUs


@pytest.fixture
def no_compiler(d2l, monkeypatch):
    def version(name):
        raise d2l.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(d2l.metadata, "version", version)


def shape(*sizes, **kwargs):
    return jax.ShapeDtypeStruct(sizes, "float32", **kwargs)


def test_a_missing_compiler_is_one_line_with_a_command(d2l, no_compiler):
    with pytest.raises(ModuleNotFoundError) as error:
        d2l.plan_memory(lambda x: x + 1, shape(3))
    command = f"pip install jax-cuda12-plugin=={jax.__version__} nvidia-cuda-nvcc-cu12"
    assert one_line(error).endswith(command)


def test_the_stored_plan_stands_in_for_a_missing_compiler(d2l, no_compiler):
    plan = d2l.plan_memory(lambda x: x, shape(3), card="A100", model="gpt2")
    assert plan == d2l.stored_plans("gpt2")["A100", 1] and plan.text == ""


def test_a_compiler_of_another_version_is_one_line(d2l, monkeypatch):
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
    return NamedSharding(AbstractMesh((num_gpus,), ("gpu",)), PartitionSpec(*spec))


def test_a_sharding_of_another_number_of_gpus_is_one_line(d2l):
    with pytest.raises(ValueError, match="among 8 devices, but num_gpus is 2") as error:
        d2l.place(shape(16, sharding=divided(8, "gpu")), jax.devices("cpu")[:2])
    one_line(error)


def test_a_sharding_moves_to_other_devices(d2l):
    devices = jax.devices("cpu")[:2]
    placed = d2l.place(shape(16, sharding=divided(2, "gpu")), devices)
    assert placed.sharding.device_set == set(devices)
    assert placed.sharding.shard_shape((16,)) == (8,)
    whole = d2l.place(jax.numpy.ones((4, 2), "int32"), devices)
    assert whole.sharding.is_fully_replicated and whole.dtype == "int32"


def small_model(d2l, positions):
    """Return the loss of a small language model, its parameters and a batch."""
    sizes = d2l.Decoder(2, 32, 4, 4 if positions else 2, 64, 50, positions)
    leaves, tree = jax.tree.flatten(d2l.decoder_params(sizes))
    random = np.random.default_rng(0)
    values = [0.1 * random.normal(size=a.shape).astype("float32") for a in leaves]
    tokens = jax.numpy.asarray(random.integers(50, size=(4, 17)))
    loss = partial(d2l.decoder_loss, c=sizes, dtype="float32")
    loss = jax.jit(loss, static_argnames="checkpoint")
    return loss, jax.tree.unflatten(tree, values), (tokens[:, :-1], tokens[:, 1:])


@pytest.fixture(params=[16, 0], ids=["learned-positions", "rotated"])
def small(request, d2l):
    return small_model(d2l, request.param)


def test_an_untrained_language_model_guesses_and_then_learns(d2l, small):
    loss, params, batch = small
    state = params, optax.adam(1e-3).init(params)
    step = jax.jit(d2l.adam_step(loss))
    state, first = step(state, *batch)
    assert float(first) == pytest.approx(np.log(50), abs=0.3)
    for _ in range(100):
        state, last = step(state, *batch)
    assert float(last) < float(first) - 0.5


def test_checkpointing_changes_no_gradient(small):
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


def test_the_mlp_of_the_plans_is_a_deep_mlp(d2l):
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
def compiler():
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
