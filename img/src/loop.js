/* Draws img/loop.svg: how often `fit` calls each method, and what the copies take.
 *
 * Run: node img/src/loop.js
 */
"use strict";

require("./still.js")("loop");
