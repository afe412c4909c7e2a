/* The nine kernels to write: their first kernels, their solutions, and typical mistakes. */
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const { test } = require("node:test");

const { ROOT, load, read } = require("./support.js");
const { run } = require("./traces.js");
const { svgOf } = require("../../img/src/still.js");

const { GROUP, MOST, WORDS, refusals } = load("kernel-code");
const { judge } = load("kernel-judge");
const { RUNGS, markOf } = load("kernel-ladder");

const TASKS = Object.fromEntries(RUNGS.map(([name]) => [name, load(`task-${name}`)]));
const MOST_GROUPS = 65535; // in one dimension of a dispatch

/** Return the verdict on a kernel, the length of its record, and whether it is right. */
const verdict = async (name, code, size = TASKS[name].sizes[0]) => {
  const task = TASKS[name];
  const { input, result, records } = run(task, code, size);
  const right = task.expected(input, size);
  const isRight = result.every(
    (x, i) => Math.abs(x - right(i)) <= 1e-3 * Math.min(1, right(i)),
  );
  return { ...(await judge(task, size, records, async () => {})), isRight, count: records.length / WORDS };
};

// What the section derives
const SECTORS = {
  copy: { begin: 250, solution: 250 },
  row: { begin: 1032, solution: 1536 },
  neighbors: { begin: 562, solution: 256 },
  transpose: { begin: 4608, solution: 1024 },
  sum: { begin: 192, solution: 132 },
  prefix: { begin: 4736, solution: 256 },
  softmax: { begin: 98304, solution: 12288 },
  product: { begin: 33920, solution: 5248 },
  tiled: { begin: 4224, solution: 640 },
};
const LOADS = { copy: 1000, neighbors: 1006, product: 65536, tiled: 4096 };

for (const [name, task] of Object.entries(TASKS)) {
  test(`the solution of ${name} is right and touches the sectors that the task names`, async () => {
    for (const size of task.sizes) {
      const found = await verdict(name, task.solution, size);
      assert.ok(found.isRight, `N = ${size}`);
      assert.deepEqual([found.outside, found.races, found.unset], [[], [], []]);
      assert.ok(found.count < MOST, `${found.count} records`);
    }
    const { sectors, loads } = await verdict(name, task.solution);
    assert.deepEqual([sectors, task.least], [SECTORS[name].solution, task.least]);
    assert.equal(sectors, task.least);
    assert.equal(loads, LOADS[name] ?? loads);
    assert.deepEqual(refusals(task, task.solution), []);
  });

  test(`the first kernel of ${name} leaves something to do`, async () => {
    const { isRight, sectors, outside, races } = await verdict(name, task.begin);
    assert.equal(sectors, SECTORS[name].begin);
    const isDone = isRight && outside.length + races.length === 0 && sectors <= task.least;
    assert.ok(!isDone);
  });

  test(`the problems of ${name} have odd ends, and all fit into a dispatch`, () => {
    assert.ok(task.sizes.length >= 2);
    assert.ok(task.sizes.some((n) => n % 16 !== 0));
    for (const n of [...task.sizes, ...task.steps])
      assert.ok(Math.ceil(task.threads(n) / GROUP) <= MOST_GROUPS, `N = ${n}`);
  });
}

const without = (name, part, other = "") => {
  const { solution } = TASKS[name];
  assert.ok(solution.includes(part), part);
  return solution.replace(part, other);
};
const last = (name) => {
  const { solution } = TASKS[name];
  const at = solution.lastIndexOf("workgroupBarrier();");
  return solution.slice(0, at) + solution.slice(at + "workgroupBarrier();".length);
};

// At the edge, p and q are those of the tile before.
const STALE = without("tiled", "var p = 0.0;\n    var q = 0.0;").replace(
  "var s = 0.0;",
  "var s = 0.0; var p = 0.0; var q = 0.0;",
);

/** @type {[string, string, string, number, RegExp][]} */
const MISTAKES = [
  ["no guard", "copy", TASKS.copy.begin, 1000, /thread 1000 loads a\[1000\]/],
  ["the other index", "row", without("row", "i % N", "i / N"), 64, /wrong/],
  ["no barrier", "neighbors", without("neighbors", "workgroupBarrier();"), 1000, /loads tile/],
  ["no guard at the edge", "transpose", without("transpose", "left + x < N", "true"), 40, /loads a\[1600\]/],
  ["no barrier", "sum", without("sum", "workgroupBarrier();"), 1024, /loads tile/],
  ["the first barrier is missing", "prefix", without("prefix", "workgroupBarrier();"), 1024, /loads tile/],
  ["the second barrier is missing", "prefix", last("prefix"), 1024, /loads tile/],
  ["no barrier before the sum is read", "softmax", last("softmax"), 512, /loads tile\[0\]/],
  ["one number for each thread", "softmax", without("softmax", "k < N; k += 256u", "k < 256u; k += 256u"), 512, /wrong/],
  ["a row of b", "product", TASKS.product.begin, 32, /wrong/],
  ["no guard", "product", without("product", "row < N", "true"), 21, /loads a\[441\]/],
  ["the second barrier is missing", "tiled", last("tiled"), 32, /stores tile|loads tile/],
  ["no zeros at the edge", "tiled", STALE, 21, /wrong/],
];
for (const [mistake, name, code, size, message] of MISTAKES)
  test(`found in ${name}: ${mistake}`, async () => {
    const { isRight, outside, races } = await verdict(name, code, size);
    const found = [isRight ? "" : "wrong", ...outside, ...races].join("; ");
    assert.match(found, message);
  });

test("one thread that does all is counted", async () => {
  const code = "fn kernel(i: u32, l: u32, w: u32) { if (i == 0u) { for (var k = 0u; k < N; k++) { store_out(k, load_a(k)); } } }";
  const { isRight, busy, sectors } = await verdict("copy", code);
  assert.deepEqual([isRight, busy, sectors], [true, 1, 2000]);
});

test("the threads of a warp store together, whatever each has loaded before", async () => {
  const code = `fn kernel(i: u32, l: u32, w: u32) {
    if (i < N) { var s = 0.0; for (var k = 0u; k < l % 4u; k++) { s = load_a(i); }
      store_out(i, load_a(i)); } }`;
  const { sectors } = await verdict("copy", code.replace("l % 4u", "0u"));
  assert.equal(sectors, 250);
  const uneven = await verdict("copy", code.replace(/l % 4u/, "l - 4u * (l / 4u)"));
  assert.equal(uneven.sectors, 4 * 125 + 125);
});

// The ladder

test("the ladder names the tasks of the section, in their order", () => {
  const text = read("chapter_gpus/page-kernels.md");
  const places = RUNGS.map(([name, title]) => [
    text.indexOf(`\n## ${title}\n`),
    text.indexOf(`../img/task-${name}.svg`),
  ]);
  const all = places.flat();
  assert.ok(all.every((place) => place > 0));
  assert.deepEqual(all, [...all].sort((a, b) => a - b));
});

test("the picture of the ladder is what the script draws", () => {
  const drawn = svgOf("kernel-ladder");
  assert.equal(fs.readFileSync(`${ROOT}/img/kernel-ladder.svg`, "utf8"), drawn);
});

test("a mark says how far a task is", () => {
  assert.deepEqual([0, 1, 0.9, 4.5].map(markOf), [
    "",
    "✓ solved",
    "✓ solved",
    "right, with 4.5 times our sectors",
  ]);
});
