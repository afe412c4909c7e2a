/* What the tests of the figures share: their modules, the library's numbers, comparisons. */
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");

const ROOT = path.join(__dirname, "../..");
const NUMBERS = path.join(ROOT, "_build/library.json");
const FOLDER = path.join(ROOT, "static/explorables");

if (!fs.existsSync(NUMBERS))
  throw new Error("the library's numbers are not there: run make test-static");

/** Return what a module of the figures exports, together with its figure. */
const load = (name) => {
  const module = require(path.join(FOLDER, `${name}.js`));
  return { ...module, ...module.default };
};
const read = (file) => fs.readFileSync(path.join(ROOT, file), "utf8");
const library = JSON.parse(fs.readFileSync(NUMBERS, "utf8"));
const NAMES = fs
  .readdirSync(FOLDER)
  .filter((file) => read(`static/explorables/${file}`).includes(" figure({\n"))
  .map((file) => file.replace(".js", ""));
const figures = Object.fromEntries(NAMES.map((name) => [name, load(name)]));
const { first } = load("controls");

/** Return the first state of a figure with changes, as if `id` had been changed last. */
const changed = (spec, changes, id = "") => {
  const state = { ...first(spec), ...changes };
  return id && spec.settle ? spec.settle(state, id) : state;
};

/** Return text with spaces that may break. */
const plain = (text) => text.replaceAll("\u00a0", " ");
const result = (spec, changes, id) => plain(spec.result(changed(spec, changes, id)));
const formula = (spec, changes, id) =>
  plain(spec.formula(changed(spec, changes, id)).join(" "));

/** Compare numbers, or lists of them, up to a relative and an absolute error. */
const close = (found, expected, { rel = 1e-6, abs = 1e-12 } = {}, what = "") => {
  if (Array.isArray(expected)) {
    assert.equal(found.length, expected.length, what);
    expected.forEach((x, i) => close(found[i], x, { rel, abs }, what));
    return;
  }
  const isClose = Math.abs(found - expected) <= Math.max(abs, rel * Math.abs(expected));
  assert.ok(isClose, `${what} ${found} is not ${expected}`);
};

const includes = (text, ...parts) => {
  for (const part of parts) assert.ok(text.includes(part), `${part} is not in: ${text}`);
};

/** Return all combinations of members of lists, with these keys. */
const grid = (lists) =>
  Object.entries(lists).reduce(
    (found, [key, list]) => found.flatMap((one) => list.map((x) => ({ ...one, [key]: x }))),
    [{}],
  );

const sum = (list) => list.reduce((total, x) => total + x, 0);
const range = (n) => Array.from({ length: n }, (_, i) => i);

/** Return the published values whose names begin with `start`, without it. */
const cited = (start) =>
  Object.fromEntries(
    Object.entries(library.cited)
      .filter(([id]) => id.startsWith(start))
      .map(([id, value]) => [id.slice(start.length), value]),
  );

/** Return a function that draws numbers from 0 to 1, the same ones each time. */
const randomNumbers = (seed = 1) => {
  let last = seed;
  return () => {
    last = (last * 48271) % 2147483647;
    return last / 2147483647;
  };
};

/** Return values that a control can have: all of them, or the ends of a range. */
const valuesOf = ({ kind, options, values, placeholder, min, max }) => {
  if (kind === "text") return ["", "nothing", placeholder];
  if (kind === "hidden") return [];
  return options ? options.map(([value]) => value) : (values ?? [min, max]);
};

module.exports = {
  ...{ ROOT, NAMES, load, read, library, figures, first, changed, plain, result, formula },
  ...{ close, includes, grid, sum, range, cited, randomNumbers, valuesOf },
};
