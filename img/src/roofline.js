/* Draws img/roofline.svg: the bounds of a small product on an RTX 4090, and its roofline.
 *
 * Run: node img/src/roofline.js
 */
"use strict";

require("./still.js")("roofline");
