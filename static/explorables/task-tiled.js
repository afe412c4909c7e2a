/* A kernel to write: the product of two matrices in tiles of 16 x 16 numbers. */
import { GROUP } from "./kernel-code.js";
import { product } from "./task-product.js";
import { task } from "./kernel-task.js";

export default task({
  ...product, // with the same matrices
  name: "tiled",
  tile: 512,
  threads: (n) => GROUP * Math.ceil(n / 16) ** 2,
  least: 640,
  measured: ["in tiles", "in tiles and registers"],
  begin: `
fn kernel(i: u32, l: u32, w: u32) {
  let across = (N + 15u) / 16u;
  let y = l / 16u;
  let x = l % 16u;
  let row = 16u * (w / across) + y;
  let column = 16u * (w % across) + x;
  var s = 0.0;
  if (row < N && column < N) {
    for (var k = 0u; k < N; k++) {
      s += load_a(row * N + k) * load_b(k * N + column);
    }
    store_out(row * N + column, s);
  }
}`,
  solution: `
fn kernel(i: u32, l: u32, w: u32) {
  let across = (N + 15u) / 16u;
  let y = l / 16u;
  let x = l % 16u;
  let row = 16u * (w / across) + y;
  let column = 16u * (w % across) + x;
  var s = 0.0;
  for (var t = 0u; t < N; t += 16u) {
    // The first 256 numbers of the tile are those of a, the others those of b.
    var p = 0.0;
    var q = 0.0;
    if (row < N && t + x < N) { p = load_a(row * N + t + x); }
    if (t + y < N && column < N) { q = load_b((t + y) * N + column); }
    store_tile(l, p);
    store_tile(256u + l, q);
    workgroupBarrier();
    for (var k = 0u; k < 16u; k++) {
      s += load_tile(16u * y + k) * load_tile(256u + 16u * k + x);
    }
    workgroupBarrier(); // All have read before one writes the next tile.
  }
  if (row < N && column < N) { store_out(row * N + column, s); }
}`,
});
