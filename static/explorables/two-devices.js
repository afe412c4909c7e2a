/* Two devices: tensors on the host and on two GPUs. The figure shows what each framework
 * does when they are added, and what the copies cost.
 */
import { time, size, bandwidth, list, upper, replay, copyTime, MICRO, GIGA } from "./arithmetic.js";
import { each, tag, label, canvas, path } from "./chart.js";
import { select, steps, logRange, hidden, more } from "./controls.js";
import { figure } from "./explorable.js";

const HOST_LINK = 64 * GIGA; // PCI Express 5 with 16 lanes, in one direction
const GPU_LINKS = { nvlink: ["NVLink 4", 450 * GIGA], pcie: ["PCIe 5", HOST_LINK] };
const MOST_ACTIONS = 9;

const DEVICES = { host: "host memory", gpu0: "GPU 0", gpu1: "GPU 1" };
const FRAMEWORKS = {
  pytorch: "PyTorch",
  mxnet: "MXNet",
  jax: "JAX",
  tensorflow: "TensorFlow",
};

const framework = (state) =>
  state.framework in FRAMEWORKS ? state.framework : "pytorch";

/** Return the argument of `replay` for a state. */
const setting = (state) => ({
  framework: framework(state),
  x: state.x,
  y: state.y,
  size: state.size,
  actions: state.did ? state.did.split("-") : [],
  hostLink: HOST_LINK,
  gpuLink: GPU_LINKS[state.link][1],
  latency: state.latency * MICRO,
});

// The messages of the frameworks, from a run or from the source

const TORCH = { host: "cpu", gpu0: "cuda:0", gpu1: "cuda:1" };
const MXNET = { host: "cpu(0)", gpu0: "gpu(0)", gpu1: "gpu(1)" };
const ID = { gpu0: 0, gpu1: 1 };

/** The functions that return the error of X + Y and the origin of its text. */
const ERRORS = {
  pytorch: (x, y) => [
    "RuntimeError: Expected all tensors to be on the same device, but found at " +
      `least two devices, ${TORCH[x]} and ${TORCH[y]}!`,
    "PyTorch 2.13.0, with fake tensors",
  ],
  mxnet: (x, y) => [
    "MXNetError: … require all inputs live on the same context. But the first " +
      `argument is on ${MXNET[x]} while the 2-th argument is on ${MXNET[y]}`,
    "as the source of MXNet 1.x puts it",
  ],
  jax: (x, y) =>
    x === "host" || y === "host"
      ? [
          "ValueError: Received incompatible devices for jitted computation. …",
          "the beginning of the text of JAX 0.10.2",
        ]
      : [
          "ValueError: Received incompatible devices for jitted computation. Got " +
            "argument x of add with shape float32[2,3] and with device ids " +
            `[${ID[x]}] on platform CPU and argument y of add with shape ` +
            `float32[2,3] and with device ids [${ID[y]}] on platform CPU`,
          "JAX 0.10.2, with two virtual devices in place of the GPUs",
        ],
};

const GPU = { host: "cpu()", gpu0: "gpu(0)", gpu1: "gpu(1)" };

/** The functions that return the code of each action; `y` is the device of Y. */
const CODE = {
  add: () => "X + Y",
  fetch: (name) =>
    ({
      pytorch: "total.cpu()",
      mxnet: "total.asnumpy()",
      jax: "np.asarray(total)",
      tensorflow: "total.numpy()",
    })[name],
  copy: (name, y) =>
    ({
      pytorch: `X.to(${GPU[y]}) + Y`,
      mxnet: `X.as_in_ctx(${GPU[y]}) + Y`,
      jax: `jax.device_put(X, ${GPU[y]}) + Y`,
      tensorflow: `with ${GPU[y]}: tf.identity(X) + Y`,
    })[name],
};

const at = (device) =>
  device === "host" ? "in host memory" : `on ${DEVICES[device]}`;

const cost = (entry) => {
  if (!entry.copies.length) return "nothing is copied";
  const from = ({ name, from, to }) =>
    `${name} is copied from ${DEVICES[from]} to ${DEVICES[to]}`;
  return `${list(entry.copies.map(from))}, ${size(entry.bytes)} in ${time(entry.time)}`;
};

