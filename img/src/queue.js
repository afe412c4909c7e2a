/* Draws img/queue.svg: the timelines of a host and a device.
 *
 * Run: node img/src/queue.js
 */
"use strict";

require("./still.js")("queue");
