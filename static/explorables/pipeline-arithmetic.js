/* The arithmetic of a pipeline: the functions `pipeline_order` and `pipeline_times` of the
 * library, and what a stage holds. Times are in any unit.
 */

const range = (n) => Array.from({ length: n }, (_, i) => i);

/** Return the work of a stage: pairs of "forward" or "backward" and a microbatch's number. */
export const order = (schedule, stage, stages, microbatches) => {
  const ahead = schedule === "GPipe" ? microbatches : stages - stage;
  const first = range(Math.min(ahead, microbatches)).map((i) => ["forward", i]);
  const rest = range(microbatches).flatMap((i) => {
    const next = ahead + i < microbatches ? [["forward", ahead + i]] : [];
    return [["backward", i], ...next];
  });
  return [...first, ...rest];
};

/**
 * Return the spans {kind, number, start, end} of each stage. Work starts when its stage is
 * free and what it needs has arrived.
 */
export const times = (schedule, stages, microbatches, forward = 1, backward = 2) => {
  const todo = range(stages).map((stage) => order(schedule, stage, stages, microbatches));
  const spans = todo.map(() => []);
  const ends = {};
  const advance = (stage) => {
    while (todo[stage].length) {
      const [kind, number] = todo[stage][0];
      const before = kind === "forward" ? stage - 1 : stage + 1;
      const needed = before >= 0 && before < stages;
      const arrived = needed ? ends[[kind, number, before].join()] : 0;
      if (arrived === undefined) return;
      const start = Math.max(spans[stage].at(-1)?.end ?? 0, arrived);
      const end = start + (kind === "forward" ? forward : backward);
      spans[stage].push({ kind, number, start, end });
      ends[[kind, number, stage].join()] = end;
      todo[stage].shift();
    }
  };
  while (todo.some((list) => list.length)) range(stages).forEach(advance);
  return spans;
};

/** Return when the last stage has finished. */
export const total = (spans) => Math.max(...spans.map((list) => list.at(-1).end));

/** Return how many microbatches a stage holds at a time: from the start of their forward
 * pass until the end of their backward pass. */
export const held = (list, now) =>
  list.filter(({ kind, start }) => kind === "forward" && start <= now).length -
  list.filter(({ kind, end }) => kind === "backward" && end <= now).length;

/** Return the largest number of microbatches that a stage holds. */
export const mostHeld = (list) => Math.max(...list.map(({ start }) => held(list, start)));

/** Return the share of a step in which a stage is idle, by the formula. */
export const bubble = (stages, microbatches) => (stages - 1) / (microbatches + stages - 1);
