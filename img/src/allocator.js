/* Draws img/allocator.svg: a block of memory in which a request does not fit.
 *
 * Run: node img/src/allocator.js
 */
"use strict";

require("./still.js")("allocator");
