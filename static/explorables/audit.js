/* The audit: what others have measured beside what the book predicts. The reader chooses a
 * kind of prediction and a point, and can add a measurement of their own.
 */
import { round, percent } from "./arithmetic.js";
import { points, summarize, spread, groups, missing, parseValue } from "./audit-arithmetic.js";
import { published } from "./published.js";
import {
  tag, label, canvas, path, line, vertical, horizontal, dot, logarithmic, each, grid, inColumns,
} from "./chart.js";
import { select, text, hidden } from "./controls.js";
import { figure } from "./explorable.js";

const POINTS = Object.fromEntries(
  Object.keys(published.kinds).map((kind) => [kind, points(published, kind)]),
);
const SUMMARIES = Object.fromEntries(
  Object.entries(POINTS).map(([kind, found]) => [kind, summarize(found)]),
);
const NAMES = Object.fromEntries(
  Object.entries(published.kinds).map(([kind, { name }]) => [kind, name]),
);
const BOUNDS = Object.keys(NAMES).filter((kind) => published.kinds[kind].bound);
const ESTIMATES = Object.keys(NAMES).filter((kind) => !published.kinds[kind].bound);
const isAll = ({ kind }) => !POINTS[kind];
const isOne = (state) => !isAll(state);

/** Return the chosen point of a kind, or its worst one. */
const chosen = ({ kind, row }) => POINTS[kind].find(({ id }) => id === row) ?? POINTS[kind][0];

/** Return the readers' own values by kind and row. */
const ownValues = ({ owns = {} }) => owns;
const ownKey = (state) => `${state.kind} ${chosen(state).id}`;

// In words

/** Return a number with at most four digits, and commas if it is large. */
const amount = (x) => {
  const [whole, part] = String(x >= 1e4 ? Math.round(x) : round(x, 4)).split(".");
  const grouped = x >= 1e4 ? whole.replace(/\B(?=(\d{3})+$)/g, ",") : whole;
  return part ? `${grouped}.${part}` : grouped;
};
/** Return a ratio with two decimals, or three digits if it is large. */
const factor = (ratio) => (ratio < 10 ? ratio.toFixed(2) : String(round(ratio)));
const quantity = (value, unit) => `${amount(value)}\u00a0${unit}`;
const cardOf = ({ card, gpus }) => (gpus > 1 ? `${gpus} × ${card}` : card);
const settingOf = (point) =>
  [point.model.replaceAll(" x ", " × "), cardOf(point), point.settings, point.program]
    .filter(Boolean)
    .join(", ");
const natureOf = (kind) => (published.kinds[kind].bound ? "a bound" : "an estimate");
const limitOf = (kind) => (published.kinds[kind].bound ? "at most" : "about");

const overview = () => {
  const all = BOUNDS.flatMap((kind) => POINTS[kind]);
  const beaten = all.filter(({ ratio }) => ratio < 1).map(({ ratio }) => 1 / ratio - 1);
  const by = beaten.length ? `, by ${percent(Math.max(...beaten))}` : "";
  const estimates = ESTIMATES.flatMap((kind) => POINTS[kind]);
  const near = percent(summarize(estimates).within_double);
  return (
    `Of ${all.length} measurements that a bound covers, ${beaten.length || "none"} ` +
    `${beaten.length > 1 ? "exceed" : "exceeds"} it${by}, and ${near} of ${estimates.length} estimates are within a factor of 2.`
  );
};

/** Return a sentence on the reader's own measurement. */
const comparison = (state, value) => {
  const { unit, predicted } = chosen(state);
  const mine = `Your ${quantity(value, unit)}`;
  const limit = `${limitOf(state.kind)} ${amount(predicted)}`;
  const ratio = predicted / value;
  if (published.kinds[state.kind].bound && ratio < 0.95)
    return `${mine} beat a bound of ${amount(predicted)}: check the unit and the setting.`;
  const below = POINTS[state.kind].filter((point) => point.ratio < ratio).length;
  return (
    `${mine}, of ${limit} predicted: a ratio of ${factor(ratio)}, and ${below} of ` +
    `${POINTS[state.kind].length} published ratios are smaller.`
  );
};

