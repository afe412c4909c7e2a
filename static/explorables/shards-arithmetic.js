/* The arithmetic of sharding: what a GPU stores of the state, what it sends in a step, and
 * what arithmetic hides of that. Times are in seconds, sizes in bytes, rates in FLOP/s and
 * bandwidths in bytes per second and direction.
 *
 * All GPUs compute with different tokens, in one microbatch each. The library's
 * `training_plans` has the same state, traffic and times, but no hybrid sharding.
 */
import * as memory from "./memory-arithmetic.js";
import * as parallel from "./parallel-arithmetic.js";

/** The stage of ZeRO of each plan, and whether each machine has all of the state. */
export const PLANS = {
  ddp: { zero: 0, hybrid: false },
  zero1: { zero: 1, hybrid: false },
  zero2: { zero: 2, hybrid: false },
  fsdp: { zero: 3, hybrid: false },
  hsdp: { zero: 3, hybrid: true },
};

/** Return how many of `gpus` share the state. */
export const shardsOf = ({ hybrid }, gpus, machine) => (hybrid ? Math.min(gpus, machine) : gpus);

/**
 * Return the bytes that a GPU stores, by role, with two layers that it has gathered or cast.
 * @param {{zero: number}} plan
 * @param {{parameters: number, layers: number, recipe: string}} model of equal layers
 * @param {number} shards GPUs that share the state
 */
export const stored = ({ zero }, { parameters, layers, recipe }, shards) => {
  const two = (2 * parameters * memory.RECIPES[recipe].numbers) / layers;
  const isCopied = (zero >= 3 && shards > 1) || recipe === "cast";
  const state = parallel.stateBytes(parameters, { recipe, zero, shards });
  return { ...state, gathered: isCopied ? two : 0 };
};

/**
 * Return the collectives of a step: {kind, what, link, bytes}, with what a GPU sends in each.
 * @param {{zero: number, hybrid: boolean}} plan
 * @param {object} model as for `stored`
 * @param {{gpus: number, machine: number}} group all GPUs, and those of a machine
 */
export const collectives = (plan, { parameters, recipe }, { gpus, machine }) => {
  const { gradients } = memory.perParameter(recipe, "adam");
  const { numbers } = memory.RECIPES[recipe];
  const shards = shardsOf(plan, gpus, machine);
  const machines = gpus / shards;
  const part = ((shards - 1) / shards) * parameters;
  const gather = { kind: "all-gather", what: "weights", link: "ring", bytes: part * numbers };
  const scatter = { ...gather, kind: "reduce-scatter", what: "gradients", bytes: part * gradients };
  const reduce = { ...scatter, kind: "all-reduce", bytes: 2 * scatter.bytes };
  const own = (2 * (1 - 1 / machines) * parameters * gradients) / shards;
  const inRing = [[reduce], [gather, scatter], [gather, scatter], [gather, gather, scatter]];
  const list = [...inRing[plan.zero], { ...reduce, link: "machines", bytes: own }];
  return list.filter(({ bytes }) => bytes > 0);
};

const total = (list) => list.reduce((sum, x) => sum + x, 0);

/**
 * Return a step. As in `planStep`, an all-reduce hides behind the backward pass, and all
 * other traffic behind the arithmetic; sums between machines have a link of their own.
 * @param {{zero: number, hybrid: boolean}} plan
 * @param {object} model as for `stored`
 * @param {object} work gpus; flops: of a step on all GPUs
 * @param {object} hardware rate; within, between: bandwidth of a GPU inside of its machine and
 * to others; machine: its GPUs
 * @returns {object} shards; memory by role; bytes: their sum; messages {kind, what, link, bytes,
 * seconds}; sent; compute; exposed; step; links: the bandwidths
 */
export const stepOf = (plan, model, { gpus, flops }, hardware) => {
  const { rate, between, machine } = hardware;
  const shards = shardsOf(plan, gpus, machine);
  const links = { ring: parallel.ringLink(shards, 1, hardware), machines: between };
  const list = collectives(plan, model, { gpus, machine }).map((each) => ({
    ...each,
    seconds: each.bytes / links[each.link],
  }));
  const on = (link) => list.filter((each) => each.link === link);
  const travel = (link) => total(on(link).map(({ seconds }) => seconds));
  const compute = flops / gpus / rate;
  const backward = (2 / 3) * compute;
  const window = plan.zero === 0 ? backward : compute;
  const exposed = Math.max(0, travel("ring") - window, travel("machines") - backward);
  const step = compute + exposed;
  const bytes = stored(plan, model, shards);
  return {
    ...{ shards, links, compute, exposed, step, memory: bytes },
    bytes: total(Object.values(bytes)),
    sent: total(list.map((each) => each.bytes)),
    messages: list,
  };
};

/** Return the pieces of collectives that are sent for each layer from a time to another: weights
 * at the start of a layer's share of the time, sums of gradients at its end. */
const spread = (list, from, to, layers) => {
  const share = (to - from) / layers;
  const isSum = ({ what }) => what === "gradients";
  const seconds = (kinds) => total(kinds.map((each) => each.seconds)) / layers;
  const sums = seconds(list.filter(isSum));
  return Array.from({ length: layers }, (_, i) => {
    let now = from + i * share;
    const last = now + share - sums;
    return list.map((each) => {
      const start = isSum(each) ? last : now;
      now = start + each.seconds / layers;
      return { ...each, start, end: now };
    });
  }).flat();
};

/** Return the spans of a pass on the GPU: it waits before each layer, or at the end. */
const passOf = (kind, seconds, from, to, layers, waits) => {
  const idle = to - from - seconds;
  if (idle < 1e-9 * to) return [{ kind, start: from, end: to }];
  if (!waits)
    return [
      { kind, start: from, end: from + seconds },
      { kind: "wait", start: from + seconds, end: to },
    ];
  const share = (to - from) / layers;
  return Array.from({ length: layers }, (_, i) => {
    const start = from + i * share;
    const middle = start + idle / layers;
    return [{ kind: "wait", start, end: middle }, { kind, start: middle, end: start + share }];
  }).flat();
};

/**
 * Return a schedule that takes as long as the step, layer by layer: the spans of the GPU, and of
 * both links. Weights that the forward pass needs are gathered in it, all else is sent in the
 * backward pass; the GPU waits for weights, and at the end for sums.
 * @param {object} step as `stepOf` returns it
 * @param {number} layers
 */
export const schedule = ({ messages, compute, step }, layers) => {
  const forward = compute / 3;
  const seconds = (list) => total(list.map((each) => each.seconds));
  const lane = (link) => {
    const list = messages.filter((each) => each.link === link);
    const first = list[0]?.kind === "all-gather" ? list.slice(0, 1) : [];
    const rest = list.slice(first.length);
    const turn = Math.min(Math.max(forward, seconds(first)), step - seconds(rest));
    const pieces = [...spread(first, 0, turn, layers), ...spread(rest, turn, step, layers)];
    return { pieces, turn, rest };
  };
  const [ring, machines] = ["ring", "machines"].map(lane);
  const turn = Math.min(Math.max(forward, ring.turn), step - 2 * forward);
  const isFirst = seconds(ring.rest) > seconds(machines.rest);
  const waitsForWeights = isFirst && ring.rest[0].kind === "all-gather";
  return {
    gpu: [
      ...passOf("forward", forward, 0, turn, layers, true),
      ...passOf("backward", 2 * forward, turn, step, layers, waitsForWeights),
    ],
    ring: ring.pieces,
    machines: machines.pieces,
  };
};
