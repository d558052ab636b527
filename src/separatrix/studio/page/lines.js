// What the kernel says of the fit, drawn below the points: boundary, margins, slack, ellipses,
// residuals, the vector theta, and the witnesses of a proof.
import { fill, shape } from "./dom.js";

// Of more squares than these each is fainter.
const MANY_SQUARES = 30;

function pathOf(view, part) {
  return part.map((point, i) => `${i ? "L" : "M"}${view.toPixels(point).map((v) => v.toFixed(1)).join(" ")}`).join("");
}

export function coefficients(theta) {
  if (!theta) return null;
  const [w1, w2, b] = Array.isArray(theta) ? theta : [...theta.coef, theta.intercept];
  return { w: [w1, w2], b: b ?? 0 };
}

export function straight(view, theta, value, kind) {
  const ends = view.ends(theta.w, theta.b, value);
  if (!ends) return null;
  const [[x1, y1], [x2, y2]] = ends;
  return shape("line", { class: kind, x1, y1, x2, y2 });
}

function levelLines(view, lines, show) {
  return lines
    .filter((line) => line.kind !== "margin" || show.margin)
    .map((line) => {
      const d = line.parts.map((part) => pathOf(view, part)).join("");
      return d ? shape("path", { class: `level ${line.kind}`, "data-level": line.level, d }) : null;
    });
}

function sideOf(state, answer, c) {
  const [, positive] = answer.pair ?? [0, Math.max(...state.points.map((point) => point[2]))];
  return c === positive ? 1 : -1;
}

// From a point of class c to the line f = ±1 of its own class, in pixels.
function toOwnLine(view, theta, [x, y], by) {
  const length = theta.w[0] ** 2 + theta.w[1] ** 2;
  return view.toPixels([x + (by * theta.w[0]) / length, y + (by * theta.w[1]) / length]);
}

// The nearest place to a pixel on lines through pixels.
function nearestOn(parts, [px, py]) {
  let best = null;
  let least = Infinity;
  for (const part of parts) {
    for (let k = 1; k < part.length; k += 1) {
      const [[ax, ay], [bx, by]] = [part[k - 1], part[k]];
      const [dx, dy] = [bx - ax, by - ay];
      const along = Math.min(1, Math.max(0, ((px - ax) * dx + (py - ay) * dy) / (dx * dx + dy * dy || 1)));
      const [x, y] = [ax + along * dx, ay + along * dy];
      const far = Math.hypot(x - px, y - py);
      if (far < least) [best, least] = [[x, y], far];
    }
  }
  return best;
}

// A point short of the margin line of its class is joined to it: as far as its slack says where
// the line is straight, to the nearest place of a curve.
export function slackLines(view, state, answer, theta) {
  const { slack } = answer.points;
  if (!slack) return [];
  const isStraight = theta && Math.hypot(...theta.w) > 0;
  const curve = (side) => (answer.lines ?? []).filter(({ level }) => level === side).flatMap(({ parts }) => parts.map((part) => part.map((p) => view.toPixels(p))));
  const curves = isStraight ? null : { "-1": curve(-1), 1: curve(1) };
  return state.points.map(([x, y, c], i) => {
    if (!(slack[i] > 1e-6)) return null;
    const side = sideOf(state, answer, c);
    const [x1, y1] = view.toPixels([x, y]);
    const end = isStraight ? toOwnLine(view, theta, [x, y], side * slack[i]) : nearestOn(curves[side], [x1, y1]);
    return end && shape("line", { class: `slack class-${c}`, x1, y1, x2: end[0], y2: end[1] });
  });
}

// All one way round: where two overlap that are not, a path has a hole.
function oneWayRound(corners) {
  const [[ax, ay], [bx, by], [cx, cy]] = corners;
  return (bx - ax) * (cy - by) - (by - ay) * (cx - bx) < 0 ? corners.toReversed() : corners;
}

