/* The queue: a host queues the steps of a loop, a device executes them, and the reader
 * chooses how often the loop fetches the loss.
 */
"use strict";

(() => {
  const inNode = typeof module !== "undefined";
  const arithmetic = inNode ? require("./arithmetic.js") : globalThis.bookArithmetic;
  const explorable = inNode ? require("./explorable.js") : globalThis.bookExplorable;
  const { tag, label, canvas, hatching, area, timeAxis, until } = explorable;
  const { time, percent } = arithmetic;

  const STEPS = 12;
  const RUN = 1800; // ms in which the loop runs before the reader's eyes
  const MICRO = 1e-6;

  // The times of large steps are from smolix/d2l-neu: on an RTX 4090, 32 products of 4096
  // by 4096 matrices were queued in 1.4 ms and finished in 80 ms. Other times are assumed.
  const PRESETS = {
    small: { host: 20, device: 40, fetch: 20 },
    large: { host: 44, device: 2500, fetch: 20 },
  };
  const ORIGINS = {
    small: "assumed times",
    large: "RTX 4090, fetches assumed",
    own: "your own times",
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
  const ROWS = { host: 52, device: 122 };
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

  /** Return marks at the end of the loop, and at its end without any fetch. */
  const ends = (total, without, scale, width) => {
    const line = (at, kind) => {
      const x = LEFT + at * scale;
      return tag("path", { d: `M${x} 48V${ROWS.device + TALL + 8}`, class: kind });
    };
    const free = LEFT + without * scale;
    const text = total > without * (1 + 1e-9) ? "without fetching" : "the end";
    const anchor = free > width / 2 ? "end" : "start";
    return (
      line(total, "axis") +
      line(without, "dashed") +
      label(
        free + (anchor === "end" ? 4 : -4),
        44,
        `${text}: ${time(without)}`,
        "ink small",
        anchor,
      )
    );
  };

  /** Return a mark at the end of the loop with the setting before, if it is another one. */
  const lastEnd = (last, total, scale) => {
    const before = arithmetic.runQueue(loop(last)).total;
    if (Math.abs(before - total) < 1e-9) return "";
    const x = LEFT + before * scale;
    const line = `M${x} 34V${ROWS.device + TALL + 8}`;
    const [at, anchor] = before > total ? [x + 4, "start"] : [x - 4, "end"];
    const text = label(at, before > total ? 44 : 30, `before: ${time(before)}`, "soft small", anchor);
    return tag("path", { d: line, class: "last" }) + text;
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

  /** Return the steps that wait in the queue at a time, as many as there is room for. */
  const waiting = (run, now, x, width) => {
    const queued = run.host.filter(({ kind, end }) => kind === "queue" && end <= now);
    const started = run.device.filter(({ start }) => start < now);
    const steps = queued.slice(started.length).map(({ step }) => step);
    return steps
      .slice(0, Math.floor((width - x) / 24))
      .map((step, i) => {
        const box = { x: x + 5 + 24 * i, y: ROWS.host + TALL + 7, width: 21, height: 20 };
        return (
          tag("rect", { ...box, rx: 3, class: "s1" }) +
          label(box.x + 10.5, box.y + 15, step, "ink small", "middle")
        );
      })
      .join("");
  };

  /** Return a line at a time, with what is in the queue then. */
  const nowLine = (run, now, x, width) => {
    const line = `M${x} ${ROWS.host - 6}V${ROWS.device + TALL + 6}`;
    return tag("path", { d: line, class: "now" }) + waiting(run, now, x, width);
  };

  const sameAxis = (one, other) =>
    ["host", "device", "fetch"].every((id) => one[id] === other[id]);

  const heading = (state, width) => {
    const text = `${STEPS} steps, ${ORIGINS[state.preset] || ORIGINS.own}`;
    return label(width, 14, text, "soft small", "end");
  };

  const draw = (state, width, motion, last) => {
    const run = arithmetic.runQueue(loop(state));
    const without = arithmetic.runQueue({ ...loop(state), every: 0 }).total;
    // The axis does not depend on how often the loop fetches, so the ends can be compared.
    const longest = arithmetic.runQueue({ ...loop(state), every: 1 }).total;
    const scale = (width - LEFT - RIGHT) / longest;
    const now = motion ? motion.part * run.total : run.total;
    const place = { left: LEFT, right: RIGHT, y: ROWS.device + TALL + 8, width };
    return canvas(
      width,
      width < 480 ? 284 : 236,
      tag("defs", {}, hatching("queue", "s2")),
      heading(state, width),
      label(0, ROWS.host + 23, "Host", "ink strong"),
      label(0, ROWS.device + 23, "GPU", "ink strong"),
      spans(until(run.host, now), ROWS.host, scale),
      spans(until(gaps(run), now), ROWS.device, scale),
      spans(until(run.device, now), ROWS.device, scale),
      last && sameAxis(last, state) ? lastEnd(last, run.total, scale) : "",
      motion ? nowLine(run, now, LEFT + now * scale, width) : ends(run.total, without, scale, width),
      timeAxis(longest, place, time),
      legend(210, width),
    );
  };

  // In words

  const result = (state) => {
    const run = arithmetic.runQueue(loop(state));
    const without = arithmetic.runQueue({ ...loop(state), every: 0 }).total;
    const idle = percent(1 - run.busy / run.total);
    if (run.fetches === 0)
      return (
        `Without a fetch, the ${STEPS} steps take ${time(run.total)}, and the GPU is ` +
        `idle for ${idle} of that time.`
      );
    const factor = arithmetic.round(run.total / without, 3);
    const much = factor === 1 ? "about as long as" : `${factor} times as long as`;
    return (
      `With a fetch ${often(state.every)}, the ${STEPS} steps take ${time(run.total)}, ` +
      `${much} without fetches, and the GPU is idle for ${idle} of that time.`
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
    const { fetches, waited } = arithmetic.runQueue(loop(state));
    const lines = [
      "It takes the host h to queue a step, the GPU d to compute it, and a fetch c.",
    ];
    if (blocks > 0) {
      const one = arithmetic.blockTime(every, host, device) + fetch;
      lines.push(
        `k steps and a fetch: k · max(h, d) + min(h, d) + c = ${every} · ${time(most)} + ` +
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
    if (fetches > 0) lines.push(`the host waits for the GPU: ${time(waited)} in all`);
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
    experiment: "queue",
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
        more: true,
        options: [
          ["small", "small (assumed)"],
          ["large", "large (measured)"],
          ["own", "your own"],
        ],
      },
      range("host", "h: the host queues a step", 0.1, 1e5),
      range("device", "d: the GPU computes a step", 0.1, 1e5),
      range("fetch", "c: the loss is fetched", 0.1, 1e5),
    ],
    invite: "Drag the slider to “never”, and see the gaps of the GPU close.",
    actions: [{ label: "Run the loop", motion: () => RUN }],
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
