"""The stored loops of products, and the clocks of an SM that they take.

`d2l/tables.py` reads and counts them.
"""

import pytest

pytestmark = pytest.mark.shared

# The instructions, products and LDSM of a loop, and the clocks of tensor cores, issue,
# shared memory (reads, and with writes) and L2 cache, worked out by hand from the
# printed machine code.
EXPECTED = {
    ("A100", (64, 64, 32), 4): ([86, 16, 8], [128, 86, 128, 192, 173]),
    ("A100", (128, 128, 32), 4): ([160, 64, 16], [512, 160, 256, 384, 346]),
    ("A100", (128, 128, 32), 8): ([104, 32, 12], [512, 208, 384, 512, 346]),
    ("H100", (64, 64, 32), 4): ([83, 2, 0], [64, 83, 64, 128, 211]),
    ("H100", (128, 128, 32), 4): ([108, 4, 0], [256, 108, 192, 320, 422]),
    ("H100", (128, 128, 64), 4): ([83, 8, 0], [512, 83, 384, 640, 845]),
    ("H100", (128, 256, 64), 8): ([74, 4, 0], [1024, 148, 640, 1024, 1267]),
    ("B200", (64, 64, 32), 4): ([102, 2, 0], [32, 102, 64, 128, 237]),
    ("B200", (128, 128, 64), 4): ([87, 4, 0], [256, 87, 256, 512, 947]),
    ("B200", (128, 256, 64), 8): ([85, 4, 0], [512, 170, 384, 768, 1421]),
}


@pytest.mark.parametrize("plan", EXPECTED)
def test_a_stored_loop_has_its_instructions_and_clocks(d2l, plan):
    (turn,) = (turn for turn in d2l.stored_turns() if turn[:3] == plan)
    counts, clocks = d2l.count_instructions(turn.loop), d2l.turn_clocks(turn)
    instructions, expected = EXPECTED[plan]
    assert [len(turn.loop), counts["products"], counts["LDSM"]] == instructions
    assert sum(counts.values()) == len(turn.loop)
    assert [round(busy) for busy in clocks.values()] == expected


def test_instructions_are_counted_by_kind_under_predicates_too(d2l):
    loop = ["@!P0 HMMA.16816.F32 R4, R8", "@P1 LDSM.16.M88.4 R8, [R2]", "LDGDEPBAR"]
    loop += ["@!UP1 UTMALDG.2D [UR4], [UR8]", "LDG.E R3, [R2]", "UTCBAR [UR4]"]
    loop += ["BRA `(.L_x_1)"]
    assert d2l.count_instructions(loop) == {
        "products": 1,
        "LDSM": 1,
        "global loads": 2,
        "rest": 3,
    }


@pytest.mark.parametrize(
    ("matrices", "clocks"), [("M88.4", 4 * 4), ("MT88.2", 4 * 2), ("M88", 4 * 1)]
)
def test_ldsm_takes_a_clock_for_each_matrix_of_a_warp(d2l, matrices, clocks):
    loop = [f"LDSM.16.{matrices} R8, [R2]"]
    turn = d2l.stored_turns()[0]._replace(loop=loop, warps=4)
    assert d2l.turn_clocks(turn)["shared reads"] == clocks


# Factors have 16 terms of 16 bits; four warps execute an HGMMA together.
@pytest.mark.parametrize(
    ("opcode", "warps", "clocks"),
    [
        ("HGMMA.64x64x16.F32", 4, (64 + 64) * 32 / 128),
        ("HGMMA.64x256x16.F32", 4, (64 + 256) * 32 / 128),
        ("@P0 HGMMA.64x256x16.F32", 8, 2 * (64 + 256) * 32 / 128),
        ("UTCHMMA", 8, (128 + 256) * 32 / 128),
        ("HMMA.16816.F32", 4, 0),
    ],
)
def test_tensor_cores_read_what_they_multiply(d2l, opcode, warps, clocks):
    loop = [f"{opcode} R24, gdesc[UR4].tnspB, R24"]
    turn = d2l.stored_turns()[0]._replace(tile=(128, 256, 64), loop=loop, warps=warps)
    assert d2l.turn_clocks(turn)["shared reads"] == clocks


def test_copies_by_threads_write_both_tiles(d2l):
    for turn in d2l.stored_turns():
        copies = sum("LDGSTS.E.BYPASS.128" in line for line in turn.loop)
        clocks = d2l.turn_clocks(turn)
        written = 128 * (clocks["reads + writes"] - clocks["shared reads"])
        if copies:
            assert written == copies * turn.warps * 32 * 16  # bytes of a thread
        else:
            assert sum("UTMALDG" in line for line in turn.loop) == 2


@pytest.mark.parametrize(
    ("card", "flops"), [("T4", 1024), ("A100", 2048), ("H200", 4096), ("B200", 8192)]
)
def test_the_tensor_cores_of_each_generation(d2l, card, flops):
    turn = d2l.stored_turns()[0]._replace(card=card, tile=(64, 64, 32))
    assert d2l.turn_clocks(turn)["tensor cores"] == 2 * 64 * 64 * 32 / flops
