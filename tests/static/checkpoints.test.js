/* The figure of the checkpoints: its arithmetic beside the section's, and a day by hand. */
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");

const { load, library, figures, first, changed } = require("./support.js");
const { plain, result, formula, close, includes, grid, sum } = require("./support.js");

const checkpoint = load("checkpoint-arithmetic");
const { checkpoints } = figures;

const MEAN = (54 * 24 * 60) / 419;

test("the lost share is that of the section's function", () => {
  assert.equal(library.saves.length, 12);
  for (const { times, interval, save, share } of library.saves)
    close(checkpoint.lostShare(times, interval, save), share);
});

test("the average is what many failures come close to", () => {
  const times = checkpoint.failures(3, 186, 186 * 40000);
  close(sum(times) / times.length, 186, { rel: 0.02 });
  const shares = grid({ interval: [2, 19, 60, 240], save: [0.1, 1, 5] });
  for (const { interval, save } of shares) {
    const [mean, drawn] = [
      checkpoint.meanLostShare(interval, save, 186),
      checkpoint.lostShare(times, interval, save),
    ];
    close(drawn, mean, { rel: 0.03, abs: 0.005 }, `${interval} ${save}`);
  }
  // By hand: half of a mean passes to the end of a save, so 1 - 0.4 / (e^0.5 - 1).
  close(checkpoint.meanLostShare(40, 10, 100), 1 - 0.4 / (Math.sqrt(Math.E) - 1));
});

test("the formula is that of the section", () => {
  close(checkpoint.formulaShare(19, 1, 186), 1 / 19 + 19 / 372);
  close(checkpoint.bestInterval(1, 186), Math.sqrt(372));
  const best = checkpoint.bestInterval(1, MEAN);
  for (const factor of [0.5, 2]) {
    const [near, far] = [best, factor * best].map((t) => checkpoint.formulaShare(t, 1, MEAN));
    close(far, 1.25 * near);
  }
});

test("a run by hand", () => {
  // Saves of 1 after 4; failures at 11 and 12, and at 20, after the end at 19.
  const spans = checkpoint.runWithFailures([11, 1, 8], 4, 1, 19);
  const told = spans.map(({ kind, start, end }) => `${kind} ${start}-${end}`);
  assert.deepEqual(told, [
    ...["work 0-4", "save 4-5", "work 5-9", "save 9-10", "lost 10-11", "lost 11-12"],
    ...["work 12-16", "save 16-17", "work 17-19"],
  ]);
  assert.deepEqual(checkpoint.timeOfKinds(spans), { work: 14, save: 3, lost: 2 });
  assert.deepEqual(checkpoint.timeOfKinds(spans, 10.5), { work: 8, save: 2, lost: 0.5 });
});

test("a failure during a save destroys the work before it", () => {
  const spans = checkpoint.runWithFailures([4.5, 100], 4, 1, 9.5);
  assert.deepEqual(checkpoint.timeOfKinds(spans), { work: 4, save: 1, lost: 4.5 });
});

test("each day is full, and the failures have the same order on more GPUs", () => {
  const controls = { interval: [2, 19, 240], save: [5, 300], gpus: [2048, 131072], day: ["1", "7"] };
  for (const state of grid(controls)) {
    const { spans, sums, times } = checkpoints.numbers(changed(checkpoints, state));
    close(sums.work + sums.save + sums.lost, 1440);
    spans.slice(1).forEach(({ start }, i) => close(start, spans[i].end));
    const lost = spans.filter(({ kind }) => kind === "lost");
    assert.equal(lost.length, times.length - 1);
    const fewer = checkpoints.numbers(changed(checkpoints, { ...state, gpus: 2048 })).times;
    close((times[0] * state.gpus) / 2048, fewer[0]);
  }
});

test("the finding of the section", () => {
  const { best, average, formula: of } = checkpoints.numbers(first(checkpoints));
  assert.equal(Math.round(best), 19);
  assert.equal(Math.round(100 * of(best)), 10);
  assert.equal(Math.round(100 * average(best)), 10);
  includes(result(checkpoints, {}), "10 % with the formula’s 19 min.");
  includes(formula(checkpoints, { interval: 19 }), "√(2 · 1 · 186) = 19 min");
  // 100 percent more machines and saves that are half as long leave the loss as it is.
  const doubled = checkpoints.numbers(changed(checkpoints, { gpus: 32768, save: 30 }));
  close(doubled.best, best / 2);
  close(doubled.formula(doubled.best), of(best));
});

test("the drawing of a day shows what has passed", () => {
  const state = first(checkpoints);
  const count = (part) => {
    const svg = checkpoints.draw(state, 640, part ? { from: state, part } : undefined);
    return (svg.match(/class="bad"/g) ?? []).length - 1; // without that of the legend
  };
  const { times } = checkpoints.numbers(state);
  assert.equal(count(), times.length - 1);
  assert.ok(count(0.01) < count(0.5) && count(0.5) < count());
  const half = plain(checkpoints.draw(state, 640, { from: state, part: 0.5 }));
  const [, kept] = half.match(/kept: ([\d.]+) h/);
  assert.ok(Number(kept) > 8 && Number(kept) < 12);
});

test("another day has other failures", () => {
  const [, another] = checkpoints.actions;
  const next = another.run(first(checkpoints));
  assert.notDeepEqual(checkpoints.numbers(next).times, checkpoints.numbers(first(checkpoints)).times);
  assert.equal(another.run({ ...next, day: "99" }).day, "1");
});
