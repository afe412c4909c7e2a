/* The plan composer: a Transformer on many GPUs. The reader chooses what is sharded, how
 * many GPUs share a layer, a sequence or experts, and how many stages a pipeline has, and
 * sees whether the plan fits and which part of a step is exposed communication.
 */
import { time, size, bandwidth, rate, percent, inUnits, round, GIGA, TERA } from "./arithmetic.js";
import * as parallel from "./parallel-arithmetic.js";
import * as usual from "./expectations.js";
import { CARDS } from "./training-cards.js";
import { each, label, canvas, vertical, ticks, was, inColumns, chart } from "./chart.js";
import { select, steps, range, logRange, more, unseen, doubled, presets } from "./controls.js";
import { figure } from "./explorable.js";

const { area, sheet, stack, legend } = chart("plans");

const cardOf = (state) => CARDS[state.card] || CARDS.h100;

const GPT = { kind: "gpt", vocabulary: 51200, positions: 2048, tied: true };
const LLAMA = { kind: "llama", vocabulary: 128256, positions: 0, keyHeads: 8 };
const USUAL = {
  ...{ card: "h100", zero: "0", tensor: 1, pipeline: 1, interleave: 1, micro: 1 },
  ...{ context: 1, expert: 1 },
  ...{ recompute: "full", recipe: "mixed", attention: "fused", sequence: "yes" },
  ...{ overlap: "yes", machine: "8" },
};

const LLAMA_8 = { ...LLAMA, layers: 32, width: 4096, hidden: 14336, heads: 32 };

/** The models, with their `sizes` and the `settings` that they begin with. */
const MODELS = {
  llama8: {
    name: "Llama 3, 8 B",
    sizes: LLAMA_8,
    settings: { ...USUAL, gpus: 8, batch: 64, length: 4096 },
  },
  llama70: {
    name: "Llama 3, 70 B",
    sizes: { ...LLAMA, layers: 80, width: 8192, hidden: 28672, heads: 64 },
    settings: {
      ...{ ...USUAL, gpus: 64, batch: 128, length: 8192 },
      ...{ zero: "1", tensor: 8, pipeline: 4 },
    },
  },
  gpt175: {
    name: "GPT-3, 175 B",
    sizes: { ...GPT, layers: 96, width: 12288, heads: 96 },
    settings: {
      ...{ ...USUAL, card: "a100", gpus: 64, batch: 64, length: 2048 },
      ...{ tensor: 8, pipeline: 8, interleave: 3 },
    },
  },
  gpt1t: {
    name: "GPT, 1 trillion, published",
    sizes: { ...GPT, layers: 128, width: 25600, heads: 160 },
    settings: {
      ...{ ...USUAL, card: "a100", gpus: 3072, batch: 3072, length: 2048 },
      ...{ tensor: 8, pipeline: 64, recipe: "mixed-32", attention: "plain" },
      ...{ sequence: "no" },
    },
  },
  gpt530: {
    name: "GPT, 530 B, published",
    sizes: { ...GPT, layers: 105, width: 20480, heads: 128 },
    settings: {
      ...{ ...USUAL, card: "a100", gpus: 2240, batch: 2240, length: 2048 },
      ...{ tensor: 8, pipeline: 35, interleave: 3, recompute: "attention" },
      ...{ attention: "plain" },
    },
  },
  llama405: {
    name: "Llama 3, 405 B, published",
    sizes: { ...LLAMA, layers: 126, width: 16384, hidden: 53248, heads: 128 },
    settings: {
      ...{ ...USUAL, gpus: 16384, batch: 2048, length: 8192, recompute: "none" },
      ...{ zero: "1", tensor: 8, pipeline: 16, interleave: 8 },
    },
  },
  titan8: {
    name: "Llama 3.1, 8 B, published",
    sizes: LLAMA_8,
    settings: {
      ...{ ...USUAL, gpus: 8, batch: 16, micro: 2, length: 8192, zero: "3" },
      ...{ recompute: "selective", recipe: "cast" },
    },
  },
  mixtral: {
    name: "Mixtral 8x7B, published",
    sizes: { ...LLAMA_8, vocabulary: 32000, experts: 8, active: 2 },
    settings: {
      ...{ ...USUAL, gpus: 64, batch: 256, length: 4096, recompute: "none" },
      ...{ zero: "1", expert: 8, pipeline: 4, interleave: 8, recipe: "mixed-32" },
    },
  },
};
const { chosen: modelOf, choose, isUnchanged, from, menu } = presets("model", MODELS, "llama8");

