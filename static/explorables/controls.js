/* The controls of the figures: constructors, presets, and the settings that they have. */

export const LONGEST = 800; // characters of a text, which becomes a part of the address
const LOG_POSITIONS = 240; // of a slider
const FINE_POSITIONS = 600; // of one whose values are multiples of a step

// Constructors; explorable.js lists the fields. `initial` is a value or a function of the
// settings before, and `rest` has further fields.

/** Return pairs [value, text] of an object of texts or of what has a name, or of a list. */
const pairsOf = (options) =>
  Array.isArray(options)
    ? options.map((option) => (Array.isArray(option) ? option : [option, option]))
    : Object.entries(options).map(([value, text]) => [value, text.name ?? text]);

export const select = (id, label, options, initial, rest = {}) => ({
  ...{ id, kind: "select", label, options: pairsOf(options), initial, ...rest },
});

/** Return a slider over a list of values. */
export const steps = (id, label, values, initial, rest = {}) => ({
  ...{ id, kind: "range", label, values, initial, format: String, ...rest },
});

/** Return a slider from one number to another. */
export const range = (id, label, [min, max, step], initial, rest = {}) => ({
  ...{ id, kind: "range", label, min, max, step, initial, format: String, ...rest },
});

/** Return a slider whose positions are apart by a factor; with a `step` in `rest`, its
 * values are multiples of that. */
export const logRange = (id, label, [min, max], initial, format, rest = {}) => ({
  ...{ id, kind: "range", label, min, max, log: true, initial, format, ...rest },
});

export const text = (id, label, placeholder, rest = {}) => ({
  ...{ id, kind: "text", label, placeholder, initial: "", ...rest },
});

/** Return a setting that only buttons and the address change. */
export const hidden = (id, accepts, initial) => ({ id, kind: "hidden", accepts, initial });

/** Return controls that are folded away. */
export const more = (...controls) => controls.map((control) => ({ ...control, more: true }));

/** Return controls that only presets, buttons and addresses change. */
export const unseen = (...controls) => controls.map((control) => ({ ...control, unseen: true }));

/** Return 1, 2, 4, ... up to the last power of two. */
export const doubled = (first, last) => {
  const list = [];
  for (let x = first; x <= last; x *= 2) list.push(x);
  return list;
};

/**
 * Return a menu of settings with names: a reader chooses one, or has their own.
 * @param {string} id of the menu
 * @param {Record<string, any>} table {value: {name, settings}}
 * @param {string} first the value with which the figure begins
 */
export const presets = (id, table, first) => {
  const chosen = (state) => table[state[id]] || table[first];
  const has = (state, { settings }) =>
    Object.entries(settings).every(([key, value]) => state[key] === value);
  const choose = (state) => ({ ...state, ...table[state[id]]?.settings });
  const adopt = (state) => {
    const found = Object.keys(table).find((value) => has(state, table[value]));
    return { ...state, [id]: found || "own" };
  };
  return {
    /** Return the entry of a state, or the first one. */
    chosen,
    /** Return a state with the settings of its preset, if it has one. */
    choose,
    /** Return a state with the name of the preset whose settings it has. */
    adopt,
    /** Return a state after a change of the control `changed`. */
    settle: (state, changed) => (changed === id ? choose(state) : adopt(state)),
    /** Whether a state has all settings of its preset. */
    isUnchanged: (state) => has(state, chosen(state)),
    /** Return the initial value of a control: that of the preset. */
    from: (key) => (state) => chosen(state).settings[key],
    /** Return the menu, whose last option is `own` unless the table has it. */
    menu: (label, own = "") =>
      select(id, label, own ? { ...table, own } : table, first),
  };
};

// Settings

export const initial = (control, state) =>
  typeof control.initial === "function" ? control.initial(state) : control.initial;

/** Return the value of a text for a control, or undefined if it is not valid. */
export const parse = (control, text) => {
  if (control.kind === "select")
    return control.options.some(([value]) => value === text) ? text : undefined;
  if (control.kind === "text") return text.slice(0, LONGEST);
  if (control.kind === "hidden") return control.accepts(text) ? text : undefined;
  const number = text.trim() === "" ? NaN : Number(text);
  const allowed = control.values
    ? control.values.includes(number)
    : number >= control.min && number <= control.max;
  return allowed ? number : undefined;
};

/** Return the settings that `read(id)` returns; invalid ones have their initial value. */
export const settings = (spec, read) => {
  const state = {};
  for (const [id, axis] of Object.entries(spec.follows || {}))
    state[id] = document.documentElement.dataset[axis];
  for (const control of spec.controls) {
    const value = parse(control, read(control.id));
    state[control.id] = value === undefined ? initial(control, state) : value;
  }
  return state;
};

/** Return the initial settings of a figure, for its printed picture. */
export const first = (spec) => {
  const state = {};
  for (const control of spec.controls) state[control.id] = initial(control, state);
  return state;
};

/** Return the value of a control that is closest to a text, or undefined. */
const closest = (control, text) => {
  const number = Number(text);
  if (control.kind !== "range" || !text.trim() || Number.isNaN(number))
    return parse(control, text);
  const { values, min, max } = control;
  if (!values) return Math.min(max, Math.max(min, number));
  const nearer = (a, b) => (Math.abs(b - number) < Math.abs(a - number) ? b : a);
  return values.reduce(nearer);
};

/** Return the state with which a figure begins: its own, changed by what it is given.
 * @param {object} spec
 * @param {string} [given] settings, as they stand in an address
 */
export const begin = (spec, given) => {
  let state = settings(spec, () => "");
  for (const [id, text] of new URLSearchParams(given)) {
    const control = spec.controls.find((other) => other.id === id);
    const value = control ? closest(control, text) : text;
    if (value === undefined || !(id in state))
      throw new Error(`The figure ${spec.name} has no setting ${id}=${text}.`);
    state = { ...state, [id]: value };
    if (spec.settle) state = spec.settle(state, id);
  }
  return state;
};

// Sliders have positions, which correspond to values

export const positions = (control) => {
  const parts = control.step ? FINE_POSITIONS : LOG_POSITIONS;
  const last = control.values ? control.values.length - 1 : parts;
  return control.values || control.log
    ? { min: 0, max: last, step: 1 }
    : { min: control.min, max: control.max, step: control.step };
};

export const toPosition = (control, value) => {
  if (control.values) return control.values.indexOf(value);
  if (!control.log) return value;
  const part = Math.log(value / control.min) / Math.log(control.max / control.min);
  return Math.round(positions(control).max * part);
};

export const toValue = (control, position) => {
  if (control.values) return control.values[position];
  if (!control.log) return position;
  const part = position / positions(control).max;
  const value = control.min * (control.max / control.min) ** part;
  const { step } = control;
  return step ? step * Math.round(value / step) : Number(value.toPrecision(3));
};
