/* Pinned memory: a copy to the GPU from pageable memory, by way of the driver's buffer, above
 * one from pinned memory. The reader chooses the size and how fast the CPU and the link are, and
 * sees how long both copies take and how long each keeps the CPU.
 */
import { time, size, bandwidth, round, GIGA } from "./arithmetic.js";
import { each, label, vertical, timeAxis, until, chart } from "./chart.js";
import { logRange, more } from "./controls.js";
import { figure } from "./explorable.js";

const { area, sheet, legend } = chart("pinned");

const MEGA = 1e6;
const RUN = 1800; // ms of the copies before the reader's eyes

// A minibatch of 16 images on an RTX 4090, whose copies others have measured, in seconds.
const BYTES = 16 * 3 * 224 * 224 * 4;
const [PINNED, PAGEABLE] = [408e-6, 521e-6];
const BUFFER = BYTES / 8; // assumed: half of the driver's buffer
const LINK = BYTES / PINNED;
const CPU = BYTES / (PAGEABLE - BUFFER / LINK); // the link is a piece behind

/**
 * Return the copies of the CPU and those of the copy engine, as spans. The buffer has two halves,
 * so the CPU fills one while the engine empties the other.
 */
const throughBuffer = (bytes, buffer, cpu, link) => {
  const [fills, sends] = [[], []];
  for (let at = 0, i = 0; bytes - at >= 1; at += buffer, i += 1) {
    const piece = Math.min(buffer, bytes - at);
    const start = Math.max(fills[i - 1]?.end ?? 0, sends[i - 2]?.end ?? 0);
    fills.push({ start, end: start + piece / cpu });
    const begin = Math.max(fills[i].end, sends[i - 1]?.end ?? 0);
    sends.push({ start: begin, end: begin + piece / link });
  }
  return { fills, sends };
};

/** Return the spans of both copies, and their times in seconds. */
const numbers = ({ mb, buffer, cpu, link }) => {
  const [bytes, B] = [mb * MEGA, link * GIGA];
  const { fills, sends } = throughBuffer(bytes, buffer * MEGA, cpu * GIGA, B);
  const direct = [{ start: 0, end: bytes / B }];
  return { fills, sends, direct, pageable: sends.at(-1).end, pinned: bytes / B, held: fills.at(-1).end };
};

// The drawing: for each kind of memory, the CPU above the link

const [LEFT, RIGHT] = [58, 66];
const TALL = 26;
const ROWS = { fills: 30, sends: 62, free: 124, direct: 156 };
const AXIS = ROWS.direct + TALL + 10;
const TIGHT = 4; // pixels below which a piece has no edge of its own

const boxes = (kind, spans, y, scale) =>
  each(spans, ({ start, end }) => {
    const wide = (end - start) * scale;
    return area(kind + (wide < TIGHT ? " solid plain" : ""), LEFT + start * scale, y, wide, TALL);
  });

/** Return the end of a copy, with its time. */
const end = (at, from, scale) => {
  const x = LEFT + at * scale;
  return vertical(x, from - 4, from + 2 * TALL + 10, "axis") + label(x + 5, from + TALL + 8, time(at), "ink small strong");
};

const draw = (state, width, motion) => {
  const { fills, sends, direct, pageable, pinned } = numbers(state);
  const scale = (width - LEFT - RIGHT) / pageable;
  const now = (motion ? motion.part : 1) * pageable;
  const row = (kind, spans, y) => boxes(kind, until(spans, now), y, scale);
  const isNarrow = width < 380;
  return sheet(
    width,
    AXIS + (isNarrow ? 84 : 62),
    label(0, ROWS.fills - 10, "from pageable memory", "ink small strong"),
    label(0, ROWS.fills + 18, "CPU", "ink small"),
    label(0, ROWS.sends + 18, "link", "ink small"),
    row("s2", fills, ROWS.fills),
    row("s1", sends, ROWS.sends),
    label(0, ROWS.free - 10, "from pinned memory", "ink small strong"),
    label(0, ROWS.free + 18, "CPU", "ink small"),
    label(0, ROWS.direct + 18, "link", "ink small"),
    row("idle", direct, ROWS.free),
    row("s1", direct, ROWS.direct),
    motion
      ? vertical(LEFT + now * scale, ROWS.fills - 6, AXIS, "now")
      : end(pageable, ROWS.fills, scale) + end(pinned, ROWS.free, scale),
    timeAxis(pageable, { left: LEFT, right: RIGHT, y: AXIS, width }, time),
    legend(
      [["s2", "copies a piece"], ["s1", "the link"], ["idle", "free for other work"]],
      (i) => (i === 2 && isNarrow ? [1, AXIS + 62] : [[1, 130, 220][i], AXIS + 40]),
    ),
  );
};

