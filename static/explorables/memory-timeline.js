/* The memory of a training step over time: the reader chooses a model, a recipe and a
 * card, and sees which role needs the memory, when the memory peaks, and what to change if
 * it is too much.
 */
import { size, percent, inUnits, GIGA } from "./arithmetic.js";
import * as memory from "./memory-arithmetic.js";
import * as usual from "./expectations.js";
import { cards } from "./cards.js";
import {
  each, label, path, vertical, horizontal, dot, ticks, was, chart, inColumns, linear,
  rowLines,
} from "./chart.js";
import { select, steps, logRange, hidden, more, unseen, doubled, presets } from "./controls.js";
import { figure } from "./explorable.js";

const { ROLES, total } = memory;
const { fill, sheet, legend } = chart("memory-timeline");

const MEBI = 2 ** 20;

// The memory of the cards, in GB; NOTES says which.
const NAMES = {
  t4: "T4",
  l4: "L4",
  rtx4090: "RTX 4090",
  "a100-40": "A100, 40 GB",
  a100: "A100, 80 GB",
  h100: "H100",
  h200: "H200",
  b200: "B200",
};
/** @type {Record<string, [string, number]>} */
const CARDS = Object.fromEntries(
  Object.entries(NAMES).map(([id, name]) => {
    const card = cards[name.replace(", 80 GB", "").replace(",", "")];
    return [id, [name, usual.cardMemory(card) / GIGA]];
  }),
);

const GPT = { kind: "gpt", vocabulary: 50304, positions: 1024, tied: true };
const LLM_C = {
  attention: "fused",
  loss: "in place",
  dropout: "no",
  recipe: "mixed",
};
const USUAL = {
  length: 1024,
  recipe: "mixed",
  optimizer: "adam",
  attention: "plain",
  recompute: "none",
  loss: "whole",
  parts: 1,
  dropout: "yes",
  gpus: 1,
  sharded: "all",
};
const SMALL = { ...USUAL, length: 1, recipe: "float32" };

/** The models, with their `sizes` and the `settings` that they begin with. */
const MODELS = {
  deep: {
    name: "DeepMLP of this section",
    sizes: { widths: Array(17).fill(128), segment: 4, square: true },
    settings: { ...SMALL, batch: 2048 },
  },
  mlp: {
    name: "MLP, 38 M, measured",
    sizes: { widths: [1024, 4096, 4096, 4096, 10], segment: 2 },
    settings: { ...SMALL, batch: 4096 },
  },
  gpt2: {
    name: "GPT-2, 124 M",
    sizes: { ...GPT, layers: 12, width: 768, heads: 12 },
    settings: { ...USUAL, batch: 16 },
  },
  gpt2xl: {
    name: "GPT-2, 1.6 B, measured",
    sizes: { ...GPT, layers: 48, width: 1600, heads: 25 },
    settings: { ...USUAL, ...LLM_C, batch: 16, gpus: 8, sharded: "optimizer" },
  },
  llama: {
    name: "Llama 3, 8 B",
    sizes: {
      kind: "llama",
      layers: 32,
      width: 4096,
      hidden: 14336,
      heads: 32,
      keyHeads: 8,
      vocabulary: 128256,
      positions: 0,
    },
    settings: {
      ...USUAL,
      batch: 1,
      length: 4096,
      recipe: "cast",
      recompute: "full",
      dropout: "no",
      gpus: 8,
    },
  },
};

const { chosen: modelOf, choose, isUnchanged, from, menu } = presets("model", MODELS, "gpt2");

/** Return the argument of `memory.timeline` for a state. */
const setting = (state) => ({
  ...state,
  ...modelOf(state).sizes,
  length: modelOf(state).sizes.widths ? 1 : state.length,
  dropout: state.dropout === "yes" && modelOf(state).sizes.kind === "gpt",
});

const card = (state) => CARDS[state.card] || ["your card", state.capacity];
const timeline = (state) => memory.timeline(setting(state));
/** Return the bytes at the peak of a step. */
const need = (state) => total(memory.peak(timeline(state)));
const capacity = (state) => card(state)[1] * GIGA;
/** Return the bytes at the peak with the logits in 16 bits beside those in 32. */
const needWithCopies = (state) => need({ ...state, copies: true });
/** Return the bytes that a step is expected to take. */
const expectedNeed = (state) => usual.withMargin(needWithCopies(state));
const fits = (state) => usual.fits(needWithCopies(state), capacity(state));

