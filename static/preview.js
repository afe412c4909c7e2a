// Previews: a box near a reference shows the figure, table, equation or source.
//
// The box is a tooltip. It describes the link, contains nothing to click, can be pointed
// at, and remains until the reader presses Esc or moves away.

(() => {
  const root = document.documentElement;
  const all = (selector, /** @type {ParentNode} */ within = document) => [...within.querySelectorAll(selector)];

  const SHOWN = "figure, table, div.math[id], .citation";
  const preview = Object.assign(document.createElement("div"), { id: "preview", className: "preview" });
  let previewed = null; // the link whose preview is shown
  let timer = 0;

  // Returns the element that a label names. The label may be an empty element before the
  // element or inside it.
  function labeledElement(label) {
    const next = label?.matches("span:empty") ? label.nextElementSibling : null;
    return label?.closest(SHOWN) ?? (next?.matches(SHOWN) ? next : null);
  }

  async function previewContent(link) {
    await bookLoad("previews.css");
    const here = new URL(location.href);
    const there = new URL(link.href);
    if (here.pathname === there.pathname) {
      const target = labeledElement(bookTarget(there.hash));
      return target && copyForPreview(target);
    }
    await bookLoad("previews.js");
    const base = new URL(root.dataset.root || ".", here).pathname;
    const html = bookPreviews[there.pathname.slice(base.length) + there.hash];
    if (!html) return null;
    const box = Object.assign(document.createElement("template"), { innerHTML: html });
    for (const image of all("img", box.content)) {
      image.setAttribute("src", root.dataset.root + image.getAttribute("src"));
    }
    return box.content;
  }

  // Returns a copy without links, ids and controls. An interactive figure is copied as its
  // picture.
  function copyForPreview(target) {
    const copied = target.cloneNode(true);
    if (target.dataset.explorable) copied.replaceChildren(...all("img, figcaption", copied));
    copied.classList.remove("live"); // whose picture is hidden
    all(".headerlink, button, span:empty", copied).forEach((extra) => extra.remove());
    for (const link of all("a", copied)) link.replaceWith(...link.childNodes);
    for (const part of [copied, ...all("*", copied)]) {
      ["id", "loading", "hidden", "tabindex", "data-explorable"].forEach((a) => part.removeAttribute(a));
    }
    return copied;
  }

  async function showPreview(link, isTapped = false) {
    const content = await previewContent(link);
    if (!content || !(isTapped || link.matches(":hover, :focus-visible"))) return;
    hidePreview();
    previewed = link;
    link.removeAttribute("title"); // or the browser would show a tooltip of its own
    link.setAttribute("aria-describedby", "preview");
    preview.replaceChildren(content);
    preview.showPopover();
    placePreview();
  }

  function hidePreview() {
    clearTimeout(timer);
    if (!previewed) return;
    previewed.removeAttribute("aria-describedby");
    previewed = null;
    preview.hidePopover();
  }

  // Places the box below or above the link, wherever there is more room, in the window.
  function placePreview() {
    if (!previewed) return;
    const at = previewed.getBoundingClientRect();
    const room = { above: at.top - 12, below: innerHeight - at.bottom - 12 };
    preview.style.maxHeight = "";
    const { offsetWidth: width, offsetHeight: height } = preview;
    const isBelow = room.below >= height || room.below >= room.above;
    const shown = Math.max(80, Math.min(height, isBelow ? room.below : room.above));
    preview.style.maxHeight = `${shown}px`;
    preview.style.top = `${isBelow ? at.bottom + 4 : at.top - shown - 4}px`;
    preview.style.left = `${Math.max(8, Math.min(at.left, innerWidth - width - 8))}px`;
  }

  function later(action, delay) {
    clearTimeout(timer);
    timer = setTimeout(action, delay);
  }

  function prepareLinks(within) {
    for (const link of all('a.reference.internal[href*="#"]', within)) {
      link.addEventListener("pointerenter", (event) => {
        if (event.pointerType !== "touch") later(() => showPreview(link), 200);
      });
      link.addEventListener("pointerleave", () => later(hidePreview, 200));
      link.addEventListener("focus", () => link.matches(":focus-visible") && showPreview(link));
      link.addEventListener("blur", hidePreview);
    }
    for (const term of all("a.term", within)) {
      term.addEventListener("click", (event) => tapTerm(event, term));
    }
  }

  // The first tap on a term shows its entry in the glossary, and the second goes there.
  function tapTerm(event, term) {
    if (event.pointerType !== "touch" || previewed === term) return;
    event.preventDefault();
    hidePreview();
    showPreview(term, true);
  }

  function preparePreviews() {
    preview.setAttribute("role", "tooltip");
    preview.popover = "manual";
    document.body.append(preview);
    prepareLinks(document.querySelector("main"));
    document.addEventListener("book:added", ({ detail }) => prepareLinks(detail));
    preview.addEventListener("pointerenter", () => clearTimeout(timer));
    preview.addEventListener("pointerleave", () => later(hidePreview, 200));
    document.addEventListener("keydown", (event) => event.key === "Escape" && hidePreview());
    addEventListener("scroll", placePreview, { passive: true });
    addEventListener("resize", placePreview);
    document.addEventListener("pointerdown", ({ target }) => {
      const isOutside = target instanceof Element && !target.closest("a.term, #preview");
      if (isOutside && previewed?.matches(".term")) hidePreview();
    });
  }

  preparePreviews();
})();
