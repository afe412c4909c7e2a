/* Choosing a card: the figure has the library's models, needs, hours and costs, and orders
 * the cards as the section does. */
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");

const { load, library, figures, first, changed, plain } = require("./support.js");
const { result, formula, close, includes } = require("./support.js");

const choice = load("decide-arithmetic");
const { models, published } = load("language-models");
const { decide, adapt } = figures;
const { runs, decisions } = library.published;
const NAMED = Object.fromEntries(decide.CARDS.map((card) => [card.name, card]));

/** Return the state of the figure for one of the library's tasks. */
const stateOf = ({ name, kind, bits, length, checkpoint, chunks }) => {
  const [task] = Object.entries(decide.TASKS).find(
    ([, one]) => one.kind === kind && one.bits === bits,
  );
  const [model] = Object.entries(decide.MODELS).find(([, one]) => one.name === name);
  return changed(decide, {
    ...{ model, task, length, context: length, tokens: 1e9 },
    ...{ loss: chunks === 1 ? "whole" : "chunks", recompute: checkpoint ? "full" : "none" },
  });
};
const rowsOf = (changes) => decide.rowsOf(changed(decide, changes));
const namesOf = (changes) => rowsOf(changes).map(({ name }) => name);

test("the models of figures have the library's sizes, and all of them", () => {
  assert.deepEqual(Object.keys(models).sort(), runs.map(({ name }) => name).sort());
  for (const { name, sizes } of runs) assert.deepEqual(models[name], sizes, name);
  for (const { name, sizes } of Object.values(adapt.MODELS)) assert.equal(sizes, models[name]);
  for (const name of Object.keys(published)) assert.ok(name in models, name);
});

test("a task takes the bytes of memory_need on each card, and as many users fit", () => {
  for (const task of decisions) {
    const what = JSON.stringify(task);
    for (const row of decide.rowsOf(stateOf(task))) {
      for (const [role, bytes] of Object.entries(task.roles))
        close(row.need[role], bytes, { rel: 1e-9 }, `${role} ${what}`);
      const tight = task.tight.includes(row.name) ? "measure" : "fits";
      const verdict = task.cards.includes(row.name) ? tight : "no";
      assert.equal(row.verdict, verdict, `${row.name} ${what}`);
      assert.equal(row.users, task.users[row.name], `${row.name} ${what}`);
    }
  }
  assert.ok(decisions.length > 1000);
});

test("a run takes the hours and the dollars of the library", () => {
  for (const { name, tokens, cards } of runs)
    for (const [card, { hours, costs }] of Object.entries(cards)) {
      const flops = choice.runFlops(models[name], tokens);
      const found = choice.runHours(flops, card, library.cards[card].tensor16);
      close(found, hours, { rel: 1e-9 }, `${name} ${card}`);
      close(choice.rentalCosts(library.prices[card], found), costs, { rel: 1e-9 }, card);
    }
});

test("cards are in the order of their lowest offers, and what is too small comes last", () => {
  const rows = [
    { name: "small", verdict: "no", costs: [0.1, 0.2] },
    { name: "dear", verdict: "fits", costs: [2, 3] },
    { name: "wide", verdict: "fits", costs: [1, 9] },
    { name: "cheap", verdict: "measure", costs: [1, 8] },
  ];
  const names = choice.inOrder(rows).map(({ name }) => name);
  assert.deepEqual(names, ["cheap", "wide", "dear", "small"]);
  // Those of the library, for every model
  for (const { name, cards } of runs) {
    const task = decisions.find((one) => one.name === name && one.kind === "train");
    const order = Object.keys(NAMED).sort((a, b) => {
      const isSmall = (card) => Number(!task.cards.includes(card));
      return isSmall(a) - isSmall(b) || cards[a].costs[0] - cards[b].costs[0];
    });
    assert.deepEqual(decide.rowsOf(stateOf(task)).map((row) => row.name), order, name);
  }
});

