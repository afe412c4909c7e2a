/* A kernel to write: the sum of each 256 numbers. */
"use strict";

module.exports = require("./kernel-task.js").task({
  sizes: [1024, 2 ** 24],
  arrays: { a: (n) => n, out: (n) => n / 256 },
  tile: 256,
  threads: (n) => n,
  input: (_, n) => Float32Array.from({ length: n }, (_, i) => i % 7),
  expected: ({ a }, n) =>
    Float32Array.from({ length: n / 256 }, (_, i) =>
      a.subarray(256 * i, 256 * i + 256).reduce((sum, x) => sum + x, 0),
    ),
  least: 132,
  start: `
fn kernel(i: u32, l: u32, w: u32) {
  store_out(w, load_out(w) + load_a(i));
}`,
  solution: `
fn kernel(i: u32, l: u32, w: u32) {
  store_tile(l, load_a(i));
  for (var half = 128u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (l < half) { store_tile(l, load_tile(l) + load_tile(l + half)); }
  }
  if (l == 0u) { store_out(w, load_tile(0u)); }
}`,
});
