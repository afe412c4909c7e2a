/* The collective bench: an all-reduce by a star, a ring and a tree. The reader chooses a
 * machine, the size of the message and a slow link, sees which algorithm is the fastest,
 * and goes through its rounds one by one.
 */
import { time, size, bandwidth, round, MICRO, GIGA } from "./arithmetic.js";
import * as collective from "./collective-arithmetic.js";
import { each, tag, label, path, chart } from "./chart.js";
import { select, range, logRange, hidden, more, presets } from "./controls.js";
import { figure } from "./explorable.js";

const { sheet, bars, legend } = chart("collectives");

// GB/s of a link in one direction and µs per message; NOTES names the sources.
const MACHINES = {
  default: {
    name: "4 RTX 4090, PCIe, NCCL’s default",
    settings: { n: 4, width: 2.2, latency: 5.7 },
  },
  pcie: {
    name: "4 RTX 4090, PCIe, NCCL configured",
    settings: { n: 4, width: 11.15, latency: 5.7 },
  },
  nvlink: { name: "8 H100, NVLink", settings: { n: 8, width: 450, latency: 3.4 } },
  network: {
    name: "8 machines, 400 Gbit/s",
    settings: { n: 8, width: 50, latency: 9.6 },
  },
};
const machines = presets("machine", MACHINES, "default");

const NAMES = ["ring", "tree", "star"];
const LARGE = 1e8;

/** Return the argument of `collective.run` for a state. */
const setting = (state, algorithm = state.algorithm) => ({
  algorithm,
  n: state.n,
  bytes: state.bytes,
  latency: state.latency * MICRO,
  bandwidth: state.width * GIGA,
  slow: state.slow === "none" ? -1 : Number(state.slow),
  factor: state.factor,
});

const run = (state, algorithm) => collective.run(setting(state, algorithm));
const timeOf = (state, algorithm) => run(state, algorithm).time;

/** Return the fastest algorithm. */
const fastest = (state) =>
  NAMES.reduce((a, b) => (timeOf(state, b) < timeOf(state, a) ? b : a));

const countRounds = ({ algorithm, n }) => collective.rounds(algorithm, n).length;

/** Return the number of the round that is shown; 0 is before the first. */
const roundOf = (state) => Math.min(Number(state.round), countRounds(state));

// The drawing: the times of all algorithms above the devices in one round

const LEFT = 44;
const ARCS = 92; // the top of the arcs
const BASE = 186; // the top of the devices
const HIGH = 112; // of an array

const timesOf = (state, width) => {
  const times = NAMES.map((name) => timeOf(state, name));
  const scale = (width - LEFT - 78) / Math.max(...times);
  const rows = NAMES.map((name, i) => {
    const chosen = name === state.algorithm;
    const kind = chosen ? "s1 solid" : "s1";
    return [Math.max(1, times[i] * scale), kind, name, time(times[i]), chosen];
  });
  return bars({ left: LEFT, top: 2, tall: 18, row: 24 }, rows);
};

/** Return the left edges of the devices and their common width. */
const columns = ({ n }, width) => {
  const each = (width - 2) / n;
  const wide = Math.min(72, each * 0.72);
  return {
    wide,
    left: (device) => 1 + device * each + (each - wide) / 2,
    middle: (device) => 1 + (device + 0.5) * each,
  };
};

/** Return an arrow over the devices from the sender to the receiver. */
const curve = ({ from, to }, { middle, wide }, { n, algorithm }) => {
  // In a ring, all messages leave on the right and arrive on the left.
  const right = to > from || algorithm === "ring";
  const side = (right ? 1 : -1) * Math.min(12, wide / 4);
  const [a, b] = [middle(from) + side, middle(to) - side];
  const far = Math.abs(to - from) / Math.max(1, n - 1);
  const top = BASE - 16 - (BASE - ARCS - 22) * far;
  return { a, b, top, tip: BASE - 6 };
};

const arrow = ({ a, b, top, tip }) => {
  const d = `M${a} ${tip}C${a} ${top} ${b} ${top} ${b} ${tip - 5}`;
  const head = `M${b - 4} ${tip - 6}h8l-4 7Z`;
  return path(d, "line1") + path(head, "head");
};

/** Return a message that has covered a part of its curve. */
const bucket = ({ a, b, top, tip }, part) => {
  const rest = 1 - part;
  const ends = [rest ** 2 * (1 + 2 * part), part ** 2 * (1 + 2 * rest)];
  const x = a * ends[0] + b * ends[1];
  const y = tip * (rest ** 3 + part ** 3) + top * 3 * part * rest;
  return tag("rect", { x: x - 8, y: y - 6, width: 16, height: 12, rx: 2, class: "head" });
};

/** Return the arrows of a round; its messages are on their way if `part` is below 1. */
const arrows = (state, place, at, part) => {
  if (at === 0) return "";
  const { messages } = run(state).steps[at - 1];
  const curves = messages.map((message) => curve(message, place, state));
  const moving = part < 1 ? curves.map((one) => bucket(one, part)) : [];
  return [...curves.map(arrow), ...moving].join("");
};

