/* The pipeline: two orders of the work of some stages on the microbatches of a step. The
 * reader chooses their numbers, and sees how long the stages are idle and what they hold.
 */
import { percent, round, plural } from "./arithmetic.js";
import * as pipeline from "./pipeline-arithmetic.js";
import { each, label, path, vertical, timeAxis, until, chart } from "./chart.js";
import { steps, more } from "./controls.js";
import { figure } from "./explorable.js";

const { area, sheet, legend } = chart("pipeline");

const SCHEDULES = ["GPipe", "1F1B"];
const RUN = 2000; // ms of a step before the reader's eyes

/** Return the spans of all stages in both orders. */
const runs = ({ microbatches, stages, backward }) =>
  SCHEDULES.map((name) => {
    const spans = pipeline.times(name, stages, microbatches, 1, backward);
    const most = spans.map(pipeline.mostHeld);
    return { name, spans, most, total: pipeline.total(spans) };
  });

/** Return the spans of a stage in which it is idle. */
const gaps = (list, total) => {
  const starts = [...list.map(({ start }) => start), total];
  const ends = [0, ...list.map(({ end }) => end)];
  return starts
    .map((end, i) => ({ kind: "idle", start: ends[i], end }))
    .filter(({ start, end }) => end - start > 1e-9);
};

// The drawing

const KINDS = {
  forward: ["s1", "forward pass"],
  backward: ["s3", "backward pass"],
  idle: ["wait", "idle: the bubble"],
  held: ["s2 solid plain", "microbatches held"],
};
const [FIRST, ROW, TALL] = [30, 24, 20];

/** Return the places of a drawing: the timelines, and the bars beside them. */
const frameOf = ({ stages }, width) => {
  const isNarrow = width < 480;
  const [left, beside] = isNarrow ? [18, 58] : [58, 110];
  return { isNarrow, left, right: width - beside, beside, tall: FIRST + stages * ROW };
};

const block = ({ kind, number, start, end }, left, y, scale) => {
  const wide = (end - start) * scale;
  const box = area(KINDS[kind][0], left + start * scale, y, wide, TALL);
  if (number === undefined || wide < 7 * String(number).length + 3) return box;
  const middle = left + ((start + end) / 2) * scale;
  return box + label(middle, y + 15, number, "ink small", "middle");
};

/** Return a bar for the microbatches that a stage holds, and its most. */
const holdingBar = (count, most, all, x, y, wide) => {
  const scale = (wide - 22) / all;
  const end = x + Math.max(count, most) * scale;
  return (
    area("s2 solid plain", x, y + 3, count * scale, TALL - 6) +
    path(`M${x} ${y + 3}h${most * scale}v${TALL - 6}h${-most * scale}Z`, "axis") +
    label(end + 5, y + 15, count, "ink small")
  );
};

const timeline = (run, state, top, now, frame) => {
  const { isNarrow, left, right, beside } = frame;
  const scale = (right - left) / run.total;
  const rows = run.spans.map((list, stage) => {
    const y = top + FIRST + stage * ROW;
    const done = until([...gaps(list, run.total), ...list], now);
    const count = now < run.total ? pipeline.held(list, now) : run.most[stage];
    return (
      label(0, y + 15, isNarrow ? stage : `stage ${stage}`, "soft small") +
      each(done, (span) => block(span, left, y, scale)) +
      holdingBar(count, run.most[stage], state.microbatches, right + 10, y, beside - 10)
    );
  });
  const bottom = top + frame.tall;
  const x = left + now * scale;
  return (
    label(left, top + 20, run.name, "ink strong") +
    label(right + 10, top + 20, isNarrow ? "held" : now < run.total ? "held" : "held at most", "soft small") +
    rows.join("") +
    (now < run.total ? vertical(x, top + FIRST - 4, bottom, "now") : "")
  );
};

