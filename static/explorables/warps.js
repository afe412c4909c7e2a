/* Warps and waves: how much of a GPU a kernel keeps busy. The reader chooses a card and
 * what the compiler printed for a kernel, or pastes it, and sees how many of its blocks an
 * SM holds, whether their warps hide the latency of the memory, and in how many waves a
 * product of matrices runs.
 */
import { time, bandwidth, round, percent, plural, list, upper, GIGA } from "./arithmetic.js";
import * as performance from "./performance-arithmetic.js";
import { cards } from "./cards.js";
import {
  each, label, path, vertical, dot, diamond, grid, linear, logarithmic, ticks, chart,
} from "./chart.js";
import { select, range, logRange, text, more, presets } from "./controls.js";
import { figure } from "./explorable.js";

const { area, sheet, bars, stack } = chart("warps");

const NANO = 1e-9;
const KIBI = 1024;
const WARP = 32;

// Limits of an SM, the number of SMs and GB/s; NOTES names the sources.
const CARDS = Object.fromEntries(
  ["T4", "V100", "A100", "RTX 4090", "H100", "H200", "B200"].map((name) => {
    const { capability, cores, bandwidth, registers, shared, threads, blocks } = cards[name];
    const limits = { registers, shared, warps: threads / 32, blocks };
    const card = { name, capability, processors: cores, bandwidth, ...limits };
    return [name.toLowerCase().replace(" ", ""), card];
  }),
);

/** The products of the section, as Triton compiled them: [card, tile, warps per block,
 * registers, bytes of shared memory]. */
const COMPILED = {
  "a100-16": ["a100", 16, 4, 37, 4096],
  "a100-32": ["a100", 32, 4, 46, 8192],
  "a100-64": ["a100", 64, 4, 94, 16384],
  "a100-128": ["a100", 128, 4, 222, 32768],
  "a100-256": ["a100", 256, 4, 255, 65536],
  "a100-128-8": ["a100", 128, 8, 128, 32768],
  "a100-256-8": ["a100", 256, 8, 255, 65536],
  "t4-64": ["t4", 64, 4, 255, 8192],
  "h100-64": ["h100", 64, 4, 64, 24576],
  "b200-64": ["b200", 64, 4, 66, 24592],
};
const KERNELS = Object.fromEntries(
  Object.entries(COMPILED).map(([id, [card, tile, warps, registers, shared]]) => {
    const sides = { rows: String(tile), columns: String(tile) };
    const name = `${CARDS[card].name}, tile ${tile}, ${warps} warps`;
    return [id, { name, settings: { card, warps, registers, shared, ...sides } }];
  }),
);
const kernels = presets("kernel", KERNELS, "a100-64");

const cardOf = (state) => CARDS[state.card] || CARDS.a100;
const occupancy = (state) => performance.occupancy(cardOf(state), state);

/** Return the bytes that have to be in flight on an SM to hide the latency. */
const inFlight = (state) =>
  performance.inFlight(cardOf(state), state.latency * NANO * GIGA);

/** Return the bytes that asynchronous copies keep in flight, in all stages but one. */
const ahead = (state) => {
  const stages = Number(state.stages);
  return (occupancy(state).blocks * state.shared * (stages - 1)) / stages;
};

/** Return the warps that have to wait for the bytes that no copy brings ahead of time. */
const needed = (state) =>
  Math.max(0, inFlight(state) - ahead(state)) / (WARP * Number(state.bytes));

/** Return the places for blocks on the whole card. */
const places = (state) => {
  const { blocks } = occupancy(state);
  return cardOf(state).processors * (state.resident === "one" ? 1 : blocks);
};

const gridOf = (state, n = state.n) =>
  performance.programs(n, Number(state.rows), Number(state.columns));

const wavesOf = (state, n) => performance.waves(gridOf(state, n), places(state));

/** Return how many blocks the busiest SM computes, and the share of its time for which an
 * SM is busy on average if the blocks of an SM share a unit that limits them. */
const balance = (state) => performance.waves(gridOf(state), cardOf(state).processors);

// Products that others measured on an RTX 4090, in TFLOP/s, by size
const RATES = { 256: 2.3, 512: 18.6, 1024: 119.6, 2048: 157.5, 4096: 152.8, 8192: 165.8 };
const BEST = 165.8;

