/* Runs a reader's kernel: on small problems with records, on one whose size is drawn, and on
 * large ones for its time.
 *
 * The input is new each time, so a kernel has to read it.
 */
import { GROUP, MOST, WORDS, FUEL, program, refusals } from "./kernel-code.js";
import { round } from "./arithmetic.js";
import { inSlices, judge, turn } from "./kernel-judge.js";

const LARGEST = 1024; // number of an input
const PART = 2 ** 16; // numbers that are compared at a time
const CHUNK = 2 ** 20; // numbers that are copied at a time
const PATIENCE = 200; // ms of a run, above which no larger problem follows
const RECORDS = 8 + 4 * WORDS * MOST; // bytes, behind two counts

/** Return what lets the page have its turn, unless the run has been stopped. */
const resting = (lab) => async () => {
  await turn();
  lab.check();
};

/** Return random whole numbers from 1 to `largest`, whose sums have no error. */
const randomNumbers = async (length, largest, rest) => {
  const numbers = new Float32Array(length);
  await inSlices(length, (i) => (numbers[i] = 1 + Math.floor(largest * Math.random())), rest);
  return numbers;
};

/** Return the arrays of a task on the GPU, and the numbers in them. */
const arraysOf = async (lab, task, size) => {
  const rest = resting(lab);
  const names = Object.keys(task.arrays);
  const input = {};
  const arrays = [];
  for (const name of names) {
    const length = task.arrays[name](size);
    const array = await lab.array(4 * length);
    arrays.push(array);
    if (arrays.length === names.length) break; // the result
    input[name] = await randomNumbers(length, task.largest ?? LARGEST, rest);
    for (let at = 0; at < length; at += CHUNK) {
      const count = Math.min(CHUNK, length - at);
      lab.device.queue.writeBuffer(array, 4 * at, input[name], at, count);
      await rest();
    }
  }
  return { size, input, arrays, result: arrays[arrays.length - 1] };
};

/** Return where the parts of a result begin that are compared. */
const partsOf = (length) => {
  if (length <= PART) return [0];
  return [0, Math.floor(Math.random() * (length - PART)), length - PART];
};

/** Return what is wrong with a result, or "". */
const compare = async (lab, task, { size, input, arrays, result }) => {
  const length = Object.values(task.arrays)[arrays.length - 1](size);
  const expected = task.expected(input, size);
  let wrong = "";
  for (const from of partsOf(length)) {
    const count = Math.min(PART, length);
    const found = await lab.read(result, 4 * count, Float32Array, 4 * from);
    const visit = (n) => {
      if (wrong) return;
      const right = expected(from + n);
      if (Math.abs(found[n] - right) <= 1e-3 * Math.min(1, right)) return;
      wrong = `out[${from + n}] is ${round(found[n], 6)}, but should be ${round(right, 6)}`;
    };
    await inSlices(count, visit, resting(lab));
  }
  return wrong;
};

/** Compile a kernel; of its loops, as few as possible have counters of their own. */
const compile = async (lab, task, code, size, recorded, arrays) => {
  const build = (apart) =>
    lab.kernel(program(task, code, size, { recorded, apart }), arrays, "main_");
  for (const apart of ["none", "barriers"])
    try {
      return await build(apart);
    } catch (error) {
      if (!/uniform/.test(error.message)) throw error;
    }
  return build("all");
};

const groups = (task, size) => Math.ceil(task.threads(size) / GROUP);

/** Return the problems of a verdict, in sentences. */
const problemsOf = ({ wrong, outside, races, unset, isCut, dropped }) =>
  [
    wrong && `The result is wrong: ${wrong}.`,
    ...outside.map((text) => `Out of bounds: ${text}.`),
    ...races.map((text) => `A race: ${text}.`),
    ...(dropped ? [] : unset).map((text) => `Not stored yet: ${text}. WebGPU has 0 there, but CUDA has not.`),
    isCut &&
      `A loop was stopped after ${FUEL} rounds or fewer: it does not end, or leaves too much ` +
        "to one thread.",
    dropped && `Only the first ${MOST} accesses were recorded.`,
  ].filter(Boolean);

