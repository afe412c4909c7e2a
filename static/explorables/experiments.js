/* Experiments on the reader's GPU. measure.js says what an experiment has and returns.
 *
 * Each checks its results against numbers that this script computes. On a software adapter
 * only the check counts, so the work is small there.
 */
import { fit } from "./device.js";
import { round, time, bandwidth as perSecond, rate as flops } from "./arithmetic.js";

const MEBI = 2 ** 20;
const GIGA = 1e9;
const MICRO = 1e-6;
const LONG = 2; // ms of a round, compared with which starting it is short
const GROUP = 256; // threads in a workgroup
const ROW = 65535; // workgroups in one dimension, at most

// A dispatch has at most 65535 workgroups in x, so thread numbers have two parts.
const ID = `let i = g.x + g.y * ${ROW * GROUP}u;`;
const MAIN = `@compute @workgroup_size(${GROUP}) fn main(@builtin(global_invocation_id) g: vec3u)`;
const grid = (threads) => {
  const groups = Math.ceil(threads / GROUP);
  return { x: Math.min(groups, ROW), y: Math.ceil(groups / ROW) };
};
const array = (number, name, type = "f32", mode = "read_write") =>
  `@group(0) @binding(${number}) var<storage, ${mode}> ${name}: array<${type}>;`;

const random = (count) => {
  const numbers = new Float32Array(count);
  for (let i = 0, seed = 1; i < count; i += 1) {
    seed = (seed * 1103515245 + 12345) & 0x7fffffff;
    numbers[i] = seed / 0x7fffffff - 0.5;
  }
  return numbers;
};

const verify = (isRight, what) => {
  if (!isRight) throw new Error(`${what} is wrong on this GPU; please report it.`);
};

/** Return the results of some runs, one after the other. */
const repeat = async (count, run) => {
  const found = [];
  for (let i = 0; i < count; i += 1) found.push(await run());
  return found;
};

/** Return a kernel whose `body` makes elements b[i] from an array a, its job, and b. */
const mapping = async (lab, body, bytes, numbers, type = "f32") => {
  const count = bytes / (type === "f32" ? 4 : 16);
  const [a, b] = [await lab.array(bytes, numbers), await lab.array(bytes)];
  const arrays = `${array(0, "a", type, "read")} ${array(1, "b", type)}`;
  const code = `${arrays} ${MAIN} { ${ID} if (i < ${count}u) { ${body} } }`;
  return { jobs: [{ kernel: await lab.kernel(code, [a, b]), ...grid(count) }], b };
};

/** Return the seconds of jobs; a software adapter runs them once, untimed. */
const timed = async (lab, jobs, options) => {
  if (!lab.isSoftware) return lab.time(jobs, options);
  lab.submit(jobs);
  await lab.finished();
  return { seconds: NaN, most: NaN };
};

/**
 * Return the first size for which a round of the jobs of `make`(size) takes long enough
 * to be more than the cost of starting it, or the last size.
 */
const sized = async (lab, sizes, make) => {
  for (const size of lab.isSoftware ? [] : sizes.slice(0, -1)) {
    const jobs = await make(size);
    await lab.run(jobs, 1); // compiles
    const { page } = await lab.run(jobs, 4);
    lab.free();
    if (page / 4 > LONG) return size;
  }
  return lab.isSoftware ? sizes[0] : sizes[sizes.length - 1];
};

const widest = (times) => {
  const all = times.map(({ seconds, most }) => [seconds, most]);
  return all.reduce((a, b) => (b[1] / b[0] > a[1] / a[0] ? b : a));
};

// The roofline

/** Return the time of a copy of some bytes, whose result is checked. */
const copy = async (lab, bytes) => {
  const numbers = random(1024);
  const { jobs, b } = await mapping(lab, "b[i] = a[i];", bytes, numbers, "vec4f");
  const found = await timed(lab, jobs);
  const read = await lab.read(b, 4096);
  verify(read.every((x, i) => x === numbers[i]), "A copy");
  lab.free();
  return found;
};

