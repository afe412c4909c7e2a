/* The arithmetic of a training step that many GPUs share: pure functions without a page.
 *
 * A plan divides a Transformer among `tensor` * `pipeline` * `data` GPUs. Times are in
 * seconds, sizes in bytes, rates in FLOP/s and bandwidths in bytes per second and
 * direction. The script needs memory-arithmetic.js and runs in pages and in Node.
 */
"use strict";

const { plural } = require("./arithmetic.js");
const memory = require("./memory-arithmetic.js");

// The groups of a plan

/**
 * Return the sizes that follow from a plan, or why it is not possible.
 * @param {object} plan gpus; tensor, pipeline: GPUs that share a layer, and stages;
 * batch: sequences of a step; micro: sequences of a microbatch; interleave: parts of
 * each stage; layers; heads
 * @returns {{data: number, microbatches: number, chunks: number, why: string}} copies
 * of the model, microbatches of each copy, parts of each stage; `why` is "" if the plan
 * is possible
 */
const groups = (plan) => {
  const { gpus, tensor, pipeline, batch, micro, interleave, layers, heads } = plan;
  const data = gpus / (tensor * pipeline);
  const microbatches = batch / (data * micro);
  const chunks = pipeline > 1 ? interleave : 1;
  const whole = Number.isInteger;
  /** @type {[boolean, string][]} */
  const conditions = [
    [whole(data), `${plural(gpus, "GPU")} cannot form groups of ${tensor} × ${pipeline}`],
    [
      whole(microbatches),
      `${plural(batch, "sequence")} cannot form microbatches of ${micro} for ` +
        plural(data, "copy", "copies"),
    ],
    [
      // The first and the last part may have a layer less: they embed and predict tokens.
      whole(layers / (pipeline * chunks)) || whole((layers + 2) / (pipeline * chunks)),
      `${layers} layers cannot form ${pipeline * chunks} equal parts`,
    ],
    [whole(heads / tensor), `${heads} heads cannot be divided among ${tensor} GPUs`],
  ];
  const why = conditions.find(([possible]) => !possible);
  return { data, microbatches, chunks, why: why ? why[1] : "" };
};

/** Return the stages of the memory's arithmetic for one microbatch. */
const modelParts = (plan) => {
  const list = memory.stages({ ...plan, batch: plan.micro });
  return { embedding: list[0], layer: list[1], head: list[list.length - 1] };
};

const countParameters = (plan) => memory.countParameters(plan);

/** Return the parameters on a GPU of the first and of the last stage. */
const stageParameters = (plan) => {
  const { layers, pipeline, tensor, vocabulary, width, tied } = plan;
  const { embedding, layer, head } = modelParts(plan);
  const own = (layers / pipeline) * layer.parameters;
  const ends = embedding.parameters + head.parameters;
  if (pipeline === 1) return Array(2).fill((own + ends) / tensor);
  const copy = tied ? vocabulary * width : 0; // of the embedding
  return [
    (own + embedding.parameters) / tensor,
    (own + head.parameters + copy) / tensor,
  ];
};

/**
 * Return the bytes of the state of some parameters, by role (ZeRO: Rajbhandari 2020).
 * @param {number} count how many parameters
 * @param {{recipe: string, zero: number, data: number}} state `zero` is 0 if nothing is
 * sharded, 1 for the optimizer's state, 2 for the gradients too, 3 for the weights too
 */
const stateBytes = (count, { recipe, zero, data }) => {
  const { weights, gradients, optimizer } = memory.perParameter(recipe, "adam");
  return {
    weights: (count * weights) / (zero >= 3 ? data : 1),
    gradients: (count * gradients) / (zero >= 2 ? data : 1),
    optimizer: (count * optimizer) / (zero >= 1 ? data : 1),
  };
};

// Activations (Korthikanti 2022)

const numbersOf = ({ recipe }) => memory.RECIPES[recipe].numbers;

