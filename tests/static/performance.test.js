/* The figures on performance: predictions, published rates, and the limits of an SM. */
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");

const { load, library, figures, first, changed, plain } = require("./support.js");
const { formula, result, close, includes, grid, cited } = require("./support.js");

const performance = load("performance-arithmetic");
const inference = load("inference-arithmetic");
const tracing = load("trace-arithmetic");
const { roofline, sectors, warps, server, turns, fuse, trace } = figures;

// Presets

test("rates of the RTX 4090 are those of the other figures", () => {
  const other = figures["worth-moving"].MACHINES.rtx4090;
  const { memory, rates } = roofline.MACHINES.rtx4090;
  assert.deepEqual([memory, other.memory], [1008, 1008]);
  assert.equal(rates.float32, other.gpu.float32);
  assert.equal(rates.bfloat16, other.gpu.half);
  close(rates.fp8, 2 * other.gpu.half, { rel: 1e-3 });
});

for (const [card, limits] of Object.entries(library.limits))
  test(`limits of an SM of the ${card} are those of the section`, () => {
    const found = warps.CARDS[card.toLowerCase()];
    assert.equal(Math.round(10 * found.capability), limits.capability);
    for (const name of ["processors", "warps", "blocks", "shared"])
      assert.equal(found[name], limits[name], name);
    close(1e9 * found.bandwidth, limits.bandwidth, { rel: 0.01 });
  });

test("limits of the RTX 4090 are those of its capability", () => {
  // From the CUDA Programming Guide and the white paper on Ada.
  assert.deepEqual(warps.CARDS.rtx4090, {
    ...{ name: "RTX 4090", capability: 8.9, processors: 128, bandwidth: 1008 },
    ...{ registers: 65536, shared: 100 * 1024, warps: 48, blocks: 24 },
  });
});

test("published rates are the cited ones", () => {
  const { 256: smallest, ...rates } = cited("matmul-pytorch-");
  assert.deepEqual(roofline.RATES, rates);
  assert.deepEqual(warps.RATES, { ...rates, 256: smallest });
  close(roofline.OVERHEAD, (2 * 256 ** 3) / smallest / 1e6, { abs: 0.05 });
});

// Fusion by hand

const MB = 1e6;
const kernelsOf = (changes) => fuse.kernelsOf(changed(fuse, changes));
const megabytes = (changes) => kernelsOf(changes).map(({ bytes }) => bytes / MB);
const seconds = (changes) => kernelsOf(changes).reduce((total, one) => total + one.time, 0);

test("line by line, GELU moves the bytes that the section lists", () =>
  assert.deepEqual(megabytes({}), [128, 128, 128, 192, 128, 128, 128, 192]));

test("a kernel reads each array once and writes what is needed later", () => {
  const [one, two] = kernelsOf({ joints: "1111110" });
  assert.deepEqual([one.reads, one.writes], [["x"], ["a", "g"]]);
  assert.deepEqual([two.reads, two.writes], [["a", "g"], ["y"]]);
  const [all] = kernelsOf({ joints: "1111111" });
  assert.deepEqual([all.reads, all.writes, all.bytes], [["x"], ["y"], 128 * MB]);
});

test("a joint saves what its two lines share", () => {
  const saved = (joints) =>
    [1, 2, 3, 4, 5, 6, 7].map((joint) => fuse.saving(changed(fuse, { joints }), joint) / MB);
  assert.deepEqual(saved("0000000"), [64, 128, 128, 128, 128, 128, 128]);
  // With all others fused, a joint also keeps a, and maybe x, from memory.
  assert.deepEqual(saved("1111111"), [192, 320, 320, 256, 256, 256, 256]);
});

test("the product of the layer takes the time of its FLOPs and is not fused", () => {
  const joints = "1111111";
  assert.deepEqual(megabytes({ program: "layer", joints }), [128, 192, 192]);
  const product = 128e9 / 82.6e12;
  close(kernelsOf({ program: "layer", joints })[1].time, product);
  close(seconds({ program: "layer", joints }), 320e6 / 1.008e12 + product);
  close(seconds({ program: "layer" }), 1024e6 / 1.008e12 + product);
  assert.match(result(fuse, { program: "layer", joint: 2 }), /the product keeps joint 2 open\.$/);
});

test("published times of the chain are the cited ones, and within a fifth", () => {
  const { chain, compiled } = cited("fusion-pytorch-");
  close(fuse.published(first(fuse)), [chain / 1000, compiled / 1000]);
  close([seconds({}), seconds({ joints: "1111111" })], [chain / 1000, compiled / 1000], { rel: 0.2 });
  assert.deepEqual(fuse.published(changed(fuse, { card: "h100" })), []);
});

