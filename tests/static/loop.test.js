/* The figure of the trainer's loop: its counts beside a loop that is run, and the section's
 * numbers. */
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");

const { figures, read, first, changed } = require("./support.js");
const { plain, result, formula, close, includes, grid, range } = require("./support.js");

const { loop } = figures;

/** Return the events of a fit, in order. */
const runLoop = (epochs, train, val) => [
  "model",
  "fit",
  ...range(epochs).flatMap(() => [
    ...range(train).flatMap(() => ["batch", "before", "step", "after"]),
    ...range(val).flatMap(() => ["valBatch", "valStep"]),
    "epoch",
  ]),
];

test("the counts at each time are those of a loop that runs", () => {
  for (const state of grid({ batch: [256, 1024], epochs: [1, 3], data: ["digits"] })) {
    const [train, val] = [1437, 360].map((images) => Math.ceil(images / state.batch));
    const events = runLoop(state.epochs, train, val);
    assert.equal(loop.callsOf(state), events.length);
    for (let done = 0; done <= events.length; done += 1) {
      const { counts, next } = loop.countsAt(state, done);
      for (const [name, count] of Object.entries(counts))
        assert.equal(count, events.slice(0, done).filter((event) => event === name).length, `${name} ${done}`);
      if (done < events.length) assert.equal(next, events[done], `${done}`);
    }
  }
});

test("the numbers of the section", () => {
  const one = loop.numbers(changed(loop, { epochs: 1 }));
  assert.equal(one.counts.batch, 23); // 46 copies for training
  const large = loop.numbers(changed(loop, { epochs: 1, data: "large", batch: 128 }));
  assert.equal(large.counts.batch, 469);
  close(large.bytes - 10000 * 96 ** 2 * 4, 2.211840e9);
  assert.match(read("outputs/cpu/pytorch/chapter_gpus/trainer.ipynb"), /469 minibatches, 45 MB once and 2\.2 GB/);
  assert.equal(large.model, 45e6);
});

test("ten epochs of the digits by hand", () => {
  // 23 + 6 minibatches, two copies each: 580 of 10 µs; 17,970 images of 256 bytes.
  const { counts, copies, bytes, starts, transfer } = loop.numbers(first(loop));
  assert.deepEqual([counts.model, counts.batch, counts.valBatch, counts.epoch], [1, 230, 60, 10]);
  close([copies, bytes, starts, transfer], [580, 4600320, 5.8e-3, 4600320 / 64e9]);
  includes(result(loop, {}), "the model moves once, with 19 kB, and 290 minibatches", "pay for the number of copies.");
  includes(result(loop, { data: "large", batch: 128 }), "you pay for the bytes.");
  includes(formula(loop, {}), "⌈1437 / 64⌉ + ⌈360 / 64⌉ = 23 + 6", "10 · 2 · 29 = 580");
});

test("the mark is at the line that runs, and leaves at the end", () => {
  const state = changed(loop, { batch: 1024, epochs: 1 });
  const marks = (part) => loop.draw(state, 640, { from: state, part }).match(/<path[^>]*class="head"/g) ?? [];
  const places = [0, 2, 4].map((done) => marks((done + 0.5) / loop.callsOf(state)).join());
  assert.equal(new Set(places).size, 3);
  assert.ok(places.every(Boolean));
  assert.deepEqual(marks(1), []);
  includes(plain(loop.draw(state, 640, { from: state, part: 0 })), ">0<");
});
