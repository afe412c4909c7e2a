/* Draws img/pinned.svg: copies to a GPU from pageable and from pinned memory.
 *
 * Run: node img/src/pinned.js
 */
"use strict";

require("./still.js")("pinned");
