/* Measures products in tiles, and fused kernels, beside the picture of the tiles. */
"use strict";

(() => {
  const inNode = typeof module !== "undefined";
  if (inNode) require("./arithmetic.js"); // for the experiment
  const explorable = inNode ? require("./explorable.js") : globalThis.bookExplorable;

  if (!inNode)
    globalThis.bookExplorables.tiles = (figure) =>
      explorable.measurable(figure, "tiles");
})();
