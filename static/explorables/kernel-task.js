/* A kernel that the reader writes in the page, in WGSL, and runs on their own GPU.
 *
 * The kernel is a function `kernel(i, l, w)`: the number of a thread, its number in its
 * workgroup, and the number of the workgroup. It reads and writes arrays by functions, such
 * as load_a(k) and store_out(k, x). One build of it records every access, on a small
 * problem: from the records follow the sectors that the warps touch, accesses out of
 * bounds, and races. Another build, on a large problem, is timed.
 *
 * A task has these fields:
 *   arrays    {name: (N) -> length} in the memory of the GPU; the last one is the result
 *   tile      the length of an array `tile` in shared memory, optional
 *   input     (name, N) -> numbers; expected: (input, N) -> the right result
 *   sizes     [N of the recorded build, N of the timed one]; threads: (N) -> their number
 *   start     the code to begin with; solution: code that is right and moves few bytes
 *   least     the sectors of the solution
 */
"use strict";

const { time, bandwidth } = require("./arithmetic.js");
const { make, button } = require("./explorable.js");

const GROUP = 256; // threads of a workgroup
const WARP = 32;
const SECTOR = 8; // numbers of 4 bytes
const MOST = 2 ** 17; // recorded accesses
const FUEL = [2 ** 14, 2 ** 22]; // rounds of all loops of a thread, recorded and timed
const SHOWN = 3; // problems of a kind

// The code around the reader's

/** Return the end of the block that opens before `at`. */
const endOf = (code, at) => {
  let depth = 1;
  let end = at;
  while (end < code.length && depth) {
    depth += { "{": 1, "}": -1 }[code[end]] ?? 0;
    end += 1;
  }
  return end;
};

/** Return the place after the `{` of a loop whose keyword ends before `at`. */
const bodyOf = (code, at) => {
  let depth = 0;
  for (let i = at; i < code.length; i += 1) {
    if (code[i] === "{" && depth === 0) return i + 1;
    depth += { "(": 1, ")": -1 }[code[i]] ?? 0;
  }
  return -1;
};

/** Return code with spaces in the place of comments, so that braces in them do not count. */
const withoutComments = (code) =>
  code.replace(/\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (text) => text.replace(/[^\n]/g, " "));

/**
 * Return code whose loops end after some rounds. A loop with a barrier has to end for
 * all threads of a workgroup at once, so these share a counter.
 */
const guarded = (code) => {
  let out = "";
  let from = 0;
  for (const match of code.matchAll(/\b(?:for|while|loop)\b/g)) {
    const body = bodyOf(code, match.index + match[0].length);
    if (body < 0) continue;
    const shared = /barrier_|workgroupUniformLoad/.test(code.slice(body, endOf(code, body)));
    out += code.slice(from, body);
    out += shared
      ? " let f_ = workgroupUniformLoad(&rounds_); if (f_ > fuel_) { cut_(); break; }" +
        " if (lid_ == 0u) { rounds_ = f_ + 1u; }"
      : " if (spent_ > fuel_) { cut_(); break; } spent_ += 1u;";
    from = body;
  }
  return out + code.slice(from);
};

/**
 * Return the text before the reader's code, on one line, so that the numbers of lines
 * in messages are those of the reader.
 */
