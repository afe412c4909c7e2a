/* The interval between checkpoints: a day of a large job, with failures at random times. The
 * reader chooses how often the job saves, and sees which time is lost to saves and which to
 * work that has to be done again.
 */
import { percent, round, plural } from "./arithmetic.js";
import * as checkpoint from "./checkpoint-arithmetic.js";
import { each, label, path, line, vertical, dot } from "./chart.js";
import { linear, logarithmic, grid, until, chart } from "./chart.js";
import { steps, more, doubled, hidden } from "./controls.js";
import { figure } from "./explorable.js";

const { area, sheet } = chart("checkpoints");

const DAY = 24 * 60; // all times are in minutes
const MINUTES = [2, 3, 4, 5, 7, 10, 14, 19, 25, 35, 50, 60, 80, 120, 180, 240];
const SAVES = [5, 10, 20, 30, 60, 120, 300]; // s
const RUN = 1800; // ms in which the day passes before the reader's eyes

// Llama 3: 419 failures in 54 days on 16,384 GPUs. A GPU fails independently of the others.
const BETWEEN = (54 * DAY) / 419;
const GPUS = 16384;

/** Return the numbers of a state: the day and what is expected of many days. */
const numbers = ({ interval, save, gpus, day }) => {
  const mean = (BETWEEN * GPUS) / gpus;
  const minutes = save / 60;
  const times = checkpoint.failures(Number(day), mean, DAY);
  const spans = checkpoint.runWithFailures(times, interval, minutes, DAY);
  const sums = checkpoint.timeOfKinds(spans);
  const best = checkpoint.bestInterval(minutes, mean);
  const average = (every) => checkpoint.meanLostShare(every, minutes, mean);
  const formula = (every) => checkpoint.formulaShare(every, minutes, mean);
  return { mean, minutes, times, spans, sums, best, average, formula, lost: 1 - sums.work / DAY };
};

/** Return a time as "19 min" or "3.1 h". */
const span = (minutes) =>
  minutes < 100 ? `${round(minutes, 2)}\u00a0min` : `${round(minutes / 60, 2)}\u00a0h`;
const minutesOf = (interval) => `${interval}\u00a0min`;
const secondsOf = (save) => (save < 60 ? `${save}\u00a0s` : `${save / 60}\u00a0min`);

// The drawing: the day in four rows above the share that each interval loses

const LEFT = 42;
const RIGHT = 14;
const ROWS = 4;
const [FIRST, ROW, TALL] = [32, 34, 20];
const LEGEND = FIRST + ROWS * ROW + 4;
const KINDS = { work: "s3 plain", save: "s1 solid plain", lost: "wait" };
const WORDS = { work: "kept", save: "saves", lost: "lost work" };

/** Return the parts of a span in the rows: the number of the row, start and end. */
const inRows = ({ start, end }) =>
  Array.from({ length: ROWS }, (_, row) => {
    const [from, to] = [row, row + 1].map((i) => (i * DAY) / ROWS);
    return { row, start: Math.max(start, from) - from, end: Math.min(end, to) - from };
  }).filter((part) => part.end > part.start);

/** Return the work in one piece for each time without a failure, since the saves hide parts
 * of it. */
const runsOf = (spans) =>
  spans.reduce((found, { kind, start, end }) => {
    const before = found.at(-1);
    if (kind === "lost" || !before || before.end < start) found.push({ kind, start, end });
    else if (before.kind === "lost") found.push({ kind: "work", start, end });
    else before.end = end;
    return found;
  }, []);

const rowTop = (row) => FIRST + row * ROW;

const dayRows = (spans, failed, now, width) => {
  const scale = ((width - LEFT - RIGHT) * ROWS) / DAY;
  const boxes = (list, least) =>
    each(list, (one) =>
      each(inRows(one), ({ row, start, end }) =>
        area(KINDS[one.kind], LEFT + start * scale, rowTop(row), Math.max(least, (end - start) * scale), TALL),
      ),
    );
  const past = until(spans, now);
  const at = (moment) => {
    const row = Math.min(ROWS - 1, Math.floor((moment * ROWS) / DAY));
    return [LEFT + (moment - (row * DAY) / ROWS) * scale, rowTop(row)];
  };
  const marks = each(failed.filter((moment) => moment <= now), (moment) => {
    const [x, y] = at(moment);
    return path(`M${x} ${y - 1}l-4.5 -8h9Z`, "bad");
  });
  const [x, y] = at(now);
  return (
    each([0, 1, 2, 3], (row) => label(0, rowTop(row) + 15, `${6 * row} h`, "soft small")) +
    boxes(runsOf(past), 0) +
    boxes(past.filter(({ kind }) => kind === "save"), 0.6) +
    marks +
    (now < DAY ? vertical(x, y - 6, y + TALL + 4, "now") : "")
  );
};

