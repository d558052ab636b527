// What is proved: the certificate of the fit, and exact statements about the points.
import { button, element, fill, identifier } from "./dom.js";
import { written } from "./numbers.js";

const QUESTIONS = [
  ["separability", "Separable?"],
  ["fewest", "Fewest mistakes"],
  ["diagnosis", "Diagnosis"],
];

// What is shown on demand: texts as they are, and numbers with so many digits.
const FIGURES = [
  ["measure", "measure (the objective)"],
  ["objective", "objective", 6],
  ["bound", "lower bound", 6],
  ["gap", "gap between them", 2],
  ["equations", "equations"],
  ["residual", "relative residual", 2],
  ["condition", "condition number", 3],
  ["iterations", "iterations", 6],
  ["seconds", "seconds", 2],
];

export class Proof {
  constructor(app) {
    this.app = app;
    const id = identifier("proof");
    this.sentence = element("p", { class: "certificate", role: "status" });
    this.numbers = element("dl", { class: "numbers" });
    this.details = element("details", {}, element("summary", {}, "The numbers of the proof"), this.numbers);
    this.summary = element("ul", { class: "summary" });
    this.buttons = QUESTIONS.map(([what, label]) => button(label, { onclick: () => this.ask(what), "data-what": what }));
    this.verdict = element("div", { class: "verdict", role: "status" });
    this.exact = element("div", {}, element("h3", {}, "Proof about these points"), element("div", { class: "buttons" }, this.buttons), this.verdict);
    this.node = element(
      "section",
      { class: "card", "aria-labelledby": id },
      element("h2", { id }, "Certificate"),
      this.sentence,
      this.details,
      this.summary,
      this.exact,
    );
    this.proof = null;
  }

  draw() {
    const { answer } = this.app;
    const certificate = answer?.certificate;
    // A curve to y asks for no classes.
    this.exact.hidden = this.app.store.state.model === "regression";
    this.sentence.textContent = certificate?.sentence ?? "";
    this.sentence.classList.toggle("fine", ["optimal", "converged", "exact", "certified", "separated"].includes(certificate?.status));
    const rows = certificate
      ? FIGURES.map(([key, label, digits]) => [label, certificate[key], digits]).filter(([, value]) => typeof value === "string" || Number.isFinite(value))
      : [];
    this.details.hidden = !rows.length;
    fill(this.numbers, rows.flatMap(([name, value, digits]) => [element("dt", {}, name), element("dd", {}, typeof value === "string" ? value : written(value, digits))]));
    const summary = [...(answer?.summary ?? []), answer?.overlap].filter(Boolean);
    fill(this.summary, summary.map((text) => element("li", {}, text)));
  }

  // The points have moved: what was proved is of other points.
  forget() {
    if (!this.proof && !this.verdict.childElementCount) return;
    this.proof = null;
    fill(this.verdict);
    this.app.picture.drawWitness();
  }

  async ask(what) {
    fill(this.verdict, element("p", { class: "thinking" }, "…"));
    const reply = await this.app.request({ type: "prove", state: this.app.sentState(), what }, (text) => fill(this.verdict, element("p", { class: "thinking" }, text)));
    if (!reply) return void fill(this.verdict);
    this.proof = reply;
    const weights = reply.common?.weights ?? [];
    fill(
      this.verdict,
      reply.sentence ? element("p", { class: "verdict-sentence" }, reply.sentence) : null,
      reply.findings?.length ? element("ul", { class: "summary" }, reply.findings.map((text) => element("li", {}, text))) : null,
      weights.length
        ? element("ul", { class: "weights" }, weights.map(([i, w]) => element("li", {}, `${typeof w === "number" ? written(w, 4) : w} × point ${i + 1}`)))
        : null,
    );
    this.app.picture.drawWitness();
    return undefined;
  }
}
