/* How many users does a GPU serve? The figure shows the memory of a card, and the tokens per
 * second of all users against their number.
 */
"use strict";

(() => {
  const inNode = typeof module !== "undefined";
  const arithmetic = inNode ? require("./arithmetic.js") : globalThis.bookArithmetic;
  const inference = inNode
    ? require("./inference-arithmetic.js")
    : globalThis.bookInference;
  const cards = inNode ? require("./cards.js") : globalThis.bookCards;
  const explorable = inNode ? require("./explorable.js") : globalThis.bookExplorable;
  const { tag, label, canvas, hatching, area } = explorable;
  const { time, size, round } = arithmetic;

  const MODELS = {
    "llama3-8b": ["Llama 3 8B", { params: 8.03e9, layers: 32, kvHeads: 8, headSize: 128 }],
    "llama3-70b": ["Llama 3 70B", { params: 70.6e9, layers: 80, kvHeads: 8, headSize: 128 }],
  };
  const CARDS = {
    t4: "T4",
    a100: "A100",
    h100: "H100",
    h200: "H200",
    b200: "B200",
  };
  const LLAMA =
    "https://github.com/meta-llama/llama-models/blob/main/models/sku_list.py";
  const NOTES = [
    [
      "Weights are read once a step, and so is the cache of each user, with 2 bytes a " +
        "value. A step takes at least as long as its bytes or its arithmetic, in 16 bits " +
        "on dense matrices. Calls, attention's arithmetic and links are left out, and a " +
        "tenth of the memory is left free.",
    ],
    ["The shapes of the models are those of ", ["Meta", LLAMA], "; the cards are in cards.csv."],
  ];
  const MOST = 1024;

  const server = (state) => {
    const { memory, bandwidth, tensor16 } = cards[CARDS[state.card]];
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
      area("server", "s1", 0, 24, weights * scale, 30) +
      area("server", "wait", weights * scale, 24, caches * scale, 30) +
      tag("rect", { x: 0, y: 24, width: end, height: 30, class: "axis" }) +
      tag("path", { d: `M${end} 18V60`, class: "dashed" }) +
      area("server", "s1", 0, 70, 16, 14) +
      label(21, 82, `weights ${size(weights)}`, "soft small") +
      area("server", "wait", 164, 70, 16, 14) +
      label(185, 82, `caches ${size(caches)}`, "soft small")
    );
  };

  const scales = (state, width) => {
    const task = server(state);
    const at = (users) => inference.step(task, users).throughput;
    const low = Math.floor(Math.log10(at(1)));
    const high = Math.ceil(Math.log10(at(MOST)));
    return {
      at,
      low,
      high,
      x: (users) => LEFT + ((width - LEFT - RIGHT) * Math.log(users)) / Math.log(MOST),
      y: (rate) =>
        BOTTOM - ((BOTTOM - TOP) * (Math.log10(rate) - low)) / Math.max(1, high - low),
    };
  };

  const drag = {
    id: () => "users",
    point: (state, width) => {
      const { at, x, y } = scales(state, width);
      return [x(state.users), y(at(state.users))];
    },
  };

  const curve = ({ at, x, y }, from, to, kind) => {
    if (to <= from) return "";
    const points = Array.from({ length: 41 }, (_, i) => from * (to / from) ** (i / 40));
    return tag("path", {
      d: `M${points.map((users) => `${x(users)} ${y(at(users))}`).join("L")}`,
      class: kind,
    });
  };

  const chart = (state, width) => {
    const place = scales(state, width);
    const [cx, cy] = drag.point(state, width);
    const most = Math.min(MOST, inference.capacity(server(state)));
    const powers = Array.from(
      { length: place.high - place.low + 1 },
      (_, i) => place.low + i,
    );
    const rows = powers.map(
      (power) =>
        tag("path", { d: `M${LEFT} ${place.y(10 ** power)}H${width - RIGHT}`, class: "faint" }) +
        label(LEFT - 6, place.y(10 ** power) + 4, String(10 ** power), "soft small", "end"),
    );
    const columns = [1, 4, 16, 64, 256, 1024].map((users) =>
      label(place.x(users), BOTTOM + 18, users, "soft small", "middle"),
    );
    return (
      label(0, TOP - 22, "tokens per second of all users", "soft small") +
      rows.join("") +
      columns.join("") +
      tag("path", { d: `M${LEFT} ${TOP}V${BOTTOM}H${width - RIGHT}`, class: "axis" }) +
      curve(place, 1, Math.max(1, most), "line1") +
      curve(place, Math.max(1, most), MOST, "dashed") +
      label(LEFT + (width - LEFT - RIGHT) / 2, BOTTOM + 38, "users", "soft small", "middle") +
      tag("circle", { cx, cy, r: 5, class: "ring chip" })
    );
  };

  const draw = (state, width) =>
    canvas(
      width,
      376,
      tag("defs", {}, hatching("server", "s2")),
      memoryBar(state, width),
      chart(state, width),
    );

  // In words

  const people = (users) => `${users}\u00a0${users === 1 ? "user" : "users"}`;

  const result = (state) => {
    const task = server(state);
    const most = inference.capacity(task);
    const { time: seconds, throughput, arithmetic: computing, reading } = inference.step(
      task,
      state.users,
    );
    if (!most) return `The weights do not fit into the memory of the ${CARDS[state.card]}.`;
    if (!fits(state))
      return `The caches of ${people(state.users)} do not fit; ${people(most)} would.`;
    const what = computing > reading ? "the arithmetic" : "the bytes";
    return (
      `With ${people(state.users)}, a token takes ${time(seconds)}, and the GPU generates ` +
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

  const spec = {
    name: "server",
    controls: [
      {
        id: "users",
        kind: "range",
        label: "Users",
        values: Array.from({ length: 21 }, (_, i) => Math.round(2 ** (i / 2))).filter(
          (users, i, all) => users !== all[i - 1],
        ),
        initial: 16,
        format: people,
      },
      {
        id: "model",
        kind: "select",
        label: "Model",
        initial: "llama3-8b",
        more: true,
        options: Object.entries(MODELS).map(([value, [name]]) => [value, name]),
      },
      {
        id: "card",
        kind: "select",
        label: "Card",
        initial: "h100",
        options: Object.entries(CARDS),
      },
      {
        id: "length",
        kind: "range",
        label: "Tokens a user",
        values: Array.from({ length: 9 }, (_, i) => 2 ** (i + 9)),
        initial: 8192,
        format: String,
        more: true,
      },
      {
        id: "bits",
        kind: "select",
        label: "Bits of a weight",
        initial: "16",
        more: true,
        options: [
          ["16", "16"],
          ["8", "8"],
          ["4", "4"],
        ],
      },
    ],
    invite: "Drag the number of users to the right until their caches do not fit.",
    draw,
    drag,
    summary,
    result,
    formula,
    notes: () => NOTES,
    server,
  };

  if (inNode) module.exports = spec;
  else globalThis.bookExplorables[spec.name] = (figure) => explorable(figure, spec);
})();
