// The studio: one face for a notebook's widget, the served page and the exported page.
import { element, fill } from "./dom.js";
import { isSame } from "./numbers.js";
import { EMPTY_STATE, Store } from "./store.js";
import { fromFragment } from "./share.js";
import { Trait } from "./trait.js";
import { Kernel } from "./kernel.js";
import { Voice } from "./voice.js";
import { View } from "./view.js";
import { Points, crowds, describePoint, heldOutIn, othersThere } from "./points.js";
import { Pointer } from "./pointer.js";
import { Score, countedFacts, distortedFact } from "./score.js";
import { Picture } from "./picture.js";
import { Toolbar } from "./toolbar.js";
import { Panels } from "./panels.js";
import { Time } from "./time.js";
import { Controls } from "./controls.js";
import { OwnLine } from "./ownline.js";
import { Data } from "./data.js";
import { HeldOut } from "./heldout.js";
import { Jitter } from "./jitter.js";
import { Proof } from "./proof.js";
import { Out } from "./out.js";
import { Notes } from "./notes.js";
import { Tours } from "./tours.js";
import { Opening } from "./opening.js";
import { Bar } from "./bar.js";
import { helpDialog, listenToKeys } from "./keys.js";
import { layOut } from "./layout.js";

const SETTLE = 250;
const NOTHING = { answer: null, theta: null, isLast: true, step: 0 };
const ASKED_FOR = ["points", "names", "view", "model", "parameters", "panel", "test", "lift"];
const CONTROLLED = ["model", "parameters", "panel", "show", "names", "test", "source", "lift"];

export class App {
  constructor(model, el) {
    this.model = model;
    this.isReplay = Boolean(model.get("replay"));
    this.isWidget = !document.body.classList.contains("separatrix-page");
    const { limits, lesson, columns = [] } = model.get("seed_tables") ?? {};
    this.limits = { points: 2000, ...limits };
    // A page of its own that shows nobody's points.
    this.isNew = !this.isWidget && !this.isReplay && !lesson && !columns.length && !location.hash;
    const linked = this.linked();
    this.store = new Store({ ...EMPTY_STATE, ...model.get("state"), ...linked });
    this.trait = new Trait(this);
    this.tool = this.isReplay ? "pan" : "point";
    this.currentClass = 1;
    this.pointed = -1;
    this.answer = null;
    this.shown = { ...NOTHING };
    this.frames = new Map();
    this.view = new View(this.store.state.view);
    this.kernel = new Kernel(model, {
      onanswer: (answer, state, newest) => this.take(answer, state, newest),
      onframe: (frame) => this.takeFrame(frame),
      onproblem: (text, ofFit) => (ofFit ? this.unfitted(text) : this.voice.problem(text)),
      onthinking: (text) => this.voice.say(text),
      onbusy: (busy) => this.root.setAttribute("aria-busy", busy),
    });
    this.build(el);
    this.listen();
  }

  build(el) {
    // Jupyter Lab keeps its own keys to itself where it finds this name.
    this.root = element("div", { class: "separatrix-studio", lang: "en", "data-lm-suppress-shortcuts": this.isWidget ? "true" : null });
    this.voice = new Voice(this.root);
    this.heldOut = new HeldOut(this);
    this.jitter = new Jitter(this);
    if (!this.isReplay) this.heldOut.node.append(this.jitter.node);
    this.picture = new Picture(this);
    this.surface = this.picture.surface;
    this.points = new Points(this, this.picture.layers.points);
    this.score = new Score(this);
    this.pointer = new Pointer(this);
    this.toolbar = new Toolbar(this);
    this.panels = new Panels(this);
    this.time = new Time(this);
    this.controls = new Controls(this);
    this.own = new OwnLine(this);
    this.data = this.isReplay ? null : new Data(this);
    this.proof = new Proof(this);
    this.out = new Out(this);
    this.tours = new Tours(this);
    this.help = helpDialog(this);
    this.bar = new Bar(this);
    this.opening = new Opening(this);
    fill(this.root, layOut(this));
    new Notes(this);
    fill(el, this.root);
    this.surface.dataset.tool = this.tool;
    this.time.node.hidden = true;
    this.panels.body.hidden = true;
  }

  listen() {
    this.leave = [this.store.on((state, parts) => this.changed(state, parts)), listenToKeys(this, this.isWidget ? this.root : document)];
    const listeners = {
      "change:state": () => this.trait.adopt(this.model.get("state")),
      "change:theme": () => this.bar.wear(this.model.get("theme")),
      "host:lost": () => this.voice.problem("The kernel does not answer; the page keeps trying to reach it.", { stays: true }),
      "host:back": () => this.back(),
    };
    for (const [event, listener] of Object.entries(listeners)) {
      this.model.on(event, listener);
      this.leave.push(() => this.model.off(event, listener));
    }
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const repaint = () => this.colour();
    dark.addEventListener("change", repaint);
    const watch = new ResizeObserver(() => this.resize());
    watch.observe(this.picture.node);
    const follow = () => this.follow(this.linked());
    addEventListener("hashchange", follow);
    this.leave.push(() => dark.removeEventListener("change", repaint), () => watch.disconnect(), () => removeEventListener("hashchange", follow));
    this.picture.resize();
    this.bar.wear(this.model.get("theme"));
    this.drawControls();
    this.ask();
    this.follow(null);
  }

  follow(state) {
    this.trait.adopt(state);
    if (this.isBroken) this.voice.problem("This link does not contain a state of the studio; the page keeps its own points.");
  }

  // The state of the link that one came by.
  linked() {
    if (this.isWidget || !location.hash.startsWith("#s=")) return null;
    const found = fromFragment(location.hash);
    this.isBroken = !found;
    return found;
  }

