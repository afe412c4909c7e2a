/* A kernel to write: each thread copies a number, if there is one for it. */
import { task } from "./kernel-task.js";

export default task({
  name: "copy",
  sizes: [1000, 512],
  steps: [2 ** 14, 2 ** 18, 2 ** 21, 3 * 2 ** 22],
  arrays: { a: (n) => n, out: (n) => n },
  threads: (n) => n,
  expected: ({ a }) => (i) => a[i],
  least: 250,
  begin: `
fn kernel(i: u32, l: u32, w: u32) {
  store_out(i, load_a(i));
}`,
  solution: `
fn kernel(i: u32, l: u32, w: u32) {
  // The last workgroup has more threads than there are numbers left.
  if (i < N) { store_out(i, load_a(i)); }
}`,
});
