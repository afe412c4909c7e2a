/* Is it worth moving? The figure compares a product of two matrices on the CPU with the
 * product on the GPU and the copies to it and back.
 */
import { time, rate, bandwidth, round, productTimes, productFlops, crossing, MICRO, GIGA, TERA } from "./arithmetic.js";
import { cards } from "./cards.js";
import { label, line, vertical, dot, grid, logarithmic, powers, chart } from "./chart.js";
import { select, steps, logRange, more } from "./controls.js";
import { figure } from "./explorable.js";

const { sheet, stack, legend } = chart("worth-moving");

const TYPES = {
  float32: { name: "float32", bytes: 4 },
  half: { name: "16 bit (bfloat16, float16)", bytes: 2 },
  float64: { name: "float64", bytes: 8 },
};

/** Return peak rates in TFLOP/s: cores x GHz x operations per cycle, by type. */
const peaks = (cores, ghz, cycle) => {
  const rate = ([type, count]) => [type, round((cores * ghz * count) / 1000, 6)];
  return Object.fromEntries(Object.entries(cycle).map(rate));
};

// Rates are in TFLOP/s and bandwidths in GB/s; NOTES names the sources.
const gpu = (name) => {
  const { fp32, fp64, fp16, tensor16 = fp16, pcie, bandwidth } = cards[name];
  const rates = { float32: fp32, half: tensor16, float64: fp64 };
  return { gpu: rates, link: pcie, memory: bandwidth };
};
const MACHINES = {
  h100: {
    name: "H100 and Xeon 8480C",
    cpu: peaks(56, 2, { float32: 64, half: 1024, float64: 32 }),
    ...gpu("H100"),
  },
  p100: {
    name: "P100 and Xeon E5-2698 v4",
    cpu: peaks(20, 2.2, { float32: 32, half: 32, float64: 16 }),
    ...gpu("P100"),
  },
  rtx4090: {
    name: "RTX 4090 and EPYC 7763",
    cpu: peaks(64, 2.45, { float32: 32, half: 32, float64: 16 }),
    ...gpu("RTX 4090"),
  },
};

const HOPPER = "https://resources.nvidia.com/en-us-tensor-core/gtc22-whitepaper-hopper";
const BASEPOD = "https://docs.nvidia.com/dgx-basepod/reference-architecture-infrastructure-foundation-enterprise-ai/latest/core-components.html";
const PAPERS = "https://images.nvidia.com";
const TESLA = `${PAPERS}/content/pdf/tesla/whitepaper`;
const PASCAL = `${TESLA}/pascal-architecture-whitepaper.pdf`;
const ADA = `${PAPERS}/aem-dam/Solutions/geforce/ada/nvidia-ada-gpu-architecture.pdf`;
const NO_HALF = " It has no arithmetic in 16 bit; the rate of float32 stands for it.";
const NOTES = {
  h100: [
    `GPU: H100 SXM ([NVIDIA, H100](${HOPPER})), dense products, float64 in tensor ` +
      "cores; PCI Express 5, one direction.",
    "CPU: one Xeon Platinum 8480C of a DGX H100 ([NVIDIA, DGX " +
      `BasePOD](${BASEPOD})), 56 cores × 2.0 GHz × 64 operations a cycle in float32 ` +
      "(two AVX-512 units, 16 numbers each, multiply and add), 32 in float64, 1024 " +
      "in bfloat16 (AMX).",
  ],
  p100: [
    `GPU: Tesla P100, SXM2 ([NVIDIA, Tesla P100](${PASCAL})), 16 bit is float16; ` +
      "PCI Express 3, one direction.",
    "CPU: one Xeon E5-2698 v4, by its specification 20 cores × 2.2 GHz × 32 " +
      "operations a cycle in float32 (two AVX2 units, 8 numbers each, multiply and " +
      `add), 16 in float64.${NO_HALF}`,
  ],
  rtx4090: [
    `GPU: GeForce RTX 4090 ([NVIDIA, Ada architecture](${ADA})), 16 bit in tensor ` +
      "cores with sums in float32, dense; float64 at 1/64 of float32; PCI Express 4, " +
      "one direction.",
    "CPU: one EPYC 7763 (LUMI's documentation), 64 cores × 2.45 GHz × 16 " +
      `operations a cycle in float64, twice as many in float32.${NO_HALF}`,
  ],
  own: ["The rates and bandwidths are your own."],
};
// Ten products of 512 by 512 matrices took 14.4 µs each with PyTorch, waiting included.
const QUEUEING = 14;
const NEU = "https://github.com/smolix/d2l-neu";
const MODEL =
  "Peak rates are from data sheets; real programs reach less, on CPU and GPU. The " +
    `time to queue a product, ${QUEUEING} µs, is that of small products in PyTorch ` +
    `on a machine with an RTX 4090 ([Zhang et al., 2026](${NEU})). The fixed time of ` +
    "a copy is assumed. The memory of the CPU is left out, and so are its calls, " +
    "which take microseconds and decide if n is less than 256, and all overlap of " +
    "copies with products.";