/** Return the names of the colors with the times of the day until now. */
const names = (spans, now, width) => {
  const sums = checkpoint.timeOfKinds(spans, now);
  const items = Object.keys(KINDS).map((kind) => [kind, `${WORDS[kind]}: ${span(sums[kind])}`]);
  const wide = width < 400 ? 150 : Math.min(190, width / 4);
  const place = (i) => (width < 400 ? [1 + wide * (i % 2), LEGEND + 24 * Math.floor(i / 2)] : [1 + wide * i, LEGEND]);
  const last = place(3);
  return (
    each(items, ([kind, text], i) => {
      const [x, y] = place(i);
      return area(KINDS[kind], x, y, 18, 14) + label(x + 24, y + 12, text, "soft small");
    }) +
    path(`M${last[0] + 9} ${last[1] + 12}l-5 -9h10Z`, "bad") +
    label(last[0] + 24, last[1] + 12, "a failure", "soft small")
  );
};

const TICKS = [2, 5, 19, 60, 240];
const MOST = 0.6;

const frameOf = (width) => {
  const top = LEGEND + (width < 400 ? 96 : 72);
  const [left, right, bottom] = [LEFT, width - RIGHT, top + 130];
  const x = logarithmic([MINUTES[0], MINUTES.at(-1)], [left, right]);
  const y = linear([0, MOST], [bottom, top]);
  return { left, right, top, bottom, x, y };
};

const drag = {
  id: () => "interval",
  point: (state, width) => {
    const { x, y } = frameOf(width);
    return [x(state.interval), y(Math.min(MOST, numbers(state).average(state.interval)))];
  },
};

/** Return the part of a curve that is inside the frame. */
const curve = ({ x, y }, of, kind) => {
  const [from, to] = [MINUTES[0], MINUTES.at(-1)];
  const every = Array.from({ length: 61 }, (_, i) => from * (to / from) ** (i / 60));
  const points = every.filter((minutes) => of(minutes) <= MOST);
  return points.length > 1 ? line(points.map((minutes) => [x(minutes), y(of(minutes))]), kind) : "";
};

const shares = (state, width) => {
  const frame = frameOf(width);
  const { average, formula, lost, best } = numbers(state);
  const { x, y, left, right, top, bottom } = frame;
  const at = Math.min(x(MINUTES.at(-1)), Math.max(left, x(best)));
  const isRight = at > (left + right) / 2;
  const rows = [0, 0.2, 0.4, 0.6].map((share) => [share, percent(share)]);
  return (
    label(0, top - 22, "share of the time that is lost", "soft small") +
    grid(frame, rows, TICKS.map((minutes) => [minutes])) +
    label((left + right) / 2, bottom + 38, "minutes between two saves", "soft small", "middle") +
    vertical(at, top, bottom, "faint") +
    label(at + (isRight ? -6 : 6), top + 14, `√(2δM) = ${span(best)}`, "ink small", isRight ? "end" : "start") +
    curve(frame, formula, "dashed") +
    curve(frame, average, "line1") +
    dot(x(state.interval), y(Math.min(MOST, lost)), 4.5, "s2 solid") +
    dot(...drag.point(state, width), 5, "ring chip") +
    curveNames(width, bottom + 62)
  );
};

const curveNames = (width, y) => {
  const wide = width < 400 ? [0, 104, 212] : [0, 150, 330];
  const [first, second, third] = wide;
  const isNarrow = width < 400;
  return (
    path(`M${first} ${y - 4}h20`, "dashed") +
    label(first + 26, y, "formula", "soft small") +
    path(`M${second} ${y - 4}h20`, "line1") +
    label(second + 26, y, isNarrow ? "average" : "average of all runs", "soft small") +
    dot(third + 10, y - 4, 4.5, "s2 solid") +
    label(third + 26, y, "this day", "soft small")
  );
};

