// A link that carries the whole state in its fragment. `share.py` reads and writes the same.
const STEPS_ACROSS = 5000;
// What the kernel takes; a page with far more of it would not even open.
const MOST_LINKED_POINTS = 2000;
const LONGEST_LINKED_NAME = 200;

function decimals([low, high]) {
  return Math.max(0, Math.ceil(Math.log10(STEPS_ACROSS / (high - low))));
}

function toBase64(text) {
  const bytes = new TextEncoder().encode(text);
  let letters = "";
  for (let i = 0; i < bytes.length; i += 4096) {
    letters += String.fromCharCode(...bytes.subarray(i, i + 4096));
  }
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function fromBase64(text) {
  const letters = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return new TextDecoder("utf-8", { fatal: true }).decode(
    Uint8Array.from(letters, (letter) => letter.charCodeAt(0)),
  );
}

export function toFragment(state) {
  const q = [decimals(state.view.x), decimals(state.view.y)];
  const [sx, sy] = q.map((k) => 10 ** k);
  const p = state.points.flatMap(([x, y, c]) => [Math.round(x * sx), Math.round(y * sy), c]);
  const { names, view, model, parameters, panel, show, test, source, lift, line } = state;
  return `#s=${toBase64(JSON.stringify({ v: 1, q, p, names, view, model, parameters, panel, show, test, source, lift, line: line ?? undefined }))}`;
}

const isNumber = (value) => Number.isFinite(value);
const isText = (value) => typeof value === "string";
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isRange = (ends) => Array.isArray(ends) && ends.length === 2 && ends.every(isNumber) && ends[0] < ends[1];

// What the page takes for granted before the kernel has looked at a state.
function isDrawable({ points, names, view, model, parameters, panel, show, test, source, lift, line }) {
  const classes = names?.classes;
  return (
    Array.isArray(classes) && classes.length >= 2 && classes.length <= 4 && [names.x, names.y, ...classes].every((name) => isText(name) && name.length <= LONGEST_LINKED_NAME) &&
    points.length <= MOST_LINKED_POINTS &&
    points.every(([x, y, c]) => isNumber(x) && isNumber(y) && Number.isInteger(c) && c >= 0 && c < classes.length) &&
    isObject(view) && isRange(view.x) && isRange(view.y) && isText(model) &&
    [parameters, show, test, source ?? undefined].every((part) => part === undefined || isObject(part)) && (panel === undefined || isText(panel)) && (lift === undefined || Array.isArray(lift)) &&
    (line === undefined || line === null || (Array.isArray(line) && line.length === 3 && line.every(isNumber) && Math.hypot(line[0], line[1]) > 0))
  );
}

// The state of a fragment; null where the fragment carries none, or a broken one.
export function fromFragment(fragment) {
  if (!fragment.startsWith("#s=")) return null;
  try {
    const { v, q, p, ...rest } = JSON.parse(fromBase64(fragment.slice(3)));
    if (v !== 1 || !Array.isArray(p) || p.length % 3 !== 0) return null;
    const [sx, sy] = q.map((k) => 10 ** k);
    // Before they are divided: null over a number is 0.
    if (![...p, sx, sy].every(isNumber)) return null;
    const points = [];
    for (let i = 0; i < p.length; i += 3) points.push([p[i] / sx, p[i + 1] / sy, p[i + 2]]);
    const state = { source: null, ...rest, version: 1, points };
    return isDrawable(state) ? state : null;
  } catch {
    return null;
  }
}
