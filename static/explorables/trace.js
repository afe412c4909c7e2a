/* The trace of a training step: the reader changes the step, reads the verdict again, and
 * zooms into the rows of the host and the GPU.
 */
import { time, percent, plural, round, inUnits, MICRO, GIGA, TERA } from "./arithmetic.js";
import * as step from "./trace-arithmetic.js";
import { cards } from "./cards.js";
import { each, label, path, dot, timeAxis, was, chart } from "./chart.js";
import { select, steps, range, hidden, more, doubled } from "./controls.js";
import { figure } from "./explorable.js";

const { area, sheet, bars, legend } = chart("trace");

// The model of the published speeds of the section; its vocabulary is assumed.
const MODEL = { layers: 6, width: 512, length: 128, vocabulary: 100 };
const BATCH = 16;
const LARGER = 8;
const INPUT = 500 * MICRO; // assumed, for a sequence
const CALL = 14.6 * MICRO; // of PyTorch, beside an RTX 4090

const SHOWN = ["T4", "RTX 4090", "A100", "H100", "H200", "B200"];
/** @type {Record<string, any>} */
const CARDS = Object.fromEntries(
  SHOWN.map((name) => [name.toLowerCase().replace(" ", ""), { name, ...cards[name] }]),
);

/** The changes of the step, with the names of their buttons. */
const CHANGES = {
  ahead: "Input prepared",
  half: "16 bits",
  compiled: "Compile, capture",
  larger: `${LARGER} times the batch`,
};
const NAMES = Object.keys(CHANGES);
const has = (state, change) => state[change] === "yes";
const changedBy = (state, change) => ({ ...state, [change]: has(state, change) ? "no" : "yes" });
const without = (state) => ({ ...state, ...Object.fromEntries(NAMES.map((name) => [name, "no"])) });

/** Return the sequences, the needs, the verdict and the trace of a state. */
const runOf = (state) => {
  const batch = BATCH * (has(state, "larger") ? LARGER : 1);
  const precision = has(state, "half") ? "bfloat16" : "float32";
  const compiled = has(state, "compiled");
  const { fp32, tensor16, bandwidth } = CARDS[state.card];
  const rate = TERA * (has(state, "half") ? tensor16 : fp32);
  const machine = { rate, bandwidth: bandwidth * GIGA, call: CALL };
  const list = step.operations({ ...MODEL, batch, precision, compiled });
  const host = { input: has(state, "ahead") ? 0 : batch * INPUT, captured: compiled };
  const needs = step.needs(machine, list, host);
  const found = step.trace(machine, list, host);
  const speed = (batch * MODEL.length) / found.pace;
  const idle = Math.max(0, 1 - found.busy / found.pace);
  return { list, needs, verdict: step.verdict(needs), ...found, idle, speed };
};

// The drawing: the whole step in two thin rows, a part of it below, and the four needs

const LEFT = 44;
const RIGHT = 14;
const OVERVIEW = { host: 8, gpu: 24, tall: 12 };
const DETAIL = { host: 72, gpu: 116, tall: 34 };
const AXIS = DETAIL.gpu + DETAIL.tall + 6;
const BARS = AXIS + 44;
const ROLES = [
  ["wait", "preparing the input"],
  ["s1", "launches"],
  ["s3 solid", "products"],
  ["s3", "other operations"],
  ["idle", "waiting, idle"],
];

const kindOfHost = ({ name }) => ({ input: "wait", wait: "idle" })[name] ?? "s1";
const kindOfGpu = ({ isProduct, isIdle }) => (isIdle ? "idle" : isProduct ? "s3 solid" : "s3");

/** Return spans with those between them in which nothing is done. */
const withGaps = (spans, pace) => {
  const found = [];
  let last = 0;
  for (const span of [...spans, { start: pace, end: pace, isEnd: true }]) {
    if (span.start - last > 1e-3 * MICRO)
      found.push({ name: "", isIdle: true, start: last, end: span.start });
    if (!span.isEnd) found.push(span);
    last = span.end;
  }
  return found;
};

/** Return the part of a step that is shown: [start, end] in seconds. */
const windowOf = ({ zoom, at }, pace) => {
  const long = pace / zoom;
  const start = Math.min(pace - long, Math.max(0, (at / 100) * pace - long / 2));
  return [start, start + long];
};

/** Return the share of a part of the step in which the GPU is idle. */
const idleIn = ({ gpu }, from, to) => {
  const within = ({ start, end }) => Math.max(0, Math.min(end, to) - Math.max(start, from));
  return Math.max(0, 1 - gpu.reduce((sum, span) => sum + within(span), 0) / (to - from));
};

