/* Draws img/task-ladder.svg: the nine kernels to write, from the first to the last.
 *
 * Run: node img/src/task-ladder.js
 */
"use strict";

require("./still.js")("task-ladder");
