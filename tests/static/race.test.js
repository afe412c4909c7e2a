/* The race of a GPU and a CPU: the product in JavaScript, and the words for ratios. */
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");

const { load, figures, first, changed, plain, close, cited, randomNumbers } = require("./support.js");

const { multiplyRows } = load("experiments");
const { speed, COURSE, MATLAB, THREADS } = load("race");
const { race } = figures;

/** Return the product of n x n matrices, summed in 64 bits. */
const product = (a, b, n) =>
  Array.from({ length: n * n }, (_, at) => {
    let sum = 0;
    for (let k = 0; k < n; k += 1) sum += a[Math.floor(at / n) * n + k] * b[k * n + (at % n)];
    return sum;
  });

for (const n of [4, 64, 100])
  test(`the CPU multiplies ${n} x ${n} matrices, also in parts`, () => {
    const next = randomNumbers();
    const [a, b] = [0, 1].map(() => Float32Array.from({ length: n * n }, () => next() - 0.5));
    const expected = product(a, b, n);
    const [whole, parts] = [new Float32Array(n * n), new Float32Array(n * n)];
    multiplyRows(a, b, whole, n);
    multiplyRows(a, b, parts, n, 0, 3);
    assert.ok(parts.slice(3 * n).every((x) => x === 0));
    multiplyRows(a, b, parts, n, 3, n);
    close([...whole], expected, { abs: 1e-4 });
    assert.deepEqual(parts, whole);
  });

test("speed describes a ratio in words", () => {
  assert.deepEqual(
    [80.4, 1.004, 0.996, 1.1, 0.5, 1 / 15].map(speed),
    ["80 times as fast", "equally fast", "equally fast", "1.1 times as fast", "2 times as slow", "15 times as slow"],
  );
  // 20.7 ms over 5.56 ms, and 66.5 µs over 4.42 µs
  assert.deepEqual(
    [COURSE[1000], COURSE[1]].map(([cpu, gpu]) => speed(cpu / gpu)),
    ["3.7 times as fast", "15 times as slow"],
  );
});

const MEASURED = [
  { n: 64, cpu: 200e-6, gpu: 5e-6, all: 800e-6 },
  { n: 1024, cpu: 1, gpu: 2e-3, all: 5e-3 },
];

test("the result compares the way there and back with the predictions", () => {
  const state = changed(race, { small: 10, large: 100, measured: MEASURED });
  assert.equal(
    plain(race.result(state)),
    "There and back, your GPU is 4 times as slow for n = 64 (you said 10 times as fast), " +
      "and 200 times as fast for n = 1024 (you said 100 times as fast).",
  );
  const told = plain(race.formula(state).join(" "));
  assert.match(told, /CPU 200 µs; GPU 5 µs, 40 times as fast; there and back 800 µs, 4 times as slow/);
  assert.match(told, /2 · 1024³ = 2150 million operations/);
});

test("a ratio beyond the axis is drawn at its end", () => {
  const far = MEASURED.map((each) => ({ ...each, all: each.cpu * 1e9 }));
  for (const width of [256, 640]) {
    const drawn = race.draw({ ...first(race), measured: far }, width);
    const places = [...drawn.matchAll(/cx="([-\d.]+)"/g)].map((found) => Number(found[1]));
    assert.ok(Math.min(...places) >= 0 && Math.max(...places) <= width);
  }
});

test("paper shows what others measured, and a page only after a click", () => {
  const diamonds = (state) => race.draw(state, 640).split('class="s2 solid"').length - 1;
  const [toggle] = race.actions;
  const paper = first(race);
  assert.equal(diamonds(paper), 5); // with the one of the key
  assert.equal(diamonds(toggle.run(paper)), 1);
});

test("what others measured is cited", () => {
  const rows = cited("race-");
  for (const n of [1, 1000]) {
    const unit = n === 1 ? 1e-6 : 1e-3;
    close(COURSE[n], [rows[`cpu-${n}`] * unit, rows[`gpu-${n}`] * unit]);
  }
  assert.deepEqual(MATLAB, { 1000: rows["matlab-1000"], 10000: rows["matlab-10000"] });
  assert.deepEqual(THREADS, { one: rows["one-thread"], all: rows["all-threads"] });
});
