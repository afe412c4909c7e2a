// Starts a deck, with the size of slides in book/slides/layout.py and no transitions.
Reveal.initialize({
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
});

// A figure that can be changed takes the place of its picture and of what else is below the
// title. The scripts of figures fill this object.
const deckFigures = {};

/** @type {NodeListOf<HTMLElement>} */
const figureButtons = document.querySelectorAll("[data-figure]");
for (const button of figureButtons) {
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
}
