/* A kernel to write: the product of two matrices, a number by each thread. */
import { productFlops } from "./arithmetic.js";
import { task } from "./kernel-task.js";

/** Return a function that gives a number of the product of two n x n matrices. */
const expected = ({ a, b }, n) => (i) => {
  const [row, column] = [n * Math.floor(i / n), i % n];
  let sum = 0;
  for (let k = 0; k < n; k += 1) sum += a[row + k] * b[n * k + column];
  return sum;
};

const square = (n) => n * n;

/** The description of the task, of which another one takes over the most. */
export const product = {
  name: "product",
  sizes: [32, 21],
  steps: [128, 256, 512, 1024],
  arrays: { a: square, b: square, out: square },
  largest: 16, // so that sums of 1024 products have no error
  threads: square,
  expected,
  flops: productFlops,
  least: 5248,
  measured: ["naive"],
  begin: `
fn kernel(i: u32, l: u32, w: u32) {
  let row = i / N;
  let column = i % N;
  var s = 0.0;
  for (var k = 0u; k < N; k++) {
    s += load_a(row * N + k) * load_b(column * N + k);
  }
  store_out(i, s);
}`,
  solution: `
fn kernel(i: u32, l: u32, w: u32) {
  let row = i / N;
  let column = i % N;
  if (row < N) {
    var s = 0.0;
    for (var k = 0u; k < N; k++) {
      s += load_a(row * N + k) * load_b(k * N + column);
    }
    store_out(i, s);
  }
}`,
};

export default task(product);
