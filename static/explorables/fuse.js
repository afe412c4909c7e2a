/* Fusion by hand: a program of eight lines, of which the reader fuses neighbors into one
 * kernel. The drawing shows which arrays still pass through the memory, and how long that
 * takes.
 */
import { time, size, bandwidth, rate, round, plural, productFlops, GIGA, TERA } from "./arithmetic.js";
import * as performance from "./performance-arithmetic.js";
import { cards } from "./cards.js";
import { each, tag, label, path, dot, chart } from "./chart.js";
import { select, range, hidden, more } from "./controls.js";
import { figure } from "./explorable.js";

const { area, sheet, bars, legend } = chart("fuse");

const N = 4000; // Arrays are N by N values of 32 bits.
const ARRAY = 4 * N ** 2;
const RUN = 1800; // ms in which the program runs before the reader's eyes, line by line

const lineOf = (text) => {
  const [name, code] = text.split(" = ");
  return { name, code, reads: code.match(/\b[a-zW]\b/g), isProduct: code.includes("@") };
};

/** The programs; the first one is `gelu` of the section, an operation in each line. */
const PROGRAMS = {
  gelu: {
    ...{ name: "GELU", subject: "GELU" },
    lines: [
      ...["a = 0.5 * x", "b = x ** 3", "c = 0.04 * b", "d = x + c"],
      ...["e = 0.8 * d", "f = tanh(e)", "g = 1 + f", "y = a * g"],
    ].map(lineOf),
  },
  layer: {
    ...{ name: "a layer with a matrix product", subject: "the layer" },
    lines: [
      ...["a = 0.5 * x", "b = a - 1", "c = b @ W", "d = 0.8 * c"],
      ...["e = tanh(d)", "f = 1 + e", "g = c * f", "y = x + g"],
    ].map(lineOf),
  },
};
const JOINTS = 7;

const SHOWN = ["T4", "RTX 4090", "A100", "H100", "H200", "B200"];
/** @type {Record<string, any>} */
const CARDS = Object.fromEntries(
  SHOWN.map((name) => [name.toLowerCase().replace(" ", ""), { name, ...cards[name] }]),
);

// ms on an RTX 4090, line by line and compiled
const PUBLISHED = { gelu: { rtx4090: [1.25, 0.15] } };

const linesOf = (state) => PROGRAMS[state.program].lines;
const cardOf = (state) => CARDS[state.card];

/** Whether a product keeps a joint open; joint 1 is between the first two lines. */
const isOpen = (state, joint) =>
  linesOf(state).slice(joint - 1, joint + 1).some(({ isProduct }) => isProduct);

const isFused = (state, joint) => state.joints[joint - 1] === "1" && !isOpen(state, joint);
const ALL = Array.from({ length: JOINTS }, (_, i) => i + 1);

/** Return a state whose joints are fused if `is`(joint). */
const withJoints = (state, is) => ({
  ...state,
  joints: ALL.map((joint) => (is(joint) && !isOpen(state, joint) ? "1" : "0")).join(""),
});
const separate = (state) => withJoints(state, () => false);
const complete = (state) => withJoints(state, () => true);
const toggled = (state, joint) =>
  withJoints(state, (other) => isFused(state, other) !== (other === joint));

/** Return the kernels of a state, with the bytes and the time of each. */
const kernelsOf = (state) => {
  const { bandwidth: memory, fp32 } = cardOf(state);
  const machine = { rate: fp32 * TERA, bandwidth: memory * GIGA, overhead: 0 };
  const fused = ALL.map((joint) => isFused(state, joint));
  return performance.kernels(linesOf(state), fused).map((kernel) => {
    const arrays = kernel.reads.length + kernel.writes.length;
    const isProduct = kernel.lines.some((line) => line.isProduct);
    const work = { flops: isProduct ? productFlops(N) : 0, bytes: arrays * ARRAY, calls: 1 };
    return { ...kernel, ...work, arrays, time: performance.bound(machine, work).time };
  });
};

