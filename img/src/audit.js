/* Draws img/audit.svg: the predictions over what others have measured, by kind.
 *
 * Run: node img/src/audit.js
 */
"use strict";

require("./still.js")("audit");
