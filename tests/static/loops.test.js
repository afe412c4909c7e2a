/* Numbers in units, and the figures whose arithmetic is in arithmetic.js. */
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");

const { load, read, library, figures, first, changed } = require("./support.js");
const { plain, result, close, includes, grid, sum } = require("./support.js");

const arithmetic = load("arithmetic");
const { queue, workers } = figures;
const [moving, two] = [figures["worth-moving"], figures["two-devices"]];

// Numbers and units

for (const [unit, number, text] of [
  ["time", 0.0015, "1.5 ms"],
  ["time", 80e-3, "80 ms"],
  ["time", 999.96e-6, "1 ms"], // rounding reaches the next unit
  ["time", 2.5e-7, "250 ns"],
  ["time", 5e-10, "0.5 ns"],
  ["time", 0, "0 ns"],
  ["time", 3600, "3600 s"],
  ["size", 1000, "1 kB"],
  ["size", 5e8, "500 MB"],
  ["size", 999, "999 bytes"],
  ["size", 2e9, "2 GB"],
  ["bandwidth", 64e9, "64 GB/s"],
  ["bandwidth", 3.35e12, "3.35 TB/s"],
  ["rate", 989e12, "989 TFLOP/s"],
  ["rate", 7.168e12, "7.17 TFLOP/s"],
  ["percent", 1 / 3, "33 %"],
])
  test(`${unit} ${number} stands in a unit that fits`, () =>
    assert.equal(arithmetic[unit](number), text.replace(" ", "\u00a0")));

test("words", () => {
  assert.equal(arithmetic.percent(0.9481, 3), "94.8\u00a0%");
  assert.equal(arithmetic.plural(1, "copy", "copies"), "1 copy");
  assert.equal(arithmetic.plural(2, "copy", "copies"), "2 copies");
  const lists = [[], ["a"], ["a", "b"], ["a", "b", "c"]].map(arithmetic.list);
  assert.deepEqual(lists, ["", "a", "a and b", "a, b and c"]);
});

test("a copy costs its fixed time and its bytes", () =>
  close(arithmetic.copyTime(1e8, 64e9, 1e-5), 1.5725e-3));

// The queue

/** Return total, waiting and idle time of the loop, step by step. */
const simulate = ({ steps, host, device, every, fetch }) => {
  let [now, free, waited, idle] = [0, 0, 0, 0];
  for (let step = 1; step <= steps; step += 1) {
    now += host;
    idle += Math.max(0, now - free);
    free = Math.max(free, now) + device;
    if (every && step % every === 0) {
      waited += free - now;
      now = free + fetch;
    }
  }
  const total = Math.max(now, free);
  return { total, waited, idle: idle + total - free };
};

/** Return the total of a loop by the formula of the figure. */
const closedForm = ({ steps, host, device, every, fetch }) => {
  const block = (k) => (k ? arithmetic.blockTime(k, host, device) : 0);
  const blocks = every ? Math.floor(steps / every) : 0;
  return blocks * (block(every) + fetch) + block(steps - blocks * every);
};

const TIMES = [1e-6, 2e-5, 4e-5, 2.5e-3];
const LOOPS = grid({
  ...{ steps: [1, 7, 12], host: TIMES, device: TIMES },
  ...{ every: [0, 1, 2, 4, 5, 12], fetch: [0, 2e-5] },
});

test("the queue is what its formula says", () => {
  for (const loop of LOOPS) {
    const run = arithmetic.runQueue(loop);
    const { total, waited, idle } = simulate(loop);
    close([run.total, closedForm(loop), run.waited], [total, total, waited]);
    close([run.busy, run.busy + idle], [loop.steps * loop.device, total]);
    close(sum(run.device.map(({ start, end }) => end - start)), run.busy);
  }
});

