/* The arithmetic of the interactive figures: pure functions, no page needed.
 *
 * Times are in seconds, sizes in bytes, bandwidths in bytes a second, rates in
 * floating-point operations a second (FLOP/s). Loads in a page and in node.
 */
"use strict";

(() => {
  // Numbers and units

  const LADDERS = {
    time: [
      [1, "s"],
      [1e-3, "ms"],
      [1e-6, "µs"],
      [1e-9, "ns"],
    ],
    size: [
      [1e12, "TB"],
      [1e9, "GB"],
      [1e6, "MB"],
      [1e3, "kB"],
      [1, "bytes"],
    ],
    bandwidth: [
      [1e12, "TB/s"],
      [1e9, "GB/s"],
      [1e6, "MB/s"],
    ],
    rate: [
      [1e12, "TFLOP/s"],
      [1e9, "GFLOP/s"],
    ], // data sheets have no PFLOP/s
  };

  /** Return `x` rounded to `digits` significant digits. */
  const round = (x, digits = 3) => Number(x.toPrecision(digits));

  /** Return `x` in the largest unit of a ladder in which it is 1 or more. */
  const inUnits =
    (ladder) =>
    (x, digits = 3) => {
      const fits = ([unit]) => round(x / unit, digits) >= 1;
      const [unit, name] = ladder.find(fits) || ladder[ladder.length - 1];
      return `${round(x / unit, digits)}\u00a0${name}`; // a space that does not break
    };

  const time = inUnits(LADDERS.time);
  const size = inUnits(LADDERS.size);
  const bandwidth = inUnits(LADDERS.bandwidth);
  const rate = inUnits(LADDERS.rate);

  /** Return a share between 0 and 1 as "83 %". */
  const percent = (share) => `${Math.round(100 * share)}\u00a0%`;

  // Copies

  /**
   * @param {number} bytes @param {number} width bandwidth of the link
   * @param {number} latency fixed time of a copy
   * @returns {number} time of one copy
   */
  const copyTime = (bytes, width, latency) => latency + bytes / width;

  // Two devices: what each framework does with X + Y

  const HOST = "host";
  const isGpu = (device) => device !== HOST;

  /** TensorFlow computes on GPU 0 where no scope is open, and copies there. */
  const addSilently = (x, y) => ({
    outcome: "sum",
    device: "gpu0",
    copies: [
      ["X", x],
      ["Y", y],
    ]
      .filter(([, from]) => from !== "gpu0")
      .map(([name, from]) => ({ name, from, to: "gpu0" })),
  });

  /**
   * @param {string} framework "pytorch", "mxnet", "jax" or "tensorflow"
   * @param {string} x device of X: "host", "gpu0" or "gpu1"; @param {string} y of Y
   * @returns {{outcome: "sum"|"error"|"undefined", device: ?string, copies: object[]}}
   * what X + Y does without a copy made by hand; arrays of JAX are committed
   */
  const add = (framework, x, y) => {
    if (framework === "tensorflow") return addSilently(x, y);
    if (x === y) return { outcome: "sum", device: x, copies: [] };
    // MXNet compares kinds of devices only: two GPUs pass, and may crash.
    const unnoticed = framework === "mxnet" && isGpu(x) && isGpu(y);
    return { outcome: unnoticed ? "undefined" : "error", device: null, copies: [] };
  };

  /** What "copy X to where Y is, and add there" does, in every framework. */
  const copyAndAdd = (x, y) => ({
    outcome: "sum",
    device: y,
    copies: x === y ? [] : [{ name: "X", from: x, to: y }],
  });

  /** What fetching the sum to the host does; `sum` is its device, or null. */
  const fetchSum = (sum) => ({
    outcome: sum ? "fetched" : "nothing",
    device: sum ? HOST : null,
    copies: sum && isGpu(sum) ? [{ name: "X + Y", from: sum, to: HOST }] : [],
  });

  const act = (action, { framework, x, y }, sum) => {
    if (action === "add") return add(framework, x, y);
    return action === "copy" ? copyAndAdd(x, y) : fetchSum(sum);
  };

  /**
   * Repeat the reader's actions.
   * @param {object} setting framework, x, y; size: bytes of one tensor; actions: of
   * "add", "copy", "fetch"; hostLink, gpuLink: bandwidths; latency
   * @returns {{log: object[], sum: ?string, fetched: boolean, bytes: number,
   * time: number}} one entry of the log for each action, and the totals
   */
  const replay = (setting) => {
    const total = { log: [], sum: null, fetched: false, bytes: 0, time: 0 };
    for (const action of setting.actions) {
      const entry = act(action, setting, total.sum);
      const width = ({ from, to }) =>
        isGpu(from) && isGpu(to) ? setting.gpuLink : setting.hostLink;
      const cost = (copy) => copyTime(setting.size, width(copy), setting.latency);
      entry.bytes = entry.copies.length * setting.size;
      entry.time = entry.copies.reduce((sum, copy) => sum + cost(copy), 0);
      total.log.push({ action, ...entry });
      total.bytes += entry.bytes;
      total.time += entry.time;
      if (entry.outcome === "sum") total.sum = entry.device;
      if (action !== "fetch") total.fetched = false;
      if (entry.outcome === "fetched") total.fetched = true;
    }
    return total;
  };

  // The queue

  /**
   * Run a loop of `steps` steps whose operations are queued.
   * @param {object} loop steps; host: time to queue a step; device: time of a step;
   * every: fetch the loss after so many steps, 0 for never; fetch: time of a fetch
   * @returns {{host: object[], device: object[], total: number, busy: number,
   * waited: number, fetches: number}} spans {kind, step, start, end} and sums of time
   */
  const runQueue = ({ steps, host, device, every, fetch }) => {
    const run = { host: [], device: [], busy: steps * device, waited: 0, fetches: 0 };
    let now = 0; // of the host
    let free = 0; // when the device has finished what it was given
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

  /** Return the time of `k` steps from an empty queue until the device is done. */
  const blockTime = (k, host, device) =>
    k * Math.max(host, device) + Math.min(host, device);

  /** Return the total of `runQueue` in closed form. */
  const queueTime = ({ steps, host, device, every, fetch }) => {
    const blocks = every > 0 ? Math.floor(steps / every) : 0;
    const rest = steps - blocks * every;
    const last = rest > 0 ? blockTime(rest, host, device) : 0;
    return blocks * (blockTime(every, host, device) + fetch) + last;
  };

  // Is it worth moving?

  /** Return the operations of a product of two n by n matrices. */
  const productFlops = (n) => 2 * n ** 3;

  /**
   * @param {object} task n; bytes: of one number; products: made of the same matrices
   * before the result goes back; cpu, gpu: rates; link, memory: bandwidths;
   * latency: of a copy; launch: of a product on the GPU
   * @returns {{cpu: number, copies: number, product: number, gpu: number}} times: of
   * all products on the CPU; of the copies; of all products on the GPU; both together
   */
  const productTimes = (task) => {
    const { n, bytes, products } = task;
    const moved = 3 * n * n * bytes; // two operands there, one result back
    const one = Math.max(productFlops(n) / task.gpu, moved / task.memory) + task.launch;
    const copies = 3 * task.latency + moved / task.link;
    const product = products * one;
    const cpu = (products * productFlops(n)) / task.cpu;
    return { cpu, copies, product, gpu: copies + product };
  };

  /**
   * @returns {?number} the size n, not rounded, from which moving to the GPU is faster,
   * or null if it never is. There is at most one: the difference of the times changes
   * its sign once, as a cubic polynomial with signs + - - does.
   */
  const crossing = (task) => {
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

  const arithmetic = {
    round,
    time,
    size,
    bandwidth,
    rate,
    percent,
    copyTime,
    add,
    copyAndAdd,
    fetchSum,
    replay,
    runQueue,
    blockTime,
    queueTime,
    productFlops,
    productTimes,
    crossing,
  };
  globalThis.bookArithmetic = arithmetic;
  if (typeof module !== "undefined") module.exports = arithmetic;
})();
