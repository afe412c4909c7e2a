/* A kernel to write: each number of the result is the sum of three neighbors. */
import { task } from "./kernel-task.js";

export default task({
  name: "neighbors",
  sizes: [1000, 512],
  steps: [2 ** 14, 2 ** 18, 2 ** 21, 3 * 2 ** 22],
  arrays: { a: (n) => n, out: (n) => n },
  tile: 258,
  threads: (n) => n,
  expected: ({ a }) => (i) => (a[i - 1] ?? 0) + a[i] + (a[i + 1] ?? 0),
  least: 256,
  begin: `
fn kernel(i: u32, l: u32, w: u32) {
  store_out(i, load_a(i - 1u) + load_a(i) + load_a(i + 1u));
}`,
  solution: `
fn kernel(i: u32, l: u32, w: u32) {
  // Each thread fetches one number for all; the first two also fetch the ends.
  if (i < N) { store_tile(l + 1u, load_a(i)); } else { store_tile(l + 1u, 0.0); }
  let end = select(256u * w + 256u, 256u * w - 1u, l == 0u);
  if (l < 2u) {
    if (end < N) { store_tile(257u * l, load_a(end)); } else { store_tile(257u * l, 0.0); }
  }
  workgroupBarrier();
  if (i < N) {
    store_out(i, load_tile(l) + load_tile(l + 1u) + load_tile(l + 2u));
  }
}`,
});
