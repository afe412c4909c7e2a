/* The figure of published measurements: its statistics, its points, and the reader's own. */
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");

const { load, library, figures, close, changed, result, plain, includes } = require("./support.js");

const audit = load("audit-arithmetic");
const { published } = load("published");
const spec = figures.audit;
const EXACT = { rel: 1e-4 }; // the data have five digits

/** Return data with one kind, of rows [model, value, unit, predicted]. */
const data = (rows, unit = "GB") => ({
  columns: ["model", "value", "unit"],
  rows: rows.map((row) => row.slice(0, 3)),
  scales: { GB: 1e9, GiB: 2 ** 30 },
  kinds: { memory: { unit, predicted: rows.map((row, i) => [i, row[3]]) } },
});

test("points are in the unit of their kind, and the worst comes first", () => {
  const found = audit.points(data([["a", 2, "GB", 3], ["b", 1, "GiB", 0.25]]), "memory");
  assert.deepEqual(found.map(({ model, ratio }) => [model, ratio]), [["b", 0.25], ["a", 1.5]]);
  close([found[0].x, found[0].y], [1.073741824, 0.268435456]);
});

test("a summary by hand", () => {
  const rows = [1, 2, 4, 8, 16].map((ratio) => ({ ratio, source: ratio < 4 ? "a" : "b" }));
  const found = audit.summarize([...rows, { ratio: 0.9, source: "a" }]);
  assert.deepEqual([found.rows, found.sources, found.broken], [6, 2, 1]);
  close([found.median, found.within_quarter, found.within_double], [3, 2 / 6, 3 / 6]);
  close([found.low, found.high], [0.95, 12]);
  const [least, most, many] = audit.spread(found);
  assert.deepEqual([least, most, many], [0.9, 16, "all 6"]);
  const more = audit.summarize([...rows, ...rows]);
  assert.deepEqual(audit.spread(more), [more.low, more.high, "eight of ten"]);
});

test("the range of a few rows has all of them", () => {
  const [low, high] = ["least", "most"].map((end) => library.summaries.bandwidth[end]);
  const found = plain(result(spec, { kind: "bandwidth" }, "kind"));
  includes(found, `where all 9 are between ${low.toFixed(2)} and ${high.toFixed(2)}`);
});

test("the summaries are those of the library", () => {
  const { summaries } = library;
  assert.ok(Object.keys(summaries).length > 10);
  for (const [kind, expected] of Object.entries(summaries))
    for (const [name, x] of Object.entries(expected))
      if (typeof x === "number" && spec.SUMMARIES[kind])
        close(spec.SUMMARIES[kind][name], x, EXACT, `${kind}: ${name}`);
});

test("kinds are bounds or estimates as in the library", () => {
  for (const [kind, { broken }] of Object.entries(library.summaries))
    assert.equal(spec.BOUNDS.includes(kind), broken !== null, kind);
});

test("the most frequent values have marks of their own", () => {
  const found = ["x", "y", "y", "z", "z", "z"].map((card) => ({ card }));
  const { names, numberOf, hasOthers } = audit.groups(found, "card", 2);
  assert.deepEqual(names, ["z", "y"]);
  assert.deepEqual(found.map(numberOf), [2, 1, 1, 0, 0, 0]);
  assert.equal(hasOthers, true);
});

test("only a number above 0 is a value", () => {
  assert.equal(audit.parseValue("12,500"), 12500);
  assert.equal(audit.parseValue(" 0.5 "), 0.5);
  for (const text of ["", "0", "-3", "fast", "1e999"])
    assert.equal(audit.parseValue(text), undefined, text);
});

test("a point that is off by more than a factor of 2 names the missing term", () => {
  const row = { settings: "16 bits", program: "litgpt", id: "x" };
  assert.match(audit.missing("decode", { ...row, ratio: 3 }), /time of calls/);
  assert.equal(audit.missing("decode", { ...row, ratio: 1.9 }), "");
  assert.match(audit.missing("peak-share", { ...row, ratio: 0.4 }), /larger part/);
  assert.match(audit.missing("peak-share", { ...row, ratio: 2.5 }), /attention/);
  assert.equal(audit.missing("bandwidth", { ...row, ratio: 2.5 }), "");
});

