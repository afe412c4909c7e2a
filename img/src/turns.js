/* Draws img/turns.svg: the clocks of the units of an SM in a turn of a product.
 *
 * Run: node img/src/turns.js
 */
"use strict";

require("./still.js")("turns");
