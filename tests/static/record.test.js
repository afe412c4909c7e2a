/* The records of predictions: kinds, results, counts, and what is offered again. */
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");

const { KINDS, verdict } = require("../../static/guess.js");
const { kindOf, resultOf, worst, due, count, miss } = require("../../static/record.js");
const { typical } = require("../../static/tally.js");

const DAY = 24 * 3600 * 1000;

for (const [unit, kind] of [
  ["ms", "time"],
  ["hours", "time"],
  ["MiB", "bytes"],
  ["bit", "bytes"],
  ["GB/s", "rate"],
  ["TFLOP/s", "rate"],
  ["GFLOP", "count"],
  ["percent", "count"],
  ["", "count"],
])
  test(`${unit || "no unit"} is of the kind ${kind}`, () => {
    assert.equal(kindOf(unit, KINDS), kind);
  });

for (const [numbers, result] of [
  [[25, undefined, 25], "right"],
  [[24, undefined, 20, "output", true], "close"],
  [[24, 24, 20], "close"],
  [[25, undefined, 20], "missed"],
  [["yes", undefined, "yes"], "right"],
  [["yes", undefined, "no"], "missed"],
])
  test(`${numbers} is ${result}`, () => {
    assert.equal(resultOf(verdict(...numbers)), result);
  });

test("the worst of several verdicts counts", () => {
  assert.equal(worst(["right", "too small", "close: the output is 1.2 times"]), "too small");
  assert.equal(worst(["right", "right"]), "right");
});

const MISSED = { result: "missed", kind: "time", when: 5 * DAY };
const ENTRIES = {
  "a.html How many?": { ...MISSED, when: 6 * DAY },
  "b.html How many?": MISSED,
  "b.html Which one?": { ...MISSED, result: "right", kind: "choice" },
};

test("a missed question is offered on another page, and on its own after a day", () => {
  const [a, b] = Object.keys(ENTRIES);
  assert.deepEqual(due(ENTRIES, "c.html", 6 * DAY), [b, a]); // the oldest first
  assert.deepEqual(due(ENTRIES, "b.html", 5.9 * DAY), [a]);
  assert.deepEqual(due(ENTRIES, "b.html", 6.1 * DAY), [b, a]);
  assert.deepEqual(due({}, "b.html", 6 * DAY), []);
});

test("results are counted by name", () => {
  assert.deepEqual(count(ENTRIES, (key) => key.split(".")[0]), {
    a: { right: 0, close: 0, missed: 1 },
    b: { right: 1, close: 0, missed: 1 },
  });
  assert.deepEqual(Object.keys(count(ENTRIES, (_, kind) => kind)), ["time", "choice"]);
});

for (const [entry, words] of [
  [{ kind: "time", verdict: "too small by a factor of 4" }, "You were off by a factor of 4"],
  [{ kind: "choice", verdict: "not so" }, "You chose another answer"],
  [{ kind: "count", verdict: "too large" }, "You missed this one"],
])
  test(`the verdict "${entry.verdict}" reads "${words}"`, () => {
    assert.equal(miss(entry), words);
  });

test("a typical factor does not depend on the direction", () => {
  assert.equal(typical([2, 0.5]), 2);
  assert.equal(typical([4, 1]), 2);
  assert.equal(typical([1]), 1);
});
