/* Draws img/collectives.svg: the times of three all-reduces, and the first round of a ring.
 *
 * Run: node img/src/collectives.js
 */
"use strict";

require("./still.js")("collectives");
