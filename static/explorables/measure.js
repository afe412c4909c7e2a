/* The panel of an experiment on the reader's GPU: it asks for a prediction, measures, and
 * says how far the prediction was off, on what was measured, and how.
 *
 * An experiment has these fields:
 *   question  what the reader should predict, with `unit`; without it, the figure asks
 *   otherwise the settings that the figure takes over if there is no GPU, optional
 *   run       async (lab, say) -> a finding; `say`(text) tells what is being measured
 * and a finding these:
 *   value     the number that the reader has predicted, if there is a question
 *   range     [shortest, longest] of its measurements, in seconds
 *   text      one sentence on what it means
 *   checked   what was computed and found to be right
 *   table     {head, rows}, the numbers; chart: {points: [[label, number]], unit}
 *   state     the settings that the figure takes over
 */
import { round } from "./arithmetic.js";
import { canvas, chart } from "./chart.js";
import { runner } from "./device.js";
import { experiments } from "./experiments.js";
import { make, button, folded, cells, tableBox, unitsIn } from "./explorable.js";

const LESS =
  "A web page reaches less than a framework on the same GPU: it has no tensor cores, and " +
  "the browser checks every index.";
const SOFTWARE =
  "The browser has no GPU for this page, and computes with a program on the CPU. Its times " +
  "would teach you nothing about a GPU, so they are not shown. Look for “hardware " +
  "acceleration” in the settings of the browser, update the driver of the GPU, or open " +
  "this page on another machine.";

const { bars } = chart("measure");
const paragraph = (kind, text) => make("p", { class: kind }, text);

/** Return how far a prediction was off. */
const compare = (predicted, measured, unit) => {
  const found = `${round(measured)}\u00a0${unit}`;
  if (!(predicted > 0)) return `Measured: ${found}.`;
  const factor = predicted / measured;
  const [times, way] = factor > 1 ? [factor, "large"] : [1 / factor, "small"];
  const off = times < 1.05 ? "right" : `too ${way} by a factor of ${round(times)}`;
  return `You predicted ${round(predicted)}\u00a0${unit}. Measured: ${found}. Your prediction was ${off}.`;
};

/** Return bars of measured numbers, each with its label. */
const drawingOf = ({ points, unit }, width) => {
  const left = Math.min(190, width * 0.38);
  const scale = (width - left - 96) / Math.max(...points.map(([, value]) => value));
  const rows = points.map(([name, value]) => [
    ...[Math.max(1, scale * value), "measured", name, `${round(value)} ${unit}`],
  ]);
  return canvas(width, 8 + 28 * points.length, bars({ left, top: 4, tall: 20, row: 28 }, rows));
};

const numbers = (found) => {
  const [name, table] = ["The measured numbers", make("table", {}, ...cells(found))];
  return folded(name, tableBox(table, name));
};

/** Return on what, when and how a finding was measured. */
const provenance = (lab, { range: [least, most] }) => {
  const clock = lab.clock === "device" ? "the clock of the GPU" : "the clock of the page";
  const date = new Date().toLocaleDateString("en", { dateStyle: "long" });
  const above = Math.round(100 * (most / least - 1));
  return (
    `${lab.name}, ${lab.browser}, ${date}: measured in this page, now, by ${clock}. ` +
    `The number comes from the shortest measurement; the longest took ${above} % more. ${LESS}`
  );
};

/** Show a finding in a panel. */
const show = (panel, experiment, predicted, finding, lab, become) => {
  if (lab.isSoftware) {
    if (experiment.otherwise && become) become(experiment.otherwise);
    panel.replaceChildren(
      paragraph("software", "software adapter: no GPU"),
      paragraph("", `${lab.name}, ${lab.browser}. ${finding.checked}`),
      paragraph("note", SOFTWARE),
    );
    return;
  }
  const parts = [paragraph("", `${finding.text} ${finding.checked}`)];
  if (experiment.question)
    parts.unshift(paragraph("found", compare(predicted, finding.value, experiment.unit)));
  if (finding.chart) {
    const drawing = make("div", { class: "drawing", role: "img", "aria-label": finding.text });
    drawing.innerHTML = drawingOf(finding.chart, unitsIn(panel.clientWidth || 640));
    parts.push(drawing);
  }
  if (finding.table) parts.push(numbers(finding.table));
  panel.replaceChildren(...parts, paragraph("note", provenance(lab, finding)));
  if (finding.state && become) become(finding.state);
};

/**
 * Put the panel of an experiment in the place of a button.
 * @param {HTMLElement} opener
 * @param {string} name of the experiment
 * @param {function} [become] (changes) changes the state of the figure
 */
export const openPanel = (opener, name, become) => {
  const experiment = experiments[name];
  const id = `measure-${name}`;
  const input = make("input", { type: "number", id, min: 0, step: "any", inputmode: "decimal" });
  const question = `${experiment.question} Your prediction (${experiment.unit}):`;
  // Where there is nothing to choose, the first button has asked for it.
  const isAsked = !experiment.question;
  const start = button(isAsked ? "Measure again" : "Measure", () => run());
  start.classList.add("main");
  const stop = make("button", { type: "button", hidden: "" }, "Stop");
  const status = make("p", { role: "status", class: "said" });
  const panel = make("div", { class: "finding" });
  const box = make(
    "div",
    { class: "measure", role: "group", "aria-label": "An experiment on your GPU" },
    ...(experiment.question ? [make("label", { for: id }, question)] : []),
    make("div", { class: "actions" }, ...(experiment.question ? [input] : []), start, stop),
    status,
    panel,
  );
  const failed = (error, signal) => {
    status.textContent = signal.aborted ? `Stopped. ${signal.reason}` : error.message;
    if (!signal.aborted && experiment.otherwise && become) become(experiment.otherwise);
  };
  const use = runner({ status, stop, failed });
  const run = async () => {
    start.disabled = true;
    await use(async (lab, tell) => {
      const say = async (text) => {
        lab.check();
        tell(`Measuring ${text} …`);
        await new Promise(requestAnimationFrame); // The page shows it.
      };
      const finding = await experiment.run(lab, say);
      lab.check();
      show(panel, experiment, Number(input.value), finding, lab, become);
      tell(lab.isSoftware ? "Checked, not timed." : "Measured.");
    });
    start.disabled = false;
  };
  input.addEventListener("keydown", ({ key }) => {
    if (key === "Enter" && !start.disabled) run();
  });
  opener.closest(".actions").after(box);
  opener.hidden = true;
  if (isAsked) run();
  (isAsked ? stop : input).focus();
};
