/* A warp above the sectors that it touches. */
import { each, path, tag } from "./chart.js";

export const WARP = 32;
const GAP = 5;

/** Return the drawing of sectors in rows: boxes of a height, each with `size` units. */
export const sectorRows = (sectors, size, { top, tall }, width) => {
  const columns = width < 480 ? 4 : 8;
  const wide = (width - 2) / columns;
  const unit = (wide - GAP) / size;
  const placeOf = (at) => {
    const index = sectors.indexOf(Math.floor(at / size));
    const x = 2 + (index % columns) * wide + (at % size) * unit;
    return { x, y: top + Math.floor(index / columns) * (tall + 8) };
  };
  /** Return the boxes of all sectors; `box` draws one. */
  const boxes = (box) =>
    each(sectors, (sector) => {
      const { x, y } = placeOf(sector * size);
      return box(x, y, wide - GAP, tall);
    });
  /** Return the line from a thread to the units from `at` on, and these. */
  const read = (thread, at, units, kind, opacity) => {
    const { x, y } = placeOf(at);
    const box = { x, y, width: units * unit, height: tall };
    const d = `M${((thread + 0.5) * width) / WARP} 34L${x + (units * unit) / 2} ${y}`;
    return tag(
      ...["g", { class: "reads" }],
      path(d, "axis", { "stroke-opacity": opacity }),
      tag("rect", { ...box, class: "box" }),
      tag("rect", { ...box, class: kind }),
    );
  };
  const bottom = top + Math.ceil(sectors.length / columns) * (tall + 8);
  return { boxes, read, bottom };
};