/** Return a sentence on the effect of an action. */
const describe = (entry, name) => {
  if (entry.outcome === "error") return "X + Y raises an error, and nothing is copied.";
  if (entry.outcome === "undefined")
    return (
      "MXNet 1.9.1 does not notice that these are two GPUs, and such a sum can end " +
      "the program."
    );
  if (entry.outcome === "nothing") return "There is no sum to fetch, so press another button first.";
  const silent =
    name === "tensorflow" && entry.action === "add" && entry.copies.length > 0;
  const quietly = silent ? "TensorFlow does not say so, but " : "";
  return `${quietly}${cost(entry)}, and the sum is ${at(entry.device)}.`;
};

const item = (entry, state) => {
  const name = framework(state);
  const code = CODE[entry.action](name, state.y);
  if (entry.outcome !== "error")
    return [
      code,
      upper(describe(entry, name)),
      "undefined nothing".includes(entry.outcome) && "error",
    ];
  const [text, source] = ERRORS[name](state.x, state.y);
  return [code, `${text} (${source}.)`, "error"];
};

const log = (state) => {
  const after = replay(setting(state));
  const all = `Copied in all: ${size(after.bytes)} in ${time(after.time)}.`;
  const items = after.log.map((entry) => item(entry, state));
  return after.bytes ? [...items, ["", all, "total"]] : items;
};

// The drawing, with the host above the GPUs and links between all three

const TALL = 92;
const TOP = 8;
const BELOW = 172;

const places = (width) => {
  const gap = width < 480 ? 30 : 150;
  const gpu = Math.min(230, (width - gap - 4) / 2);
  const host = Math.min(260, width - 16);
  const left = (width - gap) / 2 - gpu;
  return {
    host: { x: (width - host) / 2, y: TOP, width: host },
    gpu0: { x: left, y: BELOW, width: gpu },
    gpu1: { x: (width + gap) / 2, y: BELOW, width: gpu },
  };
};

const memory = (name, { x, y, width }, chips) => {
  const wide = Math.min(58, (width - 28) / 3);
  const one = ({ text, kind }, i) => {
    const left = x + 8 + i * (wide + 6);
    return (
      tag("rect", { x: left, y: y + 38, width: wide, height: 40, rx: 5, class: kind }) +
      label(left + wide / 2, y + 63, text, "ink strong", "middle")
    );
  };
  return (
    tag("rect", { x, y, width, height: TALL, rx: 10, class: "box" }) +
    label(x + 10, y + 24, name, "ink strong") +
    each(chips, one)
  );
};

/** Return the ends of the link between two devices; `from` comes first.
 * @returns {any} [[x1, y1], [x2, y2]]
 */
const link = (place, from, to) => {
  if (to === "host" || (from === "gpu1" && to === "gpu0"))
    return link(place, to, from).reverse();
  const { host, gpu0, gpu1 } = place;
  const right = gpu0.x + gpu0.width;
  const across = BELOW + TALL / 2;
  if (from !== "host")
    return [
      [right, across],
      [gpu1.x, across],
    ];
  const middle = host.x + host.width / 2;
  const aside = host.width / 2 - 26;
  const x = to === "gpu0" ? middle - aside : middle + aside;
  const below = to === "gpu0" ? Math.min(x, right - 26) : Math.max(x, gpu1.x + 26);
  return [
    [x, TOP + TALL],
    [below, BELOW],
  ];
};

const line = ([[x1, y1], [x2, y2]], kind, marker = {}) =>
  tag("line", { x1, y1, x2, y2, class: kind, ...marker });

