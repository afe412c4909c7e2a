// What the tests ask of a page, each question a function; see `browsing.probe`.

const every = (selector, within = document) => [...within.querySelectorAll(selector)];
const topOf = (element) => element.getBoundingClientRect().top;
const described = (e) => `${e.tagName} #${e.id} .${e.classList} in #${e.parentElement.id}`;
const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));

// Waits until the page is idle. A browser that draws nothing may not find that out.
async function idle() {
  let waits = true;
  const over = () => (waits = false);
  requestIdleCallback(over, { timeout: 30000 });
  while (waits) await painted();
}

// Tabs

// What is not as it should be in the sets of panels, one text each. A machine that a set
// lacks gives way to its first; a framework that it lacks hides it. A label is in view only
// where two frameworks are compared.
function wrongTabs() {
  return every(".tab-set").flatMap((set, number) => {
    const { axis, choices } = set.dataset;
    const known = choices.split(" ");
    const { beside, [axis]: wanted } = document.documentElement.dataset;
    const chosen = known.includes(wanted) ? wanted : known[0];
    const shows = (element) => getComputedStyle(element).display !== "none";
    const has = (panel, choice) => panel?.dataset.choices.split(" ").includes(choice);
    const wrong = [];
    const check = (holds, what) => {
      if (!holds) wrong.push(`set ${number} of ${choices}: ${what}`);
    };

    const panels = every(":scope > .tab-panel", set);
    if (panels.some((panel) => has(panel, chosen) && isCovered(panel))) return wrong;
    const shown = panels.filter(shows);
    const ids = shown.map((panel) => panel.id);
    if (axis === "tab" && chosen !== wanted) check(!shows(set), "is not hidden");
    else check(shown.length === 1 && has(shown[0], chosen), `shows ${ids}`);

    const buttons = every(":scope > .tab-list > [role=tab]", set);
    const offered = buttons.map((button) => button.dataset.choice).join(" ");
    if (buttons.length) check(offered === choices, `offers ${offered}`);
    else if (set.matches(".place") && shows(set)) {
      const labels = every(":scope > .tab-panel > .tab-label", set);
      const inView = labels.filter((l) => l.checkVisibility());
      check(inView.length === (beside === "none" ? 0 : shown.length), "its labels");
      const names = shown[0]?.dataset.choices.replaceAll(" ", ", ");
      check(shown[0]?.ariaLabel.toLowerCase() === names, "the name of the group");
    }
    for (const button of buttons) {
      const { choice } = button.dataset;
      const selected = choice === chosen;
      const panel = document.getElementById(button.getAttribute("aria-controls"));
      const label = panel?.getAttribute("aria-labelledby");
      check(button.ariaSelected === String(selected), `aria-selected of ${choice}`);
      check(button.tabIndex === (selected ? 0 : -1), `tabindex of ${choice}`);
      check(panel?.parentElement === set, `aria-controls of ${choice}`);
      check(has(panel, choice), `the panel of ${choice}`);
      check(panel?.role === "tabpanel", `the role of the panel of ${choice}`);
      check(!selected || label === button.id, `the name of the panel of ${choice}`);
    }
    return wrong;
  });
}

// Whether a panel contains nothing but a text that a reader sees after a prediction.
function isCovered(panel) {
  return !panel.querySelector(":scope > :not(.tab-label, [hidden])");
}

// Places with a label and nothing below it.
function emptyPlaces() {
  return every(".tab-panel > .tab-label")
    .filter((label) => label.checkVisibility())
    .filter((label) => ![...label.parentElement.children].some(
      (part) => part !== label && part.checkVisibility()))
    .map((label) => `${label.parentElement.id}: ${label.textContent}`);
}

// Clicks each button of each set in the middle of the view: which moved by it, and how far.
async function jumps(axis) {
  const found = [];
  for (const button of every(`[data-axis=${axis}] > .tab-list > button`)) {
    if (!button.checkVisibility()) continue;
    button.scrollIntoView({ block: "center", behavior: "instant" });
    await painted();
    const before = topOf(button);
    button.click();
    await painted();
    const jump = topOf(button) - before;
    if (Math.abs(jump) > 2) found.push(`${button.id}: ${jump}`);
  }
  return found;
}

