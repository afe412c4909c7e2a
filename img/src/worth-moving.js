/* Draws img/worth-moving.svg: the times of a product of matrices on CPU and GPU.
 *
 * Run: node img/src/worth-moving.js
 */
"use strict";

require("./still.js")("worth-moving");