// What was measured, or planned by a compiler, in MiB, and the same from a timeline

const within = (point, roles) => roles.reduce((sum, role) => sum + point[role], 0);
/** Return the last point of a phase; later parts of a minibatch need more memory. */
const phase = (points, name) => points.findLast((point) => point.phase === name);
const most = (points, role) => Math.max(...points.map((point) => point[role]));

const MEASURED = {
  llama: {
    how: "planned by the compiler XLA for each of 8 H100",
    what: (points) => {
      const state = within(points[0], ["weights", "optimizer"]);
      return [
        ["weights and Adam's state", 11487.5, state],
        ["all other roles at the peak", 12449.1, total(memory.peak(points)) - state],
      ];
    },
  },
  mlp: {
    how: "measured on an RTX 4090, first step",
    what: (points) => {
      const turn = phase(points, "turn");
      const turned = phase(points, "turned");
      return [
        [
          "weights and minibatch",
          168.4,
          within(points[0], ["weights", "activations"]),
        ],
        ["with activations", 361.5, total(turn) - turn.optimizer],
        ["with gradients", 321.7, total(turned) - turned.optimizer],
        ["with Adam's state", 610.1, total(turned)],
      ];
    },
  },
  gpt2xl: {
    how: "measured by llm.c on each of 8 H100",
    what: (points) => [
      ["weights", 2971, points[0].weights],
      ["gradients", 2971, most(points, "gradients")],
      ["Adam's state and master copy", 3 * 742, points[0].optimizer],
      [
        "activations, loss and buffers",
        40409,
        within(phase(points, "turn"), ["activations", "loss"]) +
          most(
            points.filter(({ stage }) => stage > 0 && stage <= 48),
            "temporaries",
          ),
      ],
    ],
  },
};

/** Return [what, found bytes, predicted bytes] if the state is one that was measured. */
const measured = (state) => {
  if (!isUnchanged(state) || !MEASURED[state.model]) return [];
  const points = timeline(state);
  return MEASURED[state.model]
    .what(points)
    .map(([what, mebibytes, bytes]) => [what, mebibytes * MEBI, bytes]);
};

// The tape of a step that the reader has recorded, in MiB after each operation

const tapeOf = (state) => (state.tape || "").split(",").filter(Boolean).map(Number);
const highestOf = (tape) => MEBI * Math.max(0, ...tape);

/** Return the line of the reader's tape, as wide as the step. */
const tapeLine = (state, width, y) => {
  const tape = tapeOf(state);
  const step = (width - LEFT - RIGHT) / tape.length;
  const ends = tape.map((mebibytes) => `V${y(mebibytes * MEBI)}h${step}`);
  if (!tape.length) return "";
  const d = `M${LEFT} ${y(tape[0] * MEBI)}${ends.join("")}`;
  const text = `line: your tape, at most ${size(highestOf(tape))}`;
  return path(d, "line1") + label(LEFT, 14, text, "ink small");
};

// The drawing

const KINDS = {
  weights: ["s1 solid", "weights"],
  optimizer: ["s1", "optimizer's state"],
  gradients: ["s3", "gradients"],
  activations: ["s2", "activations"],
  loss: ["wait", "loss, logits"],
  temporaries: ["idle", "temporaries"],
};
const LEFT = 62;
const RIGHT = 12;
const TOP = 34;
const BOTTOM = 270;

/** Return an area with these corners. */
const shape = (points, kind) => {
  const corners = points.map(([x, y]) => `${x} ${y}`);
  return path(`M${corners.join("L")}Z`, kind, fill(kind));
};

