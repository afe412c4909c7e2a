/* What a card must hold to adapt a language model: all parameters, LoRA in 16 bits and LoRA
 * over 4.5 bits beside each other. The reader drags the rank and chooses the card.
 */
import { size, percent, inUnits, list } from "./arithmetic.js";
import * as memory from "./memory-arithmetic.js";
import * as usual from "./expectations.js";
import { models } from "./language-models.js";
import { cards } from "./cards.js";
import { each, label, path, vertical, dot, chart } from "./chart.js";
import { select, steps, more, doubled } from "./controls.js";
import { figure } from "./explorable.js";

const { sheet, stack, legend } = chart("adapt");

const model = (name) => ({ name, sizes: models[name] });
/** @type {Record<string, any>} */
const MODELS = {
  llama1: model("Llama 3.2 1B"),
  llama3: model("Llama 3.2 3B"),
  llama8: model("Llama 3 8B"),
  qwen14: model("Qwen2.5 14B"),
  llama70: model("Llama 3 70B"),
};

const SHOWN = ["T4", "RTX 4090", "A100", "H100", "H200", "B200"];
/** @type {Record<string, any>} */
const CARDS = Object.fromEntries(
  SHOWN.map((name) => {
    const capacity = usual.cardMemory(cards[name]);
    return [name.toLowerCase().replace(" ", ""), { name, capacity }];
  }),
);

const RANKS = [1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024];

/** The ways to adapt a model, with the bits of a frozen weight if there are any. */
const WAYS = [
  { name: "all parameters", bits: 0 },
  { name: "LoRA, 16 bits", bits: 16 },
  { name: "LoRA, 4.5 bits", bits: 4.5 },
];
const LAST = WAYS.length - 1;

const ROLES = [
  ["weights", "s1 solid", "weights"],
  ["activations", "s2", "activations"],
  ["logits", "wait", "logits"],
  ["training", "s3 solid", "all that is trained: parameters, gradients, Adam’s state"],
];

const modelOf = (state) => MODELS[state.model];
const cardOf = (state) => CARDS[state.card];
const setting = (state) => ({
  ...{ batch: 1, length: state.length, loss: state.loss, recompute: state.recompute },
  ...modelOf(state).sizes,
});

/** Return the bytes of a way by role; all parameters bring their own weights and state. */
const needOf = (state, { bits }) =>
  bits ? memory.adaptingNeed(setting(state), bits, state.rank) : memory.trainingNeed(setting(state));

const total = (need) => ROLES.reduce((sum, [role]) => sum + need[role], 0);
const bytesOf = (state, way) => total(needOf(state, way));
const usable = (state) => (1 - usual.LEFT) * cardOf(state).capacity;
const fits = (state, way) => usual.fits(bytesOf(state, way), cardOf(state).capacity);

const PLAIN = { recipe: "bfloat16", attention: "fused", dropout: false };
const parameters = (state) => memory.countParameters({ ...setting(state), ...PLAIN });
const adapters = (state) => memory.loraParameters(setting(state), state.rank);

/** Return the largest rank that the card holds with a way, or 0. */
const largest = (state, way) =>
  RANKS.filter((rank) => fits({ ...state, rank }, way)).at(-1) ?? 0;

// The drawing: a bar for each way, below the lines of the card's memory

const TOP = 62;
const ROW = 62;
const TALL = 24;
const BOTTOM = TOP + WAYS.length * ROW;
const BEYOND = 1.25; // The axis ends behind the card's memory.

const scaleOf = (state, width) => (width - 14) / (BEYOND * cardOf(state).capacity);

/** Return the end of a bar, which the edge of the drawing may cut. */
const endOf = (state, way, width) =>
  Math.min(width - 14, bytesOf(state, way) * scaleOf(state, width));

/** Return the parts of a bar, the last of which may be cut. */
const partsOf = (state, way, width) => {
  const need = needOf(state, way);
  let room = width - 14;
  return ROLES.flatMap(([role, kind]) => {
    const wide = Math.min(room, need[role] * scaleOf(state, width));
    room -= wide;
    return wide > 0 ? [[kind, wide]] : [];
  });
};

const barOf = (state, last, width) => (way, i) => {
  const y = TOP + i * ROW;
  const end = endOf(state, way, width);
  const isCut = bytesOf(state, way) * scaleOf(state, width) > end;
  const verdict = `${size(bytesOf(state, way))}, ${fits(state, way) ? "fits" : "too large"}`;
  const before = last && last.card === state.card ? endOf(last, way, width) : end;
  const middle = y + 8 + TALL / 2;
  return [
    label(1, y, way.name, "ink small strong"),
    label(width - 1, y, verdict, fits(state, way) ? "ink small strong halo" : "bad small strong halo", "end"),
    stack(partsOf(state, way, width), 1, y + 8, TALL),
    isCut ? path(`M${width - 12} ${middle - 7}l9 7l-9 7Z`, "head") : "",
    Math.abs(before - end) < 1 ? "" : vertical(1 + before, y + 4, y + 12 + TALL, "last"),
    i === LAST ? dot(1 + end, middle, 7, "ring") : "",
  ].join("");
};

const millions = inUnits([
  [1e9, "billion"],
  [1e6, "million"],
]);

