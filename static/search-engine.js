// The search: finds the entries of the book that answer a query, best first.
//
// `bookSearchEngine(json)` takes the data that book/pages/search.py writes, with the index of
// book/pages/search_index.py, and returns the function `find`. static/search.js hands its
// source to a worker, so it uses nothing outside of itself. What an entry's words are worth
// is worked out when the entry is first found, so the search is ready at once.

(() => {
const bookSearchEngine = (json) => {
  "use strict";

  const { pages, tabs: names, index } = JSON.parse(json);
  const entries = Object.entries(pages).flatMap(([page, list]) =>
    list.map((entry) => Object.assign(entry, { page })),
  );
  const MOST = 40; // results shown
  const LENGTH = 160; // characters of an excerpt
  const BEFORE = 40; // characters of the excerpt before the first hit

  /** Returns a function that computes each value once. */
  function kept(compute) {
    const values = new Map();
    return (key) => {
      if (!values.has(key)) values.set(key, compute(key));
      return values.get(key);
    };
  }

  const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

  // Words, by the rules of the index

  const words = (text) => [...text.matchAll(/[\p{L}\p{N}_]+/gu)];
  const compiled = (rules, flags) => rules.map(([old, now]) => [new RegExp(old, flags), now]);
  const ENDINGS = compiled(index.rules.endings, "");
  const CAPITALS = compiled(index.rules.capitals, "g");
  const replaced = (word, rules) => rules.reduce((w, [old, now]) => w.replace(old, now), word);
  const stem = kept((word) => replaced(word.toLowerCase(), ENDINGS));
  const terms = kept((word) => {
    const parts = replaced(word, CAPITALS).split("_");
    return [...new Set([word, ...parts].filter(Boolean).map(stem))];
  });

  // Words of questions, which say nothing of what is asked.
  const STOP = new Set(
    stems(
      "a about after also am an and any are as at be because been but by can correctly could do does doing few for " +
        "from get gets getting go has have how i if in into is it its let me my of on or our should so some still than " +
        "much take takes taking that the their them then there this to too usage use using very want was we what when where which while who why " +
        "will with without work would you your",
    ),
  );

  // Words of nearly every section, which say less than the others of a query.
  const WEAK = new Set(stems("code example gpu loop model program script train training"));
  const isWeakTerm = (term) => WEAK.has(term) || /^\d+$/.test(term);
  const isWeak = (names) => names.length === 1 && names[0].every(isWeakTerm);
  const LITTLE = 0.3; // of the weight of others

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
    ["synchronize", "synchronization", "wait"],
    ["leak", "memory grows", "memory leak"],
    ["clear", "release", "empty"],
    ["matrix product", "matrix products", "matmul", "matrix multiplication", "product of matrices"],
    ["long sequence", "long sequences", "sequence length", "long context", "long texts"],
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
    const spelt = initials().get(word);
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


  // The index: each word with its entries, which are read when they are first asked for

  const places = new Map(index.words.map((word, i) => [word, i]));
  const known = places; // the words of the book
  const FIELDS = index.fields;
  const means = index.lengths.map((all) => sum(all) / all.length);

  // Returns the entries that have a word, and how often they have it, for each field.
  const hitsOf = kept((term) =>
    index.hits[places.get(term)].split("/").map((text) => {
      const found = { places: [], counts: [] };
      let place = 0;
      for (const hit of text ? text.split(" ") : []) {
        const star = hit.indexOf("*");
        place += parseInt(hit, 36); // up to the star
        found.places.push(place);
        found.counts.push(star < 0 ? 1 : Number(hit.slice(star + 1)));
      }
      return found;
    }),
  );

  const NUMBER = /^(?:\d+|[A-Z])\.[\d.]*\s+/;
  const titleOf = (trail) => (trail.at(-1) ?? "").replace(NUMBER, "");
  const hasTitle = ({ kind }) => ["section", "term", "symptom"].includes(kind);

  // A title such as "Model (M)" can be written as "Model (M)", "Model" or "M".
  function forms({ trail }) {
    const title = titleOf(trail);
    const [, full, short] = /^(.*\S) \((\w+)\)$/.exec(title) ?? [];
    return [title, full, short].filter(Boolean).map((form) => telling(stems(form)));
  }

  // What readers ask is a title of what answers.
  const titles = kept((place) => {
    const { asked = [] } = entries[place];
    const own = hasTitle(entries[place]) ? forms(entries[place]) : [];
    return [...own, ...asked.map((text) => telling(stems(messageOf(text))))];
  });
  const plain = kept((place) => {
    const { text = "", code = "" } = entries[place];
    return ` ${stems(`${text} ${code}`).join(" ")} `;
  });
  const isTopic = (term) => places.has(term) && hitsOf(term)[0].places.length > 0;
  const initials = () => allInitials("");
  const allInitials = kept(() => {
    const found = new Map();
    for (const entry of entries.filter(hasTitle)) {
      const all = words(titleOf(entry.trail)).map(([word]) => word);
      if (all.length < 3) continue;
      const term = stem(all.map((word) => word[0]).join(""));
      found.set(term, [...(found.get(term) ?? []), telling(all.map(stem))]);
    }
    return found;
  });

  // Rare words say more than frequent ones.
  const rarity = kept((term) => {
    if (!places.has(term)) return Math.log(1 + entries.length);
    const [, , inText, inCode] = hitsOf(term);
    const count = new Set([...inText.places, ...inCode.places]).size;
    return Math.log(1 + entries.length / (1 + count));
  });

  /** Returns how many letters make one word another, or more than `most`. */
  function distance(a, b, most) {
    if (Math.abs(a.length - b.length) > most) return most + 1;
    let above = Array.from({ length: b.length + 1 }, (_, i) => i);
    for (let i = 1; i <= a.length; i++) {
      const row = [i];
      for (let j = 1; j <= b.length; j++) {
        const same = above[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
        row.push(Math.min(same, above[j] + 1, row[j - 1] + 1));
      }
      if (Math.min(...row) > most) return most + 1;
      above = row;
    }
    return above[b.length];
  }

  // Returns the words of the book that a word of a query stands for, with their weights.
  // The last word may still be typed. Words that the book does not have may be misspelt.
  function meant(term, { isPrefix, isFuzzy }) {
    const found = new Map();
    if (places.has(term)) found.set(term, 1);
    const most = isFuzzy ? Math.round(0.2 * term.length) : 0;
    for (const word of isPrefix || isFuzzy ? index.words : []) {
      if (word === term) continue;
      if (isPrefix && word.startsWith(term)) {
        const more = word.length - term.length;
        found.set(word, (0.375 * word.length) / (word.length + 0.3 * more));
      } else if (most) {
        const apart = distance(term, word, most);
        if (apart <= most) found.set(word, (0.45 * word.length) / (word.length + apart));
      }
    }
    return found;
  }

  // Returns what finds a word: for each entry the score, and each word with its fields, as
  // bits. The score is that of BM25+.
  function search(term, options) {
    const { boosts } = options;
    const results = new Map();
    for (const [word, weight] of meant(term, options)) {
      hitsOf(word).forEach(({ places: found, counts }, field) => {
        const rare = Math.log(1 + (entries.length - found.length + 0.5) / (found.length + 0.5));
        for (let i = 0; i < found.length; i++) {
          const place = found[i];
          const share = index.lengths[field][place] / means[field];
          const often = (2.2 * counts[i]) / (counts[i] + 1.2 * (0.3 + 0.7 * share));
          let result = results.get(place);
          if (!result) {
            result = { score: 0, match: [] };
            results.set(place, result);
          }
          result.score += weight * boosts[field] * rare * (0.5 + often);
          const last = result.match.at(-1);
          if (last?.word === word) last.fields |= 1 << field;
          else result.match.push({ word, fields: 1 << field });
        }
      });
    }
    return results;
  }

  // Ranking

  // Shares of the weight of the wanted words that a result has: the first that finds any.
  const enough = (query) => (ERROR.test(query) ? [1, 0.7, 0.4] : [0.4]);

  // Returns the entries that have enough of the wanted words, best first. Solutions count
  // only if nothing else is found.
  function find(query, reader) {
    const results = rank(query, parts(query), reader);
    const others = results.filter(({ place }) => !entries[place].page.includes("/solutions"));
    return forReader(others.length ? others : results, query, reader);
  }

  function options(query) {
    const asked = stems(query);
    const isTyped = (term) => term === asked.at(-1) && !/\s$/.test(query);
    const isWhole = (term) => asked.length > 1 && known.has(term);
    const boosts = isName(query)
      ? { heading: 3, names: 12, text: 1, code: 6, trail: 0.5 }
      : { heading: 6, names: 5, text: 1, code: 0.16, trail: 0.5 };
    return (term) => ({
      isPrefix: term.length > 2 && isTyped(term) && !isWhole(term),
      isFuzzy: term.length > 4 && !known.has(term),
      boosts: FIELDS.map((field) => boosts[field]),
    });
  }

  // Entries whose only hits are in their headings are left out, since the section is a
  // result.
  const TRAIL = 1 << FIELDS.indexOf("trail");
  const HEADING = 1 << FIELDS.indexOf("heading");

  function collect(query, wanted, reader) {
    const hits = new Map();
    const of = kept((term) => search(term, options(query)(term)));
    wanted.forEach((names, i) => {
      const worth = isWeak(names) ? LITTLE : 1;
      for (const name of names) {
        const all = name.map(of);
        for (const place of all[0].keys()) {
          if (!all.every((found) => found.has(place))) continue;
          let hit = hits.get(place);
          if (!hit) {
            hit = { place, score: 0, match: [], has: new Set() };
            hits.set(place, hit);
          }
          hit.has.add(i);
          for (const found of all) {
            const { score, match } = found.get(place);
            hit.score += score * worth;
            hit.match.push(...match);
          }
        }
      }
    });
    const isOwn = ({ match }) => match.some(({ fields }) => fields !== TRAIL);
    for (const [place, hit] of hits) if (!isOwn(hit)) hits.delete(place);
    return withPanels(hits, reader);
  }

  // What a reader's panels have counts for their section, too.
  function withPanels(hits, reader) {
    for (const { place, score, has } of [...hits.values()]) {
      if (entries[place].kind !== "tab" || !isFor(reader)(entries[place])) continue;
      const section = hits.get(sectionOf(place));
      if (!section) continue;
      section.score += PANEL * score;
      for (const i of has) section.has.add(i);
    }
    return [...hits.values()];
  }
  const PANEL = 0.5; // of the score of a panel that its section gets

  const isFor = (reader) => ({ tabs }) => !tabs || tabs.some((tab) => reader.includes(tab));

  // Returns the section of an entry, which is above it on the same page.
  function sectionOf(place) {
    let at = place;
    while (at > 0 && entries[at].kind !== "section") at--;
    return entries[at].page === entries[place].page ? at : place;
  }

  function rank(query, wanted, reader) {
    const hits = collect(query, wanted, reader);
    const count = (i) => hits.filter(({ has }) => has.has(i)).length;
    const weights = wanted.map((names, i) => weight(names, count(i)));
    const all = sum(weights);
    for (const hit of hits) hit.share = sum([...hit.has].map((i) => weights[i])) / all;
    const least = enough(query).find((least) => hits.some(({ share }) => share >= least));
    const asked = telling(stems(messageOf(query)));
    const isTitled = ({ match }) => match.some(({ fields }) => fields & HEADING);
    const boosts = (hit) =>
      (isTitled(hit) ? titled(hit.place, query, asked, wanted, weights) : 1) *
      weightOf(entries[hit.place], query);
    const found = hits.filter(({ share }) => share >= least);
    for (const hit of found) {
      hit.score *= hit.has.size * hit.share ** 3 * boosts(hit);
    }
    const near = nearness(wanted);
    const sorted = found.sort((a, b) => b.score - a.score);
    for (const hit of sorted.slice(0, CLOSE)) hit.score *= near(plain(hit.place));
    return sorted.sort((a, b) => b.score - a.score);
  }

  // Rare words weigh more, and so do words of titles. A word without entries has no weight.
  function weight(names, count) {
    const isTitle = names.flat().some(isTopic);
    const share = (isTitle ? 1 : 0.8) * (isWeak(names) ? LITTLE : 1);
    return count && Math.log(1 + entries.length / count) * share;
  }

  const DEFINITION = /^(what (is|are|does)|define|explain|difference)\b|\b(means?|vs|versus)\W*$/i;

  // Messages of which the query has little are nearly left out.
  const MUCH = 0.4;

  // A definition is asked for by its word, alone or in a question; a question about more than
  // the word asks for something else. Symptoms are what readers see, and in few words.
  function worthOf(kind, share, query) {
    if (kind === "symptom") return 1.6;
    if (kind !== "term") return 1;
    if (DEFINITION.test(query)) return 5;
    return share < 1 ? 0.6 : 1;
  }

  function titled(place, query, asked, wanted, weights) {
    const { kind } = entries[place];
    const overlaps = titles(place).map((title) => overlap(title, wanted, weights));
    const inQuery = Math.max(0, ...overlaps.map(({ ofTitle }) => ofTitle));
    if (kind === "message" && inQuery < MUCH) return 0.05;
    const both = Math.max(0, ...overlaps.map(({ ofTitle, ofQuery }) => ofTitle * ofQuery));
    const share = shareInTitle(place, asked);
    return 1 + 6 * worthOf(kind, share, query) * share + 6 * both;
  }

  // Returns the share of a title that is in the query, and of the query that is in the title.
  function overlap(title, wanted, weights) {
    const all = new Set(title);
    const held = wanted.map((names) => names.find((name) => name.every((term) => all.has(term))));
    const shared = new Set(held.flatMap((name) => name ?? []));
    const ofTitle = sum([...shared].map(rarity)) / sum([...all].map(rarity));
    return { ofTitle, ofQuery: sum(weights.filter((_, i) => held[i])) / sum(weights) };
  }

  // Returns the share of the query that a title takes, if the query has the whole title.
  // Rare words are a larger share: of "time of a GPU", "GPU" alone is hardly any.
  function shareInTitle(place, asked) {
    const rare = (terms) => sum(terms.map(rarity));
    const isAsked = (title) => ` ${asked.join(" ")} `.includes(` ${title.join(" ")} `);
    return Math.max(0, ...titles(place).filter(isAsked).map(rare)) / rare(asked);
  }

  // Words of the query side by side, such as those of an error message, count up to five
  // times as much as apart. Only the best results are compared with the query in this way.
  const CLOSE = 100;

  function nearness(wanted) {
    const written = wanted.map((names) => names.map((name) => name.join(" ")));
    const pairs = written.slice(1).map((names, i) => names.flatMap((b) => written[i].map((a) => `${a} ${b}`)));
    return (text) => {
      const found = pairs.filter((ways) => ways.some((way) => text.includes(way)));
      return 1 + (4 * found.length) / Math.max(1, wanted.length - 1);
    };
  }

  // The text comes before what readers may skip: solutions, exercises, tools and sources.
  function weightOf({ kind, page, trail, names = [] }, query) {
    if (names.includes(query.replace(/^d2l\./, ""))) return 20; // the definition of a name
    if (kind === "source") return 0.1;
    const last = trail.at(-1) ?? "";
    return /solutions|tools|references/.test(page) || /Exercises|Summary/.test(last) ? 0.3 : 1;
  }

  const ON_A_PAGE = 2; // results of a page that are shown

  function fewOfEachPage(results) {
    const counts = new Map();
    return results.filter(({ entry: { page } }) => {
      counts.set(page, (counts.get(page) ?? 0) + 1);
      return counts.get(page) <= ON_A_PAGE;
    });
  }

  // A message leads to a section that may be a result itself.
  function onePerPlace(results) {
    const seen = new Set();
    return results.filter(({ entry: { page, anchor } }) => {
      const isNew = !seen.has(page + anchor);
      seen.add(page + anchor);
      return isNew;
    });
  }

  // Returns results for the reader's frameworks, and then those for other frameworks that
  // have no counterpart in them. For a name, code comes first, in whichever framework.
  function forReader(found, query, reader) {
    const results = found.map(({ place, match }) => ({ entry: entries[place], match }));
    const isTheirs = isFor(reader);
    const set = ({ entry }) => entry.set && entry.page + entry.set;
    const own = results.filter(({ entry }) => isTheirs(entry));
    const shown = new Set(own.map(set).filter(Boolean));
    const others = results.filter((r) => !isTheirs(r.entry) && !shown.has(set(r)));
    const isCode = isName(query);
    const CODE = (1 << FIELDS.indexOf("code")) | (1 << FIELDS.indexOf("names"));
    const inCode = ({ match }) => isCode && match.some(({ fields }) => fields & CODE);
    const isMain = ({ entry }) => weightOf(entry, query) >= 1;
    const all = own.some(inCode) ? own.filter(inCode) : others.filter(inCode);
    const code = all.some(isMain) ? all.filter(isMain) : all;
    const sorted = fewOfEachPage(onePerPlace([...new Set([...code, ...own, ...others])]));
    return sorted.map((result) => ({ ...result, isTheirs: isTheirs(result.entry) }));
  }

  // Excerpts

  const isHit = (match) => ([word]) => terms(word).some((term) => match.has(term));

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

  // Returns a text in parts, of which every second one is a hit.
  function marked(text, match) {
    const parts = [];
    let end = 0;
    for (const hit of words(text).filter(isHit(match)).filter(isMarked)) {
      parts.push(text.slice(end, hit.index), hit[0]);
      end = hit.index + hit[0].length;
    }
    return [...parts, text.slice(end)];
  }

  function excerptOf({ text = "", code = "" }, match, query) {
    const has = (part) => words(part).some(isHit(match));
    const isCode = Boolean(code && (!text || (has(code) && (isName(query) || !has(text)))));
    const shown = excerpt(isCode ? bestLine(code, match) : text, match);
    return { isCode, parts: marked(shown, match) };
  }

  // Returns the title of the page and the headings below it, without their numbers. Terms
  // and symptoms are titles by themselves.
  function headings({ kind, trail }) {
    if (kind === "term" || kind === "symptom") return trail.at(-1);
    const [title, ...others] = trail;
    return [title, ...others.map((heading) => heading.replace(/^[\d.]+\s+/, ""))].join(" › ");
  }

  function shown({ entry, match: hits, isTheirs }, query) {
    const match = new Set(hits.map(({ word }) => word));
    const { page, anchor, kind, tabs = [] } = entry;
    return {
      ...{ page, anchor, kind, tabs, isTheirs },
      frameworks: tabs.map((tab) => names[tab]).join(", "),
      heading: marked(headings(entry), match),
      excerpt: excerptOf(entry, match, query),
    };
  }

  /** Returns the number of results, and the first of them, for a reader's frameworks. */
  const answer = ({ query, reader }) => {
    const found = query ? find(query, reader) : [];
    const results = found.slice(0, MOST).map((result) => shown(result, query));
    return { query, reader, count: found.length, results };
  };
  return Object.assign(answer, { terms }); // tests compare its words with the index
};

if (typeof module === "undefined") Object.assign(window, { bookSearchEngine });
else module.exports = { bookSearchEngine };
})();
