/* The figure of tiles: what the programs load, by hand and by counting. */
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");

const { figures, first, changed } = require("./support.js");
const { plain, result, formula, close, includes } = require("./support.js");

const { tiles } = figures;

test("programs of 64 load each number of 1024 rows 16 times, by hand", () => {
  // 16² programs load 2 · 64 · 1024 numbers of 2 bytes; an H100 reads 3350 GB/s.
  const { bytes, once, loads, operations, enough } = tiles.numbers(first(tiles));
  close([bytes, bytes / once], [16 ** 2 * 2 * 64 * 1024 * 2, 16]);
  close(loads, 67108864 / 3.35e12, { rel: 1e-3 });
  close(operations, (2 * 1024 ** 3) / 989.4e12, { rel: 1e-3 });
  assert.equal(Math.ceil(enough), 591);
  includes(result(tiles, {}), "load 67.1 MB in all, each number 16 times, in 20 µs", "an H100", "tiles of 591");
});

test("counting the loads of each program gives the formula", () => {
  for (const [n, tile] of [[256, 1], [256, 32], [512, 128], [256, 256]]) {
    let loaded = 0;
    for (let row = 0; row < n; row += tile)
      for (let column = 0; column < n; column += tile)
        for (let k = 0; k < n; k += tile) loaded += 2 * tile * tile;
    close(tiles.numbers(changed(tiles, { n, tile })).numbersLoaded, loaded);
  }
});

test("from the tile named on, operations take longer, for each size and card", () => {
  for (const card of ["t4", "a100", "rtx4090", "h100", "h200", "b200"])
    for (const n of [1024, 16384]) {
      const { enough } = tiles.numbers(changed(tiles, { n, card }));
      for (const tile of [128, 256, 512, 1024]) {
        const { loads, operations } = tiles.numbers(changed(tiles, { n, card, tile }));
        assert.equal(tile >= enough, operations >= loads);
      }
    }
  includes(result(tiles, { tile: 1024 }), "less than the operations");
});

test("a tile is not larger than the matrix", () => {
  const small = changed(tiles, { n: 512, tile: 1024 }, "n");
  assert.deepEqual([small.n, small.tile], [512, 512]);
  const large = changed(tiles, { n: 256, tile: 1024 }, "tile");
  assert.deepEqual([large.n, large.tile], [1024, 1024]);
  includes(formula(tiles, { n: 256, tile: 256 }), "= 1² = 1, and each loads 2 T n = 131072 numbers");
});

test("a program moves through its row and its column", () => {
  const state = changed(tiles, { n: 1024, tile: 256 });
  // The loaded tiles, the last one of A and of B, and the tile of C; then the two bars.
  const places = (part) =>
    [...plain(tiles.draw(state, 640, { from: state, part })).matchAll(/x="([\d.]+)" y="([\d.]+)"[^>]*class="s1 solid"/g)]
      .map(([, x, y]) => [Number(x), Number(y)]);
  const [[a0], [, b0]] = places(0);
  const [[a1], [, b1]] = places(0.99);
  assert.ok(a1 > a0 && b1 > b0);
  close(a1 - a0, b1 - b0);
});
