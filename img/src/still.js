/* Draws the initial state of an interactive figure as a picture for printing.
 *
 * The figure itself makes the drawing. The colors, which a page would define, are written
 * into the picture. The scripts of the figures use this module.
 */
"use strict";

const fs = require("fs");
const path = require("path");

const WIDTH = 640;
const MARGIN = 12;
const EXPLORABLES = path.join(__dirname, "../../static/explorables");

/** Return the CSS rules of a drawing with the colors for paper.
 *
 * Small text is as large as other text, so that it can be read on a slide.
 */
const rules = () => {
  const css = fs.readFileSync(path.join(EXPLORABLES, "explorables.css"), "utf8");
  const drawing = css.split("/* drawing */\n")[1].split("/* end of drawing */")[0];
  return drawing
    .replace(/\/\*.*?\*\/\n/g, "")
    .replace(/var\(--[\w-]+, (#\w+)\)/g, "$1")
    .replace(".small { font-size: 13px; }", ".small { font-size: 14px; }");
};

/** Return the drawing with a margin around it, on white. */
const onPaper = (svg) =>
  svg.replace(
    /viewBox="0 0 (\d+) (\d+)" width="\d+" height="\d+"([^>]*)>/,
    (_, width, height, rest) => {
      const [w, h] = [Number(width) + 2 * MARGIN, Number(height) + 2 * MARGIN];
      const corner = `x="${-MARGIN}" y="${-MARGIN}"`;
      return (
        `viewBox="${-MARGIN} ${-MARGIN} ${w} ${h}" width="${w}" height="${h}"${rest}>` +
        `<style>\n${rules()}</style>` +
        `<rect ${corner} width="${w}" height="${h}" rx="8" fill="#ffffff"/>`
      );
    },
  );

/** Return the picture of a figure, with its description, and one element on a line. */
const svgOf = (name) => {
  const { first } = require(path.join(EXPLORABLES, "controls.js"));
  const { default: spec } = require(path.join(EXPLORABLES, `${name}.js`));
  const state = first(spec);
  const told = spec.summary ? `<desc>${spec.summary(state)}</desc>` : "";
  const drawing = onPaper(spec.draw(state, WIDTH - 2 * MARGIN));
  return `${drawing.replace("<style>", `${told}<style>`).replace(/><(?=\w)/g, ">\n<")}\n`;
};

/** Write img/NAME.svg. */
const still = (name) =>
  fs.writeFileSync(path.join(__dirname, `../${name}.svg`), svgOf(name));

module.exports = Object.assign(still, { svgOf });
