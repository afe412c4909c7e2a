"""Kernels in CUDA: simulated, counted, and compiled for GPUs that are not there."""

import importlib.util
import math
import re
import sys
import time
from pathlib import Path

import numpy as np
import pytest

if not any(importlib.util.find_spec(name) for name in ("mxnet", "tensorflow")):
    pytest.skip("this tab has another language for kernels", allow_module_level=True)

from numba import cuda, float32  # noqa: E402
from numba.cuda.simulator.kernel import FakeCUDAKernel  # noqa: E402

ROOT = Path(__file__).parents[2]


@cuda.jit
def scale_kernel(x, y, factor):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] * factor


@cuda.jit
def reverse_kernel(x, y):
    part = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    part[t] = x[t]
    cuda.syncthreads()
    y[t] = part[63 - t]


@cuda.jit
def row_kernel(x, y):
    t = cuda.threadIdx.x
    for j in range(x.shape[1]):
        y[t, j] = x[t, j]


@cuda.jit
def first_kernel(x, y):
    y[cuda.grid(1)] = x[0] + x[1]


def polynomial_kernel(terms):
    @cuda.jit
    def kernel(x, y):
        sums = cuda.local.array((terms,), float32)
        for k in range(terms):
            sums[k] = 0
        for i in range(len(x)):
            for k in range(terms):
                sums[k] += x[i] * y[k]
        for k in range(terms):
            y[k] = sums[k]

    return kernel


VECTORS = "float32[::1], float32[::1]"
TENSOR = """
#include <mma.h>
using namespace nvcuda::wmma;
__global__ void square(const half *a, float *c) {
  fragment<matrix_a, 16, 16, 16, half, row_major> x;
  fragment<matrix_b, 16, 16, 16, half, row_major> y;
  fragment<accumulator, 16, 16, 16, float> total;
  fill_fragment(total, 0.0f);
  load_matrix_sync(x, a, 16);
  load_matrix_sync(y, a, 16);
  mma_sync(total, x, y, total);
  store_matrix_sync(c, total, 16, mem_row_major);
}"""


@pytest.mark.parametrize("n", [1, 63, 64, 200])
def test_a_simulated_kernel_computes(d2l, n):
    x, y = np.random.default_rng(0).normal(size=(2, n)).astype(np.float32)
    d2l.run_kernel(scale_kernel, math.ceil(n / 64), 64, x, y, np.float32(3))
    assert np.array_equal(y, 3 * x)


def test_the_simulator_copies_nothing_to_a_gpu(d2l, monkeypatch):
    # That of numba-cuda 0.22 would, and fails on a machine without a GPU.
    monkeypatch.setattr("numba.cuda.simulator.kernel.InOut", None)
    x, y = np.arange(10.0), np.zeros(10)
    d2l.simulate_kernel(scale_kernel, 1, 10, x, y, 3)
    assert (y == 3 * x).all()


def test_simulated_threads_wait_for_each_other(d2l):
    x, y = np.arange(128, dtype=np.float32).reshape(2, 64)
    d2l.run_kernel(reverse_kernel, 1, 64, x, y)
    assert np.array_equal(y, x[::-1])


def test_simulated_threads_share_an_array_that_is_slow_to_make(d2l, monkeypatch):
    empty = np.empty

    def slow(*args, **kwargs):
        time.sleep(0.001)
        return empty(*args, **kwargs)

    x, y = np.arange(128, dtype=np.float32).reshape(2, 64)
    monkeypatch.setattr(np, "empty", slow)
    d2l.run_kernel(reverse_kernel, 1, 64, x, y)
    assert np.array_equal(y, x[::-1])


def test_the_device_runs_the_kernel_where_there_is_one(d2l, monkeypatch):
    def simulate(*args):
        raise AssertionError("simulated although there is a GPU")

    monkeypatch.setattr(cuda, "is_available", lambda: True)
    monkeypatch.setattr(d2l, "simulate_kernel", simulate)
    started = FakeCUDAKernel(scale_kernel.py_func, device=False)
    x, y = np.ones((2, 10), np.float32)
    d2l.run_kernel(started, 1, 32, x, y, np.float32(2))
    assert np.array_equal(y, 2 * x)


