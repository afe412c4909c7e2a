/* The figures on memory: predictions, measurements and the rules of the allocator. */
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");

const { load, library, figures, first, changed, plain } = require("./support.js");
const { formula, result, close, includes } = require("./support.js");

const memory = load("memory-arithmetic");
const allocation = load("allocator-arithmetic");
const { begin } = load("controls");
const { allocator } = figures;
const timeline = figures["memory-timeline"];

const MIB = 2 ** 20;
const USUAL = {
  ...{ recipe: "float32", optimizer: "adam", attention: "plain", recompute: "none" },
  ...{ loss: "whole", parts: 1, gpus: 1, sharded: "all", length: 1 },
};
const DEEP = { ...USUAL, widths: Array(17).fill(128), segment: 4, square: true, batch: 2048 };
const MLP = { ...USUAL, widths: [1024, 4096, 4096, 4096, 10], segment: 2, batch: 4096 };
const GPT2 = {
  ...{ ...USUAL, kind: "gpt", layers: 12, width: 768, heads: 12, vocabulary: 50304 },
  ...{ positions: 1024, tied: true, dropout: true, batch: 4, length: 1024 },
};
const LLAMA = {
  ...{ ...USUAL, kind: "llama", layers: 32, width: 4096, hidden: 14336, heads: 32 },
  ...{ keyHeads: 8, vocabulary: 128256, positions: 0, tied: false, dropout: false },
  ...{ batch: 1, length: 4096, recipe: "cast" },
};

const { total } = memory;
const peakOf = (setting) => total(memory.peak(memory.timeline(setting)));
const at = (points, phase) => points.find((point) => point.phase === phase);

// Counted by hand

const BYTES = [
  ["float32", "sgd", 4, 4, 0],
  ["float32", "momentum", 4, 4, 4],
  ["float32", "adam", 4, 4, 8],
  ["mixed", "adam", 2, 2, 12],
  ["mixed-32", "adam", 2, 4, 12],
  ["mixed-both", "adam", 2, 6, 12],
  ["mixed", "adam8", 2, 2, 6],
  ["bfloat16", "adam", 2, 2, 4],
];

for (const [recipe, name, weights, gradients, optimizer] of BYTES)
  test(`bytes per parameter of ${recipe} with ${name}`, () => {
    const bytes = memory.perParameter(recipe, name);
    assert.deepEqual(bytes, { weights, gradients, optimizer });
  });

test("the picture of the recipes has the same bytes", () => {
  const shown = [0, 2, 3, 4, 5, 6].map((i) => BYTES[i]);
  assert.equal(library.recipes.length, shown.length);
  library.recipes.forEach(([weights, gradients, master, state], i) => {
    assert.deepEqual(shown[i].slice(2), [weights, gradients, master + state]);
  });
});

for (const [name, setting, count] of [
  ["the deep MLP", DEEP, 16 * (128 * 128 + 128)],
  ["the MLP", MLP, 1025 * 4096 + 2 * 4097 * 4096 + 4097 * 10],
  ["GPT-2", GPT2, 124475904], // printed by llm.c
  ["GPT-2 XL", { ...GPT2, layers: 48, width: 1600, heads: 25 }, 1557686400], // also
  ["Llama-3-8B", LLAMA, 8030261248],
])
  test(`parameters of ${name}`, () => assert.equal(memory.countParameters(setting), count));

/** Return the bytes per token that a layer keeps. */
const layer = (kind, setting) =>
  memory[`${kind}Layer`]({
    ...{ kind, recompute: "none", attention: "plain", numbers: 2, ...setting },
  });

for (const length of [128, 512, 2048])
  test(`a layer of GPT keeps what the formula says for ${length} tokens`, () => {
    const sizes = { width: 256, heads: 8, length, dropout: true };
    const kept = 34 + (5 * 8 * length) / 256;
    const means = 16; // and deviations, of two normalizations
    const bytes = (change) => layer("gpt", { ...sizes, ...change });
    assert.equal(bytes({}), 256 * kept + means);
    assert.equal(bytes({ attention: "fused" }), 34 * 256 + means + 8 * 4);
    assert.equal(bytes({ recompute: "attention" }), 34 * 256 + means);
    assert.equal(bytes({ dropout: false }), (32 + (2 * 8 * length) / 256) * 256 + means);
    assert.equal(bytes({ recompute: "nonlinearity" }), 256 * (kept - 8) + means);
  });

