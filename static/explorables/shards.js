/* The shards: what a GPU stores of a model's state, and what it sends in a step. The reader
 * chooses how the state is divided and among how many GPUs, and sees which resource decides:
 * memory, arithmetic or a link.
 */
import { time, size, bandwidth, rate, percent, plural, round, GIGA, TERA } from "./arithmetic.js";
import * as shards from "./shards-arithmetic.js";
import * as usual from "./expectations.js";
import { cards } from "./cards.js";
import { CARDS } from "./training-cards.js";
import { tag, each, label, path, vertical, timeAxis, until, was, chart } from "./chart.js";
import { select, steps, logRange, more, doubled } from "./controls.js";
import { figure } from "./explorable.js";

const { area, sheet, stack, legend } = chart("shards");

const NAMES = {
  ddp: "data parallel",
  zero1: "ZeRO-1",
  zero2: "ZeRO-2",
  fsdp: "FSDP",
  hsdp: "HSDP",
};
const OPTIONS = {
  ddp: "nothing (data parallel)",
  zero1: "Adam’s state (ZeRO-1)",
  zero2: "and gradients (ZeRO-2)",
  fsdp: "and weights (ZeRO-3, FSDP)",
  hsdp: "all, in each machine (HSDP)",
};
const WAYS = Object.keys(NAMES);
const LAYERS = { 1: 16, 3: 28, 8: 32, 70: 80, 405: 126 }; // of Llama 3, by billions
const COUNTS = doubled(1, 1024);
const RUN = 1800; // ms of a step before the reader's eyes

const cardOf = (state) => CARDS[state.card];
const modelOf = (state) => ({
  parameters: state.billions * 1e9,
  layers: LAYERS[state.billions],
  recipe: state.bits === "16" ? "cast" : "float32",
});

/** Return the rate of the best products; those of 32 bits are as much slower as the data
 * sheet says of TF32. */
const rateOf = ({ card, bits }) => {
  const { tf32, tensor16 } = cards[CARDS[card].name];
  return CARDS[card].rate * TERA * (bits === "16" ? 1 : tf32 / tensor16);
};

const hardwareOf = (state) => ({
  rate: rateOf(state),
  within: cardOf(state).within * GIGA,
  between: state.network * GIGA,
  machine: Number(state.machine),
});

const flopsOf = (state) => 6 * modelOf(state).parameters * state.tokens * 1e6;

const run = (state, plan = state.plan, gpus = state.gpus) =>
  shards.stepOf(
    shards.PLANS[plan],
    modelOf(state),
    { gpus, flops: flopsOf(state) },
    hardwareOf(state),
  );

const usable = (state) => (1 - usual.LEFT) * cardOf(state).capacity;
const fits = (state, step) => usual.fits(step.bytes, cardOf(state).capacity);
const isHidden = ({ exposed, compute }) => exposed < 1e-9 * compute;

/** Return the fewest GPUs that hold the state, or undefined. */
const fewest = (state, plan = state.plan) =>
  COUNTS.find((gpus) => fits(state, run(state, plan, gpus)));
/** Return the most GPUs whose messages are hidden. */
const most = (state, plan = state.plan) =>
  COUNTS.filter((gpus) => isHidden(run(state, plan, gpus))).at(-1);

// The drawing: a bar for each plan, above a step of the chosen one

const ROLES = {
  weights: ["s1", "weights"],
  gradients: ["s3", "gradients"],
  optimizer: ["s2", "Adam"],
  gathered: ["s1 solid", "layers gathered"],
};
const TOP = 46;
const ROW = 27;
const TALL = 20;
const BOTTOM = TOP + WAYS.length * ROW;
const BEYOND = 1.6; // The axis ends behind the card's memory.

const isNarrow = (width) => width < 480;
const frameOf = (width) => {
  const left = 104;
  return { left, wide: width - left - 70 };
};
const scaleOf = (state, width) => frameOf(width).wide / (BEYOND * cardOf(state).capacity);

/** Return the parts of a bar, of which the edge may cut one. */
const partsOf = (bytes, wide, scale) => {
  let room = wide;
  return Object.entries(ROLES).flatMap(([role, [kind]]) => {
    const part = Math.min(room, bytes[role] * scale);
    room -= part;
    return part > 0 ? [[kind, part]] : [];
  });
};

