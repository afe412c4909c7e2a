/* The queue: a host queues the steps of a loop, a device executes them, and the reader
 * chooses how often the loop fetches the loss.
 */
"use strict";

(() => {
  const inNode = typeof module !== "undefined";
  const arithmetic = inNode ? require("./arithmetic.js") : globalThis.bookArithmetic;
  const explorable = inNode ? require("./explorable.js") : globalThis.bookExplorable;
  const { tag, label, canvas, hatching, area, ticks } = explorable;
  const { time, percent } = arithmetic;

  const STEPS = 12;
  const MICRO = 1e-6;

  // The times of large steps are from smolix/d2l-neu: on an RTX 4090, 32 products of 4096
  // by 4096 matrices were queued in 1.4 ms and finished in 80 ms. Other times are assumed.
  const PRESETS = {
    small: { host: 20, device: 40, fetch: 20 },
    large: { host: 44, device: 2500, fetch: 20 },
  };

  const microseconds = (value) => time(value * MICRO);

  const often = (every) => {
    if (every === 0) return "never";
    if (every === 1) return "after every step";
    return every === STEPS ? "once, at the end" : `every ${every} steps`;
  };

  /** Return the loop of a state, with times in seconds. */
  const loop = (state) => ({
    steps: STEPS,
    host: state.host * MICRO,
    device: state.device * MICRO,
    fetch: state.fetch * MICRO,
    every: state.every,
  });

  // The drawing

  const LEFT = 46;
  const RIGHT = 28; // room for half of the last label of the axis
  const ROWS = { host: 52, device: 116 };
  const TALL = 36;
  const KINDS = {
    queue: ["s1", "queueing a step"],
    wait: ["wait", "waiting"],
    fetch: ["s2 solid", "fetching the loss"],
    compute: ["s3", "computing"],
    idle: ["idle", "idle"],
  };

  const block = (x, y, width, kind, text = "") => {
    const box = area("queue", KINDS[kind][0], x, y, width, TALL);
    if (width < 7 * String(text).length + 3) return box;
    return box + label(x + width / 2, y + TALL / 2 + 5, text, "ink small", "middle");
  };

  const spans = (list, y, scale) =>
    list
      .map(({ kind, step, start, end }) => {
        const text = kind === "queue" || kind === "compute" ? step : "";
        return block(LEFT + start * scale, y, (end - start) * scale, kind, text);
      })
      .join("");

  /** Return the spans in which the device has nothing to do. */
  const gaps = ({ device, total }) => {
    const starts = [...device.map(({ start }) => start), total];
    const ends = [0, ...device.map(({ end }) => end)];
    return starts
      .map((end, i) => ({ kind: "idle", start: ends[i], end }))
      .filter(({ start, end }) => end - start > total * 1e-9);
  };

  const axis = (total, scale, y, width) => {
    const marks = ticks(total, width < 480 ? 3 : 6).map((at) => {
      const x = LEFT + at * scale;
      const text = label(x, y + 20, at ? time(at) : "0", "soft small", "middle");
      return tag("path", { d: `M${x} ${y}v5`, class: "axis" }) + text;
    });
    return (
      tag("path", { d: `M${LEFT} ${y}H${width - RIGHT}`, class: "axis" }) +
      marks.join("")
    );
  };

  /** Return marks at the end of the loop, and at its end without any fetch. */
  const ends = (total, without, scale, width) => {
    const line = (at, kind) => {
      const x = LEFT + at * scale;
      return tag("path", { d: `M${x} 30V${ROWS.device + TALL + 8}`, class: kind });
    };
    const free = LEFT + without * scale;
    const text = total > without * (1 + 1e-9) ? "without fetching" : "the end";
    const anchor = free > width / 2 ? "end" : "start";
    return (
      line(total, "axis") +
      line(without, "dashed") +
      label(
        free + (anchor === "end" ? 4 : -4),
        22,
        `${text}: ${time(without)}`,
        "ink small",
        anchor,
      )
    );
  };

  const legend = (y, width) => {
    const columns = width < 480 ? 2 : 5;
    const widths = width < 480 ? [0, 150] : [0, 142, 232, 378, 484];
    return Object.entries(KINDS)
      .map(([, [kind, text]], i) => {
        const x = 1 + widths[i % columns];
        const top = y + 24 * Math.floor(i / columns);
        return (
          area("queue", kind, x, top, 18, 14) +
          label(x + 24, top + 12, text, "soft small")
        );
      })
      .join("");
  };

  const draw = (state, width) => {
    const run = arithmetic.runQueue(loop(state));
    const without = arithmetic.runQueue({ ...loop(state), every: 0 }).total;
    const scale = (width - LEFT - RIGHT) / run.total;
    return canvas(
      width,
      width < 480 ? 278 : 230,
      tag("defs", {}, hatching("queue", "s2")),
      label(0, ROWS.host + 23, "Host", "ink strong"),
      label(0, ROWS.device + 23, "GPU", "ink strong"),
      spans(run.host, ROWS.host, scale),
      spans(gaps(run), ROWS.device, scale),
      spans(run.device, ROWS.device, scale),
      ends(run.total, without, scale, width),
      axis(run.total, scale, ROWS.device + TALL + 8, width),
      legend(204, width),
    );
  };

  // In words

  const result = (state) => {
    const run = arithmetic.runQueue(loop(state));
    const without = arithmetic.runQueue({ ...loop(state), every: 0 }).total;
    const start =
      `The ${STEPS} steps take ${time(run.total)}, and the GPU computes ` +
      `during ${percent(run.busy / run.total)} of it. `;
    if (run.fetches === 0) return `${start}The host never waits for a loss.`;
    const times = run.fetches === 1 ? "once" : `${run.fetches} times`;
    const factor = arithmetic.round(run.total / without, 3);
    return (
      `${start}The host waits ${times}, ${time(run.waited)} in all. Without any ` +
      `fetch the steps take ${time(without)}; this is ${factor} times as long.`
    );
  };

  const summary = (state) =>
    `Timelines of the host and the GPU for ${STEPS} steps. Queueing one takes the ` +
    `host ${microseconds(state.host)}, computing one takes the GPU ` +
    `${microseconds(state.device)}. The loss is fetched: ${often(state.every)}.`;

  const formula = (state) => {
    const { host, device, every, fetch } = loop(state);
    const blocks = every > 0 ? Math.floor(STEPS / every) : 0;
    const rest = STEPS - blocks * every;
    const most = Math.max(host, device);
    const least = Math.min(host, device);
    const lines = [
      "h: to queue a step; d: to compute it; c: to fetch; k steps a fetch",
    ];
    if (blocks > 0) {
      const one = arithmetic.blockTime(every, host, device) + fetch;
      lines.push(
        `k steps: k · max(h, d) + min(h, d) + c = ${every} · ${time(most)} + ` +
          `${time(least)} + ${time(fetch)} = ${time(one)}`,
      );
      lines.push(`${blocks} times: ${blocks} · ${time(one)} = ${time(blocks * one)}`);
    }
    if (rest > 0)
      lines.push(
        `${blocks > 0 ? "the last " : ""}${rest} without a fetch: ` +
          `${rest} · ${time(most)} + ${time(least)} = ` +
          `${time(arithmetic.blockTime(rest, host, device))}`,
      );
    return lines;
  };

  const notes = () => [
    [
      "Small steps: all times are assumed. Large steps: measured on an RTX 4090 in " +
        "smolix/d2l-neu, where 32 products of 4096 by 4096 matrices were queued in " +
        "1.4 ms and finished in 80 ms, so h = 1.4 ms / 32 = 44 µs and " +
        "d = 80 ms / 32 = 2.5 ms; " +
        "the time of a fetch is assumed.",
    ],
    [
      "The model leaves out that a queue is full at some point, and that the host " +
        "has other work.",
    ],
  ];

  const settle = (state, id) => {
    if (id === "preset") return { ...state, ...PRESETS[state.preset] };
    return id === "every" ? state : { ...state, preset: "own" };
  };

  const from = (id) => (state) => (PRESETS[state.preset] || PRESETS.small)[id];
  const range = (id, text, min, max) => ({
    id,
    kind: "range",
    label: text,
    min,
    max,
    log: true,
    initial: from(id),
    format: microseconds,
    more: true,
  });

  const spec = {
    name: "queue",
    controls: [
      {
        id: "every",
        kind: "range",
        label: "Fetch the loss",
        initial: 4,
        format: often,
        values: [...Array.from({ length: STEPS }, (_, i) => i + 1), 0],
      },
      {
        id: "preset",
        kind: "select",
        label: "Steps",
        initial: "small",
        options: [
          ["small", "small (assumed)"],
          ["large", "large (measured)"],
          ["own", "your own"],
        ],
      },
      range("host", "h: the host queues a step", 1, 1000),
      range("device", "d: the GPU computes a step", 1, 10000),
      range("fetch", "c: the loss is fetched", 1, 1000),
    ],
    more: "Times and where they are from",
    settle,
    draw,
    summary,
    result,
    formula,
    notes,
    loop,
  };

  if (inNode) module.exports = spec;
  else globalThis.bookExplorables[spec.name] = (figure) => explorable(figure, spec);
})();
