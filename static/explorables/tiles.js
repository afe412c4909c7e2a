/* Tiles: a program of a tiled product moves along the rows of A and the columns of B. The reader
 * chooses how large the matrices and a tile are, and sees what all programs load, and how long
 * that takes beside the operations.
 */
import { time, size, round, productFlops, GIGA, TERA } from "./arithmetic.js";
import { cards } from "./cards.js";
import { each, tag, label, vertical, line, chart } from "./chart.js";
import { steps, select, more } from "./controls.js";
import { figure } from "./explorable.js";

const { sheet, bars } = chart("tiles");

const SIZES = [256, 512, 1024, 2048, 4096, 8192, 16384];
const TILES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
const ITEM = 2; // bytes of a number
const RUN = 1800; // ms in which the program moves before the reader's eyes
const SHOWN = ["T4", "A100", "RTX 4090", "H100", "H200", "B200"];
/** @type {Record<string, any>} */
const CARDS = Object.fromEntries(
  SHOWN.map((name) => [name.toLowerCase().replace(" ", ""), { name, ...cards[name] }]),
);

const cardOf = ({ card }) => CARDS[card];

/** Return what the programs load, and the seconds of the loads and of the operations. */
const numbers = (state) => {
  const { n, tile } = state;
  const { bandwidth, tensor16 } = cardOf(state);
  const side = n / tile; // tiles in a row of a matrix
  const numbersLoaded = side ** 2 * 2 * tile * n;
  const bytes = ITEM * numbersLoaded;
  return {
    ...{ side, bytes, once: ITEM * 2 * n ** 2, numbersLoaded },
    loads: bytes / (bandwidth * GIGA),
    operations: productFlops(n) / (tensor16 * TERA),
    enough: (tensor16 * TERA * ITEM) / (bandwidth * GIGA), // the tile whose loads take as long
  };
};

// The drawing: the three matrices above two bars

const TOP = 26;
const GAP = 26;
const MOST = 216; // pixels of a matrix
const [ROW, COLUMN] = [0.3, 0.7]; // where in C the program's tile is
const LEAST = 3; // pixels of a tile that one can see

const box = (x, y, wide, tall, kind) => tag("rect", { x, y, width: wide, height: tall, class: kind });

/** Return lines between the tiles of a matrix, unless they would be too close. */
const raster = (x, y, edge, side) => {
  if (edge / side < 6) return "";
  const at = Array.from({ length: side - 1 }, (_, i) => ((i + 1) * edge) / side);
  return each(at, (d) => vertical(x + d, y, y + edge, "faint") + line([[x, y + d], [x + edge, y + d]], "faint"));
};

const matrices = ({ side }, width, part) => {
  const edge = Math.min(MOST, (width - 2 * GAP - 2) / 3);
  const [a, b, c] = [0, 1, 2].map((i) => 1 + i * (edge + GAP));
  const piece = Math.max(edge / side, LEAST);
  const place = (share) => Math.min((Math.floor(share * side) * edge) / side, edge - piece);
  const [row, column, now] = [place(ROW), place(COLUMN), place(Math.min(part, 1 - 1e-9))];
  const frame = (x, name, words) =>
    box(x, TOP, edge, edge, "idle") + raster(x, TOP, edge, side) +
    label(x + edge / 2, TOP - 9, name, "ink strong", "middle") +
    label(x + edge / 2, TOP + edge + 18, words, "soft small", "middle");
  return {
    bottom: TOP + edge + 34,
    drawn:
      frame(a, "A", "loads a row") +
      frame(b, "B", "loads a column") +
      frame(c, "C", "keeps a tile") +
      box(a, TOP + row, now + piece, piece, "s1") +
      box(a + now, TOP + row, piece, piece, "s1 solid") +
      box(b + column, TOP, piece, now + piece, "s1") +
      box(b + column, TOP + now, piece, piece, "s1 solid") +
      box(c + column, TOP + row, piece, piece, "s2 solid"),
  };
};

