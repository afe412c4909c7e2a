/* The data of cards that figures show: d2l/cards.csv has them, with units and sources.
 * Node reads that file, and the build writes the data in the place of this script.
 */
import { readFileSync } from "node:fs";

const file = new URL("../../d2l/cards.csv", import.meta.url);
/** @type {Record<string, Record<string, number>>} */
export const cards = {};
for (const line of readFileSync(file, "utf8").trim().split("\n").slice(1)) {
  const [card, property, value] = line.split(",");
  cards[card] = { ...cards[card], [property]: Number(value) };
}
