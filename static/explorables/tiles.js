/* Measures products in tiles, and fused kernels, beside the picture of the tiles. */
"use strict";

module.exports = require("./explorable.js").picture("tiles");
