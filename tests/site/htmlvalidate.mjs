// What html-validate holds every page to: the HTML standard, and its own
// recommendations but for these.
export default {
  extends: ["html-validate:standard", "html-validate:recommended"],
  rules: {
    // Docutils closes its images, <img ... />; the standard allows both.
    "void-style": "off",
    // What a cell printed stays as it was printed.
    "no-trailing-whitespace": "off",
  },
};
