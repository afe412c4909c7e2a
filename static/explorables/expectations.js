/* The constants of what is expected beside a bound: d2l/expectations.py has them, with the
 * sources that they were fitted on, and `python -m d2l audit --constants` prints them.
 */
export const PRODUCT_SHARE = 0.85;
// TFLOP/s of the best published product of values of 16 bits; NOTES of plans.js names the
// sources. Other cards reach a share of the data sheet.
export const BEST = { A100: 271, H100: 795, H200: 795, B200: 1745, "RTX 4090": 165.8 };
export const BEST_SHARE = 0.8;
export const BEST_SHARE_8 = 0.73;
export const BEST_SHARE_GEFORCE = 1;
export const BANDWIDTH_SHARE = 0.85;
export const ATTENTION_SHARE = 0.66;
export const ATTENTION_SHARE_HOPPER = 0.41;
export const PASSES = 5;
export const PASSES_AGAIN = 2;
export const LOSS_PASSES = 6;
export const KERNEL_TIME = 4e-6;
export const LAYER_KERNELS = 10;
export const RING_SHARE = 0.8;
export const LEFT = 0.1;
export const PEAK_SHARE = 0.4;
export const PEAK_SHARE_A100 = 0.53;
export const PEAK_SHARE_RTX = 0.65;
export const SAFE = "18 of 23"; // published peaks below the expected ones

/** Return the rate of attention over that of the best product on a card. */
export const attentionShare = (card) =>
  ["H100", "H200"].includes(card) ? ATTENTION_SHARE_HOPPER : ATTENTION_SHARE;

/** Return the FLOP/s of usual products on a card with a peak in FLOP/s. */
export const productRate = (card, peak, bits = 16) => {
  if (bits === 16 && card in BEST) return PRODUCT_SHARE * 1e12 * BEST[card];
  const isGeforce = /^RTX \d{4}(?! Ada)/.test(card);
  const best = bits === 8 ? BEST_SHARE_8 : isGeforce ? BEST_SHARE_GEFORCE : BEST_SHARE;
  return PRODUCT_SHARE * best * peak;
};

/** Return the share of the data sheet's rate that training reaches on a card, in 16 bits. */
export const peakShare = (card) => {
  if (card.startsWith("RTX")) return PEAK_SHARE_RTX;
  return card.startsWith("A100") ? PEAK_SHARE_A100 : PEAK_SHARE;
};

/** Return the bytes of a card: those that programs see, or else the data sheet's.
 * @param {Record<string, number>} card its row of cards.csv
 */
export const cardMemory = ({ memory, advertised }) => memory || 1e9 * advertised;

/** Return the bytes that a sum of arrays is expected to take on a card. */
export const withMargin = (bytes) => bytes / (1 - LEFT);

/** Return whether a card's memory holds arrays of so many bytes, with a tenth to spare: the
 * rule of the whole book, `card_holds` in d2l/tables.py. */
export const fits = (bytes, memory) => bytes <= (1 - LEFT) * memory;