/** Return the areas of a role, one for each span in which it has memory. */
const layerOf = (points, role, x, y) => {
  const below = ROLES.slice(0, ROLES.indexOf(role));
  const spans = [];
  points.forEach((point, i) => {
    if (point[role] <= 0) return;
    const open = i > 0 && points[i - 1][role] > 0;
    if (open) spans[spans.length - 1].push(point);
    else spans.push([point]);
  });
  const [kind] = KINDS[role];
  const at = (point, roles) => [x(point.at), y(within(point, roles))];
  return each(spans, (span) => {
    const upper = span.map((point) => at(point, [...below, role]));
    const lower = span.map((point) => at(point, below)).reverse();
    return shape([...upper, ...lower], kind);
  });
};

/** Return the names of the phases below the time axis, and lines between them. */
const phases = (points, state, x) => {
  const names = ["forward", "backward", "update"];
  const key = (point) =>
    state.parts === 1 || point.phase === "update"
      ? point.phase
      : `part ${point.part + 1}`;
  const spans = {};
  for (const point of points) {
    if (!names.includes(point.phase)) continue;
    const name = key(point);
    spans[name] = [spans[name] ? spans[name][0] : point.at, point.at];
  }
  return each(Object.entries(spans), ([name, [from, to]]) => {
    const text = x(to) - x(from) < 7 * name.length ? "" : name;
    const middle = (x(from) + x(to)) / 2;
    return (
      vertical(x(to), TOP, BOTTOM + 6, "faint") +
      label(middle, BOTTOM + 20, text, "soft small", "middle")
    );
  });
};

/** Return the place of a label at the right, above the steps of the curve that would cross it,
 * unless that is far from its own place, or near the name of the peak.
 */
const clearOf = (points, base, long, right, x, y, highest) => {
  const first = points.findLastIndex((point) => x(point.at) <= right - long);
  const steps = points.slice(Math.max(0, first)).map((point) => y(total(point)));
  const isCrossed = steps.some((step) => step > base - 14 && step < base + 4);
  const above = Math.min(...steps) - 6;
  const isFree = base - above < 40 && Math.abs(above - y(highest)) > 30;
  return isCrossed && isFree ? Math.min(base, above) : base;
};

/** Return the line of the card's capacity, or a note if it is above the chart. */
const capacityLine = (state, points, top, width, x, y, highest) => {
  const limit = capacity(state);
  const text = `${card(state)[0].split(",")[0]}: ${size(limit)}`;
  if (limit > top)
    return label(width - RIGHT, 14, `${text}, above this chart`, "ink small", "end");
  const place = y(limit);
  const gap = y(highest) - place; // The name of the peak may be near.
  const beside = Math.abs(gap) > 24 ? -6 : gap < 0 ? 16 : -24;
  const long = 7.5 * text.length;
  const base = clearOf(points, place + beside, long, width - RIGHT, x, y, highest);
  return (
    horizontal(place, LEFT, width - RIGHT, "dashed") +
    label(width - RIGHT, base, text, "ink small strong", "end")
  );
};

const names = (best, width) => {
  const columns = width < 480 ? 1 : 2;
  const items = ROLES.map((role) => {
    const [kind, text] = KINDS[role];
    return [kind, `${text}: ${size(best[role])} at the peak`];
  });
  const wide = Math.min(300, width / 2);
  return legend(items, inColumns(columns, wide, 22, BOTTOM + 36));
};

const draw = (state, width, _, last) => {
  const points = timeline(state);
  const best = memory.peak(points);
  const highest = total(best);
  const before = last && need(last);
  // The remedies of the buttons do not change the scale, unless it would be too small.
  const plain = { ...state, attention: "plain", loss: "whole", recompute: "none" };
  const worst = need(plain);
  const kept = worst < 3 * highest ? worst : 0;
  const most = Math.max(highest, kept, highestOf(tapeOf(state)));
  const limit = capacity(state);
  const top = 1.1 * Math.max(most, limit < 2 * most ? limit : 0);
  const end = points[points.length - 1].at;
  const [left, right] = [LEFT, width - RIGHT];
  const x = linear([0, end], [left, right]);
  const y = linear([0, top], [BOTTOM, TOP]);
  const rows = ticks(top, 5).map((bytes) => [bytes, bytes ? size(bytes) : "0"]);
  const anchor = x(best.at) > width / 2 ? "end" : "start";
  const aside = anchor === "end" ? -10 : 10;
  return sheet(
    width,
    BOTTOM + (width < 480 ? 170 : 104),
    rowLines({ left, right, y }, rows),
    phases(points, state, x),
    ...ROLES.map((role) => layerOf(points, role, x, y)),
    capacityLine(state, points, top, width, x, y, highest),
    before && before !== highest && before <= top
      ? horizontal(y(before), left, right, "last")
      : "",
    dot(x(best.at), y(highest), 5, "ring"),
    label(
      x(best.at) + aside,
      y(highest) - 8,
      `peak: ${size(highest)}${width < 480 ? "" : was(before, highest, size)}`,
      "ink small halo",
      anchor,
    ),
    tapeLine(state, width, y),
    names(best, width),
  );
};

