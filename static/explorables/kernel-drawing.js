/* The record of a kernel, drawn: the 32 threads of a warp above, and below them the sectors
 * that one of their accesses touches. Sliders choose the warp and the access.
 */
import { plural } from "./arithmetic.js";
import { each, label, path, chart } from "./chart.js";
import { make, unitsIn } from "./explorable.js";
import { WARP, SECTOR, counter, reader } from "./kernel-judge.js";
import { sectorRows } from "./warp-drawing.js";

const TOP = 64;
const PLACE = { top: TOP, tall: 18 }; // of the sectors
const LEGEND =
  "Filled: the threads that take part, and the numbers that they use. Hatched: moved, but not " +
  "used. Red and crossed out: out of bounds.";

/** Return the steps of a warp, whose records have these numbers: the accesses of each. Of
 * threads that go different ways, the one with the most accesses gives the order. */
export const stepsOf = (read, numbers) => {
  const steps = new Map();
  const countOf = counter();
  for (const n of numbers) {
    const access = read(n);
    const key = countOf(access);
    if (!steps.has(key)) steps.set(key, { last: 0, accesses: [] });
    const step = steps.get(key);
    step.accesses.push(access);
    step.last = Math.max(step.last, access.at);
  }
  const ordered = [...steps.values()].sort((a, b) => a.last - b.last);
  return ordered.map(({ accesses }) => accesses);
};

/** Return the access of a step, which all its threads have in common. */
export const accessOf = (accesses) => {
  const [{ kind, array }] = accesses;
  const inside = accesses.filter(({ isOutside }) => !isOutside);
  const sectors = new Set(inside.map(({ k }) => Math.floor(k / SECTOR)));
  return {
    ...{ name: `${kind % 2 ? "store" : "load"}_${array.name}`, array, accesses, inside },
    sectors: [...sectors].sort((a, b) => a - b),
  };
};

/** Return what the threads of a step do, in words. */
export const words = ({ name, array, accesses, inside, sectors }) => {
  const who = plural(accesses.length, "thread");
  const where = array.isShared ? "in shared memory" : plural(sectors.length, "sector");
  const outside = accesses.length - inside.length;
  return `${name}: ${who}, ${where}${outside ? `, ${outside} out of bounds` : ""}`;
};

// The drawing

/** Return the 32 threads of a warp: filled if they take part, crossed out of bounds. */
const threads = (accesses, width, area) => {
  const wide = width / WARP;
  const states = new Map(accesses.map(({ thread, isOutside }) => [thread % WARP, isOutside]));
  return each([...Array(WARP).keys()], (t) => {
    const [x, isOutside] = [t * wide + 1, states.get(t)];
    if (isOutside === undefined) return area("box", x, 20, wide - 2, 14);
    if (!isOutside) return area("s3", x, 20, wide - 2, 14);
    const cross = `M${x} 20L${x + wide - 2} 34M${x} 34L${x + wide - 2} 20`;
    return area("bad", x, 20, wide - 2, 14) + path(cross, "crossed");
  });
};

/** Return the sectors of an access, with lines from the threads, and the place below. */
const sectorsOf = ({ sectors, inside, array }, width, area) => {
  const rows = sectorRows(sectors, SECTOR, PLACE, width);
  const [box, read] = array.isShared ? ["box", "s3 solid"] : ["wait", "s1 solid"];
  const boxes = rows.boxes((...place) => area(box, ...place));
  const reads = each(inside, ({ thread, k }) => rows.read(thread % WARP, k, 1, read, 0.5));
  return [boxes + reads, rows.bottom + 8];
};

/** Return the drawing of one step of a warp, which may be empty. */
export const draw = (name, warp, accesses, width) => {
  const { area, sheet } = chart(name);
  const title = label(0, 12, `threads ${WARP * warp} to ${WARP * warp + WARP - 1}`, "soft small");
  const all = threads(accesses, width, area);
  if (!accesses.length) return sheet(width, TOP, title, all);
  const access = accessOf(accesses);
  const [sectors, height] = sectorsOf(access, width, area);
  const said = label(2, height + 12, words(access), "ink small");
  return sheet(width, height + 18, title, sectors, all, said);
};

// The page

const slider = (id, text, most) => {
  const input = make("input", { type: "range", id, min: 0, max: most, value: 0 });
  const output = make("output", { for: id });
  const box = make("div", { class: "control" }, make("label", { for: id }, text), output, input);
  return { input, output, box };
};

/** Return the drawn record of a verdict, with its sliders; null if there is none. */
export const recordOf = (task, { size, records, warps, first }) => {
  const read = reader(task, size, records);
  if (!records.length) return null;
  const last = Math.ceil(task.threads(size) / WARP) - 1;
  const name = `record-${task.name}`;
  const warp = slider(`${name}-warp`, "Warp", last);
  const step = slider(`${name}-step`, "Access", 0);
  const drawing = make("div", { class: "drawing", role: "img" });
  let steps = [];
  const paint = () => {
    const accesses = steps[Number(step.input.value)] ?? [];
    const number = Number(warp.input.value);
    warp.output.textContent = `${number} of 0 to ${last}`;
    step.output.textContent = steps.length
      ? `${Number(step.input.value) + 1} of ${steps.length}`
      : "none";
    const said = accesses.length ? words(accessOf(accesses)) : "No access.";
    drawing.setAttribute("aria-label", `Warp ${number}. ${said}`);
    drawing.innerHTML = draw(name, number, accesses, unitsIn(drawing.clientWidth || 640));
  };
  // It begins with the first step that is out of bounds, if there is one.
  const choose = () => {
    steps = stepsOf(read, warps.get(Number(warp.input.value)) ?? []);
    const outside = steps.findIndex((all) => all.some(({ isOutside }) => isOutside));
    step.input.max = String(Math.max(0, steps.length - 1));
    step.input.value = String(Math.max(0, outside));
    paint();
  };
  warp.input.addEventListener("input", choose);
  step.input.addEventListener("input", paint);
  const box = make(
    "div",
    { class: "record" },
    make("div", { class: "controls" }, warp.box, step.box),
    drawing,
    make("p", { class: "said" }, LEGEND),
  );
  warp.input.value = String(first);
  new ResizeObserver(() => requestAnimationFrame(paint)).observe(box);
  choose();
  return box;
};
