/* The reader's kernels as this browser keeps them: their text, and how far each task is. */
/** @type {Map<string, string>} */
const memory = new Map(); // for a browser that keeps nothing

const read = (key) => {
  try {
    return localStorage.getItem(key) ?? memory.get(key) ?? null;
  } catch {
    return memory.get(key) ?? null; // storage is blocked
  }
};

const write = (key, text) => {
  memory.set(key, text);
  try {
    localStorage.setItem(key, text);
  } catch {
    // The text lasts as long as the page.
  }
};

/** Return the reader's own text of a task, or null. */
export const draft = (name) => read(`kernel-${name}`);

export const keepDraft = (name, text) => write(`kernel-${name}`, text);

/** Return the fewest sectors of a right kernel as a multiple of our solution's, or 0. */
export const best = (name) => Number(read(`kernel-best-${name}`)) || 0;

/** Note a right kernel with such a multiple, and let the page know. */
export const reached = (name, ratio) => {
  if (best(name) && best(name) <= ratio) return;
  write(`kernel-best-${name}`, String(ratio));
  document.dispatchEvent(new CustomEvent("book:kernel"));
};