const head = (task, size, recorded) => {
  const names = Object.keys(task.arrays);
  const parts = [
    `const N = ${size}u; const fuel_ = ${FUEL[recorded ? 0 : 1]}u;`,
    "var<private> tid_: u32; var<private> lid_: u32; var<private> spent_: u32;",
    "var<private> at_: u32; var<private> epoch_: u32; var<workgroup> rounds_: u32;",
    "fn barrier_() { workgroupBarrier(); epoch_ += 1u; }",
  ];
  const record = (array, isStore) =>
    recorded ? `record_(${2 * array + (isStore ? 1 : 0)}u, k);` : "";
  const access = (name, array, place) =>
    `fn load_${name}(k: u32) -> f32 { ${record(array, false)} return ${place}; } ` +
    `fn store_${name}(k: u32, x: f32) { ${record(array, true)} ${place} = x; }`;
  names.forEach((name, i) => {
    parts.push(
      `@group(0) @binding(${i}) var<storage, read_write> ${name}_: array<f32>;`,
      access(name, i, `${name}_[k]`),
    );
  });
  if (task.tile)
    parts.push(
      `var<workgroup> tile_: array<f32, ${task.tile}>;`,
      access("tile", names.length, `tile_[min(k, ${task.tile - 1}u)]`),
    );
  if (recorded)
    parts.push(
      "struct Records { count: atomic<u32>, cut: atomic<u32>, all: array<vec4u> }",
      `@group(0) @binding(${names.length}) var<storage, read_write> records_: Records;`,
      "fn record_(kind: u32, k: u32) { let n = atomicAdd(&records_.count, 1u);",
      `if (n < ${MOST}u) { records_.all[n] = vec4u(tid_, at_, kind + 16u * epoch_, k); }`,
      "at_ += 1u; }",
      "fn cut_() { atomicStore(&records_.cut, 1u); }",
    );
  else parts.push("fn cut_() {}");
  return parts.join(" ");
};

const foot = (task, recorded) => {
  // What a kernel does not use would not be bound.
  const used = Object.keys(task.arrays).map((name) => `let ${name}u_ = ${name}_[0];`);
  if (recorded) used.push("let r_ = atomicLoad(&records_.cut);");
  return `
    @compute @workgroup_size(${GROUP})
    fn main(@builtin(global_invocation_id) g_: vec3u,
            @builtin(local_invocation_id) l_: vec3u, @builtin(workgroup_id) w_: vec3u) {
      tid_ = g_.x; lid_ = l_.x;
      if (tid_ == 0xffffffffu) { ${used.join(" ")} }
      kernel(g_.x, l_.x, w_.x);
    }`;
};

const build = (lab, task, code, size, recorded, arrays) => {
  const plain = withoutComments(code).replace(/\bworkgroupBarrier\b/g, "barrier_");
  const text = `${head(task, size, recorded)} ${guarded(plain)}${foot(task, recorded)}`;
  return lab.kernel(text, arrays);
};

/** Return the arrays of a task on the GPU, and the right result. */
const arraysOf = async (lab, task, size) => {
  const names = Object.keys(task.arrays);
  const input = {};
  const arrays = [];
  for (const name of names) {
    const length = task.arrays[name](size);
    if (name !== names[names.length - 1]) input[name] = task.input(name, size);
    arrays.push(await lab.array(4 * length, input[name]));
  }
  return { arrays, expected: task.expected(input, size) };
};

const groups = (task, size) => Math.ceil(task.threads(size) / GROUP);

// The verdict

