/* The common parts of the interactive figures: controls, a drawing, a result in words,
 * and the settings in the address.
 *
 * A specification of a figure has these fields:
 *   name      the name of the figure and of its parameters in the address
 *   invite    what the reader should try first, a sentence
 *   controls  [{id, kind, label, initial, ...}], where kind is "range" (with min, max
 *             and step; or log; or values), "select" (with options), "text" (with a
 *             placeholder) or "hidden" (with accepts); `initial` may be a function of the
 *             settings before it; a control with `more` is folded away, one that is
 *             `unseen` has no field, one that is `unkept` is not in the address, and one is
 *             hidden unless its `when`(state) is true
 *   actions   [{label, run(state) -> state, when, main, pressed, motion}], optional: the
 *             buttons. `label` and `main` may be functions of the state; the main button is
 *             filled,
 *             `pressed`(state) makes it a switch, and `motion`(before, after) -> ms is how
 *             long the drawing moves. An action without `run` only moves the drawing.
 *   settle    (state, id) -> state after a change of the control `id`, optional
 *   follows   {id: axis}, the settings that are the reader's choices on the page
 *   card      the control that chooses a card, optional: a choice there holds for all figures
 *   draw      (state, width, motion, last) -> SVG as text; while the drawing moves,
 *             `motion` is {from, part}: the state before, and the part of the time, from 0
 *             to 1; `last` is the setting before, if there is one
 *   drag      {id(state), point(state, width) -> [x, y]}, optional: the control that the
 *             reader changes by dragging a point of the drawing
 *   opening   ms, optional: the drawing moves once when it first comes into view, with
 *             `motion.isOpening`, unless the reader has changed a setting before
 *   touch     (state, name) -> state after a click on what the drawing marks with
 *             `data-touch="name"`, optional; there is a control that does the same
 *   summary   (state) -> the name of the drawing; result: (state) -> one sentence
 *   experiment  the name of an experiment on the reader's GPU, optional (measure.js)
 *   log       (state) -> [[code, text, mark]], optional: below the drawing; a text may have
 *             links as [text](address)
 * What follows is folded away:
 *   formula   (state) -> [text], of which what is not true is left out
 *   notes     (state) -> [text], with links as [text](address)
 *   table     (state) -> {head: [text], rows: [[text]]}, optional: the numbers drawn
 */
import { LONGEST, initial, settings, first, begin, positions, toPosition, toValue } from "./controls.js";

const PAUSE = 300; // ms without a change before the result is announced
const READ = 3000; // ms after which the announcement is removed, so it is not read twice
const MARKED = 1500; // ms in which the parts are marked that a link in the text has changed

// The address

/** Return the pairs of name and value in the address, still encoded. */
const pairs = () => location.search.slice(1).split("&").filter(Boolean);

const parameter = (spec, id) =>
  new URLSearchParams(location.search).get(`${spec.name}.${id}`) ?? "";

/** Return the address of a state, with the settings that differ from initial ones, but
 * not with what was measured on the reader's GPU. */
