/* The data of cards that figures show. d2l/cards.csv has them, with units and sources. The
 * build writes them in the place of BOOK_CARDS; in Node, that file is read.
 */
"use strict";

(() => {
  const inNode = typeof module !== "undefined";

  /** Return the properties of each card in the lines of d2l/cards.csv.
   * @param {string[]} lines
   */
  const read = (lines) => {
    /** @type {Record<string, Record<string, number>>} */
    const cards = {};
    for (const line of lines.slice(1)) {
      const [card, property, value] = line.split(",");
      cards[card] = { ...cards[card], [property]: Number(value) };
    }
    return cards;
  };

  if (inNode) {
    const file = `${__dirname}/../../d2l/cards.csv`;
    module.exports = read(require("node:fs").readFileSync(file, "utf8").trim().split("\n"));
  } else globalThis.bookCards = BOOK_CARDS;
})();
