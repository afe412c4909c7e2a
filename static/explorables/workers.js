/* The workers: a loop loads minibatches, copies them and computes a step with each. The
 * reader chooses what the loop waits for, and sees how much of this overlaps.
 */
import { time, runWorkers, pace } from "./arithmetic.js";
import { each, tag, label, vertical, timeAxis, until, chart } from "./chart.js";
import { steps, range, more } from "./controls.js";
import { figure } from "./explorable.js";

const { area, sheet } = chart("workers");

const MINIBATCHES = 6;
const MILLI = 1e-3;
const RUN = 1800; // ms in which the loop runs before the reader's eyes

/** What the program waits for, with the arguments of the arithmetic. */
const WAYS = [
  { name: "for each step", wait: "step", streams: 1 },
  { name: "for each copy", wait: "copy", streams: 1 },
  { name: "for nothing", wait: "none", streams: 1 },
  { name: "for nothing, two streams", wait: "none", streams: 2 },
];

/** Return the loop of a state, with times in seconds. */
const loop = ({ way, load, copy, step }) => ({
  minibatches: MINIBATCHES,
  load: load * MILLI,
  copy: copy * MILLI,
  step: step * MILLI,
  ...WAYS[way],
});

const run = (state) => runWorkers(loop(state));
const slowest = (state) => run({ ...state, way: 0 }).total;

// The drawing

const LEFT = 62;
const RIGHT = 28; // room for half of the last label of the axis
const TOP = 54;
const TALL = 34;
const ROW = 46;
const BOTTOM = TOP + 3 * ROW - 2;
const WORKERS = { load: ["Load", "s1"], copy: ["Copy", "wait"], step: ["Step", "s3"] };

const block = ({ number, start, end }, kind, y, scale) => {
  const [x, width] = [LEFT + start * scale, (end - start) * scale];
  const middle = x + width / 2;
  const plate = { x: middle - 8, y: y + 8, width: 16, height: 18, rx: 3, class: "plate" };
  return (
    area(kind, x, y, width, TALL) +
    (kind === "wait" && width >= 18 ? tag("rect", plate) : "") +
    (width < 12 ? "" : label(middle, y + 22, number, "ink small", "middle"))
  );
};

const rows = (spans, now, scale) =>
  each(Object.entries(WORKERS), ([worker, [name, kind]], i) => {
    const y = TOP + i * ROW;
    const done = until(spans[worker], now);
    const boxes = done.map((span) => block(span, kind, y, scale));
    return label(0, y + 22, name, "ink strong") + boxes.join("");
  });

/** Return lines at the end, and at the end of a loop that waits for each step. */
const ends = (total, longest, scale) => {
  const line = (at, kind) => vertical(LEFT + at * scale, TOP - 8, BOTTOM, kind);
  const saved = `${time(longest - total)} less`;
  const middle = LEFT + ((total + longest) / 2) * scale;
  return (
    line(longest, "axis") +
    line(total, "dashed") +
    label(LEFT + total * scale, TOP - 14, time(total), "ink small strong", "middle") +
    ((longest - total) * scale > 90
      ? label(middle, TOP + 2 * ROW - 10, saved, "soft small", "middle")
      : "")
  );
};

const draw = (state, width, motion) => {
  const spans = run(state);
  const longest = slowest(state);
  const scale = (width - LEFT - RIGHT) / longest;
  const now = motion ? motion.part * spans.total : longest;
  return sheet(
    width,
    BOTTOM + 30,
    label(width, 14, `${MINIBATCHES} minibatches, assumed times`, "soft small", "end"),
    rows(spans, now, scale),
    motion
      ? vertical(LEFT + now * scale, TOP - 8, BOTTOM, "now")
      : ends(spans.total, longest, scale),
    timeAxis(longest, { left: LEFT, right: RIGHT, y: BOTTOM, width }, time),
  );
};

// In words

/** Return what the program waits for, as a part of a sentence. */
const inWords = ({ way }) =>
  WAYS[way].streams === 1
    ? WAYS[way].name
    : "for nothing and copies in a second stream";

const result = (state) => {
  const { total } = run(state);
  return (
    `If the program waits ${inWords(state)}, ${MINIBATCHES} minibatches take ` +
    `${time(total)}, and each further one adds ${time(pace(loop(state)))}.`
  );
};

const summary = (state) =>
  `Timelines of loading, copying and computing for ${MINIBATCHES} minibatches, which ` +
  `take ${time(state.load * MILLI)}, ${time(state.copy * MILLI)} and ` +
  `${time(state.step * MILLI)} each. ${result(state)}`;

const PACES = ["l + c + d", "max(l, d) + c", "max(l, c + d)", "max(l, c, d)"];

const formula = (state) => {
  const { load, copy, step } = loop(state);
  const each = pace(loop(state));
  const first = load + copy + step;
  return [
    `l = ${time(load)} to load, c = ${time(copy)} to copy, d = ${time(step)} for a step`,
    `pace: p = ${PACES[state.way]} = ${time(each)}`,
    `total: (l + c + d) + (n − 1) · p = ${time(first)} + ${MINIBATCHES - 1} · ` +
      `${time(each)} = ${time(run(state).total)}`,
  ];
};

const notes = () => [
  "All times are assumed. With one stream, the GPU copies and computes one after " +
    "the other. The loop loads ahead as far as it can, although a real program would " +
    "keep only a few minibatches in memory.",
];

const job = (id, text, initial) =>
  range(id, text, [5, 60, 5], initial, { format: (value) => time(value * MILLI) });

export default figure({
  name: "workers",
  invite: "Drag the slider to the right, and see the three jobs overlap.",
  controls: [
    steps("way", "Wait", WAYS.map((_, i) => i), 0, { format: (way) => WAYS[way].name }),
    ...more(
      job("load", "l: the CPU loads a minibatch", 30),
      job("copy", "c: the GPU copies it", 20),
      job("step", "d: the GPU computes a step", 20),
    ),
  ],
  actions: [{ label: "Run the loop", motion: () => RUN }],
  ...{ draw, summary, result, formula, notes },
  ...{ loop }, // for tests
});
