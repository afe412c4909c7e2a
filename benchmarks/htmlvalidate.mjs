// The HTML standard and html-validate's recommendations, but for those of style, which
// are a tool's own affair.
export default {
  extends: ["html-validate:standard", "html-validate:recommended"],
  rules: {
    "attr-case": "off",
    "attribute-boolean-style": "off",
    "no-trailing-whitespace": "off",
    "void-style": "off",
  },
};
