"""Kernels in Pallas: interpreted, counted, and compiled for GPUs that are not there."""

import csv
import importlib.util
import math
import re
from contextlib import nullcontext
from functools import partial
from importlib import resources
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from jax import export
from jax import numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu
from test_plans import one_line

from d2l import jax as d2l

plgpu = pytest.importorskip("jax.experimental.pallas.triton")


def scale_kernel(x, y, n, factor):
    i = pl.program_id(0) * y.shape[0] + jnp.arange(y.shape[0])
    plgpu.store(y, plgpu.load(x, mask=i < n) * factor, mask=i < n)


def scale(x, factor=3, size=64, **options):
    block = pl.BlockSpec((size,), lambda i: (i,))
    return d2l.run_kernel(
        partial(scale_kernel, n=len(x), factor=factor),
        *(x, x),
        grid=(math.ceil(len(x) / size),),
        in_specs=[block],
        out_specs=block,
        **options,
    )


def norm_kernel(x, y, n):
    i = jnp.arange(x.shape[0])
    values = plgpu.load(x, mask=i < n, other=0)
    y[pl.program_id(axis=0)] = jnp.sqrt((values * values).sum())


def row_norms(X):
    rows, n = X.shape
    row = pl.BlockSpec((None, pl.next_power_of_2(n)), lambda i: (i, 0))
    out = jax.ShapeDtypeStruct((rows,), X.dtype)
    return d2l.run_kernel(
        partial(norm_kernel, n=n), out, X, grid=(rows,), in_specs=[row]
    )


def columns_kernel(x, y):
    i = jnp.arange(x.shape[0])

    def copy(j, _):
        plgpu.store(y.at[i, j], plgpu.load(x.at[i, j]))

    jax.lax.fori_loop(0, x.shape[1], copy, None)


def gram_kernel(x, y):
    X = x[...]
    y[...] = jnp.dot(X, X.T, preferred_element_type=jnp.float32)


def gram(X, num_warps=4):
    out = jax.ShapeDtypeStruct((len(X), len(X)), jnp.float32)
    return d2l.run_kernel(gram_kernel, out, X, num_warps=num_warps)


def tile(rows):
    return jax.ShapeDtypeStruct((rows, 32), jnp.float16)


# Interpreted


@pytest.mark.parametrize("n", [1, 63, 64, 200])
def test_an_interpreted_kernel_computes(n):
    x = jax.random.normal(jax.random.key(0), (n,))
    assert (scale(x) == 3 * x).all()
    assert (jax.jit(scale)(x) == 3 * x).all()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int32"])
def test_an_interpreted_kernel_computes_in_each_type(dtype):
    x = jnp.arange(100).astype(dtype)
    assert scale(x).dtype == dtype and (scale(x) == 3 * x).all()


def test_an_interpreted_kernel_reduces_rows():
    X = jax.random.normal(jax.random.key(0), (5, 100))
    assert jnp.allclose(row_norms(X), jnp.linalg.norm(X, axis=1))


def test_an_interpreted_kernel_multiplies():
    X = jax.random.normal(jax.random.key(0), (48, 32))
    assert jnp.allclose(gram(X), X @ X.T, atol=1e-4)


# The choice between the interpreter and the compiler


def described_gpu():
    """Let JAX 0.12 compile for a GPU that is not there, in a `with` block."""
    device = jax.sharding.AbstractDevice("NVIDIA H100", 132, "gpu")
    auto = (jax.sharding.AxisType.Auto,)
    mesh = jax.sharding.AbstractMesh((1,), ("x",), auto, abstract_device=device)
    return jax.sharding.use_abstract_mesh(mesh)


def exported(platform):
    """Return the text of a lowered function, which is traced anew."""
    x = jax.ShapeDtypeStruct((100,), jnp.float32)
    allowed = [export.DisabledSafetyCheck.custom_call("__gpu$xla.gpu.triton")]
    function = jax.jit(lambda x: scale(x))
    lower = export.export(function, platforms=[platform], disabled_checks=allowed)
    with described_gpu() if jax.__version_info__ >= (0, 12) else nullcontext():
        return lower(x).mlir_module()


def test_triton_compiles_for_nvidias_gpus_only():
    assert "xla.gpu.triton" in exported("cuda")
    assert "xla.gpu.triton" not in exported("cpu")


@pytest.mark.parametrize(
    ("capability", "compiled"), [("7.5", False), ("8.0", True), ("10.0", True)]
)
def test_a_gpu_before_the_a100_interprets(monkeypatch, capability, compiled):
    device = SimpleNamespace(compute_capability=capability)
    monkeypatch.setattr(jax, "devices", lambda *_: [device])
    assert ("xla.gpu.triton" in exported("cuda")) == compiled


# Counted


@pytest.mark.parametrize("dtype", ["int8", "float16", "bfloat16", "float32"])
def test_bytes_are_those_inside_the_mask(dtype):
    x = jnp.zeros(100, dtype)
    moved = d2l.count_traffic(scale, x)
    assert moved.loaded == moved.stored == x.nbytes