// The drawing: one SM above the waves of the whole card

const RIGHT = 12;
const ROW = 22;
const LIMITS = {
  ...{ registers: "registers", shared: "shared memory" },
  ...{ warps: "warps", blocks: "blocks" },
};
const LEFT = 124;

const limitRows = (state, width) => {
  const { limits, decides } = occupancy(state);
  const most = cardOf(state).blocks;
  const scale = (width - LEFT - 96) / most;
  const rows = Object.entries(LIMITS).map(([name, text]) => {
    const value = limits[name];
    const strong = decides.includes(name);
    const long = Math.max(1, Math.min(value, most) * scale);
    return [long, strong ? "s1 solid" : "s1", text, value > most ? `over ${most}` : value, strong];
  });
  return bars({ left: LEFT, top: 24, tall: 16, row: ROW }, rows);
};

const SLOTS = 24 + 4 * ROW + 22;

/** Return the blocks in the places of an SM for warps, and the warps that it needs. */
const slots = (state, width) => {
  const { warps } = cardOf(state);
  const { blocks } = occupancy(state);
  const unit = (width - 2) / warps;
  const boxes = Array(blocks).fill(["s3", state.warps * unit]);
  const wanted = needed(state);
  const long = Math.min(wanted, warps) * unit;
  const more = wanted > warps && width >= 480 ? ` (an SM holds ${warps})` : "";
  const copies = ahead(state) && width >= 480 ? `, with ${kibi(round(ahead(state)))} copied ahead` : "";
  const text =
    `${round(wanted)} warps${more} would hide a latency of ` +
    `${time(state.latency * NANO)}${copies}`;
  return (
    label(0, SLOTS - 8, `${blocks * state.warps} of ${warps} warps on an SM`, "ink small") +
    area("idle", 1, SLOTS, unit * warps, 22) +
    stack(boxes, 1, SLOTS, 22) +
    area("wait", 1, SLOTS + 28, long, 10) +
    label(0, SLOTS + 54, text, "ink small")
  );
};

const TOP = SLOTS + 106;
const BOTTOM = TOP + 150;
const AXIS = 52;
const [SMALLEST, LARGEST] = [128, 8192];

const frameOf = (width) => {
  const [left, right] = [AXIS, width - RIGHT];
  const x = logarithmic([SMALLEST, LARGEST], [left, right]);
  return { left, right, top: TOP, bottom: BOTTOM, x, y: linear([0, 1], [BOTTOM, TOP]) };
};

/** Return the sizes after which the number of programs grows. */
const edges = ({ rows, columns }) => {
  const list = [];
  for (const tile of new Set([Number(rows), Number(columns)]))
    for (let n = tile; n < LARGEST; n += tile) list.push(n);
  return [...new Set(list)].filter((n) => n > SMALLEST).sort((a, b) => a - b);
};

const staircase = (state, { x, y }) => {
  const steps = edges(state).map(
    (n) => `H${x(n)}V${y(wavesOf(state, n + 1).efficiency)}`,
  );
  const start = `M${x(SMALLEST)} ${y(wavesOf(state, SMALLEST).efficiency)}`;
  return path(`${start}${steps.join("")}H${x(LARGEST)}`, "line1");
};

const axes = (frame, width) => {
  const rows = ticks(1, 4).map((share) => [share, `${100 * share}\u00a0%`]);
  const columns = [128, 256, 512, 1024, 2048, 4096, 8192].map((n, i) => [
    ...[n, width < 480 && i % 2 ? "" : n, i === 6 ? "end" : "middle"],
  ]);
  return grid(frame, rows, columns);
};

const hasRates = (state) => state.card === "rtx4090";
const measuredPoints = ({ x, y }) =>
  each(Object.entries(RATES), ([n, value]) => diamond(x(Number(n)), y(value / BEST), 6));

