/* Draws img/stages.svg: a ring of buffers and the tensor cores that use them.
 *
 * Run: node img/src/stages.js
 */
"use strict";

require("./still.js")("stages");
