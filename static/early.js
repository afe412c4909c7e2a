
// Runs in the head, before the page is painted. It applies the reader's framework, machine
// and colors; the default is the first of each. The latest choice wins: an address chooses
// when it is opened, but not when the reader comes back to it (book.js marks its `seen`).
((root, known) => {
  const stored = (key) => {
    try {
      return localStorage.getItem(key);
    } catch {
      return null; // storage is blocked
    }
  };
  window.bookApplyChoices = () => {
    const address = new URLSearchParams(location.search);
    const { tab } = root.dataset;
    for (const [key, values] of Object.entries(known)) {
      const choices = [address.get(key), stored(key)];
      if (history.state?.seen) choices.reverse();
      choices.push(root.dataset[key]);
      root.dataset[key] = choices.find((value) => values.includes(value));
    }
    if (root.dataset.beside !== root.dataset.tab) return;
    // An address that names the second framework makes it the first.
    const before = [stored("tab"), tab].find((value) => known.tab.includes(value));
    const isSame = before === root.dataset.tab || address.has("beside");
    root.dataset.beside = isSame ? "none" : before;
  };
  bookApplyChoices();
  root.classList.replace("no-js", "js");

  // Load the fonts now, because a page does not use a font that arrives late (book.css).
  // Browsers do not preload fonts from a disk, but reading them is fast: wait for them.
  const faces = {
    text: {},
    "text-italic": { style: "italic" },
    "text-bold": { weight: "600" },
    math: {},
  };
  for (const [face, descriptors] of Object.entries(faces)) {
    if (face === "math" && !("math" in root.dataset)) continue;
    const family = face === "math" ? "Book Math" : "Book Text";
    const href = `${root.dataset.root}_static/fonts/${face}.woff2`;
    if (location.protocol === "file:") {
      const waits = { ...descriptors, display: "block" };
      document.fonts.add(new FontFace(family, `url("${href}")`, /** @type {any} */ (waits)));
      continue;
    }
    const kind = { rel: "preload", as: "font", type: "font/woff2", crossOrigin: "" };
    const link = document.createElement("link");
    document.head.append(Object.assign(link, kind, { href }));
  }
})(document.documentElement, KNOWN);