test("a layer of Llama keeps 41 bytes per number", () => {
  const sizes = { width: 4096, hidden: 14336, heads: 32, keyHeads: 8, length: 4096 };
  const arrays = 2 + 1 + 1 + 1 + 1 + 2 / 4 + 4 * 3.5; // of width 4096
  assert.equal(2 * arrays, 41);
  const fused = layer("llama", { ...sizes, attention: "fused" });
  assert.equal(fused, 41 * 4096 + 8 + 32 * 4);
  // The softmax in 32 bits, and its copy in 16 bits.
  assert.equal(layer("llama", sizes), 41 * 4096 + 8 + 32 * 4096 * (4 + 2));
});

test("for a moment, a layer has gradients of its network or of its attention", () => {
  const moment = (model, change) => {
    const [, { temporary }] = memory.stages({ ...model, recipe: "bfloat16", ...change });
    return temporary / (model.batch * model.length);
  };
  assert.equal(moment(LLAMA, { attention: "fused" }), 2 * (2 * 14336 + 4096));
  assert.equal(moment(LLAMA, { attention: "fused", hidden: 4096 }), 2 * 5 * 4096);
  assert.equal(moment(LLAMA, {}), 2 * 5 * 4096 + 32 * 4096 * 2 * 4);
  assert.equal(moment(GPT2, {}), 2 * 5 * 768 + 12 * 1024 * 2 * 2);
  const twice = 12 * 1024 * (2 + 2 + 1); // softmax, its product with the mask, the mask
  assert.equal(moment(GPT2, { recompute: "attention" }) - moment(GPT2, {}), twice);
});

test("the deep MLP has the plateaus of the section", () => {
  const points = memory.timeline(DEEP);
  const [array, weights] = [MIB, 264192 * 4];
  const start = stateOf(weights) + array;
  assert.equal(total(points[0]), start);
  assert.equal(total(at(points, "turn")), start + 17 * array);
  assert.equal(total(memory.peak(points)), start + 21 * array);
  assert.equal(total(at(points, "turned")), start + weights);
  const phases = [...new Set(points.map(({ phase }) => phase))];
  assert.equal(phases.join(" "), "start forward turn backward turned update end");
  const turn = at(points, "turn"); // of 16 layers and the loss; backward takes twice as long
  assert.deepEqual([turn.stage, turn.at, at(points, "turned").at], [16, 17, 3 * 17]);
  assert.equal(total(points.at(-1)), start);
});

test("layers that are computed twice keep what each segment receives", () => {
  const points = memory.timeline({ ...DEEP, recompute: "full" });
  assert.equal(total(at(points, "turn")) - total(points[0]), (3 + 1) * MIB);
  // The loss, then 4 segments: what they and those before received, 3 or 4 outputs, and
  // two gradients for a moment.
  const tops = [4, 3, 2, 1, 0].map((number) => {
    const top = points.find(({ phase, stage }) => phase === "backward" && stage === number);
    return (total(top) - top.gradients - total(points[0])) / MIB;
  });
  assert.deepEqual(tops, [3 + 5, 3 + 3 + 2, 2 + 3 + 2, 1 + 3 + 2, 4 + 2]);
});

/** Return the bytes of weights and of the state of Adam. */
const stateOf = (weights) => weights + 2 * weights;

// Numbers that others counted, measured and planned

test("peaks are those that the tape counts", () => {
  // The highest points on the section's MemoryTape, in PyTorch on the device meta. The
  // model consists of the section's TransformerLayer, with embeddings and a separate head.
  for (const [change, counted] of [
    [{ recipe: "float32" }, 12383107676],
    [{ recipe: "bfloat16" }, 7767989852],
    [{ recipe: "float32", recompute: "full" }, 4606081628],
    [{ recipe: "bfloat16", recompute: "full" }, 3539344988],
  ])
    close(peakOf({ ...GPT2, tied: false, ...change }), counted, { rel: 0.01 });
  close(peakOf(DEEP), 26239112, { rel: 1e-4 });
});

