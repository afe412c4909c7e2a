/* The loop of the trainer: its lines, how often each runs, and the time of its copies. The
 * reader chooses the size of a minibatch and the number of epochs.
 */
import { time, size, plural, MICRO, GIGA } from "./arithmetic.js";
import { cards } from "./cards.js";
import { tag, each, label, path, logarithmic, chart } from "./chart.js";
import { select, steps, more, doubled } from "./controls.js";
import { figure } from "./explorable.js";

const { area, sheet, stack, legend } = chart("loop");

const RUN = 2000; // ms of a fit before the reader's eyes
const START = 10 * MICRO; // to start a copy, as in the section
const LINK = cards.H100.pcie * GIGA;

// Images for training and validation, and the bytes of one and of the model
const DATA = {
  digits: { name: "digits, 8 × 8", train: 1437, val: 360, image: 64 * 4, model: 19e3 },
  large: { name: "96 × 96, for a ResNet-18", train: 60000, val: 10000, image: 96 ** 2 * 4, model: 45e6 },
};

// The lines of the loop: [indent, text, event]; a line that only repeats others has none.
const LINES = [
  [0, "prepare_model(model)", "model"],
  [0, "before_fit()", "fit"],
  [0, "for epoch in epochs:"],
  [1, "for batch in train:"],
  [2, "prepare_batch(batch)", "batch"],
  [2, "before_step(batch)", "before"],
  [2, "train_step(batch)", "step"],
  [2, "after_step()", "after"],
  [1, "for batch in val:"],
  [2, "prepare_batch(batch)", "valBatch"],
  [2, "val_step(batch)", "valStep"],
  [1, "after_epoch()", "epoch"],
];
const EVENTS = LINES.flatMap(([, , event]) => event ?? []);
const MOVES = ["model", "batch", "valBatch"];
const TRAIN = ["batch", "before", "step", "after"];
const VAL = ["valBatch", "valStep"];

/** Return the minibatches of an epoch, for training and for validation. */
const minibatches = ({ data, batch }) =>
  [DATA[data].train, DATA[data].val].map((images) => Math.ceil(images / batch));

/** Return how often each event has happened after `done` of them, and the next one. */
const countsAt = (state, done) => {
  const [train, val] = minibatches(state);
  const inEpoch = TRAIN.length * train + VAL.length * val + 1;
  const past = Math.max(0, done - 2);
  const epochs = Math.floor(past / inEpoch);
  const rest = past - epochs * inEpoch;
  const inTrain = Math.min(rest, TRAIN.length * train);
  const inVal = rest - inTrain;
  const of = (names, batches, some) =>
    names.map((name, i) => [name, epochs * batches + Math.ceil((some - i) / names.length)]);
  const counts = Object.fromEntries([
    ["model", Math.min(done, 1)],
    ["fit", Math.min(Math.max(0, done - 1), 1)],
    ...of(TRAIN, train, inTrain),
    ...of(VAL, val, inVal),
    ["epoch", epochs],
  ]);
  const next = () => {
    if (done < 2) return EVENTS[done];
    if (inTrain < TRAIN.length * train) return TRAIN[inTrain % TRAIN.length];
    return inVal < VAL.length * val ? VAL[inVal % VAL.length] : "epoch";
  };
  return { counts, next: next() };
};

/** Return the calls of a whole fit. */
const callsOf = (state) => {
  const [train, val] = minibatches(state);
  return 2 + state.epochs * (TRAIN.length * train + VAL.length * val + 1);
};

/** Return what the copies of a fit take. */
const numbers = (state) => {
  const { train, val, image, model } = DATA[state.data];
  const { counts } = countsAt(state, callsOf(state));
  const moved = counts.batch + counts.valBatch;
  const copies = 2 * moved; // images and labels
  const bytes = state.epochs * (train + val) * image;
  return { counts, moved, copies, bytes, model, starts: copies * START, transfer: bytes / LINK };
};

// The drawing: the lines with their counts, above the time of the copies

const [TOP, ROW, TALL] = [24, 22, 14];
const [CODE, COUNT] = [196, 62]; // widths
const MOST = 1e6; // calls
const MARK = 14;

const isMoving = (event) => MOVES.includes(event);

const listing = ({ counts, next }, width, isRunning) => {
  const left = MARK + CODE;
  const x = logarithmic([1, MOST], [2, width - left - COUNT]);
  return each(LINES, ([indent, text, event], i) => {
    const y = TOP + i * ROW;
    const count = counts[event];
    const here = isRunning && event === next ? path(`M1 ${y + 3}l9 6l-9 6Z`, "head") : "";
    const code = tag(
      "text",
      { x: MARK + 14 * indent, y: y + 14, class: "ink small", "font-family": "ui-monospace, monospace" },
      text,
    );
    if (!count) return here + code + (event ? label(left + 4, y + 14, "0", "ink small") : "");
    const wide = x(count);
    return (
      here +
      code +
      area(isMoving(event) ? "s1 solid" : "s3", left, y + 2, wide, TALL) +
      label(left + wide + 6, y + 14, count.toLocaleString("en-US"), "ink small")
    );
  });
};

