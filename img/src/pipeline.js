/* Draws img/pipeline.svg: two orders of the work of a pipeline.
 *
 * Run: node img/src/pipeline.js
 */
"use strict";

require("./still.js")("pipeline");
