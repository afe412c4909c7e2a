/* The arithmetic of an all-reduce: who sends what to whom, and how long it takes.
 *
 * A device has one link. For each message, a direction of the link is busy for the latency
 * plus the bytes over the bandwidth. All links work at the same time, so the busiest one
 * decides how long a round lasts. Times are in seconds, sizes in bytes and bandwidths in
 * bytes per second.
 */

const range = (n) => Array.from({ length: n }, (_, i) => i);

// The rounds of each algorithm. A message {from, to, piece, adds} has the number of a
// piece of the array; where it arrives, it is added, or it replaces what was there.

const star = (n) => {
  const others = range(n).slice(1);
  return [
    others.map((from) => ({ from, to: 0, piece: 0, adds: true })),
    others.map((to) => ({ from: 0, to, piece: 0, adds: false })),
  ];
};

const ring = (n) =>
  range(2 * (n - 1)).map((round) =>
    range(n).map((from) => ({
      from,
      to: (from + 1) % n,
      piece: (((from - round) % n) + n) % n,
      adds: round < n - 1,
    })),
  );

/** Return the rounds of a binomial tree: in each, half of the senders fall silent. */
const tree = (n) => {
  const up = [];
  for (let step = 1; step < n; step *= 2)
    up.push(
      range(n)
        .filter((to) => to % (2 * step) === 0 && to + step < n)
        .map((to) => ({ from: to + step, to, piece: 0, adds: true })),
    );
  const down = [...up]
    .reverse()
    .map((round) =>
      round.map(({ from, to }) => ({ from: to, to: from, piece: 0, adds: false })),
    );
  return [...up, ...down];
};

export const ALGORITHMS = { star, ring, tree };

/** Return the number of pieces into which an algorithm cuts the array. */
export const pieces = (algorithm, n) => (algorithm === "ring" ? n : 1);

/** Return the rounds of an algorithm on n devices, as lists of messages. */
export const rounds = (algorithm, n) => ALGORITHMS[algorithm](n);

/**
 * Return the terms that each device has of each piece after some rounds.
 * @returns {number[][]} by device and piece, a set of devices as the bits of a number
 */
export const terms = (algorithm, n, count) => {
  const parts = pieces(algorithm, n);
  let held = range(n).map((device) => Array(parts).fill(2 ** device));
  for (const round of rounds(algorithm, n).slice(0, count)) {
    const next = held.map((row) => [...row]);
    for (const { from, to, piece, adds } of round)
      next[to][piece] = adds ? next[to][piece] + held[from][piece] : held[from][piece];
    held = next;
  }
  return held;
};

/** Return the number of terms in a set. */
export const size = (set) => {
  let count = 0;
  for (let rest = set; rest > 0; rest = Math.floor(rest / 2)) count += rest % 2;
  return count;
};

/** Return a list with what each device's link does in one direction of a round. */
const loads = (round, end, n, setting) => {
  const { bytes, latency, bandwidth, slow, factor, algorithm } = setting;
  const share = bytes / pieces(algorithm, n);
  return range(n).map((device) => {
    const count = round.filter((message) => message[end] === device).length;
    const width = device === slow ? bandwidth / factor : bandwidth;
    return { bytes: count * share, time: count * (latency + share / width) };
  });
};

/**
 * Return the course of an all-reduce.
 * @param {object} setting algorithm: "star", "ring" or "tree"; n: devices; bytes: size of
 * the array of each device; latency; bandwidth; slow: the device whose link has only a
 * `factor`-th of the bandwidth, or -1
 * @returns {{steps: object[], time: number, sent: number[], received: number[],
 * busiest: object}} steps {start, end, messages}; bytes by device; and the link that is
 * busy for the longest time: {device, direction, bytes, time, alike}, with the number of
 * devices whose links are as busy
 */
export const run = (setting) => {
  const { algorithm, n } = setting;
  const course = { steps: [], time: 0 };
  const idle = (direction) =>
    range(n).map((device) => ({ device, direction, bytes: 0, time: 0 }));
  const links = [...idle("sends"), ...idle("receives")];
  for (const messages of rounds(algorithm, n)) {
    const round = ["from", "to"].flatMap((end) => loads(messages, end, n, setting));
    round.forEach(({ bytes, time }, i) => {
      links[i].bytes += bytes;
      links[i].time += time;
    });
    const start = course.time;
    course.time += Math.max(...round.map(({ time }) => time));
    course.steps.push({ start, end: course.time, messages });
  }
  const top = links.reduce((a, b) => (b.time > a.time * (1 + 1e-9) ? b : a));
  const alike = links.filter(({ time }) => time > top.time * (1 - 1e-9));
  const devices = new Set(alike.map(({ device }) => device)).size;
  const all = links.map(({ bytes }) => bytes);
  const busiest = { ...top, alike: devices };
  return { ...course, sent: all.slice(0, n), received: all.slice(n), busiest };
};

/** Return the bus bandwidth of an all-reduce, as nccl-tests defines it. */
export const busBandwidth = (bytes, seconds, n) => ((2 * (n - 1)) / n) * (bytes / seconds);