const sum = (list, key) => list.reduce((total, one) => total + one[key], 0);
const bytesOf = (state) => sum(kernelsOf(state), "bytes");
const timeOf = (state) => sum(kernelsOf(state), "time");

/** Return the bytes that fusing a joint saves, whether it is fused or not. */
const saving = (state, joint) =>
  Math.abs(bytesOf(state) - bytesOf(toggled(state, joint)));

/** Return the published times of a state: [separate, compiled] in seconds. */
const published = ({ program, card }) => (PUBLISHED[program]?.[card] ?? []).map((ms) => ms / 1000);

// The drawing: the lines in boxes for the kernels, and beside each the arrays that it uses

const TOP = 28;
const ROW = 34;
const BOTTOM = TOP + 8 * ROW;
const TILE = { width: 34, height: 22 };

const places = (width) => {
  const isWide = width >= 480;
  const code = isWide ? 190 : 124;
  const step = isWide ? 52 : 40;
  return {
    ...{ isWide, code, width, joint: code - 18 },
    tile: (i) => code + (isWide ? 28 : 8) + i * step + (i === 2 ? (isWide ? 20 : 10) : 0),
  };
};

/** Return the boxes of the kernels, each with its bytes and its time. */
const boxes = (kernels, place) => {
  let y = TOP;
  return each(kernels, ({ lines, bytes, flops, time: seconds }) => {
    const tall = lines.length * ROW;
    y += tall;
    const kind = flops ? "s2" : "box";
    const box = { x: 1, y: y - tall + 3, width: place.code, height: tall - 6, rx: 6, class: kind };
    const text = place.isWide ? `${size(bytes)}, ${time(seconds)}` : size(bytes);
    const beside = label(place.width - 1, y - tall / 2 + 5, text, "soft small", "end");
    return tag("rect", box) + (place.width < 300 ? "" : beside);
  });
};

/** Return the arrays of the lines in the order of time: {row, column, name, kind, at}. */
const tilesOf = (kernels) => {
  const tiles = [];
  let [row, start] = [0, 0];
  for (const kernel of kernels) {
    const seen = new Set(kernel.lines.map(({ name }) => name));
    const step = kernel.time / kernel.arrays;
    let moved = 0;
    const add = (column, name, kind) => {
      const isMoved = kind !== "idle";
      if (isMoved) moved += 1;
      tiles.push({ row, column, name, kind, at: isMoved ? start + moved * step : 0 });
    };
    for (const { name, reads } of kernel.lines) {
      reads.forEach((read, i) => {
        add(i + 2 - reads.length, read, seen.has(read) ? "idle" : "s1");
        seen.add(read);
      });
      add(2, name, kernel.writes.includes(name) ? "s3" : "idle");
      row += 1;
    }
    start += kernel.time;
  }
  return tiles;
};

const rowsOfTiles = (kernels, place, now) =>
  each(tilesOf(kernels), ({ row, column, name, kind, at }) => {
    const [x, y] = [place.tile(column), TOP + row * ROW + (ROW - TILE.height) / 2];
    const isDone = kind === "idle" || at <= now;
    const shade = kind === "idle" ? kind : `${kind}${isDone ? " solid" : ""}`;
    const text = kind === "idle" ? "soft small" : "ink small strong";
    return (
      area(shade, x, y, TILE.width, TILE.height) +
      label(x + TILE.width / 2, y + 16, name, text, "middle")
    );
  });

const arrows = (place) =>
  each([...Array(8).keys()], (row) => {
    const x = place.tile(2) - 4;
    const y = TOP + (row + 0.5) * ROW;
    return path(`M${x - (place.isWide ? 22 : 11)} ${y}H${x}m-4 -4l4 4l-4 4`, "axis");
  });

const codes = (state) =>
  each(linesOf(state), ({ name, code }, row) =>
    label(10, TOP + (row + 0.5) * ROW + 5, `${name} = ${code}`, "ink small"),
  );

