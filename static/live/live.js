// Cells that run: `make live` adds this script to each page that it serves.
//
// A cell runs in a kernel of its section and framework. The page sends the code that it
// shows, of the cell and of those above it, and the server runs what the kernel has not run
// in this form. The output appears in the switch of machines, under "This machine", beside
// the recorded one. An output of other code than the shown one is marked, and so is one from
// before a change of the cells above.

(() => {
  const script = /** @type {HTMLScriptElement} */ (document.currentScript);
  const { section, machine, origins, tabs, names, cells: known } = JSON.parse(document.querySelector("#live-page").textContent);
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const LIVE = "live";
  const PAUSE = 100; // ms between keys, after which code that is edited is colored
  const NEWS = 2000; // ms after which the page asks whether another one has run something
  const working = ["queued", "starting", "running"];
  const changes = {
    changed: "Cells above have changed",
    again: "Cells above have run again",
    missing: "Cells above have not run",
  };
  const words = {
    queued: "Waits for other cells",
    starting: "Starts a kernel",
    running: "Runs",
    done: "Done",
    error: "Ended in an error",
    died: "No kernel",
    stopped: "Not run",
  };
  // The browser shows the page at an address of a proxy that the server does not know.
  const isElsewhere = !origins.includes(location.origin);
  const wrongOrigin =
    `The server runs code for pages of ${origins.join(" and ")}, and this page is one of ${location.origin}.` +
    ` End make live, and start it with its usual settings and ORIGIN=${location.origin}`;
  const problems = {
    403: isElsewhere
      ? `${wrongOrigin}. Your code is kept.`
      : "The server was restarted: open the address that make live has printed last. Your code is kept.",
    404: "The server does not know this section: reload the page. Your code is kept.",
    413: "The code of this request is too long; shorten the cells above.",
  };
  let version = 0;
  let isAsking = false;
  let wanted = 0; // how often the page has asked for news

  function button(text, action, title = "") {
    const element = Object.assign(document.createElement("button"), { type: "button", title });
    element.textContent = text;
    element.addEventListener("click", action);
    return element;
  }

  const element = (name, className, text = "") =>
    Object.assign(document.createElement(name), { className, textContent: text });

  // Sends an order after those before it, and returns the answer. Throws an error with a
  // message for the reader.
  let sent = Promise.resolve();
  const post = (what, body) => (sent = sent.catch(() => {}).then(() => send(what, body)));

  async function send(what, body) {
    const headers = { "Content-Type": "application/json" };
    const content = { method: "POST", headers, body: JSON.stringify({ section, ...body }) };
    const answer = await fetch(new URL(what, script.src), content).catch(() => null);
    if (!answer) throw new Error("The server does not answer; is make live still running?");
    if (!answer.ok) throw new Error(problems[answer.status] ?? `The server answers ${answer.status}.`);
    return answer.json();
  }

  const otherTab = (tab) =>
    `This server runs ${tabs.map((each) => names[each]).join(" and ")}. For ${names[tab]}: make live TAB=${tab}`;

  // Drafts: code that the reader has changed, by the cell's id. Each browser tab has its own,
  // and a new one begins with the latest.

  const DRAFTS = `live-drafts ${section}`;

  function drafts() {
    try {
      const kept = [localStorage, sessionStorage].map((storage) => storage.getItem(DRAFTS));
      return Object.assign({}, ...kept.map((each) => JSON.parse(each)));
    } catch {
      return {}; // storage is blocked
    }
  }

  // Keeps a draft, or forgets it if there is none.
  function keepDraft(id, draft) {
    try {
      for (const storage of [localStorage, sessionStorage]) {
        const kept = { ...JSON.parse(storage.getItem(DRAFTS)), [id]: draft };
        storage.setItem(DRAFTS, JSON.stringify(kept));
      }
    } catch {
      // If storage is blocked or full, a draft lasts as long as the page.
    }
  }

  // The last run of each place, by framework and place.
  const runs = {};

  // The colors of code that the reader edits are marks on plain text, which leave the caret
  // where it is. A browser without such marks colors code when the reader leaves it.
  const canMark = Boolean(window.Highlight && CSS.highlights);

  function marksOf(name) {
    if (!CSS.highlights.has(name)) CSS.highlights.set(name, new Highlight());
    return CSS.highlights.get(name);
  }

  // Returns the colored parts of a code's HTML: [first character, end, class].
  function partsOf(html) {
    const parts = [];
    let at = 0;
    const { body } = new DOMParser().parseFromString(`<pre>\n${html}</pre>`, "text/html");
    for (const node of body.firstChild.childNodes) {
      const end = at + node.textContent.length;
      if (node instanceof HTMLElement) parts.push([at, end, node.className]);
      at = end;
    }
    return parts;
  }

  // Returns the text nodes of code and where they begin. A line may end in an element.
  function textsOf(code) {
    const walker = document.createTreeWalker(code);
    const texts = [];
    for (let at = 0; walker.nextNode(); ) {
      const node = walker.currentNode;
      if (node instanceof Text) texts.push({ node, start: at, end: at + node.length });
      at += node instanceof Text ? node.length : Number(node.nodeName === "BR");
    }
    return texts;
  }

  // Returns the place of a character in code, which at a border is `atEnd` of a text or not.
  /** @type {(texts: any[], at: number, atEnd: boolean) => [Node, number]} */
  function placeIn(texts, at, atEnd) {
    const found = texts.find(({ end }) => (atEnd ? at <= end : at < end)) ?? texts.at(-1);
    return [found.node, Math.max(0, Math.min(at - found.start, found.node.length))];
  }

  // A cell on the page: its code, its row of buttons, and its output in each framework.
  //
  // `places` has its name on the server for each framework. `shown` is its code in the book,
  // and `book` the one that the reader's draft was made from.
  class Cell {
    /** @type {HTMLElement | undefined} */
    panel;
    marks = [];

    constructor(code, places, head, row) {
      this.code = code;
      this.places = places;
      this.row = row;
      this.head = head ? `${head.textContent}\n` : "";
      this.colored = code.innerHTML;
      this.text = code.textContent.trimEnd();
      this.shown = this.book = this.source;
      this.place = Object.values(places)[0];
      this.id = `${Object.keys(places).join("-")}-${this.place}`;
      this.isOfSection = this.place.startsWith("cell-");
      this.prepareEditor();
      this.status = element("span", "live-status");
      this.status.setAttribute("role", "status");
      // No live region: an edit may change the notes of many cells.
      this.note = element("span", "live-note");
      this.stop = button("Interrupt", () => this.order("interrupt"), "Interrupt this cell");
      this.again = button("Restart", () => this.order("restart"), "End the kernel of this section");
      this.reset = button("Reset", () => this.restore(), "Bring the book's code back");
      this.starts = [
        button("Run", () => this.run(false), "Run this cell (Shift+Enter)"),
        button("Run to here", () => this.run(true), "Run all down to this cell, from the first that has changed or has not run"),
      ];
      this.starts[1].className = "live-to-here";
      this.row.append(...this.starts, this.stop, this.again, this.reset, this.status, this.note);
    }

    prepareEditor() {
      const { code } = this;
      code.addEventListener("keydown", (event) => this.press(event));
      // biome-ignore lint/performance/useDomNodeTextContent: a browser may put lines into elements
      code.addEventListener("input", () => this.type(code.innerText.trimEnd()));
      code.addEventListener("pointerenter", ({ buttons }) => buttons || this.flatten());
      code.addEventListener("pointerleave", () => this.color());
      code.addEventListener("focus", () => this.flatten());
      code.addEventListener("blur", () => this.color());
      code.spellcheck = false;
      code.contentEditable = "true"; // for browsers that do not know the next value
      try {
        code.contentEditable = "plaintext-only";
      } catch {}
      code.setAttribute("role", "textbox");
      code.setAttribute("aria-label", `Code: ${this.shown.trim().split("\n")[0].slice(0, 60) || this.place}`);
      code.setAttribute("aria-multiline", "true");
      code.setAttribute("aria-description", "Tab indents. Press Escape, then Tab, to leave.");
    }

    // The framework in which the cell runs: the chosen one, if the cell is for it.
    get tab() {
      const own = Object.keys(this.places);
      return [root.dataset.tab, ...tabs].find((tab) => own.includes(tab)) ?? own[0];
    }

    // All code that runs.
    get source() {
      return (this.head + this.text).trimEnd();
    }

    get last() {
      return runs[`${this.tab} ${this.places[this.tab]}`];
    }

    // Shortcuts of the page are no business of an editor. Tab leaves it after Escape.
    press(event) {
      event.stopPropagation();
      if (event.key === "Enter" && event.shiftKey) {
        event.preventDefault();
        this.run(false);
      } else if (event.key === "Escape") this.code.blur();
      else if (event.key === "Tab" && !event.shiftKey) {
        event.preventDefault();
        document.execCommand("insertText", false, "    ");
      }
    }

    type(text) {
      this.edit(text);
      clearTimeout(this.pause);
      if (canMark) this.pause = setTimeout(() => this.color(), PAUSE);
    }

    // Takes over code that was made from that of the `book`.
    edit(text, book = this.book) {
      Object.assign(this, { text, book });
      keepDraft(this.id, this.source === this.shown ? undefined : { text, book });
      update(this);
      noteChanges();
    }

    restore() {
      this.edit(this.shown.slice(this.head.length), this.shown);
      this.color();
    }

    // Prepares the book's code for an edit: as one text, with marks in the place of elements.
    // A caret that is in the code stays where it is.
    flatten() {
      const { code } = this;
      const { anchorNode, anchorOffset, isCollapsed } = getSelection();
      const isInside = code.contains(anchorNode);
      const isReady = this.source !== this.shown || !code.childElementCount;
      if (!canMark || isReady || (isInside && !isCollapsed)) return;
      const before = new Range();
      before.setStart(code, 0);
      if (isInside) before.setEnd(anchorNode, anchorOffset);
      const at = before.toString().length;
      code.textContent = this.text;
      this.mark(partsOf(this.colored));
      if (code === document.activeElement) getSelection().collapse(...placeIn(textsOf(code), at, true));
    }

    // Marks parts of the text in colors; the marks move along in an edit.
    mark(parts) {
      for (const [name, range] of this.marks) marksOf(name).delete(range);
      const texts = textsOf(this.code);
      this.marks = parts.map(([from, to, name]) => {
        const range = new Range();
        range.setStart(...placeIn(texts, from, false));
        range.setEnd(...placeIn(texts, to, true));
        marksOf(`code-${name}`).add(range);
        return [`code-${name}`, range];
      });
    }

    // Shows the code in colors.
    async color() {
      const { text, code } = this;
      const isActive = code === document.activeElement;
      if (isActive && !canMark) return;
      if (this.source === this.shown && !isActive) {
        if (code.contains(getSelection().anchorNode) && !getSelection().isCollapsed) return;
        this.mark([]);
        if (code.innerHTML !== this.colored) code.innerHTML = this.colored;
        return;
      }
      if (!isActive && code.textContent !== text) code.textContent = text;
      const answer = await send("highlight", { code: text }).catch(() => null);
      if (!answer || text !== this.text) return;
      if (canMark) this.mark(partsOf(answer.html));
      else if (code !== document.activeElement) code.innerHTML = answer.html;
    }

    // Returns this cell below those on which it depends: those of the section, and of its
    // own solution.
    withThoseAbove(tab) {
      const solution = this.code.closest(".solution");
      const isAbove = (cell) => cell.isOfSection || (solution && cell.code.closest(".solution") === solution);
      const above = cells.slice(0, cells.indexOf(this)).filter((cell) => cell.places[tab] && isAbove(cell));
      return [...above, this];
    }

    // Returns what has happened to the cells above since this one ran: a key of `changes`,
    // or "". A cell is up to date if those above ran before it, one after another, in the
    // form that the page shows. Elsewhere than in the section, a cell runs without them.
    get change() {
      const { last, tab } = this;
      if (!["done", "error"].includes(last?.state) || last.code.trimEnd() !== this.source) return "";
      let [order, since] = [0, 0];
      for (const { last: run, source } of this.withThoseAbove(tab)) {
        if (!run || run.state === "stopped" || run.kernel < last.kernel) {
          if (this.isOfSection) return "missing";
          continue;
        }
        if (run.code.trimEnd() !== source) return "changed";
        if (run.order < order) return run.order < since ? "changed" : "again";
        [order, since] = [run.order, Math.max(since, run.since)];
      }
      return "";
    }

    // Marks an output that the cells above would no longer give.
    noteChange() {
      const { change } = this;
      this.row.toggleAttribute("data-stale", change !== "");
      const text = change && `${changes[change]}: “Run to here” runs them and this cell`;
      if (this.note.textContent === text) return;
      this.note.textContent = text;
      this.drawStatus();
    }

    async run(toHere) {
      const { tab } = this;
      // Elsewhere, a new kernel runs all cells above first.
      const sent = toHere || this.isOfSection ? this.withThoseAbove(tab) : [this];
      this.row.dataset.state = "queued";
      await this.order("run", { cells: sent.map(({ places, source }) => [places[tab], source]), toHere });
    }

    async order(what, more = {}) {
      try {
        await post(what, { tab: this.tab, ...more });
        this.problem = "";
        ask();
      } catch ({ message }) {
        this.problem = message;
        update(this);
      }
    }

    // Shows the state of the framework's last run. Returns whether its outputs are new.
    draw() {
      const { last, tab } = this;
      const state = last?.state;
      const isEdited = this.source !== this.shown;
      const isOther = (last?.code.trimEnd() ?? this.shown) !== this.source;
      const isHere = tabs.includes(tab);
      this.row.dataset.state = state ?? "";
      this.row.toggleAttribute("data-edited", isEdited);
      this.row.toggleAttribute("data-other", isOther);
      for (const start of this.starts) start.hidden = !isHere;
      this.stop.hidden = !working.includes(state);
      this.again.hidden = !["starting", "running", "error", "died"].includes(state);
      this.reset.hidden = !isEdited;
      this.drawStatus();
      const focused = /** @type {HTMLElement} */ (document.activeElement);
      if (focused.hidden && this.row.contains(focused)) this.starts[0].focus();
      return this.drawOutput();
    }

    drawStatus() {
      const { tab } = this;
      const parts = [this.describe(), tabs.includes(tab) ? this.problem : otherTab(tab)];
      const text = parts.filter(Boolean).join(". ");
      // Screen readers say what is set, also if it has not changed.
      if (this.status.textContent !== text) this.status.textContent = text;
    }

    describe() {
      const { last } = this;
      const [isEdited, isOther, isStale] = ["edited", "other", "stale"].map((key) => key in this.row.dataset);
      const parts = [];
      if (isOther) {
        parts.push("Changed, not run");
        if (working.includes(last?.state)) parts.push("other code runs here");
        else if (last?.html || this.recorded().length) parts.push("the output below is that of other code");
      } else if (last && !isStale) parts.push(words[last.state], last.note);
      if (isEdited && this.book !== this.shown)
        parts.push("the book's code has changed since you edited this; Reset shows it");
      return parts.filter(Boolean).join(": ");
    }

    drawOutput() {
      const { last } = this;
      if (!this.panel && (!last || (!last.html && !this.recorded().length))) return false;
      this.panel ??= this.makePanel();
      this.answer(this.row.hasAttribute("data-other") ? [] : (last?.answers ?? []));
      const none = last?.state === "done" ? "No output." : working.includes(last?.state) ? "" : "Not run.";
      const html = last?.html || (none && `<p class="no-output">${none}</p>`);
      if (this.drawn === html) return false; // A figure keeps the reader's setting.
      this.drawn = html;
      this.panel.innerHTML = html;
      return true;
    }

    // Returns the panel of the cell's own output, in a switch beside the recorded one.
    makePanel() {
      const set = this.machineSet();
      set.dataset.choices = `${set.dataset.choices ?? ""} ${LIVE}`.trim();
      return addPanel(set, LIVE, `This machine: ${machine}`, this.id);
    }

    // The covered part of a prediction, if the cell's output is one.
    get covered() {
      const next = this.row.nextElementSibling;
      return next?.matches(".prediction:not(:has(> .covered > .question))") ? next.querySelector(".covered") : null;
    }

    // Returns the recorded outputs of the cell, or their switch.
    recorded() {
      const found = [];
      const first = this.covered ? this.covered.firstElementChild : this.row.nextElementSibling;
      const isOutput = '.output, .plotted, .no-output, img.output, [data-axis="machine"]';
      for (let next = first; next?.matches(isOutput); next = next.nextElementSibling)
        found.push(next);
      return found;
    }

    // Returns the switch of the cell's outputs, around the recorded ones.
    machineSet() {
      const { covered } = this;
      const recorded = this.recorded();
      if (recorded[0]?.matches('[data-axis="machine"]')) return recorded[0];
      this.isNewSet = true;
      const set = element("div", "tab-set");
      set.dataset.axis = "machine";
      const list = element("div", "tab-list");
      list.setAttribute("role", "tablist");
      list.setAttribute("aria-label", "Machine");
      set.append(list);
      if (covered) covered.prepend(set);
      else this.row.after(set);
      if (recorded.length) {
        set.dataset.choices = "cpu";
        addPanel(set, "cpu", "Recorded", this.id).append(...recorded);
      }
      return set;
    }

    // Enters the answers that the cell has printed, if any, beside the predicted ones.
    answer(texts) {
      const rows = this.panel.closest(".prediction")?.querySelectorAll(".answers dl") ?? [];
      for (const [i, row] of rows.entries()) {
        row.querySelector(".live-answer")?.remove();
        if (!texts[i]) continue;
        const entry = row.appendChild(element("div", "live-answer"));
        entry.append(element("dt", "", "This machine"), element("dd", "", texts[i]));
      }
    }
  }

  function addPanel(set, choice, title, id) {
    const panel = element("div", "tab-panel");
    panel.id = `live-${id}-${choice}`;
    panel.dataset.choices = choice;
    const tab = button(title, () => {});
    Object.assign(tab, { id: `${panel.id}-tab`, tabIndex: -1 });
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", panel.id);
    tab.dataset.choice = choice;
    set.querySelector(".tab-list").append(tab);
    set.append(panel);
    return panel;
  }

  // A switch that the page has prepared gets one more button.
  function joinSet(tab) {
    tab.addEventListener("click", () => bookChoose("machine", LIVE, tab));
    tab.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowLeft") return;
      event.preventDefault();
      const before = tab.previousElementSibling;
      bookChoose("machine", before.dataset.choice, before);
      before.focus({ preventScroll: true });
    });
  }

  // Draws a cell, and prepares what is new as the page does.
  function update(cell) {
    const isFirst = !cell.panel;
    if (!cell.draw()) return;
    const set = cell.panel.parentElement;
    bookPrepare(isFirst && cell.isNewSet ? set : cell.panel);
    if (isFirst && !cell.isNewSet) joinSet(set.querySelector(`[data-choice="${LIVE}"]`));
    if (cell.wasChosen || cell.row.hasAttribute("data-other")) return;
    cell.wasChosen = true; // from now on, the reader chooses
    bookChoose("machine", LIVE, cell.row);
  }

  // Cells

  const cells = [];

  // Returns the names that the server has for a code in each framework of its place. A code
  // that is there twice has the names in turn.
  function placesOf(code, box) {
    const places = {};
    const own = box.closest('[data-axis="tab"] > .tab-panel')?.dataset.choices.split(" ");
    for (const tab of own ?? Object.keys(known)) {
      const found = known[tab].find((each) => each[1].trimEnd() === code && !each.isTaken);
      if (!found) continue;
      found.isTaken = true;
      places[tab] = found[0];
    }
    return places;
  }

  // Listings that the server does not know have no buttons: not all of them are Python.
  function prepare(within) {
    const added = [];
    for (const box of all('div[aria-label="Code"]', within)) {
      if (box.closest("details.folded.head, .live-cell") || box.dataset.live) continue;
      box.dataset.live = "";
      const pre = box.querySelector("pre");
      const before = box.previousElementSibling;
      const head = before?.matches(".folded.head") ? before.querySelector("pre") : null;
      const code = (head ? `${head.textContent}\n` : "") + pre.textContent.trimEnd();
      const places = placesOf(code, box);
      if (!Object.keys(places).length) continue;
      const row = element("div", "live-row");
      // The row of an entirely folded cell stands below what is folded.
      const last = box.closest("details.folded") ?? box;
      last.after(row);
      added.push(new Cell(pre, places, head, row));
    }
    add(added);
  }

  // Adds cells, with the reader's drafts.
  function add(added) {
    const kept = drafts();
    cells.push(...added);
    for (const cell of added) {
      Object.assign(cell, kept[cell.id]);
      update(cell);
      if (!kept[cell.id]) continue;
      cell.color();
      const fold = cell.code.closest("details");
      if (fold) fold.open = true; // no code runs that the reader does not see
    }
  }

  // Each exercise gets an empty cell when the reader asks for one, or has a draft there.
  function prepareExercises() {
    const kept = Object.keys(drafts());
    const list = document.querySelector("#exercises ol, [id^=exercises] > ol");
    for (const [number, item] of [...(list?.children ?? [])].entries()) {
      const place = `exercise-${number + 1}`;
      const opener = button("Try it", () => exercise(opener, place).code.focus());
      opener.className = "live-try";
      item.append(opener);
      if (kept.some((id) => id.endsWith(`-${place}`))) exercise(opener, place);
    }
  }

  function exercise(opener, place) {
    const whole = element("div", "live-cell");
    const box = element("div", "highlight");
    const pre = element("pre", "");
    const row = element("div", "live-row");
    whole.setAttribute("role", "group");
    whole.setAttribute("aria-label", "Code");
    box.append(pre);
    whole.append(box, row);
    opener.replaceWith(whole);
    const places = Object.fromEntries(Object.keys(known).map((tab) => [tab, place]));
    const cell = new Cell(pre, places, null, row);
    add([cell]);
    return cell;
  }

  function show(run) {
    runs[`${run.tab} ${run.place}`] = run;
    for (const cell of cells)
      if (cell.places[run.tab] === run.place && cell.tab === run.tab) bookChange(cell.row, () => update(cell));
  }

  const noteChanges = () => cells.forEach((cell) => cell.noteChange());

  // Asks for news, as long as something runs. The server answers when there is some.
  async function ask() {
    wanted += 1;
    if (isAsking) return;
    isAsking = true;
    try {
      for (let seen = 0; seen !== wanted; ) {
        const now = wanted;
        const answer = await fetch(new URL(`state?section=${encodeURIComponent(section)}&seen=${version}`, script.src));
        if (!answer.ok) break;
        const news = await answer.json();
        version = news.version;
        news.runs.forEach(show);
        noteChanges();
        // An order that was given in the meantime may not be in this answer.
        if (!news.busy) seen = now;
      }
    } catch {
      // The server is gone; the next order says so.
    } finally {
      isAsking = false;
    }
  }

  // The row under the title: all cells of the page.
  function prepareTitle() {
    let above = document.querySelector("article h1");
    if (!cells.length || !above) return;
    while (above.nextElementSibling?.matches(".take, .record")) above = above.nextElementSibling;
    const row = element("div", "live-row live-title");
    const status = element("span", "live-status");
    const text = isElsewhere
      ? wrongOrigin
      : `Cells run on this machine: ${machine}. “Run all” and “Run to here” begin at the first` +
        " cell that has changed or has not run.";
    const draw = (problem) => {
      const { tab } = root.dataset;
      for (const each of buttons) each.hidden = !tabs.includes(tab);
      status.textContent = tabs.includes(tab) ? problem || text : otherTab(tab);
    };
    const withLast = async (order) => {
      const last = cells.findLast((cell) => cell.isOfSection && cell.tab === root.dataset.tab);
      await (last && order(last));
      draw(last?.problem);
    };
    const buttons = [
      button("Run all", () => withLast((last) => last.run(true)), "Run all cells that have changed or have not run"),
      button("Restart", () => withLast((last) => last.order("restart")), "End the kernel of this page"),
    ];
    row.append(...buttons, status);
    above.after(row);
    document.addEventListener("book:choice", () => draw(""));
    draw("");
  }

  prepare(document);
  prepareTitle();
  prepareExercises();
  document.addEventListener("book:added", ({ detail }) => prepare(detail));
  document.addEventListener("book:choice", ({ detail }) => {
    if (detail.axis === "machine") return;
    cells.forEach(update);
    noteChanges();
  });
  setInterval(() => document.hidden || ask(), NEWS);
  addEventListener("focus", ask);
  ask();
})();
