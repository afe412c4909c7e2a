/* The figure of the two clocks: the published times, and others by hand. */
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");

const { figures, first, changed, cited } = require("./support.js");
const { plain, result, formula, close, includes } = require("./support.js");

const { clock } = figures;

test("ten products take the published times", () => {
  const published = cited("clock-pytorch-");
  const { early, late, claimed, real } = clock.numbers(first(clock));
  close([early, late], [published.queued * 1e-3, published.finished * 1e-3]);
  const flops = 10 * 2 * 4096 ** 3;
  close([claimed, real], [flops / early, flops / late]);
  includes(result(clock, {}), "690 µs for 10 products (n = 4096): 1992 TFLOP/s, 12 times", "8.99 ms: 153 TFLOP/s.");
});

test("only the clock that waits notices more work", () => {
  const [small, large] = [2048, 8192].map((n) => clock.numbers(changed(clock, { n })));
  close(large.early, small.early);
  // 64 times the time of the products, but not of the call before the first of them.
  close(large.late - 69e-6, 64 * (small.late - 69e-6));
});

test("products shorter than their calls wait for them, by hand", () => {
  // A call takes 200 µs. 2 · 1024³ operations take (8990 − 69) / 10 / 64 = 13.94 µs.
  const { early, late, run } = clock.numbers(changed(clock, { n: 1024, count: 5, call: 200 }));
  close([early, late], [1000e-6, 1013.94e-6], { rel: 1e-5 });
  close(run.device.map(({ start }) => start), [1, 2, 3, 4, 5].map((i) => i * 200e-6));
  includes(formula(clock, { n: 1024, count: 5, call: 200 }), "5 · 200 µs + 13.9 µs = 1.01 ms");
});

test("a claim is marked only if it is above the data sheet's", () => {
  const drawn = (changes) => plain(clock.draw(changed(clock, changes), 640));
  assert.match(drawn({}), /class="bad small"[^>]*>1992 TFLOP/);
  assert.doesNotMatch(drawn({ n: 1024 }), /class="bad/);
  includes(result(clock, { n: 1024 }), "less than the data sheet’s");
});

test("the drawing has as many calls and products as have begun", () => {
  const state = first(clock);
  const counts = (svg) => ["s1", "s3"].map((kind) => svg.split(`class="${kind}"`).length - 3);
  assert.deepEqual(counts(clock.draw(state, 640)), [10, 10]); // besides legend and bar
  // After 15 percent, or 1.35 ms, the calls are over, and the second product has begun.
  assert.deepEqual(counts(clock.draw(state, 640, { from: state, part: 0.15 })), [10, 2]);
});
