/* Which card holds a task, how long does a run take on it, and what does it cost? A bar for
 * each card shows how full the task makes it; the cheapest card that holds it is the first.
 */
import { size, percent, inUnits, round, upper } from "./arithmetic.js";
import * as choice from "./decide-arithmetic.js";
import { models } from "./language-models.js";
import * as usual from "./expectations.js";
import { cards } from "./cards.js";
import { prices } from "./prices.js";
import { tag, each, label, path, vertical, chart } from "./chart.js";
import { select, steps, logRange, more, unseen, doubled, presets } from "./controls.js";
import { figure } from "./explorable.js";

const { area, sheet, stack, legend } = chart("decide");

const SHOWN = ["T4", "RTX 4090", "A100", "H100", "H200", "B200"];
const CARDS = SHOWN.map((name) => {
  const capacity = usual.cardMemory(cards[name]);
  return { name, capacity, peak: cards[name].tensor16, offers: prices[name] };
});

const idOf = (name) => name.toLowerCase().replaceAll(" ", "-");
/** @type {Record<string, any>} */
const MODELS = Object.fromEntries(
  Object.entries(models).map(([name, sizes]) => [idOf(name), { name, sizes }]),
);

const generated = (bits) => ({
  ...{ kind: "generate", bits, name: `generate, ${bits} bits` },
  doing: (model) => `generating text with ${model} in ${bits} bits`,
});
const adapted = (bits) => ({
  ...{ kind: "adapt", bits, name: `LoRA, ${bits} bits` },
  doing: (model) => `LoRA over ${model} in ${bits} bits`,
});
/** The tasks of the section, as buttons name them and as they begin a sentence. */
const TASKS = {
  generate16: generated(16),
  generate4: generated(4.5),
  lora16: adapted(16),
  lora4: adapted(4.5),
  train: { kind: "train", bits: 16, name: "train", doing: (model) => `training ${model}` },
};

const USUAL = { tokens: 1e8, length: 2048, context: 4096, loss: "chunks", recompute: "full" };
const plan = (name, model, task, rest = {}) => ({
  name,
  settings: { ...USUAL, model: idOf(model), task, ...rest },
});
const PLANS = {
  train1: plan("Llama 3.2 1B, trained on a billion tokens", "Llama 3.2 1B", "train", { tokens: 1e9 }),
  gpt2: plan("GPT-2, trained on ten billion tokens", "GPT-2 124M", "train", {
    ...{ tokens: 1e10, length: 1024 },
  }),
  lora8: plan("Llama 3 8B, LoRA over 4.5 bits", "Llama 3 8B", "lora4"),
  lora70: plan("Llama 3 70B, LoRA over 4.5 bits", "Llama 3 70B", "lora4"),
  chat8: plan("Llama 3 8B, to generate text in 4.5 bits", "Llama 3 8B", "generate4"),
};
const { settle, adopt, from, menu } = presets("plan", PLANS, "train1");

const modelOf = (state) => MODELS[state.model];
const taskOf = (state) => TASKS[state.task];
const isGenerated = (state) => taskOf(state).kind === "generate";
const lengthOf = (state) => (isGenerated(state) ? state.context : state.length);
const needOf = (state) =>
  choice.memoryNeed(modelOf(state), taskOf(state), { ...state, length: lengthOf(state) });
const flopsOf = (state) => choice.runFlops(modelOf(state).sizes, state.tokens);

/** Return a row for each card, the cheapest that holds the task first; without a run, the
 * costs are those of an hour. */
const rowsOf = (state) => {
  const need = needOf(state);
  return choice.inOrder(
    CARDS.map((card) => {
      const { name, capacity, peak, offers } = card;
      const hours = isGenerated(state) ? 1 : choice.runHours(flopsOf(state), name, peak);
      const users = isGenerated(state) ? choice.users(need, capacity) : 0;
      const verdict = choice.verdict(need, capacity);
      return { ...card, need, verdict, hours, users, costs: choice.rentalCosts(offers, hours) };
    }),
  );
};

