// Side-by-side comparison. The attribute data-beside of the root names the framework that is
// shown next to the chosen one, or it is "none". A place with both becomes a pair: its panels
// have aligned rows on wide screens. A paragraph or question that both have stands once, and
// what only one framework has takes the width of both columns. The script marks what differs
// in code if data-differences is "on".

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
    if (block.matches(".folded")) return "folded";
    return block.matches('[class*="highlight-"]') ? "code" : "text";
  }

  // Returns the likeness of two blocks, which are of the same kind; the one is preferred that
  // shares more words or asks the same question.
  function likeness(a, b) {
    if (a.kind !== b.kind) return 0;
    const shared = [...a.words].filter((word) => b.words.has(word)).length;
    return 1 + shared / Math.max(a.words.size, b.words.size, 1);
  }

  const questionOf = (block) => block.dataset.question;

  function wordsOf(block, kind) {
    const text = kind === "output" ? questionOf(block) : block.textContent;
    return new Set(text?.match(WORD));
  }

  const blocksOf = (panel) =>
    [...panel.children].map((block) => {
      const kind = kindOf(block);
      return { block, kind, words: wordsOf(block, kind) };
    });

  // Gives paired blocks the same row. Between two pairs, blocks fill the rows of each side;
  // long ones that face nothing take the width of both.
  function align(set, first, second) {
    const sides = [blocksOf(first), blocksOf(second)];
    const paired = pairs(sides[0], sides[1], likeness);
    for (const [i, j] of paired) unite(sides[0][i], sides[1][j]);
    const done = [0, 0];
    let row = 1;
    for (const pair of [...paired, sides.map((side) => side.length)]) {
      const between = sides.map((side, k) => side.slice(done[k], pair[k]));
      row = placeBetween(between, row);
      sides.forEach((side, k) => place(side[pair[k]], row));
      pair.forEach((end, k) => (done[k] = end + 1));
      row += 1;
    }
    set.style.setProperty("--rows", row);
    lowerLabels(set, sides[0], sides[1]);
    return paired.map(([i, j]) => [sides[0][i], sides[1][j]]);
  }

  function place(item, row) {
    if (item) item.block.style.gridRow = row;
  }

  // Places what is between two pairs on each side. Returns the row below.
  function placeBetween(between, row) {
    const heights = between.map((blocks) => blocks.reduce((sum, item) => sum + heightOf(item), 0));
    const more = heights[0] > heights[1] ? 0 : 1; // the longer side
    const [long, short] = [between[more], between[1 - more]];
    short.forEach((item, i) => place(item, row + i));
    if (heights[more] - heights[1 - more] >= HOLE) return spread(long, row + short.length);
    long.forEach((item, i) => place(item, row + i));
    return row + Math.max(long.length, short.length);
  }

  // The labels stand below the text that both frameworks have in common, or nowhere.
  function lowerLabels(set, first, second) {
    const [label, ...rest] = first;
    const shared = rest.findIndex(({ block }) => !block.matches(".shared"));
    const isWhole = shared < 0 && second.slice(1).every(({ block }) => block.matches(".twin"));
    set.classList.toggle("same", isWhole && rest.length > 0);
    const common = rest.slice(0, shared < 0 ? rest.length : shared);
    const isAbove = common.every(({ block }, i) => block.style.gridRow === String(i + 2));
    if (!isAbove || label?.kind !== "label" || second[0]?.kind !== "label") return;
    common.forEach((item, i) => place(item, i + 1));
    for (const side of [label, second[0]]) place(side, common.length + 1);
  }

  // What only one framework has

  const HOLE = 160; // px that one column may be longer than the other
  const LINES = { label: 18, text: 28, code: 17, output: 17 }; // heights in px
  const LINE = 70; // characters

  // Returns roughly how high a block is, which the layout need not be known for.
  function heightOf({ block, kind }) {
    if (block.querySelector("img, svg") || block.matches("[data-explorable]")) return HOLE;
    if (kind === "folded") return LINES.text; // most are closed
    const { textContent } = block;
    const lines = textContent.trim().split("\n").length;
    return LINES[kind] * (kind === "text" ? Math.ceil(textContent.length / LINE) : lines);
  }

  // Gives blocks the width of both columns, below the name of their framework. Returns the
  // row below.
  function spread(blocks, row) {
    const [{ block }] = blocks;
    const label = document.createElement("p");
    label.className = "only wide";
    label.textContent = `Only ${nameOf(block.parentElement)}`;
    label.style.gridRow = row;
    block.before(label);
    blocks.forEach((item, i) => place(item, row + 1 + i));
    for (const item of blocks) item.block.classList.add("wide");
    return row + 1 + blocks.length;
  }

  const nameOf = (panel) =>
    panel.querySelector(":scope > .tab-label strong")?.textContent ?? panel.ariaLabel;

  // What both have: one paragraph or question instead of two

  const MANY = 6; // words that differ in one place
  const PLACES = 5;
  const SHARE = 0.3; // of the words
  const before = new Map(); // the content of paragraphs that show both frameworks

  function unite(a, b) {
    const question = questionOf(a.block);
    if (question && question === questionOf(b.block)) {
      a.block.classList.add("asks");
      b.block.classList.add("asked");
    }
    const isText = [a, b].every(({ block }) => block.matches("p:not(.output-note, .tab-label)"));
    if (!isText || a.block.className !== b.block.className || b.block.querySelector("[id]")) return;
    const parts = comparedParts(piecesOf(a.block), piecesOf(b.block));
    if (!parts) return;
    before.set(a.block, [...a.block.childNodes]);
    const names = [a, b].map(({ block }) => nameOf(block.parentElement));
    a.block.replaceChildren(...parts.flatMap((part) => written(part, names)));
    a.block.classList.add("shared", "wide");
    b.block.classList.add("twin");
  }

  // Returns the words of a paragraph, each with what stands between it and the next one.
  // Code, links and formulas are words.
  function piecesOf(paragraph) {
    return [...paragraph.childNodes].flatMap((node) => {
      if (node.nodeType !== Node.TEXT_NODE) return [{ text: node.textContent, node }];
      return node.textContent
        .split(/(\s+)/)
        .filter(Boolean)
        .map((text) => ({ text, node: text }));
    });
  }

  const isSpace = ({ text }) => !text.trim();

  // Returns what two paragraphs have in common and what not, in turn, if they differ in a
  // few words only: lists of pieces, and pairs of such lists.
  function comparedParts(a, b) {
    const [words, others] = [a, b].map((pieces) => pieces.filter((p) => !isSpace(p)));
    const same = pairs(words, others, (x, y) => (x.text === y.text ? 1 : 0));
    const differing = Math.max(words.length, others.length) - same.length;
    if (differing > Math.max(1, SHARE * words.length)) return null;
    const ends = same.map(([i, j]) => [a.indexOf(words[i]), b.indexOf(others[j])]);
    const parts = [];
    let done = [0, 0];
    for (const end of [...ends, [a.length, b.length]]) {
      const lists = [a.slice(done[0], end[0]), b.slice(done[1], end[1])];
      if (lists.every((list) => list.every(isSpace))) parts.push(lists[0]);
      else if (lists.some((list) => list.every(isSpace))) return null; // one has nothing there
      else parts.push(lists);
      parts.push(a.slice(end[0], end[0] + 1));
      done = end.map((index) => index + 1);
    }
    const variants = parts.filter((part) => Array.isArray(part[0]));
    const isShort = (list) => list.filter((p) => !isSpace(p)).length <= MANY;
    return variants.length <= PLACES && variants.flat().every(isShort) ? parts : null;
  }

  // Returns the nodes of a part; where frameworks differ, the words of both, marked.
  function written(part, names) {
    if (!Array.isArray(part[0])) return part.map(({ node }) => node);
    const box = document.createElement("span");
    box.className = "variants";
    for (const [k, list] of part.entries()) {
      const words = document.createElement("span");
      words.title = names[k];
      words.append(...trimmed(list).map(({ node }) => node.cloneNode?.(true) ?? node));
      const name = document.createElement("span");
      name.className = "visually-hidden";
      name.textContent = `${k ? ", " : ""}${names[k]}: `;
      box.append(name, words);
    }
    const isSpaced = [part[0][0], part[0].at(-1)].map(isSpace);
    return [isSpaced[0] ? " " : "", box, isSpaced[1] ? " " : ""];
  }

  function trimmed(list) {
    const isWord = (piece) => !isSpace(piece);
    return list.slice(list.findIndex(isWord), list.findLastIndex(isWord) + 1);
  }

  function unpair(set) {
    set.classList.remove("pair", "lone", "same");
    all(":scope > .tab-panel > .only", set).forEach((label) => label.remove());
    for (const panel of all(":scope > .tab-panel", set)) {
      panel.classList.remove("first", "second");
      for (const block of panel.children) {
        block.style.gridRow = "";
        block.classList.remove("shared", "wide", "twin", "asks", "asked");
        if (before.has(block)) block.replaceChildren(...before.get(block));
        before.delete(block);
      }
    }
  }

  function panelOf(set, tab) {
    return find(`#${set.id} > .tab-panel[data-choices~="${tab}"]`);
  }

  // Returns the paired blocks of a place that shows two panels, or nothing.
  function pairUp(set) {
    if (set.matches(".pair, .lone")) unpair(set);
    if (!isOn()) return [];
    const first = panelOf(set, root.dataset.tab);
    const second = panelOf(set, root.dataset.beside);
    const shown = [first, second].filter((panel) => panel && !panel.matches(".tab-absent"));
    if (!shown.length || first === second) return [];
    set.classList.add(shown.length === 1 ? "lone" : "pair");
    if (shown.length === 1) return [];
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
    for (const [a, b] of paired) if (["code", "folded"].includes(a.kind)) markDifferences(a, b);
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

  // The menu closes when the reader scrolls on. A choice moves the page by itself, right
  // after its event.
  const menu = find("#comparison");
  const NEAR = 40; // px
  let openedAt = scrollY;
  const settleMenu = () => (openedAt = scrollY);
  menu.addEventListener("toggle", settleMenu);
  addEventListener("scroll", () => Math.abs(scrollY - openedAt) > NEAR && menu.hidePopover(), {
    passive: true,
  });

  document.addEventListener("book:choice", ({ detail }) => {
    queueMicrotask(settleMenu);
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