/** Return the task of a state, in seconds, bytes and operations. */
const task = (state) => ({
  n: state.n,
  bytes: TYPES[state.type].bytes,
  products: state.products,
  cpu: state.cpu * TERA,
  gpu: state.gpu * TERA,
  link: state.link * GIGA,
  memory: state.memory * GIGA,
  latency: state.latency * MICRO,
  launch: state.launch * MICRO,
});

// The drawing, with two bars for the chosen n above the times for all n

// For smaller matrices, the CPU takes a few microseconds, like a call of a framework.
const SIZES = Array.from({ length: 13 }, (_, i) =>
  i % 2 ? 3 * 2 ** ((i - 1) / 2 + 7) : 2 ** (i / 2 + 8),
);
const LEFT = 48;
const RIGHT = 36;
const TALL = 28;

const bar = (y, name, parts, total, scale) => {
  const wide = parts.map(([kind, seconds]) => [kind, seconds * scale]);
  return (
    label(0, y + 19, name, "ink strong") +
    stack(wide, LEFT, y, TALL) +
    label(LEFT + total * scale + 6, y + 19, time(total), "ink small")
  );
};

const names = (width) => {
  const kinds = { s1: "CPU computes", wait: "copies", s3: "GPU computes" };
  const short = (text) => (width < 310 ? text.split(" ")[0] : text);
  const places = width < 480 ? [1, 118, 196] : [LEFT, LEFT + 134, LEFT + 224];
  const items = Object.entries(kinds).map(([kind, text]) => [kind, short(text)]);
  return legend(items, (i) => [places[i], 88], 16, 21);
};

const bars = (state, width) => {
  const times = productTimes(task(state));
  const scale = (width - LEFT - 74) / Math.max(times.cpu, times.gpu);
  const parts = [
    ["wait", times.copies],
    ["s3", times.product],
  ];
  return (
    bar(8, "CPU", [["s1", times.cpu]], times.cpu, scale) +
    bar(46, "GPU", parts, times.gpu, scale) +
    names(width)
  );
};

const [TOP, BOTTOM] = [172, 356];
const [N0, N1] = [SIZES[0], SIZES[SIZES.length - 1]];

/** Return the frame of the chart, and the times `at` a size. */
const frameOf = (state, width) => {
  const at = (n) => productTimes({ ...task(state), n });
  const all = [at(N0), at(N1)].flatMap(({ cpu, gpu }) => [cpu, gpu]);
  const low = Math.floor(Math.log10(Math.min(...all)) - 1); // room for a label
  const high = Math.ceil(Math.log10(Math.max(...all)));
  const [left, right] = [LEFT, width - RIGHT];
  const x = logarithmic([N0, N1], [left, right]);
  const y = logarithmic([10 ** low, 10 ** high], [BOTTOM, TOP]);
  return { at, rows: powers(low, high), left, right, top: TOP, bottom: BOTTOM, x, y };
};

const axes = (frame, width) => {
  const rows = frame.rows
    .filter(([exponent]) => exponent % 3 === 0) // 1 ns, 1 µs, 1 ms, 1 s
    .map(([, power]) => [power, time(power)]);
  const columns = SIZES.filter((_, i) => i % (width < 480 ? 4 : 2) === 0);
  return grid(frame, rows, columns.map((n) => [n]));
};

const curve = (place, key, kind) => {
  const sizes = Array.from({ length: 49 }, (_, i) => N0 * 2 ** (i / 8));
  return line(sizes.map((n) => [place.x(n), place.y(place.at(n)[key])]), kind);
};

/** Return a mark where the lines of the CPU and the GPU cross. */
const crossed = (state, place, width) => {
  const n = crossing(task(state));
  if (n === null || n < N0 || n > N1) return "";
  const [x, y] = [place.x(n), place.y(place.at(n).cpu)];
  const text = `${width < 480 ? "" : "equal at "}n\u00a0≈\u00a0${round(n, 3)}`;
  const right = x < width - 140; // below the lines, otherwise above them
  const down = x < LEFT + 60 ? 38 : 20; // below the name of a line
  return (
    dot(x, y, 6, "ring") +
    (right
      ? label(x + 12, y + down, text, "ink small halo")
      : label(x - 12, y - 10, text, "ink small halo", "end"))
  );
};

const chosen = ({ n }, { x }) =>
  vertical(x(n), TOP - 6, BOTTOM, "dashed") +
  label(x(n), TOP - 12, `n = ${n}`, "ink small strong", "middle");

const drag = {
  id: () => "n",
  point: (state, width) => {
    const { at, x, y } = frameOf(state, width);
    const { cpu, gpu } = at(state.n);
    return [x(state.n), y(Math.min(cpu, gpu))];
  },
};

