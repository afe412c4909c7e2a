/* The arithmetic of the interactive figures on performance: pure functions without a page.
 *
 * Times are in seconds, sizes in bytes, rates in FLOP/s and bandwidths in bytes per second.
 */

// The roofline: work has FLOPs, bytes and calls

/** The bytes of a number; TF32 is a rounding of 32-bit numbers inside of a product. */
export const TYPES = { float32: 4, tf32: 4, bfloat16: 2, float16: 2, fp8: 1 };

/** Return the work of an operation on each of n numbers. */
export const elementwise = ({ n, reads, writes, flops }, bytes) => ({
  flops: flops * n,
  bytes: bytes * n * (reads + writes),
  calls: 1,
});

/** Return the work of a product of b x k and k x n numbers. */
export const product = ({ b, k, n }, bytes) => ({
  flops: 2 * b * k * n,
  bytes: bytes * (b * k + k * n + b * n),
  calls: 1,
});

/**
 * Return the work of a chain of elementwise operations, each of one FLOP per number.
 * @param {object} chain n: numbers; count: operations; second: how many of them also
 * read a second array; fused: whether one kernel does all, and reads one array
 * @param {number} bytes of a number
 */
export const chain = ({ n, count, second, fused }, bytes) => ({
  flops: count * n,
  bytes: bytes * n * (fused ? 2 : 2 * count + second),
  calls: fused ? 1 : count,
});

/**
 * Return the work of the two products and the softmax of attention, forward. Without
 * fusion, the scores are written and read by a product, the softmax and a product.
 */
export const attention = ({ batch, length, heads, width, fused }, bytes) => {
  const matrices = 4 * batch * length * width;
  const scores = batch * heads * length ** 2;
  return {
    flops: 4 * batch * length ** 2 * width,
    functions: scores,
    bytes: bytes * (matrices + (fused ? 0 : 4 * scores)),
    calls: fused ? 1 : 3,
  };
};

const TERMS = ["flops", "functions", "bytes", "calls"];

/**
 * Return what bounds the time of work.
 * @param {object} machine rate, bandwidth, overhead, and functions per second if known
 * @param {object} work flops, bytes, calls, and special functions if there are any
 * @returns {{terms: object, time: number, decides: string}} the four times, the
 * largest of them and its name
 */
export const bound = (
  { rate, bandwidth, overhead, functions: perSecond = 0 },
  { flops, bytes, calls, functions = 0 },
) => {
  const terms = {
    flops: flops / rate,
    functions: perSecond ? functions / perSecond : 0,
    bytes: bytes / bandwidth,
    calls: calls * overhead,
  };
  const decides = TERMS.reduce((a, b) => (terms[b] > terms[a] ? b : a));
  return { terms, time: terms[decides], decides };
};

// Fusion

/**
 * Return the kernels of a program, whose operations run in order.
 * @param {object[]} operations {name, reads}: the array that one makes, those that it reads
 * @param {boolean[]} fused whether an operation joins the kernel of the one before it,
 * for each but the first
 * @returns {{lines: object[], reads: string[], writes: string[]}[]} a kernel reads each
 * array once, and writes what a later kernel reads, and the program's result
 */
export const kernels = (operations, fused) => {
  const groups = [];
  operations.forEach((operation, i) => {
    if (i > 0 && fused[i - 1]) groups.at(-1).push(operation);
    else groups.push([operation]);
  });
  const readBy = (lines) => [...new Set(lines.flatMap(({ reads }) => reads))];
  const result = operations.at(-1).name;
  return groups.map((lines, i) => {
    const made = lines.map(({ name }) => name);
    const later = [...readBy(groups.slice(i + 1).flat()), result];
    const reads = readBy(lines).filter((name) => !made.includes(name));
    return { lines, reads, writes: made.filter((name) => later.includes(name)) };
  });
};

