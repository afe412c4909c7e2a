/* The map of the machine: the host, the link, a GPU with its parts, and the way to other
 * GPUs. The reader guesses where an array spends its time, and sends it from the host to the
 * SMs and back, presses a part, and chooses the card whose numbers are shown. The two
 * bandwidths that the reader compares are hidden before. On the front page, a list below the
 * map has the sections that treat each part.
 */
import { size, bandwidth, rate, round, time, GIGA, TERA } from "./arithmetic.js";
import { cards } from "./cards.js";
import { each, tag, label, canvas } from "./chart.js";
import { hidden, logRange, more, select } from "./controls.js";
import { figure } from "./explorable.js";

const NAMES = ["T4", "A100", "H100", "H200", "B200", "RTX 4090"];
/** @type {Record<string, any>} */
const CARDS = Object.fromEntries(
  NAMES.map((name) => [name.toLowerCase().replace(" ", ""), { name, ...cards[name] }]),
);
const PAPER = "paper"; // where there is no button, the array has been sent
const isSent = (state) => state.sent !== "";
/** Return the card of a state, which is `asked` while the reader guesses. */
const cardOf = (state) => ({ ...(CARDS[state.card] || CARDS.h100), asked: !isSent(state) });

const binary = (bytes) =>
  bytes < 2 ** 20
    ? `${round(bytes / 2 ** 10)}\u00a0KiB`
    : `${round(bytes / 2 ** 20)}\u00a0MiB`;
/** Return a bandwidth, without its number while the reader guesses. */
const compared = ({ asked }, giga) => {
  const text = bandwidth(giga * GIGA);
  return asked ? text.replace(/[\d.]+/, "?") : text;
};
const link = (card) => compared(card, card.pcie);
const memory = (card) => compared(card, card.bandwidth);
const registers = (card) => binary(4 * card.registers);
const tensor = (card) => rate(card.tensor16 * TERA);
const isKnown = (number, text) => (number ? text(number) : "");
const cache = (card) => isKnown(card.l2, binary);
const others = (card) => isKnown(card.nvlink, (x) => bandwidth(x * GIGA));

/** The parts: the name, its number, more lines of the drawing, what it does, in some seven
 * words, and with which numbers. */
const PARTS = {
  host: {
    name: "Host",
    number: () => "",
    lines: () => ["CPU", "main memory"],
    gloss: "loads the data and queues the work",
    facts: () => "a CPU with its main memory",
  },
  link: {
    name: "Link",
    number: link,
    gloss: "every byte from the host crosses it",
    facts: (card) => `PCI Express with ${link(card)} in each direction`,
  },
  memory: {
    name: "GPU memory",
    number: memory,
    lines: (card) => [size(card.advertised * GIGA), memory(card)],
    gloss: "holds all that the GPU works on",
    facts: (card) =>
      `${size(card.advertised * GIGA)} on the data sheet` +
      isKnown(card.memory, (bytes) => `, ${size(bytes)} for programs`) +
      `, which the chip reads at ${memory(card)}`,
  },
  l2: {
    name: "L2 cache",
    number: cache,
    gloss: "keeps at hand what all SMs share",
    facts: (card) => isKnown(card.l2, (bytes) => `${binary(bytes)} on the chip`),
  },
  sm: {
    name: "SMs",
    number: (card) => `${card.cores} × ${card.threads / 32} warps`,
    gloss: "run the threads, 32 to a warp",
    facts: (card) =>
      `${card.cores} streaming multiprocessors, each with up to ${card.threads / 32} warps`,
  },
  registers: {
    name: "Registers",
    number: (card) => `${registers(card)} per SM`,
    lines: (card) => [registers(card)],
    gloss: "hold what each thread computes with",
    facts: (card) => `${card.registers} of 32 bits on each SM, ${registers(card)}`,
  },
  tensor: {
    name: "Tensor cores",
    number: tensor,
    lines: (card) => [`${tensor(card)} in all`],
    gloss: "multiply small matrices of 16-bit values",
    facts: (card) => `${tensor(card)} on all SMs`,
  },
  shared: {
    name: "Shared memory",
    number: (card) => `${binary(card.shared)} per SM`,
    lines: (card) => [binary(card.shared)],
    gloss: "fast memory of threads that work together",
    facts: (card) => `${binary(card.shared)} on each SM`,
  },
  network: {
    name: "Other GPUs",
    number: others,
    lines: () => [],
    gloss: "take a share of a larger task",
    facts: (card) =>
      card.nvlink
        ? `NVLink with ${others(card)} in each direction inside the machine, a network beyond`
        : `what goes there crosses the link, ${link(card)}, or a network`,
  },
};