// In words

/** Return the number of layers of a model, or of segments if they are computed twice. */
const countLayers = ({ recompute }, { layers, widths, segment }) =>
  layers || (widths.length - 1) / (recompute === "full" ? segment : 1);

/** Return the moment of a point, as the end of a sentence. */
const moment = (point, state) => {
  const { sizes } = modelOf(state);
  const count = countLayers(state, sizes);
  const number = point.stage + (sizes.widths ? 1 : 0);
  const part = state.parts > 1 ? `for part ${point.part + 1}, ` : "";
  const pass = `${part}in the ${point.phase} pass of`;
  if (point.phase === "update") return "while the optimizer changes the weights";
  if (number === 0) return `${pass} the embedding`;
  if (number <= count) {
    const unit = sizes.widths && state.recompute === "full" ? "segment" : "layer";
    return `${pass} ${unit} ${number} of ${count}`;
  }
  return point.phase === "forward"
    ? `${part}while the loss is computed`
    : `${part}at the start of the backward pass, with the gradients of the loss`;
};

/** The remedies in the order of what they cost. */
/** @type {[string, any][]} */
const REMEDIES = [
  ["a fused attention", { attention: "fused" }],
  ["a loss in chunks", { loss: "chunks" }],
  ["layers in 16 bits", { recipe: "mixed" }],
  ["accumulation over 8 parts of the minibatch", { parts: 8 }],
  ["checkpointing", { recompute: "full" }],
  ["Adam's state in 8 bits", { optimizer: "adam8" }],
  ["sharing the state among 8 GPUs", { gpus: 8, sharded: "all" }],
];

/** Return the remedies that would change a state. */
const usefulFor = (state) =>
  REMEDIES.filter(([, change]) =>
    Object.entries(change).some(([id, value]) => state[id] !== value),
  ).filter(([, { optimizer }]) => !optimizer || state.optimizer === "adam");

/** Return sentences on a remedy that suffices, or on how far all of them get. */
const advice = (state) => {
  const useful = usefulFor(state);
  const alone = useful.find(([, change]) => fits({ ...state, ...change }));
  if (alone) {
    const peak = size(need({ ...state, ...alone[1] }));
    return `One change is enough: ${alone[0]} lowers the peak to ${peak}.`;
  }
  let all = state;
  const done = [];
  for (const [name, change] of useful) {
    all = { ...all, ...change };
    done.push(name);
    if (fits(all))
      return (
        `Several changes together are enough: ${done.join(", ")}. They lower the ` +
        `peak to ${size(need(all))}.`
      );
  }
  return (
    `All remedies together lower the peak only to ${size(need(all))}. Take a larger card ` +
    "or more GPUs."
  );
};

const result = (state) => {
  const bytes = need(state);
  const expected = expectedNeed(state);
  const left = capacity(state) - expected;
  const text = `${CARDS[state.card] ? "the " : ""}${card(state)[0].split(",")[0]}`;
  const start =
    `${modelOf(state).name.split(",")[0]} needs ${size(bytes)} at its peak ` +
    `(expect ${size(expected)})`;
  const tape = highestOf(tapeOf(state));
  const own = tape ? ` Your tape reaches ${size(tape)}.` : "";
  return left >= 0
    ? `${start}, which fits on ${text} (${size(capacity(state))}) and leaves ${size(left)}.${own}`
    : `${start}, ${size(-left)} too much for ${text} (${size(capacity(state))}).${own}`;
};