/** Return the FLOPs per byte above which arithmetic takes longer than the bytes. */
export const ridge = ({ rate, bandwidth }) => rate / bandwidth;

/** Return the batch size at which the weights of a large layer take no longer. */
export const criticalBatch = (machine, bytes) => (bytes / 2) * ridge(machine);

const STEPS = 400; // between the ends of a range, in which one change is looked for

/**
 * Return the sizes at which another term begins to decide.
 * @param {function} decides (size) -> the name of the term
 * @returns {object[]} {size, before, after} in the order of the sizes, not rounded
 */
export const changes = (decides, min, max) => {
  const at = (i) => min * (max / min) ** (i / STEPS);
  const found = [];
  for (let i = 0; i < STEPS; i += 1) {
    let [low, high] = [at(i), at(i + 1)];
    const [before, after] = [decides(low), decides(high)];
    if (before === after) continue;
    while (high / low > 1 + 1e-9) {
      const middle = Math.sqrt(low * high);
      if (decides(middle) === before) low = middle;
      else high = middle;
    }
    found.push({ size: high, before, after });
  }
  return found;
};

const number = (text) => Number(text.replace(/,/g, ""));
const NUMBER = "([0-9][0-9,.]*(?:e[+-]?[0-9]+)?)";

/**
 * Return the machine in a line that `print(measure_machine())` prints, or null.
 * @returns {?{rates: object, bandwidth: number, overhead: number, functions: number}}
 */
export const parseMachine = (text) => {
  const rates = text.match(/GFLOP\/s:\s*([^;]+);/);
  const memory = text.match(new RegExp(`memory\\s+${NUMBER}\\s*GB/s`));
  const calls = text.match(new RegExp(`${NUMBER}\\s*[µμu]s per operation`));
  const functions = text.match(new RegExp(`${NUMBER}\\s*billion functions per second`));
  if (!rates || !memory) return null;
  const pairs = [...rates[1].matchAll(new RegExp(`([a-z]\\w*)\\s+${NUMBER}`, "g"))];
  const machine = {
    rates: Object.fromEntries(pairs.map(([, name, x]) => [name, 1e9 * number(x)])),
    bandwidth: 1e9 * number(memory[1]),
    overhead: calls ? 1e-6 * number(calls[1]) : 0,
    functions: functions ? 1e9 * number(functions[1]) : 0,
  };
  const peaks = [...Object.values(machine.rates), machine.bandwidth];
  const valid = machine.rates.float32 && peaks.every((x) => x > 0 && x < Infinity);
  return valid ? machine : null;
};

// Warps

const WARP = 32;
const SECTOR = 32; // bytes

/**
 * Return the sectors that a warp touches when thread t reads number t * stride.
 * @param {object} access stride, in numbers; size: bytes of a number; offset: address of
 * the first number in bytes
 * @returns {{threads: number[][], sectors: number[], used: number}} the first and the
 * last sector of each thread, all different sectors, and the used share of their bytes
 */
export const sectors = ({ stride, size, offset }) => {
  const threads = Array.from({ length: WARP }, (_, t) => {
    const first = offset + t * stride * size;
    return [first, first + size - 1].map((byte) => Math.floor(byte / SECTOR));
  });
  const all = [...new Set(threads.flat())].sort((a, b) => a - b);
  const asked = WARP * size;
  return { threads, sectors: all, used: asked / (SECTOR * all.length) };
};

/** Return the number of tiles of a product of n x n matrices. */
export const programs = (n, rows, columns) => Math.ceil(n / rows) * Math.ceil(n / columns);

/** Return the waves of a grid, and the share of the places that is busy. */
export const waves = (count, places) => {
  const number = Math.ceil(count / places);
  return { number, efficiency: count / (places * number) };
};

const REGISTER_UNIT = 256; // registers are given to a warp in units of this size
const PARTS = 4; // of an SM, each with its own registers
const SHARED = 128; // bytes that its shared memory delivers in a clock

