/* The reader's own GPU, through WebGPU: opens it, runs kernels and times them.
 *
 * A page loads this script after the reader has pressed a button, and nothing here asks for
 * a GPU before `open`. The reasons for what looks odd:
 *   - An adapter gives one device only, so all figures of a page share one.
 *   - The first run of a kernel compiles it and does not count.
 *   - The page's clock has steps of 0.1 to 1 ms, and Chrome rounds the device's clock to 0.1
 *     ms, so one measurement repeats the work until it takes BATCH ms.
 *   - The difference of two measurements may be negative, so none is taken; the page's clock
 *     loses the time of an empty submit instead.
 *   - Firefox looks for finished work every 100 ms unless something is submitted, so an empty
 *     submit follows every 2 ms. A busy loop of them would slow down the work itself.
 *   - A browser may hand out a program instead of a GPU, with or without saying so.
 */

const BATCH = 40; // ms of work in one measurement
const SAMPLES = 5;
const SLOWEST = 2000; // ms for one round, above which an experiment gives up
const PATIENCE = 10_000; // ms, after which a GPU that has not finished is given up
const LATE = 20; // ms after which an idle queue answers late, as in Firefox
const DISAGREE = 1.5; // the ratio of the two clocks that is not believed
const SOFTWARE = /swiftshader|llvmpipe|lavapipe|warp\b|basic render|software/i;
const WANTED = /** @type {GPUFeatureName[]} */ (["timestamp-query", "subgroups"]);

const MISSING =
  "This browser offers no WebGPU to this page. Chrome, Edge, Safari 26 and, on Windows " +
  "and Macs, Firefox do, if the address begins with https:, file: or http://localhost.";
const NO_ADAPTER =
  "The browser has WebGPU, but offers no GPU: there may be none, or its driver may be " +
  "blocked. The page chrome://gpu or about:support says why.";

const UNFINISHED =
  `The GPU has not finished after ${PATIENCE / 1000} s, so the page has given this run up. ` +
  "Your text is kept: make the work shorter, and try again.";
const SILENT =
  "The GPU does not answer: it may still be busy with a run that the page has given up. " +
  "Load the page again; your text is kept.";

const now = () => performance.now();
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Wait for a promise, but not after the reader has pressed Stop, and not for ever. */
const limited = (promise, message, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(message)), PATIENCE);
    const stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop);
    promise.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    });
  });

/** @type {Promise<GPUDevice> | null} */
let shared = null;
let adapterInfo = /** @type {any} */ ({});

const request = async () => {
  if (!navigator.gpu) throw new Error(MISSING);
  const adapter = await navigator.gpu.requestAdapter({
    powerPreference: "high-performance",
  });
  if (!adapter) throw new Error(NO_ADAPTER);
  adapterInfo = adapter.info ?? {};
  const device = await adapter.requestDevice({
    requiredFeatures: WANTED.filter((name) => adapter.features.has(name)),
  });
  device.lost.then(() => forget(device));
  return device;
};

let last = /** @type {GPUDevice | null} */ (null);

/** Let the next experiment ask for another device. */
const forget = (device) => {
  if (last === device) shared = last = null;
};

/** Give up a device whose work has no end. */
const giveUp = (device) => {
  forget(device);
  device.destroy();
};

/** Ask for a device, unless the page has one or has asked already. */
const own = async (signal) => {
  shared ??= request().catch((error) => {
    shared = null;
    throw error;
  });
  last = await limited(shared, SILENT, signal);
  return last;
};

/** Return the device of the page when it has nothing to do, or else a new one. */
const idle = async (signal) => {
  const device = await own(signal);
  try {
    await limited(device.queue.onSubmittedWorkDone(), UNFINISHED, signal);
    return device;
  } catch {
    signal.throwIfAborted();
    giveUp(device);
    return own(signal);
  }
};

/** Return what is known of the adapter: its name, and whether it is a program. */
export const describe = (info) => {
  const words = [info.vendor, info.architecture, info.device, info.description];
  const name = [...new Set(words.filter(Boolean))].join(" ");
  return {
    name: name || "unnamed adapter",
    isSoftware: Boolean(info.isFallbackAdapter) || SOFTWARE.test(name),
  };
};

/** Return the name and the version of the browser. */
const browserName = () => {
  const { userAgent } = navigator;
  for (const [name, pattern] of [
    ["Edge", /Edg\/([\d.]+)/],
    ["Firefox", /Firefox\/([\d.]+)/],
    ["Chrome", /Chrome\/([\d.]+)/],
    ["Safari", /Version\/([\d.]+).*Safari/],
  ])
    if (userAgent.match(pattern)) return `${name} ${parseInt(userAgent.match(pattern)[1], 10)}`;
  return "this browser";
};