// The body of a product of n x n matrices; each computes the same sums in the same order.
const PRODUCTS = {
  naive: (n) => ({
    tile: 16,
    code: `@compute @workgroup_size(16, 16)
      fn main(@builtin(global_invocation_id) g: vec3u) {
        var s = 0.0;
        for (var k = 0u; k < ${n}u; k++) { s += a[g.y * ${n}u + k] * b[k * ${n}u + g.x]; }
        c[g.y * ${n}u + g.x] = s;
      }`,
  }),
  "in tiles": (n) => ({
    tile: 16,
    code: `var<workgroup> p: array<f32, 256>; var<workgroup> q: array<f32, 256>;
      @compute @workgroup_size(16, 16)
      fn main(@builtin(global_invocation_id) g: vec3u,
              @builtin(local_invocation_id) l: vec3u) {
        var s = 0.0;
        for (var t = 0u; t < ${n}u; t += 16u) {
          p[l.y * 16u + l.x] = a[g.y * ${n}u + t + l.x];
          q[l.y * 16u + l.x] = b[(t + l.y) * ${n}u + g.x];
          workgroupBarrier();
          for (var k = 0u; k < 16u; k++) { s += p[l.y * 16u + k] * q[k * 16u + l.x]; }
          workgroupBarrier();
        }
        c[g.y * ${n}u + g.x] = s;
      }`,
  }),
  // A thread keeps 4 x 4 sums, in vectors with names: an array may end up in memory.
  "in tiles and registers": (n) => {
    const rows = [0, 1, 2, 3];
    const store = rows.flatMap((r) =>
      [..."xyzw"].map(
        (part, j) =>
          `c[(w.y * 64u + l.y + ${16 * r}u) * ${n}u + w.x * 64u + l.x + ${16 * j}u] = s${r}.${part};`,
      ),
    );
    return {
      tile: 64,
      code: `var<workgroup> p: array<f32, 1024>; var<workgroup> q: array<f32, 1024>;
      @compute @workgroup_size(16, 16)
      fn main(@builtin(workgroup_id) w: vec3u,
              @builtin(local_invocation_id) l: vec3u,
              @builtin(local_invocation_index) x: u32) {
        ${rows.map((r) => `var s${r} = vec4f();`).join(" ")}
        for (var t = 0u; t < ${n}u; t += 16u) {
          for (var e = x; e < 1024u; e += 256u) {
            p[e] = a[(w.y * 64u + e / 16u) * ${n}u + t + e % 16u];
            q[e] = b[(t + e / 64u) * ${n}u + w.x * 64u + e % 64u];
          }
          workgroupBarrier();
          for (var k = 0u; k < 16u; k++) {
            let o = k * 64u + l.x;
            let v = vec4f(q[o], q[o + 16u], q[o + 32u], q[o + 48u]);
            ${rows.map((r) => `s${r} += p[(l.y + ${16 * r}u) * 16u + k] * v;`).join("\n            ")}
          }
          workgroupBarrier();
        }
        ${store.join("\n        ")}
      }`,
    };
  },
};

const BEST = "in tiles and registers";

/** Return the program of a product of n x n matrices a and b, with its result c. */
export const source = (name, n) =>
  [
    array(0, "a", "f32", "read"),
    array(1, "b", "f32", "read"),
    array(2, "c"),
    PRODUCTS[name](n).code.replace(/^ {6}/gm, ""),
  ].join("\n");

/** Return the job of a product of n x n matrices a and b, their arrays and its result c. */
const multiply = async (lab, name, n, a, b) => {
  const { tile } = PRODUCTS[name](n);
  const arrays = [await lab.array(4 * n * n, a), await lab.array(4 * n * n, b)];
  const c = await lab.array(4 * n * n);
  const kernel = await lab.kernel(source(name, n), [...arrays, c]);
  return { jobs: [{ kernel, x: n / tile, y: n / tile }], arrays, c };
};