const links = (place, state, width) => {
  const middle = (BELOW + TOP + TALL) / 2 + 5;
  const name = `PCIe 5, ${bandwidth(HOST_LINK)}`;
  const [gpus, speed] = GPU_LINKS[state.link];
  const [[x0], [x1]] = [
    link(place, "host", "gpu0")[1],
    link(place, "host", "gpu1")[1],
  ];
  const wide = width >= 480;
  const centered = (y, text) => label(width / 2, y, text, "soft small", "middle");
  const across = BELOW + TALL / 2;
  const beside = wide
    ? centered(across - 26, gpus) + centered(across - 10, bandwidth(speed))
    : centered(BELOW + TALL + 22, `between the GPUs: ${gpus}, ${bandwidth(speed)}`);
  const text = wide
    ? label(x0 - 12, middle, name, "soft small", "end") +
      label(x1 + 12, middle, name, "soft small")
    : centered(middle, `PCIe 5, each ${bandwidth(HOST_LINK)}`);
  return (
    line(link(place, "host", "gpu0"), "link") +
    line(link(place, "host", "gpu1"), "link") +
    line(link(place, "gpu0", "gpu1"), "link") +
    text +
    beside
  );
};

/** Return the tensors to draw on each device after the last action. */
const chips = (state, { log, sum, fetched }) => {
  const on = { host: [], gpu0: [], gpu1: [] };
  on[state.x].push({ text: "X", kind: "s1 chip" });
  on[state.y].push({ text: "Y", kind: "s2 chip" });
  const last = log[log.length - 1];
  for (const { name, to } of last && last.outcome === "sum" ? last.copies : [])
    on[to].push({ text: name, kind: `${name === "X" ? "s1" : "s2"} chip copied` });
  if (sum) on[sum].push({ text: "X+Y", kind: "s3 chip" });
  if (fetched && sum !== "host")
    on.host.push({ text: "X+Y", kind: "s3 chip copied" });
  return on;
};

const head = () => {
  const shape = { viewBox: "0 0 10 10", refX: 9, refY: 5, orient: "auto" };
  const size = { markerWidth: 5, markerHeight: 5 };
  const tip = path("M0 0L10 5L0 10z", "head");
  return tag("marker", { id: "two-devices-head", ...shape, ...size }, tip);
};

const arrow = (place, { from, to }) => {
  const marker = { "marker-end": "url(#two-devices-head)" };
  return line(link(place, from, to), "arrow", marker);
};

// A copy crosses its link while the reader looks; a faster link takes less time.

const crossingTime = (state, { from, to }) => {
  const slow = from === "host" || to === "host" || state.link === "pcie";
  return slow ? 900 : 450;
};

const lastOf = (state) => {
  const { log: entries } = replay(setting(state));
  return entries[entries.length - 1] || { copies: [], outcome: "" };
};

const motion = (_, state) =>
  lastOf(state).copies.reduce((sum, copy) => sum + crossingTime(state, copy), 0);

/** Return the copies under way: those that have arrived, and the one on its link. */
const traffic = (state, place, part) => {
  let left = part * motion(null, state);
  return each(lastOf(state).copies, (copy) => {
    const done = Math.min(1, Math.max(0, left / crossingTime(state, copy)));
    left -= crossingTime(state, copy);
    return done === 0 ? "" : traveler(place, copy, done * done * (3 - 2 * done));
  });
};

/** Return a tensor that has covered a part of its way from one box into another. */
const traveler = (place, { name, from, to }, part) => {
  const [[x0, y0], [x1, y1]] = link(place, from, to);
  const far = Math.hypot(x1 - x0, y1 - y0);
  const along = part * (far + 60) - 30;
  const x = x0 + ((x1 - x0) * along) / far;
  const y = y0 + ((y1 - y0) * along) / far;
  const wide = name.length > 1 ? 52 : 36;
  const box = { x: x - wide / 2, y: y - 16, width: wide, height: 32, rx: 5 };
  const kind = { X: "s1", Y: "s2" }[name] || "s3";
  return (
    tag("rect", { ...box, class: "box" }) +
    tag("rect", { ...box, class: `${kind} chip` }) +
    label(x, y + 5, name, "ink strong", "middle")
  );
};

const verdict = ({ outcome }, width) => {
  const text = { error: "✕ error", undefined: "✕ unsafe" }[outcome];
  return text ? label(width / 2, BELOW - 16, text, "bad strong", "middle") : "";
};

