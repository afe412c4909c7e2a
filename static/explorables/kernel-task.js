/* A kernel that the reader writes in the page, in WGSL, and runs on their own GPU.
 *
 * The kernel is a function `kernel(i, l, w)`: the number of a thread, its number in its
 * workgroup, and the number of the workgroup. It reads and writes arrays by functions, such
 * as load_a(k) and store_out(k, x). One build of it records every access, on small
 * problems: from the records follow the sectors that the warps touch, accesses out of
 * bounds, and races. Another build, on a large problem, is timed, if the first is right.
 *
 * A task has these fields:
 *   arrays    {name: (N) -> length} in the memory of the GPU; the last one is the result,
 *             and the others have random whole numbers
 *   tile      the length of an array `tile` in shared memory, optional
 *   largest   the largest number of the input, optional
 *   expected  (input, N) -> (i) -> the right number i of the result
 *   sizes     the N of the recorded builds; the counts that are shown are of the first
 *   steps     the N of the timed build, each if the one before did not take long
 *   threads   (N) -> their number
 *   begin     the code to begin with; solution: code that is right and moves few bytes
 *   least     the sectors of the solution
 *   flops     (N) -> the operations that a time is compared with, instead of bytes, optional
 *   measured  the names of products of experiments.js that the task shows, optional
 */
import { time, bandwidth, rate, round } from "./arithmetic.js";
import { make, button, folded } from "./explorable.js";
import { messagesOf } from "./kernel-code.js";
import { WARP } from "./kernel-judge.js";
import { recordOf } from "./kernel-drawing.js";
import { draft, keepDraft, reached } from "./kernel-progress.js";
import { check, measure } from "./kernel-run.js";

const KEYS = "Ctrl and Enter check it.";
const FEWEST_LINES = 5;
const NEARLY = 1.1; // times as many sectors as the solution
const SHOWN = 1024; // rows of the products whose kernels are shown
const NO_TIME = "A program on the CPU computes here, so a time would teach you nothing.";
export const INSTEAD =
  "Switch on hardware acceleration in the settings of the browser and load the page again, " +
  "or open it in another browser or on another device, such as a phone. The kernels of the " +
  "section before run without a GPU, in an interpreter.";

// Messages

/** Return how many sectors a right kernel touches, compared with the solution. */
const praise = ({ sectors }, { least }) => {
  if (sectors <= least) return ": as few as our solution needs, or fewer";
  if (sectors < NEARLY * least) return `: ${sectors - least} more than the ${least} of our solution`;
  return `: ${round(sectors / least)} times the ${least} of our solution`;
};

/** Return lines that say so if less than one thread of each warp has anything to do. */
const idle = ({ busy, launched, dropped }) =>
  !dropped && busy > 0 && busy * WARP <= launched
    ? [[`Only ${busy} of ${launched} threads ${busy === 1 ? "loads or stores" : "load or store"}.`, ""]]
    : [];

/** Return the lines of a verdict, each with a mark for a problem. */
const linesOf = (task, verdict) => {
  const { refused, problems, loads, stores, sectors, size } = verdict;
  const isRight = problems.length === 0;
  const right = "The result is right, and nothing is out of bounds.";
  return [
    ...(isRight ? [[right, "good"]] : problems.map((text) => [text, "bad"])),
    ...(refused
      ? []
      : [
          [
            `${loads} loads, ${stores} stores, ${sectors} sectors` +
              `${isRight ? praise(verdict, task) : ""} (N = ${size}).`,
            "",
          ],
          ...idle(verdict),
        ]),
  ];
};

const timesOf = (lab, { flops }, { seconds, most, bytes, size, problem }) => {
  if (problem) return [[`With N = ${size}, ${problem}.`, "bad"]];
  const above = Math.round(100 * (most / seconds - 1));
  const reach = flops
    ? rate(flops(size) / seconds)
    : `${bandwidth(bytes / seconds)} of useful bytes`;
  return [
    ["The result is right in the parts that were compared.", "good"],
    [
      `N = ${size}: ${time(seconds)}, or ${reach}; ` +
        `measured in this page, now, by the clock of the ${lab.clock === "device" ? "GPU" : "page"}. ` +
        `The longest of three measurements took ${above} % more.`,
      "",
    ],
  ];
};

// The editor

const numbered = (text) =>
  text
    .split("\n")
    .map((_, i) => i + 1)
    .join("\n");

/** Return an editor with numbers of lines, as tall as its text. */
const editor = (id, name, text) => {
  const code = make("textarea", {
    ...{ id, spellcheck: "false", autocomplete: "off", autocapitalize: "off" },
    ...{ wrap: "off", autocorrect: "off" },
  });
  const numbers = make("pre", { "aria-hidden": "true", class: "numbers-of-lines" });
  const fit = () => {
    const lines = code.value.split("\n").length;
    code.rows = Math.max(FEWEST_LINES, lines);
    numbers.textContent = numbered(code.value);
  };
  code.addEventListener("input", () => {
    fit();
    keepDraft(name, code.value);
  });
  code.value = draft(name) ?? text;
  fit();
  return { code, box: make("div", { class: "editor" }, numbers, code) };
};

/** Put a text in the place of an editor's, so that the browser can undo it. */
const replace = (code, text) => {
  code.focus({ preventScroll: true });
  code.select();
  // Other means than this old one lose what there is to undo.
  if (document.execCommand("insertText", false, text)) return;
  code.value = text;
  code.dispatchEvent(new Event("input"));
};

/** Return a text with numbers of lines, which can scroll. */
const listing = (text, name) =>
  make(
    "div",
    { class: "editor" },
    make("pre", { "aria-hidden": "true", class: "numbers-of-lines" }, numbered(text)),
    make("pre", { tabindex: 0, role: "group", "aria-label": name }, text),
  );

