// The points: drawn, named for those who listen, and moved from the keyboard.
import { reconcile, setAttributes, shape } from "./dom.js";
import { clamp, written } from "./numbers.js";
import { markPath, markRadius } from "./marks.js";

export function moved(points, i, [x, y]) {
  const next = points.slice();
  next[i] = [x, y, points[i][2]];
  return next;
}

export function without(points, gone) {
  return points.filter((_, i) => !gone.has(i));
}

// What is known of a point, in a line.
export function describePoint(state, shown, i) {
  const point = state.points[i];
  if (!point) return "";
  const [x, y, c] = point;
  const { names } = state;
  const parts = [`Point ${i + 1} of ${state.points.length}`];
  if (state.model !== "regression") parts.push(`class ${names.classes[c]}`);
  parts.push(`${names.x} ${written(x, 4)}, ${names.y} ${written(y, 4)}`);
  const known = shown.answer?.points;
  if (known?.mistake?.length === state.points.length) {
    const say = (word, values) => {
      if (values && values[i] !== null && values[i] !== undefined) parts.push(`${word} ${written(values[i])}`);
    };
    say("margin", known.margin);
    say("slack", known.slack);
    say("residual", known.residual);
    say("α =", known.alpha);
    if (known.kind?.[i] && known.kind[i] !== "none") parts.push(known.kind[i] === "bound" ? "support vector at C" : "support vector");
    const { rows = [], missed = [] } = shown.answer.test ?? {};
    if (rows.includes(i)) parts.push("held out");
    if (known.mistake?.[i] || missed[rows.indexOf(i)]) parts.push("a mistake");
    if (shown.answer.missed?.length === state.points.length) parts.push(`missed in ${shown.answer.missed[i]} of ${shown.answer.draws} draws`);
  }
  return parts.join(" · ");
}

// The points that are held out, each with whether it is a mistake.
export function heldOutIn({ points }, { answer }) {
  const { rows = [], missed = [] } = answer?.points?.mistake?.length === points.length ? (answer.test ?? {}) : {};
  return new Map(rows.map((row, k) => [row, Boolean(missed[k])]));
}

// Points may lie on one another: of each, how many are at its place, and how many look like it.
export function crowds({ points, model }, held) {
  const columns = new Map();
  const look = (c, i) => 2 * (model === "regression" ? 0 : c) + held.has(i);
  const places = points.map(([x, y, c], i) => {
    if (!columns.has(x)) columns.set(x, new Map());
    const column = columns.get(x);
    if (!column.has(y)) column.set(y, { all: 0, own: Array(8).fill(0) });
    const place = column.get(y);
    place.all += 1;
    place.own[look(c, i)] += 1;
    return place;
  });
  return points.map(([, , c], i) => ({ all: places[i].all, own: places[i].own[look(c, i)] }));
}

export function othersThere({ all }) {
  return all > 1 ? ` · ${all - 1} more at this place` : "";
}

// The area of a mark is as many times larger as there are points; a hundred would hide all else.
const LARGEST = 5;

export class Points {
  constructor(app, group) {
    this.app = app;
    this.group = group;
    this.focused = -1;
    // On the surface: a browser takes a group that listens for focus for one to be focused.
    const { surface } = app;
    surface.addEventListener("keydown", (event) => this.key(event));
    surface.addEventListener("keyup", () => app.store.end());
    surface.addEventListener("focusin", ({ target }) => this.attend(this.indexOf(target)));
    surface.addEventListener("focusout", () => {
      app.store.end();
      this.attend(-1);
    });
  }

  indexOf(target) {
    const node = target.closest?.(".point");
    return node ? [...this.group.children].indexOf(node) : -1;
  }

  attend(i) {
    this.focused = i;
    this.app.point(i);
  }

  focus(i) {
    this.group.children[clamp(i, 0, this.group.children.length - 1)]?.focus({ preventScroll: true });
  }

  // `there` are the crowds, and `held` the points that are held out.
  draw(there, held) {
    const { view, store, shown } = this.app;
    const { points, model, show } = store.state;
    const known = shown.answer?.points;
    const knows = known?.mistake?.length === points.length ? known : null;
    const plain = markRadius(points.length) * view.unit;
    const visited = shown.visit ?? -1;
    const had = this.focused;
    if (had >= points.length) this.leave();
    reconcile(
      this.group,
      points,
      () =>
        shape(
          "g",
          { role: "img", tabindex: "0", "aria-roledescription": "point" },
          shape("path", { class: "halo" }),
          shape("path", { class: "mark" }),
          shape("path", { class: "cross" }),
        ),
      (node, [x, y, c], i) => {
        const [px, py] = view.toPixels(shown.moved?.[i] ?? [x, y]);
        const isSeen = view.holds([px, py]);
        // What is not seen cannot have the focus, which would fall to the page.
        if (i === had && !isSeen) this.leave();
        const kind = show.support && knows?.kind ? knows.kind[i] : "none";
        const classes = ["point", `class-${model === "regression" ? 0 : c}`, `support-${kind}`];
        if (held.has(i)) classes.push("held-out");
        if (knows?.mistake?.[i] || held.get(i)) classes.push("mistaken");
        if (i === visited) classes.push("visited");
        if (there[i].all > there[i].own) classes.push("shared");
        setAttributes(node, {
          class: classes.join(" "),
          transform: `translate(${px.toFixed(2)} ${py.toFixed(2)})`,
          "aria-label": describePoint(store.state, shown, i) + othersThere(there[i]),
          "data-index": i,
          visibility: isSeen ? null : "hidden",
        });
        const form = model === "regression" ? 0 : c;
        const r = plain * Math.min(Math.sqrt(there[i].own), LARGEST);
        const drawn = `${form} ${r}`;
        if (node.drawn !== drawn) {
          node.drawn = drawn;
          const [halo, mark, cross] = node.children;
          halo.setAttribute("d", markPath(form, r + 4.5 * view.unit));
          mark.setAttribute("d", markPath(form, r));
          const a = r * 0.48;
          cross.setAttribute("d", `M${-a} ${-a}L${a} ${a}M${a} ${-a}L${-a} ${a}`);
        }
      },
    );
  }

  leave() {
    this.app.surface.focus({ preventScroll: true });
    this.app.voice.announce("The point is no longer in the picture; the canvas has the focus.");
  }

  key(event) {
    const i = this.indexOf(event.target);
    if (i < 0 || event.ctrlKey || event.metaKey || event.altKey || this.app.isReplay) return;
    const { store, view } = this.app;
    const arrow = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (arrow) {
      const pixels = event.shiftKey ? 40 : 8;
      const [x, y] = store.state.points[i];
      const [px, py] = view.toPixels([x, y]);
      const to = view.rounded(view.toData(view.inside([px + arrow[0] * pixels, py - arrow[1] * pixels])));
      store.begin();
      store.change({ points: moved(store.state.points, i, to) });
      this.app.point(i);
    } else if (event.key === "Delete" || event.key === "Backspace") {
      store.change({ points: without(store.state.points, new Set([i])) });
      this.app.voice.announce(`Point ${i + 1} erased.`);
      if (store.state.points.length) this.focus(Math.min(i, store.state.points.length - 1));
      else this.app.surface.focus();
    } else if (/^[1-4]$/.test(event.key) && Number(event.key) <= store.state.names.classes.length) {
      const c = Number(event.key) - 1;
      const points = store.state.points.slice();
      points[i] = [points[i][0], points[i][1], c];
      store.change({ points });
      this.app.voice.announce(`Point ${i + 1} is now of class ${store.state.names.classes[c]}.`);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
