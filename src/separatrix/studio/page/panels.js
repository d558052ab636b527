// The second picture: which one, the picture, and its note.
import { element, fill, identifier, setAttributes, shape } from "./dom.js";
import { drawChart } from "./chart.js";
import { Lift } from "./lift.js";

export class Panels {
  constructor(app) {
    this.app = app;
    const id = identifier("panel");
    this.chooser = element("select", {
      id,
      onchange: () => app.store.change({ panel: this.chooser.value }),
    });
    this.svg = shape("svg", { class: "chart", role: "img" });
    this.legend = element("ul", { class: "legend" });
    this.note = element("p", { class: "note" });
    this.lift = new Lift();
    this.body = element("div", { class: "chart-body" }, this.svg, this.lift.node, this.legend, this.note);
    this.node = element(
      "section",
      { class: "card panel-card", "aria-labelledby": `${id}-title` },
      element("div", { class: "card-head" }, element("h2", { id: `${id}-title` }, "Second picture"), element("label", { class: "hidden", for: id }, "What the second picture shows"), this.chooser),
      this.body,
    );
    this.chart = null;
    this.across = 420;
    new ResizeObserver(() => this.measure()).observe(this.body);
  }

  // Of a hidden card nothing is known; the last width stays.
  measure() {
    const { width } = this.body.getBoundingClientRect();
    const across = Math.round((16 * width) / parseFloat(getComputedStyle(this.body).fontSize));
    if (!width || across === this.across) return;
    this.across = across;
    this.chartOf();
  }

  options() {
    const { model, store } = this.app;
    const kinds = (model.get("panels") ?? {})[store.state.model] ?? [];
    const all = kinds.some(({ kind }) => kind === "none") ? kinds : [...kinds, { kind: "none", label: "none" }];
    fill(this.chooser, all.map(({ kind, label }) => element("option", { value: kind }, label)));
    const { panel } = store.state;
    this.node.hidden = all.length < 2;
    this.chooser.value = all.some(({ kind }) => kind === panel) ? panel : "none";
  }

  draw() {
    this.options();
    const panel = this.app.store.state.panel === "none" ? null : this.app.shown.answer?.panel;
    this.body.hidden = !panel;
    this.chartOf();
    if (!panel) return;
    // Where there is nothing to draw, its note says why.
    setAttributes(this.svg, { hidden: !(panel.series?.length || panel.contours?.length) });
    this.svg.setAttribute("aria-label", [panel.title, panel.note].filter(Boolean).join(". "));
    const named = (panel.series ?? []).filter((s) => s.name && (s.kind !== "points" || s.class === undefined));
    const plain = (panel.series ?? []).filter((s) => s.class === undefined || s.class === null);
    fill(
      this.legend,
      named.map((s) => element("li", {}, element("span", { class: `swatch ${s.kind} tone-${Math.max(0, plain.indexOf(s)) % 4}` }), s.name)),
    );
    this.note.textContent = panel.note ?? "";
  }

  chartOf() {
    const { shown, store } = this.app;
    const panel = store.state.panel === "none" ? null : shown.answer?.panel;
    this.lift.draw(panel?.lift, this.across, panel?.note);
    this.chart = panel && !panel.lift ? drawChart(this.svg, panel, this.across, (i) => this.app.point(i)) : null;
    this.step();
  }

  step() {
    this.chart?.step(this.app.shown.step);
  }

  ring(i) {
    this.chart?.ring(i);
  }
}
