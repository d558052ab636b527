// The studio: one face for a notebook's widget, the served page and the exported page.
import { button, element, fill, icon, shape } from "./dom.js";
import { isSame, written } from "./numbers.js";
import { EMPTY_STATE, Store } from "./store.js";
import { fromFragment } from "./share.js";
import { Kernel } from "./kernel.js";
import { View, drawAxes } from "./view.js";
import { Field, classColours } from "./field.js";
import { Points, describePoint } from "./points.js";
import { Pointer } from "./pointer.js";
import { drawLines, drawWitness } from "./lines.js";
import { Toolbar } from "./toolbar.js";
import { Panels } from "./panels.js";
import { Time } from "./time.js";
import { Controls } from "./controls.js";
import { Data } from "./data.js";
import { Proof } from "./proof.js";
import { Out } from "./out.js";
import { Tours } from "./tours.js";
import { helpDialog, listenToKeys } from "./keys.js";

const THEMES = ["auto", "light", "dark"];
const SETTLE = 250;

export class App {
  constructor(model, el) {
    this.model = model;
    this.isReplay = Boolean(model.get("replay"));
    this.isWidget = !document.body.classList.contains("separatrix-page");
    this.limits = { points: 2000, ...model.get("seed_tables")?.limits };
    const linked = this.isWidget ? null : fromFragment(location.hash);
    this.store = new Store({ ...EMPTY_STATE, ...model.get("state"), ...linked });
    this.tool = this.isReplay ? "pan" : "point";
    this.currentClass = 1;
    this.answer = null;
    this.shown = { answer: null, theta: null, isLast: true, step: 0 };
    this.frames = new Map();
    this.view = new View(this.store.state.view);
    this.kernel = new Kernel(model, {
      onanswer: (answer, state, newest) => this.take(answer, state, newest),
      onframe: (frame) => this.takeFrame(frame),
      onproblem: (text, ofFit) => this.problem(text, ofFit),
      onthinking: (text) => (this.status.textContent = text),
      onbusy: (busy) => this.root.classList.toggle("busy", busy),
    });
    this.build(el);
    this.listen();
  }

  build(el) {
    this.canvas = element("canvas", { class: "field", "aria-hidden": "true" });
    this.layers = Object.fromEntries(["axes", "lines", "witness", "points", "cross"].map((name) => [name, shape("g", { class: `layer ${name}` })]));
    this.surface = shape(
      "svg",
      { class: "surface", tabindex: "0", role: "application", "aria-roledescription": "canvas of points", "aria-label": "Points and the fitted model. Arrows move a crosshair, Enter adds a point, Tab walks from point to point." },
      Object.values(this.layers),
    );
    this.picture = element("div", { class: "picture" }, this.canvas, this.surface);
    this.status = element("p", { class: "status" });
    this.alert = element("p", { class: "alert", role: "alert", hidden: true });
    this.live = element("p", { class: "hidden", role: "status" });
    this.root = element("div", { class: "separatrix-studio", lang: "en" });
    this.points = new Points(this, this.layers.points);
    this.pointer = new Pointer(this);
    this.toolbar = new Toolbar(this);
    this.panels = new Panels(this);
    this.time = new Time(this);
    this.controls = new Controls(this);
    this.data = this.isReplay ? null : new Data(this);
    this.proof = new Proof(this);
    this.out = new Out(this);
    this.tours = new Tours(this);
    this.help = helpDialog(this);
    const place = this.isWidget ? "div" : "main";
    fill(
      this.root,
      this.bar(),
      element(
        "div",
        { class: "columns" },
        element(place, { class: "stage" }, this.toolbar.node, this.picture, this.time.node, this.status, this.alert, this.live),
        element("div", { class: "side", role: this.isWidget ? null : "region", "aria-label": "Model and second picture" }, this.tours.node, this.controls.node, this.panels.node),
        element("div", { class: "side", role: this.isWidget ? null : "region", "aria-label": "Proof, data and code" }, this.proof.node, this.data?.node, this.out.node),
      ),
      this.help,
      this.tours.dialog,
    );
    fill(el, this.root);
    this.wear(this.model.get("theme") ?? "auto");
  }

  bar() {
    this.undoButton = button("Undo", { picture: "undo", hint: "Undo (Ctrl Z)", onclick: () => this.undo() });
    this.redoButton = button("Redo", { picture: "redo", hint: "Redo (Ctrl Y)", onclick: () => this.redo() });
    this.themeButton = button("Theme", { picture: "sun", onclick: () => this.nextTheme() });
    const mark = shape(
      "svg",
      { class: "brand-mark", viewBox: "0 0 32 32", "aria-hidden": "true", focusable: "false" },
      shape("line", { x1: 5, y1: 29, x2: 27, y2: 3 }),
      shape("circle", { class: "class-0", cx: 7.5, cy: 9, r: 3.6 }),
      shape("circle", { class: "class-0", cx: 14, cy: 5, r: 2.4 }),
      shape("rect", { class: "class-1", x: 20.5, y: 19.5, width: 6.8, height: 6.8, rx: 1 }),
      shape("rect", { class: "class-1", x: 16, y: 25.5, width: 4.6, height: 4.6, rx: 0.8 }),
    );
    const name = [element("strong", {}, "separatrix"), element("span", {}, " studio")];
    return element(
      this.isWidget ? "div" : "header",
      { class: "bar" },
      mark,
      this.isWidget ? element("span", { class: "brand" }, name) : element("h1", { class: "brand" }, name),
      this.isReplay ? null : [this.undoButton, this.redoButton],
      element("span", { class: "spacer" }),
      this.tours.hasAny && !this.isReplay ? button("Tours", { picture: "tour", text: true, onclick: () => this.tours.open() }) : null,
      this.themeButton,
      button("Keys", { picture: "help", hint: "Keys (?)", onclick: () => this.help.showModal() }),
    );
  }