/** Return the size of a product that suits this GPU. */
const sizeOfProduct = (lab, sizes = [256, 512, 1024, 2048]) =>
  sized(lab, lab.isSoftware ? [64] : sizes, async (n) => (await multiply(lab, BEST, n)).jobs);

/** Return the rate of a product of n x n matrices, after a check of 200 of its numbers. */
const product = async (lab, name, n) => {
  const [a, b] = [random(n * n), random(n * n).reverse()];
  const { jobs, c } = await multiply(lab, name, n, a, b);
  const found = await timed(lab, jobs, { samples: 3 });
  const read = await lab.read(c, a.byteLength);
  for (let z = 0; z < 200; z += 1) {
    const [i, j] = [(z * 7919) % n, (z * 104729) % n];
    let sum = 0;
    for (let k = 0; k < n; k += 1) sum += a[i * n + k] * b[k * n + j];
    verify(Math.abs(sum - read[i * n + j]) < 1e-3, `The product ${name}`);
  }
  lab.free();
  return { ...found, rate: (2 * n ** 3) / found.seconds };
};

/** Return the time per dispatch of a kernel that adds 1, and whether all of them ran. */
const dispatches = async (lab) => {
  const x = await lab.array(4 * GROUP);
  const kernel = await lab.kernel(`${array(0, "x")} ${MAIN} { x[g.x] += 1.0; }`, [x]);
  const count = lab.isSoftware ? 10 : 1000;
  const jobs = Array.from({ length: count }, () => ({ kernel, x: 1 }));
  const found = await timed(lab, jobs, { batch: 20, samples: 3 });
  const before = (await lab.read(x, 4))[0];
  lab.submit(jobs);
  const after = (await lab.read(x, 4))[0];
  verify(after - before === count, "The number of dispatches");
  lab.free();
  return { seconds: found.seconds / count, most: found.most / count };
};

const CHAIN = [0, 1, 2, 4, 8, 16, 32, 64, 128, 256]; // multiply-adds for each number

/** Return the job of a chain of multiply-adds, and its result b. */
const chainOf = (lab, length, bytes, numbers) => {
  const one = "v = fma(v, m, m);";
  const [many, rest] = [Math.floor(length / 16), length % 16];
  const loop = many ? `for (var j = 0u; j < ${many}u; j++) { ${one.repeat(16)} }` : "";
  const chain = `${one.repeat(rest)} ${loop} b[i] = v;`;
  const body = `var v = a[i] + 1.0; let m = vec4f(0.5); ${chain}`;
  return mapping(lab, body, bytes, numbers, "vec4f");
};

/** Return a point of the roofline for each length of a chain of multiply-adds. */
const points = async (lab) => {
  const sizes = [1, 4, 16, 64].map((mebi) => Math.min(mebi * MEBI, lab.largest));
  const bytes = await sized(lab, sizes, async (size) => (await chainOf(lab, 0, size)).jobs);
  const count = bytes / 16;
  const numbers = random(1024);
  const found = [];
  for (const length of lab.isSoftware ? [0, 4] : CHAIN) {
    const { jobs, b } = await chainOf(lab, length, bytes, numbers);
    const { seconds, most } = await timed(lab, jobs, { samples: 3 });
    const read = await lab.read(b, 4096);
    lab.free();
    let [first] = [numbers[0] + 1];
    for (let j = 0; j < length; j += 1) first = first * 0.5 + 0.5;
    verify(Math.abs(first - read[0]) < 1e-4, "A chain of multiply-adds");
    const work = 4 * count * (1 + 2 * length);
    found.push({ intensity: work / (2 * bytes), rate: work / seconds, seconds, most });
  }
  return found;
};

