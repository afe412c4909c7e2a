// Prints Lighthouse's reports on pages as a list of JSON. Without its marks for speed,
// which swing from run to run.
//
//     node lighthouse.mjs NODE_MODULES PORT URL...
//
// PORT is where a running Chromium can be debugged.

const [modules, port, ...urls] = process.argv.slice(2);
const { default: lighthouse } = await import(`${modules}/lighthouse/core/index.js`);
const flags = {
  port: Number(port),
  onlyCategories: ["accessibility", "best-practices", "seo"],
  disableFullPageScreenshot: true,
  logLevel: "error",
};

const reports = [];
for (const url of urls) reports.push((await lighthouse(url, flags)).lhr);
// Connections that are kept alive would keep the program alive, too.
process.stdout.write(JSON.stringify(reports), () => process.exit());
