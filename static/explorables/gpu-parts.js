/* Measures the width of a warp, beside the parts of a GPU. */
"use strict";

module.exports = require("./explorable.js").picture("warp");