/** Return spans as boxes from `from` to `to`; neighbors too thin to be told apart are one. */
const boxes = (spans, kindOf, [from, to], { y, tall, left, wide }) => {
  const scale = wide / (to - from);
  const shown = [];
  for (const span of spans) {
    if (span.end <= from || span.start >= to) continue;
    const [start, end] = [Math.max(from, span.start), Math.min(to, span.end)];
    const [kind, before] = [kindOf(span), shown.at(-1)];
    const isThin = (end - start) * scale < 4;
    const isSame = before?.kind === kind && (start - before.end) * scale < 0.5;
    if (isThin && isSame) Object.assign(before, { end, name: "" });
    else shown.push({ kind, isThin, name: span.name, start, end });
  }
  return each(shown, ({ kind, isThin, name, start, end }) => {
    const [x, long] = [left + (start - from) * scale, Math.max(0.4, (end - start) * scale)];
    const isPlain = kind.startsWith("s") && (isThin || tall < 20);
    const box = area(isPlain ? `${kind} plain` : kind, x, y, long, tall);
    if (tall < 20 || !name || long < 8 * name.length + 6) return box;
    return box + label(x + long / 2, y + tall / 2 + 5, name, "ink small", "middle");
  });
};

const rowsOf = (run, part, { host, gpu, tall }, left, wide) =>
  boxes(withGaps(run.host, run.pace), (span) => (span.isIdle ? "idle" : kindOfHost(span)), part, {
    ...{ y: host, tall, left, wide },
  }) +
  boxes(withGaps(run.gpu, run.pace), kindOfGpu, part, { y: gpu, tall, left, wide });

/** Return the frame around the part that is shown below, with a ring to drag it. */
const lens = (state, run, wide) => {
  if (state.zoom === 1) return "";
  const [from, to] = windowOf(state, run.pace).map((at) => LEFT + (at / run.pace) * wide);
  const [top, bottom] = [OVERVIEW.host - 4, OVERVIEW.gpu + OVERVIEW.tall + 4];
  const [x, y] = [(from + to) / 2, bottom + 8];
  return (
    path(`M${from} ${top}V${bottom}H${to}V${top}Z`, "dashed") +
    path(`M${from} ${bottom}L${LEFT} ${DETAIL.host - 4}M${to} ${bottom}L${LEFT + wide} ${DETAIL.host - 4}`, "faint") +
    dot(x, y, 7, "ring")
  );
};

const needsOf = (run, width, last) => {
  const list = Object.entries(run.needs);
  const most = Math.max(...list.map(([, seconds]) => seconds));
  const scale = (width - 82 - 84) / most;
  const rows = list.map(([name, seconds]) => {
    const isMost = name === run.verdict;
    const text = seconds > 0 ? time(seconds) : "0";
    const before = width < 480 ? "" : was(last?.needs[name], seconds, time);
    const kind = isMost ? "s2 solid" : "s1";
    return [Math.max(1, seconds * scale * (width < 480 ? 1 : 0.75)), kind, name, text + before, isMost];
  });
  return bars({ left: 80, top: BARS, tall: 16, row: 24 }, rows);
};

const places = (width) => {
  const across = width < 480 ? [1, 168] : [1, 168, 258, 348, 486];
  return (i) => [across[i % across.length], BARS + 108 + 22 * Math.floor(i / across.length)];
};

const draw = (state, width, _, before) => {
  const run = runOf(state);
  const wide = width - LEFT - RIGHT;
  const part = windowOf(state, run.pace);
  const place = { left: LEFT, right: RIGHT, y: AXIS, width };
  return sheet(
    width,
    BARS + (width < 480 ? 178 : 132),
    label(0, OVERVIEW.host + 20, "Step", "ink small strong"),
    rowsOf(run, [0, run.pace], OVERVIEW, LEFT, wide),
    lens(state, run, wide),
    label(0, DETAIL.host + 22, "Host", "ink small strong"),
    label(0, DETAIL.gpu + 22, "GPU", "ink small strong"),
    rowsOf(run, part, DETAIL, LEFT, wide),
    timeAxis(part[1] - part[0], place, time),
    needsOf(run, width, before && runOf(before)),
    legend(ROLES, places(width)),
  );
};

/** The reader drags the part of the step that is shown. */
const drag = {
  id: () => "at",
  point: (state, width) => {
    if (state.zoom === 1) return [-99, -99];
    const wide = width - LEFT - RIGHT;
    const { pace } = runOf(state);
    const [from, to] = windowOf(state, pace);
    return [LEFT + ((from + to) / 2 / pace) * wide, OVERVIEW.gpu + OVERVIEW.tall + 12];
  },
};