const roofline = {
  question: "How many GB does the memory of your GPU move in a second?",
  unit: "GB/s",
  async run(lab, say) {
    const bytes = lab.isSoftware ? MEBI : Math.min(128 * MEBI, lab.largest);
    await say("the bandwidth");
    const copied = await copy(lab, bytes);
    await say("products of matrices");
    const multiplied = await product(lab, BEST, await sizeOfProduct(lab));
    await say("the time of a dispatch");
    const dispatched = await dispatches(lab);
    await say("operations of rising intensity");
    const measured = await points(lab);
    // The roof is the best of all that was measured, so no point lies above it.
    const slope = Math.max(
      (2 * bytes) / copied.seconds,
      ...measured.map(({ intensity, rate }) => rate / intensity),
    );
    const peak = Math.max(multiplied.rate, ...measured.map(({ rate }) => rate));
    const ridge = peak / slope;
    const expected = ({ intensity }) => Math.min(peak, slope * intensity);
    return {
      value: slope / GIGA,
      range: widest([copied, multiplied, dispatched, ...measured]),
      text:
        `Your GPU moves ${perSecond(slope)} and computes ${flops(peak)} in 32 bits, so the ` +
        `ridge is at ${round(ridge)} FLOP per byte. A dispatch takes ${time(dispatched.seconds)}. ` +
        "The measured points are operations of rising intensity.",
      checked: "The copy, the product and the operations gave the right numbers.",
      table: {
        head: ["FLOP per byte", "predicted", "measured"],
        rows: measured.map((point) => [
          round(point.intensity),
          flops(expected(point)),
          flops(point.rate),
        ]),
      },
      state: {
        ...{ machine: "own", type: "float32", line: "" },
        rate: peak / 1e12,
        memory: slope / GIGA,
        overhead: dispatched.seconds / MICRO,
        measured,
      },
    };
  },
};

// The queue

const queue = {
  question: "How long does your CPU take to queue one step for the GPU?",
  unit: "µs",
  async run(lab, say) {
    const count = lab.isSoftware ? 24 : 240; // steps, in blocks of 12
    const x = await lab.array(4 * GROUP);
    const rounds = lab.isSoftware ? 10 : 4000; // a step of some ten µs
    const kernel = await lab.kernel(
      `${array(0, "x")} ${MAIN} { var v = x[g.x];
         for (var j = 0u; j < ${rounds}u; j++) { v = fma(v, 0.5, 0.5); }
         x[g.x] = v + 1.0; }`,
      [x],
    );
    const jobs = [{ kernel, x: 1 }];
    const loop = async (every) => {
      const start = performance.now();
      for (let step = 1; step <= count; step += 1) {
        lab.submit(jobs);
        if (every && step % every === 0) await lab.read(x, 4);
      }
      const queued = performance.now() - start;
      await lab.finished();
      return { queued, done: performance.now() - start };
    };
    await say("a loop that never fetches");
    await repeat(2, () => loop(0)); // compiles
    const never = await repeat(5, () => loop(0));
    const { seconds: device } = await timed(lab, jobs);
    await say("a loop that fetches after every step");
    const each = await repeat(3, () => loop(1));
    await say("a loop that fetches every 12 steps");
    const some = await repeat(3, () => loop(12));
    const least = (all, of) => Math.min(...all.map(of)) / 1e3;
    const queued = never.map((run) => run.queued);
    const host = Math.min(...queued) / 1e3 / count;
    const done = { 0: never, 1: each, 12: some };
    const total = (every) => least(done[every], (run) => run.done);
    const fetch = Math.max(0, total(1) / count - host - device);
    const predicted = (every) => {
      const [slow, fast] = [Math.max(host, device), Math.min(host, device)];
      if (!every) return count * slow + fast;
      return (count / every) * (every * slow + fast + fetch);
    };
    return {
      value: host / MICRO,
      range: [Math.min(...queued), Math.max(...queued)],
      text:
        `${count} steps were queued after ${time(host * count)} and done after ` +
        `${time(total(0))}. Queueing a step takes ${time(host)}, computing it ` +
        `${time(device)}, and a fetch ${time(fetch)}; the figure now has these times.`,
      checked: `All ${count} steps of each loop were run.`,
      table: {
        head: ["fetch", `predicted for ${count} steps`, "measured"],
        rows: [
          ["never", time(predicted(0)), time(total(0))],
          ["every 12 steps", time(predicted(12)), time(total(12))],
          ["every step", time(predicted(1)), time(total(1))],
        ],
      },
      state: {
        preset: "own",
        host: host / MICRO,
        device: device / MICRO,
        fetch: fetch / MICRO,
        measured: true,
      },
    };
  },
};

