/* The text of a kernel: what of the reader's is refused, and what the page adds to it.
 *
 * Names that end in `_` are the page's own, so nothing that the reader writes reaches an
 * array without a record, or the records themselves.
 */

export const GROUP = 256; // threads of a workgroup
export const MOST = 2 ** 18 + 2 ** 14; // recorded accesses: 256 by each of 1024 threads, and some
export const WORDS = 5; // of a record: thread, number in it, kind and barriers, place, moment
export const FUEL = 2 ** 14; // rounds of all loops of a thread, in a build with records
const ROUNDS = 2 ** 30; // of all loops of all threads, in a timed one
const HELPER = 2 ** 11; // rounds of one loop `apart` outside of `kernel`, see `guarded`

// Characters that WGSL takes for spaces, although patterns here do not.
const BLANKS = /[\u0085\u200e\u200f]/g;

/** Return code with spaces in the place of comments, which may be nested. */
export const withoutComments = (code) => {
  let depth = 0;
  let isLine = false;
  return code.replace(BLANKS, " ").replace(/\/\/|\/\*|\*\/|./gs, (token) => {
    if (token === "\n") isLine = false;
    if (token === "\n" || isLine) return token === "\n" ? token : " ".repeat(token.length);
    if (token === "//" && !depth) isLine = true;
    const isInside = depth > 0;
    depth += token === "/*" ? 1 : token === "*/" && isInside ? -1 : 0;
    return isInside || isLine || depth ? " ".repeat(token.length) : token;
  });
};

// Refusals

/** @type {[RegExp, (found: string) => string][]} */
const RULES = [
  [
    /[\p{ID_Start}_]\p{ID_Continue}*_(?!\p{ID_Continue})/gu,
    (name) => `“${name}” ends in “_”, as only names of this page do. Choose another name.`,
  ],
  [
    /\bworkgroup\b/g,
    () =>
      "no access to shared memory of your own would be recorded. Use load_tile and " +
      "store_tile.",
  ],
  [
    /\b(?:storage|uniform)\b/g,
    () => "the page binds the arrays. Reach them by load_ and store_ with their names.",
  ],
  [/@\s*\w*/g, (text) => `“${text}” is an attribute, and the page sets all of them.`],
  [
    /\b(?:workgroup|storage)Barrier\b(?!\s*\(\s*\)\s*;)/g,
    (name) => `a barrier is a statement of its own: ${name}();`,
  ],
];

const lineOf = (code, at) => code.slice(0, at).split("\n").length;

