// Starts a deck. The size is that of book/slides/layout.py; no slide moves.
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
  plugins: [RevealNotes],
});
