/* The clock: products that a program queues and a GPU computes, and two clocks. One stops when
 * the calls return, the other when the products are done. The reader chooses how large the
 * products are and how many, and sees which rate each clock claims.
 */
import { time, round, plural, runQueue, productFlops, MICRO, TERA } from "./arithmetic.js";
import { cards } from "./cards.js";
import { each, label, vertical, timeAxis, until, logarithmic, chart } from "./chart.js";
import { steps, logRange, more } from "./controls.js";
import { figure } from "./explorable.js";

const { area, sheet, legend } = chart("clock");

const SIZES = [1024, 2048, 4096, 8192, 16384];
const COUNTS = [1, 2, 5, 10, 20, 50, 100];
const RUN = 1800; // ms in which the program runs before the reader's eyes

// Measured on an RTX 4090: 10 products of 4096 x 4096 matrices, queued and finished.
const [MEASURED, QUEUED, FINISHED] = [10, 690, 8990]; // and times in µs
const CALL = QUEUED / MEASURED;
const RATE = productFlops(4096) / (((FINISHED - CALL) / MEASURED) * MICRO);
const PEAK = cards["RTX 4090"].tensor16 * TERA;

/** Return the numbers of a state: the run, and the time and the rate by each clock. */
const numbers = ({ n, count, call }) => {
  const device = productFlops(n) / RATE;
  const loop = { steps: count, host: call * MICRO, device, every: 0, fetch: 0 };
  const run = runQueue(loop);
  const flops = count * productFlops(n);
  const early = count * call * MICRO;
  return { device, run, early, late: run.total, claimed: flops / early, real: flops / run.total };
};

/** Return a rate as "1992 TFLOP/s" or "12,700 TFLOP/s". */
const rateOf = (x) => {
  const number = round(x / TERA, x < 1000 * TERA ? 3 : 4);
  return `${number < 1e4 ? number : number.toLocaleString("en-US")}\u00a0TFLOP/s`;
};

// The drawing: the calls and the products, above the rates that the clocks claim

const [LEFT, RIGHT] = [46, 30];
const ROWS = { host: 40, device: 88 };
const TALL = 32;
const AXIS = ROWS.device + TALL + 10;
const KINDS = { queue: "s1", compute: "s3" };

const boxes = (spans, y, scale) =>
  each(spans, ({ kind, step, start, end }) => {
    const [x, wide] = [LEFT + start * scale, (end - start) * scale];
    const edge = wide < 3 ? " solid plain" : ""; // Edges would hide narrow boxes.
    const box = area(KINDS[kind] + edge, x, y, wide, TALL);
    if (wide < 7 * String(step).length + 3) return box;
    return box + label(x + wide / 2, y + TALL / 2 + 5, step, "ink small", "middle");
  });

/** Return the kind of words about a rate, which may be above that of the data sheet. */
const wordsOf = (claimed) => (claimed > PEAK ? "bad small" : "ink small");

/** Return the moments at which the two clocks stop. */
const stops = ({ early, late, claimed }, scale, width) => {
  const [first, last] = [early, late].map((at) => LEFT + at * scale);
  const isFar = first > width / 2;
  return (
    vertical(first, 20, ROWS.host + TALL + 6, "dashed") +
    label(first + (isFar ? -5 : 5), 30, `without a wait: ${time(early)}`, wordsOf(claimed), isFar ? "end" : "start") +
    vertical(last, ROWS.device - 6, AXIS, "axis") +
    label(width, AXIS + 42, `with a wait: ${time(late)}`, "ink small", "end")
  );
};

const CLAIMS = AXIS + 78;
const SPAN = [10, 2e6]; // TFLOP/s
const [ASIDE, BESIDE] = [100, 132]; // places for the names and the values

/** Return the rates that the clocks claim, beside what the data sheet allows. */
const claims = ({ claimed, real }, width) => {
  const x = logarithmic(SPAN, [ASIDE, width - BESIDE]);
  const peak = x(PEAK / TERA);
  const row = (value, y, kind, name, words) => {
    const end = Math.max(ASIDE + 1, x(value / TERA));
    return (
      label(ASIDE - 8, y + 15, name, "ink small", "end") +
      area(kind, ASIDE, y, end - ASIDE, 20) +
      label(Math.max(end, peak) + 8, y + 15, rateOf(value), words)
    );
  };
  return (
    row(claimed, CLAIMS + 12, "s1", "without a wait", wordsOf(claimed)) +
    row(real, CLAIMS + 40, "s3", "with a wait", "ink small") +
    vertical(peak, CLAIMS + 2, CLAIMS + 66, "dashed") +
    label(ASIDE, CLAIMS + 84, "rates, on a logarithmic scale", "soft small") +
    label(peak - 4, CLAIMS - 4, `the data sheet: ${rateOf(PEAK)}`, "soft small")
  );
};

