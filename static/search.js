// Search over the whole book, in a dialog: `bookSearch.open()`.
//
// book/pages/search.py writes the data, `bookSearchData`, with the entries of each page
// (sections, tabs, terms, symptoms, figures, tables, equations, sources and messages) and
// their index. static/search-engine.js finds what is asked for, in a worker, so the page
// does not stop. Its source is handed to the worker, and nothing is fetched, so search also
// works on pages from a disk.
//
// `open` takes a promise, which is kept when the engine and the data are loaded, and the
// words to search for, if any.

window.bookSearch = (() => {
  "use strict";

  const root = document.documentElement;
  const KINDS = {
    ...{ figure: "Figure", table: "Table", equation: "Equation", source: "Source" },
    ...{ term: "Glossary", symptom: "Quick guide", message: "Error message" },
  };

  let ask, dialog, input, status, suggestions, list;
  let active = 0; // the index of the result that Enter opens
  let asked; // what has been asked for and not been answered
  let isWaiting = false; // Enter was pressed before the answer

  function make(name, attributes, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }

  // The engine

  // Starts the engine, in this page if the browser forbids workers.
  function start() {
    const find = () => bookSearchEngine(bookSearchData);
    const here = () => {
      const answer = find();
      ask = (request) => show(answer(request));
    };
    const source = `let find; onmessage = ({ data }) => {
      if (find) postMessage(find(data)); else find = (${bookSearchEngine})(data);
    };`;
    const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    try {
      const worker = new Worker(address);
      worker.onmessage = ({ data }) => show(data);
      worker.onerror = () => {
        here();
        if (asked) ask(asked);
      };
      worker.postMessage(bookSearchData);
      ask = (request) => worker.postMessage(request);
    } catch {
      here();
    }
  }

  // Asks for what is typed. While the engine is at work, only the latest words wait.
  function search() {
    if (!ask) return;
    const { tab, beside } = root.dataset;
    const isIdle = !asked;
    asked = { query: input.value.trim(), reader: [tab, beside] };
    list.setAttribute("aria-busy", "true");
    if (isIdle) ask(asked);
  }

  // Results

  // Every second part is a hit.
  const marked = (parts) => parts.map((part, i) => (i % 2 ? make("mark", {}, part) : part));

  // A link on the same page does not name a tab, so that the page is not loaded again.
  function address({ page, anchor, tabs, isTheirs }) {
    const path = root.dataset.root + page;
    const isHere = new URL(path, location.href).pathname === location.pathname;
    if (isHere) return `#${anchor}`;
    return isTheirs ? `${path}#${anchor}` : `${path}?tab=${tabs[0]}#${anchor}`;
  }

  function option(result, place) {
    const { kind, frameworks, heading, excerpt } = result;
    const badges = [KINDS[kind], frameworks].filter(Boolean);
    const name = excerpt.isCode ? "code" : "span";
    return make(
      "a",
      { role: "option", id: `search-result-${place}`, tabindex: -1, href: address(result) },
      make("span", { class: "search-trail" }, ...marked(heading)),
      ...badges.flatMap((badge) => [" ", make("span", { class: "search-badge" }, badge)]),
      " ",
      make(name, { class: "search-excerpt" }, ...marked(excerpt.parts)),
    );
  }

  function statusText(query, count, shown) {
    if (!query) return "";
    if (!count) {
      return `Nothing found for “${query}”. Try fewer or other words, or a name from the code.`;
    }
    if (count > shown) return `The first ${shown} of ${count} results`;
    return count === 1 ? "1 result" : `${count} results`;
  }

  // Shows an answer, unless the reader asks for something else by now.
  function show({ query, reader, count, results }) {
    const isLate = query !== asked.query || String(reader) !== String(asked.reader);
    if (isLate) {
      ask(asked);
      return;
    }
    asked = null;
    list.replaceChildren(...results.map(option));
    list.hidden = !count;
    list.removeAttribute("aria-busy");
    suggestions.hidden = Boolean(query);
    list.scrollTop = 0;
    input.setAttribute("aria-expanded", count > 0);
    status.textContent = statusText(query, count, results.length);
    choose(0);
    if (isWaiting && dialog.open) list.children[0]?.click();
    isWaiting = false;
  }

  function choose(place) {
    const options = [...list.children];
    active = options.length && (place + options.length) % options.length;
    options.forEach((o, i) => o.setAttribute("aria-selected", i === active));
    if (!options.length) {
      input.removeAttribute("aria-activedescendant");
      return;
    }
    input.setAttribute("aria-activedescendant", options[active].id);
    options[active].scrollIntoView({ block: "nearest" });
  }

  // The dialog

  function press(event) {
    if (event.isComposing || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) {
      return;
    }
    const actions = {
      ArrowDown: () => choose(active + 1),
      ArrowUp: () => choose(active - 1),
      Home: () => choose(0),
      End: () => choose(-1),
      Enter: () => list.children[active].click(),
    };
    isWaiting = Boolean(asked) && event.key === "Enter" && input.value.trim() !== "";
    if (isWaiting) return;
    if (!list.children.length || !Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    actions[event.key]();
  }

  // A result that opens in another tab or window does not close the dialog.
  function leave(event) {
    const isElsewhere = event.ctrlKey || event.metaKey || event.shiftKey;
    if (event.target.closest("a") && !isElsewhere) dialog.close();
  }

  // Each button asks for a symptom as the quick guide words it, which is the first result.
  const SYMPTOMS = {
    "It is slow": "The GPU is idle",
    "Out of memory": "Memory runs out in a step",
    "Results are wrong": "Results differ",
    "It hangs": "The program hangs",
    "There is no GPU": "There is no GPU",
  };

  // The dialog has no padding, so a click whose target is the dialog is outside it.
  const DIALOG = `
    <div class="search-bar"><input role="combobox" aria-label="Search the book"
      aria-controls="search-results" aria-expanded="false" aria-autocomplete="list"
      autocomplete="off" autocapitalize="off" spellcheck="false" enterkeyhint="go"
      placeholder="Words, a name from the code, or an error message"><button type="button">Close</button></div>
    <p role="status" class="search-status"></p>
    <div class="search-suggestions"><p>What is wrong?</p>
      ${Object.keys(SYMPTOMS).map((text) => `<button type="button">${text}</button>`).join("")}
      <p>Or paste an error message.</p></div>
    <div role="listbox" id="search-results" aria-label="Results"></div>`;

  function makeDialog() {
    dialog = make("dialog", { class: "search", "aria-label": "Search" });
    dialog.innerHTML = DIALOG;
    input = dialog.querySelector("input");
    [, status, suggestions, list] = dialog.children;
    input.addEventListener("input", search);
    input.addEventListener("keydown", press);
    list.addEventListener("click", leave);
    suggestions.addEventListener("click", ({ target }) => {
      if (!target.matches("button")) return;
      input.value = SYMPTOMS[target.textContent];
      search();
      input.focus();
    });
    const isClosing = (target) => target === dialog || target.matches(".search-bar > button");
    dialog.addEventListener("click", ({ target }) => isClosing(target) && dialog.close());
    document.body.append(dialog);
  }

  function open(loaded, words) {
    if (!dialog) makeDialog();
    if (words) input.value = words;
    if (!dialog.open) dialog.showModal();
    input.focus();
    input.select();
    if (!ask) status.textContent = "Loading …";
    loaded.then(
      () => {
        if (!ask) start();
        search(); // the reader may have chosen another framework
      },
      () => (status.textContent = "The data for searching cannot be loaded. Reload the page."),
    );
  }

  return { open };
})();