const result = (state) => {
  if (isAll(state)) return overview();
  const { value, unit, predicted, ratio } = chosen(state);
  const [low, high, many] = spread(SUMMARIES[state.kind]);
  if (state.own) {
    const own = parseValue(state.own);
    if (own) return comparison(state, own);
    return `Type a number above 0 in ${unit}, such as ${amount(value)}.`;
  }
  return (
    `${quantity(value, unit)} measured, ${limitOf(state.kind)} ${amount(predicted)} predicted: ` +
    `a ratio of ${factor(ratio)}, where ${many} are between ${factor(low)} and ${factor(high)}.`
  );
};

const summary = (state) => {
  if (isAll(state))
    return (
      "Points in a row for each kind of prediction, at the prediction over the measurement, " +
      `on a logarithmic axis from a half to 30. ${result(state)} A table below has the numbers.`
    );
  const { unit } = published.kinds[state.kind];
  return (
    `${POINTS[state.kind].length} points, with the measurement to the right and the prediction ` +
    `upward, in ${unit} on logarithmic axes. ${result(state)} A table below has the numbers.`
  );
};

/** Return the name of a source, as a link to its entry where a page has one. */
const sourceOf = ({ source }) => {
  const name = published.sources[source];
  const entry = `references.html#${source.replace(/[^A-Za-z0-9]+/g, "-")}`;
  return globalThis.bookLoad ? `[${name}](${entry})` : name;
};

const log = (state) => {
  if (isAll(state)) return [];
  const point = chosen(state);
  const { expected, predicted, unit } = point;
  const hasMore = expected && expected !== predicted;
  const lacks = missing(state.kind, point);
  return [
    `The point: ${settingOf(point)}.`,
    hasMore ? `Expected, with costs that the prediction leaves out: ${quantity(expected, unit)}.` : "",
    lacks ? `The missing term: ${lacks}.` : "",
    `The source: ${sourceOf(point)}, ${point.place}.`,
  ]
    .filter(Boolean)
    .map((words) => ["", words, "total"]);
};

const formula = (state) => {
  if (isAll(state))
    return ["ratio = prediction / measurement: at least 1 for a bound that holds, near 1 for a good estimate"];
  const found = SUMMARIES[state.kind];
  const { formula: home } = published.kinds[state.kind];
  return [
    `prediction: ${home}, ${natureOf(state.kind)}`,
    `ratios: ${found.rows} of ${found.sources} sources, median ${factor(found.median)}, eight of ` +
      `ten between ${factor(found.low)} and ${factor(found.high)}`,
    `within 25 %: ${percent(found.within_quarter)}; within a factor of 2: ${percent(found.within_double)}`,
  ];
};

const summaryRow = ([kind, found]) => [
  ...[NAMES[kind], String(found.rows), String(found.sources), factor(found.median)],
  `${factor(found.low)} to ${factor(found.high)}`,
];
const table = (state) => {
  if (isAll(state))
    return {
      head: ["kind", "rows", "sources", "median ratio", "eight of ten"],
      rows: Object.entries(SUMMARIES).map(summaryRow),
    };
  return {
    head: ["setting", "measured", "predicted", "unit", "ratio"],
    rows: POINTS[state.kind].map((point) => [
      ...[settingOf(point), amount(point.value), amount(point.predicted)],
      ...[point.unit, factor(point.ratio)],
    ]),
    chosen: POINTS[state.kind].indexOf(chosen(state)),
  };
};

// The drawing of all kinds: a row of points for each

const RATIOS = [0.45, 35];
const TICKS = [0.5, 1, 2, 5, 10, 20];
const ROW = 25;
const HEAD = 22;
const isNarrow = (width) => width < 480;

// An area that has no color but takes clicks.
const CLEAR = { fill: "none", "pointer-events": "all" };

/** Return a tick for each point above a height. */
const ticksOf = (found, x, y, kind) =>
  path(found.map(({ ratio }) => `M${x(ratio)} ${y - 3}v-9`).join(""), kind);

const kindRow = (kind, { left, x }, width, y, tall) => {
  const { median, low, high } = SUMMARIES[kind];
  const base = y + tall - 6;
  const box = { x: 0, y, width, height: tall, ...CLEAR };
  const name = isNarrow(width)
    ? label(0, y + 13, NAMES[kind], "ink small halo")
    : label(left - 10, base, NAMES[kind], "ink small", "end");
  return tag(
    "g",
    { "data-touch": kind },
    tag("rect", box),
    name,
    ticksOf(POINTS[kind], x, base, published.kinds[kind].bound ? "s1" : "s3"),
    horizontal(base, x(low), x(high), "axis"),
    dot(x(median), base, 3.5, "ring"),
    label(width, base, factor(median), "soft small", "end"),
  );
};

