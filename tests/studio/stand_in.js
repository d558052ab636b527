// A kernel that fits nothing, for tests of the page alone: theta is the difference of the means.
import { render } from "./studio.js";

const parameter = (model, name, kind, more) => ({ model, name, label: name, kind, help: "", ...more });
const traits = {
  models: [{ name: "perceptron", label: "Perceptron", help: "" }, { name: "logistic", label: "Logistic", help: "" }],
  parameters: [parameter("perceptron", "intercept", "bool", { default: true }), parameter("logistic", "C", "log", { low: 0.001, high: 1000, default: 1 })],
  panels: { perceptron: [{ kind: "mistakes", label: "mistakes" }], logistic: [{ kind: "loss", label: "loss" }] },
  show: {},
  seed_tables: { shapes: [{ name: "blobs", label: "blobs" }], columns: [], tours: [{ name: "one", title: "One" }], lessons: [], limits: { points: 2000 }, moving: location.search === "?moving" },
  theme: "auto",
  state: {
    version: 1, points: [[-2, -1, 0], [-1, -2, 0], [1, 2, 1], [2, 1, 1]], names: { x: "x1", y: "x2", classes: ["-1", "+1"] },
    view: { x: [-4, 4], y: [-4, 4], lock: true }, model: "perceptron", parameters: {}, panel: "mistakes",
    show: { field: true, margin: true, slack: true, support: true, ellipses: true, residuals: true, theta: true },
  },
};

function answer({ points, view, panel }, seq) {
  const mean = (c, k) => points.filter((p) => p[2] === c).reduce((sum, p, _, all) => sum + p[k] / all.length, 0);
  const coef = [mean(1, 0) - mean(0, 0), mean(1, 1) - mean(0, 1)];
  const theta = [1, 2, 3].map((k) => [(k * coef[0]) / 3, coef[1], 0]);
  const margin = points.map(([x, y, c]) => (c ? 1 : -1) * (coef[0] * x + coef[1] * y));
  return {
    type: "answer", seq, milliseconds: 1, pair: [0, 1], lines: [{ level: 0, kind: "boundary", parts: [[[view.x[0], 0], [view.x[1], 0]]] }],
    field: { columns: 2, rows: 2, values: [-1, 1, -1, 1], kind: "score" }, theta: { coef, intercept: 0 },
    points: { margin, slack: margin.map((z) => Math.max(0, 1 - z)), alpha: null, kind: null, mistake: margin.map((z) => z <= 0), residual: null },
    ellipses: [], certificate: { objective: 1, bound: 1, gap: 0, relative_gap: 0, status: "converged", sentence: `Of ${points.length} points.` },
    summary: [], mistakes: 0, width: null,
    steps: { count: 3, theta, objective: [3, 2, 1], bound: [0, 0.5, 1], visit: [0, 1, 2], mistake: [false, true, false], formula: ["first", "second", "third"], label: "update" },
    panel: { kind: panel, title: panel, x: { label: "i" }, y: { label: "k" }, series: [{ name: "k", kind: "bars", x: [1, 2], y: [1, 2] }], follow: [[1, 1], [2, 2], null], note: "" },
    code: { python: "print()", command: null },
  };
}

class StandIn {
  constructor() {
    this.listeners = new Map();
    this.sent = [];
    this.saved = [];
  }

  get(name) {
    return traits[name];
  }

  set(name, value) {
    traits[name] = value;
  }

  on(event, callback) {
    this.listeners.set(event, [...(this.listeners.get(event) ?? []), callback]);
  }

  off() {}

  save_changes() {
    this.saved.push(traits.state);
  }

  send(message) {
    this.sent.push(message);
    setTimeout(() => this.reply(message), 5);
  }

  tell(content) {
    for (const callback of this.listeners.get("msg:custom")) callback(content, []);
  }

  reply(message) {
    const { type, seq } = message;
    if (type === "ask") this.tell(answer(message.state, seq));
    else if (type === "frame") this.tell({ type: "frame", seq, step: message.step });
    else if (type === "score") this.tell({ type: "score", seq, score: 0, sentence: "score 0" });
    else if (type === "prove") this.tell({ type: "proof", seq, what: message.what, verdict: "separable", sentence: "A strip.", strip: { theta: { coef: [1, 1], intercept: 0 }, width: 1 } });
    else if (type === "shape") this.tell({ type: "points", seq, points: [[0, 0, 0], [1, 1, 1]], names: { x: "x1", y: "x2", classes: ["-1", "+1"] } });
    else if (type === "tour") this.tell({ type: "tour", seq, title: "One", state: traits.state, claim: "A claim.", question: "Which?", choices: ["this", "that"], right: 1, why: "So it is." });
    else this.tell({ type: "error", seq, text: "It cannot." });
  }
}

globalThis.standIn = new StandIn();
render({ model: globalThis.standIn, el: document.getElementById("studio") });
