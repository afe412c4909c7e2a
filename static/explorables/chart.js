/* What the drawings of the figures consist of: SVG as text, scales, axes, legends and bars. */

const escapeText = (text) =>
  String(text).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

// Two digits are precise enough and the same on every machine.
const short = (x) => Math.round(x * 100) / 100;

/** Return an SVG element as text; its numbers are rounded to two digits. */
export const tag = (name, attributes = {}, ...children) => {
  const pair = ([key, x]) => {
    if (key === "d") return ` d="${x.replace(/\d+\.\d+(e-\d+)?/g, short)}"`;
    return ` ${key}="${typeof x === "number" ? short(x) : escapeText(x)}"`;
  };
  const pairs = Object.entries(attributes).map(pair).join("");
  const inside = children.join("");
  return `<${name}${pairs}${inside ? `>${inside}</${name}>` : "/>"}`;
};

/** Return a label; `anchor` is start, middle or end. */
export const label = (x, y, text, kind = "ink", anchor = "start") =>
  tag("text", { x, y, class: kind, "text-anchor": anchor }, escapeText(text));

/** Return an SVG with these elements. */
export const canvas = (width, height, ...children) =>
  tag(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      viewBox: `0 0 ${Math.round(width)} ${height}`,
      width: Math.round(width),
      height,
      "font-family": "system-ui, sans-serif",
      "font-size": 14,
    },
    ...children,
  );

/** Return the drawings of all members of a list. */
export const each = (list, draw) => list.map(draw).join("");

/** Return a path; `more` are further attributes. */
export const path = (d, kind, more = {}) => tag("path", { d, class: kind, ...more });

/** Return a line through points [x, y]. */
export const line = (points, kind, more) =>
  path(`M${points.map(([x, y]) => `${x} ${y}`).join("L")}`, kind, more);

export const vertical = (x, from, to, kind) => path(`M${x} ${from}V${to}`, kind);
export const horizontal = (y, from, to, kind) => path(`M${from} ${y}H${to}`, kind);

export const dot = (cx, cy, r, kind) => tag("circle", { cx, cy, r, class: kind });

/** Return the mark of what others have published. */
export const diamond = (x, y, r) =>
  path(`M${x} ${y - r}l${r} ${r}l-${r} ${r}l-${r} -${r}Z`, "s2 solid");

// Scales map values to places, and a frame has two: {left, right, top, bottom, x, y}.

export const linear = ([a, b], [from, to]) => (value) =>
  from + ((to - from) * (value - a)) / (b - a);

export const logarithmic = (values, places) => {
  const scale = linear(values.map(Math.log), places);
  return (value) => scale(Math.log(value));
};

/** Return the whole powers of ten with these exponents: [exponent, power]. */
export const powers = (from, to) =>
  Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => [from + i, 10 ** (from + i)]);

/** Return round numbers between 0 and `max`, at most `count` of them after 0. */
export const ticks = (max, count) => {
  const power = 10 ** Math.floor(Math.log10(max / count));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => max / s <= count + 1e-9);
  return Array.from({ length: Math.floor(max / step + 1e-9) + 1 }, (_, i) => i * step);
};

/** Return lines across a frame at values of its y axis: [value, text]. */
export const rowLines = ({ left, right, y }, rows) =>
  each(
    rows,
    ([value, text]) =>
      horizontal(y(value), left, right, "faint") +
      label(left - 6, y(value) + 4, text, "soft small", "end"),
  );

/** Return the axes of a frame with these rows, and columns [value, text, anchor]. */
export const grid = (frame, rows, columns) => {
  const { left, right, top, bottom, x } = frame;
  const names = each(columns, ([value, text = value, anchor = "middle"]) =>
    label(x(value), bottom + 18, text, "soft small", anchor),
  );
  const axes = path(`M${left} ${top}V${bottom}H${right}`, "axis");
  return rowLines(frame, rows) + names + axes;
};

/** Return the axis of a timeline, from `left` to `width - right`. */
export const timeAxis = (total, { left, right, y, width }, text) => {
  const scale = (width - left - right) / total;
  const marks = each(ticks(total, width < 480 ? 3 : 6), (at) => {
    const x = left + at * scale;
    const name = label(x, y + 20, at ? text(at) : "0", "soft small", "middle");
    return path(`M${x} ${y}v5`, "axis") + name;
  });
  return horizontal(y, left, width - right, "axis") + marks;
};

/** Return what a value was in the setting before, for the end of a label. */
export const was = (before, now, text) =>
  before && before !== now ? `, before ${text(before)}` : "";

/** Return what has happened at a time: spans {start, end}, the last one cut. */
export const until = (spans, now) =>
  spans
    .filter(({ start }) => start < now)
    .map((span) => ({ ...span, end: Math.min(span.end, now) }));

/** Return the places of a legend in columns. */
export const inColumns = (columns, wide, tall, top) => (i) => [
  1 + (i % columns) * wide,
  top + tall * Math.floor(i / columns),
];

/** Return a hatching, which distinguishes an area without color. */
export const hatching = (name) =>
  tag(
    "pattern",
    {
      id: `${name}-hatching`,
      width: 6,
      height: 6,
      patternUnits: "userSpaceOnUse",
      patternTransform: "rotate(45)",
    },
    tag("rect", { width: 6, height: 6, class: "s2 plain" }),
    path("M0 0V6", "s2 stripe"),
  );

/** Return the parts of a figure's drawing that depend on its name, as ids do. */
export const chart = (name) => {
  const fill = (kind) => (kind === "wait" ? { fill: `url(#${name}-hatching)` } : {});

  /** Return a box of a kind; a box for waiting is hatched. */
  const area = (kind, x, y, width, height) =>
    tag("rect", { x, y, width, height, class: kind, ...fill(kind) });

  /** Return an SVG with these elements and the hatching. */
  const sheet = (width, height, ...children) =>
    canvas(width, height, tag("defs", {}, hatching(name)), ...children);

  /** Return boxes of a height side by side: [kind, width]. */
  const stack = (parts, left, y, tall) => {
    let x = left;
    return each(parts, ([kind, wide]) => {
      x += wide;
      return area(kind, x - wide, y, wide, tall);
    });
  };

  /** Return bars in rows, between names and values: [width, kind, name, value, strong]. */
  const bars = ({ left, top, tall, row }, list) =>
    each(list, ([wide, kind, text, value, strong], i) => {
      const y = top + i * row;
      const words = `ink small${strong ? " strong" : ""}`;
      const base = y + tall / 2 + 5;
      return (
        label(left - 8, base, text, words, "end") +
        area(kind, left, y, wide, tall) +
        label(left + wide + 6, base, value, words)
      );
    });

  /** Return a box and a name for each [kind, text]; `place` maps a number to [x, y]. */
  const legend = (items, place, wide = 18, aside = wide + 6) =>
    each(items, ([kind, text], i) => {
      const [x, y] = place(i);
      return area(kind, x, y, wide, 14) + label(x + aside, y + 12, text, "soft small");
    });

  return { fill, area, sheet, stack, bars, legend };
};