test("the figure begins with the table of the section", () => {
  const [best, ...others] = rowsOf({});
  close(choice.total(best.need) / 1e9, 19.8, { abs: 0.05 });
  assert.deepEqual([best.name, best.verdict], ["RTX 4090", "measure"]);
  assert.equal(others.at(-1).name, "T4");
  // By hand: 6 · 1.236e9 · 1e9 / (0.65 · 165.2e12 · 3600) hours, at $0.34 to 0.74
  close(best.hours, 19.18, { abs: 0.01 });
  assert.equal(
    result(decide, {}),
    "Training Llama 3.2 1B takes 19.8 GB; the cheapest card that holds it is the RTX 4090: " +
      "$6.52 to 14.19 for 19.2 h, but measure first.",
  );
  includes(formula(decide, {}), "0.9 · 24 GB = 21.6 GB", "6 · 1.236 billion parameters · 1 billion tokens = 7.41 · 10^18", "= 19.2 h");
});

test("a card that is too small is last, pale and without a price", () => {
  const drawn = plain(decide.draw(first(decide), 640));
  assert.equal(drawn.match(/<g opacity/g).length, 1);
  includes(drawn, "too small by 5.53 GB", "19.2 h, $6.52 to 14.19", "measure first");
  assert.equal(drawn.match(/\$/g).length, 5);
  const { rows } = decide.table(first(decide));
  assert.deepEqual(rows.at(-1).slice(4, 6), ["–", "–"]);
});

test("generating text has users and the price of an hour in place of a run", () => {
  const chat = { model: "llama-3-8b", task: "generate4" };
  // By hand: (0.9 · 15.836e9 - 6.98e9 · 0.5625 - 2 · 1.05e9) / (4096 · 131072) = 15.3
  const t4 = rowsOf(chat).find(({ name }) => name === "T4");
  assert.deepEqual([t4.users, ...t4.costs], [15, 0.5, 0.5904]);
  includes(result(decide, chat), "for one user", "RTX 4090: $0.34 to 0.74 for an hour with 29 users");
  // Twice the tokens, half the users
  const long = rowsOf({ ...chat, context: 8192 }).find(({ name }) => name === "T4");
  assert.equal(long.users, 7);
  includes(plain(decide.draw(changed(decide, chat), 640)), "15 users, $0.50 to 0.59 an hour");
});

test("a model that no card holds is said to fit on none", () => {
  const large = { model: "llama-3-405b", task: "train" };
  includes(result(decide, large), "none of the six cards holds that");
  assert.deepEqual([...new Set(rowsOf(large).map(({ verdict }) => verdict))], ["no"]);
});

test("the card with the second cheapest hour can have the dearest run", () => {
  const lora = { model: "llama-3-8b", task: "lora4", tokens: 1e8, length: 4096 };
  assert.equal(namesOf(lora).at(-1), "T4");
  assert.ok(rowsOf(lora).every(({ verdict }) => verdict === "fits"));
});

test("a button of the figure chooses a task and leaves the plan", () => {
  const [begin, last] = [first(decide), decide.actions.at(-1)];
  assert.equal(begin.plan, "train1");
  assert.ok(last.pressed(begin) && !decide.actions[0].pressed(begin));
  const next = decide.actions[0].run(begin);
  assert.deepEqual([next.task, next.plan], ["generate16", "own"]);
  assert.equal(last.run(next).plan, "train1");
  const lora = decide.settle({ ...next, plan: "lora70" }, "plan");
  assert.deepEqual([lora.model, lora.task, lora.tokens], ["llama-3-70b", "lora4", 1e8]);
});

test("hours and dollars are written with as many digits as they deserve", () => {
  const small = { model: "gpt-2-124m", task: "train", tokens: 1e6 };
  includes(result(decide, small), "$0.00065 to 0.0014 for 6.91 s");
  const large = { model: "llama-3-70b", task: "lora4", tokens: 1e11 };
  includes(result(decide, large), "$77,000 to 92,000 for 12,900 h");
});

test("a mark of the setting before has a name", () => {
  const [now, last] = [changed(decide, {}), changed(decide, { length: 1024 })];
  assert.match(decide.draw(now, 640, undefined, last), />before<.*/s);
  assert.match(decide.draw(now, 640, undefined, last), /class="last"/);
  for (const same of [now, undefined])
    assert.doesNotMatch(decide.draw(now, 640, undefined, same), />before<|class="last"/);
});
