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

  function storeChoice(key, value) {
    const address = new URL(location.href);
    address.searchParams.set(key, value);
    try {
      if (key !== "theme") history.replaceState(history.state, "", address);
      localStorage.setItem(key, value);
    } catch {
      // If storage is blocked, the choice lasts as long as the page.
    }
  }

  // A set without a panel for the reader's choice shows its first panel.
  function shownChoice(set) {
    const choices = set.dataset.choices.split(" ");
    const wanted = root.dataset[set.dataset.axis];
    return choices.includes(wanted) ? wanted : choices[0];
  }

  function updateTabSet(set) {
    const chosen = shownChoice(set);
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
    all(`.tab-set[data-axis="${axis}"]`).forEach(updateTabSet);
    if (axis === "tab") find("#framework").value = value;
    const detail = { axis, value };
    document.dispatchEvent(new CustomEvent("book:choice", { detail }));
  }

  function choose(axis, value, anchor = readingPosition(value)) {
    keepInPlace(anchor, () => show(axis, value));
    makeScrollersFocusable();
    storeChoice(axis, value);
  }

  // Keeps `anchor` at the same height on the screen, although the text above it may grow
  // or shrink. The browser's own scroll anchoring would correct the position twice.
  function keepInPlace(anchor, change) {
    const before = anchor.getBoundingClientRect().top;
    root.style.overflowAnchor = "none";
    document.body.style.minHeight = "";
    change();
    const moved = anchor.getBoundingClientRect().top - before;
    // Near the end of a page that has become shorter, there must be room to scroll.
    const end = scrollY + moved + innerHeight;
    if (end > root.scrollHeight) document.body.style.minHeight = `${end}px`;
    window.scrollBy({ top: moved, behavior: "instant" });
    requestAnimationFrame(() => (root.style.overflowAnchor = ""));
  }

  // Returns the focused element or the first one in view, if it is visible both before
  // and after the choice of `value`.
  function readingPosition(value) {
    const top = find(".bar").getBoundingClientRect().bottom;
    const remains = (block) => {
      const set = block.closest(".tab-set");
      if (block.closest(".bar, .contents, .tab-panel")) return false;
      return !set || set.dataset.choices.split(" ").includes(value);
    };
    const isInView = (block) => {
      const place = block.getBoundingClientRect().top;
      return block.checkVisibility() && place >= top && place < innerHeight;
    };
    const blocks = [document.activeElement, ...all("article > section *")];
    return blocks.find((block) => remains(block) && isInView(block)) ?? root;
  }

  function moveInTabs(event) {
    const row = [...event.currentTarget.parentElement.children];
    const place = row.indexOf(event.currentTarget);
    const places = {
      ArrowRight: (place + 1) % row.length,
      ArrowLeft: (place + row.length - 1) % row.length,
      Home: 0,
      End: row.length - 1,
    };
    if (!(event.key in places) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const next = row[places[event.key]];
    choose(axisOf(next), next.dataset.choice, next);
    next.focus({ preventScroll: true });
  }

  const axisOf = (button) => button.closest(".tab-set").dataset.axis;

  function prepareTabs() {
    for (const button of all(".tab-list > button")) {
      const panel = document.getElementById(button.getAttribute("aria-controls"));
      panel.setAttribute("role", "tabpanel");
      button.addEventListener("click", () =>
        choose(axisOf(button), button.dataset.choice, button),
      );
      button.addEventListener("keydown", moveInTabs);
    }
    find("#framework").addEventListener("change", (event) =>
      choose("tab", event.target.value),
    );
  }

  // Shows the panels around the target of the address.
  function showTarget() {
    const target = targetOf(location.hash);
    if (!target?.closest(".tab-panel")) return;
    let panel = target.closest(".tab-panel");
    while (panel) {
      const set = panel.parentElement;
      const choices = panel.dataset.choices.split(" ");
      if (!choices.includes(shownChoice(set))) show(set.dataset.axis, choices[0]);
      panel = set.closest(".tab-panel");
    }
    makeScrollersFocusable();
    target.scrollIntoView({ behavior: "instant" });
  }

  // Colors

  const themes = { auto: "automatic", light: "light", dark: "dark" };

  function nameTheme() {
    const name = themes[root.dataset.theme];
    find("#theme-button").setAttribute("aria-label", `Colours: ${name}`);
  }

  function nextTheme() {
    const names = Object.keys(themes);
    const place = names.indexOf(root.dataset.theme);
    root.dataset.theme = names[(place + 1) % names.length];
    storeChoice("theme", root.dataset.theme);
    nameTheme();
  }

  // Code and other boxes

  // Only boxes that scroll sideways can be focused and scrolled with the keyboard. All
  // boxes are measured before any is changed, so that the browser lays out the page once.
  function makeScrollersFocusable() {
    const boxes = all(".highlight pre, .table-wrapper, div.math");
    const wide = boxes.map((box) => box.scrollWidth > box.clientWidth);
    boxes.forEach((box, i) => {
      if (wide[i]) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    });
  }

  // There are no buttons without access to the clipboard. They are added one at a time,
  // so that the page responds to a reader who scrolls or types in the meantime.
  function addCopyButtons() {
    if (!navigator.clipboard) return;
    const boxes = all("div:not(.output) > .highlight");
    boxes.forEach((box) => whenIdle(() => addCopyButton(box)));
  }

  function addCopyButton(box) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", () => copy(box.querySelector("pre"), button));
    box.append(button);
  }

  async function copy(code, button) {
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = "Selected";
    }
    setTimeout(() => (button.textContent = "Copy"), 2000);
  }

  // Marks the current section in the contents of the page. On a phone, a click on a
  // section closes the contents.
  function followContents() {
    const links = all('#page-contents a[href^="#"]');
    const headings = links.map((link) =>
      link.hash ? targetOf(link.hash) : find("h1"),
    );
    const mark = () => {
      const passed = headings.filter((h) => h.getBoundingClientRect().top < 100);
      const current = links[Math.max(0, passed.length - 1)];
      for (const link of links) {
        if (link === current) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
    };
    let waiting = false;
    const later = () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        mark();
      });
    };
    if (!links.length) return;
    later();
    addEventListener("scroll", later, { passive: true });
    for (const link of links) {
      link.addEventListener("click", () => {
        const drawer = find("#page-contents");
        if (drawer.matches(":popover-open")) drawer.hidePopover();
      });
    }
  }

  // Files that are loaded on demand; other scripts load files as `bookLoad`

  const loading = {};

  // Other scripts of the page use these.
  Object.assign(window, { bookLoad: load, bookTarget: targetOf });

  function load(file) {
    loading[file] ??= new Promise((resolve, reject) => {
      const isStyle = file.endsWith(".css");
      const element = document.createElement(isStyle ? "link" : "script");
      const address = `${root.dataset.root}_static/${file}`;
      if (isStyle) Object.assign(element, { rel: "stylesheet", href: address });
      else element.src = address;
      element.onload = resolve;
      element.onerror = reject;
      document.head.append(element);
    });
    return loading[file];
  }

  async function search() {
    await Promise.all(["vendor/minisearch.js", "search-data.js"].map(load));
    await load("search.js");
    bookSearch.open();
  }

  // A figure becomes interactive shortly before it is in view. Its picture remains for
  // printing.
  function watchExplorables() {
    const observer = new IntersectionObserver(
      (entries) => {
        for (const { target } of entries.filter((e) => e.isIntersecting)) {
          observer.unobserve(target);
          explore(target);
        }
      },
      { rootMargin: "600px" },
    );
    all("[data-explorable]").forEach((figure) => observer.observe(figure));
  }

  // The figures with an arithmetic of their own beside the common one.
  const subjects = {
    allocator: "memory",
    "memory-timeline": "memory",
    roofline: "performance",
    sectors: "performance",
    warps: "performance",
  };

  async function explore(figure) {
    const name = figure.dataset.explorable;
    const shared = ["explorables.css", "arithmetic.js"];
    if (subjects[name]) shared.push(`${subjects[name]}-arithmetic.js`);
    await Promise.all(shared.map((f) => load(`explorables/${f}`)));
    await load("explorables/explorable.js");
    await load(`explorables/${name}.js`);
    const anchor = readingPosition(root.dataset.tab);
    keepInPlace(anchor, () => bookExplorables[name](figure));
  }

  // Shortcuts, which are single keys that the reader can turn off

  function nextMachine() {
    const set = find('.tab-set[data-axis="machine"]');
    const names = [...new Set(all('[data-axis="machine"] [data-choice]').map((b) => b.dataset.choice))];
    if (set) choose("machine", names[(names.indexOf(shownChoice(set)) + 1) % names.length]);
  }

  const keys = {
    "/": search,
    "?": () => find("#shortcuts").showModal(),
    t: nextTheme,
    m: nextMachine,
    n: () => find("a.next")?.click(),
    p: () => find("a.previous")?.click(),
  };

  function keysAreOn() {
    try {
      return localStorage.getItem("shortcuts") !== "off";
    } catch {
      return find("#shortcuts-on").checked;
    }
  }

  function press(event) {
    if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      search();
      return;
    }
    if (event.ctrlKey || event.altKey || event.metaKey || !keysAreOn()) return;
    if (event.target.closest("input, select, textarea, dialog")) return;
    const tab = find("#framework").options[event.key - 1];
    const action = tab ? () => choose("tab", tab.value) : keys[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  function prepareShortcuts() {
    const box = find("#shortcuts-on");
    box.checked = keysAreOn();
    box.addEventListener("change", () => {
      try {
        localStorage.setItem("shortcuts", box.checked ? "on" : "off");
      } catch {
        // If storage is blocked, the box holds the choice as long as the page lasts.
      }
    });
    find("#shortcuts-button").addEventListener("click", keys["?"]);
    document.addEventListener("keydown", press);
  }

  function preparePrinting() {
    find("#print").addEventListener("click", () => window.print());
    find("#print-all").addEventListener("click", () => {
      root.dataset.print = "all";
      window.print();
    });
    // Load the pictures that have not been in view, so that they are printed.
    addEventListener("beforeprint", () => all("img").forEach((i) => (i.loading = "eager")));
    addEventListener("afterprint", () => delete root.dataset.print);
  }

  prepareTabs();
  show("machine", root.dataset.machine);
  show("tab", root.dataset.tab);
  showTarget();
  addEventListener("hashchange", showTarget);
  addEventListener("resize", makeScrollersFocusable);
  nameTheme();
  find("#theme-button").addEventListener("click", nextTheme);
  find("#search-button").addEventListener("click", search);
  whenIdle(makeScrollersFocusable);
  addCopyButtons();
  whenIdle(followContents);
  watchExplorables();
  prepareShortcuts();
  preparePrinting();
})();