test("a click fuses a joint, and a second one cuts it", () => {
  const once = fuse.touch(first(fuse), "3");
  assert.deepEqual([once.joints, once.joint], ["0010000", 3]);
  assert.equal(fuse.touch(once, "3").joints, "0000000");
  const layer = changed(fuse, { program: "layer", joints: "1111111" });
  assert.equal(fuse.touch(layer, "7").joints, "1001110");
});

// The trace of a step

const total = (list, key) => list.reduce((found, one) => found + one[key], 0);
const runOf = (changes) => trace.runOf(changed(trace, changes));
const YES = { ahead: "yes", half: "yes" };

test("a step has the FLOPs of the section's formula, in each recipe", () => {
  const { layers, width, length, vocabulary } = trace.MODEL;
  const weights = 12 * layers * width ** 2 + width * vocabulary;
  for (const batch of [16, 128])
    for (const precision of ["float32", "bfloat16"])
      for (const compiled of [false, true]) {
        const list = tracing.operations({ ...trace.MODEL, batch, precision, compiled });
        const each = 6 * weights + 12 * layers * width * length;
        close(total(list, "flops"), batch * length * each);
      }
});

test("operations of a step are counted by hand", () => {
  // 1 + 6 · 10 + 3 forward; backward 2 products and a bias for 4 products of a layer and the
  // head, and one for each other operation; 10 of the update
  const eager = 64 + (1 + 6 * (6 + 4 * 3) + 2 + 3) + 10;
  assert.equal(runOf({}).list.length, eager);
  assert.equal(runOf({ half: "yes" }).list.length, eager + 1); // casts
  // Without 2 sums forward and backward, 4 biases in a layer, one of the head
  assert.equal(runOf({ compiled: "yes" }).list.length, eager - 6 * 8 - 1 - 9);
});

test("bytes and FLOPs of a layer are counted by hand", () => {
  // 3 tokens of width 2 in 16 bits: an array has 12 bytes, the weights of the layer are 48.
  const sizes = { layers: 1, width: 2, length: 3, vocabulary: 5, batch: 1 };
  const listed = (changes) =>
    tracing
      .operations({ ...sizes, precision: "bfloat16", compiled: false, ...changes })
      .map(({ name, bytes, flops }) => [name, bytes, flops]);
  const list = listed({});
  const [norm, up] = [["norm", 24, 0], ["up", 2 * (6 + 16 + 24), 2 * 3 * 16]];
  assert.deepEqual(list.slice(0, 15), [
    ...[["cast", 6 * 48, 0], ["embed", 24, 0], ["add", 36, 0], norm],
    ...[["qkv", 2 * (6 + 12 + 18), 2 * 3 * 12], ["attention", 48, 4 * 3 * 3 * 2]],
    ...[["proj", 2 * (6 + 4 + 6), 2 * 3 * 4], ["add", 36, 0], norm, up, ["gelu", 96, 0]],
    ...[["down", 2 * (24 + 16 + 6), 2 * 3 * 16], norm, ["head", 2 * (6 + 10 + 15), 60]],
    ["loss", 12, 0],
  ]);
  const back = [["loss", 18, 0], ["head bias", 62 / 3, 0], ["head", 62, 60], ["head", 62, 60]];
  assert.deepEqual(list.slice(15, 19), back);
  assert.ok(list.some(([name, bytes, flops]) => name === "attention" && bytes === 72 && flops === 144));
  assert.deepEqual(list.slice(-10), Array(10).fill(["update", 12 * 48, 0]));
  const fused = listed({ precision: "float32", compiled: true });
  assert.deepEqual(fused.slice(0, 2), [["embed", 48, 0], ["add, norm", 96, 0]]);
  assert.deepEqual(fused.at(-1), ["update", 28 * 48, 0]);
});

test("the slowest resource decides the time of a step", () => {
  const call = 14.6e-6;
  const bound = runOf(YES);
  assert.equal(bound.verdict, "launches");
  close(bound.pace, bound.list.length * call);
  close(bound.idle, 1 - bound.busy / bound.pace);
  const prepared = runOf({ ahead: "yes" });
  assert.equal(prepared.verdict, "FLOPs");
  close([prepared.pace, prepared.idle], [prepared.busy, 0], { rel: 1e-6, abs: 1e-9 });
  assert.ok(!prepared.host.some(({ name }) => name === "input")); // prepared before
  const fed = runOf({ compiled: "yes" });
  assert.equal(fed.verdict, "input");
  close(fed.pace, 16 * 500e-6 + call);
  const slow = runOf({});
  close(slow.pace, 16 * 500e-6 + slow.list.length * call);
  assert.equal(runOf({ ...YES, compiled: "yes" }).verdict, "bytes");
});

test("16 bits gain what the section says, depending on the changes before", () => {
  const gain = (before) => runOf({ ...before, half: "yes" }).speed / runOf(before).speed;
  close(gain({}), 1, { abs: 0.01 });
  close(gain({ ahead: "yes" }), 1.7, { abs: 0.05 });
  close(gain({ ahead: "yes", compiled: "yes" }), 5.5, { abs: 0.05 });
});

