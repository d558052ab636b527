// A class has a colour, a shape and a key, everywhere alike.
import { element, shape } from "./dom.js";

export const MARKS = ["circle", "square", "triangle", "diamond"];

const OUTLINES = {
  circle: (r) => `M${r} 0A${r} ${r} 0 1 1 ${-r} 0A${r} ${r} 0 1 1 ${r} 0Z`,
  square: (r) => {
    const a = 0.88 * r;
    return `M${-a} ${-a}H${a}V${a}H${-a}Z`;
  },
  triangle: (r) => `M0 ${-1.22 * r}L${1.12 * r} ${0.78 * r}H${-1.12 * r}Z`,
  diamond: (r) => `M0 ${-1.28 * r}L${1.16 * r} 0L0 ${1.28 * r}L${-1.16 * r} 0Z`,
};

export function markPath(c, r) {
  return OUTLINES[MARKS[c % MARKS.length]](r);
}

export function markRadius(n) {
  return n <= 60 ? 7.5 : n <= 200 ? 6 : n <= 700 ? 4.8 : 3.6;
}

export function keyMark(c) {
  return shape(
    "svg",
    { class: "key-mark", viewBox: "-11 -11 22 22", "aria-hidden": "true", focusable: "false" },
    shape("path", { class: `mark class-${c}`, d: markPath(c, 7.5) }),
  );
}

export function keyOfClasses(names) {
  return element(
    "ul",
    { class: "key", "aria-label": "Key of the classes" },
    names.map((name, c) => element("li", {}, keyMark(c), element("span", {}, name))),
  );
}
