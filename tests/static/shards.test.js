/* The figure of the shards: its arithmetic beside the library's, and steps by hand. */
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");

const { load, library, figures, first, plain, formula } = require("./support.js");
const { close, includes, grid, sum } = require("./support.js");

const arithmetic = load("shards-arithmetic");
const parallel = load("parallel-arithmetic");
const { begin } = load("controls");
const { shards, plans } = figures;
const { PLANS } = arithmetic;

const given = (settings) => begin(shards, settings);
const said = (settings) => plain(shards.result(given(settings)));
const stage = (zero) => Object.values(PLANS).find((plan) => plan.zero === zero && !plan.hybrid);

test("state, traffic and times are those of the library", () => {
  assert.equal(library.shards.length, 720);
  for (const { zero, model, work, hardware, state, sent, link, times } of library.shards) {
    const found = arithmetic.stepOf(stage(zero), model, work, hardware);
    for (const role of ["weights", "gradients", "optimizer"])
      close(found.memory[role], state[role] * model.parameters);
    close([found.sent, found.links.ring], [sent, link]);
    close([found.compute, found.exposed, found.step], times, { abs: 1e-9 });
  }
});

test("hybrid sharding is that of the figure of plans", () => {
  // Llama 3 8 B with a sequence on each GPU, in 32 bits
  const { sizes } = plans.MODELS.llama8;
  for (const { gpus, machine, between } of grid({
    ...{ gpus: [2, 8, 64, 1024], machine: [4, 8], between: [50e9, 5e9, 5e8] },
  })) {
    const settings = { ...plans.MODELS.llama8.settings, ...sizes, gpus, batch: gpus };
    const plan = { ...settings, length: 4096, zero: 3, hybrid: true, sequence: true, overlap: true };
    const hardware = { rate: 400e12, within: 450e9, between, machine };
    const expected = parallel.planStep({ ...plan, recipe: "float32", recompute: "none", loss: "whole" }, hardware);
    const model = { parameters: parallel.countParameters(plan), layers: 32, recipe: "float32" };
    const work = { gpus, flops: expected.flops.all };
    const found = arithmetic.stepOf(PLANS.hsdp, model, work, hardware);
    close([found.compute, found.step], [expected.times.compute, expected.step]);
    close(found.exposed, expected.times.data, { abs: 1e-9 });
    for (const role of ["weights", "gradients", "optimizer"])
      close(found.memory[role], expected.memory[role]);
    close(found.sent, expected.traffic.data + expected.traffic.machines);
    close(found.links.ring, expected.links.data);
  }
});

test("the table of the section", () => {
  // Bytes per parameter that are stored and sent in 32 bits, by the number n of GPUs
  const model = { parameters: 1e9, layers: 10, recipe: "float32" };
  const group = { gpus: 64, machine: 8 };
  const n = group.gpus;
  const rows = {
    ddp: [16, 8],
    zero1: [8 + 8 / n, 8],
    zero2: [4 + 12 / n, 8],
    fsdp: [16 / n, 12],
  };
  for (const [plan, [bytes, sent]] of Object.entries(rows)) {
    const { gathered, ...state } = arithmetic.stored(PLANS[plan], model, n);
    close(sum(Object.values(state)) / 1e9, bytes);
    const list = arithmetic.collectives(PLANS[plan], model, group);
    close(sum(list.map((one) => one.bytes)) / 1e9, (sent * (n - 1)) / n);
    close(gathered, plan === "fsdp" ? 8e8 : 0);
  }
  assert.equal(arithmetic.stored(PLANS.fsdp, model, 1).gathered, 0); // one GPU has them all
  const kinds = (plan) => arithmetic.collectives(PLANS[plan], model, group).map(({ kind }) => kind);
  assert.deepEqual(kinds("ddp"), ["all-reduce"]);
  assert.deepEqual(kinds("zero1"), ["all-gather", "reduce-scatter"]);
  assert.deepEqual(kinds("zero2"), kinds("zero1"));
  assert.deepEqual(kinds("fsdp"), ["all-gather", "all-gather", "reduce-scatter"]);
  assert.deepEqual(kinds("hsdp"), [...kinds("fsdp"), "all-reduce"]);
});

test("the output of the section on hybrid sharding", () => {
  // Two machines of two GPUs: half of the gradients of 1028 KiB is all-reduced in a ring of
  // two, which sends as many bytes.
  const model = { parameters: 263168, layers: 4, recipe: "float32" };
  const list = arithmetic.collectives(PLANS.hsdp, model, { gpus: 4, machine: 2 });
  const [last] = list.slice(-1);
  assert.deepEqual([last.link, last.bytes / 1024], ["machines", 514]);
});

