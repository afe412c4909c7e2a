/* The allocator: the reader, or minibatches of varying lengths, request and free pieces of
 * memory, and a request can fail although enough memory is free.
 */
import { gapsOf, playRequests } from "./allocator-arithmetic.js";
import { each, tag, label, horizontal, inColumns, chart } from "./chart.js";
import { select, range, hidden, more } from "./controls.js";
import { figure } from "./explorable.js";

const { area, sheet, legend } = chart("allocator");

const OWN = 100; // the size of the block in the text
const TEXT = "30-30-30-fa-fc-50"; // the requests in the text
const MOST_ACTIONS = 24;
const CARD = 320; // MiB for the activations of minibatches
const LENGTHS = [30, 55, 20, 60, 40, 70, 35, 80, 25, 65, 45, 90];
const LAYERS = 3;
const RESULT = 2; // MiB of a result that is kept
const KEPT = 4; // number of minibatches for which it is kept

const ORDERS = {
  come: (lengths) => lengths,
  padded: (lengths) => lengths.map((length) => 30 * Math.ceil(length / 30)),
  longest: (lengths) => [...lengths].sort((a, b) => b - a),
};

const isOwn = (state) => state.sequence === "own";
const unit = (state) => (isOwn(state) ? "" : "\u00a0MiB");
const letter = (i) => String.fromCharCode(97 + i);

// The requests

/** Return the actions of a text such as "30-fa"; the text of no action is "none". */
const listOf = (did) => (did === "none" ? [] : did.split("-"));
const textOf = (list) => list.join("-") || "none";

/** Return the requests of the reader; a letter names each piece. */
const ownRequests = ({ did }) => {
  let count = 0;
  const request = (text) => {
    if (text[0] === "f") return { free: text[1] };
    count += 1;
    return { name: letter(count - 1), size: Number(text) };
  };
  return listOf(did).map(request);
};

/** Return the requests of minibatch `i`: its arrays, its result, and what is freed. */
const minibatch = (length, i) => {
  const arrays = Array.from({ length: LAYERS }, (_, layer) => ({
    name: `${i + 1}.${layer + 1}`,
    size: length,
  }));
  arrays.splice(1, 0, { name: `result ${i + 1}`, size: RESULT });
  const freed = arrays
    .filter(({ size }) => size !== RESULT)
    .map(({ name }) => ({ free: name }))
    .reverse();
  const old = i >= KEPT ? [{ free: `result ${i + 1 - KEPT}` }] : [];
  return { arrays, freed: [...freed, ...old] };
};

const lengthsOf = ({ sequence }) => ORDERS[sequence](LENGTHS);

/** Return the requests up to the forward pass of the last of `count` minibatches. */
const batchRequests = (state, count) =>
  lengthsOf(state)
    .slice(0, count)
    .map(minibatch)
    .flatMap(({ arrays, freed }, i) =>
      i === count - 1 ? arrays : [...arrays, ...freed],
    );

const setting = (state) => ({
  capacity: isOwn(state) ? OWN : CARD,
  policy: state.policy,
  fit: state.fit,
});

const play = (state, count = state.count) =>
  playRequests(
    setting(state),
    isOwn(state) ? ownRequests(state) : batchRequests(state, count),
  );

/** Return the number of the minibatch in which the memory does not suffice, or 0. */
const failure = (state) =>
  LENGTHS.map((_, i) => i + 1).find((count) => play(state, count).failed) || 0;

// Places in the picture: segments side by side, without pages that are not mapped

/** Return a function that maps an address in a segment to a place in the picture. */
const compress = ({ mapped }) => {
  if (!mapped) return (address) => address;
  const pages = [...mapped].sort((a, b) => a - b);
  return (address) => {
    const before = pages.filter((page) => 2 * page + 2 <= address).length;
    return 2 * before + (pages.includes(Math.floor(address / 2)) ? address % 2 : 0);
  };
};

/** Return the reserved spans, the pieces and the gaps of a pool. */
const layout = (pool) => {
  const spans = { reserved: [], pieces: [] };
  let from = 0;
  for (const segment of pool.segments) {
    const place = compress(segment);
    const size = segment.mapped ? 2 * segment.mapped.size : segment.size;
    spans.reserved.push([from, from + size]);
    for (const { name, start, end } of segment.pieces)
      spans.pieces.push([from + place(start), from + place(end), name]);
    from += size;
  }
  spans.pieces.sort(([a], [b]) => a - b);
  const gaps = spans.reserved.flatMap(([start, end]) => {
    const own = spans.pieces.filter(([a]) => a >= start && a < end);
    const pieces = own.map(([a, b]) => ({ start: a - start, end: b - start }));
    return gapsOf({ size: end - start, pieces }).map(([a, b]) => [start + a, start + b]);
  });
  return { ...spans, gaps };
};

