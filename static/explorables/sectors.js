/* Sectors: which bytes move when the 32 threads of a warp read numbers at some distance
 * from each other.
 */
import { percent, plural } from "./arithmetic.js";
import * as performance from "./performance-arithmetic.js";
import { each, label, chart } from "./chart.js";
import { select, range, more, presets } from "./controls.js";
import { figure } from "./explorable.js";
import { WARP, sectorRows } from "./warp-drawing.js";

const { area, sheet, legend } = chart("sectors");

const SECTOR = 32;

/** The accesses that the reader can choose by name, with the `settings` of each. */
const PRESETS = {
  neighbors: { name: "neighbors", settings: { stride: 1, size: "4", offset: 0 } },
  two: { name: "every second number", settings: { stride: 2, size: "4", offset: 0 } },
  column: {
    name: "a column of a matrix, 32 wide",
    settings: { stride: 32, size: "4", offset: 0 },
  },
  shifted: {
    name: "neighbors, off by one",
    settings: { stride: 1, size: "4", offset: 1 },
  },
};
const { settle, from, menu } = presets("preset", PRESETS, "two");

/** Return the argument of `performance.sectors` for a state. */
const setting = ({ stride, size, offset }) => ({
  stride,
  size: Number(size),
  offset: offset * Number(size),
});

const access = (state) => performance.sectors(setting(state));

// The drawing: the threads in a row, the sectors in rows below them

const PLACE = { top: 64, tall: 22 };

/** Return the row of threads. */
const threads = (width) => {
  const wide = width / WARP;
  const boxes = each(Array(WARP).fill(wide - 2), (box, t) =>
    area("s3", t * wide + 1, 20, box, 14),
  );
  return label(0, 12, "32 threads of a warp", "soft small") + boxes;
};

/** Return each thread's line to the number that it reads, and this number. The one
 * that is pointed at stands out. Lines to the last rows are behind all others. */
const reads = (state, { read }) => {
  const { stride, size, offset } = setting(state);
  const line = (_, t) => read(t, offset + t * stride * size, size, "s1 solid", 0.65);
  return Array.from({ length: WARP }, line).reverse().join("");
};

const names = (top, width) => {
  const unused = width < 480 ? "moved, but not used" : "bytes moved, but not used";
  const items = [
    ["s1 solid", "bytes used"],
    ["wait", unused],
  ];
  return legend(items, (i) => [[2, 112][i], top]);
};

const draw = (state, width) => {
  const rows = sectorRows(access(state).sectors, SECTOR, PLACE, width);
  return sheet(
    width,
    rows.bottom + 30,
    threads(width),
    rows.boxes((...box) => area("wait", ...box)),
    reads(state, rows),
    names(rows.bottom + 8, width),
  );
};

// In words

/** Return the fewest sectors that hold the numbers of a warp. */
const fewest = ({ size }) => Math.max(1, (WARP * Number(size)) / SECTOR);

const result = (state) => {
  const { sectors, used } = access(state);
  return (
    `With a stride of ${state.stride}, the warp touches ${plural(sectors.length, "sector")} and ` +
    `uses ${percent(used, 3)} of the bytes that it moves.`
  );
};

const summary = (state) =>
  "A row of 32 threads, with lines to the numbers that they read, in boxes for the " +
  `sectors of 32 bytes that contain them. ${result(state)} A table below has the numbers.`;

const formula = (state) => {
  const { sectors, used } = access(state);
  const { stride, size, offset } = setting(state);
  const least =
    sectors.length === fewest(state)
      ? "No access needs fewer sectors."
      : `${WARP} neighbors that begin with a sector need only ${fewest(state)}.`;
  return [
    `The warp asks for ${WARP * size} bytes and moves ${SECTOR * sectors.length}. ${least}`,
    `thread t reads the ${size === 1 ? "byte" : `${size} bytes`} from address ` +
      `${offset} + t · ${stride} · ${size} on, in sector ⌊address / ${SECTOR}⌋`,
    `used: ${WARP} · ${size} B / (${sectors.length} · ${SECTOR} B) = ${percent(used, 3)}`,
  ];
};

const table = (state) => {
  const row = (name, change) => {
    const { sectors, used } = access({ ...state, ...change });
    const bytes = SECTOR * sectors.length;
    return [name, String(sectors.length), String(bytes), percent(used, 3)];
  };
  const strides = [...new Set([state.stride, 1, 2, 4, 8, 16, 32])];
  return {
    head: ["stride", "sectors", "bytes moved", "used"],
    rows: strides
      .sort((a, b) => a - b)
      .map((stride) => row(`${stride}${stride === state.stride ? ", chosen" : ""}`, {
        stride,
      })),
  };
};

const GUIDE = "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/";
const NOTES = [
  "The memory of a GPU moves whole sectors of 32 bytes ([NVIDIA, Best Practices " +
    `Guide](${GUIDE})). The guide counts the same sectors for a warp: four for ` +
    "neighbors with 4 bytes, five if they are shifted, and eight with a stride of " +
    "two.",
  "Caches are left out. If other warps soon read the rest of a sector, the cache " +
    "can serve them. A GPU refuses addresses that are not multiples of the size of " +
    "the number, so the first address here is one.",
];

// Settings

const SIZES = [
  ["1", "1 byte (FP8)"],
  ["2", "2 bytes (bfloat16, float16)"],
  ["4", "4 bytes (float32)"],
  ["8", "8 bytes (float64)"],
];

export default figure({
  name: "sectors",
  experiment: "sectors",
  controls: [
    ...more(menu("What the warp reads", "your own choice")),
    range("stride", "Stride, in numbers", [1, 32, 1], from("stride")),
    ...more(
      select("size", "Size of a number", SIZES, from("size")),
      range("offset", "First number", [0, 31, 1], from("offset")),
    ),
  ],
  invite: "Drag the stride to 32, and see how few of the moved bytes are used.",
  notes: () => NOTES,
  ...{ settle, draw, summary, result, formula, table },
  ...{ access }, // for tests
});
