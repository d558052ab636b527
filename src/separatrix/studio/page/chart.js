// A chart from data: axes, areas, contours, bars, lines, points, and the marker of a step.
import { fill, shape } from "./dom.js";
import { powerTicks, roundTicks, tickTexts, written } from "./numbers.js";
import { markPath } from "./marks.js";

// In pixels of letters of 16: a chart is drawn at the size that it has, so that its letters are as
// large in a wide card as in a narrow one.
function sizeOf(across) {
  const width = Math.max(across, 220);
  const height = Math.min(0.7 * width, 330);
  return { width, height, left: 50, right: width - 10, top: 26, bottom: height - 40 };
}

function extent(values, { log, range }) {
  if (range) return range;
  const usable = values.filter((v) => Number.isFinite(v) && (!log || v > 0));
  if (!usable.length) return log ? [0.1, 1] : [0, 1];
  let low = Infinity;
  let high = -Infinity;
  for (const v of usable) [low, high] = [Math.min(low, v), Math.max(high, v)];
  if (log) return low === high ? [low / 2, high * 2] : [low / (high / low) ** 0.04, high * (high / low) ** 0.04];
  const largest = Math.max(Math.abs(low), Math.abs(high));
  // Differences that are only rounding are none.
  const room = (high - low > 1e-9 * largest ? high - low : Math.max(1, largest)) * 0.05;
  return [low - room, high + room];
}

function axis({ log, label = "" }, [low, high], from, to, whole = false) {
  const measure = log ? Math.log : (v) => v;
  const [a, b] = [measure(low), measure(high)];
  const place = (value) => {
    if (log && !(value > 0)) return from;
    return from + ((measure(value) - a) / (b - a)) * (to - from);
  };
  const even = (ticks) => (whole ? ticks.filter(Number.isInteger) : ticks);
  place.ticks = log ? powerTicks(low, high) : even(roundTicks(low, high, 5));
  place.texts = log ? { texts: place.ticks.map((tick) => written(tick)), of: label } : tickTexts(place.ticks, label);
  return place;
}

function track(xs, ys, placeX, placeY) {
  let d = "";
  let pen = false;
  xs.forEach((x, i) => {
    if (!Number.isFinite(x) || !Number.isFinite(ys[i])) {
      pen = false;
      return;
    }
    d += `${pen ? "L" : "M"}${placeX(x).toFixed(1)} ${placeY(ys[i]).toFixed(1)}`;
    pen = true;
  });
  return d;
}

function band(series, placeX, placeY) {
  const xs = [...series.x, ...series.x.toReversed()];
  const ys = [...series.y, ...(series.y2 ?? series.y.map(() => 0)).toReversed()];
  const outline = track(xs, ys, placeX, placeY);
  return outline && `${outline}Z`;
}

function drawSeries(series, place, k, onpoint) {
  const [placeX, placeY] = place;
  const tone = series.class === undefined || series.class === null ? `tone-${k % 4}` : `class-${series.class}`;
  if (series.kind === "line") return shape("path", { class: `series line ${tone}`, d: track(series.x, series.y, placeX, placeY) });
  if (series.kind === "area") return shape("path", { class: `series area ${tone}`, d: band(series, placeX, placeY) });
  if (series.kind === "bars") {
    const gaps = series.x.slice(1).map((x, i) => Math.abs(placeX(x) - placeX(series.x[i])));
    const width = Math.max(1.5, Math.min(26, 0.72 * Math.min(...gaps, 26)));
    const base = placeY(0);
    return shape(
      "g",
      { class: `series bars ${tone}` },
      series.x.map((x, i) => {
        const top = placeY(series.y[i]);
        return shape("rect", { x: placeX(x) - width / 2, y: Math.min(top, base), width, height: Math.abs(base - top) });
      }),
    );
  }
  return shape(
    "g",
    { class: `series dots ${tone}` },
    series.x.map((x, i) => {
      if (!Number.isFinite(x) || !Number.isFinite(series.y[i])) return null;
      const index = series.index?.[i];
      return shape("path", {
        class: `mark ${tone}`,
        // What is of no class has a form that the marker of a step does not cover.
        d: series.class === undefined ? markPath(3, 7) : markPath(series.class, 4.2),
        transform: `translate(${placeX(x).toFixed(1)} ${placeY(series.y[i]).toFixed(1)})`,
        "data-index": index,
        onpointerenter: index === undefined ? null : () => onpoint(index),
        onpointerleave: index === undefined ? null : () => onpoint(-1),
      });
    }),
  );
}