// In words

const result = (state) => {
  const { pageable, pinned, held } = numbers(state);
  return (
    `From pageable memory, ${size(state.mb * MEGA)} take ${time(pageable)}, ${round(pageable / pinned)} times as ` +
    `long as the ${time(pinned)} from pinned memory, and hold up the CPU for ${time(held)}.`
  );
};

const summary = (state) =>
  "Two copies to a GPU on one time axis. From pageable memory, the CPU copies pieces into a buffer, and " +
  "the link sends each piece while the CPU copies the next one. From pinned memory, the link sends the " +
  `whole array at once, and the CPU is free. ${result(state)}`;

const formula = (state) => {
  const { pageable, pinned, held, fills } = numbers(state);
  const [S, C, B] = [state.mb * MEGA, state.cpu * GIGA, state.link * GIGA];
  const piece = Math.min(S, state.buffer * MEGA);
  return [
    `pinned: S / B = ${size(S)} / ${bandwidth(B)} = ${time(pinned)}`,
    `a piece: b / C = ${size(piece)} / ${bandwidth(C)} = ${time(piece / C)} on the CPU, ` +
      `b / B = ${time(piece / B)} on the link, ${fills.length} of them`,
    C < B
      ? `pageable: the CPU sets the pace, and the last piece follows it: ${time(held)} + ${time(pageable - held)} = ${time(pageable)}`
      : `pageable: the link sets the pace, after the first piece: ${time(pageable - pinned)} + ${time(pinned)} = ${time(pageable)}`,
  ];
};

const COLUMNS = [4, 8, 16, 32, 64]; // GB/s of the link

const table = (state) => ({
  head: ["the link", "pageable", "pinned", "times as long", "CPU held up"],
  rows: COLUMNS.map((link) => {
    const { pageable, pinned, held } = numbers({ ...state, link });
    return [bandwidth(link * GIGA), time(pageable), time(pinned), round(pageable / pinned), time(held)];
  }),
  chosen: COLUMNS.indexOf(state.link),
});

const NOTES = [
  "Measured, on an RTX 4090: 9.63 MB took 0.408 ms from pinned and 0.521 ms from pageable memory " +
    "([smolix/d2l-neu](https://github.com/smolix/d2l-neu)). The rate of the link comes from the first time, and that of the CPU from the second.",
  "How large the driver's buffer is, and whether it has two halves, NVIDIA doesn't say: both are assumed. " +
    "The time of the call is part of the measured rates and isn't counted again.",
];

const megabytes = (x) => size(x * MEGA);
const speed = (x) => bandwidth(x * GIGA);

export default figure({
  name: "pinned",
  controls: [
    logRange("link", "B: the link carries", [3, 64], LINK / GIGA, speed),
    logRange("cpu", "C: the CPU copies", [3, 64], CPU / GIGA, speed),
    ...more(
      logRange("mb", "S: the array has", [0.5, 256], BYTES / MEGA, megabytes),
      logRange("buffer", "b: half of the buffer", [0.0625, 16], BUFFER / MEGA, megabytes),
    ),
  ],
  actions: [{ label: "Copy", motion: () => RUN }],
  invite: "Make the link slower than the CPU: what is left of the gain, and what isn’t?",
  experiment: "copies",
  notes: () => NOTES,
  ...{ draw, summary, result, formula, table },
  ...{ numbers }, // for tests
});
