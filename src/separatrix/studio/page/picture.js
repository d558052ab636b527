// The picture: layers of one SVG over one canvas, drawn at most once a frame.
import { element, fill, setAttributes, shape } from "./dom.js";
import { drawAxes } from "./view.js";
import { crowds, heldOutIn } from "./points.js";
import { Field, classColours } from "./field.js";
import { drawLines, drawWitness } from "./lines.js";

const INTRODUCTION = "Points and the fitted model. Arrows move a crosshair, Enter adds a point, Tab walks from point to point.";

const CUT = ["lines", "witness"];

export class Picture {
  constructor(app) {
    this.app = app;
    this.canvas = element("canvas", { class: "field", "aria-hidden": "true" });
    // An svg cuts what is drawn in it at its edges, as the frame should.
    this.layers = Object.fromEntries(["axes", "lines", "witness", "tests", "points", "own", "cross"].map((name) => [name, shape(CUT.includes(name) ? "svg" : "g", { class: `layer ${name}` })]));
    this.surface = shape(
      "svg",
      { class: "surface", tabindex: "0", role: "application", "aria-roledescription": "canvas of points", "aria-label": INTRODUCTION },
      Object.values(this.layers),
    );
    this.node = element("div", { class: "picture" }, this.canvas, this.surface);
    this.field = new Field(this.canvas);
    this.waiting = null;
  }

  // True where the picture has a size: a hidden cell of a notebook has none.
  resize() {
    // Without the border of its node, so that a pixel here is one of the screen.
    const { width, height } = this.surface.getBoundingClientRect();
    if (!width) return false;
    this.app.view.resize(width, height, parseFloat(getComputedStyle(this.node).fontSize) / 16);
    this.surface.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.redraw();
    return true;
  }

  colour() {
    this.colours = classColours(this.app.root);
    this.takeField();
    this.redraw();
  }

  takeField() {
    const { shown, answeredView } = this.app;
    this.field.show(shown.answer?.field ?? null, answeredView, this.colours);
  }

  redraw() {
    this.waiting ??= requestAnimationFrame(() => {
      this.waiting = null;
      this.draw();
    });
  }

  draw() {
    const { view, store, shown, points } = this.app;
    const state = shown.moved ? { ...store.state, points: store.state.points.map(([, , c], i) => [...shown.moved[i], c]) } : store.state;
    const held = heldOutIn(state, shown);
    const there = crowds(state, held);
    drawAxes(this.layers.axes, view, state.names, Math.max(...there.map(({ own }) => own)));
    // Between a point more and its answer, what was said of the points is of others.
    const isOfThese = (shown.answer?.points?.mistake?.length ?? state.points.length) === state.points.length;
    const known = isOfThese ? shown : { ...shown, answer: { ...shown.answer, points: {} } };
    for (const name of CUT) setAttributes(this.layers[name], view.frame);
    drawLines(this.layers.lines, view, state, known);
    this.drawWitness();
    this.app.heldOut.drawFresh(this.layers.tests);
    points.draw(there, held);
    this.app.own.draw(view);
    this.canvas.hidden = !state.show.field;
    this.field.draw(view);
  }

  drawWitness() {
    const { view, store, proof } = this.app;
    drawWitness(this.layers.witness, view, store.state, proof.proof);
  }

  showCross(at) {
    const { left, right, top, bottom } = this.app.view;
    fill(this.layers.cross, at ? shape("path", { d: `M${left} ${at[1]}H${right}M${at[0]} ${top}V${bottom}` }) : null);
  }

  point(i) {
    [...this.layers.points.children].forEach((node, k) => node.classList.toggle("pointed", k === i));
  }
}
