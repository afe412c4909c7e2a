/* The arithmetic of the figure of published measurements: pure functions without a page.
 *
 * A point is a row of the data with its prediction. Its ratio is the prediction over the
 * measurement, so a bound is beaten if the ratio is below 1.
 */

/**
 * Return the points of a kind, those furthest off first.
 * @param {{columns: string[], rows: any[][], scales: object, kinds: object}} data
 * @param {string} kind
 * @returns {any[]} rows by their columns, with `predicted` in the unit of the row, `ratio`,
 * `expected` if it is known, and `x` and `y`, both values in the unit of the kind
 */
export const points = ({ columns, rows, scales, kinds }, kind) =>
  kinds[kind].predicted
    .map(([place, predicted, expected]) => {
      const row = Object.fromEntries(columns.map((name, i) => [name, rows[place][i]]));
      const scale = scales[row.unit] / scales[kinds[kind].unit];
      const ratio = predicted / row.value;
      return { ...row, predicted, expected, ratio, x: scale * row.value, y: scale * predicted };
    })
    .sort((a, b) => off(b.ratio) - off(a.ratio));

/** Return the factor by which a ratio is off, in either direction. */
export const off = (ratio) => Math.max(ratio, 1 / ratio);

/** Return the value below which a share of ordered values lies. */
export const quantile = (ordered, share) => {
  const place = share * (ordered.length - 1);
  const below = Math.floor(place);
  const above = Math.min(below + 1, ordered.length - 1);
  return ordered[below] + (place - below) * (ordered[above] - ordered[below]);
};

const TOLERANCE = 0.95; // a measurement beats a bound if its ratio is below
const shareWithin = (ratios, factor) =>
  ratios.filter((ratio) => off(ratio) <= factor).length / ratios.length;

/** Return how well a kind predicts, with the names of the library's `Summary`. */
export const summarize = (found) => {
  const ratios = found.map(({ ratio }) => ratio).sort((a, b) => a - b);
  return {
    rows: ratios.length,
    sources: new Set(found.map(({ source }) => source)).size,
    median: quantile(ratios, 0.5),
    low: quantile(ratios, 0.1),
    high: quantile(ratios, 0.9),
    within_quarter: shareWithin(ratios, 1.25),
    within_double: shareWithin(ratios, 2),
    broken: ratios.filter((ratio) => ratio < TOLERANCE).length,
    least: ratios[0],
    most: ratios[ratios.length - 1],
  };
};

/** Return the ends of a range of ratios, and in words how many of them it has. */
export const spread = ({ rows, low, high, least, most }) =>
  rows < 10 ? [least, most, `all ${rows}`] : [low, high, "eight of ten"];

/** Return the number that a reader has typed, or undefined if it is not above 0. */
export const parseValue = (text) => {
  const number = Number(text.replaceAll(",", ""));
  return number > 0 && number < Infinity ? number : undefined;
};

/**
 * Return the most frequent values of a column, and a function that numbers the points by
 * them; a point with another value has the number of names.
 */
export const groups = (found, column, count) => {
  const totals = new Map();
  for (const point of found) totals.set(point[column], (totals.get(point[column]) ?? 0) + 1);
  const names = [...totals.keys()].sort((a, b) => totals.get(b) - totals.get(a)).slice(0, count);
  const numberOf = (point) =>
    names.includes(point[column]) ? names.indexOf(point[column]) : names.length;
  return { names, numberOf, hasOthers: totals.size > names.length };
};

// The terms that predictions lack, for points that are off by more than a factor of 2

const isSplit = (how) => ({ settings }) => settings.split(", ").includes(how);
const has = (column, ...values) => (point) => values.includes(point[column]);
const isLow = ({ ratio }) => ratio < 1;
/** @type {[string, (point: any) => boolean, string][]} */
const MISSING = [
  ["training", () => true, "the bytes of elementwise kernels, casts and the update"],
  ["decode", has("program", "litgpt"), "the time of calls, and that of dequantizing weights"],
  ["decode", isSplit("layers"), "the turns that GPUs take which share the layers, and hand-overs"],
  ["decode", isSplit("tensor"), "a time for each layer, and slower all-reduces"],
  ["decode", () => true, "a time for each layer"],
  ["prefill", has("id", "dai-a100-1-8b-f16-pp1024"), "unknown; other rows contradict this one"],
  ["prefill", () => true, "probably kernels that come near the peak on this card"],
  ["serving", isSplit("tensor"), "all-reduces between the GPUs, and limits to users other than memory"],
  ["serving", () => true, "calls and bookkeeping, and prompts that no step hides"],
  ["cache", () => true, "the room that the pass of a prompt needs at its peak"],
  ["product", () => true, "the start of the kernel, and tiles for too few multiprocessors"],
  ["step", ({ settings }) => /\bbatch 1\b/.test(settings), "a slower host: each call takes longer"],
  ["step", () => true, "operations that reach less than their bound"],
  ["peak-share", isLow, "a share of its own: this card reaches a larger part of its peak"],
  ["peak-share", () => true, "attention, most of the arithmetic of long sequences, in 16 bits, and recomputation"],
  ["memory", isSplit("recompute selective"), "selective recomputation: the plan keeps everything"],
];

/** Return the term that the prediction of a point lacks, or an empty text. */
export const missing = (kind, point) => {
  if (off(point.ratio) <= 2) return "";
  return MISSING.find(([name, fits]) => name === kind && fits(point))?.[2] ?? "";
};
