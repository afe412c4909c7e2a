/* The budget of a turn: for how many clocks a turn of a product occupies each unit of an SM.
 * The reader chooses a card and one of its plans, and sees which unit limits the plan.
 */
import { percent, rate, TERA } from "./arithmetic.js";
import * as performance from "./performance-arithmetic.js";
import { cards } from "./cards.js";
import { label, chart } from "./chart.js";
import { select, range, more } from "./controls.js";
import { figure } from "./explorable.js";

const { sheet, bars } = chart("turns");

/** The instructions of a warp in the loops of d2l/turns.csv, and the KiB that a block reads
 * from shared memory. A plan is rows x columns x terms of a tile - warps. */
const PLANS = {
  A100: { "64x64x32-4": [86, 16], "128x128x32-4": [160, 32], "128x128x32-8": [104, 48] },
  H100: {
    ...{ "64x64x32-4": [83, 8], "128x128x32-4": [108, 24] },
    ...{ "128x128x64-4": [83, 48], "128x256x64-8": [74, 80] },
  },
  B200: { "64x64x32-4": [102, 8], "128x128x64-4": [87, 32], "128x256x64-8": [85, 48] },
};
const nameOf = (id) => `${id.replaceAll("x", " × ").replace("-", ", ")} warps`;

const WRITES = "reads + writes";

/** Return that of some units which is occupied for longest. */
const longest = (units, clocks) => units.reduce((a, b) => (clocks[b] > clocks[a] ? b : a));
/** Return one share of the peak, or both if they differ. */
const between = (shares) => [...new Set(shares.map((share) => percent(share)))].join(" to ");

/** Return the card of a state, and its turns: the one chosen and all others. */
const turns = (state) => {
  const name = state.card.toUpperCase();
  const all = Object.entries(PLANS[name]).map(([id, [instructions, kib]]) => {
    const [rows, columns, terms, warps] = id.split(/\D/).map(Number);
    const plan = { rows, columns, terms, warps, instructions, read: 1024 * kib };
    const clocks = performance.turnClocks(cards[name], plan, state.l2);
    const shareOf = (unit) => clocks["tensor cores"] / clocks[unit];
    const limit = longest(Object.keys(clocks), clocks);
    const free = longest(Object.keys(clocks).filter((unit) => unit !== WRITES), clocks);
    const shares = [limit, free].map(shareOf); // where writes take clocks, and where not
    const isChosen = id === state[state.card];
    return { ...{ name: nameOf(id), plan, clocks, limit }, shares, isChosen };
  });
  return { name, card: cards[name], all, turn: all.find(({ isChosen }) => isChosen) };
};

// The drawing: the units of the chosen plan above the shares of all plans of the card

const ROW = 26;
const UNITS = { left: 118, right: 104, top: 24, tall: 18, row: ROW };
const SHARES = { ...UNITS, left: 186, right: 112, top: UNITS.top + 5 * ROW + 48 };
const kindOf = (kind, isStrong) => (isStrong ? `${kind} solid` : kind);

const draw = (state, width) => {
  const { name, all, turn } = turns(state);
  const scale = ({ left, right }, most) => (width - left - right) / most;
  const clock = scale(UNITS, turn.clocks[turn.limit]);
  const units = Object.entries(turn.clocks).map(([unit, busy]) => [
    ...[busy * clock, kindOf("s1", unit === turn.limit), unit],
    ...[`${Math.round(busy)} clocks`, unit === turn.limit],
  ]);
  const rows = all.map(({ shares, name, isChosen }) => [
    ...[shares[0] * scale(SHARES, 1), kindOf("s3", isChosen), name, between(shares), isChosen],
  ]);
  return sheet(
    width,
    SHARES.top + 4 * ROW,
    label(0, 12, `A turn on the ${name}, ${turn.name}`, "soft small"),
    bars(UNITS, units),
    label(0, SHARES.top - 12, "Share of the peak that each plan allows", "soft small"),
    bars(SHARES, rows),
  );
};

// In words

const UNIT = {
  ...{ issue: "schedulers", "shared reads": "shared memory" },
  [WRITES]: "shared memory, with writes,",
};

