// From data to pixels and back; pan, zoom, and one scale for both axes; the axes themselves.
import { fill, shape } from "./dom.js";
import { clamp, roundTicks, tickTexts } from "./numbers.js";

const CLOSEST = 1e-12;
const FARTHEST = 1e9;
// Of how far the middle is: closer, and numbers have no digits left to tell places apart.
const CLOSEST_OF_MIDDLE = 1e-10;
// How many times longer than the other axis one can be with one scale for both.
const STREAK = 4;

function shortened(name) {
  return name.length > 30 ? `${name.slice(0, 29)}…` : name;
}

export class View {
  constructor(wanted) {
    this.wanted = wanted;
    this.resize(640, 480);
  }

  // `unit` is the size of the letters, 1 for 16 pixels: on a wall all of it is larger.
  resize(width, height, unit = 1) {
    this.unit = unit;
    this.width = Math.max(width, 120);
    this.height = Math.max(height, 120);
    this.small = this.width < 520;
    this.leastLeft = unit * (this.small ? 40 : 46);
    this.right = this.width - 10;
    this.top = 10;
    this.bottom = this.height - unit * (this.small ? 30 : 38);
    this.settle();
  }

  want(wanted) {
    this.wanted = wanted;
    this.settle();
  }

  // The numbers at the left have as much room as they need.
  settle() {
    this.left = this.leastLeft;
    this.spread();
    const longest = Math.max(0, ...this.ticks("y").texts.map((text) => text.length));
    const needed = Math.min(12 + 7.2 * this.unit * longest, this.width / 3);
    if (needed <= this.left) return;
    this.left = needed;
    this.spread();
  }

  ticks(axis, name = "") {
    const { left, right, top, bottom, unit } = this;
    const [length, each] = axis === "x" ? [right - left, 80 * unit] : [bottom - top, 70 * unit];
    const places = roundTicks(...this[axis], clamp(Math.round(length / each), 2, 12));
    return { places, ...tickTexts(places, name) };
  }

  // With one scale for both axes, the view widens around its middle to the shape of the picture.
  spread() {
    let [x0, x1] = this.wanted.x;
    let [y0, y1] = this.wanted.y;
    if (this.wanted.lock) {
      const scale = Math.max((x1 - x0) / (this.right - this.left), (y1 - y0) / (this.bottom - this.top));
      const [halfX, halfY] = [(scale * (this.right - this.left)) / 2, (scale * (this.bottom - this.top)) / 2];
      const [midX, midY] = [(x0 + x1) / 2, (y0 + y1) / 2];
      [x0, x1, y0, y1] = [midX - halfX, midX + halfX, midY - halfY, midY + halfY];
    }
    this.x = [x0, x1];
    this.y = [y0, y1];
    this.perX = (this.right - this.left) / (x1 - x0);
    this.perY = (this.bottom - this.top) / (y1 - y0);
  }

  get state() {
    // Nine digits of the width, wherever the middle is.
    const round = ([low, high]) => {
      const most = Math.max(Math.abs(low), Math.abs(high));
      const digits = clamp(9 + Math.ceil(Math.log10(most / (high - low))), 9, 17);
      return [low, high].map((value) => Number(value.toPrecision(digits)));
    };
    return { x: round(this.x), y: round(this.y), lock: this.wanted.lock };
  }

  // Where the picture is within the axes, and the same pixels within it.
  get frame() {
    const [x, y, width, height] = [this.left, this.top, this.right - this.left, this.bottom - this.top];
    return { x, y, width, height, viewBox: `${x} ${y} ${width} ${height}` };
  }

  toPixels([x, y]) {
    return [this.left + (x - this.x[0]) * this.perX, this.bottom - (y - this.y[0]) * this.perY];
  }

  toData([px, py]) {
    return [this.x[0] + (px - this.left) / this.perX, this.y[0] + (this.bottom - py) / this.perY];
  }

  // Coordinates with no more digits than a pixel shows.
  rounded([x, y]) {
    const places = (per) => clamp(Math.ceil(Math.log10(per)) + 1, 0, 20);
    return [Number(x.toFixed(places(this.perX))), Number(y.toFixed(places(this.perY)))];
  }

  holds([px, py]) {
    return px >= this.left && px <= this.right && py >= this.top && py <= this.bottom;
  }

  // The nearest place within the frame, a pixel from its edge: what is there is seen.
  inside([px, py]) {
    return [clamp(px, this.left + 1, this.right - 1), clamp(py, this.top + 1, this.bottom - 1)];
  }