const sizesOf = (state) => modelOf(state).sizes;
const hasExperts = (state) => Boolean(sizesOf(state).experts);

/** Return the first argument of `parallel.planStep` for a state. */
const planOf = (state) => ({
  ...state,
  ...sizesOf(state),
  zero: state.zero === "hybrid" ? 3 : Number(state.zero),
  hybrid: state.zero === "hybrid",
  expert: hasExperts(state) ? state.expert : 1,
  sequence: state.sequence === "yes",
  overlap: state.overlap === "yes",
  dropout: sizesOf(state).kind === "gpt",
  loss: "whole",
});

/** Return the second argument of `parallel.planStep` for a state. */
const hardwareOf = (state) => ({
  rate: state.rate * TERA,
  within: cardOf(state).within * GIGA * (state.reach / 100),
  between: state.network * GIGA * (state.reach / 100),
  machine: Number(state.machine),
  bandwidth: cardOf(state).memory * GIGA,
  attention: usual.attentionShare(cardOf(state).name),
});

const stepOf = (state) => parallel.planStep(planOf(state), hardwareOf(state));
const expectedOf = (state) => parallel.expectedStep(planOf(state), hardwareOf(state));
const capacity = (state) => cardOf(state).capacity;
/** Return the bytes of a GPU's arrays, with the logits in 16 bits beside those in 32, for a
 * plan that is possible. */
const withCopies = (state) =>
  parallel.total(parallel.planStep({ ...planOf(state), copies: true }, hardwareOf(state)).memory);
/** Return the bytes that a GPU is expected to need, for a plan that is possible. */
const needOf = (state) => usual.withMargin(withCopies(state));
const fits = (state) => !stepOf(state).why && usual.fits(withCopies(state), capacity(state));

// The drawing: the memory of a GPU above the time of a step

const ROLES = {
  weights: ["s1 solid", "weights"],
  gradients: ["s3", "gradients"],
  optimizer: ["s1", "optimizer’s state"],
  activations: ["s2", "activations"],
  temporaries: ["idle", "temporaries"],
};
const SPANS = {
  compute: ["s1 solid", "arithmetic"],
  tensor: ["s2 solid", "exposed: sums inside of layers"],
  context: ["s3 solid", "exposed: keys and values"],
  tokens: ["s2 solid", "exposed: tokens to experts"], // never beside `tensor`
  bubble: ["idle", "bubble of the pipeline"],
  pipeline: ["s2", "exposed: between stages"],
  data: ["wait", "exposed: gradients, weights"],
};
const TALL = 30;
const TOP = 24;
const RIGHT = 12;
const shown = (values) => Object.entries(values).filter(([, x]) => x > 0);

/** Return boxes side by side; `scale` maps values to pixels. */
const boxes = (values, kinds, y, scale) => {
  const parts = shown(values).map(([name, value]) => [kinds[name][0], scale(value)]);
  return stack(parts, 1, y, TALL);
};

/** Return names and values of boxes below them. */
const names = (values, kinds, y, width, text) => {
  const items = shown(values).map(([name, value]) => [
    kinds[name][0],
    `${kinds[name][1]}: ${text(value)}`,
  ]);
  return legend(items, inColumns(width < 480 ? 1 : 2, Math.min(300, width / 2), 20, y));
};

const legendHeight = (values, width) =>
  20 * Math.ceil(shown(values).length / (width < 480 ? 1 : 2));

/** Return the steps with all ways to shard. */
const alternatives = (state) =>
  ZEROS.map(([zero]) => stepOf({ ...state, zero })).filter(({ why }) => !why);

const memoryPart = (state, { memory }, width, last) => {
  const limit = capacity(state);
  const sizes = alternatives(state).map((step) => parallel.total(step.memory));
  const most = 1.04 * Math.max(...sizes, limit);
  const scale = (bytes) => (bytes / most) * (width - RIGHT);
  const at = 1 + scale(limit);
  const name = `${cardOf(state).name}: ${size(limit)}`;
  const side = at > width / 2 ? "end" : "start";
  return (
    label(0, 14, `memory of a GPU${was(last?.bytes, parallel.total(memory), size)}`, "ink small strong") +
    boxes(memory, ROLES, TOP, scale) +
    vertical(at, TOP - 6, TOP + TALL + 6, "dashed") +
    (last?.bytes <= most
      ? vertical(1 + scale(last.bytes), TOP - 6, TOP + TALL + 6, "last")
      : "") +
    label(at, TOP + TALL + 20, name, "ink small", side) +
    names(memory, ROLES, TOP + TALL + 30, width, (x) => size(x, 2))
  );
};

