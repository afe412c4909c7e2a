/* How many users does a GPU serve? The figure shows the memory of a card, and the tokens per
 * second of all users against their number.
 */
import { time, size, round, plural, rate, bandwidth, percent } from "./arithmetic.js";
import * as inference from "./inference-arithmetic.js";
import * as usual from "./expectations.js";
import { cards } from "./cards.js";
import { label, tag, line, vertical, dot, grid, logarithmic, powers, chart } from "./chart.js";
import { select, steps, more } from "./controls.js";
import { figure } from "./explorable.js";

const { sheet, stack, legend } = chart("server");

const ends = (vocabulary, width) => ({ embedding: vocabulary * width, head: vocabulary * width });
const GROUPED = { kvHeads: 8, headSize: 128 };
const MODELS = {
  "llama3-8b": {
    ...{ ...GROUPED, name: "Llama 3.1 8B", params: 8.03e9, active: 7.5e9, layers: 32 },
    ...{ heads: 32, width: 4096, hidden: 14336, context: 131072, ...ends(128256, 4096) },
  },
  "llama3-70b": {
    ...{ ...GROUPED, name: "Llama 3.1 70B", params: 70.6e9, active: 69.5e9, layers: 80 },
    ...{ heads: 64, width: 8192, hidden: 28672, context: 131072, ...ends(128256, 8192) },
  },
  "qwen3-30b": {
    ...{ ...GROUPED, name: "Qwen3 30B-A3B", params: 30.5e9, active: 3.04e9, layers: 48 },
    ...{ kvHeads: 4, experts: 128, used: 8, heads: 32, width: 2048, hidden: 8 * 768 },
    ...{ context: 40960, ...ends(151936, 2048) },
  },
};
const CARDS = {
  ...{ t4: "T4", a100: "A100", h100: "H100", h200: "H200", b200: "B200" },
  rtx4090: "RTX 4090",
};
const LLAMA = "https://github.com/meta-llama/llama-models/blob/main/models/sku_list.py";
const QWEN = "https://huggingface.co/Qwen/Qwen3-30B-A3B/blob/main/config.json";
const NVIDIA = "https://github.com/NVIDIA/TensorRT-LLM/blob/release/1.0/docs/source/performance/perf-overview.md";
const NOTES = [
  "A step reads the weights and the cache of each user once, or as many experts as its " +
    "tokens use. It takes at least as long as its bytes, or as its arithmetic and that of " +
    "the prompts, of which it computes a part (a chunk). Without chunks, prompts are " +
    "computed between the steps, one by one. The arithmetic is that of dense matrices, " +
    "with 8 bits where weights have 8 and the card can, and of attention. The embedding and " +
    "the head stay in 16 bits. Calls, sampling and links are left out, and a tenth of the " +
    "memory is left free.",
  "Users are spread over their outputs, so each has half of an output on average. A server " +
    "that reserves whole texts has room for fewer; one that does not runs out of pages at " +
    "times, and has to compute some caches twice (preemption).",
  `The expectation has products at ${percent(usual.PRODUCT_SHARE)} of the best published ` +
    `one, the memory at ${percent(usual.BANDWIDTH_SHARE)} of its bandwidth, ` +
    `${time(usual.LAYER_KERNELS * usual.KERNEL_TIME)} of kernels in each layer, no chunks, ` +
    "reserved texts, and the memory of a prompt’s pass. None of these numbers was fitted on " +
    "servers; python -m d2l audit serving holds both against published ones.",
  `[TensorRT-LLM 1.0](${NVIDIA}) publishes ten pairs of input and output for Llama 3.1 8B ` +
    "in 8 bits on an H100. With as many users as fit, they are 0.40 to 0.68 of this bound; " +
    "without chunks, nine would be 0.58 to 0.76, and 128 tokens in and out 0.43.",
  `The shapes of the models are those of [Meta](${LLAMA}) and [Qwen](${QWEN}); the cards ` +
    "are in cards.csv.",
];
const MOST = 1024;
const PUBLISHED = {
  ...{ "128/128": 28312, "128/2048": 22714, "128/4096": 14325, "500/2000": 17660 },
  ...{ "1000/1000": 15220, "1000/2000": 13899, "2048/128": 3450, "2048/2048": 9305 },
  ...{ "5000/500": 3459, "20000/2000": 1351 },
};

