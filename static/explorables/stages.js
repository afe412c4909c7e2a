/* The ring of buffers: a product in turns, whose tiles arrive in some buffers. The reader
 * chooses their number, the latency and the tile, and sees when the tensor cores wait.
 */
import { percent, plural } from "./arithmetic.js";
import * as arithmetic from "./stages-arithmetic.js";
import { each, label, vertical, timeAxis, until, chart } from "./chart.js";
import { steps, range, more } from "./controls.js";
import { figure } from "./explorable.js";

const { area, sheet, legend } = chart("stages");

const TURNS = 8;
const RUN = 2000; // ms of the run before the reader's eyes

/** Return a state with the clocks that follow from it, its turns, and the last clock. */
const runOf = ({ stages, latency, columns }) => {
  const setting = { stages, latency, ...arithmetic.times(columns) };
  const turns = arithmetic.turns(setting, TURNS);
  return { ...setting, columns, turns, total: turns.at(-1).end };
};

/** Return the spans of a turn in its buffer. */
const spansOf = ({ asked, begin, ready, start, end }, number) => [
  { kind: "asked", start: asked, end: begin },
  { kind: "copy", start: begin, end: ready },
  { kind: "full", start: ready, end: start },
  { kind: "product", start, end, number },
];

/** Return the spans in which the tensor cores have nothing to multiply. */
const gaps = (turns) =>
  turns.map(({ start }, t) => ({ kind: "idle", start: turns[t - 1]?.end ?? 0, end: start }));

// The drawing

const KINDS = {
  asked: ["faint", "requested"],
  copy: ["s1", "tiles arrive"],
  full: ["s2 solid plain", "full"],
  product: ["s3", "being multiplied"],
  idle: ["wait", "tensor cores wait"],
};
const [FIRST, ROW, TALL] = [26, 24, 20];

const block = ({ kind, number, start, end }, left, y, scale) => {
  const wide = (end - start) * scale;
  if (wide <= 0) return "";
  const box = area(KINDS[kind][0], left + start * scale, y, wide, TALL);
  if (number === undefined || wide < 12) return box;
  return box + label(left + ((start + end) / 2) * scale, y + 15, number, "ink small", "middle");
};

const draw = (state, width, motion) => {
  const run = runOf(state);
  const { turns, stages, total } = run;
  const isNarrow = width < 480;
  const [left, beside] = isNarrow ? [44, 54] : [96, 108];
  const right = width - beside;
  const all = (run.latency + run.copy + run.product) * TURNS; // with one buffer
  const scale = (right - left) / all;
  const now = motion ? motion.part * total : total;
  const row = (name, spans, y, aside) =>
    label(0, y + 15, name, "soft small") +
    each(until(spans, now), (span) => block(span, left, y, scale)) +
    label(right + 10, y + 15, aside, "ink small");
  const buffer = (_, s) => {
    const own = turns.flatMap((turn, t) => (turn.buffer === s ? spansOf(turn, t) : []));
    const { ready, empty } = arithmetic.phases(turns, s, now);
    const name = isNarrow ? `buf. ${s}` : `buffer ${s}`;
    return row(name, own, FIRST + s * ROW, isNarrow ? `${ready} ${empty}` : `${ready}, ${empty}`);
  };
  const last = FIRST + stages * ROW + 6;
  const products = turns.map(({ start, end }, number) => ({ kind: "product", start, end, number }));
  const busy = [...gaps(turns), ...products].sort((a, b) => a.start - b.start);
  const bottom = last + ROW + 8;
  const columns = isNarrow ? [1, 150] : [1, 130, 258, 344, 490];
  const place = (i) => [
    columns[i % columns.length],
    bottom + 54 + 24 * Math.floor(i / columns.length),
  ];
  return sheet(
    width,
    bottom + 78 + (isNarrow ? 48 : 0),
    label(right + 10, 15, isNarrow ? "flags" : "ready, empty", "soft small"),
    each(Array(stages).fill(0), buffer),
    row(isNarrow ? "cores" : "tensor cores", busy, last, ""),
    now < total ? vertical(left + now * scale, FIRST - 4, bottom, "now") : "",
    timeAxis(all, { left, right: beside, y: bottom, width }, String),
    label(left, bottom + 40, "clocks", "soft small"),
    legend(Object.values(KINDS), place),
  );
};

// In words

/** Return what more or fewer buffers would change. */
const advice = (run) => {
  const { stages, copy, product } = run;
  const least = arithmetic.enough(run);
  const copies = copy > product;
  if (stages < least)
    return `it takes ${least} buffers until ${copies ? "the copies are the limit" : "they never wait"}`;
  if (copies) return "the copies are the limit, so more buffers don't help";
  return stages > least ? `${plural(least, "buffer")} would be enough` : "they never wait";
};

const result = (state) => {
  const run = runOf(state);
  const clocks = arithmetic.perTurn(run);
  return (
    `With ${plural(run.stages, "buffer")}, a turn of a long loop takes ${Math.round(clocks)} clocks, and ` +
    `the tensor cores are busy for ${percent(run.product / clocks)} of them; ${advice(run)}.`
  );
};

const summary = (state) =>
  `A timeline with a row for ${plural(state.stages, "buffer")} and one for the tensor cores. In each ` +
  "buffer, tiles are requested, arrive, wait and are multiplied, again and again; the numbers are those " +
  `of the turns. Beside each row are the phases of its two barriers. ${result(state)}`;

const formula = (state) => {
  const { latency, copy, product, stages, columns } = runOf(state);
  const sum = latency + copy + product;
  const clocks = Math.round(arithmetic.perTurn({ latency, copy, product, stages }));
  const memory = arithmetic.kibibytes(columns);
  return [
    `product: 2 · 128 · ${columns} · 64 / 4096 = ${product} clocks`,
    `a turn: max(${product}, ${copy}, (${latency} + ${copy} + ${product}) / ${stages}) = ` +
      `max(${product}, ${copy}, ${Math.round(sum / stages)}) = ${clocks} clocks`,
    `buffers: ${stages} · ${memory} KiB = ${stages * memory} KiB of shared memory`,
  ];
};

const table = (state) => ({
  head: ["turn", "buffer", "lap", "requested", "ready", "product begins", "ends"],
  rows: runOf(state).turns.map(({ buffer, lap, asked, ready, start, end }, t) =>
    [t, buffer, lap, asked, ready, start, end].map((x) => String(Math.round(x))),
  ),
});

const NOTES = [
  "The times are those of `RoleProduct` in the library, without the store. The product follows from the " +
    "4096 operations per clock of an SM of an H100. The latency and the copy, 400 clocks for 32 KiB, are " +
    "assumptions.",
  "A flag is the phase of a barrier, 0 or 1. It turns when the tiles are there (ready), and when they have " +
    "been multiplied (empty).",
];

export default figure({
  name: "stages",
  controls: [
    steps("stages", "Buffers", [1, 2, 3, 4, 5, 6], 2),
    range("latency", "Latency, in clocks", [0, 3000, 100], 900),
    ...more(steps("columns", "Columns of a tile", [64, 128, 192, 256], 128)),
  ],
  actions: [{ label: "Run the turns", motion: () => RUN }],
  invite: "Drag the first slider until the tensor cores no longer wait.",
  notes: () => NOTES,
  ...{ draw, summary, result, formula, table },
  ...{ runOf }, // for tests
});
