/* Draws img/map.svg: the map of the machine, with the numbers of an H100.
 *
 * Run: node img/src/map.js
 */
"use strict";

require("./still.js")("map");
