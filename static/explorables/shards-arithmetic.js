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

/** Return the spans of collectives on one link of a step that ends at `end`. The first gather
 * of weights belongs to the forward pass, and all else is sent last. */
const spansOf = (list, end) => {
  const first = list[0]?.kind === "all-gather" ? list[0].seconds : 0;
  let now = end - total(list.map(({ seconds }) => seconds)) + first;
  return list.map((each, i) => {
    if (i === 0 && first) return { ...each, start: 0, end: first };
    now += each.seconds;
    return { ...each, start: now - each.seconds, end: now };
  });
};

/**
 * Return a step. As in `planStep`, an all-reduce hides behind the backward pass, and all
 * other traffic behind the arithmetic; sums between machines have a link of their own.
 * @param {{zero: number, hybrid: boolean}} plan
 * @param {object} model as for `stored`
 * @param {object} work gpus; flops: of a step on all GPUs
 * @param {object} hardware rate; within, between: bandwidth of a GPU inside of its machine and
 * to others; machine: its GPUs
 * @returns {object} shards; memory by role; bytes: their sum; spans {kind, what, link, bytes,
 * seconds, start, end}; sent; compute; exposed; step; links: the bandwidths
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
    spans: Object.keys(links).flatMap((link) => spansOf(on(link), step)),
  };
};
