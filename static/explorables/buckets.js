/* The buckets: a step of data parallelism, in which gradients are added up while the backward
 * pass goes on. The reader chooses the size of a bucket and the link, and sees how much of
 * the sum is exposed and which efficiency is left.
 */
import { time, size, bandwidth, percent, round, MICRO, GIGA } from "./arithmetic.js";
import * as bucket from "./bucket-arithmetic.js";
import { each, label, line, vertical, dot, timeAxis, until } from "./chart.js";
import { linear, logarithmic, grid, chart } from "./chart.js";
import { steps, logRange, more, presets } from "./controls.js";
import { figure } from "./explorable.js";

const { area, sheet, legend } = chart("buckets");

// ResNet-18 on RTX 4090s: 32-bit gradients of 11.2 million parameters, and examples per
// second of one GPU. The layers are equal, as in the section on several GPUs.
const BYTES = 4 * 11.2e6;
const PER_SECOND = 2107;
const LAYERS = 32;
const SIZES = [1, 2, 4, 8, 16, 32]; // layers in a bucket
const RUN = 1800; // ms of a step before the reader's eyes

// Examples per second with DDP, by the GPUs and the examples of each, and those of one GPU.
const PUBLISHED = {
  "2/256": [3714, 2107],
  "4/256": [6924, 2107],
  "4/128": [5885, 2092],
};

// GPUs, examples of each, GB/s of a link in each direction and µs per message.
const JOBS = {
  weak: {
    name: "4 RTX 4090, weak scaling",
    settings: { n: 4, share: 256, link: 2.2, latency: 5.7 },
  },
  strong: {
    name: "4 RTX 4090, strong scaling",
    settings: { n: 4, share: 128, link: 2.2, latency: 5.7 },
  },
  slow: {
    name: "4 RTX 4090, 10 Gbit/s network",
    settings: { n: 4, share: 128, link: 1.25, latency: 9.6 },
  },
  many: {
    name: "64 such GPUs, 100 Gbit/s network",
    settings: { n: 64, share: 64, link: 12.5, latency: 9.6 },
  },
};
const jobs = presets("job", JOBS, "weak");

const task = (state) => ({
  step: state.share / PER_SECOND,
  bytes: BYTES,
  layers: LAYERS,
  perBucket: state.bucket,
  n: state.n,
  latency: state.latency * MICRO,
  bandwidth: state.link * GIGA,
});

const run = (state, perBucket = state.bucket) => bucket.stepOf({ ...task(state), perBucket });

/** Return the efficiency of the published run with these settings, if there is one. */
const published = ({ n, share, link }) => {
  const [all, one] = (link === 2.2 && PUBLISHED[`${n}/${share}`]) || [];
  return all && all / one / n;
};

const sizeOf = (layers) => size((BYTES * layers) / LAYERS);
const linkOf = (link) => bandwidth(link * GIGA);

// The drawing: the step above the efficiency with each size of a bucket

const LEFT = 66;
const RIGHT = 24;
const END = 60; // room for the time at the end of the step
const ROWS = { compute: 46, link: 100 };
const TALL = 30;
const AXIS = ROWS.link + TALL + 8;
const KINDS = {
  forward: ["idle", "forward pass"],
  backward: ["s1", "backward pass"],
  hidden: ["s3", "bucket sent"],
  exposed: ["wait", "exposed"],
};

const block = (kind, start, end, y, scale) =>
  area(KINDS[kind][0], LEFT + start * scale, y, (end - start) * scale, TALL);

/** Return the buckets on the link, and lines to those from the layers that fill them. */
const onLink = (buckets, step, now, scale) =>
  each(until(buckets, now), ({ full, start, end }) => {
    const [before, after] = [Math.min(end, step), Math.max(start, step)];
    const [from, to] = [full, start].map((at) => LEFT + at * scale);
    const points = [
      [from, ROWS.compute + TALL],
      [to, ROWS.link],
    ];
    return (
      line(points, "axis") +
      (before - start > 1e-9 ? block("hidden", start, before, ROWS.link, scale) : "") +
      (end - after > 1e-9 ? block("exposed", after, end, ROWS.link, scale) : "")
    );
  });

