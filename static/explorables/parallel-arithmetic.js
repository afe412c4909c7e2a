/* The arithmetic of a training step that many GPUs share: pure functions without a page.
 *
 * A plan divides a Transformer among `tensor` * `context` * `pipeline` * `data` GPUs,
 * which are numbered in the order tensor, context, data, pipeline. Times are in seconds,
 * sizes in bytes, rates in FLOP/s and bandwidths in bytes per second and direction.
 */
import { plural } from "./arithmetic.js";
import * as memory from "./memory-arithmetic.js";
import * as usual from "./expectations.js";

// The groups of a plan

/** Return how many of `count` GPUs with the distance `apart` are in one machine. */
const inMachine = (count, apart, machine) =>
  Math.max(1, Math.min(count, Math.floor(machine / apart)));

/**
 * Return the sizes that follow from a plan, or why it is not possible.
 * @param {object} plan gpus; tensor, context, pipeline: GPUs that share a layer, GPUs
 * that share a sequence, and stages; expert: GPUs that share the experts; hybrid: whether
 * each machine has all of the sharded state, and machine: its GPUs; batch: sequences of a
 * step; micro: sequences of a microbatch; interleave: parts of each stage; layers; heads;
 * experts, if the model has them
 * @returns {{data: number, copies: number, shards: number, microbatches: number,
 * chunks: number, why: string}} GPUs with different sequences; GPUs with the same
 * parameters, and how many of them share sharded state; microbatches of each copy; parts
 * of each stage; `why` is "" if the plan is possible
 */
export const groups = (plan) => {
  const { gpus, tensor, context, pipeline, expert, batch, micro, interleave } = plan;
  const { layers, heads, experts = 1, hybrid, machine } = plan;
  const data = gpus / (tensor * context * pipeline);
  const copies = data * context;
  const shards = hybrid ? inMachine(copies, tensor, machine) : copies;
  const microbatches = batch / (data * micro);
  const chunks = pipeline > 1 ? interleave : 1;
  const whole = Number.isInteger;
  const sizes = [tensor, ...(context > 1 ? [context] : []), pipeline].join(" × ");
  /** @type {[boolean, string][]} */
  const conditions = [
    [whole(data), `${plural(gpus, "GPU")} cannot form groups of ${sizes}`],
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
    [
      whole(experts / expert) && whole(copies / expert),
      `${plural(copies, "copy", "copies")} cannot share ${plural(experts, "expert")} in ` +
        `groups of ${expert}`,
    ],
    [
      tensor === 1 || expert === 1,
      "in this figure, GPUs share either each layer or the experts",
    ],
    [
      whole(copies / shards),
      `${plural(copies, "copy", "copies")} cannot fill machines with ${shards} each`,
    ],
  ];
  const why = conditions.find(([possible]) => !possible);
  return { data, copies, shards, microbatches, chunks, why: why ? why[1] : "" };
};

/* In a mixture of experts, a layer has `experts` feed-forward networks, of which a token
 * visits `active`. It keeps what it keeps in each of them, and the token and the result
 * of each visit. The gate has one column for each expert. */
const withExperts = (layer, plan) => {
  const { experts = 1, active = 1, width, hidden, micro, length, context } = plan;
  const own = layer.parameters;
  if (experts === 1) return { ...layer, experts: 0, active: own };
  const network = 3 * width * hidden;
  const others = own - network + width * experts;
  const values = (active - 1) * 4 * hidden + 2 * active * width;
  const tokens = (micro * length) / context;
  const selected = plan.recompute === "selective" ? (active - 1) * (hidden + width) : 0;
  return {
    ...layer,
    parameters: others,
    experts: experts * network,
    active: others + active * network,
    keeps: layer.keeps + tokens * values * numbersOf(plan),
    input: layer.input + tokens * selected * numbersOf(plan),
    temporary: active * layer.temporary,
  };
};

/** Return the stages of the memory's arithmetic for a GPU's part of one microbatch. Layers
 * have the parameters of all their `experts`, the `parameters` of all else, and those that
 * are `active` for a token. */
const modelParts = (plan) => {
  const list = memory.stages({ ...plan, batch: plan.micro / plan.context });
  const layer = withExperts(list[1], plan);
  return { embedding: list[0], layer, head: list[list.length - 1] };
};