const largest = (spans) => Math.max(0, ...spans.map(([from, to]) => to - from));

// The drawing

const TALL = 38;
const ROW = 50;
const LEFT = 40;

const rowsOf = (state, width) => {
  const narrow = width < 480;
  if (isOwn(state)) return narrow ? 2 : 1;
  return narrow ? 4 : 2;
};

/** Return a function that draws a span, in as many rows as it needs. */
const painter = (state, width, top) => {
  const { capacity } = setting(state);
  const rows = rowsOf(state, width);
  const each = capacity / rows;
  const scale = (width - LEFT - 2) / each;
  return (from, to, kind, text = "") => {
    const parts = [];
    for (let row = Math.floor(from / each); row < rows && row * each < to; row += 1) {
      const x = LEFT + (Math.max(from, row * each) - row * each) * scale;
      const wide = (Math.min(to, (row + 1) * each) - row * each) * scale + LEFT - x;
      const y = top + row * ROW;
      parts.push(area(kind, x, y, wide, TALL));
      if (text && wide > 8 * text.length + 4)
        parts.push(label(x + wide / 2, y + 24, text, "ink small", "middle"));
    }
    return parts.join("");
  };
};

const addresses = (state, width, top) => {
  const rows = rowsOf(state, width);
  const size = setting(state).capacity / rows;
  return each(Array(rows).fill(size), (_, row) =>
    label(LEFT - 6, top + row * ROW + 24, row * size, "soft small", "end"),
  );
};

/** Return the bars of the memory after each minibatch. */
const history = (state, width, top) => {
  const failed = failure(state);
  const slot = (width - LEFT) / LENGTHS.length;
  const tall = 70;
  const scale = tall / CARD;
  const bars = each(lengthsOf(state), (length, i) => {
    const x = LEFT + i * slot + 3;
    const wide = slot - 6;
    const base = top + tall;
    const name = label(x + wide / 2, base + 16, length, "soft small", "middle");
    if (i + 1 > state.count || (failed && i + 1 > failed)) return name;
    const { reserved, allocated } = play(state, i + 1);
    const box = (from, to, kind) =>
      area(kind, x, base - to * scale, wide, (to - from) * scale);
    const cross =
      failed === i + 1
        ? label(x + wide, top - 4, "fails", "bad small strong", "end")
        : "";
    const bar = box(0, allocated, "s1") + box(allocated, reserved, "wait");
    return bar + name + cross;
  });
  return (
    horizontal(top, LEFT, width, "dashed") +
    label(LEFT - 6, top + 5, CARD, "soft small", "end") +
    label(LEFT - 6, top + tall, 0, "soft small", "end") +
    bars +
    label(LEFT, top + tall + 34, "length of each minibatch", "soft small")
  );
};

const names = (state, top, width) => {
  const absent = isOwn(state) ? ["s3"] : [];
  if (state.policy === "block") absent.push("idle"); // all of it is reserved
  const kinds = [
    ["s1", "allocated"],
    ["s3", "result that is kept"],
    ["wait", "reserved, but free"],
    ["idle", "not reserved"],
  ].filter(([kind]) => !absent.includes(kind));
  const columns = width < 480 ? 2 : 4;
  return legend(kinds, inColumns(columns, width / columns, 22, top));
};

/** Return the request that fails, in the same scale as the memory. */
const failedBox = (state, pool, width, top) => {
  if (!pool.failed) return "";
  const each = setting(state).capacity / rowsOf(state, width);
  const wide = Math.min(1, pool.failed.size / each) * (width - LEFT - 2);
  const text = `does not fit: ${pool.failed.size}${unit(state)}`;
  const inside = wide > 7 * text.length + 8;
  return (
    area("box", LEFT, top, wide, TALL - 8) +
    label(
      inside ? LEFT + wide / 2 : LEFT + wide + 8,
      top + 20,
      text,
      "bad small strong",
      inside ? "middle" : "start",
    )
  );
};

/** Return the piece that an action has allocated, or undefined. */
const placed = (before, after) => {
  const names = ({ pieces }) => pieces.map(([, , name]) => name);
  const had = names(layout(play(before)));
  return layout(play(after)).pieces.find(([, , name]) => !had.includes(name));
};

