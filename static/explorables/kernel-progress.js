/* The reader's kernels as this browser keeps them: their text, and how far each task is. */

/** Return the reader's own text of a task, or null: each browser tab keeps its own, and a new
 * one begins with the latest. */
export const draft = (name) => {
  try {
    return sessionStorage.getItem(`kernel-${name}`) ?? bookKept(`kernel-${name}`);
  } catch {
    return bookKept(`kernel-${name}`);
  }
};

export const keepDraft = (name, text) => {
  bookKeep(`kernel-${name}`, text);
  try {
    sessionStorage.removeItem(`kernel-${name}`); // no older text stays where there is no room
    sessionStorage.setItem(`kernel-${name}`, text);
  } catch {
    // The book's storage or the page holds it.
  }
};

/** Return the fewest sectors of a right kernel as a multiple of our solution's, or 0. */
export const best = (name) => Number(bookKept(`kernel-best-${name}`)) || 0;

/** Note a right kernel with such a multiple, and let the page know. */
export const reached = (name, ratio) => {
  if (best(name) && best(name) <= ratio) return;
  bookKeep(`kernel-best-${name}`, String(ratio));
  document.dispatchEvent(new CustomEvent("book:kernel"));
};
