// Predictions: an output stays covered until the reader predicts a number of it, or shows
// it. The attribute data-predict of the root is "off" if the reader wants no covers.
//
// A question is asked once: its answer uncovers the outputs of the question in every
// framework, the arithmetic in the text above them, and the text below that explains them.
// What readers have answered stays in their browser. Without a number, an output is only
// shown, until the page is left.

(() => {
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const predictions = all(".prediction");
  const KEY = "predictions";
  // The answers on all pages: the reader's number under the page and the question.
  let answers = {};
  const seen = new Set(); // the questions without an answer whose outputs are shown

  function read(key) {
    try {
      return localStorage.getItem(key);
    } catch {
      return null; // storage is blocked
    }
  }

  function store(key, value) {
    try {
      localStorage.setItem(key, value);
    } catch {
      // If storage is blocked, answers last as long as the page.
    }
  }

  const keyOf = (prediction) =>
    `${location.pathname.split("/").at(-1)} ${prediction.dataset.question}`;

  // Returns the nearest prediction below or above a text for the readers of each framework.
  function nearest(text, isBelow) {
    const within = (element) => element.closest('[data-axis="tab"] > .tab-panel');
    const { DOCUMENT_POSITION_FOLLOWING: below, DOCUMENT_POSITION_PRECEDING: above } = Node;
    const isThere = (prediction) =>
      text.compareDocumentPosition(prediction) & (isBelow ? below : above);
    const isFor = (element, tab) =>
      within(element)?.dataset.choices.split(" ").includes(tab) ?? true;
    const tabs = all("#frameworks input").map((input) => input.value);
    return tabs
      .filter((tab) => isFor(text, tab))
      .map((tab) => {
        const there = predictions.filter((p) => isThere(p) && isFor(p, tab));
        return there.at(isBelow ? 0 : -1);
      });
  }

  // Returns by which factor a prediction was off, in words.
  function off(answer, prediction) {
    const output = all("dt", prediction).find((dt) => dt.textContent.startsWith("Output"));
    const printed = parseFloat(output?.nextElementSibling.textContent.replaceAll(",", ""));
    if (!(answer > 0 && printed > 0)) return "";
    const factor = answer / printed;
    const times = Number(Math.max(factor, 1 / factor).toPrecision(2));
    if (times < 1.05) return ", right";
    return `, too ${factor > 1 ? "large" : "small"} by a factor of ${times}`;
  }

  // Shows what the reader has answered, and covers the rest.
  function update() {
    for (const prediction of predictions) {
      const answer = answers[keyOf(prediction)];
      prediction.toggleAttribute("data-open", Boolean(answer) || seen.has(keyOf(prediction)));
      const yours = prediction.querySelector(".yours");
      yours.hidden = !answer;
      const number = yours.querySelector("dd");
      number.textContent = answer
        ? `${answer} ${number.dataset.unit}`.trim() + off(answer, prediction)
        : "";
    }
    const isOpen = (prediction) => !prediction || "open" in prediction.dataset;
    for (const text of all(".arithmetic"))
      text.toggleAttribute("data-open", nearest(text, true).some(isOpen));
    for (const text of all(".explains"))
      text.toggleAttribute("data-told", nearest(text, false).some(isOpen));
    placeSwitch();
  }

  // The setting for all covers stands below the first of them.
  function placeSwitch() {
    const isCovered = (p) => !("open" in p.dataset) && p.checkVisibility();
    const first = predictions.find(isCovered);
    for (const prediction of predictions) {
      const label = prediction.querySelector(".covering");
      label.hidden = prediction !== first;
      label.querySelector("input").checked = root.dataset.predict === "on";
    }
  }

  // Another tab of the browser may have stored answers since.
  function readAnswers() {
    try {
      answers = JSON.parse(read(KEY)) ?? answers;
    } catch {
      // What is stored is damaged: start anew.
    }
  }

  function answer(event) {
    event.preventDefault();
    const prediction = event.target.parentElement;
    readAnswers();
    const { value } = event.target.querySelector("input");
    if (value) answers[keyOf(prediction)] = value;
    else seen.add(keyOf(prediction));
    store(KEY, JSON.stringify(answers));
    bookChange(prediction, update);
    prediction.querySelector(".answers").focus({ preventScroll: true });
  }

  // Covers the outputs of a question again.
  function cover({ target }) {
    const prediction = target.closest(".prediction");
    readAnswers();
    delete answers[keyOf(prediction)];
    seen.delete(keyOf(prediction));
    store(KEY, JSON.stringify(answers));
    bookChange(prediction, update);
    prediction.querySelector(".guess input").focus({ preventScroll: true });
  }

  function choose({ target }) {
    const value = target.checked ? "on" : "off";
    store("predict", value);
    bookChange(target, () => {
      root.dataset.predict = value;
      update();
    });
  }

  for (const prediction of predictions) {
    prediction.querySelector("form").addEventListener("submit", answer);
    prediction.querySelector(".covering").addEventListener("change", choose);
    prediction.querySelector(".again").addEventListener("click", cover);
  }

  function start() {
    readAnswers();
    update();
  }

  start();
  document.addEventListener("book:choice", placeSwitch);
  // The reader may have answered on another page before coming back to this one.
  addEventListener("pageshow", ({ persisted }) => persisted && start());
})();
