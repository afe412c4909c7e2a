/* The texts of the book that set a figure: the settings exist, and the figure then shows
 * the numbers that the text names. */
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");

const { load, library, figures, plain } = require("./support.js");

const { begin, parse } = load("controls");

const NUMBER = /(?<![\w.])\d[\d,.]*(?<=\d)(?:e[-+]?\d+)?(?: ?(?:%|[kMGTP]?i?B(?:\/s)?|[mµn]?s|[kMGTP]?FLOP(?:s|\/s)?)(?![\w/]))?/g;

/** Return the numbers of a text, with their units. */
const numbersIn = (text) => plain(text).match(NUMBER) ?? [];

/** Return the numbers that a figure shows at first sight: in its controls, its result, its
 * log and its drawing, but for those that stand alone, as those of axes do. */
const shown = (spec, state) => {
  const controls = spec.controls.map(({ id, format, options = [] }) =>
    format ? format(state[id]) : options.find(([value]) => value === state[id])?.[1] ?? "",
  );
  const log = (spec.log?.(state) ?? []).flat();
  const labels = plain(spec.draw(state, 640)).replace(/<[^>]*>/g, "\n").split("\n");
  const drawn = labels.filter((text) => /[a-z]/i.test(text.replace(NUMBER, "")));
  const texts = [...controls, spec.result(state), ...log, ...drawn];
  return new Set(texts.map(String).flatMap(numbersIn));
};

/** Return what is wrong with a text that sets a figure; empty if nothing is. */
const problem = ({ text, settings }) => {
  const name = settings.split(".")[0];
  const spec = figures[name];
  const given = settings.replaceAll(`${name}.`, "");
  for (const [id, value] of new URLSearchParams(given)) {
    const control = spec.controls.find((other) => other.id === id);
    if (!control) return `the figure ${name} has no setting '${id}'`;
    if (parse(control, value) === undefined)
      return `the setting '${id}' of the figure ${name} has no value '${value}'`;
  }
  for (const tab of ["pytorch", "mxnet", "jax", "tensorflow"]) {
    globalThis.document = { documentElement: { dataset: { tab } } };
    const numbers = shown(spec, begin(spec, given));
    const missing = numbersIn(text).filter((number) => !numbers.has(number));
    const there = [...numbers].join(", ");
    if (missing.length) return `the figure ${name} shows no ${missing.join(" and ")}, but ${there}`;
  }
  return "";
};

for (const play of library.plays)
  test(`${play.place}: [${play.text}] sets a figure that shows its numbers`, () => {
    const found = problem(play);
    if (found) assert.fail(`${play.place}: ${found}`);
  });

test("a text that sets a figure wrongly is found", () => {
  const wrong = (text, settings) => problem({ text, settings });
  assert.equal(wrong("takes 960 µs at every step", "queue.every=1"), "");
  assert.match(wrong("takes 970 µs", "queue.every=1"), /queue shows no 970 µs, but .*960 µs/);
  assert.match(wrong("takes 960", "queue.every=1"), /shows no 960,/);
  assert.match(wrong("now", "queue.evry=1"), /queue has no setting 'evry'/);
  assert.match(wrong("now", "queue.every=13"), /'every' of the figure queue has no value '13'/);
});