export const countParameters = (plan) => {
  const { embedding, layer, head } = modelParts(plan);
  const ends = embedding.parameters + head.parameters;
  return ends + plan.layers * (layer.parameters + layer.experts);
};

/** Return the parameters of experts on a GPU. */
const expertParameters = (plan) => {
  const { layers, pipeline, tensor, expert } = plan;
  return ((layers / pipeline) * modelParts(plan).layer.experts) / (tensor * expert);
};

/** Return all other parameters on a GPU of the first and of the last stage. */
export const stageParameters = (plan) => {
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

/** Return `count` parameters of a GPU and those of its experts, with the number of GPUs
 * that have copies of them, of those that share sharded state, and their distance. */
const blocksOf = (plan, count) => {
  const { tensor, expert, hybrid, machine } = plan;
  const { copies, shards } = groups(plan);
  const few = copies / expert;
  const own = hybrid ? inMachine(few, tensor * expert, machine) : few;
  return [
    { count, copies, shards, apart: tensor },
    { count: expertParameters(plan), copies: few, shards: own, apart: tensor * expert },
  ];
};

/**
 * Return the bytes of the state of some parameters, by role (ZeRO: Rajbhandari 2020).
 * @param {number} count how many parameters
 * @param {{recipe: string, zero: number, shards: number}} state `zero` is 0 if nothing is
 * sharded, 1 for the optimizer's state, 2 for the gradients too, 3 for the weights too
 */
export const stateBytes = (count, { recipe, zero, shards }) => {
  const { weights, gradients, optimizer } = memory.perParameter(recipe, "adam");
  return {
    weights: (count * weights) / (zero >= 3 ? shards : 1),
    gradients: (count * gradients) / (zero >= 2 ? shards : 1),
    optimizer: (count * optimizer) / (zero >= 1 ? shards : 1),
  };
};

// Activations (Korthikanti 2022)

const numbersOf = ({ recipe }) => memory.RECIPES[recipe].numbers;

/** Return the bytes of a layer for one microbatch that tensor parallelism repeats. */
const repeated = (plan) => {
  const { kind, width, dropout, micro, length, context } = plan;
  const masks = kind === "gpt" && dropout ? 2 : 0;
  const means = kind === "gpt" ? 16 : 8;
  return ((micro * length) / context) * (width * (4 * numbersOf(plan) + masks) + means);
};

/** Return the bytes that a GPU keeps of a layer for one microbatch. */
export const layerBytes = (plan) => {
  const { tensor, sequence } = plan;
  const whole = modelParts(plan).layer.keeps;
  const twice = repeated(plan);
  return (whole - twice) / tensor + twice / (sequence ? tensor : 1);
};

/** Return the same if a layer is computed twice. Without sequence parallelism, each GPU
 * has the whole input and, in selective recomputation of Llama, the whole last product. */
const inputBytes = (plan) => {
  const { kind, tensor, sequence, recompute } = plan;
  const arrays = recompute === "selective" && kind === "llama" ? 2 : 1;
  const twice = arrays * outputBytes(plan);
  return (modelParts(plan).layer.input - twice) / tensor + twice / (sequence ? tensor : 1);
};

/** Return how many microbatches the first stage holds at once in 1F1B. */
export const inFlight = ({ pipeline }, { microbatches, chunks }) => {
  const more = chunks > 1 ? 1 + (pipeline - 1) / (pipeline * chunks) : 1;
  return Math.min(microbatches, pipeline * more);
};

/** Return the bytes of layers that a GPU gathers or casts for a moment. */
const gathered = (plan, { shards }) => {
  const count = (plan.zero >= 3 && shards > 1) || plan.recipe === "cast" ? 2 : 0;
  const { parameters, experts } = modelParts(plan).layer;
  return (count * (parameters + experts / plan.expert) * numbersOf(plan)) / plan.tensor;
};

/** Return the bytes by role of a GPU of the first (0) or of the last stage (1). */
export const stageMemory = (plan, which) => {
  const group = groups(plan);
  const { layer, head } = modelParts(plan);
  const { tensor, pipeline, layers, recompute } = plan;
  const held = which === 0 ? inFlight(plan, group) : 1;
  const selective = recompute === "selective";
  const each = selective || isTwice(plan) ? inputBytes(plan) : layerBytes(plan);
  const again = isTwice(plan) ? layerBytes(plan) : selective ? layerBytes(plan) - each : 0;
  const last = which === 1 || pipeline === 1;
  const [all, experts] = blocksOf(plan, stageParameters(plan)[which]).map(
    ({ count, shards }) => stateBytes(count, { ...plan, shards }),
  );
  const both = Object.keys(all).map((role) => [role, all[role] + experts[role]]);
  return {
    ...Object.fromEntries(both),
    activations: held * (layers / pipeline) * each,
    temporaries:
      gathered(plan, group) +
      Math.max(layer.temporary / tensor + again, last ? head.lossPeak / tensor : 0),
  };
};

export const total = (roles) => Object.values(roles).reduce((sum, x) => sum + x, 0);

/** Return the bytes by role at the peak of a step of one GPU and one microbatch, whose
 * gradients take the place of the activations. */
const alone = (plan) => {
  const one = { optimizer: "adam", ...plan, batch: plan.micro, parts: 1, sharded: "all" };
  const { weights, gradients, optimizer, activations, loss, temporaries } = memory.peak(
    memory.timeline(one),
  );
  return { weights, gradients, optimizer, activations, temporaries: temporaries + loss };
};

/** Return the bytes by role of the GPU that needs the most. */
export const memoryOf = (plan) => {
  const { gpus, batch, micro, experts = 1 } = plan;
  if (gpus === 1 && batch === micro && experts === 1) return alone(plan);
  const [first, last] = [stageMemory(plan, 0), stageMemory(plan, 1)];
  return total(last) > total(first) ? last : first;
};

// FLOPs (Narayanan 2021, without a discount for the causal mask)

/** Return the FLOPs of a token in the attention of a layer, forward. */
const attentionOf = ({ length, width }) => 4 * length * width;

/** Return the FLOPs of attention in a step on all GPUs. */
const attentionFlops = (plan) => {
  const passes = ["attention", "full"].includes(plan.recompute) ? 4 : 3;
  return passes * plan.batch * plan.length * plan.layers * attentionOf(plan);
};

/** Return the parameters of the products that selective recomputation repeats. */
const repeatedProducts = ({ kind, width, hidden, heads, keyHeads, active = 1 }) =>
  kind === "gpt"
    ? 5 * width ** 2
    : (1 + keyHeads / heads) * width ** 2 + active * width * hidden;

/** Return the FLOPs of a step on all GPUs: of the model, and with recomputation. */
export const flopsOf = (plan) => {
  const { layers, width, vocabulary, length, batch, recompute } = plan;
  const attention = attentionOf(plan);
  const layer = 2 * modelParts(plan).layer.active + attention;
  const selective = 2 * repeatedProducts(plan);
  const again = { full: layer, attention, selective }[recompute] || 0;
  const tokens = batch * length;
  const model = 3 * tokens * (layers * layer + 2 * vocabulary * width);
  return { model, all: model + tokens * layers * again };
};

// Traffic: bytes that a GPU sends in a step

/* An all-reduce is a reduce-scatter and an all-gather: two parts. Sharded gradients are
 * summed for each microbatch; sharded weights are gathered twice for each. */
const shardTraffic = (plan, { microbatches }, { count, shards }) => {
  const { gradients } = memory.perParameter(plan.recipe, "adam");
  const part = (bytes) => ((shards - 1) / shards) * count * bytes;
  const [g, w, m] = [part(gradients), part(numbersOf(plan)), microbatches];
  return [2 * g, g + w, m * g + w, m * (2 * w + g)][plan.zero];
};

/** Return the bytes of the sums between machines in hybrid sharding: an all-reduce of a
 * GPU's part of the gradients, after the last microbatch. */
const machineTraffic = (plan, { count, copies, shards }) => {
  const { gradients } = memory.perParameter(plan.recipe, "adam");
  const machines = copies / shards;
  return (2 * ((machines - 1) / machines) * count * gradients) / shards;
};

/** Return the bytes of the output of a layer for a GPU's part of a microbatch. */
const outputBytes = (plan) =>
  (plan.micro * plan.length * plan.width * numbersOf(plan)) / plan.context;

/** Return how often a stage computes a layer for a microbatch in a step. */
const layerRuns = ({ layers, pipeline }, { microbatches }) =>
  (layers / pipeline) * microbatches;

/** Return whether whole layers are computed twice. */
const isTwice = ({ recompute }) => recompute === "full";

/* Two all-reduces forward and two backward in each layer, two more if it is computed
 * twice. With sequence parallelism, an all-reduce becomes its two parts. */
const tensorTraffic = (plan, group) => {
  const count = layerRuns(plan, group) * (isTwice(plan) ? 6 : 4);
  return count * 2 * ((plan.tensor - 1) / plan.tensor) * outputBytes(plan);
};

/* Each GPU sends blocks of keys and values on, or all GPUs gather them: once forward, and
 * once backward, when gradients of the same size travel, too. */
const contextTraffic = (plan, group) => {
  const { context, tensor, heads, keyHeads = heads } = plan;
  const block = (2 * outputBytes(plan) * keyHeads) / heads / tensor;
  return layerRuns(plan, group) * (isTwice(plan) ? 4 : 3) * (context - 1) * block;
};

/* Tokens travel to their experts and back, forward and backward. */
const tokenTraffic = (plan, group) => {
  const { expert, active = 1 } = plan;
  const count = layerRuns(plan, group) * (isTwice(plan) ? 6 : 4);
  return count * ((expert - 1) / expert) * active * outputBytes(plan);
};

/** Return the bytes of one message between two stages. */
const messageBytes = (plan) => outputBytes(plan) / (plan.sequence ? plan.tensor : 1);

const pipelineTraffic = (plan, { microbatches, chunks }) =>
  plan.pipeline > 1 ? 2 * microbatches * chunks * messageBytes(plan) : 0;

/** Return the bytes that a GPU sends in a step, by kind. */
const trafficOf = (plan, group) => {
  const blocks = blocksOf(plan, Math.max(...stageParameters(plan)));
  const [data, experts] = blocks.map((block) => shardTraffic(plan, group, block));
  const sums = blocks.map((block) => machineTraffic(plan, block));
  return {
    ...{ data, experts, machines: total(sums) },
    tensor: tensorTraffic(plan, group),
    context: contextTraffic(plan, group),
    tokens: tokenTraffic(plan, group),
    pipeline: pipelineTraffic(plan, group),
  };
};

/** Return the bandwidth of a ring of `size` GPUs with the distance `apart`. It uses the
 * network of all GPUs of the ring that a machine has. */
export const ringLink = (size, apart, { within, between, machine }) =>
  size * apart <= machine
    ? within
    : Math.min(within, inMachine(size, apart, machine) * between);

/**
 * Return the bandwidth for each kind of traffic.
 * @param {object} plan as for `planStep`
 * @param {object} hardware within, between: bandwidth of a GPU inside of its machine
 * and to others; machine: GPUs of a machine
 */
export const linksOf = (plan, { within, between, machine }) => {
  const { tensor, context, expert, gpus } = plan;
  const ring = (size, apart) => ringLink(size, apart, { within, between, machine });
  // In an all-to-all, each GPU sends to all others, of which some are in its machine.
  const outside = expert - inMachine(expert, tensor, machine);
  const [data, experts] = blocksOf(plan, 0).map(({ shards, apart }) => ring(shards, apart));
  return {
    ...{ data, experts, machines: between },
    tensor: ring(tensor, 1),
    context: ring(context, tensor),
    tokens: outside > 0 ? Math.min(within, (between * (expert - 1)) / outside) : within,
    pipeline: gpus <= machine ? within : between,
  };
};

// Time

/** Return the time behind which the traffic of data parallelism can hide, and that of
 * sums of gradients after the last microbatch. */
const windows = (plan, { microbatches }, work) => {
  const again = isTwice(plan) ? 1 : 0;
  const backward = (work * (2 + again)) / (3 + again);
  const one = (time) => time / microbatches;
  const last = one(backward);
  return [[last, one(work), last + one(work - backward), work][plan.zero], last];
};

/**
 * Return memory, traffic and time of a step.
 * @param {object} given sizes of the model, as in memory-arithmetic.js, with experts and
 * active (those that a token visits) of a mixture of experts; gpus, tensor, context,
 * pipeline, expert, interleave, zero, hybrid, sequence, recompute, recipe, batch, micro,
 * length, overlap
 * @param {object} hardware rate of products; within, between, machine
 * @returns {object} what `groups` returns; memory by role; traffic and times by kind;
 * hidden: time of traffic behind the arithmetic; step; rate: FLOP/s of a GPU
 */
export const planStep = (given, hardware) => {
  const plan = { ...given, machine: hardware.machine };
  const group = groups(plan);
  if (group.why) return group;
  const { pipeline, gpus, batch, length } = plan;
  const links = linksOf(plan, hardware);
  const traffic = trafficOf(plan, group);
  const travel = (kind) => traffic[kind] / links[kind];
  const flops = flopsOf(plan);
  const compute = flops.all / gpus / hardware.rate;
  // Keys and values travel while a GPU computes the attention to those that it has.
  const attention = attentionFlops(plan) / gpus / hardware.rate;
  const context = Math.max(0, travel("context") - attention);
  const [tensor, tokens] = [travel("tensor"), travel("tokens")];
  const work = compute + tensor + context + tokens;
  const bubble = (work * (pipeline - 1)) / (group.microbatches * group.chunks);
  const passing = (2 * (pipeline - 1) * messageBytes(plan)) / links.pipeline;
  // Sums inside of machines and between them use different links, and can run at once.
  const sums = travel("data") + travel("experts");
  const [usual, last] = windows(plan, group, work);
  const data = plan.overlap
    ? Math.max(0, sums - usual, travel("machines") - last)
    : sums + travel("machines");
  const times = { compute, tensor, context, tokens, bubble, pipeline: passing, data };
  const step = total(times);
  return {
    ...{ ...group, memory: memoryOf(plan), traffic, links, times, step, flops },
    hidden: sums + travel("machines") + travel("context") - context - data,
    rate: flops.model / gpus / step,
    tokens: (batch * length) / gpus / step,
  };
};

// What a step is expected to take

/** Return the bytes that a GPU moves in a step, except for products. Kernels between
 * products read and write the values that a layer keeps, and those of the loss. The update
 * reads the gradients, and reads and writes weights and state. */
const movedBytes = (plan, group) => {
  const { layers, vocabulary, batch, length, micro, context, gpus, recipe } = plan;
  const twice = plan.recompute === "selective" || isTwice(plan);
  const passes = usual.PASSES + (twice ? usual.PASSES_AGAIN : 0);
  const kept = (modelParts(plan).layer.keeps * context) / (micro * length);
  const logits = usual.LOSS_PASSES * 4 * vocabulary;
  const size = memory.perParameter(recipe, plan.optimizer || "adam");
  const update = 2 * (size.weights + size.optimizer) + size.gradients;
  const sharers = plan.tensor * plan.pipeline * (plan.zero ? group.shards : 1);
  const tokens = (batch * length) / gpus;
  return tokens * (passes * layers * kept + logits) + (update * countParameters(plan)) / sharers;
};

/**
 * Return the seconds that a step is expected to take, for a plan that is possible.
 * @param {object} given as for `planStep`
 * @param {object} hardware as for `planStep`, with the bandwidth of a GPU's memory and the
 * share of the rate that attention reaches
 */
export const expectedStep = (given, hardware) => {
  const plan = { ...given, machine: hardware.machine };
  const group = groups(plan);
  const rate = usual.PRODUCT_SHARE * hardware.rate;
  const within = usual.RING_SHARE * hardware.within;
  const { step } = planStep(given, { ...hardware, rate, within });
  const attention = attentionFlops(plan) / plan.gpus;
  const slower = attention / (hardware.attention * hardware.rate) - attention / rate;
  const moving = movedBytes(plan, group) / (usual.BANDWIDTH_SHARE * hardware.bandwidth);
  const bubble = (plan.pipeline - 1) / (group.microbatches * group.chunks);
  return step + (slower + moving) * (1 + bubble);
};
