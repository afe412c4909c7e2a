"""Kernels in Triton: interpreted, counted, and compiled for GPUs that are not there."""

import math

import pytest
import torch
import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma

from d2l import torch as d2l


@triton.jit
def scale_kernel(x, y, n, factor, size: tl.constexpr):
    i = tl.program_id(0) * size + tl.arange(0, size)
    tl.store(y + i, tl.load(x + i, i < n) * factor, i < n)


@triton.jit
def norm_kernel(x, y, n, size: tl.constexpr):
    i = tl.arange(0, size)
    row = tl.program_id(0) * n
    values = tl.load(x + row + i, i < n, 0.0)
    tl.store(y + tl.program_id(0), tl.sqrt(tl.sum(values * values, 0)))


@triton.jit
def rows_kernel(x, y, n, size: tl.constexpr):
    place = tl.program_id(0) * n + tl.arange(0, size)
    tl.store(y + place, 2 * tl.load(x + place))


@triton.jit
def row_kernel(x, y, n, size: tl.constexpr):
    i = tl.arange(0, size)
    for j in range(0, n):
        tl.store(y + i * n + j, tl.load(x + i * n + j))


@triton.jit
def square_kernel(x, y, n, T: tl.constexpr):
    i = tl.arange(0, T)
    place = i[:, None] * n + i[None, :]
    X = tl.load(x + place)
    tl.store(y + place, tl.dot(X, X))


@pytest.mark.parametrize("n", [1, 63, 64, 200])
def test_an_interpreted_kernel_computes(n):
    x, y = torch.randn(n), torch.empty(n)
    d2l.run_kernel(scale_kernel, (math.ceil(n / 64),), x, y, n, 3.0, size=64)
    assert torch.equal(y, 3 * x)


def test_an_interpreted_kernel_calls_functions_of_triton():
    X, y = torch.randn(5, 100), torch.empty(5)
    d2l.run_kernel(norm_kernel, (5,), X, y, 100, size=128)
    assert torch.allclose(y, X.norm(dim=1))


def test_interpreting_leaves_the_compiler_as_it_was():
    x, y = torch.randn(2, 3, 100)
    d2l.interpret_kernel(norm_kernel, (3,), x, y[:, 0].contiguous(), 100, size=128)
    plan = d2l.compile_kernel(norm_kernel, "*fp32 *fp32 i32", 90, size=128)
    assert plan.registers > 0 and "shfl.sync" in plan.ptx


def test_sizes_that_are_not_aligned_are_compiled_to_single_loads():
    types, sizes = "*fp32 *fp32 i32", {"size": 1024}
    plans = [
        d2l.compile_kernel(rows_kernel, types, 90, aligned=aligned, **sizes)
        for aligned in (True, False)
    ]
    assert ["ld.global.v4" in plan.ptx for plan in plans] == [True, False]


def test_bfloat16_is_refused_in_one_line():
    x = torch.zeros(4, dtype=torch.bfloat16)
    with pytest.raises(TypeError, match="float16") as error:
        d2l.run_kernel(scale_kernel, (1,), x, x, 4, 3.0, size=4)
    assert "\n" not in str(error.value)


def test_the_interpreter_itself_multiplies_the_bits_of_bfloat16():
    from triton.runtime.interpreter import InterpretedFunction

    X = 2 * torch.eye(16, dtype=torch.bfloat16)
    Y = torch.zeros(16, 16)
    InterpretedFunction(square_kernel.fn)[(1,)](X, Y, 16, T=16)
    assert torch.equal(Y, X.view(torch.int16).float() ** 2)  # not 4 * I


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_bytes_are_those_inside_the_mask(dtype):
    x, y = torch.zeros(2, 100, dtype=dtype)
    moved = d2l.count_traffic(scale_kernel, (2,), x, y, 100, 3.0, size=64)
    assert moved.loaded == moved.stored == x.nbytes


def test_sectors_of_columns_are_counted_for_each_access():
    x, y = torch.zeros(32, 16), torch.zeros(32, 16)  # a row has two sectors
    moved = d2l.count_traffic(row_kernel, (1,), x, y, 16, size=32)
    assert moved.loaded == moved.stored == x.nbytes
    assert moved.sectors == 2 * 16 * 32 * 32
    assert moved.different == x.nbytes + y.nbytes


def test_counting_stops_after_an_error():
    from triton.runtime.interpreter import interpreter_builder

    before = interpreter_builder.create_masked_load
    with pytest.raises(TypeError):
        d2l.count_traffic(scale_kernel, (1,), torch.zeros(4), size=4)
    assert interpreter_builder.create_masked_load == before


