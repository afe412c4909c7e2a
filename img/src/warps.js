/* Draws img/warps.svg: how many blocks of a kernel an SM of an A100 holds, and the waves of a grid.
 *
 * Run: node img/src/warps.js
 */
"use strict";

require("./still.js")("warps");
