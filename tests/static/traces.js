/* Runs kernels of the tasks in Node, and records their accesses as a page does on a GPU.
 *
 * The WGSL of the tasks differs from JavaScript in few places, so a few replacements turn
 * one into the other. A thread is a generator, which stops at barriers.
 */
"use strict";

const { load, randomNumbers } = require("./support.js");

const { GROUP, withoutComments } = load("kernel-code");

/** Return the result of an expression as WGSL has it: whole numbers do not go below 0. */
const wrap = (x) => (Number.isInteger(x) && x < 0 ? x >>> 0 : x);

/** Return a kernel as the text of a generator. */
const translated = (code) =>
  withoutComments(code.trim())
    .replace(/fn kernel\(.*?\) \{/, "(function* (i, l, w) {")
    .replace(/\b(\d+)u\b/g, "$1")
    .replace(/\b(?:var|let) (\w+) = ([^;]+);/g, "let $1 = wrap($2);")
    .replace(/(\w+) \/= (\w+)/g, "$1 = Math.floor($1 / $2)")
    .replace(/(\([^()]*\)|\b\w+) \/ (\w+)/g, "Math.floor($1 / $2)")
    .replace(/(workgroup|storage)Barrier\(\);/g, 'yield "$1";')
    .concat(")");

/** Return random input, the result and the records of a kernel. */
const run = (task, code, size, random = randomNumbers()) => {
  const names = [...Object.keys(task.arrays), "tile"];
  const memory = names.slice(0, -1).map((name) => new Float32Array(task.arrays[name](size)));
  const input = Object.fromEntries(names.slice(0, -2).map((name, i) => [name, memory[i]]));
  for (const numbers of Object.values(input))
    for (let k = 0; k < numbers.length; k += 1)
      numbers[k] = 1 + Math.floor((task.largest ?? 1024) * random());
  const records = [];
  let thread; // that runs
  const record = (array, kind, k) => {
    const passed = array < names.length - 1 ? thread.storage : thread.workgroup;
    // The n-th accesses of one kind of the threads are taken for one moment.
    records.push(thread.number, thread.at, 2 * array + kind + 16 * passed, k >>> 0, 0);
    thread.at += 1;
  };
  const functions = {};
  names.forEach((name, array) => {
    const place = () => (name === "tile" ? thread.tile : memory[array]);
    functions[`load_${name}`] = (k) => {
      record(array, 0, k);
      return place()[k] ?? 0;
    };
    functions[`store_${name}`] = (k, x) => {
      record(array, 1, k);
      if (k < place().length) place()[k] = x;
    };
  });
  const select = (a, b, isSecond) => (isSecond ? b : a);
  const known = { ...functions, wrap, select, exp: Math.exp, N: size };
  const kernel = new Function(...Object.keys(known), `return ${translated(code)}`)(
    ...Object.values(known),
  );
  for (let w = 0; w < Math.ceil(task.threads(size) / GROUP); w += 1) {
    const tile = new Float32Array(task.tile ?? 0);
    const waiting = Array.from({ length: GROUP }, (_, l) => {
      const number = GROUP * w + l;
      const state = { number, tile, at: 0, workgroup: 0, storage: 0 };
      return { state, steps: kernel(number, l, w) };
    });
    while (waiting.length)
      for (const one of waiting.splice(0)) {
        thread = one.state;
        const { value, done } = one.steps.next();
        if (done) continue;
        thread[value] += 1;
        waiting.push(one);
      }
  }
  return { input, result: memory[memory.length - 1], records: Uint32Array.from(records) };
};

module.exports = { run };