const barOf = (state, last, width) => (plan, i) => {
  const step = run(state, plan);
  const { left, wide } = frameOf(width);
  const scale = scaleOf(state, width);
  const y = TOP + i * ROW;
  const isChosen = plan === state.plan;
  const end = Math.min(wide, step.bytes * scale);
  const before = last && last.card === state.card ? run(last, plan).bytes * scale : end;
  const base = y + TALL / 2 + 5;
  const text = fits(state, step) ? "ink" : "bad";
  return tag(
    "g",
    { "data-touch": plan },
    area("plate", 1, y - 2, width - 2, TALL + 4), // to touch
    isChosen ? path(`M1 ${y + TALL / 2 - 6}l8 6l-8 6Z`, "head") : "",
    label(14, base, NAMES[plan], `ink small${isChosen ? " strong" : ""}`),
    stack(partsOf(step.memory, wide, scale), left, y, TALL),
    step.bytes * scale > wide
      ? path(`M${left + wide + 2} ${y + TALL / 2 - 6}l7 6l-7 6Z`, "head")
      : "",
    Math.abs(before - end) < 1 || before > wide
      ? ""
      : vertical(left + before, y - 3, y + TALL + 3, "last"),
    label(width - 1, base, size(step.bytes), `${text} small${isChosen ? " strong" : ""}`, "end"),
  );
};

/** Return the lines of the card's memory and of nine tenths of it. */
const limits = (state, width) => {
  const { name, capacity } = cardOf(state);
  const { left } = frameOf(width);
  const [nine, whole] = [usable(state), capacity].map((x) => left + x * scaleOf(state, width));
  return (
    vertical(nine, TOP - 8, BOTTOM - 2, "dashed") +
    vertical(whole, TOP - 8, BOTTOM - 2, "axis") +
    label(
      isNarrow(width) ? width - 1 : whole + 4,
      32,
      `arrays: ${size(usable(state))} of the ${name}’s ${size(capacity)}`,
      "soft small",
      "end",
    )
  );
};

/** Return the legend, with the marks of the setting before if there are any. */
const legendOf = (width, isMarked) => {
  const narrow = isNarrow(width);
  const across = narrow ? [1, 100, 200, 1, 140, 236] : [1, 98, 206, 280, 426, 520];
  const place = (i) => [across[i], BOTTOM + (narrow && i > 2 ? 30 : 8)];
  const items = [...Object.values(ROLES), ["wait", "exposed"]];
  const [x, y] = place(items.length);
  const before = vertical(x + 9, y - 2, y + 16, "last") + label(x + 18, y + 12, "before", "soft small");
  return legend(items, place) + (isMarked ? before : "");
};

// The step

const LANE = 50;
const BOX = 22;
const KINDS = { forward: "box", backward: "box", wait: "wait", weights: "s1", gradients: "s3" };
const START = 6; // room for the 0 of the axis
const RIGHT = 30;

/**
 * Return the links with what they send: inside of a machine, and through the network.
 * @returns {any[][]} of each link: name, bandwidth, collectives, name in the schedule
 */
const lanesOf = (state, step) => {
  const inside = step.shards <= Number(state.machine);
  const within = state.card === "rtx4090" ? "PCIe" : "NVLink";
  const width = inside ? step.links.machines : step.links.ring;
  const lane = (name, bandwidthOf, link) =>
    [name, bandwidthOf, step.messages.filter((one) => one.link === link), link];
  const network = lane("network", width, inside ? "machines" : "ring");
  return [lane(within, hardwareOf(state).within, inside ? "ring" : ""), network];
};

const sum = (list, key) => list.reduce((all, one) => all + one[key], 0);

/** Return the collectives of each layer on a link in words: "2 all-gathers, reduce-scatter". */
const kindsOf = (messages) => {
  const kinds = [...new Set(messages.map(({ kind }) => kind))];
  const count = (kind) => messages.filter((one) => one.kind === kind).length;
  return kinds.map((kind) => (count(kind) > 1 ? `${count(kind)} ${kind}s` : kind)).join(", ");
};

/** @param {any[]} link of `lanesOf`, in words */
const traffic = ([name, width, messages], isShort) => {
  if (!messages.length) return `${name}: nothing to send`;
  const sends = `${size(sum(messages, "bytes"))} in ${time(sum(messages, "seconds"))}`;
  if (isShort) return `${name}: ${sends}`;
  return `${name}, ${bandwidth(width)}: ${sends} (each layer: ${kindsOf(messages)})`;
};

const boxes = (spans, y, scale) =>
  each(spans, ({ kind, what = kind, start, end }) => {
    const wide = (end - start) * scale;
    const edge = wide < 3 ? " solid plain" : ""; // Edges would hide narrow boxes.
    const box = area(KINDS[what] + edge, START + start * scale, y, Math.max(0.75, wide), BOX);
    if (wide < 7 * kind.length + 8 || kind === "wait") return box;
    return box + label(START + ((start + end) / 2) * scale, y + 16, kind, "ink small", "middle");
  });