// Numbers in words

const counted = inUnits([
  [1e9, "billion"],
  [1e6, "million"],
]);
const grouped = (x) => round(x).toLocaleString("en-US");
const timeOf = (hours) => {
  if (hours >= 1) return `${grouped(hours)}\u00a0h`;
  return hours >= 1 / 60 ? `${grouped(60 * hours)}\u00a0min` : `${grouped(3600 * hours)}\u00a0s`;
};
const amount = (dollars) => {
  if (dollars >= 1000) return grouped(dollars);
  return dollars >= 0.095 ? dollars.toFixed(2) : String(round(dollars, 2));
};
const costOf = ({ costs: [low, high] }) => `$${amount(low)} to ${amount(high)}`;
const peopleOf = (users) => `${users.toLocaleString("en-US")} ${users === 1 ? "user" : "users"}`;

/** Return the price of a row with what it buys. */
const offerOf = (state, row) =>
  isGenerated(state)
    ? `${peopleOf(row.users)}, ${costOf(row)} an hour`
    : `${timeOf(row.hours)}, ${costOf(row)}`;

const bytesOf = ({ need }) => choice.total(need);
const usable = ({ capacity }) => (1 - usual.LEFT) * capacity;
const verdictOf = (row) =>
  ({
    fits: "fits",
    measure: "measure first",
    no: `too small by ${size(bytesOf(row) - usable(row))}`,
  })[row.verdict];

// The drawing: how full each card would be, below the two lines of the rule

const ROLES = [
  ["weights", "s1 solid", "weights"],
  ["training", "s3 solid", "training state"],
  ["activations", "s2", "activations"],
  ["logits", "wait", "logits"],
  ["caches", "s2 solid", "a user’s cache"],
];
const TOP = 46;
const TALL = 18;
const BEYOND = 1.14; // The axis ends behind the card's memory.
const pieceOf = (y) => [y + 4, y + 12 + TALL];
const EDGE = 14; // for the arrow of a bar that is cut
const isWide = (width) => width >= 480;
const rowHeight = (width) => (isWide(width) ? 48 : 68);
const scaleOf = (width) => (width - EDGE) / BEYOND;

/** Return the parts of a row's bar, the last of which may be cut. */
const partsOf = ({ need, capacity }, width) => {
  let room = width - EDGE;
  return ROLES.flatMap(([role, kind]) => {
    const wide = Math.min(room, (need[role] / capacity) * scaleOf(width));
    room -= wide;
    return wide > 0 ? [[kind, wide]] : [];
  });
};

const barOf = (row, y, width) => {
  const end = (bytesOf(row) / row.capacity) * scaleOf(width);
  const middle = y + TALL / 2;
  const head = path(`M${width - EDGE + 2} ${middle - 7}l9 7l-9 7Z`, "head");
  const bar = stack(partsOf(row, width), 1, y, TALL) + (end > width - EDGE ? head : "");
  return row.verdict === "no" ? tag("g", { opacity: 0.4 }, bar) : bar;
};

/** Return the room for the caches of further users: dotted, up to the line of a tenth. */
const roomOf = (row, y, width) => {
  const begin = (bytesOf(row) / row.capacity) * scaleOf(width);
  const wide = (1 - usual.LEFT) * scaleOf(width) - begin;
  return row.users > 1 && wide > 2 ? area("idle", 1 + begin, y + 3, wide, TALL - 6) : "";
};

const rowOf = (state, last, width) => (row, i) => {
  const y = TOP + i * rowHeight(width);
  const isHeld = row.verdict !== "no";
  const words = isHeld ? offerOf(state, row) : "";
  const strong = i === 0 && isHeld ? " strong" : "";
  const kind = `${isHeld ? "ink" : "soft"} small${strong}`;
  const before = last ? choice.total(needOf(last)) : bytesOf(row);
  const mark = (before / row.capacity) * scaleOf(width);
  const isMarked = Math.abs(before - bytesOf(row)) > 1e6 && mark < width - EDGE;
  return [
    label(1, y, row.name, kind),
    label(80, y, size(row.capacity), "soft small"),
    ...(isWide(width)
      ? [label(150, y, verdictOf(row), kind), label(width - 1, y, words, kind, "end")]
      : [label(width - 1, y, verdictOf(row), kind, "end"), label(1, y + TALL + 24, words, kind)]),
    tag("rect", { x: 1, y: y + 8, width: scaleOf(width), height: TALL, class: "axis" }),
    barOf(row, y + 8, width),
    roomOf(row, y + 8, width),
    isMarked ? vertical(1 + mark, y + 5, y + 11 + TALL, "last") : "",
  ].join("");
};