const waveChart = (state, width) => {
  const place = frameOf(width);
  const { x, y } = place;
  const title = "Share of the places for blocks that is busy, by the size n";
  const short = "Busy share of the places, by n";
  const start = label(0, TOP - 22, width < 480 ? short : title, "soft small");
  if (places(state) === 0)
    return start + axes(place, width) + label(AXIS + 10, TOP + 60, "no block fits");
  const { efficiency } = wavesOf(state, state.n);
  return (
    start +
    axes(place, width) +
    staircase(state, place) +
    (hasRates(state) ? measuredPoints(place) : "") +
    vertical(x(state.n), TOP, BOTTOM, "dashed") +
    dot(x(state.n), y(efficiency), 6, "ring")
  );
};

const drag = {
  id: () => "n",
  point: (state, width) => {
    const { x, y } = frameOf(width);
    return [x(state.n), places(state) ? y(wavesOf(state, state.n).efficiency) : BOTTOM];
  },
};

const draw = (state, width) =>
  sheet(
    width,
    BOTTOM + (hasRates(state) ? 56 : 28),
    label(0, 12, `Blocks that an SM of the ${cardOf(state).name} can hold`, "soft small"),
    limitRows(state, width),
    slots(state, width),
    waveChart(state, width),
    hasRates(state)
      ? diamond(8, BOTTOM + 41, 6) +
          label(20, BOTTOM + 46, "published rate / 165.8 TFLOP/s", "soft small")
      : "",
  );

// In words

const decision = (state) => {
  const { decides } = occupancy(state);
  const names = decides.map((name) =>
    name === "blocks" || name === "warps"
      ? `the largest number of ${name}`
      : `the ${LIMITS[name]}`,
  );
  const verb = names.length === 1 && decides[0] !== "registers" ? "decides" : "decide";
  return `${list(names)} ${verb}`;
};

/** Return a sentence on whether the warps hide the latency of the memory. */
const enough = (state) => {
  const { blocks } = occupancy(state);
  const wanted = Math.ceil(needed(state) - 1e-9);
  const there = blocks * state.warps;
  const count = plural(wanted, "warp");
  if (wanted === 0)
    return "The copies ahead hide the latency of the memory, whatever the occupancy is.";
  return there >= wanted
    ? `This hides the latency of the memory, for which ${count} ` +
        `${wanted === 1 ? "is" : "are"} enough.`
    : `To hide the latency of the memory, ${count} would have to wait for it at the ` +
        "same time. More stages would copy ahead instead.";
};

const waveText = (state) => {
  const { number, efficiency } = wavesOf(state, state.n);
  return (
    `a product with n\u00a0=\u00a0${state.n} takes ${plural(number, "wave")} that ` +
    `${number === 1 ? "keeps" : "keep"} ${percent(efficiency, 3)} of the places busy, ` +
    `and ${percent(balance(state).efficiency, 3)} of the SMs`
  );
};

/** Return sentences on what a pasted text lacks, and on numbers that spill. */
const warning = (state) => {
  const read = performance.parseKernel(state.line || "");
  if (!read)
    return state.line
      ? "The pasted text has no number of registers, so the sliders count. "
      : "";
  const { shared, stack } = read;
  return (
    (shared === undefined
      ? "The pasted text does not contain the shared memory, so its slider counts. "
      : "") +
    (stack ? `Numbers spill: each thread has ${stack} bytes of stack. ` : "")
  );
};

const result = (state) => {
  const { blocks } = occupancy(state);
  const { name } = cardOf(state);
  if (blocks === 0)
    return (
      `${warning(state)}No block fits on an SM of the ${name}: ${decision(state)}, so ` +
      "smaller tiles or fewer warps in a block would help."
    );
  return (
    `${warning(state)}An SM of the ${name} holds ${plural(blocks, "block")}, and ` +
    `${waveText(state)}.`
  );
};

const summary = (state) =>
  "Four bars for the blocks that the limits of an SM allow, a row of the warps on an SM " +
  "with a bar for those that the memory needs, and a staircase of the busy share over " +
  `the size of a product. ${result(state)} A table below has the numbers.`;