/** Return the bytes of a layer for one microbatch that tensor parallelism repeats. */
const repeated = (plan) => {
  const { kind, width, dropout, micro, length } = plan;
  const masks = kind === "gpt" && dropout ? 2 : 0;
  const means = kind === "gpt" ? 16 : 8;
  return micro * length * (width * (4 * numbersOf(plan) + masks) + means);
};

/** Return the bytes that a GPU keeps of a layer for one microbatch. */
const layerBytes = (plan) => {
  const { tensor, sequence } = plan;
  const whole = modelParts(plan).layer.keeps;
  const twice = repeated(plan);
  return (whole - twice) / tensor + twice / (sequence ? tensor : 1);
};

/** Return the same if a layer keeps only its input and is computed twice. */
const inputBytes = (plan) =>
  modelParts(plan).layer.input / (plan.sequence ? plan.tensor : 1);

/** Return how many microbatches the first stage holds at once in 1F1B. */
const inFlight = ({ pipeline }, { microbatches, chunks }) => {
  const more = chunks > 1 ? 1 + (pipeline - 1) / (pipeline * chunks) : 1;
  return Math.min(microbatches, pipeline * more);
};

/** Return the bytes of layers that a GPU gathers or casts for a moment. */
const gathered = (plan, { data }) => {
  const copies = (plan.zero >= 3 && data > 1) || plan.recipe === "cast" ? 2 : 0;
  const { parameters } = modelParts(plan).layer;
  return (copies * parameters * numbersOf(plan)) / plan.tensor;
};

/** Return the bytes by role of a GPU of the first (0) or of the last stage (1). */
const stageMemory = (plan, which) => {
  const group = groups(plan);
  const { layer, head } = modelParts(plan);
  const { tensor, pipeline, layers, recompute } = plan;
  const full = recompute === "full";
  const held = which === 0 ? inFlight(plan, group) : 1;
  const each = full ? inputBytes(plan) : layerBytes(plan);
  const again = full ? layerBytes(plan) : 0;
  const last = which === 1 || pipeline === 1;
  return {
    ...stateBytes(stageParameters(plan)[which], { ...plan, ...group }),
    activations: held * (layers / pipeline) * each,
    temporaries:
      gathered(plan, group) +
      Math.max(layer.temporary / tensor + again, last ? head.lossPeak / tensor : 0),
  };
};

const total = (roles) => Object.values(roles).reduce((sum, x) => sum + x, 0);

/** Return the bytes by role of the GPU that needs the most. */
const memoryOf = (plan) => {
  const [first, last] = [stageMemory(plan, 0), stageMemory(plan, 1)];
  return total(last) > total(first) ? last : first;
};

// FLOPs (Narayanan 2021, without a discount for the causal mask)

/** Return the FLOPs of a step on all GPUs: of the model, and with recomputation. */
const flopsOf = (plan) => {
  const { layers, width, vocabulary, length, batch, recompute } = plan;
  const attention = 4 * length * width;
  const layer = 2 * modelParts(plan).layer.parameters + attention;
  const again = { full: layer, attention }[recompute] || 0;
  const tokens = batch * length;
  const model = 3 * tokens * (layers * layer + 2 * vocabulary * width);
  return { model, all: model + tokens * layers * again };
};

// Traffic: bytes that a GPU sends in a step

/** Return the bytes of gradients and of weights that a GPU would send in one part. */
const partBytes = (plan, { data }) => {
  const count = Math.max(...stageParameters(plan));
  const { gradients } = memory.perParameter(plan.recipe, "adam");
  const share = (data - 1) / data;
  return { g: share * count * gradients, w: share * count * numbersOf(plan) };
};

/* An all-reduce is a reduce-scatter and an all-gather: two parts. Sharded gradients are
 * summed for each microbatch; sharded weights are gathered twice for each. */
const dataTraffic = (plan, group) => {
  const { g, w } = partBytes(plan, group);
  const m = group.microbatches;
  return [2 * g, g + w, m * g + w, m * (2 * w + g)][plan.zero];
};