/** Return the solution, which a button shows below the editor, and the button. */
const solution = (text, use) => {
  const shown = make(
    "div",
    { class: "solution" },
    make("p", {}, "A solution."),
    listing(text, "A solution"),
    make("div", { class: "actions" }, button("Put it into the editor", use)),
  );
  shown.hidden = true;
  const opener = button("Show a solution", () => {
    shown.hidden = !shown.hidden;
    opener.textContent = shown.hidden ? "Show a solution" : "Hide the solution";
    opener.setAttribute("aria-expanded", String(!shown.hidden));
  });
  opener.setAttribute("aria-expanded", "false");
  return { shown, opener };
};

/** Return a folded part with the kernels of products that *Measure my GPU* times. */
const products = (names) => {
  const box = make("div");
  const part = folded(names.length > 1 ? "The kernels that “Measure my GPU” times" : "The kernel that “Measure my GPU” times", box);
  part.addEventListener("toggle", async () => {
    if (box.childElementCount) return;
    for (const name of ["arithmetic", "device", "experiments"])
      await bookLoad(`explorables/${name}.js`);
    const { source } = bookModules.experiments;
    for (const name of names)
      box.append(make("p", {}, `Product “${name}” for N = ${SHOWN}`), listing(source(name, SHOWN), name));
  });
  return part;
};

// The page

/** @type {Promise<string> | undefined} */
let asked;

/** Return why there is no GPU for this page, or "" if there is one. */
export const reason = async () => {
  await bookLoad("explorables/device.js");
  asked ??= bookModules.device.missing();
  return asked;
};

/** Return functions that run something with the kernel of an editor and show the lines and
 * the drawing that it returns, and clear what is shown. */
const runner = ({ code, status, list, drawings, stop }) => {
  let run;
  let tried = ""; // the last kernel
  const show = (lines, drawn) => {
    list.replaceChildren(...lines.map(([text, kind]) => make("li", { class: kind }, text)));
    drawings.replaceChildren(...(drawn ? [drawn] : []));
  };
  const failed = (error, signal) => {
    const compiled = error.messages && !signal.aborted;
    const text = signal.aborted ? `Stopped. ${signal.reason}` : error.message;
    status.textContent = compiled ? "The kernel does not compile." : "";
    const lines = compiled ? messagesOf(error.messages, tried) : [text];
    show(lines.map((line) => [line, "bad"]));
  };
  const use = async (what) => {
    const text = code.value;
    tried = text;
    show([]);
    await bookLoad("explorables/device.js");
    run ??= bookModules.device.runner({ status, stop, failed });
    await run(async (lab, say) => {
      say("Running …");
      const { lines, drawn } = await what(lab, text, say);
      lab.check();
      show(lines, drawn);
      say(`${lab.isSoftware ? "Software adapter, no GPU: " : ""}${lab.name}, ${lab.browser}.`);
    });
  };
  const clear = () => {
    show([]);
    status.textContent = "";
  };
  return { use, clear };
};

/** Say that there is no GPU, above the editor and on the buttons. */
const refuse = (box, buttons) => {
  const link = make("a", { href: "#fig-kernel-ladder" }, "The list of tasks");
  const text = " says what you can do.";
  box.prepend(make("p", { class: "needed" }, "This task needs a GPU. ", link, text));
  buttons.forEach((element) => {
    element.disabled = true;
    element.textContent += " (needs a GPU)";
  });
};

const start = (figure, task) => {
  const id = `${figure.dataset.explorable}-code`;
  const { code, box: edited } = editor(id, task.name, task.begin.trim());
  const status = make("p", { role: "status", class: "said" });
  const list = make("ul", { class: "verdict" });
  const drawings = make("div", { class: "drawings" });
  const stop = make("button", { type: "button", hidden: "" }, "Stop");
  const { use, clear } = runner({ code, status, list, drawings, stop });
  const checked = () =>
    use(async (lab, text) => {
      const verdict = await check(lab, task, text);
      if (!verdict.problems.length) reached(task.name, verdict.sectors / task.least);
      const drawn = verdict.records && recordOf(task, verdict);
      return { lines: linesOf(task, verdict), drawn };
    });
  const timed = () =>
    use(async (lab, text, say) => {
      if (lab.isSoftware) return { lines: [[NO_TIME, ""]] };
      const verdict = await check(lab, task, text);
      if (verdict.problems.length)
        return { lines: [...linesOf(task, verdict), ["Only a right kernel is measured.", ""]] };
      return { lines: timesOf(lab, task, await measure(lab, task, text, say)) };
    });
  const { shown, opener } = solution(task.solution.trim(), () => {
    replace(code, task.solution.trim());
    clear();
  });
  const again = button("Begin again", () => {
    replace(code, task.begin.trim());
    clear();
  });
  const [main, measured] = [button("Check", checked), button("Measure", timed)];
  main.classList.add("main");
  const box = make(
    "div",
    { class: "explorable kernel-task", role: "group", "aria-label": "A kernel to write" },
    make("label", { for: id }, "Your kernel. ", make("span", { class: "keys" }, KEYS)),
    edited,
    make("div", { class: "actions" }, main, measured, stop, again, opener),
    status,
    list,
    drawings,
    shown,
    ...(task.measured ? [products(task.measured)] : []),
  );
  code.addEventListener("keydown", (event) => {
    event.stopPropagation(); // letters are no shortcuts of the page here
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !main.disabled) checked();
  });
  figure.insertBefore(box, figure.querySelector("figcaption"));
  figure.classList.add("measurable");
  reason().then((why) => why && refuse(box, [main, measured]));
};

/** Return a task as the module of a figure, which pages start. */
export const task = (described) => ({
  ...described,
  start: (figure) => start(figure, described),
});