test("the MLP was measured within 10 percent", () => {
  const points = memory.timeline(MLP);
  const { optimizer } = points[0]; // It does not exist in the first step.
  const turned = total(at(points, "turned"));
  const stateless = turned - optimizer;
  for (const [name, bytes] of [
    ["pytorch-weights", total(points[0]) - optimizer],
    ["pytorch-activations", total(at(points, "turn")) - optimizer],
    ["pytorch-gradients", stateless],
    ["pytorch-optimizer", turned],
    ["jax-weights", total(points[0]) - optimizer],
    ["jax-gradients", stateless],
    ["jax-optimizer", turned],
  ]) {
    const rel = name.startsWith("jax") ? 0.001 : 0.1;
    close(bytes / MIB, library.cited[`memory-${name}`], { rel }, name);
  }
});

/** Return what the figure compares: a name, the measured and the predicted bytes. */
const measured = (model) => timeline.measured(changed(timeline, { model }, "model"));

for (const [model, topic] of [["mlp", "pytorch"], ["gpt2xl", "gpt2"]])
  test(`${model} was measured within 10 percent`, () => {
    const roles = ["weights", "gradients", "optimizer", "activations"];
    const values = roles.map((role) => library.cited[`memory-${topic}-${role}`]);
    const rows = measured(model);
    const found = rows.map(([, size]) => size / MIB);
    const ordered = (list) => [...list].sort((a, b) => a - b);
    close(ordered(found), ordered(values));
    for (const [what, size, predicted] of rows) close(predicted, size, { rel: 0.1 }, what);
  });

test("the figure quotes the plan of XLA", () => {
  const rows = measured("llama");
  close(rows.map(([, size]) => size / MIB), [11487.5, 12449.1]);
  for (const [what, plan, size] of rows) close(size, plan, { rel: 0.1 }, what);
});

test("changed settings are not compared with measurements", () => {
  const state = changed(timeline, { model: "mlp" }, "model");
  assert.deepEqual(timeline.measured({ ...state, batch: 2 }), []);
});

for (const [gpus, state, rest] of [[8, 11487.5, 12449], [1, 91899, 33690]])
  test(`Llama on ${gpus} GPUs is within 10 percent of the plan of XLA`, () => {
    // The plans are for H100 GPUs: MiB of arguments and of temporaries.
    const points = memory.timeline({ ...LLAMA, gpus, recompute: "full" });
    const start = points[0].weights + points[0].optimizer;
    close(start / MIB, state, { rel: 0.001 });
    close((total(memory.peak(points)) - start) / MIB, rest, { rel: 0.1 });
  });

// Properties of all settings

/** Each preset with each change of a single setting. */
const CHANGES = [
  ...[{}, { batch: 64 }, { parts: 2 }, { parts: 8 }, { gpus: 8 }, { attention: "fused" }],
  ...[{ gpus: 8, sharded: "optimizer" }, { optimizer: "sgd" }],
  ...["attention", "nonlinearity", "full"].map((recompute) => ({ recompute })),
  ...["chunks", "in place"].map((loss) => ({ loss })),
  ...["mixed", "cast", "bfloat16", "mixed-both"].map((recipe) => ({ recipe })),
];

test("a step begins and ends with the same memory", () => {
  for (const model of [DEEP, MLP, GPT2, LLAMA])
    for (const change of CHANGES) {
      const points = memory.timeline({ ...model, ...change });
      const roles = (point) => memory.ROLES.map((role) => point[role]);
      close(roles(points.at(-1)), roles(points[0]));
      assert.ok(points.every((point) => roles(point).every((bytes) => bytes >= 0)));
      points.slice(1).forEach((point, i) => assert.ok(point.at >= points[i].at));
      assert.ok(at(points, "turned").gradients > 0);
    }
});

for (const change of [
  ...[{ batch: 2 }, { length: 512 }, { parts: 2 }, { attention: "fused" }, { gpus: 8 }],
  ...[{ recompute: "attention" }, { recompute: "full" }, { recompute: "nonlinearity" }],
  ...[{ loss: "chunks" }, { optimizer: "sgd" }, { recipe: "bfloat16" }],
])
  test(`${JSON.stringify(change)} lowers the peak`, () =>
    assert.ok(peakOf({ ...GPT2, ...change }) < peakOf(GPT2)));