const timePart = (state, step, top, width, last) => {
  const { times, hidden } = step;
  const whole = Math.max(...alternatives(state).map(({ step: seconds }) => seconds));
  const scale = (seconds) => (seconds / whole) * (width - RIGHT - 2);
  const below = top + TOP + TALL + 32;
  const marks = each(ticks(whole, width < 480 ? 3 : 6), (x) => {
    const side = x === 0 ? "start" : x > 0.9 * whole ? "end" : "middle";
    return label(1 + scale(x), below, x ? time(x) : "0", "soft small", side);
  });
  const behind = scale(Math.min(hidden, whole));
  return (
    label(0, top + 14, `time of a step${was(last?.step, step.step, time)}`, "ink small strong") +
    boxes(times, SPANS, top + TOP, scale) +
    (hidden > 0
      ? area("s3", 1, top + TOP + TALL + 4, Math.max(1, behind), 12)
      : "") +
    marks +
    names(
      { ...times, hidden },
      { ...SPANS, hidden: ["s3", "hidden behind arithmetic"] },
      top + TOP + TALL + 44,
      width,
      (x) => time(x, 2),
    )
  );
};

/** Return the smallest change of a slider that makes a plan possible. */
const remedy = (state) => {
  const changes = /** @type {any[]} */ (spec.controls)
    .filter(({ values }) => values)
    .flatMap((control) =>
      control.values.map((value) => ({
        text: `${control.label}: ${value}`,
        state: { ...state, [control.id]: value },
        far: Math.abs(Math.log(value / state[control.id])),
      })),
    )
    .filter((change) => !stepOf(change.state).why)
    .sort((a, b) => a.far - b.far);
  return changes[0]?.text;
};

const draw = (state, width, _, before) => {
  const step = stepOf(state);
  const then = before && stepOf(before);
  const last = then && !then.why ? { ...then, bytes: parallel.total(then.memory) } : undefined;
  if (step.why)
    return canvas(
      ...[width, 60],
      label(0, 20, "Possible, for example:", "soft small"),
      label(0, 44, remedy(state) ?? "the first setting (Reset)", "ink strong"),
    );
  const middle = TOP + TALL + 52 + legendHeight(step.memory, width);
  const spans = { ...step.times, hidden: step.hidden };
  return sheet(
    width,
    middle + TOP + TALL + 50 + legendHeight(spans, width),
    memoryPart(state, step, width, last),
    timePart(state, step, middle, width, last),
  );
};

// In words

/** The changes that lower the memory, in the order of what they cost. */
/** @type {[string, any][]} */
const REMEDIES = [
  ["to shard the optimizer’s state (ZeRO-1)", { zero: "1" }],
  ["to shard the gradients as well (ZeRO-2)", { zero: "2" }],
  ["to shard everything (ZeRO-3, FSDP)", { zero: "3" }],
  ["to compute the layers twice", { recompute: "full" }],
  ["to let 8 GPUs share the experts", { expert: 8 }],
  ["to let 8 GPUs share each sequence", { context: 8 }],
  ["to let 8 GPUs share each layer", { tensor: 8 }],
  ["a pipeline of 8 stages", { pipeline: 8 }],
];

const advice = (state) => {
  const found = REMEDIES.find(([, change]) => fits({ ...state, ...change }));
  return found
    ? `One change that helps is ${found[0]}.`
    : "No single change is enough, so combine them or take more GPUs.";
};

const PLACES = {
  tensor: "inside of layers",
  context: "of keys and values",
  tokens: "of tokens to experts",
  pipeline: "between stages",
  data: "of gradients and weights",
};

const exposedOf = (times) =>
  Object.keys(PLACES).reduce((sum, kind) => sum + times[kind], 0);

/** Return what a step does besides arithmetic. */
const losses = ({ times, step }) => {
  const share = (x) => (x / step < 0.005 ? "less than 1\u00a0%" : percent(x / step));
  const exposed = exposedOf(times);
  const largest = Object.keys(PLACES).reduce((a, b) => (times[b] > times[a] ? b : a));
  const much =
    exposed > 0
      ? `${share(exposed)} exposed communication, mostly ${PLACES[largest]},`
      : "no exposed communication";
  const idle = times.bubble > 0 ? ` and ${share(times.bubble)} bubble` : "";
  return `${much}${idle}`.replace(/,$/, "");
};

