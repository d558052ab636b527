// Noise moves the training points again and again while the model follows; the kernel counts.
import { button, element, fill, icon, identifier } from "./dom.js";
import { written } from "./numbers.js";

const PAUSE = 160;
// Where nobody wishes to see things move, so many draws are made at once.
const AT_ONCE = 25;

export class Jitter {
  constructor(app) {
    this.app = app;
    const id = identifier("noise");
    this.isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.noise = element("input", { type: "range", min: 0.02, max: 1, step: 0.02, value: 0.3, id, oninput: () => this.measure() });
    this.size = element("output", { for: id });
    this.toggle = button(this.isStill ? `Move them ${AT_ONCE} times` : "Move them again and again", { picture: "play", text: true, kind: "jitter", onclick: () => (this.isOn ? this.stop() : this.start()) });
    this.result = element("div", { class: "trials" });
    this.node = element(
      "div",
      {},
      element("h3", {}, "Points moved by noise"),
      element("div", { class: "row" }, element("label", { for: id }, "Std. deviation"), element("span", { class: "range-row" }, this.noise, this.size)),
      element("div", { class: "buttons" }, this.toggle),
      this.result,
    );
    this.measure();
  }

  // A standard deviation, relative to what is seen: a tenth of its height at the end of the slider.
  get amount() {
    const { y } = this.app.store.state.view;
    return Number(((Number(this.noise.value) * (y[1] - y[0])) / 10).toPrecision(2));
  }

  measure() {
    this.size.textContent = written(this.amount);
    this.noise.setAttribute("aria-valuetext", `standard deviation ${written(this.amount)}`);
  }

  start() {
    if (this.isOn) return;
    this.isOn = true;
    this.app.time.pause();
    if (!this.isStill) this.face("Stop", "pause");
    this.step();
  }

  async step() {
    const { app } = this;
    const reply = await app.request({ type: "jitter", state: app.sentState(), noise: this.amount, draws: this.isStill ? AT_ONCE : 1 });
    if (!reply || !app.answer || this.isStill) this.isOn = false;
    if (reply && app.answer) this.drawResult(reply);
    if (!this.isOn) return this.rest();
    if (reply.moved.length === app.store.state.points.length) app.showAnswer({ ...app.answer, ...reply }, reply.moved);
    this.waiting = setTimeout(() => this.step(), PAUSE);
    return undefined;
  }

  stop() {
    clearTimeout(this.waiting);
    if (!this.isOn) return;
    this.isOn = false;
    this.rest();
  }

  // The points are where they were, and so is the model.
  rest() {
    if (!this.isStill) this.face("Move them again and again", "play");
    if (this.app.answer) this.app.showStep();
  }

  face(label, picture) {
    fill(this.toggle, icon(picture), element("span", {}, label));
  }

  drawResult({ runs, on, missed, draws, most }) {
    const value = (x) => (missed ? `${written(100 * x)} %` : written(x));
    // What is said of a point says how often it was missed, until the next answer.
    this.app.answer = { ...this.app.answer, missed, draws };
    fill(
      this.result,
      element(
        "table",
        {},
        element("caption", {}, `Error on the ${on}, the same noise for every model`),
        element("thead", {}, element("tr", {}, ["Model", "draws", "mean", "worst"].map((name) => element("th", { scope: "col" }, name)))),
        element("tbody", {}, runs.map((run) => element("tr", {}, element("th", { scope: "row" }, run.label), [run.draws, value(run.mean), value(run.worst)].map((text) => element("td", {}, String(text)))))),
      ),
      most ? element("p", { class: "note" }, `Point ${most.point + 1} was missed most often: in ${most.times} of ${draws} draws.`) : null,
    );
  }
}
