// Fits the slides of a deck to their size, compares what the room predicts with the outputs,
// and starts the deck without transitions.

const OPTIONS = {
  width: 1280,
  height: 720,
  margin: 0,
  minScale: 0.1,
  maxScale: 4,
  center: false,
  display: "flex",
  hash: true,
  slideNumber: "c/t",
  transition: "none",
  backgroundTransition: "none",
  scrollActivationWidth: null,
  pdfMaxPagesPerSlide: 1,
  pdfSeparateFragments: false,
  plugins: [RevealNotes],
};

// The scales of what a slide shows, of which the first that fits is used. At the last scale,
// code has the smallest size that can be read.
const SCALES = [2, 1.85, 1.7, 1.6, 1.5, 1.4, 1.3, 1.2, 1.1, 1, 0.95, 0.9, 0.85, 0.8, 0.75];

/** Return true if nothing leaves a slide or is cut off. */
const fits = (/** @type {Element} */ slide) => {
  const box = slide.getBoundingClientRect();
  const below = box.bottom - (box.height / 720) * 40;
  const isInside = (/** @type {Element} */ part) =>
    part.getBoundingClientRect().bottom < below + 0.5 && part.scrollWidth <= part.clientWidth + 1;
  return [...slide.querySelectorAll(":scope > *, pre, table, figure > *")].every(isInside);
};

/** Scale what a slide shows; report a slide on which text would be too small. */
const fit = (/** @type {HTMLElement} */ slide) => {
  for (const tight of slide.querySelector("figure, .rows") ? [false, true] : [false]) {
    slide.classList.toggle("tight", tight);
    for (const scale of SCALES) {
      slide.style.setProperty("--fit", String(scale));
      if (fits(slide)) return;
    }
  }
  console.error(`${slide.dataset.place}: this slide is too long; show less code or another cell`);
};

/** Return the rows of answers below the slide that asks for them. */
const rowsBelow = (/** @type {HTMLFormElement} */ form) => {
  const { nextElementSibling: slide } = form.closest("section");
  return /** @type {HTMLElement[]} */ ([...slide.querySelectorAll("dl")]);
};

/** Write the texts of the room into the rows, each number above its verdict. */
const enter = (/** @type {HTMLFormElement} */ form, /** @type {string[]} */ texts) => {
  const slide = /** @type {HTMLElement} */ (form.closest("section"));
  const rows = rowsBelow(form);
  bookGuess.compare(slide, rows, texts).forEach(bookGuess.enter);
  if (form.querySelector("[type=radio]")) return;
  for (const said of rows.flatMap((row) => row.querySelector(".yours span") ?? [])) {
    said.classList.add("below");
    said.textContent = said.textContent.replace(/^, /, "");
  }
};

const LONG = "123456";
const LONG_VERDICT = "like the arithmetic; the output is smaller by a factor of 1.2";

/** Fit the slide of the answers with long ones of the room, and keep their place. */
const reserve = (/** @type {HTMLFormElement} */ form) => {
  const choices = /** @type {HTMLInputElement[]} */ ([...form.querySelectorAll("[type=radio]")]);
  const byLength = choices.map(({ value }) => value).sort((a, b) => b.length - a.length);
  const rows = rowsBelow(form);
  enter(form, Array(rows.length).fill(byLength[0] ?? LONG));
  if (!choices.length)
    for (const row of rows) row.querySelector(".yours span").textContent = LONG_VERDICT;
  fit(/** @type {HTMLElement} */ (form.closest("section").nextElementSibling));
  for (const row of rows) row.style.minHeight = `${row.offsetHeight}px`;
};

/** Let the room predict: Enter, or an arrow key, shows its numbers beside the output. */
const ask = (/** @type {HTMLFormElement} */ form) => {
  const slide = /** @type {HTMLElement} */ (form.closest("section"));
  const rows = rowsBelow(form);
  const fields = /** @type {HTMLInputElement[]} */ ([...form.querySelectorAll("input")]);
  const compare = () => {
    const texts = bookGuess.textsOf(form);
    enter(form, texts);
    return texts.some(Boolean) ? rows.map((row, i) => bookGuess.readFor(row, slide, texts[i])) : [];
  };
  compare();
  form.addEventListener("input", compare);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const problem = compare().find((read) => read.problem)?.problem ?? "";
    form.querySelector(".reading").textContent = problem;
    if (!problem) Reveal.next();
  });
  form.addEventListener("keydown", (event) => {
    if (!["ArrowRight", "PageDown"].includes(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    Reveal.next();
  });
  // A digit goes into the field, wherever the focus is.
  document.addEventListener("keydown", ({ key }) => {
    const isTyped = /^[\d.]$/.test(key) && !document.activeElement.matches("input");
    if (isTyped && slide.matches(".present")) fields[0].focus();
  });
};

// A figure that can be changed takes the place of its picture and of what else is below the
// title. The scripts of figures fill this object.
const deckFigures = {};

/** Let a button show its figure. */
const listen = (/** @type {HTMLElement} */ button) => {
  const { figure: name } = button.dataset;
  const show = () => {
    const frame = document.createElement("iframe");
    Object.assign(frame, { srcdoc: deckFigures[name], title: "Interactive figure" });
    button.parentElement.replaceChildren(frame);
    frame.focus();
  };
  const load = () => {
    const script = document.createElement("script");
    Object.assign(script, { src: `../_static/figures/${name}.js`, onload: show });
    document.head.append(script);
  };
  button.addEventListener("click", load);
  button.addEventListener("keydown", (event) => event.stopPropagation()); // no next slide
};

const slides = document.querySelector(".slides");
slides.classList.add("fitting"); // so that all slides have a size, and fonts are loaded
slides.getBoundingClientRect();
document.fonts.ready.then(() => {
  slides.querySelectorAll("section:not(.front)").forEach(fit);
  slides.querySelectorAll("form").forEach(reserve);
  slides.querySelectorAll("form").forEach(ask);
  const front = slides.querySelector(".front");
  if (!fits(front)) front.querySelector("figure")?.remove();
  slides.classList.remove("fitting");
  slides.querySelectorAll("[data-figure]").forEach(listen);
  Reveal.initialize(OPTIONS);
  Reveal.on("slidechanged", () => /** @type {HTMLElement} */ (document.activeElement).blur());
});
