/* The record of a kernel, drawn: the 32 threads of a warp above, and below them the sectors
 * that one of their accesses touches. Sliders choose the warp and the access.
 */
"use strict";

const { plural } = require("./arithmetic.js");
const { each, tag, label, path, chart } = require("./chart.js");
const { make } = require("./explorable.js");
const { WARP, SECTOR, reader } = require("./kernel-judge.js");

const TOP = 64; // where the sectors begin
const TALL = 18;
const GAP = 5;
const LEGEND =
  "Filled: the threads that take part, and the numbers that they use. Hatched: moved, but not " +
  "used. Red and crossed out: out of bounds.";

/** Return the steps of a warp, whose records have these numbers: the accesses of each. */
const stepsOf = (read, numbers) => {
  const steps = [];
  for (const n of numbers) {
    const access = read(n);
    steps[access.at] ??= [];
    steps[access.at].push(access);
  }
  return steps.filter(Boolean);
};

/** Return the kinds of access of a step: [{name, accesses, sectors}]. */
const kindsOf = (accesses) => {
  const kinds = new Map();
  for (const access of accesses) {
    const { kind, array } = access;
    const name = `${kind % 2 ? "store" : "load"}_${array.name}`;
    if (!kinds.has(kind)) kinds.set(kind, { name, array, accesses: [] });
    kinds.get(kind).accesses.push(access);
  }
  return [...kinds.values()].map((kind) => {
    const inside = kind.accesses.filter(({ isOutside }) => !isOutside);
    const sectors = new Set(inside.map(({ k }) => Math.floor(k / SECTOR)));
    return { ...kind, inside, sectors: [...sectors].sort((a, b) => a - b) };
  });
};

/** Return what the threads of a step do, in words. */
const words = ({ name, array, accesses, inside, sectors }) => {
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

/** Return the sectors of a kind of access below `top`, with lines from the threads. */
const sectorsOf = (kind, top, width, area) => {
  const columns = width < 480 ? 4 : 8;
  const wide = (width - 2) / columns;
  const unit = (wide - GAP) / SECTOR;
  const place = (k) => {
    const index = kind.sectors.indexOf(Math.floor(k / SECTOR));
    const x = 2 + (index % columns) * wide + (k % SECTOR) * unit;
    return [x, top + 20 + Math.floor(index / columns) * (TALL + 8)];
  };
  const boxes = each(kind.sectors, (sector) => {
    const [x, y] = place(sector * SECTOR);
    return area(kind.array.isShared ? "box" : "wait", x, y, wide - GAP, TALL);
  });
  const reads = each(kind.inside, ({ thread, k }) => {
    const [x, y] = place(k);
    const from = ((thread % WARP) + 0.5) * (width / WARP);
    const box = { x, y, width: unit, height: TALL };
    return tag(
      ...["g", { class: "reads" }],
      path(`M${from} 34L${x + unit / 2} ${y}`, "axis", { "stroke-opacity": 0.5 }),
      tag("rect", { ...box, class: "box" }),
      tag("rect", { ...box, class: kind.array.isShared ? "s3 solid" : "s1 solid" }),
    );
  });
  const rows = Math.ceil(kind.sectors.length / columns);
  return { text: boxes + reads, name: [top + 14, words(kind)], height: 28 + rows * (TALL + 8) };
};

/** Return the drawing of one step of a warp. */
const draw = (name, warp, accesses, width) => {
  const { area, sheet } = chart(name);
  let top = TOP;
  const parts = [];
  const names = [];
  for (const kind of kindsOf(accesses)) {
    const part = sectorsOf(kind, top, width, area);
    parts.push(part.text);
    names.push(label(2, ...part.name, "ink small halo"));
    top += part.height;
  }
  const title = `threads ${WARP * warp} to ${WARP * warp + WARP - 1}`;
  const all = threads(accesses, width, area);
  return sheet(width, top, label(0, 12, title, "soft small"), ...parts, all, ...names);
};

// The page

const slider = (id, text, most) => {
  const input = make("input", { type: "range", id, min: 0, max: most, value: 0 });
  const output = make("output", { for: id });
  const box = make("div", { class: "control" }, make("label", { for: id }, text), output, input);
  return { input, output, box };
};

/** Return the drawn record of a verdict, with its sliders; null if there is none. */
const recordOf = (task, { size, records, warps, first }) => {
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
    const said = kindsOf(accesses).map(words).join("; ");
    drawing.setAttribute("aria-label", `Warp ${number}. ${said || "No access."}`);
    drawing.innerHTML = draw(name, number, accesses, drawing.clientWidth || 640);
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

module.exports = { recordOf, stepsOf, kindsOf, words, draw };