test("spans of the queue do not overlap", () => {
  for (const { host, device } of LOOPS.map(arithmetic.runQueue)) {
    for (const row of [host, device])
      row.slice(1).forEach(({ start }, i) => assert.ok(start >= row[i].end - 1e-12));
    assert.ok(device[0].start >= host[0].end - 1e-12);
  }
});

test("fetching more often is never faster", () => {
  const times = { steps: 12, host: 2e-5, device: 4e-5, fetch: 2e-5 };
  const total = (every) => arithmetic.runQueue({ ...times, every }).total;
  const totals = [1, 2, 3, 4, 6, 12, 0].map(total);
  assert.deepEqual(totals, [...totals].sort((a, b) => b - a));
  close([totals[0], totals[6]], [12 * 80e-6, 12 * 40e-6 + 20e-6]);
});

test("a slow host leaves the GPU idle without a fetch", () =>
  includes(result(queue, { every: 0, host: 1000 }), "the GPU is idle for 96 % of that time."));

test("a step waits in the queue", () => {
  // After 132 of 600 µs, steps 1 to 4 are queued, and step 3 has started.
  const svg = queue.draw(first(queue), 640, { from: first(queue), part: 0.22 });
  const numbers = [...svg.matchAll(/>(\d+)<\/text>/g)].map(([, number]) => number);
  const count = (number) => numbers.filter((other) => other === number).length;
  // In the row of the host, and in the queue or in the row of the GPU.
  assert.deepEqual(["3", "4", "5"].map(count), [2, 2, 0]);
});

// Is it worth moving?

/** Return the times of a task on the CPU and on the GPU, copies included. */
const product = (task, n) => {
  const [flops, moved] = [2 * n ** 3, 3 * n ** 2 * task.bytes];
  const one = Math.max(flops / task.gpu, moved / task.memory) + task.launch;
  const copies = 3 * task.latency + moved / task.link;
  return [(task.products * flops) / task.cpu, copies + task.products * one];
};

/** Return the task of the defaults of `product_times`, the function of the book. */
const chapterTask = () => {
  const { itemsize, cpu_rate: cpu, gpu_rate: gpu, ...more } = library.product;
  const { link_bandwidth: link, memory_bandwidth: memory, ...times } = more;
  const { copy_latency: latency, launch_time: launch, num_products: products } = times;
  return { bytes: itemsize, cpu, gpu, link, memory, latency, launch, products };
};

test("figure and chapter have the same constants", () => {
  const { n, ...task } = moving.task(first(moving));
  assert.equal(n, 4096);
  assert.deepEqual(Object.keys(task).sort(), Object.keys(chapterTask()).sort());
  // The bandwidth of the card has more digits than that of the chapter.
  for (const [key, x] of Object.entries(chapterTask())) close(task[key], x, { rel: 1e-3 }, key);
});

for (const [change, n] of [[{}, 950], [{ gpu: 494.7e12 }, 890]]) // one product, and TF32
  test(`text and caption name the crossing at ${n}`, () => {
    const crossing = arithmetic.crossing({ ...chapterTask(), ...change });
    assert.equal(10 * Math.round(crossing / 10), n);
    const text = read("chapter_gpus/use-gpu.md").split(/\s+/).join(" ");
    includes(text, `$n \\approx ${n}$`);
    if (n === 950) includes(text, `up to n of about ${n}, then the GPU`);
  });

const TASKS = grid({
  ...{ bytes: [2, 4, 8], products: [1, 10, 1000], cpu: [1e11, 7.168e12] },
  ...{ gpu: [1.29e12, 67e12, 989e12], link: [16e9, 64e9], memory: [1e12] },
  ...{ latency: [1e-5], launch: [5e-6] },
});

test("times of products", () => {
  for (const task of TASKS)
    for (const n of [32, 1000, 16384]) {
      const { cpu, copies, product: computing, gpu } = arithmetic.productTimes({ ...task, n });
      close([cpu, gpu], product(task, n));
      close(copies + computing, gpu);
    }
});

