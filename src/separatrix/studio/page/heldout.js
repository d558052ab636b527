// Points to test on: which are held out or drawn anew, both errors, and the fresh points, hollow.
import { button, element, fill, identifier, shape } from "./dom.js";
import { written } from "./numbers.js";
import { markPath, markRadius } from "./marks.js";

export const NO_TEST = { hold_out: 0, fresh: false, seed: 0 };

function errorText({ error, mistakes, points }) {
  if (error === null) return "no points";
  const of = `${points} point${points === 1 ? "" : "s"}`;
  return mistakes === null ? `${written(error)} · ${of}` : `${written(100 * error)} % · ${mistakes} of ${of}`;
}

export class HeldOut {
  constructor(app) {
    this.app = app;
    const id = identifier("test");
    const shares = app.model.get("seed_tables")?.held_out ?? [0];
    const entries = [...shares.map((share) => [String(share), share ? `${share} % held out` : "none"]), ["fresh", "fresh points"]];
    this.chooser = element("select", { id, onchange: () => this.choose(this.chooser.value) }, entries.map(([value, text]) => element("option", { value }, text)));
    this.others = button("Other points", { hint: "Hold out, or draw, other points", onclick: () => this.change({ seed: this.test.seed + 1 }) });
    this.node = element("section", { class: "card test-card", "aria-labelledby": `${id}-title` });
    this.head = [
      element("h2", { id: `${id}-title` }, "Test points"),
      element("div", { class: "row" }, element("label", { for: id }, "Test on"), this.chooser),
      element("div", { class: "buttons" }, this.others),
    ];
    fill(this.node, this.head);
    this.errors = element("p", { class: "errors", hidden: true });
  }

  get test() {
    return { ...NO_TEST, ...this.app.store.state.test };
  }

  change(patch) {
    this.app.store.change({ test: { ...this.test, ...patch } });
  }

  // Points of no shape, of which none can be drawn anew.
  get fromNowhere() {
    return { source: null, test: { ...this.test, fresh: false } };
  }

  choose(value) {
    this.change({ fresh: value === "fresh", hold_out: value === "fresh" ? 0 : Number(value) });
  }

  draw() {
    const { hold_out: share, fresh } = this.test;
    this.chooser.value = fresh ? "fresh" : String(share);
    this.chooser.lastElementChild.disabled = !this.app.store.state.source;
    this.others.disabled = !fresh && !share;
  }

  drawErrors(test) {
    this.errors.hidden = !test;
    if (!test) return;
    const part = (name) => element("span", {}, `${name} ${test.kind} `, element("strong", {}, errorText(test[name])));
    fill(this.errors, part("training"), part("test"));
  }

  // Fresh points are tested on and cannot be moved.
  drawFresh(layer) {
    const { view, shown, store } = this.app;
    const { points = [], missed = [] } = shown.answer?.test ?? {};
    const r = markRadius(store.state.points.length) * view.unit * 0.8;
    const flat = store.state.model === "regression";
    fill(
      layer,
      points.map(([x, y, code], i) => {
        const at = view.toPixels([x, y]);
        if (!view.holds(at)) return null;
        const c = flat ? 0 : code;
        const a = r * 0.48;
        return shape(
          "g",
          { class: `point held-out class-${c}${missed[i] ? " mistaken" : ""}`, transform: `translate(${at[0].toFixed(2)} ${at[1].toFixed(2)})` },
          shape("path", { class: "mark", d: markPath(c, r) }),
          missed[i] ? shape("path", { class: "cross", d: `M${-a} ${-a}L${a} ${a}M${a} ${-a}L${-a} ${a}` }) : null,
        );
      }),
    );
  }
}