// Where the first thing in view stands that no choice hides, after scrolling to a part
// of the page's length; then where it has gone.
function mark(part) {
  if (typeof part === "number") {
    scrollTo({ top: part * document.body.scrollHeight, behavior: "instant" });
  }
  const offered = every("#frameworks input").length;
  const stays = (element) => {
    const set = element.closest(".tab-set");
    const inPanel = element.closest(".tab-panel");
    return !inPanel && (!set || set.dataset.choices.split(" ").length === offered);
  };
  window.marked = every("article > section *").find(
    // The parts of a drawing are drawn anew.
    (element) =>
      !element.ownerSVGElement && element.checkVisibility() && stays(element) && topOf(element) >= 48,
  );
  return topOf(window.marked);
}

async function placeOfMarked() {
  await painted();
  return topOf(window.marked);
}

// The ids that a link can lead to in the panels of one framework alone.
function anchorsOf(tab) {
  const panel = `.tab-panel[data-choices="${tab}"]`;
  return every(`${panel}[id], ${panel} [id]`)
    .filter((element) => element.role !== "tab" && !element.closest("form"))
    .map((element) => element.id);
}

function isInSight(id) {
  const element = document.getElementById(id);
  const top = topOf(element);
  return element.checkVisibility() && top >= 47 && top < innerHeight;
}

// Screens

// What is wider than the screen; boxes that scroll by themselves may hold what is.
function tooWide() {
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth <= clientWidth) return [];
  const rightOf = (element) => Math.round(element.getBoundingClientRect().right);
  const scrolls = (e) =>
    e && (getComputedStyle(e).overflowX !== "visible" || scrolls(e.parentElement));
  return every("body *")
    .filter((e) => rightOf(e) > clientWidth && !scrolls(e.parentElement))
    .map((e) => `${described(e)} ends at ${rightOf(e)}`)
    .concat(`the page is ${scrollWidth} wide`);
}

// Texts that are smaller than a number of pixels, apart from exponents.
function smallTexts(pixels) {
  const found = new Map();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const e = texts.currentNode.parentElement;
    const isExponent = e.closest("math, tspan[font-size]");
    if (!texts.currentNode.data.trim() || !e.checkVisibility() || isExponent) continue;
    const { a, b } = e.closest("svg") ? e.getScreenCTM() : { a: 1, b: 0 };
    const zoom = Math.hypot(a, b);  // of a text that may be rotated
    const size = zoom * parseFloat(getComputedStyle(e).fontSize);
    if (size < pixels) found.set(described(e), size);
  }
  return [...found].map(([what, size]) => `${what}: ${size.toFixed(1)} px`);
}

// Equations that run into their number.
function crowdedEquations() {
  const runsOver = (math) => math.scrollWidth > math.clientWidth + 1;
  return every("div.math > math").filter((e) => e.checkVisibility() && runsOver(e))
    .map((math) => `#${math.parentElement.id}`);
}

// How many elements there are to be seen.
function shown() {
  return every("body *").filter((e) => e.checkVisibility()).length;
}

// Rows of tabs that a thumb cannot use: of more than one line, too low, or cut off.
function badRows(touch) {
  const rows = every(".tab-list").filter((row) => row.checkVisibility());
  return rows.flatMap((row) => {
    const buttons = [...row.children];
    const boxes = buttons.map((button) => button.getBoundingClientRect());
    const bad = [];
    const tops = new Set(boxes.map((box) => Math.round(box.top)));
    if (tops.size > 1) bad.push("two lines");
    if (boxes.some((box) => box.height < touch)) bad.push("low");
    if (boxes.some((box) => box.width < 24 || box.right > innerWidth)) bad.push("narrow");
    if (buttons.some((b) => b.scrollWidth > b.clientWidth)) bad.push("cut off");
    return bad.map((what) => `${row.children[0].id}: ${what}`);
  });
}

// How many characters the lines of long paragraphs hold, their last lines left out.
function lineLengths() {
  const isText = (p) => p.textContent.length > 100 && !p.querySelector("math");
  return every("article section > p, article .tab-panel > p")
    .filter((p) => p.checkVisibility() && isText(p))
    .flatMap((p) => linesOf(p).slice(0, -1));
}

function linesOf(paragraph) {
  const lengths = [];
  const range = document.createRange();
  const texts = document.createTreeWalker(paragraph, NodeFilter.SHOW_TEXT);
  let bottom = -Infinity;
  while (texts.nextNode()) {
    for (let i = 0; i < texts.currentNode.length; i += 1) {
      range.setStart(texts.currentNode, i);
      range.setEnd(texts.currentNode, i + 1);
      const box = range.getBoundingClientRect();
      if (!box.width) continue;
      if (box.top >= bottom - box.height / 2) {
        lengths.push(0);
        bottom = box.bottom;
      }
      lengths[lengths.length - 1] += 1;
    }
  }
  return lengths;
}

