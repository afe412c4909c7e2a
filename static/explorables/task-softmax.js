/* A kernel to write: the softmax of each row of a matrix with 64 rows. */
import { GROUP } from "./kernel-code.js";
import { task } from "./kernel-task.js";

const ROWS = 64;

/** Return a function that gives a number of the result, and keeps the sum of one row. */
const expected = ({ a }, n) => {
  let [row, sum] = [-1, 0];
  return (i) => {
    if (row !== Math.floor(i / n)) {
      row = Math.floor(i / n);
      sum = a.subarray(row * n, (row + 1) * n).reduce((all, x) => all + Math.exp(x), 0);
    }
    return Math.exp(a[i]) / sum;
  };
};

export default task({
  name: "softmax",
  sizes: [512, 300],
  steps: [2 ** 10, 2 ** 13, 2 ** 16, 2 ** 18],
  arrays: { a: (n) => ROWS * n, out: (n) => ROWS * n },
  largest: 8,
  tile: 256,
  threads: () => ROWS * GROUP,
  expected,
  least: 12288,
  begin: `
fn kernel(i: u32, l: u32, w: u32) {
  if (l == 0u) {
    var s = 0.0;
    for (var k = 0u; k < N; k++) { s += exp(load_a(N * w + k)); }
    for (var k = 0u; k < N; k++) { store_out(N * w + k, exp(load_a(N * w + k)) / s); }
  }
}`,
  solution: `
fn kernel(i: u32, l: u32, w: u32) {
  // Each thread adds up every 256th number of the row.
  var s = 0.0;
  for (var k = l; k < N; k += 256u) { s += exp(load_a(N * w + k)); }
  store_tile(l, s);
  for (var half = 128u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (l < half) { store_tile(l, load_tile(l) + load_tile(l + half)); }
  }
  workgroupBarrier(); // All read the sum.
  s = load_tile(0u);
  for (var k = l; k < N; k += 256u) {
    store_out(N * w + k, exp(load_a(N * w + k)) / s);
  }
}`,
});
