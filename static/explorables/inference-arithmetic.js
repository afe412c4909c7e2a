/* The arithmetic of generating text: pure functions without a page.
 *
 * Sizes are in bytes, times in seconds, rates in FLOP/s and bandwidths in bytes per second.
 */

import * as usual from "./expectations.js";

/** Return the bytes of keys and values of `length` tokens, with so many bits a value. */
export const cacheBytes = ({ layers, kvHeads, headSize }, length, bits = 16) =>
  (2 * layers * kvHeads * headSize * length * bits) / 8;

export const weightBytes = ({ params }, bits) => (params * bits) / 8;

/** Return the number of parameters that a step reads; a mixture has `experts`. */
export const readParams = ({ params, active, experts = 1, used = 1 }, users) =>
  params - (params - active) * (experts === 1 ? 1 : (1 - used / experts) ** (users - 1));

/**
 * Return the most users whose caches fit beside the weights; a tenth of the memory is left.
 * @param {object} server model: params, active, layers, kvHeads, headSize, experts, used;
 * card: memory, bandwidth, rate; bits: of a weight; cacheBits: of a cached value;
 * input and output: tokens of a user
 */
export const capacity = ({ model, card, bits, cacheBits, input, output }) => {
  const room = (1 - usual.LEFT) * card.memory - weightBytes(model, bits);
  return Math.max(0, Math.floor(room / cacheBytes(model, input + output, cacheBits)));
};

/**
 * Return the bounds of a step that generates a token for each user, and of the throughput.
 *
 * Prompts are computed between the steps. Users are spread over their outputs, so their
 * caches have half of them on average.
 * @returns {{weights: number, caches: number, reading: number, arithmetic: number,
 * time: number, prefill: number, throughput: number}} bytes that a step reads, seconds
 * (prefill: of one prompt), and generated tokens per second of all users
 */
export const step = (server, users) => {
  const { model, card, bits, cacheBits, input, output } = server;
  const weights = (readParams(model, users) * bits) / 8;
  const caches = users * cacheBytes(model, input + output / 2, cacheBits);
  const reading = (weights + caches) / card.bandwidth;
  const arithmetic = (2 * model.active * users) / card.rate;
  const time = Math.max(reading, arithmetic);
  const prefill = (2 * model.active * input) / card.rate;
  const throughput = (users * output) / (output * time + users * prefill);
  return { weights, caches, reading, arithmetic, time, prefill, throughput };
};

// What a server is expected to do

/** Return the bytes of a prompt's token for a moment of its pass, in 16 bits. */
const promptBytes = ({ width, hidden }) => 2 * 3 * (width + hidden);

/** Return the users that a server has room for beside the pass of a prompt; the model also
 * has a width, a hidden width and heads. */
export const expectedCapacity = (server) => {
  const moment = server.input * promptBytes(server.model);
  const memory = server.card.memory - usual.withMargin(moment);
  return capacity({ ...server, card: { ...server.card, memory } });
};

/**
 * Return the step and the throughput that are expected of one card.
 *
 * Reading the weights overlaps with the arithmetic, but reading the caches does not.
 * @param {object} server as for `capacity`; card: also usual, the rate of usual products
 * @returns {{time: number, prefill: number, throughput: number}} as `step` does
 */
export const expectedStep = (server, users) => {
  const { model, card, input, output } = server;
  const { weights, caches } = step(server, users);
  const bandwidth = usual.BANDWIDTH_SHARE * card.bandwidth;
  const product = Math.max(weights / bandwidth, (2 * model.active * users) / card.usual);
  const calls = model.layers * usual.LAYER_KERNELS * usual.KERNEL_TIME;
  const time = product + caches / bandwidth + calls;
  // Half of a prompt's attention is masked.
  const attention = 2 * model.layers * model.heads * model.headSize * input ** 2;
  const prefill = (2 * model.active * input + attention) / card.usual;
  return { time, prefill, throughput: (users * output) / (output * time + users * prefill) };
};
