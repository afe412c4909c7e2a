/* Draws img/adapt.svg: what three ways to adapt a model need, beside the memory of a T4.
 *
 * Run: node img/src/adapt.js
 */
"use strict";

require("./still.js")("adapt");
