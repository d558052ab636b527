// The field below the points: a small image of a value at each cell, drawn large.
import { clamp } from "./numbers.js";

const STRONGEST = 0.36;

function channels(text) {
  const numbers = text.match(/[\d.]+/g) ?? ["0", "0", "0"];
  const scale = text.startsWith("color(") ? 255 : 1;
  return numbers.slice(0, 3).map((number) => Number(number) * scale);
}

// The colours that the style sheet gives to the classes, under the theme that is on.
export function classColours(root) {
  const probe = document.createElement("span");
  root.append(probe);
  const colours = [0, 1, 2, 3].map((c) => {
    probe.className = `class-colour class-${c}`;
    return channels(getComputedStyle(probe).color);
  });
  probe.remove();
  return colours;
}

function shade(kind, value, largest, colours) {
  if (kind === "class") return [colours[clamp(Math.round(value), 0, 3)], 0.6];
  const signed = kind === "probability" ? 2 * value - 1 : value / largest;
  return [colours[signed < 0 ? 0 : 1], Math.sqrt(Math.min(1, Math.abs(signed)))];
}

export function fieldImage({ columns, rows, values, kind, pair }, colours) {
  const image = new ImageData(columns, rows);
  const two = pair ? [colours[pair[0]], colours[pair[1]]] : colours;
  const sizes = values.map(Math.abs).filter(Number.isFinite).sort((a, b) => a - b);
  const largest = sizes[Math.floor(0.9 * (sizes.length - 1))] || 1;
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      const value = values[row * columns + column];
      const at = 4 * ((rows - 1 - row) * columns + column);
      if (value === null || Number.isNaN(value)) continue;
      const [colour, strength] = shade(kind, value, largest, kind === "class" ? colours : two);
      image.data.set([...colour, 255 * STRONGEST * strength], at);
    }
  }
  return image;
}

export class Field {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.small = document.createElement("canvas");
    this.data = null;
  }

  // `over` is the view that the kernel was asked for: the picture may have moved on since.
  show(data, over, colours) {
    this.data = data;
    this.over = over;
    if (!data) return;
    this.small.width = data.columns;
    this.small.height = data.rows;
    this.small.getContext("2d").putImageData(fieldImage(data, colours), 0, 0);
  }

  draw(view) {
    const ratio = Math.min(globalThis.devicePixelRatio || 1, 2);
    const [width, height] = [Math.round(view.width * ratio), Math.round(view.height * ratio)];
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    const context = this.context;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, view.width, view.height);
    if (!this.data) return;
    context.save();
    context.beginPath();
    context.rect(view.left, view.top, view.right - view.left, view.bottom - view.top);
    context.clip();
    const [x0, y1] = view.toPixels([this.over.x[0], this.over.y[1]]);
    const [x1, y0] = view.toPixels([this.over.x[1], this.over.y[0]]);
    context.imageSmoothingEnabled = this.data.kind !== "class";
    context.imageSmoothingQuality = "high";
    // Values stand at the corners and edges too: half a cell lies outside.
    const [halfX, halfY] = [(x1 - x0) / (this.data.columns - 1) / 2, (y0 - y1) / (this.data.rows - 1) / 2];
    context.drawImage(this.small, x0 - halfX, y1 - halfY, x1 - x0 + 2 * halfX, y0 - y1 + 2 * halfY);
    context.restore();
  }
}
