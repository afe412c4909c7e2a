/* What the records of all accesses of a kernel show.
 *
 * A record is [thread, number of the access in its thread, kind + 16 · barriers, place,
 * moment], where the kind is 2 · array + 1 for a store, and the barriers are those that the
 * thread has passed of the kind that orders the array.
 *
 * The threads of a warp run together, so what they do in one moment, at one place of the code
 * in the same rounds of all loops around it, counts as one access of the warp.
 */
import { GROUP, MOST, WORDS } from "./kernel-code.js";

export const WARP = 32;
export const SECTOR = 8; // numbers of 4 bytes
const SHOWN = 3; // problems of a kind
const STEPS = 512; // accesses of a thread that can be drawn
const SLICE = 8; // ms of judging, after which the page has its turn

export const turn = () => new Promise((resolve) => setTimeout(resolve));

/** Call `visit` with each number below `count`, and let the page have its turn between. */
export const inSlices = async (count, visit, rest = turn) => {
  let start = performance.now();
  for (let n = 0; n < count; n += 1) {
    visit(n);
    if (n % 256 === 255 && performance.now() - start > SLICE) {
      await rest();
      start = performance.now();
    }
  }
};

/** Return the arrays of a task: their names, lengths, and the numbers of their cells. */
const arraysOf = (task, size) => {
  let first = 0;
  const described = Object.entries(task.arrays).map(([name, of]) => {
    const length = of(size);
    first += length;
    return { name, length, first: first - length, isShared: false };
  });
  return [...described, { name: "tile", length: task.tile ?? 0, first, isShared: true }];
};

/** Return a function that reads the record `n`. */
export const reader = (task, size, records) => {
  const arrays = arraysOf(task, size);
  return (n) => {
    const [thread, at, kind, k, moment] = records.subarray(WORDS * n, WORDS * (n + 1));
    const array = arrays[(kind & 15) >> 1];
    const group = Math.floor(thread / GROUP);
    // Each workgroup has a tile of its own.
    const cell = array.first + (array.isShared ? group * array.length : 0) + k;
    const place = { array, k, cell, isOutside: k >= array.length };
    const epoch = kind >>> 4;
    return { ...place, thread, group, epoch, kind: kind & 15, at, moment };
  };
};

/** Return a function that numbers keys: 0, 1, 2, ... */
const numbering = () => {
  const known = new Map();
  return (key) => {
    if (!known.has(key)) known.set(key, known.size);
    return known.get(key);
  };
};

/** Return a function that numbers accesses: those have one number that the threads of a warp
 * make together. A function that is called twice makes a thread's second one of a moment. */
export const counter = () => {
  const [placeOf, numberOf, seen] = [numbering(), numbering(), new Map()];
  return ({ thread, kind, moment }) => {
    const place = placeOf(16 * moment + kind); // below MOST, and that below 2^19
    const key = 2 ** 19 * thread + place;
    const count = seen.get(key) ?? 0;
    seen.set(key, count + 1);
    return numberOf(2 ** 19 * count + place);
  };
};

const isStore = ({ kind }) => kind % 2 === 1;
/** Return whether an access loads a number of the tile that has not been stored; `stored`
 * has the first barriers of each cell's stores. */
const isUnset = (access, stored) =>
  access.array.isShared && !isStore(access) && !(stored.get(access.cell) <= access.epoch);

/** Keep the first two different members of a list of pairs [who, thread]. */
const keep = (map, key, who, thread) => {
  const known = map.get(key);
  if (!known) map.set(key, [[who, thread]]);
  else if (known.length < 2 && known[0][0] !== who) known.push([who, thread]);
};

/** Return the thread of a writer that is not `who`, or undefined. */
const another = (map, key, who) => (map.get(key) ?? []).find(([one]) => one !== who)?.[1];

// Keys are numbers, which are much faster than texts; all are far below 2^53.
const inEpoch = ({ cell, group, epoch }) => (cell * 2 ** 6 + group) * 2 ** 28 + epoch;
const inWarp = ({ thread, kind, k }, nth) =>
  ((Math.floor(thread / WARP) * MOST + nth) * 16 + kind) * 2 ** 20 + Math.floor(k / SECTOR);

