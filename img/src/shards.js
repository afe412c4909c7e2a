/* Draws img/shards.svg: what a GPU stores and sends if many share a model's state.
 *
 * Run: node img/src/shards.js
 */
"use strict";

require("./still.js")("shards");
