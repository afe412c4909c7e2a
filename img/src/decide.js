/* Draws img/decide.svg: which of six cards hold a task, and what a run costs on them.
 *
 * Run: node img/src/decide.js
 */
"use strict";

require("./still.js")("decide");