// In words

const perSecond = inUnits([
  [1e6, "million tokens/s"],
  [1e3, "thousand tokens/s"],
]);

const result = (state) => {
  const run = runOf(state);
  const { name } = CARDS[state.card];
  const first = runOf(without(state));
  const factor = round(run.speed / first.speed, 2);
  const many = factor === 1 ? "about as many" : `${factor} times as many`;
  const gained = NAMES.some((change) => has(state, change)) ? `, ${many} as at first` : "";
  const [from, to] = windowOf(state, run.pace);
  const shown = `${percent(idleIn(run, from, to))} of the ${time(to - from)} shown`;
  return (
    `${name}, verdict ${run.verdict}: a step takes ${time(run.pace)}, of which the GPU is idle ` +
    `for ${percent(run.idle)}${state.zoom > 1 ? ` (${shown})` : ""}, and trains ${perSecond(run.speed)}${gained}.`
  );
};

const summary = (state) =>
  "The trace of a training step, with the rows of the host and the GPU, once as a whole and once " +
  "in part, above bars of the time that its input, its launches, its bytes and its FLOPs need. " +
  `${result(state)} A table below has the numbers.`;

const formula = (state) => {
  const { list, needs, busy, pace } = runOf(state);
  const { bandwidth, fp32, tensor16 } = CARDS[state.card];
  const captured = has(state, "compiled");
  return [
    `input: ${time(INPUT)} for a sequence${needs.input ? `, ${time(needs.input)}` : ", but before the training"}`,
    `launches: ${captured ? "1 call" : plural(list.length, "operation")} · ${time(CALL)} = ${time(needs.launches)}`,
    `bytes: ${time(needs.bytes)} at ${bandwidth} GB/s`,
    `FLOPs: D (6 N + 12 L h s), ${time(needs.FLOPs)} at ${has(state, "half") ? tensor16 : fp32} TFLOP/s`,
    `The GPU works for ${time(busy)} of ${time(pace)}: each operation takes the time of its bytes ` +
      "or its FLOPs, or 4 µs, whichever is the longest.",
  ];
};

/** Return what each change would make of the step. */
const table = (state) => {
  const row = (name, other) => {
    const { pace, idle, verdict, speed } = runOf(other);
    return [name, verdict, time(pace), percent(idle), perSecond(speed)];
  };
  return {
    head: ["", "verdict", "step", "idle", "speed"],
    rows: [
      row("as it is", state),
      ...NAMES.map((change) =>
        row(`${has(state, change) ? "without: " : "with: "}${CHANGES[change]}`, changedBy(state, change)),
      ),
    ],
  };
};

const NEU = "https://github.com/smolix/d2l-neu";
const NOTES = [
  "A Transformer of 6 layers, width 512 and 128 positions, as in the published steps of this " +
    "section, with a vocabulary of 100 and 16 sequences. Its operations are counted: in a layer, " +
    "ten forward, and in the backward pass two products for each product. Adam takes ten operations, or a fused one. " +
    "A compiler fuses each sum with the normalization behind it, the biases and the update; one " +
    "call replays the whole step.",
  "The step is a bound, and no measurement: caches, the times between kernels and a slow host " +
    "are left out. The host is at most one step ahead. The 14.6 µs of a call are PyTorch’s " +
    `beside an RTX 4090 ([Zhang et al., 2026](${NEU})), for all cards; the time to prepare a ` +
    "sequence is assumed. Rates and bandwidths are those of data sheets; in 32 bits without TF32.",
];

// Settings

const button = (change) => ({
  label: CHANGES[change],
  run: (state) => changedBy(state, change),
  pressed: (state) => has(state, change),
});
const isAnswer = (text) => ["yes", "no"].includes(text);

export default figure({
  name: "trace",
  card: "card",
  controls: [
    steps("zoom", "Zoom", doubled(1, 64), 4, { format: (x) => (x === 1 ? "the whole step" : `${x} times`) }),
    select("card", "Card", CARDS, "h100"),
    ...more(range("at", "Place in the step", [0, 100, 1], 20, { format: (x) => `${x} %` })),
    ...NAMES.map((change) => hidden(change, isAnswer, "no")),
  ],
  actions: NAMES.map(button),
  invite: "Which change helps most? Press it, read the verdict again, and choose the next.",
  notes: () => NOTES,
  ...{ drag, draw, summary, result, formula, table },
  ...{ runOf, CARDS, MODEL }, // for tests
});
