/* Measures what a copy costs a page, beside the two ways of a copy. */
"use strict";

(() => {
  const inNode = typeof module !== "undefined";
  if (inNode) require("./arithmetic.js"); // for the experiment
  const explorable = inNode ? require("./explorable.js") : globalThis.bookExplorable;

  if (!inNode)
    globalThis.bookExplorables.pinned = (figure) =>
      explorable.measurable(figure, "copies");
})();