/** Return the times of the failures of a day. */
const moments = (times) => {
  let now = 0;
  return times.map((time) => (now += time)).filter((moment) => moment < DAY);
};

const draw = (state, width, motion) => {
  const { times, spans } = numbers(state);
  const now = motion ? motion.part * DAY : DAY;
  const title = `a day of ${state.gpus.toLocaleString("en-US")} GPUs`;
  return sheet(
    width,
    frameOf(width).bottom + 74,
    label(width, 14, title, "soft small", "end"),
    dayRows(spans, moments(times), now, width),
    names(spans, now, width),
    shares(state, width),
  );
};

// In words

const result = (state) => {
  const { sums, lost, average, best } = numbers(state);
  return (
    `Saves every ${minutesOf(state.interval)} lose ${percent(lost)} of this day, ` +
    `${span(sums.save)} to saves and ${span(sums.lost)} to lost work; on average, ` +
    `${percent(average(state.interval))} are lost, and ${percent(average(best))} ` +
    `with the formula’s ${span(best)}.`
  );
};

const summary = (state) => {
  const { times, mean } = numbers(state);
  return (
    `A day in four rows of six hours, with ${plural(moments(times).length, "failure")}, ` +
    "the saves, and the work that each failure destroys. Below, a curve of the share that is " +
    `lost against the minutes between two saves, for a failure every ${span(mean)} on ` +
    `average. ${result(state)}`
  );
};

const formula = (state) => {
  const { mean, minutes, best, formula: of, average } = numbers(state);
  const { interval } = state;
  return [
    `a save takes δ = ${secondsOf(state.save)}; between two failures, M = 54 days / 419 · ` +
      `${GPUS} / ${state.gpus} = ${span(mean)} on average`,
    `formula: δ / τ + τ / (2 M) = ${round(minutes, 2)} / ${interval} + ${interval} / ` +
      `(2 · ${round(mean)}) = ${percent(of(interval), 2)}`,
    `average of all runs: 1 − (τ / M) / (e^((τ + δ) / M) − 1) = ${percent(average(interval), 2)}`,
    `best interval: √(2 δ M) = √(2 · ${round(minutes, 2)} · ${round(mean)}) = ${span(best)}`,
  ];
};

const table = (state) => {
  const { formula: of, average } = numbers(state);
  const day = (interval) => numbers({ ...state, interval }).lost;
  const three = (interval) => [of(interval), average(interval), day(interval)];
  return {
    head: ["minutes between saves", "formula", "average", "this day"],
    rows: MINUTES.map((interval) => [interval, ...three(interval).map((x) => percent(x))]),
    chosen: MINUTES.indexOf(state.interval),
  };
};

const NOTES = [
  "The times between failures are drawn from an exponential distribution, whose mean is that of " +
    "[the 54 days of Llama 3](https://arxiv.org/abs/2407.21783) on 16,384 GPUs. With n times as " +
    "many GPUs, it is n times as short. “Another day” draws other times.",
  "A restart takes no time here, as in the formula. Work that waits for its save at the end of the " +
    "day counts as kept. If failures are so frequent that they often interrupt a save, the " +
    "formula does not apply, and the best interval is shorter.",
];

// Settings

const isDay = (text) => /^[1-9][0-9]?$/.test(text);
const another = (state) => ({ ...state, day: String((Number(state.day) % 99) + 1) });

export default figure({
  name: "checkpoints",
  controls: [
    steps("interval", "Save every", MINUTES, 60, { format: minutesOf }),
    steps("save", "A save takes", SAVES, 60, { format: secondsOf }),
    ...more(
      steps("gpus", "GPUs of the job", doubled(2048, 131072), GPUS, {
        format: (gpus) => gpus.toLocaleString("en-US"),
      }),
    ),
    hidden("day", isDay, "7"),
  ],
  actions: [
    { label: "Run the day", motion: () => RUN, main: true },
    { label: "Another day", run: another, motion: () => RUN },
  ],
  invite: "Which interval loses least? Drag the ring, then press “Run the day”.",
  notes: () => NOTES,
  ...{ draw, drag, summary, result, formula, table },
  ...{ numbers }, // for tests
});
