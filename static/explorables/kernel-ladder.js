/* The nine kernels to write, from a copy to a product in tiles, with a mark for each that
 * the reader has solved in this browser.
 */
import { round } from "./arithmetic.js";
import { each, label, path, chart } from "./chart.js";
import { make } from "./explorable.js";
import { best } from "./kernel-progress.js";
import { INSTEAD, reason } from "./kernel-task.js";

/** The tasks: name, heading, and the new idea. */
export const RUNGS = [
  ["copy", "A Copy", "a guard for threads without a number"],
  ["row", "A Row for All Rows", "rows and columns from the number of a thread"],
  ["neighbors", "Three Neighbors", "shared memory, so that a number is loaded once"],
  ["transpose", "A Transpose", "neighbors in both the reads and the writes"],
  ["sum", "A Sum", "a tree, with a barrier in each round"],
  ["prefix", "Running Totals", "two barriers in each round"],
  ["softmax", "A Softmax", "a row that is longer than a workgroup"],
  ["product", "A Product", "a loop over a row and a column"],
  ["tiled", "A Product in Tiles", "tiles that a workgroup uses many times"],
];

const TALL = 30;

/** Return the ladder as a picture, whose lowest rung is the first task. */
const draw = (_, width) => {
  const { sheet } = chart("kernel-ladder");
  const top = (i) => 24 + TALL * (RUNGS.length - 1 - i);
  const rungs = each(RUNGS, ([, title, idea], i) => {
    const y = top(i);
    return (
      path(`M8 ${y + 6}H44`, "axis", { "stroke-width": 3 }) +
      label(62, y + 5, `${i + 1}. ${title}`, "ink strong") +
      label(242, y + 5, idea, "ink")
    );
  });
  const rails = path(`M14 4V${top(0) + 16}M38 4V${top(0) + 16}`, "axis", { "stroke-width": 3 });
  return sheet(width, top(0) + 20, rails, rungs);
};

/** Return how far a task is, in words. */
export const markOf = (ratio) => {
  if (!ratio) return "";
  return ratio <= 1 ? "✓ solved" : `right, with ${round(ratio)} times our sectors`;
};

/** Return the address of the section with a task. */
const addressOf = (name) => {
  const figure = document.querySelector(`[data-explorable="task-${name}"]`);
  return `#${figure?.closest("section")?.id ?? ""}`;
};

const start = (figure) => {
  const status = make("p", { class: "said" });
  const items = RUNGS.map(([name, title, idea]) => {
    const mark = make("span", { class: "good" });
    const link = make("a", { href: addressOf(name) }, title);
    const show = () => (mark.textContent = markOf(best(name)));
    const rung = make("div", { class: "rung" }, link, make("span", {}, idea), mark);
    return { name, show, box: make("li", {}, rung) };
  });
  const show = () => {
    items.forEach((item) => item.show());
    const solved = items.filter(({ name }) => best(name) > 0 && best(name) <= 1).length;
    status.textContent = `${solved} of ${items.length} solved. This browser keeps your kernels and marks.`;
  };
  const list = make("ol", { class: "ladder" }, ...items.map(({ box }) => box));
  const box = make("div", { class: "explorable kernel-task" }, list, status);
  document.addEventListener("book:kernel", show);
  show();
  // All at once, so that the ladder does not move when the answer comes.
  reason().then((why) => {
    const text = `The kernels of this section need a GPU. ${why} ${INSTEAD}`;
    if (why) box.prepend(make("p", { class: "needed", role: "status" }, text));
    figure.insertBefore(box, figure.querySelector("figcaption"));
    figure.classList.add("live");
  });
};

export default { controls: [], draw, start };