const times = ({ loads, operations }, width, y) => {
  const scale = (width - 200) / Math.max(loads, operations);
  const rows = [
    ["s1", "loads", loads],
    ["s2", "operations", operations],
  ];
  return bars(
    { left: 92, top: y, tall: 20, row: 30 },
    rows.map(([kind, name, at]) => [Math.max(1, at * scale), kind, name, time(at), at === Math.max(loads, operations)]),
  );
};

const draw = (state, width, motion) => {
  const found = numbers(state);
  const { drawn, bottom } = matrices(found, width, motion ? motion.part : 0.5);
  return sheet(width, bottom + 62, drawn, times(found, width, bottom));
};

// In words

const result = (state) => {
  const { side, bytes, loads, operations, enough } = numbers(state);
  const card = cardOf(state).name;
  return (
    `Tiles of ${state.tile} × ${state.tile} load ${size(bytes)} in all, each number ${side} times, in ` +
    `${time(loads)} from the memory of ${/^[AHR]/.test(card) ? "an" : "a"} ${card}, ` +
    (loads > operations
      ? `longer than the operations, ${time(operations)}; tiles of ${Math.ceil(enough)} would do.`
      : `less than the operations, ${time(operations)}.`)
  );
};

const summary = (state) =>
  "Three squares, the matrices A, B and C. In C one tile is filled, which a program keeps. In A the row of tiles " +
  "at the same height is shaded, in B the column of tiles at the same place, as far as the program has come. " +
  `Below, two bars: the times of the loads and of the operations. ${result(state)}`;

const formula = (state) => {
  const { n, tile } = state;
  const { side, numbersLoaded, bytes, loads, operations, enough } = numbers(state);
  const { bandwidth, tensor16 } = cardOf(state);
  return [
    `programs: (n / T)² = ${round(side)}² = ${round(side ** 2)}, and each loads 2 T n = ${2 * tile * n} numbers`,
    `loaded: 2 n³ / T = ${round(numbersLoaded)} numbers of ${ITEM} bytes, ${size(bytes)}`,
    `loads: ${size(bytes)} / ${round(bandwidth)}\u00a0GB/s = ${time(loads)}`,
    `operations: 2 n³ / ${round(tensor16)}\u00a0TFLOP/s = ${time(operations)}`,
    `both take as long if T = 2 R / B = ${Math.ceil(enough)}, for every n`,
  ];
};

const table = (state) => ({
  head: ["T", "loaded", "each number", "loads", "operations"],
  rows: TILES.map((tile) => {
    const { side, bytes, loads, operations } = numbers({ ...state, tile });
    return [tile, size(bytes), `${round(side)} times`, time(loads), time(operations)];
  }),
  chosen: TILES.indexOf(state.tile),
});

const NOTES = [
  "The registers of an SM hold 65,536 numbers of 32 bits, so the sums of a tile of 256 fill them, and none is larger.",
  "Bandwidths and rates, with 16-bit numbers, are those of the data sheets (d2l/cards.csv). Every load is counted " +
    "as one from the memory of the card: the L2 cache, in which programs find what others have loaded, is left out.",
];

/** Return a state in which a tile is not larger than the matrix. */
const settle = (state, id) =>
  id === "n" ? { ...state, tile: Math.min(state.tile, state.n) } : { ...state, n: Math.max(state.tile, state.n) };

export default figure({
  name: "tiles",
  controls: [
    steps("tile", "T: rows and columns of a tile", TILES, 64),
    steps("n", "n: rows and columns of a matrix", SIZES, 1024),
    ...more(select("card", "Card", CARDS, "h100")),
  ],
  actions: [{ label: "Run a program", motion: () => RUN }],
  card: "card",
  settle,
  invite: "Drag T: from which tile on do the operations take longer than the loads?",
  experiment: "tiles",
  notes: () => NOTES,
  ...{ draw, summary, result, formula, table },
  ...{ numbers }, // for tests
});