  close() {
    this.time.pause();
    this.jitter.stop();
    this.trait.close();
    this.score.stop();
    for (const leave of this.leave) leave();
    this.kernel.close();
  }

  // ---- the state, here and in the kernel

  // What the kernel is asked about has the view that is seen.
  sentState() {
    return { ...this.store.state, view: this.view.state };
  }

  changed(state, parts) {
    if (parts.includes("view")) this.view.want(state.view);
    if (parts.includes("names")) this.currentClass = Math.min(this.currentClass, state.names.classes.length - 1);
    if (parts.some((part) => ["points", "names"].includes(part))) this.proof.forget();
    if (parts.some((part) => ASKED_FOR.includes(part)) || (parts.includes("history") && this.answer?.panel?.stale)) this.ask();
    if (parts.some((part) => CONTROLLED.includes(part))) this.drawControls();
    this.bar.draw();
    this.toolbar.draw();
    this.picture.redraw();
    this.trait.settle();
  }

  drawControls() {
    this.controls.draw();
    this.panels.options();
    this.toolbar.draw();
    this.data?.names.draw();
    this.heldOut.draw();
    this.bar.draw();
  }

  back() {
    this.voice.calm();
    this.trait.tellAgain();
    this.ask();
  }

  ask() {
    this.score.stop();
    this.kernel.ask(this.sentState(), this.store.open !== null);
  }

  request(message, onthinking) {
    return this.kernel.request(message, onthinking);
  }

  // ---- answers

  take(answer, state, newest) {
    this.voice.calm();
    const stay = this.answer && this.answeredModel === state.model && this.time.step < this.time.count - 1;
    this.answer = answer;
    this.answeredModel = state.model;
    this.answeredView = answer.view ?? state.view;
    this.frames.clear();
    this.time.renew({ stay });
    this.showStep();
    if (this.isReplay && answer.state) {
      const { points, names, parameters } = answer.state;
      this.store.change({ points, names, parameters }, { keep: false });
    }
    this.opening.begin();
    if (!newest) return;
    this.drawCards();
    this.controls.strength.draw();
    this.tours.renew();
    // What was left for when the drag rests.
    if (answer.panel?.stale && this.store.open === null) this.ask();
  }

  drawCards() {
    this.panels.draw();
    this.proof.draw();
    this.out.draw();
    this.own.ask();
  }

  // What was said of other points is not left standing.
  unfitted(text) {
    const { points, model } = this.store.state;
    const few = model === "regression" ? points.length < 2 : new Set(points.map(([, , c]) => c)).size < 2;
    this.answer = null;
    this.shown = { ...NOTHING };
    this.frames.clear();
    this.time.renew({ stay: false });
    this.drawCards();
    this.picture.takeField();
    this.picture.redraw();
    this.describe();
    this.voice.problem(text, { stays: true, hint: few });
  }

  takeFrame(frame) {
    this.frames.set(frame.step, frame);
    if (frame.step === this.time.step) this.showStep();
  }

  // An answer for points that noise has moved.
  showAnswer(answer, moved) {
    this.shown = { ...NOTHING, answer, moved };
    this.picture.takeField();
    this.picture.redraw();
    this.describe();
  }

  // The step that time stands at: its frame, or its theta until the frame has come.
  showStep() {
    const { answer, time } = this;
    const { step } = time;
    const isLast = step >= time.count - 1;
    const frame = isLast ? null : this.frames.get(step);
    const { theta, visit } = answer.steps ?? {};
    this.shown = this.own.over({
      step,
      isLast: isLast || Boolean(frame?.lines),
      // With features the weights are of no line in the picture.
      theta: isLast || theta?.[0].length > 3 ? null : (frame?.theta ?? theta?.[step] ?? null),
      visit: isLast ? -1 : (visit?.[step] ?? -1),
      answer: frame ? { ...answer, field: null, ellipses: null, points: {}, ...frame } : answer,
    });
    if (!isLast && !frame) this.kernel.frame(step);
    if (isLast || frame) {
      this.picture.takeField();
      this.root.dataset.shown = step;
    }
    this.panels.step();
    this.picture.redraw();
    this.describe();
  }

  resize() {
    clearTimeout(this.resizing);
    if (!this.picture.resize()) return;
    this.resizing = setTimeout(() => {
      if (this.answeredView && !this.isReplay && !isSame(this.view.state, this.answeredView)) this.ask();
    }, SETTLE);
  }

  colour() {
    this.picture.colour();
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
    this.voice.announce(`New points are of class ${this.store.state.names.classes[c]}.`);
  }

  zoom(factor) {
    this.store.change({ view: this.view.zoomed(factor) });
  }

  fit() {
    this.store.change({ view: this.view.fitted(this.store.state.points) });
  }

  equalise(lock) {
    this.store.change({ view: { ...(lock ? this.view.state : this.view.fitted(this.store.state.points)), lock } });
  }

  // The point that a hand or the focus is at, and the same point in the second picture.
  point(i) {
    this.pointed = i;
    this.panels.ring(i);
    this.picture.point(i);
    this.describe();
  }

  describe() {
    const { state } = this.store;
    this.heldOut.drawErrors(this.shown.answer?.test);
    const said = this.pointed >= 0 ? describePoint(state, this.shown, this.pointed) + othersThere(crowds(state, heldOutIn(state, this.shown))[this.pointed] ?? {}) : "";
    this.voice.say(said || [countedFacts(this.shown, this.answeredModel), distortedFact(this)].filter(Boolean).join(" · "));
  }
}

export function render({ model, el }) {
  const app = new App(model, el);
  return () => app.close();
}

export default { render };