// No script, and paper

function unseen() {
  const panel = ".tab-panel:not(.tab-absent)";
  const parts = `${panel}, ${panel} > .tab-label, .output, pre, figure, img`;
  return every(parts)
    .filter((e) => !e.closest(".tab-absent, details:not([open])"))
    .filter((e) => !e.checkVisibility() || !e.getBoundingClientRect().height)
    .map(described);
}

// Blocks of the text that begin where the one above has not ended.
function overlaps() {
  const inFlow = (e) => {
    const { display, position } = getComputedStyle(e);
    const isThere = e.checkVisibility() && e.getBoundingClientRect().height;
    return isThere && display !== "inline" && position !== "absolute";
  };
  return every("article, article section, .tab-set, .tab-panel, figure").flatMap((box) => {
    const blocks = [...box.children].filter(inFlow);
    const boxes = blocks.map((block) => block.getBoundingClientRect());
    const beside = (one, next) => next.left >= one.right - 1 || one.left >= next.right - 1;
    const covers = (one, next) => next.top < one.bottom - 1 && !beside(one, next);
    return blocks.slice(1).filter((_, i) => covers(boxes[i], boxes[i + 1])).map(described);
  });
}

// Controls that do nothing without a script.
function useless() {
  return every("button, select, input")
    .filter((e) => e.checkVisibility() && !e.popoverTargetElement)
    .map(described);
}

// The frameworks whose panels are on the paper, and what is called by their names there.
function printed() {
  const panels = every("[data-axis=tab] > .tab-panel:not(.tab-absent)");
  const shown = panels.filter((panel) => panel.checkVisibility());
  const labels = every("[data-axis=tab] > .tab-panel > .tab-label");
  return {
    tabs: [...new Set(shown.map((panel) => panel.dataset.choices))],
    labels: labels.filter((label) => label.checkVisibility()).map((l) => l.textContent),
  };
}

function visible(selector) {
  return every(selector).filter((e) => e.checkVisibility()).map(described);
}

// Focus

// What has the focus, and what is wrong with how that shows; nothing on the body.
function focused() {
  const e = document.activeElement;
  if (e === document.body) return null;
  const { top, bottom, height } = e.getBoundingClientRect();
  const { outlineStyle, outlineWidth, opacity } = getComputedStyle(e);
  const bar = document.querySelector(".bar").getBoundingClientRect();
  const wrong = [];
  if (outlineStyle === "none" || parseFloat(outlineWidth) < 2) wrong.push("no outline");
  if (!height || Number(opacity) === 0) wrong.push("not visible");
  if (bottom <= 0 || top >= innerHeight) wrong.push("out of view");
  if (e.closest("main") && bottom <= bar.bottom) wrong.push("under the bar");
  return wrong.map((what) => `${described(e)} “${e.textContent.slice(0, 30)}”: ${what}`);
}

// Standards

// The rules that axe knows by one of the tags and the page breaks, and where; of all
// rules or of those of color. If only what is `fresh` is asked for: what no earlier call
// saw, and the tabs, which change.
async function violations([tags, fresh, colors]) {
  // The page lets boxes that scroll take the focus once it is idle.
  await idle();
  const values = axe
    .getRules(tags)
    .filter((rule) => !colors || rule.tags.includes("cat.color"))
    .map((rule) => rule.ruleId);
  const runOnly = { type: "rule", values };
  const options = { runOnly, resultTypes: ["violations"], preload: false };
  window.seenByAxe ??= new WeakSet();
  const seen = window.seenByAxe;
  const shown = [...document.body.querySelectorAll("*")].filter((e) => e.checkVisibility());
  const asked = shown.filter((e) => !seen.has(e) || e.role === "tab");
  shown.forEach((element) => seen.add(element));
  if (fresh && !asked.length) return [];
  const among = new Set(asked);
  const outermost = asked.filter((e) => !among.has(e.parentElement));
  const result = await axe.run(fresh ? { include: outermost } : document, options);
  return result.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, any }) => `${id}: ${target} ${any[0]?.message ?? ""}`),
  );
}
