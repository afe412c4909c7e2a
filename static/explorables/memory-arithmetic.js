/* The arithmetic of the interactive figures on memory: pure functions that need no page.
 *
 * Sizes are in bytes.
 */

// Bytes per parameter

// `numbers` is the size of a number in the layers, `state` of one in the optimizer.
export const RECIPES = {
  float32: { weights: 4, gradients: 4, master: 0, numbers: 4, state: 4 },
  mixed: { weights: 2, gradients: 2, master: 4, numbers: 2, state: 4 },
  "mixed-32": { weights: 2, gradients: 4, master: 4, numbers: 2, state: 4 },
  "mixed-both": { weights: 2, gradients: 6, master: 4, numbers: 2, state: 4 },
  cast: { weights: 4, gradients: 4, master: 0, numbers: 2, state: 4 },
  bfloat16: { weights: 2, gradients: 2, master: 0, numbers: 2, state: 2 },
};

/** The bytes of an optimizer's state per parameter, without a master copy. */
const OPTIMIZERS = {
  sgd: () => 0,
  momentum: ({ state }) => state,
  adam: ({ state }) => 2 * state,
  adam8: () => 2,
};

/** Return the bytes per parameter by role; the master copy is part of `optimizer`. */
export const perParameter = (recipe, optimizer) => {
  const { weights, gradients, master } = RECIPES[recipe];
  const state = OPTIMIZERS[optimizer](RECIPES[recipe]);
  return { weights, gradients, optimizer: master + state };
};

// Bytes that a layer keeps for the backward pass, per token

/* Attention computes a score for each head, query and key. A fused kernel keeps a sum in
 * 32 bits for each head and query instead. Plain attention keeps the softmax of the
 * scores, and with dropout also a mask and the product. Implementations of Llama compute
 * the softmax in 32 bits and keep a copy in the numbers of the layer. In the backward
 * pass, two gradients of the same size exist for a moment. */
const scores = ({ kind, attention, heads, length, dropout, recompute, numbers }) => {
  if (attention === "fused") return { kept: 4 * heads, moment: 0 };
  const wide = kind === "llama" && numbers < 4;
  const masked = dropout ? numbers + 1 : 0;
  const kept = heads * length * (numbers + masked + (wide ? 4 : 0));
  const moment = heads * length * 2 * (wide ? 4 : numbers);
  if (recompute !== "attention") return { kept, moment };
  return { kept: 0, moment: kept + moment };
};

/* A layer of GPT-2 keeps 16 arrays of width h: the inputs of 2 normalizations, 2 linear
 * layers and the first of the network; queries, keys and values; and twice 4 in the
 * network. With the masks of two dropouts these are 34 h bytes in numbers of 16 bits.
 * Each normalization keeps a mean and a deviation in 32 bits. */
export const gptLayer = (setting) => {
  const { width, dropout, numbers, recompute } = setting;
  const arrays = recompute === "nonlinearity" ? 12 : 16;
  const masks = dropout ? 2 * width : 0;
  return arrays * width * numbers + masks + 16 + scores(setting).kept;
};

/* A layer of Llama keeps the inputs of 2 normalizations and of the first products after
 * them, the queries, the result of the attention, keys and values, and 4 arrays of the
 * network: both products, the nonlinearity of the first, and their product. There is
 * no dropout, and a normalization keeps one number in 32 bits. */
export const llamaLayer = (setting) => {
  const { width, hidden, heads, keyHeads, numbers, recompute } = setting;
  const keys = (2 * width * keyHeads) / heads;
  const network = (recompute === "nonlinearity" ? 3 : 4) * hidden;
  return (6 * width + keys + network) * numbers + 8 + scores(setting).kept;
};

/* Selective recomputation keeps what a layer receives, the output of its attention, and
 * every second product: the queries, keys and values and the first of the network in GPT;
 * the queries, the values, the first product of the network and its last one in Llama. */
const selected = {
  gpt: ({ width }) => 9 * width,
  llama: ({ width, hidden, heads, keyHeads }) => (4 + keyHeads / heads) * width + hidden,
};

const LAYERS = {
  gpt: {
    kept: gptLayer,
    parameters: ({ width }) => 12 * width ** 2 + 13 * width,
    network: ({ width }) => 4 * width,
  },
  llama: {
    kept: llamaLayer,
    parameters: ({ width, hidden, heads, keyHeads }) =>
      2 * width ** 2 * (1 + keyHeads / heads) + 3 * width * hidden + 2 * width,
    network: ({ hidden }) => hidden,
  },
};

// Stages of a model, in the order of the forward pass. A stage has its `parameters`; the
// bytes that it `keeps`; those that it keeps if it is computed twice, `input` (with the
// products that are not, in selective recomputation); and those that exist for a moment, `temporary`, while its gradients are computed. The last stage
// also has the bytes of its loss after the forward pass and at most: `loss`, `lossPeak`.

