/* A kernel to write: the running totals of each 256 numbers. */
import { GROUP } from "./kernel-code.js";
import { task } from "./kernel-task.js";

export default task({
  name: "prefix",
  sizes: [1024, 1000],
  steps: [2 ** 14, 2 ** 18, 2 ** 21, 3 * 2 ** 22],
  arrays: { a: (n) => n, out: (n) => n },
  tile: 256,
  threads: (n) => n,
  expected: ({ a }) => (i) => a.subarray(i - (i % GROUP), i + 1).reduce((sum, x) => sum + x, 0),
  least: 256,
  begin: `
fn kernel(i: u32, l: u32, w: u32) {
  if (i < N) {
    var s = 0.0;
    for (var k = 0u; k <= l; k++) { s += load_a(256u * w + k); }
    store_out(i, s);
  }
}`,
  solution: `
fn kernel(i: u32, l: u32, w: u32) {
  if (i < N) { store_tile(l, load_a(i)); } else { store_tile(l, 0.0); }
  for (var back = 1u; back < 256u; back *= 2u) {
    workgroupBarrier();
    var s = load_tile(l);
    if (l >= back) { s += load_tile(l - back); }
    workgroupBarrier(); // All have read before one writes.
    store_tile(l, s);
  }
  if (i < N) { store_out(i, load_tile(l)); }
}`,
});
