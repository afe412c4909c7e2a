/* The roofline laboratory: the reader chooses a machine, or pastes the line of a measured
 * one, and an operation, and sees which of its arithmetic, its bytes and its calls bounds
 * the time, and at which size that changes.
 */
import {
  time, size, rate, bandwidth, percent, round, inUnits, MICRO, GIGA, TERA,
} from "./arithmetic.js";
import * as performance from "./performance-arithmetic.js";
import { cards } from "./cards.js";
import {
  tag, label, canvas, path, line, horizontal, dot, diamond, logarithmic, chart,
  powers, grid, hatching,
} from "./chart.js";
import { select, steps, range, logRange, text, more, doubled } from "./controls.js";
import { figure } from "./explorable.js";

const { bars } = chart("roofline");

// Dense rates in TFLOP/s and bandwidths in GB/s; NOTES names the sources.
const SHOWN = { T4: "T4", A100: "A100, 80 GB", H100: "H100", H200: "H200", B200: "B200" };
const machineOf = ([id, name]) => {
  const { bandwidth, fp32, tf32, tensor16, fp8 } = cards[id];
  const sparse = id !== "T4";
  const half = { ...(sparse && { bfloat16: tensor16 }), float16: tensor16 };
  const rates = { float32: fp32, ...(tf32 && { tf32 }), ...half, ...(fp8 && { fp8 }) };
  // In a clock, a multiprocessor has 16 special functions and 2 FLOPs in each of its cores.
  const cores = ["T4", "A100"].includes(id) ? 64 : 128;
  const functions = (16 / (2 * cores)) * fp32 * TERA;
  const peaks = { memory: bandwidth, rates, functions };
  return [id.toLowerCase().replace(" ", ""), { name, sparse, ...peaks }];
};
const MACHINES = Object.fromEntries(
  Object.entries({ ...SHOWN, "RTX 4090": "RTX 4090" }).map(machineOf),
);
// Of PyTorch on an RTX 4090: 2 · 256³ FLOPs at the published 2.3 TFLOP/s.
const OVERHEAD = 14.6;

const TYPES = {
  float32: "float32",
  tf32: "TF32",
  bfloat16: "bfloat16",
  float16: "float16",
  fp8: "FP8",
};

const many = inUnits([
  [1e9, "billion"],
  [1e6, "million"],
]);

/** Return a number of things, to three digits if it is not a size of a slider. */
const amount = (x) => {
  if (x >= 1e6) return many(x);
  return String(Number.isInteger(x) ? x : round(x));
};

const bytesOf = (state) => performance.TYPES[state.type];
const isFused = (state) => state.kernels === "fused";

/** The operations: their work, the size that changes, and their counts in words. */
const OPERATIONS = {
  product: {
    name: "product of n × n matrices",
    size: "n",
    work: ({ n }, bytes) => performance.product({ b: n, k: n, n }, bytes),
    flops: ({ n }) => `2 · ${n}³`,
    bytes: ({ n }) => `3 · ${n}²`,
  },
  layer: {
    name: "layer: b rows times a matrix",
    size: "b",
    work: ({ b, inputs, outputs }, bytes) =>
      performance.product({ b, k: inputs, n: outputs }, bytes),
    flops: ({ b, inputs, outputs }) => `2 · ${b} · ${inputs} · ${outputs}`,
    bytes: ({ b, inputs, outputs }) =>
      `(${b} · ${inputs} + ${inputs} · ${outputs} + ${b} · ${outputs})`,
  },
  elementwise: {
    name: "elementwise operation",
    size: "N",
    simple: true,
    work: ({ N, reads, perNumber }, bytes) =>
      performance.elementwise({ n: N, reads, writes: 1, flops: perNumber }, bytes),
    flops: ({ N, perNumber }) => `${perNumber} · ${amount(N)}`,
    bytes: ({ N, reads }) => `(${reads} + 1) · ${amount(N)}`,
  },
  chain: {
    name: "chain of elementwise operations",
    size: "N",
    simple: true,
    work: ({ N, count, second, kernels }, bytes) =>
      performance.chain(
        { n: N, count, second: Math.min(count, second), fused: kernels === "fused" },
        bytes,
      ),
    flops: ({ N, count }) => `${count} · ${amount(N)}`,
    bytes: ({ N, count, second, kernels }) =>
      kernels === "fused"
        ? `2 · ${amount(N)}`
        : `(2 · ${count} + ${Math.min(count, second)}) · ${amount(N)}`,
  },
  attention: {
    name: "attention, forward pass",
    size: "s",
    work: ({ s, sequences, heads, width, kernels }, bytes) =>
      performance.attention(
        { batch: sequences, length: s, heads, width, fused: kernels === "fused" },
        bytes,
      ),
    flops: ({ s, sequences, width }) => `4 · ${sequences} · ${s}² · ${width}`,
    bytes: ({ s, sequences, heads, width, kernels }) => {
      const matrices = `4 · ${sequences} · ${s} · ${width}`;
      return kernels === "fused"
        ? matrices
        : `(${matrices} + 4 · ${sequences} · ${heads} · ${s}²)`;
    },
  },
};

