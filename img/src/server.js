/* Draws img/server.svg: the memory of a card that serves users, and their throughput.
 *
 * Run: node img/src/server.js
 */
"use strict";

require("./still.js")("server");
