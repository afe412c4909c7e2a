// The probes of a page in the browser, for the pages of all tools. `tabs` holds the CSS
// selectors of a tool's tabs (peers.py); `name` is a framework, or the argument of a probe.
(tabs, name) => {
  const seen = (element) => element.checkVisibility() && element.offsetHeight > 0;

  function read(set) {
    const buttons = [...set.querySelectorAll(tabs.buttons)];
    const panels = [...set.querySelectorAll(tabs.panels)];
    const panelOf = (button) =>
      document.getElementById(button.getAttribute("aria-controls")) ??
      panels[buttons.indexOf(button)];
    const button = buttons.find((b) => b.textContent.trim().toLowerCase() === name);
    return { set, buttons, panels, panelOf, button };
  }

  const sets = [...document.querySelectorAll(tabs.sets)].map(read);
  const named = sets.find(({ button }) => button); // the first set with this framework

  // A set is wrong unless it has one selected tab and shows only the panel of that tab.
  function isWrong({ buttons, panels, panelOf }) {
    if (!buttons.some((b) => b.getAttribute("role") === "tab")) return false;
    const selected = buttons.filter((b) => b.getAttribute("aria-selected") === "true");
    const shown = panels.filter(seen);
    const isRight = selected.length === 1 && shown.length === 1;
    return !isRight || panelOf(selected[0]) !== shown[0];
  }

  function reachedIn({ buttons, panels }) {
    const reached = new Set(panels.filter(seen));
    for (const button of buttons.filter(seen)) {
      button.click();
      panels.filter(seen).forEach((panel) => reached.add(panel));
    }
    return reached.size;
  }

  // Returns the number of characters of each line of a paragraph, except the last line.
  function lengthsOfLines(paragraph) {
    const lines = new Map();
    const walker = document.createTreeWalker(paragraph, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const text = walker.currentNode;
      for (const { index, 0: word } of text.data.matchAll(/\S+\s*/g)) {
        const range = new Range();
        range.setStart(text, index);
        range.setEnd(text, index + word.length);
        const box = range.getClientRects()[0];
        if (!box) continue;
        const line = Math.round((box.top + box.bottom) / 16);
        lines.set(line, (lines.get(line) ?? 0) + word.length);
      }
    }
    return [...lines.values()].slice(0, -1);
  }

  return {
    panels: () => sets.map(({ panels }) => panels.map(seen)),
    reached: () => sets.map(reachedIn),
    button: () => named.button,
    isChosen: () => Boolean(named && seen(named.panelOf(named.button))),
    focus: () => named.set.querySelector(tabs.chosen)?.focus(),
    wrong: () => sets.filter(isWrong).length,

    roles: () =>
      sets.map(({ set }) => {
        if (set.querySelector("[role=tablist]")) return "tablist";
        return set.querySelector("input[type=radio]") ? "radio" : "none";
      }),

    boxes: () =>
      named.buttons.map((button) => {
        const { top, height, right } = button.getBoundingClientRect();
        return { top: Math.round(top), height: Math.round(height), right };
      }),

    lines() {
      const apart = "figure, figcaption, .admonition, pre, li";
      return [...document.querySelectorAll("main p, [role=main] p, article p")]
        .filter((paragraph) => seen(paragraph) && !paragraph.closest(apart))
        .flatMap(lengthsOfLines);
    },

    ink: () => getComputedStyle(document.querySelector("h1")).color,

    // The argument `name` of this probe is a list of axe's tags.
    async violations() {
      const options = { runOnly: name, resultTypes: ["violations"] };
      const { violations } = await axe.run(document, options);
      return violations
        .filter(({ impact }) => ["serious", "critical"].includes(impact))
        .flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id} ${target}`));
    },
  };
}
