/* The queue: a host queues the steps of a loop, a device executes them, and the reader
 * chooses how often the loop fetches the loss.
 */
import { time, percent, round, runQueue, blockTime, MICRO } from "./arithmetic.js";
import { each, tag, label, vertical, timeAxis, until, chart } from "./chart.js";
import { steps, logRange, more, presets } from "./controls.js";
import { figure } from "./explorable.js";

const { area, sheet, legend } = chart("queue");

const STEPS = 12;
const EVERY = [...Array.from({ length: STEPS }, (_, i) => i + 1), 0];
const RUN = 1800; // ms in which the loop runs before the reader's eyes

// The times of large steps are from smolix/d2l-neu: on an RTX 4090, 32 products of 4096
// by 4096 matrices were queued in 1.4 ms and finished in 80 ms. Other times are assumed.
const PRESETS = {
  small: { name: "small (assumed)", settings: { host: 20, device: 40, fetch: 20 } },
  large: { name: "large (measured)", settings: { host: 14, device: 2500, fetch: 10 } },
};
const ORIGINS = {
  small: "assumed times",
  large: "RTX 4090, fetches assumed",
  own: "your own times",
};
const { choose, from, menu } = presets("preset", PRESETS, "small");

const microseconds = (value) => time(value * MICRO);

const often = (every) => {
  if (every === 0) return "never";
  if (every === 1) return "after every step";
  return every === STEPS ? "once, at the end" : `every ${every} steps`;
};

/** Return the loop of a state, with times in seconds. */
const loop = (state) => ({
  steps: STEPS,
  host: state.host * MICRO,
  device: state.device * MICRO,
  fetch: state.fetch * MICRO,
  every: state.every,
});

// The drawing

const LEFT = 46;
const RIGHT = 28; // room for half of the last label of the axis
const ROWS = { host: 52, device: 122 };
const TALL = 36;
const KINDS = {
  queue: ["s1", "queueing a step"],
  wait: ["wait", "waiting"],
  fetch: ["s2 solid", "fetching the loss"],
  compute: ["s3", "computing"],
  idle: ["idle", "idle"],
};

const block = (x, y, width, kind, text = "") => {
  const box = area(KINDS[kind][0], x, y, width, TALL);
  if (width < 7 * String(text).length + 3) return box;
  return box + label(x + width / 2, y + TALL / 2 + 5, text, "ink small", "middle");
};

const spans = (list, y, scale) =>
  each(list, ({ kind, step, start, end }) => {
    const text = kind === "queue" || kind === "compute" ? step : "";
    return block(LEFT + start * scale, y, (end - start) * scale, kind, text);
  });

/** Return the spans in which the device has nothing to do. */
const gaps = ({ device, total }) => {
  const starts = [...device.map(({ start }) => start), total];
  const ends = [0, ...device.map(({ end }) => end)];
  return starts
    .map((end, i) => ({ kind: "idle", start: ends[i], end }))
    .filter(({ start, end }) => end - start > total * 1e-9);
};

/** Return marks at the end of the loop, and at its end without any fetch. */
const ends = (total, without, scale, width) => {
  const line = (at, kind) => vertical(LEFT + at * scale, 48, ROWS.device + TALL + 8, kind);
  const free = LEFT + without * scale;
  const text = total > without * (1 + 1e-9) ? "without fetching" : "the end";
  const anchor = free > width / 2 ? "end" : "start";
  return (
    line(total, "axis") +
    line(without, "dashed") +
    label(
      free + (anchor === "end" ? 4 : -4),
      44,
      `${text}: ${time(without)}`,
      "ink small",
      anchor,
    )
  );
};

/** Return a mark at the end of the loop with the setting before, if it is another one. */
const lastEnd = (last, total, scale, width) => {
  const before = runQueue(loop(last)).total;
  if (Math.abs(before - total) < 1e-9) return "";
  const x = LEFT + before * scale;
  const isAfter = before > total && x + 110 < width;
  const [at, anchor] = isAfter ? [x + 4, "start"] : [x - 4, "end"];
  const text = label(at, before > total ? 44 : 30, `before: ${time(before)}`, "soft small", anchor);
  return vertical(x, 34, ROWS.device + TALL + 8, "last") + text;
};

const places = (width) => {
  const across = width < 480 ? [1, 151] : [1, 143, 233, 379, 485];
  return (i) => [across[i % across.length], 210 + 24 * Math.floor(i / across.length)];
};

/** Return the steps that wait in the queue at a time, as many as there is room for. */
const waiting = (run, now, x, width) => {
  const queued = run.host.filter(({ kind, end }) => kind === "queue" && end <= now);
  const started = run.device.filter(({ start }) => start < now);
  const room = Math.floor((width - x) / 24);
  return each(queued.slice(started.length).slice(0, room), ({ step }, i) => {
    const box = { x: x + 5 + 24 * i, y: ROWS.host + TALL + 7, width: 21, height: 20 };
    return (
      tag("rect", { ...box, rx: 3, class: "s1" }) +
      label(box.x + 10.5, box.y + 15, step, "ink small", "middle")
    );
  });
};

