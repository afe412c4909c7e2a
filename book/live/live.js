// Cells that run: `make live` adds this script to each page that it serves.
//
// A cell runs in a kernel of its section and framework. Its output appears in the switch
// of machines, under "This machine", beside the recorded one. The server knows cells by
// the code that the page shows, so the pages themselves are those of every reader.

(() => {
  const script = document.currentScript;
  const { section, machine } = script.dataset;
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const LIVE = "live";
  const working = ["queued", "starting", "running"];
  const words = {
    queued: "Waits for other cells",
    starting: "Starts a kernel",
    running: "Runs",
    done: "Done",
    error: "Ended in an error",
    died: "No kernel",
    stopped: "Not run",
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

  async function post(what, body) {
    const headers = { "Content-Type": "application/json" };
    const answer = await fetch(`/.live/${what}`, {
      method: "POST",
      headers,
      body: JSON.stringify({ section, ...body }),
    });
    if (!answer.ok) throw new Error(`${answer.status}`);
  }

  // A cell on the page: its code, its row of buttons, and its output in each framework.
  class Cell {
    constructor(code, place, shown, row) {
      Object.assign(this, { code, place, shown, row });
      this.runs = {};
      this.code.addEventListener("keydown", (event) => this.press(event));
      this.code.spellcheck = false;
      this.code.setAttribute("role", "textbox");
      this.code.setAttribute("aria-label", `Code: ${shown.trim().split("\n")[0].slice(0, 60) || place}`);
      this.code.setAttribute("aria-multiline", "true");
      this.code.contentEditable = "plaintext-only";
      this.status = element("span", "live-status");
      this.status.setAttribute("role", "status");
      this.stop = button("Interrupt", () => this.order("interrupt"), "Interrupt this cell");
      this.again = button("Restart", () => this.order("restart"), "End the kernel of this section");
      this.row.append(
        button("Run", () => this.run(false), "Run this cell (Shift+Enter)"),
        ...(shown ? [button("Run to here", () => this.run(true), "Run all cells down to this one")] : []),
        this.stop,
        this.again,
        this.status,
      );
      this.draw();
    }

    // The framework in which the cell runs: the chosen one, if the cell is for it.
    get tab() {
      const panel = this.code.closest('[data-axis="tab"] > .tab-panel');
      const own = panel?.dataset.choices.split(" ") ?? [];
      const { tab } = root.dataset;
      return own.includes(tab) || !own.length ? tab : own[0];
    }

    // The code as it stands; an editor's line breaks may be elements.
    get text() {
      return this.code.checkVisibility() ? this.code.innerText : this.code.textContent;
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

    async run(toHere) {
      const { place, shown, tab } = this;
      this.row.dataset.state = "queued";
      const head = this.head ? `${this.head.textContent}\n` : "";
      const code = head + this.text;
      await this.order("run", { place, shown, code, toHere }, tab);
      ask();
    }

    async order(what, more = {}, tab = this.tab) {
      try {
        await post(what, { tab, ...more });
        ask();
      } catch {
        this.status.textContent = "The server does not answer; is make live still running?";
      }
    }

    // Shows the state of the framework's last run. Returns whether its outputs are new.
    draw() {
      const run = this.runs[this.tab];
      const state = run?.state;
      this.row.dataset.state = state ?? "";
      this.stop.hidden = !working.includes(state);
      this.again.hidden = !["starting", "running", "error", "died"].includes(state);
      this.status.textContent = state ? [words[state], run.note].filter(Boolean).join(": ") : "";
      if (!run || (!this.panel && !run.html && !this.recorded().length)) return false;
      this.panel ??= this.makePanel();
      if (run.answer) this.answer(run.answer);
      if (this.drawn === run.html) return false; // A figure keeps the reader's setting.
      this.drawn = run.html;
      this.panel.innerHTML = run.html || '<p class="no-output">No output.</p>';
      return true;
    }

    // Returns the panel of the cell's own output, in a switch beside the recorded one.
    makePanel() {
      const set = this.machineSet();
      set.dataset.choices = `${set.dataset.choices ?? ""} ${LIVE}`.trim();
      return addPanel(set, LIVE, `This machine: ${machine}`, this.place);
    }

    // The covered part of a prediction, if the cell's output is one.
    get covered() {
      const next = this.row.nextElementSibling;
      return next?.matches(".prediction") ? next.querySelector(".covered") : null;
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
        addPanel(set, "cpu", "Recorded", this.place).append(...recorded);
      }
      return set;
    }

    // Enters the number that the cell has printed beside the predicted one.
    answer(number) {
      const row = this.panel.closest(".prediction")?.querySelector(".answers dl");
      if (!row) return;
      const old = row.querySelector(".live-answer");
      const entry = old ?? row.appendChild(element("div", "live-answer"));
      entry.replaceChildren(element("dt", "", "This machine"), element("dd", "", number));
    }
  }

  function addPanel(set, choice, title, place) {
    const panel = element("div", "tab-panel");
    Object.assign(panel, { id: `live-${place}-${choice}` });
    panel.dataset.choices = choice;
    const tab = button(title, () => {});
    Object.assign(tab, { id: `live-${place}-${choice}-tab`, tabIndex: -1 });
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

  // Cells

  const cells = [];

  function codeOfPage(box) {
    const before = box.previousElementSibling;
    const head = before?.matches(".folded.head") ? before.querySelector("pre") : null;
    return { head, shown: (head ? `${head.textContent}\n` : "") + box.querySelector("pre").textContent };
  }

  function prepare(within) {
    for (const box of all('div[aria-label="Code"]', within)) {
      if (box.closest("details.folded.head, .live-cell") || box.dataset.live) continue;
      box.dataset.live = "";
      const pre = box.querySelector("pre");
      const { head, shown } = codeOfPage(box);
      const row = element("div", "live-row");
      // The row of an entirely folded cell stands below what is folded.
      (box.closest("details.folded") ?? box).after(row);
      const cell = new Cell(pre, `box-${cells.length}`, shown, row);
      cell.head = head;
      cells.push(cell);
    }
  }

  // Each exercise gets an empty cell when the reader asks for one.
  function prepareExercises() {
    const list = document.querySelector("#exercises ol, [id^=exercises] > ol");
    for (const [number, item] of [...(list?.children ?? [])].entries()) {
      const opener = button("Try it", () => opener.replaceWith(exercise(`exercise-${number + 1}`)));
      opener.className = "live-try";
      item.append(opener);
    }
  }

  function exercise(place) {
    const whole = element("div", "live-cell");
    const box = element("div", "highlight");
    const pre = element("pre", "");
    const row = element("div", "live-row");
    whole.setAttribute("role", "group");
    whole.setAttribute("aria-label", "Code");
    box.append(pre);
    whole.append(box, row);
    cells.push(new Cell(pre, place, "", row));
    requestAnimationFrame(() => pre.focus());
    return whole;
  }

  const plain = (code) => code.split("\n").map((line) => line.trimEnd()).filter(Boolean).join("\n");

  // Returns the cells that show a run: those with its code, in its framework.
  function cellsOf(run) {
    if (!run.shown) {
      const open = cells.filter((cell) => cell.place === run.place);
      if (open.length || !run.place.startsWith("exercise-")) return open;
      const item = document.querySelectorAll(".live-try")[0];
      if (!item) return [];
      const opener = all(".live-try").find(
        (each) => [...each.closest("ol").children].indexOf(each.closest("li")) + 1 === Number(run.place.slice(9)),
      );
      opener?.replaceWith(exercise(run.place));
      return cells.filter((cell) => cell.place === run.place);
    }
    const wanted = plain(run.shown);
    return cells.filter((cell) => plain(cell.shown) === wanted);
  }

  function show(run) {
    for (const cell of cellsOf(run)) {
      const isNew = !Object.keys(cell.runs).length;
      cell.runs[run.tab] = run;
      // After a reload, the page shows what the reader has made of the code, unless the
      // reader edits it already.
      const head = cell.head ? `${cell.head.textContent}\n` : "";
      const isUntouched = plain(head + cell.text) === plain(cell.shown);
      if (isNew && isUntouched && run.code.startsWith(head))
        cell.code.textContent = run.code.slice(head.length);
      if (run.tab !== cell.tab) continue;
      let isDrawn = false;
      bookChange(cell.row, () => (isDrawn = cell.draw()));
      const isFirst = isNew && cell.panel;
      const set = cell.panel?.parentElement;
      if (isFirst && cell.isNewSet) bookPrepare(set);
      else if (isDrawn) bookPrepare(cell.panel);
      if (isFirst && !cell.isNewSet) joinSet(set.querySelector(`[data-choice="${LIVE}"]`));
      if (isFirst) bookChoose("machine", LIVE, cell.row);
    }
  }

  // Asks for news, as long as something runs. The server answers when there is some.
  async function ask() {
    wanted += 1;
    if (isAsking) return;
    isAsking = true;
    try {
      for (let seen = 0; seen !== wanted; ) {
        const now = wanted;
        const answer = await fetch(`/.live/state?section=${encodeURIComponent(section)}&seen=${version}`);
        if (!answer.ok) break;
        const news = await answer.json();
        version = news.version;
        news.runs.forEach(show);
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
    const title = document.querySelector("article h1");
    if (!cells.length || !title) return;
    const row = element("div", "live-row");
    const shown = () => cells.filter(({ code, shown }) => shown && code.checkVisibility());
    row.append(
      button("Run all", () => shown().at(-1)?.run(true), "Run all cells of this page"),
      button("Restart", () => cells[0].order("restart"), "End the kernel of this page"),
      element("span", "live-status", `Cells run on this machine: ${machine}`),
    );
    title.after(row);
  }

  prepare(document);
  prepareTitle();
  prepareExercises();
  document.addEventListener("book:added", ({ detail }) => prepare(detail));
  document.addEventListener("book:choice", ({ detail }) => {
    if (detail.axis !== "machine") cells.forEach((cell) => cell.draw() && bookPrepare(cell.panel));
  });
  ask();
})();