const drawAll = (width) => {
  const tall = isNarrow(width) ? ROW + 16 : ROW;
  const left = isNarrow(width) ? 6 : 164;
  const right = width - 46;
  const x = logarithmic(RATIOS, [left, right]);
  const estimates = HEAD + BOUNDS.length * tall;
  const bottom = estimates + HEAD + ESTIMATES.length * tall + 4;
  const rows = (kinds, top) =>
    each(kinds, (kind, i) => kindRow(kind, { left, x }, width, top + i * tall, tall));
  const frame = { left, right, top: HEAD - 2, bottom, x, y: () => 0 };
  return canvas(
    width,
    bottom + 46,
    each([0.5, 2], (ratio) => vertical(x(ratio), HEAD - 2, bottom, "faint")),
    label(0, 12, "Bounds", "ink small strong"),
    label(width, 12, "median", "soft small", "end"),
    label(0, estimates + 15, "Estimates", "ink small strong"),
    rows(BOUNDS, HEAD),
    rows(ESTIMATES, estimates + HEAD),
    vertical(x(1), HEAD - 2, bottom, "dashed"),
    grid(frame, [], TICKS.map((tick) => [tick])),
    label((left + right) / 2, bottom + 40, "prediction / measurement", "soft small", "middle"),
  );
};

// The drawing of a kind: predictions over measurements

const MARKS = 5; // with names of their own
const LEFT = 66;
const TALL = 330;

/** Return the mark of the group with this number, in a shape of its own. */
const shapeOf = (number, x, y) => {
  const shapes = [
    () => dot(x, y, 4.5, "s1"),
    () => path(`M${x} ${y - 6}l6 6l-6 6l-6 -6Z`, "s2"),
    () => path(`M${x - 4} ${y - 4}h8v8h-8Z`, "s3"),
    () => path(`M${x} ${y - 5}l5.5 9h-11Z`, "s1"),
    () => path(`M${x} ${y + 5}l5.5 -9h-11Z`, "s2"),
  ];
  const cross = () => path(`M${x - 4} ${y - 4}l8 8m0 -8l-8 8`, "axis");
  return (shapes[number] ?? cross)();
};

/** Return values of an axis from one to another: powers of ten, or more if they are few. */
const roundValues = (least, most) => {
  const from = Math.floor(Math.log10(least));
  const count = Math.ceil(Math.log10(most)) - from + 1;
  const powers = Array.from({ length: count }, (_, i) => 10 ** (from + i));
  const isIn = (x) => x >= least && x <= most;
  const some = [[1], [1, 3], [1, 2, 5]].map((steps) =>
    powers.flatMap((power) => steps.map((step) => round(step * power))).filter(isIn),
  );
  return some.findLast(({ length }) => length <= 6) ?? some[0];
};

const short = (x) => (x >= 1e3 ? `${amount(x / 1e3)}k` : amount(x));

/** Return the frame of a kind, whose axes have the same ends. */
const frameOf = (kind, width, owns) => {
  const values = [...POINTS[kind].flatMap(({ x, y }) => [x, y]), ...owns.map(([x]) => x)];
  const [least, most] = [Math.min(...values) / 1.3, Math.max(...values) * 1.3];
  const [left, right, top, bottom] = [LEFT, width - 10, 26, 26 + TALL];
  const x = logarithmic([least, most], [left, right]);
  const y = logarithmic([least, most], [bottom, top]);
  return { left, right, top, bottom, x, y, least, most };
};

/** Return the diagonal, and a line on either side of it, a factor of 2 away. */
const diagonal = ({ x, y, least, most }) => {
  const from = ([a, b], [c, d], kind) => line([[x(a), y(b)], [x(c), y(d)]], kind);
  return (
    from([least, 2 * least], [most / 2, most], "faint") +
    from([2 * least, least], [most, most / 2], "faint") +
    from([least, least], [most, most], "dashed")
  );
};

const told = (point) =>
  `${settingOf(point)}: ${quantity(point.value, point.unit)} measured, ` +
  `${amount(point.predicted)} predicted, ratio ${factor(point.ratio)}`;

const marks = (state, { x, y }, numberOf) =>
  each(POINTS[state.kind], (point) => {
    const [cx, cy] = [x(point.x), y(point.y)];
    const inside = [tag("title", {}, told(point).replace(/[&<>]/g, "")), tag("circle", { cx, cy, r: 9, ...CLEAR })];
    return tag("g", { "data-touch": point.id }, ...inside, shapeOf(numberOf(point), cx, cy));
  });

