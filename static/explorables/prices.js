/* The offers to rent a card by the hour: d2l/prices.csv has them, with providers and sources.
 * Node reads that file, and the build writes the data in the place of this script.
 */
import { readFileSync } from "node:fs";

const file = new URL("../../d2l/prices.csv", import.meta.url);
/** The offers of each card: [dollars for an hour, date]. */
/** @type {Record<string, [number, string][]>} */
export const prices = {};
for (const row of readFileSync(file, "utf8").trim().split("\n").slice(1)) {
  // The text between the card and its price may have commas.
  const [, card, price, date] = row.match(/^([^,]+),.*,([\d.]+),\$\/h,([\d-]+),[^,]+$/);
  prices[card] = [...(prices[card] ?? []), [Number(price), date]];
}