/** Return the bytes of shared memory that the system reserves for each block. */
export const reserved = (capability) => (capability >= 8 ? 1024 : 0);

/**
 * Return how many blocks of a kernel an SM holds.
 * @param {object} card capability; registers, shared, warps and blocks of an SM
 * @param {object} kernel warps of a block, registers of a thread, shared: bytes of a
 * block
 * @returns {{limits: object, blocks: number, decides: string[], share: number}} the
 * blocks that each limit allows, the smallest of them, the names of the limits that
 * decide, and the share of the warps that is in use
 */
export const occupancy = (card, { warps, registers, shared }) => {
  const perWarp = Math.ceil((WARP * registers) / REGISTER_UNIT) * REGISTER_UNIT;
  const perPart = Math.floor(card.registers / PARTS / perWarp);
  const taken = Math.max(shared + reserved(card.capability), 1);
  const limits = {
    registers: Math.floor((PARTS * perPart) / warps),
    shared: Math.floor(card.shared / taken),
    warps: Math.floor(card.warps / warps),
    blocks: card.blocks,
  };
  const blocks = Math.min(...Object.values(limits));
  const decides = Object.keys(limits).filter((name) => limits[name] === blocks);
  return { limits, blocks, decides, share: (blocks * warps) / card.warps };
};

/**
 * Return the bytes that have to be in flight on an SM to hide a latency, by Little's law.
 * @param {object} card bandwidth; processors: number of SMs
 * @param {number} latency of a request
 */
export const inFlight = ({ bandwidth, processors }, latency) =>
  (latency * bandwidth) / processors;

/**
 * Return the clocks for which a turn of a product occupies each unit of an SM, like
 * `turn_clocks` of the library.
 * @param {object} card tensor16 in TFLOP/s, clock in GHz, and cores: the number of SMs
 * @param {object} plan rows, columns and terms of a tile; warps of a block, instructions
 * of a warp, and read: the bytes that the block reads from shared memory
 * @param {number} l2 bytes that the L2 cache delivers to all SMs in a clock
 */
export const turnClocks = (card, plan, l2) => {
  const { rows, columns, terms, warps, instructions, read } = plan;
  const flops = 2 ** Math.round(Math.log2((1e3 * card.tensor16) / card.cores / card.clock));
  const written = 2 * terms * (rows + columns); // by the copies of both tiles
  return {
    "tensor cores": (2 * rows * columns * terms) / flops,
    issue: (warps * instructions) / PARTS,
    "shared reads": read / SHARED,
    "reads + writes": (read + written) / SHARED,
    "L2 cache": (written * card.cores) / l2,
  };
};

const last = (text, pattern) => [...text.matchAll(pattern)].pop();
const found = (text, pattern) => {
  const match = last(text, pattern);
  return match ? Number(match[1]) : undefined;
};

/**
 * Return the kernel in lines that the book or `ptxas -v` prints, or null. Properties
 * that are not in the text are undefined.
 * @returns {?{registers: number, shared: ?number, stack: ?number, warps: ?number,
 * tile: ?number, card: ?string, capability: ?number}}
 */
export const parseKernel = (text) => {
  const registers = found(text, /(\d+) registers/g);
  if (!(registers >= 1 && registers <= 255)) return null;
  const card = last(text, /\b([A-Z]\d{1,3})\b/g);
  const shared = found(text, /(\d+)(?:\+\d+)? (?:B shared|bytes smem)/g);
  return {
    registers,
    // ptxas prints no shared memory if a kernel has none.
    shared: shared === undefined && /Used \d/.test(text) ? 0 : shared,
    stack: found(text, /(\d+) (?:B of stack|bytes stack frame)/g),
    warps: found(text, /(\d+) warps/g),
    tile: found(text, /tile\s+(\d+)/g),
    card: card?.[1].toLowerCase(),
    capability: found(text, /\bsm_(\d+)/g),
  };
};