def test_an_error_in_a_thread_is_raised_and_leaves_no_trace(d2l):
    interval = sys.getswitchinterval()
    x = np.zeros(4, np.float32)
    with pytest.raises(IndexError, match="tid"):
        d2l.run_kernel(reverse_kernel, 1, 64, x, x)
    assert sys.getswitchinterval() == interval
    d2l.run_kernel(scale_kernel, 1, 32, x, x, np.float32(2))


def test_a_simulated_kernel_can_be_compiled(d2l):
    x, y = np.zeros((2, 64), np.float32)
    d2l.run_kernel(reverse_kernel, 1, 64, x, y)
    plan = d2l.compile_kernel(reverse_kernel, VECTORS, 90)
    assert plan.registers > 0 and plan.shared == 64 * 4 and "bar.sync" in plan.ptx


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_bytes_are_those_inside_the_mask(d2l, dtype):
    x, y = np.zeros((2, 100), dtype)
    moved = d2l.count_traffic(scale_kernel, 2, 64, x, y, 3)
    assert moved.loaded == moved.stored == x.nbytes


def test_counting_computes(d2l):
    x, y = np.ones((2, 100), np.float32)
    d2l.count_traffic(scale_kernel, 2, 64, x, y, np.float32(3))
    assert np.array_equal(y, 3 * x)


def test_sectors_of_columns_are_counted_for_each_access(d2l):
    x, y = np.zeros((2, 32, 16), np.float32)  # a row has two sectors
    moved = d2l.count_traffic(row_kernel, 1, 32, x, y)
    assert moved.loaded == moved.stored == x.nbytes
    assert moved.sectors == 2 * 16 * 32 * 32
    assert moved.different == x.nbytes + y.nbytes


def test_each_warp_loads_a_number_that_all_threads_read(d2l):
    x, y = np.zeros(2, np.float32), np.zeros(64, np.float32)
    moved = d2l.count_traffic(first_kernel, 1, 64, x, y)
    assert moved.loaded == 2 * 64 * 4
    assert moved.sectors - y.nbytes == 2 * 2 * 32  # two warps, two loads each
    assert moved.different == 32 + y.nbytes


@pytest.mark.parametrize("capability", [75, 80, 90, 100])
def test_numba_compiles_for_each_generation(d2l, capability):
    plan = d2l.compile_kernel(scale_kernel, f"{VECTORS}, float32", capability)
    assert f".target sm_{capability}" in plan.ptx and "mul.f32" in plan.ptx
    assert 0 < plan.registers <= 255 and plan.stack == plan.shared == 0


@pytest.mark.parametrize("capability", [75, 80, 90, 100])
def test_cuda_c_reaches_the_tensor_cores(d2l, capability):
    plan = d2l.compile_cuda(TENSOR, capability)
    assert "wmma.mma.sync" in plan.ptx and 0 < plan.registers <= 255


def test_the_section_s_kernel_aligns_what_tensor_cores_load(d2l):
    text = (ROOT / "chapter_gpus/tiles.md").read_text("utf-8")
    (code,) = re.findall(r"^tensor_kernel = r'''(.*?)'''$", text, re.M | re.S)
    shared = re.findall(r"\.shared \.align (\d+)", d2l.compile_cuda(code, 80).ptx)
    assert shared == ["32", "32"]


def test_a_sum_that_exceeds_the_registers_goes_to_the_stack(d2l):
    small, large = (
        d2l.compile_kernel(polynomial_kernel(terms), VECTORS, 80) for terms in (8, 300)
    )
    assert small.stack == 0 and small.registers < 255
    assert large.stack >= 300 * 4


def test_errors_in_cuda_c_show_the_compilers_message(d2l):
    with pytest.raises(ValueError, match='identifier "y" is undefined'):
        d2l.compile_cuda("__global__ void f(int *x) { *x = y; }", 90)


def test_missing_compilers_are_reported_in_one_line(d2l, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install") as error:
        d2l.compile_kernel(scale_kernel, f"{VECTORS}, float32", 90)
    assert "\n" not in str(error.value)