test("times are equal at the crossing and nowhere else", () => {
  const sizes = Array.from({ length: 96 }, (_, k) => 2 ** (k / 4));
  const crossings = TASKS.map((task) => {
    const n = arithmetic.crossing(task);
    const faster = sizes.filter((size) => {
      const [cpu, gpu] = product(task, size);
      return cpu > gpu;
    });
    if (n !== null) close(...product(task, n), { rel: 1e-9 });
    assert.deepEqual(faster, n === null ? [] : sizes.filter((size) => size > n));
    return n;
  });
  assert.ok(crossings.includes(null) && crossings.some(Boolean));
});

test("peak rates are products of what the notes name", () => {
  const machines = Object.values(moving.MACHINES);
  const notes = Object.keys(moving.MACHINES).flatMap((machine) => moving.notes({ machine }));
  for (const { cpu } of machines) close(2 * cpu.float64, cpu.float32);
  for (const [cores, ghz, cycle, peak] of [
    [56, "2.0", 64, 7.168],
    [20, "2.2", 32, 1.408],
    [64, "2.45", 16, 2.5088],
  ]) {
    includes(notes.join(), `${cores} cores × ${ghz} GHz × ${cycle} operations a cycle`);
    close((cores * Number(ghz) * cycle) / 1000, peak);
    assert.ok(machines.some(({ cpu }) => [cpu.float32, cpu.float64].includes(peak)));
  }
});

test("small products take longer than a call", () => {
  // The figure leaves out the calls of the CPU, so it begins where they are short.
  const { values } = moving.controls.find(({ id }) => id === "n");
  const text = "At n = 256, the CPU wins: 4.68 µs, against 56.8 µs on the GPU.";
  assert.equal(result(moving, { n: values[0] }), text);
});

// Two devices

/** Return the outcome of X + Y, its device, and the number of copies. */
const expectedSum = (framework, x, y) => {
  if (framework === "tensorflow") return ["sum", "gpu0", (x !== "gpu0") + (y !== "gpu0")];
  if (x === y) return ["sum", x, 0];
  const isUndefined = framework === "mxnet" && ![x, y].includes("host");
  return [isUndefined ? "undefined" : "error", null, 0];
};

test("each framework adds by its rules", () => {
  const devices = ["host", "gpu0", "gpu1"];
  const frameworks = ["pytorch", "mxnet", "jax", "tensorflow"];
  for (const { framework, x, y } of grid({ framework: frameworks, x: devices, y: devices })) {
    const { outcome, device, copies } = arithmetic.ACTIONS.add({ framework, x, y });
    assert.deepEqual([outcome, device, copies.length], expectedSum(framework, x, y));
  }
});

test("totals are sums over the copies", () => {
  const replay = (x, y, actions) =>
    arithmetic.replay({
      ...{ framework: "jax", x, y, size: 1e8, actions },
      ...{ hostLink: 64e9, gpuLink: 450e9, latency: 1e-5 },
    });
  const outcomes = ({ log }) => log.map(({ outcome }) => outcome);
  const two = replay("gpu0", "gpu1", ["add", "copy", "fetch", "fetch"]);
  assert.deepEqual(outcomes(two), ["error", "sum", "fetched", "fetched"]);
  close([two.bytes, two.time], [3e8, 3e-5 + 1e8 / 450e9 + 2e8 / 64e9]);
  const host = replay("host", "host", ["add", "fetch"]);
  assert.deepEqual([host.bytes, host.time, host.fetched], [0, 0, true]);
  const one = replay("gpu1", "gpu1", ["fetch", "copy"]);
  assert.deepEqual(outcomes(one), ["nothing", "sum"]);
  assert.deepEqual([one.bytes, one.sum], [0, "gpu1"]);
});

