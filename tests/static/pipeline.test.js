/* The figure of the pipeline: its schedules beside the library's, and a step by hand. */
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");

const { load, library, figures, first, changed } = require("./support.js");
const { plain, result, formula, close, includes, grid, sum } = require("./support.js");

const arithmetic = load("pipeline-arithmetic");
const { pipeline } = figures;

test("the schedules are those of the library", () => {
  assert.equal(library.pipelines.length, 64);
  for (const { arguments: [schedule, stages, microbatches, backward], times } of library.pipelines) {
    const spans = arithmetic.times(schedule, stages, microbatches, 1, backward);
    const found = spans.map((list) => list.map(({ kind, start, end }) => [kind, start, end - start]));
    assert.deepEqual(found, times, `${schedule} ${stages} ${microbatches} ${backward}`);
  }
});

test("a step takes what the formula says, in both orders", () => {
  for (const state of grid({ microbatches: [1, 2, 8, 32], stages: [2, 4, 8], backward: [1, 1.5, 3] }))
    for (const { spans, total } of pipeline.runs(state)) {
      const { microbatches: m, stages: p, backward } = state;
      close(total, (m + p - 1) * (1 + backward));
      for (const list of spans) {
        const busy = sum(list.map(({ start, end }) => end - start));
        close(1 - busy / total, arithmetic.bubble(p, m));
        list.slice(1).forEach(({ start }, i) => assert.ok(start >= list[i].end));
      }
    }
});

test("a stage holds what the section says", () => {
  for (const state of grid({ microbatches: [1, 3, 8, 32], stages: [2, 4, 8] })) {
    const { microbatches: m, stages: p } = state;
    const [gpipe, other] = pipeline.runs({ ...state, backward: 2 });
    assert.deepEqual(gpipe.most, Array(p).fill(m));
    assert.deepEqual(other.most, other.most.map((_, s) => Math.min(m, p - s)));
  }
});

test("two stages and two microbatches by hand", () => {
  // 1F1B: stage 0 F0 F1 at 0, 1, B0 at 4 and B1 at 7; stage 1 F0 1, B0 2, F1 4, B1 5.
  const [first, second] = arithmetic.times("1F1B", 2, 2);
  const told = (list) => list.map(({ kind, number, start }) => `${kind[0]}${number} ${start}`).join();
  assert.deepEqual([told(first), told(second)], ["f0 0,f1 1,b0 4,b1 7", "f0 1,b0 2,f1 4,b1 5"]);
  const held = [0, 1, 3.9, 6, 7, 9].map((now) => arithmetic.held(first, now));
  assert.deepEqual(held, [1, 2, 2, 1, 1, 0]);
});

test("the finding of the section", () => {
  const found = result(pipeline, {});
  includes(found, "idle for 27 % of a step, in both orders", "2.9 busy GPUs");
  includes(found, "GPipe holds all 8 at once, and 1F1B at most 4.");
  includes(formula(pipeline, {}), "= 33 forward passes", "3 / 11 = 27 %", "4 / 8 = 50 %");
  includes(result(pipeline, { microbatches: 1 }), "as fast as 1 busy GPU; both orders hold at most 1.");
});

test("the drawing of a step shows what is held at the time", () => {
  const state = first(pipeline);
  // After 13 of 33 passes, the last stage of GPipe has finished a backward pass.
  const svg = plain(pipeline.draw(state, 640, { from: state, part: 13 / 33 }));
  includes(svg, ">held<");
  const runs = pipeline.runs(state).map(({ spans }) => spans.map((list) => arithmetic.held(list, 13)));
  assert.deepEqual(runs, [[8, 8, 8, 7], [4, 3, 2, 1]]);
  const wide = changed(pipeline, { microbatches: 32, stages: 8 });
  const passes = pipeline.draw(wide, 320).match(/class="s[13]"/g).length;
  assert.equal(passes, 2 * 8 * 64 + 2); // with those of the legend
});
