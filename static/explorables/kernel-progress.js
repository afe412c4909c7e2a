/* The reader's kernels as this browser keeps them: their text, and how far each task is. */

/** Return the reader's own text of a task, or null. */
export const draft = (name) => bookKept(`kernel-${name}`);

export const keepDraft = (name, text) => bookKeep(`kernel-${name}`, text);

/** Return the fewest sectors of a right kernel as a multiple of our solution's, or 0. */
export const best = (name) => Number(bookKept(`kernel-best-${name}`)) || 0;

/** Note a right kernel with such a multiple, and let the page know. */
export const reached = (name, ratio) => {
  if (best(name) && best(name) <= ratio) return;
  bookKeep(`kernel-best-${name}`, String(ratio));
  document.dispatchEvent(new CustomEvent("book:kernel"));
};