test("a step of two machines by hand", () => {
  // 4 GPUs, 2 in a machine; 24 parameters; a rate of 1 and 216 FLOPs: 54 s of arithmetic,
  // 36 of them backward. FSDP sends 3/4 · 96 = 72 bytes three times over 2 · 2 bytes/s.
  const model = { parameters: 24, layers: 2, recipe: "float32" };
  const hardware = { rate: 1, within: 8, between: 2, machine: 2 };
  const at = (plan, flops = 216) =>
    arithmetic.stepOf(PLANS[plan], model, { gpus: 4, flops }, hardware);
  const lanes = (step) => arithmetic.schedule(step, model.layers);
  const times = (spans) => spans.map(({ kind, start, end }) => `${kind} ${start} to ${end}`);
  const fsdp = lanes(at("fsdp"));
  assert.deepEqual(times(fsdp.gpu), ["forward 0 to 18", "backward 18 to 54"]);
  assert.deepEqual(times(fsdp.ring), [
    ...["all-gather 0 to 9", "all-gather 9 to 18"], // a layer each
    ...["all-gather 18 to 27", "reduce-scatter 27 to 36"],
    ...["all-gather 36 to 45", "reduce-scatter 45 to 54"],
  ]);
  assert.deepEqual([at("fsdp").exposed, at("fsdp").sent], [0, 216]);
  // With less arithmetic, the GPU waits for the weights of each layer.
  const short = lanes(at("fsdp", 144));
  assert.deepEqual(short.ring, fsdp.ring);
  assert.deepEqual(times(short.gpu).slice(0, 4), [
    ...["wait 0 to 3", "forward 3 to 9", "wait 9 to 12", "forward 12 to 18"],
  ]);
  assert.deepEqual(times(short.gpu).slice(4, 6), ["wait 18 to 24", "backward 24 to 36"]);
  assert.equal(at("fsdp", 144).exposed, 18); // of 54 s, beside 36 of arithmetic
  // An all-reduce has two thirds of the arithmetic: 36 s are hidden, but not 36 of 24.
  assert.deepEqual(times(lanes(at("ddp")).ring), ["all-reduce 18 to 36", "all-reduce 36 to 54"]);
  assert.deepEqual(times(lanes(at("ddp", 144)).gpu).slice(1), ["backward 12 to 36", "wait 36 to 48"]);
  assert.deepEqual([at("ddp").exposed, at("ddp", 144).exposed], [0, 12]);
  // The state in each machine: 1/2 · 96 = 48 bytes three times at 8 bytes/s, and 48 at 2.
  const hsdp = lanes(at("hsdp"));
  assert.deepEqual(times(hsdp.ring).slice(0, 4), [
    ...["all-gather 0 to 3", "all-gather 9 to 12", "all-gather 18 to 21", "reduce-scatter 33 to 36"],
  ]);
  assert.deepEqual(times(hsdp.machines), ["all-reduce 24 to 36", "all-reduce 42 to 54"]);
  // 6 s of weights delay a forward pass of 5, and the sums between machines the end.
  assert.deepEqual(times(lanes(at("hsdp", 60)).gpu).slice(-3), [
    ...["forward 3.5 to 6", "backward 6 to 16", "wait 16 to 29"],
  ]);
  assert.equal(at("hsdp", 60).exposed, 14); // 24 s beside a backward pass of 10
});

test("a schedule has all of a step's messages and arithmetic, without overlap, and its length", () => {
  for (const { plan, gpus, network, bits } of grid({
    ...{ plan: Object.keys(PLANS), gpus: [2, 8, 64, 1024], network: [0.1, 5, 400], bits: ["16", "32"] },
  })) {
    const state = given(`plan=${plan}&gpus=${gpus}&network=${network}&bits=${bits}`);
    const step = shards.run(state);
    const { gpu, ring, machines } = arithmetic.schedule(step, 32);
    const seconds = (list, kinds) =>
      sum(list.filter(({ kind }) => kinds.includes(kind)).map(({ start, end }) => end - start));
    close(seconds(gpu, ["forward", "backward"]), step.compute);
    close(seconds(gpu, ["wait"]), step.exposed, { abs: 1e-8 * step.step });
    for (const [link, list] of Object.entries({ ring, machines })) {
      const messages = step.messages.filter((one) => one.link === link);
      assert.equal(list.length, 32 * messages.length);
      close(sum(list.map(({ start, end }) => end - start)), sum(messages.map((one) => one.seconds)));
    }
    for (const list of [gpu, ring, machines])
      list.forEach(({ start, end }, i) => {
        assert.ok(start >= (list[i - 1]?.end ?? 0) - 1e-9 * step.step);
        assert.ok(end <= step.step * (1 + 1e-9));
      });
    close(gpu.at(-1).end, step.step);
    assert.ok(step.exposed >= 0);
  }
});

test("more GPUs never need more memory, nor hide more", () => {
  for (const settings of ["", "bits=16", "card=rtx4090", "machine=64&billions=405"])
    for (const plan of Object.keys(PLANS)) {
      const state = given(`${settings}&plan=${plan}`);
      const steps = [1, 2, 4, 8, 16, 64, 256, 1024].map((gpus) => shards.run(state, plan, gpus));
      steps.slice(1).forEach((step, i) => {
        assert.ok(step.bytes <= steps[i].bytes);
        assert.ok(step.exposed / step.step >= steps[i].exposed / steps[i].step - 1e-12);
      });
    }
});