// The width of a warp

const warp = {
  question: "How many threads of your GPU execute the same instruction together?",
  unit: "threads",
  async run(lab, say) {
    const groups = lab.isSoftware ? 2 : 4096;
    // One thread in `number` has all of the work; the total is the same each time.
    const job = async (number, rounds) => {
      const x = await lab.array(4 * GROUP * groups);
      const kernel = await lab.kernel(
        `${array(0, "x")} ${MAIN} {
           var v = f32(g.x % 8u); var n = 0u;
           if (g.x % ${number}u == 0u) { n = ${rounds * number}u; }
           for (var j = 0u; j < n; j++) { v = fma(v, 0.5, 0.5); v = fma(v, 0.5, 0.5);
             v = fma(v, 0.5, 0.5); v = fma(v, 0.5, 0.5); }
           x[g.x] = v; }`,
        [x],
      );
      return { jobs: [{ kernel, x: groups }], x };
    };
    const rounds = await sized(
      lab,
      [16, 64, 256, 1024],
      async (count) => (await job(1, count)).jobs,
    );
    const apart = lab.isSoftware ? [1, 4] : [1, 2, 4, 8, 16, 32, 64];
    const times = [];
    for (const number of apart) {
      await say(`one busy thread in ${number}`);
      const { jobs, x } = await job(number, rounds);
      times.push(await timed(lab, jobs, { samples: 3 }));
      const read = await lab.read(x, 4 * GROUP);
      const isRight = (v, i) => (i % number ? v === i % 8 : Math.abs(v - 1) < 1e-3);
      verify(read.every(isRight), "The work of a thread");
      lab.free();
    }
    const ratios = times.map(({ seconds }) => seconds / times[0].seconds);
    const stop = Math.max(...ratios);
    const width = 2 ** Math.round(Math.log2(stop));
    const [least, most] = lab.subgroups;
    const reported = least
      ? ` The adapter reports ${least === most ? least : `${least} to ${most}`}.`
      : " The adapter does not report it.";
    return {
      value: width,
      range: widest(times),
      text:
        "If one thread in B has all of the work, the others of its warp wait. The work " +
        "is the same in sum, but the time rises with B until B is the width of a warp. " +
        `Here it stops at ${round(stop)} times.${reported}`,
      checked: "Each thread did its own work.",
      chart: {
        points: apart.map((number, i) => [`one in ${number}`, ratios[i]]),
        unit: "times",
      },
      table: {
        head: ["one busy thread in", "time, compared with one in 1"],
        rows: apart.map((number, i) => [number, round(ratios[i])]),
      },
    };
  },
};

// The stride

