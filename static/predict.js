// Predictions: an output stays covered until the reader predicts a number of it, or shows
// it. The attribute data-predict of the root is "off" if the reader wants no covers.
//
// A question is asked once: its answer uncovers the outputs of the question in every
// framework, and the arithmetic in the text above them. What readers have answered stays
// in their browser.

(() => {
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const predictions = all(".prediction");
  const KEY = "predictions";
  // The answers on all pages: the reader's number, or "", under the page and the question.
  let answers = {};

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

  // Returns the first prediction below a text for the readers of each framework.
  function predictionsBelow(text) {
    const within = (element) => element.closest('[data-axis="tab"] > .tab-panel');
    const isBelow = (prediction) =>
      text.compareDocumentPosition(prediction) & Node.DOCUMENT_POSITION_FOLLOWING;
    const isFor = (element, tab) =>
      within(element)?.dataset.choices.split(" ").includes(tab) ?? true;
    const tabs = all("#frameworks input").map((input) => input.value);
    return tabs
      .filter((tab) => isFor(text, tab))
      .map((tab) => predictions.find((p) => isBelow(p) && isFor(p, tab)));
  }

  // Shows what the reader has answered, and covers the rest.
  function update() {
    for (const prediction of predictions) {
      const answer = answers[keyOf(prediction)];
      prediction.toggleAttribute("data-open", answer !== undefined);
      const yours = prediction.querySelector(".yours");
      yours.hidden = !answer;
      const number = yours.querySelector("dd");
      number.textContent = `${answer} ${number.dataset.unit}`.trim();
    }
    for (const text of all("p.arithmetic")) {
      const isOpen = predictionsBelow(text).some((p) => !p || "open" in p.dataset);
      text.toggleAttribute("data-open", isOpen);
    }
    for (const box of all(".covering input")) box.checked = root.dataset.predict === "on";
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
    answers[keyOf(prediction)] = event.target.querySelector("input").value;
    store(KEY, JSON.stringify(answers));
    bookChange(prediction, update);
    prediction.querySelector(".answers").focus({ preventScroll: true });
  }

  // A reader who asks for covers again starts anew.
  function choose({ target }) {
    const value = target.checked ? "on" : "off";
    store("predict", value);
    if (target.checked) {
      answers = {};
      store(KEY, "{}");
    }
    bookChange(target, () => {
      root.dataset.predict = value;
      update();
    });
  }

  for (const prediction of predictions) {
    prediction.querySelector("form").addEventListener("submit", answer);
    prediction.querySelector(".covering").addEventListener("change", choose);
  }

  function start() {
    readAnswers();
    update();
  }

  start();
  // The reader may have answered on another page before coming back to this one.
  addEventListener("pageshow", ({ persisted }) => persisted && start());
})();
