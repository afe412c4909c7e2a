// The rules of the HTML standard and html-validate's recommendations, except for style,
// which every tool may choose.
export default {
  extends: ["html-validate:standard", "html-validate:recommended"],
  rules: {
    "attr-case": "off",
    "attribute-boolean-style": "off",
    "no-trailing-whitespace": "off",
    "void-style": "off",
  },
};