test("the result names what is idle in the part that is shown", () => {
  const told = (changes) => result(trace, { zoom: 4, ...changes });
  // The GPU has nothing to do in the second half of the step, which the input decides.
  includes(told({ at: 100 }), "idle for 55 % (100 % of the 2.69 ms shown)");
  includes(told({ at: 30 }), "(0 % of the 2.69 ms shown)");
  assert.ok(!told({ zoom: 1 }).includes("shown"));
});

test("spans of a trace follow each other within the time of a step", () => {
  for (const card of Object.keys(trace.CARDS))
    for (const changes of [{}, YES, { compiled: "yes" }, { larger: "yes" }]) {
      const run = runOf({ card, ...changes });
      for (const spans of [run.host, run.gpu])
        spans.forEach(({ start, end }, i) => {
          assert.ok(start >= (i ? spans[i - 1].end - 1e-12 : 0) && start < end + 1e-15);
          assert.ok(end <= run.pace + 1e-12);
        });
      close(run.gpu.reduce((sum, { start, end }) => sum + end - start, 0), run.busy, { rel: 1e-6 });
    }
});

test("the peak and the launches of the trace are those of the other figures", () => {
  close(runOf({}).needs.launches / runOf({}).list.length, 1e-6 * roofline.OVERHEAD);
  assert.equal(trace.CARDS.h100.fp32, roofline.MACHINES.h100.rates.float32);
});

// The roofline

test("work is counted by hand", () => {
  const counted = (operation, sizes, bytes) => {
    const work = performance[operation](sizes, bytes);
    return [work.flops, work.bytes, work.calls];
  };
  const elementwise = { n: 1000, reads: 2, writes: 1, flops: 3 };
  assert.deepEqual(counted("elementwise", elementwise, 4), [3000, 12000, 1]);
  assert.deepEqual(counted("product", { b: 2, k: 3, n: 5 }, 2), [60, 62, 1]);
  const chain = { n: 16_000_000, count: 8, second: 2 };
  assert.deepEqual(counted("chain", { ...chain, fused: false }, 4), [128e6, 1152e6, 8]);
  assert.deepEqual(counted("chain", { ...chain, fused: true }, 4), [128e6, 128e6, 1]);
  const attention = { batch: 1, length: 512, heads: 1, width: 64 };
  const [flops, matrices, scores] = [4 * 512 ** 2 * 64, 4 * 512 * 64, 4 * 512 ** 2];
  const separate = counted("attention", { ...attention, fused: false }, 2);
  assert.deepEqual(separate, [flops, 2 * (matrices + scores), 3]);
  const fused = counted("attention", { ...attention, fused: true }, 2);
  assert.deepEqual(fused, [flops, 2 * matrices, 1]);
});

/** Return the bound in seconds for a setting of the figure, on an RTX 4090. */
const predicted = (change) => roofline.bound(changed(roofline, change, "operation")).time;

test("products are predicted", () => {
  const published = cited("matmul-pytorch-");
  const rate = (n) => (2 * n ** 3) / predicted({ n }) / 1e12;
  const tolerances = { 512: 0.02, 1024: 0.25, 2048: 0.06, 4096: 0.09, 8192: 0.01 };
  for (const [n, rel] of Object.entries(tolerances))
    close(rate(Number(n)), published[n], { rel }, n);
  close(rate(512), 18.4, { abs: 0.05 });
});

test("elementwise operations are predicted", () => {
  const kind = { type: "float32", N: 16_000_000 };
  const one = predicted({ operation: "elementwise", ...kind });
  close(one, 128e6 / 1008e9);
  close(one, library.cited["elementwise-pytorch-add"] / 1e3, { rel: 0.1 });
  const chain = predicted({ operation: "chain", ...kind });
  close(1e3 * chain, 1.14, { abs: 0.005 });
  close(chain, library.cited["fusion-pytorch-chain"] / 1e3, { rel: 0.1 });
  const fused = predicted({ operation: "chain", kernels: "fused", ...kind });
  close(fused, library.cited["fusion-pytorch-compiled"] / 1e3, { rel: 0.16 });
});

test("exponentials take half as long as products on an H100", () => {
  // As FlashAttention-3 counts, at a clock that is 8 percent lower.
  const change = { operation: "attention", kernels: "fused", machine: "h100", heads: 8 };
  const state = changed(roofline, change, "machine");
  const { functions, flops } = roofline.bound(state).terms;
  close(functions / flops, 0.5, { rel: 0.08 });
  includes(roofline.summary(state), "the arithmetic, the exponentials, the bytes");
  const product = roofline.summary({ ...state, operation: "product" });
  assert.ok(!product.includes("exponentials"));
});

