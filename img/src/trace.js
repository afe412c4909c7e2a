/* Draws img/trace.svg: a training step of the host and the GPU, before any change.
 *
 * Run: node img/src/trace.js
 */
"use strict";

require("./still.js")("trace");