/** Return the bytes per logit: after the forward pass, and at most in the backward. */
const perLogit = ({ loss, numbers, copies }) => {
  if (loss === "in place") return [numbers, numbers];
  const parts = loss === "chunks" ? 8 : 1;
  // The logarithms of the softmax and two gradients exist in 32 bits, and copies of the
  // logits and their gradients in 16.
  return [loss === "chunks" ? 0 : 4, (copies && numbers < 4 ? 16 : 12) / parts];
};

/** Return the bytes per token that exist for a moment in the backward pass of a layer. */
const layerMoment = (setting) => {
  const { kind, width, numbers } = setting;
  const network = (2 * LAYERS[kind].network(setting) + width) * numbers;
  return Math.max(network, 5 * width * numbers + scores(setting).moment);
};

const transformer = (setting) => {
  const { kind, width, layers, vocabulary, positions, tied } = setting;
  const { numbers, tokens } = setting;
  const matrix = vocabulary * width;
  const norm = kind === "gpt" ? 2 * width : width;
  const [kept, most] = perLogit(setting);
  const few = selected[kind](setting) * numbers + scores(setting).kept;
  const layer = {
    parameters: LAYERS[kind].parameters(setting),
    keeps: tokens * LAYERS[kind].kept(setting),
    input: tokens * (setting.recompute === "selective" ? few : width * numbers),
    temporary: tokens * layerMoment(setting),
  };
  return [
    {
      parameters: matrix + positions * width,
      keeps: tokens * (setting.dropout ? width : 0),
      temporary: tokens * width * numbers,
    },
    ...Array.from({ length: layers }, () => layer),
    {
      parameters: (tied ? 0 : matrix) + norm,
      keeps: tokens * (2 * width * numbers + 8),
      temporary: tokens * width * numbers,
      loss: tokens * vocabulary * kept,
      lossPeak: tokens * vocabulary * most,
    },
  ];
};

/* Return the stages of linear layers with these widths. If they are computed twice, a
 * stage consists of `segment` layers. */
const perceptron = ({ widths, segment, square, recompute, tokens, numbers }) => {
  const block = recompute === "full" ? segment : 1;
  const array = (width) => tokens * width * numbers;
  const count = widths.length - 1;
  const output = array(widths[count]);
  const stage = (first) => {
    const own = widths.slice(first, first + block + 1);
    const outputs = own.slice(1);
    // The last output of a classifier is a row of logits, which the loss holds.
    const hidden = first + block >= count && !square ? outputs.slice(0, -1) : outputs;
    return {
      parameters: outputs.reduce((sum, w, i) => sum + w * (own[i] + 1), 0),
      keeps: hidden.reduce((sum, w) => sum + array(w), 0),
      input: first === 0 ? 0 : array(own[0]),
      temporary: 2 * array(Math.max(...outputs)),
    };
  };
  const starts = Array.from({ length: count / block }, (_, i) => i * block);
  const loss = { parameters: 0, keeps: 0, temporary: 0 };
  const sizes = square ? [output, 5 * output] : [output, 3 * output];
  return [...starts.map(stage), { ...loss, loss: sizes[0], lossPeak: sizes[1] }];
};

/** Return the stages of a setting: a model with its batch, length and recipe.
 * @returns {any[]}
 */
export const stages = (setting) => {
  const { numbers } = RECIPES[setting.recipe];
  const full = { ...setting, numbers, tokens: setting.batch * setting.length };
  return setting.widths ? perceptron(full) : transformer(full);
};

/** Return the bytes of one minibatch: 32-bit numbers, or tokens and their targets. */
const batchBytes = ({ batch, length, widths }) =>
  widths ? batch * widths[0] * 4 : batch * length * 16;

export const countParameters = (setting) =>
  stages(setting).reduce((sum, { parameters }) => sum + parameters, 0);

// The timeline

export const ROLES = [
  "weights",
  "optimizer",
  "gradients",
  "activations",
  "loss",
  "temporaries",
];
export const total = (point) => ROLES.reduce((sum, role) => sum + point[role], 0);
const DRAWN = 3; // Further parts of a minibatch repeat the third.

/** Return the bytes per parameter of a GPU that shares the state with others. */
const shared = ({ recipe, optimizer, gpus, sharded }) => {
  const bytes = perParameter(recipe, optimizer);
  const part = (role) =>
    role === "optimizer" || sharded === "all" ? bytes[role] / gpus : bytes[role];
  return Object.fromEntries(Object.keys(bytes).map((role) => [role, part(role)]));
};

/**
 * Return the memory over a later step of training, whose optimizer has its state.
 * @param {object} setting a model's sizes; batch: examples of a minibatch; length:
 * tokens of an example; recipe; optimizer; recompute: "none", "attention",
 * "nonlinearity", "selective" or "full"; loss: "whole", "chunks" or "in place"; parts: number of
 * parts whose gradients are added; gpus; sharded: "optimizer" or "all"; copies: whether
 * logits in 16 bits count beside those in 32
 * @returns {object[]} points {at, phase, stage, part, and the bytes of each role}
 */