  panned([dx, dy]) {
    const move = (range, by) => range.map((value) => value - by);
    return { ...this.wanted, x: move(this.x, dx / this.perX), y: move(this.y, -dy / this.perY) };
  }

  zoomed(factor, at = [(this.left + this.right) / 2, (this.top + this.bottom) / 2]) {
    const [x, y] = this.toData(at);
    const width = (this.x[1] - this.x[0]) * factor;
    if (factor < 1 ? width < Math.max(CLOSEST, CLOSEST_OF_MIDDLE * Math.max(Math.abs(x), Math.abs(y))) : width > FARTHEST) return this.wanted;
    const about = (range, middle) => range.map((value) => middle + (value - middle) * factor);
    return { ...this.wanted, x: about(this.x, x), y: about(this.y, y) };
  }

  // The view that holds all points, with some room around them; of other points than before one
  // scale serves both axes, unless they would be a streak.
  fitted(points, { anew = false } = {}) {
    if (!points.length) return { ...this.wanted, x: [-4, 4], y: [-4, 4] };
    const range = (k) => {
      const values = points.map((point) => point[k]);
      const [low, high] = [Math.min(...values), Math.max(...values)];
      const room = (high - low || Math.abs(low) || 1) * 0.18;
      return [low - room, high + room];
    };
    const [x, y] = [range(0), range(1)];
    const [short, long] = [x[1] - x[0], y[1] - y[0]].toSorted((a, b) => a - b);
    return { x, y, lock: anew ? long <= STREAK * short : this.wanted.lock };
  }

  // The two ends, in pixels, of the line w·x + b = value within the picture; null where it misses.
  ends([w1, w2], b, value = 0) {
    if (!(Math.hypot(w1, w2) > 0)) return null;
    const [[x0, x1], [y0, y1]] = [this.x, this.y];
    const ends = [];
    if (w2 !== 0) for (const x of [x0, x1]) ends.push([x, (value - b - w1 * x) / w2]);
    if (w1 !== 0) for (const y of [y0, y1]) ends.push([(value - b - w2 * y) / w1, y]);
    const [roomX, roomY] = [(x1 - x0) * 1e-9, (y1 - y0) * 1e-9];
    const inside = ends.filter(
      ([x, y]) => x >= x0 - roomX && x <= x1 + roomX && y >= y0 - roomY && y <= y1 + roomY,
    );
    let longest = null;
    let length = 0;
    for (const p of inside) {
      for (const q of inside) {
        const [a, c] = [this.toPixels(p), this.toPixels(q)];
        const between = Math.hypot(a[0] - c[0], a[1] - c[1]);
        if (between > length) [longest, length] = [[a, c], between];
      }
    }
    return longest;
  }
}

// The axes, and below the name of the upper one how many points the largest mark stands for.
export function drawAxes(parent, view, names, most = 1) {
  const { left, right, top, bottom, unit } = view;
  const [across, up] = [view.ticks("x", shortened(names.x)), view.ticks("y", shortened(names.y))];
  const parts = [];
  across.places.forEach((x, k) => {
    const [px] = view.toPixels([x, view.y[0]]);
    parts.push(shape("line", { class: x === 0 ? "grid zero" : "grid", x1: px, x2: px, y1: top, y2: bottom }));
    parts.push(shape("text", { class: "tick", x: px, y: bottom + 15 * unit, "text-anchor": "middle" }, across.texts[k]));
  });
  up.places.forEach((y, k) => {
    const [, py] = view.toPixels([view.x[0], y]);
    parts.push(shape("line", { class: y === 0 ? "grid zero" : "grid", x1: left, x2: right, y1: py, y2: py }));
    parts.push(shape("text", { class: "tick", x: left - 6, y: py + 4 * unit, "text-anchor": "end" }, up.texts[k]));
  });
  parts.push(shape("rect", { class: "frame", x: left, y: top, width: right - left, height: bottom - top }));
  parts.push(shape("text", { class: "axis-name", x: right, y: bottom + unit * (view.small ? 27 : 32), "text-anchor": "end" }, across.of));
  parts.push(shape("text", { class: "axis-name", x: left + 6, y: top + 16 * unit }, up.of));
  if (most > 1) parts.push(shape("text", { class: "tick crowd", x: left + 6, y: top + 32 * unit }, `largest mark: ${most} points`));
  fill(parent, parts);
}
