/* The arithmetic of generating text: pure functions without a page.
 *
 * Sizes are in bytes, times in seconds, rates in FLOP/s and bandwidths in bytes per second.
 */

import * as usual from "./expectations.js";

/** Return the bytes of keys and values of `length` tokens, with so many bits a value. */
export const cacheBytes = ({ layers, kvHeads, headSize }, length, bits = 16) =>
  (2 * layers * kvHeads * headSize * length * bits) / 8;

/** Return the bytes of parameters, of which embedding and head stay in 16 bits. */
const bytesOf = (params, ends, bits) => (bits * (params - ends) + Math.max(bits, 16) * ends) / 8;

/** Return the bytes of all weights, in so many bits in the layers. */
export const weightBytes = ({ params, embedding, head }, bits) =>
  bytesOf(params, embedding + head, bits);

/** Return the number of parameters that a step reads: those of experts that are used, and
 * all others but the embedding. A mixture has `experts`. */
export const readParams = ({ params, active, embedding, experts = 1, used = 1 }, users) =>
  experts === 1
    ? active
    : params - embedding - (params - embedding - active) * (1 - used / experts) ** (users - 1);

/** Return the users whose caches of `length` tokens each fit; a tenth of the memory is left. */
const roomFor = ({ model, card, bits, cacheBits }, length) => {
  const room = (1 - usual.LEFT) * card.memory - weightBytes(model, bits);
  return Math.max(0, Math.floor(room / cacheBytes(model, length, cacheBits)));
};

/**
 * Return the most users whose caches fit beside the weights, on average: users are spread
 * over their outputs, and pages hold no more than a user has so far.
 * @param {object} server model: params, active, layers, heads, kvHeads, headSize, experts,
 * used, and the parameters of its embedding and head; card: memory, bandwidth, rate; bits: of a weight; cacheBits: of a cached value;
 * input and output: tokens of a user
 */
export const capacity = (server) => roomFor(server, server.input + server.output / 2);

/** Return the operations of a token that attends to so many others. */
const tokenFlops = ({ active, layers, heads, headSize }, before) =>
  2 * active + 4 * layers * heads * headSize * before;

/**
 * Return the bounds of a step that generates a token for each user, and of the throughput.
 *
 * With chunks, a step also computes parts of the prompts of the users to come while it
 * reads weights and caches. Users are spread over their outputs, so their caches have half
 * of them on average.
 * @returns {{weights: number, caches: number, reading: number, arithmetic: number,
 * prompt: number, time: number, throughput: number, apart: number}} bytes that a step
 * reads; seconds of these bytes, of the arithmetic of its new tokens, of a whole prompt,
 * and of a step; generated tokens per second of all users, and the same if prompts are
 * computed between the steps
 */
export const step = (server, users) => {
  const { model, card, bits, cacheBits, input, output } = server;
  const cached = input + output / 2;
  const weights = bytesOf(readParams(model, users), model.head, bits);
  const caches = users * cacheBytes(model, cached, cacheBits);
  const reading = (weights + caches) / card.bandwidth;
  const arithmetic = (users * tokenFlops(model, cached)) / card.rate;
  const prompt = (input * tokenFlops(model, input / 2)) / card.rate;
  const time = Math.max(reading, arithmetic + (users * prompt) / output);
  const alone = output * Math.max(reading, arithmetic);
  const apart = (users * output) / (alone + users * prompt);
  return { weights, caches, reading, arithmetic, prompt, time, throughput: users / time, apart };
};

// What a server is expected to do

/** Return the bytes of a prompt's token for a moment of its pass, in 16 bits. */
const promptBytes = ({ width, hidden }) => 2 * 3 * (width + hidden);

/** Return the users that a server has room for beside the pass of a prompt if it reserves
 * whole texts; the model also has a width and a hidden width. */
export const expectedCapacity = (server) => {
  const moment = server.input * promptBytes(server.model);
  const memory = server.card.memory - usual.withMargin(moment);
  return roomFor({ ...server, card: { ...server.card, memory } }, server.input + server.output);
};

/**
 * Return the step and the throughput that are expected of one card.
 *
 * Reading the weights overlaps with the arithmetic, but neither reading the caches nor the
 * prompts do.
 * @param {object} server as for `capacity`; card: also usual, the rate of usual products
 * @returns {{time: number, prompt: number, throughput: number}} seconds of a token and of a
 * prompt, and generated tokens per second of all users
 */
export const expectedStep = (server, users) => {
  const { model, card, input, output } = server;
  const { weights, caches } = step(server, users);
  const bandwidth = usual.BANDWIDTH_SHARE * card.bandwidth;
  const product = Math.max(weights / bandwidth, (2 * model.active * users) / card.usual);
  const calls = model.layers * usual.LAYER_KERNELS * usual.KERNEL_TIME;
  const time = product + caches / bandwidth + calls;
  const prompt = (input * tokenFlops(model, input / 2)) / card.usual;
  return { time, prompt, throughput: (users * output) / (output * time + users * prompt) };
};
