/* Draws img/sectors.svg: the sectors that a warp touches when it reads every second number.
 *
 * Run: node img/src/sectors.js
 */
"use strict";

require("./still.js")("sectors");
