/* Evaluates code of the tests with the scripts of the figures, until its input ends.
 *
 *     node evaluate.js FOLDER
 *
 * Each line of the input is code as a JSON string, and each line of the output is what
 * the code gave, {"value": ...}, or {"error": "..."}.
 */
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const readline = require("node:readline");

const folder = path.resolve(process.argv[2]);
const files = fs.readdirSync(folder).filter((name) => name.endsWith(".js"));
const scripts = Object.fromEntries(
  files.sort().map((name) => {
    return [name.slice(0, -3).replaceAll("-", "_"), require(path.join(folder, name))];
  }),
);
const known = { ...scripts, a: scripts.arithmetic, memory: scripts.memory_arithmetic };

const evaluate = (code) => {
  let value = null;
  const give = (given) => {
    value = given;
  };
  new Function(...Object.keys(known), "give", code)(...Object.values(known), give);
  return { value };
};

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  try {
    console.log(JSON.stringify(evaluate(JSON.parse(line))));
  } catch (error) {
    console.log(JSON.stringify({ error: String(error.stack) }));
  }
});
