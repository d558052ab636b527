// Features that linear models are lifted by, and the lift in three dimensions, which can be turned.
import { element, fill, setAttributes, shape } from "./dom.js";
import { clamp, written } from "./numbers.js";
import { markPath } from "./marks.js";

const MOST_POINTS = 300;

// The part of a polygon whose heights are in a range.
function within(corners, [low, high]) {
  const cut = (kept, end, sign) =>
    kept.flatMap((p, k) => {
      const q = kept[(k + 1) % kept.length];
      const [a, b] = [sign * (p[2] - end), sign * (q[2] - end)];
      const crossing = a > 0 !== b > 0 ? [p.map((value, axis) => value + (a / (a - b)) * (q[axis] - value))] : [];
      return a > 0 ? [p, ...crossing] : crossing;
    });
  return cut(cut(corners, low, 1), high, -1);
}

export class Features {
  constructor(app) {
    this.app = app;
    const { features = {}, lifted = [] } = app.model.get("seed_tables") ?? {};
    this.lifted = lifted;
    this.boxes = Object.keys(features).map((name) => element("input", { type: "checkbox", "data-feature": name, onchange: () => this.take(name) }));
    const chips = this.boxes.map((box) => element("label", { class: "chip" }, box, features[box.dataset.feature]));
    this.node = element("fieldset", { class: "shown features", disabled: app.isReplay }, element("legend", {}, "Lift by"), chips);
  }

  // The kernel's own coordinates hold the other ones.
  take(name) {
    const chosen = this.boxes.filter((box) => box.checked && (name === "poly" ? box.dataset.feature === name : box.dataset.feature !== "poly"));
    this.app.store.change({ lift: chosen.map((box) => box.dataset.feature) });
  }

  draw() {
    const { model, lift } = this.app.store.state;
    this.node.hidden = !this.lifted.includes(model);
    for (const box of this.boxes) box.checked = lift?.includes(box.dataset.feature) ?? false;
  }
}

export class Lift {
  constructor() {
    this.turn = -0.5;
    this.tilt = 0.42;
    this.node = shape("svg", { class: "chart lift", tabindex: "0", role: "application", "aria-roledescription": "picture in three dimensions", hidden: true });
    this.node.addEventListener("pointerdown", (event) => this.press(event));
    this.node.addEventListener("pointermove", (event) => this.move(event));
    for (const end of ["pointerup", "pointercancel"]) this.node.addEventListener(end, () => (this.from = null));
    this.node.addEventListener("keydown", (event) => this.key(event));
  }

  press(event) {
    this.node.setPointerCapture(event.pointerId);
    this.from = [event.clientX, event.clientY];
  }

  move({ clientX, clientY }) {
    if (!this.from) return;
    const [x, y] = this.from;
    this.from = [clientX, clientY];
    this.rotate((clientX - x) / 110, (clientY - y) / 160);
  }

  key(event) {
    const by = { ArrowLeft: [-0.12, 0], ArrowRight: [0.12, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] }[event.key];
    if (!by) return;
    this.rotate(...by);
    event.preventDefault();
    event.stopPropagation();
  }

  rotate(turn, tilt) {
    this.turn += turn;
    this.tilt = clamp(this.tilt + tilt, 0, Math.PI / 2);
    if (this.data) this.render();
  }

  draw(data, across, note) {
    setAttributes(this.node, { hidden: !data, "aria-label": `${note} The arrow keys turn it.` });
    this.data = data;
    this.across = Math.max(across, 220);
    if (data) this.render();
  }

  // Places of the screen, and how far they are from who looks.
  projection() {
    const { x, y, z } = this.data;
    const [sin, cos] = [Math.sin(this.turn), Math.cos(this.turn)];
    const [up, flat] = [Math.cos(this.tilt), Math.sin(this.tilt)];
    const unit = ([low, high], value) => (2 * (value - low)) / (high - low) - 1;
    const size = 0.3 * this.across;
    const middle = [0.52 * this.across, 0.4 * this.across];
    return ([px, py, pz]) => {
      const [u, v, w] = [unit(x, px), unit(y, py), 0.72 * unit(z, pz)];
      const [a, b] = [u * cos - v * sin, u * sin + v * cos];
      return [middle[0] + size * a, middle[1] - size * (w * up + b * flat), b * up - w * flat];
    };
  }

