"""The figures on performance: predictions, published rates, and the limits of an SM."""

import ast
import csv
import gzip
import itertools
import json
import random
from collections import namedtuple
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from figures import result, settle
from playwright.sync_api import Page, expect

ROOT = Path(__file__).parents[2]
EXPLORABLES = ROOT / "static" / "explorables"
NAMES = ("roofline", "sectors", "warps")
TYPES = {"float32": 4, "tf32": 4, "bfloat16": 2, "float16": 2, "fp8": 1}
CARDS = ("T4", "A100", "H100", "H200", "B200")


# The definitions of the sections


def library(*names: str) -> list[Any]:
    """Return definitions of the library, whose import would need a framework."""
    module = ast.parse((ROOT / "d2l/torch.py").read_text("utf-8"))
    found = {getattr(node, "name", ""): node for node in module.body}
    found |= {
        target.id: node
        for node in module.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    future = "from __future__ import annotations"
    code = "\n\n".join([future, *(ast.unparse(found[name]) for name in names)])
    space: dict[str, Any] = {
        "dataclass": dataclass,
        "namedtuple": namedtuple,
        "card_data": cards().get,
    }
    space["__name__"] = __name__  # dataclass looks the module up
    exec(code, space)
    return [space[name] for name in names]


def cards() -> dict[str, dict[str, float]]:
    """Return the properties of the library's cards."""
    table: dict[str, dict[str, float]] = {}
    with (ROOT / "d2l/cards.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            table.setdefault(row["card"], {})[row["property"]] = float(row["value"])
    return table


Machine, GPULimits, gpu_limits, wave_efficiency, occupancy = library(
    "Machine", "GPULimits", "gpu_limits", "wave_efficiency", "occupancy"
)
GPU_LIMITS = {card: gpu_limits(card) for card in CARDS}
# As in the section, for NVIDIA's example.
GPU_LIMITS["V100"] = GPULimits(70, 80, 64, 32, 96 * 1024, 900e9)


@pytest.fixture(scope="session")
def warps_cards(run_js) -> dict[str, dict]:
    return run_js("give(warps.CARDS)")


def cited(start: str) -> dict[str, float]:
    """Return the published values whose names begin with `start`, without it."""
    with (ROOT / "d2l/cited.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["id"]: float(row["value"]) for row in csv.DictReader(file)}
    return {k.removeprefix(start): v for k, v in rows.items() if k.startswith(start)}


# Presets


def test_rates_of_the_rtx_4090_are_those_of_the_other_figures(run_js) -> None:
    other = run_js("give(worth_moving.MACHINES.rtx4090)")
    machine = run_js("give(roofline.MACHINES.rtx4090)")
    assert machine["memory"] == other["memory"] == 1008
    assert machine["rates"]["float32"] == other["gpu"]["float32"]
    assert machine["rates"]["bfloat16"] == other["gpu"]["half"]
    assert machine["rates"]["fp8"] == pytest.approx(2 * other["gpu"]["half"], rel=1e-3)


def test_limits_of_an_sm_are_those_of_the_section(warps_cards) -> None:
    for card, limits in GPU_LIMITS.items():
        found = warps_cards[card.lower()]
        assert round(10 * found["capability"]) == limits.capability
        for name in "processors", "warps", "blocks", "shared":
            assert found[name] == getattr(limits, name), (card, name)
        assert 1e9 * found["bandwidth"] == pytest.approx(limits.bandwidth, rel=0.01)
    assert "V100" in GPU_LIMITS


def test_limits_of_the_rtx_4090_are_those_of_its_capability(warps_cards) -> None:
    """From the CUDA Programming Guide and the white paper on Ada."""
    assert warps_cards["rtx4090"] == {
        "name": "RTX 4090", "capability": 8.9, "processors": 128, "bandwidth": 1008,
        "registers": 65536, "shared": 100 * 1024, "warps": 48, "blocks": 24,
    }  # fmt: skip


def test_published_rates_are_the_cited_ones(run_js) -> None:
    rates = {int(n): rate for n, rate in cited("matmul-pytorch-").items()}
    smallest = rates.pop(256)
    found = run_js("give([roofline.RATES, warps.RATES, roofline.OVERHEAD])")
    assert {int(n): x for n, x in found[0].items()} == rates
    assert {int(n): x for n, x in found[1].items()} == rates | {256: smallest}
    assert found[2] == pytest.approx(2 * 256**3 / smallest / 1e6, abs=0.05)


# The roofline


def counted(run_js, operation: str, sizes: dict, size: int = 4) -> tuple:
    work = run_js(
        f"give(performance_arithmetic.{operation}({json.dumps(sizes)},{size}))"
    )
    return work["flops"], work["bytes"], work["calls"]


def test_work_counted_by_hand(run_js) -> None:
    sizes: dict[str, Any] = {"n": 1000, "reads": 2, "writes": 1, "flops": 3}
    assert counted(run_js, "elementwise", sizes) == (3000, 12000, 1)
    assert counted(run_js, "product", {"b": 2, "k": 3, "n": 5}, 2) == (60, 62, 1)
    sizes = {"n": 16_000_000, "count": 8, "second": 2, "fused": False}
    assert counted(run_js, "chain", sizes) == (128e6, 1152e6, 8)
    assert counted(run_js, "chain", sizes | {"fused": True}) == (128e6, 128e6, 1)
    sizes = {"batch": 1, "length": 512, "heads": 1, "width": 64, "fused": False}
    flops = 4 * 512**2 * 64
    matrices, scores = 4 * 512 * 64, 4 * 512**2
    assert counted(run_js, "attention", sizes, 2) == (flops, 2 * (matrices + scores), 3)
    fused = counted(run_js, "attention", sizes | {"fused": True}, 2)
    assert fused == (flops, 2 * matrices, 1)


def predicted(run_js, **change: Any) -> float:
    """Return the bound in seconds for a setting of the figure, on an RTX 4090."""
    state = f"{{...explorable.first(roofline), ...{json.dumps(change)}}}"
    settled = f"roofline.settle({state}, 'operation')"
    return run_js(f"give(roofline.bound({settled}).time)")


def test_products_are_predicted(run_js) -> None:
    published = cited("matmul-pytorch-")
    tolerance = {512: 0.02, 1024: 0.25, 2048: 0.06, 4096: 0.09, 8192: 0.01}
    for n, close in tolerance.items():
        rate = 2 * n**3 / predicted(run_js, n=n) / 1e12
        assert rate == pytest.approx(published[str(n)], rel=close), n
    assert 2 * 512**3 / predicted(run_js, n=512) / 1e12 == pytest.approx(18.4, abs=0.05)


def test_elementwise_operations_are_predicted(run_js) -> None:
    kind = {"type": "float32", "N": 16_000_000}
    one = predicted(run_js, operation="elementwise", **kind)
    assert one == pytest.approx(128e6 / 1008e9)
    assert one == pytest.approx(cited("elementwise-pytorch-")["add"] / 1e3, rel=0.1)
    chain = predicted(run_js, operation="chain", **kind)
    assert 1e3 * chain == pytest.approx(1.14, abs=0.005)
    assert chain == pytest.approx(cited("fusion-pytorch-")["chain"] / 1e3, rel=0.1)
    fused = predicted(run_js, operation="chain", kernels="fused", **kind)
    assert fused == pytest.approx(cited("fusion-pytorch-")["compiled"] / 1e3, rel=0.16)


def test_exponentials_take_half_as_long_as_products_on_an_h100(run_js) -> None:
    """As FlashAttention-3 counts, at a clock that is 8 percent lower."""
    change = {
        "operation": "attention",
        "kernels": "fused",
        "machine": "h100",
        "heads": 8,
    }
    state = f"{{...explorable.first(roofline), ...{json.dumps(change)}}}"
    settled = f"roofline.settle({state}, 'machine')"
    terms = run_js(f"give(roofline.bound({settled}).terms)")
    assert terms["functions"] / terms["flops"] == pytest.approx(0.5, rel=0.08)
    summary = run_js(f"give(roofline.summary({settled}))")
    assert "the arithmetic, the exponentials, the bytes" in summary
    product = settled.replace("attention", "product")
    summary = run_js(f"give(roofline.summary({product}))")
    assert "exponentials" not in summary


def test_a_stack_of_thin_layers_is_bound_by_its_calls(run_js) -> None:
    machine = "{rate: 82.6e12, bandwidth: 1008e9, overhead: 14.6e-6}"
    work = "{flops: 60 * 2 * 64 * 256 ** 2, bytes: 60 * 4 * 256 ** 2, calls: 120}"
    bound = run_js(f"give(performance_arithmetic.bound({machine}, {work}))")
    assert bound["decides"] == "calls"
    assert 1e3 * bound["time"] == pytest.approx(1.752)
    assert bound["time"] == pytest.approx(
        cited("launch-pytorch-")["eager"] / 1e3, rel=0.3
    )


def test_figure_compares_with_what_was_published(run_js) -> None:
    states = [
        {"n": 512}, {"n": 512, "type": "float16"}, {"n": 768}, {"machine": "h100"},
        {"operation": "elementwise", "type": "float32"},
        {"operation": "chain", "type": "float32"},
        {"operation": "chain", "type": "float32", "kernels": "fused"},
        {"operation": "chain", "type": "float32", "count": 4},
    ]  # fmt: skip
    code = f"""give({json.dumps(states)}.map((change) => {{
      const state = {{...explorable.first(roofline), ...change}};
      return roofline.published(roofline.settle(state, "operation"));
    }}));"""
    times = [found and found["time"] * 1e3 for found in run_js(code)]
    product = 2 * 512**3 / cited("matmul-pytorch-")["512"] / 1e9
    fusion = cited("fusion-pytorch-")
    assert times == [
        pytest.approx(product), None, None, None, pytest.approx(fusion["one"]),
        pytest.approx(fusion["chain"]), pytest.approx(fusion["compiled"]), None,
    ]  # fmt: skip


def test_bounds_and_ridges_are_those_of_the_section(run_js) -> None:
    choose = random.Random(0)
    for _ in range(20):
        rate, bandwidth = 10 ** choose.uniform(9, 16), 10 ** choose.uniform(9, 13)
        overhead = choose.choice([0, 1e-6, 1e-5])
        flops, nbytes = (10 ** choose.uniform(3, 15) for _ in range(2))
        functions, per_second = (10 ** choose.uniform(3, 13) for _ in range(2))
        per_second *= choose.choice([0, 1])
        machine = Machine(
            "x", {"float32": rate}, bandwidth, overhead, functions=per_second
        )
        peaks = {"rate": rate, "bandwidth": bandwidth, "overhead": overhead}
        peaks["functions"] = per_second
        work = {"flops": flops, "bytes": nbytes, "calls": 3, "functions": functions}
        code = f"performance_arithmetic.bound({json.dumps(peaks)}, {json.dumps(work)})"
        assert run_js(f"give({code}.time)") == pytest.approx(
            machine.bound(flops, nbytes, launches=3, functions=functions)
        )
        ridge = run_js(f"give(performance_arithmetic.ridge({json.dumps(peaks)}))")
        assert ridge == pytest.approx(machine.ridge())


def test_critical_batches_are_those_of_the_section(run_js) -> None:
    for peaks, batch in ("989e12, bandwidth: 3.35e12", 295), (
        "165.2e12, bandwidth: 1.008e12", 164
    ):  # fmt: skip
        code = f"performance_arithmetic.criticalBatch({{rate: {peaks}}}, 2)"
        assert round(run_js(f"give({code})")) == batch


def test_terms_are_equal_where_the_decision_changes(run_js) -> None:
    code = """
    const out = [];
    const first = explorable.first(roofline);
    for (const operation of ["product", "layer", "elementwise", "chain", "attention"])
      for (const machine of Object.keys(roofline.MACHINES))
        for (const type of ["float32", "bfloat16", "fp8"]) {
          const choice = {...first, operation, machine, type};
          const state = roofline.settle(choice, "machine");
          const id = {product: "n", layer: "b", attention: "s"}[operation] || "N";
          for (const { size, before, after } of roofline.changesOf(state)) {
            const { terms } = roofline.bound({...state, [id]: size});
            out.push([operation, terms[before] / terms[after]]);
          }
        }
    give(out);
    """
    found = run_js(code)
    assert {name for name, _ in found} == {
        "product", "layer", "elementwise", "chain", "attention"
    }  # fmt: skip
    assert [ratio for _, ratio in found] == pytest.approx([1] * len(found), rel=1e-6)


# The line of a measured machine


def parsed(run_js, text: str) -> Any:
    return run_js(f"give(performance_arithmetic.parseMachine({json.dumps(text)}))")


@pytest.mark.parametrize(
    "machine",
    [
        Machine("cpu", {"float32": 98.9e9, "bfloat16": 430e9}, 38.1e9, 8e-7, 0.07, 3e8),
        Machine("cuda:0", {"float32": 66.9e12, "float16": 989e12}, 3.35e12, 4.2e-6),
        Machine("gpu(0)", {"float32": 1.5e9}, 9.9e9, 1.234e-3, 1.5),
        Machine("TFRT_CPU_0", {"float32": 999.6e9, "float16": 2.5e9}, 1e9, 0.0),
    ],
    ids=lambda machine: machine.name,
)
def test_the_printed_line_is_understood(run_js, machine) -> None:
    found = parsed(run_js, str(machine))
    assert found["rates"] == pytest.approx(machine.rates, rel=0.006)
    assert found["bandwidth"] == pytest.approx(machine.bandwidth, rel=0.006)
    assert found["overhead"] == pytest.approx(machine.overhead, abs=6e-8)
    assert found["functions"] == pytest.approx(machine.functions, rel=0.006)
    # The line may stand among others.
    assert parsed(run_js, f"In [3]:\n{machine}\nridge: 2.6 FLOP per byte") == found


@pytest.mark.parametrize(
    "text",
    [
        "", "cpu", "float32 98.9", "memory 34 GB/s; 0.8 µs per operation",
        "products in GFLOP/s: ; memory 34 GB/s",
        "products in GFLOP/s: float32 9; memory",
        "products in GFLOP/s: float32 0; memory 34 GB/s",
        "products in GFLOP/s: bfloat16 4; memory 34 GB/s",
        "products in GFLOP/s: float32 1e999; memory 34 GB/s",
    ],
)  # fmt: skip
def test_other_lines_are_refused(run_js, text: str) -> None:
    assert parsed(run_js, text) is None


# Sectors


def touched(stride: int, size: int, offset: int) -> int:
    """Return the number of sectors of 32 bytes that a warp touches, byte by byte."""
    return len(
        {
            (offset + t * stride * size + byte) // 32
            for t in range(32)
            for byte in range(size)
        }
    )


def test_sectors_are_counted_byte_by_byte(run_js) -> None:
    grid = list(itertools.product((1, 2, 3, 7, 8, 31, 32), (1, 2, 4, 8), (0, 1, 4, 31)))
    accesses = [{"stride": a, "size": b, "offset": c} for a, b, c in grid]
    code = f"give({json.dumps(accesses)}.map(performance_arithmetic.sectors))"
    for (stride, size, offset), found in zip(grid, run_js(code), strict=True):
        count = touched(stride, size, offset)
        assert len(found["sectors"]) == count
        assert found["used"] == pytest.approx(size / count)


@pytest.mark.parametrize(
    "preset, count, used",
    [
        ("neighbors", 4, 1), ("two", 8, 0.5), ("column", 32, 0.125), ("shifted", 5, 0.8)
    ],
)  # fmt: skip
def test_accesses_of_the_guide(run_js, preset: str, count: int, used: float) -> None:
    state = f"{{...explorable.first(sectors), preset: '{preset}'}}"
    found = run_js(f"give(sectors.access(sectors.settle({state}, 'preset')))")
    assert (len(found["sectors"]), found["used"]) == (count, used)


# Waves


@pytest.mark.parametrize(
    "n, rows, columns, places, grid, waves",
    [
        (1792, 256, 128, 108, 98, 1),  # NVIDIA.Matmul, on an A100
        (1793, 256, 128, 108, 120, 2),
        (1024, 128, 128, 128, 64, 1),
        (128, 256, 256, 40, 1, 1),
    ],
)
def test_waves_of_products(
    run_js, n: int, rows: int, columns: int, places: int, grid: int, waves: int
) -> None:
    code = f"""
    const grid = performance_arithmetic.programs({n}, {rows}, {columns});
    give([grid, performance_arithmetic.waves(grid, {places})]);
    """
    count, found = run_js(code)
    assert (count, found["number"]) == (grid, waves)
    assert found["efficiency"] == pytest.approx(wave_efficiency(grid, places))


# Occupancy


def occupied(run_js, card: dict, kernels: list[dict]) -> list[dict]:
    code = (
        f"{json.dumps(kernels)}.map((k) => performance_arithmetic.occupancy(card, k))"
    )
    return run_js(f"const card = {json.dumps(card)}; give({code})")


@pytest.mark.parametrize("card", GPU_LIMITS)
def test_occupancy_is_that_of_the_section(run_js, warps_cards, card: str) -> None:
    grid = itertools.product(
        (1, 3, 4, 8, 10, 32), (16, 24, 25, 32, 37, 64, 94, 128, 222, 255),
        (0, 1, 4096, 24592, 81 * 1024, 82 * 1024, 163 * 1024, 227 * 1024),
    )  # fmt: skip
    kernels = [{"warps": w, "registers": r, "shared": s} for w, r, s in grid]
    found = occupied(run_js, warps_cards[card.lower()], kernels)
    for kernel, here in zip(kernels, found, strict=True):
        expected = occupancy(
            GPU_LIMITS[card], kernel["warps"], kernel["registers"], kernel["shared"]
        )
        assert here["share"] == pytest.approx(expected), kernel
        smallest = min(here["limits"].values())
        assert {here["limits"][name] for name in here["decides"]} == {smallest}


# The card, registers of a thread, bytes of a block, warps of a block, and the share.
EXAMPLES = [
    *(
        ("v100", 37, 0, 4, 0.75),
        ("v100", 37, 0, 10, 0.625),
    ),  # NVIDIA.CUDA.BestPractices
    *(("a100", 32, 0, 4, 1), ("a100", 33, 0, 4, 0.75), ("a100", 255, 0, 4, 0.125)),
    *(("a100", 255, 0, 16, 0), ("a100", 16, 0, 1, 0.5)),
    *(("a100", 32, 163 * 1024, 8, 0.125), ("a100", 32, 82 * 1024, 8, 0.125)),
    *(("a100", 32, 81 * 1024, 8, 0.25), ("t4", 64, 0, 8, 1), ("a100", 64, 0, 8, 0.5)),
    # What the section prints for its attention and its softmax.
    *(("t4", 255, 32768, 4, 0.25), ("a100", 159, 40960, 4, 0.1875)),
    *(("h100", 128, 57344, 4, 0.25), ("b200", 119, 57376, 4, 0.1875)),
    *(("a100", 48, 16, 4, 0.625), ("h100", 55, 16, 4, 0.5625), ("t4", 53, 16, 4, 1)),
]


@pytest.mark.parametrize("card, registers, shared, num_warps, share", EXAMPLES)
def test_examples_of_occupancy(
    run_js, warps_cards, card: str, registers: int, shared: int, num_warps: int, share
) -> None:
    kernel = {"registers": registers, "shared": shared, "warps": num_warps}
    (found,) = occupied(run_js, warps_cards[card], [kernel])
    assert found["share"] == share


def test_kernels_of_the_section_have_the_printed_occupancy(run_js) -> None:
    code = """give(Object.keys(warps.KERNELS).map((kernel) => [kernel, warps.occupancy(
      warps.settle({...explorable.first(warps), kernel}, "kernel")).share]));"""
    assert dict(run_js(code)) == {
        "a100-16": 0.75, "a100-32": 0.625, "a100-64": 0.3125, "a100-128": 0.125,
        "a100-256": 0.125, "a100-128-8": 0.25, "a100-256-8": 0.125,
        "t4-64": 0.25, "h100-64": 0.5, "b200-64": 0.4375,
    }  # fmt: skip


@pytest.mark.parametrize("card", ["T4", "A100", "H100", "B200"])
def test_warps_that_hide_the_latency(run_js, warps_cards, card: str) -> None:
    limits = GPU_LIMITS[card]
    expected = 500e-9 * limits.bandwidth / limits.processors / (32 * 16)
    state = f"{{...explorable.first(warps), card: '{card.lower()}'}}"
    assert run_js(f"give(warps.needed({state}))") == pytest.approx(expected, rel=0.01)


def test_copies_ahead_take_the_place_of_warps(run_js) -> None:
    """On an H100, 12.4 KiB in flight hide 500 ns; stages beyond the first count."""
    kernel = {"registers": 168, "shared": 65536, "warps": 4, "card": "h100"}
    for stages, ahead in (1, 0), (2, 3 * 32768), (4, 3 * 49152):
        state = json.dumps(kernel | {"stages": str(stages)})
        state = f"{{...explorable.first(warps), ...{state}}}"
        assert run_js(f"give(warps.ahead({state}))") == ahead
        assert (run_js(f"give(warps.needed({state}))") > 0) == (stages == 1)
        hides = "copies ahead hide the latency" in " ".join(
            run_js(f"give(warps.formula({state}))")
        )
        assert hides == (stages > 1)


# The lines of a compiled kernel

PTXAS = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z6matmulPf' for 'sm_80'
ptxas info    : Function properties for _Z6matmulPf
    8 bytes stack frame, 12 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 94 registers, used 1 barriers, 16384 bytes smem"""
LINES = [
    (PTXAS, {"registers": 94, "shared": 16384, "stack": 8, "capability": 80}),
    (
        "ptxas info : Used 32 registers, 380 bytes cmem[0]",
        {"registers": 32, "shared": 0},
    ),
    ("Used 40 registers, 8192+16 bytes smem", {"registers": 40, "shared": 8192}),
    (
        "A100, tile  64, 4 warps: sum  32,  94 registers,    0 B of stack",
        {"registers": 94, "stack": 0, "warps": 4, "tile": 64, "card": "a100"},
    ),
    (
        "T4   255 registers, 336 B of stack,  8192 B shared; 1024 x fma.rn.f32",
        {"registers": 255, "stack": 336, "shared": 8192, "card": "t4"},
    ),
    (
        "attention on H100: 128 registers,    0 B of stack,  25.0 percent",
        {"registers": 128, "stack": 0, "card": "h100"},
    ),
    *((text, None) for text in ("", "94", "256 registers", "0 registers", "registers")),
]


@pytest.mark.parametrize("text, expected", LINES)
def test_lines_of_compilers_are_understood(run_js, text: str, expected) -> None:
    assert run_js(f"give(performance_arithmetic.parseKernel({json.dumps(text)}))") == (
        expected
    )


# The words


def test_first_settings_in_words(run_js) -> None:
    texts = run_js(
        "give([roofline, sectors, warps].map((s) => s.result(explorable.first(s))))"
    )
    texts = [text.replace("\N{NO-BREAK SPACE}", " ") for text in texts]
    assert texts[0] == (
        "At n = 512, the calls decide: the time is at least 14.6 µs, and the rate is "
        "at most 11 % of the peak rate."
    )
    assert "touches 8 sectors and uses 50 % of the bytes" in texts[1]
    assert "holds 5 blocks, and a product with n = 2048 takes 2 waves" in texts[2]
    assert "that keep 94.8 % of the places busy" in texts[2]
    lines = run_js(
        "give([roofline, warps].map((s) => s.formula(explorable.first(s)).join(' ')))"
    )
    first, second = (text.replace("\N{NO-BREAK SPACE}", " ") for text in lines)
    assert "from n ≈ 1060 on the arithmetic decides." in first
    assert "The registers decide how many blocks an SM holds. This hides" in second
    assert "occupancy: 5 · 4 / 64 = 31.3 %" in second


def test_combined_settings_are_drawn(run_js) -> None:
    """The tests of all figures change a setting at a time; here many change."""
    code = """
    let seed = 1;
    const next = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
    const pick = (list) => list[Math.floor(next() * list.length)];
    const value = (c) => {
      if (c.options) return pick(c.options)[0];
      if (c.values) return pick(c.values);
      if (c.kind === "text") return pick(["", "nothing", c.placeholder]);
      return pick([c.min, c.max]);
    };
    const bad = [];
    for (const spec of [roofline, sectors, warps])
      for (let i = 0; i < 400; i += 1) {
        let state = explorable.first(spec);
        for (const control of spec.controls)
          if (next() < 0.7)
            state = spec.settle({...state, [control.id]: value(control)}, control.id);
        const text = [spec.draw(state, pick([256, 560])), spec.summary(state),
          spec.formula(state), spec.table(state).rows].join(" ");
        if (/NaN|undefined|Infinity|null/.test(text)) bad.push([spec.name, state]);
      }
    give(bad);
    """
    assert run_js(code) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_is_light(name: str) -> None:
    files = (EXPLORABLES / f"{file}.js" for file in (name, "performance-arithmetic"))
    assert sum(len(gzip.compress(file.read_bytes())) for file in files) <= 15_000


# In the browser


def test_a_measured_machine_is_pasted(page: Page, harness: str) -> None:
    page.goto(harness)
    figure = page.locator("#fig-roofline")
    field = figure.get_by_label("Paste the line")
    figure.locator("summary").first.click()
    assert not field.is_visible()
    figure.get_by_label("Machine", exact=True).select_option("own")
    machine = Machine("cpu", {"float32": 100e9, "bfloat16": 400e9}, 40e9, 8e-7)
    field.fill(str(machine))
    figure.get_by_label("Size n of the matrices").focus()
    page.keyboard.press("End")
    bound = machine.bound(2 * 16384**3, 6 * 16384**2, "bfloat16")
    text = result(page, "roofline")
    assert f"the arithmetic decides: the time is at least {bound:.3g} s" in text
    settle(page, "roofline")
    page.reload()
    assert result(page, "roofline") == text
    figure.locator("summary").first.click()
    figure.get_by_label("Numbers", exact=True).select_option("float32")
    assert f"at least {4 * bound:.3g} s" in result(page, "roofline")
    field.fill("my machine")
    assert "This is not a line of print(" in result(page, "roofline")


def test_a_rate_of_your_own_changes_the_machine(page: Page, harness: str) -> None:
    page.goto(harness)
    figure = page.locator("#fig-roofline")
    figure.locator("summary").first.click()
    figure.get_by_label("Peak rate of your own").focus()
    page.keyboard.press("ArrowRight")
    assert figure.get_by_label("Machine", exact=True).input_value() == "own"


def test_sparse_rates_do_not_make_a_program_faster(page: Page, harness: str) -> None:
    page.goto(harness)
    figure = page.locator("#fig-roofline")
    before = result(page, "roofline")
    for summary in figure.locator("summary").all():
        summary.click()
    figure.get_by_label("Peak rate", exact=True).select_option("sparse")
    assert result(page, "roofline") == before
    formula = figure.locator(".formula").inner_text().replace("\N{NO-BREAK SPACE}", " ")
    assert "a data sheet may print 330 TFLOP/s" in formula
    assert figure.locator("svg text", has_text="sparse").count() == 1


def test_what_a_compiler_prints_is_pasted(page: Page, harness: str) -> None:
    page.goto(harness)
    figure = page.locator("#fig-warps")
    figure.locator("summary").first.click()
    field = figure.get_by_label("Paste a line")
    field.fill("H100  64 registers,   0 B of stack, 24576 B shared;    2 x wgmma")
    assert "An SM of the H100 holds 8 blocks" in result(page, "warps")
    assert figure.get_by_label("Kernel").input_value() == "h100-64"
    field.fill(PTXAS.replace("\n", " "))
    text = result(page, "warps")
    assert "Numbers spill: each thread has 8 bytes of stack." in text
    assert "An SM of the A100 holds 5 blocks, and a product" in text
    settle(page, "warps")
    page.reload()
    assert result(page, "warps") == text
    figure.locator("summary").first.click()
    field.fill("B200, tile 128, 8 warps: sum  64, 128 registers,    0 B of stack")
    text = result(page, "warps")
    assert "does not contain the shared memory, so its slider counts." in text
    assert "An SM of the B200 holds 2 blocks, and a product" in text
    figure.get_by_label("Registers of a thread").focus()
    page.keyboard.press("End")
    formula = figure.locator(".formula").text_content() or ""
    assert "/ 64 = 12.5" in formula
    assert figure.get_by_label("Kernel").input_value() == "own"


def test_a_block_that_does_not_fit_is_told(page: Page, harness: str) -> None:
    page.goto(harness)
    figure = page.locator("#fig-warps")
    figure.locator("summary").first.click()
    figure.get_by_label("Warps in a block").focus()
    page.keyboard.press("End")
    assert "No block fits on an SM of the A100: the registers decide, so" in result(
        page, "warps"
    )


def test_sectors_follow_the_keyboard(page: Page, harness: str) -> None:
    page.goto(harness)
    figure = page.locator("#fig-sectors")
    figure.locator("summary").first.click()
    figure.get_by_label("Stride, in numbers").focus()
    page.keyboard.press("End")
    assert "touches 32 sectors" in result(page, "sectors")
    assert figure.get_by_label("What the warp reads").input_value() == "column"
    expect(page).to_have_url(f"{harness}?sectors.preset=column")
    figure.get_by_label("First number").focus()
    page.keyboard.press("ArrowRight")
    assert figure.get_by_label("What the warp reads").input_value() == "own"


@pytest.mark.parametrize(
    ("setting", "count"),
    [
        ("{ n: 16384, rate: 10000, memory: 20000 }", 1),  # the point is at the peak
        ("{ n: 512, rate: 10000, memory: 1 }", 0),  # the roof is beyond the chart
    ],
)
def test_the_peak_is_named_once_where_it_is_reached(run_js, setting, count):
    svg = run_js(f"""give(roofline.draw(
      {{ ...explorable.first(roofline), machine: "own", ...{setting} }}, 640))""")
    assert svg.replace("\N{NO-BREAK SPACE}", " ").count(">10000 TFLOP/s<") == count
