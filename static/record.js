// The record of the predictions of a reader in the whole book. The front page shows it, and
// other pages offer one question again whose answer was missed, on another page or a day
// before. It stays in the browser, under the page and the question like the answers. Node
// tests the functions that need no page.

(() => {
  const KEY = "record";
  const DAY = 24 * 3600 * 1000; // ms
  const MOST = 5; // the missed questions that the front page offers
  // The kinds of units, in the order of bookGuess.KINDS.
  const KINDS = "bytes rate bytes rate count rate rate rate time count".split(" ");
  const RESULTS = ["right", "close", "missed"];

  // Returns the kind of the answers in a unit.
  const kindOf = (unit, kinds) => KINDS[kinds.findIndex((units) => units.has(unit))];

  // Returns which of the results a verdict in words means.
  const resultOf = (words) =>
    /^right/.test(words) ? "right" : /^(close|like)/.test(words) ? "close" : "missed";

  // Returns the worst of some verdicts.
  const worst = (verdicts) =>
    [...verdicts].sort((a, b) => RESULTS.indexOf(resultOf(b)) - RESULTS.indexOf(resultOf(a)))[0];

  // Returns the page and the question of a key.
  const partsOf = (key) => [key.slice(0, key.indexOf(" ")), key.slice(key.indexOf(" ") + 1)];

  // Returns the keys of the questions to offer on a page at a time, the oldest first.
  function due(entries, page, now) {
    const isDue = ([key, { result, when }]) =>
      result === "missed" && (partsOf(key)[0] !== page || now - when > DAY);
    const found = Object.entries(entries).filter(isDue);
    return found.sort(([, a], [, b]) => a.when - b.when).map(([key]) => key);
  }

  // Returns how many results there are of each name that a function gives to an entry.
  function count(entries, nameOf) {
    const counts = {};
    for (const [key, { kind, result }] of Object.entries(entries)) {
      const name = nameOf(key, kind);
      counts[name] ??= { right: 0, close: 0, missed: 0 };
      counts[name][result] += 1;
    }
    return counts;
  }

  // Returns in words how far an answer was off.
  function miss({ kind, verdict }) {
    const factor = /by a factor of ([\d.e+]+)/.exec(verdict)?.[1];
    if (kind === "choice") return "You chose another answer";
    return factor ? `You were off by a factor of ${factor}` : "You missed this one";
  }

  if (typeof module !== "undefined") {
    module.exports = { kindOf, resultOf, worst, due, count, miss };
    return;
  }

  const page = location.pathname.split("/").at(-1) || "index.html";
  const links = /** @type {HTMLAnchorElement[]} */ ([...document.querySelectorAll("#book-contents a")]);

  function element(tag, content, attributes = {}) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...[content].flat());
    return made;
  }

  function entries() {
    try {
      return JSON.parse(bookKept(KEY)) ?? {};
    } catch {
      return {}; // The stored text is damaged: start anew.
    }
  }

  // Returns the link to a page in the contents of the book; there is none if it has gone.
  const linkTo = (name) => links.find((link) => link.pathname.split("/").at(-1) === name);
  const titleOf = (key) => linkTo(partsOf(key)[0])?.textContent.trim() ?? "Other pages";

  // Returns the sentences that offer a question again.
  function offer(key, entry) {
    const [name, question] = partsOf(key);
    const href = `${linkTo(name).href.split("#")[0]}#again=${encodeURIComponent(question)}`;
    const title = name === page ? "" : ` (${titleOf(key)})`;
    return [`${miss(entry)}; try it again: `, element("a", question, { href }), title];
  }

  function table(name, counts) {
    const rows = Object.entries(counts).map(([row, results]) => {
      const cells = RESULTS.map((result) => element("td", String(results[result])));
      return element("tr", [element("th", row, { scope: "row" }), ...cells]);
    });
    const names = [name, ...RESULTS].map((text) => element("th", text, { scope: "col" }));
    const parts = [element("thead", element("tr", names)), element("tbody", rows)];
    return element("table", parts);
  }

  function summary(results) {
    const total = RESULTS.reduce((sum, result) => sum + results[result], 0);
    const words = RESULTS.map((result) => `${results[result]} ${result}`).join(", ");
    return `${total} predicted in this book: ${words}. The record stays in this browser. `;
  }

  function empty() {
    if (!confirm("Forget all your predictions on all pages? This cannot be undone.")) return;
    for (const key of [KEY, "predictions"]) bookKeep(key, null);
    location.reload();
  }

  // Returns what the front page shows of the record.
  function whole(all, offered) {
    const button = element("button", "Forget all predictions", { type: "button" });
    button.addEventListener("click", empty);
    const { all: results } = count(all, () => "all");
    const parts = [
      element("h2", "Your Predictions", { id: "your-predictions" }),
      element("p", [summary(results), button]),
      table("Section", count(all, titleOf)),
      table("Kind", count(all, (_, kind) => kind)),
    ];
    const shown = offered.slice(0, MOST).map((key) => element("li", offer(key, all[key])));
    if (shown.length) parts.push(element("ul", shown));
    return parts;
  }

  const region = element("section", [], { class: "tally" });

  // Notes answers, and shows the record on the front page, and elsewhere one question that
  // was missed. Each answer has a key, the reader's text and what is compared.
  function show(answers) {
    for (const answer of answers) add(...answer);
    const all = entries();
    const offered = due(all, page, Date.now()).filter((key) => linkTo(partsOf(key)[0]));
    const isFront = document.body.matches(".front");
    region.remove();
    if (isFront ? !Object.keys(all).length : !offered.length) return;
    if (isFront) region.setAttribute("aria-labelledby", "your-predictions");
    else region.setAttribute("aria-label", "Try it again");
    const parts = isFront
      ? whole(all, offered)
      : [element("p", offer(offered[0], all[offered[0]]))];
    region.replaceChildren(...parts);
    const next = document.getElementById(isFront ? "the-sections" : "exercises");
    if (next) next.before(region);
    else document.getElementById("text").append(region);
  }

  // Notes an answer, unless it is there.
  function add(key, text, compared) {
    const all = entries();
    const known = compared.filter(({ output }) => output !== undefined);
    if (all[key]?.text === text || !known.length) return;
    const [{ row, output }] = known;
    const kind =
      typeof output === "string" ? "choice" : kindOf(row.dataset.unit, bookGuess.KINDS);
    const verdict = worst(
      known.map((c) => bookGuess.verdict(c.value, c.arithmetic, c.output, c.name, c.varies)),
    );
    all[key] = { when: Date.now(), text, kind, verdict, result: resultOf(verdict) };
    bookKeep(KEY, JSON.stringify(all));
  }

  function forget(keys) {
    const all = entries();
    for (const key of keys) delete all[key];
    bookKeep(KEY, Object.keys(all).length ? JSON.stringify(all) : null);
  }

  // Covers the question again that the address names, in a framework that asks it.
  function askAgain() {
    const [, name] = /^#again=(.*)$/.exec(location.hash) ?? [];
    if (!name) return;
    try {
      history.replaceState(history.state, "", location.href.split("#")[0]);
    } catch {
      // Where this is forbidden, the question is asked again when the page is loaded again.
    }
    const all = document.querySelectorAll(".prediction, .exercise");
    const asked = /** @type {HTMLElement[]} */ ([...all]).filter(
      ({ dataset }) => dataset.question === decodeURIComponent(name),
    );
    const seen = () => asked.find((prediction) => prediction.checkVisibility());
    const panel = /** @type {HTMLElement} */ (asked[0]?.closest('[data-axis="tab"] > .tab-panel'));
    if (!seen() && panel) bookChoose("tab", panel.dataset.choices.split(" ")[0]);
    const prediction = seen();
    if (!prediction) return;
    const again = /** @type {HTMLElement} */ (prediction.querySelector(".again"));
    if (again) again.click();
    else prediction.querySelector("input").focus({ preventScroll: true });
    prediction.scrollIntoView({ block: "center" });
  }

  askAgain();
  addEventListener("hashchange", askAgain);
  Object.assign(window, { bookRecord: { forget, show } });
  if (document.querySelector(".exercise")) bookLoad("exercises.js"); // which shows old answers
})();