test("a stack of thin layers is bound by its calls", () => {
  const machine = { rate: 82.6e12, bandwidth: 1008e9, overhead: 14.6e-6 };
  const work = { flops: 60 * 2 * 64 * 256 ** 2, bytes: 60 * 4 * 256 ** 2, calls: 120 };
  const { decides, time } = performance.bound(machine, work);
  assert.equal(decides, "calls");
  close(1e3 * time, 1.752);
  close(time, library.cited["launch-pytorch-eager"] / 1e3, { rel: 0.3 });
});

test("the figure compares with what was published", () => {
  const fusion = cited("fusion-pytorch-");
  const [type, product] = ["float32", (2 * 512 ** 3) / cited("matmul-pytorch-")[512] / 1e9];
  for (const [change, time] of [
    [{ n: 512 }, product],
    [{ n: 512, type: "float16" }, null],
    [{ n: 768 }, null],
    [{ machine: "h100" }, null],
    [{ operation: "elementwise", type }, fusion.one],
    [{ operation: "chain", type }, fusion.chain],
    [{ operation: "chain", type, kernels: "fused" }, fusion.compiled],
    [{ operation: "chain", type, count: 4 }, null],
  ]) {
    const found = roofline.published(changed(roofline, change, "operation"));
    if (time === null) assert.equal(found, null);
    else close(found.time * 1e3, time);
  }
});

test("bounds and ridges are those of the section", () => {
  for (const { machine, work, time, ridge } of library.bounds) {
    close(performance.bound(machine, work).time, time);
    close(performance.ridge(machine), ridge);
  }
});

for (const [rate, bandwidth, batch] of [[989e12, 3.35e12, 295], [165.2e12, 1.008e12, 164]])
  test(`the critical batch ${batch} is that of the section`, () =>
    assert.equal(Math.round(performance.criticalBatch({ rate, bandwidth }, 2)), batch));

test("terms are equal where the decision changes", () => {
  const found = new Set();
  for (const change of grid({
    operation: ["product", "layer", "elementwise", "chain", "attention"],
    machine: Object.keys(roofline.MACHINES),
    type: ["float32", "bfloat16", "fp8"],
  })) {
    const state = changed(roofline, change, "machine");
    const id = roofline.drag.id(state);
    for (const { size, before, after } of roofline.changesOf(state)) {
      const { terms } = roofline.bound({ ...state, [id]: size });
      close(terms[before] / terms[after], 1);
      found.add(change.operation);
    }
  }
  assert.equal(found.size, 5);
});

for (const [setting, count] of [
  [{ n: 16384, rate: 10000, memory: 20000 }, 1], // the point is at the peak
  [{ n: 512, rate: 10000, memory: 1 }, 0], // the roof is beyond the chart
])
  test(`the peak is named ${count} times for n = ${setting.n}`, () => {
    const svg = plain(roofline.draw(changed(roofline, { machine: "own", ...setting }), 640));
    assert.equal(svg.split(">10000 TFLOP/s<").length - 1, count);
  });

test("sparse rates do not make a program faster", () => {
  const sparse = { sheet: "sparse" };
  assert.equal(result(roofline, sparse), result(roofline));
  includes(formula(roofline, sparse), "a data sheet may print 330 TFLOP/s");
  includes(roofline.draw(changed(roofline, sparse), 640), "sparse");
});

// The line of a measured machine

for (const { line, ...machine } of library.printed)
  test(`the line of ${machine.name} is understood`, () => {
    const found = performance.parseMachine(line);
    assert.deepEqual(Object.keys(found.rates), Object.keys(machine.rates));
    for (const [type, rate] of Object.entries(machine.rates))
      close(found.rates[type], rate, { rel: 0.006 });
    close(found.bandwidth, machine.bandwidth, { rel: 0.006 });
    close(found.overhead, machine.overhead, { abs: 6e-8 });
    close(found.functions, machine.functions, { rel: 0.006 });
    // The line may stand among others.
    const among = `In [3]:\n${line}\nridge: 2.6 FLOP per byte`;
    assert.deepEqual(performance.parseMachine(among), found);
  });

for (const line of [
  ...["", "cpu", "float32 98.9", "memory 34 GB/s; 0.8 µs per operation"],
  "products in GFLOP/s: ; memory 34 GB/s",
  "products in GFLOP/s: float32 9; memory",
  "products in GFLOP/s: float32 0; memory 34 GB/s",
  "products in GFLOP/s: bfloat16 4; memory 34 GB/s",
  "products in GFLOP/s: float32 1e999; memory 34 GB/s",
])
  test(`the line "${line}" is refused`, () =>
    assert.equal(performance.parseMachine(line), null));

