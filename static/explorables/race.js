/* The race: how many times as fast as its CPU is a GPU at a product of matrices, small and
 * large? The reader predicts both, measures, and sees what others have measured.
 */
import { figure } from "./explorable.js";
import { round, time } from "./arithmetic.js";
import { logRange, hidden } from "./controls.js";
import { canvas, each, label, dot, diamond, vertical, line, logarithmic, powers } from "./chart.js";

/** Return a ratio of speeds as "80 times as fast", "equally fast" or "15 times as slow". */
export const speed = (ratio) => {
  if (round(ratio, 2) === 1) return "equally fast";
  return ratio > 1 ? `${round(ratio, 2)} times as fast` : `${round(1 / ratio, 2)} times as slow`;
};

// What others measured: times of creating a matrix on the CPU, copying it if the GPU
// multiplies, and multiplying it by itself in PyTorch (COURSE, in s), and ratios of products
// in MATLAB (MATLAB); d2l/cited.csv has them, too.
export const COURSE = { 1: [4.42e-6, 66.5e-6], 1000: [20.7e-3, 5.56e-3] };
export const MATLAB = { 1000: 10, 10000: 65 };
export const THREADS = { one: 593, all: 45 };

const OTHERS = [
  ...Object.entries(COURSE).map(([n, [cpu, gpu]]) => [n, "PyTorch, one copy", cpu / gpu]),
  ...Object.entries(MATLAB).map(([n, ratio]) => [n, "MATLAB", ratio]),
];
const LINKS = {
  course: "https://github.com/MICS-Lab/DeepLearningCourse",
  matlab: "https://arshiarazavi.github.io/posts/gpu-vs-cpu",
  threads: "https://arxiv.org/abs/2507.19723",
};

/** Return the reader's prediction for each size, and what the page has measured. */
const rowsOf = (state) => {
  const found = state.measured ?? [{ n: 64 }, { n: 1024 }];
  return found.map(({ n, cpu, gpu, all }, i) => ({
    ...{ n, predicted: i ? state.large : state.small },
    ...{ alone: cpu / gpu, whole: cpu / all, isMeasured: cpu !== undefined },
  }));
};

// The drawing: a row for each size, above the rows of others

const [LEAST, MOST] = [1e-3, 1e4];
const TALL = 34;
const TOP = 44;

const frameOf = (width) => {
  const left = width < 480 ? 78 : 190;
  return { left, x: logarithmic([LEAST, MOST], [left, width - 22]) };
};

const clamp = (ratio) => Math.min(MOST, Math.max(LEAST, ratio));

const axis = ({ x }, bottom, width) => {
  const marks = powers(-3, 4).filter(([exponent]) => width >= 480 || exponent % 2);
  const names = each(marks, ([exponent, power]) => {
    const text = exponent < 0 ? `1/${10 ** -exponent}` : `${power}`;
    return vertical(x(power), TOP - 12, bottom, "faint") +
      label(x(power), bottom + 18, text, "soft small", "middle");
  });
  return (
    names +
    vertical(x(1), TOP - 12, bottom, "dashed") +
    label(x(1) - 8, TOP - 20, "CPU faster", "soft small", "end") +
    label(x(1) + 8, TOP - 20, "GPU faster", "soft small")
  );
};

/** Return the row of a size: the prediction, and the measured ratios on a line. */
const own = ({ n, predicted, alone, whole, isMeasured }, y, { x }) => {
  const [at, small, all] = [predicted, alone, whole].map((ratio) => x(clamp(ratio || 1)));
  const found = isMeasured
    ? line([[all, y], [small, y]], "line1") + dot(small, y, 5, "s1") + dot(all, y, 7, "s1 solid")
    : "";
  return label(0, y + 5, `n = ${n}`, "ink strong") + dot(at, y, 9, "ring") + found;
};

const other = ([n, program, ratio], y, { x, left }) => {
  const isNarrow = left < 100;
  const name = isNarrow ? `n = ${n}` : `n = ${n}, ${program}`;
  return label(0, y + 5, name, "soft small") + diamond(x(ratio), y, 6);
};

const KEY = [
  ["ring", "your prediction"],
  ["s1 solid", "measured, there and back"],
  ["s1", "measured, product alone"],
];

