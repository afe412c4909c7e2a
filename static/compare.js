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

  const REPLIES = ".waits, .arithmetic"; // what a reader sees after a prediction

  function kindOf(block) {
    if (block.matches(".output, .output-note, .no-output, .tab-set, .prediction")) return "output";
    if (block.matches(".folded")) return "folded";
    return block.matches('[class*="highlight-"]') ? "code" : "text";
  }

  // Returns the likeness of two blocks: code that defines the same name is most alike, and
  // else the one is preferred that shares more words or asks the same question.
  function likeness(a, b) {
    const isSame = haveSameName(a, b);
    if (!isSame && (a.kind !== b.kind || !areCounterparts(a, b))) return 0;
    return (isSame ? 2 : 1) + shareOf(a.words, b.words);
  }

  const haveSameName = (a, b) => sharedBy(a.defined, b.defined).length > 0;

  const sharedBy = (words, others) => [...words].filter((word) => others.has(word));

  const shareOf = (words, others) =>
    sharedBy(words, others).length / Math.max(words.size, others.size, 1);

  const LONG = /\p{L}{5,}/gu;
  const COMMON = /^(?:above|because|before|mxnet|other|pytorch|tensorflow|th.+|wh.+|without)$/;
  const ENOUGH = 0.15; // of the long words

  const longWordsOf = ({ textContent }) =>
    new Set(textContent.toLowerCase().match(LONG)?.filter((word) => !COMMON.test(word)));

  // Tells whether two blocks of one kind are about the same thing: two paragraphs are if
  // they share long words, begin with the same bold ones, or say what the code above did.
  function areCounterparts(a, b) {
    const isReply = [a, b].map(({ block }) => block.matches(REPLIES));
    if (isReply[0] !== isReply[1]) return false;
    if (![a, b].every(({ block }) => block.matches("p:not(.output-note)"))) return true;
    const titles = [a, b].map(({ block }) => block.querySelector(":scope > strong:first-child"));
    if (titles[0] && titles[0].textContent === titles[1]?.textContent) return true;
    const isBelow = ["code", "folded", "output"].includes(a.above) && a.above === b.above;
    if (isBelow) return true;
    const [words, others] = [a, b].map(({ block }) => longWordsOf(block));
    const size = Math.sqrt(words.size * others.size) || 1;
    return sharedBy(words, others).length / size >= ENOUGH;
  }

  const questionOf = (block) => block.dataset.question;

  function wordsOf(block, kind) {
    const text = kind === "output" ? questionOf(block) : block.textContent;
    return new Set(text?.match(WORD));
  }

  const DEFINED = /^(?:class|def) \w+/gm;
  const labelOf = (panel) => panel.querySelector(":scope > .tab-label");

  function blocksOf(panel) {
    const blocks = [...panel.children].filter((block) => block !== labelOf(panel));
    const kinds = blocks.map(kindOf);
    return blocks.map((block, i) => {
      const isCode = ["code", "folded"].includes(kinds[i]);
      return {
        block,
        kind: kinds[i],
        above: kinds[i - 1],
        words: wordsOf(block, kinds[i]),
        defined: new Set(isCode ? block.querySelector("pre")?.textContent.match(DEFINED) : []),
      };
    });
  }

  // Gives paired blocks the same row, below the names of both frameworks. Between two
  // pairs, blocks fill the rows of each side; what comes before the names, long blocks that
  // face nothing, and those that face what is no counterpart take the width of both.
  function align(set, first, second) {
    const sides = [blocksOf(first), blocksOf(second)];
    const matches = pairs(sides[0], sides[1], likeness).map(([i, j]) => [sides[0][i], sides[1][j]]);
    for (const pair of matches) unite(...pair);
    uniteCells(matches);
    const paired = withoutUnequal(matches);
    const done = [0, 0];
    let [row, isLed] = [1, false];
    for (const pair of [...paired, null]) {
      const ends = sides.map((side, k) => (pair ? side.indexOf(pair[k]) : side.length));
      const between = sides.map((side, k) => side.slice(done[k], ends[k]));
      row = placeBetween(between, row, isLed);
      if (!pair) break;
      if (!isLed && !isShared(pair)) {
        set.classList.toggle("lower", row > 1);
        pair[0].block.classList.toggle("leads", pair[0].block.matches(".asks"));
        for (const panel of [first, second]) placeAt(labelOf(panel), row);
        [row, isLed] = [row + 1, true];
      }
      for (const item of pair) place(item, row);
      ends.forEach((end, k) => (done[k] = end + 1));
      row += 1;
    }
    set.style.setProperty("--rows", row);
    set.classList.toggle("same", !isLed);
    return [...paired, ...matches.filter(areWide)];
  }

  const isShared = ([{ block }]) => block.matches(".shared");

  // Returns the pairs that stand side by side, or once. Code that is wider than a column does not,
  // with what it prints, nor does code of which one is much longer, unless both define the
  // same name; nor do replies at the beginning, since they may be hidden.
  function withoutUnequal(matches) {
    const apart = new Set();
    for (const [k, pair] of matches.entries()) {
      const [a, b] = pair;
      const isReply = pair.every(({ block }) => block.matches(REPLIES)) && !isShared(pair);
      const isFirst = matches.slice(0, k).every((other) => isShared(other) || apart.has(other));
      const isOwn = isTold(a) && isTold(b) && !a.block.matches(".asks") && !isShared(pair);
      const isLong = a.kind === "code" && !haveSameName(a, b) && differenceOf(a, b) >= UNEQUAL;
      const isUnequal = isLong || areWide(pair);
      if (isUnequal && matches[k - 1]?.[0].block.matches(".folded.head")) apart.add(matches[k - 1]);
      if (isUnequal || (isReply && isFirst) || (isOwn && apart.has(matches[k - 1]))) apart.add(pair);
    }
    for (const pair of apart) for (const item of pair) item.isApart = item.kind === "code";
    return matches.filter((pair) => !apart.has(pair));
  }

  const COLUMN = 84; // characters of code
  const isWide = ({ block, kind }) =>
    kind === "code" && block.textContent.split("\n").some(({ length }) => length > COLUMN);
  const areWide = (pair) =>
    pair[0].kind === pair[1].kind && pair.some(isWide) && !isShared(pair);

  const differenceOf = (a, b) => Math.abs(heightOf(a) - heightOf(b));
  const isTold = ({ block, kind }) => kind === "output" || block.matches(REPLIES);

  const placeAt = (block, row) => {
    if (block) block.style.gridRow = row;
  };
  const place = ({ block }, row) => placeAt(block, row);

  // Places what is between two pairs on each side. Returns the row below.
  function placeBetween(between, start, isLed) {
    let [runs, row] = [between, start];
    if (isLed) {
      // What a cell prints stays below it.
      const ends = runs.map((run) => [...run, null].findIndex((item) => !item || !isTold(item)));
      const told = runs.map((run, k) => run.slice(0, ends[k]));
      if (told.every((run) => heightsOf(run) < HOLE)) {
        row = fill(told, row);
        runs = runs.map((run, k) => run.slice(ends[k]));
      }
    }
    const facing = runs.filter((run) => run.length);
    const isShort = facing.length === 1 && heightsOf(facing[0]) < HOLE;
    if (isLed && isShort) return fill(runs, row);
    return facing.reduce((next, run) => spread(run, next), row);
  }

  const heightsOf = (run) => run.reduce((sum, item) => sum + heightOf(item), 0);

  function fill(runs, row) {
    for (const run of runs) run.forEach((item, i) => place(item, row + i));
    return row + Math.max(...runs.map((run) => run.length));
  }

  // What only one framework has

  const HOLE = 160; // px that one column may be longer than the other
  const UNEQUAL = 260; // px by which one cell may be longer than its counterpart
  const LINES = { text: 28, code: 19, output: 17 }; // heights in px
  const QUESTION = 140; // px
  const LINE = 70; // characters

  // Returns roughly how high a block is, which the layout need not be known for.
  function heightOf({ block, kind }) {
    if (block.querySelector("img, svg") || block.matches("[data-explorable]")) return HOLE;
    if (kind === "folded") return LINES.text; // most are closed
    const isAsked = block.matches(".prediction");
    const { textContent } = (isAsked && block.querySelector(".output pre")) || block;
    const lines = textContent.trim().split("\n").length;
    if (isAsked) return Math.max(QUESTION, LINES.output * lines);
    return LINES[kind] * (kind === "text" ? Math.ceil(textContent.length / LINE) : lines);
  }

  // Gives blocks the width of both columns, below the name of their framework. Returns the
  // row below.
  function spread(blocks, row) {
    const [{ block }] = blocks;
    const label = document.createElement("p");
    const name = nameOf(block.parentElement);
    label.className = "only wide";
    label.textContent = blocks.some((item) => item.isApart) ? name : `Only ${name}`;
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
    const isText = [a, b].every(({ block }) => block.matches("p:not(.output-note)"));
    if (!isText || a.block.className !== b.block.className || b.block.querySelector("[id]")) return;
    const parts = comparedParts(piecesOf(a.block), piecesOf(b.block));
    if (!parts) return;
    before.set(a.block, [...a.block.childNodes]);
    const names = [a, b].map(({ block }) => nameOf(block.parentElement));
    a.block.replaceChildren(...parts.flatMap((part) => written(part, names)));
    a.block.classList.add("shared", "wide");
    b.block.classList.add("twin");
  }

  // Cells with the same code stand once, and so do their outputs if they are the same, too.
  // Code below a folded head is a part of its cell.
  function uniteCells(matches) {
    const isOne = ([a, b] = []) => a?.block.textContent === b?.block.textContent;
    const isHead = (pair) => pair?.some(({ block }) => block.matches(".folded.head"));
    for (const [k, pair] of matches.entries()) {
      const [above, below] = [matches[k - 1], matches[k + 1]];
      const isPart = pair.every(
        ({ block }, side) => block.previousElementSibling === above?.[side].block,
      );
      const isCode = pair.every(({ kind }) => ["code", "folded"].includes(kind));
      const isOutput = pair.every(({ block }) => block.matches("div.output, .output-note"));
      const isWhole = isOutput || isHead(above) ? isPart && isShared(above) : isCode;
      if (!(isCode || isOutput) || !isWhole || !isOne(pair)) continue;
      if (isHead(pair) && !isOne(below)) continue;
      pair[0].block.classList.add("shared", "wide");
      pair[1].block.classList.add("twin");
    }
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

  // Folded code whose counterpart is shown is shown, too.
  const opened = new Set();

  function openBoth(a, b) {
    for (const { block } of [a, b].filter(({ kind }) => kind === "folded" && a.kind !== b.kind)) {
      if (!block.open) opened.add(block);
      block.open = true;
    }
  }

  function unpair(set) {
    set.classList.remove("pair", "lone", "same", "lower");
    all(":scope > .tab-panel > .only", set).forEach((label) => label.remove());
    for (const panel of all(":scope > .tab-panel", set)) {
      panel.classList.remove("first", "second");
      for (const block of panel.children) {
        block.style.gridRow = "";
        block.classList.remove("shared", "wide", "twin", "asks", "asked", "leads");
        if (before.has(block)) block.replaceChildren(...before.get(block));
        before.delete(block);
        if (opened.delete(block)) block.open = false;
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
    const paired = align(set, first, second);
    paired.forEach(([a, b]) => openBoth(a, b));
    return paired;
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
