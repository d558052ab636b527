// Time: step, play, pause, back and scrub through a recorded fit, with each step's formula.
import { button, element, fill, icon, identifier } from "./dom.js";

const PACES = [
  ["slow", 1600],
  ["steady", 700],
  ["fast", 200],
  ["very fast", 50],
];

export class Time {
  constructor(app) {
    this.app = app;
    this.step = 0;
    this.count = 0;
    this.timer = null;
    const id = identifier("time");
    const go = (by) => () => this.walk(by);
    this.buttons = {
      first: button("First step", { picture: "first", onclick: () => this.show(0) }),
      before: button("Previous correction", { picture: "before", hint: "Previous correction (<)", onclick: () => this.correct(-1) }),
      back: button("One step back", { picture: "back", onclick: go(-1) }),
      play: button("Play", { picture: "play", kind: "primary", onclick: () => this.toggle() }),
      forward: button("One step forward", { picture: "forward", onclick: go(1) }),
      next: button("Next correction", { picture: "next", hint: "Next correction (>)", onclick: () => this.correct(1) }),
      last: button("Last step", { picture: "last", onclick: () => this.show(this.count - 1) }),
    };
    this.slider = element("input", { type: "range", min: 0, max: 0, value: 0, step: 1, "aria-label": "Step", oninput: () => this.show(Number(this.slider.value)) });
    this.pace = element("select", { id, "aria-label": "Pace" }, PACES.map(([name, wait]) => element("option", { value: wait }, name)));
    this.pace.value = 700;
    this.where = element("output", { class: "where", for: id });
    this.formula = element("p", { class: "formula", tabindex: "0", role: "math", "aria-label": "Formula of this step" });
    this.live = element("p", { class: "hidden", role: "status" });
    this.node = element(
      "section",
      { class: "time", "aria-label": "Steps" },
      element("div", { class: "transport" }, element("span", { class: "group" }, Object.values(this.buttons)), this.slider, element("span", { class: "group" }, this.where, this.pace)),
      this.formula,
      this.live,
    );
  }

  get steps() {
    return this.app.answer?.steps ?? null;
  }

  // A new answer stands at its end, unless one looks at an earlier step of the same length.
  renew({ stay }) {
    const before = this.step;
    this.count = this.steps?.count ?? 0;
    this.node.hidden = this.count < 2;
    this.slider.max = Math.max(this.count - 1, 0);
    if (!stay) this.pause();
    this.step = stay ? Math.min(before, this.count - 1) : this.count - 1;
    this.tell();
  }

  show(step) {
    const k = Math.min(Math.max(step, 0), this.count - 1);
    if (k === this.step || this.count < 2) return;
    this.step = k;
    this.tell();
    this.app.showStep();
  }

  walk(by) {
    this.pause();
    this.show(this.step + by);
    this.live.textContent = [this.where.textContent, this.formula.textContent].filter(Boolean).join(": ");
  }

  // Of visits, most change nothing: from one correction to the next, and behind the last to the end.
  correct(by) {
    const { mistake } = this.steps ?? {};
    if (!mistake) return;
    const found = by > 0 ? mistake.indexOf(true, this.step + 1) : this.step ? mistake.lastIndexOf(true, this.step - 1) : -1;
    this.walk((found >= 0 ? found : by > 0 ? this.count - 1 : 0) - this.step);
  }

  tell() {
    const { steps, step, count } = this;
    this.slider.value = step;
    const label = steps?.label ?? "step";
    this.where.textContent = count ? `${label} ${step} of ${count - 1}` : "";
    this.slider.setAttribute("aria-valuetext", this.where.textContent);
    const formula = steps?.formula?.[step] ?? "";
    fill(this.formula, formula ? element("span", { class: "formula-text" }, formula) : null);
    this.formula.hidden = !formula;
    this.buttons.first.disabled = this.buttons.back.disabled = step <= 0;
    const { before, next } = this.buttons;
    before.hidden = next.hidden = label !== "visit";
    before.disabled = step <= 0;
    next.disabled = step >= count - 1;
    this.buttons.last.disabled = this.buttons.forward.disabled = step >= count - 1;
  }

  toggle() {
    if (this.timer) this.pause();
    else this.play();
  }

  play() {
    if (this.count < 2) return;
    if (this.step >= this.count - 1) this.show(0);
    this.face("Pause", "pause");
    const next = () => {
      this.timer = setTimeout(() => {
        this.show(this.step + 1);
        if (this.step >= this.count - 1) this.pause();
        else next();
      }, Number(this.pace.value));
    };
    next();
  }

  pause() {
    clearTimeout(this.timer);
    this.timer = null;
    this.face("Play", "play");
  }

  face(label, picture) {
    const { play } = this.buttons;
    if (play.getAttribute("aria-label") === label) return;
    play.setAttribute("aria-label", label);
    play.title = label;
    fill(play, icon(picture));
  }
}