  listen() {
    this.leave = [
      this.store.on((state, parts) => this.changed(state, parts)),
      listenToKeys(this, this.isWidget ? this.root : document),
    ];
    const adopt = () => this.adopt(this.model.get("state"));
    const theme = () => this.wear(this.model.get("theme") ?? "auto");
    const lost = () => this.problem("The studio's kernel does not answer; the page tries to reach it again.", true);
    const back = () => {
      this.alert.hidden = true;
      this.tellTrait();
      this.ask();
    };
    const listeners = { "change:state": adopt, "change:theme": theme, "host:lost": lost, "host:back": back };
    for (const [event, listener] of Object.entries(listeners)) {
      this.model.on(event, listener);
      this.leave.push(() => this.model.off(event, listener));
    }
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const repaint = () => this.colour();
    dark.addEventListener("change", repaint);
    const watch = new ResizeObserver(() => this.resize());
    watch.observe(this.picture);
    this.leave.push(() => dark.removeEventListener("change", repaint), () => watch.disconnect());
    this.resize();
    this.drawAll();
    this.ask();
  }

  close() {
    this.time.pause();
    clearTimeout(this.settling);
    for (const leave of this.leave) leave();
    this.kernel.close();
  }

  // ---- state

  sentState() {
    return { ...this.store.state, view: this.view.state };
  }

  changed(state, parts) {
    if (parts.includes("view")) this.view.want(state.view);
    if (parts.includes("names")) this.currentClass = Math.min(this.currentClass, state.names.classes.length - 1);
    if (parts.some((part) => ["points", "names"].includes(part))) this.proof.forget();
    if (parts.some((part) => ["points", "names", "view", "model", "parameters", "panel"].includes(part))) this.ask();
    if (parts.some((part) => ["model", "parameters", "panel", "show", "names"].includes(part))) {
      this.controls.draw();
      this.panels.options();
    }
    this.undoButton.disabled = !this.store.past.length;
    this.redoButton.disabled = !this.store.future.length;
    this.toolbar.draw();
    this.redraw();
    this.settle();
  }

