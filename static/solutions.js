// Solutions below exercises. Each opens in place, and without scripts there is a link to the
// page of solutions. A script with all solutions of that page is loaded when the first one
// is opened (book/pages/solutions.py).

(() => {
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  Object.assign(window, { bookSolutions: {}, bookSolve: load });

  const make = (name, properties) => Object.assign(document.createElement(name), properties);

  function addSolution(link) {
    const item = link.closest("li");
    const number = item.parentElement.start + [...item.parentElement.children].indexOf(item);
    const details = make("details", { className: "solution" });
    details.innerHTML = `<summary>Solution<span class="visually-hidden"> of exercise ${number}</span></summary>`;
    const text = make("div", { className: "solution-text" });
    details.append(text);
    details.addEventListener("toggle", () => {
      if (details.open && !text.querySelector(".solution-source")) fill(text, link);
      noteOpen();
    });
    item.append(details);
  }

  // Loads the solutions of the page to which a link leads.
  function load(link) {
    const base = new URL(root.dataset.root || ".", location.href).pathname;
    const file = new URL(link.href).pathname.slice(base.length).replace(/html$/, "js");
    return bookLoad(`solutions/${file}`);
  }

  async function fill(text, link) {
    const page = new URL(link.href);
    text.innerHTML = '<p role="status">Loading …</p>';
    try {
      await load(link);
    } catch {
      text.innerHTML = '<p role="status">The solution cannot be loaded. Try again, or read it in </p>';
      text.firstChild.append(link.cloneNode(true), ".");
      return;
    }
    const { content } = make("template", { innerHTML: bookSolutions[page.hash.slice(1)] });
    adaptAddresses(content, page);
    text.replaceChildren(content);
    addCloseButton(text);
    bookPrepare(text);
    noteOpen();
  }

  // Makes addresses lead to where they lead on the page of solutions. A link to this page
  // does not load it again.
  function adaptAddresses(content, page) {
    for (const image of all("img", content)) image.src = new URL(image.getAttribute("src"), page);
    for (const link of all('a:not([href^="#"])', content)) {
      const there = new URL(link.getAttribute("href"), page);
      const isHere = there.pathname === location.pathname && there.host === location.host;
      link.href = isHere && there.hash ? there.hash : there;
    }
  }

  function addCloseButton(text) {
    const button = make("button", { type: "button", textContent: "Close the solution" });
    button.addEventListener("click", () => {
      const details = text.parentElement;
      details.open = false;
      details.firstChild.focus();
    });
    text.querySelector(".solution-source").prepend(button);
  }

  // Solutions that were open are open again when the reader comes back to the page. Until
  // they are loaded, the page keeps its height, so that the browser restores its position.
  // That changes by as much as what is above them, such as a figure that is not interactive.

  const placeOf = (details) => details && scrollY + details.getBoundingClientRect().top;

  function noteOpen() {
    const solutions = all(".solution");
    const solved = solutions.flatMap(({ open }, i) => (open ? [i] : []));
    const place = placeOf(solutions[solved[0]]);
    const state = { ...history.state, solved, height: root.scrollHeight, place };
    try {
      history.replaceState(state, "");
    } catch {
      // Where this is forbidden, solutions are closed when the reader comes back.
    }
  }

  function reopen() {
    const { solved = [], height, place } = history.state ?? {};
    const { style } = document.body;
    const release = () => {
      scrollBy({ top: placeOf(again[0]) - place, behavior: "instant" });
      Object.assign(style, { minHeight: "", overflowAnchor: "" });
    };
    const solutions = all(".solution");
    const again = solved.flatMap((i) => solutions[i] ?? []);
    if (!again.length) return;
    Object.assign(style, { minHeight: `${height}px`, overflowAnchor: "none" });
    document.addEventListener("book:added", () => setTimeout(release, 500), { once: true });
    for (const details of again) details.open = true;
  }

  all("li .solution-link a").forEach(addSolution);
  // The script that judges answers is loaded with the first one.
  document.addEventListener("submit", (event) => {
    const form = /** @type {HTMLFormElement} */ (event.target);
    if (!form.matches(".exercise")) return;
    event.preventDefault();
    bookLoad("exercises.js").then(() => bookExercise(form));
  });
  reopen();
  addEventListener("hashchange", noteOpen);
  addEventListener("pagehide", noteOpen);
})();