/** Return the bytes of the output of a layer for a microbatch. */
const outputBytes = (plan) =>
  plan.micro * plan.length * plan.width * numbersOf(plan);

/* Two all-reduces forward and two backward in each layer, two more if it is computed
 * twice. With sequence parallelism, an all-reduce becomes its two parts. */
const tensorTraffic = (plan, { microbatches }) => {
  const { tensor, layers, pipeline, recompute } = plan;
  const count = (layers / pipeline) * microbatches * (recompute === "full" ? 6 : 4);
  return count * 2 * ((tensor - 1) / tensor) * outputBytes(plan);
};

/** Return the bytes of one message between two stages. */
const messageBytes = (plan) => outputBytes(plan) / (plan.sequence ? plan.tensor : 1);

const pipelineTraffic = (plan, { microbatches, chunks }) =>
  plan.pipeline > 1 ? 2 * microbatches * chunks * messageBytes(plan) : 0;

/**
 * Return the bandwidth for each kind of traffic. GPUs of a machine are numbered first by
 * their tensor group, then by their data group.
 * @param {object} hardware within, between: bandwidth of a GPU inside of its machine
 * and to others; machine: GPUs of a machine
 */
const linksOf = ({ tensor, gpus }, { data }, { within, between, machine }) => {
  // Rings use the network of all GPUs of the group that a machine has.
  const ring = (size, apart) => {
    if (size * apart <= machine) return within;
    const here = Math.max(1, Math.min(size, Math.floor(machine / apart)));
    return Math.min(within, here * between);
  };
  return {
    tensor: ring(tensor, 1),
    data: ring(data, tensor),
    pipeline: gpus <= machine ? within : between,
  };
};

// Time

/** Return the time behind which the traffic of data parallelism can hide. */
const window = (plan, { microbatches }, work) => {
  const again = plan.recompute === "full" ? 1 : 0;
  const backward = (work * (2 + again)) / (3 + again);
  const one = (time) => time / microbatches;
  return [one(backward), one(work), backward + one(work - backward), work][plan.zero];
};

/**
 * Return memory, traffic and time of a step.
 * @param {object} plan sizes of the model, as in memory-arithmetic.js; gpus, tensor,
 * pipeline, interleave, zero, sequence, recompute, recipe, batch, micro, length, overlap
 * @param {object} hardware rate of products; within, between, machine
 * @returns {object} why, data, microbatches, chunks; memory by role; traffic and times
 * by kind; hidden: time of traffic behind the arithmetic; step; rate: FLOP/s of a GPU
 */
const planStep = (plan, hardware) => {
  const group = groups(plan);
  if (group.why) return group;
  const { pipeline, gpus } = plan;
  const links = linksOf(plan, group, hardware);
  const traffic = {
    data: dataTraffic(plan, group),
    tensor: tensorTraffic(plan, group),
    pipeline: pipelineTraffic(plan, group),
  };
  const flops = flopsOf(plan);
  const compute = flops.all / gpus / hardware.rate;
  const tensor = traffic.tensor / links.tensor;
  const work = compute + tensor;
  const bubble = (work * (pipeline - 1)) / (group.microbatches * group.chunks);
  const passing = (2 * (pipeline - 1) * messageBytes(plan)) / links.pipeline;
  const data = traffic.data / links.data;
  const exposed = plan.overlap ? Math.max(0, data - window(plan, group, work)) : data;
  const times = { compute, tensor, bubble, pipeline: passing, data: exposed };
  const step = total(times);
  return {
    ...{ ...group, memory: memoryOf(plan), traffic, links, times, step, flops },
    hidden: data - exposed,
    rate: flops.model / gpus / step,
    tokens: (plan.batch * plan.length) / gpus / step,
  };
};

module.exports = {
  groups,
  countParameters,
  stageParameters,
  stateBytes,
  layerBytes,
  inFlight,
  stageMemory,
  memoryOf,
  total,
  flopsOf,
  linksOf,
  planStep,
};