def test_sectors_of_columns_are_counted_for_each_access():
    x = jnp.zeros((32, 16))  # a row has two sectors
    moved = d2l.count_traffic(partial(d2l.run_kernel, columns_kernel, x), x)
    assert moved.loaded == moved.stored == x.nbytes
    assert moved.sectors == 2 * 16 * 32 * 32
    assert moved.different == 2 * x.nbytes


def test_counting_computes_the_same():
    X, results = jax.random.normal(jax.random.key(0), (5, 100)), []
    moved = d2l.count_traffic(lambda X: results.append(row_norms(X)), X)
    assert jnp.allclose(results[0], row_norms(X))
    assert moved.loaded == X.nbytes and moved.stored == 4 * 5
    assert moved.sectors - 5 * 32 == sum(  # 400 bytes begin in or between sectors
        32 * (math.ceil((400 * i + 400) / 32) - 400 * i // 32) for i in range(5)
    )


def corner_kernel(x, y, z):
    y[0] = x[3, pl.ds(1, 4, 2)].sum()
    y[1] = plgpu.load(x.at[:2, 5]).sum() + x[2, 2]
    z[...] = x[pl.ds(pl.program_id(0) + 2, 2), :]


def test_counting_understands_indices_slices_and_several_results():
    X, results = jnp.arange(48.0).reshape(4, 12), []
    out = jax.ShapeDtypeStruct((2,), jnp.float32), X[:2]
    function = partial(d2l.run_kernel, corner_kernel, out, grid=(1,))
    moved = d2l.count_traffic(lambda X: results.append(function(X)), X)
    (y, z), A = results[0], np.asarray(X)
    assert y.tolist() == [A[3, 1:9:2].sum(), A[:2, 5].sum() + A[2, 2]]
    assert (z == A[2:]).all()
    assert moved.loaded == 4 * (4 + 2 + 1 + 24) and moved.stored == 4 * (2 + 24)


def test_each_kernel_of_a_function_is_counted():
    x = jnp.zeros(128)
    moved = d2l.count_traffic(lambda x: scale(scale(x)), x)
    assert moved.loaded == moved.stored == 2 * x.nbytes
    assert moved.different == moved.sectors == 4 * x.nbytes


def test_an_array_that_is_passed_twice_is_stored_once():
    def add_kernel(x, y, z):
        z[...] = x[...] + y[...]

    x = jnp.zeros(128)
    moved = d2l.count_traffic(partial(d2l.run_kernel, add_kernel, x), x, x)
    assert moved.loaded == 2 * x.nbytes and moved.different == 2 * x.nbytes


def bare_load(x, y):
    plgpu.store(y.at[pl.ds(0, 1)], x[...][:1])


def bare_store(x, y):
    y[...] = jnp.zeros(64)


@pytest.mark.parametrize("kernel", [bare_load, bare_store])
def test_an_access_beyond_the_end_is_one_line(kernel):
    x, block = jnp.zeros(100), pl.BlockSpec((64,), lambda i: (i,))
    blocks = {"grid": (2,), "in_specs": [block], "out_specs": block}
    function = partial(d2l.run_kernel, kernel, x, **blocks)
    with pytest.raises(IndexError, match="give the load or store a mask") as error:
        d2l.count_traffic(function, x)
    one_line(error)


def test_counting_stops_after_an_error():
    before = pl.pallas_call, plgpu.load, plgpu.store, pl.program_id
    with pytest.raises(TypeError):
        d2l.count_traffic(scale, jnp.zeros(4), factor=jnp.zeros)
    assert before == (pl.pallas_call, plgpu.load, plgpu.store, pl.program_id)


# Stored plans


def rows():
    text = resources.files("d2l").joinpath("kernels.csv").read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))


def stored(row, digest=None):
    return d2l.stored_kernel(
        row["call"], digest or row["digest"], row["card"], "missing"
    )


def test_stored_plans_are_read_as_they_were_written():
    for row in rows():
        plan = stored(row)
        written = row["registers"], row["stack"], row["shared"]
        assert tuple(map(str, plan[:3])) == written and 0 < plan.registers <= 255
        for name, count in re.findall(r"(\S+) x (\d+)", row["instructions"]):
            assert plan.ptx.splitlines().count(name) == int(count)


def test_each_stored_product_has_the_instruction_of_its_generation():
    names = {"A100": "mma.sync", "H100": "wgmma.mma", "B200": "tcgen05.mma"}
    products = [row for row in rows() if row["call"].startswith("matmul(float16")]
    assert {row["card"] for row in products} == set(names)
    assert all(names[row["card"]] in stored(row).ptx for row in products)


def test_a_stored_plan_is_not_that_of_another_kernel(monkeypatch):
    row = rows()[0]
    monkeypatch.setattr(jax, "__version__", row["jax"])
    with pytest.raises(ModuleNotFoundError, match="and missing$") as error:
        stored(row, "0" * 16)
    one_line(error)
    monkeypatch.setattr(jax, "__version__", "0.0.1")  # writes operations otherwise
    assert stored(row, "0" * 16) == stored(row)


