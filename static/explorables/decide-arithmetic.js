/* The arithmetic of choosing a card: what a task needs, how long a run takes, what it costs.
 *
 * Pure functions without a page. Sizes are in bytes, prices in dollars. The functions of the
 * library that they repeat are memory_need, peak_share and rental_costs.
 */
import * as memory from "./memory-arithmetic.js";
import { cacheBytes, weightBytes } from "./inference-arithmetic.js";
import { published } from "./language-models.js";
import * as usual from "./expectations.js";

const RANK = 16; // of the adapters
const MEASURED = 1 / 3; // of a card: with less left free, measure first

const PLAIN = { recipe: "bfloat16", attention: "fused", dropout: false };
const countParameters = (sizes) => memory.countParameters({ ...sizes, ...PLAIN });

/** Return the number of parameters that compute a token: not those of the embedding. */
export const activeParameters = (sizes) => {
  const { width, vocabulary, positions, tied } = sizes;
  return countParameters(sizes) - (positions + (tied ? 0 : vocabulary)) * width;
};

const generatingNeed = (name, sizes, bits, length) => {
  const { layers, width, heads, keyHeads, tied } = sizes;
  const shape = { layers, kvHeads: keyHeads, headSize: width / heads };
  const counted = { params: countParameters(sizes), vocabulary: sizes.vocabulary };
  const { params, vocabulary } = { ...counted, ...published[name] };
  const head = vocabulary * width;
  const weights = weightBytes({ params, embedding: tied ? 0 : head, head }, bits);
  return { weights, training: 0, activations: 0, logits: 0, caches: cacheBytes(shape, length) };
};

/**
 * Return the bytes that a task takes on one GPU, by role, for one sequence.
 * @param {{name: string, sizes: object}} model
 * @param {{kind: string, bits: number}} task to "generate", "adapt" by LoRA, or "train"
 * @param {{length: number, loss: string, recompute: string}} setting as in adaptingNeed
 */
export const memoryNeed = ({ name, sizes }, { kind, bits }, { length, loss, recompute }) => {
  if (kind === "generate") return generatingNeed(name, sizes, bits, length);
  const full = { ...sizes, batch: 1, length, loss, recompute };
  const need =
    kind === "adapt" ? memory.adaptingNeed(full, bits, RANK) : memory.trainingNeed(full);
  return { ...need, caches: 0 };
};

export const total = (need) => Object.values(need).reduce((sum, bytes) => sum + bytes, 0);

/** Return whether a card holds a need: "fits", "measure" first, or "no". */
export const verdict = (need, capacity) => {
  const bytes = total(need);
  if (!usual.fits(bytes, capacity)) return "no";
  return bytes > (1 - MEASURED) * capacity ? "measure" : "fits";
};

/** Return how many users with such caches a card holds beside the weights. */
export const users = ({ weights, caches }, capacity) =>
  Math.max(0, Math.floor(((1 - usual.LEFT) * capacity - weights) / caches));

/** Return the FLOPs of a run over so many tokens. */
export const runFlops = (sizes, tokens) => 6 * activeParameters(sizes) * tokens;

/** Return the hours of so many FLOPs on a card with a peak in TFLOP/s. */
export const runHours = (flops, card, peak) =>
  flops / (usual.peakShare(card) * 1e12 * peak) / 3600;

/** Return the dollars for so many hours by the cheapest and the dearest of the offers.
 * @param {[number, string][]} offers prices with their dates
 */
export const rentalCosts = (offers, hours) => {
  const prices = offers.map(([price]) => price);
  return [hours * Math.min(...prices), hours * Math.max(...prices)];
};

/** Return rows {verdict, costs} in order: those that hold the task first, the cheapest of
 * them first. */
export const inOrder = (rows) => {
  const isSmall = (row) => Number(row.verdict === "no");
  return [...rows].sort(
    (a, b) => isSmall(a) - isSmall(b) || a.costs[0] - b.costs[0] || a.costs[1] - b.costs[1],
  );
};
