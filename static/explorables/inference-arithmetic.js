/* The arithmetic of generating text: pure functions without a page.
 *
 * Sizes are in bytes, times in seconds, rates in FLOP/s and bandwidths in bytes per second.
 * The script runs in pages and in Node.
 */
"use strict";

/** Return the bytes of keys and values of `length` tokens, with 2 bytes a value. */
const cacheBytes = ({ layers, kvHeads, headSize }, length) =>
  2 * layers * kvHeads * headSize * length * 2;

const weightBytes = ({ params }, bits) => (params * bits) / 8;

/**
 * Return the most users whose caches fit beside the weights; a tenth of the memory is left.
 * @param {object} server model: params, layers, kvHeads, headSize; card: memory, bandwidth,
 * rate; bits: of a weight; length: tokens of a user
 */
const capacity = ({ model, card, bits, length }) =>
  Math.max(
    0,
    Math.floor((0.9 * card.memory - weightBytes(model, bits)) / cacheBytes(model, length)),
  );

/**
 * Return the bounds of a step that generates a token for each user.
 * @returns {{weights: number, caches: number, reading: number, arithmetic: number,
 * time: number, throughput: number}} bytes, seconds, and tokens per second of all users
 */
const step = (server, users) => {
  const { model, card, bits, length } = server;
  const weights = weightBytes(model, bits);
  const caches = users * cacheBytes(model, length);
  const reading = (weights + caches) / card.bandwidth;
  const arithmetic = (2 * model.params * users) / card.rate;
  const time = Math.max(reading, arithmetic);
  return { weights, caches, reading, arithmetic, time, throughput: users / time };
};

module.exports = { cacheBytes, weightBytes, capacity, step };