/** Return the joints, which a click fuses or cuts, with a ring around the chosen one. */
const joints = (state, place) =>
  each(ALL, (joint) => {
    if (isOpen(state, joint)) return "";
    const [x, y] = [place.joint, TOP + joint * ROW];
    const fused = isFused(state, joint);
    const chosen = { cx: x, cy: y, r: 13, class: "dashed" };
    return tag(
      "g",
      { "data-touch": joint },
      tag("title", {}, `joint ${joint}: ${fused ? "cut" : "fuse"}`),
      tag("rect", { x: 1, y: y - 12, width: place.code, height: 24, "fill-opacity": 0 }),
      joint === state.joint ? tag("circle", chosen) : "",
      dot(x, y, 9, fused ? "s1" : "ring"),
      path(`M${x - 4.5} ${y}h9${fused ? "" : `M${x} ${y - 4.5}v9`}`, "line1"),
    );
  });

/** Return bars of the times: line by line, as drawn up to a part, and all fused. */
const times = (state, place, part) => {
  const seconds = [separate(state), state, complete(state)].map(timeOf);
  const [slow, fast] = published(state);
  const known = [slow, undefined, fast];
  const left = 92;
  const room = slow && place.isWide ? 180 : 66;
  const scale = (place.width - left - room) / Math.max(...seconds, slow ?? 0);
  const rows = ["line by line", "as drawn", "all fused"].map((name, i) => {
    const beside = known[i] && place.isWide ? `, published ${time(known[i])}` : "";
    const wide = Math.max(1, seconds[i] * scale * (i === 1 ? part : 1));
    return [wide, i === 1 ? "s1 solid" : "s1", name, `${time(seconds[i])}${beside}`, i === 1];
  });
  return bars({ left, top: BOTTOM + 44, tall: 18, row: 26 }, rows);
};

const KINDS = [
  ["s1 solid", "read from memory"],
  ["s3 solid", "written to memory"],
  ["idle", "in registers"],
];

const draw = (state, width, motion) => {
  const place = places(width);
  const kernels = kernelsOf(state);
  const part = motion?.part ?? 1;
  const across = place.isWide ? [1, 180, 364] : [1, 152, 1];
  const lower = place.isWide ? 0 : 22;
  return sheet(
    width,
    BOTTOM + 126 + lower,
    label(1, 16, plural(kernels.length, "kernel"), "ink small strong"),
    label(place.tile(0), 16, "arrays", "ink small strong"),
    boxes(kernels, place),
    codes(state),
    arrows(place),
    rowsOfTiles(kernels, place, part * timeOf(state) * (1 + 1e-9)),
    joints(state, place),
    legend(KINDS, (i) => [across[i], BOTTOM + 12 + (i === 2 ? lower : 0)]),
    tag("g", { transform: `translate(0 ${lower})` }, times(state, place, part)),
  );
};

// In words

const nameOf = (state) => PROGRAMS[state.program].name;

/** Return what the chosen joint saves, as the end of a sentence. */
const ofJoint = (state) => {
  const { joint } = state;
  if (isOpen(state, joint)) return `the product keeps joint ${joint} open`;
  const would = isFused(state, joint) ? "saves" : "would save";
  return `joint ${joint} ${would} ${size(saving(state, joint))}`;
};

const result = (state) => {
  const { length } = kernelsOf(state);
  const { subject } = PROGRAMS[state.program];
  const factor = round(timeOf(separate(state)) / timeOf(state));
  const faster = factor > 1 ? `, ${factor} times as fast as line by line` : "";
  return (
    `In ${plural(length, "kernel")}, ${subject} moves ${size(bytesOf(state))} and takes ` +
    `${time(timeOf(state))} on ${/^[AHR]/.test(cardOf(state).name) ? "an" : "a"} ` +
    `${cardOf(state).name}${faster}; ${ofJoint(state)}.`
  );
};

const summary = (state) =>
  `The lines of ${nameOf(state)} in boxes for the kernels, with the arrays that each line ` +
  `reads and writes, above bars of the times. ${result(state)} A table below has the joints.`;