test("each row that the text names is a point of its kind", () => {
  const plays = library.plays.filter(({ settings }) => /audit\.row/.test(settings));
  assert.ok(plays.length > 8);
  for (const { settings } of plays) {
    const given = new URLSearchParams(settings.replaceAll("audit.", ""));
    const ids = spec.POINTS[given.get("kind")].map(({ id }) => id);
    assert.ok(ids.includes(given.get("row")), settings);
  }
});

test("a kind begins with its worst point, and a point of another kind is left", () => {
  const decode = changed(spec, { kind: "decode" }, "kind");
  assert.equal(decode.row, spec.POINTS.decode[0].id);
  assert.equal(spec.settle({ ...decode, kind: "product" }, "kind").row, spec.POINTS.product[0].id);
  assert.equal(spec.settle({ ...decode, kind: "all" }, "kind").row, "");
  const [next, previous] = spec.actions.map(({ run }) => run);
  assert.equal(next(decode).row, spec.POINTS.decode[1].id);
  assert.equal(previous(decode).row, spec.POINTS.decode.at(-1).id);
  assert.equal(previous(next(decode)).row, decode.row);
});

test("a click chooses a kind, and then a point", () => {
  const state = spec.touch(changed(spec, {}), "serving");
  assert.equal(state.kind, "serving");
  const { id } = spec.POINTS.serving[7];
  assert.equal(spec.touch(state, id).row, id);
});

test("a point shows its setting, its source and its missing term", () => {
  const state = changed(spec, { kind: "decode" }, "kind");
  const [point] = spec.POINTS.decode;
  const told = spec.log(state).map(([, words]) => words).join(" ");
  includes(told, point.model, point.card, point.program, point.place, "missing term");
  includes(told, published.sources[point.source]);
  assert.ok(!told.includes("references.html")); // where no page has the entry
  globalThis.bookLoad = () => {};
  const linked = spec.log(state).map(([, words]) => words).join(" ");
  delete globalThis.bookLoad;
  includes(linked, `(references.html#${point.source.replaceAll(".", "-")})`);
});

test("an expected value stands beside the prediction", () => {
  const state = changed(spec, { kind: "decode" }, "kind");
  const [point] = spec.POINTS.decode;
  const { expected: before, predicted } = point;
  const told = (expected) => {
    point.expected = expected;
    return spec.log(state).map(([, words]) => plain(words)).join(" ");
  };
  includes(told(123.4), "Expected", "leaves out: 123.4 tokens/s.");
  for (const expected of [undefined, predicted])
    assert.ok(!told(expected).includes("Expected"));
  point.expected = before;
});

test("the reader's own value is compared, drawn, and kept for its point", () => {
  const start = changed(spec, { kind: "decode" }, "kind");
  const own = spec.settle({ ...start, own: "100" }, "own");
  const [point] = spec.POINTS.decode;
  const below = spec.POINTS.decode.filter(({ ratio }) => ratio < point.predicted / 100).length;
  includes(plain(spec.result(own)), "Your 100 tokens/s", `${below} of 94`);
  assert.ok(spec.draw(own, 640).includes("yours"));
  assert.ok(!spec.draw(start, 640).includes("yours"));
  const next = spec.actions[0].run(own);
  assert.equal(next.own, "");
  assert.ok(spec.draw(next, 640).includes("yours"));
  assert.equal(spec.actions[1].run(next).own, "100");
  const cleared = spec.settle({ ...own, own: "" }, "own");
  assert.ok(!spec.draw(cleared, 640).includes("yours"));
});

test("a value that beats a bound is doubted, and words are no value", () => {
  const start = changed(spec, { kind: "decode" }, "kind");
  const most = 1.1 * spec.POINTS.decode[0].predicted;
  const own = (text) => plain(spec.result(spec.settle({ ...start, own: text }, "own")));
  includes(own(String(most)), "beat a bound", "check the unit");
  includes(own("fast"), "Type a number above 0 in tokens/s");
  includes(result(spec, { kind: "all-reduce" }, "kind"), "measured, about");
});
