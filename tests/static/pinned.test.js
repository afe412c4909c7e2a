/* The figure of pinned memory: the published copies, and others by hand. */
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");

const { figures, first, changed, cited } = require("./support.js");
const { plain, result, formula, close, includes } = require("./support.js");

const { pinned } = figures;

test("a minibatch of 9.63 MB takes the published times", () => {
  const published = cited("copy-pytorch-");
  const found = pinned.numbers(first(pinned));
  close([found.pinned, found.pageable], [published.pinned * 1e-3, published.pageable * 1e-3]);
  includes(result(pinned, {}), "9.63 MB take 521 µs, 1.28 times as long as the 408 µs", "the CPU for 470 µs.");
});

test("a slow CPU sets the pace, by hand", () => {
  // Four pieces of 1 MB: 250 µs each on the CPU, and 100 µs on the link.
  const state = { mb: 4, buffer: 1, cpu: 4, link: 10 };
  const { fills, sends, held, pageable, pinned: direct } = pinned.numbers(changed(pinned, state));
  close(fills.map(({ end }) => end), [250e-6, 500e-6, 750e-6, 1000e-6]);
  close(sends.map(({ start }) => start), [250e-6, 500e-6, 750e-6, 1000e-6]);
  close([held, pageable, direct], [1000e-6, 1100e-6, 400e-6]);
  includes(formula(pinned, state), "the CPU sets the pace", "1 ms + 100 µs = 1.1 ms");
});

test("a slow link sets the pace, and the CPU waits for half of the buffer, by hand", () => {
  const state = { mb: 4, buffer: 1, cpu: 10, link: 4 };
  const { fills, held, pageable, pinned: direct } = pinned.numbers(changed(pinned, state));
  // The third piece needs the half whose piece the link has sent after 350 µs.
  close(fills.map(({ start }) => start), [0, 100e-6, 350e-6, 600e-6]);
  close([held, pageable, direct], [700e-6, 1100e-6, 1000e-6]);
  includes(formula(pinned, state), "the link sets the pace", "100 µs + 1 ms = 1.1 ms");
});

test("an array that fits into half of the buffer is copied twice, one after the other", () => {
  const { held, pageable } = pinned.numbers(changed(pinned, { mb: 0.5, buffer: 1, cpu: 5, link: 5 }));
  close([held, pageable], [100e-6, 200e-6]);
});

test("the last piece is smaller", () => {
  const { fills } = pinned.numbers(changed(pinned, { mb: 2.5, buffer: 1, cpu: 10, link: 10 }));
  close(fills.map(({ start, end }) => end - start), [100e-6, 100e-6, 50e-6]);
});

test("the drawing has the pieces that have begun", () => {
  const state = changed(pinned, { mb: 4, buffer: 1, cpu: 4, link: 10 });
  const counts = (svg) => ["s2", "s1", "idle"].map((kind) => plain(svg).split(`class="${kind}"`).length - 2);
  assert.deepEqual(counts(pinned.draw(state, 640)), [4, 5, 1]); // besides the legend
  // After half of 1.1 ms, the third piece is being copied, and two are on the link or sent.
  assert.deepEqual(counts(pinned.draw(state, 640, { from: state, part: 0.5 })), [3, 3, 1]);
});