// Problems in words

const race = (access, other) => {
  const { thread, array, k } = access;
  const cell = `${array.name}[${k}]`;
  const [a, b] = [Math.min(other, thread), Math.max(other, thread)];
  return isStore(access)
    ? `threads ${a} and ${b} both store ${cell}`
    : `thread ${thread} loads ${cell}, which thread ${other} stores`;
};

/** Return what is missing between two accesses that race. */
const missing = ({ array, group }, other) => {
  if (array.isShared) return "without workgroupBarrier between";
  if (Math.floor(other / GROUP) === group) return "without storageBarrier between";
  return "in another workgroup, and no barrier orders two workgroups";
};

const outOfBounds = (access) => {
  const { thread, array, k } = access;
  const { name, length } = array;
  const place = `${name}[${k > 2 ** 31 ? k - 2 ** 32 : k}]`;
  const what = isStore(access) ? "stores" : "loads";
  return `thread ${thread} ${what} ${place}, but ${name} has ${length} numbers`;
};

// The verdict

/** Return who has stored into the cells: by epoch the threads, and the workgroups. Of each
 * the first two suffice, since one of two is not the one that is asked about. */
const writersOf = () => {
  const [threads, groups] = [new Map(), new Map()];
  const add = (access) => {
    const { thread, array, cell, group } = access;
    keep(threads, inEpoch(access), thread, thread);
    if (!array.isShared) keep(groups, cell, group, thread);
  };
  const other = (access) =>
    another(threads, inEpoch(access), access.thread) ??
    another(groups, access.cell, access.group);
  return { add, other };
};

/** Return loads, stores, sectors, the number of threads that make them, problems, of which
 * some of each kind, and the records of each warp. */
export const judge = async (task, size, records, rest = turn) => {
  const read = reader(task, size, records);
  const count = records.length / WORDS;
  const [outside, races] = [new Map(), new Map()]; // by thread, by cell
  const touched = new Set(); // the sectors of each access of a warp
  const moved = [0, 0]; // loads and stores
  const busy = new Set(); // the threads that load or store
  const countOf = counter();
  const writers = writersOf();
  const [stored, unset] = [new Map(), new Map()]; // of the tile, by cell
  const warps = new Map(); // the records of each warp that can be drawn
  const collect = (n) => {
    const access = read(n);
    const { array, thread, isOutside } = access;
    const warp = Math.floor(thread / WARP);
    busy.add(thread);
    if (!warps.has(warp)) warps.set(warp, []);
    if (access.at < STEPS) warps.get(warp).push(n);
    if (!array.isShared) moved[access.kind % 2] += 1;
    if (isOutside && !outside.has(thread)) outside.set(thread, outOfBounds(access));
    if (isOutside) return;
    if (isStore(access)) writers.add(access);
    if (isStore(access) && array.isShared)
      stored.set(access.cell, Math.min(access.epoch, stored.get(access.cell) ?? Infinity));
    if (!array.isShared) touched.add(inWarp(access, countOf(access)));
  };
  const compare = (n) => {
    const access = read(n);
    if (unset.size < SHOWN && !access.isOutside && isUnset(access, stored))
      unset.set(access.cell, `thread ${access.thread} loads tile[${access.k}]`);
    if (races.size === SHOWN || access.isOutside || races.has(access.cell)) return;
    const other = writers.other(access);
    if (other !== undefined)
      races.set(access.cell, `${race(access, other)}, ${missing(access, other)}`);
  };
  await inSlices(count, collect, rest);
  await inSlices(count, compare, rest);
  const threads = [...outside.keys()].sort((a, b) => a - b).slice(0, SHOWN);
  return {
    ...{ loads: moved[0], stores: moved[1], sectors: touched.size, busy: busy.size },
    outside: threads.map((thread) => outside.get(thread)),
    races: [...races.values()],
    unset: [...unset.values()],
    warps,
    first: threads.length ? Math.floor(threads[0] / WARP) : 0, // the warp to look at
  };
};