  render() {
    const { x, y, z, height, points, boundary } = this.data;
    this.node.setAttribute("viewBox", `0 0 ${this.across} ${0.82 * this.across}`);
    const place = this.projection();
    const path = (corners) => corners.map(([px, py], k) => `${k ? "L" : "M"}${px.toFixed(1)} ${py.toFixed(1)}`).join("");
    const parts = [...this.quads("surface", place, path), ...this.quads("sheet", place, path)];
    for (const [px, py, pz, c] of points.slice(0, MOST_POINTS)) {
      const [sx, sy, depth] = place([px, py, pz]);
      parts.push([depth - 0.04, shape("path", { class: `mark class-${c}`, d: markPath(c, 5), transform: `translate(${sx.toFixed(1)} ${sy.toFixed(1)})` })]);
    }
    for (const line of boundary) {
      for (let k = 1; k < line.length; k += 4) {
        const piece = line.slice(k - 1, k + 4);
        if (piece.some(([, , pz]) => pz < z[0] || pz > z[1])) continue;
        const corners = piece.map(place);
        parts.push([corners[0][2] - 0.03, shape("path", { class: "level", d: path(corners) })]);
      }
    }
    parts.sort(([a], [b]) => b - a);
    const corners = [[x[0], y[0]], [x[1], y[0]], [x[1], y[1]], [x[0], y[1]]];
    const floor = corners.map(([px, py]) => place([px, py, z[0]]));
    // The upright axis stands at the corner that is farthest to the left.
    const k = floor.reduce((best, [px], i) => (px < floor[best][0] ? i : best), 0);
    const corner = [floor[k], place([...corners[k], z[1]])];
    const name = ([px, py], text, anchor) => shape("text", { class: "axis-name", x: px, y: py, "text-anchor": anchor }, text);
    // The name of an axis is at the nearer of its two edges.
    const edge = (...ends) => ends.map(([i, j]) => [(floor[i][0] + floor[j][0]) / 2, (floor[i][1] + floor[j][1]) / 2 + 18]).sort(([, a], [, b]) => b - a)[0];
    fill(
      this.node,
      shape("path", { class: "floor", d: `${path(floor)}Z` }),
      shape("path", { class: "floor", d: path(corner) }),
      parts.map(([, node]) => node),
      name(edge([0, 1], [3, 2]), "x", "middle"),
      name(edge([1, 2], [0, 3]), "y", "middle"),
      name([corner[1][0], corner[1][1] - 8], height, "middle"),
      name([corner[1][0] - 5, corner[1][1] + 10], written(z[1]), "end"),
      name([corner[0][0] - 5, corner[0][1]], written(z[0]), "end"),
    );
  }

  // Of the surface each patch has the colour of the class that is predicted there.
  quads(which, place, path) {
    const heights = this.data[which];
    if (!heights) return [];
    const { x, y, z, across, side } = this.data;
    const at = (range, k) => range[0] + ((range[1] - range[0]) * k) / (across - 1);
    const corner = ([i, j]) => [at(x, j), at(y, i), heights[i * across + j]];
    const found = [];
    for (let i = 0; i < across - 1; i += 1) {
      for (let j = 0; j < across - 1; j += 1) {
        const nodes = [[i, j], [i, j + 1], [i + 1, j + 1], [i + 1, j]];
        const corners = within(nodes.map(corner), z).map(place);
        if (!corners.length) continue;
        const depth = corners.reduce((sum, [, , d]) => sum + d, 0) / corners.length;
        const kind = which === "sheet" ? "sheet" : `surface class-${side[i * across + j]}`;
        found.push([depth, shape("path", { class: kind, d: `${path(corners)}Z` })]);
      }
    }
    return found;
  }
}