@pytest.fixture
def no_compiler(monkeypatch):
    def version(name):
        raise d2l.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(d2l.metadata, "version", version)


def test_a_missing_compiler_is_one_line_with_a_command(no_compiler):
    with pytest.raises(ModuleNotFoundError, match="nvidia-cuda-nvcc-cu12$") as error:
        d2l.compile_kernel(scale, jnp.zeros(128), size=32)
    assert "no stored plan of this scale(float32[128], size=32), and" in one_line(error)


def test_the_hash_of_a_call_changes_with_the_kernel():
    x = jax.ShapeDtypeStruct((128,), jnp.float32)
    calls = [
        d2l.describe_call(scale, (x,), {"factor": factor, "num_warps": num_warps})
        for factor, num_warps in ((2, 4), (3, 4), (2, 8), (2, 4))
    ]
    assert calls[0] == calls[3] and len(set(calls)) == 3
    assert len({digest for _, digest in calls}) == 3
    assert calls[0][0] == "scale(float32[128], factor=2, num_warps=4)"


@pytest.mark.parametrize(("card", "text"), [("T4", "not for a T4"), ("K80", "no card")])
def test_a_card_without_pallas_is_one_line(no_compiler, card, text):
    with pytest.raises(ValueError, match=text) as error:
        d2l.compile_kernel(scale, jnp.zeros(128), card=card)
    one_line(error)


# Compiled


@pytest.fixture
def compiler():
    if not importlib.util.find_spec("jax_cuda12_plugin"):
        pytest.skip("the compiler for GPUs is not installed")


@pytest.mark.parametrize(
    ("card", "instruction"),
    [("A100", "mma.sync"), ("H100", "wgmma.mma"), ("B200", "tcgen05.mma")],
)
def test_each_generation_has_its_instruction(compiler, card, instruction):
    plan = d2l.compile_kernel(gram, tile(64), card=card)
    assert instruction in plan.ptx
    assert 0 < plan.registers <= 255 and plan.shared > 0


def test_a_sum_that_exceeds_the_registers_spills(compiler):
    small = d2l.compile_kernel(gram, tile(32), card="A100")
    large = d2l.compile_kernel(gram, tile(256), card="A100")
    assert small.stack == 0 and small.registers < 255
    assert large.stack > 1000


def test_more_warps_share_the_registers(compiler):
    four, eight = (
        d2l.compile_kernel(gram, tile(128), card="A100", num_warps=warps)
        for warps in (4, 8)
    )
    assert eight.registers < four.registers


def test_masks_reach_the_machine(compiler):
    plan = d2l.compile_kernel(scale, jnp.zeros(100))
    accesses = re.findall(r".*(?:ld|st)\.global.*", plan.ptx)
    assert accesses and all("@%p" in access for access in accesses)


def test_a_machine_with_an_old_gpu_compiles_for_a_new_one(compiler, monkeypatch):
    old = SimpleNamespace(compute_capability="7.5", platform="gpu")
    monkeypatch.setattr(jax, "devices", lambda *_: [old])
    assert "ld.global" in d2l.compile_kernel(scale, jnp.zeros(100)).ptx


def test_a_function_with_two_kernels_is_one_line(compiler):
    with pytest.raises(ValueError, match="has 2 kernels, not 1") as error:
        d2l.compile_kernel(lambda x: scale(scale(x)), jnp.zeros(100))
    one_line(error)


def test_the_compiler_leaves_the_interpreter_as_it_was(compiler):
    d2l.compile_kernel(scale, jnp.zeros(100))
    x = jnp.arange(100.0)
    assert (scale(x) == 3 * x).all()


def doubled(x, size=128):
    """Return 2x, by a kernel of Mosaic GPU that waits for its copies."""
    from jax._src.pallas.mosaic_gpu.interpret.params import InterpretGPUParams

    def kernel(x, y, tile, arrived):
        part = pl.ds(jax.lax.axis_index("i") * size, size)
        mosaic_gpu.copy_gmem_to_smem(x.at[part], tile, arrived)
        mosaic_gpu.barrier_wait(arrived)
        y[part] = 2 * tile[...]

    scratch = {
        "tile": mosaic_gpu.SMEM((size,), x.dtype),
        "arrived": mosaic_gpu.Barrier(num_arrivals=1),
    }
    return mosaic_gpu.kernel(
        kernel,
        out_type=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(len(x) // size,),
        grid_names=("i",),
        scratch_types=scratch,
        interpret=InterpretGPUParams(),
    )(x)


def test_a_kernel_of_mosaic_gpu_has_its_plan(compiler):
    x = jnp.arange(512.0)
    plan = d2l.compile_kernel(doubled, x, size=256)
    assert "cp.async.bulk.tensor" in plan.ptx
    assert 0 < plan.registers <= 255 and plan.stack == 0
    assert 256 * 4 <= plan.shared < 256 * 4 + 1024
    assert (doubled(x) == 2 * x).all()  # is interpreted as before
