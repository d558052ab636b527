// A link that carries the whole state in its fragment. `share.py` reads and writes the same.
const STEPS_ACROSS = 5000;

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
  const { names, view, model, parameters, panel, show } = state;
  return `#s=${toBase64(JSON.stringify({ v: 1, q, p, names, view, model, parameters, panel, show }))}`;
}

// The state of a fragment; null where the fragment carries none, or a broken one.
export function fromFragment(fragment) {
  if (!fragment.startsWith("#s=")) return null;
  try {
    const { v, q, p, ...rest } = JSON.parse(fromBase64(fragment.slice(3)));
    if (v !== 1 || !Array.isArray(p) || p.length % 3 !== 0) return null;
    const [sx, sy] = q.map((k) => 10 ** k);
    const points = [];
    for (let i = 0; i < p.length; i += 3) points.push([p[i] / sx, p[i + 1] / sy, p[i + 2]]);
    if (!points.flat().every(Number.isFinite)) return null;
    return { version: 1, points, ...rest };
  } catch {
    return null;
  }
}