/** Return a piece on its way up into its gap. */
const arriving = ({ from: before, part }, state, width, top) => {
  const piece = placed(before, state);
  if (!piece) return "";
  const [from, to, name] = piece;
  const below = (rowsOf(state, width) * ROW - 8) * (1 - part) ** 2;
  const paint = painter(state, width, top + below);
  return paint(from, to, "box") + paint(from, to, "s1", name);
};

const draw = (state, width, motion) => {
  const pool = motion ? play(motion.from) : play(state);
  const spans = layout(pool);
  const top = 8;
  const paint = painter(state, width, top);
  const below = top + rowsOf(state, width) * ROW;
  const after = below + (pool.failed ? 40 : 0);
  const kind = (name) => (name.startsWith("result") ? "s3" : "s1");
  const short = (name) => name.replace("result ", "r");
  const bars = isOwn(state) ? 0 : 136; // their height
  return sheet(
    width,
    after + bars + (width < 480 ? 52 : 30),
    addresses(state, width, top),
    paint(pool.reserved, setting(state).capacity, "idle"),
    ...spans.gaps.map(([from, to]) => paint(from, to, "wait")),
    ...spans.pieces.map(([from, to, name]) =>
      tag(
        "g",
        isOwn(state) ? { "data-touch": name } : {},
        paint(from, to, kind(name), short(name)),
      ),
    ),
    motion ? arriving(motion, state, width, top) : failedBox(state, pool, width, below),
    bars ? history(state, width, after + 22) : "",
    names(state, after + bars + 8, width),
  );
};

// In words

const POLICIES = {
  block: "One block",
  segments: "PyTorch's segments",
  expandable: "An expandable segment",
};

/** Return how much is free, and in which pieces. */
const freeText = (state, pool) => {
  const { capacity } = setting(state);
  const gap = largest(layout(pool).gaps);
  if (state.policy !== "block" && !pool.failed)
    return (
      `${pool.allocated} of ${capacity}${unit(state)} are allocated, and ` +
      `${pool.reserved}${unit(state)} are reserved`
    );
  return (
    `${capacity - pool.allocated} of ${capacity}${unit(state)} are free, and the ` +
    `largest gap has ${gap}${unit(state)}`
  );
};

const ownResult = (state, pool) => {
  const gap = largest(layout(pool).gaps);
  const free = OWN - pool.allocated;
  if (!pool.failed) return `${freeText(state, pool)}.`;
  const { size } = pool.failed;
  return free >= size
    ? `The memory is fragmented: ${free} are free, but the largest gap of ${gap} is too ` +
        `small for ${size}.`
    : `The memory is full: only ${free} are free, too few for ${size}.`;
};

const result = (state) => {
  const pool = play(state);
  if (isOwn(state)) return ownResult(state, pool);
  const length = lengthsOf(state)[state.count - 1];
  const failed = failure(state);
  if (failed && failed < state.count)
    return `The program ended with minibatch ${failed}, which did not fit.`;
  const start = `Minibatch ${state.count}, of length ${length},`;
  if (pool.failed)
    return (
      `${start} fails: its request of ${pool.failed.size} MiB does not fit, although ` +
      `${CARD - pool.allocated} of ${CARD} MiB are free.`
    );
  return (
    `${start} fits: it allocates ${pool.allocated} MiB, and ${pool.reserved} MiB are ` +
    "reserved."
  );
};

const summary = (state) =>
  "A map of the memory with its pieces and gaps" +
  `${isOwn(state) ? "" : ", and bars for the memory in each minibatch"}. ` +
  `${result(state)} A table below has the numbers.`;

const log = (state) => {
  if (!isOwn(state)) return [];
  const requests = ownRequests(state);
  return requests.map((request, i) => {
    const pool = playRequests(setting(state), requests.slice(0, i + 1));
    if ("free" in request) return [`block.free('${request.free}')`, ""];
    const code = `block.allocate('${request.name}', ${request.size})`;
    return pool.failed ? [code, "does not fit", "error"] : [code, ""];
  });
};

const formula = (state) => {
  const pool = play(state);
  const free = pool.reserved - pool.allocated;
  return [
    `${POLICIES[state.policy]}: ${freeText(state, pool)}.`,
    `reserved − allocated = ${pool.reserved} − ${pool.allocated} = ${free}${unit(state)}`,
    ...(isOwn(state)
      ? []
      : [
          `a minibatch: ${LAYERS} · its length + ${RESULT} MiB that stay for ${KEPT} ` +
            "minibatches",
        ]),
  ];
};

