/* The arithmetic of the interactive figures: pure functions that need no page.
 *
 * Times are in seconds, sizes in bytes, bandwidths in bytes per second, and rates in
 * floating-point operations per second (FLOP/s).
 */

// Numbers and units

/** Return `x` rounded to `digits` significant digits. */
export const round = (x, digits = 3) => Number(x.toPrecision(digits));

/** Return a function that writes `x` in the largest unit in which it is at least 1. */
export const inUnits = (ladder) => (x, digits = 3) => {
  const fits = ([unit]) => round(x / unit, digits) >= 1;
  const [unit, name] = ladder.find(fits) || ladder[ladder.length - 1];
  return `${round(x / unit, digits)}\u00a0${name}`; // with a no-break space
};

export const time = inUnits([
  [1, "s"],
  [1e-3, "ms"],
  [1e-6, "µs"],
  [1e-9, "ns"],
]);
export const size = inUnits([
  [1e12, "TB"],
  [1e9, "GB"],
  [1e6, "MB"],
  [1e3, "kB"],
  [1, "bytes"],
]);
export const bandwidth = inUnits([
  [1e12, "TB/s"],
  [1e9, "GB/s"],
  [1e6, "MB/s"],
]);
export const rate = inUnits([
  [1e12, "TFLOP/s"],
  [1e9, "GFLOP/s"],
]); // data sheets have no PFLOP/s

export const MICRO = 1e-6;
export const GIGA = 1e9;
export const TERA = 1e12;

// Words

/** Return a share between 0 and 1 as "83 %", or with as many significant digits. */
export const percent = (share, digits = 0) => {
  const number = digits ? round(100 * share, digits) : Math.round(100 * share);
  return `${number}\u00a0%`;
};

