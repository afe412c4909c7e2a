/* The verdict on a kernel that a reader writes, from records of its accesses. */
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");

const { load } = require("./support.js");

const { judge, inSlices } = load("kernel-judge");
const { guarded, withoutComments, refusals, messagesOf } = load("kernel-code");

const TASK = {
  ...{ arrays: { a: (n) => n, out: (n) => n }, tile: 256, threads: (n) => n },
};
const [A, OUT, TILE] = [0, 2, 4];
const STORE = 1;

/** Return records of [thread, kind, place, barriers, moment]. */
const records = (accesses) => {
  const seen = new Map();
  return Uint32Array.from(
    accesses.flatMap(([thread, kind, k, barriers = 0, moment = 0]) => {
      const at = seen.get(thread) ?? 0;
      seen.set(thread, at + 1);
      return [thread, at, kind + 16 * barriers, k, moment];
    }),
  );
};
const verdict = (accesses) => judge(TASK, 512, records(accesses));

test("sectors are those that a warp touches at once", async () => {
  const threads = Array.from({ length: 64 }, (_, i) => i);
  const neighbors = await verdict(threads.map((i) => [i, A, i]));
  assert.deepEqual([neighbors.loads, neighbors.stores, neighbors.sectors], [64, 0, 8]);
  const apart = await verdict(threads.map((i) => [i, OUT + STORE, 8 * i]));
  assert.deepEqual([apart.loads, apart.stores, apart.sectors], [0, 64, 64]);
  assert.deepEqual([neighbors.races, apart.races, apart.outside], [[], [], []]);
});

test("a warp makes an access at once if its threads are in one moment", async () => {
  const threads = Array.from({ length: 32 }, (_, i) => i);
  const together = await verdict(threads.map((i) => [i, A, i, 0, 7]));
  const apart = await verdict(threads.map((i) => [i, A, i, 0, i]));
  const twice = await verdict(threads.flatMap((i) => [[i, A, i, 0, 7], [i, A, i, 0, 7]]));
  assert.deepEqual([together, apart, twice].map(({ sectors }) => sectors), [4, 32, 8]);
});

test("shared memory has no sectors, and each workgroup has its own", async () => {
  const found = await verdict([
    [0, TILE + STORE, 3],
    [256, TILE + STORE, 3],
  ]);
  assert.deepEqual([found.stores, found.sectors, found.races], [0, 0, []]);
});

for (const [name, accesses, text] of [
  ["of two stores", [[0, OUT + STORE, 1], [9, OUT + STORE, 1]], "threads 0 and 9 both store out[1]"],
  ["of a store and a load", [[0, TILE + STORE, 1], [9, TILE, 1]], "thread 9 loads tile[1], which thread 0"],
  ["of a load and a store", [[9, TILE, 1], [0, TILE + STORE, 1]], "thread 9 loads tile[1], which thread 0"],
  ["in one epoch of two", [[0, OUT + STORE, 1], [9, OUT, 1, 1], [5, OUT + STORE, 1, 1]], "thread 9 loads out[1], which thread 5"],
  ["of the third writer", [[1, OUT + STORE, 1], [1, OUT + STORE, 1], [2, OUT + STORE, 1]], "threads 1 and 2"],
  ["of two workgroups", [[0, OUT + STORE, 1], [256, OUT, 1, 1]], "no barrier orders two workgroups"],
])
  test(`a race ${name} is found`, async () => {
    const { races } = await verdict(accesses);
    assert.equal(races.length, 1);
    assert.ok(races[0].includes(text), races[0]);
  });

test("a thread does not race with itself, nor across a barrier", async () => {
  const { races } = await verdict([
    [0, OUT + STORE, 1],
    [0, OUT, 1],
    [9, OUT, 1, 1],
  ]);
  assert.deepEqual(races, []);
});

test("numbers of the tile that nobody has stored are named", async () => {
  const stores = [[0, TILE + STORE, 1], [0, TILE + STORE, 2, 1]];
  const loads = [[0, TILE, 1], [9, TILE, 1, 1], [5, TILE, 2], [300, TILE, 1, 1], [7, A, 3]];
  const { unset } = await verdict([...loads, ...stores]);
  assert.deepEqual(unset, ["thread 5 loads tile[2]", "thread 300 loads tile[1]"]);
});

test("accesses out of bounds are named by their thread", async () => {
  const { outside, sectors } = await verdict([
    [7, A, 2 ** 32 - 1],
    [3, OUT + STORE, 512],
  ]);
  assert.deepEqual(outside, [
    "thread 3 stores out[512], but out has 512 numbers",
    "thread 7 loads a[-1], but a has 512 numbers",
  ]);
  assert.equal(sectors, 0);
});

test("judging one number that all threads store takes as long as any other", async () => {
  // The square of 2^17 accesses took a minute.
  const all = Array.from({ length: 2 ** 17 }, () => [0, OUT + STORE, 0]);
  const start = process.cpuUsage();
  let rests = 0;
  const rest = async () => (rests += 1);
  await judge(TASK, 512, records(all), rest);
  const { user } = process.cpuUsage(start);
  assert.ok(user < 3e6, `${user} µs`);
  assert.ok(rests > 0);
});

test("a long list is visited in slices", async () => {
  const [slices, seen] = [[], []];
  const busy = (n) => {
    seen.push(n);
    if (n % 64 === 0) for (const end = performance.now() + 1; performance.now() < end; );
  };
  await inSlices(16384, busy, async () => slices.push(seen.length));
  assert.equal(seen.length, 16384);
  assert.ok(slices.length >= 8, `${slices.length} slices`);
});