// The trip of an array, from the host to the SMs and back

/** Return the seconds of an array on the link and from the memory to the SMs. */
const trip = ({ pcie, bandwidth: width }, bytes) => {
  const [link, inside] = [bytes / (pcie * GIGA), bytes / (width * GIGA)];
  return { link, inside, whole: 2 * (link + inside) };
};

const ratio = (card) => round(card.bandwidth / card.pcie, 2);

// The drawing

const CHANNEL = 104; // the height of the bar for the bandwidth of the memory
const THIN = 2; // that of every bar before the reader has sent the array
const WIDE = 480;

/** Return the places of all boxes, of the frame of the GPU and of the bars between them,
 * which are so thick `across`; the names have room for the widest, `whole`.
 * @returns {any}
 */
const wide = (width, across, whole) => {
  const [frame, row] = [0.285 * width, { y: 66, height: 112 }];
  const at = (x, wide) => ({ x, width: wide, ...row });
  const memory = at(frame + 10, 0.19 * width);
  const l2 = at(memory.x + memory.width + 28, 0.14 * width);
  const x = l2.x + l2.width + 16;
  const sm = { x, y: 28, width: width - x - 12, height: 192 };
  const inside = (i) => ({ x: x + 8, y: 78 + 46 * i, width: sm.width - 16, height: 42 });
  const middle = row.y + row.height / 2;
  const host = at(1, 0.18 * width);
  const bar = (from, to, thick) => ({
    ...{ x: from.x + from.width, width: to.x - from.x - from.width },
    ...{ y: middle - thick / 2, height: thick },
  });
  const below = frame + (width - frame) / 2;
  return {
    height: 296,
    frame: { x: frame, y: 4, width: width - frame - 1, height: 224 },
    boxes: { host, memory, l2, sm, registers: inside(0), tensor: inside(1), shared: inside(2) },
    network: { x: frame, y: 258, width: width - frame - 1, height: 34 },
    link: bar(host, memory, across.link),
    channel: bar(memory, l2, across.memory),
    inner: bar(l2, sm, across.memory),
    others: { x: below - across.others / 2, y: 228, width: across.others, height: 30 },
    names: {
      link: [(host.x + host.width + frame) / 2, middle - 38, "middle"],
      network: [below + whole.others / 2 + 10, 248, "start"],
    },
  };
};

/** Return these places one below the other, for a phone. */
const narrow = (width, across, whole) => {
  const middle = width / 2;
  const box = (y, height, aside = 12) => ({ x: aside, y, width: width - 2 * aside, height });
  const bar = (y, height, thick) => ({ x: middle - thick / 2, y, width: thick, height });
  const inside = (i) => box(274 + 46 * i, 42, 22);
  return {
    height: 500,
    frame: box(78, 346, 1),
    boxes: {
      ...{ host: box(4, 44, 1), memory: box(110, 44), l2: box(170, 44), sm: box(226, 190) },
      ...{ registers: inside(0), tensor: inside(1), shared: inside(2) },
    },
    network: box(462, 34, 1),
    link: bar(48, 62, across.link),
    channel: bar(154, 16, across.memory),
    inner: bar(214, 12, across.memory),
    others: bar(424, 38, across.others),
    names: {
      link: [middle + whole.link / 2 + 12, 68, "start"],
      network: [middle + whole.others / 2 + 12, 448, "start"],
    },
  };
};

const ARRAY = 18; // the side of the array in the drawing
const TRIP = 5000; // ms of the drawing for the whole trip
const GROWTH = 400; // ms in which the bars become as thick as they are
const OPENING = 4500; // ms of the trip before the reader's, which shows nothing but the way

const rect = (place, kind, rx = 6) => tag("rect", { ...place, rx, class: kind });

/** Return lines of text in the middle of a box, the first one strong. */
const centered = ({ x, y, width, height }, lines, top = y + height / 2 - 9 * lines.length + 13) =>
  each(lines, (text) => {
    const i = lines.indexOf(text);
    const kind = i ? "soft small" : "ink small strong";
    return label(x + width / 2, top + 18 * i, text, kind, "middle");
  });