for (const tab of ["pytorch", "jax"])
  test(`the error of ${tab} is that of the record`, () => {
    // The figure quotes the record's outputs for X on GPU 0 and Y on GPU 1.
    const [text] = two.ERRORS[tab]("gpu0", "gpu1");
    const record = read(`outputs/cpu/${tab}/chapter_gpus/use-gpu.ipynb`);
    includes(record, text.replace(/^\w+: /, ""));
  });

test("a copy crosses its link", () => {
  // X goes from GPU 0 to GPU 1, and is on the second one only when it arrives.
  const from = first(two);
  const drawings = [0.01, 0.25, 0.5, 0.75, 0.99].map((part) =>
    two.draw({ ...from, did: "copy" }, 640, { from, part }),
  );
  const places = drawings.map((svg) =>
    Number([...svg.matchAll(/<text x="([\d.]+)"[^>]*>X</g)].at(-1)[1]),
  );
  assert.deepEqual(places, [...places].sort((a, b) => a - b));
  assert.ok(places[4] - places[0] > 150);
  assert.ok(drawings.every((svg) => !svg.includes("X+Y")));
});

// The workers

const WAYS = { 0: ["step", 1], 1: ["copy", 1], 2: ["none", 1], 3: ["none", 2] };
const PACES = {
  "step,1": ({ load, copy, step }) => load + copy + step,
  "copy,1": ({ load, copy, step }) => Math.max(load, step) + copy,
  "none,1": ({ load, copy, step }) => Math.max(load, copy + step),
  "none,2": ({ load, copy, step }) => Math.max(load, copy, step),
};

test("the workers keep the pace of the text", () => {
  const times = [5, 20, 60];
  const ways = Object.values(WAYS);
  const lists = { minibatches: [1, 2, 6], load: times, copy: times, step: times, way: ways };
  for (const { way, ...one } of grid(lists)) {
    const loop = { ...one, wait: way[0], streams: way[1] };
    const run = arithmetic.runWorkers(loop);
    const pace = PACES[way](loop);
    const alone = loop.load + loop.copy + loop.step;
    close([run.total, arithmetic.pace(loop)], [alone + (loop.minibatches - 1) * pace, pace]);
    run.step.forEach(({ start }, i) => {
      assert.ok(run.load[i].end <= run.copy[i].start && run.copy[i].end <= start);
    });
    if (loop.streams === 2) continue;
    const spans = [...run.copy, ...run.step].sort((a, b) => a.start - b.start);
    spans.slice(1).forEach(({ start }, i) => assert.ok(spans[i].end <= start));
  }
});

test("the workers of the text", () => {
  // With 30, 20 and 20 ms, the paces are 70, 50, 40 and 30 ms.
  for (const [way, total, pace] of [[0, 420, 70], [1, 320, 50], [2, 270, 40], [3, 220, 30]])
    includes(result(workers, { way }), `take ${total} ms`, `adds ${pace} ms`);
  const text = "waits for nothing and copies in a second stream, 6";
  includes(result(workers, { way: 3 }), text);
  for (const [way, [wait, streams]] of Object.entries(WAYS)) {
    const loop = workers.loop(changed(workers, { way: Number(way) }));
    assert.deepEqual([loop.wait, loop.streams], [wait, streams]);
  }
});

test("the end of the setting before has its name inside the drawing", () => {
  for (const width of [320, 600])
    for (const [now, before] of [[0, 1], [1, 0], [0, 4]]) {
      const [state, last] = [now, before].map((every) => changed(queue, { every }));
      const drawing = plain(queue.draw(state, width, undefined, last));
      const [, x, anchor, text] = drawing.match(/<text x="([\d.]+)"[^>]*anchor="(\w+)">(before[^<]+)/);
      const long = 7 * text.length;
      const [left, right] = anchor === "end" ? [x - long, +x] : [+x, +x + long];
      assert.ok(left > 0 && right < width, `${text} from ${left} to ${right} of ${width}`);
    }
});
