/* Draws img/workers.svg: the timelines of loading, copying and computing.
 *
 * Run: node img/src/workers.js
 */
"use strict";

require("./still.js")("workers");
