/* A kernel to write: the transpose of a square matrix. */
"use strict";

module.exports = require("./kernel-task.js").task({
  name: "transpose",
  sizes: [64, 48],
  steps: [128, 512, 2048, 4096],
  arrays: { a: (n) => n * n, out: (n) => n * n },
  tile: 272,
  threads: (n) => n * n,
  expected: ({ a }, i, n) => a[(i % n) * n + Math.floor(i / n)],
  least: 1024,
  start: `
fn kernel(i: u32, l: u32, w: u32) {
  let row = i / N;
  let column = i % N;
  store_out(column * N + row, load_a(row * N + column));
}`,
  solution: `
fn kernel(i: u32, l: u32, w: u32) {
  // A workgroup moves a square of 16 x 16 numbers. Rows of the tile are 17 apart.
  let top = 16u * (w / (N / 16u));
  let left = 16u * (w % (N / 16u));
  let y = l / 16u;
  let x = l % 16u;
  store_tile(17u * y + x, load_a((top + y) * N + left + x));
  workgroupBarrier();
  store_out((left + y) * N + top + x, load_tile(17u * x + y));
}`,
});