const BELOW = TOP + LINES.length * ROW + 56;

const linkBar = ({ starts, transfer }, width) => {
  const scale = (width - 2) / (starts + transfer);
  return (
    label(1, BELOW, `all copies of minibatches take ${time(starts + transfer)}`, "ink small strong") +
    stack([["s2", starts * scale], ["s1 solid", transfer * scale]], 1, BELOW + 8, 20) +
    legend(
      [["s2", `to start them: ${time(starts)}`], ["s1 solid", `for their bytes: ${time(transfer)}`]],
      (i) => [1 + (width < 400 ? 0 : 210 * i), BELOW + 38 + (width < 400 ? 22 * i : 0)],
    )
  );
};

const draw = (state, width, motion) => {
  const all = callsOf(state);
  const done = motion ? Math.floor(motion.part * all) : all;
  const isRunning = done < all;
  return sheet(
    width,
    BELOW + (width < 400 ? 80 : 58),
    label(MARK, 12, "fit", "soft small"),
    label(MARK + CODE, 12, width < 480 ? "how often" : "how often each line runs, on a logarithmic scale", "soft small"),
    listing(countsAt(state, done), width, isRunning),
    legend([["s1 solid", "moves to the GPU"], ["s3", "moves nothing"]], (i) => [
      1 + 160 * i,
      TOP + LINES.length * ROW + 8,
    ]),
    linkBar(numbers(state), width),
  );
};

// In words

const result = (state) => {
  const { moved, starts, transfer, model, bytes } = numbers(state);
  const pays = starts > transfer ? "the number of copies" : "the bytes";
  return (
    `In ${plural(state.epochs, "epoch")}, the model moves once, with ${size(model, 2)}, and ` +
    `${moved.toLocaleString("en-US")} minibatches of at most ${state.batch} move ${size(bytes, 2)}: you pay for ${pays}.`
  );
};

const summary = (state) => {
  const { counts } = numbers(state);
  const lines = LINES.filter(([, , event]) => event).map(
    ([, text, event]) => `${String(text).split("(")[0]} ${counts[event].toLocaleString("en-US")}`,
  );
  return (
    "The lines of the training loop, each with a bar for how often it runs, on a logarithmic scale: " +
    `${lines.join(", ")}. Only prepare_model and prepare_batch move something to the GPU. Below, a bar ` +
    `of the time of the copies, divided into starting them and moving their bytes. ${result(state)}`
  );
};

const formula = (state) => {
  const { train, val, image } = DATA[state.data];
  const { moved, copies, bytes, starts, transfer } = numbers(state);
  const [trains, vals] = minibatches(state);
  const { epochs, batch } = state;
  return [
    `minibatches of an epoch: ⌈${train} / ${batch}⌉ + ⌈${val} / ${batch}⌉ = ${trains} + ${vals}`,
    `copies, of images and labels: ${epochs} · 2 · ${trains + vals} = ${copies}`,
    `to start them: ${copies} · ${time(START)} = ${time(starts)}`,
    `bytes of the images: ${epochs} · ${train + val} · ${image} = ${size(bytes)}, at 64 GB/s ${time(transfer)}`,
    `minibatches in all: ${epochs} · ${trains + vals} = ${moved}`,
  ];
};

const table = (state) => ({
  head: ["minibatch", "minibatches", "copies", "to start them", "for their bytes"],
  rows: BATCHES.map((batch) => {
    const { moved, copies, starts, transfer } = numbers({ ...state, batch });
    return [batch, moved, copies, time(starts), time(transfer)];
  }),
  chosen: BATCHES.indexOf(state.batch),
});

const NOTES = [
  "A callback has four methods, and the trainer calls them for each callback. Each minibatch is a pair " +
    "of arrays, images and labels, so it takes two copies; the bytes of the labels are left out.",
  "The section’s numbers: a copy starts in 10 µs, and PCIe carries 64 GB/s to an H100. The copies take " +
    "this time whether or not the GPU computes meanwhile. The large images are 60,000 for training and " +
    "10,000 for validation.",
];

const BATCHES = doubled(8, 1024);

export default figure({
  name: "loop",
  controls: [
    steps("batch", "Images in a minibatch", BATCHES, 64),
    steps("epochs", "Epochs", [1, 2, 3, 5, 10, 20], 10),
    ...more(select("data", "Images", DATA, "digits")),
  ],
  actions: [{ label: "Run fit", motion: () => RUN }],
  invite: "Which lines run more often with more epochs, and which only once?",
  notes: () => NOTES,
  ...{ draw, summary, result, formula, table },
  ...{ numbers, countsAt, callsOf }, // for tests
});