/** Return marks at the end of the backward pass and at that of the step. */
const ends = ({ end }, step, scale) => {
  const [x, last] = [step, end].map((at) => LEFT + at * scale);
  const isFar = x > 112;
  return (
    vertical(x, ROWS.compute - 8, AXIS, "dashed") +
    vertical(last, ROWS.compute - 8, AXIS, "axis") +
    label(
      isFar ? x - 4 : x + 4,
      ROWS.compute - 12,
      `one GPU: ${time(step)}`,
      "ink small",
      isFar ? "end" : "start",
    ) +
    label(last, ROWS.compute - 12, time(end), "ink small strong", "start")
  );
};

const timeline = (state, width, now, longest) => {
  const found = run(state);
  const { step } = task(state);
  const scale = (width - LEFT - END) / longest;
  const layers = until(found.layers, now);
  const isNow = now < found.end;
  return (
    label(0, ROWS.compute + 20, "GPU", "ink strong") +
    label(0, ROWS.link + 20, "link", "ink strong") +
    block("forward", 0, Math.min(now, step / 3), ROWS.compute, scale) +
    each(layers, ({ start, end }) => block("backward", start, end, ROWS.compute, scale)) +
    onLink(found.buckets, step, now, scale) +
    (isNow
      ? vertical(LEFT + now * scale, ROWS.compute - 8, AXIS, "now")
      : ends(found, step, scale)) +
    timeAxis(longest, { left: LEFT, right: END, y: AXIS, width }, time)
  );
};

const legendTop = AXIS + 40;
const legendPlace = (width) => (i) => {
  const across = width < 480 ? [1, 150] : [1, 150, 310, 450];
  return [across[i % across.length], legendTop + 24 * Math.floor(i / across.length)];
};

const frameOf = (width) => {
  const top = legendTop + (width < 480 ? 84 : 62);
  const [left, right, bottom] = [LEFT - 18, width - RIGHT, top + 120];
  const x = logarithmic([SIZES[0], SIZES.at(-1)], [left, right - 8]);
  const y = linear([0, 1], [bottom, top]);
  return { left, right, top, bottom, x, y };
};

const drag = {
  id: () => "bucket",
  point: (state, width) => {
    const { x, y } = frameOf(width);
    return [x(state.bucket), y(run(state).efficiency)];
  },
};

const efficiencies = (state, width) => {
  const frame = frameOf(width);
  const { x, y, left, right, top, bottom } = frame;
  const found = published(state);
  const height = found && y(found);
  const rows = [0, 0.5, 1].map((share) => [share, percent(share)]);
  const names = SIZES.map((layers) => [layers, round((BYTES * layers) / LAYERS / 1e6)]);
  const points = SIZES.map((layers) => [x(layers), y(run(state, layers).efficiency)]);
  const across = [
    [left, height],
    [right, height],
  ];
  return (
    label(0, top - 18, `efficiency of ${state.n} GPUs`, "soft small") +
    grid(frame, rows, names) +
    label((left + right) / 2, bottom + 38, "MB in a bucket", "soft small", "middle") +
    (found
      ? line(across, "dashed") +
        label(left + 6, height + 18, `published, with DDP: ${percent(found)}`, "ink small")
      : "") +
    line(points, "line1") +
    each(points, ([px, py]) => dot(px, py, 3, "s1 solid")) +
    dot(...drag.point(state, width), 5, "ring chip")
  );
};

const draw = (state, width, motion) => {
  const found = run(state);
  // The axis does not depend on the size of a bucket, so the ends can be compared.
  const longest = Math.max(...SIZES.map((layers) => run(state, layers).end));
  const now = motion ? motion.part * found.end : found.end;
  const title = `${LAYERS} equal layers, ${sizeOf(LAYERS)} of gradients`;
  return sheet(
    width,
    frameOf(width).bottom + 46,
    label(width, 14, title, "soft small", "end"),
    timeline(state, width, now, longest),
    legend(Object.values(KINDS), legendPlace(width)),
    efficiencies(state, width),
  );
};

// In words

