/* Draws img/clock.svg: products on a GPU, and two clocks.
 *
 * Run: node img/src/clock.js
 */
"use strict";

require("./still.js")("clock");