const draw = (state, width, motion) => {
  const frame = frameOf(state, width);
  const both = runs(state);
  const { total } = both[0];
  const now = motion ? motion.part * total : total;
  const bottom = 2 * frame.tall + 8;
  const { left, right, isNarrow } = frame;
  const place = { left, right: width - right, y: bottom, width };
  const across = isNarrow ? [1, 150] : [1, 138, 288, 446];
  const legendPlace = (i) => [
    across[i % across.length],
    bottom + 56 + 24 * Math.floor(i / across.length),
  ];
  return sheet(
    width,
    bottom + (isNarrow ? 104 : 80),
    both.map((run, i) => timeline(run, state, i * frame.tall, now, frame)).join(""),
    timeAxis(total, place, String),
    label(left, bottom + 40, "time, in forward passes of a microbatch", "soft small"),
    legend(Object.values(KINDS), legendPlace),
  );
};

// In words

const result = (state) => {
  const { microbatches, stages } = state;
  const [gpipe, other] = runs(state).map(({ most }) => Math.max(...most));
  const idle = pipeline.bubble(stages, microbatches);
  const gpus = plural(round(stages * (1 - idle), 2), "busy GPU");
  const holds =
    gpipe === other
      ? `both orders hold at most ${other}`
      : `GPipe holds all ${gpipe} at once, and 1F1B at most ${other}`;
  return (
    `With ${plural(microbatches, "microbatch", "microbatches")}, ${stages} stages are idle for ` +
    `${percent(idle)} of a step, in both orders, and as fast as ${gpus}; ${holds}.`
  );
};

const summary = (state) => {
  const { microbatches, stages } = state;
  return (
    `Two timelines with a row for each of ${stages} stages, for ` +
    `${plural(microbatches, "microbatch", "microbatches")}. In GPipe, all forward passes come ` +
    "before the backward passes. In 1F1B, a stage alternates between the two as soon as it can. " +
    "Both take the same time. Bars beside the rows are the microbatches that each stage holds at " +
    `most. ${result(state)}`
  );
};

const formula = (state) => {
  const { microbatches: m, stages: p, backward } = state;
  const [{ total }] = runs(state);
  return [
    `step: (m + p − 1) · (1 + ${backward}) = (${m} + ${p} − 1) · ${1 + backward} = ` +
      `${total} forward passes of a microbatch`,
    `idle: (p − 1) / (m + p − 1) = ${p - 1} / ${m + p - 1} = ` +
      `${percent(pipeline.bubble(p, m), 2)}`,
    `held by stage s at most: GPipe m = ${m}; 1F1B min(m, p − s), so ${Math.min(m, p)} by stage 0 ` +
      `and 1 by stage ${p - 1}`,
    `share of the minibatch's activations in stage 0: GPipe 100 %, 1F1B ${Math.min(m, p)} / ${m} ` +
      `= ${percent(Math.min(m, p) / m)}`,
  ];
};

const table = (state) => {
  const [gpipe, other] = runs(state);
  const idle = (run, stage) =>
    percent(gaps(run.spans[stage], run.total).reduce((sum, { start, end }) => sum + end - start, 0) / run.total);
  return {
    head: ["stage", "GPipe: idle", "held", "1F1B: idle", "held"],
    rows: gpipe.spans.map((_, stage) => [
      stage,
      ...[gpipe, other].flatMap((run) => [idle(run, stage), String(run.most[stage])]),
    ]),
  };
};

const NOTES = [
  "The schedules are those of `pipeline_times` in the library. All stages take the same time, and " +
    "messages take none. The number of a box is that of the microbatch.",
  "The minibatch stays the same, so with more microbatches each of them is smaller. That a small " +
    "microbatch may leave a GPU partly busy is not in these numbers.",
];

export default figure({
  name: "pipeline",
  controls: [
    steps("microbatches", "Microbatches", [1, 2, 3, 4, 6, 8, 12, 16, 24, 32], 8),
    steps("stages", "Stages", [2, 3, 4, 6, 8], 4),
    ...more(
      steps("backward", "A backward pass takes", [1, 1.5, 2, 3], 2, {
        format: (times) => (times === 1 ? "as long" : `${times} times as long`),
      }),
    ),
  ],
  actions: [{ label: "Run the step", motion: () => RUN }],
  invite: "Drag the first slider: the bubble shrinks. What does each order hold?",
  notes: () => NOTES,
  ...{ draw, summary, result, formula, table },
  ...{ runs }, // for tests
});
