/* The data of cards that figures show: d2l/cards.csv has them, with units and sources.
 * Node reads that file, and the build writes the data in the place of this script.
 */
"use strict";

const { readFileSync } = require("node:fs");

const file = `${__dirname}/../../d2l/cards.csv`;
/** @type {Record<string, Record<string, number>>} */
const cards = {};
for (const line of readFileSync(file, "utf8").trim().split("\n").slice(1)) {
  const [card, property, value] = line.split(",");
  cards[card] = { ...cards[card], [property]: Number(value) };
}

module.exports = cards;