/** Return the words of a part in the drawing, on at most `count` lines. */
const words = (id, card, count) => {
  const { name, number, lines = () => [number(card)] } = PARTS[id];
  const below = lines(card).filter(Boolean);
  return [name, ...(below.length < count ? below : [below.join(", ")])];
};

const titleOf = (id, card) => {
  const { name, number } = PARTS[id];
  return [name, number(card)].filter(Boolean).join(": ");
};

const wireOf = (card) =>
  card.nvlink ? `NVLink, ${others(card)}` : `PCIe, ${link(card)}`;

/** Return the legs of a trip through the drawing at an even pace. */
const evenly = ({ link: bar, channel, boxes: { sm } }) => {
  const [along, axis] = bar.x + bar.width < channel.x ? ["width", "x"] : ["height", "y"];
  const [link, inside] = [bar[along], sm[axis] - channel[axis]];
  return { link, inside, whole: 2 * (link + inside) };
};

/** Return the array in the drawing, `now` seconds after it has left the host. */
const array = ({ link, inside, whole }, now, { link: bar, channel, boxes }) => {
  const away = Math.min(now, whole - now);
  const isOnLink = away < link;
  const part = isOnLink ? away / link : (away - link) / inside;
  const isWide = bar.x + bar.width < channel.x;
  const [axis, along, across, beyond] = isWide
    ? ["x", "width", "y", "height"]
    : ["y", "height", "x", "width"];
  const from = isOnLink ? bar[axis] : channel[axis];
  const to = isOnLink ? bar[axis] + bar[along] : boxes.sm[axis];
  const middle = bar[across] + bar[beyond] / 2;
  const place = { [axis]: from + part * (to - from) - ARRAY / 2, [across]: middle - ARRAY / 2 };
  return rect({ ...place, width: ARRAY, height: ARRAY }, "s2 solid", 3);
};

/** Return a bar for a whole trip: the way there, in the GPU twice, and the way back. */
const strip = (y, width, name, { link, inside, whole }, until = 1) => {
  const [left, all] = [1, width - 2];
  const pieces = [[0, link, "s1"], [link, 2 * inside, "s2 solid"], [link + 2 * inside, link, "s1"]];
  const drawn = each(pieces, ([from, long, kind]) => {
    const end = Math.min((from + long) / whole, until);
    const start = from / whole;
    return end > start ? rect({ x: left + all * start, y: y + 8, width: all * (end - start), height: 14 }, kind, 0) : "";
  });
  return label(left, y, name, "soft small") + drawn + rect({ x: left, y: y + 8, width: all, height: 14 }, "axis", 0);
};

/** Return the reader's guess and the trip itself, both at true scale. */
const strips = (state, card, top, width, now) => {
  const own = trip(card, state.bytes);
  const guess = trip({ pcie: 1, bandwidth: state.guess }, 1);
  const found = isSent(state)
    ? `${size(state.bytes)} there and back: ${time(own.whole)}, ${time(2 * own.inside)} of it in the GPU`
    : "There and back: send the array";
  const part = isSent(state) ? (now ?? own.whole) / own.whole : 0;
  return (
    strip(top, width, found, own, part) +
    (state.sent === PAPER ? "" : strip(top + 44, width, "Your guess", guess))
  );
};

/** Return how thick the bars are when they have become a part of what they are at scale. */
const thickness = (card, part) => {
  const at = (giga) => {
    const whole = Math.max(THIN, (CHANNEL * giga) / card.bandwidth);
    return THIN + part * (whole - THIN);
  };
  return { memory: at(card.bandwidth), link: at(card.pcie), others: at(card.nvlink || card.pcie) };
};

/** Return this part: all while nothing moves, and none while the reader guesses. */
const grown = (card, motion) => {
  if (card.asked) return 0;
  return motion?.from.sent === "" ? Math.min(1, (motion.part * TRIP) / GROWTH) : 1;
};

/** Return the array in a drawing in motion: on its trip, or at an even pace before. */
const traveling = ({ part, isOpening }, own, place) => {
  const legs = isOpening ? evenly(place) : own;
  return array(legs, part * legs.whole, place);
};

