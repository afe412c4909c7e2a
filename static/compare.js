// Side-by-side comparison. The attribute data-beside of the root names the framework that is
// shown next to the chosen one, or it is "none". A place with both becomes a pair: its panels
// have aligned rows on wide screens. The script marks what differs in code if
// data-differences is "on".

(() => {
  const root = document.documentElement;
  const find = (selector) => document.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const WORD = /\w+|[^\w\s]/g;
  // Only these can mark text without a change of the page.
  const marks = window.Highlight && CSS.highlights ? new Highlight() : null;
  if (marks) CSS.highlights.set("difference", marks);

  const isOn = () => root.dataset.beside !== "none";

  // Returns pairs of indices into `a` and `b`, in ascending order, whose sum of
  // `likeness(x, y)` is greatest. Elements of likeness 0 are never paired.
  function pairs(a, b, likeness) {
    const best = Array.from({ length: a.length + 1 }, () => new Float32Array(b.length + 1));
    const gain = (i, j) => {
      const value = likeness(a[i], b[j]);
      return value ? value + best[i + 1][j + 1] : 0;
    };
    for (let i = a.length - 1; i >= 0; i -= 1)
      for (let j = b.length - 1; j >= 0; j -= 1)
        best[i][j] = Math.max(best[i + 1][j], best[i][j + 1], gain(i, j));
    const found = [];
    for (let i = 0, j = 0; i < a.length && j < b.length; ) {
      if (best[i][j] === best[i + 1][j]) i += 1;
      else if (best[i][j] === best[i][j + 1]) j += 1;
      else found.push([i++, j++]);
    }
    return found;
  }

  // Rows

  function kindOf(block) {
    if (block.matches(".tab-label")) return "label";
    if (block.matches(".output, .output-note, .no-output, .tab-set, .prediction")) return "output";
    return block.matches('.folded, [class*="highlight-"]') ? "code" : "text";
  }

  // Returns the likeness of two blocks, which are of the same kind; of two cells, the one
  // is preferred that shares more words.
  function likeness(a, b) {
    if (a.kind !== b.kind) return 0;
    if (a.kind !== "code") return 1;
    const shared = [...a.words].filter((word) => b.words.has(word)).length;
    return 1 + shared / Math.max(a.words.size, b.words.size);
  }

  const blocksOf = (panel) =>
    [...panel.children].map((block) => {
      const kind = kindOf(block);
      return { block, kind, words: kind === "code" ? new Set(block.textContent.match(WORD)) : null };
    });

  // Gives paired blocks the same row. Between two pairs, blocks fill the rows of each side.
  function align(set, first, second) {
    const sides = [blocksOf(first), blocksOf(second)];
    const paired = pairs(...sides, likeness);
    const done = [0, 0];
    let row = 1;
    for (const pair of [...paired, sides.map((side) => side.length)]) {
      const counts = pair.map((end, side) => end - done[side]);
      sides.forEach((side, k) => {
        for (let i = 0; i < counts[k]; i += 1) place(side[done[k] + i], row + i);
      });
      row += Math.max(...counts);
      sides.forEach((side, k) => place(side[pair[k]], row));
      pair.forEach((end, k) => (done[k] = end + 1));
      row += 1;
    }
    set.style.setProperty("--rows", row);
    return paired.map(([i, j]) => [sides[0][i], sides[1][j]]);
  }

  function place(item, row) {
    if (item) item.block.style.gridRow = row;
  }

  function unpair(set) {
    set.classList.remove("pair");
    for (const panel of all(":scope > .tab-panel", set)) {
      panel.classList.remove("first", "second");
      for (const block of panel.children) block.style.gridRow = "";
    }
  }

  function panelOf(set, tab) {
    return find(`#${set.id} > .tab-panel[data-choices~="${tab}"]`);
  }

  // Returns the paired blocks of a place that shows two panels, or nothing.
  function pairUp(set) {
    if (set.matches(".pair")) unpair(set);
    if (!isOn()) return [];
    const first = panelOf(set, root.dataset.tab);
    const second = panelOf(set, root.dataset.beside);
    if (!first || !second || first === second) return [];
    set.classList.add("pair");
    first.classList.add("first");
    second.classList.add("second");
    return align(set, first, second);
  }

  // Differences

  // What has a meaning: names, numbers and operators, but no brackets and commas, and no
  // module in front of a name, which differs everywhere.
  const MEANING = /\b(?!(?:gluon|jax|jnp|nn|np|npx|tf|torch)\.)\w+|[^\w\s"'()[\]{}.,:;]+/g;
  const WITHOUT = ".sd, .c"; // docstrings and comments

  // Returns the code with spaces in place of what has no meaning.
  function meaningOf(code) {
    const copy = code.cloneNode(true);
    for (const part of all(WITHOUT, copy))
      part.textContent = part.textContent.replace(/[^\n]/g, " ");
    return copy.textContent;
  }

  function tokensOf(code) {
    const lines = meaningOf(code).split(/(?<=\n)/);
    let start = 0;
    return lines.flatMap((text, line) => {
      const words = [...text.matchAll(MEANING)].map(({ 0: word, index }) => ({
        text: word,
        start: start + index,
        end: start + index + word.length,
        line,
      }));
      start += text.length;
      return words;
    });
  }

  // Returns the stretches of tokens that are not among `same`, as [start, end]. A stretch
  // ends at the end of its line, so that no indentation is marked.
  function stretches(tokens, same) {
    const found = [];
    let open = false;
    for (const [i, { start, end, line }] of tokens.entries()) {
      if (open && !same.has(i) && line === tokens[i - 1].line) found.at(-1)[1] = end;
      else if (!same.has(i)) found.push([start, end]);
      open = !same.has(i);
    }
    return found;
  }

  // Marks each stretch as one range, from the text with its first character to that with
  // its last.
  function markStretches(code, found) {
    const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
    const texts = [];
    for (let start = 0; walker.nextNode(); start = texts.at(-1).end) {
      const node = /** @type {Text} */ (walker.currentNode);
      texts.push({ node, start, end: start + node.length });
    }
    for (const [from, to] of found) {
      const first = texts.find(({ end }) => from < end);
      const last = texts.find(({ end }) => to <= end);
      marks.add(
        new StaticRange({
          startContainer: first.node,
          startOffset: from - first.start,
          endContainer: last.node,
          endOffset: to - last.start,
        }),
      );
    }
  }

  function markDifferences(first, second) {
    const codes = [first, second].map(({ block }) => block.querySelector("pre"));
    const [a, b] = codes.map(tokensOf);
    const same = pairs(a, b, (x, y) => (x.text === y.text ? 1 : 0));
    markStretches(codes[0], stretches(a, new Set(same.map(([i]) => i))));
    markStretches(codes[1], stretches(b, new Set(same.map(([, j]) => j))));
  }

  function update() {
    marks?.clear();
    const paired = all(".place").flatMap(pairUp);
    if (!marks || root.dataset.differences !== "on") return;
    for (const [a, b] of paired) if (a.kind === "code") markDifferences(a, b);
  }

  // Controls

  function showChoices() {
    for (const input of all("[name=beside]"))
      input.parentElement.hidden = input.value === root.dataset.tab;
    find("#differences").checked = root.dataset.differences === "on";
    const second = find(`[name=beside][value="${root.dataset.beside}"]`).parentElement;
    find("#compare-button span").textContent = isOn() ? `with ${second.textContent.trim()}` : "Compare";
  }

  // Shows or hides the framework that was next to the chosen one before; at first, the one
  // that the book names.
  let last;
  function toggle() {
    const offered = all("[name=beside]").map((input) => input.value);
    const others = offered.filter((tab) => !["none", root.dataset.tab].includes(tab));
    const named = (find("#comparison").dataset.first ?? "").split(" ");
    const again = [last, ...named, ...others].find((tab) => others.includes(tab));
    bookChoose("beside", isOn() ? "none" : again);
  }

  function toggleDifferences() {
    bookChoose("differences", root.dataset.differences === "on" ? "off" : "on");
  }

  document.addEventListener("book:choice", ({ detail }) => {
    if (!["tab", "beside", "differences"].includes(detail.axis)) return;
    if (isOn()) last = root.dataset.beside;
    update();
    showChoices();
  });
  document.addEventListener("book:added", update);
  Object.assign(window, { bookCompare: { toggle, toggleDifferences } });
  find("#differences").addEventListener("change", toggleDifferences);
  find("#differences").parentElement.hidden = !marks;
  if (isOn()) last = root.dataset.beside;
  update();
  showChoices();
})();