/** Return when the peak is, what the most of it is, and what would lower it. */
const explanation = (state) => {
  const best = memory.peak(timeline(state));
  const role = ROLES.reduce((a, b) => (best[b] > best[a] ? b : a));
  const share = percent(best[role] / total(best));
  return [
    `The peak is ${moment(best, state)}.`,
    `The largest role is “${KINDS[role][1]}”, with ${size(best[role])} or ${share}.`,
    ...(fits(state) ? [] : [advice(state)]),
  ];
};

const summary = (state) =>
  "A chart of the bytes of one training step over time, stacked by role, with a line " +
  `for the capacity of a card. ${result(state)} A table below has the numbers.`;

const millions = inUnits([
  [1e9, "billion"],
  [1e6, "million"],
]);

/** Return the bytes per parameter as text. */
const perParameter = (state) => {
  const bytes = memory.perParameter(state.recipe, state.optimizer);
  const count = memory.countParameters(setting(state));
  const sum = bytes.weights + bytes.gradients + bytes.optimizer;
  return (
    `${millions(count)} parameters · (${bytes.weights} + ${bytes.gradients} + ` +
    `${bytes.optimizer}) bytes of weights, gradients and optimizer's state = ` +
    `${size(count * sum)}${state.gpus > 1 ? `, shared by ${state.gpus} GPUs` : ""}`
  );
};

const layerLine = (state) => {
  const full = setting({ ...state, batch: Math.ceil(state.batch / state.parts) });
  const stage = memory.stages(full)[1];
  const { batch, length, width, widths } = full;
  if (widths)
    return (
      `a layer keeps its output: ${batch} · ${widths[1]} numbers = ` +
      size(stage.keeps)
    );
  const unit = Number((stage.keeps / (batch * length * width)).toPrecision(4));
  const twice =
    state.recompute === "full" ? `, of which ${size(stage.input)} stay` : "";
  return (
    `a layer: b · s · h · ${unit} bytes = ${batch} · ${length} · ${width} · ${unit} = ` +
    `${size(stage.keeps)}${twice}`
  );
};

const formula = (state) => [
  ...explanation(state),
  perParameter(state),
  layerLine(state),
  ...measured(state).map(
    ([what, found, predicted]) =>
      `${what}: ${MEASURED[state.model].how} ${size(found, 4)}, ` +
      `predicted ${size(predicted, 4)}`,
  ),
];

const table = (state) => {
  const points = timeline(state);
  const moments = [
    ["start", points[0]],
    ["after forward", phase(points, "turn")],
    ["peak", memory.peak(points)],
    ["after backward", phase(points, "turned")],
  ];
  const row = (name, value) => [
    name,
    ...moments.map(([, point]) => size(value(point))),
  ];
  return {
    head: ["role", ...moments.map(([name]) => name)],
    rows: [
      ...ROLES.map((role) => row(KINDS[role][1], (point) => point[role])),
      row("sum", total),
    ],
  };
};

const KORTHIKANTI = "https://arxiv.org/abs/2205.05198";
const KARPATHY = "https://github.com/karpathy/llm.c/discussions/677";
const NEU = "https://github.com/smolix/d2l-neu";
const NOTES = [
  "In 16 bits, a layer of GPT-2 keeps 34 + 5as/h bytes for each number of its " +
    `input ([Korthikanti et al., 2022](${KORTHIKANTI})), and 32 + 2as/h without ` +
    "dropout. A fused attention removes the last term. A layer of Llama 3 with fused " +
    "attention keeps 41 bytes: it has fewer keys than queries, a gated network and " +
    "no dropout. Checkpointing keeps the input of each layer. The loss keeps 4 bytes " +
    "per logit and needs 12 in the backward pass.",
  `The MLP was measured by [Zhang et al., 2026](${NEU}), and GPT-2 with 1.6 B ` +
    `parameters by [Karpathy, 2024](${KARPATHY}). llm.c overwrites the logits by ` +
    "their gradients, and allocates all of its memory before the first step. The " +
    "plan for Llama 3 is what a compiler would request. It is not a measurement, and " +
    "XLA's plans for the same model without checkpointing are larger than this " +
    "figure says.",
  "Capacities are what programs see of a card, or else what its data sheet says (L4, " +
    "RTX 4090, A100 with 40 GB), with 1 GB = 10⁹ bytes; cards.csv names the sources. The " +
    "expected peak counts logits in 16 bits beside those in 32, and leaves " +
    `${percent(usual.LEFT)} of the card to the CUDA context and the gaps of the allocator: ` +
    `${usual.SAFE} published peaks stay below it. A step fits if its expected peak does.`,
  "The unit of time is the forward pass of a layer. Its backward pass takes 2 " +
    "units, or 3 with checkpointing. Parts of a minibatch after the third repeat the " +
    "third and are not drawn.",
];