export const timeline = (setting) => {
  const part = { ...setting, batch: Math.ceil(setting.batch / setting.parts) };
  const twice = ["selective", "full"].includes(setting.recompute);
  const list = stages(part);
  const count = countParameters(part);
  const bytes = shared(setting);
  // Weights that are cast or gathered exist for two stages at a time.
  const gathered = setting.sharded === "all" && setting.gpus > 1;
  const copied = setting.recipe === "cast" || gathered ? 2 : 0;
  const copies = ({ parameters }) =>
    copied * parameters * RECIPES[setting.recipe].numbers;
  const kept = (stage) => (twice && "input" in stage ? stage.input : stage.keeps);
  const now = {
    weights: count * bytes.weights,
    optimizer: count * bytes.optimizer,
    gradients: 0,
    activations: batchBytes(part),
    loss: 0,
    temporaries: 0,
  };
  const points = [];
  let at = 0;
  const mark = (phase, stage, index, wide = 0) => {
    points.push({ ...now, at, phase, stage, part: index });
    at += wide;
    if (wide) points.push({ ...now, at, phase, stage, part: index });
  };
  const forward = (stage, i, index) => {
    now.activations += kept(stage);
    now.loss = stage.loss || 0;
    now.temporaries = stage.temporary / 2 + copies(stage);
    mark("forward", i, index, 1);
    now.temporaries = 0;
  };
  const backward = (stage, i, index) => {
    const again = stage.keeps - kept(stage);
    now.activations += again;
    now.loss = stage.lossPeak || 0;
    now.temporaries = stage.temporary + copies(stage);
    mark("backward", i, index, again ? 3 : 2);
    now.activations -= stage.keeps;
    now.loss = 0;
    now.temporaries = 0;
    if (index === 0) now.gradients += stage.parameters * bytes.gradients;
  };
  mark("start", 0, 0);
  for (let index = 0; index < Math.min(setting.parts, DRAWN); index += 1) {
    list.forEach((stage, i) => forward(stage, i, index));
    mark("turn", list.length - 1, index);
    for (let i = list.length - 1; i >= 0; i -= 1) backward(list[i], i, index);
    mark("turned", 0, index);
  }
  mark("update", 0, Math.min(setting.parts, DRAWN) - 1, list.length / 4);
  now.gradients = 0;
  mark("end", 0, 0);
  return points;
};

/** Return the first point of the highest total. */
export const peak = (points) =>
  points.reduce((best, point) => (total(point) > total(best) ? point : best));

// Fine-tuning, as in d2l/needs.py

/** Return the parameters of LoRA beside all matrices of all layers. */
export const loraParameters = (sizes, rank) => {
  const { kind, width, heads, keyHeads, layers } = sizes;
  const sides = 2 * (width + width) + 2 * (width + (width * keyHeads) / heads);
  const matrices = kind === "llama" ? 3 : 2; // of the network
  return rank * layers * (sides + matrices * (width + LAYERS[kind].network(sizes)));
};

/** Return the bytes of weights whose layers have so many bits, and 16 at both ends. */
const quantizedBytes = (setting, bits) => {
  const ends = setting.vocabulary * setting.width * (setting.tied ? 1 : 2);
  return (bits / 8) * (countParameters(setting) - ends) + 2 * ends;
};

const CHUNKS = { whole: 1, chunks: 8 };
const LAYER = { attention: "fused", dropout: false, recipe: "bfloat16" };

/**
 * Return the bytes of LoRA over a model by role.
 * @param {object} setting the model's sizes; batch: sequences; length: tokens of each;
 * recompute: "none" or "full"; loss: "whole" or "chunks"
 * @param {number} bits of a frozen weight
 */
export const adaptingNeed = (setting, bits, rank) => {
  const { kind, width, layers, vocabulary, recompute, loss } = setting;
  const full = { ...setting, ...LAYER, numbers: 2 };
  const isTwice = recompute === "full";
  // A product with quantized weights keeps its input, which one in 16 bits does not.
  const inputs = bits < 16 ? 2 * (3 * width + LAYERS[kind].network(setting)) : 0;
  const kept = isTwice ? 2 * width : LAYERS[kind].kept(full) + inputs;
  const tokens = setting.batch * setting.length;
  return {
    weights: quantizedBytes(full, bits),
    training: 16 * loraParameters(setting, rank),
    activations: tokens * layers * kept,
    logits: (tokens * 8 * vocabulary) / CHUNKS[loss],
  };
};

/** Return the bytes of training all parameters with Adam, by role, at the peak of a step. */
export const trainingNeed = (setting) => {
  const usual = { ...LAYER, recipe: "cast", optimizer: "adam", sharded: "all", copies: true };
  const point = peak(timeline({ ...setting, ...usual, parts: 1, gpus: 1 }));
  return {
    weights: point.weights,
    training: point.gradients + point.optimizer,
    activations: point.activations + point.temporaries,
    logits: point.loss,
  };
};