const formula = (state) => {
  const { blocks, share } = occupancy(state);
  const card = cardOf(state);
  const unit = Math.ceil((WARP * state.registers) / 256) * 256;
  const quarter = Math.floor(16384 / unit);
  const tiles = (side) => Math.ceil(state.n / side);
  const kept = performance.reserved(card.capability);
  const flying = inFlight(state);
  const stages = Number(state.stages);
  const n = places(state) ? wavesOf(state, state.n).number : 0;
  return [
    `${upper(decision(state))} how many blocks an SM holds.`,
    enough(state),
    `registers of a warp: 32 · ${state.registers}, rounded up to a multiple of 256: ` +
      `${unit}; warps on a quarter of the SM: 16384 / ${unit}, rounded down: ${quarter}; ` +
      `blocks: 4 · ${quarter} / ${state.warps}, rounded down`,
    `shared memory of a block: ${state.shared} B${kept ? ` + ${kept} B reserved` : ""}, ` +
      `of ${card.shared} B`,
    `occupancy: ${blocks} · ${state.warps} / ${card.warps} = ${percent(share, 3)}`,
    `Little’s law: ${state.latency} ns · ${bandwidth(card.bandwidth * GIGA)} / ` +
      `${card.processors} SMs = ${round(flying / KIBI)} KiB in flight on an SM`,
    stages > 1 &&
      `copied ahead: ${blocks} · ${state.shared} B · ${stages - 1} / ${stages} = ` +
        `${round(ahead(state) / KIBI)} KiB, since one stage is in use`,
    `warps for the ${stages > 1 ? "rest" : "bytes in flight"}, 32 · ${state.bytes} B each: ` +
      `${round(needed(state))}`,
    n &&
      `tiles: ${tiles(state.rows)} down (${state.n} / ${state.rows}, rounded up) by ` +
        `${tiles(state.columns)} across; waves: ${tiles(state.rows)} · ` +
        `${tiles(state.columns)} / ${places(state)}, rounded up: ${n}`,
    `blocks of the busiest SM: ${gridOf(state)} / ${card.processors}, rounded up: ` +
      `${balance(state).number}; busy SMs: ${gridOf(state)} / (${card.processors} · ` +
      `${balance(state).number}) = ${percent(balance(state).efficiency, 3)}`,
  ];
};

const table = (state) => {
  const row = ([id, card]) => {
    const other = { ...state, card: id };
    const { blocks, decides, share } = occupancy(other);
    const busy = [wavesOf(other, state.n), balance(other)].map(({ efficiency }) =>
      places(other) ? percent(efficiency, 3) : "–",
    );
    return [
      `${card.name}${id === state.card ? ", chosen" : ""}`,
      String(blocks),
      decides.map((name) => LIMITS[name]).join(", "),
      percent(share, 3),
      String(round(needed(other))),
      ...busy,
    ];
  };
  return {
    head: [
      ...["card, with the same kernel", "blocks on an SM", "decided by", "occupancy"],
      ...["warps needed", "busy places", "busy SMs"],
    ],
    rows: Object.entries(CARDS).map(row),
    chosen: Object.keys(CARDS).indexOf(state.card),
  };
};

const DOCS = "https://docs.nvidia.com";
const CAPABILITIES = `${DOCS}/cuda/cuda-programming-guide/05-appendices/compute-capabilities.html`;
const GUIDE = `${DOCS}/cuda/cuda-c-best-practices-guide/`;
const TUNING = `${DOCS}/cuda/ampere-tuning-guide/index.html`;
const PRODUCTS = `${DOCS}/deeplearning/performance/dl-performance-matrix-multiplication/index.html`;
const XLA = "https://github.com/openxla/xla/tree/main/xla/backends/gpu/target_config/specs";
const ADA = "https://images.nvidia.com/aem-dam/Solutions/geforce/ada/nvidia-ada-gpu-architecture.pdf";
const NEU = "https://github.com/smolix/d2l-neu";
const NOTES = [
  "The limits of an SM follow from the compute capability ([NVIDIA, CUDA " +
    `Programming Guide](${CAPABILITIES})). A warp gets registers in units of 256 ` +
    `([NVIDIA, Best Practices Guide](${GUIDE})), each quarter of an SM has 16384 of ` +
    "them, and from the A100 on 1024 bytes of shared memory are reserved for each " +
    `block ([NVIDIA, Ampere Tuning Guide](${TUNING})). SMs and bandwidths are those ` +
    `of [OpenXLA](${XLA}) and, for the RTX 4090, of [NVIDIA, Ada ` +
    `architecture](${ADA}).`,
  "Registers and shared memory of the kernels are what Triton 3.7.1 printed for " +
    "the section’s product. They are a compiler’s plan, not a measurement. Paste " +
    "what another compiler prints. Shared memory that a program requests at the " +
    "launch is unknown to ptxas; set it with the slider.",
  "The latency is an assumption. Little’s law gives the warps that have to wait " +
    "for memory at the same time, if each thread has requested the chosen bytes. " +
    "With several stages, asynchronous copies fill all of the shared memory but the " +
    "stage that is in use.",
  "Waves count a place for each block that an SM can hold, as in [NVIDIA’s guide " +
    `to products](${PRODUCTS}). They limit blocks that wait for the memory, of which an ` +
    "SM runs several as fast as one. Where blocks share a busy unit of the SM, the SM with " +
    "the most blocks is the last to finish, however many of them run at once: busy SMs are " +
    "the blocks of an average SM, as a share of those. The published rates are PyTorch’s on an RTX 4090 " +
    `([Zhang et al., 2026](${NEU})); its library chooses a tile for each size, and ` +
    "the smallest product waits for its call.",
];