@pytest.mark.parametrize(
    ("capability", "instruction"),
    [(75, "fma.rn"), (80, "mma.sync"), (90, "wgmma.mma"), (100, "tcgen05.mma")],
)
def test_each_generation_has_its_instruction(capability, instruction):
    types = "*fp16 *fp32 i32"
    plan = d2l.compile_kernel(square_kernel, types, capability, T=64)
    assert instruction in plan.ptx
    assert 0 < plan.registers <= 255 and plan.shared > 0


def test_a_sum_that_exceeds_the_registers_spills():
    types = "*fp16 *fp32 i32"
    small = d2l.compile_kernel(square_kernel, types, 80, T=32)
    large = d2l.compile_kernel(square_kernel, types, 80, T=256)
    assert small.stack == 0 and small.registers < 255
    assert large.stack > 1000


def test_more_warps_share_the_registers():
    types = "*fp16 *fp32 i32"
    four, eight = (
        d2l.compile_kernel(square_kernel, types, 80, warps, T=128) for warps in (4, 8)
    )
    assert eight.registers < four.registers


@triton.jit
def power_kernel(x, y, n, T: tl.constexpr):
    i = tl.arange(0, T)
    place = i[:, None] * T + i[None, :]
    X, total = tl.load(x + place), tl.zeros((T, T), tl.float32)
    for _ in range(0, n):
        for j in range(0, T):
            tl.store(y + j, j)
        total = tl.dot(X, X, total)
    tl.store(y + place, total)


@pytest.mark.parametrize(
    ("capability", "product"),
    [(80, "HMMA"), (90, "HGMMA"), (100, "UTCHMMA"), (120, "HMMA")],
)
def test_the_inner_loop_multiplies_and_jumps_back(capability, product):
    plan = d2l.compile_kernel(power_kernel, "*fp16 *fp32 i32", capability, T=64)
    loop = d2l.inner_loop(plan)
    assert any(line.startswith(product) for line in loop)
    assert "BRA" in loop[-1] and not any("EXIT" in line for line in loop)


@gluon.jit
def wait_role(tile, ready, turns):
    for t in range(turns):
        mbarrier.wait(ready, t & 1)
        tile.store(tile.load(gl.BlockedLayout([1], [32], [4], [0])) + 1)


@gluon.jit
def copy_role(x, tile, ready, turns, T: gl.constexpr):
    for t in range(turns):
        mbarrier.expect(ready, x.block_type.nbytes)
        tma.async_copy_global_to_shared(x, [t * T], ready, tile)


@gluon.jit
def roles_kernel(x, turns, T: gl.constexpr):
    tile = gl.allocate_shared_memory(x.dtype, [T], x.layout)
    ready = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(ready, count=1)
    gl.warp_specialize(
        [(wait_role, (tile, ready, turns)), (copy_role, (x, tile, ready, turns, T))],
        *([1], [24]),
    )


@pytest.mark.parametrize("capability", [90, 100])
def test_the_loops_of_roles_in_gluon_are_told_apart_by_their_instructions(capability):
    layout = gl.NVMMASharedLayout.get_default_for([128], gl.float16)
    types = f"tensordesc<fp16[128],{layout!r}>".replace(" ", "") + " i32"
    plan = d2l.compile_kernel(roles_kernel, types, capability, T=128)
    copies = d2l.inner_loop(plan, "UTMALDG")
    assert "BRA" in copies[-1] and "HADD2" not in "".join(copies)
    waits = d2l.inner_loop(plan, "HADD2")
    assert "SYNCS" in "".join(waits) and "UTMALDG" not in "".join(waits)
    assert "setmaxnreg.dec.sync.aligned.u32" in plan.ptx


def test_a_kernel_without_a_loop_of_products_is_one_line():
    plan = d2l.compile_kernel(square_kernel, "*fp16 *fp32 i32", 90, T=64)
    with pytest.raises(
        ValueError, match="^no loop of the kernel has an instruction with MMA$"
    ):
        d2l.inner_loop(plan)


def test_the_compiler_writes_triton_for_a_card_that_is_not_there():
    def chain(x):
        return (2 * x + 1).sin()

    def norm(x):
        return torch.nn.functional.gelu(x - x.mean(1, keepdim=True))

    torch.compile(chain)(torch.ones(8))  # the compiler has begun to work for the CPU
    before = torch.cuda.is_available()
    for function, card in ((chain, "T4"), (chain, "B200"), (norm, "H100")):
        code = d2l.triton_code(function, torch.empty(64, 1024), card=card)
        assert code.count("def ") == 1
        assert code.count("tl.load(") == code.count("tl.store(") == 1
    assert torch.cuda.is_available() == before


def test_kernels_that_cannot_be_fused_are_all_returned():
    code = d2l.triton_code(lambda x: x.sum(0).cumsum(0), torch.empty(64, 1024))
    assert code.count("def triton_") == 2 and "import" not in code
