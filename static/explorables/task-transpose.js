/* A kernel to write: the transpose of a square matrix. */
import { GROUP } from "./kernel-code.js";
import { task } from "./kernel-task.js";

export default task({
  name: "transpose",
  sizes: [64, 40],
  steps: [128, 512, 2048, 4000],
  arrays: { a: (n) => n * n, out: (n) => n * n },
  tile: 272,
  threads: (n) => GROUP * Math.ceil(n / 16) ** 2,
  expected: ({ a }, n) => (i) => a[(i % n) * n + Math.floor(i / n)],
  least: 1024,
  begin: `
fn kernel(i: u32, l: u32, w: u32) {
  let row = i / N;
  let column = i % N;
  if (row < N) { store_out(column * N + row, load_a(row * N + column)); }
}`,
  solution: `
fn kernel(i: u32, l: u32, w: u32) {
  // A workgroup moves a square of 16 x 16 numbers. Rows of the tile are 17 apart.
  let across = (N + 15u) / 16u;
  let top = 16u * (w / across);
  let left = 16u * (w % across);
  let y = l / 16u;
  let x = l % 16u;
  if (top + y < N && left + x < N) {
    store_tile(17u * y + x, load_a((top + y) * N + left + x));
  }
  workgroupBarrier();
  if (left + y < N && top + x < N) {
    store_out((left + y) * N + top + x, load_tile(17u * x + y));
  }
}`,
});