// Published speeds of a GPU: FLOP/s, which count what is computed twice (all) or do not
// (rate), or tokens per second.
const PUBLISHED = {
  gpt1t: ["all", 502e15 / 3072],
  gpt530: ["rate", 0.542 * 312e12],
  llama405: ["rate", 400e12],
  mixtral: ["rate", 438e12],
  titan8: ["tokens", 6667],
};

/** Return the published and the predicted speed of a run, and the unit's function. */
const published = (state) => {
  const own = state.rate !== cardOf(state).rate || state.network !== cardOf(state).network;
  if (!isUnchanged(state) || own || !PUBLISHED[state.model]) return null;
  const [kind, known] = PUBLISHED[state.model];
  const step = stepOf(state);
  const all = step.flops.all / state.gpus / step.step;
  const unit = kind === "tokens" ? (x) => `${Math.round(x)} tokens/s` : rate;
  return [known, { ...step, all }[kind], unit];
};

const result = (state) => {
  const step = stepOf(state);
  if (step.why) return `This plan is not possible: ${step.why}.`;
  const run = published(state);
  const expected = expectedOf(state);
  const beside =
    run &&
    `published: ${run[2](run[0])} per GPU of at most ${run[2](run[1])} ` +
      `(expect ${run[2]((run[1] * step.step) / expected)})`;
  const bytes = parallel.total(step.memory);
  const each =
    state.gpus === 1 ? `one ${cardOf(state).name}` : `each ${cardOf(state).name}`;
  const has = size(capacity(state));
  const name = modelOf(state).name.replace(", published", "");
  if (!fits(state)) {
    const [how, also] = run ? [" on paper", `; ${beside}`] : ["", ""];
    const needs = `needs ${size(bytes)} (expect ${size(needOf(state))})`;
    return `${name} does not fit${how}: ${each} ${needs} and has ${has}${also}.`;
  }
  const start = `${name} fits: ${each} needs ${size(bytes)} of ${has}`;
  const takes = `a step takes at least ${time(step.step)} (expect ${time(expected)})`;
  return run ? `${start}; ${beside}.` : `${start}; ${takes}: ${losses(step)}.`;
};

const summary = (state) =>
  "A bar of the memory of one GPU by role, with a line for its capacity, above a bar " +
  `of the time of a step, divided by what the GPU does. ${result(state)} A table ` +
  "below has the numbers.";

const billions = inUnits([
  [1e12, "trillion"],
  [1e9, "billion"],
]);

/** Return a sentence on the money for a billion tokens, if the reader has set a price. */
const bill = (state) => {
  if (!state.price || !fits(state)) return "";
  const hours = ((1e9 / (state.batch * state.length)) * expectedOf(state)) / 3600;
  const dollars = hours * state.gpus * state.price;
  return ` Expect a billion tokens to take ${round(hours)} hours and to cost $${round(dollars)}.`;
};

const formula = (state) => {
  const step = stepOf(state);
  if (step.why) return ["GPUs: copies · stages · GPUs that share a layer"];
  const { data, copies, shards, microbatches, chunks, traffic, links } = step;
  const line = (kind, name) =>
    traffic[kind] > 0
      ? [`${name}: ${size(traffic[kind])} at ${bandwidth(links[kind])}`]
      : [];
  const { pipeline, context } = state;
  const { experts, active } = sizesOf(state);
  return [
    !fits(state) && advice(state),
    `GPUs: ${state.gpus} = ${copies} · ${pipeline} · ${state.tensor} (copies · stages · ` +
      "GPUs that share a layer)",
    context > 1 &&
      `copies: ${copies} = ${data} · ${context} (groups · GPUs that share a sequence)`,
    state.zero === "hybrid" &&
      (copies === shards
        ? "all copies are in one machine, so HSDP is ZeRO-3"
        : `copies: ${copies} = ${copies / shards} · ${shards} (machines · GPUs that ` +
          "share the state)"),
    `microbatches of each copy: ${microbatches} = ${state.batch} sequences / ` +
      `(${data} · ${state.micro})`,
    `${billions(parallel.countParameters(planOf(state)))} parameters; a GPU sends ` +
      "in a step:",
    ...line("data", `gradients and weights${experts ? ", without experts" : ""}`),
    ...line("experts", "gradients and weights of experts"),
    ...line("machines", "gradients, between machines"),
    ...line("tensor", "inside of layers"),
    ...line("context", "keys, values and their gradients"),
    ...line("tokens", `tokens to ${active} experts and back`),
    ...line("pipeline", "between stages"),
    pipeline > 1 && `bubble: (${pipeline} − 1) / (${microbatches} · ${chunks}) of the work`,
    `memory: ${size(parallel.total(step.memory))} of arrays, ${size(needOf(state))} expected`,
    `step: at least ${time(step.step)}, ${time(expectedOf(state))} expected`,
    `${rate(step.rate)} per GPU at most, without what is computed twice`,
  ];
};