/** Return a number of things, such as "1 copy" and "2 copies". */
export const plural = (count, one, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;

/** Return words as "a, b and c". */
export const list = (words) =>
  [words.slice(0, -1).join(", "), ...words.slice(-1)].filter(Boolean).join(" and ");

/** Return a text that begins with a capital letter. */
export const upper = (text) => text[0].toUpperCase() + text.slice(1);

// Copies

/**
 * @param {number} bytes size of the copy
 * @param {number} width bandwidth of the link
 * @param {number} latency fixed time of a copy
 * @returns {number} time of one copy
 */
export const copyTime = (bytes, width, latency) => latency + bytes / width;

// Two devices: the behavior of X + Y in each framework

const HOST = "host";
const isGpu = (device) => device !== HOST;

const copies = (name, from, to) => (from === to ? [] : [{ name, from, to }]);

/**
 * @typedef {object} Effect of an action: copies, and the device of the sum
 * @property {string} outcome "sum", "error", "undefined", "fetched" or "nothing"
 * @property {?string} device
 * @property {{name: string, from: string, to: string}[]} copies
 */

/**
 * The effects of actions, by the framework, the devices of X and Y ("host", "gpu0" or
 * "gpu1") and that of their sum, if there is one. Arrays of JAX are committed.
 * @type {Record<string, (setting: any, sum?: ?string) => Effect>}
 */
export const ACTIONS = {
  add: ({ framework, x, y }) => {
    // Without a scope, TensorFlow computes on GPU 0, and copies there.
    const moved = [...copies("X", x, "gpu0"), ...copies("Y", y, "gpu0")];
    if (framework === "tensorflow") return { outcome: "sum", device: "gpu0", copies: moved };
    if (x === y) return { outcome: "sum", device: x, copies: [] };
    // MXNet compares only the kinds of devices: it accepts two GPUs, and may crash.
    const undetected = framework === "mxnet" && isGpu(x) && isGpu(y);
    return { outcome: undetected ? "undefined" : "error", device: null, copies: [] };
  },
  copy: ({ x, y }) => ({ outcome: "sum", device: y, copies: copies("X", x, y) }),
  fetch: (_, sum) =>
    sum
      ? { outcome: "fetched", device: HOST, copies: copies("X + Y", sum, HOST) }
      : { outcome: "nothing", device: null, copies: [] },
};

/**
 * Replay the reader's actions.
 * @param {object} setting framework, x, y; size: bytes of one tensor; actions: a list
 * of "add", "copy" and "fetch"; hostLink, gpuLink: bandwidths; latency
 * @returns {{log: object[], sum: ?string, fetched: boolean, bytes: number,
 * time: number}} a log with an entry for each action, and the totals
 */
export const replay = (setting) => {
  const total = { log: [], sum: null, fetched: false, bytes: 0, time: 0 };
  for (const action of setting.actions) {
    const entry = ACTIONS[action](setting, total.sum);
    const width = ({ from, to }) =>
      isGpu(from) && isGpu(to) ? setting.gpuLink : setting.hostLink;
    const cost = (copy) => copyTime(setting.size, width(copy), setting.latency);
    const bytes = entry.copies.length * setting.size;
    const time = entry.copies.reduce((sum, copy) => sum + cost(copy), 0);
    total.log.push({ action, ...entry, bytes, time });
    total.bytes += bytes;
    total.time += time;
    if (entry.outcome === "sum") total.sum = entry.device;
    if (action !== "fetch") total.fetched = false;
    if (entry.outcome === "fetched") total.fetched = true;
  }
  return total;
};

// The queue

/**
 * Simulate a loop of `steps` steps whose operations are queued.
 * @param {object} loop steps; host: time to queue a step; device: time of a step;
 * every: number of steps between fetches of the loss, 0 for none; fetch: time of a fetch
 * @returns {{host: object[], device: object[], total: number, busy: number,
 * waited: number, fetches: number}} spans {kind, step, start, end} and sums of time
 */
export const runQueue = ({ steps, host, device, every, fetch }) => {
  const run = { host: [], device: [], busy: steps * device, waited: 0, fetches: 0 };
  let now = 0; // the time on the host
  let free = 0; // the time when the device has finished its queue
  const spend = (kind, step, until) => {
    if (until > now) run.host.push({ kind, step, start: now, end: until });
    now = until;
  };
  for (let step = 1; step <= steps; step += 1) {
    spend("queue", step, now + host);
    const start = Math.max(free, now);
    free = start + device;
    run.device.push({ kind: "compute", step, start, end: free });
    if (every > 0 && step % every === 0) {
      run.waited += free - now;
      run.fetches += 1;
      spend("wait", step, free);
      spend("fetch", step, free + fetch);
    }
  }
  return { ...run, total: Math.max(now, free) };
};

/** Return the time of `k` steps, from an empty queue until the device has finished. */
export const blockTime = (k, host, device) =>
  k * Math.max(host, device) + Math.min(host, device);

// Loading, copying and computing

/**
 * Simulate a loop that loads minibatches, copies them and computes a step with each.
 * @param {object} loop minibatches; load, copy, step: the times of one; wait: "step" or
 * "copy", for which the loop waits, or "none"; streams: 1, or 2 if copies have their own
 * @returns {{load: object[], copy: object[], step: object[], total: number}} the spans
 * {number, start, end} of each worker
 */
export const runWorkers = ({ minibatches, load, copy, step, wait, streams }) => {
  const spans = { load: [], copy: [], step: [] };
  let now = 0; // the time on the host
  let copied = 0; // the time when the last copy is finished
  let computed = 0; // the time when the last step is finished
  const spend = (worker, number, start, seconds) => {
    spans[worker].push({ number, start, end: start + seconds });
    return start + seconds;
  };
  for (let number = 1; number <= minibatches; number += 1) {
    now = spend("load", number, now, load);
    const free = streams === 1 ? computed : copied;
    copied = spend("copy", number, Math.max(now, free), copy);
    computed = spend("step", number, Math.max(copied, computed), step);
    if (wait === "copy") now = copied;
    if (wait === "step") now = computed;
  }
  return { ...spans, total: computed };
};

/** Return the time that each minibatch after the first adds in `runWorkers`. */
export const pace = ({ load, copy, step, wait, streams }) => {
  if (wait === "step") return load + copy + step;
  if (wait === "copy") return Math.max(load, step) + copy;
  return streams === 1 ? Math.max(load, copy + step) : Math.max(load, copy, step);
};

// Is it worth moving?

/** Return the number of operations in a product of two n by n matrices. */
export const productFlops = (n) => 2 * n ** 3;

/**
 * @param {object} task n; bytes: size of one number; products: number of products of
 * the same matrices before the result is copied back; cpu, gpu: rates; link, memory:
 * bandwidths; latency: fixed time of a copy; launch: time to launch a product
 * @returns {{cpu: number, copies: number, product: number, gpu: number}} the times of
 * all products on the CPU, of the copies, of all products on the GPU, and of the last
 * two together
 */
export const productTimes = (task) => {
  const { n, bytes, products } = task;
  const moved = 3 * n * n * bytes; // two operands and one result
  const one = Math.max(productFlops(n) / task.gpu, moved / task.memory) + task.launch;
  const copies = 3 * task.latency + moved / task.link;
  const product = products * one;
  const cpu = (products * productFlops(n)) / task.cpu;
  return { cpu, copies, product, gpu: copies + product };
};

/**
 * @returns {?number} the size n, not rounded, above which moving to the GPU is faster,
 * or null if it never is. There is at most one such size: the difference of the times
 * is a cubic polynomial with signs + - -, which changes its sign once.
 */
export const crossing = (task) => {
  const gain = (n) => {
    const times = productTimes({ ...task, n });
    return times.cpu - times.gpu;
  };
  let [low, high] = [1e-3, 2 ** 24];
  if (gain(high) <= 0) return null;
  while (high / low > 1 + 1e-12) {
    const middle = Math.sqrt(low * high);
    if (gain(middle) > 0) high = middle;
    else low = middle;
  }
  return high;
};