const legend = (names, hasOthers, width, top) => {
  const columns = width < 480 ? 2 : 3;
  const place = inColumns(columns, width / columns, 22, top);
  return each([...names, ...(hasOthers ? ["others"] : [])], (name, i) => {
    const [x, y] = place(i);
    return shapeOf(i, x + 8, y) + label(x + 20, y + 5, name || "not named", "soft small");
  });
};

/** Return the reader's own points of a kind: [measured, predicted], in the kind's unit. */
const ownPoints = (state) =>
  POINTS[state.kind].flatMap((point) => {
    const value = ownValues(state)[`${state.kind} ${point.id}`];
    return value ? [[(value * point.x) / point.value, point.y]] : [];
  });

const drawOne = (state, width) => {
  const owns = ownPoints(state);
  const frame = frameOf(state.kind, width, owns);
  const { bottom, x, y, least, most } = frame;
  const { names, numberOf, hasOthers } = groups(POINTS[state.kind], state.mark, MARKS);
  const ticks = roundValues(least, most).map((value) => [value, short(value)]);
  const { unit } = published.kinds[state.kind];
  const point = chosen(state);
  const count = names.length + (hasOthers ? 1 : 0);
  return canvas(
    width,
    bottom + 64 + 22 * Math.ceil(count / (isNarrow(width) ? 2 : 3)),
    diagonal(frame),
    label(0, 14, `prediction (${natureOf(state.kind)}), ${unit}`, "soft small"),
    grid(frame, ticks, ticks),
    marks(state, frame, numberOf),
    tag("circle", { cx: x(point.x), cy: y(point.y), r: 9, class: "now", fill: "none" }),
    each(owns, ([a, b]) => dot(x(a), y(b), 6, "measured") + label(x(a) + 9, y(b) + 5, "yours", "ink small halo")),
    label((frame.left + frame.right) / 2, bottom + 38, `measurement, ${unit}`, "soft small", "middle"),
    legend(names, hasOthers, width, bottom + 64),
  );
};

const draw = (state, width) => (isAll(state) ? drawAll(width) : drawOne(state, width));

// Settings

/** Return a state whose row is one of its kind, with the reader's own value for it. */
const complete = (state) => {
  if (isAll(state)) return { ...state, row: "", own: "" };
  const next = { ...state, row: chosen(state).id };
  return { ...next, own: String(ownValues(next)[ownKey(next)] ?? "") };
};

const settle = (state, id) => {
  if (id !== "own" || isAll(state)) return complete(state);
  const owns = { ...ownValues(state), [ownKey(state)]: parseValue(state.own) };
  return { ...state, owns };
};

const touch = (state, name) => complete({ ...state, ...(isAll(state) ? { kind: name } : { row: name }) });

/** Return an action that chooses the point after a number of others. */
const move = (words, by) => ({
  label: words,
  when: isOne,
  run: (state) => {
    const all = POINTS[state.kind];
    const place = (all.indexOf(chosen(state)) + by + all.length) % all.length;
    return complete({ ...state, row: all[place].id });
  },
});

const firstRow = ({ kind }) => POINTS[kind]?.[0].id ?? "";
const ids = new Set(Object.values(POINTS).flatMap((found) => found.map(({ id }) => id)));
const NOTES = [
  "The rows and where each stands are in the library’s file published.csv, and python -m d2l " +
    "audit prints them. No bound has a fitted number. A row whose source does not state a setting counts " +
    "for bounds but not for estimates. A missing term is our explanation, not the source’s.",
  "What you type stays in this page: it is not sent or kept.",
];

export default figure({
  name: "audit",
  controls: [
    select("kind", "Prediction", { all: "all kinds", ...NAMES }, "all"),
    select("mark", "Marks", { card: "by card", program: "by program" }, "card", { when: isOne }),
    text("own", "Your own value for this point’s setting, in its unit", "such as 130", {
      ...{ when: isOne, unkept: true },
    }),
    hidden("row", (id) => id === "" || ids.has(id), firstRow),
  ],
  actions: [move("Next point", 1), move("Previous point", -1)],
  invite: "Choose a kind of prediction, and then its worst point: which term is missing?",
  notes: () => NOTES,
  ...{ settle, touch, draw, summary, result, log, formula, table },
  ...{ POINTS, SUMMARIES, BOUNDS, ESTIMATES }, // for tests
});
