/* How many users does a GPU serve? The figure shows the memory of a card, and the tokens per
 * second of all users against their number.
 */
"use strict";

const arithmetic = require("./arithmetic.js");
const inference = require("./inference-arithmetic.js");
const cards = require("./cards.js");
const { label, tag, line, vertical, dot, grid, logarithmic, powers, chart } =
  require("./chart.js");
const { select, steps, more, doubled } = require("./controls.js");
const { figure } = require("./explorable.js");

const { time, size, round, plural } = arithmetic;
const { sheet, stack, legend } = chart("server");

const MODELS = {
  "llama3-8b": ["Llama 3 8B", { params: 8.03e9, layers: 32, kvHeads: 8, headSize: 128 }],
  "llama3-70b": ["Llama 3 70B", { params: 70.6e9, layers: 80, kvHeads: 8, headSize: 128 }],
};
const CARDS = {
  ...{ t4: "T4", a100: "A100", h100: "H100", h200: "H200", b200: "B200" },
  rtx4090: "RTX 4090",
};
const LLAMA =
  "https://github.com/meta-llama/llama-models/blob/main/models/sku_list.py";
const NOTES = [
  "Weights are read once a step, and so is the cache of each user, with 2 bytes a " +
    "value. A step takes at least as long as its bytes or its arithmetic, in 16 bits " +
    "on dense matrices. Calls, attention's arithmetic and links are left out, and a " +
    "tenth of the memory is left free.",
  `The shapes of the models are those of [Meta](${LLAMA}); the cards are in ` +
    "cards.csv.",
];
const MOST = 1024;

const server = (state) => {
  const { advertised, bandwidth, tensor16, ...card } = cards[CARDS[state.card]];
  const memory = card.memory || 1e9 * advertised;
  return {
    model: MODELS[state.model][1],
    card: { memory, bandwidth: 1e9 * bandwidth, rate: 1e12 * tensor16 },
    bits: Number(state.bits),
    length: state.length,
  };
};

const fits = (state) => state.users <= inference.capacity(server(state));

// The drawing: the memory of the card above the throughput

const LEFT = 64;
const RIGHT = 24;
const [TOP, BOTTOM] = [140, 330];

const memoryBar = (state, width) => {
  const task = server(state);
  const { weights, caches } = inference.step(task, state.users);
  const { memory } = task.card;
  const scale = (width - 24) / Math.max(memory, weights + caches);
  const end = memory * scale;
  return (
    label(0, 14, `memory of the ${CARDS[state.card]}, ${size(memory)}`, "ink small strong") +
    stack([["s1", weights * scale], ["wait", caches * scale]], 0, 24, 30) +
    tag("rect", { x: 0, y: 24, width: end, height: 30, class: "axis" }) +
    vertical(end, 18, 60, "dashed") +
    legend(
      [
        ["s1", `weights ${size(weights)}`],
        ["wait", `caches ${size(caches)}`],
      ],
      (i) => [164 * i, 70],
      16,
      21,
    )
  );
};

/** Return the frame of the chart, and the throughput `at` a number of users. */
const frameOf = (state, width) => {
  const at = (users) => inference.step(server(state), users).throughput;
  const low = Math.floor(Math.log10(at(1)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(at(MOST))));
  const [left, right] = [LEFT, width - RIGHT];
  const x = logarithmic([1, MOST], [left, right]);
  const y = logarithmic([10 ** low, 10 ** high], [BOTTOM, TOP]);
  return { at, rows: powers(low, high), left, right, top: TOP, bottom: BOTTOM, x, y };
};

const drag = {
  id: () => "users",
  point: (state, width) => {
    const { at, x, y } = frameOf(state, width);
    return [x(state.users), y(at(state.users))];
  },
};

const curve = ({ at, x, y }, from, to, kind) => {
  if (to <= from) return "";
  const points = Array.from({ length: 41 }, (_, i) => from * (to / from) ** (i / 40));
  return line(points.map((users) => [x(users), y(at(users))]), kind);
};

const throughput = (state, width) => {
  const frame = frameOf(state, width);
  const most = Math.max(1, Math.min(MOST, inference.capacity(server(state))));
  const rows = frame.rows.map(([, power]) => [power, power]);
  const columns = [1, 4, 16, 64, 256, 1024].map((users) => [users]);
  const middle = (frame.left + frame.right) / 2;
  return (
    label(0, TOP - 22, "tokens per second of all users", "soft small") +
    grid(frame, rows, columns) +
    curve(frame, 1, most, "line1") +
    curve(frame, most, MOST, "dashed") +
    label(middle, BOTTOM + 38, "users", "soft small", "middle") +
    dot(...drag.point(state, width), 5, "ring chip")
  );
};

const draw = (state, width) =>
  sheet(width, 376, memoryBar(state, width), throughput(state, width));

// In words

const people = (users) => plural(users, "user").replace(" ", "\u00a0");

const result = (state) => {
  const task = server(state);
  const most = inference.capacity(task);
  const { time: seconds, throughput, arithmetic: computing, reading } = inference.step(
    task,
    state.users,
  );
  if (!most) return `The weights do not fit into the memory of the ${CARDS[state.card]}.`;
  if (!fits(state))
    return `The caches of ${people(state.users)} do not fit on the ${CARDS[state.card]}; ${people(most)} would.`;
  const what = computing > reading ? "the arithmetic" : "the bytes";
  return (
    `With ${people(state.users)}, a token takes ${time(seconds)}, and the ${CARDS[state.card]} generates ` +
    `${round(throughput)} tokens per second; ${what} decide${what === "the bytes" ? "" : "s"}.`
  );
};

const summary = (state) =>
  `A bar and a chart. ${result(state)} The bar shows the weights and the caches in the ` +
  "memory of the card. In the chart, the throughput rises with the users, more and more " +
  "slowly.";

const formula = (state) => {
  const task = server(state);
  const each = inference.cacheBytes(task.model, task.length);
  const { weights, caches, reading, arithmetic: computing } = inference.step(
    task,
    state.users,
  );
  return [
    `weights: ${size(weights)}; a user's cache: ${size(each)}; room for ` +
      people(inference.capacity(task)),
    `bytes: (${size(weights)} + ${size(caches)}) / ` +
      `${arithmetic.bandwidth(task.card.bandwidth)} = ${time(reading)}`,
    `arithmetic: 2 · ${round(task.model.params / 1e9)} billion · ${state.users} / ` +
      `${arithmetic.rate(task.card.rate)} = ${time(computing)}`,
  ];
};

const halves = Array.from({ length: 21 }, (_, i) => Math.round(2 ** (i / 2)));
const USERS = [...new Set(halves)];
const names = Object.entries(MODELS).map(([value, [name]]) => [value, name]);

module.exports = figure({
  name: "server",
  card: "card",
  controls: [
    steps("users", "Users", USERS, 16, { format: people }),
    ...more(select("model", "Model", names, "llama3-8b")),
    select("card", "Card", CARDS, "h100"),
    ...more(
      steps("length", "Tokens a user", doubled(512, 131072), 8192),
      select("bits", "Bits of a weight", ["16", "8", "4"], "16"),
    ),
  ],
  invite: "Drag the number of users to the right until their caches do not fit.",
  notes: () => NOTES,
  ...{ draw, drag, summary, result, formula },
  ...{ server }, // for tests
});
