/* Draws img/kernel-ladder.svg: the nine kernels to write, from the first to the last.
 *
 * Run: node img/src/kernel-ladder.js
 */
"use strict";

require("./still.js")("kernel-ladder");
