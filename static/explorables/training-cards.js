/* The cards of the figures on many GPUs: their memory, products and links. */
import * as usual from "./expectations.js";
import { cards } from "./cards.js";

// Bytes; TFLOP/s of the best published product of 16-bit matrices; GB/s of a GPU in one
// direction inside of its machine and to other machines, and of its memory. NOTES of
// plans.js names the sources.
const card = (name, network, within = cards[name].nvlink) => {
  const { bandwidth: memory } = cards[name];
  const capacity = usual.cardMemory(cards[name]);
  return { name, capacity, rate: usual.BEST[name], within, network, memory };
};
export const CARDS = {
  a100: card("A100", 25),
  h100: card("H100", 50),
  h200: card("H200", 50),
  b200: card("B200", 50),
  rtx4090: card("RTX 4090", 3, 11.15),
};
