/* A kernel to write: the sum of each 256 numbers, of which the last may be fewer. */
import { GROUP } from "./kernel-code.js";
import { task } from "./kernel-task.js";

export default task({
  name: "sum",
  sizes: [1024, 1000],
  steps: [2 ** 14, 2 ** 18, 2 ** 21, 3 * 2 ** 22],
  arrays: { a: (n) => n, out: (n) => Math.ceil(n / GROUP) },
  tile: 256,
  threads: (n) => n,
  expected: ({ a }) => (i) =>
    a.subarray(GROUP * i, GROUP * (i + 1)).reduce((sum, x) => sum + x, 0),
  least: 132,
  begin: `
fn kernel(i: u32, l: u32, w: u32) {
  if (i < N) { store_out(w, load_out(w) + load_a(i)); }
}`,
  solution: `
fn kernel(i: u32, l: u32, w: u32) {
  // The tile of the last workgroup ends with zeros.
  if (i < N) { store_tile(l, load_a(i)); } else { store_tile(l, 0.0); }
  for (var half = 128u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (l < half) { store_tile(l, load_tile(l) + load_tile(l + half)); }
  }
  if (l == 0u) { store_out(w, load_tile(0u)); }
}`,
});
