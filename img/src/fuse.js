/* Draws img/fuse.svg: a chain of eight lines, before any is fused.
 *
 * Run: node img/src/fuse.js
 */
"use strict";

require("./still.js")("fuse");