const result = (state) => {
  const { exposed, efficiency } = run(state);
  const whole = run(state, LAYERS);
  const gpus = `so ${state.n} GPUs are ${percent(efficiency)} efficient`;
  if (state.bucket === LAYERS)
    return (
      `With one bucket of ${sizeOf(LAYERS)}, all ${time(exposed)} of communication are ` +
      `exposed, ${gpus}.`
    );
  const isBest = SIZES.every((layers) => run(state, layers).efficiency <= efficiency);
  return (
    `With buckets of ${sizeOf(state.bucket)}, ${time(exposed)} of communication are exposed ` +
    `(${time(whole.exposed)} with one bucket), ${gpus}, ` +
    `${isBest ? "the best of the sizes, " : ""}instead of ${percent(whole.efficiency)}.`
  );
};

const summary = (state) =>
  "A timeline of a step with a row for the GPU, whose backward pass has a box for each of " +
  `${LAYERS} layers, and a row for the link, which sends ${LAYERS / state.bucket} of the buckets. ` +
  "What is sent after the backward pass is hatched. Below, a line of the efficiency against the " +
  `size of a bucket. ${result(state)}`;

const formula = (state) => {
  const { step, n } = task(state);
  const { sum, exposed, hidden, efficiency } = run(state);
  const one = bucket.ringTime((BYTES * state.bucket) / LAYERS, n, state.latency * MICRO, state.link * GIGA);
  const found = published(state);
  const real = found && step * (1 / found - 1);
  return [
    `one GPU: t₁ = ${state.share} examples / ${PER_SECOND} per second = ${time(step)}, a third of ` +
      "it for the forward pass",
    `all gradients in one ring: tₙ = 2 (n − 1) · (α + S / n / B) = ${2 * (n - 1)} · ` +
      `(${time(state.latency * MICRO)} + ${sizeOf(LAYERS)} / ${n} / ${linkOf(state.link)}) = ${time(sum)}`,
    `a bucket: ${time(one)} on the link, and ${time((2 * step * state.bucket) / 3 / LAYERS)} until the next is full`,
    `hidden: h = 1 − ${time(exposed)} / ${time(sum)} = ${percent(hidden)}`,
    `efficiency: t₁ / (t₁ + (1 − h) · tₙ) = ${time(step)} / (${time(step)} + ${time(exposed)}) = ` +
      percent(efficiency, 2),
    found &&
      `the published run: ${time(real)} exposed, as if h were ${percent(1 - real / run(state).sum)}`,
  ];
};

const table = (state) => ({
  head: ["bucket", "step", "exposed", "hidden", "efficiency"],
  rows: SIZES.map((layers) => {
    const { end, exposed, hidden, efficiency } = run(state, layers);
    return [sizeOf(layers), time(end), time(exposed), percent(hidden), percent(efficiency)];
  }),
  chosen: SIZES.indexOf(state.bucket),
});

const NEU = "https://github.com/smolix/d2l-neu";
const TUNING = "https://github.com/NVIDIA/nccl/blob/master/src/graph/tuning.cc";
const NOTES = [
  `Step, gradients, the link of 2.2 GB/s and the published runs: a ResNet-18 on RTX 4090s, [Zhang ` +
    `et al., 2026](${NEU}). Latencies: what [NCCL’s model of its rings](${TUNING}) assumes over PCIe ` +
    "and a network. The two jobs on networks are examples.",
  "Assumed: 32 equal layers, a backward pass of twice the length of the forward pass, and messages " +
    "that do not slow down the GPU. So the efficiency is a bound. In a real ResNet-18, the layers " +
    "that come first in the backward pass have most of the gradients.",
];

const { settle, from } = jobs;

export default figure({
  name: "buckets",
  controls: [
    jobs.menu("Job", "your own"),
    steps("bucket", "Gradients in a bucket", SIZES, LAYERS, { format: sizeOf }),
    ...more(
      steps("n", "GPUs", [2, 4, 8, 16, 32, 64], from("n")),
      steps("share", "Examples of each GPU", [32, 64, 128, 256, 512], from("share")),
      logRange("link", "Bandwidth B of a link", [0.1, 1000], from("link"), linkOf),
      logRange("latency", "Latency α of a message", [0.5, 100], from("latency"), (x) =>
        time(x * MICRO),
      ),
    ),
  ],
  actions: [{ label: "Run the step", motion: () => RUN }],
  invite: "Which bucket hides most? Drag the ring, then press “Run the step”.",
  notes: () => NOTES,
  ...{ settle, draw, drag, summary, result, formula, table },
  ...{ run, task, published, PUBLISHED }, // for tests
});
