/* The figure of the buckets: its arithmetic beside the library's, and a step by hand. */
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");

const { load, library, figures, first, plain, formula } = require("./support.js");
const { close, includes, cited } = require("./support.js");

const arithmetic = load("bucket-arithmetic");
const { begin } = load("controls");
const { buckets } = figures;

const given = (settings) => begin(buckets, settings);
const said = (settings) => plain(buckets.result(given(settings)));

test("steps are those of the library", () => {
  assert.equal(library.buckets.length, 180);
  for (const { task, spans, sum, efficiency } of library.buckets) {
    const found = arithmetic.stepOf(task);
    close(found.buckets.flatMap(({ start, end }) => [start, end]), spans.flat());
    close([found.sum, found.efficiency], [sum, efficiency]);
  }
});

test("a queue of buckets by hand", () => {
  // The section on several GPUs: 64 layers of 1 ms, and 0.5 + 0.7 ms for each on the link.
  const ready = Array.from({ length: 64 }, (_, i) => i + 1);
  close(arithmetic.schedule(ready, () => 1.2).at(-1).end, 1 + 64 * 1.2);
  const three = arithmetic.schedule([1, 2, 9], (i) => [3, 1, 2][i]);
  assert.deepEqual(three.map(({ full, start, end }) => [full, start, end]), [
    ...[[1, 1, 4], [2, 4, 5], [9, 9, 11]],
  ]);
});

test("four layers in two buckets by hand", () => {
  // Layers end at 3, 4, 5 and 6; a bucket takes 2 · (0.5 + 4 / 2 / 2) = 3.
  const task = { step: 6, bytes: 8, layers: 4, perBucket: 2, n: 2, latency: 0.5, bandwidth: 2 };
  const found = arithmetic.stepOf(task);
  close(found.layers.map(({ start, end }) => [start, end]).flat(), [2, 3, 3, 4, 4, 5, 5, 6]);
  close(found.buckets.flatMap(({ full, start, end }) => [full, start, end]), [4, 4, 7, 6, 7, 10]);
  // All of it in one piece: 2 · (0.5 + 8 / 2 / 2) = 5.
  close([found.end, found.exposed, found.sum, found.hidden, found.efficiency], [10, 4, 5, 0.2, 0.6]);
});

test("what is hidden gives the efficiency of the section's formula", () => {
  for (const job of ["weak", "strong", "slow", "many"])
    for (const layers of [1, 2, 4, 8, 16, 32]) {
      const state = given(`job=${job}&bucket=${layers}`);
      const { step } = buckets.task(state);
      const { hidden, sum, efficiency, exposed } = buckets.run(state);
      close(efficiency, step / (step + (1 - hidden) * sum));
      if (layers === 32) close([hidden, exposed], [0, sum], { abs: 1e-9 });
    }
});

test("the numbers of the section", () => {
  const { step } = buckets.task(first(buckets));
  close(step, 256 / library.cited["scaling-weak-pytorch-1"]);
  close(2 * 2.2, library.cited["allreduce-pytorch-default"]);
  includes(said("bucket=32"), "so 4 GPUs are 80 % efficient.");
  includes(formula(buckets, {}), "= 30.6 ms", "26.4 ms exposed, as if h were 14 %");
});

test("published runs are those of the library", () => {
  const [weak, strong] = ["weak", "strong"].map((kind) => cited(`scaling-${kind}-pytorch-`));
  assert.deepEqual(buckets.PUBLISHED, {
    "2/256": [weak[2], weak[1]],
    "4/256": [weak[4], weak[1]],
    "4/128": [strong[4], strong[1]],
  });
  const drawn = (settings) => buckets.draw(given(settings), 640).includes("published");
  assert.deepEqual(["job=weak", "job=strong", "job=slow", "job=many"].map(drawn), [true, true, false, false]);
  assert.ok(!drawn("link=3") && !drawn("n=8"));
});

test("a bucket can be too small and too large", () => {
  const at = (job, bucket) => buckets.run(given(`job=${job}&bucket=${bucket}`)).efficiency;
  assert.ok(at("many", 4) > at("many", 1) && at("many", 4) > at("many", 32));
  includes(said("job=many&bucket=4"), "the best of the sizes");
  // A sum that is longer than the backward pass is never hidden: what is left over is exposed.
  const { exposed, sum } = buckets.run(given("job=slow&bucket=1"));
  const { step } = buckets.task(given("job=slow"));
  assert.ok(exposed > sum - (2 * step) / 3);
});

test("the drawing of a step shows what has been sent", () => {
  const state = given("bucket=4");
  const count = (part) => {
    const svg = buckets.draw(state, 640, part ? { from: state, part } : undefined);
    return svg.match(/class="(s3|wait)"/g).length - 2; // without those of the legend
  };
  assert.equal(count(), 8);
  assert.ok(count(0.3) === 0 && count(0.6) > 0 && count(0.6) < 8);
});