  // The trait follows when the hand rests; while it drags, only questions go out.
  settle() {
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.tellTrait(), SETTLE);
  }

  tellTrait() {
    const state = this.sentState();
    if (isSame(state, this.told) || this.store.open) return;
    this.told = state;
    this.model.set("state", state);
    this.model.save_changes();
  }

  adopt(state) {
    if (!state || isSame(state, this.told)) return;
    this.told = state;
    this.store.change({ ...EMPTY_STATE, ...state });
  }

  undo() {
    this.store.undo();
  }

  redo() {
    this.store.redo();
  }

  ask() {
    this.kernel.ask(this.sentState());
  }

  request(message, onthinking) {
    return this.kernel.request(message, onthinking);
  }

  // ---- answers

  take(answer, state, newest) {
    this.alert.hidden = true;
    const stay = this.answer && this.answeredModel === state.model && this.time.step < this.time.count - 1;
    this.answer = answer;
    this.answeredModel = state.model;
    this.answeredView = state.view;
    this.frames.clear();
    this.time.renew({ stay });
    this.showStep();
    if (!newest) return;
    this.panels.draw();
    this.proof.draw();
    this.out.draw();
  }

  takeFrame(frame) {
    this.frames.set(frame.step, frame);
    if (frame.step === this.time.step) this.showStep();
  }

  showStep() {
    const { answer, time } = this;
    const { step } = time;
    const isLast = step >= time.count - 1;
    const frame = isLast ? null : this.frames.get(step);
    const steps = answer.steps ?? {};
    this.shown = {
      step,
      isLast: isLast || Boolean(frame),
      theta: isLast ? null : (frame?.theta ?? steps.theta?.[step] ?? null),
      visit: isLast ? -1 : (steps.visit?.[step] ?? -1),
      answer: frame ? { ...answer, ...frame, points: frame.points ?? answer.points } : answer,
    };
    if (!isLast && !frame) this.kernel.frame(step);
    if (isLast || frame) this.field.show(this.shown.answer.field, this.answeredView, this.colours);
    this.panels.step();
    this.redraw();
    this.describe();
  }

  problem(text, stays = false) {
    this.alert.textContent = text;
    this.alert.hidden = false;
    clearTimeout(this.forgetting);
    if (!stays) this.forgetting = setTimeout(() => (this.alert.hidden = true), 8000);
  }

  announce(text, loud = false) {
    if (loud) this.problem(text);
    else this.live.textContent = text;
  }

  async copy(text, what) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = element("textarea", { class: "hidden", "aria-hidden": "true" });
      area.value = text;
      this.root.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    this.announce(`${what}: copied.`);
    this.status.textContent = `${what}: copied.`;
  }

  // ---- drawing

  resize() {
    const { width, height } = this.picture.getBoundingClientRect();
    if (!width) return;
    this.view.resize(width, height, parseFloat(getComputedStyle(this.root).fontSize) / 16);
    this.surface.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.redraw();
    clearTimeout(this.resizing);
    this.resizing = setTimeout(() => {
      if (this.answeredView && !isSame(this.view.state, this.answeredView)) this.ask();
    }, SETTLE);
  }

  redraw() {
    if (this.drawing) return;
    this.drawing = requestAnimationFrame(() => {
      this.drawing = null;
      this.draw();
    });
  }

  draw() {
    const { state } = this.store;
    drawAxes(this.layers.axes, this.view, state.names);
    const counts = this.answer?.points?.margin?.length ?? state.points.length;
    const fits = !this.shown.answer || counts === state.points.length;
    drawLines(this.layers.lines, this.view, state, fits ? this.shown : { ...this.shown, answer: { ...this.shown.answer, points: {} } });
    this.drawWitness();
    this.points.draw();
    this.canvas.hidden = !state.show.field;
    this.field.draw(this.view);
  }

  drawWitness() {
    drawWitness(this.layers.witness, this.view, this.store.state, this.proof?.proof);
  }

  drawAll() {
    this.field = new Field(this.canvas);
    this.colour();
    this.controls.draw();
    this.panels.options();
    this.toolbar.draw();
    this.undoButton.disabled = this.redoButton.disabled = true;
    this.time.node.hidden = true;
    this.panels.body.hidden = true;
    this.draw();
  }

  colour() {
    this.colours = classColours(this.root);
    if (this.field && this.shown.answer) this.field.show(this.shown.answer.field, this.answeredView, this.colours);
    this.redraw();
  }

  wear(theme) {
    this.theme = THEMES.includes(theme) ? theme : "auto";
    this.root.dataset.theme = this.theme;
    if (!this.isWidget) document.documentElement.dataset.theme = this.theme;
    this.themeButton.setAttribute("aria-label", `Theme: ${this.theme}`);
    this.themeButton.title = `Theme: ${this.theme}`;
    fill(this.themeButton, icon(this.theme === "dark" ? "moon" : "sun"), this.theme === "auto" ? element("span", { class: "auto" }, "A") : null);
    if (this.field) this.colour();
  }

  nextTheme() {
    const theme = THEMES[(THEMES.indexOf(this.theme) + 1) % THEMES.length];
    this.wear(theme);
    this.model.set("theme", theme);
    this.model.save_changes();
  }

  // ---- what the tools, the keys and the pointer ask for

  takeTool(name) {
    if (this.isReplay) return;
    this.tool = name;
    this.surface.dataset.tool = name;
    this.toolbar.draw();
  }

  takeClass(c) {
    if (c >= this.store.state.names.classes.length) return;
    this.currentClass = c;
    this.toolbar.draw();
    this.announce(`New points are of class ${this.store.state.names.classes[c]}.`);
  }

  zoom(factor) {
    this.store.change({ view: this.view.zoomed(factor) });
  }

  fit() {
    this.store.change({ view: this.view.fitted(this.store.state.points) });
  }

  showCross(at) {
    const { left, right, top, bottom } = this.view;
    fill(this.layers.cross, at ? shape("path", { d: `M${left} ${at[1]}H${right}M${at[0]} ${top}V${bottom}` }) : null);
  }

  // The point that a hand or the focus is at, and the same point in the second picture.
  point(i) {
    this.pointed = i;
    this.panels.ring(i);
    [...this.layers.points.children].forEach((node, k) => node.classList.toggle("pointed", k === i));
    this.describe();
  }

  describe() {
    const said = this.pointed >= 0 ? describePoint(this.store.state, this.shown, this.pointed) : "";
    this.status.textContent = said || this.answer?.certificate?.sentence || "";
  }

  hover(at, near = -1) {
    if (near !== this.pointed) this.point(near);
    clearTimeout(this.scoring);
    if (!at || near >= 0 || this.isReplay) return;
    const { names } = this.store.state;
    const [x, y] = this.view.rounded(at);
    this.scoring = setTimeout(async () => {
      const where = `${names.x} ${written(x, 4)}, ${names.y} ${written(y, 4)}`;
      const reply = await this.request({ type: "score", state: this.sentState(), at: [x, y] });
      if (reply) this.status.textContent = [where, reply.sentence ?? `score ${written(reply.score)}`].join(" · ");
    }, 120);
  }
}

export function render({ model, el }) {
  const app = new App(model, el);
  return () => app.close();
}

export default { render };
