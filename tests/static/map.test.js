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

test("the array on its way covers no name", () => {
  const motion = { part: 0.5, from: { sent: "" } };
  for (const width of [300, 600]) {
    const drawing = map.draw(changed(map, { sent: "1" }), width, motion);
    const at = (text) => drawing.indexOf(text);
    const [array, name] = ['rx="3" class="s2 solid"', ">L2 cache<"].map(at);
    assert.ok(at('data-touch="memory"') < array && array < drawing.lastIndexOf("<rect", name));
    assert.equal(drawing.split('rx="3"').length, 2);
  }
});

test("what the reader compares is hidden until the array is sent", () => {
  for (const width of [300, 600]) {
    const asked = changed(map, { sent: "" });
    const before = map.draw(asked, width);
    const text = plain(before + map.summary(asked) + map.result({ ...asked, part: "link" }));
    includes(text, "? GB/s", "? TB/s", "80 GB");
    assert.doesNotMatch(text, /64 GB\/s|3.35/);
    const bars = (drawing) =>
      [...drawing.matchAll(/<rect ([^>]*) rx="0" class="s1"/g)]
        .slice(0, 4)
        .map(([, a]) => [...a.matchAll(/(?:width|height)="([\d.]+)"/g)].map(([, x]) => Number(x)));
    assert.deepEqual(bars(before).map((sides) => Math.min(...sides)), [2, 2, 2, 2]);
    // The bars grow in 400 ms of 5 seconds.
    const sent = changed(map, { sent: "yes" });
    const grown = (part) => Math.max(...bars(map.draw(sent, width, { from: asked, part }))[1]);
    assert.deepEqual([0.04, 0.08, 0.5].map(grown), [53, 104, 104]);
  }
});

test("the memory of a card is that of its data sheet and that which programs see", () => {
  const memory = (card) => result(map, { card, part: "memory", sent: "yes" });
  includes(memory("h100"), "80 GB on the data sheet, 84.9 GB for programs");
  includes(memory("rtx4090"), "24 GB on the data sheet, which the chip reads at 1.01 TB/s");
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
  includes(result(map, { card: "rtx4090", part: "network" }), "crosses the link, 32 GB/s");
});

test("what a part does is said in seven words or so", () => {
  for (const { gloss } of Object.values(map.PARTS))
    assert.ok(Math.abs(gloss.split(" ").length - 7) <= 1, gloss);
});

test("an array travels at the bandwidths of the card", () => {
  // 1 GB at 16 and at 320 GB/s
  const state = { card: "t4", sent: "yes", guess: 5 };
  includes(result(map, state), "20 times: you guessed 5, too small by a factor of 4;", "62.5 ms over");
  includes(result(map, { ...state, guess: 60 }), "3.13 ms from", "60, too large by a factor of 3;");
  includes(result(map, { ...state, guess: 20 }), "you guessed 20, right;");
  for (const width of [300, 600]) {
    const wide = width > 480;
    const at = (part) => {
      const drawn = map.draw(changed(map, state), width, { from: {}, part });
      const place = new RegExp(`<rect ${wide ? "x" : "[^>]*y"}="([\\d.]+)"[^>]*class="s2 solid"`);
      return Number(drawn.match(place)[1]);
    };
    // Of the way there, 20 of 21 parts pass on the link; both ways take as long.
    const [begin, middle, quarter] = [0, 0.5, 10 / 42].map(at);
    assert.ok(begin < quarter && quarter < middle);
    assert.equal(at(1 - 10 / 42), quarter);
    assert.equal(at(1), begin);
  }
});

test("a guess and a trip are drawn at the same scale", () => {
  const state = changed(map, { card: "rtx4090", sent: "yes", guess: 1 });
  const pieces = [...map.draw(state, 602).matchAll(/width="([\d.]+)" height="14" rx="0" class="s2 solid"/g)];
  const [found, guessed] = pieces.map(([, x]) => Number(x));
  assert.ok(Math.abs(found - 600 / (1 + 1010 / 32)) < 1, found); // 1010 and 32 GB/s
  assert.equal(guessed, 300);
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

test("twelve figures share a card, with the same name for it", () => {
  assert.deepEqual(SHARING.map(([{ name }]) => name).sort(), [
    ...["adapt", "fuse", "map", "memory-timeline", "plans", "roofline", "server", "shards"],
    ...["tiles", "trace", "turns", "warps"],
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
