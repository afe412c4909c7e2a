// Predictions: an output stays covered until the reader predicts numbers of it, chooses what
// it says, or shows it. The attribute data-predict of the root is "off" if the reader wants no
// covers.
//
// A question is asked once: its answer uncovers the outputs of the question in every
// framework, the arithmetic in the text above them, and the paragraph below them. So does
// the browser's search for words behind the cover.
// What readers have typed stays in their browser. Without a number, an output is only
// shown, until the page is left.

(() => {
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const predictions = all(".prediction");
  const CLOSED = ":not([data-open])";
  const KEY = "predictions";
  // The setting for all covers, in the menu of settings.
  const cover = /** @type {HTMLInputElement} */ (document.querySelector("#cover-outputs"));
  // The answers on all pages: what the reader typed, under the page and the question.
  let answers = {};
  const seen = new Set(); // the questions without an answer whose outputs are shown

  const keyOf = (prediction) =>
    `${location.pathname.split("/").at(-1)} ${prediction.dataset.question}`;

  // Returns the frameworks whose readers see an element.
  function tabsOf(element) {
    const panel = element.closest('[data-axis="tab"] > .tab-panel');
    return panel?.dataset.choices.split(" ") ?? all("#frameworks input").map((i) => i.value);
  }

  // Returns the prediction for which a text waits: the nearest one above it, or below the
  // arithmetic, between the same headings. There may be none in the chosen framework.
  function awaited(text) {
    const own = text.closest(".prediction");
    if (own) return own;
    const tabs = tabsOf(text);
    const tab = tabs.includes(root.dataset.tab) ? root.dataset.tab : tabs[0];
    const isBelow = text.matches(".arithmetic");
    const direction = Node[`DOCUMENT_POSITION_${isBelow ? "FOLLOWING" : "PRECEDING"}`];
    const found = predictions.filter(
      (prediction) =>
        text.compareDocumentPosition(prediction) & direction &&
        prediction.closest("section") === text.closest("section") &&
        tabsOf(prediction).includes(tab),
    );
    return found.at(isBelow ? 0 : -1);
  }

  // Returns the rows of answers to compare, one for each field of a prediction.
  const rowsOf = (prediction) => all(".answers dl", prediction);

  const readFor = (row, text) => bookGuess.readFor(row, row.closest(".prediction"), text);

  const isAnswered = (prediction) =>
    comparedIn(prediction).every(({ value }) => value !== undefined);

  // Returns what the rows of a prediction compare with the reader's answers, whose texts are
  // kept as one.
  function comparedIn(prediction) {
    const texts = answers[keyOf(prediction)]?.split(" | ") ?? [];
    return bookGuess.compare(prediction, rowsOf(prediction), texts);
  }

  // Shows the lines that the reader has drawn.
  async function drawLines() {
    const drawn = predictions.filter((prediction) => prediction.querySelector(".sketch"));
    if (!drawn.length) return;
    await Promise.all(["sketch.css", "sketch.js"].map(bookLoad));
    for (const prediction of drawn) bookSketch.show(prediction, comparedIn(prediction));
  }

  // Sums up the predictions that the reader sees, each once.
  async function sumUp() {
    const shown = predictions.filter((p) => p.checkVisibility());
    const answered = [...new Map(shown.map((p) => [keyOf(p), p])).values()].filter(isAnswered);
    if (!answered.length && !window.bookTally && !bookKept("record")) return;
    await Promise.all(["tally.css", "tally.js", "record.js"].map(bookLoad));
    bookTally(answered.flatMap(comparedIn), () => erase(shown));
    bookRecord.show(answered.map((p) => [keyOf(p), answers[keyOf(p)], comparedIn(p)]));
  }

  // Shows what the reader has answered, and covers the rest.
  function update() {
    for (const prediction of predictions) {
      const isOpen = isAnswered(prediction) || seen.has(keyOf(prediction));
      prediction.toggleAttribute("data-open", isOpen);
      comparedIn(prediction).forEach(bookGuess.enter);
    }
    drawLines();
    follow();
  }

  // Adapts what depends on the predictions that the reader sees.
  function follow() {
    for (const text of all(".covered, .waits, .arithmetic")) {
      const isClosed = root.dataset.predict === "on" && awaited(text)?.matches(CLOSED);
      if (isClosed) text.setAttribute("hidden", "until-found");
      else text.removeAttribute("hidden");
    }
    root.classList.add("covers"); // the stylesheet need not hide them any longer
    cover.checked = root.dataset.predict === "on";
    sumUp();
  }

  // Another tab of the browser may have stored answers since.
  function readAnswers() {
    try {
      answers = JSON.parse(bookKept(KEY)) ?? answers;
    } catch {
      // The stored text is damaged: start anew.
    }
  }

  // Says below the field how a text is read, or why it is not.
  function say(field, words, isWrong = false) {
    const prediction = field.closest(".prediction");
    prediction.querySelector(".reading").textContent = words;
    if (isWrong && field.type === "text") field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
  }

  // While the reader types, only conversions are worth saying, and the order so far.
  function preview({ target }) {
    const prediction = target.closest(".prediction");
    if (target.type === "checkbox") {
      say(target, bookGuess.textsOf(target.form).join());
      return;
    }
    const place = all("[type=text], [type=range]", prediction).indexOf(target);
    const { words = "" } = place < 0 || !target.value ? {} : readFor(rowsOf(prediction)[place], target.value);
    say(target, words.includes("=") ? words : "");
  }

  function answer(event) {
    event.preventDefault();
    const prediction = event.target.parentElement;
    const texts = bookGuess.textsOf(event.target);
    const problems = rowsOf(prediction).map((row, i) => readFor(row, texts[i]).problem);
    const wrong = problems.findIndex(Boolean);
    if (wrong >= 0) {
      const field = all("input", event.target)[wrong];
      say(field, problems[wrong], true);
      field.focus();
      return;
    }
    readAnswers();
    answers[keyOf(prediction)] = texts.join(" | ");
    bookKeep(KEY, JSON.stringify(answers));
    bookChange(prediction, update);
    focusRow(prediction);
  }

  // Shows the output of a question that the reader does not answer.
  function reveal(prediction) {
    readAnswers();
    seen.add(keyOf(prediction));
    bookChange(prediction, update);
  }

  const focusRow = (prediction) =>
    prediction.querySelector(".answers").focus({ preventScroll: true });

  // Covers the outputs of a question again.
  function coverAgain({ target }) {
    const prediction = target.closest(".prediction");
    forget([prediction]);
    bookChange(prediction, update);
    // In a comparison, the question stands in the first column alone.
    const same = predictions.filter((other) => keyOf(other) === keyOf(prediction));
    const fields = same.map((other) => other.querySelector(".guess input"));
    fields.find((field) => field.checkVisibility())?.focus({ preventScroll: true });
  }

  // Forgets what the reader has typed into the fields of some questions.
  function forget(some) {
    readAnswers();
    const keys = some.map(keyOf);
    for (const key of keys) delete answers[key];
    for (const key of keys) seen.delete(key);
    bookKeep(KEY, JSON.stringify(answers));
    for (const prediction of predictions.filter((p) => keys.includes(keyOf(p)))) {
      prediction.querySelector("form").reset();
      for (const field of all(".guess input", prediction)) say(field, "");
    }
  }

  function erase(shown) {
    forget(shown);
    bookRecord.forget(shown.map(keyOf));
    bookChange(document.querySelector("#exercises") ?? root, update);
  }

  cover.addEventListener("change", () => bookChoose("predict", cover.checked ? "on" : "off"));

  for (const [i, prediction] of predictions.entries()) {
    const id = `reading-${i}`;
    prediction.querySelector(".reading").id = id;
    for (const field of all(".guess input", prediction))
      field.setAttribute("aria-describedby", id);
    prediction.querySelector("form").addEventListener("submit", answer);
    prediction.querySelector("form").addEventListener("input", preview);
    prediction.querySelector(".reveal").addEventListener("click", () => {
      reveal(prediction);
      focusRow(prediction);
    });
    prediction.querySelector(".again").addEventListener("click", coverAgain);
  }

  function start() {
    readAnswers();
    update();
  }

  start();
  // The browser opens a cover over words that it finds.
  document.addEventListener("beforematch", ({ target }) =>
    reveal(awaited(/** @type {HTMLElement} */ (target))),
  );
  for (const change of ["book:choice", "book:added"]) document.addEventListener(change, follow);
  // The reader may have answered on another page before coming back to this one.
  addEventListener("pageshow", ({ persisted }) => persisted && start());
})();