// Settings

const TILES = ["16", "32", "64", "128", "256"];

/** Return the card that a pasted text names, or undefined. */
const cardIn = ({ card, capability }) => {
  if (CARDS[card]) return card;
  const version = capability / 10;
  return Object.keys(CARDS).find((id) => CARDS[id].capability === version);
};

/** Return a state with what a pasted text says. */
const adopt = (state) => {
  const read = performance.parseKernel(state.line);
  if (!read) return state;
  const { registers, shared = state.shared, warps = state.warps, tile } = read;
  const tiles = TILES.includes(String(tile))
    ? { rows: String(tile), columns: String(tile) }
    : {};
  return {
    ...{ ...state, registers, ...tiles, card: cardIn(read) || state.card },
    shared: Math.min(shared, MOST_SHARED),
    warps: Math.min(Math.max(1, warps), 32),
  };
};

const settle = (state, id) => {
  if (id === "kernel")
    return KERNELS[state.kernel] ? { ...kernels.choose(state), line: "" } : state;
  return kernels.adopt(id === "line" ? adopt(state) : state);
};

const MOST_SHARED = 227 * KIBI;
const kibi = (bytes) =>
  bytes < KIBI ? `${bytes} bytes` : `${round(bytes / KIBI, 4)}\u00a0KiB`;
const { from } = kernels;
const RESIDENT = { fit: "as many as fit", one: "one" };
const BYTES = ["4", "8", "16", "32", "64"];
const STAGES = [["1", "1, none ahead"], "2", "3", "4", "5", "6"];

export default figure({
  name: "warps",
  card: "card",
  controls: [
    ...more(
      kernels.menu("Kernel", "your own"),
      select("card", "Card", CARDS, from("card")),
      text(
        "line",
        "Paste a line of this section, or what ptxas -v prints",
        "ptxas info : Used 94 registers, 16384 bytes smem",
      ),
    ),
    logRange("n", "Size n of the matrices", [SMALLEST, LARGEST], 2048, String, { step: 64 }),
    range("registers", "Registers of a thread", [16, 255, 1], from("registers")),
    ...more(
      range("shared", "Shared memory of a block", [0, MOST_SHARED, KIBI], from("shared"), {
        format: kibi,
      }),
      range("warps", "Warps in a block", [1, 32, 1], from("warps")),
      select("rows", "Rows of a tile", TILES, from("rows")),
      select("columns", "Columns of a tile", TILES, from("columns")),
      select("resident", "Blocks that run on an SM", RESIDENT, "fit"),
      range("latency", "Memory latency (assumed)", [200, 1000, 50], 500, {
        format: (x) => time(x * NANO),
      }),
      select("bytes", "Bytes that each thread has requested", BYTES, "16"),
      select("stages", "Stages of asynchronous copies", STAGES, "1"),
    ),
  ],
  invite: "Drag n to the left until about half of the places are idle.",
  notes: () => NOTES,
  ...{ settle, draw, drag, summary, result, formula, table },
  ...{ occupancy, needed, ahead, CARDS, KERNELS, RATES }, // for tests
});