const operationOf = (state) => OPERATIONS[state.operation] || OPERATIONS.product;

// The machine of a state

/** Return the machine that is listed or pasted, unless it is that of the sliders. */
const known = (state) => {
  if (state.machine !== "own") return MACHINES[state.machine];
  const own = performance.parseMachine(state.line);
  if (!own) return undefined;
  const pairs = Object.entries(own.rates).map(([type, x]) => [type, x / TERA]);
  return {
    rates: Object.fromEntries(pairs),
    memory: own.bandwidth / GIGA,
    functions: own.functions,
    overhead: Math.min(100, round(own.overhead / MICRO, 4)),
  };
};

/** Return the type whose rate decides; only products use the tensor cores. */
const usedType = (state) => (operationOf(state).simple ? "float32" : state.type);

/** Return the type whose rate stands for one that a machine lacks. */
const ratedType = (state, rates) => {
  const type = usedType(state);
  const instead = type === "fp8" ? ["bfloat16", "float16"] : [];
  return [type, ...instead].find((name) => rates[name]) || "float32";
};

const rateOf = (state) => {
  const { rates } = known(state) ?? MACHINES.rtx4090;
  return rates[ratedType(state, rates)];
};

const memoryOf = (state) => (known(state) ?? MACHINES.rtx4090).memory;
const overheadOf = (state) => known(state)?.overhead ?? OVERHEAD;

/** Return how many times the dense rate a data sheet may print. */
const sparseFactor = (state) => {
  const { sparse, rates } = known(state) ?? {};
  const type = usedType(state);
  return state.sheet === "sparse" && sparse && type !== "float32" && rates[type] ? 2 : 1;
};

const machine = (state) => ({
  rate: state.rate * TERA,
  functions: known(state)?.functions ?? 0, // 0 if nobody has said
  bandwidth: state.memory * GIGA,
  overhead: state.overhead * MICRO,
});

const work = (state) => operationOf(state).work(state, bytesOf(state));
const bound = (state) => performance.bound(machine(state), work(state));
const attained = (state) => work(state).flops / bound(state).time;
const intensity = (state) => work(state).flops / work(state).bytes;

const sizesOf = (state) => SIZES[operationOf(state).size];

/** Return the changes of the term that decides, over the sizes of the slider. */
const changesOf = (state) => {
  const sizes = sizesOf(state);
  const decides = (value) =>
    bound({ ...state, [operationOf(state).size]: value }).decides;
  return performance.changes(decides, sizes[0], sizes[sizes.length - 1]);
};

// What others measured with PyTorch on an RTX 4090: TFLOP/s or ms