/** Return the name of the marks of the setting before. */
const markName = () => vertical(5, 3, 18, "last") + label(12, 14, "before", "soft small");

/** Return pieces of the two lines behind which less than a third, and less than a tenth, of
 * a card is free: [from, to], between which there is no text. */
const limits = (width, pieces) => {
  const [third, tenth] = [2 / 3, 1 - usual.LEFT].map((share) => 1 + share * scaleOf(width));
  return [
    label(third + 4, 14, "a third free", "soft small", "end"),
    label(tenth - 4, 14, "a tenth free", "soft small"),
    each(pieces, ([from, to]) => vertical(third, from, to, "axis") + vertical(tenth, from, to, "dashed")),
  ].join("");
};

const draw = (state, width, _, last) => {
  const rows = rowsOf(state);
  const bars = each(rows, rowOf(state, last, width));
  const bottom = TOP + rows.length * rowHeight(width) - 8;
  const kinds = ROLES.filter(([role]) => rows[0].need[role] > 0).map(([, kind, text]) => [kind, text]);
  const room = isGenerated(state) ? [["idle", "caches of further users"]] : [];
  const columns = isWide(width) ? 4 : 2;
  const wide = isWide(width) ? 140 : width / 2;
  return sheet(
    width,
    bottom + (isWide(width) ? 26 : 46),
    bars,
    bars.includes('"last"') ? markName() : "",
    limits(width, [[20, 30], ...rows.map((_, i) => pieceOf(TOP + i * rowHeight(width)))]),
    legend([...kinds, ...room], (i) => [
      1 + (i % columns) * wide,
      bottom + 4 + 22 * Math.floor(i / columns),
    ]),
  );
};

// In words

const result = (state) => {
  const [best] = rowsOf(state);
  const isRun = !isGenerated(state);
  const begin =
    `${upper(taskOf(state).doing(modelOf(state).name))} takes ${size(bytesOf(best))}` +
    `${isRun ? "" : " for one user"}`;
  if (best.verdict === "no") return `${begin}, and none of the six cards holds that.`;
  const bought = isRun ? timeOf(best.hours) : `an hour with ${peopleOf(best.users)}`;
  const first = best.verdict === "measure" ? ", but measure first" : "";
  return `${begin}; the cheapest card that holds it is the ${best.name}: ${costOf(best)} for ${bought}${first}.`;
};

const summary = (state) =>
  "A row for each of six cards, with a bar that shows how full the task makes the card, and " +
  `lines where a third and a tenth of it are free. ${result(state)} A table below has the numbers.`;

const sumOf = ({ need }) =>
  ROLES.filter(([role]) => need[role] > 0)
    .map(([role, , text]) => `${text} ${size(need[role])}`)
    .join(" + ");

const formula = (state) => {
  const [best] = rowsOf(state);
  const active = choice.activeParameters(modelOf(state).sizes);
  const share = usual.peakShare(best.name);
  const isRun = !isGenerated(state);
  return [
    `memory: ${sumOf(best)} = ${size(bytesOf(best))}`,
    `the ${best.name}: 0.9 · ${size(best.capacity)} = ${size(usable(best))} for arrays; up to two ` +
      `thirds, ${size((2 / 3) * best.capacity)}, no need to measure first`,
    isRun &&
      `operations: 6 · ${counted(active, 4)} parameters · ${counted(state.tokens)} tokens = ` +
        flopsOf(state).toExponential(2).replace("e+", " · 10^"),
    isRun &&
      `hours on the ${best.name}: operations / (${percent(share)} of ${best.peak} TFLOP/s) = ` +
        timeOf(best.hours),
    isRun && `dollars: ${timeOf(best.hours)} at ${costOf(hourly(best))} an hour = ${costOf(best)}`,
    !isRun &&
      `users of the ${best.name}: (${size(usable(best))} − ${size(best.need.weights)}) / ` +
        `${size(best.need.caches)} = ${best.users}`,
  ];
};

