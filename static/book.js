// Tabs, copy buttons, and boxes that the keyboard can scroll.
//
// Tabs show the reader's framework, the same in all sets and on all pages. The choice
// stands in the root's data-tab, which the stylesheet follows; a script in the page's
// head sets it before anything is painted. Here tabs get their keyboard and ARIA
// state, and a choice is kept: in the address and in storage.

(() => {
  const root = document.documentElement;
  const buttons = [...document.querySelectorAll(".tab-list [role=tab]")];
  const panels = [...document.querySelectorAll(".tab-panel")];

  function show(tab) {
    root.dataset.tab = tab;
    for (const button of buttons) {
      const chosen = button.dataset.tab === tab;
      button.setAttribute("aria-selected", chosen);
      button.tabIndex = chosen ? 0 : -1;
      if (chosen) {
        const panel = document.getElementById(button.getAttribute("aria-controls"));
        panel.setAttribute("aria-labelledby", button.id);
      }
    }
    letScrollersTakeFocus();
  }

  // Sets above the reader grow or shrink: what was clicked stays where it was.
  function choose(tab, anchor) {
    const before = anchor.getBoundingClientRect().top;
    show(tab);
    keep(tab);
    const moved = anchor.getBoundingClientRect().top - before;
    window.scrollBy({ top: moved, behavior: "instant" });
  }

  function keep(tab) {
    const address = new URL(location.href);
    address.searchParams.set("tab", tab);
    try {
      history.replaceState(history.state, "", address);
      localStorage.setItem("tab", tab);
    } catch (blocked) {
      // The choice then lasts as long as the page.
    }
  }

  function move(event) {
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
    choose(next.dataset.tab, next);
    next.focus({ preventScroll: true });
  }

  // A link to something inside a panel chooses that panel.
  function follow() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const panel = target && target.closest(".tab-panel");
    if (!panel) return;
    const tabs = panel.dataset.tab.split(" ");
    if (!tabs.includes(root.dataset.tab)) show(tabs[0]);
    target.scrollIntoView({ behavior: "instant" });
  }

  // What scrolls sideways can be reached and scrolled by keyboard; nothing else.
  function letScrollersTakeFocus() {
    const boxes = ".highlight pre, .table-wrapper, .math-wrapper";
    for (const box of document.querySelectorAll(boxes)) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  }

  // Where the browser gives no access to the clipboard there is no button.
  function addCopyButton(box) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(box.querySelector("pre").textContent);
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
    box.append(button);
  }

  for (const panel of panels) panel.setAttribute("role", "tabpanel");
  for (const button of buttons) {
    button.addEventListener("click", () => choose(button.dataset.tab, button));
    button.addEventListener("keydown", move);
  }
  if (navigator.clipboard) {
    document.querySelectorAll("div:not(.output) > .highlight").forEach(addCopyButton);
  }
  show(root.dataset.tab);
  follow();
  window.addEventListener("hashchange", follow);
  window.addEventListener("resize", letScrollersTakeFocus);
})();