const address = (spec, shown) => {
  const state = shown.measured ? first(spec) : shown;
  const others = pairs().filter((pair) => !pair.startsWith(`${spec.name}.`));
  const own = spec.controls
    .filter((control) => !control.unkept && state[control.id] !== initial(control, state))
    .map(({ id }) => `${spec.name}.${id}=${encodeURIComponent(state[id])}`);
  const query = [...others, ...own].join("&");
  return location.href.split(/[?#]/)[0] + (query ? `?${query}` : "") + location.hash;
};

/** Return the card that the reader has chosen for the figures of all pages, if any. */
const chosenCard = () => globalThis.bookKept?.("card") ?? null;

/** Choose a card for all figures, or none. */
const chooseCard = (card) => {
  bookKeep("card", card);
  const detail = { axis: "card", value: card };
  document.dispatchEvent(new CustomEvent("book:choice", { detail }));
};

/** Return the name of a card among the options of a figure, or undefined. */
const cardName = (spec, card) => {
  const { options = [] } = spec.controls.find(({ id }) => id === spec.card) || {};
  return options.find(([value]) => value === card && value !== "own")?.[1];
};

/** Return a state with another card, if the figure has it. */
const withCard = (spec, state, card) => {
  if (!cardName(spec, card) || state[spec.card] === card) return state;
  const next = { ...state, [spec.card]: card };
  return spec.settle ? spec.settle(next, spec.card) : next;
};

// The page

export const make = (name, attributes = {}, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    element.setAttribute(key, value);
  element.append(...children);
  return element;
};

const slider = (control, id, change) => {
  const input = make("input", { type: "range", id, ...positions(control) });
  const output = make("output", { for: id, "aria-live": "off" });
  let shown; // the value
  const choose = () => {
    const position = Number(input.value);
    const value = toValue(control, position);
    const moved = Math.sign(position - toPosition(control, shown));
    // A key that moves by less than a step takes the next one.
    const next = shown + moved * (control.step ?? 0);
    const isBetween = control.log && value === shown && next >= control.min && next <= control.max;
    change(isBetween ? next : value);
  };
  input.addEventListener("input", choose);
  const show = (value) => {
    shown = value;
    input.value = toPosition(control, value);
    output.textContent = control.format(value);
    input.setAttribute("aria-valuetext", control.format(value));
  };
  return { show, parts: [output, input] };
};

const menu = (control, id, change) => {
  const options = control.options.map(([value, text]) =>
    make("option", { value }, text),
  );
  const select = make("select", { id }, ...options);
  select.addEventListener("change", () => change(select.value));
  const show = (value) => {
    select.value = value;
  };
  return { show, parts: [select] };
};

/** Return the parts of a field for text, which readers mostly paste. */
const textField = (control, id, change) => {
  const input = make("input", {
    ...{ type: "text", id, maxlength: LONGEST, placeholder: control.placeholder },
    ...{ autocomplete: "off", spellcheck: "false" },
  });
  input.addEventListener("input", () => change(input.value));
  const show = (value) => {
    if (input.value !== value) input.value = value;
  };
  return { show, parts: [input] };
};

const KINDS = { range: slider, select: menu, text: textField };

export const button = (text, run) => {
  const element = make("button", { type: "button" }, text);
  element.addEventListener("click", run);
  return element;
};

const LINK = /(\[[^\]]+\]\([^)]+\))/;

/** Return the parts of a text with links, [text](address). */
const linked = (text) =>
  text.split(LINK).map((part) => {
    const [, name, href] = part.match(/^\[(.+)\]\((.+)\)$/) || [];
    return href ? make("a", { href }, name) : part;
  });

const note = (text) => make("p", { class: "note" }, ...linked(text));

const item = ([code, text, mark]) =>
  make(
    "li",
    mark ? { class: mark } : {},
    ...(code ? [make("code", {}, code), " "] : []),
    ...linked(text),
  );

/** Return the cells of a table, whose first column names the rows; one may be `chosen`. */
export const cells = ({ head, rows, chosen = -1 }) => {
  const row = (texts, name, scope) =>
    make(
      "tr",
      {},
      ...texts.map((text, i) =>
        name === "th" || i === 0
          ? make("th", { scope: i === 0 ? scope : "col" }, text)
          : make("td", {}, text),
      ),
    );
  const body = rows.map((texts) => row(texts, "td", "row"));
  body[chosen]?.setAttribute("aria-current", "true");
  return [
    make("thead", {}, row(head, "th", "col")),
    make("tbody", {}, ...body),
  ];
};

/** Return a folded part of a figure. */
export const folded = (text, ...parts) =>
  make("details", {}, make("summary", {}, text), ...parts);

/** Return a table in a box that scrolls. */
export const tableBox = (table, name) => {
  const label = { role: "group", tabindex: 0, "aria-label": name };
  return make("div", { class: "numbers", ...label }, table);
};

// The functions below add functions to `shows` that set an element to a state.

const field = (spec, control, change, shows) => {
  const set = (value) => change(control.id, value);
  const id = `${spec.name}-${control.id}`;
  const { show, parts } = KINDS[control.kind](control, id, set);
  const label = make("label", { for: id }, control.label);
  const box = make("div", { class: "control" }, label, ...parts);
  shows.push((state) => show(state[control.id]));
  if (control.when) shows.push((state) => (box.hidden = !control.when(state)));
  return box;
};

const actionButton = (action, act, shows) => {
  const { label: text, main, run, when, pressed } = action;
  const element = button("", () => act(action));
  element.classList.toggle("moving", !run);
  shows.push((state) => {
    element.textContent = typeof text === "function" ? text(state) : text;
    element.hidden = Boolean(when) && !when(state);
    element.classList.toggle("main", Boolean(typeof main === "function" ? main(state) : main));
    if (pressed) element.setAttribute("aria-pressed", pressed(state));
  });
  return element;
};

