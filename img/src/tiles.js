/* Draws img/tiles.svg: a program of a tiled product, and what all programs load.
 *
 * Run: node img/src/tiles.js
 */
"use strict";

require("./still.js")("tiles");