/** Return what the records of all accesses show. */
const judge = (task, size, records) => {
  const names = [...Object.keys(task.arrays), "tile"];
  const lengths = [...Object.values(task.arrays).map((of) => of(size)), task.tile];
  const verdict = { loads: 0, stores: 0, sectors: 0, outside: [], races: [] };
  const outside = new Map(); // the first access out of bounds of each thread
  const touched = new Map(); // the sectors that a warp touches at once
  const stored = new Map(); // who has stored into a cell since the last barrier
  const all = [];
  for (let n = 0; n < records.length; n += 4) {
    const [thread, at, kind, k] = records.subarray(n, n + 4);
    const [array, isStore, epoch] = [(kind & 15) >> 1, kind & 1, kind >> 4];
    const isShared = array === names.length - 1;
    const name = `${names[array]}[${k}]`;
    if (!isShared) verdict[isStore ? "stores" : "loads"] += 1;
    if (k >= lengths[array]) {
      const what = isStore ? "stores" : "loads";
      const place = k > 2 ** 31 ? `${names[array]}[${k - 2 ** 32}]` : name;
      const text = `thread ${thread} ${what} ${place}, but ${names[array]} has ${lengths[array]} numbers`;
      if (!outside.has(thread)) outside.set(thread, text);
      continue;
    }
    const group = Math.floor(thread / GROUP);
    const cell = isShared ? `${group},${array},${k}` : `${array},${k}`;
    all.push({ thread, group, epoch, isStore, cell, name });
    if (isShared) continue;
    const key = `${Math.floor(thread / WARP)},${at},${kind & 15}`;
    if (!touched.has(key)) touched.set(key, new Set());
    touched.get(key).add(Math.floor(k / SECTOR));
  }
  for (const set of touched.values()) verdict.sectors += set.size;
  const threads = [...outside.keys()].sort((a, b) => a - b).slice(0, SHOWN);
  verdict.outside = threads.map((thread) => outside.get(thread));
  const raced = new Set();
  for (const access of all) {
    if (!access.isStore) continue;
    if (!stored.has(access.cell)) stored.set(access.cell, []);
    stored.get(access.cell).push(access);
  }
  for (const access of all) {
    // A barrier orders the threads of a workgroup, but not those of two.
    const other = (stored.get(access.cell) ?? []).find(
      ({ thread, group, epoch }) =>
        thread !== access.thread && (group !== access.group || epoch === access.epoch),
    );
    if (!other) continue;
    const [a, b] = [other.thread, access.thread];
    const what = access.isStore
      ? `threads ${Math.min(a, b)} and ${Math.max(a, b)} both store ${access.name}`
      : `thread ${b} loads ${access.name}, which thread ${a} stores`;
    if (verdict.races.length < SHOWN && !raced.has(access.cell))
      verdict.races.push(`${what}, without a barrier between`);
    raced.add(access.cell);
  }
  return verdict;
};

const same = (a, b) => Math.abs(a - b) <= 1e-4 * Math.max(1, Math.abs(b));

/** Run a kernel and record its accesses; return a verdict. */
const check = async (lab, task, code) => {
  const [size] = task.sizes;
  const { arrays, expected } = await arraysOf(lab, task, size);
  const records = await lab.array(16 + 16 * MOST);
  const kernel = await build(lab, task, code, size, true, [...arrays, records]);
  lab.submit([{ kernel, x: groups(task, size) }]);
  const read = await lab.read(records, 16 + 16 * MOST, Uint32Array);
  const [count, cut] = read;
  const verdict = judge(task, size, read.subarray(4, 4 + 4 * Math.min(count, MOST)));
  const result = await lab.read(arrays[arrays.length - 1], 4 * expected.length);
  const wrong = result.findIndex((x, i) => !same(x, expected[i]));
  return {
    ...verdict,
    isCut: cut > 0,
    dropped: Math.max(0, count - MOST),
    wrong: wrong < 0 ? "" : `out[${wrong}] is ${result[wrong]}, but should be ${expected[wrong]}`,
  };
};

/** Time a kernel on a large problem; return its useful bytes and seconds. */
const measure = async (lab, task, code) => {
  const [, size] = task.sizes;
  const { arrays, expected } = await arraysOf(lab, task, size);
  const kernel = await build(lab, task, code, size, false, arrays);
  const x = groups(task, size);
  const { seconds, most } = await lab.time([{ kernel, x }], { samples: 3 });
  const result = await lab.read(arrays[arrays.length - 1], 4 * expected.length);
  const isRight = result.every((value, i) => same(value, expected[i]));
  const bytes = Object.values(task.arrays).reduce((sum, of) => sum + 4 * of(size), 0);
  return { seconds, most, bytes, size, isRight };
};

// The page

/** Return the lines of a verdict, each with a mark for a problem. */
const linesOf = (task, verdict) => {
  const { loads, stores, sectors } = verdict;
  const problems = [
    verdict.wrong && `The result is wrong: ${verdict.wrong}.`,
    ...verdict.outside.map((text) => `Out of bounds: ${text}.`),
    ...verdict.races.map((text) => `A race: ${text}.`),
    verdict.isCut && `A loop was stopped after ${FUEL[0]} rounds.`,
    verdict.dropped && `Only the first ${MOST} accesses were recorded.`,
  ].filter(Boolean);
  const factor = sectors / task.least;
  const few =
    factor <= 1
      ? "as few as our solution needs, or fewer"
      : `${Number(factor.toPrecision(3))} times the ${task.least} of our solution`;
  return [
    ...problems.map((text) => [text, "bad"]),
    ...(problems.length ? [] : [["The result is right, and nothing is out of bounds.", "good"]]),
    [`${loads} loads, ${stores} stores, ${sectors} sectors: ${few}.`, ""],
  ];
};

