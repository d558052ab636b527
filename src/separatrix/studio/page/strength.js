// Lambda beside C: the weight of the penalty, which the kernel knows; either can be typed.
import { element, identifier } from "./dom.js";
import { written } from "./numbers.js";

export class Strength {
  constructor(app) {
    this.app = app;
    const id = identifier("lambda");
    this.field = element("input", { type: "number", step: "any", min: 0, class: "number", id, onchange: () => this.take() });
    this.node = element("div", { class: "row", hidden: true, title: "The weight of half the squared weights beside the mean of the losses." }, element("label", { for: id }, "λ = 1/(nC)"), this.field);
  }

  draw() {
    const { strength } = this.app.answer ?? {};
    this.node.hidden = !strength;
    if (!strength || document.activeElement === this.field) return;
    this.field.value = Number(strength.lam.toPrecision(4));
    this.field.setAttribute("aria-description", `for ${strength.n} points`);
  }

  async take() {
    const { app, field } = this;
    const lam = Number(field.value);
    const spec = app.controls.specs().find(({ name }) => name === "C");
    field.blur();
    const reply = lam > 0 ? await app.request({ type: "strength", state: app.sentState(), lam }) : null;
    if (!reply || !spec) return void this.draw();
    const C = Math.min(Math.max(reply.C, spec.low), spec.high);
    if (C !== reply.C) app.voice.problem(`C must be from ${written(spec.low)} to ${written(spec.high)}: λ = ${written(lam)} would be C = ${written(reply.C)}.`);
    app.store.change({ parameters: { ...app.store.state.parameters, C } });
    return void this.draw();
  }
}