const draw = (state, width, motion) => {
  const card = cardOf(state);
  const across = thickness(card, grown(card, motion));
  const place = (width < WIDE ? narrow : wide)(width, across, thickness(card, 1));
  const kind = (id) => (state.part === id ? "s1 chip" : "box");
  const bar = (id, at) => rect(at, state.part === id ? "s1 solid" : "s1", 0);
  const { sm } = place.boxes;
  const [x, y, anchor] = place.names.link;
  const [beside, above, end] = place.names.network;
  const own = trip(card, state.bytes);
  const now = motion ? motion.part * own.whole : undefined;
  // The array passes behind the L2 cache and its name, and over all bars.
  const moving = motion ? traveling(motion, own, place) : "";
  const special = {
    link: () => [
      bar("link", place.link),
      anchor === "middle"
        ? label(x, y, "PCIe", "ink small strong", anchor) +
          label(x, y + 18, link(card), "soft small", anchor)
        : label(x, y, `PCIe, ${link(card)}`, "soft small"),
    ],
    memory: () => [bar("memory", place.channel), ...box("memory")],
    l2: () => [bar("l2", place.inner), moving, ...box("l2")],
    sm: () => [
      ...[8, 4].map((by) => rect({ ...sm, x: sm.x + by, y: sm.y - by }, "box")),
      rect(sm, kind("sm")),
      centered(sm, [`${card.cores} SMs`, `each with ${card.threads / 32} warps`], sm.y + 20),
    ],
    network: () => [
      bar("network", place.others),
      label(beside, above, wireOf(card), "soft small", end),
      rect(place.network, kind("network")),
      centered(place.network, ["Other GPUs, other machines"]),
    ],
  };
  const box = (id) => {
    const at = place.boxes[id];
    return [rect(at, kind(id)), centered(at, words(id, card, at.height > 60 ? 3 : 2))];
  };
  const part = (id) => {
    const shapes = special[id] ? special[id]() : box(id);
    return tag("g", { "data-touch": id }, tag("title", {}, titleOf(id, card)), ...shapes);
  };
  const isOnPaper = state.sent === PAPER;
  return canvas(
    width,
    place.height + (isOnPaper ? 46 : 90),
    rect(place.frame, "faint", 10),
    label(place.frame.x + 12, place.frame.y + 22, card.name, "ink strong"),
    ...Object.keys(PARTS).map(part),
    strips(state, card, place.height + 20, width, now),
  );
};

// In words

const asLong = (factor) =>
  round(factor, 2) === 1 ? "as long" : `${round(factor, 2)} times as long`;

// Returns a guess and how far it is off, in words.
const verdict = (guess, card) => {
  const factor = guess / (card.bandwidth / card.pcie);
  const off = round(Math.max(factor, 1 / factor), 2);
  const way = factor < 1 ? "small" : "large";
  return `${round(guess, 2)}, ${off === 1 ? "right" : `too ${way} by a factor of ${off}`}`;
};

const result = (state) => {
  const card = cardOf(state);
  const part = PARTS[state.part];
  if (part) {
    const facts = part.facts(card);
    return `${card.name}, ${part.name}: ${part.gloss}${facts ? `; ${facts}` : ""}.`;
  }
  const { link, inside } = trip(card, state.bytes);
  if (!isSent(state))
    return (
      `Your guess for the ${card.name}: ${size(state.bytes)} takes ${asLong(state.guess)} over ` +
      "the link as from the memory to the SMs."
    );
  const guessed = state.sent === PAPER ? "" : `you guessed ${verdict(state.guess, card)}; `;
  return (
    `${ratio(card)} times: ${guessed}on the ${card.name}, ${size(state.bytes)} takes ` +
    `${time(link)} over the link and ${time(inside)} from the memory to the SMs.`
  );
};

const summary = (state) => {
  const card = cardOf(state);
  const parts = Object.keys(PARTS).map((id) => titleOf(id, card));
  return `A map of a machine with one GPU, the ${card.name}. ${parts.join("; ")}. ${result(state)}`;
};