/** Run a kernel on a problem of one size and record its accesses; return a verdict. */
const recorded = async (lab, task, code, size) => {
  const problem = await arraysOf(lab, task, size);
  const records = await lab.array(RECORDS);
  const kernel = await compile(lab, task, code, size, true, [...problem.arrays, records]);
  lab.submit([{ kernel, x: groups(task, size) }]);
  const [count, cut] = await lab.read(records, 8, Uint32Array);
  const bytes = 4 * WORDS * Math.min(count, MOST);
  const all = bytes ? await lab.read(records, bytes, Uint32Array, 8) : new Uint32Array();
  const wrong = await compare(lab, task, problem);
  const found = await judge(task, size, all, resting(lab));
  const verdict = { ...found, wrong, isCut: cut > 0, dropped: Math.max(0, count - MOST) };
  const launched = GROUP * groups(task, size);
  return { ...verdict, size, launched, records: all, problems: problemsOf(verdict) };
};

/** Run a kernel once on a larger problem; return what is needed to time it. */
const tried = async (lab, task, code, size) => {
  const problem = await arraysOf(lab, task, size);
  const flags = await lab.array(32);
  const kernel = await compile(lab, task, code, size, false, [...problem.arrays, flags]);
  const jobs = [{ kernel, x: groups(task, size) }];
  const { page } = await lab.run(jobs, 1);
  const [, cut] = await lab.read(flags, 8, Uint32Array);
  return { size, jobs, ms: page, isCut: cut > 0, wrong: await compare(lab, task, problem) };
};

/** Return a size that a kernel cannot know: from two to four times the largest recorded. */
const unknownSize = ({ sizes }) => Math.floor((2 + 2 * Math.random()) * Math.max(...sizes));

/** Return the verdict on a kernel: of the first size, or of the one with problems. What is
 * right for the recorded sizes also has to be right for one that is drawn, without records.
 * @returns {Promise<any>} */
export const check = async (lab, task, code) => {
  const reasons = refusals(task, code);
  if (reasons.length) return { refused: reasons, problems: reasons };
  const [first, ...others] = task.sizes;
  const verdict = await recorded(lab, task, code, first);
  for (const size of others) {
    if (verdict.problems.length) break;
    const { problems } = await recorded(lab, task, code, size);
    verdict.problems = problems.map((text) => `With N = ${size}: ${text}`);
  }
  if (!verdict.problems.length) {
    const { size, isCut, wrong } = await tried(lab, task, code, unknownSize(task));
    if (isCut) verdict.problems = [`With N = ${size}: A loop was stopped.`];
    else if (wrong) verdict.problems = [`With N = ${size}: The result is wrong: ${wrong}.`];
  }
  return verdict;
};

/**
 * Time a right kernel on the largest of some problems that does not take too long; return
 * its useful bytes and seconds, or what went wrong before.
 * @returns {Promise<any>}
 */
export const measure = async (lab, task, code, say) => {
  let best;
  for (const size of task.steps) {
    say(`Trying N = ${size} …`);
    const run = await tried(lab, task, code, size);
    if (run.isCut && best) break; // It may only be slow.
    if (run.isCut) return { size, problem: "a loop was stopped, so there is no time" };
    if (run.wrong) return { size, problem: `the result is wrong: ${run.wrong}` };
    best = run;
    if (run.ms > PATIENCE) break;
  }
  say(`Measuring with N = ${best.size} …`);
  const { seconds, most } = await lab.time(best.jobs, { samples: 3 });
  const bytes = Object.values(task.arrays).reduce((sum, of) => sum + 4 * of(best.size), 0);
  return { seconds, most, bytes, size: best.size };
};
