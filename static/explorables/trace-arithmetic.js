/* The arithmetic of a training step's trace: pure functions that need no page.
 *
 * Times are in seconds, sizes in bytes.
 */
import { KERNEL_TIME } from "./expectations.js";

const BYTES = { float32: 4, bfloat16: 2 };
const ADAM = 10; // operations of an update that is not fused

/** Return the operations of a step of a Transformer, in order: {name, flops, bytes}.
 * @param {object} step layers; width; length: positions; vocabulary; batch: sequences;
 * precision: "float32" or "bfloat16"; compiled: whether neighbors are fused
 */
export const operations = (step) => {
  const { layers, width, length, vocabulary, batch, precision, compiled } = step;
  const bytes = BYTES[precision];
  const tokens = batch * length;
  const weights = layers * 12 * width ** 2;
  /** An operation that reads and writes this many arrays of tokens and width. */
  const move = (name, arrays, flops = 0) => ({ name, flops, bytes: arrays * tokens * width * bytes });
  const product = (name, k, n) => ({
    ...{ name, isProduct: true, flops: 2 * tokens * k * n },
    bytes: bytes * (tokens * k + k * n + tokens * n),
  });
  const attention = 4 * tokens * length * width;
  // A sum and the normalization after it are neighbors, which a compiler fuses.
  const normalize = compiled ? [move("add, norm", 4)] : [move("add", 3), move("norm", 2)];
  const forward = [
    ...[...normalize, product("qkv", width, 3 * width), move("attention", 4, attention)],
    ...[product("proj", width, width), ...normalize, product("up", width, 4 * width)],
    ...[move("gelu", 8), product("down", 4 * width, width)],
  ];
  const back = (operation) => {
    const { name } = operation;
    if (operation.isProduct) {
      const bias = { name: `${name} bias`, flops: 0, bytes: operation.bytes / 3 };
      return [...(compiled ? [] : [bias]), operation, operation];
    }
    const half = 1.5 * operation.bytes;
    return [{ ...operation, flops: 2 * operation.flops, bytes: half }];
  };
  const head = [move("norm", 2), product("head", width, vocabulary), move("loss", 1)];
  const whole = [move("embed", 2), ...Array(layers).fill(forward).flat(), ...head];
  const cast = precision === "float32" ? [] : [{ name: "cast", flops: 0, bytes: 6 * weights }];
  const one = { name: "update", flops: 0, bytes: 28 * weights };
  const update = compiled ? [one] : Array(ADAM).fill({ ...one, bytes: 12 * weights });
  const backward = whole.toReversed().flatMap(back);
  return [...cast, ...whole, ...backward, ...update];
};

const sum = (list) => list.reduce((total, x) => total + x, 0);

/**
 * Return the seconds that a step needs at least, by resource: `step_needs` of the section.
 * @param {object} machine rate, bandwidth, call: the time of a launch
 * @param {object[]} list operations
 * @param {object} host input: the time of the minibatch; captured: whether one call is
 * enough
 */
export const needs = ({ rate, bandwidth, call }, list, { input, captured }) => ({
  input,
  launches: (captured ? 1 : list.length) * call,
  bytes: sum(list.map(({ bytes }) => bytes)) / bandwidth,
  FLOPs: sum(list.map(({ flops }) => flops)) / rate,
});

/** Return the resource of which a step needs the most seconds. */
export const verdict = (times) =>
  Object.keys(times).reduce((a, b) => (times[b] > times[a] ? b : a));

const STEPS = 6; // until each step is like the one before it

/**
 * Simulate steps whose operations are queued, of which the host is at most one ahead.
 * @returns {{host: object[], gpu: object[], pace: number, busy: number}} the spans
 * {name, start, end} in the time of one step, which begins with the GPU's first operation
 */
export const trace = ({ rate, bandwidth, call }, list, { input, captured }) => {
  const seconds = list.map(({ flops, bytes }) =>
    Math.max(flops / rate, bytes / bandwidth, KERNEL_TIME),
  );
  const [host, gpu, starts, ends] = [[], [], [], []];
  let now = 0; // the time on the host
  let free = 0; // the time when the GPU has finished its queue
  const spend = (name, long) => {
    if (long > 0) host.push({ name, start: now, end: now + long });
    now += long;
  };
  for (let step = 0; step < STEPS; step += 1) {
    if (step > 1 && ends[step - 2] > now) spend("wait", ends[step - 2] - now);
    spend("input", input);
    if (captured) spend("replay", call);
    list.forEach(({ name, isProduct }, i) => {
      if (!captured) spend(name, call);
      const start = Math.max(now, free);
      if (i === 0) starts.push(start);
      free = start + seconds[i];
      gpu.push({ name, isProduct, start, end: free });
    });
    ends.push(free);
  }
  const [from, to] = starts.slice(-2);
  const within = (spans) =>
    spans
      .filter(({ start, end }) => end > from && start < to)
      .map((span) => ({
        ...span,
        start: Math.max(0, span.start - from),
        end: Math.min(to, span.end) - from,
      }));
  return { host: within(host), gpu: within(gpu), pace: to - from, busy: sum(seconds) };
};