const sectors = {
  question: "What share of the bandwidth is left with a stride of 8 numbers?",
  unit: "%",
  async run(lab, say) {
    // Every number is read once: neighbors read numbers that are `stride` apart.
    const gather = (stride, bytes, numbers) => {
      const part = bytes / 4 / stride;
      const place = `(i % ${part}u) * ${stride}u + i / ${part}u`;
      return mapping(lab, `b[i] = a[${place}];`, bytes, numbers);
    };
    const sizes = [1, 8, 32, 128].map((mebi) => Math.min(mebi * MEBI, lab.largest));
    const bytes = await sized(lab, sizes, async (size) => (await gather(1, size)).jobs);
    const numbers = new Float32Array(bytes / 4).map((_, i) => i % 1024);
    const strides = lab.isSoftware ? [1, 8] : [1, 2, 4, 8, 16, 32];
    const times = [];
    for (const stride of strides) {
      await say(`a stride of ${stride}`);
      const { jobs, b } = await gather(stride, bytes, numbers);
      times.push(await timed(lab, jobs, { samples: 3 }));
      const read = await lab.read(b, 4096);
      verify(read.every((x, i) => x === (i * stride) % 1024), `A stride of ${stride}`);
      lab.free();
    }
    const useful = times.map(({ seconds }) => (2 * bytes) / seconds);
    const share = (i) => (100 * useful[i]) / useful[0];
    const eight = strides.indexOf(8);
    return {
      value: share(eight),
      range: widest(times),
      text:
        "The kernel reads every number once and writes neighbors. With sectors of 32 " +
        "bytes, the reads with a stride of 8 or more move 8 times the bytes, so about a " +
        "fifth would be left. A cache that keeps the rest of a sector leaves more.",
      checked: "Each number arrived at its place.",
      chart: {
        points: strides.map((stride, i) => [`stride ${stride}`, useful[i] / GIGA]),
        unit: "GB/s",
      },
      table: {
        head: ["stride", "useful bandwidth", "share"],
        rows: strides.map((stride, i) => [
          stride,
          perSecond(useful[i]),
          `${Math.round(share(i))} %`,
        ]),
      },
    };
  },
};

// Tiles and fusion

const tiles = {
  question: "How many times as fast is a product in tiles and registers as a naive one?",
  unit: "times",
  async run(lab, say) {
    const n = await sizeOfProduct(lab);
    const found = {};
    for (const name of Object.keys(PRODUCTS)) {
      await say(`the product ${name}`);
      found[name] = await product(lab, name, n);
    }
    await say("three kernels against one");
    const fused = await fusion(lab);
    /** @type {[string, number][]} */
    const rates = Object.entries(found).map(([name, { rate }]) => [name, rate / GIGA]);
    const ratio = rates[2][1] / rates[0][1];
    return {
      value: ratio,
      range: widest([...Object.values(found), fused.one, fused.three]),
      text:
        `Products of ${n} × ${n} matrices: ${rates.map(([name, x]) => `${name} ${flops(x * GIGA)}`).join(", ")}. ` +
        "A chain of three operations in three kernels takes " +
        `${round(fused.three.seconds / fused.one.seconds)} times as long as in one; the ` +
        "bytes alone would make it 3.",
      checked: "All products and chains gave the right numbers.",
      chart: { points: rates, unit: "GFLOP/s" },
      table: {
        head: ["kernel", "time"],
        rows: [
          ...Object.entries(found).map(([name, { seconds }]) => [name, time(seconds)]),
          ["chain in three kernels", time(fused.three.seconds)],
          ["chain in one kernel", time(fused.one.seconds)],
        ],
      },
    };
  },
};

/** Return the times of max(3x + 0.25, 0) in three kernels and in one. */
const fusion = async (lab) => {
  const bytes = lab.isSoftware ? MEBI : Math.min(64 * MEBI, lab.largest);
  const count = bytes / 4;
  const numbers = random(1024);
  const x = await lab.array(bytes, numbers);
  const [y, z, w] = [await lab.array(bytes), await lab.array(bytes), await lab.array(bytes)];
  const kernel = (value, from, to) =>
    lab.kernel(
      `${array(0, "a", "f32", "read")} ${array(1, "b")}
       ${MAIN} { ${ID} if (i < ${count}u) { let v = a[i]; b[i] = ${value}; } }`,
      [from, to],
    );
  const job = async (...what) => ({ kernel: await kernel(...what), ...grid(count) });
  const chain = [
    await job("v * 3.0", x, y),
    await job("v + 0.25", y, z),
    await job("max(v, 0.0)", z, w),
  ];
  const three = await timed(lab, chain, { samples: 3 });
  const separate = await lab.read(w, 4096);
  const one = await timed(lab, [await job("max(v * 3.0 + 0.25, 0.0)", x, w)], { samples: 3 });
  const together = await lab.read(w, 4096);
  for (let i = 0; i < 1024; i += 1) {
    const right = Math.max(0, numbers[i] * 3 + 0.25);
    const error = Math.max(Math.abs(separate[i] - right), Math.abs(together[i] - right));
    verify(error < 1e-5, "The chain");
  }
  lab.free();
  return { three, one };
};

