// What the kernel says of the fit, drawn below the points: boundary, margins, slack, ellipses,
// residuals, the vector theta, and the witnesses of a proof.
import { fill, shape } from "./dom.js";

function pathOf(view, part) {
  return part.map((point, i) => `${i ? "L" : "M"}${view.toPixels(point).map((v) => v.toFixed(1)).join(" ")}`).join("");
}

export function coefficients(theta) {
  if (!theta) return null;
  const [w1, w2, b] = Array.isArray(theta) ? theta : [...theta.coef, theta.intercept];
  return { w: [w1, w2], b: b ?? 0 };
}

function straight(view, theta, value, kind) {
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

// From a point to the line f = ±1 of its own class, as long as its slack says.
function slackLines(view, state, answer, theta) {
  const { slack } = answer.points;
  const length = theta ? theta.w[0] ** 2 + theta.w[1] ** 2 : 0;
  if (!slack || !(length > 0)) return [];
  const largest = Math.max(...state.points.map(([, , c]) => c));
  return state.points.map(([x, y, c], i) => {
    if (!(slack[i] > 0)) return null;
    const side = answer.pair ? (c === answer.pair[1] ? 1 : -1) : c === largest ? 1 : -1;
    const short = side * slack[i];
    const [x1, y1] = view.toPixels([x, y]);
    const [x2, y2] = view.toPixels([x + (short * theta.w[0]) / length, y + (short * theta.w[1]) / length]);
    return shape("line", { class: `slack class-${c}`, x1, y1, x2, y2 });
  });
}

function residualSquares(view, state, answer) {
  const { residual } = answer.points;
  if (!residual || state.model !== "regression") return [];
  return state.points.map(([x, y], i) => {
    const [px, py] = view.toPixels([x, y]);
    const [, qy] = view.toPixels([x, y - residual[i]]);
    const side = Math.abs(qy - py);
    const toLeft = px + side > view.right;
    return shape(
      "g",
      { class: "residual" },
      shape("rect", { x: toLeft ? px - side : px, y: Math.min(py, qy), width: side, height: side }),
      shape("line", { x1: px, y1: py, x2: px, y2: qy }),
    );
  });
}

function ellipseShapes(view, ellipses) {
  return ellipses.flatMap(({ class: c, center, axes, angle }) => {
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    return [1, 2].map((times) => {
      const around = Array.from({ length: 73 }, (_, k) => {
        const t = (k * Math.PI) / 36;
        const [u, v] = [times * axes[0] * Math.cos(t), times * axes[1] * Math.sin(t)];
        return [center[0] + u * cos - v * sin, center[1] + u * sin + v * cos];
      });
      return shape("path", { class: `ellipse times-${times} class-${c}`, d: `${pathOf(view, around)}Z` });
    });
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
  if (show.residuals) parts.push(...residualSquares(view, state, answer));
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
