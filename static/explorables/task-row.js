/* A kernel to write: a row is added to each row of a matrix. */
import { task } from "./kernel-task.js";

export default task({
  name: "row",
  sizes: [64, 37],
  steps: [128, 512, 2048, 4000],
  arrays: { a: (n) => n * n, b: (n) => n, out: (n) => n * n },
  threads: (n) => n * n,
  expected: ({ a, b }, n) => (i) => a[i] + b[i % n],
  least: 1536,
  begin: `
fn kernel(i: u32, l: u32, w: u32) {
  if (i < N * N) { store_out(i, load_a(i) + load_b(i)); }
}`,
  solution: `
fn kernel(i: u32, l: u32, w: u32) {
  // i = N * row + column
  if (i < N * N) { store_out(i, load_a(i) + load_b(i % N)); }
}`,
});