/** Return the lines of the card's memory and of nine tenths of it. */
const limits = (state, width) => {
  const { name, capacity } = cardOf(state);
  const [nine, whole] = [usable(state), capacity].map((x) => 1 + x * scaleOf(state, width));
  return [
    vertical(nine, 24, BOTTOM - 16, "dashed"),
    vertical(whole, 24, BOTTOM - 16, "axis"),
    label(
      width < 480 ? width - 1 : whole + 4,
      16,
      `arrays: ${size(usable(state))} of the ${name}’s ${size(capacity)}`,
      "soft small",
      "end",
    ),
  ].join("");
};

const draw = (state, width, _, last) => {
  const isWide = width >= 480;
  const names = ROLES.map(([, kind, name]) => [kind, isWide ? name : name.split(":")[0]]);
  const place = isWide ? [1, 96, 210, 1] : [1, 92, 200, 1];
  return sheet(
    width,
    BOTTOM + 40,
    limits(state, width),
    each(WAYS, barOf(state, last, width)),
    legend(names, (i) => [place[i], BOTTOM + (i === 3 ? 22 : 0)]),
  );
};

/** The reader drags the end of the last bar. */
const drag = {
  id: () => "rank",
  point: (state, width) => [
    1 + endOf(state, WAYS[LAST], width),
    TOP + LAST * ROW + 8 + TALL / 2,
  ],
};

// In words

const result = (state) => {
  const { name } = cardOf(state);
  const held = WAYS.filter((way) => fits(state, way));
  const what =
    held.length === WAYS.length
      ? "holds all three"
      : `holds ${list(held.map((way) => way.name.replace(",", " in"))) || "none of the three"}`;
  const isMost = largest(state, WAYS[LAST]) === state.rank;
  return (
    `Rank ${state.rank} trains ${millions(adapters(state))} parameters, ` +
    `${percent(adapters(state) / parameters(state), 2)} of the model; the ${name} ${what}` +
    `${isMost ? `;${held.length > 1 ? " in 4.5 bits," : ""} no larger rank fits` : ""}.`
  );
};

const summary = (state) =>
  `A bar for each of three ways to adapt ${modelOf(state).name}, divided by what needs the ` +
  `memory, with lines for the memory of the card. ${result(state)} A table below has the numbers.`;

const formula = (state) => {
  const { width, layers, vocabulary } = modelOf(state).sizes;
  const full = state.recompute === "full";
  return [
    `adapters: ${state.rank} · (rows + columns) of all matrices of ${layers} layers = ` +
      `${millions(adapters(state))}, at 16 bytes: ${size(16 * adapters(state))}`,
    `weights: ${millions(parameters(state))}, at 2 bytes, or 0.5625 in 4.5 bits, but 2 in ` +
      "the embedding and the head",
    full &&
      `activations of LoRA: ${layers} · ${state.length} · ${width} · 2 bytes = ` +
        size(layers * state.length * width * 2),
    `logits of LoRA: ${state.length} · ${vocabulary} · 8 bytes` +
      `${state.loss === "chunks" ? " / 8 chunks" : ""} = ${size(needOf(state, WAYS[1]).logits)}`,
    `a tenth of the card stays free: 0.9 · ${size(cardOf(state).capacity)} = ${size(usable(state))}`,
  ];
};

const table = (state) => ({
  head: ["", "weights", "trained", "activations", "logits", "sum", "largest rank"],
  rows: WAYS.map((way) => {
    const need = needOf(state, way);
    const parts = ["weights", "training", "activations", "logits"].map((role) => size(need[role]));
    const most = way.bits ? String(largest(state, way) || "none") : "–";
    return [way.name, ...parts, size(total(need)), most];
  }),
});

const QLORA = "https://arxiv.org/abs/2305.14314";
const NOTES = [
  "One sequence on one GPU, with a fused attention. A parameter that is trained takes 16 bytes: " +
    "itself, its gradient and Adam’s state; all parameters train in 32 bits, in layers of 16. " +
    "Adapters of one rank stand beside all matrices of all layers. The sums are those of " +
    "memory_need in d2l.needs.",
  `LoRA over 4.5 bits is QLoRA ([Dettmers et al., 2023](${QLORA})): 4 bits for a weight, and a ` +
    "scale of 32 bits for each 64 of them. Without checkpointing, products with such weights " +
    "keep copies of their inputs.",
  "A card counts as large enough if a tenth of its memory stays free. The memory is what " +
    "programs see, and the data sheet’s for the RTX 4090.",
];

// Settings

export default figure({
  name: "adapt",
  card: "card",
  controls: [
    steps("rank", "Rank of the adapters", RANKS, 16),
    select("card", "Card", CARDS, "t4"),
    ...more(
      select("model", "Model", MODELS, "llama8"),
      steps("length", "Tokens of the sequence", doubled(512, 32768), 4096),
      select("loss", "Logits", { whole: "all at once", chunks: "in 8 chunks" }, "whole"),
      select("recompute", "Checkpointing", { full: "on", none: "off" }, "full"),
    ),
  ],
  invite: "Drag the end of the last bar: up to which rank does the card hold it?",
  notes: () => NOTES,
  ...{ drag, draw, summary, result, formula, table },
  ...{ needOf, fits, total, largest, WAYS, MODELS, CARDS }, // for tests
});
