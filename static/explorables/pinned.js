/* Measures what a copy costs a page, beside the two ways of a copy. */
"use strict";

module.exports = require("./explorable.js").picture("copies");