const ROUND = 700; // ms of a round before the reader's eyes
const LONGEST = 2000; // ms of all rounds

/** Return the number of rounds that have passed between two states. */
const passed = (before, after) => {
  const first = roundOf(before) < roundOf(after) ? roundOf(before) : 0;
  return { first, count: roundOf(after) - first };
};

const motion = (before, after) =>
  Math.min(LONGEST, ROUND * passed(before, after).count);

/** Return the round to show, and the part of it that has passed. */
const moment = (state, moving) => {
  if (!moving) return { at: roundOf(state), part: 1 };
  const { first, count } = passed(moving.from, state);
  const now = first + moving.part * count;
  return { at: Math.floor(now) + 1, part: now % 1 };
};

/** Return the array of a device: pieces, each filled by the share of its terms. */
const array = (state, device, held, { left, wide }) => {
  const tall = HIGH / held.length;
  const outline = { x: left(device), y: BASE, width: wide, height: HIGH, class: "box" };
  const pieces = each(held, (set, piece) => {
    const part = collective.size(set) / state.n;
    const y = BASE + piece * tall;
    const between = piece ? path(`M${left(device)} ${y}h${wide}`, "faint") : "";
    const filled = { x: left(device), y, width: wide * part, height: tall };
    const kind = part === 1 ? "s3 solid plain" : "s1 solid plain";
    return tag("rect", { ...filled, class: kind }) + between;
  });
  return pieces + tag("rect", { ...outline, "fill-opacity": 0 });
};

const devices = (state, place, done) => {
  const held = collective.terms(state.algorithm, state.n, done);
  return each(held, (row, device) => {
    const slow = state.slow === String(device);
    const text = slow ? `${device}${place.wide < 40 ? "*" : ", slow"}` : device;
    const kind = slow ? "bad small strong" : "soft small";
    const at = place.middle(device);
    return (
      array(state, device, row, place) +
      label(at, BASE + HIGH + 14, text, kind, "middle")
    );
  });
};

const names = (state, width) => {
  const top = BASE + HIGH + 30;
  const marked = state.slow !== "none" && columns(state, width).wide < 40;
  const items = [
    ["s1 solid plain", "terms of the sum that a piece has"],
    ["s3 solid plain", `a complete piece${marked ? "; * has the slow link" : ""}`],
  ];
  const second = width < 480 ? [1, top + 22] : [width / 2, top];
  return legend(items, (i) => [[1, top], second][i]);
};

const draw = (state, width, moving) => {
  const { at, part } = moment(state, moving);
  const place = columns(state, width);
  const seconds = at === 0 ? 0 : run(state).steps[at - 1].end;
  const where =
    at === 0
      ? "Before the first round"
      : `Round ${at} of ${countRounds(state)}, until ${time(seconds)}`;
  return sheet(
    width,
    BASE + HIGH + (width < 480 ? 74 : 52),
    timesOf(state, width),
    label(0, ARCS - 4, where, "ink small strong"),
    arrows(state, place, at, part),
    devices(state, place, part < 1 ? at - 1 : at),
    names(state, width),
  );
};

// In words

/** Return where the busiest link is and how much it carries, as the end of a sentence. */
const busy = (state) => {
  const { busiest } = run(state);
  const { device, direction, bytes, alike } = busiest;
  const share = round(bytes / state.bytes);
  const times = share === 1 ? "as much as" : `${share} times`;
  const amount = `${size(bytes)} (${times} the message)`;
  if (alike === state.n) return `all links are equally busy, with ${amount}`;
  return `the busiest link is that of device ${device}, which ${direction} ${amount}`;
};

const result = (state) => {
  const seconds = timeOf(state);
  const best = fastest(state);
  const ratio = round(seconds / timeOf(state, best), 2);
  const times = ratio === 1 ? "about as long as" : `${ratio} times as long as`;
  const place =
    best === state.algorithm ? "the shortest time of the three" : `${times} the ${best}`;
  return `The ${state.algorithm} takes ${time(seconds)} for ${size(state.bytes)}, ${place}.`;
};

/** Return a sentence on the bandwidths and on the busiest link. */
const explanation = (state) => {
  const seconds = timeOf(state);
  const bus = collective.busBandwidth(state.bytes, seconds, state.n);
  return (
    `The algorithm bandwidth is ${bandwidth(state.bytes / seconds)}, the bus bandwidth ` +
    `is ${bandwidth(bus)}, and ${busy(state)}.`
  );
};

const summary = (state) =>
  "Bars with the times of a ring, a tree and a star, above the devices, whose arrays " +
  "fill with the terms of the sum. Arrows are the messages of the round. " +
  `${result(state)} A table below has the numbers.`;

