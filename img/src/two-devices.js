/* Draws img/two-devices.svg: host memory and two GPUs with a tensor on each.
 *
 * Run: node img/src/two-devices.js
 */
"use strict";

require("./still.js")("two-devices");
