// Answers to exercises, judged as predictions are: right, close, or off by a factor. This is
// loaded with a reader's first answer, or if the browser has kept one. The right answers and
// the hints come with the solutions, where they are encoded. A hint follows each wrong
// answer, and after the last one a button opens the solution. What readers have answered
// stays in their browser, in the record of predictions.

(() => {
  const root = document.documentElement;
  const forms = /** @type {HTMLFormElement[]} */ ([...document.querySelectorAll(".exercise")]);
  const part = (form, selector) => form.querySelector(selector);
  const keyOf = (form) => `${location.pathname.split("/").at(-1)} ${form.dataset.question}`;

  // Returns what the guesses of a form are read for: its fields, each with a unit.
  const rowsOf = (form) => form.dataset.units.split("|").map((unit) => ({ dataset: { unit } }));

  // Returns the hints, and what is right in the chosen framework, if the solution has it.
  async function answersTo(form) {
    await bookSolve(form.closest("li").querySelector(".solution-link a"));
    const { hints, right } = JSON.parse(atob(bookAnswers))[form.dataset.question];
    return { hints, right: right[root.dataset.tab] };
  }

  function compare(form, texts, [varies, ...outputs]) {
    return rowsOf(form).map((row, i) => {
      const output = bookGuess.readFor(row, form, outputs[i]).value;
      return { row, ...bookGuess.readFor(row, form, texts[i]), output, name: "solution", varies };
    });
  }

  const verdictOf = ({ value, output, name, varies }) =>
    bookGuess.verdict(value, undefined, output, name, varies);

  function span(className, textContent) {
    return Object.assign(document.createElement("span"), { className, textContent });
  }

  // Says below the field what became of an answer, and the hints so far. `kind` is good,
  // bad, or empty.
  function say(form, words, kind = "") {
    const hints = form.querySelectorAll(".hint");
    part(form, ".reading").replaceChildren(span(kind, words), ...hints);
  }

  // Returns the first field that cannot be read, and says why.
  function unread(form, texts) {
    const problems = rowsOf(form).map((row, i) => bookGuess.readFor(row, form, texts[i]).problem);
    const wrong = problems.findIndex(Boolean);
    for (const field of form.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
    if (wrong < 0) return null;
    say(form, problems[wrong].replace("show the output", "open the solution"));
    const field = form.querySelectorAll("input")[wrong];
    if (field.type === "text") field.setAttribute("aria-invalid", "true");
    return field;
  }

  function tell(form, compared) {
    const names = [...form.querySelectorAll("fieldset label > span:first-child")];
    const verdicts = compared.map(verdictOf);
    const told = compared.map(({ words }, i) => {
      const before = names[i] ? `${names[i].textContent}: ` : "You answered ";
      return `${before}${words}${names[i] ? "," : ":"} ${verdicts[i]}.`;
    });
    const isWrong = verdicts.some((verdict) => !/^(right|close)/.test(verdict));
    const isRight = verdicts.every((verdict) => verdict === "right");
    say(form, told.join(" "), isWrong ? "bad" : isRight ? "good" : "");
    return { isWrong, isRight };
  }

  // Shows the next hint. Returns whether none is left.
  function hint(form, hints) {
    const count = form.querySelectorAll(".hint").length;
    if (count === hints.length) return true;
    const words = `Hint ${count + 1} of ${hints.length}: ${hints[count]}`;
    part(form, ".reading").append(" ", span("hint", words));
    return false;
  }

  function offerSolution(form) {
    if (part(form, ".reveal")) return;
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "reveal", textContent: "Show the solution" });
    button.addEventListener("click", () => {
      const details = form.closest("li").querySelector(".solution");
      details.open = true;
      details.firstChild.focus();
    });
    part(form, "[type=submit]").after(button);
  }

  async function answer(form) {
    const texts = bookGuess.textsOf(form);
    const field = unread(form, texts);
    if (field) {
      field.focus();
      return;
    }
    let found;
    try {
      found = await answersTo(form);
    } catch {
      say(form, "The answer cannot be loaded. Try again.");
      return;
    }
    const { hints, right } = found;
    if (!right) {
      say(form, "The solution has nothing to compare in this framework.");
      offerSolution(form);
      return;
    }
    const compared = compare(form, texts, right);
    const { isWrong, isRight } = tell(form, compared);
    if (isRight || (isWrong && hint(form, hints))) offerSolution(form);
    await Promise.all(["tally.css", "record.js"].map(bookLoad));
    bookRecord.show([[keyOf(form), texts.join(" | "), compared]]);
  }

  function kept() {
    try {
      return JSON.parse(bookKept("record")) ?? {};
    } catch {
      return {}; // The stored text is damaged.
    }
  }

  for (const [i, form] of forms.entries()) {
    part(form, ".reading").id = `answer-${i}`;
    for (const field of form.querySelectorAll("input"))
      field.setAttribute("aria-describedby", `answer-${i}`);
    const entry = kept()[keyOf(form)];
    if (entry) say(form, `You answered ${entry.text}: ${entry.verdict}.`);
  }
  Object.assign(window, { bookExercise: answer });
})();