test("a pasted machine and its card are taken over", () => {
  const line = library.printed[1].line;
  const state = changed(roofline, { machine: "own", line }, "line");
  close([state.memory, state.overhead], [3350, 4.2], { rel: 0.01 });
  const left = roofline.settle({ ...state, rate: 5 }, "rate");
  assert.deepEqual([left.machine, left.line, left.rate], ["own", "", 5]);
  const h100 = roofline.settle({ ...left, machine: "h100" }, "machine");
  close([h100.memory, h100.overhead], [load("cards").cards.H100.bandwidth, roofline.OVERHEAD]);
});

// Sectors

test("sectors are counted byte by byte", () => {
  const accesses = { stride: [1, 2, 3, 7, 8, 31, 32], size: [1, 2, 4, 8], offset: [0, 1, 4, 31] };
  for (const access of grid(accesses)) {
    const touched = new Set();
    for (let t = 0; t < 32; t += 1)
      for (let byte = 0; byte < access.size; byte += 1)
        touched.add(Math.floor((access.offset + t * access.stride * access.size + byte) / 32));
    const found = performance.sectors(access);
    assert.equal(found.sectors.length, touched.size);
    close(found.used, access.size / touched.size);
  }
});

for (const [preset, count, used] of [
  ["neighbors", 4, 1],
  ["two", 8, 0.5],
  ["column", 32, 0.125],
  ["shifted", 5, 0.8],
])
  test(`${preset} touch the sectors of the guide`, () => {
    const found = sectors.access(changed(sectors, { preset }, "preset"));
    assert.deepEqual([found.sectors.length, found.used], [count, used]);
  });

// Waves

const [NVIDIA, MORE, FEW, ONE] = library.waves; // [programs, places, efficiency]
for (const [n, rows, columns, wave, number] of [
  [1792, 256, 128, NVIDIA, 1], // NVIDIA.Matmul, on an A100
  [1793, 256, 128, MORE, 2],
  [1024, 128, 128, FEW, 1],
  [128, 256, 256, ONE, 1],
])
  test(`waves of a product with n = ${n}`, () => {
    const [programs, places, efficiency] = wave;
    assert.equal(performance.programs(n, rows, columns), programs);
    const found = performance.waves(programs, places);
    assert.equal(found.number, number);
    close(found.efficiency, efficiency);
  });

// Occupancy

test("occupancy is that of the section", () => {
  for (const { card, kernel, share } of library.occupancies) {
    const found = performance.occupancy(warps.CARDS[card.toLowerCase()], kernel);
    close(found.share, share, {}, JSON.stringify([card, kernel]));
    const smallest = Math.min(...Object.values(found.limits));
    assert.ok(found.decides.every((name) => found.limits[name] === smallest));
  }
});

test("kernels of the section have the printed occupancy", () => {
  const shares = Object.keys(warps.KERNELS).map((kernel) => {
    return [kernel, warps.occupancy(changed(warps, { kernel }, "kernel")).share];
  });
  assert.deepEqual(Object.fromEntries(shares), {
    ...{ "a100-16": 0.75, "a100-32": 0.625, "a100-64": 0.3125, "a100-128": 0.125 },
    ...{ "a100-256": 0.125, "a100-128-8": 0.25, "a100-256-8": 0.125 },
    ...{ "t4-64": 0.25, "h100-64": 0.5, "b200-64": 0.4375 },
  });
});

for (const card of ["T4", "A100", "H100", "B200"])
  test(`warps that hide the latency of the ${card}`, () => {
    const { bandwidth, processors } = library.limits[card];
    const expected = (500e-9 * bandwidth) / processors / (32 * 16);
    close(warps.needed(changed(warps, { card: card.toLowerCase() })), expected, { rel: 0.01 });
  });

test("copies ahead take the place of warps", () => {
  // On an H100, 12.4 KiB in flight hide 500 ns; stages beyond the first count.
  const kernel = { registers: 168, shared: 65536, warps: 4, card: "h100" };
  for (const [stages, ahead] of [[1, 0], [2, 3 * 32768], [4, 3 * 49152]]) {
    const change = { ...kernel, stages: String(stages) };
    const state = changed(warps, change);
    assert.equal(warps.ahead(state), ahead);
    assert.equal(warps.needed(state) > 0, stages === 1);
    const hides = formula(warps, change).includes("copies ahead hide the latency");
    assert.equal(hides, stages > 1);
  }
});

test("places count in waves, and SMs by the most blocks of one", () => {
  // Of 1024 blocks, the busiest of 108 SMs gets 10, however many fit on it.
  for (const [registers, places] of [[94, "94.8 %"], [80, "79 %"]]) {
    const busy = `2 waves that keep ${places} of the places busy, and 94.8 % of the SMs.`;
    includes(result(warps, { registers, n: 2048 }), busy);
  }
  includes(formula(warps, { registers: 80, n: 2048 }), "1024 / 108, rounded up: 10");
});

