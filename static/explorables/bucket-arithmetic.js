/* The arithmetic of buckets: when gradients are added up while the backward pass goes on.
 * Times are in seconds, sizes in bytes and bandwidths in bytes per second.
 */

/** Return the time of a ring, as `ring_time` in the library. */
export const ringTime = (bytes, n, latency, bandwidth) =>
  2 * (n - 1) * (latency + bytes / n / bandwidth);

/** Return the spans {start, end} in which buckets are sent, as `schedule_buckets` in the
 * library: a bucket is sent when it is full and the link is free. */
export const schedule = (ready, timeOf) => {
  let free = 0;
  return ready.map((full, i) => {
    const start = Math.max(full, free);
    free = start + timeOf(i);
    return { full, start, end: free };
  });
};

/**
 * Return a step of data parallelism: the forward pass takes a third of it, and the backward
 * pass of each layer the same time.
 * @param {object} task step: time of one GPU; bytes: of all gradients; layers; perBucket:
 * layers whose gradients share a bucket; n: GPUs; latency and bandwidth of a link
 * @returns {{layers: object[], buckets: object[], end: number, exposed: number, sum: number,
 * hidden: number, efficiency: number}} spans of layers and buckets, the end of the step, the
 * time after the backward pass, the time of the sum in one piece, the part of it that is
 * hidden, and the efficiency
 */
export const stepOf = ({ step, bytes, layers, perBucket, n, latency, bandwidth }) => {
  const each = (2 * step) / 3 / layers;
  const spans = Array.from({ length: layers }, (_, i) => ({
    ...{ number: i, bucket: Math.floor(i / perBucket) },
    ...{ start: step / 3 + i * each, end: step / 3 + (i + 1) * each },
  }));
  const count = Math.ceil(layers / perBucket);
  const inside = (i) => Math.min(perBucket, layers - i * perBucket);
  const ready = Array.from({ length: count }, (_, i) => spans[i * perBucket + inside(i) - 1].end);
  const timeOf = (i) => ringTime((bytes * inside(i)) / layers, n, latency, bandwidth);
  const buckets = schedule(ready, timeOf);
  const { end } = buckets[count - 1];
  const sum = ringTime(bytes, n, latency, bandwidth);
  const exposed = end - step;
  const found = { end, exposed, sum, hidden: 1 - exposed / sum, efficiency: step / end };
  return { layers: spans, buckets, ...found };
};
