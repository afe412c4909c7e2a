// A line that the reader draws: sliders on a board, one at each place below it, which the
// pointer moves as it passes, or the keys. Once the reader has answered, a second board has
// the lines of the reader, of the arithmetic and of the output, above the rows of numbers.

(() => {
  const guess = typeof module === "undefined" ? bookGuess : require("./guess.js");
  const PARTS = 100; // of a slider, as in book/pages/covered_outputs.py

  const all = (selector, within) => [...within.querySelectorAll(selector)];

  function element(tag, className, ...children) {
    const made = Object.assign(document.createElement(tag), { className });
    made.append(...children);
    return made;
  }

  // Returns how to turn a number into the part of the upright axis below it, and back. The
  // axis is logarithmic unless it begins with 0.
  function scaleOf({ least, most }) {
    const [low, high] = [Number(least), Number(most)];
    if (!low) return { partOf: (x) => x / high, valueAt: (part) => part * high };
    const length = Math.log(high / low);
    return {
      partOf: (x) => Math.log(x / low) / length,
      valueAt: (part) => low * Math.exp(part * length),
    };
  }

  // Returns the SVG of lines, each a kind and the parts of the axis at its places, of which
  // some may be missing.
  function svgOf(lines) {
    const polyline = ([kind, parts]) => {
      const at = (part, i) => `${(100 * (i + 0.5)) / parts.length},${100 - 100 * part}`;
      const points = parts.map((part, i) => (Number.isFinite(part) ? at(part, i) : ""));
      return `<polyline class="${kind}" points="${points.filter(Boolean).join(" ")}"/>`;
    };
    return (
      `<svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">` +
      `${lines.map(polyline).join("")}</svg>`
    );
  }

  // Returns an empty board with its upright axis.
  function boardOf({ dataset }) {
    const { partOf } = scaleOf(dataset);
    const ticks = dataset.ticks.split(" ").map((tick) => {
      const made = element("span", "", element("b", "", tick));
      made.style.bottom = `${100 * partOf(Number(tick))}%`;
      return made;
    });
    return element("div", "board", element("div", "lines"), element("div", "scale", ...ticks));
  }

  // Returns the unit of the upright axis, above it, if there is one.
  const unitOf = ({ dataset: { unit } }) => (unit ? [element("p", "of-axis", unit)] : []);

  // Makes sliders a board on which the reader draws.
  function prepare(sketch, row) {
    const { unit } = row.dataset;
    const { valueAt } = scaleOf(sketch.dataset);
    const sliders = all("[type=range]", sketch);
    const board = boardOf(sketch);
    const paint = () => {
      const parts = sliders.map((s) => (s.dataset.drawn ? Number(s.value) / PARTS : Number.NaN));
      board.firstElementChild.innerHTML = svgOf([["yours", parts]]);
    };
    const set = (slider) => {
      const value = valueAt(Number(slider.value) / PARTS);
      slider.dataset.drawn = `${Number(value.toPrecision(3))} ${unit}`.trim();
      slider.setAttribute("aria-valuetext", slider.dataset.drawn);
    };
    const forget = (slider) => {
      delete slider.dataset.drawn;
      slider.setAttribute("aria-valuetext", "not drawn yet");
    };
    // Returns the place of a pointer in places, and the part of the axis below it.
    const placeOf = ({ clientX, clientY }) => {
      const { left, top, width, height } = board.firstElementChild.getBoundingClientRect();
      const part = 1 - (clientY - top) / height;
      return [((clientX - left) / width) * sliders.length - 0.5, Math.min(1, Math.max(0, part))];
    };
    let last; // the place before, while the pointer draws
    const draw = (event) => {
      const next = placeOf(event);
      const [[x, part], [fromX, fromPart]] = [next, last ?? next];
      const nearest = Math.min(sliders.length - 1, Math.max(0, Math.round(x)));
      for (const [i, slider] of sliders.entries()) {
        const isPassed = (i - fromX) * (i - x) <= 0 && x !== fromX;
        if (!isPassed && i !== nearest) continue;
        const between = isPassed ? fromPart + ((part - fromPart) * (i - fromX)) / (x - fromX) : part;
        slider.value = String(Math.round(PARTS * between));
        set(slider);
      }
      last = next;
      paint();
      sliders[nearest].dispatchEvent(new Event("input", { bubbles: true }));
      return sliders[nearest];
    };
    board.addEventListener("pointerdown", (event) => {
      event.preventDefault(); // or text would be selected
      board.setPointerCapture(event.pointerId);
      draw(event).focus({ preventScroll: true, focusVisible: false });
      board.addEventListener("pointermove", draw);
    });
    for (const end of ["pointerup", "pointercancel"])
      board.addEventListener(end, () => {
        board.removeEventListener("pointermove", draw);
        last = undefined;
      });
    for (const slider of sliders) {
      forget(slider);
      slider.addEventListener("input", () => {
        set(slider);
        paint();
      });
    }
    // The sliders have their first values after this event.
    sketch.form.addEventListener("reset", () => {
      sliders.forEach(forget);
      queueMicrotask(paint);
    });
    board.append(...all("label", sketch));
    sketch.append(...unitOf(row), board, element("p", "over", sketch.dataset.over));
    paint();
  }

  // Returns in words where a line rises and falls; steps below a factor are level.
  function course(values, factor) {
    const steps = values.slice(1).map((value, i) => {
      const [least, most] = [value, values[i]].sort((a, b) => a - b);
      if (most < factor * least || most === least) return "stays level";
      return value === most ? "rises" : "falls";
    });
    return steps.filter((step, i) => step !== steps[i - 1]).join(", then ");
  }

  // Returns what is said about a line that the reader has drawn, given what is compared at
  // each of its places, and their names.
  function verdictOnLine(compared, names) {
    const level = compared.some(({ varies }) => varies) ? guess.CLOSE : guess.RIGHT;
    const [yours, output] = ["value", "output"].map((name) =>
      course(compared.map((each) => each[name]), level),
    );
    const drawn = yours === output ? "so does yours" : `yours ${yours}`;
    const begin = `The line of the output ${output}; ${drawn}.`;
    const off = compared.map(({ value, output }) => guess.factorOf(value, output));
    const most = Math.max(...off);
    if (most < level) return `${begin} Yours is ${level === guess.RIGHT ? "right" : "close"} everywhere.`;
    const place = off.indexOf(most);
    const { value, output: found } = compared[place];
    const way = value < found ? "small" : "large";
    const by = Number.isFinite(most) ? ` by a factor of ${most}` : "";
    return `${begin} Yours is off the most at ${names[place]}, too ${way}${by}.`;
  }

  // Shows the lines that are compared, above the rows of an answer.
  function showAnswer(prediction, sketch, compared) {
    const answers = prediction.querySelector(".answers");
    answers.querySelector(".drawn")?.remove();
    if (compared.some(({ value, output }) => value === undefined || output === undefined)) return;
    const { partOf } = scaleOf(sketch.dataset);
    const { over } = sketch.dataset;
    const names = all("label > span", sketch).map((span) => span.firstChild.textContent);
    const lines = ["output", "arithmetic", "value"]
      .map((name) => [name, compared.map((each) => partOf(each[name]))])
      .filter(([, parts]) => parts.some(Number.isFinite));
    const board = boardOf(sketch);
    const said = verdictOnLine(compared, names.map((name) => `${over} = ${name}`));
    board.firstElementChild.innerHTML = svgOf(lines);
    board.append(...names.map((name) => element("span", "name", name)));
    board.setAttribute("role", "img");
    board.setAttribute("aria-label", said);
    const words = { value: "yours", arithmetic: "the arithmetic", output: "the output" };
    const key = lines.map(([name]) => element("span", name, words[name])).reverse();
    const parts = [
      element("p", "verdict", said),
      ...unitOf(compared[0].row),
      board,
      element("p", "over", over),
      element("p", "key", ...key),
    ];
    const drawn = element("div", "drawn", ...parts);
    answers.querySelector("p").after(drawn);
  }

  function show(prediction, compared) {
    const sketch = prediction.querySelector(".sketch");
    if (!sketch.querySelector(".board")) prepare(sketch, compared[0].row);
    showAnswer(prediction, sketch, compared);
  }

  if (typeof module === "undefined") Object.assign(window, { bookSketch: { show } });
  else module.exports = { verdictOnLine };
})();
