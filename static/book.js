// The script of every page: the choice of frameworks, machines and colors, copy buttons,
// the current place in the contents, and shortcuts. The scripts of search and of
// interactive figures are loaded when they are needed.
//
// The attributes data-tab, data-machine and data-theme of the root hold the reader's
// choices, on which the stylesheet depends; static/early.js sets them before the page is
// painted.

(() => {
  const root = document.documentElement;
  const find = (selector) => document.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // Work that can wait until the page has been painted, but for two seconds at most, since
  // a busy computer may never be idle. Safari lacks this function.
  const whenIdle = (work) =>
    window.requestIdleCallback?.(work, { timeout: 2000 }) ?? setTimeout(work, 50);

  // Returns the element that a `#...` names, or null if there is none or it is malformed.
  function targetOf(hash) {
    try {
      return document.getElementById(decodeURIComponent(hash.slice(1)));
    } catch {
      return null;
    }
  }

  // Choices, which are kept in the address and in the browser's storage

  const MACHINES = '.tab-set[data-axis="machine"]';
  const axes = ["tab", "beside", "differences", "machine"];
  const INPUTS = { tab: "framework", beside: "beside", theme: "theme" }; // their names

  const held = {}; // what lasts as long as the page, if storage is blocked or full

  function keep(key, value) {
    held[key] = value;
    try {
      if (value === null) localStorage.removeItem(key);
      else localStorage.setItem(key, value);
    } catch {
      // The page holds it.
    }
  }

  function kept(key) {
    try {
      return localStorage.getItem(key) ?? held[key] ?? null;
    } catch {
      return held[key] ?? null;
    }
  }

  function remember(key, value) {
    keep(key, value);
    markAddress(key);
  }

  // Marks the address as seen, so that later choices win when the reader comes back to it.
  // An address that names choices names the latest ones, and so it does if `key` is new.
  function markAddress(key) {
    const address = new URL(location.href);
    const named = key === "beside" ? ["tab", key] : [key];
    for (const axis of axes)
      if (named.includes(axis) || address.searchParams.has(axis))
        address.searchParams.set(axis, root.dataset[axis]);
    try {
      history.replaceState({ ...history.state, seen: true }, "", address);
    } catch {
      // Where this is forbidden, an address chooses each time it is loaded.
    }
  }

  // A new address chooses for good, and shows its target. When the reader comes back to one,
  // the latest choice holds.
  function applyAddress() {
    const { seen } = history.state ?? {};
    const query = new URLSearchParams(location.search);
    if (!seen)
      for (const axis of axes)
        if (query.get(axis) === root.dataset[axis]) remember(axis, root.dataset[axis]);
    if (!seen && query.has("tab") && root.dataset.beside !== "none")
      remember("beside", root.dataset.beside); // which has changed places with the first
    if (!seen) showTarget();
    markAddress();
  }

  // The reader may have chosen on another page before coming back to this one.
  function applyLatest() {
    const before = { ...root.dataset };
    changeInPlace(readingPosition(remainsWithAny), () => {
      bookApplyChoices();
      for (const axis of axes)
        if (root.dataset[axis] !== before[axis]) show(axis, root.dataset[axis]);
    });
    show("theme", root.dataset.theme);
    markAddress();
  }

  // A set of outputs without the chosen machine shows its first panel.
  function shownMachine(set) {
    const known = set.dataset.choices.split(" ");
    return known.includes(root.dataset.machine) ? root.dataset.machine : known[0];
  }

  function updateTabSet(set) {
    const chosen = shownMachine(set);
    for (const button of all(":scope > .tab-list > button", set)) {
      const selected = button.dataset.choice === chosen;
      button.setAttribute("aria-selected", selected);
      button.tabIndex = selected ? 0 : -1;
      const panel = document.getElementById(button.getAttribute("aria-controls"));
      if (selected) panel.setAttribute("aria-labelledby", button.id);
    }
  }

  function show(axis, value) {
    root.dataset[axis] = value;
    for (const input of all(`[name="${INPUTS[axis]}"]`)) input.checked = input.value === value;
    if (axis === "machine") all(MACHINES).forEach(updateTabSet);
    if (axis === "code") foldCode(document);
    const detail = { axis, value };
    document.dispatchEvent(new CustomEvent("book:choice", { detail }));
  }

  // Shows a choice for good. The two frameworks of a comparison change places.
  function settle(axis, value) {
    const { tab, beside } = root.dataset;
    if (axis === "tab" && beside === value && tab !== value) {
      root.dataset.beside = tab;
      remember("beside", tab);
    }
    show(axis, value);
    remember(axis, value);
  }

  function choose(axis, value, anchor = readingPosition(remainsWith(value))) {
    changeInPlace(anchor, () => settle(axis, value));
  }

  // Keeps `anchor` at the same height on the screen, although the text above it may grow
  // or shrink. The browser's own scroll anchoring would correct the position twice.
  function keepInPlace(anchor, change) {
    const before = anchor.getBoundingClientRect().top;
    root.style.overflowAnchor = "none";
    document.body.style.minHeight = "";
    change();
    const moved = anchor.getBoundingClientRect().top - before;
    // Near the end of a page that has become shorter, what stays in view needs room below it.
    const end = scrollY + moved + innerHeight;
    if (before >= 0 && end > root.scrollHeight) document.body.style.minHeight = `${end}px`;
    window.scrollBy({ top: moved, behavior: "instant" });
    requestAnimationFrame(() => (root.style.overflowAnchor = ""));
  }

  function changeInPlace(anchor, change) {
    keepInPlace(anchor, change);
    makeScrollersFocusable();
  }

  // Returns an element of the text that is visible and `remains`: the focused one or the
  // first one in view, or else the last one that begins above the view. A choice draws
  // interactive figures anew, so nothing in them remains.
  function readingPosition(remains) {
    const top = find(".bar").getBoundingClientRect().bottom;
    const placeOf = (block) => block.getBoundingClientRect().top;
    const isInView = (block) => placeOf(block) >= top && placeOf(block) < innerHeight;
    const stays = (block) =>
      block.closest("article") &&
      !block.parentElement.closest(".explorable") &&
      block.checkVisibility() &&
      remains(block);
    const blocks = [document.activeElement, ...all("article > section *")];
    return (
      blocks.find((block) => isInView(block) && stays(block)) ??
      blocks.findLast((block) => placeOf(block) < top && stays(block)) ??
      root
    );
  }

  // Returns whether an element is there both before and after the choice of `value`.
  const remainsWith = (value) => (block) => {
    const set = block.closest(".tab-set");
    if (block.closest(".tab-panel")) return false;
    const shown = value === "none" ? root.dataset.tab : value; // the end of a comparison
    return !set || set.dataset.choices.split(" ").includes(shown);
  };

  const remainsWithAny = (block) =>
    all("#frameworks input").every(({ value }) => remainsWith(value)(block));

  function moveInTabs(event) {
    const row = [...event.currentTarget.parentElement.children];
    const place = row.indexOf(event.currentTarget);
    const steps = { ArrowLeft: place - 1, ArrowRight: (place + 1) % row.length, Home: 0, End: -1 };
    if (!(event.key in steps) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const next = row.at(steps[event.key]);
    choose("machine", next.dataset.choice, next);
    next.focus({ preventScroll: true });
  }

  function prepareTabs(within) {
    for (const button of all(".tab-list > button", within)) {
      const panel = document.getElementById(button.getAttribute("aria-controls"));
      panel.setAttribute("role", "tabpanel");
      button.addEventListener("click", () => choose("machine", button.dataset.choice, button));
      button.addEventListener("keydown", moveInTabs);
    }
    all(MACHINES, within).forEach(updateTabSet);
  }

  function prepareFrameworks() {
    const frameworks = find("#frameworks");
    // Arrow keys make clicks, too, but they do not close the list on narrow screens.
    frameworks.addEventListener("click", ({ detail }) => detail && frameworks.hidePopover());
    frameworks.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !event.target.matches("input")) return;
      event.preventDefault(); // or the button, which gets the focus, would be pressed
      frameworks.hidePopover();
    });
  }

  // Shows the hidden panels around the target of the address.
  function showTarget() {
    const target = targetOf(location.hash);
    /** @type {HTMLElement} */
    let panel = target?.closest(".tab-panel");
    if (!panel) return;
    while (panel) {
      const set = panel.parentElement;
      const { axis } = set.dataset;
      const choices = panel.dataset.choices.split(" ");
      if (getComputedStyle(panel).display === "none") {
        if (!choices.includes(root.dataset[axis])) settle(axis, choices[0]);
      }
      panel = set.closest(".tab-panel");
    }
    makeScrollersFocusable();
    target.scrollIntoView({ behavior: "instant" });
  }

  // Colors

  // From automatic colors, the first press leads to those that the system does not have.
  function nextTheme() {
    const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
    const names = isDark ? ["auto", "light", "dark"] : ["auto", "dark", "light"];
    choose("theme", names[(names.indexOf(root.dataset.theme) + 1) % names.length]);
  }

  // Code and other boxes

  // Only boxes that scroll sideways can be focused and scrolled with the keyboard. All
  // visible boxes are measured before any is changed, so that the browser lays out the page
  // once.
  function makeScrollersFocusable() {
    const scrollers = all(".highlight pre, .table-wrapper, .plotted, div.math");
    const boxes = scrollers.filter((box) => box.checkVisibility());
    const wide = boxes.map((box) => box.scrollWidth > box.clientWidth);
    boxes.forEach((box, i) => {
      if (wide[i]) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    });
  }

  // The reader's choice for all folded code

  function foldCode(within) {
    const isShown = root.dataset.code === "shown";
    for (const box of all(".folded", within)) box.open = isShown;
    find("#all-code")?.setAttribute("aria-pressed", isShown);
  }

  function toggleCode(anchor = readingPosition((block) => !block.closest(".folded"))) {
    choose("code", root.dataset.code === "shown" ? "folded" : "shown", anchor);
  }

  let measuring = 0;

  // The folded code of a place opens and closes in all frameworks together.
  function unfoldPlace({ target }) {
    if (!target.matches("details")) return;
    cancelAnimationFrame(measuring); // all code may open at once
    measuring = requestAnimationFrame(makeScrollersFocusable);
    const panel = target.parentElement;
    if (!target.matches(".folded")) return;
    if (!panel.matches(".place > .tab-panel")) return;
    const foldedIn = (parent) => all(":scope > .folded", parent);
    const number = foldedIn(panel).indexOf(target);
    for (const other of panel.parentElement.children) {
      const same = foldedIn(other)[number];
      if (same) same.open = target.open;
    }
  }

  // There are no buttons without access to the clipboard. They are added one at a time,
  // so that the page responds to a reader who scrolls or types in the meantime.
  let numberOfCodes = 0;
  function addCopyButtons(within) {
    if (!navigator.clipboard) return;
    for (const box of all("div:not(.output) > .highlight", within)) {
      numberOfCodes += 1;
      const number = numberOfCodes;
      whenIdle(() => addCopyButton(box, number));
    }
  }

  // Each button has a name of its own, for readers who go from button to button.
  function addCopyButton(box, number) {
    const code = box.querySelector("pre");
    // The folded head of a cell is copied together with the rest.
    const head = box.parentElement.previousElementSibling;
    const folded = head?.matches(".folded.head") ? head.querySelector("pre").textContent : "";
    const start = code.textContent.trim().split("\n")[0].slice(0, 60);
    const button = document.createElement("button");
    const say = (word) => {
      button.textContent = word;
      button.setAttribute("aria-label", `${word} code ${number}: ${start}`);
    };
    button.type = "button";
    button.className = "copy";
    say("Copy");
    button.addEventListener("click", () => copy(folded, code, say));
    box.append(button);
  }

  async function copy(folded, code, say) {
    try {
      await navigator.clipboard.writeText((folded && `${folded}\n`) + code.textContent);
      say("Copied");
    } catch {
      getSelection().selectAllChildren(code);
      say("Selected");
    }
    setTimeout(say, 2000, "Copy");
  }

  // Pictures whose text is too small on this screen: a button, or a tap on the picture,
  // shows the picture in its own size.
  function prepareEnlarging(within) {
    for (const image of all("figure:not([data-explorable]) > img", within)) {
      const button = document.createElement("button");
      Object.assign(button, { type: "button", className: "enlarge", textContent: "Enlarge", hidden: true });
      button.setAttribute("aria-label", `Enlarge the picture: ${image.alt.slice(0, 60)}`);
      button.addEventListener("click", () => enlarge(image));
      image.addEventListener("click", () => isShrunk(image) && enlarge(image));
      image.after(button);
      new ResizeObserver(() => (button.hidden = !isShrunk(image))).observe(image);
    }
  }

  const isShrunk = (image) => image.clientWidth < 0.9 * image.getAttribute("width");

  async function enlarge(image) {
    await load("previews.css");
    const dialog = document.createElement("dialog");
    dialog.className = "enlarged";
    dialog.setAttribute("aria-label", "Picture");
    dialog.innerHTML = '<form method="dialog"><button type="submit">Close</button></form>';
    dialog.append(Object.assign(image.cloneNode(), { loading: "eager" }));
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }

  // Marks the current section in the contents of the page. On a phone, a click on a
  // section closes the contents.
  function followContents() {
    const contents = find("#page-contents");
    const links = all('#page-contents a[href^="#"]');
    const headings = links.map((link) =>
      link.hash ? targetOf(link.hash) : find("h1"),
    );
    const placeOf = (heading) => heading.getBoundingClientRect().top;
    let current;
    const mark = () => {
      const next = links[headings.indexOf(currentHeading(headings, placeOf))];
      if (next === current) return;
      current?.removeAttribute("aria-current");
      current = next;
      current.setAttribute("aria-current", "true");
      if (!contents.matches(":hover, :focus-within")) scrollIntoBox(current, contents);
    };
    if (!links.length) return;
    mark();
    addEventListener("scroll", mark, { passive: true }); // once for each frame
    for (const link of links) link.addEventListener("click", () => contents.hidePopover());
  }

  // Shows the place of this page in the contents of the book, which may be long.
  function showPlaceInBook() {
    const contents = find("#book-contents");
    const current = contents.querySelector('[aria-current="page"]');
    if (!current) return;
    if (!contents.matches(":focus-within")) scrollIntoBox(current, contents);
    contents.addEventListener("toggle", ({ newState }) => {
      if (newState === "open") scrollIntoBox(current, contents);
    });
  }

  // Returns the last heading above a line at a quarter of the window, or the target of the
  // address if that is there. In the last screen of a page, where headings do not get to the
  // top, the line moves down, and the target counts wherever it is in view.
  function currentHeading(headings, placeOf) {
    const rest = (root.scrollHeight - innerHeight - scrollY) / innerHeight;
    const target = targetOf(location.hash);
    const line = innerHeight * (0.25 + 0.75 * Math.max(0, 1 - rest));
    if (headings.includes(target)) {
      const place = placeOf(target);
      if (place >= 0 && place < (rest < 1 ? innerHeight : line)) return target;
    }
    return headings.findLast((heading) => placeOf(heading) <= line) ?? headings[0];
  }

  function scrollIntoBox(element, box) {
    const { top, bottom } = element.getBoundingClientRect();
    const around = box.getBoundingClientRect();
    if (top >= around.top && bottom <= around.bottom) return;
    box.scrollTop += top - around.top - around.height / 2;
  }

  // Files that are loaded on demand; other scripts load files as `bookLoad`

  const loading = {};

  // Other scripts of the page use these.
  Object.assign(window, {
    bookChange: changeInPlace,
    bookChoose: choose,
    bookKeep: keep,
    bookKept: kept,
    bookLoad: load,
    bookPrepare: prepare,
    bookTarget: targetOf,
  });

  function load(file) {
    loading[file] ??= new Promise((resolve, reject) => {
      const isStyle = file.endsWith(".css");
      /** @type {any} */
      const element = document.createElement(isStyle ? "link" : "script");
      const address = `${root.dataset.root}_static/${file}`;
      if (isStyle) Object.assign(element, { rel: "stylesheet", href: address });
      else element.src = address;
      element.onload = resolve;
      element.onerror = () => {
        delete loading[file]; // so that it can be tried again
        reject();
      };
      document.head.append(element);
    });
    return loading[file];
  }

  // Two frameworks are compared by a script of its own, from the first time on.
  const compare = () => Promise.all(["compare.css", "compare.js"].map(load));

  let isSearching = false; // keys typed before the dialog opens are not shortcuts

  // The dialog opens at once; it says so if the reader has to wait for the data.
  async function search(words = "") {
    isSearching = true;
    try {
      await Promise.all(["search.css", "search.js"].map(load));
    } finally {
      isSearching = false;
    }
    bookSearch.open(Promise.all(["search-engine.js", "search-data.js"].map(load)), words);
  }

  // A figure becomes interactive shortly before it is in view. Its picture remains for
  // printing.
  const explored = new Map(); // figures, and promises that they are interactive

  function watchExplorables(within) {
    const observer = new IntersectionObserver(
      (entries) => {
        for (const { target } of entries.filter((e) => e.isIntersecting)) {
          // Those of the other frameworks come too, so that a choice moves nothing later.
          const place = target.closest(".place");
          const figures = place?.querySelectorAll("[data-explorable]") ?? [target];
          for (const figure of figures) {
            observer.unobserve(figure);
            explore(figure);
          }
        }
      },
      { rootMargin: "600px" },
    );
    all("[data-explorable]", within).forEach((figure) => observer.observe(figure));
    // A figure that a cell shows has no picture that could be printed instead.
    for (const figure of all("figure.output[data-explorable]", within))
      whenIdle(() => explore(figure));
  }

  function explore(figure) {
    if (!explored.has(figure)) explored.set(figure, makeInteractive(figure));
    return explored.get(figure);
  }

  async function makeInteractive(figure) {
    const { explorable: name, scripts } = figure.dataset;
    await load("explorables/explorables.css");
    for (const script of scripts.split(" ")) await load(`explorables/${script}.js`);
    const picture = figure.querySelector("img"); // It gives way to a drawing.
    const remains = (block) => block.contains(figure) || !block.contains(picture);
    const anchor = readingPosition(remains);
    keepInPlace(anchor, () => bookExplorables[name](figure));
  }

  // Some words of the text set a figure: without scripts they are words, here links.
  function preparePlays(within) {
    for (const link of all("a.play", within)) {
      const [name] = link.dataset.play.split(".");
      const figure = find(`[data-explorable="${name}"]:not([data-settings])`);
      link.href = `?${link.dataset.play}#${figure.id}`;
      link.title = "Show this in the figure";
      link.addEventListener("click", async (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return; // opens a new page
        event.preventDefault();
        await explore(figure);
        figure.dispatchEvent(new CustomEvent("book:play", { detail: link.dataset.play }));
      });
    }
  }

  // Shortcuts, which are single keys that the reader can turn off

  function nextMachine() {
    const set = find(MACHINES);
    const names = [...new Set(all('[data-axis="machine"] [data-choice]').map((b) => b.dataset.choice))];
    if (set) choose("machine", names[(names.indexOf(shownMachine(set)) + 1) % names.length]);
  }

  const keys = {
    "/": () => search(),
    "?": () => find("#shortcuts").showModal(),
    c: () => compare().then(() => bookCompare.toggle()),
    d: () => compare().then(() => bookCompare.toggleDifferences()),
    f: () => find("#all-code") && toggleCode(),
    t: nextTheme,
    m: nextMachine,
    n: () => find("a.next")?.click(),
    p: () => find("a.previous")?.click(),
  };

  const keysAreOn = () => kept("shortcuts") !== "off";

  function press(event) {
    if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      search();
      return;
    }
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (isSearching || !keysAreOn()) return;
    const takesKeys = "input:not([type=radio]), select, textarea, dialog, [role=menu]";
    // What a closing dialog held has the focus until the next frame.
    if (event.target.closest(takesKeys)?.checkVisibility()) return;
    const tab = all("#frameworks input")[event.key - 1];
    const action = tab ? () => choose("tab", tab.value) : keys[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  function prepareShortcuts() {
    const box = find("#shortcuts-on");
    box.checked = keysAreOn();
    box.addEventListener("change", () => keep("shortcuts", box.checked ? "on" : "off"));
    find("#shortcuts-button").addEventListener("click", keys["?"]);
    document.addEventListener("keydown", press);
  }

  // Prepares the text of the page, or a part that is added to it later.
  function prepare(part) {
    prepareTabs(part);
    foldCode(part);
    addCopyButtons(part);
    prepareEnlarging(part);
    watchExplorables(part);
    preparePlays(part);
    whenIdle(makeScrollersFocusable);
    document.dispatchEvent(new CustomEvent("book:added", { detail: part }));
  }

  prepareFrameworks();
  if (root.dataset.beside !== "none") compare();
  find("#compare-button").addEventListener("click", compare);
  for (const axis of ["machine", "tab", "beside", "theme"]) show(axis, root.dataset[axis]);
  prepare(document);
  applyAddress();
  addEventListener("hashchange", applyAddress);
  // A link to the present address fires no "hashchange" event.
  document.addEventListener("click", ({ target }) => {
    /** @type {HTMLAnchorElement} */
    const link = /** @type {Element} */ (target).closest('a[href^="#"]');
    if (link?.hash && link.hash === location.hash) showTarget();
  });
  addEventListener("pageshow", ({ persisted }) => persisted && applyLatest());
  addEventListener("resize", makeScrollersFocusable);
  document.addEventListener("toggle", unfoldPlace, true); // this event does not bubble
  document.addEventListener("change", ({ target }) => {
    const { name, value } = /** @type {HTMLInputElement} */ (target);
    const axis = Object.keys(INPUTS).find((key) => INPUTS[key] === name);
    if (axis) choose(axis, value);
  });
  find("#all-code")?.addEventListener("click", ({ target }) => toggleCode(target));
  find("#search-button").addEventListener("click", keys["/"]);
  whenIdle(followContents);
  whenIdle(showPlaceInBook);
  prepareShortcuts();
  // Pictures that have not been in view are printed, too.
  addEventListener("beforeprint", () => all("img").forEach((i) => (i.loading = "eager")));
  const asked = new URLSearchParams(location.search).get("search"); // from the 404 page
  if (asked) search(asked);
})();