test("a loss in chunks has an eighth of the logits at a time", () => {
  const most = (loss) => {
    const points = memory.timeline({ ...GPT2, loss });
    return Math.max(...points.map((point) => point.loss));
  };
  assert.equal(most("whole"), 8 * most("chunks"));
});

test("gradients persist between parts", () => {
  const points = memory.timeline({ ...GPT2, parts: 2 });
  const second = points.filter(({ part, phase }) => part === 1 && phase === "forward");
  const gradients = new Set([...second, points.at(-2)].map((point) => point.gradients));
  assert.deepEqual([...gradients], [124475904 * 4]);
});

test("weights that are cast exist for two layers at a time", () => {
  /** Return the temporaries in the backward passes of the layers. */
  const temporaries = (recipe) =>
    memory
      .timeline({ ...LLAMA, attention: "fused", recipe })
      .filter(({ phase, stage }) => phase === "backward" && stage >= 1 && stage <= 32)
      .map((point) => point.temporaries);
  const parameters = (2 * 4096 ** 2 * 5) / 4 + 3 * 4096 * 14336 + 2 * 4096;
  const expected = temporaries("mixed").map((bytes) => bytes + 2 * 2 * parameters);
  assert.deepEqual(temporaries("cast"), expected);
});

// The words

test("the first setting names its peak and a remedy", () => {
  const text = result(timeline);
  const start = "GPT-2 needs 28.9 GB at its peak (expect 35.8 GB), 11.8 GB too much for the";
  assert.ok(text.startsWith(start));
  includes(
    formula(timeline),
    "The peak is at the start of the backward pass",
    "“activations”, with 17.3 GB or 60 %",
    "a fused attention lowers the peak to 16.9 GB",
    "124 million parameters",
  );
  const sums = timeline.table(first(timeline)).rows.at(-1).map(plain);
  assert.deepEqual(sums, ["sum", "1.74 GB", "22.3 GB", "28.9 GB", "1.99 GB"]);
  includes(formula(timeline, { model: "gpt2xl" }, "model"), "42.37 GB, predicted 42.58 GB");
});

test("advice is kept: if a change is said to be enough, the model fits after it", () => {
  const texts = [];
  for (const model of Object.keys(timeline.MODELS))
    for (const card of Object.keys(timeline.CARDS))
      for (const batch of [1, 16, 512]) {
        const state = { ...changed(timeline, { model }, "model"), card, batch };
        const lines = [timeline.result(state), ...timeline.formula(state).slice(0, 3)];
        texts.push(plain(lines.join(" ")));
      }
  for (const kind of [" fits on ", "One change is enough", "Several changes", "All remedies"])
    assert.ok(texts.some((text) => text.includes(kind)), kind);
  for (const text of texts.filter((one) => one.includes("enough"))) {
    const [, capacity] = text.match(/\(([\d.]+) GB\)/);
    const [, lowered, unit] = text.match(/peak to ([\d.]+) (GB|MB)/);
    assert.ok(Number(lowered) * { GB: 1, MB: 1e-3 }[unit] <= Number(capacity), text);
  }
});

// The allocator

const play = (policy, requests, fit = "best") =>
  allocation.playRequests({ capacity: 100, policy, fit }, requests);
const request = (sizes) => Object.entries(sizes).map(([name, size]) => ({ name, size }));
const pieceOf = (pool, name) => {
  const { start, end } = pool.segments[0].pieces.find((piece) => piece.name === name);
  return [start, end];
};

test("a block is that of the section", () => {
  const failures = library.blocks.filter(({ requests, pieces, failed }) => {
    const pool = play("block", requests, "first");
    const found = pool.segments[0].pieces.map(({ name, start, end }) => [name, [start, end]]);
    assert.deepEqual(Object.fromEntries(found), pieces);
    assert.deepEqual(pool.failed, failed);
    return failed;
  });
  assert.ok(failures.length > 0 && failures.length < library.blocks.length);
});