const RATES = { 512: 18.6, 1024: 119.6, 2048: 157.5, 4096: 152.8, 8192: 165.8 };
const NUMBERS = 16e6;
const published = (state) => {
  const { operation, type, n, N, reads, count, second } = state;
  if (state.machine !== "rtx4090" || state.overhead !== OVERHEAD) return null;
  if (operation === "product" && type === "bfloat16" && RATES[n])
    return { time: work(state).flops / (RATES[n] * TERA), rate: RATES[n] * TERA };
  if (type !== "float32" || N !== NUMBERS) return null;
  const seconds = {
    elementwise: reads === 1 && 0.14e-3,
    chain: count === 8 && second === 2 && (isFused(state) ? 0.15e-3 : 1.25e-3),
  }[operation];
  return seconds ? { time: seconds, rate: work(state).flops / seconds } : null;
};

// The drawing: bars for the three times above the roofline

const TERMS = {
  flops: ["s1", "arithmetic"],
  functions: ["s2", "exponentials"],
  bytes: ["wait", "bytes"],
  calls: ["s3", "calls"],
};
const LEFT = 98;
const RIGHT = 14;
const TOP = 162;
const BOTTOM = 398;
const [LEAST, MOST] = [0.03, 4e4]; // FLOP per byte

/** Return the terms that have a time, or could have one. */
const shownTerms = (state) =>
  Object.entries(TERMS).filter(
    ([term]) => term !== "functions" || bound(state).terms.functions > 0,
  );

const times = (state, width) => {
  const { terms, time: longest, decides } = bound(state);
  const scale = (width - LEFT - 74) / longest;
  const rows = shownTerms(state).map(([term, [kind, name]]) => [
    ...[Math.max(1, terms[term] * scale), kind, name, time(terms[term]), term === decides],
  ]);
  return bars({ left: LEFT, top: 4, tall: 20, row: 28 }, rows);
};

/** Return the frame of the chart, whose axes are intensities and rates. */
const frameOf = (state, width) => {
  const { rate: peak, bandwidth: slope } = machine(state);
  const up = Math.log10(peak * sparseFactor(state) * 1.6);
  const low = Math.log10(Math.min(attained(state) / 2, slope * LEAST));
  const down = Math.max(low, up - 9);
  const [left, right] = [LEFT, width - RIGHT];
  const height = logarithmic([10 ** down, 10 ** up], [BOTTOM, TOP]);
  return {
    ...{ left, right, top: TOP, bottom: BOTTOM, up, down },
    x: logarithmic([LEAST, MOST], [left, right]),
    y: (value) => height(Math.max(value, 10 ** down)),
  };
};

const axes = (frame, width) => {
  const rows = powers(Math.ceil(frame.down), Math.floor(frame.up));
  const named = rows.map(([exponent, power]) => {
    const [unit, letter] = exponent < 12 ? [9, "G"] : [12, "T"];
    return [power, `${round(10 ** (exponent - unit))}\u00a0${letter}`];
  });
  const columns = powers(-1, 4)
    .filter(([exponent]) => width >= 480 || exponent % 2)
    .map(([, power]) => [power]);
  return grid(frame, named, columns);
};

/** Return the roof of a peak rate, from the slope of the memory to the flat part. */
const roof = (state, { x, y }, peak, kind) => {
  const { bandwidth: slope } = machine(state);
  const ridge = Math.min(MOST, Math.max(LEAST, peak / slope));
  const flat = Math.min(peak, slope * MOST);
  const start = Math.min(peak, slope * LEAST);
  const points = [
    [LEAST, start],
    [ridge, flat],
    [MOST, flat],
  ].map(([a, b]) => [x(a), y(b)]);
  return line(points, kind);
};