const timeline = (state, top, width, now, last) => {
  const step = run(state);
  const spans = { "": [], ...shards.schedule(step, modelOf(state).layers) };
  const short = isNarrow(width);
  // The axis does not depend on the plan, so the ends can be compared.
  const longest = Math.max(...WAYS.map((plan) => run(state, plan).step));
  const scale = (width - START - RIGHT) / longest;
  const gpu = `GPU: ${time(step.compute)} of arithmetic`;
  const also = isHidden(step) ? "" : `, ${time(step.exposed)} exposed`;
  const before = last && last.gpus === state.gpus ? run(last).step : undefined;
  const lanes = [
    [`${gpu}${also}${short ? "" : was(before, step.step, time)}`, spans.gpu],
    ...lanesOf(state, step).map((lane) => [traffic(lane, short), spans[lane[3]]]),
  ];
  const bottom = top + lanes.length * LANE;
  const at = Math.min(now, step.step);
  return (
    each(lanes, ([text, list], i) => {
      const y = top + i * LANE;
      return label(1, y + 14, text, "ink small") + boxes(until(list, now), y + 20, scale);
    }) +
    vertical(START + at * scale, top + 18, bottom, now < step.step ? "now" : "axis") +
    timeAxis(longest, { left: START, right: RIGHT, y: bottom, width }, time)
  );
};

const draw = (state, width, motion, last) => {
  const { step, bytes } = run(state);
  const now = motion ? motion.part * step : Infinity;
  const top = BOTTOM + (isNarrow(width) ? 62 : 40);
  const bars = each(WAYS, barOf(state, last, width));
  const who = state.gpus === 1 ? "the GPU" : `each of ${plural(state.gpus, "GPU")}`;
  return sheet(
    width,
    top + 3 * LANE + 28,
    label(1, 14, `stored by ${who}: ${size(bytes)}`, "ink small strong"),
    bars,
    limits(state, width),
    legendOf(width, bars.includes('"last"')),
    timeline(state, top, width, now, last),
  );
};

// In words

const FOR = { ...NAMES, ddp: "data parallelism" };

const decides = (state) => {
  const step = run(state);
  if (!fits(state, step)) return `memory decides: ${size(step.bytes)} on each`;
  if (isHidden(step)) return `arithmetic decides: ${time(step.compute)} of it in a step`;
  const [within, network] = lanesOf(state, step);
  const busy = (/** @type {any[]} */ link) => sum(link[2], "seconds");
  const name = busy(within) > busy(network) ? within[0] : "the network";
  const share = step.exposed / step.step;
  const much = share < 0.005 ? "less than 1\u00a0%" : percent(share);
  return `${name} decides: ${much} of a step is exposed`;
};

const result = (state) => {
  const { name } = cardOf(state);
  const [from, upTo] = [fewest(state), most(state)];
  const fit =
    from === undefined
      ? `never fits on ${name}s`
      : from === 1
        ? `fits on one ${name}`
        : `fits from ${from} ${name}s on`;
  const place = state.gpus === 1 ? "on one GPU" : `with ${state.gpus}`;
  const hide = `messages can hide up to ${upTo}`;
  return `With ${FOR[state.plan]}, the state of ${state.billions} billion parameters ${fit}, and ${hide}; ${place}, ${decides(state)}.`;
};

const summary = (state) =>
  "Bars of what each GPU stores, one for each plan, by role, with a line for the memory of the card. " +
  "Below, a step on one time axis, with a row for the arithmetic of the GPU and a row for each " +
  `link, which sends the messages of one layer after the other. ${result(state)}`;

const formula = (state) => {
  const step = run(state);
  const { parameters, layers, recipe } = modelOf(state);
  const { weights, gradients, optimizer, gathered } = step.memory;
  const { rate: speed, within, between, machine } = hardwareOf(state);
  const per = (bytes) => round(bytes / parameters);
  const ring = step.shards > machine;
  const back = (2 / 3) * step.compute;
  return [
    `per parameter: ${per(weights)} of weights + ${per(gradients)} of gradients + ` +
      `${per(optimizer)} of Adam = ${per(step.bytes - gathered)} bytes, ` +
      `${size(step.bytes - gathered)} in all`,
    gathered > 0 &&
      `2 of ${layers} layers, gathered${recipe === "cast" ? " or cast" : ""}: ${size(gathered)}`,
    ...step.messages.map(
      ({ kind, what, link, bytes }) =>
        `${kind} of ${what}${link === "machines" ? ", between machines" : ""}: ${size(bytes)} sent`,
    ),
    step.sent > 0 && `sent in all: ${size(step.sent)}, or ${per(step.sent)} bytes per parameter`,
    ring &&
      `a ring over machines: min(${bandwidth(within)}, ${machine} · ${bandwidth(between)}) = ` +
        bandwidth(step.links.ring),
    `arithmetic: 6 · ${state.billions} billion · ${state.tokens} million tokens / ${state.gpus} / ` +
      `${rate(speed)} = ${time(step.compute)}`,
    `can hide: an all-reduce behind the backward pass, ${time(back)}; all else behind the ` +
      `whole arithmetic; exposed: ${isHidden(step) ? "nothing" : time(step.exposed)}`,
  ];
};