const server = (state) => {
  const { bandwidth, tensor16, fp8, ...card } = cards[CARDS[state.card]];
  const memory = usual.cardMemory(card);
  const eight = state.bits === "8" && fp8;
  const rate = 1e12 * (eight || tensor16);
  const often = usual.productRate(CARDS[state.card], rate, eight ? 8 : 16);
  return {
    model: MODELS[state.model],
    card: { memory, bandwidth: 1e9 * bandwidth, rate, usual: often },
    ...{ bits: Number(state.bits), cacheBits: Number(state.cache) },
    ...{ input: state.input, output: state.output },
  };
};

/** Return the number of users that are served; the others wait. */
const served = (state) => Math.min(state.users, inference.capacity(server(state)));

/** Return the bytes of a user's cache, which has half of the output on average. */
const cacheOf = ({ model, input, output, cacheBits }) =>
  inference.cacheBytes(model, input + output / 2, cacheBits);

/** Return what is expected with the users that are expected to find room, at least one. */
const expectedOf = (state) => {
  const task = server(state);
  const room = inference.expectedCapacity(task);
  const users = Math.max(1, Math.min(state.users, room));
  return { room, ...inference.expectedStep(task, users) };
};

/** Return the published throughput of these settings, if there is one. */
const published = ({ model, card, bits, cache, input, output }) =>
  [model, card, bits, cache].join() === "llama3-8b,h100,8,8"
    ? PUBLISHED[`${input}/${output}`]
    : undefined;

// The drawing: the memory of the card above the throughput

const LEFT = 64;
const RIGHT = 24;
const [TOP, BOTTOM] = [140, 330];