test("combined settings are drawn and told in one sentence", () => {
  for (const settings of grid({
    ...{ plan: Object.keys(PLANS), gpus: [1, 8, 1024], billions: [1, 405], bits: ["16", "32"] },
    ...{ card: ["a100", "rtx4090"], network: [0.1, 400], machine: ["4", "64"], tokens: [0.25, 16] },
  })) {
    const state = { ...first(shards), ...settings };
    const drawn = shards.draw(state, 320) + shards.draw(state, 640, { from: state, part: 0.5 });
    const words = [shards.summary(state), ...shards.formula(state), ...shards.table(state).rows];
    assert.doesNotMatch([drawn, ...words].join(), /NaN|undefined|Infinity|null|="-|[^.\d]\d+e[+-]\d/);
    assert.ok(shards.result(state).length <= 180, shards.result(state));
  }
});

test("the resource that decides", () => {
  includes(said(""), "fits from 2 H100s on", "and messages can hide up to 256; with 64, arithmetic decides: 1.89 s");
  includes(said("gpus=1024"), "with 1024, the network decides: 51 % of a step is exposed.");
  includes(said("gpus=1024&plan=hsdp"), "NVLink decides: 40 % of");
  includes(said("gpus=1024&plan=hsdp&card=rtx4090"), "PCIe decides");
  includes(said("gpus=1024&plan=hsdp&network=5"), "the network decides");
  includes(said("plan=ddp"), "never fits on H100s", "memory decides: 128 GB on each.");
  includes(said("gpus=1&billions=1"), "fits on one H100", "on one GPU, arithmetic decides");
  includes(said("network=0.1"), "up to 8;", "98 %");
});

test("the number of parameters does not change how many GPUs hide", () => {
  for (const plan of Object.keys(PLANS)) {
    const upTo = [1, 8, 405].map((billions) => shards.most({ ...first(shards), plan, billions }));
    assert.equal(new Set(upTo).size, 1);
  }
  // FSDP in 32 bits: 12 P / B of messages, 6 P T / R of arithmetic, so T = 2 R / B tokens
  const { rate, within, between, machine } = shards.hardwareOf(first(shards));
  const tokens = (2 * rate) / Math.min(within, machine * between);
  close(tokens, 1987.5);
  assert.ok(1e6 / 256 > tokens && 1e6 / 512 < tokens);
});

test("products of 32 bits are TF32", () => {
  for (const [card, name] of [["a100", "A100"], ["b200", "B200"], ["rtx4090", "RTX 4090"]]) {
    const [half, full] = ["32", "16"].map((bits) => shards.hardwareOf(given(`card=${card}&bits=${bits}`)).rate);
    const { tf32, tensor16 } = library.cards[name];
    close(half / full, tf32 / tensor16);
    close(full, 1e12 * library.published.hardware[name].rate / 1e12);
  }
});

test("the arithmetic in words", () => {
  includes(
    formula(shards, {}),
    "= 0.25 bytes, 2 GB in all",
    "2 of 32 layers, gathered: 2 GB",
    "sent in all: 94.5 GB, or 11.8 bytes per parameter",
    "min(450 GB/s, 8 · 50 GB/s) = 400 GB/s",
    "6 · 8 billion · 1 million tokens / 64 / 398 TFLOP/s = 1.89 s",
  );
  assert.ok(!formula(shards, { gpus: 8 }).includes("a ring over machines"));
});

test("the drawing of a step shows what has been sent, a box for each layer", () => {
  const state = given("gpus=1024");
  const count = (kind, part) => {
    const svg = shards.draw(state, 640, part ? { from: state, part } : undefined);
    return svg.match(new RegExp(`class="${kind}[^"]*"`, "g")).length;
  };
  // Each bar has a part of weights, and the legend: FSDP gathers 32 layers twice.
  const bars = count("s1", 1e-6);
  assert.deepEqual([0.5, 1].map((part) => count("s1", part) - bars < 63), [true, false]);
  assert.equal(count("s3") - count("s3", 1e-6), 32);
});

test("a mark of the setting before has a name", () => {
  const [now, last] = ["gpus=128", "gpus=64"].map(given);
  assert.match(shards.draw(now, 640, undefined, last), /class="last".*>before</s);
  assert.doesNotMatch(shards.draw(now, 640, undefined, now), />before</);
  assert.doesNotMatch(shards.draw(now, 640), />before</);
});

test("a touched bar chooses its plan", () => {
  const svg = shards.draw(first(shards), 640);
  const touched = [...svg.matchAll(/data-touch="(\w+)"/g)].map(([, name]) => name);
  assert.deepEqual(touched, Object.keys(PLANS));
  assert.equal(shards.touch(first(shards), "hsdp").plan, "hsdp");
});
