/* The figures compute what the library computes, for all published measurements. */
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");

const { load, library, figures, changed, close, sum } = require("./support.js");

const parallel = load("parallel-arithmetic");
const memory = load("memory-arithmetic");
const inference = load("inference-arithmetic");
const collective = load("collective-arithmetic");
const performance = load("performance-arithmetic");
const usual = load("expectations");
const { plans, servers, decodes, rings, products, hardware } = library.published;
const { needs, generating } = library.published;
const timeline = figures["memory-timeline"];
const EXACT = { rel: 1e-9 };

/** Return the cards of a figure with the names that the library uses. */
const nameCards = (spec) =>
  Object.fromEntries(
    Object.entries(spec.CARDS).map(([id, card]) => {
      const name = card.name ?? card[0];
      return [id, { name: name.replace(", 80 GB", "").replace(",", "") }];
    }),
  );

/** Compare numbers by their names, and by nothing but those that are expected. */
const alike = (found, expected, what) => {
  for (const [name, x] of Object.entries(expected))
    close(found[name], x, EXACT, `${what}: ${name}`);
};

test("a plan takes the time that the library predicts", () => {
  assert.ok(plans.length > 300);
  for (const { plan, hardware: links, times, rate } of plans) {
    const step = parallel.planStep(plan, links);
    const what = JSON.stringify(plan);
    alike(step.times, times, what);
    close(step.tokens, rate, EXACT, what);
  }
});

test("a step is expected to take the time that the library expects", () => {
  for (const { plan, hardware: links, times, expected } of plans) {
    const found = parallel.expectedStep(plan, links);
    close(found, expected, EXACT, JSON.stringify(plan));
    assert.ok(found > sum(Object.values(times)));
  }
});

test("the constants of expectations are those of the library", () => {
  const { constants, attention, usual: rates, margin } = library.published;
  const given = Object.entries(usual).filter(([, x]) => typeof x === "number");
  assert.equal(given.length, 17);
  for (const [name, value] of given) assert.equal(value, constants[name], name);
  for (const [card, share] of Object.entries(attention)) {
    assert.equal(usual.attentionShare(card), share, card);
    const found = [16, 8].map((bits) => usual.productRate(card, 1e14, bits));
    if (card !== "A100 40 GB") close(found, rates[card], EXACT, card); // in no figure
  }
  close(usual.withMargin(1), margin, EXACT);
  assert.equal(usual.SAFE, library.published.safe);
});

test("a GPU of a plan takes the memory that the library predicts", () => {
  for (const { plan, params, hardware: links, memory: bytes } of plans) {
    const what = JSON.stringify(plan);
    close(parallel.countParameters(plan), params, EXACT, what);
    alike(parallel.planStep(plan, links).memory, bytes, what);
  }
});

test("a step on one GPU takes the memory that the library predicts", () => {
  for (const { plan, alone, kept } of plans) {
    const one = { ...plan, batch: plan.micro, parts: 1, gpus: 1, sharded: "all" };
    const what = JSON.stringify(one);
    const peak = memory.peak(memory.timeline(one));
    close(memory.total(peak), sum(Object.values(alone)), EXACT, what);
    alike(peak, alone, what);
    const layer = { gpt: memory.gptLayer, llama: memory.llamaLayer }[plan.kind];
    const { numbers } = memory.RECIPES[plan.recipe];
    close(layer({ ...plan, numbers }), kept, EXACT, what);
  }
});

/** Return the cards, of all that answers name, for which something holds. */
const where = (holds) => library.named.filter((card) => holds(usual.cardMemory(library.cards[card])));

test("a step fits on the same cards in both figures and in the library", () => {
  assert.ok(new Set(needs.map(({ name }) => name)).size >= 27);
  for (const { name, plan, hardware: links, cards } of needs) {
    const copied = { ...plan, copies: true };
    const one = { ...copied, parts: 1, gpus: 1, sharded: "all" };
    const peak = memory.total(memory.peak(memory.timeline(one)));
    const shared = sum(Object.values(parallel.planStep(copied, links).memory));
    for (const bytes of [peak, shared])
      assert.deepEqual(where((capacity) => usual.fits(bytes, capacity)), cards, name);
  }
});

test("the figures call a step fitting on the cards that the library names", () => {
  const names = { "Llama 3 8B": ["llama", "llama8"], "GPT-2 124M": ["gpt2", ""] };
  let seen = 0;
  for (const { name, plan, cards } of needs.filter(({ name: known }) => names[known])) {
    const { batch, micro, length, recipe, recompute, loss, attention } = plan;
    const given = { batch, length, recipe, recompute, loss, attention, dropout: "no", gpus: 1 };
    const [one, many] = names[name];
    const same = (spec, model, settings) => {
      for (const [card, { name: called }] of Object.entries(nameCards(spec))) {
        const state = { ...changed(spec, { model }, "model"), ...settings, card };
        assert.equal(spec.fits(state), cards.includes(called), `${name} on ${called}`);
        seen += 1;
      }
    };
    same(timeline, one, given);
    if (many && loss === "whole") same(figures.plans, many, { ...given, micro, zero: "0" });
  }
  assert.ok(seen > 100);
});

test("users fit beside a model on the same cards in the figure and in the library", () => {
  for (const { model, bits, users, cards } of generating) {
    const task = { model, bits, cacheBits: 16, input: 4096, output: 0 };
    const most = (capacity) => inference.capacity({ ...task, card: { memory: capacity } });
    const found = where((capacity) => most(capacity) >= users);
    assert.deepEqual(found, cards, JSON.stringify(model));
  }
});

test("a server has the users and the throughput that the library predicts", () => {
  for (const { server, users, throughput, apart, room, expected } of servers) {
    assert.equal(inference.capacity(server), users);
    const bounds = inference.step(server, Math.max(1, users));
    close(bounds.throughput, throughput, EXACT);
    close(bounds.apart, apart, EXACT);
    assert.ok(expected < apart && apart <= throughput * (1 + 1e-9));
    assert.equal(inference.expectedCapacity(server), room);
    close(inference.expectedStep(server, Math.max(1, room)).throughput, expected, EXACT);
  }
});

test("a token reads the bytes that the library predicts", () => {
  for (const { model, before, bits, nbytes } of decodes) {
    const weights = (inference.readParams(model, 1) * bits) / 8;
    close(weights + inference.cacheBytes(model, before), nbytes, EXACT);
  }
});

test("a ring takes the time that the library predicts", () => {
  for (const { ring, time, bus } of rings) {
    const run = collective.run({ ...ring, algorithm: "ring", slow: -1, factor: 1 });
    close(run.time, time, EXACT);
    close(collective.busBandwidth(ring.bytes, run.time, ring.n), bus, EXACT);
  }
});

test("a product takes the time that the library predicts", () => {
  const machine = { rate: 800e12, bandwidth: 2e12, overhead: 0 };
  for (const { product, time } of products)
    close(performance.bound(machine, performance.product(product, 2)).time, time, EXACT);
});

test("the library has the hardware of the figure of plans", () => {
  for (const { name, rate, within, network } of Object.values(figures.plans.CARDS))
    alike(hardware[name], { rate: 1e12 * rate, within: 1e9 * within, between: 1e9 * network }, name);
});

test("the latencies of rings are those of the figure of collectives", () => {
  const { MACHINES } = figures.collectives;
  const latency = (name) => 1e-6 * MACHINES[name].settings.latency;
  close(["nvlink", "pcie", "network"].map(latency), library.latencies, EXACT);
});