/** Return a button that opens an experiment, where a page can load its scripts. */
const measureButton = (experiment, take) => {
  if (!experiment || !globalThis.bookLoad) return [];
  const opener = button("Measure my GPU", async () => {
    opener.disabled = true;
    for (const script of ["arithmetic", "device", "experiments", "measure"])
      await bookLoad(`explorables/${script}.js`);
    bookModules.measure.openPanel(opener, experiment, take);
  });
  return [opener];
};

/** Add an experiment to a picture: a button beside its caption. */
const measurable = (figure, experiment) => {
  const buttons = row("actions", ...measureButton(experiment));
  const box = make("div", { class: "explorable" }, buttons);
  figure.insertBefore(box, figure.querySelector("figcaption"));
  figure.classList.add("measurable", "still");
};

const row = (kind, ...buttons) => make("div", { class: kind }, ...buttons);

/** Return the box of a figure and the parts of it that show a state. */
const build = (spec, { given, change, act, take, reset, forget }) => {
  const seen = spec.controls.filter(({ kind, unseen }) => kind !== "hidden" && !unseen);
  const shows = [];
  const fields = (isMore) =>
    seen
      .filter(({ more }) => Boolean(more) === isMore)
      .map((control) => field(spec, control, change, shows));
  const [open, more] = [fields(false), fields(true)];
  const buttons = (spec.actions ?? []).map((action) => actionButton(action, act, shows));
  // What a cell shows has its numbers already, and an experiment is once on a page.
  if (!given) buttons.push(...measureButton(spec.experiment, take));
  const part = {
    drawing: make("div", { class: "drawing", role: "img" }),
    result: make("p", { class: "result" }),
    announced: make("p", { class: "announced", role: "status" }),
    log: make("ol", { class: "log" }),
    formula: make("ul", { class: "formula" }),
    table: make("table"),
    notes: make("div", { class: "notes" }),
    later: row("actions quiet"), // once a setting has changed
    card: row("actions quiet"), // once the reader has chosen a card
  };
  const box = make(
    "div",
    { class: "explorable" },
    ...(given ? [] : [make("p", { class: "invite" }, spec.invite)]),
    ...(open.length ? [row("controls", ...open)] : []),
    ...(buttons.length ? [row("actions", ...buttons)] : []),
    part.result,
    part.drawing,
    ...(spec.log ? [part.log] : []),
    ...(more.length ? [folded("More settings", row("controls", ...more))] : []),
    folded(
      "The arithmetic and its sources",
      part.formula,
      ...(spec.table ? [tableBox(part.table, "The numbers as a table")] : []),
      part.notes,
    ),
    part.card,
    part.later,
    part.announced,
  );
  const select = () => box.querySelector(`#${spec.name}-${spec.card}`);
  const chooseAgain = () => {
    const details = select().closest("details");
    if (details) details.open = true;
    select().focus();
  };
  part.card.append(make("span"), button("Change", chooseAgain), button("Forget", forget));
  part.later.append(button("Reset", reset));
  return { ...part, box, controls: (state) => shows.forEach((show) => show(state)) };
};

/** Show a state, except for its drawing. */
const show = (view, spec, state) => {
  view.controls(state);
  view.result.textContent = spec.result(state);
  view.drawing.setAttribute("aria-label", spec.summary(state));
  view.formula.replaceChildren(
    ...spec.formula(state).map((line) => make("li", {}, line)),
  );
  view.notes.replaceChildren(...spec.notes(state).map(note));
  if (spec.table) view.table.replaceChildren(...cells(spec.table(state)));
  if (spec.log) view.log.replaceChildren(...spec.log(state).map(item));
};

/** Say below a figure which card the reader has chosen, if there is one. */
const showCard = (row, spec, state) => {
  const card = chosenCard();
  row.hidden = !card || !spec.card;
  const isShown = state[spec.card] === card;
  row.firstChild.textContent = isShown
    ? `Your card, in all figures: ${cardName(spec, card)}.`
    : "This is not the card that you have chosen for all figures.";
};

const FONT = 16; // px, the font size in which a drawing is designed
const UNSEEN = 640; // px, the width of what is not in view but may be printed
const NARROWEST = 302; // units in which a drawing has room for all of its text