const roofs = (state, place, width) => {
  const { rate: peak, bandwidth: slope } = machine(state);
  const { y } = place;
  const factor = sparseFactor(state);
  const isReached = peak <= slope * MOST;
  const sparse =
    factor > 1
      ? roof(state, place, factor * peak, "dashed") +
        label(width - RIGHT, y(factor * peak) - 6, "sparse", "soft small", "end")
      : "";
  const above = y(peak) + (factor > 1 ? 18 : -6);
  return (
    sparse +
    roof(state, place, peak, "line1") +
    (isReached ? label(width - RIGHT, above, rate(peak), "ink small", "end") : "")
  );
};

/** Return the ceiling that the calls set, a line at the FLOPs over their time. */
const ceiling = (state, { y, down }, width) => {
  const { flops } = work(state);
  const limit = flops / bound(state).terms.calls;
  const { rate: peak } = machine(state);
  const text = width < 480 ? "calls" : "bound of the calls";
  if (!(limit < 1.3 * peak) || Math.log10(limit) < down) return "";
  return (
    horizontal(y(limit), LEFT, LEFT + 1e4, "line3") +
    label(LEFT + 6, y(limit) - 6, text, "soft small")
  );
};

const DOTS = { "stroke-dasharray": "1 4", "stroke-width": 2 };

/** Return the way of the point when the size changes. */
const way = (state, { x, y }) => {
  const id = operationOf(state).size;
  const points = sizesOf(state)
    .map((value) => ({ ...state, [id]: value }))
    .map((other) => [x(intensity(other)), y(attained(other))]);
  return line(points, "axis", DOTS);
};

const pointOf = (state, { x, y }) => [x(intensity(state)), y(attained(state))];
const drag = {
  id: (state) => operationOf(state).size,
  point: (state, width) => pointOf(state, frameOf(state, width)),
};

const point = (state, place, width) => {
  const [cx, cy] = pointOf(state, place);
  const { y } = place;
  const isAtPeak = attained(state) > 0.99 * machine(state).rate; // whose label is there
  const beside = Math.min(cx + 13, width - RIGHT - 84);
  const isLow = cy + 26 > BOTTOM; // there, the label would touch the axis
  const known = published(state);
  return (
    dot(cx, cy, 7, "ring") +
    (isAtPeak ? "" : label(beside, isLow ? cy - 12 : cy + 22, rate(attained(state)), "ink small strong")) +
    (known ? diamond(cx, y(known.rate), 5) : "")
  );
};

/** Return the points that were measured on the reader's GPU. */
const measuredPoints = ({ measured = [] }, { x, y }) =>
  measured.map(({ intensity, rate: found }) =>
    dot(x(intensity), y(found), 4.5, "measured"),
  );

const legend = (state, width) => {
  const top = BOTTOM + 57;
  const [x, y] = width < 480 ? [1, top + 22] : [LEFT + 250, top];
  const left = width < 480 ? 1 : LEFT;
  return (
    path(`M${left} ${top + 4}l18 -9`, "line1") +
    label(left + 24, top + 5, bandwidth(machine(state).bandwidth), "soft small") +
    path(`M${left + 118} ${top}h26`, "axis", DOTS) +
    label(left + 150, top + 5, `other ${operationOf(state).size}`, "soft small") +
    (published(state)
      ? diamond(x + 5, y, 5) + label(x + 20, y + 5, "published rate", "soft small")
      : "")
  );
};

/** Return the shape outside of which lines of the chart are not drawn. */
const clip = ({ left, right, top, bottom }) => {
  const [width, height] = [right - left, bottom - top + 10];
  const shape = tag("rect", { x: left, y: top - 10, width, height });
  return tag("clipPath", { id: "roofline-chart" }, shape);
};

const draw = (state, width, _, last) => {
  const place = frameOf(state, width);
  const middle = (place.left + place.right) / 2;
  return canvas(
    width,
    BOTTOM + (width < 480 ? 92 : 72),
    tag("defs", {}, hatching("roofline"), clip(place)),
    times(state, width),
    label(0, TOP - 22, "FLOP/s at the bound (G = 10⁹, T = 10¹²)", "soft small"),
    axes(place, width),
    tag(
      "g",
      { "clip-path": "url(#roofline-chart)" },
      way(state, place),
      ceiling(state, place, width),
      last ? dot(...pointOf(last, place), 7, "last") : "",
    ),
    roofs(state, place, width),
    ...measuredPoints(state, place),
    point(state, place, width),
    label(middle, BOTTOM + 38, "FLOP per byte", "soft small", "middle"),
    legend(state, width),
  );
};

