/* The figure of the ring of buffers: its turns beside the library's, and some by hand. */
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");

const { load, library, figures, result, formula, close, includes, grid, changed } = require("./support.js");

const arithmetic = load("stages-arithmetic");
const { stages } = figures;
const HOPPER = { latency: 900, copy: 400, product: 512 };

test("the turns are those of the library", () => {
  assert.equal(library.roles.length, 135);
  for (const { setting, ready, end } of library.roles) {
    const turns = arithmetic.turns(setting, 8);
    close(turns.map((turn) => turn.ready), ready, {}, JSON.stringify(setting));
    close(turns.map((turn) => turn.end), end, {}, JSON.stringify(setting));
  }
});

test("two buffers and four turns by hand", () => {
  const turns = arithmetic.turns({ ...HOPPER, stages: 2 }, 4);
  assert.deepEqual(turns.map(({ asked, begin, start, end }) => [asked, begin, start, end]), [
    [0, 900, 1300, 1812],
    [0, 1300, 1812, 2324],
    [1812, 2712, 3112, 3624],
    [2324, 3224, 3624, 4136],
  ]);
  assert.deepEqual(turns.map(({ buffer, lap }) => [buffer, lap]), [[0, 0], [1, 0], [0, 1], [1, 1]]);
});

test("a long loop takes the clocks of the formula", () => {
  for (const state of grid({ stages: [1, 2, 3, 4, 6], latency: [0, 900, 3000], columns: [64, 128, 256] })) {
    const setting = { ...state, ...arithmetic.times(state.columns) };
    const turns = arithmetic.turns(setting, 240);
    close((turns[239].end - turns[119].end) / 120, arithmetic.perTurn(setting));
  }
});

test("the fewest buffers that are enough are enough, and one fewer is not", () => {
  for (const latency of [0, 100, 900, 1800, 3000]) {
    const setting = { ...HOPPER, latency };
    const least = arithmetic.enough(setting);
    close(arithmetic.perTurn({ ...setting, stages: least }), 512);
    assert.ok(least === 1 || arithmetic.perTurn({ ...setting, stages: least - 1 }) > 512);
  }
});

test("a barrier's flag turns when its tiles are there, and when they are used up", () => {
  const turns = arithmetic.turns({ ...HOPPER, stages: 2 }, 4);
  const at = (now) => Object.values(arithmetic.phases(turns, 0, now)).join("");
  assert.deepEqual([0, 1299, 1300, 1811, 1812, 3112, 3624].map(at), ["00", "00", "10", "10", "11", "01", "00"]);
});

test("tiles have the clocks and the bytes of the section", () => {
  assert.deepEqual(arithmetic.times(128), { copy: 400, product: 512 });
  assert.deepEqual(arithmetic.times(256), { copy: 600, product: 1024 });
  assert.deepEqual([128, 256].map(arithmetic.kibibytes), [32, 48]);
});

test("the sentence of the figure", () => {
  includes(result(stages, {}), "a turn of a long loop takes 906 clocks", "busy for 57 % of them; it takes 4 buffers until they never");
  includes(result(stages, { stages: 4 }), "With 4 buffers,", "512 clocks", "100 % of them; they never wait.");
  includes(result(stages, { stages: 6 }), "; 4 buffers would be enough.");
  includes(result(stages, { columns: 64, stages: 6 }), "busy for 85 %", "the copies are the limit, so more");
  includes(result(stages, { columns: 64 }), "it takes 5 buffers until the copies are the limit.");
  includes(formula(stages, { stages: 3 }), "max(512, 400, 604) = 604 clocks", "3 · 32 KiB = 96 KiB");
});

test("a row of the table for each turn", () => {
  assert.deepEqual(stages.table(changed(stages, {})).rows[2], ["2", "0", "1", "1812", "3112", "3112", "3624"]);
});