/** Return the same plan with each degree of sharding. */
const table = (state) => ({
  head: ["sharded", "memory", "step, at least", "expected", "exposed", "bubble"],
  rows: ZEROS.map(([zero, name]) => {
    const step = stepOf({ ...state, zero });
    if (step.why) return [name, "–", "–", "–", "–", "–"];
    const { times } = step;
    return [
      name,
      size(parallel.total(step.memory)),
      time(step.step),
      time(expectedOf({ ...state, zero })),
      percent(exposedOf(times) / step.step),
      percent(times.bubble / step.step),
    ];
  }),
});

const ZEROS = [
  ["0", "nothing (DDP)"],
  ["1", "optimizer’s state (ZeRO-1)"],
  ["2", "and gradients (ZeRO-2)"],
  ["3", "and weights (ZeRO-3, FSDP)"],
  ["hybrid", "all, in each machine (HSDP)"],
];

const ZERO = "https://arxiv.org/abs/1910.02054";
const MEGATRON = "https://arxiv.org/abs/2104.04473";
const RECOMPUTE = "https://arxiv.org/abs/2205.05198";
const BEKMAN = "https://github.com/stas00/ml-engineering/tree/master/compute/accelerator";
const TITAN = "https://github.com/pytorch/torchtitan/blob/main/benchmarks/llama3_h100_202412_torchtitan.md";
const TABLE_1 = "https://github.com/NVIDIA/Megatron-LM/blob/main/examples/sc21/run_table_1.sh";
const HERD = "https://arxiv.org/abs/2407.21783";
const RING = "https://arxiv.org/abs/2310.01889";
const MOE = "https://github.com/NVIDIA/Megatron-LM/blob/core_r0.9.0/megatron/core/transformer/moe/README.md";
const NEU = "https://github.com/smolix/d2l-neu";

const NOTES = [
  `State and traffic of data parallelism: [Rajbhandari et al., 2020](${ZERO}). ` +
    "Gradients that are sharded are summed for each microbatch, and weights that are " +
    "sharded are gathered twice for each. All-reduces in a layer, bubble and FLOPs: " +
    `[Narayanan et al., 2021](${MEGATRON}). Activations: [Korthikanti et al., ` +
    `2023](${RECOMPUTE}). GPUs that share a sequence exchange keys and values: [Liu et ` +
    `al., 2023](${RING}). Each expert gets the same number of tokens. In HSDP, machines ` +
    "add up their gradients once in a step.",
  "The step is a lower bound for programs that hide neither the sums inside of layers " +
    "nor the journeys of tokens. " +
    "Arithmetic runs at the rate of the best product of " +
    `matrices that was published: [Bekman, 2026](${BEKMAN}), and for the RTX 4090 ` +
    `and its links [Zhang et al., 2026](${NEU}); for the H200 the H100’s. Links ` +
    "carry what their data sheets say, or the share that you set. Sums " +
    "of gradients hide behind the backward pass that completes them, those of ZeRO-3 " +
    "behind all arithmetic, keys and values behind the attention. The update, the latency of messages and the longer last " +
    "stage are left out.",
  "The expected step adds what the bound leaves out: products reach " +
    `${percent(usual.PRODUCT_SHARE)} of the best one, FlashAttention 2 reaches ` +
    `${percent(usual.ATTENTION_SHARE)} of it (${percent(usual.ATTENTION_SHARE_HOPPER)} on an ` +
    `H100 or H200), rings in a machine carry ${percent(usual.RING_SHARE)} of NVLink, and the ` +
    "kernels between products and the update move bytes at " +
    `${percent(usual.BANDWIDTH_SHARE)} of the memory’s bandwidth. No constant was fitted on ` +
    "training runs; python -m d2l audit training holds both against published ones. The " +
    "expected memory counts logits in 16 bits beside those in 32, and leaves " +
    `${percent(usual.LEFT)} of a card for copies and gaps: ${usual.SAFE} published peaks ` +
    "stay below it.",
  "Five published runs are among the models. They took 1.4 to 1.9 times as long as the " +
    "bound, and 1.1 to 1.2 times as long as expected: " +
    `a trillion parameters on 3072 A100 ([Narayanan et al., 2021](${MEGATRON}), with ` +
    `[these settings](${TABLE_1})), 530 billion on 2240 A100 ([Korthikanti et al., ` +
    `2023](${RECOMPUTE})), Llama 3 405 B on 16,384 H100 ([Grattafiori et al., ` +
    `2024](${HERD})), Llama 3.1 8 B on 8 H100 ([torchtitan](${TITAN})) and Mixtral on 64 ` +
    `H100 ([Megatron Core](${MOE})). Activations ` +
    "are an upper estimate: Llama 3 405 B was trained on cards with 80 GB.",
  "The network has 400 Gbit/s for each H100, as on [the torchtitan team’s " +
    `machines](${TITAN}). For other cards its speed is an assumption.`,
];

