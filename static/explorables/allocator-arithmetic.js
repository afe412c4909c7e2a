/* The arithmetic of the allocator: a pool of segments with pieces, in MiB. */

/** Return the free places of a segment as pairs of a start and an end. */
export const gapsOf = ({ size, pieces }) => {
  const taken = [...pieces].sort((a, b) => a.start - b.start);
  const starts = [0, ...taken.map(({ end }) => end)];
  const ends = [...taken.map(({ start }) => start), size];
  return starts.map((start, i) => [start, ends[i]]).filter(([a, b]) => a < b);
};

/** Return the gap for a piece, as a segment with a start and an end, or undefined. */
const findGap = (segments, size, best) => {
  const gaps = segments.flatMap((segment) =>
    gapsOf(segment).map(([start, end]) => ({ segment, start, end })),
  );
  const large = gaps.filter(({ start, end }) => end - start >= size);
  if (best) large.sort((a, b) => a.end - a.start - (b.end - b.start));
  return large[0];
};

// PyTorch's sizes, in MiB: c10/cuda/CUDACachingAllocator.cpp
const PAGE = 2; // the driver maps memory in pages of this size
const SMALL = 1; // larger requests may have a segment of their own
const LARGE = 10; // requests from this size on do
const SHARED = 20; // the segment of requests between the two

/** Return the size in MiB of the segment that PyTorch requests for a piece. */
export const segmentSize = (size) => {
  if (size <= SMALL) return PAGE;
  return size < LARGE ? SHARED : PAGE * Math.ceil(size / PAGE);
};

const reservedBy = (pool) =>
  pool.segments.reduce(
    (sum, { size, mapped }) => sum + (mapped ? mapped.size * PAGE : size),
    0,
  );

const put = ({ segment, start, end }, name, size) => {
  segment.pieces.push({ name, start, end: Math.min(end, start + size) });
  return true;
};

/** Place a piece in one block that is reserved at the start. */
const placeInBlock = (pool, name, size) => {
  const gap = findGap(pool.segments, size, pool.fit === "best");
  return gap ? put(gap, name, size) : false;
};

/** Place a piece as PyTorch does: in a cached segment, or in a new one. */
const placeInSegment = (pool, name, size) => {
  const small = size <= SMALL;
  const own = pool.segments.filter((segment) => segment.small === small);
  const gap = findGap(own, size, true);
  if (gap) {
    const rest = gap.end - gap.start - size;
    return put(gap, name, !small && rest <= SMALL ? size + rest : size);
  }
  const wanted = segmentSize(size);
  if (reservedBy(pool) + wanted > pool.capacity)
    pool.segments = pool.segments.filter(({ pieces }) => pieces.length > 0);
  if (reservedBy(pool) + wanted > pool.capacity) return false;
  const segment = { size: wanted, small, pieces: [] };
  pool.segments.push(segment);
  return put({ segment, start: 0, end: wanted }, name, size);
};

/** Return the pages of a range, by number. */
const pagesOf = (start, end) => {
  const first = Math.floor(start / PAGE);
  const count = Math.ceil(end / PAGE) - first;
  return Array.from({ length: count }, (_, i) => first + i);
};

/** Place a piece in a segment whose pages are mapped when needed, and moved if short. */
const placeInPages = (pool, name, size) => {
  const [segment] = pool.segments;
  const missing = ({ start }) =>
    pagesOf(start, start + size).filter((page) => !segment.mapped.has(page));
  const gaps = gapsOf({ ...segment, size: Infinity })
    .map(([start, end]) => ({ segment, start, end }))
    .filter(({ start, end }) => end - start >= size)
    .sort((a, b) => missing(a).length - missing(b).length);
  const pages = missing(gaps[0]);
  if (reservedBy(pool) + PAGE * pages.length > pool.capacity) {
    const used = segment.pieces.flatMap(({ start, end }) => pagesOf(start, end));
    const kept = pagesOf(gaps[0].start, gaps[0].start + size);
    segment.mapped = new Set(
      [...used, ...kept].filter((page) => segment.mapped.has(page)),
    );
  }
  if (reservedBy(pool) + PAGE * pages.length > pool.capacity) return false;
  for (const page of pages) segment.mapped.add(page);
  segment.size = Math.max(segment.size, gaps[0].start + size);
  return put(gaps[0], name, size);
};

const PLACES = {
  block: placeInBlock,
  segments: placeInSegment,
  expandable: placeInPages,
};

/** Return an empty pool of a policy: "block", "segments" or "expandable". */
const newPool = ({ capacity, policy, fit }) => {
  const first = {
    block: [{ size: capacity, pieces: [] }],
    segments: [],
    expandable: [{ size: 0, pieces: [], mapped: new Set() }],
  };
  return { capacity, policy, fit, segments: first[policy] };
};

/**
 * Replay requests until one fails.
 * @param {object} memory capacity; policy; fit: "first" or "best" (of a block)
 * @param {object[]} requests {name, size}, or {free: name}
 * @returns {object} the pool, with the sums `allocated` (what was requested) and `reserved`,
 * and `failed`: the request that failed, or null
 */
export const playRequests = (memory, requests) => {
  const pool = newPool(memory);
  const sizes = new Map();
  let failed = null;
  for (const request of requests) {
    if ("free" in request) {
      for (const segment of pool.segments)
        segment.pieces = segment.pieces.filter(({ name }) => name !== request.free);
      sizes.delete(request.free);
    } else if (PLACES[pool.policy](pool, request.name, request.size)) {
      sizes.set(request.name, request.size);
    } else {
      failed = request;
      break;
    }
  }
  const allocated = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  return { ...pool, allocated, reserved: reservedBy(pool), failed };
};