const FORMULAS = {
  ring: ({ n }) => [2 * (n - 1), `S/${n}`],
  tree: ({ n }) => [2 * Math.ceil(Math.log2(n)), "S"],
  star: ({ n }) => [2 * (n - 1), "S"],
};

const formula = (state) => {
  const slow = state.slow !== "none";
  const lines = Object.entries(FORMULAS).map(([name, of]) => {
    const [count, part] = of(state);
    const even = slow ? " with equal links" : "";
    return `${name}${even}: ${count} · (α + ${part} / B)`;
  });
  const { n } = state;
  return [
    explanation(state),
    ...lines,
    `S = ${size(state.bytes)}, α = ${round(state.latency)} µs, ` +
      `B = ${bandwidth(state.width * GIGA)} in each direction`,
    `bus bandwidth: S / t · 2 (n − 1) / n, here S / t · ${round((2 * (n - 1)) / n)}`,
  ];
};

const table = (state) => ({
  head: ["algorithm", "time", "S / t", "bus bandwidth", "busiest link"],
  rows: NAMES.map((name) => {
    const { time: seconds, busiest } = run(state, name);
    const bus = collective.busBandwidth(state.bytes, seconds, state.n);
    return [
      name,
      time(seconds),
      bandwidth(state.bytes / seconds),
      bandwidth(bus),
      size(busiest.bytes),
    ];
  }),
});

const PERFORMANCE = "https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md";
const TUNING = "https://github.com/NVIDIA/nccl/blob/master/src/graph/tuning.cc";
const NEU = "https://github.com/smolix/d2l-neu";
const TITAN = "https://github.com/pytorch/torchtitan/blob/main/benchmarks/llama3_h100_202412_torchtitan.md";
const LOCKWOOD = "https://glennklockwood.com/garden/processors/H100";

const BEKMAN = "https://github.com/stas00/ml-engineering";
const NOTES = [
  "Each device has one link. For each message, it is busy for the latency plus the " +
    "bytes over the bandwidth. All links work at the same time, so the busiest one " +
    "decides how long a round lasts. The tree is binomial. NCCL’s trees cut the " +
    "message into chunks that follow each other, so they lose less to the ring for " +
    "large messages.",
  `Links of the RTX 4090: [Zhang et al., 2026](${NEU}) report 4.4 and 22.3 GB/s ` +
    "for two GPUs and count the bytes that a device sends and those that it " +
    "receives. So the link has half of that in each direction. NVLink, 450 GB/s in " +
    `each direction: [Lockwood, 2026](${LOCKWOOD}). 400 Gbit/s for each GPU: [the ` +
    `torchtitan team’s machines](${TITAN}).`,
  `Latencies: what [NCCL’s model of its rings](${TUNING}) assumes for a step over ` +
    "PCIe, NVLink and a network. Algorithm and bus bandwidth: " +
    `[nccl-tests](${PERFORMANCE}).`,
  `Expect less from a real ring: NCCL’s reach 75 to 82 % of NVLink’s data sheet ([Bekman, ` +
    `2026](${BEKMAN})). In machines of eight H100s or newer GPUs, the switches can add up ` +
    "(NVLS), and large all-reduces are as fast as this ring.",
];

// Settings

const settle = (state, id) => {
  const next = machines.settle(state, id);
  const slow = Number(next.slow) >= next.n ? "none" : next.slow;
  const round = id === "algorithm" || id === "n" ? "1" : next.round;
  return { ...next, slow, round };
};

const isRound = (text) => /^[0-9]{1,2}$/.test(text) && Number(text) <= 30;
const { from } = machines;
const next = (state) => {
  const round = roundOf(state) < countRounds(state) ? roundOf(state) + 1 : 0;
  return { ...state, round: String(round) };
};
const end = (state) => ({ ...state, round: String(countRounds(state)) });

export default figure({
  name: "collectives",
  controls: [
    ...more(machines.menu("Machine", "your own")),
    select("algorithm", "Algorithm", NAMES, "ring"),
    logRange("bytes", "Message of each device", [1e3, 1e10], LARGE, (x) => size(x)),
    ...more(
      select("slow", "Slow link", ["none", ["0", "of device 0"], ["1", "of device 1"]], "none"),
      range("n", "Devices", [2, 16, 1], from("n")),
      logRange("latency", "Latency α of a message", [0.5, 100], from("latency"), (x) =>
        time(x * MICRO),
      ),
      logRange("width", "Bandwidth B of a link", [0.1, 1000], from("width"), (x) =>
        bandwidth(x * GIGA),
      ),
      range("factor", "The slow link is slower by", [2, 16, 1], 4, {
        format: (x) => `${x} times`,
      }),
    ),
    hidden("round", isRound, "1"),
  ],
  actions: [
    { label: "All rounds", run: end, motion, main: true },
    { label: "Next round", run: next, motion },
  ],
  invite: "Press “All rounds”, and watch the sum fill every array.",
  notes: () => NOTES,
  ...{ settle, draw, summary, result, formula, table },
  ...{ fastest, MACHINES }, // for tests
});