/** Return the reasons for which the page does not run a kernel, each with its line. */
export const refusals = (task, code) => {
  const plain = withoutComments(code);
  const found = [];
  for (const [pattern, reason] of RULES)
    for (const match of plain.matchAll(pattern))
      found.push([lineOf(plain, match.index), reason(match[0].trim())]);
  // A function or a type of the reader would take the place of one that records use.
  const used = new Set(`${head(task, GROUP, true)} ${foot(task)}`.match(/\b\p{ID_Start}\w*/gu));
  for (const match of plain.matchAll(/\b(?:fn|alias|struct)\s+([^\s({=;<]+)/g))
    if (used.has(match[1]) && match[1] !== "kernel")
      found.push([lineOf(plain, match.index), `“${match[1]}” has a meaning already.`]);
  return found.sort(([a], [b]) => a - b).map(([line, text]) => `line ${line}: ${text}`);
};

// Loops that end

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

/** Return the place after the `{` of a loop or function whose keyword ends before `at`. */
const bodyOf = (code, at) => {
  let depth = 0;
  for (let i = at; i < code.length; i += 1) {
    if (code[i] === "{" && depth === 0) return i + 1;
    depth += { "(": 1, ")": -1 }[code[i]] ?? 0;
  }
  return -1;
};

/** Return the bodies that a keyword opens: {start, at, end, name}. */
const bodies = (code, keyword) =>
  [...code.matchAll(keyword)].flatMap((match) => {
    const at = bodyOf(code, match.index + match[0].length);
    return at < 0 ? [] : [{ start: match.index, at, end: endOf(code, at), name: match[1] }];
  });

/** Return code with texts put in: [place, text]. */
const withTexts = (code, texts) => {
  let [out, from] = ["", 0];
  for (const [at, text] of texts.sort(([a], [b]) => a - b)) {
    out += code.slice(from, at) + text;
    from = at;
  }
  return out + code.slice(from);
};

const LOOP = /\b(?:for|while|loop)\b/g;

/**
 * Return code that knows its path: a number for the loops around it and for their rounds, of
 * the callers, too.
 * Threads of a warp make an access together if they are at one place with one path. After a
 * loop or a function, the path is what it was before.
 */
const traced = (code) => {
  const texts = bodies(code, LOOP).flatMap(({ start, at, end }, n) => [
    [start, ` let p${n}_ = path_; path_ = (31u * path_ + ${n + 1}u) * 2654435761u; `],
    [at, " path_ += 40503u;"], // more than a kernel has places
    [end, ` path_ = p${n}_;`],
  ]);
  const functions = bodies(code, /\bfn\s+(\w+)/g).map(({ at }) => [at, " let q_ = path_;"]);
  return withTexts(code, [...functions, ...texts]).replace(/\breturn\b/g, "path_ = q_; return");
};

/** Return code that calls a function of its own at each access, and these functions, which
 * keep the number of the place. */
const numbered = (code, names) => {
  const functions = [];
  const calls = new RegExp(`\\b(load|store)_(${names.join("|")})(?=\\s*\\()`, "g");
  const text = code.replace(calls, (call, verb) => {
    const site = functions.length + 1;
    functions.push(
      verb === "load"
        ? `fn ${call}${site}_(k_: u32) -> f32 { site_ = ${site}u; return ${call}(k_); }`
        : `fn ${call}${site}_(k_: u32, x_: f32) { site_ = ${site}u; ${call}(k_, x_); }`,
    );
    return `${call}${site}_`;
  });
  return { text, functions: functions.join(" ") };
};

const BARRIER = /\b(?:workgroup|storage)Barrier\b/;

/** Return whether a part of the code has a barrier, or calls a function that has one. */
const waits = (code) => {
  const functions = bodies(code, /\bfn\s+(\w+)/g).map(({ at, end, name }) => ({
    name,
    text: code.slice(at, end),
  }));
  const found = new Set();
  const waiting = (text) =>
    BARRIER.test(text) ||
    [...text.matchAll(/(\w+)\s*\(/g)].some(([, called]) => found.has(called));
  for (let size = -1; size < found.size; ) {
    size = found.size;
    for (const { name, text } of functions) if (waiting(text)) found.add(name);
  }
  return waiting;
};

/**
 * Return code whose loops end after some rounds. All loops of a thread share a counter.
 * But the language takes it that this one differs from thread to thread, so it forbids
 * barriers in such a loop. A loop that is `apart` has a counter in its function, which is
 * the same in all threads if the loop's own condition is. Those are "none" of the loops,
 * those with "barriers", or "all": also one without may decide how often another one waits.
 * In a build with records, loops with barriers share a counter of the workgroup instead,
 * at the cost of a barrier each round.
 */
export const guarded = (code, apart = "none", recorded = false) => {
  const loops = bodies(code, LOOP);
  const waiting = waits(code);
  const kinds = new Map();
  for (const loop of loops) {
    const isWaiting = apart !== "none" && waiting(code.slice(loop.at, loop.end));
    const other = isWaiting || apart === "all" ? "apart" : "shared";
    kinds.set(loop, isWaiting && recorded ? "workgroup" : other);
  }
  const guard = (counter, most, count) => ` if (${counter} > ${most}) { cut_(); break; } ${count}`;
  const shared = {
    shared: guard("spent_", "fuel_", "spent_ += 1u;"),
    workgroup: guard("workgroupUniformLoad(&rounds_)", "fuel_", "if (first_) { rounds_ += 1u; }"),
  };
  const texts = loops.flatMap((loop) => {
    const text = shared[kinds.get(loop)];
    return text ? [[loop.at, text]] : [];
  });
  for (const { at, end, name } of bodies(code, /\bfn\s+(\w+)/g)) {
    const most = name === "kernel" ? "fuel_" : `${HELPER}u`;
    loops
      .filter((loop) => loop.at > at && loop.at < end && kinds.get(loop) === "apart")
      .forEach((loop, i) => {
        texts.push([at, ` var c${i}_ = 0u;`], [loop.at, guard(`c${i}_`, most, `c${i}_ += 1u;`)]);
      });
  }
  return withTexts(code, texts);
};

// The code around the reader's

/**
 * Return the text before the reader's code, on one line, so that the numbers of lines
 * in messages are those of the reader.
 */
const head = (task, size, recorded) => {
  const names = Object.keys(task.arrays);
  const share = Math.max(2 ** 10, Math.floor(ROUNDS / task.threads(size))); // of each thread
  const parts = [
    `const N = ${size}u; const fuel_ = ${recorded ? FUEL : share}u;`,
    "var<private> tid_: u32; var<private> spent_: u32; var<private> at_: u32;",
    "var<workgroup> rounds_: u32; var<private> first_: bool;",
    // The barriers that a thread has passed, of the two kinds.
    "var<private> shared_: u32; var<private> stored_: u32;",
    "struct Records_ { count_: atomic<u32>, cut_: atomic<u32>, all_: array<u32> }",
    `@group(0) @binding(${names.length}) var<storage, read_write> records_: Records_;`,
    "fn cut_() { atomicStore(&records_.cut_, 1u); }",
  ];
  const record = (array, isStore) => {
    const passed = array < names.length ? "stored_" : "shared_";
    const kind = 2 * array + (isStore ? 1 : 0);
    return recorded ? `record_(${kind}u + 16u * ${passed}, k_);` : "";
  };
  const access = (name, array, place) =>
    `fn load_${name}(k_: u32) -> f32 { ${record(array, false)} return ${place}; } ` +
    `fn store_${name}(k_: u32, x_: f32) { ${record(array, true)} ${place} = x_; }`;
  names.forEach((name, i) => {
    parts.push(
      `@group(0) @binding(${i}) var<storage, read_write> ${name}_: array<f32>;`,
      access(name, i, `${name}_[k_]`),
    );
  });
  if (task.tile)
    parts.push(
      `var<workgroup> tile_: array<f32, ${task.tile}>;`,
      access("tile", names.length, `tile_[min(k_, ${task.tile - 1}u)]`),
    );
  if (recorded)
    parts.push(
      "var<private> path_: u32; var<private> site_: u32;",
      "fn record_(kind_: u32, k_: u32) { let n_ = atomicAdd(&records_.count_, 1u);",
      `if (n_ < ${MOST}u) { var w_ = array(tid_, at_, kind_, k_, path_ + site_);`,
      `for (var j_ = 0u; j_ < ${WORDS}u; j_++) { records_.all_[${WORDS}u * n_ + j_] = w_[j_]; } }`,
      "at_ += 1u; }",
    );
  return parts.join(" ");
};

/** Return the text after the reader's code, where all arrays are used: others would not
 * be bound. */
const foot = (task) => {
  const used = Object.keys(task.arrays).map((name) => `let ${name}u_ = ${name}_[0];`);
  return `
    @compute @workgroup_size(${GROUP})
    fn main_(@builtin(global_invocation_id) g_: vec3u,
             @builtin(local_invocation_id) l_: vec3u, @builtin(workgroup_id) w_: vec3u) {
      tid_ = g_.x; first_ = l_.x == 0u;
      if (tid_ == 0xffffffffu) {
        ${used.join(" ")} let r_ = atomicLoad(&records_.cut_);
      }
      kernel(g_.x, l_.x, w_.x);
    }`;
};

const counted = (name, counter) => [
  new RegExp(`\\b${name}\\s*\\(\\s*\\)\\s*;`, "g"),
  (text) => `${text} ${counter} += 1u;`,
];

/** Return a whole program with the reader's code. */
export const program = (task, code, size, { recorded, apart }) => {
  let text = withoutComments(code);
  if (recorded)
    for (const [pattern, put] of [
      counted("workgroupBarrier", "shared_"),
      counted("storageBarrier", "stored_"),
    ])
      text = text.replace(pattern, put);
  let functions = "";
  if (recorded)
    ({ text, functions } = numbered(traced(text), [...Object.keys(task.arrays), "tile"]));
  const before = `${head(task, size, recorded)} ${functions}`;
  return `${before} ${guarded(text, apart, recorded)}${foot(task)}`;
};

const SIGNATURE = "fn kernel(i: u32, l: u32, w: u32)";

/** Return the messages of a compiler with the reader's lines. */
export const messagesOf = (errors, code) => {
  const lines = code.split("\n").length;
  const named = errors.map(({ lineNum, message }) => ({
    ...{ lineNum, message: message.replace(/\b((?:load|store)_[a-z]+)\d+_/g, "$1") },
  }));
  return named.map(({ lineNum, message }) =>
    lineNum > lines
      ? `The page calls ${SIGNATURE}, and cannot: ${message}`
      : `line ${lineNum}: ${message}`,
  );
};
