/* Predictions as readers type them: numbers, units, and what is said about them. */
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");

const { close, library } = require("./support.js");
const { KINDS, read, verdict } = require("../../static/guess.js");
const { verdictOnLine } = require("../../static/sketch.js");

test("readers may use the units of the book, with the same values", () => {
  const sorted = (kinds) => kinds.map((units) => Object.entries(units).sort()).sort();
  const ours = KINDS.map((units) => Object.fromEntries(units));
  delete ours.at(-1)[""]; // a number without a unit
  assert.deepEqual(sorted(ours), sorted(library.units));
});

for (const [typed, unit, value, words] of [
  ["25", "MiB", 25, "25 MiB"],
  ["25.0", "", 25, "25.0"],
  [" 25 MiB ", "MiB", 25, "25 MiB"],
  ["26.2 MB", "MiB", 24.986, "26.2 MB = 25.0 MiB"],
  ["26,2 mb", "MiB", 24.986, "26,2 mb = 25.0 MiB"],
  ["26200 kB", "MiB", 24.986, "26200 kB = 25.0 MiB"],
  ["0.025 GiB", "MiB", 25.6, "0.025 GiB = 25.6 MiB"],
  ["2 megabytes", "kB", 2000, "2 megabytes = 2000 kB"],
  ["3180 us", "ms", 3.18, "3180 us = 3.18 ms"],
  ["0.003 s", "ms", 3, "0.003 s = 3.00 ms"],
  ["1.5 min", "s", 90, "1.5 min = 90.0 s"],
  ["64 GB/s", "TB/s", 0.064, "64 GB/s = 0.0640 TB/s"],
  ["0.15 PFLOP/s", "TFLOP/s", 150, "0.15 PFLOP/s = 150 TFLOP/s"],
  ["150 TFLOPS", "TFLOP/s", 150, "150 TFLOP/s"],
  ["0.8 %", "percent", 0.8, "0.8 percent"],
  ["87 %", "", 0.87, "87 % = 0.870"],
  ["1.5x", "times", 1.5, "1.5 times"],
])
  test(`"${typed}" is read in ${unit || "ones"}`, () => {
    const found = read(typed, unit);
    close(found.value, value, { rel: 1e-3 });
    assert.equal(found.words, words);
  });

for (const [typed, value] of [
  ["25,0", 25],
  ["0,125", 0.125],
  [",5", 0.5],
  ["3,25125", 3.25125],
  ["1,234", 1234],
  ["1,234.5", 1234.5],
  ["1.234,5", 1234.5],
  ["1 234,5", 1234.5],
  ["1’234’567", 1234567],
  ["1.234.567", 1234567],
  ["460,032", 460032],
  ["3,75e-2", 0.0375],
  ["2·10^3", 2000],
  ["≈ 7", 7],
])
  test(`"${typed}" is ${value}`, () => close(read(typed, "").value, value));

test("a comma is echoed, because it has two meanings", () => {
  assert.equal(read("25,0", "MiB").words, "25,0 = 25 MiB");
  assert.equal(read("1,234", "MiB").words, "1,234 = 1234 MiB");
});

for (const [typed, unit, reason] of [
  ["", "MiB", "Type a number, or show the output."],
  ["-3", "MiB", "not negative"],
  ["−3 MB", "MiB", "not negative"],
  ["twenty", "MiB", "“twenty” is not a number. Type one such as 7 MiB."],
  ["12 5", "MiB", "“12 5” is not a number"],
  ["1,0,0", "", "“1,0,0” is not a number. Type one such as 7."],
  ["1e999", "s", "is not a number"],
  ["10-20", "ms", "“-20” does not fit"],
  ["5 ms", "MiB", "The question asks for a number of MiB, and “ms” does not fit."],
  ["5 ms", "", "The question asks for a number without a unit, and “ms” does not fit."],
  ["5 bananas", "ms", "“bananas” does not fit"],
])
  test(`"${typed}" for ${unit || "ones"} is refused with a reason`, () => {
    const { value, problem } = read(typed, unit);
    assert.equal(value, undefined);
    assert.ok(problem.includes(reason), problem);
  });

test("zero may be typed", () => {
  assert.deepEqual(read("0 MiB", "MiB"), { value: 0, words: "0 MiB" });
});

test("a word of the question may follow the number if it is no unit", () => {
  assert.equal(read("1.5 S", "times", "How many times S does it send?").value, 1.5);
  assert.ok(read("3 GB", "ms", "How many ms does it take at 64 GB/s?").problem);
  assert.equal(read("16 sectors", "", "How many sectors does it need?").value, 16);
  assert.ok(read("16 warps", "", "How many sectors does it need?").problem);
});

for (const [numbers, words] of [
  [[25, 21, 25], "right"],
  [[24, 21, 25], "right"],
  [[21, 21, 25], "like the arithmetic; the output is 1.2 times as large"],
  [[3.2, 3.18, 4], "like the arithmetic; the output is 1.3 times as large"],
  [[18, 18, 15], "like the arithmetic; the output is smaller by a factor of 1.2"],
  [[19.5, 21, 25], "too small by a factor of 1.3"],
  [[250, 21, 25], "too large by a factor of 10"],
  [[0.001, undefined, 25], "too small by a factor of 25000"],
  [[0, undefined, 0], "right"],
  [[0, 21, 25], "too small"],
  [[3, undefined, 0], "too large"],
  [[21, 21, 25, "output", true], "close: the output is 1.2 times as large"],
  [[25, 25, 21, "output", true], "close: the output is smaller by a factor of 1.2"],
  [[25, 25, 20, "output", true], "like the arithmetic; the output is smaller by a factor of 1.3"],
  [
    [165, 165.2, 119.6, "published number"],
    "like the arithmetic; the published number is smaller by a factor of 1.4",
  ],
])
  test(`${numbers[0]} is "${words}"`, () => {
    assert.equal(verdict(...numbers), words);
  });

test("a choice is right or not", () => {
  assert.equal(verdict("a copy", undefined, "a copy"), "right");
  assert.equal(verdict("a copy", undefined, "an error"), "not so");
});

test("items are in place or not", () => {
  const inOrder = (text) => verdict(text, undefined, "a → b → c");
  assert.equal(inOrder("a → b → c"), "right");
  assert.equal(inOrder("a → c → b"), "1 of 3 in place");
  assert.equal(inOrder("b → c → a"), "0 of 3 in place");
});

for (const [yours, output, varies, words] of [
  [[40, 20, 40], [39, 20, 40], false, "falls, then rises; so does yours. Yours is right everywhere."],
  [[30, 30, 30], [10, 20, 30], false, "rises; yours stays level. Yours is off the most at n = 1, too large by a factor of 3."],
  [[10, 11, 12], [12, 11, 12], true, "stays level; so does yours. Yours is close everywhere."],
  [[10, 30, 12], [10, 10, 30], true, "stays level, then rises; yours rises, then falls. Yours is off the most at n = 2, too large by a factor of 3."],
  [[0, 2, 3], [1, 2, 3], false, "rises; so does yours. Yours is off the most at n = 1, too small."],
])
  test(`the line ${yours} beside ${output} ${words}`, () => {
    const compared = yours.map((value, i) => ({ value, output: output[i], varies }));
    const names = ["n = 1", "n = 2", "n = 3"];
    assert.equal(verdictOnLine(compared, names), `The line of the output ${words}`);
  });
