
// Runs in the head, before anything is painted, so that nothing moves: the reader's
// framework, machine and colours, from the address, from storage, or the first of each.
((root, known) => {
  const address = new URLSearchParams(location.search);
  const kept = (key) => {
    try {
      return localStorage.getItem(key);
    } catch {
      return null; // storage is blocked
    }
  };
  for (const [key, values] of Object.entries(known)) {
    const wanted = [address.get(key), kept(key)];
    root.dataset[key] = wanted.find((value) => values.includes(value)) ?? values[0];
  }
  root.classList.replace("no-js", "js");

  // Ask for the fonts now: one that is late is not used on this page (book.css). From a
  // disk a browser refuses to fetch them so, but none is late by much: wait for them.
  const faces = {
    text: {},
    "text-italic": { style: "italic" },
    "text-bold": { weight: "600" },
  };
  for (const [face, descriptors] of Object.entries(faces)) {
    const href = `${root.dataset.root}_static/fonts/${face}.woff2`;
    if (location.protocol === "file:") {
      const waits = { ...descriptors, display: "block" };
      document.fonts.add(new FontFace("Book Text", `url("${href}")`, waits));
      continue;
    }
    const kind = { rel: "preload", as: "font", type: "font/woff2", crossOrigin: "" };
    const link = document.createElement("link");
    document.head.append(Object.assign(link, kind, { href }));
  }
})(document.documentElement, KNOWN);