// In words

const nameOf = (term) => `the ${TERMS[term][1]}`;
const decides = (term) => `${nameOf(term)} ${term === "flops" ? "decides" : "decide"}`;

/** Return a sentence on the sizes at which another term decides. */
const turning = (state) => {
  const id = operationOf(state).size;
  const found = changesOf(state);
  if (found.length === 0)
    return `For every ${id} of the slider, ${decides(bound(state).decides)}.`;
  const parts = found.map(
    ({ size: value, after }) =>
      `from ${id}\u00a0≈\u00a0${amount(round(value))} on ${decides(after)}`,
  );
  const before = [`For small ${id} ${decides(found[0].before)}`, ...parts.slice(0, -1)];
  return `${before.join(", ")}, and ${parts[parts.length - 1]}.`;
};

/** Return a sentence on what is wrong with a pasted line. */
const warning = (state) =>
  state.line && !known(state)
    ? "This is not a line of print(d2l.measure_machine()), so the sliders below count. "
    : "";

/** Return the end of a sentence on a rate that the machine lacks, if it does. */
const missing = (state) => {
  const { rates } = known(state) ?? {};
  if (!rates || rates[usedType(state)]) return "";
  return ` of ${TYPES[ratedType(state, rates)]}, since there is none for ${TYPES[state.type]}`;
};

const result = (state) => {
  const { time: least, decides: term } = bound(state);
  const share = round((100 * attained(state)) / machine(state).rate, 2);
  const id = operationOf(state).size;
  const card = MACHINES[state.machine]?.name;
  const name = card ? `the ${card.split(",")[0]}` : "your machine";
  return (
    `${warning(state)}On ${name} at ${id}\u00a0=\u00a0${amount(state[id])}, ${decides(term)}: the ` +
    `time is at least ${time(least)}, and the rate is at most ${share}\u00a0% of the ` +
    `peak rate${missing(state)}.`
  );
};

const summary = (state) =>
  `Bars for the times of ${shownTerms(state)
    .map(([term]) => nameOf(term))
    .join(", ")}, above a ` +
  `roofline with both axes logarithmic. ${result(state)} The point lies at ` +
  `${round(intensity(state))} FLOP per byte; the ridge is at ` +
  `${round(performance.ridge(machine(state)))}. A table below has the numbers.`;

const formula = (state) => {
  const operation = operationOf(state);
  const { terms, time: least } = bound(state);
  const m = machine(state);
  const { calls, functions } = work(state);
  const known = published(state);
  const bytes = bytesOf(state);
  return [
    turning(state),
    `arithmetic: ${operation.flops(state)} / ${rate(m.rate)} = ${time(terms.flops)}`,
    terms.functions &&
      `exponentials: ${amount(functions)} / (${amount(round(m.functions))} per second)` +
        ` = ${time(terms.functions)}`,
    `bytes: ${operation.bytes(state)} · ${bytes} B / ${bandwidth(m.bandwidth)} = ` +
      time(terms.bytes),
    `calls: ${calls} · ${time(m.overhead)} = ${time(terms.calls)}`,
    `intensity: ${round(intensity(state))} FLOP per byte; ridge: ` +
      `${round(performance.ridge(m))} FLOP per byte`,
    state.operation === "layer" &&
      `critical batch: ${bytes} / 2 · ${rate(m.rate)} / ${bandwidth(m.bandwidth)} ` +
        `= ${round(performance.criticalBatch(m, bytes))}`,
    known &&
      `published for PyTorch on an RTX 4090: ${time(known.time)} or ` +
        `${rate(known.rate, 4)}, predicted ${time(least)} or ${rate(attained(state))}`,
    sparseFactor(state) > 1 &&
      `a data sheet may print ${rate(2 * m.rate)}, for matrices half of whose ` +
        `numbers are zero; your program gets ${rate(m.rate)}`,
  ];
};