const draw = (state, width, moving) => {
  const place = places(width);
  const shown = moving ? moving.from : state;
  const after = replay(setting(shown));
  const last = lastOf(state);
  const boxes = Object.entries(chips(shown, after)).map(([device, list]) =>
    memory(device === "host" ? "Host memory" : DEVICES[device], place[device], list),
  );
  return canvas(
    width,
    BELOW + TALL + (width < 480 ? 32 : 8),
    tag("defs", {}, head()),
    links(place, state, width),
    ...boxes,
    ...(moving
      ? [traffic(state, place, moving.part)]
      : last.copies.map((copy) => arrow(place, copy))),
    moving ? "" : verdict(last, width),
  );
};

// In words

const summary = (state) => {
  const { sum, fetched } = replay(setting(state));
  const total = sum
    ? ` Their sum is ${at(sum)}${fetched ? ", and fetched" : ""}.`
    : "";
  return (
    "Host memory and two GPUs with links between them. " +
    `X is ${at(state.x)}, Y is ${at(state.y)}, each of ${size(state.size)}.${total}`
  );
};

const result = (state) => {
  const after = replay(setting(state));
  const name = framework(state);
  if (!after.log.length)
    return `With ${FRAMEWORKS[name]}, X is ${at(state.x)}, and Y is ${at(state.y)}.`;
  const text = describe(after.log[after.log.length - 1], name);
  return /^(MXNet|TensorFlow|There)/.test(text)
    ? text
    : `With ${FRAMEWORKS[name]}, ${text}`;
};

const formula = (state) => {
  const { latency, gpuLink } = setting(state);
  const one = (width) =>
    `${time(latency)} + ${size(state.size)} / ${bandwidth(width)} = ` +
    time(copyTime(state.size, width, latency));
  return [
    `a copy between host and GPU: ${one(HOST_LINK)}`,
    `a copy between the GPUs: ${one(gpuLink)}`,
  ];
};

const HOPPER = "https://www.nvidia.com/en-us/data-center/h100/";
const notes = () => [
  "Bandwidths in one direction, of an H100 (SXM): PCI Express 5 carries 128 GB/s " +
    `both directions together, NVLink 900 GB/s ([NVIDIA, H100](${HOPPER})). Real ` +
    "copies reach less. The fixed time of a copy is assumed.",
  "Every framework has its own rules; choose it at the top of the page, and your " +
    "actions are repeated. Without a scope, TensorFlow computes on GPU 0. The arrays " +
    "of JAX are committed to their devices. TensorFlow copies X inside the scope of " +
    "Y's device.",
];

// Settings

const after = (action) => (state) => {
  const did = state.did ? state.did.split("-") : [];
  return { ...state, did: [...did, action].slice(-MOST_ACTIONS).join("-") };
};

const sizes = Array.from(
  { length: 19 },
  (_, i) => [1, 2, 5][i % 3] * 10 ** (3 + Math.floor(i / 3)),
);
const LINKS = { nvlink: "NVLink 4, 450 GB/s", pcie: "PCI Express 5, 64 GB/s" };
const areActions = (text) =>
  /^(add|copy|fetch)(-(add|copy|fetch))*$/.test(text) &&
  text.split("-").length <= MOST_ACTIONS;

export default figure({
  name: "two-devices",
  follows: { framework: "tab" },
  controls: [
    ...more(
      select("x", "X is on", DEVICES, "gpu0"),
      select("y", "Y is on", DEVICES, "gpu1"),
      steps("size", "Size of each", sizes, 1e8, { format: (bytes) => size(bytes) }),
      select("link", "Between the GPUs", LINKS, "nvlink"),
      logRange("latency", "Fixed time of a copy (assumed)", [1, 1000], 10, (value) =>
        time(value * MICRO),
      ),
    ),
    hidden("did", areActions, ""),
  ],
  actions: [
    { label: "Compute X + Y", run: after("add"), motion, main: true },
    { label: "Copy X to Y's device, then add", run: after("copy"), motion },
    { label: "Fetch the sum", run: after("fetch"), motion },
  ],
  invite: "Predict what X + Y does. Then press “Compute X + Y”.",
  ...{ draw, summary, result, log, formula, notes },
  ...{ ERRORS }, // for tests
});
