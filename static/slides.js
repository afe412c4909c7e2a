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