/** Return the width of a drawing that has so many pixels, in its own units. With a larger
 * font of the browser, each unit is larger, and the text in the drawing with it. */
export const unitsIn = (pixels) => {
  const font = parseFloat(getComputedStyle(document.documentElement).fontSize);
  return Math.max(NARROWEST, Math.floor((pixels * FONT) / Math.max(FONT, font)));
};

/** Call `tell` with the width of an element, now and when it changes. */
const onWidth = (element, tell) => {
  let last = element.clientWidth;
  tell(last || UNSEEN);
  new ResizeObserver(([entry]) => {
    const width = Math.floor(entry.contentRect.width);
    if (width === 0 || width === last) return; // hidden, or only the height changed
    last = width;
    requestAnimationFrame(() => tell(width)); // A change now would loop the observer.
  }).observe(element);
};

const remember = (url) => {
  try {
    history.replaceState(history.state, "", url);
  } catch {
    // The figure also works if the page may not change its address.
  }
};

/** Call `frame` with the part of `ms` that has passed, until it is 1, unless the
 * function that is returned is called before. */
const play = (ms, frame) => {
  const start = performance.now();
  let next = 0;
  const tick = (now) => {
    const part = Math.min(1, Math.max(0, (now - start) / ms));
    frame(part);
    if (part < 1) next = requestAnimationFrame(tick);
  };
  next = requestAnimationFrame(tick);
  return () => cancelAnimationFrame(next);
};

/** Call a function once, when half of an element first is in view. */
const whenSeen = (element, run) => {
  const observer = new IntersectionObserver(
    ([{ isIntersecting }]) => {
      if (!isIntersecting) return;
      observer.disconnect();
      run();
    },
    { threshold: 0.5 },
  );
  observer.observe(element);
};

/** Let the reader drag the point of a drawing: the setting becomes the one whose point is
 * nearest to the pointer. */
const draggable = (drawing, { drag, controls }, now, change) => {
  const distance = ({ clientX, clientY }, state) => {
    const box = drawing.getBoundingClientRect();
    const units = unitsIn(drawing.clientWidth);
    const [x, y] = drag.point(state, units).map((each) => (each * drawing.clientWidth) / units);
    return Math.hypot(clientX - box.left - x, clientY - box.top - y);
  };
  const follow = (event) => {
    const control = controls.find(({ id }) => id === drag.id(now()));
    const { min, max, step } = positions(control);
    const values = Array.from({ length: (max - min) / step + 1 }, (_, i) =>
      toValue(control, min + i * step),
    );
    const away = values.map((value) => distance(event, { ...now(), [control.id]: value }));
    change(control.id, values[away.indexOf(Math.min(...away))]);
  };
  drawing.classList.add("draggable");
  drawing.addEventListener("pointerdown", (event) => {
    if (distance(event, now()) > 24) return;
    event.preventDefault(); // or text would be selected
    drawing.setPointerCapture(event.pointerId);
    drawing.addEventListener("pointermove", follow);
  });
  for (const end of ["pointerup", "pointercancel"])
    drawing.addEventListener(end, () => drawing.removeEventListener("pointermove", follow));
};

/** Mark the result and the controls whose settings differ between two states. */
const mark = (view, { name, controls }, before, after) => {
  const changed = controls
    .filter(({ id }) => before[id] !== after[id])
    .map(({ id }) => view.box.querySelector(`#${name}-${id}`)?.parentElement);
  for (const part of [view.result, ...changed].filter(Boolean)) {
    part.classList.add("set");
    setTimeout(() => part.classList.remove("set"), MARKED);
  }
};

const prefersStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** Make a figure interactive. One with `data-settings` begins with these, and its id
 * takes the place of the figure's name. */
