// Predictions as readers type them: reads numbers with units, and compares them, on pages
// and on slides. The functions without elements are pure, so Node can test them.

(() => {
  const times = (prefixes, names, factor = 1) =>
    Object.entries(prefixes).flatMap(([prefix, size]) =>
      names.map((name) => [prefix + name, size * factor]),
    );
  const DECIMAL = { "": 1, k: 1e3, K: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15 };
  const BINARY = { Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 };
  const LARGE = { "": 1, kilo: 1e3, mega: 1e6, giga: 1e9, tera: 1e12 };
  const SMALL = { "": 1, m: 1e-3, µ: 1e-6, μ: 1e-6, u: 1e-6, n: 1e-9 };
  const WORDS = { "": 1, milli: 1e-3, micro: 1e-6, nano: 1e-9 };
  const bytes = times({ ...DECIMAL, ...BINARY }, ["B"]);
  // Of each kind: its units with their values, those of book/text/quantities.py.
  const KINDS = [
    [...bytes, ...times(LARGE, ["byte", "bytes"])],
    bytes.map(([name, factor]) => [`${name}/s`, factor]),
    times(DECIMAL, ["bit"]),
    times(DECIMAL, ["bit/s"]),
    times(DECIMAL, ["FLOP", "FLOPs"]),
    times(DECIMAL, ["FLOP/s", "FLOPS"]),
    times(DECIMAL, ["Hz"]),
    times({ ...SMALL, ...DECIMAL }, ["W"]),
    [
      ...times(SMALL, ["s", "sec"]),
      ...times(WORDS, ["second", "seconds"]),
      ...times({ "": 60 }, ["min", "minute", "minutes"]),
      ...times({ "": 3600 }, ["h", "hour", "hours"]),
    ],
    [
      ...times({ "": 0.01 }, ["%", "percent"]),
      ...times({ "": 1 }, ["", "times", "x", "×"]),
    ],
  ].map((units) => new Map(/** @type {[string, number][]} */ (units)));
  // A sign, digits with separators, a power of ten, and the words that follow.
  const NUMBER =
    /^([-+]?)(\d(?:[\d.,'’ ]*\d)?[.,]?|[.,]\d+)(?:\s*(?:e|[x×·*] ?10\^?)([-+]?\d+))? ?(.*)$/i;
  const WHOLE = /^\d*$|^\d{1,3}([.,'’ ])\d{3}(?:\1\d{3})*$/;
  const RIGHT = 1.05; // the factor below which two numbers agree
  const THEN = " → "; // between choices in order, as in book/facts/predictions.py
  const CLOSE = 1.25; // and, if the output depends on the machine, nearly agree

  // Returns the value of digits with a decimal point or comma and thousands separators. A
  // single comma before three digits separates thousands, as in the outputs of the book.
  function numberOf(digits) {
    const marks = digits.match(/[.,]/g) ?? [];
    const last = marks.at(-1);
    const isRepeated = marks.length > 1 && marks.every((mark) => mark === last);
    const isGrouped = isRepeated || /^[1-9]\d{0,2},\d{3}$/.test(digits);
    const end = last && !isGrouped ? digits.lastIndexOf(last) : digits.length;
    const [whole, fraction] = [digits.slice(0, end), digits.slice(end + 1)];
    if (!WHOLE.test(whole) || !/^\d*$/.test(fraction)) return Number.NaN;
    return Number(`${whole.replace(/\D/g, "") || 0}.${fraction || 0}`);
  }

  // Returns the value of a unit in another one, if they are of a kind.
  function unitIn(name, unit) {
    const kind = KINDS.find((units) => units.has(unit));
    const isAlike = (other) => other.toLowerCase() === name.toLowerCase();
    const known = kind?.has(name) ? name : [...(kind?.keys() ?? [])].find(isAlike);
    return known === undefined ? undefined : kind.get(known) / kind.get(unit);
  }

  // Returns a number with three digits, or with all those before the point.
  const rounded = (value) =>
    value < 1000 ? value.toPrecision(3) : String(Math.round(value));

  // Returns the value of a text in a unit, and the words for it: `25 MiB`, or
  // `26.2 MB = 25.0 MiB`. Otherwise, it returns the problem. A word of the question that is
  // no unit may follow the number, as in `16 sectors`.
  function read(text, unit, question = "") {
    const typed = text.replace(/\s+/g, " ").replaceAll("−", "-").trim();
    if (!typed) return { problem: "Type a number, or show the output." };
    const [, sign, digits, power, word] = NUMBER.exec(typed.replace(/^[~≈] ?/, "")) ?? [];
    const number = digits ? numberOf(digits) * 10 ** Number(power ?? 0) : Number.NaN;
    const example = `7 ${unit}`.trim();
    if (!Number.isFinite(number))
      return { problem: `“${typed}” is not a number. Type one such as ${example}.` };
    const isAsked = question.toLowerCase().split(/\W+/).includes(word.toLowerCase());
    const isUnit = KINDS.some((units) => units.has(word));
    const factor = !word || (isAsked && !isUnit) ? 1 : unitIn(word, unit);
    if (factor === undefined) {
      const asked = unit ? `a number of ${unit}` : "a number without a unit";
      return { problem: `The question asks for ${asked}, and “${word}” does not fit.` };
    }
    if (sign === "-") return { problem: "Type a number that is not negative." };
    const value = number * factor;
    const result = `${factor === 1 ? number : rounded(value)} ${unit}`.trim();
    const isPlain = factor === 1 && !power && /^\d*\.?\d+$/.test(digits);
    if (isPlain) return { value, words: `${digits} ${unit}`.trim() };
    return { value, words: `${typed} = ${result}` };
  }

  const factorOf = (a, b) => Number(Math.max(a / b, b / a).toPrecision(2));

  // Returns a prediction, the arithmetic and the output compared in words. `name` is that
  // of the output, which may vary from machine to machine. There may be no arithmetic.
  // A choice is right, or the output shows another one, or another order.
  function verdict(value, arithmetic, output, name = "output", varies = false) {
    if (typeof output === "string") {
      if (value === output) return "right";
      const items = output.split(THEN);
      if (items.length === 1) return "not so";
      const right = value.split(THEN).filter((item, i) => item === items[i]).length;
      return `${right} of ${items.length} in place`;
    }
    const isSmall = value < output;
    if (!value || !output) {
      if (value === output) return "right";
      return isSmall ? "too small" : "too large";
    }
    const factor = factorOf(value, output);
    if (factor < RIGHT) return "right";
    const words = isSmall ? `${factor} times as large` : `smaller by a factor of ${factor}`;
    if (varies && factor < CLOSE) return `close: the ${name} is ${words}`;
    if (!(factorOf(value, arithmetic) < RIGHT))
      return `too ${isSmall ? "small" : "large"} by a factor of ${factor}`;
    return `like the arithmetic; the ${name} is ${words}`;
  }

  // Returns the value and the words of a text in the unit that a row of answers has, or those
  // of a choice, which are the same. `asked` is the element with the question and its fields.
  function readFor(row, asked, text = "") {
    const choices = valuesOf(asked, "[type=radio]");
    const items = valuesOf(asked, "[type=checkbox]");
    const line = asked.querySelector("[type=range]");
    const found = { value: text, words: text };
    if (choices.length)
      return choices.includes(text) ? found : { problem: "Choose an answer, or show the output." };
    if (line && !text) return { problem: "Draw the whole line, or show the output." };
    if (!items.length) return read(text, row.dataset.unit, asked.dataset.question);
    const isWhole = items.sort().join() === text.split(THEN).sort().join();
    return isWhole ? found : { problem: "Choose all, one after the other, or show the output." };
  }

  // A slider has a value only after the reader has drawn the line there.
  const valuesOf = (asked, fields) =>
    [...asked.querySelectorAll(fields)].map((field) =>
      field.type === "range" ? (field.dataset.drawn ?? "") : field.value,
    );

  // Returns the texts of a form, one a row: what the reader has typed, chosen or drawn.
  // Choices that the reader puts in order are one text.
  function textsOf(form) {
    const order = chosenIn(form).map((box) => box.value);
    const texts = valuesOf(form, "[type=text], [type=range], [type=radio]:checked");
    return (order.length ? [order.join(THEN)] : texts).map((text) => text.trim());
  }

  // Returns the chosen boxes of a form in the order in which the reader has chosen them.
  const chosenIn = (form) =>
    [...form.querySelectorAll("[type=checkbox]:checked")].sort(
      (a, b) => a.parentElement.dataset.place - b.parentElement.dataset.place,
    );

  // Numbers the boxes after one has been chosen, as the last, or given back.
  function number({ target }) {
    if (!target.matches(".guess [type=checkbox]")) return;
    target.parentElement.dataset.place = "99";
    for (const [i, box] of chosenIn(target.form).entries())
      box.parentElement.dataset.place = String(i + 1);
  }

  // Returns what rows of answers compare with the reader's texts, one a row. A published
  // number is compared if the cell prints no other.
  function compare(asked, rows, texts) {
    return rows.map((row, i) => {
      const { value, words } = readFor(row, asked, texts[i]);
      const answerIn = (name) => {
        const found = [...row.querySelectorAll("dt")].find((dt) => name.test(dt.textContent));
        return readFor(row, asked, found?.nextElementSibling.textContent).value;
      };
      const printed = answerIn(/^Output/);
      return {
        row,
        value,
        words,
        arithmetic: answerIn(/^Arithmetic/),
        output: printed ?? answerIn(/, cited$/),
        name: printed === undefined ? "published number" : "output",
        varies: answerIn(/^Output on/) !== undefined,
      };
    });
  }

  // Writes the reader's answer and its verdict into a row.
  function enter({ row, value, words, arithmetic, output, name, varies }) {
    const shown = row.querySelector(".yours dd");
    shown.parentElement.hidden = value === undefined;
    shown.textContent = words ?? "";
    if (value === undefined || output === undefined) return;
    const said = document.createElement("span");
    const found = verdict(value, arithmetic, output, name, varies);
    said.className = found === "right" ? "good" : /^[cl]/.test(found) ? "" : "bad"; // close, like
    said.textContent = `, ${found}`;
    shown.append(said);
  }

  const guess = { KINDS, RIGHT, CLOSE, factorOf, read, verdict, readFor, textsOf, compare, enter };
  if (typeof module === "undefined") {
    Object.assign(window, { bookGuess: guess });
    document.addEventListener("input", number, true); // before the form hears of it
  } else module.exports = guess;
})();
