/* Draws img/plans.svg: memory and time of a step of Llama 3 on eight H100s that share nothing.
 *
 * Run: node img/src/plans.js
 */
"use strict";

require("./still.js")("plans");
