// Numbers for people, and round numbers for axes.
export function clamp(value, low, high) {
  return Math.min(Math.max(value, low), high);
}

function raised(power) {
  return [...String(Number(power))].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("");
}

export function written(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) {
    const [mantissa, power] = value.toExponential(digits - 1).split("e");
    return `${String(Number(mantissa)).replace("-", "−")} · 10${raised(power)}`;
  }
  const text = String(Number(value.toPrecision(digits)));
  return text.replace("-", "−");
}

export function roundTicks(low, high, count = 6) {
  const span = high - low;
  if (!(span > 0) || !Number.isFinite(span)) return [];
  const rough = span / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * span; k += 1) {
    ticks.push(Number((k * step).toPrecision(15)));
  }
  return ticks;
}

// Of numbers, the one with the fewest digits that are not noughts at the end.
function roundest(values) {
  const digits = (value) => Number(value.toPrecision(15)).toExponential().split("e")[0].length;
  return values.reduce((best, value) => (digits(value) < digits(best) ? value : best));
}

// Short texts of ticks, and `of`: what an axis is that bears them, where that is not its own name.
export function tickTexts(ticks, name = "") {
  if (!ticks.length) return { texts: [], of: name };
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : Math.abs(ticks[0]) || 1;
  const farthest = Math.max(...ticks.map(Math.abs));
  // Digits that all of them share are said once.
  const base = farthest > 2e4 * step && ticks.length > 1 ? roundest(ticks) : 0;
  const rest = ticks.map((t) => Math.round((t - base) / (step / 4)) * (step / 4));
  const largest = Math.max(...rest.map(Math.abs));
  const power = largest > 0 && (largest >= 1e5 || largest < 1e-3) ? Math.floor(Math.log10(largest) + 1e-9) : 0;
  const texts = rest.map((t) => String(Number((t / 10 ** power).toPrecision(6))).replace("-", "−"));
  const moved = base ? `${name} ${base < 0 ? "+" : "−"} ${written(Math.abs(base), 15)}` : name;
  if (!power) return { texts, of: moved };
  return { texts, of: `${base ? `(${moved})` : moved} / 10${raised(power)}` };
}

export function powerTicks(low, high, count = 5) {
  const from = Math.ceil(Math.log10(low) - 1e-9);
  const to = Math.floor(Math.log10(high) + 1e-9);
  const every = Math.max(1, Math.ceil((to - from + 1) / count));
  const ticks = [];
  for (let k = from; k <= to; k += every) ticks.push(10 ** k);
  return ticks.length > 1 ? ticks : roundTicks(low, high, count).filter((t) => t > 0);
}

// Numbers that follow from a seed, so that a brush makes no other points when it is replayed.
export function seeded(seed) {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export function isSame(a, b) {
  return JSON.stringify(a) === JSON.stringify(b);
}