// Draws `panel` and returns what moves the marker to a step, and what rings a point.
export function drawChart(svg, panel, across, onpoint) {
  const { left, right, top, bottom, width, height } = sizeOf(across);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const series = panel.series ?? [];
  const follow = panel.follow ?? [];
  const stood = follow.filter(Boolean);
  const xs = [...series.flatMap((s) => s.x), ...stood.map((p) => p[0])];
  const ys = [...series.flatMap((s) => [...s.y, ...(s.y2 ?? []), ...(s.kind === "bars" ? [0] : [])]), ...stood.map((p) => p[1])];
  let rangeX = extent(xs, panel.x);
  let rangeY = extent(ys, panel.y);
  if (panel.equal) {
    const scale = Math.max((rangeX[1] - rangeX[0]) / (right - left), (rangeY[1] - rangeY[0]) / (bottom - top));
    const about = ([a, b], pixels) => [(a + b - scale * pixels) / 2, (a + b + scale * pixels) / 2];
    [rangeX, rangeY] = [about(rangeX, right - left), about(rangeY, bottom - top)];
  }
  const placeX = axis(panel.x, rangeX, left, right, xs.every(Number.isInteger));
  const placeY = axis(panel.y, rangeY, bottom, top);
  const parts = [];
  placeX.ticks.forEach((x, k) => {
    parts.push(shape("line", { class: x === 0 ? "grid zero" : "grid", x1: placeX(x), x2: placeX(x), y1: top, y2: bottom }));
    parts.push(shape("text", { class: "tick", x: placeX(x), y: bottom + 15, "text-anchor": "middle" }, placeX.texts.texts[k]));
  });
  placeY.ticks.forEach((y, k) => {
    parts.push(shape("line", { class: y === 0 ? "grid zero" : "grid", x1: left, x2: right, y1: placeY(y), y2: placeY(y) }));
    parts.push(shape("text", { class: "tick", x: left - 6, y: placeY(y) + 4, "text-anchor": "end" }, placeY.texts.texts[k]));
  });
  const inside = shape("svg", { x: left, y: top, width: right - left, height: bottom - top, viewBox: `${left} ${top} ${right - left} ${bottom - top}` });
  (panel.contours ?? []).forEach(({ parts: lines }) => {
    for (const line of lines) inside.append(shape("path", { class: "contour", d: track(line.map((p) => p[0]), line.map((p) => p[1]), placeX, placeY) }));
  });
  const order = { area: 0, bars: 1, line: 2, points: 3 };
  const plain = series.filter((s) => s.class === undefined || s.class === null);
  [...series]
    .sort((a, b) => (order[a.kind] ?? 3) - (order[b.kind] ?? 3))
    .forEach((s) => inside.append(drawSeries(s, [placeX, placeY], Math.max(0, plain.indexOf(s)), onpoint)));
  const marker = shape("circle", { class: "follow", r: 5.5, visibility: "hidden" });
  const rule = shape("line", { class: "follow-rule", y1: top, y2: bottom, visibility: "hidden" });
  inside.append(rule, marker);
  parts.push(inside);
  parts.push(shape("rect", { class: "frame", x: left, y: top, width: right - left, height: bottom - top }));
  parts.push(shape("text", { class: "axis-name", x: right, y: height - 6, "text-anchor": "end" }, placeX.texts.of));
  parts.push(shape("text", { class: "axis-name", x: left, y: top - 9 }, placeY.texts.of));
  fill(svg, parts);
  return {
    step(k) {
      const at = follow[k];
      for (const node of [marker, rule]) node.setAttribute("visibility", at ? "visible" : "hidden");
      if (!at) return;
      marker.setAttribute("cx", placeX(at[0]));
      marker.setAttribute("cy", placeY(at[1]));
      rule.setAttribute("x1", placeX(at[0]));
      rule.setAttribute("x2", placeX(at[0]));
    },
    ring(i) {
      for (const node of inside.querySelectorAll(".dots .mark")) node.classList.toggle("ringed", i >= 0 && node.dataset.index === String(i));
    },
  };
}