const table = (state) => ({
  head: ["plan", "stored", "sent", "step, at least", "exposed", "fits from", "hides up to"],
  rows: WAYS.map((plan) => {
    const step = run(state, plan);
    return [
      NAMES[plan],
      size(step.bytes),
      step.sent ? size(step.sent) : "–",
      time(step.step),
      percent(step.exposed / step.step),
      String(fewest(state, plan) ?? "–"),
      String(most(state, plan)),
    ];
  }),
  chosen: WAYS.indexOf(state.plan),
});

const ZERO = "https://arxiv.org/abs/1910.02054";
const FSDP = "https://arxiv.org/abs/2304.11277";
const BEKMAN = "https://github.com/stas00/ml-engineering/tree/master/compute/accelerator";
const NEU = "https://github.com/smolix/d2l-neu";
const TITAN = "https://github.com/pytorch/torchtitan/blob/main/benchmarks/llama3_h100_202412_torchtitan.md";
const NOTES = [
  `State and traffic: [Rajbhandari et al., 2020](${ZERO}), and [Zhao et al., 2023](${FSDP}), from ` +
    "whom HSDP comes. The layers are those of Llama 3, of equal size. A GPU has one microbatch. " +
    "The activations are not in the bars: their size depends on the tokens of a GPU, and on what " +
    "is computed twice.",
  "The step is a lower bound: a layer’s weights are gathered as early as is useful, messages have " +
    "no latency and do not slow down the GPU, and the update takes no time. Each box of a link is " +
    "the message of a layer, drawn beside the layer’s arithmetic. In fact, the first layer waits " +
    "for its weights, and the sums of a layer’s gradients are sent after its backward pass.",
  `Arithmetic runs at the rate of the best published product of matrices of 16 bits: [Bekman, 2026](${BEKMAN}), ` +
    `and for the RTX 4090 and its links [Zhang et al., 2026](${NEU}); for the H200 the H100’s. ` +
    "Products of 32 bits are TF32, as many times slower as on the data sheet. Other links carry what " +
    "their data sheets say. The network has 400 Gbit/s for each H100, as on [the torchtitan team’s " +
    `machines](${TITAN}). For other cards its speed is an assumption.`,
  "With 16 bits, a GPU stores and updates the weights in 32 bits, gathers and computes in 16, and " +
    "adds the gradients up in 32.",
];

const settle = (state, id) =>
  id === "card" ? { ...state, network: cardOf(state).network } : state;

export default figure({
  name: "shards",
  card: "card",
  controls: [
    select("plan", "Divided among the GPUs", OPTIONS, "fsdp"),
    steps("gpus", "GPUs", COUNTS, 64),
    ...more(
      steps("billions", "Parameters", Object.keys(LAYERS).map(Number), 8, {
        format: (x) => `${x} billion`,
      }),
      select("card", "Card", CARDS, "h100"),
      select("bits", "Gathered and computed in", { 32: "32 bits", 16: "16 bits (mixed precision)" }, "32"),
      steps("tokens", "Tokens of a minibatch", [0.25, 0.5, 1, 2, 4, 8, 16], 1, {
        format: (x) => `${x} million`,
      }),
      logRange("network", "Network, for each GPU", [0.1, 400], (state) => cardOf(state).network, (x) =>
        bandwidth(x * GIGA),
      ),
      select("machine", "GPUs in a machine", { 4: "4", 8: "8", 64: "64 (a rack)" }, "8"),
    ),
  ],
  actions: [{ label: "Run the step", motion: () => RUN }],
  touch: (state, plan) => ({ ...state, plan }),
  invite: "Add GPUs: what do they save, and when do they begin to wait?",
  notes: () => NOTES,
  ...{ settle, draw, summary, result, formula, table },
  ...{ run, fewest, most, modelOf, hardwareOf, flopsOf }, // for tests
});