// Settings

const settle = (state, id) => {
  if (id === "model") return choose(state);
  return id === "capacity" ? { ...state, card: "own" } : state;
};

const isTransformer = (state) => !modelOf(state).sizes.widths;
const transformers = { when: isTransformer };
const cardNames = Object.entries(CARDS).map(([id, [name, gigabytes]]) => [
  id,
  name.includes("GB") ? name : `${name}, ${size(gigabytes * GIGA)}`,
]);
const isTape = (text) => /^\d+(\.\d+)?(,\d+(\.\d+)?)*$/.test(text);
/** Return a menu of the settings of a model. */
const choice = (id, text, options, rest) => select(id, text, options, from(id), rest);

/** Return a switch between two values of a control. */
const remedy = (text, id, on, off, when = undefined) => {
  const pressed = (state) => state[id] === on;
  const run = (state) => ({ ...state, [id]: pressed(state) ? off : on });
  return { label: text, run, pressed, when };
};

export default figure({
  name: "memory-timeline",
  card: "card",
  controls: [
    ...more(
      menu("Model"),
      select("card", "Card", [...cardNames, ["own", "your own"]], "rtx4090"),
    ),
    steps("batch", "Examples in a minibatch", doubled(1, 8192), from("batch")),
    ...more(
      steps(
        "length",
        "Tokens in a sequence",
        [1, ...doubled(128, 32768)],
        from("length"),
        transformers,
      ),
      choice("recipe", "Precision", {
        float32: "32 bits",
        mixed: "mixed, gradients in 16 bits",
        "mixed-32": "mixed, gradients in 32 bits",
        "mixed-both": "mixed, gradients in 16 and 32 bits",
        cast: "32 bits, cast to 16 in each layer",
        bfloat16: "bfloat16 only",
      }),
      choice("optimizer", "Optimizer", {
        sgd: "SGD",
        momentum: "SGD with momentum",
        adam: "Adam",
        adam8: "Adam with 8-bit state",
      }),
      steps("parts", "Parts, if gradients are accumulated", [1, 2, 4, 8], from("parts")),
      steps("gpus", "GPUs that share the state", [1, 2, 4, 8, 16, 64], from("gpus")),
      logRange("capacity", "Capacity of your own card", [1, 1000], 48, (x) => size(x * GIGA)),
    ),
    ...unseen(
      choice("recompute", "Recomputed in the backward pass", {
        none: "nothing",
        nonlinearity: "the nonlinearity",
        attention: "the scores of the attention",
        selective: "half of the products (selective)",
        full: "every layer (checkpointing)",
      }),
      choice("attention", "Attention", ["plain", "fused"], transformers),
      choice("loss", "Loss", {
        whole: "of all logits",
        chunks: "in 8 chunks",
        "in place": "in one buffer (llm.c)",
      }),
      choice("dropout", "Dropout", ["yes", "no"]),
      choice("sharded", "State that they share", {
        optimizer: "of the optimizer",
        all: "weights and gradients, too",
      }),
    ),
    hidden("tape", isTape, ""),
  ],
  invite: "Press “Fused attention”, and see the peak fall below the dashed line.",
  actions: [
    remedy("Fused attention", "attention", "fused", "plain", isTransformer),
    remedy("Loss in chunks", "loss", "chunks", "whole"),
    remedy("Checkpointing", "recompute", "full", "none"),
  ],
  notes: () => NOTES,
  ...{ settle, draw, summary, result, formula, table },
  ...{ measured, fits, CARDS, MODELS }, // for tests
});
