// Search over the whole book, in a dialog: `bookSearch.open()`.
//
// book/pages/search.py writes the data, `bookSearchData`, with the entries of each page:
// sections, tabs, terms, symptoms, figures, tables, equations and sources. The index is
// made when the dialog is first opened. Nothing is fetched, so search also works on pages
// from a disk.
//
// `open` takes a promise, which is kept when MiniSearch and the data are loaded, and the
// words to search for, if any.

window.bookSearch = (() => {
  "use strict";

  const root = document.documentElement;
  const MOST = 40; // results shown
  const LENGTH = 160; // characters of an excerpt
  const BEFORE = 40; // characters of the excerpt before the first hit
  const KINDS = {
    ...{ figure: "Figure", table: "Table", equation: "Equation", source: "Source" },
    ...{ term: "Glossary", symptom: "Quick guide" },
  };

  let index, initials, entries, plain, counts, titles, topics, known, dialog, input, status, suggestions, list;
  let active = 0; // the index of the result that Enter opens

  function make(name, attributes, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }

  // Words

  const words = (text) => [...text.matchAll(/[\p{L}\p{N}_]+/gu)];

  // A name is found as a whole and by its parts: device_put also by device and by put.
  function terms(word) {
    const parts = word
      .replace(/([a-z\d])([A-Z])/g, "$1_$2")
      .replace(/([A-Z])([A-Z][a-z]{2})/g, "$1_$2")
      .split("_");
    return [...new Set([word, ...parts].filter(Boolean).map(stem))];
  }

  // Words match regardless of their endings and of the spellings -ise and -ize.
  function stem(word) {
    return word
      .toLowerCase()
      .replace(/ie[sd]$/, "y")
      .replace(/([^s])s$/, "$1")
      .replace(/is(e|ed|er|ing|ation)$/, "iz$1")
      .replace(/^(.*[aeiouy].*[^e])(?:ing|ed)$/, "$1")
      .replace(/([^aeiouls])\1$/, "$1")
      .replace(/(..[^aeiou])e$/, "$1");
  }

  // Words of questions, which say nothing of what is asked.
  const STOP = new Set(
    stems(
      "a about after also am an and any are as at be because been but by can correctly could do does doing few for " +
        "from get gets getting go has have how i if in into is it its let me my of on or our should so some still than " +
        "that the their them then there this to too usage use using was we what when where which while who why " +
        "will with without work would you your",
    ),
  );

  // Names for the same thing. A query with one of them also finds the others.
  const SYNONYMS = [
    ["oom", "out of memory"],
    ["vram", "memory"],
    ["amp", "mixed precision"],
    ["bf16", "bfloat16"],
    ["fp16", "float16", "half precision"],
    ["fp32", "float32", "single precision"],
    ["ddp", "data parallelism", "data parallel"],
    ["multi gpu", "several gpus", "many gpus"],
    ["allreduce", "all-reduce"],
    ["sm", "streaming multiprocessor"],
    ["gil", "interpreter lock"],
    ["bn", "batch norm", "batch normalization"],
    ["pinned memory", "page-locked memory"],
    ["remat", "rematerialization", "activation checkpointing", "gradient checkpointing", "checkpointing", "computing twice"],
    ["batch size", "minibatch size"],
    ["gradient accumulation", "accumulating gradients", "accumulate gradients"],
    ["deadlock", "hang", "hangs", "hung", "stuck"],
    ["not detected", "not found", "no gpu", "sees no gpu", "not recognized", "unavailable"],
    ["slow", "slower", "idle"],
    ["utilization", "busy"],
    ["device mismatch", "same device", "two devices", "different devices"],
    ["multiple", "several", "many", "multi"],
    ["crash", "die", "fail", "killed"],
    ["resume", "continue", "restart"],
    ["buy", "rent", "choose", "purchase"],
    ["mac", "macbook", "apple", "mps", "metal"],
    ["fast", "faster", "speedup", "speed up"],
    ["check", "verify", "find out", "whether"],
    ["start", "launch", "run"],
    ["recompile", "compiled again", "compiles again", "retrace"],
    ["computer", "machine", "node"],
    ["fsdp", "fully sharded", "zero, stage 3"],
    ["zero", "zero, stage"],
    ["nan", "overflow", "not a number"],
    ["jit", "compile", "compiling", "compilation"],
    ["dataloader", "data loading", "loading data", "loads data"],
    ["numpy", "to numpy"],
    ["wrong", "differ", "differs", "different", "results differ"],
    ["iteration", "step"],
    ["time", "measure", "benchmark"],
    ["leak", "memory grows", "memory leak"],
  ].map((group) => group.map((name) => telling(stems(name))));

  function stems(text) {
    return words(text).map(([word]) => stem(word));
  }

  // Returns the query as a list of words or synonyms: each is an array of alternatives,
  // and each alternative is an array of stems. A name has no synonyms, and where the library
  // defines it, it is not written with `d2l`. Of an error, the message is searched without
  // its type.
  function parts(query) {
    if (isName(query)) return stems(query.replace(/^d2l\./, "")).map((term) => [[term]]);
    const left = telling(stems(messageOf(query)));
    const found = [];
    while (left.length) {
      const starts = (name) => name.every((term, i) => left[i] === term);
      const group = SYNONYMS.find((names) => names.some(starts));
      found.push(group ?? expanded(left[0]) ?? [[left[0]]]);
      left.splice(0, group ? Math.max(...group.filter(starts).map((n) => n.length)) : 1);
    }
    return found;
  }

  // A word that the book does not have may be the initials of a title, such as TTFT, or two
  // words in one, such as KVcache.
  function expanded(word) {
    if (known.has(word)) return null;
    const spelt = initials.get(word);
    if (spelt) return spelt;
    for (let at = word.length - 2; at > 1; at--) {
      const [left, right] = [word.slice(0, at), stem(word.slice(at))];
      const group = SYNONYMS.find((names) => names.some((name) => name.join(" ") === right));
      if (known.has(left) && (group || known.has(right))) {
        return [[word], ...(group ?? [[right]]).map((name) => [left, ...name])];
      }
    }
    return null;
  }

  // Returns the words that say what is asked, or all if none does.
  function telling(asked) {
    const left = asked.filter((term) => !STOP.has(term));
    return left.length ? left : asked;
  }

  // A query is about code if it is written like a name: device_put, DataLoader, jax.jit.
  const isName = (query) => /^\S*([_(]|\w\.[a-zA-Z]|[a-z][A-Z])\S*$/.test(query);
  const ERROR = /^(?:.*\s)?[\w.]*(?:Error|Exception|Warning):?\s+/;

  // Returns what is said after the last type of an error, such as in a traceback.
  const messageOf = (query) => query.replace(ERROR, "") || query;

  // The index

  const NUMBER = /^(?:\d+|[A-Z])\.[\d.]*\s+/;
  const titleOf = (trail) => (trail.at(-1) ?? "").replace(NUMBER, "");
  const hasTitle = ({ kind }) => ["section", "term", "symptom"].includes(kind);

  // A title such as "Model (M)" can be written as "Model (M)", "Model" or "M".
  function forms({ trail }) {
    const title = titleOf(trail);
    const [, full, short] = /^(.*\S) \((\w+)\)$/.exec(title) ?? [];
    return [title, full, short].filter(Boolean).map((form) => telling(stems(form)).join(" "));
  }

  function makeIndex() {
    entries = Object.entries(bookSearchData.pages).flatMap(([page, list]) =>
      list.map((entry) => ({ page, ...entry })),
    );
    known = new Set();
    index = new MiniSearch({
      fields: ["heading", "names", "text", "code", "trail"],
      tokenize: (text) => words(text).map(([word]) => word),
      processTerm: (word) => {
        const found = terms(word);
        for (const term of found) known.add(term);
        return found;
      },
      searchOptions: { processTerm: stem },
    });
    index.addAll(entries.map(fields));
    plain = entries.map(({ text = "", code = "" }) => stems(`${text} ${code}`).join(" "));
    counts = new Map();
    for (const term of plain.flatMap((text) => [...new Set(text.split(" "))])) {
      counts.set(term, (counts.get(term) ?? 0) + 1);
    }
    titles = entries.map((entry) => (hasTitle(entry) ? forms(entry) : []));
    initials = new Map();
    for (const entry of entries.filter(hasTitle)) {
      const all = words(titleOf(entry.trail)).map(([word]) => word);
      if (all.length < 3) continue;
      const term = stem(all.map((word) => word[0]).join(""));
      initials.set(term, [...(initials.get(term) ?? []), telling(all.map(stem))]);
    }
    topics = new Set(titles.flat().flatMap((title) => title.split(" ")));
  }

  // A heading counts more for its section than for the entries below it.
  function fields(entry, place) {
    const { trail, names = [], text = "", code = "" } = entry;
    const heading = hasTitle(entry) ? titleOf(trail) : "";
    const above = trail.map((title) => titleOf([title])).join(" ");
    return { id: place, heading, names: names.join(" "), text, code, trail: above };
  }

  // Ranking

  // Shares of the weight of the wanted words that a result has: the first that finds any.
  const enough = (query) => (ERROR.test(query) ? [1, 0.7, 0.4] : [0.4]);

  // Returns the entries that have enough of the wanted words, best first. Solutions count
  // only if nothing else is found.
  function find(query) {
    const results = rank(query, parts(query));
    const others = results.filter(({ id }) => !entries[id].page.includes("/solutions"));
    return forReader(others.length ? others : results, isName(query));
  }

  function rank(query, wanted) {
    const any = (queries) => ({ combineWith: "OR", queries });
    const every = (queries) => ({ combineWith: "AND", queries });
    const asked = wanted.map((names) => any(names.map(every)));
    const hits = index.search(any(asked), options(query)).filter(isOwnHit);
    const isIn = ({ queryTerms }, names) =>
      names.some((name) => name.every((term) => queryTerms.includes(term)));
    const found = hits.map((hit) => ({ hit, has: wanted.map((names) => isIn(hit, names)) }));
    const weights = wanted.map((names, i) => weight(names, found.filter(({ has }) => has[i]).length));
    const sum = (has) => weights.reduce((total, w, i) => total + (has[i] ? w : 0), 0);
    const all = sum(wanted);
    const shared = found.map(({ hit, has }) => ({ ...hit, share: sum(has) / all }));
    const least = enough(query).find((least) => shared.some(({ share }) => share >= least));
    return shared
      .filter(({ share }) => share >= least)
      .map((hit) => ({ ...hit, score: hit.score * hit.share ** 3 * boost(hit.id, query, wanted) }))
      .sort((a, b) => b.score - a.score);
  }

  // Rare words weigh more, and so do words of titles. A word without entries has no weight.
  function weight(names, count) {
    const isTopic = names.flat().some((term) => topics.has(term));
    return count && Math.log(1 + entries.length / count) * (isTopic ? 1 : 0.8);
  }

  // The last word may still be typed. Words that the book does not have may be misspelt.
  function options(query) {
    const asked = stems(query);
    const isTyped = (term) => term === asked.at(-1) && !/\s$/.test(query);
    const isWhole = (term) => asked.length > 1 && known.has(term);
    return {
      prefix: (term) => term.length > 2 && isTyped(term) && !isWhole(term),
      fuzzy: (term) => (term.length > 4 && !known.has(term) ? 0.2 : false),
      boost: isName(query)
        ? { heading: 3, names: 12, code: 6, trail: 0.5 }
        : { heading: 6, names: 5, code: 0.16, trail: 0.5 },
    };
  }

  const DEFINITION = /^(what (is|are|does)|define|explain|difference)\b|\b(means?|vs|versus)\W*$/i;

  function boost(place, query, wanted) {
    const asks = entries[place].kind === "term" && DEFINITION.test(query) ? 5 : 1;
    const titled = 1 + 6 * asks * shareInTitle(place, query);
    return titled * nearness(plain[place], wanted) * weightOf(entries[place], query);
  }

  // Returns the share of the query that a title takes, if the query has the whole title.
  // Rare words are a larger share: of "time of a GPU", "GPU" alone is hardly any.
  function shareInTitle(place, query) {
    const asked = telling(stems(messageOf(query)));
    const sum = (terms) => terms.reduce((total, term) => total + rarity(term), 0);
    const isAsked = (title) => ` ${asked.join(" ")} `.includes(` ${title} `);
    const shares = titles[place].filter(isAsked).map((title) => sum(title.split(" ")));
    return Math.max(0, ...shares) / sum(asked);
  }

  const rarity = (term) => Math.log(1 + entries.length / (1 + (counts.get(term) ?? 0)));

  // Words of the query side by side, such as those of an error message, count up to five
  // times as much as apart.
  function nearness(text, wanted) {
    const written = wanted.map((names) => names.map((name) => name.join(" ")));
    const isPair = (names, i) =>
      names.some((b) => written[i].some((a) => text.includes(`${a} ${b}`)));
    return 1 + (4 * written.slice(1).filter(isPair).length) / Math.max(1, wanted.length - 1);
  }

  // The text comes before what readers may skip: solutions, exercises, tools and sources.
  function weightOf({ kind, page, trail, names = [] }, query) {
    if (names.includes(query.replace(/^d2l\./, ""))) return 20; // the definition of a name
    if (kind === "source") return 0.1;
    const last = trail.at(-1) ?? "";
    return /solutions|tools|references/.test(page) || /Exercises|Summary/.test(last) ? 0.3 : 1;
  }

  // Excludes entries whose only hits are in their headings, since the section is a result.
  function isOwnHit({ match }) {
    return Object.values(match).some((fields) => fields.some((field) => field !== "trail"));
  }

  const ON_A_PAGE = 2; // results of a page that are shown

  function fewOfEachPage(results) {
    const counts = new Map();
    return results.filter(({ entry: { page } }) => {
      counts.set(page, (counts.get(page) ?? 0) + 1);
      return counts.get(page) <= ON_A_PAGE;
    });
  }

  // Returns results for the reader's frameworks, and then those for other frameworks that
  // have no counterpart in them. For a name, code comes first, in whichever framework.
  function forReader(found, isCode) {
    const results = found.map(({ id, match }) => ({ entry: entries[id], match }));
    const set = ({ entry }) => entry.set && entry.page + entry.set;
    const own = results.filter(({ entry }) => isForReader(entry));
    const shown = new Set(own.map(set).filter(Boolean));
    const others = results.filter(
      (result) => !isForReader(result.entry) && !shown.has(set(result)),
    );
    const inCode = ({ match }) =>
      isCode && Object.values(match).some((hit) => hit.includes("code") || hit.includes("names"));
    const isMain = ({ entry }) => weightOf(entry, input.value.trim()) >= 1;
    const all = own.some(inCode) ? own.filter(inCode) : others.filter(inCode);
    const code = all.some(isMain) ? all.filter(isMain) : all;
    return fewOfEachPage([...new Set([...code, ...own, ...others])]);
  }

  function isForReader({ tabs }) {
    const { tab, beside } = root.dataset;
    return !tabs || tabs.includes(tab) || tabs.includes(beside);
  }

  // Excerpts

  const isHit = (match) => ([word]) => terms(word).some((term) => Object.hasOwn(match, term));

  const countWords = (hits) => new Set(hits.map(([word]) => stem(word))).size;

  // Returns the index of the hit with the most different hits close to it.
  function bestStart(text, match) {
    const hits = words(text).filter(isHit(match));
    const near = (hit) =>
      hits.filter((h) => h.index >= hit.index && h.index < hit.index + LENGTH - BEFORE);
    const best = hits.reduce(
      (a, b) => (a && countWords(near(a)) >= countWords(near(b)) ? a : b),
      null,
    );
    return best ? best.index : 0;
  }

  function excerpt(text, match) {
    const wanted = Math.max(0, bestStart(text, match) - BEFORE);
    const start = wanted && text.indexOf(" ", wanted) + 1;
    if (text.length <= start + LENGTH) return (start ? "… " : "") + text.slice(start);
    const end = Math.max(text.lastIndexOf(" ", start + LENGTH), start + LENGTH / 2);
    return `${start ? "… " : ""}${text.slice(start, end)} …`;
  }

  // Returns the line of code with the most different hits.
  function bestLine(code, match) {
    const count = (line) => countWords(words(line).filter(isHit(match)));
    return code.split("\n").reduce((a, b) => (count(b) > count(a) ? b : a)).trim();
  }

  // Marks on words like these would distract from the others.
  const UNMARKED = new Set("a an and as at by for from in is it of on or the to".split(" "));
  const isMarked = ([word]) => !UNMARKED.has(word.toLowerCase());

  function highlightHits(text, match) {
    const parts = [];
    let end = 0;
    for (const hit of words(text).filter(isHit(match)).filter(isMarked)) {
      parts.push(text.slice(end, hit.index), make("mark", {}, hit[0]));
      end = hit.index + hit[0].length;
    }
    return [...parts, text.slice(end)];
  }

  function excerptOf({ text = "", code = "" }, match) {
    const has = (part) => words(part).some(isHit(match));
    const isCode = code && (!text || (has(code) && (isName(input.value) || !has(text))));
    const shown = excerpt(isCode ? bestLine(code, match) : text, match);
    const name = isCode ? "code" : "span";
    return make(name, { class: "search-excerpt" }, ...highlightHits(shown, match));
  }

  // Results

  // Returns the title of the page and the headings below it, without their numbers. Terms
  // and symptoms are titles by themselves.
  function headings({ kind, trail }) {
    if (kind === "term" || kind === "symptom") return trail.at(-1);
    const [title, ...others] = trail;
    return [title, ...others.map((heading) => heading.replace(/^[\d.]+\s+/, ""))].join(" › ");
  }

  // A link on the same page does not name a tab, so that the page is not loaded again.
  function address(entry) {
    const { page, anchor, tabs } = entry;
    const path = root.dataset.root + page;
    const isHere = new URL(path, location.href).pathname === location.pathname;
    if (isHere) return `#${anchor}`;
    return isForReader(entry) ? `${path}#${anchor}` : `${path}?tab=${tabs[0]}#${anchor}`;
  }

  function option({ entry, match }, place) {
    const names = (entry.tabs ?? []).map((tab) => bookSearchData.tabs[tab]);
    const badges = [KINDS[entry.kind], names.join(", ")].filter(Boolean);
    return make(
      "a",
      { role: "option", id: `search-result-${place}`, tabindex: -1, href: address(entry) },
      make("span", { class: "search-trail" }, ...highlightHits(headings(entry), match)),
      ...badges.flatMap((badge) => [" ", make("span", { class: "search-badge" }, badge)]),
      " ",
      excerptOf(entry, match),
    );
  }

  function statusText(query, found) {
    if (!query) return "";
    if (!found.length) {
      return `Nothing found for “${query}”. Try fewer or other words, or a name from the code.`;
    }
    if (found.length > MOST) return `The first ${MOST} of ${found.length} results`;
    return found.length === 1 ? "1 result" : `${found.length} results`;
  }

  function show() {
    if (!index) return;
    const query = input.value.trim();
    const found = query ? find(query) : [];
    list.replaceChildren(...found.slice(0, MOST).map(option));
    list.hidden = !found.length;
    suggestions.hidden = Boolean(query);
    list.scrollTop = 0;
    input.setAttribute("aria-expanded", found.length > 0);
    status.textContent = statusText(query, found);
    choose(0);
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
    input.addEventListener("input", show);
    input.addEventListener("keydown", press);
    list.addEventListener("click", leave);
    suggestions.addEventListener("click", ({ target }) => {
      if (!target.matches("button")) return;
      input.value = SYMPTOMS[target.textContent];
      show();
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
    if (!index) status.textContent = "Loading …";
    loaded.then(
      () => {
        if (!index) makeIndex();
        show(); // the reader may have chosen another framework
      },
      () => (status.textContent = "The data for searching cannot be loaded. Reload the page."),
    );
  }

  return { open };
})();