test("best fit takes the smallest gap", () => {
  const frees = [{ free: "a" }, { free: "c" }, { name: "f", size: 8 }];
  const requests = [...request({ a: 30, b: 5, c: 10, d: 5, e: 50 }), ...frees];
  assert.deepEqual(pieceOf(play("block", requests, "first"), "f"), [0, 8]);
  assert.deepEqual(pieceOf(play("block", requests, "best"), "f"), [35, 43]);
});

test("of equal gaps the first is taken", () => {
  const frees = [{ free: "b" }, { free: "d" }, { name: "f", size: 10 }];
  const requests = [...request({ a: 20, b: 20, c: 20, d: 20, e: 20 }), ...frees];
  assert.deepEqual(pieceOf(play("block", requests), "f"), [20, 30]);
});

test("sizes of segments are those of PyTorch", () => {
  const sizes = [0.5, 1, 1.5, 9, 10, 33].map(allocation.segmentSize);
  assert.deepEqual(sizes, [2, 2, 20, 20, 10, 34]);
  // A request of one mebibyte is small, so that another one fits beside it.
  assert.equal(play("segments", request({ a: 1, b: 1 })).reserved, 2);
});

test("a rest of one mebibyte is not divided", () => {
  for (const [size, end] of [[19, 20], [18, 18]]) {
    const requests = [{ name: "a", size: 20 }, { free: "a" }, { name: "b", size }];
    const pool = play("segments", requests);
    assert.deepEqual(pool.segments[0].pieces, [{ name: "b", start: 0, end }]);
    assert.deepEqual([pool.allocated, pool.reserved], [size, 20]);
  }
});

test("mapped pages are used before new ones", () => {
  const requests = [...request({ a: 20, b: 20 }), { free: "a" }, { name: "c", size: 20 }];
  assert.equal(play("expandable", requests, "first").reserved, 40);
});

for (const policy of ["block", "segments", "expandable"])
  test(`pieces of ${policy} never overlap and are within what is reserved`, () => {
    for (const { requests } of library.blocks.slice(0, 100)) {
      const pool = play(policy, requests);
      assert.ok(pool.allocated <= pool.reserved && pool.reserved <= 100);
      for (const { pieces, size } of pool.segments) {
        const ordered = [...pieces].sort((a, b) => a.start - b.start);
        const starts = [...ordered.map(({ start }) => start), size];
        const ends = [0, ...ordered.map(({ end }) => end)];
        assert.ok(ends.every((end, i) => end <= starts[i]));
      }
    }
  });

test("expandable segments fail only when memory is short", () => {
  const pools = library.blocks.map(({ requests }) => play("expandable", requests, "first"));
  const failed = pools.filter((pool) => pool.failed);
  assert.ok(failed.length > 0);
  for (const { segments, allocated, failed: last } of failed) {
    const pages = 4 * segments[0].pieces.length + 4; // two partial pages a piece
    assert.ok(allocated + last.size > 100 - pages);
  }
});

for (const policy of ["segments", "expandable"])
  test(`memory that ${policy} has not reserved is no gap`, () => {
    const text = "80 of 100 are allocated, and 80 are reserved.";
    assert.equal(result(allocator, { policy }), text);
  });

test("the example of the text fails", () => {
  const text = "70 are free, but the largest gap of 40 is too small for 50.";
  assert.equal(result(allocator), `The memory is fragmented: ${text}`);
  const rows = [["free", 0, 30, 30], ["b", 30, 60, 30], ["free", 60, 100, 40]];
  assert.deepEqual(allocator.table(first(allocator)).rows, rows);
});

test("pieces are freed and allocated", () => {
  const press = (state, number) => allocator.actions[number].run(state);
  const told = (state) => plain(allocator.result(state));
  const [FREE, ALLOCATE, FREE_ALL] = [0, 1, 2];
  const empty = press(first(allocator), FREE_ALL);
  includes(told(empty), "100 of 100 are free");
  let state = { ...empty, size: 40 };
  for (let i = 0; i < 3; i += 1) state = press(state, ALLOCATE);
  includes(told(state), "full: only 20 are free, too few for 40");
  const freed = press({ ...state, piece: "a" }, FREE);
  includes(told(freed), "60 of 100 are free, and the largest gap has 40");
  assert.equal(freed.did, "40-40-fa"); // the text in the address
  assert.equal(begin(allocator, "did=40-40-fa").did, freed.did);
});

