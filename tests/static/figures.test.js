/* What holds for every figure: its picture, its words, and drawings of all settings. */
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");

const { NAMES, ROOT, load, read, library, figures, first, changed, plain } = require("./support.js");
const { randomNumbers, valuesOf } = require("./support.js");

const { svgOf } = require(`${ROOT}/img/src/still.js`);
test("figures are found", () => assert.ok(NAMES.length > 10 && NAMES.includes("queue")));

const WRONG = /NaN|undefined|Infinity|null/;

for (const name of NAMES)
  test(`the picture of ${name} is what its script draws`, () => {
    const picture = svgOf(name);
    assert.equal(picture, read(`img/${name}.svg`));
    assert.ok(read(`img/src/${name}.js`).includes(`require("./still.js")("${name}")`));
    assert.doesNotMatch(picture, /var\(|NaN| style=/);
    assert.ok(Number(picture.match(/ width="(\d+)"/)[1]) <= 640);
  });

test("figures have the cards and the prices of the library", () => {
  assert.deepEqual(load("cards").cards, library.cards);
  assert.deepEqual(load("prices").prices, library.prices);
});

/** Return the state after a change of one control of a figure. */
const after = (spec, state, id, value) => {
  const next = { ...state, [id]: value };
  return spec.settle ? spec.settle(next, id) : next;
};

/** Return the controls that could not be set to their value in a state. */
const invalid = (spec, state) =>
  spec.controls.filter((control) => {
    const { id, kind, values, min, max } = control;
    if (kind === "select") return !valuesOf(control).includes(state[id]);
    if (kind !== "range") return false;
    return values ? !values.includes(state[id]) : state[id] < min || state[id] > max;
  });

for (const name of NAMES)
  test(`all settings of ${name} are drawn and told in one sentence`, () => {
    const spec = figures[name];
    const state = first(spec);
    for (const control of spec.controls)
      for (const value of valuesOf(control)) {
        const next = after(spec, state, control.id, value);
        assert.deepEqual(invalid(spec, next), [], `${control.id} ${value}`);
        const drawings = [256, 400, 720].flatMap((width) => [
          spec.draw(next, width),
          spec.draw(next, width, { from: state, part: 0.4 }),
          spec.draw(next, width, undefined, state),
        ]);
        const words = [spec.summary(next), ...spec.formula(next), ...spec.notes(next)];
        const table = spec.table ? [spec.table(next).rows] : [];
        assert.doesNotMatch([...drawings, ...words, ...table].join(), WRONG);
        if (control.kind !== "text") checkSentence(spec.result(next));
      }
  });

const checkSentence = (result) => {
  const text = plain(result);
  assert.match(text, /^[A-Z0-9].*[^.]\.$/);
  assert.doesNotMatch(text, /\. [A-Z]/);
  assert.ok(text.length <= 180, text);
};

test("two devices tell every action in one sentence", () => {
  const spec = figures["two-devices"];
  for (const framework of ["pytorch", "mxnet", "jax", "tensorflow"])
    for (const did of ["", "add", "copy", "fetch", "copy-fetch"])
      checkSentence(spec.result({ ...first(spec), framework, did }));
});

// The tests above change a setting at a time; here many change.
for (const name of ["roofline", "sectors", "warps", "collectives", "plans", "turns", "decide"])
  test(`combined settings of ${name} are drawn`, () => {
    const spec = figures[name];
    const next = randomNumbers();
    const pick = (list) => list[Math.floor(next() * list.length)];
    for (let i = 0; i < 400; i += 1) {
      let state = first(spec);
      for (const control of spec.controls) {
        const values = control.id === "round" ? ["0", "3", "30"] : valuesOf(control);
        if (next() < 0.6) state = after(spec, state, control.id, pick(values));
      }
      const before = state;
      for (const { run } of spec.actions ?? []) if (next() < 0.2) state = run(state);
      const drawings = [
        spec.draw(state, pick([256, 560])),
        spec.draw(state, 400, { from: before, part: next() }),
      ];
      const words = [spec.summary(state), spec.result(state), ...spec.formula(state)];
      assert.doesNotMatch([...drawings, ...words, spec.table(state).rows].join(), WRONG);
      if (["collectives", "plans"].includes(name))
        assert.doesNotMatch(spec.draw(state, 320), /="-|e[+-]\d/);
    }
  });

for (const [name, mark, changes] of [
  ["queue", /<text [^>]*class="soft small" text-anchor="middle">[^<]*/g, [{ every: 1 }, { every: 4 }, { every: 0 }]],
  ["plans", /<path [^>]*class="dashed"/g, [{ zero: "0" }, { zero: "3" }]],
  ["memory-timeline", /<path [^>]*class="dashed"/g, [{ attention: "plain" }, { attention: "fused" }]],
])
  test(`the axis of ${name} stays, and the setting before is marked`, () => {
    const states = changes.map((change) => changed(figures[name], change));
    const drawings = states.map((state) => figures[name].draw(state, 640));
    const marks = drawings.map((svg) => svg.match(mark));
    for (const found of marks) assert.deepEqual(found, marks[0]);
    assert.equal(new Set(drawings).size, changes.length);
    assert.ok(drawings.every((svg) => !svg.includes('class="last"')));
    assert.match(figures[name].draw(states[1], 640, undefined, states[0]), /class="last"/);
  });

for (const name of ["collectives", "plans"])
  test(`${name} does not move by itself`, () => {
    const code = read(`static/explorables/${name}.js`);
    assert.doesNotMatch(code, /setTimeout|setInterval|requestAnimationFrame|<animate/);
  });

test("a wrong setting of a figure is named", () => {
  const { begin } = load("controls");
  assert.equal(begin(figures.queue, "host=50000&every=2").host, 50000);
  // The closest of a range, and of a list
  assert.equal(begin(figures.queue, "host=1e9").host, 1e5);
  assert.equal(begin(figures.queue, "every=20").every, 12);
  const begins = (given) => () => begin(figures.queue, given);
  assert.throws(begins("hots=3"), /queue has no setting hots=3/);
  assert.throws(begins("host=fast"), /queue has no setting host=fast/);
});

for (const [name, id, menu] of [
  ...[["worth-moving", "link", "machine"], ["memory-timeline", "capacity", "card"]],
  ...[["queue", "host", "preset"], ["roofline", "memory", "machine"], ["roofline", "rate", "machine"]],
])
  test(`the slider ${id} of ${name} leaves the preset`, () => {
    const spec = figures[name];
    assert.equal(after(spec, first(spec), id, 5)[menu], "own");
  });

test("each position of a slider has a value of its own", () => {
  const { logRange, steps, range, positions, toPosition, toValue } = load("controls");
  const apart = logRange("x", "X", [0.1, 1000], 1, String);
  assert.deepEqual([0, 120, 240].map((i) => toValue(apart, i)), [0.1, 10, 1000]);
  for (const control of [apart, steps("x", "X", [1, 7, 3], 1), range("x", "X", [5, 9, 2], 5)]) {
    const { min, max, step } = positions(control);
    for (let i = min; i <= max; i += step)
      assert.equal(toPosition(control, toValue(control, i)), i);
  }
});

test("a preset that is left is one's own, until its settings are back", () => {
  const spec = figures.sectors;
  const column = changed(spec, { preset: "column" }, "preset");
  assert.deepEqual([column.stride, column.size, column.offset], [32, "4", 0]);
  assert.equal(spec.settle({ ...column, stride: 31 }, "stride").preset, "own");
  assert.equal(spec.settle({ ...column, preset: "own" }, "stride").preset, "column");
  const bench = figures.collectives;
  const nvlink = changed(bench, { machine: "nvlink", slow: "none" }, "machine");
  assert.deepEqual([nvlink.n, nvlink.width, nvlink.latency], [8, 450, 3.4]);
  assert.equal(bench.settle({ ...nvlink, n: 7 }, "n").machine, "own");
  const kernel = changed(figures.warps, { kernel: "h100-64" }, "kernel");
  assert.deepEqual([kernel.card, kernel.registers, kernel.rows], ["h100", 64, "64"]);
  assert.equal(figures.warps.settle({ ...kernel, warps: 5 }, "warps").kernel, "own");
});