const memoryBar = (state, width) => {
  const task = server(state);
  const weights = inference.weightBytes(task.model, task.bits);
  const caches = served(state) * cacheOf(task);
  const { memory } = task.card;
  const scale = (width - 24) / Math.max(memory, weights + caches);
  const end = memory * scale;
  return (
    label(0, 14, `memory of the ${CARDS[state.card]}, ${size(memory)}`, "ink small strong") +
    (0.9 * end > 250 ? label(0.9 * end, 14, "90 %", "soft small", "middle") : "") +
    stack([["s1", weights * scale], ["wait", caches * scale]], 0, 24, 30) +
    tag("rect", { x: 0, y: 24, width: end, height: 30, class: "axis" }) +
    vertical(0.9 * end, 18, 60, "dashed") +
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
  const task = server(state);
  const most = Math.max(1, inference.capacity(task));
  const stepOf = (users) => inference.step(task, Math.min(users, most));
  const at = (users) => stepOf(users).throughput;
  const apart = (users) => stepOf(users).apart;
  const low = Math.floor(Math.log10(at(1)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(at(MOST))));
  const [left, right] = [LEFT, width - RIGHT];
  const x = logarithmic([1, MOST], [left, right]);
  const y = logarithmic([10 ** low, 10 ** high], [BOTTOM, TOP]);
  return { at, apart, rows: powers(low, high), left, right, top: TOP, bottom: BOTTOM, x, y };
};

const drag = {
  id: () => "users",
  point: (state, width) => {
    const { at, x, y } = frameOf(state, width);
    return [x(state.users), y(at(state.users))];
  },
};

const curve = ({ x, y }, at, from, to, kind) => {
  if (to <= from) return "";
  const points = Array.from({ length: 41 }, (_, i) => from * (to / from) ** (i / 40));
  return line(points.map((users) => [x(users), y(at(users))]), kind);
};

/** Return a line at the published throughput of these settings. */
const mark = (state, { y, left, right }) => {
  const found = published(state);
  if (!found) return "";
  const height = y(found);
  const points = [
    [left, height],
    [right, height],
  ];
  return line(points, "dashed") + label(left + 6, height - 6, "published", "soft small");
};

/** Return a label of the lower line where it is well below the upper one, or nothing. */
const without = ({ at, apart, x, y }, most) =>
  most > 8 && apart(most) < 0.9 * at(most)
    ? label(x(most), y(apart(most)) + 18, "without chunks", "soft small", "middle")
    : "";

const throughput = (state, width) => {
  const frame = frameOf(state, width);
  const most = Math.max(1, Math.min(MOST, inference.capacity(server(state))));
  const rows = frame.rows.map(([, power]) => [power, power]);
  const columns = [1, 4, 16, 64, 256, 1024].map((users) => [users]);
  const middle = (frame.left + frame.right) / 2;
  return (
    label(0, TOP - 22, "generated tokens per second of all users", "soft small") +
    grid(frame, rows, columns) +
    curve(frame, frame.at, 1, most, "line1") +
    curve(frame, frame.apart, 1, most, "line3") +
    curve(frame, frame.at, most, MOST, "dashed") +
    without(frame, most) +
    mark(state, frame) +
    label(middle, BOTTOM + 38, "users", "soft small", "middle") +
    dot(...drag.point(state, width), 5, "ring chip")
  );
};

const draw = (state, width) =>
  sheet(width, 376, memoryBar(state, width), throughput(state, width));

// In words

const people = (users) => plural(users, "user").replace(" ", "\u00a0");

/** Return words on texts that are longer than those that a model is made for. */
const beyond = ({ model, input, output }) =>
  input + output > model.context ? `; the model is made for ${model.context} tokens` : "";

const result = (state) => {
  const task = server(state);
  const users = served(state);
  if (!users)
    return inference.weightBytes(task.model, task.bits) > 0.9 * task.card.memory
      ? `The weights do not fit into the memory of the ${CARDS[state.card]}.`
      : `The cache of one user does not fit on the ${CARDS[state.card]} beside the weights.`;
  const { time: seconds, throughput, apart, reading } = inference.step(task, users);
  const what = seconds > reading ? "the arithmetic decides" : "the bytes decide";
  const waiting = state.users - users;
  const wait = waiting ? `; ${people(waiting)} wait${waiting === 1 ? "s" : ""}` : "";
  const found = published(state);
  const shares = [throughput, apart].map((most) => round(found / most, 2));
  const expected = round(expectedOf(state).throughput);
  return (
    `With ${people(users)}, a token takes ${time(seconds)}, ${what}, and the ` +
    `${CARDS[state.card]} generates at most ${round(throughput)} tokens per second ` +
    `(${round(apart)} without chunks; expect ${expected})${wait}` +
    (found ? `; published are ${found}, or ${shares[0]} (${shares[1]}) of it` : "") +
    `${beyond(task)}.`
  );
};

const summary = (state) =>
  `A bar and a chart. ${result(state)} The bar shows the weights and the caches in the ` +
  "memory of the card, of which a tenth is left free. In the chart, the throughput rises " +
  "with the users, more and more slowly, until no more fit; a second line has what it " +
  "would be without chunks.";

const formula = (state) => {
  const task = server(state);
  const users = Math.max(1, served(state));
  const { weights, caches, reading, arithmetic: computing, prompt, ...bounds } =
    inference.step(task, users);
  const expected = expectedOf(state);
  const prompts = (users * prompt) / task.output;
  return [
    `a user's cache: ${size(cacheOf(task))} on average; room for ` +
      people(inference.capacity(task)),
    `bytes: (${size(weights)} + ${size(caches)}) / ` +
      `${bandwidth(task.card.bandwidth)} = ${time(reading)}`,
    `arithmetic at ${rate(task.card.rate)}: ${time(computing)} for ${people(users)}, and ` +
      `${people(users)} · ${time(prompt)} / ${task.output} = ${time(prompts)} for prompts`,
    `tokens per second: ${users} / ${time(bounds.time)} = ${round(bounds.throughput)}`,
    `without chunks: ${users} · ${task.output} / (${task.output} · ` +
      `${time(Math.max(reading, computing))} + ${users} · ${time(prompt)}) = ` +
      round(bounds.apart),
    `expected: a token in ${time(expected.time)}, a prompt in ${time(expected.prompt)}, ` +
      `room for ${people(expected.room)}, ${round(expected.throughput)} tokens per second`,
  ];
};

const halves = Array.from({ length: 21 }, (_, i) => Math.round(2 ** (i / 2)));
const USERS = [...new Set(halves)];
const INPUTS = [128, 500, 1000, 2048, 5000, 8192, 20000, 65536];
const OUTPUTS = [128, 500, 1000, 2000, 2048, 4096, 8192];

export default figure({
  name: "server",
  card: "card",
  controls: [
    steps("users", "Users", USERS, 16, { format: people }),
    ...more(select("model", "Model", MODELS, "llama3-8b")),
    select("card", "Card", CARDS, "h100"),
    ...more(
      steps("input", "Tokens in", INPUTS, 5000),
      steps("output", "Tokens out", OUTPUTS, 2000),
      select("bits", "Bits of a weight", ["16", "8", "4.5"], "16"),
      select("cache", "Bits of a cached value", ["16", "8"], "16"),
    ),
  ],
  invite: "Drag the number of users to the right until some of them have to wait.",
  notes: () => NOTES,
  ...{ draw, drag, summary, result, formula },
  ...{ server }, // for tests
});