test("controls follow the kind of requests", () => {
  const seen = (list, state) => list.filter(({ when }) => when?.(state)).map(({ id }) => id);
  const [{ controls, actions }, own] = [allocator, first(allocator)];
  const come = { sequence: "come", policy: "segments" };
  assert.deepEqual(seen(controls, own), ["size", "piece"]);
  assert.deepEqual(seen(controls, { ...own, ...come }), ["count"]);
  assert.deepEqual([seen(actions, own).length, seen(actions, { ...own, ...come }).length], [3, 0]);
  includes(result(allocator, come), "Minibatch 12, of length 90, fails");
  includes(result(allocator, { ...come, count: 11 }), "Minibatch 11, of length 45, fits");
});

for (const [sequence, policy, failure] of [
  ["come", "segments", 12],
  ["padded", "segments", 0],
  ["longest", "segments", 0],
  ["come", "expandable", 0],
  ["come", "block", 12],
  ["longest", "block", 0],
])
  test(`minibatches of ${sequence} in ${policy} fail at ${failure}`, () =>
    assert.equal(allocator.failure(changed(allocator, { sequence, policy })), failure));

// Fine-tuning

const { adapt } = figures;
const tasks = library.published.adapting;
const ROLE_NAMES = ["weights", "training", "activations", "logits"];
const settingOf = ({ sizes, length, checkpoint, chunks }) => ({
  ...{ ...sizes, batch: 1, length, recompute: checkpoint ? "full" : "none" },
  loss: chunks === 1 ? "whole" : "chunks",
});

test("fine-tuning takes the bytes that the library counts, by role", () => {
  assert.ok(tasks.length > 1000);
  for (const task of tasks) {
    const { bits, rank, adapters, sizes, roles } = task;
    const setting = settingOf(task);
    const need = bits
      ? memory.adaptingNeed(setting, bits, rank)
      : memory.trainingNeed(setting);
    assert.equal(memory.loraParameters(sizes, rank), adapters, task.name);
    for (const role of ROLE_NAMES)
      close(need[role], roles[role], { rel: 1e-9 }, `${JSON.stringify(task)} ${role}`);
  }
});

test("the figure of fine-tuning has the library's models, and fits what the rule fits", () => {
  let seen = 0;
  for (const [model, { name, sizes }] of Object.entries(adapt.MODELS))
    for (const task of tasks.filter((one) => one.name === name)) {
      const known = Object.entries(sizes).every(([key, x]) => task.sizes[key] === x);
      assert.ok(known && Boolean(sizes.tied) === task.sizes.tied, name);
      const { length, loss, recompute } = settingOf(task);
      const way = adapt.WAYS.find(({ bits }) => bits === task.bits);
      for (const [card, { name: called }] of Object.entries(adapt.CARDS)) {
        const state = changed(adapt, { model, card, length, loss, recompute, rank: task.rank });
        assert.equal(adapt.fits(state, way), task.cards.includes(called), `${name}, ${called}`);
        seen += 1;
      }
    }
  assert.ok(seen > 2000);
});

test("the figure of fine-tuning begins with the numbers of the section", () => {
  const sums = adapt.WAYS.map((way) => adapt.total(adapt.needOf(first(adapt), way)) / 1e9);
  close(sums, [128.5, 22.0, 12.0], { abs: 0.05 });
  assert.equal(
    result(adapt, {}),
    "Rank 16 trains 41.9 million parameters, 0.52 % of the model; the T4 holds LoRA in 4.5 bits.",
  );
  // By hand: (0.9 · 15.836 - 12.03) GB / (41.9e6 / 16 · 16 bytes) = 53 more than rank 16
  assert.equal(adapt.largest(first(adapt), adapt.WAYS[2]), 64);
  includes(result(adapt, { rank: 64 }), "holds LoRA in 4.5 bits; no larger rank fits.");
  includes(result(adapt, { card: "rtx4090", loss: "chunks" }), "LoRA in 16 bits and LoRA in 4.5");
  includes(result(adapt, { card: "h200" }), "holds all three");
  includes(result(adapt, { model: "llama70" }), "holds none of the three");
});