// The race

// Without WebGPU, or with a program in its place, the numbers of others stand alone.
const OTHERS = { others: "shown" };
const BLOCK = 64; // rows of b that stay in the cache of a CPU

/** Add rows `from` to `to` of the product of n x n matrices a and b to c; n is a multiple
 * of 4. One thread, without vector instructions: what JavaScript has. */
export const multiplyRows = (a, b, c, n, from = 0, to = n) => {
  for (let block = 0; block < n; block += BLOCK)
    for (let i = from; i < to; i += 1)
      for (let k = block; k < Math.min(block + BLOCK, n); k += 4) {
        const [p, q, r, s] = [0, 1, 2, 3].map((d) => a[i * n + k + d]);
        for (let j = 0, row = k * n, at = i * n; j < n; j += 1, row += 1, at += 1)
          c[at] += p * b[row] + q * b[row + n] + r * b[row + 2 * n] + s * b[row + 3 * n];
      }
};

/** Return the seconds of a product on the CPU, in parts between which the page answers. */
const cpuSeconds = async (lab, a, b, c, n) => {
  let total = 0;
  c.fill(0);
  for (let row = 0; row < n; row += BLOCK) {
    const start = performance.now();
    multiplyRows(a, b, c, n, row, Math.min(row + BLOCK, n));
    total += performance.now() - start;
    await new Promise((resolve) => setTimeout(resolve, 0));
    lab.check();
  }
  return total / 1e3;
};

/** Return the times of a product of n x n matrices on the CPU, on the GPU, and on the GPU
 * with the way there and back, after a comparison of both results. */
const contest = async (lab, n) => {
  const [a, b, c] = [random(n * n), random(n * n).reverse(), new Float32Array(n * n)];
  const small = () => {
    c.fill(0);
    multiplyRows(a, b, c, n);
  };
  const isSmall = n <= BLOCK;
  const own = isSmall
    ? await timesOf(small, 4)
    : (await repeat(lab.isSoftware ? 1 : 3, () => cpuSeconds(lab, a, b, c, n))).sort((x, y) => x - y);
  // Few numbers keep more of the GPU busy in small tiles.
  const { jobs, arrays, c: result } = await multiply(lab, isSmall ? "in tiles" : BEST, n, a, b);
  const alone = await timed(lab, jobs, { samples: 3 });
  const errand = async () => {
    lab.device.queue.writeBuffer(arrays[0], 0, a);
    lab.device.queue.writeBuffer(arrays[1], 0, b);
    lab.submit(jobs);
    return lab.read(result, c.byteLength);
  };
  const read = await errand();
  verify(read.every((x, i) => Math.abs(x - c[i]) < 1e-3), `The product for n = ${n}`);
  const all = await timesOf(errand, lab.isSoftware ? 2 : 5);
  lab.free();
  const most = own[own.length - 1];
  return { n, cpu: own[0], gpu: alone.seconds, all: all[0], ranges: [[own[0], most], all] };
};