const draw = (state, width, motion) => {
  const found = numbers(state);
  const { run } = found;
  const scale = (width - LEFT - RIGHT) / run.total;
  const now = motion ? motion.part * run.total : run.total;
  const x = LEFT + now * scale;
  return sheet(
    width,
    CLAIMS + 90,
    label(0, ROWS.host + 21, "Host", "ink strong"),
    label(0, ROWS.device + 21, "GPU", "ink strong"),
    boxes(until(run.host, now), ROWS.host, scale),
    boxes(until(run.device, now), ROWS.device, scale),
    motion ? vertical(x, ROWS.host - 6, AXIS, "now") : stops(found, scale, width),
    timeAxis(run.total, { left: LEFT, right: RIGHT, y: AXIS, width }, time),
    legend([["s1", "calls"], ["s3", "products"]], (i) => [1 + 72 * i, AXIS + 30]),
    claims(found, width),
  );
};

// In words

const products = ({ n, count }) => `${plural(count, "product")} (n = ${n})`;

const result = (state) => {
  const { early, late, claimed, real } = numbers(state);
  const times = claimed / PEAK;
  const much = times > 1 ? `${round(times, 2)} times the data sheet’s` : "less than the data sheet’s";
  return (
    `A clock that doesn’t wait shows ${time(early)} for ${products(state)}: ${rateOf(claimed)}, ${much}; ` +
    `one that waits shows ${time(late)}: ${rateOf(real)}.`
  );
};

const summary = (state) =>
  "Two rows on one time axis: on the host, the calls that queue products of matrices; on the GPU, the " +
  "products. A dashed line marks the end of the calls, and a solid line the end of the products. Below, " +
  `two bars of the rates that the two clocks claim, on a logarithmic scale, with a line for the data sheet. ${result(state)}`;

const formula = (state) => {
  const { n, count, call } = state;
  const { device, early, late, claimed, real } = numbers(state);
  const flops = count * productFlops(n);
  const [h, d] = [time(call * MICRO), time(device)];
  const [most, least] = call * MICRO > device ? [h, d] : [d, h];
  return [
    `operations: ${count} · 2 · ${n}³ = ${round(flops / TERA)}\u00a0TFLOP`,
    `the calls: k · h = ${count} · ${h} = ${time(early)}, so ${rateOf(claimed)}`,
    `a product on the GPU: d = 2 · ${n}³ / ${rateOf(RATE)} = ${d}`,
    `the products: k · max(h, d) + min(h, d) = ${count} · ${most} + ${least} = ${time(late)}, so ` +
      rateOf(real),
    `64 times the work, n = ${4 * n}: without a wait 1 times the time, with one ` +
      `${round(numbers({ ...state, n: 4 * n }).late / late)} times`,
  ];
};

const table = (state) => ({
  head: ["n", "without a wait", "claims", "with a wait", "claims"],
  rows: SIZES.map((n) => {
    const { early, late, claimed, real } = numbers({ ...state, n });
    return [n, time(early), rateOf(claimed), time(late), rateOf(real)];
  }),
  chosen: SIZES.indexOf(state.n),
});

const NOTES = [
  "Measured, on an RTX 4090 with bfloat16: 10 products of 4096 × 4096 matrices were queued in 0.69 ms " +
    "and finished in 8.99 ms ([smolix/d2l-neu](https://github.com/smolix/d2l-neu)). The time of a call " +
    "and the rate of the GPU come from these two times.",
  "Other sizes are computed with the same rate, which small products don’t reach, and the same time of " +
    "a call. The model leaves out that a queue is full at some point, after which each call waits.",
];

export default figure({
  name: "clock",
  controls: [
    steps("n", "Rows and columns, n", SIZES, 4096),
    steps("count", "Products, k", COUNTS, MEASURED),
    ...more(logRange("call", "h: a call takes", [5, 200], CALL, (call) => time(call * MICRO))),
  ],
  actions: [{ label: "Run the products", motion: () => RUN }],
  invite: "Drag n: which of the two clocks notices that there is more work?",
  notes: () => NOTES,
  ...{ draw, summary, result, formula, table },
  ...{ numbers }, // for tests
});
