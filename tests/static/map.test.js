/* The map of the machine, and the cards that figures share. */
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");

const { figures, first, changed, plain, result, formula, includes } = require("./support.js");
const { valuesOf } = require("./support.js");

const { map } = figures;

test("the parts of an H100 have the numbers of its data sheets", () => {
  const drawing = plain(map.draw(first(map), 600));
  const titles = [...drawing.matchAll(/data-touch="(\w+)"><title>([^<]+)</g)];
  assert.deepEqual(Object.fromEntries(titles.map(([, id, text]) => [id, text])), {
    host: "Host",
    link: "Link: 64 GB/s",
    memory: "GPU memory: 3.35 TB/s",
    l2: "L2 cache: 50 MiB",
    sm: "SMs: 132 × 64 warps",
    registers: "Registers: 256 KiB per SM", // 65536 of 4 bytes
    tensor: "Tensor cores: 989 TFLOP/s",
    shared: "Shared memory: 228 KiB per SM",
    network: "Other GPUs: 450 GB/s",
  });
  includes(formula(map), "3.35 TB/s / 64 GB/s = 52 ");
});

test("the thickness of a bar is proportional to its bandwidth", () => {
  for (const width of [300, 600]) {
    const drawing = map.draw(changed(map, { card: "t4" }), width);
    const bar = (id) => {
      const [, attributes] = drawing.match(
        new RegExp(`data-touch="${id}".*?<rect ([^>]*) rx="0"`),
      );
      return [...attributes.matchAll(/(?:width|height)="([\d.]+)"/g)].map(([, x]) => Number(x));
    };
    const [channel, link] = [Math.max(...bar("memory")), Math.min(...bar("link"))];
    assert.equal(channel / link, 320 / 16);
  }
});

test("the GPUs of a card without NVLink are joined by PCI Express", () => {
  const state = changed(map, { card: "rtx4090" });
  includes(map.draw(state, 600), "<title>Other GPUs</title>", "L2 cache: 72", "PCIe, 32");
  includes(result(map, { card: "rtx4090", part: "network" }), "cross the link, which carries 32 GB/s");
});

test("the table of the map marks the chosen card", () => {
  const { rows, chosen } = map.table(changed(map, { card: "b200" }));
  assert.equal(rows[chosen][0], "B200");
});

/** The figures that share the reader's card, with the control that chooses it. */
const SHARING = Object.values(figures).flatMap((spec) => {
  const control = spec.controls.find(({ id }) => id === spec.card);
  return control ? [[spec, control]] : [];
});
const cardsOf = (control) => control.options.filter(([value]) => value !== "own");

test("seven figures share a card, with the same name for it", () => {
  assert.deepEqual(SHARING.map(([{ name }]) => name).sort(), [
    ...["map", "memory-timeline", "plans", "roofline", "server", "turns", "warps"],
  ]);
  for (const [{ name }, control] of SHARING)
    for (const [value, text] of cardsOf(control)) {
      const card = text.split(",")[0].toLowerCase().replace(" ", "");
      assert.equal(value.replace("a100-40", "a100"), card, name);
    }
});

for (const [spec, control] of SHARING)
  test(`${spec.name} names the card that it shows`, () => {
    const words = (value) =>
      plain(spec.summary(changed(spec, { [control.id]: value }, control.id)));
    for (const [value, text] of cardsOf(control))
      includes(words(value), text.split(",")[0]);
    assert.ok(valuesOf(control).length > 2);
  });