const result = (state) => {
  const { name, turn } = turns(state);
  const [most, cores] = [turn.clocks[turn.limit], turn.clocks["tensor cores"]].map(Math.round);
  const unit = UNIT[turn.limit] ?? turn.limit;
  const [share, free] = turn.shares;
  const others = share < 1 ? `the tensor cores for ${cores}` : "no unit for longer";
  const unless = free > share ? `, or ${percent(free)} if writes take no clocks` : "";
  return (
    `On the ${name}, a turn occupies the ${unit} for ${most} clocks and ${others}, ` +
    `so the plan allows ${percent(share)} of the peak${unless}.`
  );
};

const clocksOf = ({ clocks }) => Object.values(clocks).map((busy) => String(Math.round(busy)));

const summary = (state) => {
  const { name, turn } = turns(state);
  const units = Object.keys(turn.clocks).map((unit, i) => `${unit} ${clocksOf(turn)[i]}`);
  return (
    `Bars for the clocks of a turn on the ${name}, with tiles of ${turn.name}: ` +
    `${units.join(", ")}. ${result(state)} Below, a bar for the share of each plan of the card.`
  );
};

const formula = (state) => {
  const { card, turn } = turns(state);
  const { rows, columns, terms, warps, instructions, read } = turn.plan;
  const [cores, issue, reads, both, l2] = clocksOf(turn);
  const written = 2 * terms * (rows + columns);
  const peak = rate(card.tensor16 * TERA);
  return [
    `tensor cores: 2 · ${rows} · ${columns} · ${terms} / ` +
      `${(2 * rows * columns * terms) / turn.clocks["tensor cores"]} = ${cores}`,
    `issue: ${warps} warps · ${instructions} instructions / 4 schedulers = ${issue}`,
    `shared reads: ${read} B / 128 B = ${reads}`,
    `written: 2 B · ${terms} · (${rows} + ${columns}) = ${written} B`,
    `reads + writes: (${read} B + ${written} B) / 128 B = ${both}`,
    `L2 cache: ${written} B · ${card.cores} SMs / ${state.l2} B = ${l2}`,
    `rate: ${percent(turn.shares[0])} · ${peak} = ${rate(turn.shares[0] * card.tensor16 * TERA)}`,
  ];
};

const table = (state) => {
  const { all } = turns(state);
  return {
    head: ["plan", ...Object.keys(all[0].clocks), "share"],
    rows: all.map((turn) => [turn.name, ...clocksOf(turn), between(turn.shares)]),
    chosen: all.findIndex(({ isChosen }) => isChosen),
  };
};

const A100 = "https://images.nvidia.com/aem-dam/en-zz/Solutions/data-center/nvidia-ampere-architecture-whitepaper.pdf";
const NOTES = [
  "A plan is named by the rows and columns of a tile, the terms that a turn adds, and the warps " +
    "of a block. The loops are those of turns.csv, as Triton compiled them, and the clocks are " +
    "those of turn_clocks. Nothing is measured.",
  "Each instruction of the tensor cores is assumed to read once what it multiplies, unless LDSM " +
    "has loaded that. Copies write both tiles to the shared memory. Whether these writes take " +
    "clocks from the reads is published for no card, so both shares are given where they differ.",
  "The L2 cache of an A100 delivers 5120 bytes " +
    `per clock ([NVIDIA, A100](${A100})); for later cards this is an assumption.`,
];

// Settings

/** Return the menu of a card's plans, which is there while the card is chosen. */
const menu = (name) => {
  const [id, ids] = [name.toLowerCase(), Object.keys(PLANS[name])];
  const options = ids.map((plan) => [plan, nameOf(plan)]);
  return select(id, "Plan", options, ids[0], { when: ({ card }) => card === id });
};

const names = Object.keys(PLANS);

export default figure({
  name: "turns",
  card: "card",
  controls: [
    select("card", "Card", names.map((name) => [name.toLowerCase(), name]), "h100"),
    ...names.map(menu),
    ...more(
      range("l2", "The L2 cache delivers", [2560, 20480, 512], 5120, {
        format: (bytes) => `${bytes} bytes per clock`,
      }),
    ),
  ],
  invite: "Choose a card and a plan, and see which unit takes longest.",
  notes: () => NOTES,
  ...{ draw, summary, result, formula, table },
  ...{ turns }, // for tests
});