const times = (state, width) => {
  const place = frameOf(state, width);
  const { cpu, gpu } = place.at(N0);
  const name = (text, t, up) =>
    label(place.x(N0) + 8, place.y(t) + (up ? -10 : 22), text, "ink small");
  return (
    axes(place, width) +
    chosen(state, place) +
    curve(place, "cpu", "line1") +
    curve(place, "gpu", "line3") +
    name("CPU", cpu, cpu > gpu) +
    name(width < 480 ? "GPU" : "GPU + copies", gpu, cpu <= gpu) +
    crossed(state, place, width) +
    dot(...drag.point(state, width), 5, "ring chip")
  );
};

const draw = (state, width) =>
  sheet(
    width,
    404,
    bars(state, width),
    label(0, 136, "Time for matrices of n by n", "soft small"),
    times(state, width),
    label(LEFT + (width - LEFT - RIGHT) / 2, 398, "n", "soft small", "middle"),
  );

// In words

const worth = (state) => {
  const n = crossing(task(state));
  if (n === null) return "Moving is not worth it for any n.";
  if (n <= 1) return "Moving is worth it for every n.";
  return `Moving is worth it from n\u00a0≈\u00a0${round(n, 3)}.`;
};

const result = (state) => {
  const { cpu, gpu, copies } = productTimes(task(state));
  const what = state.products === 1 ? "" : ` with ${state.products} products`;
  const at = `At n\u00a0=\u00a0${state.n}${what}, `;
  return cpu < gpu
    ? `${at}the CPU wins: ${time(cpu)}, against ${time(gpu)} on the GPU.`
    : `${at}the GPU wins: ${time(gpu)}, of which ${time(copies)} are copies, ` +
        `against ${time(cpu)} on the CPU.`;
};

const summary = (state) =>
  `Two bars and a chart. ${result(state)} In the chart both times grow with n; the ` +
  "line of the CPU is the steeper one where computing, not copying, takes the time.";

const formula = (state) => {
  const t = task(state);
  const times = productTimes(t);
  const many = t.products === 1 ? "" : `${t.products} · `;
  const moved = 3 * t.n ** 2 * t.bytes;
  const computed = productFlops(t.n) / t.gpu >= moved / t.memory;
  const one = computed
    ? `2 · ${t.n}³ / ${rate(t.gpu)}`
    : `3 · ${t.n}² · ${t.bytes} B / ${bandwidth(t.memory)}`;
  return [
    worth(state),
    `CPU: ${many}2 · ${t.n}³ / ${rate(t.cpu)} = ${time(times.cpu)}`,
    `copies: 3 · ${time(t.latency)} + 3 · ${t.n}² · ${t.bytes} B / ` +
      `${bandwidth(t.link)} = ${time(times.copies)}`,
    `GPU: ${many}(${one} + ${time(t.launch)}) = ${time(times.product)}` +
      (computed ? "" : ", bound by its memory"),
  ];
};

const notes = (state) => [...NOTES[state.machine], MODEL];

// Settings

const hardware = (machine, type) => {
  const { cpu, gpu, link, memory } = MACHINES[machine] || MACHINES.h100;
  return { cpu: cpu[type], gpu: gpu[type], link, memory };
};

const settle = (state, id) => {
  if (["cpu", "gpu", "link", "memory"].includes(id))
    return { ...state, machine: "own" };
  const chosen = ["machine", "type"].includes(id) && state.machine !== "own";
  return chosen ? { ...state, ...hardware(state.machine, state.type) } : state;
};

const from = (id) => (state) => hardware(state.machine, state.type)[id];
const flops = (value) => rate(value * TERA);
const bytes = (value) => bandwidth(value * GIGA);
const micro = (value) => time(value * MICRO);

const COUNTS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

export default figure({
  name: "worth-moving",
  controls: [
    steps("n", "Size n of the matrices", SIZES, 4096, { format: (n) => `${n} × ${n}` }),
    ...more(
      steps("products", "Products of the matrices", COUNTS, 1),
      select("type", "Numbers", TYPES, "float32"),
      select("machine", "Machine", { ...MACHINES, own: "your own" }, "h100"),
      logRange("cpu", "Rate of the CPU", [0.01, 1000], from("cpu"), flops),
      logRange("gpu", "Rate of the GPU", [0.1, 10000], from("gpu"), flops),
      logRange("link", "Link, in one direction", [1, 1000], from("link"), bytes),
      logRange("memory", "Memory of the GPU", [10, 10000], from("memory"), bytes),
      logRange("latency", "Fixed time of a copy (assumed)", [1, 1000], 10, micro),
      logRange("launch", "Time to queue a product", [1, 1000], QUEUEING, micro),
    ),
  ],
  invite: "Drag n to the left until the CPU wins.",
  ...{ settle, draw, drag, summary, result, formula, notes },
  ...{ task, MACHINES }, // for tests
});
