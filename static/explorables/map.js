/* The map of the machine: the host, the link, a GPU with its parts, and the way to other
 * GPUs. The reader presses a part, and chooses the card whose numbers are shown. On the
 * front page, a list below the map has the sections that treat each part.
 */
import { size, bandwidth, rate, round, GIGA, TERA } from "./arithmetic.js";
import { cards } from "./cards.js";
import { each, tag, label, canvas } from "./chart.js";
import { select } from "./controls.js";
import { figure } from "./explorable.js";

const NAMES = ["T4", "A100", "H100", "H200", "B200", "RTX 4090"];
/** @type {Record<string, any>} */
const CARDS = Object.fromEntries(
  NAMES.map((name) => [name.toLowerCase().replace(" ", ""), { name, ...cards[name] }]),
);
const cardOf = (state) => CARDS[state.card] || CARDS.h100;

const binary = (bytes) =>
  bytes < 2 ** 20
    ? `${round(bytes / 2 ** 10)}\u00a0KiB`
    : `${round(bytes / 2 ** 20)}\u00a0MiB`;
const link = (card) => bandwidth(card.pcie * GIGA);
const memory = (card) => bandwidth(card.bandwidth * GIGA);
const registers = (card) => binary(4 * card.registers);
const tensor = (card) => rate(card.tensor16 * TERA);
const isKnown = (number, text) => (number ? text(number) : "");
const cache = (card) => isKnown(card.l2, binary);
const others = (card) => isKnown(card.nvlink, (x) => bandwidth(x * GIGA));

/** The parts: the name, its number, more lines of the drawing, and a sentence. */
const PARTS = {
  host: {
    name: "Host",
    number: () => "",
    lines: () => ["CPU", "main memory"],
    text: () =>
      "the host, a CPU with its main memory, loads the data and queues work for the GPU.",
  },
  link: {
    name: "Link",
    number: link,
    text: (card) =>
      `the link between main memory and the memory of the GPU, PCI Express, carries ` +
      `${link(card)} in each direction.`,
  },
  memory: {
    name: "GPU memory",
    number: memory,
    lines: (card) => [size(card.advertised * GIGA), memory(card)],
    text: (card) =>
      `the memory of the GPU holds ${size(card.advertised * GIGA)}, which the chip reads at ` +
      `${memory(card)}.`,
  },
  l2: {
    name: "L2 cache",
    number: cache,
    text: (card) =>
      `all SMs share the L2 cache${card.l2 ? `, ${cache(card)} on the chip` : ""}.`,
  },
  sm: {
    name: "SMs",
    number: (card) => `${card.cores} × ${card.threads / 32} warps`,
    text: (card) =>
      `the GPU has ${card.cores} streaming multiprocessors (SMs), each with up to ` +
      `${card.threads / 32} warps of 32 threads.`,
  },
  registers: {
    name: "Registers",
    number: (card) => `${registers(card)} per SM`,
    lines: (card) => [registers(card)],
    text: (card) =>
      `the threads on an SM keep their values in ${card.registers} registers of 32 bits, ` +
      `which are ${registers(card)}.`,
  },
  tensor: {
    name: "Tensor cores",
    number: tensor,
    lines: (card) => [`${tensor(card)} in all`],
    text: (card) =>
      `the tensor cores of all SMs multiply matrices of 16-bit values at ${tensor(card)}.`,
  },
  shared: {
    name: "Shared memory",
    number: (card) => `${binary(card.shared)} per SM`,
    lines: (card) => [binary(card.shared)],
    text: (card) =>
      `the threads that work together on an SM share ${binary(card.shared)} of fast memory.`,
  },
  network: {
    name: "Other GPUs",
    number: others,
    lines: () => [],
    text: (card) =>
      card.nvlink
        ? `NVLink carries ${others(card)} in each direction to the other GPUs of the ` +
          "machine, and a network leads to other machines."
        : `data to other GPUs cross the link, which carries ${link(card)}, or a network.`,
  },
};

// The drawing

const CHANNEL = 104; // the height of the bar for the bandwidth of the memory
const WIDE = 480;

/** Return the places of all boxes, of the frame of the GPU and of the bars between them.
 * @returns {any}
 */
const wide = (width, across) => {
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
    channel: bar(memory, l2, CHANNEL),
    others: { x: below - across.others / 2, y: 228, width: across.others, height: 30 },
    names: {
      link: [(host.x + host.width + frame) / 2, middle - 26, "middle"],
      network: [below + across.others / 2 + 10, 248, "start"],
    },
  };
};

/** Return these places one below the other, for a phone. */
const narrow = (width, across) => {
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
    channel: bar(154, 16, CHANNEL),
    others: bar(424, 38, across.others),
    names: {
      link: [middle + across.link / 2 + 12, 68, "start"],
      network: [middle + across.others / 2 + 12, 448, "start"],
    },
  };
};

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

const draw = (state, width) => {
  const card = cardOf(state);
  const scale = CHANNEL / card.bandwidth;
  const across = {
    link: Math.max(2, scale * card.pcie),
    others: Math.max(2, scale * (card.nvlink || card.pcie)),
  };
  const place = width < WIDE ? narrow(width, across) : wide(width, across);
  const kind = (id) => (state.part === id ? "s1 chip" : "box");
  const bar = (id, at) => rect(at, state.part === id ? "s1 solid" : "s1", 0);
  const { sm } = place.boxes;
  const [x, y, anchor] = place.names.link;
  const [beside, above, end] = place.names.network;
  const special = {
    link: () => [
      bar("link", place.link),
      anchor === "middle"
        ? label(x, y, "PCIe", "ink small strong", anchor) +
          label(x, y + 18, link(card), "soft small", anchor)
        : label(x, y, `PCIe, ${link(card)}`, "soft small"),
    ],
    memory: () => [bar("memory", place.channel), ...box("memory")],
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
  return canvas(
    width,
    place.height,
    rect(place.frame, "faint", 10),
    label(place.frame.x + 12, place.frame.y + 22, card.name, "ink strong"),
    ...Object.keys(PARTS).map(part),
  );
};

// In words

const ratio = (card) => round(card.bandwidth / card.pcie, 2);

const result = (state) => {
  const card = cardOf(state);
  const { name } = card;
  if (PARTS[state.part]) return `${name}: ${PARTS[state.part].text(card)}`;
  return (
    `${name}: the memory of the GPU carries ${ratio(card)} times as many bytes per second ` +
    "as the link to the host."
  );
};

const summary = (state) => {
  const card = cardOf(state);
  const parts = Object.keys(PARTS).map((id) => titleOf(id, card));
  return `A map of a machine with one GPU, the ${card.name}. ${parts.join("; ")}. ${result(state)}`;
};

const formula = (state) => {
  const card = cardOf(state);
  const all = (bytes) => size(card.cores * bytes);
  return [
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
    "and NVLink have one scale, which differs from card to card.",
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
    select("part", "Part", { none: "none", ...PARTS }, "none"),
  ],
  touch: (state, part) => {
    open(part);
    return { ...state, part };
  },
  invite: "Press a part of the machine.",
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