const key = (top, width) => {
  const wide = width < 480 ? width : width / 3;
  const place = (i) => (width < 480 ? [8, top + 20 * i] : [8 + i * wide, top]);
  const items = each(KEY, ([kind, text], i) => {
    const [x, y] = place(i);
    return dot(x, y, 6, kind) + label(x + 14, y + 5, text, "soft small");
  });
  const [, last] = place(width < 480 ? 3 : 0);
  const below = width < 480 ? last : last + 22;
  return items + diamond(8, below, 6) + label(22, below + 5, "measured by others, elsewhere", "soft small");
};

const draw = (state, width) => {
  const frame = frameOf(width);
  const rows = rowsOf(state);
  const others = state.others === "shown" ? OTHERS : [];
  const bottom = TOP + TALL * rows.length + 24 * others.length + 4;
  const below = width < 480 ? 4 * 20 : 42;
  return canvas(
    width,
    bottom + 34 + below,
    axis(frame, bottom, width),
    each(rows, (row, i) => own(row, TOP + TALL * (i + 0.5), frame)),
    each(others, (row, i) => other(row, TOP + TALL * rows.length + 24 * (i + 0.5), frame)),
    key(bottom + 42, width),
  );
};

// In words

const result = (state) => {
  const [small, large] = rowsOf(state);
  const tell = ({ n, whole, predicted }) =>
    `${speed(whole)} for n\u00a0=\u00a0${n} (you said ${speed(predicted)})`;
  if (small.isMeasured) return `There and back, your GPU is ${tell(small)}, and ${tell(large)}.`;
  return (
    `You predict that the GPU is ${speed(small.predicted)} for n\u00a0=\u00a064, and ` +
    `${speed(large.predicted)} for n\u00a0=\u00a01024.`
  );
};

const summary = (state) => {
  const others = OTHERS.map(([n, program, ratio]) => `${speed(ratio)} for n = ${n} (${program})`);
  const shown = state.others === "shown" ? ` Others measured: ${others.join(", ")}.` : "";
  return `How many times as fast as a CPU a GPU is at a product of n by n matrices, on a logarithmic axis. ${result(state)}${shown}`;
};

const formula = (state) =>
  rowsOf(state).flatMap(({ n, alone, whole, isMeasured }, i) => [
    `a product of ${n} × ${n} matrices: 2 · ${n}³ = ${round((2 * n ** 3) / 1e6)} million operations`,
    `copied: 3 · ${n}² · 4 B = ${round((12 * n * n) / 1e3)} kB`,
    isMeasured &&
      `CPU ${time(state.measured[i].cpu)}; GPU ${time(state.measured[i].gpu)}, ` +
        `${speed(alone)}; there and back ${time(state.measured[i].all)}, ${speed(whole)}`,
  ]);

const notes = () => [
  "The page multiplies the same matrices of 32-bit numbers twice: on the CPU in one thread of " +
    "JavaScript, in blocks but without vector instructions, and on the GPU in tiles. It " +
    "compares both results. “There and back” is the time from two matrices in main " +
    "memory to their product in main memory.",
  `A framework uses all cores of the CPU. One GPU was ${THREADS.one} times as fast as one ` +
    `thread of its CPU, and ${THREADS.all} times as fast as all of them ` +
    `([Ansari and Ansari, 2025](${LINKS.threads})).`,
  "Measured by others: PyTorch, creating a matrix, copying it one way and multiplying, hardware not named " +
    `([MICS Lab](${LINKS.course})); MATLAB on a Ryzen 9 7900X and an RTX 5070 Ti ` +
    `([Razavi](${LINKS.matlab})).`,
];

// Paper has no button, so its picture shows what others measured.
const onPaper = () => (typeof document === "undefined" ? "shown" : "");
// On a phone, the words of a slider stand beside its name.
const format = (ratio) => speed(ratio).replace("times", "×");

export default figure({
  name: "race",
  experiment: "race",
  invite: "Set both predictions, then measure.",
  controls: [
    logRange("small", "n = 64: your GPU", [1e-3, 1e4], 1, format),
    logRange("large", "n = 1024: your GPU", [1e-3, 1e4], 1, format),
    hidden("others", (text) => text === "shown", onPaper),
  ],
  actions: [
    {
      label: "What others measured",
      pressed: (state) => state.others === "shown",
      run: (state) => ({ ...state, others: state.others ? "" : "shown" }),
    },
  ],
  ...{ draw, summary, result, formula, notes },
});