/** A device while an experiment uses it. */
class Lab {
  constructor(device, signal) {
    Object.assign(this, describe(adapterInfo));
    /** @type {GPUDevice} */
    this.device = device;
    /** @type {AbortSignal} */
    this.signal = signal;
    this.subgroups = [adapterInfo.subgroupMinSize, adapterInfo.subgroupMaxSize];
    this.browser = browserName();
    this.buffers = [];
    this.lost = "";
    this.isLate = false;
    /** @type {any} */
    this.ownStamps = undefined;
    this.clock = device.features.has("timestamp-query") ? "device" : "page";
    device.lost.then(({ message }) => {
      this.lost = message || "the browser does not say why";
    });
  }

  /** The largest array of a kernel, in bytes. */
  get largest() {
    const { maxStorageBufferBindingSize, maxBufferSize } = this.device.limits;
    return Math.min(maxStorageBufferBindingSize, maxBufferSize);
  }

  /** Raise an error if the reader has stopped the experiment, or the GPU is gone. */
  check() {
    this.signal.throwIfAborted();
    if (this.lost) throw new Error(`The GPU was lost: ${this.lost}.`);
  }

  /** Wait for a promise of the device, which Firefox keeps late. */
  async wait(promise) {
    let over = false;
    const end = limited(promise, UNFINISHED, this.signal).finally(() => (over = true));
    try {
      while (this.isLate && !over) {
        this.device.queue.submit([]);
        await Promise.race([pause(2), end]);
      }
      await end;
    } catch (error) {
      if (error.message === UNFINISHED) giveUp(this.device);
      throw error;
    }
    this.check();
  }

  /** Find out whether the queue answers late. */
  async listen() {
    const start = now();
    await this.device.queue.onSubmittedWorkDone();
    await this.device.queue.onSubmittedWorkDone();
    this.isLate = (now() - start) / 2 > LATE;
  }

  finished() {
    return this.wait(this.device.queue.onSubmittedWorkDone());
  }

  /** Return a new array for kernels, with these numbers or with zeros. */
  async array(bytes, numbers) {
    this.device.pushErrorScope("out-of-memory");
    const buffer = this.device.createBuffer({
      size: Math.max(16, Math.ceil(bytes / 4) * 4),
      usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC,
    });
    this.buffers.push(buffer);
    if (await this.device.popErrorScope())
      throw new Error(`The GPU has no memory for ${bytes / 2 ** 20} MiB.`);
    if (numbers) this.device.queue.writeBuffer(buffer, 0, numbers);
    return buffer;
  }

  /** Give the memory of all arrays back. */
  free() {
    this.buffers.splice(0).forEach((buffer) => buffer.destroy());
  }

  /** Return a kernel with its arrays; an error names the lines that do not compile. */
  async kernel(code, arrays, entryPoint = "main") {
    this.device.pushErrorScope("validation"); // the console stays empty
    const module = this.device.createShaderModule({ code });
    const { messages } = await module.getCompilationInfo();
    await this.device.popErrorScope();
    const errors = messages.filter(({ type }) => type === "error");
    if (errors.length) throw compileError(errors);
    const pipeline = await this.device.createComputePipelineAsync({
      layout: "auto",
      compute: { module, entryPoint },
    });
    this.device.pushErrorScope("validation");
    const entries = arrays.map((buffer, binding) => ({ binding, resource: { buffer } }));
    const layout = pipeline.getBindGroupLayout(0);
    const group = this.device.createBindGroup({ layout, entries });
    const error = await this.device.popErrorScope();
    if (error) throw new Error(error.message);
    return { pipeline, group };
  }

  /**
   * Submit `rounds` of jobs, in one pass.
   * @param {object[]} jobs {kernel, x, y}: x times y workgroups
   * @param {number} rounds
   * @param {object} [stamps] where the device writes its time before and after
   */
  submit(jobs, rounds = 1, stamps = undefined) {
    const encoder = this.device.createCommandEncoder();
    const pass = encoder.beginComputePass(
      stamps && {
        timestampWrites: {
          querySet: stamps.set,
          beginningOfPassWriteIndex: 0,
          endOfPassWriteIndex: 1,
        },
      },
    );
    for (let i = 0; i < rounds; i += 1)
      for (const { kernel, x, y = 1 } of jobs) {
        pass.setPipeline(kernel.pipeline);
        pass.setBindGroup(0, kernel.group);
        pass.dispatchWorkgroups(x, y);
      }
    pass.end();
    if (stamps) {
      encoder.resolveQuerySet(stamps.set, 0, 2, stamps.resolved, 0);
      encoder.copyBufferToBuffer(stamps.resolved, 0, stamps.copy, 0, 16);
    }
    this.device.queue.submit([encoder.finish()]);
  }

  /** Return the numbers of an array, from a byte on. */
  async read(array, bytes, Type = Float32Array, from = 0) {
    const copy = this.device.createBuffer({
      size: bytes,
      usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ,
    });
    const encoder = this.device.createCommandEncoder();
    encoder.copyBufferToBuffer(array, from, copy, 0, bytes);
    this.device.queue.submit([encoder.finish()]);
    await this.wait(copy.mapAsync(GPUMapMode.READ));
    const numbers = new Type(copy.getMappedRange().slice(0));
    copy.destroy();
    return numbers;
  }