// Squares on the ways from points to where the model has them: [class, corners], the way first.
// Few are drawn one by one, so that those that overlap are seen; of many each class is one path.
function drawSquares(squares) {
  const corner = ([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`;
  const group = (c, outlines, ways, more = "") =>
    shape(
      "g",
      { class: `residual class-${c}${more}` },
      shape("path", { class: "square", d: outlines.map((corners) => `M${oneWayRound(corners).map(corner).join("L")}Z`).join("") }),
      shape("path", { class: "way", d: ways.map(([from, to]) => `M${corner(from)}L${corner(to)}`).join("") }),
    );
  if (squares.length <= MANY_SQUARES) return squares.map(([c, corners]) => group(c, [corners], [corners]));
  return [...new Set(squares.map(([c]) => c))].map((c) => {
    const own = squares.filter(([d]) => d === c).map(([, corners]) => corners);
    return group(c, own, own, " many");
  });
}

// Least squares takes f = ±1 for targets: a square on the way from each point to its own.
function targetSquares(view, state, answer, theta) {
  const { margin } = answer.points;
  if (state.model !== "least_squares" || !margin || !theta || !(Math.hypot(...theta.w) > 0)) return [];
  return state.points.flatMap(([x, y, c], i) => {
    if (!Number.isFinite(margin[i])) return [];
    const [px, py] = view.toPixels([x, y]);
    const [qx, qy] = toOwnLine(view, theta, [x, y], sideOf(state, answer, c) * (1 - margin[i]));
    const [dx, dy] = [qx - px, qy - py];
    return [[c, [[px, py], [qx, qy], [qx - dy, qy + dx], [px - dy, py + dx]]]];
  });
}

function residualSquares(view, state, answer) {
  const { residual } = answer.points;
  if (!residual || state.model !== "regression") return [];
  return state.points.flatMap(([x, y], i) => {
    if (!Number.isFinite(residual[i])) return [];
    const [px, py] = view.toPixels([x, y]);
    const [, qy] = view.toPixels([x, y - residual[i]]);
    const side = Math.abs(qy - py) * (px + Math.abs(qy - py) > view.right ? -1 : 1);
    // Of no class: the colour is that of the second, which is not the points'.
    return [[1, [[px, py], [px, qy], [px + side, qy], [px + side, py]]]];
  });
}

function ellipseShapes(view, ellipses) {
  return ellipses.map(({ class: c, center, axes, angle }, i) => {
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    const around = Array.from({ length: 73 }, (_, k) => {
      const t = (k * Math.PI) / 36;
      const [u, v] = [axes[0] * Math.cos(t), axes[1] * Math.sin(t)];
      return [center[0] + u * cos - v * sin, center[1] + u * sin + v * cos];
    });
    const outer = ellipses.slice(0, i).some((one) => one.class === c);
    return shape("path", { class: `ellipse class-${c}${outer ? " outer" : ""}`, d: `${pathOf(view, around)}Z` });
  });
}

// Theta stands on the boundary, where it is nearest to the middle of the picture.
function thetaArrow(view, theta) {
  const [w1, w2] = theta.w;
  const length = w1 * w1 + w2 * w2;
  if (!(length > 0)) return [];
  const [mx, my] = [(view.x[0] + view.x[1]) / 2, (view.y[0] + view.y[1]) / 2];
  const away = (w1 * mx + w2 * my + theta.b) / length;
  const [fx, fy] = view.toPixels([mx - away * w1, my - away * w2]);
  if (!view.holds([fx, fy])) return [];
  const [dx, dy] = [w1 * view.perX, -w2 * view.perY];
  const pixels = Math.hypot(dx, dy);
  const long = Math.min(Math.max(pixels, 26 * view.unit), Math.min(view.width, view.height) / 3);
  const [ux, uy] = [dx / pixels, dy / pixels];
  const [tx, ty] = [fx + ux * long, fy + uy * long];
  const head = `M${tx} ${ty}L${tx - 11 * ux + 5 * uy} ${ty - 11 * uy - 5 * ux}L${tx - 11 * ux - 5 * uy} ${ty - 11 * uy + 5 * ux}Z`;
  return [
    shape("line", { class: "theta", x1: fx, y1: fy, x2: tx - 8 * ux, y2: ty - 8 * uy }),
    shape("path", { class: "theta-head", d: head }),
    shape("text", { class: "theta-name", x: tx + 10 * ux - 4, y: ty + 12 * uy + 4 }, "θ"),
  ];
}

export function drawLines(parent, view, state, shown) {
  const { answer, theta: stepped, isLast } = shown;
  if (!answer) return fill(parent);
  const theta = coefficients(stepped ?? answer.theta);
  const { show } = state;
  const parts = [];
  if (show.ellipses && answer.ellipses) parts.push(...ellipseShapes(view, answer.ellipses));
  if (show.residuals) parts.push(...drawSquares([...residualSquares(view, state, answer), ...targetSquares(view, state, answer, theta)]));
  if (show.slack) parts.push(...slackLines(view, state, answer, theta));
  if (isLast || !stepped) parts.push(...levelLines(view, answer.lines ?? [], show));
  else {
    if (show.margin) for (const side of [-1, 1]) parts.push(straight(view, theta, side, "level margin"));
    parts.push(straight(view, theta, 0, "level boundary"));
  }
  if (show.theta && theta && state.model !== "regression") parts.push(...thetaArrow(view, theta));
  return fill(parent, parts);
}

export function drawWitness(parent, view, state, proof) {
  const parts = [];
  if (proof?.strip?.theta) {
    const theta = coefficients(proof.strip.theta);
    const half = (proof.strip.width / 2) * Math.hypot(...theta.w);
    const [low, high] = [view.ends(theta.w, theta.b, -half), view.ends(theta.w, theta.b, half)];
    if (low && high) {
      const far = Math.hypot(low[0][0] - high[0][0], low[0][1] - high[0][1]);
      const near = Math.hypot(low[0][0] - high[1][0], low[0][1] - high[1][1]);
      const around = far <= near ? [low[0], low[1], high[1], high[0]] : [low[0], low[1], high[0], high[1]];
      parts.push(shape("polygon", { class: "strip", points: around.map((p) => p.join(",")).join(" ") }));
    }
    parts.push(straight(view, theta, 0, "strip-middle"));
  }
  if (proof?.fewest?.theta) parts.push(straight(view, coefficients(proof.fewest.theta), 0, "strip-middle"));
  if (proof?.common) {
    const [cx, cy] = view.toPixels(proof.common.point);
    for (const [i, weight] of proof.common.weights) {
      if (!state.points[i]) continue;
      const [x, y] = view.toPixels(state.points[i]);
      parts.push(shape("line", { class: `common class-${state.points[i][2]}`, x1: cx, y1: cy, x2: x, y2: y, "stroke-width": 1.5 + 4 * weight }));
    }
    parts.push(shape("path", { class: "common-point", d: `M${cx - 7} ${cy}H${cx + 7}M${cx} ${cy - 7}V${cy + 7}` }));
  }
  fill(parent, parts);
}
