/* Measures the width of a warp, beside the parts of a GPU. */
"use strict";

(() => {
  const inNode = typeof module !== "undefined";
  if (inNode) require("./arithmetic.js"); // for the experiment
  const explorable = inNode ? require("./explorable.js") : globalThis.bookExplorable;

  if (!inNode)
    globalThis.bookExplorables["gpu-parts"] = (figure) =>
      explorable.measurable(figure, "warp");
})();