/** Return a line at a time, with what is in the queue then. */
const nowLine = (run, now, x, width) =>
  vertical(x, ROWS.host - 6, ROWS.device + TALL + 6, "now") + waiting(run, now, x, width);

const sameAxis = (one, other) =>
  ["host", "device", "fetch"].every((id) => one[id] === other[id]);

const draw = (state, width, motion, last) => {
  const run = runQueue(loop(state));
  const without = runQueue({ ...loop(state), every: 0 }).total;
  // The axis does not depend on how often the loop fetches, so the ends can be compared.
  const longest = runQueue({ ...loop(state), every: 1 }).total;
  const scale = (width - LEFT - RIGHT) / longest;
  const now = motion ? motion.part * run.total : run.total;
  const place = { left: LEFT, right: RIGHT, y: ROWS.device + TALL + 8, width };
  return sheet(
    width,
    width < 480 ? 284 : 236,
    label(width, 14, `${STEPS} steps, ${ORIGINS[state.preset]}`, "soft small", "end"),
    label(0, ROWS.host + 23, "Host", "ink strong"),
    label(0, ROWS.device + 23, "GPU", "ink strong"),
    spans(until(run.host, now), ROWS.host, scale),
    spans(until(gaps(run), now), ROWS.device, scale),
    spans(until(run.device, now), ROWS.device, scale),
    last && sameAxis(last, state) ? lastEnd(last, run.total, scale, width) : "",
    motion ? nowLine(run, now, LEFT + now * scale, width) : ends(run.total, without, scale, width),
    timeAxis(longest, place, time),
    legend(Object.values(KINDS), places(width)),
  );
};

// In words

const result = (state) => {
  const run = runQueue(loop(state));
  const without = runQueue({ ...loop(state), every: 0 }).total;
  const idle = percent(1 - run.busy / run.total);
  if (run.fetches === 0)
    return (
      `Without a fetch, the ${STEPS} steps take ${time(run.total)}, and the GPU is ` +
      `idle for ${idle} of that time.`
    );
  const factor = round(run.total / without);
  const much = factor === 1 ? "about as long as" : `${factor} times as long as`;
  return (
    `With a fetch ${often(state.every)}, the ${STEPS} steps take ${time(run.total)}, ` +
    `${much} without fetches, and the GPU is idle for ${idle} of that time.`
  );
};

const summary = (state) =>
  `Timelines of the host and the GPU for ${STEPS} steps. Queueing one takes the ` +
  `host ${microseconds(state.host)}, computing one takes the GPU ` +
  `${microseconds(state.device)}. The loss is fetched: ${often(state.every)}.`;

const formula = (state) => {
  const { host, device, every, fetch } = loop(state);
  const blocks = every > 0 ? Math.floor(STEPS / every) : 0;
  const rest = STEPS - blocks * every;
  const most = Math.max(host, device);
  const least = Math.min(host, device);
  const { fetches, waited } = runQueue(loop(state));
  const lines = [
    "It takes the host h to queue a step, the GPU d to compute it, and a fetch c.",
  ];
  if (blocks > 0) {
    const one = blockTime(every, host, device) + fetch;
    lines.push(
      `k steps and a fetch: k · max(h, d) + min(h, d) + c = ${every} · ${time(most)} + ` +
        `${time(least)} + ${time(fetch)} = ${time(one)}`,
    );
    lines.push(`${blocks} times: ${blocks} · ${time(one)} = ${time(blocks * one)}`);
  }
  if (rest > 0)
    lines.push(
      `${blocks > 0 ? "the last " : ""}${rest} without a fetch: ` +
        `${rest} · ${time(most)} + ${time(least)} = ` +
        `${time(blockTime(rest, host, device))}`,
    );
  if (fetches > 0) lines.push(`the host waits for the GPU: ${time(waited)} in all`);
  return lines;
};

const notes = () => [
  "Small steps: all times are assumed. Large steps: measured on an RTX 4090 in " +
    "smolix/d2l-neu, where 32 products of 4096 by 4096 matrices were queued in 1.4 " +
    "ms and finished in 80 ms, so h = 1.4 ms / 32 = 44 µs and d = 80 ms / 32 = 2.5 " +
    "ms; the time of a fetch is assumed.",
  "The model leaves out that a queue is full at some point, and that the host has " +
    "other work.",
];

const settle = (state, id) => {
  if (id === "preset") return choose(state);
  return id === "every" ? state : { ...state, preset: "own" };
};

const range = (id, text) => logRange(id, text, [0.1, 1e5], from(id), microseconds);

export default figure({
  name: "queue",
  experiment: "queue",
  controls: [
    steps("every", "Fetch the loss", EVERY, 4, { format: often }),
    ...more(
      menu("Steps", "your own"),
      range("host", "h: the host queues a step"),
      range("device", "d: the GPU computes a step"),
      range("fetch", "c: the loss is fetched"),
    ),
  ],
  invite: "Drag the slider to “never”, and see the gaps of the GPU close.",
  actions: [{ label: "Run the loop", motion: () => RUN }],
  ...{ settle, draw, summary, result, formula, notes },
});