const formula = (state) => {
  const { bandwidth: memory, fp32 } = cardOf(state);
  const counted = (name, one) =>
    `${name}: ${sum(kernelsOf(one), "arrays")} arrays, ${size(bytesOf(one))}, ${time(timeOf(one))}`;
  const product = kernelsOf(state).find(({ flops }) => flops);
  const [slow, fast] = published(state);
  return [
    `an array: 4 · ${N}² bytes = ${size(ARRAY)}, in ${time(ARRAY / (memory * GIGA))} at ` +
      bandwidth(memory * GIGA),
    counted("line by line", separate(state)),
    counted("as drawn", state),
    counted("all fused", complete(state)),
    product &&
      `the product takes the time of its FLOPs: 2 · ${N}³ / ${rate(fp32 * TERA)} = ` +
        `${time(product.time)}, in all three`,
    slow && `published: ${time(slow)} line by line, and ${time(fast)} compiled`,
  ];
};

const table = (state) => ({
  head: ["joint", "between", "now", "it saves"],
  rows: ALL.map((joint) => {
    const [above, below] = linesOf(state).slice(joint - 1).map(({ name }) => name);
    const now = isFused(state, joint) ? "fused" : "cut";
    return isOpen(state, joint)
      ? [String(joint), `${above}, ${below}`, "kept open", "–"]
      : [String(joint), `${above}, ${below}`, now, size(saving(state, joint))];
  }),
});

const NEU = "https://github.com/smolix/d2l-neu";
const ADA = "https://images.nvidia.com/aem-dam/Solutions/geforce/ada/nvidia-ada-gpu-architecture.pdf";
const NOTES = [
  "A kernel reads each array once, and writes what a later kernel reads. Its other results " +
    "stay in registers. An elementwise operation takes the time of its bytes, and the product " +
    "the longer one of its bytes and of its FLOPs, at the rate of the data sheet for 32 bits. " +
    "The time of the calls is left out, and so are caches.",
  "Each value of a product needs a whole row and a whole column, so its kernel works on tiles, " +
    "and usually comes from a library. PyTorch’s compiler makes three kernels of the layer for " +
    "an H100: two of its own, and the library’s product between them. Some kernels of products " +
    "can do what follows them, too (an epilogue), which would close the joint below.",
  `Published times of the chain on an RTX 4090: [Zhang et al., 2026](${NEU}). Its bandwidth ` +
    `and rate: [NVIDIA, Ada](${ADA}).`,
];

// Settings

const areJoints = (text) => /^[01]{7}$/.test(text);
const settle = (state, id) => (id === "program" ? separate(state) : state);

/** Return a state after a click on a joint. */
const touch = (state, name) => toggled({ ...state, joint: Number(name) }, Number(name));
const isComplete = (state) => state.joints === complete(state).joints;

export default figure({
  name: "fuse",
  card: "card",
  controls: [
    select("program", "Program", PROGRAMS, "gelu"),
    range("joint", "Joint", [1, JOINTS, 1], 4),
    ...more(select("card", "Card", CARDS, "rtx4090")),
    hidden("joints", areJoints, "0".repeat(JOINTS)),
  ],
  actions: [
    {
      label: (state) => (isComplete(state) ? "Cut all" : "Fuse all"),
      run: (state) => (isComplete(state) ? separate : complete)(state),
      main: true,
    },
    {
      label: (state) => `${isFused(state, state.joint) ? "Cut" : "Fuse"} joint ${state.joint}`,
      run: (state) => toggled(state, state.joint),
      when: (state) => !isOpen(state, state.joint),
    },
    { label: "Run", motion: (_, state) => (RUN * timeOf(state)) / timeOf(separate(state)) },
  ],
  invite: "Click the joints between the lines: which one saves only 64 MB?",
  notes: () => NOTES,
  ...{ settle, touch, draw, summary, result, formula, table },
  ...{ kernelsOf, saving, published, CARDS }, // for tests
});