const explorable = (figure, described) => {
  const { settings: given } = figure.dataset;
  const { name } = described;
  const own = { name: figure.id || name, card: undefined };
  const spec = given ? { ...described, ...own } : described;
  const ids = new RegExp(`(id="|#)${name}-`, "g");
  const hasAddress = pairs().some((pair) => pair.startsWith(`${spec.name}.`));
  /** Return the state with which the figure begins, with the reader's card. */
  const start = () => {
    const state = begin(spec, given);
    return withCard(spec, state, chosenCard());
  };
  let state = hasAddress ? settings(spec, (id) => parameter(spec, id)) : start();
  // A card that the address has set stays when the reader chooses another one elsewhere.
  const isSet = hasAddress && state[spec.card] !== chosenCard();
  let width = 0;
  let timer = 0;
  let last; // the setting before the present one
  let isChanging = false;
  let isFirst = !hasAddress; // no setting has changed
  let stop = () => {};
  const paint = (motion) => {
    if (!width) return;
    const drawn = spec.draw(state, unitsIn(width), motion, last);
    view.drawing.innerHTML = drawn.replace(ids, `$1${spec.name}-`);
  };
  const become = (next, ms = 0) => {
    const from = state;
    if (!isChanging) last = state;
    isChanging = true;
    isFirst = false;
    state = next;
    present(ms > 0);
    stop();
    if (ms > 0 && !prefersStill()) move(ms, from);
    else paint();
    clearTimeout(timer);
    timer = setTimeout(() => {
      isChanging = false;
      view.announced.textContent = spec.result(state);
      remember(address(spec, state));
      timer = setTimeout(() => view.announced.replaceChildren(), READ);
    }, PAUSE);
  };
  /** Move the drawing for so many ms, from a state to the present one. */
  const move = (ms, from, more = {}) => {
    stop = play(ms, (part) => paint(part < 1 ? { from, part, ...more } : undefined));
  };
  const act = ({ run, motion }) => {
    const next = run ? run(state) : state;
    become(next, motion ? motion(state, next) : 0);
  };
  const change = (id, value) => {
    const next = { ...state, [id]: value };
    become(spec.settle ? spec.settle(next, id) : next);
    if (id === spec.card && cardName(spec, value)) choose(value);
  };
  /** Choose a card for all figures, or none; this one stays in place. */
  const choose = (card) => globalThis.bookChange?.(figure, () => chooseCard(card));
  const followCard = (card) => {
    const next = isSet ? state : withCard(spec, state, card ?? begin(spec)[spec.card]);
    if (next === state) present();
    else become(next);
  };
  const present = (isMoving = false) => {
    show(view, spec, state);
    view.later.hidden = JSON.stringify(state) === JSON.stringify(start()) && !isMoving;
    showCard(view.card, spec, state);
  };
  const reset = () => {
    become(start());
    last = undefined;
    paint();
    view.box.querySelector("input, select, button").focus({ preventScroll: true });
  };
  const view = build(spec, {
    given,
    change,
    act,
    take: (changes) => become({ ...state, ...changes }),
    reset,
    forget: () => choose(null),
  });
  figure.insertBefore(view.box, figure.querySelector(".machine, figcaption"));
  figure.classList.add("live");
  present();
  view.drawing.addEventListener("click", ({ target }) => {
    const touched = /** @type {HTMLElement} */ (target).closest("[data-touch]");
    if (touched) become(spec.touch(state, touched.getAttribute("data-touch")));
  });
  if (spec.drag) draggable(view.drawing, spec, () => state, change);
  // A link in the text sets the figure.
  figure.addEventListener("book:play", ({ detail }) => {
    const next = begin(spec, detail.replaceAll(`${name}.`, ""));
    mark(view, spec, state, next);
    become(next);
    const behavior = prefersStill() ? "instant" : "smooth";
    view.drawing.scrollIntoView({ block: "nearest", behavior });
  });
  const fill = (now) => {
    width = now;
    stop();
    paint();
  };
  onWidth(view.drawing, fill);
  if (spec.opening && !prefersStill())
    whenSeen(view.drawing, () => isFirst && move(spec.opening, state, { isOpening: true }));
  document.addEventListener("book:choice", ({ detail }) => {
    // A drawing that comes into view has its height before the page is scrolled.
    const now = view.drawing.clientWidth;
    if (now && now !== width) fill(now);
    for (const [id, axis] of Object.entries(spec.follows || {}))
      if (axis === detail.axis) become({ ...state, [id]: detail.value });
    if (spec.card && detail.axis === "card") followCard(detail.value);
  });
  if (spec.card) {
    const back = ({ persisted }) => persisted && followCard(chosenCard());
    addEventListener("pageshow", back);
  }
};

/** Return a description as the module of a figure, which pages start.
 * @param {any} described
 */
export const figure = (described) => {
  const formula = (state) => described.formula(state).filter(Boolean);
  const spec = { ...described, formula };
  return { ...spec, start: (element) => explorable(element, spec) };
};

/** Return the module of a picture beside which readers measure. */
export const picture = (experiment) => ({ start: (element) => measurable(element, experiment) });
