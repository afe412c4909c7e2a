// The record of the predictions of a page, before its exercises: a sentence and a strip on
// a logarithmic axis with the reader's numbers and the arithmetic, divided by the outputs.
// There is no record before the reader has predicted a number.

(() => {
  const REACH = 10; // the axis reaches at least from 1/10 to 10

  // Returns the typical factor by which some numbers are off, which are divided by outputs.
  function typical(ratios) {
    const sum = ratios.reduce((total, ratio) => total + Math.abs(Math.log(ratio)), 0);
    return Number(Math.exp(sum / ratios.length).toPrecision(2));
  }

  if (typeof module !== "undefined") {
    module.exports = { typical }; // for tests in Node
    return;
  }

  function element(tag, className, ...children) {
    const made = Object.assign(document.createElement(tag), { className });
    made.append(...children);
    return made;
  }

  const factor = (ratios) => {
    const found = typical(ratios);
    return found < 10 ? found.toFixed(1) : String(found);
  };

  // Returns how many choices of the reader are right, in words.
  function choices(chosen) {
    const right = chosen.filter(({ value, output }) => value === output).length;
    if (chosen.length === 1) return `Your choice on this page is ${right ? "" : "not "}right.`;
    return `${right} of your ${chosen.length} choices on this page ${right === 1 ? "is" : "are"} right.`;
  }

  // Returns how far the reader and the arithmetic are off, in words.
  function summary(yours, arithmetic) {
    const one = "Your prediction on this page is off";
    const many = `Your ${yours.length} predictions on this page are typically off`;
    const begin = `${yours.length > 1 ? many : one} by a factor of ${factor(yours)}`;
    return arithmetic.length ? `${begin}, the arithmetic by ${factor(arithmetic)}.` : `${begin}.`;
  }

  // Returns the strip with marks at ratios to the outputs.
  function strip(yours, arithmetic) {
    const reach = Math.max(REACH, ...[...yours, ...arithmetic].flatMap((r) => [r, 1 / r]));
    const place = (child, ratio) => {
      child.style.left = `${50 + (45 * Math.log(ratio)) / Math.log(reach)}%`;
      return child;
    };
    const marks = (ratios, kind) => ratios.map((r) => place(element("i", kind), r));
    const ticks = [
      [1 / REACH, "1/10"],
      [1, "output"],
      [REACH, "10"],
    ].map(([ratio, name]) => place(element("span", "", name), ratio));
    const shown = [...ticks, ...marks(arithmetic, "calculated"), ...marks(yours, "guessed")];
    const found = element("div", "strip", ...shown);
    found.setAttribute("role", "img");
    const list = (ratios) => ratios.map((r) => Number(r.toPrecision(2))).join(", ");
    const words = [`Divided by the outputs: your numbers are ${list(yours)}`];
    if (arithmetic.length) words.push(`the arithmetic is ${list(arithmetic)}`);
    found.setAttribute("aria-label", `${words.join("; ")}.`);
    return found;
  }

  const record = element("section", "tally");
  record.setAttribute("aria-label", "Your predictions");

  // Shows the record of numbers, each with its arithmetic, if any, and its output, and of
  // choices. The function `erase` forgets them.
  window.bookTally = (numbers, erase) => {
    record.remove();
    const found = numbers.filter(({ value, output }) => value > 0 && output > 0);
    const chosen = numbers.filter(({ output }) => typeof output === "string");
    if (!found.length && !chosen.length) return;
    const yours = found.map(({ value, output }) => value / output);
    const arithmetic = found
      .filter((n) => n.arithmetic > 0)
      .map((n) => n.arithmetic / n.output);
    const key = element("p", "key", element("i", "guessed"), " you");
    if (arithmetic.length) key.append(element("i", "calculated"), " the arithmetic");
    const button = element("button", "", "Erase my predictions on this page");
    Object.assign(button, { type: "button", onclick: erase });
    const kept = " Predictions stay in this browser. ";
    const words = [];
    if (found.length) words.push(summary(yours, arithmetic));
    if (chosen.length) words.push(choices(chosen));
    const line = element("p", "", words.join(" "), kept, button);
    record.replaceChildren(line, ...(found.length ? [strip(yours, arithmetic), key] : []));
    const exercises = document.getElementById("exercises");
    if (exercises) exercises.before(record);
    else document.getElementById("text").append(record);
  };
})();