  /** Return the ms of some rounds by the page's clock and by the device's, or NaN. */
  async run(jobs, rounds) {
    const start = now();
    if (this.clock === "page") {
      this.submit(jobs, rounds);
      await this.finished();
      return { page: now() - start, device: NaN };
    }
    const { set, resolved, copy } = this.stamps;
    this.submit(jobs, rounds, { set, resolved, copy });
    await this.wait(copy.mapAsync(GPUMapMode.READ));
    const page = now() - start;
    const [begun, ended] = new BigUint64Array(copy.getMappedRange().slice(0));
    copy.unmap();
    return { page, device: Number(ended - begun) / 1e6 };
  }

  /** The buffers into which the device writes its time. */
  get stamps() {
    const { device } = this;
    const buffer = (usage) => device.createBuffer({ size: 16, usage });
    this.ownStamps ??= {
      set: device.createQuerySet({ type: "timestamp", count: 2 }),
      resolved: buffer(GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC),
      copy: buffer(GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ),
    };
    return this.ownStamps;
  }

  /**
   * Return the seconds of one round of jobs: the shortest and the longest of some
   * measurements. An error says so if the clocks of the page and the device disagree.
   */
  async time(jobs, { batch = BATCH, samples = SAMPLES } = {}) {
    const first = await this.run(jobs, 1); // compiles
    if (first.page > SLOWEST)
      throw new Error(`One round takes ${Math.round(first.page)} ms here, too long.`);
    const empty = [];
    for (let i = 0; i < 3; i += 1) empty.push((await this.run([], 1)).page);
    const fixed = Math.min(...empty);
    const measure = async (rounds) => {
      const { page, device } = await this.run(jobs, rounds);
      return { page: page - fixed, device };
    };
    const shown = ({ page, device }) => (this.clock === "device" ? device : page);
    let rounds = 1;
    for (let last = 0; last < batch && rounds < 1e6; ) {
      last = shown(await measure(rounds));
      if (last < batch)
        rounds *= Math.ceil(Math.min(16, Math.max(2, batch / Math.max(last, 0.1))));
    }
    const found = [];
    for (let i = 0; i < samples; i += 1) found.push(await measure(rounds));
    const least = (of) => Math.min(...found.map(of));
    if (this.clock === "device") {
      const [page, device] = [least((f) => f.page), least((f) => f.device)];
      if (!(device > 0) || page / device > DISAGREE || device / page > DISAGREE)
        throw new Error(
          `The clocks disagree: ${page.toFixed(1)} ms for the page and ` +
            `${device.toFixed(1)} ms for the GPU. Close other tabs and try again.`,
        );
    }
    const all = found.map((each) => shown(each) / rounds / 1e3);
    return { seconds: Math.min(...all), most: Math.max(...all) };
  }
}

const compileError = (errors) =>
  Object.assign(
    new Error(errors.map((e) => `line ${e.lineNum}: ${e.message}`).join("\n")),
    { messages: errors },
  );

/**
 * Call `experiment` with a Lab, and return its result. The experiment ends if `signal`
 * aborts; its memory is given back in any case.
 */
export const open = async (signal, experiment) => {
  const lab = new Lab(await idle(signal), signal);
  try {
    await lab.listen();
    return await experiment(lab);
  } finally {
    lab.free();
  }
};

/**
 * Return a function that runs one experiment at a time, shows its progress in `status`, and
 * ends it when the reader presses `stop` or hides the page. If an experiment ends early, the
 * function calls `failed` with the error and the signal that carries the reason.
 */
export const runner = ({ status, stop, failed }) => {
  let last = new AbortController();
  const end = (why) => last.abort(why);
  stop.addEventListener("click", () => end("You pressed Stop."));
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) end("The page was hidden.");
  });
  return async (experiment) => {
    end("Another run has begun.");
    const own = new AbortController();
    last = own;
    const say = (text) => {
      if (last === own) status.textContent = text;
    };
    stop.hidden = false;
    say("Asking the browser for a GPU …");
    try {
      await open(own.signal, (lab) => experiment(lab, say));
    } catch (error) {
      // A run in whose place another has begun has nothing more to say.
      if (last === own) failed(error, own.signal);
    }
    if (last === own) stop.hidden = true;
  };
};

/** Return the latency and the bandwidth of times [bytes, seconds], by least squares of
 * the relative errors. */
export const fit = (points) => {
  const [a, b, c, d, e] = points.reduce(
    ([a, b, c, d, e], [x, t]) => {
      const w = 1 / (t * t);
      return [a + w, b + w * x, c + w * x * x, d + w * t, e + w * x * t];
    },
    [0, 0, 0, 0, 0],
  );
  const slope = (a * e - b * d) / (a * c - b * b);
  return { latency: (d - slope * b) / a, bandwidth: 1 / slope };
};

/** Return why this browser gives no GPU to the page, or "" if it does. */
export const missing = async () => {
  if (!navigator.gpu) return MISSING;
  return (await navigator.gpu.requestAdapter()) ? "" : NO_ADAPTER;
};
