/* Draws img/buckets.svg: a step in which buckets of gradients are added up.
 *
 * Run: node img/src/buckets.js
 */
"use strict";

require("./still.js")("buckets");