const formula = (state) => {
  const card = cardOf({ ...state, sent: PAPER });
  const all = (bytes) => size(card.cores * bytes);
  const { link: there, inside, whole } = trip(card, state.bytes);
  return [
    `over the link: ${size(state.bytes)} / ${link(card)} = ${time(there)}`,
    `from the memory to the SMs: ${size(state.bytes)} / ${memory(card)} = ${time(inside)}`,
    `there and back: 2 · (${time(there)} + ${time(inside)}) = ${time(whole)}`,
    `memory against link: ${memory(card)} / ${link(card)} = ${ratio(card)}`,
    `FLOPs for each byte of memory: ${tensor(card)} / ${memory(card)} = ` +
      `${round((1000 * card.tensor16) / card.bandwidth)}`,
    `registers of all SMs: ${card.cores} · ${card.registers} · 4 B = ${all(4 * card.registers)}`,
    `shared memory of all SMs: ${card.cores} · ${card.shared} B = ${all(card.shared)}`,
  ];
};

const table = (state) => ({
  head: ["card", "link", "memory", "L2 cache", "SMs", "tensor cores", "NVLink"],
  rows: Object.values(CARDS).map((card) => [
    ...[card.name, link(card), memory(card), cache(card) || "–", String(card.cores)],
    ...[tensor(card), others(card) || "–"],
  ]),
  chosen: NAMES.indexOf(cardOf(state).name),
});

const XLA = "https://github.com/openxla/xla/tree/main/xla/backends/gpu/target_config/specs";
const LOCKWOOD = "https://glennklockwood.com/garden/processors/A100";
const ADA = "https://images.nvidia.com/aem-dam/Solutions/geforce/ada/nvidia-ada-gpu-architecture.pdf";
const CUDA = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/";
const NOTES = [
  "The library’s file cards.csv holds these numbers, each with its source: " +
    `[OpenXLA](${XLA}), [Lockwood](${LOCKWOOD}), [NVIDIA, Ada architecture](${ADA}), ` +
    `[NVIDIA, CUDA](${CUDA}) and others. A dash or a missing number is not in the file.`,
  "Bandwidths are in one direction, and rates are those of dense matrices. The thickness " +
    "of a blue bar is proportional to its bandwidth, but at least 2 pixels; memory, link " +
    "and NVLink have one scale, which differs from card to card. Until you send the array, " +
    "all bars are equally thin.",
  "The array travels at these bandwidths, in whole pieces: it is all in the GPU’s memory " +
    "before the SMs read it, nothing is computed, and latencies, some microseconds for each " +
    "step, are left out. What the L2 cache adds is left out, too; the bars to its left and " +
    "right both show the bandwidth of the memory.",
];

// Settings

/** Open the list of the sections that treat a part, where the page has such lists. */
const open = (part) => {
  const list = document.getElementById(`part-${part}`)?.closest("details");
  if (list) list.open = true;
};

const map = figure({
  name: "map",
  experiment: "warp",
  card: "card",
  follows: { part: "part" },
  controls: [
    select("card", "Card", CARDS, "h100"),
    logRange("guess", "Your guess", [1, 1000], 10, (x) => `${round(x, 2)} ×`),
    ...more(
      logRange("bytes", "Array", [1e6, 1e10], 1e9, size),
      select("part", "Part", { none: "none", ...PARTS }, "none"),
    ),
    hidden("sent", (text) => text === "yes", () => (typeof document === "undefined" ? PAPER : "")),
  ],
  actions: [
    {
      label: "Send the array there and back",
      run: (state) => ({ ...state, sent: "yes", part: "none" }),
      motion: () => TRIP,
      main: true,
    },
  ],
  opening: OPENING,
  touch: (state, part) => {
    open(part);
    return { ...state, part };
  },
  invite: "How many times slower is the link than the GPU’s memory? Guess, then send.",
  notes: () => NOTES,
  ...{ draw, summary, result, formula, table },
  ...{ CARDS, PARTS }, // for tests
});

/** Show the map, with the part lit whose list of sections is open. */
const start = (element) => {
  map.start(element);
  const follow = () => {
    const list = element.querySelector("details[open] [id^=part-]");
    const value = list ? list.id.replace("part-", "") : "none";
    const detail = { axis: "part", value };
    document.dispatchEvent(new CustomEvent("book:choice", { detail }));
  };
  if (element.querySelector("details[open] [id^=part-]")) follow();
  element.addEventListener("toggle", ({ target }) => {
    if (target.querySelector("[id^=part-]")) follow();
  }, true); // this event does not bubble
};

export default { ...map, start };
