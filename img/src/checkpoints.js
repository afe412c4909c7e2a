/* Draws img/checkpoints.svg: a day of a job that saves checkpoints and fails.
 *
 * Run: node img/src/checkpoints.js
 */
"use strict";

require("./still.js")("checkpoints");