const table = (state) => {
  if (!isOwn(state)) {
    const failed = failure(state) || LENGTHS.length;
    const rows = lengthsOf(state)
      .slice(0, Math.min(state.count, failed))
      .map((length, i) => {
        const pool = play(state, i + 1);
        const outcome = pool.failed ? "fails" : "fits";
        return [i + 1, length, pool.allocated, pool.reserved, outcome];
      });
    return { head: ["minibatch", "length", "allocated", "reserved", "result"], rows };
  }
  const { pieces, gaps } = layout(play(state));
  const rows = [...pieces, ...gaps.map(([from, to]) => [from, to, "free"])]
    .sort(([a], [b]) => a - b)
    .map(([from, to, name]) => [name, from, to, to - from]);
  return { head: ["piece", "from", "to", "size"], rows };
};

const SOURCE = "https://github.com/pytorch/pytorch/blob/main/c10/cuda/CUDACachingAllocator.cpp";
const NOTES = [
  "One block follows the class Block of this section. Segments follow PyTorch " +
    `([CUDACachingAllocator.cpp](${SOURCE})): a request of at most 1 MiB takes a ` +
    "piece of a segment of 2 MiB, a request of less than 10 MiB a piece of a segment " +
    "of 20 MiB, and a larger request has a segment of its own, in multiples of 2 " +
    "MiB. PyTorch divides the smallest free piece that is large enough. If the " +
    "driver has no memory left, segments without pieces go back to it.",
  "An expandable segment has as many addresses as it needs. Pages of 2 MiB are " +
    "mapped where a piece needs them, and free pages are taken from elsewhere. The " +
    "model leaves out streams and the rounding of requests to 512 bytes. The lengths " +
    "of the minibatches are assumed.",
];

// Settings

const accepts = (did) =>
  listOf(did).length <= MOST_ACTIONS &&
  listOf(did).every((text) => /^(f[a-x]|[1-9]\d?|100)$/.test(text));

/** Return a state with one more action; an action after a failed one replaces it. */
const act = (action) => (state) => {
  const list = listOf(state.did);
  const kept = play(state).failed ? list.slice(0, -1) : list;
  if (kept.length >= MOST_ACTIONS) return state;
  const next = action(state, play({ ...state, did: textOf(kept) }));
  return { ...state, did: textOf([...kept, ...next]) };
};

const has = (pool, name) =>
  pool.segments.some(({ pieces }) => pieces.some((piece) => piece.name === name));

const free = (name) => act((_, pool) => (has(pool, name) ? [`f${name}`] : []));

/** Whether the chosen piece is there to be freed; if not, the next step is to allocate. */
const canFree = (state) => has(play(state), state.piece);

const SEQUENCES = {
  own: "those in the text, then your own",
  come: "minibatches, as they come",
  padded: "minibatches, padded to 30, 60 or 90",
  longest: "minibatches, the longest first",
};
const ALLOCATORS = {
  block: "one block",
  segments: "segments, as in PyTorch",
  expandable: "an expandable segment",
};
const FITS = { first: "the first that fits", best: "the smallest that fits" };
const LETTERS = Array.from({ length: MOST_ACTIONS }, (_, i) => letter(i));
const isBatch = (state) => !isOwn(state);

export default figure({
  name: "allocator",
  controls: [
    ...more(
      select("sequence", "Requests", SEQUENCES, "own"),
      select("policy", "Allocator", ALLOCATORS, "block"),
    ),
    range("count", "Minibatches so far", [1, LENGTHS.length, 1], LENGTHS.length, {
      when: isBatch,
    }),
    range("size", "Size of your request", [5, OWN, 5], 50, { when: isOwn }),
    ...more(
      select("piece", "Piece to free", LETTERS, "b", { when: isOwn }),
      select("fit", "Gap chosen in one block", FITS, "first"),
    ),
    hidden("did", accepts, TEXT),
  ],
  actions: [
    {
      label: ({ piece }) => `Free ${piece}`,
      main: canFree,
      run: (state) => free(state.piece)(state),
      when: isOwn,
    },
    {
      label: ({ size }) => `Allocate ${size}`,
      main: (state) => !canFree(state),
      run: act(({ size }) => [String(size)]),
      when: isOwn,
      motion: (before, after) => (placed(before, after) ? 500 : 0),
    },
    {
      label: "Free all",
      run: (state) => ({ ...state, did: "none" }),
      when: isOwn,
    },
  ],
  invite: "Touch b to free it, and then press “Allocate 50” again.",
  touch: (state, name) => free(name)({ ...state, piece: name }),
  notes: () => NOTES,
  ...{ draw, summary, result, log, formula, table },
  ...{ failure }, // for tests
});
