/* Draws img/memory-timeline.svg: the memory of a training step over time, by role.
 *
 * Run: node img/src/memory-timeline.js
 */
"use strict";

require("./still.js")("memory-timeline");
