/* The arithmetic of checkpoints: a job that saves, fails, and starts again from the newest
 * checkpoint. All times are in one unit, such as minutes.
 *
 * As in the section, a failure begins the job anew at once: `interval` of work, then a save
 * of `save`, and so on. The times between failures are exponential, with the mean `mean`.
 */

/** Return a generator of numbers between 0 and 1, the same ones for the same seed. */
const uniform = (seed) => {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

/** Return times between failures until their sum reaches `total`; those of the same seed
 * differ only by the factor `mean`. */
export const failures = (seed, mean, total) => {
  const next = uniform(seed);
  const times = [];
  for (let sum = 0; sum < total; sum += times.at(-1))
    times.push(-mean * Math.log(1 - next()));
  return times;
};

/** Return the share of the time that is not saved work, as `lost_share` in the section. */
export const lostShare = (times, interval, save) => {
  const sum = (list) => list.reduce((a, b) => a + b, 0);
  const saved = times.map((time) => Math.floor(time / (interval + save)) * interval);
  return 1 - sum(saved) / sum(times);
};

/** Return the mean of `lostShare` over all runs: of the n-th save, e^(-n (interval + save) /
 * mean) of the times between failures see the end. */
export const meanLostShare = (interval, save, mean) =>
  1 - interval / mean / Math.expm1((interval + save) / mean);

/** Return what the formula says of the share, and the interval at which that is smallest. */
export const formulaShare = (interval, save, mean) => save / interval + interval / (2 * mean);
export const bestInterval = (save, mean) => Math.sqrt(2 * save * mean);

/**
 * Return the spans {kind, start, end} of a run until `total`: "work", which is kept, "save",
 * and "lost", which is what came after the newest checkpoint before a failure. Work that
 * waits for its save at the end is kept.
 */
export const runWithFailures = (times, interval, save, total) => {
  const spans = [];
  let now = 0;
  for (const time of times) {
    const end = now + time;
    while (now + interval + save <= Math.min(end, total)) {
      spans.push({ kind: "work", start: now, end: now + interval });
      spans.push({ kind: "save", start: now + interval, end: now + interval + save });
      now += interval + save;
    }
    if (end >= total) {
      const middle = Math.min(total, now + interval);
      spans.push({ kind: "work", start: now, end: middle });
      spans.push({ kind: "save", start: middle, end: total });
      break;
    }
    spans.push({ kind: "lost", start: now, end });
    now = end;
  }
  return spans.filter(({ start, end }) => end > start);
};

/** Return the time of each kind among spans, until `now`. */
export const timeOfKinds = (spans, now = Infinity) => {
  const sums = { work: 0, save: 0, lost: 0 };
  for (const { kind, start, end } of spans) sums[kind] += Math.max(0, Math.min(end, now) - start);
  return sums;
};