const race = {
  otherwise: OTHERS,
  async run(lab, say) {
    await say("a first product");
    const large = lab.isSoftware ? 128 : await sizeOfProduct(lab, [256, 512, 1024]);
    const measured = [];
    for (const n of [64, large]) {
      await say(`products of ${n} × ${n} matrices`);
      measured.push(await contest(lab, n));
    }
    const tell = ({ n, cpu, gpu, all }) =>
      `n = ${n}: the CPU took ${time(cpu)}; the GPU took ${time(gpu)} for the product, and ` +
      `the way there and back added ${time(Math.max(0, all - gpu))}.`;
    const ranges = measured.flatMap((each) => each.ranges);
    return {
      range: ranges.reduce((x, y) => (y[1] / y[0] > x[1] / x[0] ? y : x)),
      text: measured.map(tell).join(" "),
      checked:
        "Both computed the same numbers. The CPU ran one thread of JavaScript without " +
        "vector instructions; a framework uses all cores and their vectors.",
      table: {
        head: ["n", "CPU, one thread", "GPU, product", "GPU, there and back"],
        rows: measured.map(({ n, cpu, gpu, all }) => [n, time(cpu), time(gpu), time(all)]),
      },
      state: { ...OTHERS, measured },
    };
  },
};

// Copies

// The clock of a page goes in steps of up to 1 ms, so copies follow each other for longer.
const SPAN = 0.01; // s

/** Return the shortest and the longest seconds of a copy; the first sample is dropped. */
const timesOf = async (copy, samples) => {
  const found = [];
  for (let count = 1; found.length < samples; ) {
    const start = performance.now();
    for (let i = 0; i < count; i += 1) await copy();
    const seconds = (performance.now() - start) / 1e3;
    if (seconds < SPAN && count < 1024) count *= 2;
    else found.push(seconds / count);
  }
  const kept = found.slice(1);
  return [Math.min(...kept), Math.max(...kept)];
};

/** Return what copies cost, as the end of a sentence. */
const costs = ({ latency, bandwidth }) => {
  const isKnown = bandwidth > 0 && bandwidth < 1e15;
  const rate = isKnown ? perSecond(bandwidth) : "more than this clock can tell";
  return `costs ${time(Math.max(0, latency))} and then moves ${rate}`;
};

const copies = {
  question: "How long does a page wait for one number from the GPU?",
  unit: "µs",
  async run(lab, say) {
    const sizes = (lab.isSoftware ? [4096] : [4, 64, 1024, 4096, 16384]).map((k) => k * 1024);
    const target = await lab.array(Math.max(...sizes));
    const samples = lab.isSoftware ? 2 : 6;
    const [up, down] = [[], []];
    for (const bytes of [4, ...sizes]) {
      await say(`copies of ${bytes >= MEBI ? `${bytes / MEBI} MiB` : `${bytes} bytes`}`);
      const numbers = new Uint8Array(bytes).fill(7);
      const write = () => {
        lab.device.queue.writeBuffer(target, 0, numbers);
        return lab.finished();
      };
      const read = () => lab.read(target, bytes, Uint8Array);
      await write();
      verify((await read()).every((x) => x === 7), "A copy");
      up.push([bytes, ...(await timesOf(write, samples))]);
      down.push([bytes, ...(await timesOf(read, samples))]);
    }
    const [to, from] = [fit(up), fit(down)];
    const name = (bytes) => (bytes >= MEBI ? `${bytes / MEBI} MiB` : `${bytes / 1024} KiB`);
    return {
      value: down[0][1] / MICRO,
      range: [down[0][1], down[0][2]],
      text:
        `Writing ${costs(to)}; reading back ${costs(from)}. ` +
        "This is what a web page pays, not the link of the GPU: the browser copies the " +
        "bytes into another process first.",
      checked: "All bytes came back as they were.",
      table: {
        head: ["size", "write", "read back"],
        rows: up.map(([bytes, seconds], i) => [
          bytes < 1024 ? `${bytes} bytes` : name(bytes),
          time(seconds),
          time(down[i][1]),
        ]),
      },
    };
  },
};

export const experiments = { roofline, queue, warp, sectors, tiles, race, copies };