/** Return a row with the costs of an hour. */
const hourly = (row) => ({ ...row, costs: choice.rentalCosts(row.offers, 1) });

const table = (state) => ({
  head: ["", "memory", "full", "fits", isGenerated(state) ? "users" : "time", "dollars", "an hour"],
  rows: rowsOf(state).map((row) => [
    row.name,
    size(row.capacity),
    percent(bytesOf(row) / row.capacity),
    verdictOf(row),
    row.verdict === "no" ? "–" : isGenerated(state) ? String(row.users) : timeOf(row.hours),
    row.verdict === "no" || isGenerated(state) ? "–" : costOf(row),
    costOf(hourly(row)),
  ]),
});

const FOUNDRY = "https://github.com/mosaicml/llm-foundry/blob/main/scripts/train/benchmarking/README.md";
const DATES = CARDS.flatMap(({ offers }) => offers.map(([, date]) => date)).sort();
const NOTES = [
  "The sums are those of memory_need in d2l.needs: one sequence on one GPU, with a fused " +
    "attention; adapters have rank 16, and all parameters train with Adam in 32 bits, in " +
    "layers of 16. With 4.5 bits, the embedding and the head stay in 16. A card counts as " +
    "large enough if a tenth of its memory stays free; measure first if less than a third does.",
  "A run computes 6 operations for each token and parameter that computes it, at a share of " +
    `the peak: ${percent(usual.PEAK_SHARE_RTX)} on an RTX card, ${percent(usual.PEAK_SHARE_A100)} ` +
    `on an A100, ${percent(usual.PEAK_SHARE)} on others (peak_share in d2l.tables, from ` +
    `published runs such as [llm-foundry’s](${FOUNDRY})). To train all parameters with ` +
    "checkpointing takes a third more operations.",
  `${DATES.length} offers, listed from ${DATES[0]} to ${DATES.at(-1)}, are in prices.csv with ` +
    "their sources: list prices on demand for one GPU, without taxes, storage and traffic. The " +
    "first number is the cheapest offer, the second the dearest. Look up today’s before you rent.",
];

// Settings

export default figure({
  name: "decide",
  controls: [
    ...more(menu("Plan", "your own")),
    select("model", "Model", MODELS, from("model")),
    logRange("tokens", "Tokens of the run", [1e6, 1e11], from("tokens"), counted, {
      when: (state) => !isGenerated(state),
    }),
    steps("context", "Tokens of each user", doubled(512, 131072), from("context"), {
      when: isGenerated,
    }),
    ...more(
      steps("length", "Tokens of a sequence", doubled(512, 32768), from("length"), {
        when: (state) => !isGenerated(state),
      }),
      select("loss", "Logits", { whole: "all at once", chunks: "in 8 chunks" }, from("loss"), {
        when: (state) => !isGenerated(state),
      }),
      select("recompute", "Checkpointing", { full: "on", none: "off" }, from("recompute"), {
        when: (state) => !isGenerated(state),
      }),
    ),
    ...unseen(select("task", "Task", TASKS, from("task"))),
  ],
  actions: Object.entries(TASKS).map(([task, { name }]) => ({
    label: upper(name),
    run: (state) => adopt({ ...state, task }),
    pressed: (state) => state.task === task,
  })),
  invite: "Choose a model and a task: which card holds it at the lowest price?",
  notes: () => NOTES,
  ...{ settle, draw, summary, result, formula, table },
  ...{ rowsOf, CARDS, MODELS, TASKS }, // for tests
});