// The turns of a product

test("turns are the stored ones, with the clocks of the library", () => {
  const found = turns.controls[0].options.flatMap(([card, name]) =>
    turns.turns(changed(turns, { card })).all.map(({ plan, clocks }) => {
      const { rows, columns, terms, warps, instructions } = plan;
      return { card: name, tile: [rows, columns, terms], warps, instructions, clocks };
    }),
  );
  assert.deepEqual(found, library.turns);
});

const WRITES = "shared memory, with writes, for";
const OR = "of the peak, or";
const A100 = { card: "a100", a100: "128x128x32-8", l2: 20480 };
const B200 = { card: "b200", b200: "128x128x64-4", l2: 20480 };

for (const [change, most, cores, share] of [
  [{}, "L2 cache for 211 clocks", "the tensor cores for 64", "30 % of the peak."],
  [{ h100: "128x256x64-8" }, "L2 cache for 1267 clocks", "the tensor cores for 1024", "81 % of"],
  // Without the writes, the schedulers are the busiest unit here, and the L2 cache there.
  [{ l2: 20480 }, `${WRITES} 128 clocks`, "the tensor cores for 64", `50 % ${OR} 77 % if`],
  [{ card: "a100" }, `${WRITES} 192 clocks`, "the tensor cores for 128", `67 % ${OR} 74 % if`],
  [B200, `${WRITES} 512 clocks`, "the tensor cores for 256", `50 % ${OR} 100 % if`],
  // With its writes, the shared memory is as busy as the tensor cores.
  [A100, "tensor cores for 512 clocks", "no unit for longer", "100 % of the peak."],
])
  test(`a turn is limited to ${share} by the ${most}`, () => {
    const plan = `so the plan allows ${share}`;
    includes(result(turns, change), `a turn occupies the ${most} and ${cores}, ${plan}`);
  });

