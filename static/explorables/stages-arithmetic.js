/* The arithmetic of a ring of buffers in a kernel: when each turn of a product requests its
 * tiles, receives and multiplies them, as `RoleProduct` of the library counts it. Times are
 * in clocks.
 */

const ROWS = 128; // of A in a tile
const DEPTH = 64; // terms of a turn
const FLOPS = 4096; // per clock of the tensor cores of an SM of an H100
const COPY = 400; // clocks for two tiles of 128 x 64 and 64 x 128 values, an assumption

/** Return the clocks of the copy and of the product of a turn, with so many columns of B. */
export const times = (columns) => ({
  copy: (COPY * (ROWS + columns)) / (2 * ROWS),
  product: (2 * ROWS * columns * DEPTH) / FLOPS,
});

/** Return the KiB of a buffer, which holds tiles of 16-bit values. */
export const kibibytes = (columns) => ((ROWS + columns) * DEPTH * 2) / 1024;

/**
 * Return {buffer, lap, asked, begin, ready, start, end} of each turn: its request, the first
 * and the last byte, and its product.
 */
export const turns = ({ stages, latency, copy, product }, count) => {
  const list = [];
  for (let t = 0; t < count; t++) {
    const asked = list[t - stages]?.end ?? 0;
    const begin = Math.max(asked + latency, list[t - 1]?.ready ?? 0);
    const ready = begin + copy;
    const start = Math.max(ready, list[t - 1]?.end ?? 0);
    const [buffer, lap] = [t % stages, Math.floor(t / stages)];
    list.push({ buffer, lap, asked, begin, ready, start, end: start + product });
  }
  return list;
};

/** Return the clocks of a turn long after the start, by the formula. */
export const perTurn = ({ stages, latency, copy, product }) =>
  Math.max(product, copy, (latency + copy + product) / stages);

/** Return the fewest buffers with which a unit, and not the wait, is the limit. */
export const enough = ({ latency, copy, product }) =>
  Math.ceil((latency + copy + product) / Math.max(copy, product) - 1e-9);

/** Return the phases, 0 or 1, of the two barriers of a buffer at a time. */
export const phases = (list, buffer, now) => {
  const own = list.filter((turn) => turn.buffer === buffer);
  const flips = (key) => own.filter((turn) => turn[key] <= now).length % 2;
  return { ready: flips("ready"), empty: flips("end") };
};
