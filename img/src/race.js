/* Draws img/race.svg: how many times as fast as a CPU a GPU multiplies matrices.
 *
 * Run: node img/src/race.js
 */
"use strict";

require("./still.js")("race");