// Settings

const withCard = (state) => {
  const { rate, network } = cardOf(state);
  return { ...state, rate, network };
};

const settle = (state, id) => {
  if (id === "model") return withCard(choose(state));
  return id === "card" ? withCard(state) : state;
};

const fromCard = (id) => (state) => cardOf(state)[id];
const choice = (id, text, options) => select(id, text, options, from(id));
const values = (id, text, list) => steps(id, text, list, from(id));
const MANY = [...doubled(1, 2048), 2240, 3072, 4096, 8192, 16384];

const spec = figure({
  name: "plans",
  card: "card",
  controls: [
    ...more(menu("Model"), choice("card", "Card", CARDS)),
    values("gpus", "GPUs", MANY),
    choice("zero", "Sharded among the copies", ZEROS),
    values("tensor", "GPUs that share each layer", doubled(1, 16)),
    values("pipeline", "Stages of a pipeline", [...doubled(1, 32), 35, 64]),
    ...more(
      values("batch", "Sequences in a step", MANY),
      values("micro", "Sequences in a microbatch", doubled(1, 16)),
      values("length", "Tokens of a sequence", doubled(512, 131072)),
      values("context", "GPUs that share each sequence", doubled(1, 32)),
      steps("expert", "GPUs that share the experts", doubled(1, 8), from("expert"), {
        when: hasExperts,
      }),
      values("interleave", "Parts of each stage (interleaved)", [1, 2, 3, 4, 5, 8]),
      choice("recompute", "Computed twice", {
        none: "nothing",
        attention: "the scores of the attention",
        selective: "half of the products (selective)",
        full: "the layers",
      }),
      choice("machine", "GPUs in a machine", ["1", "4", "8", "72"]),
      logRange("network", "Network, for each GPU", [0.01, 400], fromCard("network"), (x) =>
        bandwidth(x * GIGA),
      ),
      range("price", "Your price of a GPU, dollars per hour", [0, 15, 0.05], 0, {
        format: (x) => (x ? `$${x.toFixed(2)}` : "not set"),
      }),
      range("reach", "Share of the links that is reached", [5, 100, 5], 100, {
        format: (x) => `${x} %`,
      }),
    ),
    ...unseen(
      choice("attention", "Attention", ["fused", "plain"]),
      choice("recipe", "Bytes per parameter", {
        mixed: "2 + 2 + 12, mixed",
        "mixed-32": "2 + 4 + 12, mixed, gradients in 32 bits",
        cast: "4 + 4 + 8, float32, layers cast",
      }),
      choice("sequence", "Norms divided, too (sequence parallelism)", ["yes", "no"]),
      choice("overlap", "Gradients travel during the backward pass", ["yes", "no"]),
      logRange("rate", "Rate of products", [10, 2500], fromCard("rate"), (x) =>
        rate(x * TERA),
      ),
    ),
  ],
  invite: "Shard everything (ZeRO-3), and see what it does to memory and time.",
  notes: () => NOTES,
  ...{ settle, draw, summary, formula, table },
  result: (state) => result(state) + bill(state),
  ...{ stepOf, expectedOf, published, fits, CARDS, MODELS }, // for tests
});

export default spec;