const table = (state) => {
  const { flops, functions, bytes, calls } = work(state);
  const { terms } = bound(state);
  const m = machine(state);
  const row = (term, counted, peak) => [
    TERMS[term][1],
    counted,
    peak,
    time(terms[term]),
    percent(terms[term] / bound(state).time),
  ];
  return {
    head: ["term", "amount", "peak", "time", "of the bound"],
    rows: [
      row("flops", `${amount(flops)} FLOPs`, rate(m.rate)),
      ...(terms.functions
        ? [row("functions", amount(functions), `${amount(round(m.functions))} per second`)]
        : []),
      row("bytes", size(bytes), bandwidth(m.bandwidth)),
      row("calls", String(calls), `${time(m.overhead)} each`),
    ],
  };
};

const DOCS = "https://images.nvidia.com/aem-dam/Solutions/geforce/ada";
const ADA = `${DOCS}/nvidia-ada-gpu-architecture.pdf`;
const HOPPER = "https://resources.nvidia.com/en-us-tensor-core/gtc22-whitepaper-hopper";
const BEKMAN = "https://github.com/stas00/ml-engineering";
const LOCKWOOD = "https://glennklockwood.com/garden/processors/A100";
const XLA = "https://github.com/openxla/xla/tree/main/xla/backends/gpu/target_config/specs";
const T4 = "https://manualmachine.com/pny/tcst4mpb/8129101-user-manual";
const NEU = "https://github.com/smolix/d2l-neu";
const NOTES = [
  "Rates are dense. Many data sheets print the rate of sparse matrices, half of " +
    "whose numbers are zero. It is twice the dense rate, and programs with ordinary " +
    "matrices do not reach it.",
  "The rates and bandwidths of the T4, A100, H100, H200 and B200 are those of the " +
    `library’s file cards.csv, from [NVIDIA, T4](${T4}), [OpenXLA](${XLA}), ` +
    `[Lockwood](${LOCKWOOD}) and [Bekman, 2026](${BEKMAN}); see also [NVIDIA, ` +
    `H100](${HOPPER}). Those of the RTX 4090 are from [NVIDIA, Ada ` +
    `architecture](${ADA}), for products with sums in 32 bits.`,
  "Elementwise operations do not run in tensor cores, so the rate of float32 " +
    "bounds them in every type. TF32 rounds numbers inside of a product; in memory " +
    "they have 32 bits. Attention without fusion writes the scores, reads and writes " +
    "them in the softmax, and reads them again. Caches are left out.",
  "Exponentials: a multiprocessor of these GPUs computes 16 special functions per " +
    "clock, at the clock of the rate of float32. FlashAttention-3 counts 3.9 " +
    "trillion per second on an H100 ([Shah et al., " +
    "2024](https://arxiv.org/abs/2407.08608)), at a lower clock.",
  `The time of a call, ${OVERHEAD} µs, follows from the smallest product that ` +
    `others measured with PyTorch on an RTX 4090 ([Zhang et al., 2026](${NEU})). ` +
    "Other machines and frameworks differ. The chain that they measured has 8 " +
    "operations, of which 2 read a second array.",
];

// Settings

const SIZES = {
  n: doubled(64, 16384).flatMap((n) => (n < 16384 ? [n, 1.5 * n] : [n])),
  b: doubled(1, 32768),
  N: [3, 4, 5, 6, 7, 8].flatMap((power) =>
    [1, 1.6, 2.5, 4, 6.3].map((x) => round(x * 10 ** power)),
  ),
  s: doubled(32, 32768),
};

