// What a mouse, a pen or fingers do on the canvas, and a crosshair for the keyboard.
import { clamp, seeded } from "./numbers.js";
import { moved, without } from "./points.js";

const REACH = 14;
const BRUSH = 34;
const SPACING = 13;
const STILL = 5;

export class Pointer {
  constructor(app) {
    this.app = app;
    this.down = new Map();
    this.random = seeded(20);
    this.cross = null;
    const { surface } = app;
    surface.addEventListener("pointerdown", (event) => this.press(event));
    surface.addEventListener("pointermove", (event) => this.move(event));
    for (const end of ["pointerup", "pointercancel"]) surface.addEventListener(end, (event) => this.lift(event));
    surface.addEventListener("pointerleave", () => this.app.score.at(null));
    surface.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    surface.addEventListener("keydown", (event) => this.key(event));
    surface.addEventListener("blur", () => this.showCross(null));
  }

  at(event) {
    const box = this.app.surface.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  nearest([px, py], reach) {
    let best = -1;
    let least = reach;
    this.app.store.state.points.forEach((point, i) => {
      const [x, y] = this.app.view.toPixels(point);
      const far = Math.hypot(x - px, y - py);
      if (far <= least) [best, least] = [i, far];
    });
    return best;
  }

  within([px, py], reach) {
    const found = new Set();
    this.app.store.state.points.forEach((point, i) => {
      const [x, y] = this.app.view.toPixels(point);
      if (Math.hypot(x - px, y - py) <= reach) found.add(i);
    });
    return found;
  }

  press(event) {
    if (event.pointerType === "mouse" && event.button > 1) return;
    const at = this.at(event);
    if (!this.app.view.holds(at) && event.pointerType !== "touch") return;
    event.preventDefault();
    this.app.surface.setPointerCapture(event.pointerId);
    this.down.set(event.pointerId, at);
    if (this.down.size === 2) return this.pinch();
    if (this.down.size > 2) return undefined;
    const { store, isReplay } = this.app;
    const tool = isReplay || event.button === 1 ? "pan" : this.app.tool;
    const reach = event.pointerType === "touch" ? 24 : REACH;
    this.act = { tool, from: at, last: at, moved: false, view: store.state.view, index: -1 };
    store.begin();
    if (tool === "point") {
      this.act.index = this.nearest(at, reach);
      if (this.act.index >= 0) this.app.points.focus(this.act.index);
    } else if (tool === "brush") this.spray(at);
    else if (tool === "erase") this.rub(at);
    this.app.surface.classList.toggle("dragging", this.act.index >= 0 || tool === "pan");
    return undefined;
  }

  move(event) {
    const at = this.at(event);
    if (!this.down.has(event.pointerId)) {
      const near = this.app.view.holds(at) ? this.nearest(at, REACH) : -1;
      this.app.surface.classList.toggle("over-point", near >= 0);
      return this.app.score.at(this.app.view.holds(at) ? this.app.view.toData(at) : null, near);
    }
    this.down.set(event.pointerId, at);
    if (this.pinching) return this.spread();
    const { act } = this;
    if (!act) return undefined;
    if (!act.moved && Math.hypot(at[0] - act.from[0], at[1] - act.from[1]) < STILL && act.tool !== "brush") return undefined;
    act.moved = true;
    const { store, view } = this.app;
    if (act.tool === "pan") {
      store.change({ view: view.panned([at[0] - act.last[0], at[1] - act.last[1]]) });
    } else if (act.tool === "point" && act.index >= 0) {
      // Another page, or Python, may have taken the point from under the hand.
      if (act.index >= store.state.points.length) return undefined;
      const to = view.rounded(view.toData(view.inside(at)));
      store.change({ points: moved(store.state.points, act.index, to) });
      this.app.point(act.index);
    } else if (act.tool === "erase") this.rub(at);
    else if (act.tool === "brush" && Math.hypot(at[0] - act.last[0], at[1] - act.last[1]) >= SPACING) this.spray(at);
    else if (act.tool === "brush") return undefined;
    act.last = at;
    return undefined;
  }

  lift(event) {
    if (!this.down.delete(event.pointerId)) return;
    this.app.surface.classList.remove("dragging");
    if (this.pinching) {
      if (!this.down.size) this.pinching = null;
      this.app.store.end();
      return;
    }
    const { act } = this;
    this.act = null;
    if (act && !act.moved && event.type === "pointerup") {
      if (act.tool === "point" && act.index < 0) this.add(this.at(event));
    }
    this.app.store.end();
    this.app.trait.settle();
  }

  // The second finger takes the picture; what the first began is put back.
  pinch() {
    const [a, b] = [...this.down.values()];
    if (this.act && this.act.tool !== "pan") this.app.store.change({ points: (this.app.store.open ?? this.app.store.state).points });
    this.act = null;
    this.pinching = { middle: [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2], apart: Math.hypot(a[0] - b[0], a[1] - b[1]) };
  }

  spread() {
    if (this.down.size < 2) return;
    const [a, b] = [...this.down.values()];
    const middle = [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
    const apart = Math.max(Math.hypot(a[0] - b[0], a[1] - b[1]), 10);
    const { store, view } = this.app;
    const { middle: before, apart: was } = this.pinching;
    store.change({ view: view.panned([middle[0] - before[0], middle[1] - before[1]]) });
    store.change({ view: view.zoomed(was / apart, middle) });
    this.pinching = { middle, apart };
  }

  wheel(event) {
    const at = this.at(event);
    // A page scrolls on, unless the wheel is meant for the picture.
    if (!this.app.view.holds(at) || !(event.ctrlKey || event.metaKey || this.app.surface.contains(document.activeElement))) return;
    event.preventDefault();
    this.app.store.change({ view: this.app.view.zoomed(Math.exp(clamp(event.deltaY, -240, 240) / 500), at) }, { keep: false });
  }

  add(at) {
    const { store, view, limits, currentClass } = this.app;
    if (!view.holds(at)) return;
    if (store.state.points.length >= limits.points) {
      this.app.voice.problem(`The studio takes at most ${limits.points} points.`);
      return;
    }
    const [x, y] = view.rounded(view.toData(at));
    store.change({ points: [...store.state.points, [x, y, currentClass]] });
    this.app.voice.announce(`Point of class ${store.state.names.classes[currentClass]} added.`);
  }

  spray(at) {
    const { store, view, limits, currentClass } = this.app;
    const fresh = [];
    for (let k = 0; k < 2; k += 1) {
      const [turn, far] = [2 * Math.PI * this.random(), (BRUSH / 2) * Math.sqrt(this.random())];
      const spot = [at[0] + far * Math.cos(turn), at[1] + far * Math.sin(turn)];
      if (view.holds(spot)) fresh.push([...view.rounded(view.toData(spot)), currentClass]);
    }
    if (store.state.points.length + fresh.length > limits.points) this.app.voice.problem(`The studio takes at most ${limits.points} points.`);
    store.change({ points: [...store.state.points, ...fresh].slice(0, limits.points) });
  }

  rub(at) {
    const gone = this.within(at, BRUSH / 2);
    if (gone.size) this.app.store.change({ points: without(this.app.store.state.points, gone) });
  }

  showCross(at) {
    this.cross = at;
    this.app.picture.showCross(at);
  }

  key(event) {
    const { app } = this;
    if (event.target !== app.surface || event.ctrlKey || event.metaKey || event.altKey) return;
    const { view } = app;
    const arrow = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (arrow) {
      const by = event.shiftKey ? 40 : 8;
      const [x, y] = this.cross ?? [(view.left + view.right) / 2, (view.top + view.bottom) / 2];
      const to = view.inside([x + by * arrow[0], y + by * arrow[1]]);
      this.showCross(to);
      app.score.at(view.toData(to), this.nearest(to, REACH));
    } else if ((event.key === "Enter" || event.key === "Insert") && !app.isReplay) {
      const to = this.cross ?? [(view.left + view.right) / 2, (view.top + view.bottom) / 2];
      this.showCross(to);
      if (app.tool === "brush") this.spray(to);
      else if (app.tool === "erase") this.rub(to);
      else this.add(to);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