const start = (figure, task) => {
  const id = `${figure.dataset.explorable}-code`;
  const code = make("textarea", {
    ...{ id, spellcheck: "false", autocomplete: "off", autocapitalize: "off" },
    ...{ wrap: "off", rows: task.start.trim().split("\n").length + 2 },
  });
  const status = make("p", { role: "status", class: "said" });
  const list = make("ul", { class: "verdict" });
  let controller = new AbortController();
  const use = async (what) => {
    controller.abort("Another run has begun.");
    const mine = new AbortController();
    controller = mine;
    stop.hidden = false;
    list.replaceChildren();
    status.textContent = "Asking the browser for a GPU …";
    try {
      await bookLoad("explorables/device.js");
      await bookModules.device.open(mine.signal, async (lab) => {
        status.textContent = "Running …";
        const lines = await what(lab);
        list.replaceChildren(...lines.map(([text, kind]) => make("li", { class: kind }, text)));
        status.textContent = `${lab.isSoftware ? "Software adapter, no GPU: " : ""}${lab.name}, ${lab.browser}.`;
      });
    } catch (error) {
      const text = mine.signal.aborted ? `Stopped. ${mine.signal.reason}` : error.message;
      const lines = error.messages ? text.split("\n") : [text];
      status.textContent = error.messages ? "The kernel does not compile." : "";
      list.replaceChildren(...lines.map((line) => make("li", { class: "bad" }, line)));
    }
    if (controller === mine) stop.hidden = true;
  };
  const checked = () => use(async (lab) => linesOf(task, await check(lab, task, code.value)));
  const timed = () =>
    use(async (lab) => {
      if (lab.isSoftware)
        return [["A program on the CPU computes here, so a time would teach you nothing.", "bad"]];
      const { seconds, most, bytes, size, isRight } = await measure(lab, task, code.value);
      const above = Math.round(100 * (most / seconds - 1));
      return [
        [isRight ? "The result is right." : "The result is wrong.", isRight ? "good" : "bad"],
        [
          `N = ${size}: ${time(seconds)}, or ${bandwidth(bytes / seconds)} of useful bytes; ` +
            `measured in this page, now, by the clock of the ${lab.clock === "device" ? "GPU" : "page"}. ` +
            `The longest of three measurements took ${above} % more.`,
          "",
        ],
      ];
    });
  const stop = button("Stop", () => controller.abort("You pressed Stop."));
  stop.hidden = true;
  const reset = (text) => () => {
    code.value = text.trim();
    list.replaceChildren();
    status.textContent = "";
  };
  const main = button("Check", checked);
  main.classList.add("main");
  const box = make(
    "div",
    { class: "explorable kernel-task", role: "group", "aria-label": "A kernel to write" },
    make("label", { for: id }, "Your kernel. Ctrl and Enter check it."),
    code,
    make(
      "div",
      { class: "actions" },
      main,
      button("Measure", timed),
      stop,
      button("Begin again", reset(task.start)),
      button("Show a solution", reset(task.solution)),
    ),
    status,
    list,
  );
  code.value = task.start.trim();
  code.addEventListener("keydown", (event) => {
    event.stopPropagation(); // letters are no shortcuts of the page here
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) checked();
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) controller.abort("The page was hidden.");
  });
  figure.insertBefore(box, figure.querySelector("figcaption"));
  figure.classList.add("measurable");
};

/** Return a task as the module of a figure, which pages start. */
const task = (described) => ({
  ...described,
  start: (figure) => start(figure, described),
});

module.exports = { task, judge, guarded, withoutComments };