/** Return a state with the peaks of its machine, unless they are the sliders'. */
const adopt = (state) => {
  if (!known(state)) return state;
  return { ...state, rate: rateOf(state), memory: memoryOf(state) };
};

const settle = (before, id) => {
  // What was measured belongs to a machine.
  const ofMachine = ["machine", "line", "rate", "memory", "type"].includes(id);
  const state = ofMachine ? { ...before, measured: undefined } : before;
  if (["rate", "memory"].includes(id)) return { ...state, machine: "own", line: "" };
  if (id === "line" && state.machine === "own" && known(state))
    return adopt({ ...state, overhead: overheadOf(state) });
  if (id === "machine")
    return adopt({ ...state, line: "", overhead: OVERHEAD });
  return ["type", "operation"].includes(id) ? adopt(state) : state;
};

const isOne = (...operations) => ({ operation }) => operations.includes(operation);
/** Return a slider that only some operations have. */
const sizes = (id, label, values, start, ...operations) =>
  steps(id, label, values, start, { when: isOne(...operations), format: amount });
const FUSED = { separate: "one for each operation", fused: "a single one (fused)" };
const SHEETS = { dense: "dense", sparse: "also sparse, as data sheets print it" };
const DEPTHS = [1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128];
const tera = (x) => rate(x * TERA);
const giga = (x) => bandwidth(x * GIGA);

export default figure({
  name: "roofline",
  card: "machine",
  experiment: "roofline",
  controls: [
    ...more(
      select("machine", "Machine", { ...MACHINES, own: "your own, measured" }, "rtx4090"),
      text(
        "line",
        "Paste the line that print(d2l.measure_machine()) prints",
        "cpu: products in GFLOP/s: float32 98.9; memory 34 GB/s; …",
        { when: (state) => state.machine === "own" },
      ),
      select("type", "Numbers", TYPES, "bfloat16"),
    ),
    sizes("n", "Size n of the matrices", SIZES.n, 512, "product"),
    sizes("b", "Rows b of the minibatch", SIZES.b, 32, "layer"),
    sizes("N", "Numbers N in an array", SIZES.N, 16e6, "elementwise", "chain"),
    sizes("s", "Positions s in a sequence", SIZES.s, 1024, "attention"),
    select("operation", "Operation", OPERATIONS, "product"),
    ...more(
      sizes("count", "Operations in the chain", DEPTHS, 8, "chain"),
      sizes("perNumber", "FLOPs per number", doubled(1, 512), 1, "elementwise"),
    ),
    select("kernels", "Kernels", FUSED, "separate", { when: isOne("chain", "attention") }),
    ...more(
      range("overhead", "Time o of a call", [0, 100, 0.1], overheadOf, {
        format: (value) => time(value * MICRO),
      }),
      select("sheet", "Peak rate", SHEETS, "dense"),
      logRange("rate", "Peak rate of your own", [1e-4, 10000], rateOf, tera),
      logRange("memory", "Bandwidth of your own", [1, 20000], memoryOf, giga),
      sizes("reads", "Arrays read", [1, 2, 3, 4], 1, "elementwise"),
      sizes("second", "Operations that read a second array", [0, 1, 2, 4, 8], 2, "chain"),
      sizes("inputs", "Inputs of the layer", doubled(256, 32768), 4096, "layer"),
      sizes("outputs", "Outputs of the layer", doubled(256, 32768), 4096, "layer"),
      sizes("sequences", "Sequences", doubled(1, 256), 8, "attention"),
      sizes("heads", "Heads", doubled(1, 128), 16, "attention"),
      sizes("width", "Width of all heads", doubled(64, 16384), 1024, "attention"),
    ),
  ],
  invite: "Drag the slider to the right until the calls no longer decide.",
  notes: () => NOTES,
  ...{ settle, draw, drag, summary, result, formula, table },
  ...{ bound, changesOf, published, MACHINES, OVERHEAD, RATES }, // for tests
});