test("the longest bar and the chosen plan stand out", () => {
  const svg = plain(turns.draw(changed(turns, { h100: "128x128x64-4", l2: 20480 }), 640));
  const strong = [...svg.matchAll(/ strong"[^>]*>([^<]*)</g)].map(([, text]) => text);
  const plan = ["128 × 128 × 64, 4 warps", "80 % to 100 %"];
  assert.deepEqual(strong, ["reads + writes", "640 clocks", ...plan]);
  assert.deepEqual(svg.match(/s\d solid/g), ["s1 solid", "s3 solid"]);
  const { rows, chosen } = turns.table(changed(turns, { h100: "128x256x64-8" }));
  assert.deepEqual(rows[chosen].slice(1, 5), ["1024", "148", "640", "1024"]);
});

// The lines of a compiled kernel

const PTXAS = `ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z6matmulPf' for 'sm_80'
ptxas info    : Function properties for _Z6matmulPf
    8 bytes stack frame, 12 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 94 registers, used 1 barriers, 16384 bytes smem`;

for (const [line, expected] of [
  [PTXAS, { registers: 94, shared: 16384, stack: 8, capability: 80 }],
  ["ptxas info : Used 32 registers, 380 bytes cmem[0]", { registers: 32, shared: 0 }],
  ["Used 40 registers, 8192+16 bytes smem", { registers: 40, shared: 8192 }],
  [
    "A100, tile  64, 4 warps: sum  32,  94 registers,    0 B of stack",
    { registers: 94, stack: 0, warps: 4, tile: 64, card: "a100" },
  ],
  [
    "T4   255 registers, 336 B of stack,  8192 B shared; 1024 x fma.rn.f32",
    { registers: 255, stack: 336, shared: 8192, card: "t4" },
  ],
  [
    "attention on H100: 128 registers,    0 B of stack,  25.0 percent",
    { registers: 128, stack: 0, card: "h100" },
  ],
  ...["", "94", "256 registers", "0 registers", "registers"].map((line) => [line, null]),
])
  test(`the compiler's line "${line.slice(0, 40)}" is understood`, () => {
    const found = performance.parseKernel(line);
    const known = found && Object.entries(found).filter(([, x]) => x !== undefined);
    assert.deepEqual(known && Object.fromEntries(known), expected);
  });

test("a line sets the kernel and its card", () => {
  const pasted = (line) => result(warps, { line }, "line");
  const spills = pasted(PTXAS.replaceAll("\n", " "));
  includes(spills, "Numbers spill: each thread has 8 bytes of stack.", "An SM of the A100 holds 5 blocks, and");
  const known = "H100  64 registers,   0 B of stack, 24576 B shared;    2 x wgmma";
  includes(pasted(known), "An SM of the H100 holds 8 blocks");
  assert.equal(changed(warps, { line: known }, "line").kernel, "h100-64");
  const unknown = pasted("B200, tile 128, 8 warps: sum  64, 128 registers,    0 B of stack");
  includes(unknown, "does not contain the shared memory, so its slider counts.", "An SM of the B200 holds 2 blocks");
  includes(result(warps, { warps: 32 }, "warps"), "No block fits on an SM of the A100: the registers decide");
});

// The words

test("first settings in words", () => {
  assert.equal(
    result(roofline),
    "On the RTX 4090 at n = 512, the calls decide: the time is at least 14.6 µs, and the rate is at " +
      "most 11 % of the peak rate.",
  );
  includes(result(sectors), "touches 8 sectors and uses 50 % of the bytes");
  includes(
    result(warps),
    "holds 5 blocks, and a product with n = 2048 takes 2 waves",
    "that keep 94.8 % of the places busy",
  );
  includes(formula(roofline), "from n ≈ 1060 on the arithmetic decides.");
  includes(
    formula(warps),
    "The registers decide how many blocks an SM holds. This hides",
    "occupancy: 5 · 4 / 64 = 31.3 %",
  );
});

// The server

const NAMES = {
  ...{ "llama3-8b": "Llama 3 8B", "llama3-70b": "Llama 3 70B" },
  ...{ "qwen3-30b": "Qwen3 30B-A3B" },
};

const served = (change = {}) => {
  const state = changed(server, change);
  return inference.step(server.server(state), state.users);
};

for (const { model, users } of grid({ model: Object.keys(NAMES), users: [1, 16] }))
  test(`bytes of ${NAMES[model]} for ${users} users`, () => {
    const { params, active, read, caches, layers, width } = library.shapes[NAMES[model]];
    const found = served({ model, users, input: 8192, output: 0 });
    close(found.weights, 2 * read[users]);
    assert.equal(found.caches, users * caches[8192]);
    const bytes = found.weights + found.caches;
    close(found.reading, bytes / (1e9 * library.cards.H100.bandwidth));
    const flops = users * (2 * active + 4 * layers * width * 8192);
    close(found.arithmetic, flops / (1e12 * library.cards.H100.tensor16));
    const task = server.server(changed(server, { model }));
    assert.equal(inference.weightBytes(task.model, 16), 2 * params);
  });

test("caches of 8 bits have half of the bytes, and weights of 8 bits the rate of FP8", () => {
  const plain = served({ users: 64 });
  const small = served({ users: 64, bits: "8", cache: "8" });
  close(small.caches, plain.caches / 2);
  const head = 128256 * 4096; // stays in 16 bits
  close(small.weights - 2 * head, (plain.weights - 2 * head) / 2);
  const { tensor16, fp8 } = library.cards.H100;
  close(plain.arithmetic / small.arithmetic, fp8 / tensor16);
  close(served({ bits: "4.5" }).arithmetic, served().arithmetic);
  close(served({ bits: "8", card: "a100" }).arithmetic, served({ card: "a100" }).arithmetic);
});

test("the room is filled to the last user by texts with half of their outputs", () => {
  const task = server.server(first(server));
  const most = inference.capacity(task);
  const { params, caches } = library.shapes["Llama 3 8B"];
  const bytes = (users) => 2 * params + (users * caches[8192] * 6000) / 8192;
  const room = 0.9 * library.cards.H100.memory;
  assert.ok(bytes(most) <= room && room < bytes(most + 1));
});

test("chunks hide prompts behind the bytes of steps until their arithmetic takes longer", () => {
  const { active, layers, width } = library.shapes["Llama 3 8B"];
  const rate = 1e12 * library.cards.H100.tensor16;
  const some = served({ users: 8, input: 20000 });
  close(some.prompt, (20000 * (2 * active + 2 * layers * width * 20000)) / rate);
  close(some.throughput, 8 / some.reading);
  close(some.apart, (8 * 2000) / (2000 * some.reading + 8 * some.prompt));
  const many = served({ users: 64, input: 5000, output: 128 });
  assert.ok(many.reading < many.time);
  close(many.throughput, 128 / (128 * (many.arithmetic / 64) + many.prompt));
});

test("a server that works as `serve` with chunks does not beat the bound", () => {
  // A step has a token of each user and 512 of the prompts; after that, the bytes of all
  // caches and the arithmetic of all its tokens take as long as they do.
  const state = changed(server, { input: 1000, output: 500 });
  const task = server.server(state);
  const { model, card, input, output } = task;
  const users = inference.capacity(task);
  const flops = (before) =>
    2 * model.active + 4 * model.layers * model.heads * model.headSize * before;
  const running = [];
  let [seconds, tokens, part] = [0, 0, 0];
  for (let n = 0; n < 20000; n += 1) {
    const cached = running.reduce((total, done) => total + input + done, 0);
    const bytes = 2 * model.active + inference.cacheBytes(model, cached);
    let work = running.reduce((total, done) => total + flops(input + done), 0);
    const computed = running.length < users ? Math.min(512, input - part) : 0;
    work += computed * flops(part + computed / 2);
    part += computed;
    running.forEach((done, i) => (running[i] = done + 1));
    if (n > 10000) {
      seconds += Math.max(bytes / card.bandwidth, work / card.rate);
      tokens += running.length;
    }
    while (running[0] >= output) running.shift();
    if (part === input) part = running.push(0) * 0;
  }
  const bounds = inference.step(task, users);
  assert.ok(tokens / seconds > 1.05 * bounds.apart, `${tokens / seconds}`);
  assert.ok(tokens / seconds <= bounds.throughput, `${tokens / seconds}`);
});

for (const [bits, published] of [[16, 104.9], [8, 155.6], [4.5, 196.8]])
  test(`a published rate with ${bits} bits is below the bound and above a third`, () => {
    // PyTorch's gpt-fast with Llama 2 7B on an A100 whose power was limited
    const card = { memory: 80e9, bandwidth: 2.039e12, rate: 312e12 };
    // 4.5 are the bits of all of its weights on average, with those of the head.
    const heads = { heads: 32, kvHeads: 32, headSize: 128, embedding: 0, head: 0 };
    const model = { params: 6.74e9, active: 6.74e9, layers: 32, ...heads };
    const task = { model, card, bits, cacheBits: 16, input: 5, output: 200 };
    const bound = inference.step(task, 1).throughput;
    assert.ok(0.33 * bound < published && published < bound);
  });

// TensorRT-LLM 1.0, in 8 bits; the figure names those of the first row.
const TENSORRT = {
  "llama3-8b on h100": [
    ...[28312, 22714, 14325, 17660, 15220, 13899, 3450, 9305, 3459, 1351],
  ],
  "llama3-8b on h200": [
    ...[27911, 26221, 18027, 20770, 17744, 16828, 3538, 12194, 3902, 1804],
  ],
  "llama3-70b on h200": [3803, 4336, 2872, 3666, 2909, 2994, 442, 2003, 566, 283],
};
const TEXTS = [
  ...[[128, 128], [128, 2048], [128, 4096], [500, 2000], [1000, 1000]],
  ...[[1000, 2000], [2048, 128], [2048, 2048], [5000, 500], [20000, 2000]],
];

// For each row: all shares of the bound, and all but the first of that without chunks.
const SHARES = {
  "llama3-8b on h100": [[0.4, 0.68], [0.58, 0.76]],
  "llama3-8b on h200": [[0.36, 0.57], [0.45, 0.735]],
  "llama3-70b on h200": [[0.36, 0.54], [0.38, 0.67]],
};

for (const [name, rates] of Object.entries(TENSORRT))
  test(`published rates of ${name} are in the band that the text states`, () => {
    const [model, card] = name.split(" on ");
    const bounds = TEXTS.map(([input, output]) => {
      const task = server.server(
        changed(server, { model, card, bits: "8", cache: "8", input, output }),
      );
      return inference.step(task, inference.capacity(task));
    });
    const spread = (shares) => [Math.min(...shares), Math.max(...shares)];
    const shares = bounds.map(({ throughput }, i) => rates[i] / throughput);
    const apart = bounds.map((bound, i) => rates[i] / bound.apart).slice(1);
    close(spread(shares), SHARES[name][0], { abs: 6e-3 });
    close(spread(apart), SHARES[name][1], { abs: 6e-3 });
  });

test("a published rate is shown beside the bound", () => {
  const state = { bits: "8", cache: "8", input: 2048, output: 2048, users: 1024 };
  includes(result(server, state), "at most 14900 tokens per second (13300 without chunks; expect 9940); 690 users wait; published are 9305, or 0.63 (0.7) of it.");
  assert.ok(!result(server).includes("published"));
});

test("many users are bound by arithmetic", () => {
  const change = { users: 1024, input: 128, output: 128, card: "t4", bits: "4.5" };
  const found = served(change);
  assert.ok(found.arithmetic > found.reading);
  close(found.time, found.arithmetic + (1024 * found.prompt) / 128);
});

test("the result of the server in words", () => {
  includes(result(server), "16 users, a token takes 8.23 ms, the bytes decide");
  const most = inference.capacity(server.server(first(server)));
  includes(result(server, { users: most + 1 }), "; 1 user waits.");
  includes(result(server, { users: most + 3 }), "; 3 users wait.");
  const text = "The weights do not fit into the memory of the H100.";
  includes(result(server, { model: "llama3-70b" }), text);
  const made = "; the model is made for 40960 tokens.";
  assert.match(result(server, { model: "qwen3-30b", input: 65536 }), new RegExp(made));
  assert.ok(!result(server, { model: "qwen3-30b" }).includes(made));
  const long = { card: "t4", bits: "8", input: 65536 };
  includes(result(server, long), "The cache of one user does not fit on the T4 beside the weights.");
});