// The record, drawn

const { stepsOf, accessOf, words, draw } = load("kernel-drawing");
const { reader } = load("kernel-judge");

test("a step of a warp has the sectors of its threads", async () => {
  const all = records([
    ...Array.from({ length: 32 }, (_, i) => [i, A, i - 1]),
    ...[[0, OUT + STORE, 8], [1, TILE, 2], [40, A, 9]],
  ]);
  const read = reader(TASK, 512, all);
  const { warps, first } = await judge(TASK, 512, all);
  const steps = stepsOf(read, warps.get(first));
  const said = steps.map((step) => words(accessOf(step)));
  assert.deepEqual(said, [
    "load_a: 32 threads, 4 sectors, 1 out of bounds",
    "store_out: 1 thread, 1 sector",
    "load_tile: 1 thread, in shared memory",
  ]);
  const drawn = draw("x", 0, steps[0], 640);
  assert.equal(drawn.match(/class="crossed"/g).length, 1);
  assert.equal(drawn.match(/class="reads"/g).length, 31);
  assert.doesNotMatch(drawn, /NaN|undefined/);
  assert.equal(stepsOf(read, warps.get(1)).length, 1);
});

// The text of a kernel

test("comments are removed, and the lines stay", () => {
  assert.equal(withoutComments("a // { \nb /* {\n /* { */ } */ c"), "a      \nb     \n              c");
  assert.equal(withoutComments("a / b * c"), "a / b * c");
});

test("each loop ends", () => {
  const code = "fn kernel() { loop { for (var k = 0u; k < f(1); k++) { } } while a < b { } }";
  assert.equal(guarded(code).match(/spent_ > fuel_/g).length, 3);
  const apart = guarded(code, "all");
  assert.ok(apart.startsWith("fn kernel() { var c0_ = 0u; var c1_ = 0u; var c2_ = 0u; loop {"));
  for (const counter of ["c0_", "c1_", "c2_"])
    assert.ok(apart.includes(`if (${counter} > fuel_) { cut_(); break; } ${counter} += 1u;`));
});

test("all loops without a barrier share a counter of the thread", () => {
  const code = `
    fn deep() { loop { } }
    fn wait() { workgroupBarrier(); }
    fn helper() { for (;;) { deep(); } for (;;) { wait(); deep(); for (;;) { } } }
    fn kernel() { loop { helper(); } loop { deep(); } }`;
  const plain = guarded(code, "barriers");
  assert.equal(plain.match(/spent_ > fuel_/g).length, 4);
  assert.equal(plain.match(/c0_ > 2048u/g).length, 1);
  assert.equal(plain.match(/c0_ > fuel_/g).length, 1);
  assert.ok(!plain.includes("c1_"));
  const recorded = guarded(code, "barriers", true);
  assert.equal(recorded.match(/spent_ > fuel_/g).length, 4);
  assert.equal(recorded.match(/UniformLoad\(&rounds_\) > fuel_/g).length, 2);
  assert.ok(!recorded.includes("c0_"));
});

const HEAD = "fn kernel(i: u32, l: u32, w: u32) {";
for (const [code, text] of [
  [`${HEAD}\n  out_[i] = a_[i];\n}`, "line 2: “out_” ends in “_”"],
  [`var<workgroup> t: array<f32, 256>;\n${HEAD} }`, "line 1: no access to shared memory"],
  [`var/**/\u200e<workgroup> t: f32;`, "shared memory"],
  [`${HEAD} }\nfn p(x: ptr<storage, f32>) {}`, "line 2: the page binds the arrays"],
  ["@group(0) @binding(0) var<private> b: f32;", "line 1: “@group” is an attribute"],
  [`fn atomicAdd(p: u32, x: u32) -> u32 { return 0u; }`, "“atomicAdd” has a meaning"],
  ["fn min(a: u32, b: u32) -> u32 { return 0u; }", "“min” has a meaning"],
  ["fn\u200eatomicAdd(p: u32) {}", "“atomicAdd” has a meaning"],
  ["alias u32 = f32;", "“u32” has a meaning"],
  ["fn load_a(k: u32) -> f32 { return 1.0; }", "“load_a” has a meaning"],
  [`${HEAD} for (var k = 0u; k < 8u; workgroupBarrier()) { } }`, "a statement of its own"],
])
  test(`refused: ${code.split("\n").join(" ").slice(0, 60)}`, () => {
    const found = refusals(TASK, code);
    assert.ok(found.length > 0 && found[0].includes(text), found[0]);
  });

test("what a kernel needs is not refused", () => {
  const code = `
    var<private> mine: array<f32, 8>; // out_[i] @group
    const half_of = 2u;
    fn twice(x: f32) -> f32 { return 2.0 * x; }
    ${HEAD} var<function> s = 0.0; _ = load_a(i); workgroupBarrier(); storageBarrier( ) ;
      store_out(i, twice(s)); }`;
  assert.deepEqual(refusals(TASK, code), []);
});

test("messages have the lines of the reader", () => {
  const errors = [{ lineNum: 2, message: "x" }, { lineNum: 9, message: "y" }];
  assert.deepEqual(messagesOf(errors, "a\nb"), [
    "line 2: x",
    "The page calls fn kernel(i: u32, l: u32, w: u32), and cannot: y",
  ]);
});
